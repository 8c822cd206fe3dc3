-- Estimates from this view with DuckDB alone: run `duckdb -init estimate.sql` in this folder.
--
-- To estimate how many records satisfy a condition, count twice with the same condition:
--   in_view:   the rows of the view that satisfy it;
--   in_domain: the tuples of the domain that do, records or not. Count over the values of the attributes that the
--              condition names, and multiply by the sizes of all others.
-- Then estimate(in_view, in_domain) is unbiased, and standard_error(in_view, in_domain) says how far off it may be.

CREATE OR REPLACE TEMP VIEW "scores" AS SELECT * FROM read_parquet('tuples.parquet');

CREATE OR REPLACE TEMP MACRO estimate(in_view, in_domain) AS
  (in_view - in_domain * (0.20000000048)) / 0.6;

-- The variance needs the true count; its estimate stands in for it where it is positive.
CREATE OR REPLACE TEMP MACRO standard_error(in_view, in_domain) AS
  sqrt(greatest(0, greatest(0, estimate(in_view, in_domain)) * (0.24) + in_domain * (0.240000000672)))
  / 0.6;


-- The values of each attribute, 3 in all.
CREATE OR REPLACE TEMP VIEW "values of age" AS SELECT CAST(range AS BIGINT) AS "age" FROM range(20, 40);
CREATE OR REPLACE TEMP VIEW "values of nation" AS SELECT unnest(['A', 'B', 'I']) AS "nation";
CREATE OR REPLACE TEMP VIEW "values of score" AS SELECT CAST(range AS BIGINT) AS "score" FROM range(81, 101);

-- Exact probabilities: keep 3/5, noise 166666667/1000000000, noise tuples for each tuple of the domain 166666667/833333333.
--
-- An example: the records whose age is '20'.
-- SELECT estimate(in_view, in_domain), standard_error(in_view, in_domain) FROM
--   (SELECT count(*) AS in_view FROM "scores" WHERE "age" = 20.0),
--   (SELECT count(*) * 3 * 20 AS in_domain FROM "values of age" WHERE "age" = 20.0);
