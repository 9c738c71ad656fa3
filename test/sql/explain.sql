-- clock_explain, clock_explain_text and clock_explain_json: the stable parts of their results, and
-- errors. Properties of the figures are tested in test/pgtap.
\set SHOW_CONTEXT never

SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;
CREATE TABLE explain_a (i integer PRIMARY KEY, k integer);
CREATE TABLE explain_b (i integer, k integer);
INSERT INTO explain_a SELECT i, i % 10 FROM generate_series(1, 1000) AS i;
INSERT INTO explain_b SELECT i, i % 10 FROM generate_series(1, 100) AS i;
ANALYZE explain_a, explain_b;

-- columns of clock_explain()
SELECT a.attnum AS n, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type
FROM (SELECT unnest(proargnames) AS attname, unnest(proallargtypes) AS atttypid, unnest(proargmodes)
    AS mode,
             generate_series(1, cardinality(proargnames)) AS attnum, -1 AS atttypmod
      FROM pg_proc WHERE oid = 'clock_explain'::regproc) AS a
WHERE mode <> 'i' ORDER BY n;

-- one row per node, in EXPLAIN's order
CREATE FUNCTION pg_temp.rows(query text, method text DEFAULT 'sampling', writes boolean DEFAULT
    false)
RETURNS TABLE (node integer, depth integer, line text, node_type text, relation text, loops bigint,
    "rows" bigint, note text, others text) LANGUAGE sql AS $$
    -- "others" names the other columns whose values are not NULL and have the right sign
    SELECT node, depth, line, node_type, relation, loops, rows,
        nullif(regexp_replace(regexp_replace(regexp_replace(note, ',\n.*$', ''),
        '[0-9.]+ ms', 'N ms'), '^[a-z ]+ the most time[^,]*(, )?', ''), ''),
           concat_ws(' ', CASE WHEN total_ms >= 0 THEN 'total' END,
                     CASE WHEN total_margin_ms >= 0 THEN 'margin' END,
                     CASE WHEN self_ms >= 0 THEN 'self' END,
                     CASE WHEN self_margin_ms >= 0 THEN 'margin' END,
                     CASE WHEN share_percent BETWEEN 0 AND 100 THEN 'share' END,
                     CASE WHEN share_margin_percent >= 0 THEN 'margin' END,
                     CASE WHEN cpu_ms >= 0 AND wait_ms >= 0 AND cpu_wait_ms >= 0 THEN 'parts' END,
                     CASE WHEN run_ms > 0 THEN 'run' END,
                     CASE WHEN plain_ms > 0 THEN 'plain' END,
                     CASE WHEN samples >= 0 AND sampler_ms >= 0 THEN 'samples' END)
    FROM clock_explain(query, method, allow_writes => writes) $$;

\pset format unaligned
SELECT * FROM
    pg_temp.rows('SELECT DISTINCT k FROM explain_a JOIN explain_b USING (k) '
    'WHERE explain_b.i <= 10 ORDER BY k');
SELECT * FROM
    pg_temp.rows('SELECT DISTINCT k FROM explain_a JOIN explain_b USING (k) '
    'WHERE explain_b.i <= 10 ORDER BY k', 'full');
SELECT * FROM pg_temp.rows('SELECT * FROM explain_a LIMIT 7', 'Sampling');
SELECT * FROM pg_temp.rows('TABLE explain_b', 'FULL');
SELECT * FROM
    pg_temp.rows('SELECT i FROM explain_a WHERE i < 4 UNION ALL SELECT i FROM explain_b '
    'WHERE i < 3');
SELECT * FROM
    pg_temp.rows('SELECT i, (SELECT max(k) FROM explain_b AS b WHERE b.i <= a.i) FROM explain_a '
    'AS a WHERE i <= 3');
SELECT * FROM
    pg_temp.rows('WITH c AS MATERIALIZED (SELECT k FROM explain_b) SELECT count(*) FROM c '
    'WHERE k < (SELECT max(k) FROM c)');
-- nodes that are never executed have no times
SELECT * FROM
    pg_temp.rows('SELECT count(*) FROM (SELECT * FROM explain_b WHERE i < 0 OFFSET 0) AS b '
    'JOIN explain_a AS a ON a.k = b.k');
SELECT loops, rows, total_ms, self_ms, share_percent
FROM clock_explain('SELECT CASE WHEN i < 0 THEN (SELECT count(*) FROM explain_b AS b '
    'WHERE b.k = a.i) END FROM explain_a AS a')
WHERE node > 1;
-- writes are rolled back, and so are those of CTEs
SELECT * FROM pg_temp.rows('INSERT INTO explain_b SELECT i, k FROM explain_a', writes => true);
SELECT * FROM
    pg_temp.rows('WITH d AS (DELETE FROM explain_b WHERE k = 3 RETURNING i) SELECT count(*) FROM d',
    writes => true);
