"""What counts of parts lose that are divided where they are large: as much as the counts of all parts would.

Parts are measured in D rounds (`workload/divided.py`), from the widest to single values. Round l tells the counts of
those parts whose whole was divided, with noise of scale 1 / r(l), at the rate r(l). A part that it does not divide is
told once more, at the rate r(l + 1) + ... + r(D - 1), and then no more. Which parts a round looks at follows from what
earlier rounds told, so that they are the same for two data sets once that is given: the logarithms of the likelihood
ratios of all rounds add up, each as if its parts had been fixed before. Of two data sets let d(P) be by how much the
counts of a part P differ.

Bound     Round l loses at most r(l) times the sum of |d(P)| over the parts that it looks at. A part Q that is told once
          more loses its rate times |d(Q)|. As |d(Q)| is at most the sum of |d(P)| over the parts P of Q of any one
          later round, that is no more than the later rounds would lose inside Q. So all that is told loses at most

              sum over rounds l and all parts P of round l of r(l) |d(P)|,

          which is what Laplace noise on the counts of all parts of every round loses, at those rates. It holds for any
          two data sets, so that several rows of a person, groups and attackers are priced as those counts are.

Attained  Let the data sets differ in one record, which is u in the one and v in the other, and let round s be the first
          that has u and v in different parts. Parts that hold both are told alike. Let each of them be told as so large
          that it is divided, the parts of u as larger than any count and those of v as smaller than any. Such outputs
          have a chance, and for them the two likelihoods differ by r(l) for every round l from s on, twice: for the
          part of v is divided no further, and is told again at the rate of all rounds that are left. That is the bound.
          It is the same with a record that comes or goes, where one of the two is missing, and with several rows of a
          person that go the same way. Where known counts make several records differ at once, it is a bound only.

[QYL13] divide once by noisy counts, and [ZXX16] as often as they are large; here small parts get all that is left.
"""

from __future__ import annotations

from collections.abc import Sequence

from tetraodon.errors import Refused
from tetraodon.workload.among import Among
from tetraodon.workload.contribution import One
from tetraodon.workload.divided import Divided
from tetraodon.workload.linear import LinearQuery, Measurement, Split


def divided_of(query: LinearQuery) -> Divided | None:
    """The parts that a query divides, if it does."""
    return query.contribution if isinstance(query.contribution, Divided) else None


def begun_with(query: LinearQuery) -> LinearQuery:
    """The exact counts that a query begins with: of all cells, where parts are divided; else itself."""
    divided = divided_of(query)
    return query if divided is None else LinearQuery(One(), (*query.by, *_parts(divided, 1)))


def counts_of_all_parts(measurement: Measurement) -> list[Measurement]:
    """The counts of all parts of every round, in place of those that are divided; others as they are.

    Post  of any two data sets the loss between them is not below that of the given measurement.
    """
    query, given = measurement.query, measurement.query.contribution
    if isinstance(given, Among) and isinstance(given.inner, Divided):
        raise Refused("divided parts are priced for all records only", fix="ask without `where`")
    if not isinstance(given, Divided):
        return [measurement]
    return [
        Measurement(LinearQuery(One(), (*query.by, *_parts(given, width))), given.scale_of(measurement.scale, place))
        for place, width in enumerate(given.widths)
    ]


def _parts(divided: Divided, width: int) -> list[Split]:
    """Splits by the parts of a width."""
    if width == 1:
        return [Split(name) for name in divided.names]
    sides = zip(divided.names, divided.sizes, strict=True)
    return [Split(name, tuple(code // width for code in range(size))) for name, size in sides]


def divided_among(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Those of the measurements that divide parts."""
    return [one for one in measurements if divided_of(one.query) is not None]
