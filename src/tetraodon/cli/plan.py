"""`tetraodon plan` and `compare`: mechanism, noise and error of every item, before any data is read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tetraodon.cli import remote as remote_commands
from tetraodon.cli.console import (
    Chart,
    CliErrorHandler,
    Json,
    WrongUse,
    draw,
    drawable,
    emit,
    existing_policy,
    heading,
    listed,
    say,
    table,
    typed_number,
    working,
    wrapped,
)
from tetraodon.cli.ledger import DEFAULT, LedgerUrl, ledger_name
from tetraodon.cli.policy import PolicyPath
from tetraodon.errors import TetraodonError

if TYPE_CHECKING:
    from tetraodon.ledger import Ledger
    from tetraodon.policy.policy import Policy
    from tetraodon.releases.compare import Comparison
    from tetraodon.releases.least_epsilon import Wanted
    from tetraodon.releases.plan import Plan
    from tetraodon.releases.pricing import Quote


# -- plan command -----------------------------------------------------------------------------------
# `tetraodon plan`: how every item will be answered and how far off it will be, before any data is touched.


def plan(
    policy: PolicyPath,
    error: Annotated[
        list[str] | None,
        typer.Option(metavar="[ITEM=]E", help="Find the least epsilon for this error.", show_default=False),
    ] = None,
    confidence: Annotated[
        str | None, typer.Option(metavar="PERCENT", help="How sure errors are to be.", show_default="95%")
    ] = None,
    records: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Records behind a mean, at least.", show_default=False)
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(metavar="E", help="Plan for this budget.", show_default="the policy's")
    ] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="D", help="Allow Gaussian noise.", show_default="the policy's")
    ] = None,
    ledger: LedgerUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Plan a release: mechanisms, expected errors and the certificate. No data is touched.

    The ledger, if there is one, is asked what the release would be charged and whether it fits; nothing is charged.

    \b
    Examples:
      tetraodon plan people.policy.yaml
      tetraodon plan people.policy.yaml --error 50 --confidence 95
      tetraodon plan people.policy.yaml --error "ages=5% from 1000" --error pay=0.5 --records 5000

    An error is in the item's own unit, or a share of answers from some size on; --error may be repeated for items.

    \b
    --json gives {"dataset", "budget", "delta", "epsilon", "certificate": {"epsilon", "epsilon_exact", "witness",
      "method", "exact"; with Gaussian noise "delta", "rho", "rho_exact"}, "queries": [{"name", "asked", "mechanism",
      "epsilon", "expected_error", "error_together", "interval_reach", "unit", "baseline_error", "baseline_mechanism",
      "expected_error_if_presence_public", "certificate", "measurements", "table"}],
      "target": null or {"error", "confidence", "epsilon", "driven_by": [NAME], "items": [{"name", "within", "allowed",
      "bound", "confidence", "records", "kept"}]}, "notes": [TEXT], "view": null or {"adversary", "prior", "records",
      "tuples", "channel", "noise_tuples", "loss_presence", "loss_replace", "epsilon", "errors", "paper", "others",
      "ledger"}, "ledger": {"ledger", "total", "left", "charge", "fits", "why_not"}}; its amounts are exact texts.
    A policy with an `adversary` and nothing to release gives {"dataset", "budget", "view"}.
    Errors are root mean squared errors per answer; "baseline" is plain differential privacy at the same epsilon, and
    "error_together" what all items together make of an error, null where they do not change it or it is not known.
    """
    with CliErrorHandler(as_json) as handler:
        existing_policy(policy)
        if error and epsilon is not None:
            raise WrongUse("--error finds an epsilon, so --epsilon cannot be given too", fix="give one of them")
        budget = typed_number(epsilon, option="--epsilon", above=0)
        if (chosen := remote_commands.server()) is not None:
            if error or delta is not None:
                raise WrongUse("on a server plans are made for an epsilon", fix="leave --error and --delta out")
            remote_commands.plan(chosen, policy, budget, show_plan, as_json=as_json)
            return
        forgiven = typed_number(delta, option="--delta", least=0, below=1)
        from tetraodon.policy.load import load_policy

        read = load_policy(policy).with_budget(budget, forgiven)
        if read.adversary is not None and not read.items:
            if error:
                raise WrongUse(
                    "--error finds an epsilon for the items of `release`, and this policy has none",
                    fix="leave --error out: the plan of a view says its errors, and `adversary` decides them",
                )
            _only_view(read, ledger, handler)
            return
        wanted = _wanted(read, error or [], confidence, records)
        from tetraodon.releases.codec import errors_if_public, plan_shape

        with working("finding the epsilon" if error else "planning"):
            found, least, why_not = _plan(read, wanted, searching=bool(error))
            public = errors_if_public(found)
            covered, sentence = ask_ledger(ledger, found.epsilon, lambda book: _quoted(found, book))
        from tetraodon.cli.plan_words import notes, target_document, targets_in_words

        remarks = [*notes(found, public), sentence]
        if wanted is not None:
            remarks = [*targets_in_words(found, wanted, least, why_not), *remarks]
        if as_json:
            goal = None if wanted is None else target_document(found, wanted, least)
            more = {"target": goal, "notes": remarks, "ledger": covered}
            _emit_view(plan_shape(found, public) | more, read, ledger, handler)
            return
        show_plan(found)
        listed(remarks)
        if read.adversary is not None:
            _show_view(read, ledger)


