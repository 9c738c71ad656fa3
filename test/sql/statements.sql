-- Statements with parameters, EXECUTE, DECLARE CURSOR, CREATE TABLE AS, REFRESH MATERIALIZED VIEW
\getenv inputdir PG_ABS_SRCDIR
\set file :inputdir '/sql/try.psql'
\i :file
CREATE TABLE statements_t (i int PRIMARY KEY, v text, d numeric);
INSERT INTO statements_t SELECT i, 'v' || i, i / 2.0 FROM generate_series(1, 100) AS i;
ANALYZE statements_t;
SET enable_seqscan = off; SET enable_bitmapscan = off; SET max_parallel_workers_per_gather = 0;
\pset format unaligned
\pset tuples_only on

-- parameters: their types are those that PREPARE would infer, and the plan has their values
SELECT line, rows FROM clock_explain('SELECT * FROM statements_t WHERE i = $1', params => '{42}');
SELECT rows FROM
    clock_explain('SELECT * FROM statements_t WHERE i <= $1 AND v <> $2 AND d > $3::int',
    params => '{42,v7,2}') WHERE node = 1;
SELECT rows FROM clock_explain('SELECT * FROM statements_t WHERE i = $1', params => '{NULL}')
    WHERE node = 1;
SELECT rows FROM clock_explain('SELECT * FROM statements_t WHERE $1 IS NULL', params => '{NULL}')
    WHERE node = 1;
SELECT rows FROM clock_explain('SELECT * FROM statements_t WHERE i = $2', params => '{unused,7}')
    WHERE node = 1;
SELECT rows FROM clock_explain('SELECT $1', params => '{abc}', method => 'full');
SELECT count(*) FROM clock_explain_text('SELECT * FROM statements_t WHERE i = $1', params => '{42}')
    AS l WHERE l ~ 'Index Cond: \(i = 42\)';
SELECT (j -> 0 -> 'Plan' ->> 'Actual Rows')::float
    FROM clock_explain_json('SELECT * FROM statements_t WHERE i < $1', params => '{42}') AS j;
-- an emulated processor takes longer
\set seconds `test -z "$CLOCKTIMING_EMULATED" && echo 0.1 || echo 3`
-- on a busy machine, the duration may be too short for two rounds, which is a warning
SET client_min_messages = error;
SELECT DISTINCT node_calls FROM clock_query_overhead('SELECT * FROM statements_t WHERE i < $1',
    :seconds, params => '{42}');
SELECT rows FROM clock_explain('INSERT INTO statements_t VALUES ($1, $2) RETURNING i',
    allow_writes => true, params => '{1000,x}') WHERE node = 1;
-- a generic plan
SET plan_cache_mode = force_generic_plan;
SELECT count(*) FROM clock_explain_text('SELECT * FROM statements_t WHERE i = $1', params => '{42}')
    AS l WHERE l ~ 'Index Cond: \(i = \$1\)';
SELECT rows FROM clock_explain('SELECT * FROM statements_t WHERE i < $1', params => '{42}')
    WHERE node = 1;
SELECT DISTINCT node_calls FROM clock_query_overhead('SELECT * FROM statements_t WHERE i < $1',
    :seconds, params => '{42}');
RESET plan_cache_mode;
SELECT q, p, t.* FROM (VALUES ('SELECT $1::int + $2', NULL), ('SELECT $1::int + $2', '{}'),
    ('SELECT $1::int + $2', '{1}'), ('SELECT $1::int + $2', '{1,2,3}'),
    ('SELECT 1', '{1}'), ('SELECT 1', '{}'), ('SELECT $1::int', '{abc}'),
        ('SELECT $2::int', '{1,abc}'), ('SELECT i / $1 FROM statements_t', '{0}'),
    ('SELECT $0', '{1}'), ('EXECUTE q(1)', '{1}'), ('EXECUTE q(1)', '{}')) AS x(q, p),
    pg_temp.try(format('SELECT count(*) FROM clock_explain(%L, params => %L)', q, p)) AS t;

-- a prepared statement
PREPARE q(int, text) AS SELECT * FROM statements_t WHERE i < $1 AND v <> $2;
PREPARE w AS DELETE FROM statements_t;
PREPARE two AS SELECT 1 / (i - $1) FROM statements_t;
SELECT line, rows FROM clock_explain('EXECUTE q(42, $$v$$ || 3)');
SELECT rows FROM unnest('{sampling,full}'::text[]) AS m,
    clock_explain('EXECUTE q(2 * 5.0, $$x$$)', method => m) WHERE node = 1;
SELECT DISTINCT node_calls FROM clock_query_overhead('EXECUTE q(42, $$v3$$)', :seconds);
SELECT custom_plans > 0, generic_plans FROM pg_prepared_statements WHERE name = 'q';
SET plan_cache_mode = force_generic_plan;
SELECT count(*) FROM clock_explain_text('EXECUTE q(42, $$v3$$)') AS l
    WHERE l ~ 'Index Cond: \(i < \$1\)';
