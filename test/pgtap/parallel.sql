-- Parallel plans: times are sums over all processes, and each process has its own.
BEGIN;
SELECT plan(17);

CREATE TABLE many AS SELECT i FROM generate_series(1, 1000000) AS i;
ANALYZE many;
SET LOCAL max_parallel_workers_per_gather = 2;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL jit = off;

-- Makes the leader wait at its first row, while the workers do nearly all of the work. Each of the
-- leader's other rows takes much longer than a row of a worker.
CREATE FUNCTION process_id() RETURNS integer LANGUAGE internal STABLE PARALLEL SAFE
    AS 'pg_backend_pid';
CREATE FUNCTION slow(i integer) RETURNS boolean LANGUAGE plpgsql PARALLEL SAFE AS $$
DECLARE
    until timestamptz := clock_timestamp() + interval '10 microseconds';
BEGIN
    IF until < current_setting('regress.until')::timestamptz THEN
        PERFORM pg_sleep_for(current_setting('regress.until')::timestamptz - until);
    END IF;
    WHILE clock_timestamp() < until LOOP
    END LOOP;
    RETURN hashint4(i) % 3 = 0;
END;
$$;

-- No node takes longer than all processes together.
CREATE FUNCTION leader_test(plan text, query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    explained record;
BEGIN
    PERFORM set_config('regress.until', (clock_timestamp() + interval '1 second')::text, true);
    SELECT array_agg(node_type ORDER BY node) FILTER (WHERE node > 0)::text AS nodes,
           max(run_ms) FILTER (WHERE node = 0) AS run_ms,
           max(total_ms) FILTER (WHERE relation = 'many') AS scan_ms
    INTO explained FROM clock_explain(format(query, pg_backend_pid()));
    RETURN NEXT is(explained.nodes, plan, 'nodes of ' || query);
    RETURN NEXT cmp_ok(explained.scan_ms, '<', 3.1 * explained.run_ms,
        'the scan takes no longer than three times the run of ' || query);
END;
$$;
\set filter 'WHERE CASE WHEN process_id() = %s THEN slow(i) ELSE hashint4(i) %% 3 = 0 END'
SELECT leader_test('{Gather,"Seq Scan"}', 'SELECT i FROM many ' || :'filter');
SELECT leader_test('{Aggregate,Gather,Aggregate,"Seq Scan"}', 'SELECT count(*) FROM many '
    || :'filter');
SELECT leader_test('{Limit,Gather,"Seq Scan"}', 'SELECT i FROM many ' || :'filter'
    || ' LIMIT 300000');

-- The server prints the removed rows of all processes. Those of workers must be counted only once.
CREATE FUNCTION removed(explained json) RETURNS integer LANGUAGE sql AS $$
    SELECT round((scan->>'Rows Removed by Filter')::numeric * (scan->>'Actual Loops')::numeric /
        10)::integer
    FROM json_extract_path(explained, '0', 'Plan', 'Plans', '0') AS scan;
$$;
SELECT is(removed(clock_explain_json('SELECT i FROM many WHERE i % 3 = 0')::json), 66667,
          'removed rows of workers are counted once');
SELECT is(removed(clock_explain_json('SELECT i FROM many WHERE i % 3 = 0', method => 'full')::json),
    66667,
          'removed rows of workers are counted once, method full');
-- Gather's self time is the leader's wait for its workers. Shares add up to 100 %.
SET LOCAL parallel_leader_participation = off;
CREATE TEMP TABLE waits AS
    SELECT runs, e.*
    FROM unnest(ARRAY[1, 3]) AS runs,
         clock_explain('SELECT count(*) FROM many WHERE CASE WHEN i % 50000 = 0 '
             'THEN pg_sleep(0.01) IS NOT NULL END', runs => runs) AS e;
SELECT is(string_agg(node_type, ' ' ORDER BY node) FILTER (WHERE node > 0),
    'Aggregate Gather Aggregate Seq Scan', runs
    || ' runs: nodes of the plan')
FROM waits GROUP BY runs ORDER BY runs;
SELECT ok(wait_ms > self_ms * 0.8 AND waits ~ 'IPC:ExecuteGather', runs
    || ' runs: Gather waits for its workers: ' || waits)
FROM waits WHERE node_type = 'Gather' ORDER BY runs;
SELECT ok(abs(sum(share_percent) - 100) < 0.1 AND max(share_percent) <= 100, runs
    || ' runs: shares add up: ' || array_agg(share_percent)::text)
FROM waits GROUP BY runs ORDER BY runs;
SELECT ok(waits ~ '^Timeout:PgSleep' AND note ~ 'sum of \d processes', runs
    || ' runs: the scan waits: ' || waits)
FROM waits WHERE node_type = 'Seq Scan' ORDER BY runs;
RESET parallel_leader_participation;

-- Workers that cannot be started
SET LOCAL max_parallel_workers = 0;
SELECT is(removed(clock_explain_json('SELECT i FROM many WHERE i % 3 = 0')::json), 66667,
          'removed rows are counted if no worker can be started');
SELECT * FROM finish();
ROLLBACK;
