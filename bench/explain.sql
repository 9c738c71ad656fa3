-- Tables and queries for bench/explain and other benchmarks.  The plans of the queries have all
-- types of nodes.  read_queries() in bench/Bench.pm reads this file.
--
-- The statements before the first query create the tables, in the schema clocktiming_bench.  All
-- tables together fit into shared_buffers of 128 MB.  Each table is smaller than a quarter of
-- shared_buffers, because a sequential scan of a larger table could start at any block, and would
-- not keep the table in memory.
--
-- Each query begins with lines of these forms.  Lists may be continued by further such lines:
--   -- query: NAME
--   -- shape: NODE, ...    nodes that the plan must have.  NODE is [NUMBER ]TYPE[{CONDITION, ...}]:
--                          minimum number of such nodes, node type as in EXPLAIN's JSON, and
--                          conditions on members of the node's JSON
--   -- set: SETTING, ...   settings of the session
--   -- writes              the query writes; it is rolled back, and its tables are vacuumed
--   -- parallel            the query uses parallel workers; results are reported separately
--   -- outside             some of the query's time is not spent in a node, for example in triggers
--                          that fire after the last row
-- A line "-- group: NAME" begins a group of queries.

CREATE TABLE fact (id integer, dim integer, day integer, val integer, note text)
	WITH (autovacuum_enabled = off);
INSERT INTO fact
	SELECT i, abs(hashint4(i)) % 26000, i / 650, abs(hashint4(i + 1000000)) % 1000000, 'note '
		|| i % 97
	FROM generate_series(1, 260000) AS i;
ALTER TABLE fact ADD PRIMARY KEY (id);
CREATE INDEX fact_dim ON fact (dim);
CREATE INDEX fact_day ON fact (day);
CREATE INDEX fact_val ON fact (val);

CREATE TABLE dim (id integer, grp integer, name text)
	WITH (autovacuum_enabled = off);
INSERT INTO dim SELECT i, abs(hashint4(i)) % 100, 'dimension ' || i FROM generate_series(0, 25999)
	AS i;
ALTER TABLE dim ADD PRIMARY KEY (id);
CREATE INDEX dim_grp ON dim (grp);

CREATE TABLE small (id integer, x integer)
	WITH (autovacuum_enabled = off);
INSERT INTO small SELECT i, abs(hashint4(i)) % 100 FROM generate_series(1, 1000) AS i;
ALTER TABLE small ADD PRIMARY KEY (id);

CREATE TABLE narrow (id integer)
	WITH (autovacuum_enabled = off);
INSERT INTO narrow SELECT generate_series(1, 600000);

CREATE TABLE part (id integer, k integer, val integer)
	PARTITION BY RANGE (k);
SELECT format('CREATE TABLE part_%s PARTITION OF part FOR VALUES '
	'FROM (%s) TO (%s) WITH (autovacuum_enabled = off)',
		i, i * 1000, (i + 1) * 1000)
	FROM generate_series(0, 7) AS i \gexec
INSERT INTO part SELECT i, abs(hashint4(i)) % 8000, i % 1000 FROM generate_series(1, 320000) AS i;
CREATE INDEX ON part (id);

CREATE TABLE tree (id integer, parent integer)
	WITH (autovacuum_enabled = off);
INSERT INTO tree SELECT i, i / 3 FROM generate_series(1, 60000) AS i;
ALTER TABLE tree ADD PRIMARY KEY (id);
CREATE INDEX tree_parent ON tree (parent);

CREATE TABLE written (id integer, val integer, changed integer)
	WITH (autovacuum_enabled = off, fillfactor = 40);
INSERT INTO written SELECT i, i % 1000, 0 FROM generate_series(1, 10000) AS i;
CREATE FUNCTION before_update() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN NEW.changed := OLD.changed + 1; RETURN NEW; END';
CREATE TRIGGER before_update BEFORE UPDATE ON written
	FOR EACH ROW EXECUTE FUNCTION before_update();

CREATE TABLE target (id integer, val integer)
	WITH (autovacuum_enabled = off);
CREATE FUNCTION after_insert() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN RETURN NULL; END';
CREATE TRIGGER after_insert AFTER INSERT ON target
	FOR EACH ROW EXECUTE FUNCTION after_insert();

