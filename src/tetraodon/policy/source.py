"""The policy file as plain data with the line of every key and value, its sibling files, and every problem found in it.

Every scalar stays the text that was typed: `No` is never false, `007` keeps its zeros, and `0.1` becomes one tenth
only where a number is wanted. A dict given in place of a file is brought into the same shape.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from tetraodon.errors import PolicyError, Problem, Refused, TetraodonError, did_you_mean
from tetraodon.exact.rational import decimal_text, rational
from tetraodon.policy.document import section_at
from tetraodon.policy.section import OURS, shown

# -- sibling files ------------------------------------------------------------------------------------
# Files that a policy names: they are in its own folder, or are not opened.
#
# A policy may come from another author, and what it names is published: known figures and blocks in every release,
# public tables in every view. So it must not name other files of this machine, and one that came without a folder
# names none.


def sibling_file(folder: Path | None, name: str) -> Path:
    """The path of a file that a policy in `folder` names; refused where that is elsewhere, or there is no folder.

    >>> sibling_file(Path("policies"), "counties.csv").name
    'counties.csv'
    """
    if folder is None:
        raise PolicyError(
            "a policy that comes without its folder names no files",
            fix="write what is in the file into the policy itself",
        )
    path = folder / name
    try:
        inside = not Path(name).is_absolute() and path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # links in a circle, or a name that no file can have
        inside = False
    if not inside:
        raise PolicyError(
            "a file is named that is outside the policy's folder",
            fix="put it beside the policy, and name that: what a policy names is published with its releases",
        )
    return path


# -- source -----------------------------------------------------------------------------------------

Plain: TypeAlias = "str | list[Plain] | dict[str, Plain] | None"
KeyPath: TypeAlias = tuple[str | int, ...]

SIZE_LIMIT = 1_000_000
DEPTH_LIMIT = 20
LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""The quick one, where it is installed."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a policy says before it is understood. `places` holds (line, column), counted from one."""

    name: str
    data: Plain
    places: Mapping[KeyPath, tuple[int, int]] = field(default_factory=dict)

    def where(self, path: KeyPath) -> str:
        """The place of a key path, for an error: `file.yaml line 12: attributes.age`."""
        words = ".".join(str(part + 1) if isinstance(part, int) else part for part in path)
        if not self.name:
            return words
        return f"{self.name} line {self.line(path)}" + (f": {words}" if words else "")

    def line(self, path: KeyPath) -> int:
        """The line of a key path, or of the nearest part of it that was written."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, (1, 1))[0]


def read_source(source: str | os.PathLike[str] | Mapping[str, object]) -> Source:
    """A policy file, or a dict in its place, or the text of one: a text of several lines is no path.

    Raises PolicyError for anything that cannot be read as one map of text, lists and maps.
    """
    if isinstance(source, Mapping):
        return Source("", as_plain(source, 0))
    if is_text(source):
        return parse(str(source).encode("utf-8", "replace"), "the text")
    if not isinstance(source, str | os.PathLike):
        raise PolicyError("this is neither a path nor a dict", fix="give the path of a policy file")
    path = Path(source)
    return parse(_bytes_of(path), path.name)


def is_text(source: object) -> bool:
    """Whether a text is a policy itself, rather than the path of its file.

    >>> is_text("people.policy.yaml"), is_text("dataset: people\\nbudget: {epsilon: 1}")
    (False, True)
    """
    return isinstance(source, str) and "\n" in source


def _bytes_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(SIZE_LIMIT + 1)
    except (OSError, ValueError):
        raise PolicyError(
            "the policy file cannot be read", fix="check that the file exists and may be read", where=str(path)
        ) from None


def parse(content: bytes, name: str, *, loader: Any = LOADER) -> Source:
    """The source in the bytes of a YAML file."""
    if len(content) > SIZE_LIMIT:
        raise PolicyError("the policy file is larger than 1 MB", fix="give a policy file, not the data", where=name)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PolicyError("the policy file is not UTF-8 text", fix="save it as UTF-8", where=name) from None
    try:
        _require_simple(yaml.parse(text, Loader=loader), name)
        root = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{name} line {mark.line + 1} column {mark.column + 1}" if mark else name
        raise PolicyError(
            f"this is not YAML: {error.problem or 'something is out of place'}",
            fix="check brackets, quotes, colons and indentation there",
            where=place,
        ) from None
    except (yaml.YAMLError, ValueError):
        raise PolicyError("the policy file is not YAML text", fix="save it as a text file", where=name) from None
    places: dict[KeyPath, tuple[int, int]] = {}
    data = None if root is None else _plain_node(root, (), places, name)
    if data is None:
        raise PolicyError("the policy file is empty", fix="start one with `tetraodon init`", where=name)
    return Source(name, data, places)


def _require_simple(events: Iterable[yaml.Event], name: str) -> None:
    """Refuse what makes YAML more than text, lists and maps, and what is nested too deeply to be read."""
    depth = documents = 0
    for event in events:
        documents += isinstance(event, yaml.DocumentStartEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if documents > 1:
            raise _misplaced(event, name, "there is more than one document in the file", "keep one and drop the `---`")
        if isinstance(event, yaml.AliasEvent):
            raise _misplaced(event, name, "the file uses a YAML alias (*)", "write the value out")
        if getattr(event, "anchor", None) is not None:
            fix = "write each value out, or quote the text"
            raise _misplaced(event, name, "the file uses a YAML anchor (&)", fix)
        if getattr(event, "tag", None) is not None:
            raise _misplaced(event, name, "the file uses a YAML tag (!)", "drop the tag, or quote the text")
        if depth > DEPTH_LIMIT:
            fix = "use the forms of the policy file reference"
            raise _misplaced(event, name, "the file is nested too deeply", fix)


def _plain_node(node: yaml.Node, path: KeyPath, places: dict[KeyPath, tuple[int, int]], name: str) -> Plain:
    """The plain data of a node, with the places of all nodes in it. An entry of a map is where its key is."""
    places.setdefault(path, _place(node))
    if isinstance(node, yaml.SequenceNode):
        return [_plain_node(child, (*path, number), places, name) for number, child in enumerate(node.value)]
    if isinstance(node, yaml.ScalarNode):
        return node.value if node.value or node.style else None
    found: dict[str, Plain] = {}
    for key, child in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _misplaced(key, name, "a key is a list or a map", "write a word as the key")
        if not key.value and not key.style:
            raise _misplaced(key, name, "a key is empty", "write a word before the colon")
        if key.value in found:
            raise _misplaced(key, name, f"the key {key.value!r} is there twice", "keep one of them")
        places[(*path, key.value)] = _place(key)
        found[key.value] = _plain_node(child, (*path, key.value), places, name)
    return found


def _misplaced(at: yaml.Event | yaml.Node, name: str, what: str, fix: str) -> PolicyError:
    line, column = _place(at)
    return PolicyError(what, fix=fix, where=f"{name} line {line} column {column}")


def _place(at: yaml.Event | yaml.Node) -> tuple[int, int]:
    mark = at.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def as_plain(value: object, depth: int = 0) -> Plain:
    """A value of a dict in the shape of a file's data: text, lists and maps."""
    if depth > DEPTH_LIMIT:
        raise PolicyError("the policy is nested too deeply", fix="use the forms of the policy file reference")
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Fraction):
        return decimal_text(value)
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, Decimal) or (isinstance(value, Integral) and int(value).bit_length() < 4096):
        return str(value)
    if isinstance(value, Real) and not isinstance(value, Integral):  # a number of NumPy's
        return decimal_text(rational(value))
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {_key(key): as_plain(child, depth + 1) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(child, depth + 1) for child in value]
    raise PolicyError(
        f"a {type(value).__name__} cannot be part of a policy", fix="use text, numbers, dates, lists and dicts"
    )