SELECT * FROM pg_temp.rows('SELECT * FROM explain_b WHERE i = 5 FOR UPDATE', writes => true);
SELECT count(*), sum(k) FROM explain_b;
-- a name that has to be quoted
CREATE TABLE "explain -> c" (i integer);
SELECT line, relation FROM clock_explain('SELECT * FROM "explain -> c"');
DROP TABLE "explain -> c";

-- plain_ms, with verify => true
SELECT node, plain_ms > 0 AS plain FROM clock_explain('SELECT 1 WHERE false', verify => true);
SELECT node, plain_ms > 0 AS plain FROM clock_explain('SELECT 1', method => 'full', verify => true);

-- text in EXPLAIN's format, in which N replaces each figure
CREATE FUNCTION pg_temp.lines(query text, method text DEFAULT 'sampling',
    verify boolean DEFAULT false) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN SELECT * FROM clock_explain_text(query, method => lines.method,
        verify => lines.verify) LOOP
        CONTINUE WHEN line ~ '^(Outside of the nodes|Waiting for a CPU): |^ *Waits: ';
        -- rows are written with decimals since PostgreSQL 18
        line := regexp_replace(line, '(actual [^)]* rows=\d+)\.\d\d', '\1');
        line := regexp_replace(line, 'cost=[0-9.]+ rows=\d+ width=\d+', 'cost=N rows=N width=N');
        line := regexp_replace(line, ' rows=(\d+) loops=(\d+)', ' ROWS=\1 LOOPS=\2');
        line := regexp_replace(line, ', \d+ samples.*', ', N samples');
        line := regexp_replace(line, ', (waits|waiting for a CPU) [0-9.]+ ms', '', 'g');
        line := regexp_replace(line, '(?<=[ =.(])-?\d+(\.\d+)?(?=( ms| %| [+]/-|\.\.|kB| ROWS))',
            'N', 'g');
        RETURN NEXT line;
    END LOOP;
END $$;
\pset tuples_only on
SELECT pg_temp.lines('SELECT k, count(*) FROM explain_a WHERE i <= 500 GROUP BY k');
SELECT pg_temp.lines('SELECT k, count(*) FROM explain_a WHERE i <= 500 GROUP BY k', 'full', true);
SELECT pg_temp.lines('SELECT * FROM (SELECT * FROM explain_b WHERE i < 0 OFFSET 0) AS b '
    'JOIN explain_a AS a ON a.k = b.k');
\pset tuples_only off

-- keys of the JSON: those of EXPLAIN and those of clocktiming
CREATE FUNCTION pg_temp.keys(plan jsonb, path text DEFAULT '') RETURNS TABLE (path_ text, keys text)
    LANGUAGE plpgsql AS $$
DECLARE
    key text;
    value jsonb;
BEGIN
    IF jsonb_typeof(plan) = 'array' THEN
        FOR value IN SELECT jsonb_array_elements(plan) LOOP
            RETURN QUERY SELECT * FROM pg_temp.keys(value, path || '[]');
        END LOOP;
    ELSIF jsonb_typeof(plan) = 'object' THEN
        RETURN QUERY SELECT path, string_agg(k, ', ' ORDER BY k COLLATE "C")
            FROM jsonb_object_keys(plan) AS k
            WHERE k !~ '^(Async Capable|Disabled|HashAgg Batches|Planned Partitions|Clock Note|'
                   'Waits)$';
        FOR key, value IN SELECT * FROM jsonb_each(plan) ORDER BY 1 LOOP
            RETURN QUERY SELECT * FROM pg_temp.keys(value, path || '.' || key);
        END LOOP;
    END IF;
END $$;
SELECT k.* FROM clock_explain_json('SELECT count(*) FROM explain_a') AS j, pg_temp.keys(j::jsonb)
    AS k;
SELECT k.* FROM clock_explain_json('SELECT count(*) FROM explain_a', method => 'full',
    verify => true) AS j, pg_temp.keys(j::jsonb) AS k
WHERE k.path_ = '[].Clock';
SELECT j -> 0 -> 'Clock' ->> 'Method' AS method,
       j -> 0 -> 'Plan' ->> 'Node Type' AS node_type,
           (j -> 0 -> 'Plan' ->> 'Actual Rows')::numeric::integer AS rows,
       j -> 0 -> 'Plan' ->> 'Actual Loops' AS loops
FROM clock_explain_json('TABLE explain_b') AS j;

