-- Bad input: the SQLSTATE, the message about the error, and a hint about valid input.
\getenv inputdir PG_ABS_SRCDIR
\set file :inputdir '/sql/try.psql'
\i :file

\pset format unaligned
\pset tuples_only on

-- sources
SELECT t.* FROM unnest(ARRAY[
    $$SELECT clock_measure('sundial', 1)$$,
    $$SELECT clock_measure('', 1)$$,
    $$SELECT clock_measure(NULL, 1)$$,
    $$SELECT clock_histogram(NULL)$$,
    $$SELECT clock_histogram('sundial')$$,
    $$SELECT clock_histogram('sundial', 1, 99)$$,
    $$SELECT clock_summary('sundial', 1)$$
]) AS s, pg_temp.try(s) AS t;

-- durations
SELECT d, t.* FROM unnest(ARRAY['NULL', '0', '-1', $$'NaN'$$, $$'Infinity'$$, $$'-Infinity'$$,
    '86400.1', '1e300', '1e-7',
    '-0.0', '5e-324']) AS d,
    pg_temp.try(format($$SELECT clock_measure('system', %s)$$, d)) AS t;
SELECT f, t.* FROM unnest(ARRAY[
    $$clock_histogram('system', 'NaN')$$, $$clock_histogram('system', -1, 99)$$,
        $$clock_summary('system', 1e6)$$,
    $$clock_report(0)$$, $$clock_report(NULL)$$]) AS f,
    pg_temp.try('SELECT ' || f) AS t;

-- cutoffs; they are checked before the run, not after it
SELECT c, t.* FROM unnest(ARRAY['-0.01', '100.01', $$'NaN'$$, $$'Infinity'$$]) AS c,
    pg_temp.try(format($$SELECT clock_histogram('system', 86400, %s)$$, c)) AS t;
SELECT f, t.* FROM unnest(ARRAY['clock_report(86400, 101)', 'clock_report(86400, NULL)']) AS f,
    pg_temp.try('SELECT ' || f) AS t;

-- samples
SELECT f, t.* FROM unnest(ARRAY[
    'clock_histogram(NULL::clock_sample)', 'clock_histogram(NULL::clock_sample, 99)',
        'clock_summary(NULL::clock_sample)'
]) AS f, pg_temp.try('SELECT ' || f) AS t;

CREATE FUNCTION pg_temp.sample(changes jsonb DEFAULT '{}') RETURNS clock_sample LANGUAGE sql AS $$
    SELECT ('{"version": 1,
        "source": "made", "clock": "by hand", "started_at": "2026-01-01T00:00:00Z",
        "duration_s": 0.000001,
        "frequency_hz": 1e9, "resolution_ns": 1, "granularity_ticks": 10, "readings": 3,
        "mean_margin_ns": 0.5, "cost_ns": 9.5, "cost_margin_ns": 0.25,
        "advance_s": 0.000001, "reference_bound_ns": 0.1, "longest_stall": 0,
        "backward_steps": 0, "backward_max_ticks": 0,
        "warps": 0, "warp_max_ns": 0, "warp_total_ns": 0, "lags": 0, "lag_max_ns": 0,
        "lag_total_ns": 0,
        "gaps": 0, "gap_max_ns": 0, "gap_total_ns": 0, "cpus": [1, 3], "migrations": 4,
        "precision_bits": 64,
        "ticks": [20, 30], "counts": [1, 2]}'::jsonb || changes)::clock_sample $$;