SELECT generic_plans FROM pg_prepared_statements WHERE name = 'q';
RESET plan_cache_mode;
SELECT rows FROM clock_explain('EXECUTE w', allow_writes => true) WHERE node = 2;
SELECT count(*) FROM statements_t;
SELECT q, t.* FROM unnest(ARRAY['EXECUTE nothing', 'EXECUTE q', 'EXECUTE q(1)',
    'EXECUTE q(1, 2, 3)', 'EXECUTE q(''x'', ''y'')', 'EXECUTE q(now(), ''y'')',
    'EXECUTE q($1, ''y'')', 'EXECUTE q((SELECT 1), ''y'')', 'EXECUTE w', 'EXECUTE two(50)',
        'EXECUTE q(1 / 0, NULL)', 'EXECUTE w(1)']) AS q,
    pg_temp.try(format('SELECT count(*) FROM clock_explain(%L)', q)) AS t;
-- a prepared statement whose result columns have changed
ALTER TABLE statements_t RENAME v TO vv;
SELECT t.* FROM pg_temp.try($$SELECT count(*) FROM clock_explain('EXECUTE q(1, NULL)')$$) AS t;
\pset tuples_only off
SELECT count(*) FROM clock_explain('EXECUTE q(1, NULL)');
SELECT count(*) FROM clock_explain('EXECUTE q(now(), NULL)');
SELECT count(*) FROM clock_explain('SELECT i, $1 + nosuch FROM statements_t', params => '{1}');
SELECT count(*) FROM clock_explain('SELECT $1::int', params => '{abc}');
\pset tuples_only on
ALTER TABLE statements_t RENAME vv TO v;

-- DECLARE CURSOR with its options; all rows are read
SELECT line, rows FROM
    clock_explain('DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT * FROM statements_t WHERE i > 10');
SELECT rows FROM clock_explain('DECLARE c CURSOR FOR SELECT * FROM statements_t WHERE i > $1',
    params => '{20}') WHERE node = 1;
SELECT count(*) FROM pg_cursors WHERE name = 'c';
SELECT t.* FROM pg_temp.try($$SELECT count(*)
    FROM clock_explain('DECLARE c CURSOR FOR SELECT * FROM statements_t FOR UPDATE')$$) AS t;

-- statements that create tables: refused, or executed and rolled back
CREATE FUNCTION statements_made() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
    RETURN (SELECT count(*) FROM pg_class WHERE relname LIKE 'statements_new%'); END $$;
SELECT q, t.* FROM unnest(ARRAY['CREATE TABLE statements_new AS SELECT * FROM statements_t',
    'SELECT * INTO statements_new FROM statements_t',
    'CREATE MATERIALIZED VIEW statements_new AS SELECT * FROM statements_t',
        'CREATE TABLE statements_new AS EXECUTE q(5, NULL)']) AS q,
    pg_temp.try(format('SELECT count(*) FROM clock_explain(%L)', q)) AS t;
SELECT q, rows FROM unnest(ARRAY['CREATE TABLE statements_new AS SELECT * FROM statements_t',
    'SELECT * INTO statements_new FROM statements_t',
        'CREATE MATERIALIZED VIEW statements_new AS SELECT * FROM statements_t',
    'CREATE UNLOGGED TABLE statements_new (a) AS EXECUTE q(5, $$x$$)',
        'CREATE TEMP TABLE statements_new AS VALUES (1), (2)',
    'CREATE TABLE IF NOT EXISTS statements_new AS TABLE statements_t']) AS q,
    clock_explain(q, allow_writes => true) WHERE node = 1;
RESET client_min_messages;
-- the table exists during the execution
CREATE FUNCTION statements_seen() RETURNS int LANGUAGE plpgsql
    AS $$ BEGIN RAISE NOTICE '% made', statements_made(); RETURN 1; END $$;
SELECT rows FROM clock_explain('CREATE TABLE statements_new AS SELECT statements_seen()',
    allow_writes => true, method => 'full') WHERE node = 1;
SELECT count(*) FROM clock_query_overhead('CREATE TABLE statements_new AS SELECT $1::int', :seconds,
    allow_writes => true, params => '{1}');
SELECT statements_made();
SELECT q, t.* FROM unnest(ARRAY['CREATE TABLE statements_t AS SELECT 1',
    'CREATE TABLE IF NOT EXISTS statements_t AS SELECT 1',
    'CREATE TABLE statements_new AS SELECT 1 AS x WITH NO DATA',
        'CREATE TABLE statements_new AS EXECUTE w', 'CREATE TABLE nowhere.x AS SELECT 1',
    'CREATE MATERIALIZED VIEW statements_new AS SELECT $1::int']) AS q,
    pg_temp.try(format('SELECT count(*) FROM clock_explain(%L, allow_writes => true, params => %L)',
        q, CASE WHEN q ~ '\$1' THEN '{1}' END)) AS t;
BEGIN READ ONLY;
SELECT count(*) FROM clock_explain('CREATE TABLE statements_new AS SELECT 1', allow_writes => true);
ROLLBACK;