-- errors
\getenv inputdir PG_ABS_SRCDIR
\set file :inputdir '/sql/try.psql'
\i :file
\pset tuples_only on
SELECT f, a, t.* FROM unnest(ARRAY['clock_explain', 'clock_explain_text', 'clock_explain_json'])
    AS f,
    unnest(ARRAY['NULL', $$'SELECT 1', NULL$$, $$'SELECT 1', method => NULL$$,
        $$'SELECT 1', verify => NULL$$,
        $$'SELECT 1', allow_writes => NULL$$, $$'SELECT 1', runs => NULL$$]) AS a,
    pg_temp.try(format('SELECT count(*) FROM %s(%s)', f, a)) AS t;
SELECT m, t.* FROM unnest(ARRAY['', 'sample', 'sampling ', 'isolate']) AS m,
    pg_temp.try(format($$SELECT count(*) FROM clock_explain('SELECT 1', method => %L)$$, m)) AS t;
SELECT q, t.* FROM unnest(ARRAY[
    '', ';', '-- nothing', 'SELECT 1; SELECT 2', 'SELECT 1;',
    'VACUUM', 'CREATE TABLE x (i integer)', 'DO $x$BEGIN END$x$', 'CALL clock_executor_overhead()',
        'COPY explain_a TO STDOUT',
    'DECLARE c CURSOR FOR SELECT 1', 'PREPARE p AS SELECT 1', 'EXECUTE p', 'BEGIN', 'COMMIT',
        'SET jit = on', 'LISTEN x',
    'CREATE TABLE x AS SELECT 1', 'SELECT 1 INTO x', 'CREATE MATERIALIZED VIEW x AS SELECT 1',
    'EXPLAIN SELECT 1', 'EXPLAIN ANALYZE SELECT 1',
    'SELECT $1', 'SELECT $1::integer', 'SELECT nothing', 'SELECT * FROM nowhere', 'SELECTT 1',
        'SELECT (',
    'SELECT 1 / 0', 'SELECT 1 / (i - 500) FROM explain_a'
]) AS q, pg_temp.try(format('SELECT count(*) FROM clock_explain(%L)', q)) AS t;
-- an error in the last row of the query, with each method
SELECT m, t.* FROM unnest(ARRAY['sampling', 'full']) AS m,
    pg_temp.try(format($$SELECT count(*) FROM
        clock_explain_text('SELECT 1 / (i - 1000) FROM explain_a', method => %L)$$, m)) AS t;
-- writes are refused without allow_writes
CREATE SEQUENCE explain_seq;
CREATE FUNCTION explain_write() RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO explain_b VALUES (-1, -1);
    RETURN 1;
END $$;
CREATE FUNCTION explain_settings() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN set_config('transaction_read_only', 'off', true);
END $$;
SELECT q, t.* FROM unnest(ARRAY[
    'INSERT INTO explain_b VALUES (1)', 'UPDATE explain_b SET k = 0', 'DELETE FROM explain_b',
    'MERGE INTO explain_b AS b USING explain_a AS a ON a.i = b.i WHEN MATCHED THEN DELETE',
    'WITH d AS (DELETE FROM explain_b RETURNING *) SELECT * FROM d',
        'SELECT * FROM explain_b FOR UPDATE',
    'SELECT * FROM explain_b FOR KEY SHARE',
        'SELECT * FROM (SELECT * FROM explain_b FOR SHARE) AS b',
    'SELECT explain_write()', 'SELECT explain_write() FROM explain_b',
        'SELECT explain_settings(), explain_write()',
    $$SELECT nextval('explain_seq')$$
]) AS q, unnest(ARRAY['sampling', 'full']) AS m,
    pg_temp.try(format('SELECT count(*) FROM clock_explain(%L, method => %L)', q, m)) AS t
WHERE m = 'sampling' OR q = 'SELECT explain_write()' ORDER BY q COLLATE "C", m, said COLLATE "C";
SELECT count(*) FROM explain_b;
-- Writes to temporary tables and advisory locks are refused, too, although a read-only transaction
-- permits them: at any nesting level, and when the query is planned.
CREATE TEMP TABLE explain_temp (i integer);
CREATE FUNCTION explain_write_temp() RETURNS integer LANGUAGE sql
    AS 'INSERT INTO explain_temp VALUES (1) RETURNING i';
CREATE FUNCTION explain_catch() RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        INSERT INTO explain_temp VALUES (1);
        RETURN 1;
    EXCEPTION WHEN division_by_zero THEN
        RETURN 0;
    END;
END $$;
CREATE FUNCTION explain_plan() RETURNS integer LANGUAGE plpgsql IMMUTABLE
    AS 'BEGIN RETURN explain_write_temp(); END';
CREATE FUNCTION explain_lock() RETURNS boolean LANGUAGE plpgsql
    AS 'BEGIN RETURN pg_try_advisory_lock(1); END';
