"""All that is wrong with a policy file, told at once and each with its line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from tetraodon.errors import PolicyError, Problem, Refused, TetraodonError, did_you_mean
from tetraodon.policy.document import section_at
from tetraodon.policy.source import KeyPath, Source
from tetraodon.policy.typed import OURS

_EXAMPLES = {
    "dataset": "dataset: household-survey-2026",
    "attributes": "attributes: {age: {integer: [0, 120]}}",
    "budget": "budget: {epsilon: 1}",
    "epsilon": "epsilon: 1",
    "key": "key: person_id",
    "at most": "at most: 3 rows",
    "name": "name: ages",
}
_SHAPES = {
    "model_type": ("a map of keys and values is expected here", "write it as {key: value}"),
    "dict_type": ("a map of keys and values is expected here", "write it as {key: value}"),
    "tuple_type": ("a list is expected here", "write it as [first, second]"),
    "string_type": ("a single value is expected here", "write one word, number or date"),
    "too_short": ("two ends are expected here", "write [low, high]"),
    "too_long": ("two ends are expected here", "write [low, high]"),
}


MORE = "More may be found once this is put right: the rest of the file rests on it."


class Problems:
    """Collects errors with their places; `stop` raises them together if there are any.

    As long as a part of the file is `unread`, what is raised says that more may follow, in a note.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.found: list[tuple[Problem, str, TetraodonError]] = []
        self.unread = True
        self._before = 0

    def add(self, path: KeyPath, error: TetraodonError) -> None:
        """Note an error at a key path. Refusals stay refusals; the rest are errors of the policy."""
        kind = Refused if isinstance(error, Refused) else PolicyError
        placed = kind(error.what, fix=error.fix, where=self.source.where(path))
        problem = Problem(path, self.source.line(path), error.what, error.fix)
        self.found.append((problem, str(placed), placed))

    @contextmanager
    def at(self, *path: str | int) -> Iterator[None]:
        """Note an error raised inside, and go on."""
        try:
            yield
        except PydanticCustomError as error:
            self.add(path, _ours(error.context or {}))
        except TetraodonError as error:
            self.add(path, error)

    @contextmanager
    def part(self) -> Iterator[None]:
        """A part that does not rest on those before it: `stop` leaves it alone, and what follows is still read."""
        self._before = len(self.found)
        try:
            yield
        except TetraodonError as error:
            if all(error is not noted for _, _, noted in self.found):
                raise
        finally:
            self._before = 0

    def add_shape_errors(self, error: ValidationError, here: KeyPath = ()) -> None:
        """Note what pydantic found in the part of the file at `here`, in our words."""
        for detail in error.errors(include_url=False, include_input=False):
            path = (*here, *(part for part in detail["loc"] if part != "[key]"))
            self.add(path, _in_words(detail, path))

    def stop(self) -> None:
        """Raise what was noted: the first error, with the text of all of them."""
        if len(self.found) > self._before:
            self._raise()

    def _raise(self) -> NoReturn:
        ordered = sorted(self.found, key=lambda entry: entry[0].line)
        first = ordered[0][2]
        first.args = ("\n".join(dict.fromkeys(text for _, text, _ in ordered)),)
        first.problems = tuple(dict.fromkeys(problem for problem, _, _ in ordered))
        first.__notes__ = [MORE] if self.unread else []
        raise first from None


def _in_words(detail: ErrorDetails, path: KeyPath) -> PolicyError:
    kind = detail["type"]
    if kind == OURS:
        return _ours(detail.get("ctx", {}))
    last = str(path[-1]) if path else ""
    if kind == "extra_forbidden":
        return PolicyError(f"the key {last!r} is not known here", fix=did_you_mean(last, section_at(path[:-1]).keys()))
    if kind == "missing":
        example = _EXAMPLES.get(last, f"{last}: ...")
        return PolicyError(f"`{last}` is missing", fix=f"add `{example}`")
    what, fix = _SHAPES.get(kind, ("this is not understood", "see the policy file reference"))
    return PolicyError(what, fix=fix)


def _ours(context: dict[str, object]) -> PolicyError:
    return PolicyError(str(context["what"]), fix=str(context["fix"]))
