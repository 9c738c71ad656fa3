--
-- Views of samples whose contents are known: every figure here can be worked
-- out by hand.
--
CREATE FUNCTION pg_temp.sample(changes jsonb DEFAULT '{}') RETURNS clock_sample LANGUAGE sql AS $$
    SELECT jsonb_populate_record(NULL::clock_sample, '{
        "source": "made", "clock": "by hand", "started_at": "2026-01-01 00:00:00Z", "duration_s": 0.000001,
        "frequency_hz": 1e9, "resolution_ns": 1, "granularity_ticks": 10, "readings": 10, "mean_margin_ns": 0.5,
        "advance_s": 0.000001, "reference_bound_ns": 0.1, "longest_stall": 2,
        "backward_steps": 0, "backward_max_ticks": 0,
        "warps": 0, "warp_max_ns": 0, "warp_total_ns": 0, "lags": 0, "lag_max_ns": 0, "lag_total_ns": 0,
        "gaps": 0, "gap_max_ns": 0, "gap_total_ns": 0, "cpus": [1, 3], "migrations": 4, "precision_bits": 64,
        "ticks": [0, 1, 3, 4, 20, 500], "counts": [1, 1, 1, 2, 4, 1]}'::jsonb || changes) $$;

-- each bucket holds what is not above it and above the one before; 0 is apart
SELECT * FROM clock_histogram(pg_temp.sample());
SELECT * FROM clock_durations(pg_temp.sample());
-- up to the cutoff, that row included; the largest is always the last
SELECT * FROM clock_durations(pg_temp.sample(), 30);
SELECT * FROM clock_durations(pg_temp.sample(), 30.0001);
SELECT * FROM clock_durations(pg_temp.sample(), 0);
SELECT * FROM clock_durations(pg_temp.sample(), cutoff => 100);
SELECT * FROM clock_durations(pg_temp.sample(), 90);
SELECT * FROM clock_summary(pg_temp.sample()) \gx

-- ticks become nanoseconds last: at 2.6 GHz 25 and 26 ticks are 10 ns both
SELECT * FROM clock_durations(pg_temp.sample('{"frequency_hz": 2.6e9, "ticks": [25, 26, 27, 52, 104, 260]}'), 100);
SELECT * FROM clock_histogram(pg_temp.sample('{"frequency_hz": 2.6e9, "ticks": [25, 26, 27, 52, 104, 260]}'));
-- a clock in microseconds
SELECT * FROM clock_histogram(pg_temp.sample('{"frequency_hz": 1e6, "ticks": [0, 1], "counts": [9, 1]}'))
WHERE count > 0;
-- a bucket's edges
SELECT le_ns, count FROM clock_histogram(pg_temp.sample('{"ticks": [7, 8, 15, 16, 31, 32], "counts": [1, 2, 1, 2, 3, 1]}'));

