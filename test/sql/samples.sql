-- Samples with known contents: every figure here can be computed by hand.
CREATE FUNCTION pg_temp.sample(changes jsonb DEFAULT '{}') RETURNS clock_sample LANGUAGE sql AS $$
    SELECT ('{"version": 1,
        "source": "made", "clock": "by hand", "started_at": "2026-01-01T00:00:00Z",
        "duration_s": 0.000001,
        "frequency_hz": 1e9, "resolution_ns": 1, "granularity_ticks": 10, "readings": 10,
        "mean_margin_ns": 0.5, "cost_ns": 9.5, "cost_margin_ns": 0.25,
        "advance_s": 0.000001, "reference_bound_ns": 0.1, "longest_stall": 2,
        "backward_steps": 0, "backward_max_ticks": 0,
        "warps": 0, "warp_max_ns": 0, "warp_total_ns": 0, "lags": 0, "lag_max_ns": 0,
        "lag_total_ns": 0,
        "gaps": 0, "gap_max_ns": 0, "gap_total_ns": 0, "cpus": [1, 3], "migrations": 4,
        "precision_bits": 64,
        "ticks": [0, 1, 3, 4, 20, 500], "counts": [1, 1, 1, 2, 4,
        1]}'::jsonb || changes)::clock_sample $$;

-- each bucket has the durations up to its limit and above the limit of the previous bucket; the
-- duration 0 has a bucket of its own
SELECT * FROM clock_histogram(pg_temp.sample());
SELECT * FROM clock_histogram(pg_temp.sample(), 99.99);
-- rows up to and including the row that reaches the cutoff; the largest duration is always last
SELECT * FROM clock_histogram(pg_temp.sample(), 30);
SELECT * FROM clock_histogram(pg_temp.sample(), 30.0001);
SELECT * FROM clock_histogram(pg_temp.sample(), 0);
SELECT * FROM clock_histogram(pg_temp.sample(), cutoff => 100);
SELECT * FROM clock_histogram(pg_temp.sample(), 90);
SELECT * FROM clock_summary(pg_temp.sample()) \gx

-- rounding to nanoseconds comes last: at 2.6 GHz, 25 and 26 ticks are both 10 ns
SELECT * FROM
    clock_histogram(pg_temp.sample('{"frequency_hz": 2.6e9, "ticks": [25, 26, 27, 52, 104, 260]}'),
    100);
SELECT * FROM
    clock_histogram(pg_temp.sample('{"frequency_hz": 2.6e9, "ticks": [25, 26, 27, 52, 104, 260]}'));
-- a clock in microseconds
SELECT * FROM
    clock_histogram(pg_temp.sample('{"frequency_hz": 1e6, "ticks": [0, 1], "counts": [9, 1]}'))
WHERE count > 0;
-- a bucket's edges
SELECT le_ns, count FROM
    clock_histogram(pg_temp.sample('{"ticks": [7, 8, 15, 16, 31, 32], "counts": [1, 2, 1, 2, 3, '
    '1]}'));

