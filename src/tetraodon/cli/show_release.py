"""A release as people read it: the promise, then each answer with a picture and its first rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tetraodon.cli.drawing import bar, sparkline, squeezed
from tetraodon.cli.output import heading, say, table, wrapped
from tetraodon.wording import number_of, shown_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tetraodon.releasing.answer import Answer
    from tetraodon.releasing.names_answer import NamesAnswer
    from tetraodon.releasing.release import Release

PICTURE_WIDTH = 72
MOST_PICTURES = 6


def promise_of(release: Release) -> str:
    """What the release promises, in one paragraph."""
    from tetraodon.policy.explain import explain

    return " ".join(explain(release.plan.policy).parts[0].sentences)


def release_document(
    release: Release, answers: Sequence[Answer], named: Sequence[NamesAnswer], rows: int | None
) -> dict[str, Any]:
    """A release as JSON, with the first rows of each answer, or with all."""
    from tetraodon.inference.estimate import CONFIDENCE
    from tetraodon.releasing.documents import number

    policy = release.plan.policy
    return {
        "dataset": policy.dataset,
        "title": policy.title,
        "date": release.when,
        "epsilon": number(release.plan.epsilon),
        "charged": release.charged,
        "promise": promise_of(release),
        "confidence": float(CONFIDENCE),
        "answers": [
            {
                "name": answer.name,
                "kind": answer.kind,
                "mechanism": answer.item.mechanism,
                "rows": _length(answer),
                "columns": {name: column[:rows] for name, column in answer.document().items()},
            }
            for answer in answers
        ],
        **({"names": [_names_document(answer, rows) for answer in named]} if named else {}),
    }


def _names_document(answer: NamesAnswer, rows: int | None) -> dict[str, Any]:
    return {
        "name": answer.name,
        "threshold": answer.item.above.threshold,
        "rows": len(answer.told),
        "columns": {name: column[:rows] for name, column in answer.document().items()},
    }


def show_release(release: Release, answers: Sequence[Answer], named: Sequence[NamesAnswer], rows: int) -> None:
    """Print a release."""
    policy = release.plan.policy
    heading(policy.title or policy.dataset)
    say(f"Released on {release.when} from {policy.dataset}, charged epsilon {release.charged}.")
    for line in policy.publisher.lines:
        say(line)
    say()
    wrapped(promise_of(release))
    for answer in answers:
        say()
        _show_answer(answer, rows)
    for told in named:
        say()
        _show_names(told, rows)


def _show_names(answer: NamesAnswer, rows: int) -> None:
    heading(f"{answer.name}: {answer.item.asked}")
    wrapped(answer.item.sentence)
    document = answer.document()
    top = float(max(document["count"], default=0))
    shown = [
        [*(_cell(column[place]) for column in document.values()), bar(float(document["count"][place]), top, width=16)]
        for place in range(min(rows, len(answer.told)))
    ]
    table([*document, ""], shown, right=list(document)[1:])
    if len(answer.told) > rows:
        say(f"... {number_of(len(answer.told) - rows, 'more row')}; --rows {len(answer.told)} shows all")


def _how(answer: Answer) -> str:
    bounds = ", 95% bounds" if "lower" in answer.columns else ""
    return answer.item.strategy.mechanism.words + bounds


def _length(answer: Answer) -> int:
    return len(next(iter(answer.columns.values())))


def _show_answer(answer: Answer, rows: int) -> None:
    from tetraodon.questions.answered import MEASURED
    from tetraodon.releasing.chart import value_column
    from tetraodon.report.rounding import places, rounded

    planned = answer.item
    heading(f"{answer.name}: {planned.item.title or planned.item.asked}")
    say("published exactly" if not planned.strategy.noisy else _how(answer))
    _show_picture(answer)
    if rows == 0:
        return
    document = answer.document()
    length = _length(answer)
    names = [name for name in document if name != MEASURED]
    query, word = planned.item.query, value_column(answer.columns)
    drawn = word in (query.column, *query.more_columns)
    numeric = [name for name in names if name in (word if drawn else "", "lower", "upper", "quantile")]
    top = max((abs(float(value)) for value in document[word]), default=0.0) if drawn else 0.0
    decimals = places(answer.columns["lower"], answer.columns["upper"]) if drawn and "lower" in names else None
    shown = []
    for place in range(min(rows, length)):
        cells = [
            rounded(float(value), decimals, up={"lower": False, "upper": True}.get(name))
            if decimals is not None and name in numeric and name != "quantile" and isinstance(value, int | float)
            else _cell(value)
            for name in names
            for value in (document[name][place],)
        ]
        shown.append([*cells, bar(float(document[word][place]), top, width=16) if drawn else ""])
    table([*names, ""], shown, right=numeric)
    if length > rows:
        say(f"... {number_of(length - rows, 'more row')}; --rows {length} shows all")
    for told in (answer.remark, *planned.item.notes):
        if told:
            wrapped(told)


def _cell(value: Any) -> str:
    return shown_number(value) if isinstance(value, float) else str(value)


def _show_picture(answer: Answer) -> None:
    """One line of blocks per group: along the attribute with the most values, for each value of the others."""
    from tetraodon.releasing.chart import value_column

    query, splits = answer.item.item.query, answer.item.strategy.table
    drawing = query.drawing(answer.domain, splits)
    if answer.values is None or drawing is None or not (drawing.running or drawing.adds_up):
        return
    if answer.kind == "rectangles":
        return  # a map does not fit on a few lines
    running = drawing.running
    sizes = [split.size(answer.domain) for split in splits]
    axis = len(sizes) - 1 if running else max(range(len(sizes)), key=lambda place: sizes[place])
    if sizes[axis] < 4:
        return
    document = answer.document()
    values = document[value_column(answer.columns)]
    stride = 1
    for size in sizes[axis + 1 :]:
        stride *= size
    others = [split.name for place, split in enumerate(splits) if place != axis]
    starts = [place for place in range(len(values)) if place // stride % sizes[axis] == 0][:MOST_PICTURES]
    top = max(values, default=0.0)
    labels = [document[splits[axis].name][place] for place in (starts[0], starts[0] + (sizes[axis] - 1) * stride)]
    lines = [
        (
            ", ".join(str(document[name][start]) for name in others),
            squeezed(values[start : start + sizes[axis] * stride : stride], PICTURE_WIDTH, running=running),
        )
        for start in starts
    ]
    highest = max(max(line) for _, line in lines) if lines else top
    wide = max(len(label) + bool(label) for label, _ in lines)
    for label, line in lines:
        say(f"  {label.ljust(wide)}{sparkline(line, top=highest)}".rstrip())
    ends = f"{splits[axis].name} from {labels[0]} to {labels[1]}"
    say(f"  {' ' * wide}{ends}, highest {shown_number(top)}")
