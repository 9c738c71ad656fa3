-- Parallel plans: estimates for the leader do not include counts of workers.
BEGIN;
SELECT plan(10);

CREATE TABLE many AS SELECT i FROM generate_series(1, 1000000) AS i;
ANALYZE many;
SET LOCAL max_parallel_workers_per_gather = 2;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL jit = off;

-- Makes the leader wait at its first row, while the workers do nearly all of the work. Each of the
-- leader's other rows takes much longer than a row of a worker.
CREATE FUNCTION process_id() RETURNS integer LANGUAGE internal STABLE PARALLEL SAFE AS 'pg_backend_pid';
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

-- No node takes longer per process than the run, however many rows the workers have removed.
CREATE FUNCTION leader_test(plan text, query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    explained record;
BEGIN
    PERFORM set_config('regress.until', (clock_timestamp() + interval '1 second')::text, true);
    SELECT array_agg(node_type ORDER BY node)::text AS nodes, max(run_ms) AS run_ms,
           max(total_ms) FILTER (WHERE relation = 'many') AS scan_ms
    INTO explained FROM clock_explain(format(query, pg_backend_pid()));
    RETURN NEXT is(explained.nodes, plan, 'nodes of ' || query);
    RETURN NEXT cmp_ok(explained.scan_ms, '<', 1.5 * explained.run_ms, 'the scan takes no longer than the run of ' || query);
END;
$$;
\set filter 'WHERE CASE WHEN process_id() = %s THEN slow(i) ELSE hashint4(i) %% 3 = 0 END'
SELECT leader_test('{Gather,"Seq Scan"}', 'SELECT i FROM many ' || :'filter');
SELECT leader_test('{Aggregate,Gather,Aggregate,"Seq Scan"}', 'SELECT count(*) FROM many ' || :'filter');
SELECT leader_test('{Limit,Gather,"Seq Scan"}', 'SELECT i FROM many ' || :'filter' || ' LIMIT 300000');

-- The server prints the removed rows of all processes. Those of workers must be counted only once.
CREATE FUNCTION removed(explained json) RETURNS integer LANGUAGE sql AS $$
    SELECT round((scan->>'Rows Removed by Filter')::numeric * (scan->>'Actual Loops')::numeric / 10)::integer
    FROM json_extract_path(explained, '0', 'Plan', 'Plans', '0') AS scan;
$$;
SELECT is(removed(clock_explain_json('SELECT i FROM many WHERE i % 3 = 0', s)::json), 66667,
          format('removed rows, one call in %s timed', s))
FROM unnest('{1,64}'::integer[]) AS s;
SELECT is(removed(clock_explain_json('SELECT i FROM many WHERE i % 3 = 0', method => 'full')::json), 66667,
          'removed rows, full');
-- Workers that cannot be started
SET LOCAL max_parallel_workers = 0;
SELECT is(removed(clock_explain_json('SELECT i FROM many WHERE i % 3 = 0')::json), 66667,
          'removed rows, without workers');
SELECT * FROM finish();
ROLLBACK;
