"""What the page of a release shows of names that nobody listed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tetraodon.releasing.chart import names_chart
from tetraodon.releasing.names_answer import NamesAnswer
from tetraodon.releasing.words import proof
from tetraodon.report.page import PageTable
from tetraodon.report.rounding import shown

MOST_ROWS = 200
_HEADINGS = {"count": "people, about", "lower": "lower (95%)", "upper": "upper (95%)"}


def named_answer(answer: NamesAnswer) -> dict[str, Any]:
    """An item that tells names, in the parts that the page shows of any answer."""
    item, threshold = answer.item, f"{answer.item.above.threshold:,}"
    none = {"label": "", "number": "No name", "unit": "", "sure": "was shared by enough people to appear"}
    return {
        "name": answer.name,
        "title": item.item.title or f"Names in {item.above.column}",
        "theirs": bool(item.item.title),
        "question": item.sentence,
        "notes": item.item.notes,
        "remark": "",
        "figures": [] if answer.told else [none],
        "short": not answer.told,
        "chart": names_chart(answer),
        "table": names_table(answer),
        "facts": {
            "How it was answered": f"Laplace noise of scale {float(item.above.scale):.4g}, none of it beyond "
            f"{threshold}, was added to the number of people who have each name in the data. A name appears if what "
            f"comes out is above {threshold}. A name that nobody has never does.",
            "Expected error": "The number beside a name that many people share is typically off by "
            f"{item.expected_error:.3g}. Beside a rarer one it tends to be too large, since only names that noise "
            "pushed up appear; the intervals allow for that.",
            "Certificate": f"{proof(item.certificate)} A name that a single person has appears with a chance of at "
            f"most {float(item.certificate.delta):.2g}.",
        },
    }


def names_table(answer: NamesAnswer, most: int = MOST_ROWS) -> PageTable:
    """The most common names."""
    columns, rows = answer.columns, len(answer.told)
    told = f"the first {most} of {rows:,} names" if rows > most else "all names that passed"
    texts = [[shown(value) for value in column[:most]] for column in columns.values()]
    return PageTable(
        f"{answer.name}: {told}.",
        [_HEADINGS.get(name, name) for name in columns],
        list(zip(*texts, strict=True)),
        [bool(np.issubdtype(column.dtype, np.number)) for column in columns.values()],
        long=True,
    )
