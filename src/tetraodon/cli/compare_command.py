"""`tetraodon compare`: what weaker and stronger promises would buy, from plans alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tetraodon.cli.command_boundary import Edge, WrongUse, existing_policy, typed_number
from tetraodon.cli.drawing import Chart, draw, drawable
from tetraodon.cli.output import Json, emit, heading, listed, say, table, working
from tetraodon.cli.policy_commands import PolicyPath
from tetraodon.errors import TetraodonError

OPTIONS = ("attribute", "theta", "epsilon", "pair")

if TYPE_CHECKING:
    from tetraodon.releasing.comparison import Comparison


def compare(
    policy: PolicyPath,
    theta: Annotated[
        str | None, typer.Option(metavar="LIST", help="Distances, full, or none.", show_default="the policy's")
    ] = None,
    epsilon: Annotated[str | None, typer.Option(metavar="LIST", help="Budgets.", show_default="the policy's")] = None,
    attribute: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose theta it is.", show_default="the only one")
    ] = None,
    pair: Annotated[
        str | None, typer.Option(metavar="X,Y", help="Two values to match.", show_default="theta apart")
    ] = None,
    chart: Chart = None,
    as_json: Json = False,
) -> None:
    """Compare promises: expected error against protection, at equal epsilon and at a matched guarantee.

    \b
    Examples:
      tetraodon compare people.policy.yaml --theta 1,10,full --epsilon 0.1,1
      tetraodon compare people.policy.yaml --theta 5,full --pair 30,50 --chart compare.svg

    \b
    --json gives {"attribute", "pair": [X, Y], "variants": [{"item", "theta", "epsilon", "epsilon_exact", "budget",
      "comparison", "steps", "odds", "mechanism", "expected_error"}], "remarks": [TEXT]}.
    "odds" bounds how far an observer's odds between the pair can move; null where nothing bounds them.
    """
    with Edge(as_json):
        existing_policy(policy)
        drawable(chart)
        ends = _parts(pair, "--pair")
        if pair is not None and len(ends) != 2:
            raise WrongUse("--pair does not name two values", fix="write them as X,Y")
        budgets = [typed_number(part, option="--epsilon") for part in _parts(epsilon, "--epsilon")]
        from tetraodon.policy.load import load_policy
        from tetraodon.releasing.compare import FULL, NONE
        from tetraodon.releasing.compare import compare as compared

        reaches = [p if p in (FULL, NONE) else typed_number(p, option="--theta") for p in _parts(theta, "--theta")]
        read = load_policy(policy)
        values = (ends[0], ends[1]) if ends else None
        try:
            with working("planning"):
                found = compared(read, theta=reaches, epsilon=budgets, attribute=attribute, pair=values)
        except TetraodonError as error:
            raise (error.at(f"--{error.where}") if error.where in OPTIONS else error) from None
        if chart is not None:
            draw(found.chart(), chart)
        if as_json:
            emit(found.document())
            return
        _show(found)


def _parts(text: str | None, option: str) -> list[str]:
    if text is None:
        return []
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise WrongUse(f"{option} has an empty entry", fix="separate its entries with single commas")
    return parts


def _show(found: Comparison) -> None:
    level = _same_for_every_theta(found)
    heading("Expected error against protection: no data was touched")
    for matched in (False, True):
        say()
        say("At a matched guarantee" if matched else "At equal epsilon")
        rows = [
            [
                v.item,
                v.theta,
                f"{float(v.epsilon):.4g}",
                f"{v.odds:.3g}",
                v.mechanism.words,
                f"{v.expected_error:.4g}",
            ]
            for v in found
            if v.matched == matched and v.item not in level
        ]
        columns = ["item", "theta", "epsilon", "odds", "how", "error"]
        table(columns, rows, right=["theta", "epsilon", "odds", "error"])
    pair = f"{found.pair[0]} and {found.pair[1]} of {found.attribute}"
    told = [f"Odds are the most that an observer's odds between {pair} can move."]
    if level:
        told.append(f"Left out, because theta changes nothing for them at equal epsilon: {', '.join(level)}.")
    listed([*told, *(remark for remark in found.remarks if remark.split(":")[0] not in level)])


def _same_for_every_theta(found: Comparison) -> list[str]:
    """Items whose errors depend on epsilon only, unless that is all of them."""
    errors: dict[str, dict[object, set[float]]] = {}
    for v in found:
        if not v.matched:
            errors.setdefault(v.item, {}).setdefault(v.epsilon, set()).add(v.expected_error)
    level = [item for item, by_budget in errors.items() if all(len(one) == 1 for one in by_budget.values())]
    return level if len(level) < len(errors) else []
