-- The portable edition: the stable parts of each function's results. The edition is installed in a
-- schema, and then in pg_temp, by a role without privileges.
\set VERBOSITY terse
\set SHOW_CONTEXT never
\set ECHO none
\getenv inputdir PG_ABS_SRCDIR
\set try :inputdir '/sql/try.psql'
\set portable :inputdir '/../portable/clocktiming.sql'
\i :try
SET client_min_messages = warning;
CREATE SCHEMA portable;
SET search_path = portable;
\i :portable
-- a second installation replaces the first
\i :portable
RESET client_min_messages;
\set ECHO all
SET search_path = portable, public;

-- the portable edition consists of functions and procedures only
SELECT p.proname, p.prokind, pg_get_function_identity_arguments(p.oid) ~ '[A-Z]' AS has_outputs,
    count(*)
FROM pg_proc AS p WHERE p.pronamespace = 'portable'::regnamespace
    AND p.proname NOT LIKE 'internal\_%'
GROUP BY 1, 2, 3 ORDER BY p.proname COLLATE "C";
SELECT count(*) FROM pg_class WHERE relnamespace = 'portable'::regnamespace;
SELECT count(*) FROM pg_type WHERE typnamespace = 'portable'::regnamespace;

-- settings of the session, which are compared at the end
CREATE TEMP TABLE before AS SELECT name, setting FROM pg_settings;

-- one clock: keys of clock_measure(), and columns that plain SQL cannot fill
SELECT key FROM jsonb_object_keys(clock_measure('system', 0.1)) AS key ORDER BY key COLLATE "C";
SELECT s.source, s.clock <> '' AS clock, s.cost_ns > 0 AS cost, s.cost_margin_ns > 0 AS margin,
    s.readings > 1000 AS readings,
       s.duration_s > 0 AS duration, s.mean_ns > 0 AS mean, s.gaps >= 0 AS gaps,
           s.backward_steps >= 0 AS backward_steps
FROM portable.clock_summary('system', 0.3) AS s;
SELECT e.key FROM portable.clock_summary('system', 0.3) AS s, jsonb_each(to_jsonb(s)) AS e
WHERE e.value = 'null' AND e.key IN ('warps', 'lags', 'rate_ppm', 'cpus', 'skew')
    ORDER BY e.key COLLATE "C";
SELECT count(*) > 5 AS several, sum(h.percent) BETWEEN 99.99 AND 100.01 AS sum,
    max(h.running_percent) AS most,
       bool_and(h.le_ns = 2 ^ (h.n - 1) - 1) AS le_ns, bool_or(h.note IS NOT NULL) AS note
FROM portable.clock_histogram('system', 0.1) WITH ORDINALITY AS h(le_ns, percent, running_percent,
    count, bar, note, n);
SELECT count(*) > 5 AS several, bool_and(length(line) < 120) AS short
    FROM portable.clock_report(0.1) AS line;

-- the cost of timing; hides the warning that the duration was used up, on a busy machine
SET client_min_messages = error;
CALL portable.clock_executor_overhead(100, duration => 2) \gset o_
SELECT :o_rows AS rows, :'o_workload' AS workload, :o_repetitions > 0 AS repetitions,
    :o_plain_ms > 0 AS plain, :o_analyze_ms > 0 AS analyze,
       :'o_clock' <> '' AS clock;
SELECT e.mode, e.runs > 0 AS runs, e.mean_ms > 0 AS mean
    FROM portable.clock_query_overhead('SELECT count(*) FROM generate_series(1, 1000)', 0.3) AS e;
SELECT setting, verdict IN ('on', 'off', 'on_with_sample_rate', 'unknown') AS verdict,
    max_sample_rate IS NOT NULL = (verdict = 'on_with_sample_rate') AS rate, in_effect,
    reason IN ('low', 'high', 'calls_guessed', 'uncertain', 'idle', 'short_period',
               'no_upper_limit', 'not_counted') AS reason, advice <> '' AS advice
FROM portable.clock_impact();
SELECT setting, work, clock <> '' AS clock, readings_per_operation IN (2, 4) AS readings,
    operation_ns >= 0 AS cost
FROM portable.clock_impact(setting => NULL)
WHERE work IN ('relation reads', 'relation writes', 'WAL writes', 'WAL fsyncs',
    'calls of plan nodes');
SELECT count(*) AS silent FROM portable.clock_impact(setting => NULL)
    WHERE (bound IS NOT NULL OR cpu_percent IS NULL) AND reason IS NULL;
SELECT DISTINCT period, period_s BETWEEN 0.1 AND 60 AS period_s, operations_per_s >= 0 AS operations
    FROM portable.clock_impact(NULL, 0.1)
WHERE setting <> 'track_wal_io_timing';
SET track_io_timing = on;
SELECT setting, value, in_effect FROM portable.clock_impact() WHERE setting = 'track_io_timing';
RESET track_io_timing;
SET track_counts = off;
SELECT setting, cpu_percent, bound, operations_per_s, reason
    FROM portable.clock_impact(setting => NULL)
    WHERE setting LIKE 'auto_explain.%';
