-- clock_explain: what must hold for every plan, whatever the machine does.
\set ON_ERROR_STOP on
SELECT * FROM no_plan();

CREATE TEMP TABLE t AS SELECT i, i % 100 AS k, (i * 7919) % 5000 AS r, md5(i::text) AS s FROM generate_series(1, 5000) AS i;
CREATE INDEX t_i ON t (i);
CREATE INDEX t_k ON t (k);
CREATE INDEX t_r ON t (r);
CREATE TEMP TABLE u AS SELECT i, i % 10 AS k FROM generate_series(1, 500) AS i;
CREATE INDEX u_i ON u (i);
CREATE TEMP TABLE empty (i integer, k integer);
-- what is written to, which no plan of another query depends on
CREATE TEMP TABLE w AS SELECT i, i % 10 AS k FROM generate_series(1, 500) AS i;
CREATE TEMP TABLE parted (i integer, k integer) PARTITION BY RANGE (i);
CREATE TEMP TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (1000);
CREATE TEMP TABLE parted_2 PARTITION OF parted FOR VALUES FROM (1000) TO (2000);
CREATE TEMP TABLE parted_3 PARTITION OF parted FOR VALUES FROM (2000) TO (3000);
INSERT INTO parted SELECT i, i % 10 FROM generate_series(0, 2999) AS i;
CREATE INDEX ON parted (i);
ANALYZE t, u, w, parted;

