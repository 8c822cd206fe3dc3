"""Blocks of cells in a file beside the policy: a row for each cell of some attributes, and what its block is called."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from pydantic_core import PydanticCustomError

from tetraodon.domain import Attribute, Domain
from tetraodon.errors import PolicyError
from tetraodon.policy.beside import beside
from tetraodon.policy.build_domain import code_of
from tetraodon.policy.build_known import ROW_LIMIT, read_rows, unfit
from tetraodon.policy.document import PolicyDocument, Together
from tetraodon.policy.problems import Problems


def with_cells(document: PolicyDocument, domain: Domain, folder: Path | None, problems: Problems) -> PolicyDocument:
    """The document with the blocks of cells in place of the name of their file, so that it is whole by itself."""
    together = document.together
    if together.cells is None:
        return document
    with problems.at("together", "cells"):
        if together.blocks:
            raise PolicyError("the blocks are given twice", fix="write `blocks` or `cells`, and not both")
        blocks = _blocks(beside(folder, together.cells), together, domain)
        together = together.model_copy(update={"blocks": blocks, "cells": None})
    problems.stop()
    return document.model_copy(update={"together": together})


def _blocks(path: Path, together: Together, domain: Domain) -> tuple[tuple[str, ...], ...]:
    axes = [domain[name] for name in together.over]
    shape = [axis.size for axis in axes]
    if not axes or math.prod(shape) > ROW_LIMIT:
        raise PolicyError(
            f"a file of cells is for up to {ROW_LIMIT:,} cells of the attributes in `over`",
            fix="use coarser attributes",
        )
    header, rows = read_rows(path)
    names = [axis.name for axis in axes]
    others = [place for place, name in enumerate(header) if name not in names]
    if len(header) != len(names) + 1 or len(others) != 1 or not {*names} <= {*header}:
        raise unfit(
            path,
            "it does not have one column for each attribute and one for the block",
            fix=f"give it the columns {', '.join(names)} and one more",
        )
    owner = np.full(math.prod(shape), None, dtype=object)
    codes: list[dict[str, int]] = [{} for _ in axes]
    for row in rows:
        cell = 0
        for axis, known in zip(axes, codes, strict=True):
            text = row[header.index(axis.name)]
            if text not in known:
                known[text] = _code(path, axis, text)
            cell = cell * axis.size + known[text]
        if owner[cell] is not None:
            raise unfit(path, "a cell is listed twice", fix="give each cell one block")
        owner[cell] = row[others[0]]
    if (left := sum(one is None for one in owner)) > 0:
        raise unfit(
            path,
            f"{left:,} of {len(owner):,} cells are left out",
            fix="add a row for every cell; those where nobody can be may share a block of their own",
        )
    return tuple(map(tuple, owner.reshape(shape[0], -1).tolist()))


def _code(path: Path, axis: Attribute, text: str) -> int:
    try:
        return code_of(axis, text)
    except PolicyError as error:
        raise unfit(path, error.what, fix=error.fix) from None
    except PydanticCustomError as error:
        context = error.context or {}
        raise unfit(path, str(context["what"]), fix=str(context["fix"])) from None