CREATE FUNCTION explain_lock_sql() RETURNS void LANGUAGE sql
    AS 'SELECT pg_advisory_lock_shared(1, 2)';
CREATE TABLE explain_refused AS SELECT q FROM unnest(ARRAY[
    'SELECT explain_catch()', 'SELECT explain_plan()', 'SELECT explain_write_temp()',
    'SELECT pg_advisory_lock(1)', 'SELECT i FROM explain_b WHERE pg_try_advisory_lock(i)',
        'SELECT explain_lock()', 'SELECT explain_lock_sql()',
    'SELECT pg_advisory_unlock_all()']) AS q;
SELECT pg_advisory_lock(7);
SELECT q, t.* FROM explain_refused,
    pg_temp.try(format('SELECT count(*) FROM clock_explain(%L)', q)) AS t ORDER BY q COLLATE "C",
        said COLLATE "C";
SELECT q, count(*) FROM explain_refused, unnest(ARRAY['clock_explain(%L, method => ''full'')',
        'clock_explain_text(%L)', 'clock_explain_json(%L)', 'clock_query_overhead(%L, 0.01)']) AS f,
    pg_temp.try(format('SELECT count(*) FROM ' || f, q)) AS t
GROUP BY q HAVING count(*) FILTER (WHERE t.state = '25006' AND t.said ~ '^cannot') <> 4;
SELECT count(*) FROM clock_explain('SELECT txid_current()');
SELECT count(*) FROM clock_explain('SELECT count(pg_current_xact_id()) FROM explain_b',
    method => 'full');
-- (since PostgreSQL 16, lo_create() itself raises the error)
SELECT DISTINCT state FROM
    pg_temp.try($$SELECT count(*) FROM clock_explain('SELECT lo_create(0)')$$);
-- the transaction has an ID already
BEGIN;
INSERT INTO explain_temp VALUES (2);
SELECT t.* FROM pg_temp.try($$SELECT count(*) FROM clock_explain('SELECT explain_catch()')$$) AS t;
ROLLBACK;
-- effects of functions that are undone
LISTEN explain_channel;
SET work_mem = '3MB';
SELECT count(*) FROM clock_explain($$SELECT set_config('work_mem', '2MB', false),
    pg_notify('explain_channel', 'heard'), pg_advisory_xact_lock(1)$$);
SELECT count(*) FROM clock_query_overhead($$SELECT set_config('work_mem', '2MB', false),
    pg_notify('explain_channel', 'heard'), pg_advisory_xact_lock(1)$$, 0.1) WHERE mode = 'plain';
SHOW work_mem;
RESET work_mem;
UNLISTEN explain_channel;
SELECT (SELECT count(*) FROM explain_b) AS b, (SELECT count(*) FROM explain_temp) AS temp,
    (SELECT count(*) FROM pg_largeobject_metadata) AS large_objects,
    (SELECT string_agg(format('%s', objid), ', ') FROM pg_locks WHERE locktype = 'advisory'
        AND pid = pg_backend_pid()) AS advisory_locks;
SELECT pg_advisory_unlock_all();
DROP TABLE explain_refused, explain_temp;
DROP FUNCTION explain_write_temp, explain_catch, explain_plan, explain_lock, explain_lock_sql;
-- allow_writes does not override a read-only transaction
BEGIN READ ONLY;
SELECT t.* FROM
    pg_temp.try($$SELECT count(*)
                  FROM clock_explain('DELETE FROM explain_b', allow_writes => true)$$) AS t;
SELECT count(*) > 0 FROM clock_explain('SELECT 1');
COMMIT;
SELECT m, t.* FROM unnest(ARRAY['sampling', 'full']) AS m,
    pg_temp.try(format($$SELECT count(*) FROM
        clock_explain('SELECT explain_write()', method => %L, allow_writes => true)$$, m)) AS t;
SELECT count(*) FROM explain_b;

-- positions of errors in the query
SELECT * FROM clock_explain('SELECT 1 FROMM explain_a');
SELECT * FROM clock_explain_text('SELECT i, nothing FROM explain_a');
SELECT clock_explain_json('SELECT * FROM nowhere');
\set SHOW_CONTEXT always
SELECT * FROM clock_explain('SELECT 1 / (i - 500) FROM explain_a');

-- after an error, the session can be used
BEGIN;
SAVEPOINT s;
SELECT count(*) FROM clock_explain('SELECT 1 / (i - 500) FROM explain_a');
ROLLBACK TO s;
SELECT count(*) FROM clock_explain('SELECT i - 500 FROM explain_a');
INSERT INTO explain_b VALUES (0, 0);
SHOW clocktiming.worker_observation;
ROLLBACK;

DROP TABLE explain_a, explain_b;
DROP FUNCTION explain_write, explain_settings;
DROP SEQUENCE explain_seq;
