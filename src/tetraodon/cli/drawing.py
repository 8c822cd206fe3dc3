"""Pictures for people who would rather look than read: made of letters, or in a file (`--chart`)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from tetraodon.cli.command_boundary import WrongUse

BLOCKS = "▁▂▃▄▅▆▇█"
EIGHTHS = " ▏▎▍▌▋▊▉"


def sparkline(values: Sequence[float], *, top: float | None = None) -> str:
    """One character per value, as high as the value is large.

    >>> sparkline([0, 1, 2, 4, 8])
    '▁▁▂▄█'
    """
    largest = max(values, default=0.0) if top is None else top
    if largest <= 0:
        return BLOCKS[0] * len(values)
    steps = len(BLOCKS) - 1
    return "".join(BLOCKS[min(steps, max(0, int(value / largest * steps)))] for value in values)


def bar(value: float, top: float, *, width: int = 20) -> str:
    """A bar as long as the value is large.

    >>> bar(5, 10, width=4), bar(0, 10, width=4)
    ('██', '')
    """
    if top <= 0 or value <= 0:
        return ""
    eighths = round(min(1.0, value / top) * width * 8)
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()


def squeezed(values: Sequence[float], width: int, *, running: bool) -> list[float]:
    """At most `width` values: the last of each group for running counts, else the mean.

    >>> squeezed([1, 3, 5, 7], 2, running=False), squeezed([1, 3, 5, 7], 2, running=True)
    ([2.0, 6.0], [3, 7])
    """
    if len(values) <= width:
        return list(values)
    ends = [round(place * len(values) / width) for place in range(width + 1)]
    groups = [values[first:last] for first, last in pairwise(ends)]
    return [group[-1] if running else sum(group) / len(group) for group in groups]


Chart = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a picture, .svg or .json.", show_default=False)]


def drawable(path: Path | None) -> None:
    """Refuses a file that is neither a picture nor a description."""
    if path is not None and path.suffix not in (".svg", ".json"):
        raise WrongUse("--chart names neither an .svg nor a .json file", fix="end its name in .svg or .json")


def draw(chart: dict[str, Any], path: Path) -> None:
    """Write a chart to a file."""
    import json

    if path.suffix == ".json":
        text = json.dumps(chart, indent=2) + "\n"
    else:
        import vl_convert

        text = vl_convert.vegalite_to_svg(chart)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise WrongUse(
            f"the picture cannot be written ({error.strerror})", fix="name a file in a folder that exists"
        ) from None