CREATE FUNCTION squares(n integer) RETURNS SETOF integer LANGUAGE plpgsql ROWS 4 AS
	'BEGIN FOR i IN 1..n LOOP RETURN NEXT i * i; END LOOP; END';

-- psql's variable "directory" is a directory to which the server may write.
\set file :directory '/clocktiming-foreign.csv'
COPY (SELECT id, val, note FROM fact WHERE id <= 100000) TO :'file' (FORMAT csv);
CREATE EXTENSION file_fdw;
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE foreign_file (id integer, val integer, note text)
	SERVER files OPTIONS (filename :'file', format 'csv');

CREATE TABLE part_too (id integer, k integer, val integer)
	PARTITION BY RANGE (k);
SELECT format('CREATE TABLE part_too_%s PARTITION OF part_too FOR VALUES '
	'FROM (%s) TO (%s) WITH (autovacuum_enabled = off)',
		i, i * 1000, (i + 1) * 1000)
	FROM generate_series(0, 7) AS i \gexec
INSERT INTO part_too SELECT i, i, i % 1000 FROM generate_series(0, 7999) AS i;

CREATE TABLE looked_up (id integer, k integer)
	WITH (autovacuum_enabled = off);
INSERT INTO looked_up SELECT i, abs(hashint4(i)) % 4000 FROM generate_series(1, 60000) AS i;

CREATE TABLE keyed (id integer PRIMARY KEY, val integer)
	WITH (autovacuum_enabled = off, fillfactor = 40);
INSERT INTO keyed SELECT i, i % 1000 FROM generate_series(1, 10000) AS i;

CREATE TABLE remote (id integer, val integer)
	WITH (autovacuum_enabled = off, fillfactor = 40);
INSERT INTO remote SELECT i, i % 1000 FROM generate_series(1, 20000) AS i;
CREATE FUNCTION half_read(n integer) RETURNS integer LANGUAGE plpgsql AS
	'DECLARE c CURSOR FOR SELECT id FROM dim WHERE id > n; x integer;
	 BEGIN OPEN c; FOR i IN 1..20 LOOP FETCH c INTO x; END LOOP; CLOSE c; RETURN x; END';

-- Foreign tables that postgres_fdw reads from this server
CREATE EXTENSION postgres_fdw;
SELECT format('CREATE SERVER loopback_%s FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %L, '
	'port %L, dbname %L, async_capable %L)',
		i, split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'),
			current_database(), CASE WHEN i > 0 THEN 'on' ELSE 'off' END)
	FROM generate_series(0, 2) AS i \gexec
SELECT format('CREATE USER MAPPING FOR CURRENT_USER SERVER loopback_%s OPTIONS (user %L)', i,
	current_user)
	FROM generate_series(0, 2) AS i \gexec
CREATE FOREIGN TABLE there (id integer, val integer)
	SERVER loopback_0 OPTIONS (schema_name 'clocktiming_bench', table_name 'remote',
		batch_size '100');
CREATE FOREIGN TABLE fact_there (id integer, val integer)
	SERVER loopback_0 OPTIONS (schema_name 'clocktiming_bench', table_name 'fact');
CREATE FOREIGN TABLE fact_async (id integer, val integer)
	SERVER loopback_1 OPTIONS (schema_name 'clocktiming_bench', table_name 'fact');
CREATE FOREIGN TABLE narrow_async (id integer)
	SERVER loopback_2 OPTIONS (schema_name 'clocktiming_bench', table_name 'narrow');

VACUUM (FREEZE, ANALYZE) fact, dim, small, narrow, part, part_too, tree, written, target, looked_up,
	keyed, remote;
ANALYZE foreign_file, there, fact_there, fact_async, narrow_async;
CHECKPOINT;

-- Scans
-- group: scans

-- query: seq scan
-- shape: Aggregate{Strategy=Plain}, Seq Scan
SELECT count(*) FROM narrow

-- query: seq scan, filter
-- shape: Aggregate, Seq Scan{Rows Removed by Filter>100000}
SELECT sum(val) FROM fact WHERE val % 7 < 3 AND note LIKE 'note %5%'

-- query: costly filter
-- shape: Seq Scan
SELECT count(*) FROM dim WHERE md5(name) ~ '(7a|b3).*c[0-9]$'

