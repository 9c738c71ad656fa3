-- Overhead of EXPLAIN ANALYZE: columns and errors. The session must be unchanged afterwards. The
-- figures are tested in test/pgtap and in bench/.
\getenv inputdir PG_ABS_SRCDIR
\set file :inputdir '/sql/try.psql'
\i :file
CREATE TABLE overhead_test (id int PRIMARY KEY, v int);
INSERT INTO overhead_test SELECT i, i % 10 FROM generate_series(1, 1000) AS i;
CREATE TABLE overhead_settings AS
    SELECT name, setting FROM pg_settings WHERE name NOT LIKE 'transaction%';

-- clock_executor_overhead(), which needs a longer duration on an emulated processor
\set seconds `test -z "$CLOCKTIMING_EMULATED" && echo 0.1 || echo 3`
-- hides the warning that the duration was used up, which appears if the process waits for the CPU
SET client_min_messages = error;
CALL clock_executor_overhead(rows => 1000, duration => :seconds) \gset
SELECT :rows AS rows, :'workload' AS workload, :repetitions >= 1 AS repetitions,
       :plain_ms > 0 AS plain, :analyze_ms > 0 AS analyzed, :reading_ns > 0 AS reading,
       :predicted_ns BETWEEN 2 * :reading_ns - 0.02 AND 2 * :reading_ns + 0.02 AS predicted,
       :'parallel' AS parallel, :'jit' AS jit,
       :'clock' = (SELECT clock FROM clock_sources WHERE source = 'instr_time') AS clock;
CALL clock_executor_overhead(1000, 'TABLE', :seconds) \gset
SELECT :'workload' AS workload, :repetitions >= 1 AS repetitions, :plain_ms > 0 AS plain;
CALL clock_executor_overhead(1, duration => :seconds) \gset
SELECT :rows AS rows, :repetitions >= 1 AS repetitions;
-- the temporary table of the workload "table" is dropped
SELECT to_regclass('pg_temp.clock_overhead_rows') IS NULL AS gone;

-- one row per mode
SELECT mode, runs >= 1 AS runs, min_ms <= median_ms AS median, min_ms <= mean_ms AS mean,
       overhead_ns IS NULL AS no_overhead, slowdown_percent IS NULL AS no_slowdown, parallel, jit
FROM clock_executor_overhead_runs(1000, duration => :seconds);
SELECT mode, runs >= 1 AS runs FROM clock_executor_overhead_runs(1000, 'table', :seconds);
SELECT mode, runs >= 1 AS runs FROM clock_executor_overhead_runs(1000, duration => :seconds,
    path => 'statement');

-- a query of the user; node_calls adds up the calls of all nodes: a node is called once for each of
-- its rows, and once at the end of each loop
SELECT mode, runs >= 1 AS runs, node_calls, parallel, jit
FROM clock_query_overhead('SELECT * FROM generate_series(1, 1000)', :seconds);
SELECT DISTINCT node_calls FROM
    clock_query_overhead('SELECT count(*) FROM generate_series(1, 1000)', :seconds);
SELECT DISTINCT node_calls FROM clock_query_overhead('VALUES (1), (2), (3)', :seconds);
SELECT DISTINCT node_calls FROM
    clock_query_overhead('WITH x AS MATERIALIZED (SELECT 1) SELECT * FROM x, x AS y', :seconds);
SET enable_nestloop = off; SET enable_mergejoin = off; SET max_parallel_workers_per_gather = 0;
-- calls: seq scan 1000 + 1, hash 1, seq scan 1000 + 1, hash join 900 + 1
ANALYZE overhead_test;
SELECT DISTINCT node_calls FROM
    clock_query_overhead('SELECT * FROM overhead_test AS a JOIN overhead_test AS b ON a.id = b.v',
    :seconds);
