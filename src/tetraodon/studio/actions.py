"""What the forms of the pages do: each of them is one change to the file, or one step towards a release."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tetraodon.errors import PolicyError
from tetraodon.ledger import Ledger
from tetraodon.policy.edit import edit_policy
from tetraodon.policy.policy import Policy
from tetraodon.studio import forms
from tetraodon.studio.child import Child
from tetraodon.studio.choosing import BeliefAllowed
from tetraodon.studio.forms import Fields, one
from tetraodon.studio.workbench import Workbench

Action: TypeAlias = Callable[[Workbench, Fields], None]


def act(name: str, bench: Workbench, child: Child, fields: Fields) -> None:
    """Carry out what a form says. Raises TetraodonError where it cannot be."""
    if name == "run":
        _run(bench, child, fields)
    elif name in _ACTIONS:
        _ACTIONS[name](bench, fields)
    else:
        raise PolicyError("the studio has no such form", fix="load the page again")


def _column(bench: Workbench, fields: Fields) -> None:
    name = one(fields, "name")
    bench.edit(("attributes", name), forms.attribute(fields, bench.map_of("attributes").get(name)))


def _secret(bench: Workbench, fields: Fields) -> None:
    bench.edit(("secrets", one(fields, "name")), forms.secret(fields), one(fields, "reason"))


def _map(bench: Workbench, fields: Fields) -> None:
    """Measure two columns as one: what was a secret of each by itself gives way."""
    meant, text = forms.joint(fields), bench.text
    for name in meant["over"]:
        if name in bench.map_of("secrets"):
            text = edit_policy(text, ("secrets", name), None)
    bench.replace(edit_policy(text, ("together",), meant, reason=one(fields, "reason")))


def _question(bench: Workbench, fields: Fields) -> None:
    bench.edit(("release", len(bench.list_of("release"))), forms.question(fields))


def _known(bench: Workbench, fields: Fields) -> None:
    bench.edit(("known", len(bench.list_of("known"))), forms.fact(fields), one(fields, "reason"))


def _attackers(bench: Workbench, fields: Fields) -> None:
    bench.edit(("attackers",), forms.attackers(fields), one(fields, "reason"))


def _target(bench: Workbench, fields: Fields) -> None:
    bench.edit((*forms.path_of(fields), "error"), forms.target(fields), one(fields, "reason"))


def _belief(bench: Workbench, fields: Fields) -> None:
    belief = BeliefAllowed.read(*(one(fields, name) for name in ("before", "after", "steps", "releases")))
    policy = bench.held.policy
    if belief.steps > 1 and policy is not None and not policy.steps_join:
        raise PolicyError(
            "nothing is promised beyond one step, as figures are known", fix="choose values one step apart"
        )
    _set_epsilon(bench, belief.allowed_text, "\n".join([str(belief), one(fields, "reason")]))


def _epsilon(bench: Workbench, fields: Fields) -> None:
    _set_epsilon(bench, one(fields, "value"), one(fields, "reason"))


def _set_epsilon(bench: Workbench, epsilon: str, reason: str) -> None:
    path, value = bench.budget_with(epsilon)
    bench.edit(path, value, reason)


def _remove(bench: Workbench, fields: Fields) -> None:
    bench.edit(forms.path_of(fields), None)


def _set(bench: Workbench, fields: Fields) -> None:
    bench.edit(forms.path_of(fields), one(fields, "value"), one(fields, "reason"))


def _text(bench: Workbench, fields: Fields) -> None:
    bench.replace((fields.get("text") or [""])[0])


def _undo(bench: Workbench, fields: Fields) -> None:
    del fields
    bench.undo()


def _take(bench: Workbench, fields: Fields) -> None:
    bench.take(theirs=one(fields, "whose") == "theirs")


def _open_ledger(bench: Workbench, fields: Fields) -> None:
    """Set the total, once: the name of the data set is typed, as for a release."""
    policy = _finished(bench, fields)
    with Ledger(bench.ledger) as ledger:
        ledger.open(policy.dataset, one(fields, "total"), policy, delta=policy.delta)


def _run(bench: Workbench, child: Child, fields: Fields) -> None:
    _finished(bench, fields)
    if not bench.table:
        raise PolicyError("the studio was started without a table", fix="start it as `tetraodon studio POLICY TABLE`")
    child.start(bench.path, bench.table, bench.ledger, bench.path.parent / (one(fields, "out") or "release"))


def _finished(bench: Workbench, fields: Fields) -> Policy:
    held = bench.held
    if held.problems or held.policy is None:
        raise PolicyError("the file is not finished", fix="see what it still lacks")
    if one(fields, "confirm") != held.policy.dataset:
        raise PolicyError("the name of the data set was not typed", fix=f"type {held.policy.dataset}")
    return held.policy


_ACTIONS: dict[str, Action] = {
    "column": _column,
    "secret": _secret,
    "map": _map,
    "question": _question,
    "known": _known,
    "attackers": _attackers,
    "target": _target,
    "belief": _belief,
    "epsilon": _epsilon,
    "remove": _remove,
    "set": _set,
    "text": _text,
    "undo": _undo,
    "take": _take,
    "open": _open_ledger,
}