-- Every plan shape: each row is executed under its own settings.
CREATE TEMP TABLE shapes (n integer GENERATED ALWAYS AS IDENTITY, settings text[], query text, writes boolean DEFAULT false);
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
    ('{enable_seqscan=off,enable_bitmapscan=off}', 'SELECT i FROM t WHERE i < 1000 ORDER BY i DESC LIMIT 5'),
    ('{enable_seqscan=off,enable_indexscan=off,enable_indexonlyscan=off}', 'SELECT count(s) FROM t WHERE i < 1000 AND r < 1000'),
    ('{enable_seqscan=off,enable_indexscan=off,enable_indexonlyscan=off}', 'SELECT count(s) FROM t WHERE i < 1000 OR r < 1000'),
    ('{}', 'SELECT count(*) FROM t JOIN u USING (i)'),
    ('{enable_mergejoin=off,enable_nestloop=off}', 'SELECT count(*) FROM t JOIN u USING (i)'),
    ('{enable_mergejoin=off,enable_nestloop=off}', 'SELECT count(*) FROM t LEFT JOIN u USING (i)'),
    ('{enable_mergejoin=off,enable_nestloop=off}', 'SELECT count(*) FROM t FULL JOIN u USING (i)'),
    ('{enable_mergejoin=off,enable_nestloop=off}', 'SELECT count(*) FROM t JOIN empty USING (i)'),
    ('{enable_mergejoin=off,enable_nestloop=off}', 'SELECT * FROM empty JOIN t USING (i)'),
    ('{enable_mergejoin=off,enable_nestloop=off,work_mem=64kB}', 'SELECT count(*) FROM t AS a JOIN t AS b USING (s)'),
    ('{enable_mergejoin=off,enable_nestloop=off}', 'SELECT * FROM t JOIN u USING (i) LIMIT 20'),
    ('{enable_hashjoin=off,enable_nestloop=off}', 'SELECT count(*) FROM t JOIN u USING (i)'),
    ('{enable_hashjoin=off,enable_nestloop=off}', 'SELECT count(*) FROM t AS a JOIN t AS b USING (k) WHERE a.i < 300 AND b.i < 300'),
    ('{enable_hashjoin=off,enable_nestloop=off}', 'SELECT count(*) FROM t FULL JOIN u USING (i)'),
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_memoize=off}', 'SELECT count(*) FROM u JOIN t USING (i)'),
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_material=off,enable_indexscan=off,enable_bitmapscan=off,enable_indexonlyscan=off}',
     'SELECT count(*) FROM u JOIN u AS v ON u.i < v.i WHERE u.i < 50'),
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_indexscan=off,enable_bitmapscan=off,enable_indexonlyscan=off}',
     'SELECT count(*) FROM u JOIN u AS v ON u.i < v.i'),
    ('{enable_hashjoin=off,enable_mergejoin=off}', 'SELECT count(*) FROM t JOIN u ON u.i = t.k'),
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_seqscan=off}', 'SELECT count(*) FROM t AS a JOIN t AS b ON b.i = a.k'),
    ('{}', 'SELECT count(*) FROM t WHERE EXISTS (SELECT FROM u WHERE u.i = t.i)'),
    ('{}', 'SELECT count(*) FROM t WHERE NOT EXISTS (SELECT FROM u WHERE u.i = t.i)'),
    ('{enable_hashjoin=off,enable_mergejoin=off}', 'SELECT count(*) FROM u WHERE EXISTS (SELECT FROM t WHERE t.k = u.k AND t.r > u.i)'),
    ('{}', 'SELECT count(*) FROM t WHERE i IN (SELECT i FROM u) OR k = 5'),
    ('{}', 'SELECT i, (SELECT count(*) FROM u WHERE u.k = t.k) FROM t WHERE i < 200'),
    ('{}', 'SELECT i, (SELECT u.i FROM u WHERE u.k = t.k LIMIT 1) FROM t WHERE i < 200'),
    ('{}', 'SELECT count(*) FROM t WHERE r > (SELECT avg(r) FROM t)'),
    ('{}', 'SELECT count(*) FROM t WHERE k = 1 AND r > (SELECT avg(r) FROM t)'),
    ('{}', 'WITH c AS MATERIALIZED (SELECT k, count(*) AS n FROM t GROUP BY k) SELECT * FROM c AS a JOIN c AS b USING (n)'),
    ('{}', 'WITH c AS MATERIALIZED (SELECT * FROM t ORDER BY s) SELECT * FROM c LIMIT 3'),
    ('{}', 'WITH c AS MATERIALIZED (SELECT * FROM t) SELECT 1'),
    ('{}', 'WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 300) SELECT count(*) FROM r'),
    ('{}', 'WITH RECURSIVE r AS (SELECT 1 AS n UNION SELECT (n * 2) % 1021 FROM r) SELECT sum(n) FROM r JOIN t ON t.i = n'),
    ('{}', 'SELECT count(*) FROM parted'),
    ('{}', 'SELECT * FROM parted WHERE i < 1500'),
    ('{plan_cache_mode=force_generic_plan}', 'SELECT count(*) FROM parted WHERE i = (SELECT 1234)'),
    ('{enable_hashjoin=off,enable_mergejoin=off}', 'SELECT count(*) FROM u JOIN parted ON parted.i = u.i * 5'),
    ('{enable_seqscan=off,enable_sort=off}', 'SELECT * FROM parted ORDER BY i LIMIT 1700'),
    ('{}', 'SELECT i FROM t UNION ALL SELECT i FROM u'),
    ('{}', 'SELECT i FROM t UNION SELECT i FROM u'),
    ('{}', 'SELECT i FROM t EXCEPT SELECT i FROM u'),
    ('{enable_hashagg=off}', 'SELECT i FROM t INTERSECT SELECT i FROM u'),
    ('{}', '(SELECT i FROM t ORDER BY s LIMIT 7) UNION ALL (SELECT i FROM u) LIMIT 300'),
    ('{}', 'SELECT i, sum(r) OVER (PARTITION BY k ORDER BY i) FROM t'),
    ('{}', 'SELECT * FROM (SELECT i, row_number() OVER (ORDER BY i) AS n FROM t) AS w WHERE n < 10'),
    ('{}', 'SELECT k, generate_series(1, k) FROM u'),
    ('{enable_sort=on}', 'SELECT * FROM t ORDER BY k, s'),
    ('{enable_seqscan=off}', 'SELECT k, r, count(*) FROM t GROUP BY k, r ORDER BY k, r'),
    ('{}', 'SELECT count(*) FROM t TABLESAMPLE BERNOULLI (20) REPEATABLE (1)'),
    ('{}', 'SELECT count(*) FROM t WHERE ctid = ''(1,1)'''),
    ('{}', 'SELECT count(*) FROM t WHERE ctid > ''(10,1)'''),
    ('{}', 'SELECT * FROM t, LATERAL (SELECT count(*) FROM u WHERE u.i < t.k) AS l WHERE t.i < 50'),
    ('{}', 'SELECT x.n FROM t, XMLTABLE(''/a/b'' PASSING ''<a><b>1</b><b>2</b></a>'' COLUMNS n integer PATH ''.'') AS x WHERE t.i < 20'),
    ('{}', 'SELECT count(*) FROM t, unnest(ARRAY[1, 2, 3]) AS e WHERE t.i < 10'),
    ('{}', 'SELECT count(*) FROM (SELECT * FROM t OFFSET 0) AS sub WHERE sub.k < 50'),
    ('{}', 'SELECT CASE WHEN i % 2 = 0 THEN (SELECT max(k) FROM u) END FROM t WHERE i < 30');
-- without the XML library there is no XMLTABLE
DELETE FROM shapes WHERE query ~ 'XMLTABLE' AND NOT EXISTS (
    SELECT FROM pg_config WHERE name = 'CONFIGURE' AND setting ~ 'with-libxml');
INSERT INTO shapes (settings, query, writes) VALUES
    ('{}', 'INSERT INTO w SELECT i, k FROM u', true),
    ('{}', 'INSERT INTO w SELECT i, k FROM u RETURNING *', true),
    ('{}', 'UPDATE w SET k = k + 1 WHERE i % 3 = 0', true),
    ('{}', 'DELETE FROM w WHERE k = 3', true),
    ('{}', 'SELECT * FROM w ORDER BY i FOR UPDATE', true),
    ('{}', 'WITH d AS (DELETE FROM w WHERE k = 3 RETURNING *) SELECT count(*) FROM d', true),
    ('{enable_hashjoin=off,enable_mergejoin=off,enable_material=off}',
     'MERGE INTO w USING u ON u.i = w.i WHEN MATCHED AND u.k = 5 THEN DELETE WHEN MATCHED THEN UPDATE SET k = 0', true);

