-- Statistics of executed plans and of their nodes, kept in shared memory while clocktiming.track is
-- on.  Only members of pg_read_all_stats see the executions of other users.

CREATE FUNCTION clock_plan_stats(
    OUT dbid oid, OUT userid oid, OUT queryid bigint, OUT planid bigint,
    OUT executions bigint, OUT executions_margin double precision, OUT timed_executions bigint,
    OUT failed_executions bigint,
    OUT total_ms double precision, OUT total_margin_ms double precision,
    OUT mean_ms double precision, OUT mean_margin_ms double precision,
    OUT cpu_ms double precision, OUT wait_ms double precision, OUT waits text,
    OUT cpu_wait_ms double precision,
    OUT first_seen timestamptz, OUT last_seen timestamptz, OUT nodes integer, OUT plan text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL SAFE ROWS 1000
AS 'MODULE_PATHNAME', 'clock_plan_stats';
COMMENT ON FUNCTION clock_plan_stats() IS
    'lists the plans that have statistics, as the view clock_plan_stats shows them';

CREATE VIEW clock_plan_stats AS
    SELECT s.queryid, s.planid, s.executions, s.executions_margin, s.timed_executions,
           s.failed_executions,
           s.total_ms, s.total_margin_ms, s.mean_ms, s.mean_margin_ms,
           s.cpu_ms, s.wait_ms, s.waits, s.cpu_wait_ms, s.plan, s.nodes,
           s.first_seen, s.last_seen,
           d.datname AS dbname, pg_catalog.pg_get_userbyid(s.userid) AS username, s.dbid, s.userid
    FROM clock_plan_stats() s LEFT JOIN pg_catalog.pg_database d ON d.oid = s.dbid;
COMMENT ON VIEW clock_plan_stats IS
    'plans that were executed while clocktiming.track was on, a row for each plan of a query of a '
    'user in a database: number of the executions, and their time, estimated from all long '
    'executions and a random sample of the others';
GRANT SELECT ON TABLE clock_plan_stats TO PUBLIC;
COMMENT ON COLUMN clock_plan_stats.executions IS
    'number of executions, without the estimated number of those that failed';
COMMENT ON COLUMN clock_plan_stats.executions_margin IS
    'half of a 95 % confidence interval of failed_executions; 0 if none failed';
COMMENT ON COLUMN clock_plan_stats.timed_executions IS 'number of timed executions that succeeded';
COMMENT ON COLUMN clock_plan_stats.failed_executions IS
    'estimated number of executions that ended with an error, whose times are not included';
COMMENT ON COLUMN clock_plan_stats.total_ms IS
    'estimated time of all executions, without the cost of timing them, in milliseconds';
COMMENT ON COLUMN clock_plan_stats.total_margin_ms IS
    'half of a 95 % confidence interval of the time of all executions, in milliseconds; null if '
    'fewer than two of several short executions were timed';
COMMENT ON COLUMN clock_plan_stats.mean_ms IS
    'mean time of an execution, in milliseconds; null if none succeeded';
COMMENT ON COLUMN clock_plan_stats.mean_margin_ms IS
    'half of a 95 % confidence interval of the mean time, in milliseconds; null for fewer than '
    'two timed executions';
COMMENT ON COLUMN clock_plan_stats.cpu_ms IS
    'estimated time on the CPU in all executions and processes, in the nodes and outside, in '
    'milliseconds';
COMMENT ON COLUMN clock_plan_stats.wait_ms IS
    'estimated time in wait events in all executions and processes, in the nodes and outside, in '
    'milliseconds';
COMMENT ON COLUMN clock_plan_stats.waits IS
    'longest wait events of 1 % or more, each in percent of the sum of cpu_ms and wait_ms; null '
    'if there is none';
COMMENT ON COLUMN clock_plan_stats.cpu_wait_ms IS
    'estimated time in which the processes were ready to run, but had no CPU, in milliseconds';
COMMENT ON COLUMN clock_plan_stats.plan IS
    'plan as EXPLAIN shows it, without figures and conditions; null until an execution whose nodes '
    'were timed has succeeded';
COMMENT ON COLUMN clock_plan_stats.nodes IS
    'number of nodes of the plan, of which the first 200 have statistics';
COMMENT ON COLUMN clock_plan_stats.first_seen IS 'time of the first timed execution';
COMMENT ON COLUMN clock_plan_stats.last_seen IS 'time of the latest timed execution';

CREATE FUNCTION clock_node_stats(
    most integer DEFAULT NULL,
    OUT dbid oid, OUT userid oid, OUT queryid bigint, OUT planid bigint,
    OUT node integer, OUT depth integer, OUT node_type text, OUT relation text, OUT index_name text,
    OUT loops bigint, OUT estimated_rows double precision, OUT actual_rows double precision,
    OUT mean_rows_factor double precision, OUT worst_rows_factor double precision, OUT calls bigint,
    OUT total_ms double precision, OUT total_margin_ms double precision,
    OUT self_ms double precision, OUT self_margin_ms double precision,
    OUT share_percent double precision,
    OUT cpu_ms double precision, OUT cpu_margin_ms double precision,
    OUT wait_ms double precision, OUT wait_margin_ms double precision,
    OUT waits text, OUT cpu_wait_ms double precision
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL SAFE ROWS 5000
AS 'MODULE_PATHNAME', 'clock_node_stats';
COMMENT ON FUNCTION clock_node_stats(integer) IS
    'lists the plan nodes that have statistics, as the view clock_node_stats shows them; with an '
    'argument n, only the n rows with the longest self times; n above 1000 counts as 1000';

CREATE VIEW clock_node_stats AS
    SELECT s.queryid, s.planid, s.node, s.depth, s.node_type, s.relation, s.index_name,
           s.self_ms, s.self_margin_ms, s.share_percent, s.total_ms, s.total_margin_ms,
           s.cpu_ms, s.cpu_margin_ms, s.wait_ms, s.wait_margin_ms, s.waits, s.cpu_wait_ms,
           s.loops, s.estimated_rows, s.actual_rows, s.mean_rows_factor, s.worst_rows_factor,
           s.calls,
           d.datname AS dbname, pg_catalog.pg_get_userbyid(s.userid) AS username, s.dbid, s.userid
    FROM clock_node_stats(NULL::integer) s LEFT JOIN pg_catalog.pg_database d ON d.oid = s.dbid;
COMMENT ON VIEW clock_node_stats IS
    'nodes of the plans in clock_plan_stats, and the time outside of them: times and waits of all '
    'executions together, and errors of the planner''s estimates of rows';
GRANT SELECT ON TABLE clock_node_stats TO PUBLIC;
COMMENT ON COLUMN clock_node_stats.node IS
    'number of the node in the plan, from 1, in the order of EXPLAIN; 0, of the type Query, is '
    'the time outside of the nodes, with the sum of all self times as total_ms';
COMMENT ON COLUMN clock_node_stats.relation IS
    'relation that the node scans or modifies, by its name when the plan was first seen; null if '
    'none';
COMMENT ON COLUMN clock_node_stats.index_name IS
    'index that the node scans, by its name when the plan was first seen; null if none';
COMMENT ON COLUMN clock_node_stats.self_ms IS
    'estimated time of the node itself, without its children, in all executions and processes, in '
    'milliseconds';
COMMENT ON COLUMN clock_node_stats.share_percent IS
    'self_ms in percent of the sum over all rows of the plan, in the executions whose nodes were '
    'timed';
COMMENT ON COLUMN clock_node_stats.total_ms IS
    'estimated time of the node and its children in all executions and processes, in milliseconds';
COMMENT ON COLUMN clock_node_stats.cpu_ms IS
    'part of self_ms on the CPU, in milliseconds';
COMMENT ON COLUMN clock_node_stats.cpu_margin_ms IS
    'half of a 95 % confidence interval of the time on the CPU, in milliseconds';
COMMENT ON COLUMN clock_node_stats.wait_ms IS
    'part of self_ms in wait events, in milliseconds';
COMMENT ON COLUMN clock_node_stats.wait_margin_ms IS
    'half of a 95 % confidence interval of the time in wait events, in milliseconds';
COMMENT ON COLUMN clock_node_stats.waits IS
    'longest wait events of 1 % or more, each in percent of self_ms; null if there is none';
COMMENT ON COLUMN clock_node_stats.cpu_wait_ms IS
    'estimated time in which the node was ready to run, but its process had no CPU, in '
    'milliseconds; not part of self_ms';
COMMENT ON COLUMN clock_node_stats.loops IS
    'estimated number of loops in all executions';
COMMENT ON COLUMN clock_node_stats.estimated_rows IS
    'mean number of rows per loop that the planner estimated';
COMMENT ON COLUMN clock_node_stats.actual_rows IS 'mean number of rows per loop';
COMMENT ON COLUMN clock_node_stats.mean_rows_factor IS
    'factor, at least 1, by which the planner''s estimate of rows was too high or too low: '
    'geometric mean over the executions; numbers of rows below 1 count as 1';
COMMENT ON COLUMN clock_node_stats.worst_rows_factor IS
    'factor, at least 1, by which the planner''s estimate of rows was too high or too low in the '
    'worst execution';
COMMENT ON COLUMN clock_node_stats.calls IS
    'estimated number of calls of the node in all executions';
CREATE FUNCTION clock_stats_reset(
    userid  oid    DEFAULT 0,
    dbid    oid    DEFAULT 0,
    queryid bigint DEFAULT 0
) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_stats_reset';
COMMENT ON FUNCTION clock_stats_reset(oid, oid, bigint) IS
    'deletes the statistics of the plans of a user, a database and a query, where 0 means all; '
    'does nothing if an argument is null; does not delete the snapshots of '
    'clock_stats_snapshot()';
REVOKE ALL ON FUNCTION clock_stats_reset(oid, oid, bigint) FROM PUBLIC;

CREATE FUNCTION internal_clock_stats_period(
    min_percent double precision,
    OUT since timestamptz, OUT evicted bigint
) RETURNS record
LANGUAGE C VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'internal_clock_stats_period';
COMMENT ON FUNCTION internal_clock_stats_period(double precision) IS
    'internal: returns the time since which the statistics of plans have been collected, and '
    'the number of plans that were evicted since then; raises an error if min_percent, an argument '
    'of clock_time_spent(), is invalid';

-- Returns the texts that pg_stat_statements shows to the caller.  Returns no rows if it is not
-- installed in this database or not preloaded, or if the caller may not read it.
CREATE FUNCTION internal_clock_statements() RETURNS TABLE (dbid oid, queryid bigint, query text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1000 SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    statements text;
BEGIN
    -- Only the extension's own view: other users may have created relations of this name.
    SELECT format('%I.%I', n.nspname, c.relname) INTO statements
    FROM pg_extension e
        JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
            AND d.deptype = 'e' AND d.classid = 'pg_class'::regclass
        JOIN pg_class c ON c.oid = d.objid AND c.relname = 'pg_stat_statements'
        JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE e.extname = 'pg_stat_statements';
    IF statements IS NOT NULL THEN
        RETURN QUERY EXECUTE format(
            'SELECT s.dbid, s.queryid, min(s.query) FROM %s s WHERE s.queryid IS NOT NULL '
            'GROUP BY s.dbid, s.queryid', statements);
    END IF;
EXCEPTION WHEN out_of_memory THEN
    RAISE;
WHEN OTHERS THEN
    RETURN;
END
$body$;
COMMENT ON FUNCTION internal_clock_statements() IS
    'internal: returns the texts of statements that pg_stat_statements shows to the caller';

-- The rows of clock_node_stats are summed over users, plans, and nodes of the same type and
-- relation.  The texts of cells are broken into lines, so that the output of psql fits 100 columns:
-- 14 for the borders, 7 for percent, 7 for time_s, 20 for node, 24 for waits and 28 for query.
CREATE FUNCTION clock_time_spent(
    min_percent double precision DEFAULT 1,
    OUT percent numeric, OUT time_s numeric, OUT node text, OUT waits text, OUT query text
) RETURNS SETOF record
LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 20
BEGIN ATOMIC
    WITH nodes AS MATERIALIZED (
        SELECT s.dbid, s.queryid,
               pg_catalog.concat_ws(' on ', s.node_type, coalesce(s.relation, s.index_name))
                   AS node,
               s.self_ms, s.cpu_wait_ms, s.waits
        FROM clock_node_stats(NULL::integer) s
        WHERE s.self_ms IS NOT NULL
        UNION ALL
        -- plans of which no execution with timed nodes has succeeded
        SELECT p.dbid, p.queryid, 'not known', p.total_ms, 0::double precision, NULL::text
        FROM clock_plan_stats() p
        WHERE p.nodes = 0
    ), parts AS MATERIALIZED (
        SELECT n.dbid, n.queryid, n.node, p.what, sum(p.ms) AS ms
        FROM nodes n, LATERAL (
            SELECT 'all' AS what, n.self_ms + n.cpu_wait_ms AS ms
            UNION ALL
            SELECT 'waiting for a CPU', n.cpu_wait_ms
            UNION ALL
            SELECT w.m[1], n.self_ms * w.m[2]::double precision / 100::double precision
            FROM regexp_matches(n.waits, '([^ ,][^,]*) ([0-9]+) %', 'g') AS w(m)) p
        GROUP BY n.dbid, n.queryid, n.node, p.what
    ), total AS MATERIALIZED (
        SELECT coalesce(sum(p.ms), 0::double precision) AS ms FROM parts p WHERE p.what = 'all'
    ), spent AS MATERIALIZED (
        SELECT p.dbid, p.queryid, p.node, p.ms,
               100::double precision * p.ms / nullif(t.ms, 0::double precision) AS percent
        FROM parts p, total t
        WHERE p.what = 'all'
    ), listed AS MATERIALIZED (
        SELECT 2 AS place, s.dbid, s.queryid, s.node, s.ms, s.percent, 1::bigint AS n
        FROM spent s
        WHERE s.percent >= clock_time_spent.min_percent
        UNION ALL
        SELECT 1, NULL::oid, NULL::bigint, 'all nodes', t.ms,
               100::double precision * t.ms / nullif(t.ms, 0::double precision),
               (SELECT count(*) FROM (SELECT DISTINCT s.dbid, s.queryid FROM spent s) q)
        FROM total t
        UNION ALL
        SELECT 3, NULL::oid, NULL::bigint, 'others', sum(s.ms), sum(s.percent), count(*)
        FROM spent s
        WHERE (s.percent >= clock_time_spent.min_percent) IS NOT TRUE
        HAVING count(*) > 0::bigint
    ), waits AS MATERIALIZED (
        -- the three longest waits of the sum (place 1) and of each listed node (place 2)
        SELECT w.place, w.dbid, w.queryid, w.node,
               string_agg(internal_clock_lines(
                              pg_catalog.format('%s `%s %%`', w.what, w.percent), 24),
                          E'\n' ORDER BY w.rank) AS lines
        FROM (SELECT v.place, v.dbid, v.queryid, v.node, v.what,
                     round((100::double precision * v.ms
                            / nullif(v.of_ms, 0::double precision))::numeric) AS percent,
                     row_number() OVER (PARTITION BY v.place, v.dbid, v.queryid, v.node
                                        ORDER BY v.ms DESC, v.what) AS rank
              FROM (SELECT 1 AS place, NULL::oid AS dbid, NULL::bigint AS queryid,
                           'all nodes' AS node, p.what, sum(p.ms) AS ms, t.ms AS of_ms
                    FROM parts p, total t
                    WHERE p.what <> 'all'
                    GROUP BY p.what, t.ms
                    UNION ALL
                    SELECT 2, l.dbid, l.queryid, l.node, p.what, p.ms, l.ms
                    FROM listed l JOIN parts p ON p.dbid = l.dbid AND p.queryid = l.queryid
                                                  AND p.node = l.node
                    WHERE l.place = 2 AND p.what <> 'all') v) w
        WHERE w.rank <= 3::bigint AND w.percent >= 1::numeric
        GROUP BY w.place, w.dbid, w.queryid, w.node
    ), texts AS (
        SELECT t.dbid, t.queryid,
               string_to_array(internal_clock_lines(
                   "left"(regexp_replace(translate(t.query, '`', ''''), '[[:space:]]+', ' ', 'g'),
                          1000), 28), E'\n') AS lines
        FROM internal_clock_statements() t
        WHERE EXISTS (SELECT FROM listed l WHERE l.dbid = t.dbid AND l.queryid = t.queryid)
    )
    SELECT round(l.percent::numeric, 1), round(l.ms::numeric / 1000::numeric, 1),
           internal_clock_lines(l.node, 20),
           w.lines,
           CASE l.place
               WHEN 1 THEN pg_catalog.concat_ws(
                   E'\n', pg_catalog.concat(l.n, ' different statements since'),
                   to_char(i.since, 'YYYY-MM-DD HH24:MI TZ'),
                   nullif(i.evicted, 0::bigint)::text || ' plans evicted',
                   CASE WHEN NOT current_setting('clocktiming.track')::boolean
                        THEN 'clocktiming.track is off' END)
               WHEN 3 THEN pg_catalog.concat(l.n, ' nodes below ', min_percent, ' %')
               ELSE pg_catalog.concat_ws(
                   E'\n', 'in database ' || d.datname::text,
                   CASE WHEN pg_catalog.cardinality(t.lines) <= 3
                        THEN pg_catalog.array_to_string(t.lines, E'\n')
                        ELSE pg_catalog.concat_ws(E'\n', t.lines[1], t.lines[2],
                                                  'queryid ' || l.queryid::text) END) END
    FROM listed l
        CROSS JOIN internal_clock_stats_period(min_percent) i
        LEFT JOIN waits w ON w.place = l.place AND w.node = l.node
            AND (l.place = 1 OR w.dbid = l.dbid AND w.queryid = l.queryid)
        LEFT JOIN texts t ON t.dbid = l.dbid AND t.queryid = l.queryid
        LEFT JOIN pg_catalog.pg_database d ON d.oid = l.dbid AND d.datname <> current_database()
    ORDER BY l.place, l.percent DESC, l.node, l.queryid;
END;
COMMENT ON FUNCTION clock_time_spent(double precision) IS
    'shows where the time of all executions in the statistics of plans went, since these were '
    'reset: a row with the sum and the time of the reset, then the nodes of statements with at '
    'least min_percent (1) of the time, most expensive first, with the longest waits in percent of '
    'the row''s time, and the statement as pg_stat_statements has it, or its query identifier';