-- query: generate_series
-- shape: Aggregate, Function Scan
SELECT count(*) FROM generate_series(1, 500000)

-- query: ProjectSet
-- shape: Aggregate, ProjectSet, Result
SELECT count(*) FROM (SELECT generate_series(1, 600000)) AS s

-- query: index scan
-- shape: Index Scan
-- set: enable_seqscan = off, enable_bitmapscan = off
SELECT sum(val) FROM fact WHERE id BETWEEN 1000 AND 250000

-- query: index scan, random heap
-- shape: Index Scan
-- set: enable_seqscan = off, enable_bitmapscan = off
SELECT sum(id) FROM fact WHERE val BETWEEN 1000 AND 250000

-- query: index only scan
-- shape: Index Only Scan{Heap Fetches=0}
-- set: enable_seqscan = off, enable_bitmapscan = off
SELECT count(*) FROM fact WHERE id > 1000

-- query: bitmap scan, BitmapAnd
-- shape: Bitmap Heap Scan, BitmapAnd, 2 Bitmap Index Scan
-- set: enable_seqscan = off, enable_indexscan = off, cpu_tuple_cost = 0.1
SELECT sum(id) FROM fact WHERE val BETWEEN 1000 AND 400000 AND dim BETWEEN 1000 AND 13000

-- query: bitmap scan, BitmapOr
-- shape: Bitmap Heap Scan, BitmapOr, 3 Bitmap Index Scan
-- set: enable_seqscan = off, enable_indexscan = off
SELECT sum(id) FROM fact WHERE val BETWEEN 1000 AND 200000 OR dim BETWEEN 1000 AND 6000
	OR day BETWEEN 100 AND 110

-- query: sample scan
-- shape: Sample Scan
SELECT sum(val) FROM fact TABLESAMPLE bernoulli (60) REPEATABLE (7)

-- query: foreign scan
-- shape: Foreign Scan
SELECT sum(val) FROM foreign_file

-- query: function scan, many loops
-- shape: Nested Loop, Function Scan{Actual Loops>10000}
SELECT sum(s) FROM dim, squares(dim.id % 4) AS s

-- query: Values
-- shape: Nested Loop, Values Scan{Actual Loops>10000}
SELECT count(*) FROM generate_series(1, 50000) AS i, LATERAL (VALUES (i), (i + 1), (7), (8))
	AS v (x) WHERE x > 5

-- query: rows handed out
-- shape: Seq Scan{Actual Rows=260000}
SELECT id, dim * 2, val + 1, note FROM fact

-- Joins
-- group: joins

-- query: hash join
-- shape: Aggregate, Hash Join, Hash{Hash Batches=1}
-- set: enable_mergejoin = off, enable_nestloop = off
SELECT sum(fact.val) FROM fact JOIN dim ON dim.id = fact.dim WHERE dim.grp < 50

-- query: hash join, batches
-- shape: Hash Join, Hash{Hash Batches>1}
-- set: enable_mergejoin = off, enable_nestloop = off, work_mem = '512kB'
SELECT sum(fact.val), max(dim.name) FROM fact JOIN dim ON dim.id = fact.dim

-- query: hash full join
-- shape: Hash Join{Join Type=Full}
-- set: enable_mergejoin = off, enable_nestloop = off
SELECT count(*) FROM dim FULL JOIN fact ON fact.id = dim.id

-- query: hash anti join
-- shape: Hash Join
-- set: enable_mergejoin = off, enable_nestloop = off
SELECT count(*) FROM fact WHERE NOT EXISTS (SELECT FROM dim WHERE dim.id = fact.dim
	AND dim.grp < 50)

-- query: merge join
-- shape: Merge Join, 2 Index Scan
-- set: enable_hashjoin = off, enable_nestloop = off, enable_sort = off, enable_seqscan = off
-- set: enable_bitmapscan = off
SELECT sum(fact.val + small.x) FROM fact JOIN small ON small.id = fact.day

-- query: merge join of sorts
-- shape: Merge Join, 2 Sort
-- set: enable_hashjoin = off, enable_nestloop = off, enable_indexscan = off
-- set: enable_indexonlyscan = off, enable_bitmapscan = off
SELECT sum(fact.val) FROM fact JOIN dim ON dim.id = fact.dim WHERE fact.id < 80000