-- a materialized view's query is executed, and the view does not change
CREATE MATERIALIZED VIEW statements_view AS SELECT i, current_user AS u FROM statements_t;
DELETE FROM statements_t WHERE i > 90;
SELECT rows FROM clock_explain('REFRESH MATERIALIZED VIEW statements_view') WHERE node = 1;
SELECT DISTINCT node_calls FROM clock_query_overhead('REFRESH MATERIALIZED VIEW statements_view',
    :seconds);
SELECT count(*) FROM statements_view;
SELECT q, t.* FROM unnest(ARRAY['REFRESH MATERIALIZED VIEW statements_view WITH NO DATA',
    'REFRESH MATERIALIZED VIEW CONCURRENTLY statements_view',
    'REFRESH MATERIALIZED VIEW statements_t', 'REFRESH MATERIALIZED VIEW nothing']) AS q,
        pg_temp.try(format('SELECT count(*) FROM clock_explain(%L)', q)) AS t;
SELECT t.* FROM pg_temp.try($$SELECT count(*)
    FROM clock_explain('REFRESH MATERIALIZED VIEW statements_view', params => '{}')$$) AS t;
SELECT t.* FROM pg_temp.try($$SELECT count(*) FROM clock_explain('EXPLAIN EXECUTE q(1, NULL)')$$)
    AS t;

-- several runs: their number, and unsupported arguments
CREATE FUNCTION statements_run() RETURNS int LANGUAGE plpgsql
    AS $$ BEGIN RAISE NOTICE 'run'; RETURN 1; END $$;
SELECT rows, loops, plain_ms > 0 AS plain FROM clock_explain('SELECT statements_run()',
    runs => 3, verify => true);
SELECT substring(l, 'runs 2') FROM clock_explain_text('EXECUTE q($$7$$, NULL)', runs => 2) AS l
    WHERE l ~ '^Time: ';
SELECT clock_explain_json('SELECT 1', runs => 2) -> 0 -> 'Clock' ->> 'Runs';
SELECT a, t.* FROM unnest(ARRAY['runs => 0', 'runs => 1001', 'runs => NULL',
    'runs => 2, method => $$full$$',
    'runs => 1, method => $$full$$']) AS a,
        pg_temp.try(format('SELECT count(*) FROM clock_explain($q$SELECT 1$q$, %s)', a)) AS t;
SELECT t.* FROM
    pg_temp.try($$SELECT count(*)
                  FROM clock_explain('SELECT 1 / (i - 50) FROM statements_t', runs => 3)$$) AS t;

-- a rule that replaces the statement by a utility statement, which has no plan
CREATE TABLE statements_rule (i int);
CREATE RULE statements_notify AS ON UPDATE TO statements_rule DO INSTEAD NOTIFY statements;
SELECT t.* FROM pg_temp.try($$SELECT count(*) FROM clock_explain('UPDATE statements_rule SET i = 1',
    allow_writes => true)$$) AS t;
SELECT t.* FROM
    pg_temp.try($$SELECT count(*)
                  FROM clock_query_overhead('UPDATE statements_rule SET i = 1', 0.1, true)$$) AS t;
-- arguments that deallocate the statement, or replace it
CREATE FUNCTION statements_do(statement text) RETURNS int LANGUAGE plpgsql
    AS $$ BEGIN EXECUTE statement; RETURN 1; END $$;
PREPARE gone(int, int) AS SELECT $1 + $2;
SELECT t.* FROM pg_temp.try($$SELECT count(*)
    FROM clock_explain('EXECUTE gone(statements_do($q$DEALLOCATE gone$q$), 2)')$$) AS t;
PREPARE other(int, int) AS SELECT $1 + $2;
SELECT t.* FROM pg_temp.try($$SELECT count(*)
    FROM clock_explain('EXECUTE other(statements_do($q$DEALLOCATE other; PREPARE other(text) AS '
    'SELECT $1$q$), 2)')$$) AS t;
-- writes of arguments and input functions are undone, too
PREPARE ins(int) AS INSERT INTO statements_rule VALUES ($1);
SELECT rows FROM
    clock_explain('EXECUTE ins(statements_do($q$INSERT INTO statements_rule VALUES (7)$q$))',
    allow_writes => true) WHERE node = 1;
CREATE FUNCTION statements_checked(i int) RETURNS boolean LANGUAGE plpgsql
    AS $$ BEGIN INSERT INTO statements_rule VALUES (i); RETURN true; END $$;
CREATE DOMAIN statements_domain AS int CHECK (statements_checked(VALUE));
SELECT rows FROM clock_explain('SELECT $1::statements_domain', allow_writes => true,
    params => '{8}') WHERE node = 1;
SELECT count(*) AS written FROM statements_rule;
DROP DOMAIN statements_domain;
DROP FUNCTION statements_do, statements_checked;
DROP TABLE statements_rule;

DEALLOCATE ALL;
DROP MATERIALIZED VIEW statements_view;
DROP TABLE statements_t;
DROP FUNCTION statements_made, statements_seen, statements_run;
