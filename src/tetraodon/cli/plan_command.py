"""`tetraodon plan`: how every item will be answered and how far off it will be, before any data is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tetraodon.cli.ask_ledger import ask_ledger
from tetraodon.cli.command_boundary import Edge, WrongUse, existing_policy, typed_number
from tetraodon.cli.ledger_commands import DEFAULT, LedgerUrl
from tetraodon.cli.output import Json, emit, heading, listed, say, table, working
from tetraodon.cli.policy_commands import PolicyPath

if TYPE_CHECKING:
    from fractions import Fraction

    from tetraodon.policy.policy import Policy
    from tetraodon.releasing.plan import Plan


def plan(
    policy: PolicyPath,
    error: Annotated[
        str | None, typer.Option(metavar="E", help="Find the least epsilon for this error.", show_default=False)
    ] = None,
    confidence: Annotated[
        str | None, typer.Option(metavar="PERCENT", help="How sure --error is to be.", show_default="95")
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

    \b
    --json gives {"dataset", "budget", "delta", "epsilon", "certificate": {"epsilon", "epsilon_exact", "witness",
      "method", "exact"; with Gaussian noise "delta", "rho", "rho_exact"}, "queries": [{"name", "asked", "mechanism",
      "epsilon", "expected_error", "unit", "baseline_error", "baseline_mechanism",
      "expected_error_if_presence_public", "certificate", "measurements", "table"}],
      "target": null or {"error", "confidence"}, "notes": [TEXT], "view": null or {"adversary", "prior", "records",
      "tuples", "channel", "noise_tuples", "loss_presence", "loss_replace", "epsilon", "errors", "paper", "ledger"},
      "ledger": {"ledger", "total", "left", "charge", "fits", "why_not"}}; amounts of the ledger are exact texts.
    A policy with an `adversary` and nothing to release gives {"dataset", "budget", "view"}.
    Errors are root mean squared errors per answer; "baseline" is plain differential privacy at the same epsilon.
    """
    with Edge(as_json) as edge:
        existing_policy(policy)
        if error is None and confidence is not None:
            raise WrongUse("--confidence says nothing without --error", fix="give --error too")
        if error is not None and epsilon is not None:
            raise WrongUse("--error finds an epsilon, so --epsilon cannot be given too", fix="give one of them")
        target = typed_number(error, option="--error", above=0)
        sure = typed_number(confidence or "95", option="--confidence", above=0, below=100)
        budget = typed_number(epsilon, option="--epsilon", above=0)
        forgiven = typed_number(delta, option="--delta", least=0, below=1)
        from tetraodon.policy.load import load_policy

        read = load_policy(policy).with_budget(budget, forgiven)
        if read.adversary is not None and not read.items:
            if error is not None:
                raise WrongUse(
                    "--error finds an epsilon for the items of `release`, and this policy has none",
                    fix="leave --error out: the plan of a view says its errors, and `adversary` decides them",
                )
            _only_view(read, ledger, edge)
            return
        with working("finding the epsilon" if error else "planning"):
            found = _plan(read, target, sure)
            public = _errors_if_public(found)
            from tetraodon.releasing.pricing import quote

            covered, sentence = ask_ledger(ledger, found.epsilon, lambda book: quote(found, book))
        from tetraodon.cli.plan_in_words import found_in_words, notes

        told = [*notes(found, public), sentence]
        if error is not None:
            told.insert(0, found_in_words(found, error, confidence or "95"))
        if as_json:
            goal = None if error is None else {"error": float(target), "confidence": float(sure)}
            more = {"target": goal, "notes": told, "ledger": covered}
            _emit_view(plan_shape(found, public) | more, read, ledger, edge)
            return
        show_plan(found)
        listed(told)
        if read.adversary is not None:
            _show_view(read, ledger)


def _only_view(policy: Policy, ledger: str, edge: Edge) -> None:
    """Plan a policy that has nothing to release but a view to publish."""
    from tetraodon.releasing.documents import number

    if edge.as_json:
        _emit_view({"dataset": policy.dataset, "budget": number(policy.epsilon)}, policy, ledger, edge)
    else:
        _show_view(policy, ledger)


def _emit_view(document: dict[str, Any], policy: Policy, ledger: str, edge: Edge) -> None:
    """Print a plan with that of the view, if there is one. A view over budget is refused, and the errors stay there."""
    from tetraodon.publishing.plan import plan_view, require_within_budget
    from tetraodon.publishing.publish import quote_view

    view = None
    if policy.adversary is not None:
        planned = plan_view(policy, over_budget=True)
        covered, _ = ask_ledger(ledger, planned.loss, lambda book: quote_view(planned, book))
        view = planned.document() | {"ledger": covered}
        edge.extra = document | {"view": view}
        require_within_budget(planned)
    emit(document | {"view": view})


def _show_view(policy: Policy, ledger: str) -> None:
    """Show the plan of a view, and then refuse it if it is over budget."""
    from tetraodon.publishing.plan import plan_view, require_within_budget
    from tetraodon.publishing.publish import quote_view
    from tetraodon.publishing.words import errors, plan_in_words

    planned = plan_view(policy, over_budget=True)
    _, sentence = ask_ledger(ledger, planned.loss, lambda book: quote_view(planned, book))
    heading(f"View of {policy.title or policy.dataset}: no data was touched")
    say()
    head, *rows = errors(planned)
    table(list(head), [list(row) for row in rows], right=list(head[1:]))
    listed([*plan_in_words(planned), sentence])
    require_within_budget(planned)


def _plan(policy: Policy, error: Fraction | None, confidence: Fraction) -> Plan:
    from tetraodon.releasing.least_epsilon import plan_for_error
    from tetraodon.releasing.plan import plan

    if error is not None:
        return plan_for_error(policy, error, confidence=confidence)
    return plan(policy)


def _errors_if_public(plan: Plan) -> dict[str, float] | None:
    """Expected errors of the same items at the same budget, if only presence were public; None where it is."""
    from tetraodon.policy.load import load_policy
    from tetraodon.releasing.plan import plan as make_plan

    if plan.policy.presence == "public":
        return None
    public = load_policy({**plan.policy.document, "presence": "public"})
    return {item.name: item.expected_error for item in make_plan(public)}


def plan_shape(plan: Plan, if_public: dict[str, float] | None) -> dict[str, Any]:
    """A plan as JSON."""
    from tetraodon.releasing.documents import number, plan_document

    document = plan_document(plan)
    for item, query in zip(plan, document["queries"], strict=True):
        query["asked"] = item.item.asked
        query["unit"] = item.item.query.unit(plan.policy.domain)
        query["expected_error_if_presence_public"] = None if if_public is None else if_public[item.name]
    budget = {"budget": number(plan.policy.epsilon), "delta": number(plan.policy.delta)}
    return {"dataset": plan.policy.dataset} | budget | document


def show_plan(plan: Plan) -> None:
    """Print a plan's table."""
    from tetraodon.releasing.plan_table import PLAN_HEADS, plan_rows

    heading(f"Plan for {plan.policy.title or plan.policy.dataset}: no data was touched")
    say()
    table(PLAN_HEADS, plan_rows(plan), right=PLAN_HEADS[3:])