def _key(key: object) -> str:
    if isinstance(key, str) and key:
        return key
    raise PolicyError("a key of the policy is not text", fix="use words as keys")


def dump_policy(document: Mapping[str, Any]) -> str:
    """YAML text that reads back as the same policy, with attributes written as a map as a curator would.

    >>> print(dump_policy({"dataset": "d", "attributes": [{"name": "age", "integer": [0, 99]}]}), end="")
    dataset: d
    attributes:
      age:
        integer: [0, 99]
    """
    fresh = json.loads(json.dumps(document))  # no object twice, so that YAML needs no aliases
    attributes = fresh.get("attributes")
    if isinstance(attributes, list):
        fresh["attributes"] = {part.pop("name"): part for part in attributes}
    return yaml.safe_dump(fresh, sort_keys=False, default_flow_style=None, allow_unicode=True, width=110)


# -- problems ---------------------------------------------------------------------------------------
# Every problem of a policy file, reported together, each with its line.

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
        for detail in error.errors(include_url=False):
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
    if kind == "literal_error":
        words = re.findall("'(.*?)'", detail["ctx"]["expected"])
        return PolicyError(f"{shown(detail['input'])} is not understood here", fix=f"write one of: {', '.join(words)}")
    if kind == "too_short" and detail["ctx"]["min_length"] == 1:
        return PolicyError("this list is empty", fix="write its values, or drop it")
    what, fix = _SHAPES.get(kind, ("this is not understood", "see the policy file reference"))
    if kind in ("model_type", "dict_type") and last in _EXAMPLES:
        fix = f"write it as in `{_EXAMPLES[last]}`"
    return PolicyError(what, fix=fix)


def _ours(context: dict[str, object]) -> PolicyError:
    return PolicyError(str(context["what"]), fix=str(context["fix"]))
