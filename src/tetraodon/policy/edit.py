"""One change to the text of a policy file: the rest of it, comments and order included, stays as it was typed.

A node of the file is replaced where the parser found it. Round-trip libraries write the whole file anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import yaml

from tetraodon.errors import PolicyError, did_you_mean
from tetraodon.policy.source import LOADER, KeyPath, Plain, as_plain, parse

Entry: TypeAlias = tuple[str | int, int, yaml.Node]
"""A key or a position, where its entry begins (at the key, or at the value of a list), and its value."""
_END_OF_LINE = re.compile(r"[^\n]*")
_WIDE = 1 << 30


def edit_policy(text: str, path: Sequence[str | int], value: object, *, reason: str = "") -> str:
    """The text of a policy file in which the value at a path is another one; None takes it out.

    A key that is not there is added, with the maps that it needs; a position just behind a list's end adds to the list.
    `reason` is left as a comment above. Values are what `load_policy` takes in a dict.

    Post  the text reads back as the same data but for that value. Nothing outside the span of the replaced value, the
          added entry or the removed entry's lines differs.
    Raises PolicyError where the text is no YAML of ours, or the path leads nowhere.

    >>> print(edit_policy("budget: {epsilon: 1}  # agreed\\n", ("budget", "epsilon"), 0.5), end="")
    budget: {epsilon: 0.5}  # agreed
    >>> print(edit_policy("secrets:\\n  age: public\\n", ("secrets", "wage"), {"within": 5}, reason="agreed"), end="")
    secrets:
      age: public
      # agreed
      wage: {within: 5}
    """
    path = tuple(path)
    meant = as_plain(value)
    before = parse(text.encode(), "the text").data
    wanted = _changed(before, path, meant)
    found = _spliced(text, path, meant, reason)
    if parse(found.encode(), "the text").data != wanted:
        raise PolicyError("this change cannot be written in place", fix="edit the text by hand", where=_told(path))
    return found


# -- what it should say afterwards ------------------------------------------------------------------


def _changed(data: Plain, path: KeyPath, value: Plain) -> Plain:
    if not path:
        return value
    key, rest = path[0], path[1:]
    if isinstance(key, int) and (data is None or isinstance(data, list)):
        data = data or []
        if not 0 <= key <= len(data) - (value is None):
            raise PolicyError("the list is not that long", fix=f"use a position up to {len(data)}", where=_told(path))
        kept = [] if value is None and not rest else [_changed(data[key] if key < len(data) else None, rest, value)]
        return [*data[:key], *kept, *data[key + 1 :]]
    if (data is None or isinstance(data, dict)) and isinstance(key, str):
        there = dict(data or {})
        if value is None and key not in there:
            raise PolicyError(f"there is no {key!r} to take out", fix=did_you_mean(key, there), where=_told(path))
        there[key] = _changed(there.get(key), rest, value)
        if value is None and not rest:
            del there[key]
        return there
    raise PolicyError("the path leads into what is neither a map nor a list", fix="replace it whole", where=_told(path))


def _told(path: KeyPath) -> str:
    return ".".join(str(part) for part in path)


# -- where a node is ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    """A node of the text, with the entries of maps and lists that lead to it, outermost first."""

    node: yaml.Node
    parents: tuple[tuple[yaml.Node, int], ...] = ()


def _spliced(text: str, path: KeyPath, value: Plain, reason: str) -> str:
    place, rest = _Place(yaml.compose(text, Loader=LOADER)), path
    while rest and (at := _position(place.node, rest[0])) is not None:
        place = _Place(_entries(place.node)[at][2], (*place.parents, (place.node, at)))
        rest = rest[1:]
    if not rest and value is None:
        start, end, new = _removal(text, *place.parents[-1])
    elif not rest:
        start, end, new = _replacement(text, place.node, _flow(value))
    else:
        for key in reversed(rest[1:]):
            value = {str(key): value} if isinstance(key, str) else [value]
        start, end, new = _addition(text, place.node, rest[0], value)
    done = text[:start] + new + text[end:]
    return _explained(done, path, reason) if reason else done


def _entries(node: yaml.Node) -> list[Entry]:
    if isinstance(node, yaml.MappingNode):
        return [(key.value, key.start_mark.index, child) for key, child in node.value]
    if isinstance(node, yaml.SequenceNode):
        return [(number, child.start_mark.index, child) for number, child in enumerate(node.value)]
    return []


def _position(node: yaml.Node, key: str | int) -> int | None:
    return next((number for number, (name, _, _) in enumerate(_entries(node)) if name == key), None)


def _end(text: str, node: yaml.Node) -> int:
    """Where a node ends: a block's mark is only at what follows it, behind comments."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        return _end(text, _entries(node)[-1][2])
    start, end = node.start_mark.index, node.end_mark.index
    return start + len(text[start:end].rstrip())


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _dash(text: str, block: yaml.SequenceNode, at: int) -> int:
    """The dash of an entry of a list in lines, given where its value begins: comments may stand between."""
    line, column = _line_start(text, at), block.start_mark.column
    while text[line + column : line + column + 1] != "-" or text[line : line + column].strip(" -"):
        line = _line_start(text, line - 1)
    return line + column


