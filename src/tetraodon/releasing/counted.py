"""Conditions that an item has counted, or whose attributes an item has counted by, where no table tells them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tetraodon.arrays import Bools
from tetraodon.domain import Domain
from tetraodon.inference.estimate import CONFIDENCE, Estimate
from tetraodon.mechanism.strategy import NOTHING
from tetraodon.questions.answered import ends_of_counts
from tetraodon.releasing.estimates import Estimates
from tetraodon.releasing.pieces import MeasuredPiece
from tetraodon.workload.contribution import Answerers, Table


def count_of(
    estimates: Estimates, names: tuple[str, ...], holds: Bools, domain: Domain, confidence: Fraction = CONFIDENCE
) -> Estimate | None:
    """How many records satisfy a condition, by the items that counted them; None where none did."""
    if estimates.combined is None:
        return None
    for piece in estimates.combined.exact:
        mask = _counted(piece, names, holds, domain)
        if mask is not None:
            return Estimate.certain(float(piece.table.values.ravel() @ mask)).of(piece.sources[0].item.name)
    for key, (group, place) in estimates.combined.places.items():
        mask = None if key[1] is None else _counted(group.pieces[place], names, holds, domain)
        found = None if mask is None else group.sums(place, mask[None, :].astype(np.float64), confidence)
        if mask is not None and found is not None:
            centre, reach = float(found[0][0]), float(found[1][0])
            if reach < NOTHING and group.certain(place, mask[None, :]):
                return Estimate.certain(float(round(centre))).of(key[0])
            value = float(estimates.tables[key].published.ravel() @ mask)
            lower, upper = ends_of_counts(np.asarray(centre), reach, np.asarray(value))
            return Estimate(value, float(lower), float(upper), confidence).of(key[0])
    return None


def _counted(piece: MeasuredPiece, names: tuple[str, ...], holds: Bools, domain: Domain) -> Bools | None:
    """Which numbers of a piece add up to the records that satisfy a condition; None where they do not tell."""
    if (those := piece.sources[0].item.strategy.among) is not None:
        known = {split.name for split in piece.table.splits} | {*piece.contribution.names}
        if (told := those.inside_of(names, holds, known)) is None:
            return None
        (names, holds), domain = told, those.inside
    shaped = holds.reshape([domain[name].size for name in names])
    splits = {split.name: axis for axis, split in enumerate(piece.table.splits)}
    sizes = [split.size(domain) for split in piece.table.splits]
    if piece.counts and set(names) <= splits.keys():
        if any(piece.table.splits[splits[name]].bins is not None for name in names):
            return None
        order = sorted(range(len(names)), key=lambda place: splits[names[place]])
        view = [size if split.name in names else 1 for split, size in zip(piece.table.splits, sizes, strict=True)]
        return np.broadcast_to(shaped.transpose(order).reshape(view), sizes).ravel()
    if isinstance(piece.contribution, Table | Answerers) and set(names) == set(piece.contribution.names):
        order = [names.index(name) for name in piece.contribution.names]
        same = (piece.contribution.columns() == shaped.transpose(order).ravel()).all(axis=1)
        if same.any() and piece.contribution.unit == 1:
            row = np.arange(piece.table.rows) == np.argmax(same)
            return np.broadcast_to(row, (*sizes, piece.table.rows)).ravel()
    return None
