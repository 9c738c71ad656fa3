-- Progress of the plans that are being executed.  While clocktiming.live is on, each process counts
-- and times the nodes of its plan, and publishes the counters every 50 ms in shared memory.

CREATE FUNCTION clock_running(
    OUT pid integer, OUT level integer,
    OUT node integer, OUT depth integer, OUT node_type text, OUT relation text, OUT index_name text,
    OUT state text, OUT innermost boolean, OUT loops bigint, OUT rows bigint, OUT calls bigint,
    OUT estimated_rows double precision,
    OUT total_ms double precision, OUT total_margin_ms double precision,
    OUT self_ms double precision, OUT self_margin_ms double precision,
    OUT share_percent double precision,
    OUT startup_cost double precision, OUT total_cost double precision, OUT width integer,
    OUT progress_percent double precision, OUT remaining_ms double precision, OUT reason text,
    OUT elapsed_ms double precision, OUT workers integer,
    OUT started_at timestamptz, OUT since timestamptz, OUT as_of timestamptz,
    OUT dbid oid, OUT userid oid, OUT queryid bigint
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 100
AS 'MODULE_PATHNAME', 'clock_running';
COMMENT ON FUNCTION clock_running() IS
    'lists the nodes of running plans, as the view clock_running shows them';

CREATE VIEW clock_running AS
    SELECT s.pid, s.level, s.node, pg_catalog.repeat('  ', s.depth) || s.node_type AS node_type,
           s.relation, s.state, s.rows,
           s.estimated_rows * greatest(s.loops, 1)::double precision AS estimated_rows,
           s.self_ms, s.share_percent, s.progress_percent, s.remaining_ms, s.reason, s.elapsed_ms,
           s.innermost,
           s.node = pg_catalog.first_value(s.node) OVER (
               PARTITION BY s.pid, s.level
               ORDER BY s.state = 'running' AND s.node_type !~ 'Gather' DESC NULLS LAST,
                        s.self_ms DESC NULLS LAST, s.innermost DESC) AS busiest,
           s.depth, s.index_name, s.loops, s.calls, s.total_ms, s.total_margin_ms,
           s.self_margin_ms, s.workers,
           a.wait_event_type, a.wait_event, s.started_at, s.since, s.as_of, d.datname AS dbname,
           pg_catalog.pg_get_userbyid(s.userid) AS username, s.queryid, s.dbid, s.userid
    FROM clock_running() s LEFT JOIN pg_catalog.pg_database d ON d.oid = s.dbid
        LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = s.pid
    ORDER BY s.started_at, s.pid, s.level, s.node;
COMMENT ON VIEW clock_running IS
    'nodes of the plans that are being executed in the cluster, with counters and times so far, '
    'while clocktiming.live is on';
GRANT SELECT ON TABLE clock_running TO PUBLIC;
COMMENT ON COLUMN clock_running.pid IS
    'process that executes the plan: in a parallel plan, the leader. The counters include those '
    'of its workers';
COMMENT ON COLUMN clock_running.level IS
    'nesting level: 0 for a statement of the client, 1 for a statement of a function that it '
    'calls, and so on';
COMMENT ON COLUMN clock_running.node IS
    'number of the node in the plan, from 1, in the order of EXPLAIN; null if the plan has more '
    'than 256 nodes: it then has a single row, without data of nodes';
COMMENT ON COLUMN clock_running.node_type IS
    'type of the node, as EXPLAIN calls it, indented by its depth';
COMMENT ON COLUMN clock_running.state IS
    'not started, or the state of the node''s latest loop: running, finished (all its rows have '
    'been returned) or rescanning (ended by a rescan, the next loop has not begun); null if '
    'unknown';
COMMENT ON COLUMN clock_running.rows IS
    'rows that the node has returned since counting began (column since), in all loops and '
    'processes; null if it was executed only before that time';
COMMENT ON COLUMN clock_running.estimated_rows IS
    'planner''s estimate of the rows of all loops that have begun, to compare with rows';
COMMENT ON COLUMN clock_running.self_ms IS
    'estimated time of the node itself so far, without its children, in all processes, in '
    'milliseconds; null if it was not timed';
COMMENT ON COLUMN clock_running.share_percent IS
    'self_ms in percent of the elapsed time since counting began, added up over the processes that '
    'have executed the node';
COMMENT ON COLUMN clock_running.progress_percent IS
    'estimated share of the execution''s time that has passed, in percent; null if unknown, see '
    'reason';
COMMENT ON COLUMN clock_running.remaining_ms IS
    'estimated time until the end of the execution, in milliseconds; null if unknown, see reason';
COMMENT ON COLUMN clock_running.reason IS
    'reason why progress_percent and remaining_ms are unknown; null if they are known';
COMMENT ON COLUMN clock_running.elapsed_ms IS 'time since started_at, in milliseconds';
COMMENT ON COLUMN clock_running.innermost IS
    'true for the innermost node that was active when the counters were published';
COMMENT ON COLUMN clock_running.busiest IS
    'true for one node of each plan: the running node with the largest self_ms, except Gather and '
    'Gather Merge; if there is none, any node with the largest self_ms';
COMMENT ON COLUMN clock_running.loops IS 'number of loops that have begun, in all processes';
COMMENT ON COLUMN clock_running.calls IS
    'number of calls of the node, in all processes; null if they are not counted';
COMMENT ON COLUMN clock_running.total_ms IS
    'estimated time of the node and its children so far, in all processes, in milliseconds; null '
    'if it was not timed';
COMMENT ON COLUMN clock_running.workers IS
    'number of parallel workers that execute the plan and whose counters are included';
COMMENT ON COLUMN clock_running.wait_event_type IS
    'type of the event for which the process waits, as in pg_stat_activity; null if it does not '
    'wait';
COMMENT ON COLUMN clock_running.wait_event IS
    'event for which the process waits, as in pg_stat_activity; null if it does not wait';
COMMENT ON COLUMN clock_running.started_at IS
    'start of the execution; in a function, the time when the execution was first noticed';
COMMENT ON COLUMN clock_running.since IS
    'time when counting began: started_at if the execution was expected to be long, else some time '
    'after it';
COMMENT ON COLUMN clock_running.as_of IS
    'time when the process published the counters: it does this every 50 ms, but not during a long '
    'call of a single node';
COMMENT ON COLUMN clock_running.dbname IS 'name of the database';
COMMENT ON COLUMN clock_running.username IS 'name of the user of the session';
COMMENT ON COLUMN clock_running.queryid IS
    'query identifier, that of pg_stat_activity; 0 if the server computes none';
COMMENT ON COLUMN clock_running.userid IS 'OID of the user of the session';

CREATE FUNCTION clock_running_text(pid integer, level integer DEFAULT 0) RETURNS text
LANGUAGE sql VOLATILE PARALLEL RESTRICTED
BEGIN ATOMIC
    SELECT pg_catalog.string_agg(
        CASE WHEN s.depth = 0 THEN '' ELSE pg_catalog.repeat('      ', s.depth - 1) || '  ->  ' END
        || s.node_type
        || CASE WHEN s.index_name IS NULL THEN ''
                WHEN s.relation IS NULL THEN ' on ' || pg_catalog.quote_ident(s.index_name)
                ELSE ' using ' || pg_catalog.quote_ident(s.index_name) END
        || coalesce(' on ' || pg_catalog.quote_ident(s.relation), '')
        || pg_catalog.format('  (cost=%s..%s rows=%s width=%s)', s.startup_cost::numeric(100, 2),
                             s.total_cost::numeric(100, 2), s.estimated_rows, s.width)
        || CASE WHEN s.loops IS NULL THEN ''
                WHEN s.loops = 0 THEN ' (never executed)'
                WHEN s.total_ms IS NULL
                THEN pg_catalog.format(' (actual rows=%s loops=%s)',
                                       pg_catalog.round(s.rows::numeric / s.loops::numeric),
                                       s.loops)
                ELSE pg_catalog.format(' (actual time=0.000..%s rows=%s loops=%s)',
                                       (s.total_ms / s.loops::double precision)::numeric(100, 3),
                                       pg_catalog.round(s.rows::numeric / s.loops::numeric),
                                       s.loops)
           END
        || E'\n' || pg_catalog.repeat('      ', s.depth)
        || '  State: ' || coalesce(s.state, 'unknown')
        || CASE WHEN s.innermost THEN ', innermost' ELSE '' END,
        E'\n' ORDER BY s.node)
    FROM (SELECT r.*, max(r.as_of) OVER () AS latest FROM clock_running() r
          WHERE r.pid = clock_running_text.pid AND r.level = clock_running_text.level) s
    WHERE s.as_of = s.latest AND s.node IS NOT NULL;
END;
COMMENT ON FUNCTION clock_running_text(integer, integer) IS
    'returns the plan that a process is executing, in the text format of EXPLAIN ANALYZE, with '
    'rows, loops, time and state of each node so far; null if clock_running does not show the '
    'process';
