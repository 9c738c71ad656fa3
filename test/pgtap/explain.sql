-- clock_explain(): properties that hold for every plan, on any machine.
\set ON_ERROR_STOP on
SELECT * FROM no_plan();

CREATE TEMP TABLE t AS SELECT i, i % 100 AS k, (i * 7919) % 5000 AS r, md5(i::text) AS s
    FROM generate_series(1, 5000) AS i;
CREATE INDEX t_i ON t (i);
CREATE INDEX t_k ON t (k);
CREATE INDEX t_r ON t (r);
CREATE TEMP TABLE u AS SELECT i, i % 10 AS k FROM generate_series(1, 500) AS i;
CREATE INDEX u_i ON u (i);
CREATE TEMP TABLE empty (i integer, k integer);
CREATE TEMP TABLE p (i integer PRIMARY KEY, r integer);
INSERT INTO p SELECT i, r FROM t;
-- Table that the writing statements modify. No other query reads it, so other plans do not change.
CREATE TEMP TABLE w AS SELECT i, i % 10 AS k FROM generate_series(1, 500) AS i;
CREATE TEMP TABLE parted (i integer, k integer) PARTITION BY RANGE (i);
CREATE TEMP TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (1000);
CREATE TEMP TABLE parted_2 PARTITION OF parted FOR VALUES FROM (1000) TO (2000);
CREATE TEMP TABLE parted_3 PARTITION OF parted FOR VALUES FROM (2000) TO (3000);
INSERT INTO parted SELECT i, i % 10 FROM generate_series(0, 2999) AS i;
CREATE INDEX ON parted (i);
ANALYZE t, u, p, w, parted;

-- Queries with plans of many shapes, and the settings with which each is executed
CREATE TEMP TABLE shapes (n integer GENERATED ALWAYS AS IDENTITY, settings text[], query text,
    writes boolean DEFAULT false);
