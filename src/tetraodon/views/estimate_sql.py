"""The estimator as SQL for DuckDB, so that an analyst needs nothing of ours."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import assert_never

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.engine.duckdb_source import quoted as name_text
from tetraodon.engine.duckdb_source import text
from tetraodon.views.channel import SourceChannel, ViewChannel

WEIGHED = """ Noise follows a source here:
--              add up the weights of values in place of counting them; multiply by the sums of all others' weights."""
LATER = """
-- This is a later view of a series: some of its rows are of tuples that earlier views have shown ("before", each once).
-- Count three times: in_fresh, the rows of "fresh" that satisfy the condition; in_seen, those of "seen"; in_before, the
-- tuples of "before". estimate_later is unbiased; estimate by itself is not.
CREATE OR REPLACE TEMP VIEW fresh AS SELECT * FROM read_parquet('parts/fresh.parquet');
CREATE OR REPLACE TEMP VIEW seen AS SELECT * FROM read_parquet('parts/rows.parquet');
CREATE OR REPLACE TEMP VIEW before AS SELECT * FROM read_parquet('parts/before.parquet');
CREATE OR REPLACE TEMP MACRO estimate_later(in_fresh, in_seen, in_before, in_domain) AS
  estimate(in_fresh, in_domain - in_before) + (in_seen - in_before * ({added})) / {keep};
"""


def estimate_sql(name: str, domain: Domain, channel: ViewChannel, *, seen: ViewChannel | None = None) -> str:
    """A script that makes the view, the values of every attribute, and two macros: the estimate and its error.

    `seen` is the channel of tuples that earlier views have shown, for a later view of a series.
    """
    first = domain.attributes[0]
    weights = channel.weights if isinstance(channel, SourceChannel) else None
    sizes = [sum(part) for part in weights] if weights else list(domain.shape)
    others, counted = " * ".join(map(str, sizes[1:])) or "1", "sum(weight)" if weights else "count(*)"
    keep, added = channel.keep, channel.added_per_tuple
    record, each = channel.variance_per_record, channel.variance_per_tuple
    values = "\n".join(
        f"CREATE OR REPLACE TEMP VIEW {name_text('values of ' + attribute.name)} AS "
        f"{_weighed(attribute, None if weights is None else weights[place])};"
        for place, attribute in enumerate(domain)
    )
    later = "" if seen is None else LATER.format(added=_float(seen.added_per_tuple), keep=_float(seen.keep))
    value, listed = name_text(first.name), name_text("values of " + first.name)
    where = f"{value} = {_literal(first)}"
    return f"""-- Estimates from this view with DuckDB alone: run `duckdb -init estimate.sql` in this folder.
--
-- To estimate how many records satisfy a condition, count twice with the same condition:
--   in_view:   the rows of the view that satisfy it;
--   in_domain: the tuples of the domain that do, records or not. Count over the values of the attributes that the
--              condition names, and multiply by the sizes of all others.{WEIGHED if weights else ""}
-- Then estimate(in_view, in_domain) is unbiased, and standard_error(in_view, in_domain) says how far off it may be.

CREATE OR REPLACE TEMP VIEW {name_text(name)} AS SELECT * FROM read_parquet('tuples.parquet');

CREATE OR REPLACE TEMP MACRO estimate(in_view, in_domain) AS
  (in_view - in_domain * ({_float(added)})) / {_float(keep)};

-- The variance needs the true count; its estimate stands in for it where it is positive.
CREATE OR REPLACE TEMP MACRO standard_error(in_view, in_domain) AS
  sqrt(greatest(0, greatest(0, estimate(in_view, in_domain)) * ({_float(record)}) + in_domain * ({_float(each)})))
  / {_float(keep)};

{later}
-- The values of each attribute, {len(domain.attributes)} in all.
{values}

-- Exact probabilities: keep {keep}, noise {channel.noise}, noise tuples for each tuple of the domain {added}.
--
-- An example: the records whose {first.name} is {first.text(0)!r}.
-- SELECT estimate(in_view, in_domain), standard_error(in_view, in_domain) FROM
--   (SELECT count(*) AS in_view FROM {name_text(name)} WHERE {where}),
--   (SELECT {counted} * {others} AS in_domain FROM {listed} WHERE {where});
"""


def _weighed(attribute: Attribute, weights: Sequence[int] | None) -> str:
    """The values of an attribute, with their weights where noise follows a source."""
    if weights is None:
        return _values(attribute)
    return f"FROM ({_values(attribute)}) POSITIONAL JOIN (SELECT unnest({list(weights)}) AS weight)"


def _values(attribute: Attribute) -> str:
    values, name = attribute.values, name_text(attribute.name)
    match values:
        case Categories():
            return f"SELECT unnest([{', '.join(map(text, values.labels))}]) AS {name}"
        case Booleans():
            return f"SELECT unnest([false, true]) AS {name}"
        case Integers():
            return f"SELECT CAST(range AS BIGINT) AS {name} FROM range({values.low}, {values.high + 1})"
        case Grid():
            low, step = _float(values.low), values.step
            number = f"{low} + range * {step.numerator}.0 / {step.denominator}"
            return f"SELECT CAST({number} AS DOUBLE) AS {name} FROM range(0, {values.size})"
        case Dates():
            last = f"DATE '{values.last + dt.timedelta(days=1)}'"
            return f"SELECT CAST(range AS DATE) AS {name} FROM range(DATE '{values.first}', {last}, INTERVAL 1 DAY)"
        case _:
            assert_never(values)


def _literal(attribute: Attribute) -> str:
    match attribute.values:
        case Categories() | Dates():
            return text(attribute.text(0))
        case Booleans():
            return "false"
        case Integers() | Grid():
            return _float(attribute.number(0))
        case _:
            assert_never(attribute.values)


def _float(number: object) -> str:
    return repr(float(number)) if not isinstance(number, int) else str(number)  # type: ignore[arg-type]