def _quoted(plan: Plan, book: Ledger) -> Quote:
    from tetraodon.releases.pricing import quote

    return quote(plan, book)


def _only_view(policy: Policy, ledger: str, handler: CliErrorHandler) -> None:
    """Plan a policy that has nothing to release but a view to publish."""
    from tetraodon.releases.codec import number

    if handler.as_json:
        _emit_view({"dataset": policy.dataset, "budget": number(policy.epsilon)}, policy, ledger, handler)
    else:
        _show_view(policy, ledger)


def _emit_view(document: dict[str, Any], policy: Policy, ledger: str, handler: CliErrorHandler) -> None:
    """Print a plan with that of the view, if there is one. A view over budget is refused, and the errors stay there."""
    from tetraodon.views.plan import other_attackers, plan_view, require_within_budget
    from tetraodon.views.publish import quote_view

    view = None
    if policy.adversary is not None:
        planned = plan_view(policy, over_budget=True)
        covered, _ = ask_ledger(ledger, planned.loss, lambda book: quote_view(planned, book))
        others = [one.document() for row in other_attackers(planned) for one in row]
        view = planned.document() | {"others": others, "ledger": covered}
        handler.extra = document | {"view": view}
        require_within_budget(planned)
    emit(document | {"view": view})


def _show_view(policy: Policy, ledger: str) -> None:
    """Show the plan of a view, and then refuse it if it is over budget."""
    from tetraodon.views.plan import plan_view, require_within_budget
    from tetraodon.views.publish import quote_view
    from tetraodon.views.report import by_attacker, plan_in_words
    from tetraodon.views.report import error_rows as errors

    planned = plan_view(policy, over_budget=True)
    _, sentence = ask_ledger(ledger, planned.loss, lambda book: quote_view(planned, book))
    heading(f"View of {policy.title or policy.dataset}: no data was touched")
    say()
    head, *rows = errors(planned)
    table(list(head), [list(row) for row in rows], right=list(head[1:]))
    if others := by_attacker(planned):
        say()
        table(others[0], others[1:])
    listed([*plan_in_words(planned), sentence])
    require_within_budget(planned)


def _wanted(policy: Policy, errors: list[str], confidence: str | None, records: int | None) -> Wanted | None:
    """What is wanted of every item, by the command line and by the file; None if nothing is."""
    from tetraodon.errors import PolicyError, QueryError
    from tetraodon.exact.rational import confidence_level
    from tetraodon.policy.publication import ErrorTarget, error_target
    from tetraodon.releases.least_epsilon import wanted_of

    if not errors and not any(item.error for item in policy.items):
        if confidence is not None or records is not None:
            raise WrongUse("--confidence and --records say nothing without an error", fix="give --error too")
        return None
    given: dict[str, ErrorTarget] = {}
    try:
        sure = None if confidence is None else confidence_level(confidence)
        for text in errors:
            name, named, target = text.rpartition("=")
            found = error_target(target)
            given |= {name.strip(): found} if named else dict.fromkeys((item.name for item in policy.items), found)
        return wanted_of(policy, given, confidence=sure, records=records)
    except (PolicyError, QueryError) as error:
        raise WrongUse(error.what, fix=error.fix, where=error.where) from None