RESET track_counts;

-- plans
SELECT node, depth, node_type, loops, rows, total_ms >= 0 AS total, self_ms >= 0 AS self,
    total_margin_ms >= 0 AS margin, share_percent BETWEEN 0 AND 100 IS NOT FALSE AS share
FROM portable.clock_explain('SELECT count(*) FROM generate_series(1, 1000)');
SELECT count(*) > 2 AS several, bool_or("QUERY PLAN" LIKE '%Function Scan on generate_series%')
    AS scan
FROM portable.clock_explain_text('SELECT count(*) FROM generate_series(1, 1000)');
SELECT json_typeof(j) AS type, j #>> '{0,Plan,Node Type}' AS node_type
    FROM portable.clock_explain_json('SELECT count(*) FROM generate_series(1, 1000)') AS j;
CREATE TABLE portable_rows AS SELECT 1 AS i;
SELECT node_type FROM portable.clock_explain('DELETE FROM portable_rows', allow_writes => true)
    ORDER BY node;
SELECT * FROM portable_rows;
DROP TABLE portable_rows;

-- verdicts, with thresholds that every machine meets, and that none can meet
SELECT check_name, ok FROM portable.clock_check(max_cost_ns => 1e6, max_skew_ns => 'infinity',
    max_drift_ppm => 1e5, max_lost_percent => 100)
