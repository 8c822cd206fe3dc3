"""The option `--chart`: a picture in a file, or its Vega-Lite description."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tetraodon.cli.command_boundary import WrongUse

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
