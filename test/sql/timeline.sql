-- clock_timeline() and clock_throttled(): bad input, and the parts of real runs that are the same
-- everywhere. Other properties are tested in test/pgtap and test/t.
CREATE FUNCTION pg_temp.try(statement text) RETURNS TABLE (state text, said text) LANGUAGE plpgsql
    AS $$
DECLARE
    message text;
    detail text;
    hint text;
BEGIN
    EXECUTE statement;
    RETURN QUERY VALUES ('00000', 'no error');
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
        detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    -- the list of sources depends on the platform
    RETURN QUERY SELECT t.state, regexp_replace(v.line, '(sources are system, ).*, (.*, and |.*$)',
        '\1..., \2')
        FROM (VALUES (message), ('DETAIL: ' || nullif(detail, '')), ('HINT: ' || nullif(hint, '')))
            v(line),
             (SELECT state) t
        WHERE v.line IS NOT NULL;
END $$;

\pset format unaligned
\pset tuples_only on

-- clock_timeline; arguments are checked before the run
SELECT f, t.* FROM unnest(ARRAY[
    $$NULL$$, $$'sundial'$$, $$''$$,
    $$'system', NULL$$, $$'system', 86400, NULL$$,
    $$'system', 0$$, $$'system', -1$$, $$'system', 'NaN'$$, $$'system', 'Infinity'$$,
        $$'system', 86401$$,
    $$'system', 86400, 0$$, $$'system', 86400, -1$$, $$'system', 86400, 'NaN'$$,
        $$'system', 86400, 'Infinity'$$,
    $$'system', 86400, '-Infinity'$$, $$'system', 86400, 0.0009$$, $$'system', 2, 2.5$$,
        $$'system', 0.5$$,
    $$'system', 86400, 1, 0$$, $$'system', 86400, 1, -1$$, $$'system', 86400, 1, 'NaN'$$,
        $$'system', 86400, 1, 'Infinity'$$,
    $$'system', 86400, 1, '-Infinity'$$, $$'system', 86400, 1, 0.0009$$,
        $$'system', 86400, 1, 1000001$$
]) AS f, pg_temp.try(format('SELECT clock_timeline(%s)', f)) AS t;

-- clock_throttled, and clock_measure with a rate
SELECT f, t.* FROM unnest(ARRAY[
    $$NULL$$, $$'sundial'$$, $$'system', NULL$$, $$'system', 3, NULL$$,
    $$'system', 0$$, $$'system', 'NaN'$$, $$'system', 86401$$,
    $$'system', 3, 0$$, $$'system', 3, -1$$, $$'system', 3, 'NaN'$$, $$'system', 3, 'Infinity'$$,
    $$'system', 3, 0.0009$$, $$'system', 3, 1000001$$
]) AS f, pg_temp.try(format('SELECT clock_throttled(%s)', f)) AS t;
SELECT f, t.* FROM unnest(ARRAY[
    $$NULL, 3, 200$$, $$'system', NULL, 200$$, $$'system', 0, 200$$,
    $$'system', 3, 0$$, $$'system', 3, -1$$, $$'system', 3, 'NaN'$$, $$'system', 3, 'Infinity'$$,
        $$'system', 3, 1e300$$
]) AS f, pg_temp.try(format('SELECT clock_measure(%s)', f)) AS t;

-- real runs
\pset format aligned
\pset tuples_only off
SELECT elapsed_s, readings > 0 AS readings, mean_ns > 0 AS mean, stddev_ns >= 0 AS stddev,
    p50_ns <= p99_ns AS p99, p99_ns <= max_ns AS max,
       lost_ms >= 0 AS lost, backward_steps, sampled_s > 0 AS sampled, cpu_percent >= 0 AS cpu,
           instants, cold_mean_ns, late_mean_us
FROM clock_timeline('SYSTEM', 1.25, 0.5);
SELECT elapsed_s FROM clock_timeline(duration => 0.3, every => 0.1);
SELECT elapsed_s FROM clock_timeline(every => 0.00125, duration => 0.00375);
SELECT elapsed_s FROM clock_timeline('system', 0.001, 0.001);
-- in the target list
SELECT (t).elapsed_s FROM (SELECT clock_timeline('system', 0.02, 0.01) AS t) AS s;
SELECT g, (clock_timeline('system', 0.01 * g, 0.01)).elapsed_s FROM generate_series(1, 2) AS g;
-- a timeline that ends early, because the query reads no more rows
SELECT (t).elapsed_s FROM (SELECT clock_timeline('system', 86400, 0.01) AS t LIMIT 2) AS s;
SELECT EXISTS (SELECT clock_timeline('system', 86400, 0.01));
BEGIN;
DECLARE c CURSOR FOR SELECT clock_timeline('system', 86400, 0.01, 1000);
MOVE 2 FROM c;
CLOSE c;
DECLARE c CURSOR FOR SELECT clock_timeline('system', 86400, 0.01);
MOVE 2 FROM c;
ROLLBACK;
-- Readings are taken only during a FETCH or MOVE. So intervals that pass between two of these
-- commands have no readings.
BEGIN;
DECLARE c CURSOR FOR SELECT (t).* FROM (SELECT clock_timeline('system', 0.4, 0.1) AS t) AS s;
MOVE 1 FROM c;
SELECT pg_sleep(0.5);
FETCH ALL FROM c;
COMMIT;

SELECT source, instants > 0 AS instants, wakeups BETWEEN 1 AND instants AS wakeups,
    instants_per_s > 0 AS rate,
       cold_mean_ns > 0 AS cold, warm_mean_ns > 0 AS warm, late_mean_us >= 0 AS late,
           cpu_percent > 0 AS cpu
FROM clock_throttled('System', 1, 100);
SELECT source, readings > 0 AS readings, backward_steps
    FROM clock_summary(clock_measure('system', 1, 100));
SELECT count(*) > 0 AS readings FROM clock_histogram(clock_measure(source => 'system', rate => 200,
    duration => 0.5));
-- runs that are so short that no reading is due
SELECT source, instants, wakeups, instants_per_s, cold_mean_ns, warm_mean_ns, late_max_us
    FROM clock_throttled('system', 0.000001, 0.001);
SELECT readings FROM clock_summary(clock_measure('system', 0.000001, 0.001));
-- a rate that no clock can reach
\set VERBOSITY terse
DO $$
DECLARE r numeric;
BEGIN
    r := instants_per_s FROM clock_throttled('system', 0.2, 1000000);
    RAISE NOTICE 'some: %, not all: %', r > 0, r < 950000;
END $$;
\set VERBOSITY default