WHERE check_name NOT LIKE '%tsc%';
-- (the TSC's cost may be too small to be measured)
SELECT check_name, ok FROM portable.clock_check(1, 0, 'infinity', 'infinity', 'infinity')
WHERE NOT ok AND current_setting('timing_clock_source', true) LIKE '%tsc%' IS NOT TRUE
UNION ALL SELECT 'cost', false WHERE current_setting('timing_clock_source', true) LIKE '%tsc%';
SELECT check_name, figure IS NOT NULL AS has_figure, ok IS NOT NULL AS has_verdict, threshold, unit,
    coalesce(ok, detail <> '') AS says_why
FROM portable.clock_check() WHERE check_name NOT LIKE '%tsc%';
-- if the server does not read the TSC, checks of the TSC pass, because it does not matter
SELECT check_name, (ok IS NULL) = coalesce(current_setting('timing_clock_source', true) LIKE
    '%tsc%', false) AS as_it_should
FROM portable.clock_check(0.1) WHERE check_name LIKE '%tsc%';
SELECT check_name, coalesce(severity IN ('ok', 'notice', 'warning'), true) AS severity,
    finding <> '' AS finding,
       (coalesce(severity, 'ok') = 'ok' OR check_name = 'overall') = (action IS NULL) AS action
FROM portable.clock_advice(2) ORDER BY check_name <> 'overall', check_name COLLATE "C";

RESET client_min_messages;
-- bad input: messages about the error, and hints about valid input
\pset format unaligned
\pset tuples_only on
SELECT s, t.* FROM unnest(ARRAY[
    $$clock_measure(NULL, 1)$$, $$clock_measure('sundial', 1)$$, $$clock_measure('rdtsc', 1)$$,
        $$clock_measure('system', -1)$$,
    $$clock_summary('system', NULL)$$, $$clock_summary('sundial', 1)$$,
        $$clock_histogram('system', 'NaN')$$,
    $$clock_report(0)$$, $$clock_report(1, 101)$$, $$clock_query_overhead('VACUUM')$$,
        $$clock_query_overhead(NULL)$$,
    $$clock_explain('VACUUM')$$, $$clock_explain('DELETE FROM pg_class')$$, $$clock_explain('')$$,
        $$clock_explain(NULL)$$,
    $$clock_explain('SELECT $1')$$, $$clock_explain('SELECT $1', params => '{1,2}')$$,
        $$clock_explain('SELECT 1', runs => 0)$$,
    $$clock_explain('SELECT no_such_column')$$, $$clock_explain('SELECT 1/0')$$,
    $$clock_impact(0.09)$$, $$clock_impact(86401)$$, $$clock_impact(NULL, 'NaN')$$,
    $$clock_check(max_cost_ns => -1)$$, $$clock_check(max_skew_ns => 'NaN')$$,
        $$clock_check(max_lost_percent => '-infinity')$$,
    $$clock_check(duration => 0)$$, $$clock_check(duration => NULL)$$, $$clock_advice(0)$$,
        $$clock_advice(NULL)$$]) AS s,
    pg_temp.try('SELECT * FROM portable.' || s) AS t;
SELECT s, t.* FROM unnest(ARRAY['0', 'NULL', '100, NULL', $$100, 'sundial'$$, $$100, 'table', -1$$])
    AS s,
    pg_temp.try(format('CALL portable.clock_executor_overhead(%s)', s)) AS t;
\pset format aligned
\pset tuples_only off

-- with a short statement_timeout, a call fails with a message about it, or takes less time
SET statement_timeout = '100ms';
SELECT check_name, ok FROM portable.clock_check(2);
SET statement_timeout = '3s';
SET client_min_messages = warning;
SELECT count(*) FROM portable.clock_check(5);
RESET client_min_messages;
RESET statement_timeout;

-- objects of the same names that come first in search_path are ignored
CREATE SCHEMA masked;
CREATE VIEW masked.pg_stat_database AS SELECT 1/0 AS blks_read;
CREATE FUNCTION masked.clock_timestamp() RETURNS timestamptz LANGUAGE sql
    AS 'SELECT (1/0)::text::timestamptz';
CREATE FUNCTION masked.lessgreater(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT 1/0 > 0';
CREATE OPERATOR masked.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = masked.lessgreater);
SET search_path = masked, pg_catalog, public;
SELECT count(*) FROM portable.clock_summary('system', 0.1);
SELECT count(*) FROM portable.clock_impact();
SELECT count(*) FROM portable.clock_advice(0.1);
SELECT count(*) FROM
    portable.clock_explain('SELECT count(*) FROM pg_catalog.generate_series(1, 100)');
SHOW search_path;
SET search_path = portable, public;
SET client_min_messages = warning;
DROP SCHEMA masked CASCADE;
RESET client_min_messages;

-- in a read-only transaction, as on a standby, all functions work
SET client_min_messages = error;
BEGIN READ ONLY;
SELECT clock_measure('system', 0.1) IS NOT NULL AS measured;
CALL portable.clock_executor_overhead(100, duration => 0.2) \gset o_
SELECT count(*) FROM portable.clock_query_overhead('SELECT count(*) FROM generate_series(1, 1000)',
    0.3);
SELECT count(*) FROM portable.clock_explain('SELECT count(*) FROM generate_series(1, 1000)');
SELECT count(*) FROM portable.clock_impact(0.1);
SELECT count(*) FROM portable.clock_check(0.1);
SELECT count(*) FROM portable.clock_advice(0.1);
SELECT pg_current_xact_id_if_assigned() IS NULL AS no_transaction_id;
COMMIT;
RESET client_min_messages;

-- the session is unchanged
SELECT name, b.setting AS before, s.setting AS after FROM pg_settings AS s FULL JOIN before
    AS b USING (name)
WHERE s.setting IS DISTINCT FROM b.setting AND name <> 'search_path';
SELECT name FROM pg_prepared_statements;
SELECT name FROM pg_cursors;
SELECT relname FROM pg_class WHERE relnamespace = pg_my_temp_schema();
SELECT count(*) FROM pg_proc WHERE pronamespace = pg_my_temp_schema() AND proname LIKE 'clock%';

-- a role that may only connect and create temporary objects; functions in pg_temp are found only by
-- pg_temp.name
\set ECHO none
CREATE ROLE regress_clock_portable;
SET ROLE regress_clock_portable;
SET search_path = portable;
SET client_min_messages = warning;
\i :portable
RESET client_min_messages;
\set ECHO all
SELECT count(*) > 10 AS installed FROM pg_proc WHERE pronamespace = pg_my_temp_schema()
    AND proname LIKE 'clock%';
SET client_min_messages = error;
-- (this role may not use the functions of the schema)
SELECT count(*) FROM portable.clock_check(0.1);
SELECT s.cost_ns > 0 AS cost FROM pg_temp.clock_summary('system', 0.2) AS s;
SELECT count(*) > 5 AS several FROM pg_temp.clock_histogram('system', 0.1);
SELECT count(*) > 5 AS several FROM pg_temp.clock_report(0.1);
CALL pg_temp.clock_executor_overhead(100, duration => 2) \gset o_
SELECT :o_repetitions > 0 AS repetitions;
SELECT mode FROM pg_temp.clock_query_overhead('SELECT count(*) FROM generate_series(1, 1000)', 0.3);
SELECT node_type FROM pg_temp.clock_explain('SELECT count(*) FROM generate_series(1, 1000)');
SELECT count(*) > 2 AS several FROM
    pg_temp.clock_explain_text('SELECT count(*) FROM generate_series(1, 1000)');
SELECT json_typeof(pg_temp.clock_explain_json('SELECT count(*) FROM generate_series(1, 1000)'))
    AS type;
SELECT setting FROM pg_temp.clock_impact();
SELECT count(*) > 5 AS several FROM pg_temp.clock_impact(setting => NULL);
SELECT count(*) FROM pg_temp.clock_check(0.1);
SELECT check_name FROM pg_temp.clock_advice(0.1) WHERE check_name IN ('overall', 'support_case');
RESET ROLE;
SET client_min_messages = warning;
DROP OWNED BY regress_clock_portable;
DROP ROLE regress_clock_portable;
DROP SCHEMA portable CASCADE;
