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
    'half of a 95 % confidence interval of the number of executions that failed; 0 if none failed';
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
    'estimated time on the CPU in all executions and processes, in the nodes and outside of them, '
    'in milliseconds';
COMMENT ON COLUMN clock_plan_stats.wait_ms IS
    'estimated time in wait events in all executions and processes, in the nodes and outside of '
    'them, in milliseconds';
COMMENT ON COLUMN clock_plan_stats.waits IS
    'longest wait events, each in percent of the sum of cpu_ms and wait_ms; an event without a '
    'name is one of an extension whose name the restart of the server has made unknown; null if '
    'there is none of 1 % or more';
COMMENT ON COLUMN clock_plan_stats.cpu_wait_ms IS
    'estimated time in which the processes were ready to run, but had no CPU, in milliseconds';
COMMENT ON COLUMN clock_plan_stats.plan IS
    'plan as EXPLAIN shows it, without figures and conditions; null until an execution whose nodes '
    'were timed has succeeded';
COMMENT ON COLUMN clock_plan_stats.nodes IS
    'number of nodes of the plan, of which the first 200 have statistics; 0 until an execution '
    'whose nodes were timed has succeeded';
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
    'number of the node in the plan, from 1, in the order of EXPLAIN; 0, of the type Query, is the '
    'time outside of the nodes, such as that of triggers that fire at the end, with the sum of all '
    'self times as total_ms, and without depth, rows and calls';
COMMENT ON COLUMN clock_node_stats.relation IS
    'relation that the node scans or modifies, by its name when the plan was first seen; null if '
    'none';
COMMENT ON COLUMN clock_node_stats.index_name IS
    'index that the node scans, by its name when the plan was first seen; null if none';
COMMENT ON COLUMN clock_node_stats.self_ms IS
    'estimated time of the node itself, without its children, in all executions and processes, in '
    'milliseconds; null if the node was never timed';
COMMENT ON COLUMN clock_node_stats.share_percent IS
    'self time of the node in percent of the self times of all nodes and of the time outside of '
    'them, in the executions whose nodes were timed; the rows of a plan add up to 100 unless the '
    'plan has more than 200 nodes';
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
    'longest wait events, each in percent of self_ms; an event without a name is one of an '
    'extension whose name the restart of the server has made unknown; null if there is none of '
    '1 % or more';
COMMENT ON COLUMN clock_node_stats.cpu_wait_ms IS
    'estimated time in which the node was ready to run, but its process had no CPU, in '
    'milliseconds; not part of self_ms';
COMMENT ON COLUMN clock_node_stats.loops IS
    'estimated number of loops in all executions';
COMMENT ON COLUMN clock_node_stats.estimated_rows IS
    'mean number of rows per loop that the planner estimated';
COMMENT ON COLUMN clock_node_stats.actual_rows IS
    'mean number of rows per loop; null if there was no loop';
COMMENT ON COLUMN clock_node_stats.mean_rows_factor IS
    'factor, at least 1, by which the planner''s estimate of rows was too high or too low: the '
    'geometric mean over the executions; numbers of rows below 1 count as 1; null if there was no '
    'loop';
COMMENT ON COLUMN clock_node_stats.worst_rows_factor IS
    'factor, at least 1, by which the planner''s estimate of rows was too high or too low in the '
    'worst execution; null if there was no loop';
COMMENT ON COLUMN clock_node_stats.calls IS
    'estimated number of calls of the node in all executions; null if the node was never timed';
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