INSERT INTO shapes (settings, query) VALUES
    ('{}', 'SELECT count(*) FROM t'),
    ('{}', 'SELECT * FROM t'),
    ('{}', 'SELECT 1'),
    ('{}', 'SELECT 1 WHERE false'),
    ('{}', 'VALUES (1), (2), (3)'),
    ('{}', 'SELECT * FROM empty'),
    ('{}', 'SELECT * FROM generate_series(1, 1000) AS g WHERE g % 7 = 0'),
    ('{}', 'SELECT k, count(*) FROM t GROUP BY k'),
    ('{enable_hashagg=off}', 'SELECT k, count(*) FROM t GROUP BY k'),
    ('{}', 'SELECT k, r % 2, count(*) FROM t GROUP BY GROUPING SETS ((k), (r % 2), ())'),
    ('{}', 'SELECT DISTINCT k FROM t'),
    ('{enable_hashagg=off}', 'SELECT DISTINCT k FROM t'),
    ('{}', 'SELECT * FROM t ORDER BY s'),
    ('{}', 'SELECT * FROM t ORDER BY s LIMIT 10'),
    ('{}', 'SELECT * FROM t LIMIT 10'),
    ('{}', 'SELECT * FROM t OFFSET 4990'),
    ('{enable_seqscan=off,enable_bitmapscan=off}', 'SELECT count(s) FROM t WHERE i < 1000'),
    ('{enable_seqscan=off,enable_bitmapscan=off}',
        'SELECT i FROM t WHERE i < 1000 ORDER BY i DESC LIMIT 5'),
    ('{enable_seqscan=off,enable_indexscan=off,enable_indexonlyscan=off}',
        'SELECT count(s) FROM t WHERE i < 1000 AND r < 1000'),
    ('{enable_seqscan=off,enable_indexscan=off,enable_indexonlyscan=off}',
        'SELECT count(s) FROM t WHERE i < 1000 OR r < 1000'),
    ('{}', 'SELECT count(*) FROM t JOIN u USING (i)'),
    ('{enable_mergejoin=off,enable_nestloop=off}', 'SELECT count(*) FROM t JOIN u USING (i)'),
    ('{enable_mergejoin=off,enable_nestloop=off}', 'SELECT count(*) FROM t LEFT JOIN u USING (i)'),
    ('{enable_mergejoin=off,enable_nestloop=off}', 'SELECT count(*) FROM t FULL JOIN u USING (i)'),
    ('{enable_mergejoin=off,enable_nestloop=off}', 'SELECT count(*) FROM t JOIN empty USING (i)'),
    ('{enable_mergejoin=off,enable_nestloop=off}', 'SELECT * FROM empty JOIN t USING (i)'),
    ('{enable_mergejoin=off,enable_nestloop=off,work_mem=64kB}',
        'SELECT count(*) FROM t AS a JOIN t AS b USING (s)'),
    ('{enable_mergejoin=off,enable_nestloop=off}', 'SELECT * FROM t JOIN u USING (i) LIMIT 20'),
    ('{enable_hashjoin=off,enable_nestloop=off}', 'SELECT count(*) FROM t JOIN u USING (i)'),
    ('{enable_hashjoin=off,enable_nestloop=off}',
        'SELECT count(*) FROM t AS a JOIN t AS b USING (k) WHERE a.i < 300 AND b.i < 300'),
    ('{enable_hashjoin=off,enable_nestloop=off}', 'SELECT count(*) FROM t FULL JOIN u USING (i)'),
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_memoize=off}',
        'SELECT count(*) FROM u JOIN t USING (i)'),
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_material=off,'
        'enable_indexscan=off,enable_bitmapscan=off,enable_indexonlyscan=off}',
     'SELECT count(*) FROM u JOIN u AS v ON u.i < v.i WHERE u.i < 50'),
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_indexscan=off,enable_bitmapscan=off,'
        'enable_indexonlyscan=off}',
     'SELECT count(*) FROM u JOIN u AS v ON u.i < v.i'),
    ('{enable_hashjoin=off,enable_mergejoin=off}', 'SELECT count(*) FROM t JOIN u ON u.i = t.k'),
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_seqscan=off}',
        'SELECT count(*) FROM t AS a JOIN t AS b ON b.i = a.k'),
    ('{}', 'SELECT count(*) FROM t WHERE EXISTS (SELECT FROM u WHERE u.i = t.i)'),
    ('{}', 'SELECT count(*) FROM t WHERE NOT EXISTS (SELECT FROM u WHERE u.i = t.i)'),
    ('{enable_hashjoin=off,enable_mergejoin=off}',
        'SELECT count(*) FROM u WHERE EXISTS (SELECT FROM t WHERE t.k = u.k AND t.r > u.i)'),
    ('{}', 'SELECT count(*) FROM t WHERE i IN (SELECT i FROM u) OR k = 5'),
    ('{}', 'SELECT i, (SELECT count(*) FROM u WHERE u.k = t.k) FROM t WHERE i < 200'),
    ('{}', 'SELECT i, (SELECT u.i FROM u WHERE u.k = t.k LIMIT 1) FROM t WHERE i < 200'),
    ('{}', 'SELECT count(*) FROM t WHERE r > (SELECT avg(r) FROM t)'),
    ('{}', 'SELECT count(*) FROM t WHERE k = 1 AND r > (SELECT avg(r) FROM t)'),
    ('{}', 'WITH c AS MATERIALIZED (SELECT k, count(*) AS n FROM t GROUP BY k) SELECT * FROM c '
        'AS a JOIN c AS b USING (n)'),
    ('{}', 'WITH c AS MATERIALIZED (SELECT * FROM t ORDER BY s) SELECT * FROM c LIMIT 3'),
    ('{}', 'WITH c AS MATERIALIZED (SELECT * FROM t) SELECT 1'),
    ('{}', 'WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 300) '
        'SELECT count(*) FROM r'),
    ('{}', 'WITH RECURSIVE r AS (SELECT 1 AS n UNION SELECT (n * 2) % 1021 FROM r) SELECT sum(n) '
        'FROM r JOIN t ON t.i = n'),
    ('{}', 'SELECT count(*) FROM parted'),
    ('{}', 'SELECT * FROM parted WHERE i < 1500'),
    ('{plan_cache_mode=force_generic_plan}', 'SELECT count(*) FROM parted WHERE i = (SELECT 1234)'),
    ('{enable_hashjoin=off,enable_mergejoin=off}',
        'SELECT count(*) FROM u JOIN parted ON parted.i = u.i * 5'),
    ('{enable_seqscan=off,enable_sort=off}', 'SELECT * FROM parted ORDER BY i LIMIT 1700'),
    ('{}', 'SELECT i FROM t UNION ALL SELECT i FROM u'),
    ('{}', 'SELECT i FROM t UNION SELECT i FROM u'),
    ('{}', 'SELECT i FROM t EXCEPT SELECT i FROM u'),
    ('{enable_hashagg=off}', 'SELECT i FROM t INTERSECT SELECT i FROM u'),
    ('{}', '(SELECT i FROM t ORDER BY s LIMIT 7) UNION ALL (SELECT i FROM u) LIMIT 300'),
    ('{}', 'SELECT i, sum(r) OVER (PARTITION BY k ORDER BY i) FROM t'),
    ('{}',
        'SELECT * FROM (SELECT i, row_number() OVER (ORDER BY i) AS n FROM t) AS w WHERE n < 10'),
    ('{}', 'SELECT k, generate_series(1, k) FROM u'),
    ('{enable_sort=on}', 'SELECT * FROM t ORDER BY k, s'),
    ('{enable_seqscan=off}', 'SELECT k, r, count(*) FROM t GROUP BY k, r ORDER BY k, r'),
    ('{}', 'SELECT count(*) FROM t TABLESAMPLE BERNOULLI (20) REPEATABLE (1)'),
    ('{}', 'SELECT count(*) FROM t WHERE ctid = ''(1,1)'''),
    ('{}', 'SELECT count(*) FROM t WHERE ctid > ''(10,1)'''),
    ('{}', 'SELECT * FROM t, LATERAL (SELECT count(*) FROM u WHERE u.i < t.k) AS l WHERE t.i < 50'),
    ('{}', 'SELECT x.n FROM t, XMLTABLE(''/a/b'' PASSING ''<a><b>1</b><b>2</b></a>'' COLUMNS n '
        'integer PATH ''.'') AS x WHERE t.i < 20'),
    ('{}', 'SELECT count(*) FROM t, unnest(ARRAY[1, 2, 3]) AS e WHERE t.i < 10'),
    ('{}', 'SELECT count(*) FROM (SELECT * FROM t OFFSET 0) AS sub WHERE sub.k < 50'),
    ('{}', 'SELECT CASE WHEN i % 2 = 0 THEN (SELECT max(k) FROM u) END FROM t WHERE i < 30'),
    -- Nodes that are always called until they return no more rows, and nodes that may be stopped
    -- earlier
    ('{join_collapse_limit=1,enable_mergejoin=off,enable_material=off}',
     'SELECT * FROM (u AS a JOIN u AS b ON a.i + b.i = 900) JOIN empty AS e ON e.i = a.k'),
    ('{join_collapse_limit=1,enable_mergejoin=off}',
        'SELECT * FROM (u AS a LEFT JOIN u AS b ON a.i + b.i = 300) JOIN empty AS e ON e.i = a.k'),
    ('{enable_hashjoin=off,enable_mergejoin=off}',
        'SELECT count(*) FROM u AS a LEFT JOIN u AS b ON a.i > b.i + 490'),
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_material=off}',
     'SELECT count(*) FROM u AS a WHERE NOT EXISTS (SELECT FROM u AS b WHERE b.i > a.i + 400)'),
    ('{enable_hashjoin=off,enable_mergejoin=off}',
        'SELECT count(*) FROM u AS a JOIN (SELECT i FROM u UNION ALL SELECT i FROM t WHERE i < 20) '
        'AS b ON a.i < b.i'),
    ('{enable_seqscan=off,enable_sort=off}',
        'SELECT count(k) FROM (SELECT * FROM parted ORDER BY i OFFSET 0) AS s'),
    ('{}', 'SELECT ARRAY(SELECT i FROM u WHERE u.k = t.k) FROM t WHERE i < 200'),
    ('{}', 'SELECT count(*) FROM t WHERE (k, r) = (SELECT 5, max(r) FROM u JOIN t USING (i))'),
    ('{}',
        'SELECT count(*) FROM t WHERE k < ALL (SELECT u.i FROM u WHERE u.k > t.k - 95) '
        'AND i < 200'),
    ('{}', 'SELECT count(*) FROM t WHERE k NOT IN (SELECT k + 1 FROM u)'),
    ('{}', 'SELECT EXISTS (SELECT FROM t WHERE k = 50)'),
    ('{}', 'WITH c AS MATERIALIZED (SELECT * FROM t) SELECT count(*) FROM c'),
    ('{}', 'WITH c AS MATERIALIZED (SELECT * FROM u) SELECT (SELECT count(*) FROM c '
        'WHERE c.k = t.k) FROM t WHERE i < 30'),
    ('{}', 'WITH c AS MATERIALIZED (SELECT * FROM u) SELECT CASE WHEN i < 0 THEN (SELECT count(*) '
        'FROM c) END FROM t WHERE i < 30'),
    ('{}', 'WITH c AS MATERIALIZED (SELECT * FROM u) SELECT EXISTS (SELECT FROM c WHERE c.k = t.k) '
        'FROM t WHERE i < 30'),
    ('{}', 'WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 300) '
        'SELECT n FROM r LIMIT 20'),
    -- Nested loops that stop their inner side at the first match
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_memoize=off}',
        'SELECT * FROM u JOIN p USING (i) LIMIT 30'),
    ('{enable_hashjoin=off,enable_mergejoin=off}',
        'SELECT count(*) FROM t AS a JOIN p AS b ON b.i = a.k'),
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_memoize=off}',
        'SELECT count(b.i) FROM u AS a LEFT JOIN p AS b ON b.i = a.k + 4990'),
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_memoize=off,enable_material=off}',
     'SELECT * FROM u, LATERAL (SELECT count(*) FROM u AS a JOIN p AS b ON b.i = a.k '
         'WHERE a.i < u.k AND b.r > 50) AS l WHERE u.i < 100'),
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_material=off}',
     'SELECT * FROM u AS a WHERE EXISTS (SELECT FROM t WHERE t.k = a.k AND t.r > a.i * 9) '
         'LIMIT 10'),
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_memoize=off}',
        'SELECT * FROM empty JOIN p USING (i)'),
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_memoize=off,join_collapse_limit=1}',
     'SELECT count(*) FROM u JOIN (t AS a JOIN p AS b ON b.i = a.k) ON a.i = u.i'),
    -- A plan with many nodes; an InitPlan that is executed once, and one that is executed
    -- repeatedly
    ('{enable_mergejoin=off,enable_nestloop=off}',
     'SELECT count(*) FROM u JOIN u AS b USING (i) JOIN u AS c USING (i) JOIN u AS d USING (i) '
         'JOIN u AS e USING (i) JOIN u AS f USING (i)'
     ' JOIN u AS g USING (i) JOIN u AS h USING (i) JOIN t USING (i) JOIN t AS o USING (i) JOIN t '
         'AS q USING (i)'),
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_material=off}',
     'SELECT * FROM u, LATERAL (SELECT count(*) FROM t WHERE t.i < u.i AND t.k < (SELECT max(k) '
         'FROM t)) AS l WHERE u.i < 50'),
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_material=off,enable_memoize=off}',
     'SELECT * FROM u, LATERAL (SELECT count(*) FROM t WHERE t.i < 50 AND t.r > (SELECT max(v.i) '
         'FROM u AS v WHERE v.k = u.k)) AS l WHERE u.i < 400'),
    -- Nodes that pass on each row of their input. clocktiming stops counting their calls after some
    -- thousands. Also Append and SetOp nodes that are rescanned or stopped early.
    ('{}', 'SELECT count(*) FROM (SELECT i FROM t UNION ALL SELECT k FROM t WHERE k < 90 UNION ALL '
        'SELECT 1) AS s'),
    ('{}', 'SELECT k FROM t EXCEPT ALL SELECT i FROM t WHERE i > 10'),
    ('{}', 'SELECT sum(i) FROM (SELECT i, k FROM t UNION ALL (SELECT i, k FROM parted OFFSET 0) '
        'UNION ALL SELECT i, k FROM t) AS s'),
    ('{}', 'SELECT sum(x) FROM (SELECT i + 1 AS x FROM (SELECT i FROM t UNION ALL SELECT i FROM t '
        'WHERE r > 50 OFFSET 0) AS q OFFSET 0) AS s'),
    ('{}', 'SELECT sum(x) FROM (SELECT i + 1 AS x FROM (SELECT i FROM t ORDER BY r OFFSET 7) '
        'AS q OFFSET 0) AS s'),
    ('{}', 'SELECT sum(x) FROM (SELECT (SELECT max(u.i) FROM u WHERE u.k = s.k) AS x '
        'FROM (SELECT k FROM t UNION ALL SELECT k FROM u) AS s OFFSET 0) AS o'),
    ('{}', 'SELECT i, (SELECT count(*) FROM (SELECT i FROM u AS a WHERE a.i < 20 UNION ALL '
        'SELECT k FROM u AS b WHERE b.i < 9) AS s WHERE s.i <> u.i) FROM u'),
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_material=off}',
     'SELECT count(*) FROM u LEFT JOIN (SELECT i FROM u AS a WHERE a.i < 20 UNION ALL SELECT k '
         'FROM u AS b WHERE b.i < 9) AS s ON s.i <> u.i'),
    ('{}', 'SELECT i FROM (SELECT i FROM t UNION ALL SELECT k FROM t) AS s LIMIT 8000'),
    ('{}',
        'WITH c AS MATERIALIZED (SELECT i FROM t UNION ALL SELECT k FROM t) SELECT count(*) '
        'FROM c'),
    ('{}', 'WITH RECURSIVE r AS (SELECT i FROM (SELECT i FROM t UNION ALL SELECT i FROM t) AS s '
        'UNION ALL SELECT i + 5000 FROM r WHERE i < 5) SELECT count(*) FROM r'),
    ('{enable_hashjoin=off,enable_nestloop=off}',
        'SELECT count(*) FROM (SELECT i FROM t UNION ALL SELECT k FROM t) AS s JOIN u USING (i)'),
    ('{enable_sort=off,enable_seqscan=off,enable_bitmapscan=off}',
     'SELECT sum(x) FROM (SELECT r AS x FROM t UNION ALL SELECT i FROM p WHERE r % 7 > 0 UNION ALL '
         'SELECT i FROM u WHERE i < 0 ORDER BY 1 OFFSET 0) AS s'),
    ('{enable_sort=off,enable_seqscan=off,enable_bitmapscan=off}',
        'SELECT r AS x FROM t UNION ALL SELECT i FROM p WHERE r % 7 > 0 ORDER BY 1 LIMIT 9000');