def _plan(policy: Policy, wanted: Wanted | None, *, searching: bool) -> tuple[Plan, Plan | None, str]:
    """The plan, and the one with the least epsilon that keeps what is wanted, or why there is none."""
    from tetraodon.errors import Refused
    from tetraodon.releases.least_epsilon import least_plan
    from tetraodon.releases.plan import plan

    if wanted is None:
        return plan(policy), None, ""
    try:
        least = least_plan(policy, wanted)
    except Refused as refusal:
        if searching:
            raise
        return plan(policy), None, str(refusal)
    return (least if searching else plan(policy)), least, ""


def show_plan(plan: Plan) -> None:
    """Print a plan's table."""
    from tetraodon.releases.codec import PLAN_HEADS, plan_rows

    heading(f"Plan for {plan.policy.title or plan.policy.dataset}: no data was touched")
    say()
    rows = plan_rows(plan)
    heads = PLAN_HEADS[: len(rows[0])]
    table(heads, rows, right=heads[3:])
    if heads == PLAN_HEADS:
        say()
        wrapped("The last column is the error once all items are estimated together, as they are released.")


def ask_ledger(url: str, own: Fraction, quoting: Callable[[Ledger], Quote]) -> tuple[dict[str, Any], str]:
    """What the ledger at `url` says to something that loses `own` under its own policy. Nothing is charged."""
    from tetraodon.errors import LedgerError
    from tetraodon.ledger.account import no_ledger

    try:
        path = url.removeprefix("sqlite:///")
        if re.fullmatch(r"[\w./-]+", path) and not os.path.exists(path):
            raise no_ledger(path)
        from tetraodon.ledger import Ledger

        with Ledger(url) as book:
            found = quoting(book)
        return found.document(ledger_name(url)), quote_in_words(found, ledger_name(url), own)
    except LedgerError as error:
        empty = dict.fromkeys(("ledger", "total", "left", "charge", "fits"))
        return empty | {"why_not": str(error)}, f"Whether the ledger covers it is not known yet. {error}"


def quote_in_words(quote: Quote, name: str, own: Fraction) -> str:
    """A quote as a sentence or two."""
    from tetraodon.ledger import shown_above, shown_below

    account = quote.account
    if quote.refusal is not None:
        answer = f"The ledger {name} would refuse this: {quote.refusal.what}. Fix: {quote.refusal.fix}."
    else:
        assert quote.charge is not None
        answer = (
            f"It fits the ledger {name}: {account.dataset} has epsilon {shown_below(account.left)} left of "
            f"{shown_below(account.total)}, and this would be charged {shown_above(quote.charge)}."
        )
    if quote.charge in (None, own):
        return answer
    return (
        f"{answer} By itself, under this file, it loses {shown_above(own)}; what counts is what it adds to earlier "
        f"releases under the policy that governs the data, which `tetraodon ledger show {account.dataset}` prints."
    )


# -- compare command --------------------------------------------------------------------------------

OPTIONS = ("attribute", "theta", "epsilon", "pair")


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
    with CliErrorHandler(as_json):
        existing_policy(policy)
        drawable(chart)
        ends = _parts(pair, "--pair")
        if pair is not None and len(ends) != 2:
            raise WrongUse("--pair does not name two values", fix="write them as X,Y")
        budgets = [typed_number(part, option="--epsilon") for part in _parts(epsilon, "--epsilon")]
        from tetraodon.policy.load import load_policy
        from tetraodon.releases.compare import FULL, NONE
        from tetraodon.releases.compare import compare as compared

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
    remarks = [f"Odds are the most that an observer's odds between {pair} can move."]
    if level:
        remarks.append(f"Left out, because theta changes nothing for them at equal epsilon: {', '.join(level)}.")
    listed([*remarks, *(remark for remark in found.remarks if remark.split(":")[0] not in level)])


def _same_for_every_theta(found: Comparison) -> list[str]:
    """Items whose errors depend on epsilon only, unless that is all of them."""
    errors: dict[str, dict[object, set[float]]] = {}
    for v in found:
        if not v.matched:
            errors.setdefault(v.item, {}).setdefault(v.epsilon, set()).add(v.expected_error)
    level = [item for item, by_budget in errors.items() if all(len(one) == 1 for one in by_budget.values())]
    return level if len(level) < len(errors) else []