-- query: nested loop, index scan
-- shape: Nested Loop, Index Scan{Actual Loops>10000}
-- set: enable_hashjoin = off, enable_mergejoin = off, enable_memoize = off, enable_bitmapscan = off
SELECT sum(fact.val) FROM dim JOIN fact ON fact.dim = dim.id WHERE dim.grp < 40

-- query: nested loop, lookups
-- shape: Nested Loop, Index Only Scan{Actual Loops>50000}
-- set: enable_hashjoin = off, enable_mergejoin = off, enable_memoize = off, enable_bitmapscan = off
-- set: enable_material = off
SELECT count(*) FROM fact JOIN dim ON dim.id = fact.dim WHERE fact.id < 60000

-- query: nested loop, Memoize
-- shape: Nested Loop, Memoize{Cache Hits>100000}
-- set: enable_hashjoin = off, enable_mergejoin = off, enable_material = off
SELECT sum(small.x) FROM fact JOIN small ON small.id = fact.day WHERE fact.id < 150000

-- query: nested loop, Materialize
-- shape: Nested Loop, Materialize{Actual Loops=1000}
-- set: enable_hashjoin = off, enable_mergejoin = off
SELECT count(*) FROM small AS a, small AS b WHERE a.id + b.id > 1000 AND a.x <> b.x

-- query: nested loop of aggregates
-- shape: Nested Loop, Aggregate{Actual Loops>3000}
SELECT sum(s.n) FROM small, LATERAL (SELECT count(*) AS n FROM fact WHERE fact.day = small.id % 400
	AND val > small.x) AS s
	WHERE small.id <= 300
	UNION ALL
SELECT sum(s.n) FROM dim, LATERAL (SELECT count(*) AS n FROM fact WHERE fact.dim = dim.id) AS s
	WHERE dim.grp < 15

-- Sorting, grouping, windows
-- group: sorts

-- query: sort
-- shape: Aggregate, Sort{Sort Space Type=Memory}
-- set: enable_indexscan = off, enable_indexonlyscan = off
SELECT max(id), max(dim), max(note) FROM (SELECT id, dim, note, val FROM fact ORDER BY val OFFSET 0)
	AS s

-- query: sort of text
-- shape: Sort{Sort Space Type=Memory}, Seq Scan
SELECT name FROM dim ORDER BY md5(name), name

-- query: sort, spilling
-- shape: Sort{Sort Space Type=Disk}
-- set: work_mem = '1MB', enable_indexscan = off, enable_indexonlyscan = off
SELECT count(*) FROM (SELECT id, val FROM fact ORDER BY val OFFSET 0) AS s

-- query: incremental sort
-- shape: Incremental Sort
-- set: enable_sort = on, enable_seqscan = off, enable_bitmapscan = off
SELECT sum(id) FROM (SELECT * FROM fact ORDER BY day, val OFFSET 0) AS s

-- query: HashAggregate
-- shape: 2 Aggregate, Aggregate{Strategy=Hashed}
SELECT count(*) FROM (SELECT dim, count(*), sum(val) FROM fact GROUP BY dim) AS s

-- query: HashAggregate, spilling
-- shape: Aggregate{Strategy=Hashed, HashAgg Batches>1}
-- set: work_mem = '512kB', enable_sort = off, enable_indexscan = off, enable_indexonlyscan = off
-- set: enable_bitmapscan = off
SELECT count(*) FROM (SELECT dim, count(*), sum(val) FROM fact GROUP BY dim OFFSET 0) AS s

-- query: GroupAggregate
-- shape: Aggregate{Strategy=Sorted}, Index Scan
-- set: enable_hashagg = off, enable_seqscan = off, enable_bitmapscan = off
SELECT day, count(*), sum(val), max(note) FROM fact GROUP BY day

-- query: WindowAgg
-- shape: WindowAgg, Index Scan
-- set: enable_seqscan = off, enable_bitmapscan = off
SELECT id, val, sum(val) OVER (PARTITION BY day ORDER BY id) FROM fact WHERE day < 120

-- query: WindowAgg over sort
-- shape: WindowAgg, Sort
-- set: enable_indexscan = off, enable_indexonlyscan = off, enable_incremental_sort = off
SELECT max(r) FROM (SELECT row_number() OVER (PARTITION BY dim ORDER BY val) AS r FROM fact
	WHERE id < 80000) AS s