-- a quantile is the smallest duration such that at least the given share of durations is not longer
SELECT min_ns, p50_ns, p90_ns, p99_ns, p999_ns, p9999_ns, max_ns
FROM clock_summary(pg_temp.sample('{"readings": 10000,
    "ticks": [1, 2, 3, 4, 5, 6, 7], "counts": [5000, 4000, 900, 90, 9, 0,
    1]}'::jsonb #- '{ticks,5}' #- '{counts,5}'));
SELECT p50_ns, p90_ns FROM
    clock_summary(pg_temp.sample('{"ticks": [1, 2, 3], "counts": [5, 4, 1]}'));
SELECT p50_ns, p90_ns FROM
    clock_summary(pg_temp.sample('{"ticks": [1, 2, 3], "counts": [4, 4, 2]}'));

-- one duration only: no standard deviation
SELECT mean_ns, stddev_ns, min_ns, max_ns
FROM clock_summary(pg_temp.sample('{"readings": 1, "ticks": [7], "counts": [1]}'));
-- a pause of a month, and very many readings
SELECT le_ns, percent, running_percent, count
FROM clock_histogram(pg_temp.sample('{"readings": 4611686018427387905, "ticks": [20, '
    '2592000000000000],
    "counts": [4611686018427387904, 1]}'));
-- counts and sizes of faults and gaps
SELECT readings, stalls, longest_stall, backward_steps, backward_max_ns, warps, warp_max_ns, lags,
    lag_max_ns,
       gaps, gap_max_ns, lost_ms, lost_percent, rate_ppm, rate_bound_ppm, warp_total_ns,
           lag_total_ns
FROM clock_summary(pg_temp.sample('{"readings": 13, "duration_s": 2, "advance_s": 2.002, '
    '"reference_bound_ns": 100,
    "backward_steps": 3, "backward_max_ticks": 77, "warps": 1, "warp_max_ns": 5000,
    "warp_total_ns": 5000,
    "lags": 2, "lag_max_ns": 1500, "lag_total_ns": 2500,
    "gaps": 4, "gap_max_ns": 1000000, "gap_total_ns": 3000000}')) \gx
-- unknown values are null
SELECT granularity_ticks, granularity_ns, resolution_ns, mean_margin_ns, cost_ns, cost_margin_ns,
    cpus
FROM clock_summary(pg_temp.sample('{"granularity_ticks": null, "resolution_ns": null, '
    '"mean_margin_ns": null,
    "cost_ns": null, "cost_margin_ns": null, "cpus": []}'));
-- nothing but backward steps
SELECT readings, mean_ns, stddev_ns, min_ns, p50_ns, max_ns, stalls, backward_steps
FROM clock_summary(pg_temp.sample('{"readings": 5, "backward_steps": 5, "backward_max_ticks": 9, '
    '"ticks": [], "counts": []}'));
SELECT * FROM
    clock_histogram(pg_temp.sample('{"readings": 5, "backward_steps": 5, "ticks": [], '
    '"counts": []}'));
SELECT * FROM
    clock_histogram(pg_temp.sample('{"readings": 5, "backward_steps": 5, "ticks": [], '
    '"counts": []}'));

-- merging
CREATE TEMP TABLE samples (day int, sample clock_sample);
INSERT INTO samples VALUES
    (1, pg_temp.sample()),
    (2, NULL),
    (3, pg_temp.sample('{"started_at": "2025-12-31T00:00:00Z", "readings": 12, "backward_steps": 2,
        "backward_max_ticks": 5, "mean_margin_ns": 1.5, "cost_ns": 9, "cost_margin_ns": 1,
        "granularity_ticks": 12, "longest_stall": 1,
        "gaps": 2, "gap_max_ns": 20000, "gap_total_ns": 35000, "cpus": [0, 3, 9], "migrations": 1,
        "precision_bits": 12, "ticks": [4, 21, 100000], "counts": [1, 8, 1]}'));
SELECT m.* FROM (SELECT clock_merge(sample)::jsonb AS s FROM samples) x, jsonb_each(s) AS m;
-- the cost is that of the run whose cost plus margin is the lowest; runs without a cost are ignored
SELECT s.cost_ns, s.cost_margin_ns
FROM unnest(ARRAY['{"cost_ns": 9, "cost_margin_ns": 0.5}',
    '{"cost_ns": null, "cost_margin_ns": null}', '{"cost_ns": 1, "cost_margin_ns": null}']) AS c,
     LATERAL (SELECT clock_merge(v ORDER BY n) AS m FROM (VALUES (2, pg_temp.sample()),
         (1, pg_temp.sample(c::jsonb))) x(n, v)) y,
     clock_summary(m) AS s;
SELECT s.cost_ns FROM (SELECT
    clock_merge(pg_temp.sample('{"cost_ns": null, "cost_margin_ns": null}')) AS m) x,
    clock_summary(m) AS s;
SELECT s.mean_ns, s.readings, s.max_ns FROM (SELECT clock_merge(sample) AS m FROM samples) x,
    clock_summary(m) s;
-- clock_merge() of no rows, of nulls, and of one row
SELECT clock_merge(sample) IS NULL AS nothing FROM samples WHERE false;
SELECT clock_merge(sample) IS NULL AS nulls FROM samples WHERE day = 2;
SELECT clock_merge(sample)::text = min(sample::text) AS one FROM samples WHERE day = 3;
-- a sample without durations does not affect the mean
SELECT s.mean_margin_ns FROM (SELECT clock_merge(m) AS m FROM (VALUES (pg_temp.sample()),
    (pg_temp.sample('{"readings": 5, "backward_steps": 5, "mean_margin_ns": null, "ticks": [], '
        '"counts": []}'))) v(m)) x, clock_summary(m) AS s;
-- samples with two frequencies: ticks are converted to the frequency of the first sample
SELECT m.* FROM (SELECT clock_merge(s ORDER BY n)::jsonb AS s
      FROM (VALUES (1, pg_temp.sample('{"ticks": [10, 20], "counts": [9, 1]}')),
                   (2, pg_temp.sample('{"frequency_hz": 2e9, "readings": 13, "backward_steps": 3, '
                       '"backward_max_ticks": 40,
                                        "granularity_ticks": 26, "ticks": [20, 41], "counts": [5,
                                        5]}'))) v(n, s)) x,
     jsonb_each(s) AS m
WHERE m.key IN ('frequency_hz', 'ticks', 'counts', 'granularity_ticks', 'backward_max_ticks');
-- frequencies that differ too much
SELECT clock_merge(s ORDER BY n) FROM (VALUES (1, pg_temp.sample('{"frequency_hz": 1e300}')),
    (2, pg_temp.sample())) v(n, s);
SELECT clock_merge(s) FROM (SELECT pg_temp.sample('{"duration_s": 1e308}') AS s
    FROM generate_series(1, 2)) x;
-- clock_merge() as a window function
SELECT day, jsonb_array_length(clock_merge(sample) OVER (ORDER BY day)::jsonb -> 'ticks')
    FROM samples;
-- samples of different clocks are refused
SELECT clock_merge(s) FROM (VALUES (pg_temp.sample()), (pg_temp.sample('{"source": "other"}')))
    v(s);
SELECT clock_merge(s) FROM (VALUES (pg_temp.sample()), (pg_temp.sample('{"clock": "other"}'))) v(s);
SELECT clock_merge(s) FROM (VALUES
    (pg_temp.sample('{"readings": 9223372036854775807, "ticks": [1], '
    '"counts": [9223372036854775807]}')),
                                   (pg_temp.sample())) v(s);
\set VERBOSITY default
SELECT clock_merge(s) FROM (VALUES (pg_temp.sample()), (pg_temp.sample('{"source": "other"}')))
    v(s);
\set VERBOSITY terse
-- the statement that the hint recommends
SELECT s.source, (clock_summary(clock_merge(v))).readings
FROM (VALUES (pg_temp.sample()), (pg_temp.sample('{"source": "other"}')), (pg_temp.sample())) x(v),
    clock_summary(v) AS s
GROUP BY s.source, s.clock ORDER BY 1;
-- more distinct long durations than are kept exactly: some are rounded, none is lost; the largest
-- stays exact
WITH part AS (
    SELECT pg_temp.sample(jsonb_build_object('readings', count(*), 'ticks', jsonb_agg(t), 'counts',
        jsonb_agg(1))) AS s
    FROM (SELECT i % 3 AS n, 100000 + 37 * i AS t FROM generate_series(0, 19999) i
          UNION ALL SELECT 3, 1234567890123 ORDER BY t) d GROUP BY n),
whole AS (SELECT clock_merge(s) AS m FROM part)
SELECT (m::jsonb ->> 'precision_bits')::int BETWEEN 8 AND 16 AS rounded,
    jsonb_array_length(m::jsonb -> 'ticks') < 8192 AS fits,
       (SELECT sum(c::bigint) FROM jsonb_array_elements_text(m::jsonb -> 'counts') c) AS durations,
           m::jsonb -> 'ticks' -> -1 AS largest,
       (SELECT abs(a.mean_ns - b.mean) / b.mean < 0.001
        FROM clock_summary(m) a, (SELECT sum(p.mean_ns * p.readings) / sum(p.readings) AS mean
            FROM part, clock_summary(s) p) b) AS same_mean
FROM whole;
-- the result of any merge can be read, however many durations it has
WITH part AS (
    SELECT pg_temp.sample(jsonb_build_object('readings', count(*), 'ticks', jsonb_agg(t), 'counts',
        jsonb_agg(1))) AS s
    FROM (SELECT n, i * 3 + n AS t FROM generate_series(0, 2) n, generate_series(0, 10239) i
          UNION ALL SELECT n, (i * 3 + n) * 1000000::bigint FROM generate_series(3, 5) n,
              generate_series(10240, 20479) i ORDER BY 2) d GROUP BY n)
SELECT s.readings, s.max_ns, s.precision_bits > 1 AS precise,
    jsonb_array_length(m::jsonb -> 'ticks') <= 10240 AS fits,
       (m::text::clock_sample)::text = m::text AS same
FROM (SELECT clock_merge(s) AS m FROM part) x, clock_summary(m) AS s;

-- a value of version 1, which must remain readable. Its binary form is in test/t/006_dump.pl.
CREATE TEMP TABLE fixture (sample clock_sample);
INSERT INTO fixture VALUES
    ('{"version": 1, "source": "rdtscp", "clock": "RDTSCP \"quoted\" \\ us", '
    '"started_at": "2026-03-04T05:06:07.000089Z", "duration_s": 0.1, "frequency_hz": 2599998000, '
    '"resolution_ns": 0.38461568045845423, "granularity_ticks": 2, "readings": 12, '
    '"mean_margin_ns": 0.0123, "cost_ns": 18.25, "cost_margin_ns": 0.004, "advance_s": -1.5e-07, '
    '"reference_bound_ns": 21.5, "longest_stall": 1, "backward_steps": 2, '
    '"backward_max_ticks": 77, "warps": 1, "warp_max_ns": 5000.5, "warp_total_ns": 5000.5, '
    '"lags": 2, "lag_max_ns": 1500, "lag_total_ns": 2500, "gaps": 3, "gap_max_ns": 1234567, '
    '"gap_total_ns": 2345678.25, "cpus": [0, 3, 4095], "migrations": 5, "precision_bits": 14, '
    '"ticks": [0, 48, 50, 4096, 4000000000000], "counts": [1, 5, 2, 1, 1]}');
\pset format unaligned
SELECT sample FROM fixture;
\pset format aligned
SELECT m.* FROM fixture, jsonb_each(sample::jsonb) AS m;
SELECT s.* FROM fixture, clock_summary(sample) AS s \gx
\pset format unaligned
SELECT encode(internal_clock_sample_send(sample), 'hex') AS binary FROM fixture;
\pset format aligned
SELECT (sample::jsonb)::clock_sample::text = sample::text AS same FROM fixture;
-- the text does not depend on settings
SET timezone = 'Asia/Kathmandu';
SET datestyle = 'German';
SET extra_float_digits = -15;
SELECT sample::text::clock_sample::text = sample::text AS same, sample::jsonb ->> 'started_at'
    AS started_at FROM fixture;
RESET timezone;
RESET datestyle;
RESET extra_float_digits;
-- doubles are preserved, except for the sign of zero
SELECT v, t -> 'advance_s' = to_jsonb(v) AND (t::clock_sample)::jsonb = t AS same
FROM unnest(ARRAY[5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 0.1, 1e23,
    9007199254740993, -1/3::float8, '-0', 1e9]::float8[]) AS v,
     LATERAL (SELECT pg_temp.sample(jsonb_build_object('advance_s', v))::jsonb AS t) AS x;
-- times of all years that have four digits
SELECT pg_temp.sample(jsonb_build_object('started_at', t))::jsonb ->> 'started_at' AS started_at
FROM unnest(ARRAY['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999999Z',
    '2024-02-29T12:00:00.100000Z', '1969-12-31T23:59:59.000001Z']) AS t;
-- casts: assignment to columns of both types
CREATE TEMP TABLE cast_to (sample clock_sample, j jsonb);
INSERT INTO cast_to SELECT pg_temp.sample()::jsonb, pg_temp.sample();
SELECT sample::jsonb = j AS same FROM cast_to;
-- a large sample is compressed or stored out of line, and can be read
CREATE TEMP TABLE large AS
    SELECT pg_temp.sample(jsonb_build_object('readings', 10000, 'ticks',
        jsonb_agg(1000003::bigint * i), 'counts', jsonb_agg(1))) AS s
    FROM generate_series(1, 10000) i;
SELECT pg_column_size(s) < 100000 AS compressed, (clock_summary(s)).max_ns FROM large;

-- samples are equal if all members are, however they were made: DISTINCT, GROUP BY, UNION, sorts
-- and joins
CREATE TEMP TABLE several AS
    SELECT i, pg_temp.sample(jsonb_build_object('migrations', i % 3, 'advance_s', CASE WHEN i < 5
        THEN '-0.0' ELSE '0' END::jsonb,
        'cost_ns', CASE WHEN i = 0 THEN NULL ELSE 1 END)) AS s
    FROM generate_series(0, 9) i;
SELECT count(DISTINCT s), (SELECT count(*) FROM (SELECT s FROM several GROUP BY s) g) AS grouped,
       (SELECT count(*) FROM (SELECT s FROM several UNION SELECT s FROM several) u) AS united
           FROM several;
SELECT bool_and(s = s::text::clock_sample AND s = s::jsonb::clock_sample AND NOT s <> s AND s <= s
    AND s >= s AND NOT s < s AND NOT s > s) AS same,
       bool_and(s = (SELECT clock_merge(o.s) FROM several o WHERE o.i = a.i)) AS merged
           FROM several a;
SELECT count(*) AS pairs, bool_and((a.s < b.s) = (b.s > a.s) AND (a.s <= b.s) = NOT (a.s > b.s)
    AND (a.s < b.s OR a.s > b.s) = (a.s <> b.s)) AS ordered
FROM several a, several b;
SET enable_nestloop = off; SET enable_hashjoin = off;
SELECT count(*) AS merge_join FROM several a JOIN several b ON a.s = b.s;
SET enable_hashjoin = on; SET enable_mergejoin = off;
SELECT count(*) AS hash_join FROM several a JOIN several b ON a.s = b.s;
RESET ALL;
CREATE INDEX ON several USING hash (s);
CREATE INDEX ON several (s);
SELECT count(*) AS operator_classes FROM pg_opclass WHERE opcintype = 'clock_sample'::regtype
    AND amvalidate(oid);
-- equality of a measured sample, which may have unknown members
SELECT s = s::text::clock_sample AS same FROM (SELECT clock_measure('system', 0.001) AS s) m;