SELECT t.* FROM pg_temp.try('SELECT clock_summary(pg_temp.sample())') AS t;
SELECT c, t.said FROM unnest(ARRAY[
    '{"ticks": [20]}', '{"ticks": []}', '{"counts": [1, 1, 1]}', '{"ticks": [30, 20]}',
        '{"ticks": [20, 20]}',
    '{"ticks": [-1, 30]}', '{"ticks": [20, null]}', '{"counts": [null, 3]}', '{"counts": [0, 3]}',
        '{"counts": [-1, 4]}',
    '{"ticks": null}', '{"counts": null}', '{"ticks": [[20], [30]]}',
    '{"counts": [9223372036854775807, 1]}', '{"counts": [1, 3]}', '{"readings": -3}',
        '{"backward_steps": 1}',
    '{"readings": -9223372036854775808}', '{"backward_steps": 9223372036854775807}',
    '{"frequency_hz": 0}', '{"frequency_hz": -1}', '{"frequency_hz": "NaN"}',
        '{"frequency_hz": "Infinity"}',
    '{"frequency_hz": 1e-300}', '{"frequency_hz": null}',
    '{"duration_s": -1}', '{"duration_s": "NaN"}', '{"resolution_ns": -1}',
        '{"granularity_ticks": -1}',
    '{"mean_margin_ns": -1}', '{"mean_margin_ns": "Infinity"}', '{"advance_s": "-Infinity"}',
        '{"advance_s": "NaN"}', '{"reference_bound_ns": -1}',
    '{"longest_stall": -1}', '{"backward_max_ticks": -1}', '{"warps": -1}',
        '{"warp_max_ns": "NaN"}',
    '{"lags": -1}', '{"lag_total_ns": "Infinity"}', '{"gaps": -1}', '{"gap_max_ns": -1}',
        '{"gap_total_ns": -1}',
    '{"cpus": [3, 1]}', '{"cpus": [-1]}', '{"cpus": [1, null]}', '{"cpus": [1, 1]}',
        '{"migrations": -1}',
    '{"precision_bits": 0}', '{"precision_bits": 65}', '{"source": null}', '{"clock": null}',
        '{"started_at": null}',
    '{"gaps": null}', '{"cost_ns": -1}', '{"cost_margin_ns": "NaN"}', '{"mean_margin_ns": 1e400}',
    '{"version": 0}', '{"version": -1}', '{"version": "1"}', '{"version": 1.5}',
        '{"version": null}', '{"version": 2}', '{"version": 1e30}',
    '{"version": 2, "skew": 5}', '{"skew": 5}', '{"": 5}', '{"Source": "made"}', '{"source": 5}',
        '{"source": ["made"]}', '{"clock": {}}',
    '{"readings": 3.5}', '{"readings": "3"}', '{"readings": 9223372036854775808}',
        '{"readings": true}', '{"warps": [1]}',
    '{"cpus": 1}', '{"cpus": null}', '{"cpus": {"0": 1}}', '{"cpus": [4096]}',
        '{"cpus": [1, 4294967298]}', '{"cpus": ["1"]}', '{"cpus": [[1]]}',
    '{"ticks": [20.5, 30]}', '{"ticks": ["20", "30"]}', '{"precision_bits": 4294967297}',
    '{"started_at": "2026-01-01 00:00:00Z"}', '{"started_at": "2026-02-29T00:00:00Z"}',
        '{"started_at": "2026-13-01T00:00:00Z"}',
    '{"started_at": "2026-00-01T00:00:00Z"}', '{"started_at": "2026-01-01T24:00:00Z"}',
        '{"started_at": "2026-01-01T00:00:60Z"}',
    '{"started_at": "0000-01-01T00:00:00Z"}', '{"started_at": "2026-01-01T00:00:00"}',
        '{"started_at": "2026-01-01T00:00:00+01"}',
    '{"started_at": "2026-01-01T00:00:00.1234567Z"}', '{"started_at": "infinity"}',
        '{"started_at": ""}', '{"started_at": 0}'
]) AS c, pg_temp.try(format('SELECT clock_summary(pg_temp.sample(%L))', c)) AS t
WHERE t.said LIKE 'DETAIL%' OR t.state NOT IN ('22P02');
-- the functions that read samples check them, and so does the aggregate
SELECT f, t.* FROM unnest(ARRAY['clock_histogram', 'clock_summary', 'clock_merge']) AS f,
    pg_temp.try(format($$SELECT %I(pg_temp.sample('{"counts": [1]}'))$$, f)) AS t;
SELECT t.* FROM pg_temp.try('SELECT clock_histogram(ROW(1, 2)::clock_sample)') AS t;
-- each member is mandatory
SELECT k, t.said FROM jsonb_object_keys(pg_temp.sample()::jsonb) AS k,
    pg_temp.try(format('SELECT (pg_temp.sample()::jsonb - %L)::clock_sample', k)) AS t
        WHERE t.said LIKE 'DETAIL%';
-- text that is no JSON object, or an object that is no valid sample
SELECT v, t.* FROM unnest(ARRAY['', '{', '[]', '1', 'null', '"made"', '[{"version": 1}]', '{}',
    '{"version": 1}', '{"version": 3}']) AS v,
    pg_temp.try(format('SELECT %L::clock_sample', v)) AS t;
-- limits: length and nesting of the text, length of names, numbers of CPUs and of durations
SELECT t.* FROM unnest(ARRAY[
    $$SELECT repeat(' ', 2097153)::clock_sample$$,
    $$SELECT repeat('[', 2000000)::clock_sample$$,
    $$SELECT pg_temp.sample(jsonb_build_object('source', repeat('x', 256)))$$,
    $$SELECT pg_temp.sample(jsonb_build_object(repeat('x', 1000), 1))$$,
    $$SELECT pg_temp.sample(jsonb_build_object('cpus',
        (SELECT jsonb_agg(i) FROM generate_series(0, 4096) i)))$$,
    $$SELECT pg_temp.sample(jsonb_build_object('readings', 10241, 'ticks',
        (SELECT jsonb_agg(i) FROM generate_series(0, 10240) i),
        'counts', (SELECT jsonb_agg(1) FROM generate_series(0, 10240) i)))$$]) AS s, pg_temp.try(s)
            AS t
WHERE t.said NOT LIKE 'HINT%';
SELECT s.source = repeat('x', 255) AS longest, s.readings
FROM clock_summary(pg_temp.sample(jsonb_build_object('source', repeat('x', 255), 'readings', 10240,
    'ticks', (SELECT jsonb_agg(i) FROM generate_series(0, 10239) i),
    'counts', (SELECT jsonb_agg(1) FROM generate_series(0, 10239) i)))) AS s;
SELECT t.* FROM
    pg_temp.try('SELECT clock_summary((SELECT NULL::clock_sample FROM generate_series(1, 1)))')
    AS t;

-- after an error, the session can be used
BEGIN;
CREATE TEMP TABLE kept AS SELECT 1 AS a;
SAVEPOINT before;
SELECT clock_measure('sundial');
ROLLBACK TO before;
SELECT readings > 0 FROM clock_summary('system', 0.001);
SELECT a FROM kept;
COMMIT;