-- query: DISTINCT
-- shape: Unique, Sort
-- set: enable_hashagg = off, enable_indexscan = off, enable_indexonlyscan = off
-- set: enable_bitmapscan = off
SELECT DISTINCT dim FROM fact WHERE id < 120000

-- Subqueries
-- group: subqueries

-- query: SubPlan
-- shape: Aggregate{Parent Relationship=SubPlan, Actual Loops>5000}
SELECT count(*) FROM dim WHERE id < 6000 AND (SELECT max(val) FROM fact WHERE fact.dim = dim.id) >
	900000

-- query: SubPlan, hashed
-- shape: Seq Scan{Actual Rows>10000}, Seq Scan{Parent Relationship=SubPlan}
SELECT count(*) FROM fact WHERE dim NOT IN (SELECT id FROM dim WHERE grp < 50)

-- query: InitPlan
-- shape: Aggregate{Parent Relationship=InitPlan}, 2 Seq Scan
SELECT count(*) FROM fact WHERE val > (SELECT avg(id) FROM fact)

-- query: CTE scanned twice
-- shape: 2 CTE Scan, Hash Join
-- set: enable_mergejoin = off, enable_nestloop = off
WITH c AS MATERIALIZED (SELECT id, dim, val FROM fact WHERE id < 60000)
SELECT count(*) FROM c AS a JOIN c AS b ON b.id = a.dim

-- query: recursive CTE
-- shape: Recursive Union, WorkTable Scan{Actual Loops>5}
WITH RECURSIVE r AS (
	SELECT id, 0 AS level FROM tree WHERE id = 1
	UNION ALL
	SELECT tree.id, level + 1 FROM r JOIN tree ON tree.parent = r.id)
SELECT count(*), max(level) FROM r

-- query: recursive CTE, counter
-- shape: Recursive Union, WorkTable Scan{Actual Loops>50000}
WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 100000)
SELECT sum(i) FROM r

-- Append, set operations, LIMIT
-- group: appends

-- query: Append
-- shape: Append, 8 Seq Scan
SELECT count(*) FROM part WHERE val > 100

-- query: Append, pruned
-- shape: Append, Seq Scan{Actual Loops=0}, Seq Scan{Actual Loops=1}
SELECT count(*) FROM part WHERE val > 10 AND k > (SELECT max(x) * 15 FROM small)

-- query: Append, pruned by loop
-- shape: Nested Loop, Append{Actual Loops>100}, Index Scan
-- set: enable_hashjoin = off, enable_mergejoin = off, enable_memoize = off, enable_bitmapscan = off
SELECT sum(part.val) FROM small JOIN part ON part.k = small.x * 70
	AND part.id BETWEEN small.id * 200 AND small.id * 200 + 6000
	WHERE small.id <= 500

-- query: Merge Append
-- shape: Merge Append, 8 Index Scan
-- set: enable_sort = off, enable_seqscan = off, enable_bitmapscan = off
SELECT sum(val) FROM (SELECT * FROM part ORDER BY id OFFSET 0) AS s

-- query: UNION
-- shape: Append, Aggregate{Strategy=Hashed}
-- set: enable_sort = off, enable_indexscan = off, enable_indexonlyscan = off
-- set: enable_bitmapscan = off
SELECT dim FROM fact WHERE id < 80000 UNION SELECT id + 13000 FROM dim

-- query: SetOp
-- shape: SetOp
-- set: enable_sort = off
SELECT dim FROM fact WHERE id < 80000 EXCEPT ALL SELECT id FROM dim

-- query: LIMIT
-- shape: Limit, Nested Loop
-- set: enable_hashjoin = off, enable_mergejoin = off, enable_bitmapscan = off, enable_memoize = off
SELECT fact.id, dim.name FROM fact JOIN dim ON dim.id = fact.dim WHERE fact.val % 3 = 0 LIMIT 25000

-- query: LIMIT of a sort
-- shape: Limit, Sort{Sort Method=top-N heapsort}
SELECT * FROM fact ORDER BY note, val LIMIT 100