RESET enable_nestloop; RESET enable_mergejoin; RESET max_parallel_workers_per_gather;
SELECT count(*) FROM clock_query_overhead('TABLE overhead_test', :seconds);
SELECT count(*) FROM clock_query_overhead('SELECT 1;', :seconds);
SELECT count(*) FROM clock_query_overhead(query => '/* a comment */ SELECT 1 -- another',
    duration => :seconds);

RESET client_min_messages;
-- an execution that takes longer than the duration is the last one
CREATE FUNCTION overhead_long() RETURNS int LANGUAGE plpgsql AS
    $$ BEGIN RAISE NOTICE 'executed'; PERFORM pg_sleep(0.3); RETURN 1; END $$;
\set VERBOSITY terse
SELECT mode, runs, min_ms > 0 AS min, stddev_ms, overhead_ms, overhead_margin_ms, slowdown_percent,
    node_calls, overhead_ns_per_call, reason
FROM clock_query_overhead('SELECT overhead_long()', 0.01);
SELECT mode, runs, min_ms > 0 AS min, stddev_ms, overhead_ns, overhead_margin_ns, slowdown_percent,
    reason
FROM clock_executor_overhead_runs(1000000, duration => 0.001);
CALL clock_executor_overhead(1000000, duration => 0.001) \gset
SELECT :repetitions AS repetitions, :plain_ms > 0 AS plain, :{?analyze_ms} AS analyzed,
    :{?overhead_ns} AS overhead;
\set VERBOSITY default
DROP FUNCTION overhead_long;

-- statements that write are refused, or rolled back after each execution
\pset format unaligned
\pset tuples_only on
SELECT s, t.* FROM unnest(ARRAY[
    'INSERT INTO overhead_test VALUES (-1, 1)',
    'UPDATE overhead_test SET v = 0',
    'DELETE FROM overhead_test',
    'MERGE INTO overhead_test AS t USING (VALUES (1)) AS s(id) ON t.id = s.id WHEN MATCHED '
        'THEN DELETE',
    'WITH d AS (DELETE FROM overhead_test RETURNING *) SELECT count(*) FROM d',
    'SELECT * FROM overhead_test FOR UPDATE'
]) AS s, pg_temp.try(format('SELECT clock_query_overhead(%L, 0.1)', s)) AS t;
-- hides the warning that the duration was used up, which appears on a slow machine
SET client_min_messages = error;
SELECT s, t.* FROM unnest(ARRAY[
    'INSERT INTO overhead_test VALUES (-1, 1)',
    'UPDATE overhead_test SET v = 0',
    'DELETE FROM overhead_test',
    'MERGE INTO overhead_test AS t USING (VALUES (1)) AS s(id) ON t.id = s.id WHEN MATCHED '
        'THEN DELETE',
    'WITH d AS (DELETE FROM overhead_test RETURNING *) SELECT count(*) FROM d',
    'SELECT * FROM overhead_test FOR UPDATE'
]) AS s, pg_temp.try(format('SELECT clock_query_overhead(%L, 0.1, allow_writes => true)', s)) AS t;
RESET client_min_messages;
SELECT count(*), sum(v), min(id) FROM overhead_test;
-- a SELECT with a function that writes
CREATE FUNCTION overhead_writes() RETURNS int LANGUAGE sql VOLATILE AS
    'INSERT INTO overhead_test VALUES (-2, 1) RETURNING 1';
CREATE SEQUENCE overhead_sequence;
SELECT s, t.* FROM unnest(ARRAY['SELECT overhead_writes()',
    $$SELECT nextval('overhead_sequence')$$]) AS s,
    pg_temp.try(format('SELECT clock_query_overhead(%L, 0.1)', s)) AS t;
SELECT count(*) FROM overhead_test;