-- The server may have been built without libxml.
DELETE FROM shapes WHERE query ~ 'XMLTABLE' AND NOT EXISTS (
    SELECT FROM pg_config WHERE name = 'CONFIGURE' AND setting ~ 'with-libxml');
INSERT INTO shapes (settings, query, writes) VALUES
    ('{}', 'INSERT INTO w SELECT i, k FROM u', true),
    ('{}', 'INSERT INTO w SELECT i, k FROM u RETURNING *', true),
    ('{}', 'UPDATE w SET k = k + 1 WHERE i % 3 = 0', true),
    ('{}', 'DELETE FROM w WHERE k = 3', true),
    ('{}', 'SELECT * FROM w ORDER BY i FOR UPDATE', true),
    ('{}', 'WITH d AS (DELETE FROM w WHERE k = 3 RETURNING *) SELECT count(*) FROM d', true),
    ('{}', 'WITH d AS (DELETE FROM w WHERE k = 3 RETURNING *) SELECT * FROM d LIMIT 2', true),
    ('{}', 'WITH d AS (DELETE FROM w WHERE k = 3 RETURNING *), e AS (SELECT i FROM d) '
        'SELECT count(*) FROM e', true),
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_material=off}',
     'MERGE INTO w USING u ON u.i = w.i WHEN MATCHED AND u.k = 5 THEN DELETE WHEN MATCHED '
         'THEN UPDATE SET k = 0', true);