-- query: several joins
-- shape: 2 Hash Join, 2 Aggregate
-- set: enable_nestloop = off
SELECT count(*), max(n) FROM (
	SELECT dim.grp, small.x, count(*) AS n, sum(fact.val) FROM fact
	JOIN dim ON dim.id = fact.dim JOIN small ON small.id = fact.day
	WHERE fact.val > 200000 GROUP BY dim.grp, small.x) AS s

-- Modifying data
-- group: writes

-- query: UPDATE with trigger
-- shape: ModifyTable{Operation=Update}
-- writes
UPDATE written SET val = val + 1 WHERE id <= 8000

-- query: INSERT with trigger
-- shape: ModifyTable{Operation=Insert}
-- writes
-- outside
INSERT INTO target SELECT id, val FROM fact WHERE id <= 30000

-- query: DELETE
-- shape: ModifyTable{Operation=Delete}
-- writes
DELETE FROM tree

-- query: CTE that inserts
-- shape: CTE Scan, ModifyTable{Operation=Insert}
-- writes
-- outside
WITH i AS (INSERT INTO target SELECT id, val FROM fact WHERE id <= 20000 RETURNING id, val)
SELECT sum(val) FROM i

-- Less common plans
-- group: rarer

-- query: TID range
-- shape: Tid Range Scan
SELECT sum(val) FROM fact WHERE ctid > '(100,0)' AND ctid < '(1500,0)'

-- query: sample scan of blocks
-- shape: Sample Scan
SELECT sum(val) FROM fact TABLESAMPLE system (60) REPEATABLE (7)

-- query: functions side by side
-- shape: Function Scan{Rows Removed by Filter>50000}
SELECT count(*) FROM ROWS FROM (generate_series(1, 150000), generate_series(1, 100000)) AS r (a, b)
	WHERE a % 3 = 0

-- query: cursors in a function
-- shape: Seq Scan
SELECT half_read(id) FROM small

-- query: Memoize, evictions
-- shape: Nested Loop, Memoize{Cache Evictions>10000}
-- set: enable_hashjoin = off, enable_mergejoin = off, enable_material = off
-- set: enable_bitmapscan = off, work_mem = '256kB', hash_mem_multiplier = 1
SELECT sum(dim.grp) FROM looked_up JOIN dim ON dim.id = looked_up.k

-- query: hash join, more batches
-- shape: Hash Join, Hash{Original Hash Batches=1, Hash Batches>1}
-- set: enable_mergejoin = off, enable_nestloop = off, work_mem = '256kB', enable_indexscan = off
-- set: enable_bitmapscan = off
SELECT sum(fact.val) FROM fact JOIN (SELECT * FROM dim WHERE id + 1 > 0 AND id + 2 > 0
	AND id + 3 > 0 AND id + 4 > 0 AND id + 5 > 0) AS d
	ON d.id = fact.dim

-- query: merge join, mark and restore
-- shape: Merge Join, Sort{Actual Rows>100000}
-- set: enable_hashjoin = off, enable_nestloop = off, enable_material = off, enable_indexscan = off
-- set: enable_indexonlyscan = off, enable_bitmapscan = off
SELECT count(*) FROM dim JOIN small ON small.x = dim.grp WHERE dim.id < 20000

-- query: partitionwise join
-- shape: Append, 8 Hash Join
-- set: enable_partitionwise_join = on, enable_mergejoin = off, enable_nestloop = off
SELECT sum(part.val) FROM part JOIN part_too USING (k) WHERE part.val > 100

-- query: partitionwise aggregate
-- shape: Append, 8 Aggregate{Strategy=Hashed}
-- set: enable_partitionwise_aggregate = on, enable_sort = off
SELECT k, sum(val) FROM part WHERE val > 100 GROUP BY k

-- query: Append, pruned as it starts
-- shape: Append{Subplans Removed>0}
SELECT sum(val) FROM part WHERE k < to_char(now(), '5000')::integer AND val > 100

-- query: foreign scan, postgres_fdw
-- shape: Foreign Scan
SELECT sum(val + random()) FROM fact_there WHERE id < 60000

-- query: foreign scan, filter
-- shape: Foreign Scan{Rows Removed by Filter>10000}
SELECT count(*) FROM fact_there WHERE id < 60000 AND val + (random() * 0)::integer > 500000