-- statements that cannot be measured
SELECT s, t.* FROM unnest(ARRAY[
    '', '   ', ';', '-- nothing', 'SELECT 1; SELECT 2', 'SELEC 1', 'SELECT nosuchcolumn',
        'SELECT $1',
    'SELECT $1::int + $2', 'EXPLAIN SELECT 1', 'EXPLAIN ANALYZE SELECT 1',
        'COPY overhead_test TO STDOUT',
    'BEGIN', 'COMMIT', 'ROLLBACK', 'VACUUM', 'CREATE TABLE x (a int)', 'CREATE TABLE x AS SELECT 1',
    'SELECT 1 INTO x', 'DO $d$BEGIN END$d$', 'SET work_mem = 64', 'CALL clock_executor_overhead()',
    'DECLARE c CURSOR FOR SELECT 1', 'PREPARE p AS SELECT 1', 'EXECUTE p', 'LISTEN x', 'SELECT 1/0',
    'SELECT clock_query_overhead($$SELECT 1/0$$)'
]) AS s, pg_temp.try(format('SELECT clock_query_overhead(%L, 0.1)', s)) AS t;
SELECT s, t.* FROM unnest(ARRAY[
    'SELECT clock_query_overhead(NULL)', 'SELECT clock_query_overhead($$SELECT 1$$, NULL)',
    'SELECT clock_query_overhead($$SELECT 1$$, allow_writes => NULL)',
    'SELECT clock_query_overhead($$SELECT 1$$, -1)',
        $$SELECT clock_query_overhead('SELECT 1', 'NaN')$$,
    'CALL clock_executor_overhead(0)', 'CALL clock_executor_overhead(-5)',
        'CALL clock_executor_overhead(NULL)',
    'CALL clock_executor_overhead(10000001)', 'CALL clock_executor_overhead(9223372036854775807)',
    $$CALL clock_executor_overhead(workload => 'nosuch')$$,
        'CALL clock_executor_overhead(workload => NULL)',
    'CALL clock_executor_overhead(duration => 0)',
        $$CALL clock_executor_overhead(duration => 'Infinity')$$,
    $$SELECT clock_executor_overhead_runs(path => 'nosuch')$$,
        'SELECT clock_executor_overhead_runs(path => NULL)',
    'SELECT clock_executor_overhead_runs(0)',
        $$SELECT clock_executor_overhead_runs(workload => '')$$
]) AS s, pg_temp.try(s) AS t;
\pset format aligned
\pset tuples_only off

SET client_min_messages = error;
-- the position of a syntax error refers to the measured query
SELECT clock_query_overhead('SELECT id, nosuch FROM overhead_test');
SELECT clock_query_overhead('SELECT 1/(id - 500) FROM overhead_test', :seconds);

-- calls in a transaction, in a subtransaction, after an error, and nested calls
BEGIN;
INSERT INTO overhead_test VALUES (-3, 1);
SAVEPOINT s;
SELECT clock_query_overhead('SELECT 1/0', :seconds);
ROLLBACK TO s;
SELECT count(*) FROM clock_query_overhead('SELECT 1', :seconds);
SET LOCAL client_min_messages = error;
SELECT count(*) FROM clock_query_overhead('DELETE FROM overhead_test', :seconds,
    allow_writes => true);
SELECT count(*) FROM overhead_test;
SHOW transaction_read_only;
CREATE TABLE overhead_made_later (a int);
ROLLBACK;
SET client_min_messages = error;
SELECT count(*) FROM
    clock_query_overhead('SELECT count(*) FROM clock_query_overhead($$SELECT 1$$, 0.01)', :seconds);
RESET client_min_messages;
BEGIN READ ONLY;
SELECT count(*) FROM clock_query_overhead('SELECT 1', :seconds);
CALL clock_executor_overhead(100, duration => :seconds) \gset
SELECT :rows AS rows;
CALL clock_executor_overhead(100, 'table', duration => :seconds);
ROLLBACK;

-- the session's settings have not changed
SELECT name, s.setting, o.setting AS before FROM pg_settings AS s JOIN overhead_settings
    AS o USING (name)
WHERE s.setting IS DISTINCT FROM o.setting;
SELECT count(*) FROM overhead_test;
DROP TABLE overhead_test, overhead_settings;
DROP FUNCTION overhead_writes;
DROP SEQUENCE overhead_sequence;
