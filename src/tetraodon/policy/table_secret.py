"""A secret of the whole table: for what share of its records a condition holds, or with what chance ([ZOC22]).

Somebody who knows how the columns of a table go together learns from one number about another: from how many are ill,
how many smoke. The file says which share is the secret, and how likely values are given others: a Bayesian network.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import PlainValidator, WithJsonSchema

from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Bools
from tetraodon.exact.rational import decimal_text
from tetraodon.policy.attackers import TableSecret
from tetraodon.policy.section import MATRIX, Names, Section, Share, Short, Text, Whole, nested_numbers
from tetraodon.query import condition

MOST_CELLS = 4096
"""Of the attributes that chances are stated of."""


def joint_chances(secret: TableSecret, domain: Domain) -> NDArray[Any]:
    """The exact chance of every cell of the attributes whose chances are stated, one axis for each."""
    shape = domain.project(secret.names).shape
    if math.prod(shape) > MOST_CELLS:
        raise Refused(
            f"the attributes with chances have more than {MOST_CELLS:,} cells together",
            fix="state the chances of fewer or coarser attributes",
        )
    found = np.full(shape, Fraction(1), object)
    for one in secret.chances:
        axes = [secret.names.index(name) for name in (*one.given, one.name)]
        table = np.array(one.rows, object).reshape([shape[axis] for axis in axes])
        sizes = [size if axis in axes else 1 for axis, size in enumerate(shape)]
        found = found * table.transpose(np.argsort(axes)).reshape(sizes)
    return found


def cells_having(secret: TableSecret, domain: Domain) -> Bools:
    """In which of these cells the condition of the secret holds."""
    cells = domain.project(secret.names)
    names, holds = condition.truth_table(secret.share, cells)
    sizes = [size if name in names else 1 for name, size in zip(cells.names, cells.shape, strict=True)]
    return np.asarray(np.broadcast_to(holds.reshape(sizes), cells.shape))


def table_document(secret: TableSecret) -> dict[str, Any]:
    """As the policy file says it, every number exact."""
    chances = {
        one.name: {
            **({"given": list(one.given)} if one.given else {}),
            "are": [[decimal_text(number) for number in row] for row in one.rows],
        }
        for one in secret.chances
    }
    return {
        "chance" if secret.drawn else "share": secret.share,
        "within": f"{decimal_text(100 * secret.within)}%",
        "records": secret.records,
        "chances": chances,
        "source": secret.source,
    }


# -- its section of the file -----------------------------------------------------------------------

_FIX = "write one chance for each value, such as [0.8, 0.2]; with `given`, such a row for each of its values"


def _rows(value: object) -> Sequence[Sequence[Fraction]]:
    """A row of chances, or several."""
    single = isinstance(value, list) and not any(isinstance(part, list) for part in value)
    found: Sequence[Sequence[Fraction]] = nested_numbers([value] if single else value, 2, _FIX)
    return found


def _chances(value: object) -> object:
    return {"are": value} if isinstance(value, list) else value


class ChancesSection(Section):
    """How likely each value of an attribute is, given those of others."""

    given: Names = ()
    are: Annotated[Any, PlainValidator(_rows), WithJsonSchema({"anyOf": [MATRIX["items"], MATRIX]})]


class TableSecretSection(Section):
    """Which shares of the whole table, or chances of its records, an observer must not tell apart."""

    one_of = ("share", "chance")

    share: Text = ""
    chance: Text = ""
    within: Share
    records: Whole
    chances: dict[Text, Annotated[ChancesSection, Short(_chances, MATRIX["items"])]]
    source: Text