-- query: foreign scans, asynchronous
-- shape: Append, 2 Foreign Scan{Async Capable=1}
SELECT count(id) FROM (SELECT id FROM fact_async UNION ALL SELECT id FROM narrow_async) AS s
	WHERE id < 60000

-- query: MERGE
-- shape: ModifyTable{Operation=Merge, Tuples Inserted>1000, Tuples Updated>1000}
-- writes
MERGE INTO keyed USING (SELECT id, val FROM fact WHERE id BETWEEN 5000 AND 15000)
	AS f ON f.id = keyed.id
	WHEN MATCHED THEN UPDATE SET val = f.val WHEN NOT MATCHED THEN INSERT VALUES (f.id, f.val)

-- query: ON CONFLICT
-- shape: ModifyTable{Operation=Insert, Conflicting Tuples>1000, Tuples Inserted>1000}
-- writes
INSERT INTO keyed SELECT id, val FROM fact WHERE id BETWEEN 5000
	AND 15000 ON CONFLICT (id) DO UPDATE SET val = excluded.val

-- query: FOR UPDATE
-- shape: LockRows, Seq Scan
-- writes
SELECT * FROM keyed WHERE val % 2 = 0 FOR UPDATE

-- query: CTE that deletes
-- shape: CTE Scan, ModifyTable{Operation=Delete}
-- writes
WITH d AS (DELETE FROM keyed WHERE id > 1000 RETURNING *) SELECT sum(val) FROM d

-- query: foreign UPDATE, direct
-- shape: Foreign Scan{Operation=Update}
-- writes
UPDATE there SET val = val + 1

-- query: foreign DELETE, direct
-- shape: Foreign Scan{Operation=Delete}
-- writes
DELETE FROM there WHERE id > 1000

-- query: foreign INSERT, batches
-- shape: ModifyTable{Operation=Insert}, Seq Scan
-- writes
INSERT INTO there SELECT id, grp FROM dim

-- Parallel
-- group: parallel

-- query: parallel aggregate
-- shape: Gather{Workers Launched>0}, Aggregate{Partial Mode=Partial}, Seq Scan{Parallel Aware=1}
-- parallel
SELECT sum(val) FROM fact WHERE val % 7 < 3 AND note LIKE 'note %5%'

-- query: parallel hash join
-- shape: Gather{Workers Launched>0}, Hash Join{Parallel Aware=1}, Hash{Parallel Aware=1}
-- set: enable_mergejoin = off, enable_nestloop = off
-- parallel
SELECT sum(fact.val) FROM fact JOIN fact AS other ON other.id = fact.dim WHERE other.val > 100

-- query: Gather Merge
-- shape: Gather Merge{Workers Launched>0}, Sort
-- set: enable_indexscan = off
-- parallel
SELECT count(*) FROM (SELECT id, val FROM fact ORDER BY val OFFSET 0) AS s

-- query: parallel scan, filter
-- shape: Gather{Workers Launched=2}, Seq Scan{Parallel Aware=1, Rows Removed by Filter>10000}
-- parallel
SELECT id FROM fact WHERE val % 10 = 0

-- query: parallel scan, one worker
-- shape: Gather{Workers Launched=1}, Seq Scan{Parallel Aware=1, Rows Removed by Filter>10000}
-- set: max_parallel_workers_per_gather = 1
-- parallel
SELECT id FROM fact WHERE val % 10 = 0

-- query: parallel scan, no leader
-- shape: Gather{Workers Launched=2}, Seq Scan{Parallel Aware=1, Actual Loops=2}
-- set: parallel_leader_participation = off
-- parallel
SELECT id FROM fact WHERE val % 10 = 0

-- query: workers that do not start
-- shape: Gather{Workers Planned=2, Workers Launched=0}
-- shape: Seq Scan{Parallel Aware=1, Rows Removed by Filter>10000}
-- set: max_parallel_workers = 0
-- parallel
SELECT id FROM fact WHERE val % 10 = 0

-- query: Gather Merge, filter
-- shape: Gather Merge{Workers Launched=2}, Sort, Seq Scan{Rows Removed by Filter>10000}
-- set: enable_indexscan = off
-- parallel
SELECT id, val FROM fact WHERE val % 3 = 0 ORDER BY note, id