def _rest_of_line(text: str, at: int) -> int:
    """The end of the line, behind a comment that may follow there."""
    match = _END_OF_LINE.match(text, at)
    return match.end() if match else at


# -- what is put there -------------------------------------------------------------------------------

_Change: TypeAlias = tuple[int, int, str]
"""From where to where text is taken out, and what takes its place."""


def _replacement(text: str, node: yaml.Node, new: str) -> _Change:
    start, end = node.start_mark.index, _end(text, node)
    gap = " " if start == end and text[start - 1 : start] in (":", "-") else ""
    return start, end, gap + new


def _addition(text: str, node: yaml.Node, key: str | int, value: Plain) -> _Change:
    """A new entry behind the last one of a map or a list."""
    entry = f"{_flow(key)}: {_flow(value)}" if isinstance(key, str) else _flow(value)
    if not _entries(node):
        return _replacement(text, node, f"{{{entry}}}" if isinstance(key, str) else f"[{entry}]")
    end = _end(text, node)
    if isinstance(node, yaml.CollectionNode) and node.flow_style:
        last = _end(text, _entries(node)[-1][2])
        return last, last, f", {entry}"
    end = _rest_of_line(text, end)
    dash = "- " if isinstance(key, int) else ""
    return end, end, "\n" + " " * node.start_mark.column + dash + entry


def _removal(text: str, parent: yaml.Node, at: int) -> _Change:
    entries = _entries(parent)
    _, start, node = entries[at]
    end = _end(text, node)
    if len(entries) == 1:
        return _replacement(text, parent, "{}" if isinstance(parent, yaml.MappingNode) else "[]")
    in_lines = isinstance(parent, yaml.CollectionNode) and not parent.flow_style
    if in_lines and isinstance(parent, yaml.SequenceNode):
        start = _dash(text, parent, start)
    if in_lines and not text[_line_start(text, start) : start].strip(" "):  # its lines, with a comment at their end
        return _line_start(text, start), min(_rest_of_line(text, end) + 1, len(text)), ""
    if at + 1 < len(entries):
        following = entries[at + 1][1]
        if in_lines and isinstance(parent, yaml.SequenceNode):
            following = _dash(text, parent, following)
        return start, following, ""
    return _end(text, entries[at - 1][2]), end, ""


def _flow(value: Plain) -> str:
    """A value on one line, every scalar as it would be typed: quotes only where they are needed."""
    events = [
        yaml.StreamStartEvent(),
        yaml.DocumentStartEvent(explicit=False),
        yaml.SequenceStartEvent(None, None, implicit=True, flow_style=True),
        *_events(value),
        yaml.SequenceEndEvent(),
        yaml.DocumentEndEvent(explicit=False),
        yaml.StreamEndEvent(),
    ]
    return str(yaml.emit(events, width=_WIDE, allow_unicode=True)).strip()[1:-1]


def _events(value: Plain) -> Iterator[yaml.Event]:
    if isinstance(value, dict):
        yield yaml.MappingStartEvent(None, None, implicit=True, flow_style=True)
        for key, child in value.items():
            yield from _events(key)
            yield from _events(child)
        yield yaml.MappingEndEvent()
    elif isinstance(value, list):
        yield yaml.SequenceStartEvent(None, None, implicit=True, flow_style=True)
        for child in value:
            yield from _events(child)
        yield yaml.SequenceEndEvent()
    else:
        text = value or ""
        yield yaml.ScalarEvent(None, None, (True, True), text, style=None if text.isprintable() else '"')


def _explained(text: str, path: KeyPath, reason: str) -> str:
    """The text with a comment above the innermost entry of a path that begins a line."""
    node, start = yaml.compose(text, Loader=LOADER), 0
    for key in path:
        at = _position(node, key)
        if at is None:
            break
        _, begins, node = _entries(node)[at]
        if not text[_line_start(text, begins) : begins].strip(" -"):  # only indentation or a dash precedes it
            start = begins
    line = _line_start(text, start)
    indent = re.match(" *", text[line:])
    lines = (f"{indent.group() if indent else ''}# {part}\n" for part in reason.splitlines() if part.strip())
    return text[:line] + "".join(lines) + text[line:]