-- quantiles: the smallest duration that at least that share is not above
SELECT min_ns, p50_ns, p90_ns, p99_ns, p999_ns, p9999_ns, max_ns
FROM clock_summary(pg_temp.sample('{"readings": 10000,
    "ticks": [1, 2, 3, 4, 5, 6, 7], "counts": [5000, 4000, 900, 90, 9, 0, 1]}'::jsonb #- '{ticks,5}' #- '{counts,5}'));
SELECT p50_ns, p90_ns FROM clock_summary(pg_temp.sample('{"ticks": [1, 2, 3], "counts": [5, 4, 1]}'));
SELECT p50_ns, p90_ns FROM clock_summary(pg_temp.sample('{"ticks": [1, 2, 3], "counts": [4, 4, 2]}'));

-- one duration only: no standard deviation
SELECT mean_ns, stddev_ns, min_ns, max_ns
FROM clock_summary(pg_temp.sample('{"readings": 1, "ticks": [7], "counts": [1]}'));
-- a pause of a month, and very many readings
SELECT ns, percent, running_percent, count
FROM clock_durations(pg_temp.sample('{"readings": 4611686018427387905, "ticks": [20, 2592000000000000],
    "counts": [4611686018427387904, 1]}'));
-- findings
SELECT readings, stalls, longest_stall, backward_steps, backward_max_ns, warps, warp_max_ns, lags, lag_max_ns,
       gaps, gap_max_ns, lost_ms, lost_percent, rate_ppm, rate_bound_ppm
FROM clock_summary(pg_temp.sample('{"readings": 13, "duration_s": 2, "advance_s": 2.002, "reference_bound_ns": 100,
    "backward_steps": 3, "backward_max_ticks": 77, "warps": 1, "warp_max_ns": 5000, "warp_total_ns": 5000,
    "lags": 2, "lag_max_ns": 1500, "lag_total_ns": 2500,
    "gaps": 4, "gap_max_ns": 1000000, "gap_total_ns": 3000000}')) \gx
-- what is not known is null
SELECT granularity_ticks, granularity_ns, mean_margin_ns, cpus
FROM clock_summary(pg_temp.sample('{"granularity_ticks": 0, "mean_margin_ns": "NaN", "cpus": []}'));
-- nothing but backward steps
SELECT readings, mean_ns, stddev_ns, min_ns, p50_ns, max_ns, stalls, backward_steps
FROM clock_summary(pg_temp.sample('{"readings": 5, "backward_steps": 5, "backward_max_ticks": 9, "ticks": [], "counts": []}'));
SELECT * FROM clock_histogram(pg_temp.sample('{"readings": 5, "backward_steps": 5, "ticks": [], "counts": []}'));
SELECT * FROM clock_durations(pg_temp.sample('{"readings": 5, "backward_steps": 5, "ticks": [], "counts": []}'));

-- merging
CREATE TEMP TABLE samples (day int, sample clock_sample);
INSERT INTO samples VALUES
    (1, pg_temp.sample()),
    (2, NULL),
    (3, pg_temp.sample('{"started_at": "2025-12-31 00:00:00Z", "readings": 12, "backward_steps": 2,
        "backward_max_ticks": 5, "mean_margin_ns": 1.5, "granularity_ticks": 12, "longest_stall": 1,
        "gaps": 2, "gap_max_ns": 20000, "gap_total_ns": 35000, "cpus": [0, 3, 9], "migrations": 1,
        "precision_bits": 12, "ticks": [4, 21, 100000], "counts": [1, 8, 1]}'));
SELECT (clock_merge(sample)).* FROM samples \gx
SELECT s.mean_ns, s.readings, s.max_ns FROM (SELECT clock_merge(sample) AS m FROM samples) x, clock_summary(m) s;
-- of nothing, of nulls, of one
SELECT clock_merge(sample) IS NULL AS nothing FROM samples WHERE false;
SELECT clock_merge(sample) IS NULL AS nulls FROM samples WHERE day = 2;
SELECT clock_merge(sample)::text = min(sample::text) AS one FROM samples WHERE day = 3;
-- of two frequencies: ticks become those of the first sample
SELECT m.frequency_hz, m.ticks, m.counts, m.granularity_ticks, m.backward_max_ticks
FROM (SELECT clock_merge(s ORDER BY n) AS s
      FROM (VALUES (1, pg_temp.sample('{"ticks": [10, 20], "counts": [9, 1]}')),
                   (2, pg_temp.sample('{"frequency_hz": 2e9, "readings": 13, "backward_steps": 3, "backward_max_ticks": 40,
                                        "granularity_ticks": 26, "ticks": [20, 41], "counts": [5, 5]}'))) v(n, s)) x,
     LATERAL (SELECT (x.s).*) m;
-- as a window
SELECT day, cardinality((clock_merge(sample) OVER (ORDER BY day)).ticks) FROM samples;
-- clocks do not mix
SELECT clock_merge(s) FROM (VALUES (pg_temp.sample()), (pg_temp.sample('{"source": "other"}'))) v(s);
SELECT clock_merge(s) FROM (VALUES (pg_temp.sample()), (pg_temp.sample('{"clock": "other"}'))) v(s);
SELECT clock_merge(s) FROM (VALUES (pg_temp.sample('{"readings": 9223372036854775807, "ticks": [1], "counts": [9223372036854775807]}')),
                                   (pg_temp.sample())) v(s);
-- more distinct long durations than are kept exactly: rounded, never lost; the largest stays exact
WITH many AS (
    SELECT pg_temp.sample(jsonb_build_object('readings', 20001, 'ticks', jsonb_agg(t), 'counts', jsonb_agg(1))) AS s
    FROM (SELECT 100000 + 37 * i AS t FROM generate_series(0, 19999) i UNION ALL SELECT 1234567890123 ORDER BY t) d)
SELECT m.precision_bits BETWEEN 8 AND 16 AS rounded, cardinality(m.ticks) < 8192 AS fits,
       (SELECT sum(c) FROM unnest(m.counts) c) AS durations, m.ticks[cardinality(m.ticks)] AS largest,
       (SELECT max(abs(a.mean_ns - b.mean_ns) / b.mean_ns) < 0.001 FROM clock_summary(x.m) a, clock_summary(x.s) b) AS same_mean
FROM (SELECT clock_merge(s) AS m, (array_agg(s))[1] AS s FROM many) x, LATERAL (SELECT (x.m).*) m;