-- query: Gather Merge of an index scan
-- shape: Gather Merge{Workers Launched=2}, Index Scan{Parallel Aware=1}
-- set: enable_sort = off, enable_seqscan = off, enable_bitmapscan = off
-- parallel
SELECT id, val FROM fact WHERE val % 3 = 0 ORDER BY id

-- query: LIMIT above Gather
-- shape: Limit, Gather{Workers Launched=2}
-- parallel
SELECT id FROM fact WHERE val % 10 = 0 LIMIT 20000

-- query: finalized groups
-- shape: Aggregate{Partial Mode=Finalize}, Gather Merge{Workers Launched=2}
-- shape: Aggregate{Partial Mode=Partial}
-- set: enable_indexscan = off, enable_bitmapscan = off
-- parallel
SELECT day, sum(val), max(note) FROM fact WHERE val > 300000 GROUP BY day

-- query: parallel hash join, filters
-- shape: Gather{Workers Launched=2}, Hash Join{Parallel Aware=1}
-- shape: 2 Seq Scan{Rows Removed by Filter>1000}
-- set: enable_mergejoin = off, enable_nestloop = off, enable_indexscan = off
-- set: enable_bitmapscan = off
-- parallel
SELECT sum(fact.val) FROM fact JOIN fact AS other ON other.id = fact.dim WHERE other.val > 100000
	AND fact.val < 800000

-- query: parallel hash join, batches
-- shape: Gather{Workers Launched=2}, Hash{Parallel Aware=1, Hash Batches>1}
-- set: enable_mergejoin = off, enable_nestloop = off, work_mem = '512kB'
-- parallel
SELECT sum(fact.val) FROM fact JOIN fact AS other ON other.id = fact.dim WHERE other.val > 100

-- query: hash join in each process
-- shape: Gather{Workers Launched=2}, Hash Join{Parallel Aware=0}
-- shape: Hash{Parallel Aware=0, Actual Loops=3}
-- set: enable_mergejoin = off, enable_nestloop = off, enable_parallel_hash = off
-- parallel
SELECT sum(fact.val) FROM fact JOIN small ON small.id = fact.day WHERE fact.val > 200000

-- query: parallel nested loop
-- shape: Gather{Workers Launched=2}, Nested Loop, Index Scan{Actual Loops>5000}
-- set: enable_hashjoin = off, enable_mergejoin = off, enable_memoize = off, enable_bitmapscan = off
-- parallel
SELECT sum(fact.val) FROM dim JOIN fact ON fact.dim = dim.id WHERE dim.grp < 40
	AND fact.val > 300000

-- query: parallel bitmap scan
-- shape: Gather{Workers Launched=2}, Bitmap Heap Scan{Parallel Aware=1}
-- set: enable_seqscan = off, enable_indexscan = off
-- parallel
SELECT sum(id) FROM fact WHERE val BETWEEN 1000 AND 400000 AND dim % 3 = 0

-- query: parallel append
-- shape: Gather{Workers Launched=2}, Append{Parallel Aware=1}, 8 Seq Scan
-- parallel
SELECT id FROM part WHERE val < 200

-- query: parallel partitionwise join
-- shape: Gather{Workers Launched=2}, Append{Parallel Aware=1}, 8 Hash Join
-- set: enable_partitionwise_join = on, enable_mergejoin = off, enable_nestloop = off
-- parallel
SELECT sum(part.val) FROM part JOIN part_too USING (k) WHERE part.val > 100

-- query: parallel partitionwise aggregate
-- shape: Gather{Workers Launched=2}, Append{Parallel Aware=1}, 8 Aggregate{Strategy=Hashed}
-- set: enable_partitionwise_aggregate = on, enable_sort = off
-- parallel
SELECT k, sum(val) FROM part WHERE val > 100 GROUP BY k

-- query: rescans of Gather
-- shape: Nested Loop, Gather{Workers Launched=2, Actual Loops=5}
-- shape: Seq Scan{Rows Removed by Filter>10000}
-- set: enable_material = off, enable_hashjoin = off, enable_mergejoin = off
-- parallel
SELECT count(*) FROM (VALUES (1), (2), (3), (4), (5)) AS v (x) LEFT JOIN (SELECT id FROM fact
	WHERE val % 50 = 0 OFFSET 0) AS f ON f.id > v.x