-- Sets the settings of a query, and resets all other settings.
CREATE FUNCTION pg_temp.use(settings text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    setting text;
BEGIN
    FOR setting IN SELECT DISTINCT split_part(unnest(s.settings), '=', 1) FROM shapes AS s LOOP
        EXECUTE format('RESET %I', setting);
    END LOOP;
    FOREACH setting IN ARRAY '{max_parallel_workers_per_gather=0,jit=off,work_mem=64MB}'
        || settings LOOP
        PERFORM set_config(split_part(setting, '=', 1), split_part(setting, '=', 2), false);
    END LOOP;
END $$;

-- Returns the nodes of EXPLAIN's JSON, in the order of EXPLAIN.
CREATE FUNCTION pg_temp.nodes(plan jsonb, depth integer DEFAULT 0)
RETURNS TABLE (depth_ integer, node_type text, relation text, loops numeric, rows numeric) LANGUAGE
    plpgsql AS $$
DECLARE
    child jsonb;
BEGIN
    RETURN QUERY SELECT depth, plan ->> 'Node Type', plan ->> 'Relation Name',
                        (plan ->> 'Actual Loops')::numeric, (plan ->> 'Actual Rows')::numeric;
    FOR child IN SELECT c FROM jsonb_array_elements(plan -> 'Plans') AS c LOOP
        RETURN QUERY SELECT * FROM pg_temp.nodes(child, depth + 1);
    END LOOP;
END $$;

CREATE TEMP TABLE expected (n integer, node integer, depth integer, node_type text, relation text,
    loops numeric, rows numeric);
CREATE TEMP TABLE returned AS SELECT 0 AS n, ''::text AS method, c.*
    FROM clock_explain('SELECT 1') AS c LIMIT 0;
-- The rows of nodes, and row 0, which describes the run of the whole query
CREATE TEMP VIEW got AS SELECT * FROM returned WHERE node > 0;
CREATE TEMP VIEW whole AS SELECT * FROM returned WHERE node = 0;
CREATE TEMP TABLE lines (n integer, line text, ordinality bigint);
CREATE TEMP TABLE jsons (n integer, method text, plan jsonb);

-- Executes EXPLAIN ANALYZE, and rolls back what the statement has written.
CREATE FUNCTION pg_temp.server_explains(query text, options text, settings text[] DEFAULT '{}')
    RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    PERFORM pg_temp.use(settings);
    EXECUTE format('EXPLAIN (ANALYZE, %s, FORMAT JSON) %s', options, query) INTO plan;
    RAISE EXCEPTION USING MESSAGE = 'undo', DETAIL = plan::text, ERRCODE = 'UNDO1';
EXCEPTION WHEN SQLSTATE 'UNDO1' THEN
    GET STACKED DIAGNOSTICS plan = PG_EXCEPTION_DETAIL;
    RETURN plan;
END $$;

CREATE FUNCTION pg_temp.explain_all() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    shape record;
    plan json;
    method_ text;
BEGIN
    FOR shape IN SELECT * FROM shapes ORDER BY n LOOP
        plan := pg_temp.server_explains(shape.query, 'TIMING OFF', shape.settings);
        INSERT INTO expected SELECT shape.n, e.* FROM (
            SELECT row_number() OVER () AS node, x.* FROM pg_temp.nodes(plan::jsonb -> 0 -> 'Plan')
                AS x) AS e;
    END LOOP;
    FOREACH method_ IN ARRAY ARRAY['sampling', 'full'] LOOP
        FOR shape IN SELECT * FROM shapes ORDER BY n LOOP
            BEGIN
                PERFORM pg_temp.use(shape.settings);
                INSERT INTO returned SELECT shape.n, method_, c.*
                    FROM clock_explain(shape.query, method => method_, allow_writes => shape.writes)
                        AS c;
                INSERT INTO jsons SELECT shape.n, method_, clock_explain_json(shape.query,
                    method => method_, allow_writes => shape.writes);
            EXCEPTION WHEN OTHERS THEN
                RAISE WARNING '% of %: %', method_, shape.query, SQLERRM;
            END;
        END LOOP;
    END LOOP;
END $$;
SELECT pg_temp.explain_all();

-- Nodes and loops are exactly those of EXPLAIN ANALYZE of the same plan. Rows differ by at most
-- EXPLAIN's rounding of the rows per loop.
SELECT is((SELECT array_agg((node, depth, node_type, relation, loops) ORDER BY node)::text FROM got
    AS g WHERE g.n = s.n AND g.method = m),
          (SELECT array_agg((node, depth, node_type, relation, loops::bigint) ORDER BY node)::text
              FROM expected AS e WHERE e.n = s.n),
          m || ': nodes and loops of ' || query)
FROM shapes AS s, unnest(ARRAY['sampling', 'full']) AS m;
SELECT is((SELECT array_agg(g.node ORDER BY g.node)
           FROM got AS g JOIN expected AS e USING (n, node)
           WHERE g.n = s.n AND g.method = m AND g.loops > 0
               AND abs(g.rows::numeric / g.loops - e.rows) > 0.5), NULL,
          m || ': rows of ' || query)
FROM shapes AS s, unnest(ARRAY['sampling', 'full']) AS m;

-- The first row is node 0, which stands for the whole query. Its note begins with the duration of
-- the run, and its times are those outside of the nodes. Then comes a row for each node.
SELECT is((SELECT array_agg(node ORDER BY node)::text FROM returned AS r WHERE r.n = s.n
    AND r.method = m),
          (SELECT array_agg(node ORDER BY node)::text FROM (SELECT 0::bigint AS node UNION ALL
              SELECT e.node FROM expected AS e WHERE e.n = s.n) AS e),
          m || ': a row for the query, and one for each node of ' || query)
FROM shapes AS s, unnest(ARRAY['sampling', 'full']) AS m;
SELECT is((SELECT array_agg(to_jsonb(w)) FROM whole AS w WHERE w.n = s.n AND w.method = m
             AND (line = 'Query' AND num_nonnulls(depth, node_type, relation, loops, rows) = 0
                  AND run_ms > 0 AND self_ms >= 0 AND share_percent BETWEEN 0 AND 100
                  AND num_nonnulls(samples, sampler_ms, cpu_ms, wait_ms, cpu_wait_ms)
                      = CASE m WHEN 'full' THEN 0 ELSE 5 END
                  AND (plain_ms > 0) IS NOT DISTINCT FROM CASE m WHEN 'full' THEN true END
                  AND note ~ '^\d+\.\d ms($|,\n  waited \d+\.\d ms for a CPU[,:])'
                  AND abs(substring(note FROM '^[0-9.]+')::numeric - run_ms) <= 0.0501) IS NOT
                      TRUE), NULL,
          m || ': times and note of the run of ' || query)
FROM shapes AS s, unnest(ARRAY['sampling', 'full']) AS m;

-- Stores the text of clock_explain_text() and the JSON of EXPLAIN ANALYZE. The JSON of
-- clock_explain_json() is already stored.
CREATE FUNCTION pg_temp.texts() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    shape record;
    plan json;
BEGIN
    FOR shape IN SELECT * FROM shapes ORDER BY n LOOP
        BEGIN
            PERFORM pg_temp.use(shape.settings);
            INSERT INTO lines SELECT shape.n, l, ordinality
                FROM clock_explain_text(shape.query, allow_writes => shape.writes) WITH ORDINALITY
                    AS l(l, ordinality);
        EXCEPTION WHEN OTHERS THEN
            RAISE WARNING 'text of %: %', shape.query, SQLERRM;
        END;
        plan := pg_temp.server_explains(shape.query, 'BUFFERS OFF', shape.settings);
        INSERT INTO jsons VALUES (shape.n, 'server', plan);
    END LOOP;
END $$;
SELECT pg_temp.texts();

-- Margins and counts are known and not negative.
SELECT is((SELECT array_agg(format('%s %s', node, f) ORDER BY node, f)
           FROM got AS g, LATERAL (VALUES ('total_margin_ms', g.total_margin_ms),
               ('self_margin_ms', g.self_margin_ms), ('cpu_ms', g.cpu_ms), ('wait_ms', g.wait_ms),
               ('cpu_wait_ms', g.cpu_wait_ms), ('loops', g.loops), ('rows', g.rows)) AS v(f, value)
           WHERE g.n = s.n AND g.method = 'sampling' AND (value IS NULL OR value < 0)), NULL,
          'margins and counts are not negative in ' || query)
FROM shapes AS s;
SELECT is((SELECT array_agg(node ORDER BY node) FROM got AS g WHERE g.n = s.n AND g.method = m
             AND num_nonnulls(run_ms, plain_ms, samples, sampler_ms) > 0), NULL,
          m || ': columns of the run are NULL in nodes of ' || query)
FROM shapes AS s, unnest(ARRAY['sampling', 'full']) AS m;
SELECT is((SELECT array_agg(node ORDER BY node) FROM got AS g WHERE g.n = s.n AND g.method = m
             AND loops = 0 AND coalesce(self_ms, 0) + rows <> 0), NULL,
          m || ': nodes that are never executed have no times in ' || query)
FROM shapes AS s, unnest(ARRAY['sampling', 'full']) AS m;
SELECT cmp_ok(count(*), '>=', 5::bigint, m || ': at least five nodes are never executed')
    FROM unnest(ARRAY['sampling', 'full']) AS m JOIN got AS g ON method = m AND loops = 0
    GROUP BY m;
-- The self time of a node is its time on the CPU and in wait events.
SELECT is((SELECT array_agg(node ORDER BY node) FROM returned AS r WHERE r.n = s.n
             AND r.method = 'sampling' AND abs(self_ms - cpu_ms - wait_ms) > 0.0002), NULL,
          'times on the CPU and in wait events add up in ' || query)
FROM shapes AS s;

-- Times are consistent: no child takes longer than its parent. The view adds the times of a node's
-- children. Plans with InitPlans or CTEs are not checked, because EXPLAIN shows these below a node
-- that need not be the one that executes them.
CREATE TEMP VIEW family AS
SELECT g.n, g.method, g.node, g.total_ms, g.self_ms, c.children, c.children_ms, g.loops
FROM got AS g, LATERAL (
    SELECT count(*) AS children, sum(c.total_ms) AS children_ms
    FROM got AS c
    WHERE c.n = g.n AND c.method = g.method AND c.depth = g.depth + 1 AND c.node > g.node
      AND NOT EXISTS (SELECT FROM got AS o WHERE o.n = g.n AND o.method = g.method
          AND o.node > g.node AND o.node <= c.node AND o.depth <= g.depth)) AS c;
SELECT is((SELECT array_agg(node ORDER BY node) FROM family AS f WHERE f.n = s.n AND f.method = m
    AND (total_ms < 0 OR self_ms < 0)), NULL,
          m || ': no time is below 0 in ' || query)
FROM shapes AS s, unnest(ARRAY['sampling', 'full']) AS m;
SELECT is((SELECT array_agg(node ORDER BY node) FROM family AS f WHERE f.n = s.n AND f.method = m
    AND children_ms > total_ms + 0.0001 * (children + 1)), NULL,
          m || ': no child longer than its parent in ' || query)
FROM shapes AS s, unnest(ARRAY['sampling', 'full']) AS m
WHERE NOT EXISTS (SELECT FROM lines WHERE lines.n = s.n AND line ~ '(InitPlan|CTE) ');
SELECT cmp_ok(count(*), '>=', 5::bigint,
    'at least five lines of InitPlans and CTEs in all plans') FROM lines
    WHERE line ~ '(InitPlan|CTE) ';
SELECT is((SELECT format('%s of %s', sum(self_ms) + sum(cpu_wait_ms), max(run_ms)) FROM returned
    AS r
             WHERE r.n = s.n AND r.method = 'sampling'
             HAVING abs(sum(self_ms) + sum(cpu_wait_ms) - max(run_ms))
                 > 0.0001 * (2 * count(*) + 1) + 0.0001 * max(run_ms)), NULL,
          'self times, time outside of the nodes and time waiting for a CPU add up to the run of '
              || query)
FROM shapes AS s
WHERE NOT EXISTS (SELECT FROM got AS p WHERE p.n = s.n AND p.node_type LIKE 'Gather%');
SELECT is((SELECT sum(share_percent) FROM returned AS r WHERE r.n = s.n AND r.method = m
             HAVING abs(sum(share_percent) - 100) > 0.1 OR max(share_percent) > 100), NULL,
          m || ': shares add up to 100 % in ' || query)
FROM shapes AS s, unnest(ARRAY['sampling', 'full']) AS m;
SELECT is((SELECT array_agg(g.node) FROM got AS g JOIN whole AS w USING (n, method) WHERE n = s.n
    AND method = m AND g.node = 1
    AND g.total_ms > CASE m WHEN 'full' THEN w.plain_ms + 0.0001 ELSE w.run_ms END), NULL,
          m || ': the root takes at most the time of the run of ' || query)
FROM shapes AS s, unnest(ARRAY['sampling', 'full']) AS m;

-- The note of a node states whether the node took, or may have taken, the most time.
SELECT is((SELECT array_agg(node ORDER BY node) FROM (
               SELECT node,
                      coalesce(substring(note FROM '^[a-z ]+ most time[a-z ]*'), '') AS verdict,
                      coalesce(upper >= lower, false) AS may, count(*) OVER () AS nodes,
                      count(*) FILTER (WHERE upper >= lower) OVER () AS rivals
               FROM (SELECT node, note, share_percent + coalesce(share_margin_percent, 0) AS upper,
                            greatest(max(share_percent - coalesce(share_margin_percent, 0)) OVER (),
                                0.0001) AS lower
                     FROM returned AS r WHERE r.n = s.n AND r.method = m) AS limits) AS verdicts
           WHERE node > 0 AND verdict <> CASE WHEN nodes = 2 OR NOT may THEN ''
                                 WHEN rivals = 1 THEN 'took the most time in this run'
                                 ELSE 'may have taken the most time' END), NULL,
          m || ': notes about the largest share of ' || query)
FROM shapes AS s, unnest(ARRAY['sampling', 'full']) AS m;

-- The text has a line of clocktiming for each executed node. The JSON has the keys of EXPLAIN, and
-- those of clocktiming.
SELECT is((SELECT array_agg(l.line ORDER BY l.ordinality) FROM (
               SELECT line, ordinality, lead(line) OVER w AS next FROM (
                   SELECT line, ordinality FROM lines WHERE lines.n = s.n
                     AND (line ~ '\(actual time=\d+\.\d{3}\.\.\d+\.\d{3} rows=[0-9.]+ '
                         'loops=\d+\)$|\(never executed\)$' OR line ~ '^ +Clock: ')) AS x
               WINDOW w AS (ORDER BY ordinality)) AS l
           WHERE line ~ '\(actual' AND next !~
               '^ +Clock: total \d+\.\d{3} \+/- \d+\.\d{3} ms, '
               'self \d+\.\d{3} \+/- \d+\.\d{3} ms \(\d+\.\d \+/- \d+\.\d %\)'
              OR line ~ 'never executed' AND next ~ 'Clock: '), NULL,
          'text: a line of clocktiming for each executed node of ' || query)
FROM shapes AS s;
SELECT is((SELECT count(*) FROM lines WHERE lines.n = s.n AND line ~ 'actual time='),
          (SELECT count(*) FROM expected AS e WHERE e.n = s.n AND e.loops > 0),
              'text: all executed nodes of '
              || query) FROM shapes AS s;
SELECT is((SELECT array_agg(split_part(line, ':', 1) ORDER BY ordinality) FROM lines
    WHERE lines.n = s.n AND line ~ '^(Planning Time|Execution Time|Time): '),
          '{Planning Time,Time,Execution Time}',
              'text: lines of the summary of ' || query) FROM shapes AS s;

CREATE FUNCTION pg_temp.key_lists(plan jsonb, of_server boolean) RETURNS SETOF text LANGUAGE plpgsql
    AS $$
DECLARE
    child jsonb;
BEGIN
    RETURN NEXT (SELECT string_agg(k, ', ' ORDER BY k) FROM jsonb_object_keys(plan) AS k
        WHERE (k LIKE 'Clock %') <> of_server AND k NOT IN ('Waits', 'Clock Note'));
    FOR child IN SELECT c FROM jsonb_array_elements(plan -> 'Plans') AS c LOOP
        RETURN QUERY SELECT * FROM pg_temp.key_lists(child, of_server);
    END LOOP;
END $$;
-- Keys of memory and disk use are omitted, because they differ between executions.
SELECT is((SELECT array_agg(k) FROM pg_temp.key_lists(j.plan -> 0 -> 'Plan', true) AS k),
          (SELECT array_agg(k) FROM pg_temp.key_lists(x.plan -> 0 -> 'Plan', true) AS k), j.method
              || ': EXPLAIN''s own keys of ' || query)
FROM shapes AS s JOIN jsons AS j USING (n) JOIN jsons AS x USING (n) WHERE x.method = 'server'
    AND j.method <> 'server';
SELECT is((SELECT array_agg(DISTINCT k) FROM pg_temp.key_lists(j.plan -> 0 -> 'Plan', false) AS k
           WHERE k NOT IN
               ('Clock CPU Time, Clock CPU Wait Time, Clock Self Margin, Clock Self Percent, '
               'Clock Self Percent Margin, Clock Self Time, Clock Total Margin, Clock Total Time, '
               'Clock Wait Time',
               'Clock Self Percent, Clock Self Time, Clock Total Time')), NULL,
          j.method || ': clocktiming''s keys of ' || query)
FROM shapes AS s JOIN jsons AS j USING (n) WHERE j.method <> 'server';
SELECT is((SELECT array_agg(k ORDER BY k) FROM jsonb_object_keys(j.plan -> 0) AS k),
          '{Clock,"Execution Time",Plan,"Planning Time",Triggers}', j.method
              || ': keys outside of the plan of '
              || query)
FROM shapes AS s JOIN jsons AS j USING (n) WHERE j.method <> 'server';
SELECT is((SELECT array_agg(x ORDER BY o)::text FROM pg_temp.nodes(j.plan -> 0 -> 'Plan') WITH
    ORDINALITY AS x(d, t, r, loops, rows, o)
           WHERE NOT EXISTS (SELECT FROM expected AS e WHERE e.n = s.n AND e.node = o
               AND e.depth = d AND e.node_type = t
                                      AND e.loops = x.loops
                                          AND (e.loops = 0 OR abs(e.rows - x.rows) <= 0.5))), NULL,
          j.method || ': nodes of the JSON of ' || query)
FROM shapes AS s JOIN jsons AS j USING (n) WHERE j.method <> 'server';

-- Resets the settings of the last shape
SELECT pg_temp.use('{}');

-- With verify => true, the first row has the time of the query without timing, and no error is
-- raised.
SELECT is((SELECT array_agg(node ORDER BY node)
    FROM clock_explain('SELECT count(*) FROM t JOIN u USING (i)', method => m, verify => true)
           WHERE (plain_ms > 0) IS DISTINCT FROM CASE WHEN node = 0 THEN true END), NULL, m
               || ': verify => true fills plain_ms of the first row only')
FROM unnest(ARRAY['sampling', 'full']) AS m;

-- The method full corrects its times by plain executions.
SELECT ok(max(total_ms) FILTER (WHERE node = 1) > 0.5 * max(plain_ms) FILTER (WHERE node = 0),
    'full: the root takes more than half of the time of a plain run')
FROM clock_explain('SELECT count(*) FROM generate_series(1, 100000)', method => 'full');

-- A plan with many nodes
SELECT is((SELECT sum(rows) FROM clock_explain(q)), 400001::numeric,
    'many nodes: all rows are counted')
FROM (SELECT 'SELECT count(*) FROM (' || string_agg('SELECT g FROM generate_series(1, 1000) AS g',
    ' UNION ALL ') || ') AS s' AS q
      FROM generate_series(1, 200)) AS v;
-- More nodes than there are stubs, and more than numbers
SELECT is((SELECT format('%s %s', count(*), sum(rows)) FROM clock_explain(q)), format('%s %s', 2 *
    n + 3, 6 * n + 1),
          n || ' nodes: all rows are counted')
FROM unnest(ARRAY[300, 1000]) AS n, LATERAL (SELECT 'SELECT count(*) FROM (' || string_agg(
    'SELECT i FROM (SELECT g AS i FROM generate_series(1, 2) AS g OFFSET 0) AS s' || g,
        ' UNION ALL ') || ') AS s' AS q
      FROM generate_series(1, n) AS g) AS v;

-- A function that is declared STABLE, but returns a random value at each call. So each execution
-- reads different partitions.
CREATE FUNCTION pg_temp.any_i() RETURNS integer LANGUAGE sql STABLE
    AS 'SELECT (random() * 2999)::integer';
SELECT is((SELECT count(DISTINCT e.node_type) FROM generate_series(1, 10) AS g,
               clock_explain('SELECT count(*) FROM parted WHERE i >= pg_temp.any_i() AND k < 10 + '
                   || g, method => m) AS e
           WHERE e.node = 1), 1::bigint, m || ': each execution reads different partitions')
FROM unnest(ARRAY['sampling', 'full']) AS m;

-- The node that does most of the work has the largest self time in most of 5 runs. If not, 25 runs
-- are made, and it must have the largest self time in most of them or in their sum.
CREATE FUNCTION pg_temp.work(n integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    FOR j IN 1 .. 300 LOOP
        n := (n * 31 + j) % 65537;
    END LOOP;
    RETURN n >= 0;
END $$;
CREATE FUNCTION pg_temp.works(query text, method text, runs integer, OUT mostly text,
    OUT in_all text) LANGUAGE sql AS $$
    WITH times AS (SELECT run, coalesce(relation, node_type) AS name, self_ms
                   FROM generate_series(1, runs) AS run, LATERAL clock_explain(query || ' -- '
                       || run, method => works.method) AS e WHERE node > 0)
    SELECT (SELECT mode() WITHIN GROUP (ORDER BY name)
            FROM (SELECT DISTINCT ON (run) name FROM times ORDER BY run, self_ms DESC) AS longest),
           (SELECT name FROM times GROUP BY name ORDER BY sum(self_ms) DESC LIMIT 1) $$;
SELECT is(CASE WHEN (pg_temp.works(q, m, 5)).mostly = r THEN r
               ELSE (SELECT CASE WHEN mostly = r THEN r ELSE in_all END
                   FROM pg_temp.works(q, m, 25)) END,
          r, m || ': most self time at ' || r || ' in ' || q)
FROM unnest(ARRAY['sampling', 'full']) AS m,
    (VALUES ('SELECT count(*) FROM t JOIN u USING (i) WHERE pg_temp.work(u.k)', 'u'),
            ('SELECT count(*) FROM (SELECT * FROM t WHERE i < 1000 AND pg_temp.work(i) OFFSET 0) '
                'AS t JOIN u USING (k)', 't'),
            ('SELECT * FROM u WHERE pg_temp.work(i) ORDER BY k LIMIT 3', 'u'),
            ('SELECT (SELECT count(*) FROM u WHERE u.i <= 3 AND pg_temp.work(t.i)) FROM t '
                'WHERE i < 100', 'u'),
            ('SELECT pg_temp.work(i) FROM (SELECT * FROM t WHERE i < 1000 ORDER BY s LIMIT 500) '
                'AS x', 'Subquery Scan')) AS v(q, r);

-- Calls of clock_explain() within a statement that clock_explain() executes, and calls that fail
-- and whose error is caught
SELECT is((SELECT sum(rows) FROM
    clock_explain($$SELECT * FROM clock_explain('SELECT * FROM t') AS c, u WHERE u.i <= c.rows$$,
    method => m) WHERE node = 1),
          500::numeric, m || ': a nested call of clock_explain')
FROM unnest(ARRAY['sampling', 'full']) AS m;
SELECT is((SELECT rows FROM
    clock_explain('SELECT count(*) FROM u, LATERAL clock_explain(''SELECT * FROM t '
    'WHERE i < '' || u.i) AS c WHERE u.i < 10 AND c.rows = u.i - 1') WHERE node = 1),
          1::bigint, 'a nested call of clock_explain for each row');
CREATE FUNCTION pg_temp.fails(method text, writes boolean DEFAULT true) RETURNS text LANGUAGE
    plpgsql AS $$
DECLARE
    result text := '';
    n bigint;
BEGIN
    FOR i IN 1 .. 5 LOOP
        BEGIN
            PERFORM clock_explain('SELECT 1 / (i - 4000) FROM t', method => fails.method);
            result := result || 'no error ';
        EXCEPTION WHEN division_by_zero THEN
            SELECT sum(rows) INTO n FROM clock_explain('SELECT * FROM u', method => fails.method);
            result := result || n || ' ';
        END;
        IF writes THEN
            INSERT INTO w VALUES (0, 0);
        END IF;
    END LOOP;
    RETURN result || current_setting('transaction_read_only')
        || current_setting('clocktiming.worker_observation');
END $$;
SELECT is(pg_temp.fails(m), '500 500 500 500 500 off', m
    || ': clock_explain works again after an error')
    FROM unnest(ARRAY['sampling', 'full']) AS m;
SELECT lives_ok($$SELECT
    clock_explain('SELECT 1 / (CASE WHEN pg_temp.fails(''sampling'', '
    'false) = ''500 500 500 500 500 on'' THEN 1 ELSE 0 END)')$$,
                'a nested call leaves the transaction read-only');
SELECT is((SELECT count(*) FROM w WHERE i = 0), 10::bigint,
    'rows that are written between the calls remain');

-- The startup time of a node is at most its total time.
CREATE FUNCTION pg_temp.start_times(plan json) RETURNS TABLE (startup numeric, total numeric,
    child_startup numeric) LANGUAGE sql AS $$
    WITH RECURSIVE nodes(j) AS (SELECT plan UNION ALL SELECT json_array_elements(j -> 'Plans')
        FROM nodes WHERE j -> 'Plans' IS NOT NULL)
    SELECT (j ->> 'Actual Startup Time')::numeric, (j ->> 'Actual Total Time')::numeric,
           (SELECT (child ->> 'Actual Startup Time')::numeric FROM json_array_elements(j -> 'Plans')
               AS child
            WHERE child ->> 'Parent Relationship' = 'Outer' AND child ->> 'Actual Loops' = j ->>
                'Actual Loops') FROM nodes $$;
CREATE TEMP TABLE ranges (method text, format text, startup numeric, total numeric,
    child_startup numeric);
DO $$
DECLARE
    query text;
    method_ text;
BEGIN
    FOR i IN 1 .. 20 LOOP
        FOREACH query IN ARRAY ARRAY['SELECT count(*) FROM t', 'SELECT * FROM t ORDER BY s LIMIT 5',
            'SELECT count(*) FROM t JOIN u USING (i)',
            'SELECT k, count(*) FROM (SELECT DISTINCT k, i FROM t) AS x GROUP BY k ORDER BY 2',
                'SELECT (SELECT max(u.i) FROM u WHERE u.k = t.k) FROM t WHERE i < 30',
            'SELECT count(*) FROM (SELECT * FROM t ORDER BY s) AS x',
                'SELECT (SELECT max(v.i) FROM t AS v WHERE v.i < t.i) FROM t LIMIT 50'] LOOP
            FOREACH method_ IN ARRAY ARRAY['sampling', 'full'] LOOP
                INSERT INTO ranges SELECT method_, 'json', s.*
                    FROM pg_temp.start_times(clock_explain_json(query, method_) -> 0
                    -> 'Plan') AS s;
                INSERT INTO ranges SELECT method_, 'text', m[1]::numeric, m[2]::numeric
                FROM clock_explain_text(query, method_) AS l(l),
                    regexp_match(l, 'actual time=([0-9.]+)\.\.([0-9.]+) ') AS m WHERE m IS NOT NULL;
            END LOOP;
        END LOOP;
    END LOOP;
END $$;
SELECT is(count(*) FILTER (WHERE startup > total), 0::bigint, method || ', ' || format || ': of '
    || count(*) || ' nodes none starts after its end')
FROM ranges GROUP BY method, format ORDER BY method, format;
-- Triggers. clock_explain() counts as many firings of a trigger as the server.
CREATE TEMP TABLE referred (i integer PRIMARY KEY);
INSERT INTO referred SELECT generate_series(1, 6000);
CREATE TEMP TABLE fired (i integer PRIMARY KEY REFERENCES referred, k integer);
INSERT INTO fired SELECT i, i % 10 FROM generate_series(1, 3000) AS i;
CREATE TEMP TABLE fired_parted (i integer, k integer) PARTITION BY RANGE (i);
CREATE TEMP TABLE fired_parted_1 PARTITION OF fired_parted FOR VALUES FROM (0) TO (1000);
CREATE TEMP TABLE fired_parted_2 PARTITION OF fired_parted FOR VALUES FROM (1000) TO (9000);
INSERT INTO fired_parted SELECT i, i % 10 FROM generate_series(1, 3000) AS i;
CREATE TEMP VIEW fired_view AS SELECT * FROM fired;
CREATE FUNCTION pg_temp.light() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RETURN coalesce(NEW, OLD);
END $$;
CREATE FUNCTION pg_temp.secured() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET work_mem =
    '1MB' AS $$
BEGIN
    RETURN NEW;
END $$;
CREATE FUNCTION pg_temp.sums_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    ASSERT (SELECT count(*) > 100 FROM added);
    RETURN NULL;
END $$;
CREATE TRIGGER before_row BEFORE INSERT OR UPDATE OR DELETE ON fired FOR EACH ROW EXECUTE FUNCTION
    pg_temp.light();
CREATE TRIGGER after_row AFTER INSERT OR UPDATE OR DELETE ON fired FOR EACH ROW EXECUTE FUNCTION
    pg_temp.light();
CREATE TRIGGER secured AFTER INSERT OR UPDATE ON fired FOR EACH ROW EXECUTE FUNCTION
    pg_temp.secured();
CREATE TRIGGER sometimes AFTER INSERT ON fired FOR EACH ROW WHEN (NEW.i % 3 = 0) EXECUTE FUNCTION
    pg_temp.light();
CREATE TRIGGER redundant BEFORE UPDATE ON fired FOR EACH ROW EXECUTE FUNCTION
    suppress_redundant_updates_trigger();
CREATE TRIGGER before_statement BEFORE INSERT OR UPDATE OR DELETE ON fired EXECUTE FUNCTION
    pg_temp.light();
CREATE TRIGGER after_statement AFTER INSERT ON fired REFERENCING NEW TABLE
    AS added EXECUTE FUNCTION pg_temp.sums_up();
CREATE TRIGGER never BEFORE INSERT ON fired FOR EACH ROW EXECUTE FUNCTION pg_temp.light();
ALTER TABLE fired DISABLE TRIGGER never;
CREATE TRIGGER in_stead INSTEAD OF INSERT ON fired_view FOR EACH ROW EXECUTE FUNCTION
    pg_temp.light();
CREATE TRIGGER before_row BEFORE INSERT OR UPDATE OR DELETE ON fired_parted FOR EACH ROW EXECUTE
    FUNCTION pg_temp.light();
CREATE TRIGGER after_row AFTER INSERT OR UPDATE OR DELETE ON fired_parted FOR EACH ROW EXECUTE
    FUNCTION pg_temp.light();
CREATE TRIGGER after_statement AFTER INSERT OR UPDATE OR DELETE ON fired_parted EXECUTE FUNCTION
    pg_temp.light();
CREATE TEMP TABLE firing (n integer GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO firing (query) VALUES
    ('INSERT INTO fired SELECT i, 0 FROM generate_series(3001, 6000) AS i'),
    ('INSERT INTO fired SELECT i, 0 FROM generate_series(2001, 6000) '
        'AS i ON CONFLICT (i) DO UPDATE SET k = -1'),
    ('INSERT INTO fired SELECT i, 0 FROM generate_series(2001, 6000) '
        'AS i ON CONFLICT (i) DO NOTHING'),
    ('UPDATE fired SET k = k + 1'),
    ('UPDATE fired SET k = 3 WHERE i < 1'),
    ('DELETE FROM fired WHERE k < 8'),
    ('DELETE FROM referred WHERE i > 3000'),
    ('WITH d AS (DELETE FROM fired RETURNING *) INSERT INTO fired_parted SELECT i, k FROM d'),
    ('MERGE INTO fired USING referred AS s ON fired.i = s.i WHEN MATCHED AND k < 3 THEN DELETE'
     ' WHEN MATCHED THEN UPDATE SET k = 7 WHEN NOT MATCHED THEN INSERT VALUES (s.i, 4)'),
    ('INSERT INTO fired_view SELECT i, 0 FROM generate_series(1, 3000) AS i'),
    ('INSERT INTO fired_parted SELECT i, 0 FROM generate_series(1, 3000) AS i'),
    ('UPDATE fired_parted SET k = -1'),
    ('UPDATE fired_parted SET i = i + 500'),
    ('DELETE FROM fired_parted WHERE k < 8');
CREATE TEMP TABLE firings (n integer, how text, triggers jsonb);
CREATE FUNCTION pg_temp.fire() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    f record;
    plan json;
BEGIN
    FOR f IN SELECT * FROM firing ORDER BY n LOOP
        INSERT INTO firings SELECT f.n, how, (clock_explain_json(f.query, how,
            allow_writes => true)::json -> 0 -> 'Triggers')::jsonb
        FROM unnest(ARRAY['sampling', 'full']) AS how;
        plan := pg_temp.server_explains(f.query, 'BUFFERS OFF');
        INSERT INTO firings VALUES (f.n, 'server', (plan -> 0 -> 'Triggers')::jsonb);
    END LOOP;
END $$;
SELECT pg_temp.fire();
CREATE FUNCTION pg_temp.counts(triggers jsonb) RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_agg(t - 'Time' ORDER BY n) FROM jsonb_array_elements(triggers) WITH ORDINALITY
        AS e(t, n) $$;
SELECT is(pg_temp.counts(a.triggers), pg_temp.counts(b.triggers), a.how || ': firings of ' || query)
FROM firing JOIN firings AS a USING (n) JOIN firings AS b USING (n) WHERE a.how <> 'server'
    AND b.how = 'server';
SELECT is((SELECT sum((t ->> 'Calls')::integer) FROM jsonb_array_elements(triggers) AS t
    WHERE t ->> 'Trigger Name' IN ('before_row', 'after_row')), 6000::bigint,
          how || ': one firing for each row')
FROM firings WHERE n IN (1, 4);
SELECT is((SELECT count(*) FROM jsonb_array_elements(triggers) AS t
           WHERE (t ->> 'Time')::numeric <= 0 AND (t ->> 'Calls')::integer >= 1000
               AND t ->> 'Trigger Name' !~ '^RI_|redundant'), 0::bigint,
          how || ': thousands of firings of a function take time in ' || query)
FROM firing JOIN firings USING (n);
-- Triggers of foreign keys on partitions. The server opens the partitions only during the run, and
-- with them their triggers. Each firing scans a table.
CREATE TEMP TABLE referred_parted (i integer PRIMARY KEY) PARTITION BY RANGE (i);
CREATE TEMP TABLE referred_parted_1 PARTITION OF referred_parted FOR VALUES FROM (0) TO (100);
CREATE TEMP TABLE referred_parted_2 PARTITION OF referred_parted FOR VALUES FROM (100) TO (1000);
INSERT INTO referred_parted SELECT generate_series(1, 300);
CREATE TEMP TABLE refers AS SELECT 200 + i % 100 AS i FROM generate_series(1, 2000) AS i;
ALTER TABLE refers ADD FOREIGN KEY (i) REFERENCES referred_parted;
SELECT is((SELECT string_agg((t ->> 'Calls') || ' ' || ((t ->> 'Time')::numeric > 0), ', '
    ORDER BY t ->> 'Calls')
           FROM jsonb_array_elements((clock_explain_json('DELETE FROM referred_parted '
               'WHERE i <= 150', method, allow_writes => true)::json -> 0 ->
               'Triggers')::jsonb) AS t),
          '51 true, 99 true', method || ': firings for partitions take time')
FROM unnest(ARRAY['sampling', 'full']) AS method;

-- MERGE into several tables. PostgreSQL 15 to 19 print its numbers of rows within the array of the
-- tables, which is invalid JSON. The cast to text and to jsonb fails for invalid JSON.
CREATE TEMP TABLE merged (i integer) PARTITION BY RANGE (i);
CREATE TEMP TABLE merged_1 PARTITION OF merged FOR VALUES FROM (0) TO (100);
CREATE TEMP TABLE merged_2 PARTITION OF merged FOR VALUES FROM (100) TO (200);
INSERT INTO merged SELECT generate_series(0, 199);
SELECT is(ARRAY[plan ->> 'Tuples Deleted', plan ->> 'Tuples Skipped',
                jsonb_array_length(plan -> 'Target Tables')::text], '{30,30,2}',
          method || ': MERGE into two partitions is valid JSON')
FROM unnest(ARRAY['sampling', 'full']) AS method,
    LATERAL (SELECT clock_explain_json('MERGE INTO merged USING generate_series(70, 129) AS s(i) '
                        'ON merged.i = s.i WHEN MATCHED AND s.i < 100 THEN DELETE '
                        'WHEN MATCHED THEN DO NOTHING', method,
                        allow_writes => true)::text::jsonb -> 0 -> 'Plan' AS plan) AS p;

-- Times of triggers. Their loops take most of the statement's CPU time, and the trigger with the
-- longer loop takes longer. Interrupts and cold caches may affect them. So one of several runs must
-- have these properties.
CREATE TEMP TABLE busy (heavy integer, light integer);
CREATE FUNCTION pg_temp.loops() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    n integer := 1;
BEGIN
    FOR j IN 1 .. CASE TG_NAME WHEN 'heavy' THEN NEW.heavy ELSE NEW.light END LOOP
        n := (n * 31 + j) % 65537;
    END LOOP;
    RETURN NEW;
END $$;
CREATE TEMP TABLE busy_times (moment text, firings integer, whole numeric,
    heavy numeric, light numeric);
CREATE FUNCTION pg_temp.be_busy() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    moment text;
BEGIN
    FOREACH moment IN ARRAY ARRAY['BEFORE', 'AFTER'] LOOP
        EXECUTE format('CREATE TRIGGER heavy %s INSERT ON busy FOR EACH ROW EXECUTE FUNCTION '
            'pg_temp.loops()', moment);
        EXECUTE format('CREATE TRIGGER light %s INSERT ON busy FOR EACH ROW EXECUTE FUNCTION '
            'pg_temp.loops()', moment);
        INSERT INTO busy_times
        SELECT moment, firings, (j ->> 'Execution Time')::numeric, (j #>>
            '{Triggers,0,Time}')::numeric,
            (j #>> '{Triggers,1,Time}')::numeric
        FROM (VALUES (300, 500, 5), (8000, 60, 0)) AS v(firings, heavy, light),
            generate_series(1, 7) AS run,
            LATERAL (SELECT
                clock_explain_json(format('INSERT INTO busy SELECT %s, %s FROM generate_series(1, '
                '%s) -- %s', heavy, light, firings, run),
                                               allow_writes => true)::json -> 0) AS e(j);
        DROP TRIGGER heavy ON busy;
        DROP TRIGGER light ON busy;
    END LOOP;
END $$;
SELECT pg_temp.be_busy();
CREATE TEMP VIEW busy_runs AS
    SELECT format('%s, %s', moment, firings) AS what, count(*) AS runs,
        max(heavy / whole) AS most, min(heavy / whole) AS least, max(heavy / nullif(light, 0))
            AS ratio, min(light) AS light
    FROM busy_times GROUP BY moment, firings;
SELECT is((SELECT array_agg(runs) FROM busy_runs), array_fill(7::bigint, ARRAY[4]),
    'triggers: seven runs of each kind');
SELECT cmp_ok(most, '>', 0.5, what || ': the heavy trigger takes most of the time') FROM busy_runs;
SELECT cmp_ok(least, '<', 1.1, what
    || ': the heavy trigger takes at most the time of the run') FROM busy_runs;
SELECT cmp_ok(ratio, '>', 2.0, what
    || ': the heavy trigger takes longer than the light one') FROM busy_runs;
SELECT cmp_ok(light, '>', 0.0, what || ': the light trigger takes time, too') FROM busy_runs;

-- Triggers that fail, and triggers that explain a statement that fires the same trigger
CREATE FUNCTION pg_temp.fails_or_explains() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_trigger_depth() = 1 AND NEW.light % 100 = 0 THEN
        PERFORM clock_explain('INSERT INTO busy SELECT 1, i FROM generate_series(1, 200) AS i',
            allow_writes => true);
    END IF;
    RETURN CASE WHEN NEW.heavy / (NEW.light - 400) IS NULL THEN NULL ELSE NEW END;
END $$;
CREATE FUNCTION pg_temp.fires_and_fails(moment text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text := '';
BEGIN
    EXECUTE format('CREATE TRIGGER heavy %s INSERT ON busy FOR EACH ROW EXECUTE FUNCTION '
        'pg_temp.fails_or_explains()', moment);
    FOR i IN 1 .. 5 LOOP
        BEGIN
            PERFORM clock_explain('INSERT INTO busy SELECT 1, i FROM generate_series(1, 500) AS i',
                allow_writes => true);
            result := result || 'no error ';
        EXCEPTION WHEN division_by_zero THEN
            result := result ||
                (clock_explain_json('INSERT INTO busy SELECT 1, i FROM generate_series(1, 399) '
                'AS i', allow_writes => true)::json
                                 #>> '{0,Triggers,0,Calls}') || ' ';
        END;
    END LOOP;
    DROP TRIGGER heavy ON busy;
    RETURN result || (SELECT count(*) FROM busy);
END $$;
SELECT is(pg_temp.fires_and_fails(moment), '399 399 399 399 399 0', moment
    || ' trigger: clock_explain works again after an error')
    FROM unnest(ARRAY['BEFORE', 'AFTER']) AS moment;

-- The server's own statistics of functions are collected as usual.
BEGIN;
SET LOCAL track_functions = 'pl';
CREATE TRIGGER heavy BEFORE INSERT ON busy FOR EACH ROW EXECUTE FUNCTION pg_temp.loops();
SELECT clock_explain_text('INSERT INTO busy SELECT 1, 1 FROM generate_series(1, 300)',
    allow_writes => true) \g /dev/null
SELECT is((SELECT calls FROM pg_stat_xact_user_functions WHERE funcname = 'loops'), 300::bigint,
    'pg_stat_xact_user_functions counts firings as calls');
ROLLBACK;

-- Cursors and portals that are closed before their end
BEGIN;
DECLARE c CURSOR FOR SELECT (SELECT sum(rows) FROM clock_explain('SELECT * FROM u WHERE i <= '
    || t.i)) FROM t ORDER BY i;
SELECT is((SELECT count(*) FROM pg_cursors WHERE name = 'c'), 1::bigint,
    'a cursor on clock_explain is open');
FETCH 3 FROM c \g /dev/null
CLOSE c;
COMMIT;

-- If several nodes execute the same subplan, each of them has only the time of its own calls of
-- the subplan. A call of nap(i) sleeps for 2 ms. So the node with most of the calls has most of the
-- time, also on a busy machine.
CREATE FUNCTION pg_temp.nap(i integer) RETURNS integer LANGUAGE plpgsql
    AS 'BEGIN PERFORM pg_sleep(0.002); RETURN i; END';
CREATE TEMP TABLE parts (i integer) PARTITION BY RANGE (i);
CREATE TEMP TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (4);
CREATE TEMP TABLE part_2 PARTITION OF parts FOR VALUES FROM (4) TO (100);
INSERT INTO parts SELECT generate_series(0, 39);
CREATE TEMP TABLE naps AS SELECT generate_series(1, 40) AS i;
ANALYZE parts, naps;
CREATE TEMP TABLE sharing AS
SELECT v.name, m AS method, e.* FROM (VALUES
    ('CTE', 'WITH c AS MATERIALIZED (SELECT pg_temp.nap(i) AS x FROM generate_series(1, 40) '
        'AS i) (SELECT x FROM c LIMIT 1) UNION ALL SELECT sum(x) FROM c'),
    ('other order',
        'WITH c AS MATERIALIZED (SELECT pg_temp.nap(i) AS x FROM generate_series(1, 40) AS i) '
        'SELECT sum(x) FROM c UNION ALL (SELECT x FROM c LIMIT 1)'),
    ('sorted', 'WITH c AS MATERIALIZED (SELECT pg_temp.nap(i) AS x FROM generate_series(1, 40) '
        'AS i ORDER BY x OFFSET 0) (SELECT x FROM c LIMIT 1) UNION ALL SELECT sum(x) FROM c'),
    ('partitions',
        'SELECT count(*) FROM parts WHERE (SELECT max(pg_temp.nap(g)) '
        'FROM generate_series(parts.i, parts.i) AS g) >= 0'),
    ('DELETE',
        'WITH c AS (DELETE FROM naps RETURNING pg_temp.nap(i) AS x) SELECT x FROM c LIMIT 2'),
    ('DELETE twice',
        'WITH c AS (DELETE FROM naps RETURNING pg_temp.nap(i) AS x) (SELECT x FROM c LIMIT 2) '
        'UNION ALL (SELECT x FROM c LIMIT 5)'))
    AS v(name, query), unnest(ARRAY['sampling', 'full']) AS m,
    LATERAL clock_explain(query, method => m, allow_writes => true) AS e;
CREATE TEMP VIEW users AS
SELECT name, method, max(run_ms) AS run_ms, sum(self_ms) AS self_ms,
    string_agg(format('%s %s: %s, %s', node, node_type,
    total_ms, self_ms), '; ' ORDER BY node) FILTER (WHERE node > 0) AS text,
       array_agg(total_ms ORDER BY node) FILTER (WHERE node_type = 'CTE Scan'
           OR relation LIKE 'part_%') AS total,
       array_agg(self_ms ORDER BY node) FILTER (WHERE node_type = 'CTE Scan'
           OR relation LIKE 'part_%') AS self
FROM sharing GROUP BY name, method;
SELECT ok(0.5 * (total[1] + total[2]) < total[CASE name WHEN 'other order' THEN 1 WHEN 'sorted'
    THEN 1 WHEN 'DELETE twice' THEN 1 ELSE 2 END] + CASE name WHEN 'DELETE twice' THEN run_ms
    ELSE 0 END,
          method || ', ' || name
              || ': the node with most of the calls has most of the time: ' || text)
FROM users WHERE name <> 'DELETE';
SELECT cmp_ok(self[1] + coalesce(self[2], 0), '<', 0.3 * run_ms, method || ', ' || name
    || ': self times exclude the time of the subplan: ' || text) FROM users;
-- A node has its own time, whatever its calls are like: a long last call, which removes many rows,
-- a rare long call, and a wait
CREATE TEMP TABLE many AS SELECT i FROM generate_series(1, 400000) AS i;
ANALYZE many;
SELECT cmp_ok(min(e.share_percent), '>', 80::numeric, 'a long last call belongs to the scan')
FROM generate_series(1, 3) AS run,
    clock_explain('SELECT i % 7, count(*) FROM many WHERE i <= 1000 GROUP BY 1 -- ' || run) AS e
WHERE e.node_type = 'Seq Scan';
SELECT cmp_ok(min(e.share_percent), '<', 5::numeric,
    'a long last call of a node below is no time of the aggregate')
FROM generate_series(1, 3) AS run,
    clock_explain('SELECT count(*) FROM u AS a JOIN many AS s ON s.i = a.i WHERE a.i < 300 -- ' ||
        run) AS e
WHERE e.node_type = 'Aggregate';
CREATE FUNCTION pg_temp.rare(i integer) RETURNS boolean LANGUAGE plpgsql COST 1
    AS 'BEGIN IF i = 150000 THEN PERFORM pg_sleep(0.5); END IF; RETURN true; END';
CREATE TEMP TABLE rare AS SELECT * FROM
    clock_explain('SELECT count(*) FROM many WHERE pg_temp.rare(i)');
SELECT cmp_ok(wait_ms, '>=', 450::numeric, 'a rare long call belongs to the node that makes it')
    FROM rare
    WHERE node_type = 'Seq Scan';
SELECT matches(waits, 'Timeout:PgSleep \d+ %', 'its wait event is stated') FROM rare WHERE
    node_type = 'Seq Scan';
SELECT cmp_ok(wait_ms, '<', 5::numeric, 'not to the node above')
    FROM rare WHERE node_type = 'Aggregate';

-- A CTE that modifies data and that no node scans is executed at the end.
SELECT ok(max(total_ms) FILTER (WHERE node_type = 'ModifyTable') >= max(total_ms) FILTER
    (WHERE node_type = 'Seq Scan')
          AND max(total_ms) FILTER (WHERE node_type = 'Result') < max(total_ms) FILTER
              (WHERE node_type = 'ModifyTable'),
          m || ': the time of a CTE that is not read is that of its nodes: '
              || string_agg(format('%s %s', node_type, total_ms), ', ' ORDER BY node) FILTER
                  (WHERE node > 0))
FROM unnest(ARRAY['sampling', 'full']) AS m,
    LATERAL clock_explain('WITH c AS (INSERT INTO w SELECT i, k FROM t, generate_series(1, 20)) '
        'SELECT 1', m, allow_writes => true) GROUP BY m;

SELECT is(current_setting('clocktiming.worker_observation'), '',
    'clocktiming.worker_observation is empty after all calls');
-- Several runs. Times are means over the runs, and margins include the differences between the
-- runs. The second and the fourth of the five runs sleep.
CREATE TEMP SEQUENCE turn;
CREATE TEMP TABLE series AS SELECT * FROM
    clock_explain($$SELECT pg_sleep(CASE WHEN nextval('turn') % 2 = 0 THEN 0.2 ELSE 0 END)$$,
    runs => 5);
SELECT is((SELECT last_value FROM turn), 5::bigint, 'runs => 5: five runs');
SELECT cmp_ok(total_ms, '>=', 79.9,
    'runs => 5: times are means over all runs') FROM series WHERE node > 0;
SELECT cmp_ok(total_margin_ms, '>', 60.0,
    'runs => 5: margins include the differences between runs') FROM series
    WHERE node > 0;
SELECT cmp_ok(run_ms, '>=', 79.9,
    'runs => 5: run_ms is the mean over all runs') FROM series WHERE node = 0;
-- A node that is executed only in some of the runs
SELECT setval('turn', 1, false) \g /dev/null
CREATE TEMP TABLE some_runs AS SELECT * FROM
    clock_explain($$SELECT CASE WHEN nextval('turn') % 2 = 0
                  THEN (SELECT count(*) FROM t, pg_sleep(0.01)) END$$, runs => 5);
SELECT cmp_ok(total_ms + total_margin_ms, '>=', 3.9,
    'runs => 5: the mean includes runs without this node: ' || line) FROM some_runs
    WHERE node_type = 'Aggregate';
-- With several runs, counts are those of a single run, if they are the same in all runs. The times
-- are consistent, too.
SELECT unnest(ARRAY[is((SELECT array_agg((e.rows, e.loops)::text ORDER BY node)
    FROM clock_explain(q, runs => 4) AS e),
          (SELECT array_agg((e.rows, e.loops)::text ORDER BY node) FROM clock_explain(q)
              AS e), 'runs => 4: counts are those of a single run: ' || q),
       ok((SELECT bool_and(self_ms >= 0 AND self_ms <= total_ms + 0.0001 AND self_margin_ms > 0)
                  AND abs(sum(self_ms) - max(total_ms)) <= 0.001 FROM clock_explain(q, runs => 4)
                      WHERE node > 0), 'runs => 4: times are consistent: ' || q)])
FROM unnest(ARRAY['SELECT count(*) FROM t', 'SELECT count(*) FROM t JOIN u USING (i)',
    'SELECT i FROM t ORDER BY i DESC LIMIT 3']) AS q;

SELECT * FROM finish();