-- The settings of a shape, and no others.
CREATE FUNCTION pg_temp.use(settings text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    setting text;
BEGIN
    FOR setting IN SELECT DISTINCT split_part(unnest(s.settings), '=', 1) FROM shapes AS s LOOP
        EXECUTE format('RESET %I', setting);
    END LOOP;
    FOREACH setting IN ARRAY '{max_parallel_workers_per_gather=0,jit=off,work_mem=64MB}' || settings LOOP
        PERFORM set_config(split_part(setting, '=', 1), split_part(setting, '=', 2), false);
    END LOOP;
END $$;

-- The nodes of EXPLAIN's own JSON, in its order.
CREATE FUNCTION pg_temp.nodes(plan jsonb, depth integer DEFAULT 0)
RETURNS TABLE (depth_ integer, node_type text, relation text, loops numeric, rows numeric) LANGUAGE plpgsql AS $$
DECLARE
    child jsonb;
BEGIN
    RETURN QUERY SELECT depth, plan ->> 'Node Type', plan ->> 'Relation Name',
                        (plan ->> 'Actual Loops')::numeric, (plan ->> 'Actual Rows')::numeric;
    FOR child IN SELECT c FROM jsonb_array_elements(plan -> 'Plans') AS c LOOP
        RETURN QUERY SELECT * FROM pg_temp.nodes(child, depth + 1);
    END LOOP;
END $$;

CREATE TEMP TABLE expected (n integer, node integer, depth integer, node_type text, relation text, loops numeric, rows numeric);
CREATE TEMP TABLE got AS SELECT 0 AS n, ''::text AS method, c.* FROM clock_explain('SELECT 1') AS c LIMIT 0;
CREATE TEMP TABLE lines (n integer, line text, ordinality bigint);
CREATE TEMP TABLE jsons (n integer, method text, plan jsonb);

CREATE FUNCTION pg_temp.explain_all() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    shape record;
    plan json;
    method_ text;
BEGIN
    FOR shape IN SELECT * FROM shapes ORDER BY n LOOP
        BEGIN
            PERFORM pg_temp.use(shape.settings);
            EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || shape.query INTO plan;
            RAISE EXCEPTION USING MESSAGE = 'undo', DETAIL = plan::text, ERRCODE = 'UNDO1';
        EXCEPTION WHEN SQLSTATE 'UNDO1' THEN
            GET STACKED DIAGNOSTICS plan = PG_EXCEPTION_DETAIL;
        END;
        INSERT INTO expected SELECT shape.n, e.* FROM (
            SELECT row_number() OVER () AS node, x.* FROM pg_temp.nodes(plan::jsonb -> 0 -> 'Plan') AS x) AS e;
    END LOOP;
    FOREACH method_ IN ARRAY ARRAY['sampling', 'full', 'isolate'] LOOP
        FOR shape IN SELECT * FROM shapes ORDER BY n LOOP
            BEGIN
                PERFORM pg_temp.use(shape.settings);
                INSERT INTO got SELECT shape.n, method_, c.*
                    FROM clock_explain(shape.query, method => method_, allow_writes => shape.writes) AS c;
                INSERT INTO jsons SELECT shape.n, method_, clock_explain_json(shape.query, method => method_, allow_writes => shape.writes);
            EXCEPTION WHEN OTHERS THEN
                RAISE WARNING '% of %: %', method_, shape.query, SQLERRM;
            END;
        END LOOP;
    END LOOP;
END $$;
SELECT pg_temp.explain_all();

-- exact, always: what EXPLAIN ANALYZE says of the same plans
SELECT is((SELECT array_agg((node, depth, node_type, relation, loops) ORDER BY node)::text FROM got AS g WHERE g.n = s.n AND g.method = m),
          (SELECT array_agg((node, depth, node_type, relation, loops::bigint) ORDER BY node)::text FROM expected AS e WHERE e.n = s.n),
          m || ': nodes and loops of ' || query)
FROM shapes AS s, unnest(ARRAY['sampling', 'full', 'isolate']) AS m;
SELECT is((SELECT array_agg(g.node ORDER BY g.node)
           FROM got AS g JOIN expected AS e USING (n, node)
           WHERE g.n = s.n AND g.method = m AND g.loops > 0 AND abs(g.rows::numeric / g.loops - e.rows) > 0.5), NULL,
          m || ': rows of ' || query)
FROM shapes AS s, unnest(ARRAY['sampling', 'full', 'isolate']) AS m;
