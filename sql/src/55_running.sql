-- Progress of the plans that are being executed.  While clocktiming.live is on, each process counts
-- the rows of its plan's nodes, a sampler estimates their times, and the process publishes both
-- every 50 ms in shared memory.

CREATE FUNCTION clock_running(
    OUT pid integer, OUT level integer,
    OUT node integer, OUT depth integer, OUT node_type text, OUT relation text, OUT index_name text,
    OUT state text, OUT innermost boolean, OUT loops bigint, OUT rows bigint, OUT calls bigint,
    OUT estimated_rows double precision,
    OUT total_ms double precision, OUT total_margin_ms double precision,
    OUT self_ms double precision, OUT self_margin_ms double precision,
    OUT share_percent double precision, OUT cpu_ms double precision, OUT wait_ms double precision,
    OUT waits text, OUT cpu_wait_ms double precision, OUT now text, OUT now_processes integer,
    OUT startup_cost double precision, OUT total_cost double precision, OUT width integer,
    OUT progress_percent double precision, OUT remaining_ms double precision,
    OUT remaining_low_ms double precision, OUT remaining_high_ms double precision, OUT reason text,
    OUT elapsed_ms double precision, OUT workers integer,
    OUT started_at timestamptz, OUT since timestamptz, OUT as_of timestamptz,
    OUT suspended_at timestamptz,
    OUT dbid oid, OUT userid oid, OUT queryid bigint
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 100
AS 'MODULE_PATHNAME', 'clock_running';
COMMENT ON FUNCTION clock_running() IS
    'lists the nodes of running plans, as the view clock_running shows them, and those of the '
    'reader''s own session';

CREATE VIEW clock_running AS
    SELECT s.pid, s.level, s.node, pg_catalog.repeat('  ', s.depth) || s.node_type AS node_type,
           s.relation, s.state, s.rows,
           s.estimated_rows * greatest(s.loops, 1)::double precision AS estimated_rows,
           s.self_ms,
           CASE WHEN s.node_type !~ 'Gather'
                THEN pg_catalog.round(
                         (100.0::double precision * s.share_percent
                          / nullif(sum(s.share_percent) FILTER (WHERE s.node_type !~ 'Gather')
                                       OVER plan, 0.0::double precision))::numeric,
                         2)::double precision END AS share_percent,
           s.now, s.waits,
           s.progress_percent, s.remaining_ms, s.remaining_low_ms, s.remaining_high_ms, s.reason,
           s.elapsed_ms,
           s.innermost,
           s.node = pg_catalog.first_value(s.node) OVER (
               PARTITION BY s.pid, s.level
               ORDER BY s.state IN ('running', 'suspended') AND s.node_type !~ 'Gather'
                            DESC NULLS LAST,
                        s.node_type !~ 'Gather' DESC, s.share_percent DESC NULLS LAST,
                        s.innermost DESC) AS busiest,
           s.depth, s.index_name, s.loops, s.calls, s.total_ms, s.total_margin_ms,
           s.self_margin_ms, s.cpu_ms, s.wait_ms, s.cpu_wait_ms, s.now_processes, s.workers,
           a.wait_event_type, a.wait_event, s.started_at, s.since, s.as_of, s.suspended_at,
           d.datname AS dbname, pg_catalog.pg_get_userbyid(s.userid) AS username, s.queryid,
           s.dbid, s.userid
    FROM clock_running() s LEFT JOIN pg_catalog.pg_database d ON d.oid = s.dbid
        LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = s.pid
    WHERE s.pid <> pg_catalog.pg_backend_pid()
    WINDOW plan AS (PARTITION BY s.pid, s.level, s.started_at)
    ORDER BY s.started_at, s.pid, s.level, s.node;
COMMENT ON VIEW clock_running IS
    'nodes of the plans that are being executed in the cluster by other sessions, with counters '
    'and times so far, while clocktiming.live is on';
GRANT SELECT ON TABLE clock_running TO PUBLIC;
COMMENT ON COLUMN clock_running.pid IS
    'process that executes the plan, whose workers'' counters are included';
COMMENT ON COLUMN clock_running.level IS
    'nesting level: 0 for a statement of the client, 1 for a statement of a function that it '
    'calls, and so on';
COMMENT ON COLUMN clock_running.node IS
    'number of the node in the plan, from 1, in the order of EXPLAIN; null in the single row of a '
    'plan with more than 256 nodes';
COMMENT ON COLUMN clock_running.node_type IS
    'type of the node, as EXPLAIN calls it, indented by its depth';
COMMENT ON COLUMN clock_running.state IS
    'not started, or the state of the node''s latest loop: running, finished (all its rows have '
    'been returned), rescanning (ended, the next loop has not begun) or suspended; null if the '
    'node was executed only before counting began and may have ended then';
COMMENT ON COLUMN clock_running.rows IS
    'rows that the node has returned since counting began, in all loops and processes; null if it '
    'was executed only before';
COMMENT ON COLUMN clock_running.estimated_rows IS
    'planner''s estimate of the rows of all loops that have begun';
COMMENT ON COLUMN clock_running.self_ms IS
    'estimated time of the node itself so far, without its children, in all processes, in '
    'milliseconds';
COMMENT ON COLUMN clock_running.share_percent IS
    'self_ms per process, in percent of the sum over all nodes; null for Gather and Gather Merge, '
    'which are not part of the sum';
COMMENT ON COLUMN clock_running.now IS
    'event for which most of the processes that execute the node wait, or CPU: they use a CPU or '
    'wait for one; null if no process executes the node';
COMMENT ON COLUMN clock_running.waits IS
    'wait events of the node so far of 1 percent of self_ms or more, at most four, the longest '
    'first';
COMMENT ON COLUMN clock_running.progress_percent IS
    'estimated share of the execution''s time that has passed, in percent';
COMMENT ON COLUMN clock_running.remaining_ms IS
    'estimated time until the end of the execution, in milliseconds';
COMMENT ON COLUMN clock_running.remaining_low_ms IS
    'beginning of a range that contains the remaining time in about nine of ten cases, in '
    'milliseconds';
COMMENT ON COLUMN clock_running.remaining_high_ms IS 'end of this range, in milliseconds';
COMMENT ON COLUMN clock_running.reason IS
    'why progress_percent and remaining_ms are unknown: too early, began late, recursive query or '
    'too many nodes';
COMMENT ON COLUMN clock_running.elapsed_ms IS
    'time since started_at, in milliseconds, without that in which the execution was suspended';
COMMENT ON COLUMN clock_running.innermost IS
    'true for the innermost node that was active when the counters were published';
COMMENT ON COLUMN clock_running.busiest IS
    'true for one node of each plan: that with the largest share_percent, of the running nodes if '
    'there are any';
COMMENT ON COLUMN clock_running.loops IS 'number of loops that have begun, in all processes';
COMMENT ON COLUMN clock_running.calls IS
    'number of calls of the node, in all processes, computed from rows and loops';
COMMENT ON COLUMN clock_running.total_ms IS
    'estimated time of the node and its children so far, in all processes, in milliseconds';
COMMENT ON COLUMN clock_running.cpu_ms IS 'part of self_ms on the CPU, in milliseconds';
COMMENT ON COLUMN clock_running.wait_ms IS 'part of self_ms in wait events, in milliseconds';
COMMENT ON COLUMN clock_running.cpu_wait_ms IS
    'time for which the node has waited for a CPU so far, in all processes, in milliseconds; not '
    'part of self_ms';
COMMENT ON COLUMN clock_running.now_processes IS 'number of processes in the state that now shows';
COMMENT ON COLUMN clock_running.workers IS 'number of parallel workers that execute the plan';
COMMENT ON COLUMN clock_running.wait_event_type IS
    'type of the event for which the process waits, as in pg_stat_activity';
COMMENT ON COLUMN clock_running.wait_event IS
    'event for which the process waits, as in pg_stat_activity';
COMMENT ON COLUMN clock_running.started_at IS
    'start of the execution; in a function, the time when the execution was first noticed';
COMMENT ON COLUMN clock_running.since IS
    'time when counting began: started_at if the execution was expected to be long, else later';
COMMENT ON COLUMN clock_running.as_of IS
    'time when the process published the counters, which it does every 50 ms';
COMMENT ON COLUMN clock_running.suspended_at IS
    'time when the execution was suspended: it has returned the requested rows of a cursor, and '
    'waits for the next request; null while it is at work';
COMMENT ON COLUMN clock_running.dbname IS 'name of the database';
COMMENT ON COLUMN clock_running.username IS
    'name of the user with whose rights the plan is executed, which need not be the user of the '
    'session';
COMMENT ON COLUMN clock_running.queryid IS
    'query identifier, that of pg_stat_activity; 0 if the server computes none';
COMMENT ON COLUMN clock_running.userid IS
    'OID of the user with whose rights the plan is executed';

CREATE FUNCTION internal_clock_ends_in(
    remaining_ms double precision, low_ms double precision, high_ms double precision
) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN ends.low >= 365.0::double precision AND unit.name = 'd'
                THEN 'more than a year'
                ELSE pg_catalog.format(CASE WHEN ends.estimate = 0.0::double precision
                                            THEN 'within %2$s %3$s'
                                            WHEN ends.low = 0.0::double precision
                                            THEN '%4$s %3$s (up to %2$s %3$s)'
                                            ELSE '%4$s %3$s (%1$s to %2$s %3$s)' END,
                                       ends.low::bigint, ends.high::bigint, unit.name,
                                       ends.estimate::bigint) END
    FROM (SELECT internal_clock_ends_in.low_ms / 1000.0::double precision AS low,
                 least(internal_clock_ends_in.high_ms / 1000.0::double precision,
                       31536000000.0::double precision) AS high) AS s,
        LATERAL (SELECT u.name, u.s
                 FROM (VALUES ('s', 1.0::double precision), ('min', 60.0), ('h', 3600.0),
                              ('d', 86400.0)) AS u (name, s)
                 WHERE s.high <= 120.0::double precision * u.s OR u.name = 'd'
                 ORDER BY u.s LIMIT 1) AS unit,
        LATERAL (SELECT CASE WHEN s.high <= 20.0::double precision * unit.s THEN unit.s
                             ELSE 5.0::double precision * unit.s END AS s) AS step,
        LATERAL (SELECT pg_catalog.floor(s.low / step.s) * step.s / unit.s AS low,
                        pg_catalog.round(least(internal_clock_ends_in.remaining_ms
                                               / 1000.0::double precision, s.high) / step.s)
                            * step.s / unit.s AS estimate,
                        greatest(pg_catalog.ceil(s.high / step.s), 1.0::double precision)
                            * step.s / unit.s AS high) AS ends;
END;
COMMENT ON FUNCTION internal_clock_ends_in(double precision, double precision, double precision) IS
    'internal: returns the remaining time and its range, all in ms, as text';

CREATE VIEW clock_activity AS
    -- Without cursors that were suspended before the statement began.
    WITH running AS MATERIALIZED (
        SELECT n.* FROM clock_running n
        WHERE n.suspended_at IS NULL
           OR n.suspended_at >= (SELECT s.query_start FROM pg_catalog.pg_stat_activity s
                                 WHERE s.pid = n.pid)),
    -- Sessions for which a statement waits.  Even idle ones may hold an advisory lock.
    blocking AS MATERIALIZED (
        SELECT DISTINCT b.pid
        FROM pg_catalog.pg_stat_activity w,
            pg_catalog.unnest(pg_catalog.pg_blocking_pids(w.pid)) b(pid)
        WHERE w.state = 'active' AND w.wait_event_type = 'Lock' AND w.wait_event <> 'extend')
    SELECT a.pid,
           pg_catalog.date_trunc('second', pg_catalog.clock_timestamp()
                                 - CASE a.state WHEN 'active' THEN a.query_start
                                                ELSE a.state_change END) AS elapsed,
           r.node, pg_catalog.round(r.share_percent::numeric, 1) AS share_percent,
           CASE WHEN r.is_whole AND NOT p.is_procedure
                THEN r.progress_percent END AS done_percent,
           CASE WHEN a.state <> 'active' THEN a.state
                WHEN a.wait_event_type = 'Lock' AND a.wait_event <> 'extend'
                -- a parallel query that holds the lock is listed several times
                THEN (SELECT CASE pg_catalog.count(b.blocker)
                                 WHEN 0 THEN 'waits for a lock'
                                 ELSE pg_catalog.concat(
                                     'blocked by ',
                                     coalesce(nullif(pg_catalog.min(b.blocker), 0)::text,
                                              'a prepared transaction'),
                                     CASE WHEN pg_catalog.count(DISTINCT b.blocker) > 1
                                          THEN ', ...' END) END
                      FROM pg_catalog.unnest(pg_catalog.pg_blocking_pids(a.pid)) b(blocker))
                WHEN p.is_procedure THEN 'unknown in a procedure'
                WHEN r.is_whole AND r.remaining_ms IS NOT NULL
                THEN internal_clock_ends_in(r.remaining_ms, r.remaining_low_ms,
                                            r.remaining_high_ms)
                WHEN r.level > 0 THEN 'unknown in a function'
                WHEN r.pid IS NOT NULL THEN r.reason
                WHEN (SELECT s.reset_val FROM pg_catalog.pg_settings s
                      WHERE s.name = 'clocktiming.live') = 'off' THEN 'clocktiming.live is off'
                WHEN pg_catalog.clock_timestamp() - a.query_start
                     < (SELECT s.reset_val::double precision + 500.0::double precision
                        FROM pg_catalog.pg_settings s
                        WHERE s.name = 'clocktiming.live_after') * interval '1 ms'
                THEN 'too early'
                ELSE 'no plan is shown' END AS ends_in,
           coalesce(c.now, a.wait_event_type || ':' || a.wait_event, 'CPU') AS now,
           pg_catalog.rtrim(pg_catalog."left"(pg_catalog.btrim(pg_catalog.regexp_replace(
               pg_catalog."left"(a.query, 1000), '[[:space:]]+', ' ', 'g')), 26)) AS query
    FROM pg_catalog.pg_stat_activity a
        -- A DO block or a procedure has no plan.  The estimates of the statements that it executes
        -- are not its own.
        CROSS JOIN LATERAL (
            SELECT a.query ~* E'^([[:space:]]|/[*].*[*]/|--[^\n]*\n)*(call|do)[^a-z0-9_]'
                AS is_procedure) p
        -- Shows the busiest node of the innermost statement.  If this is a Result node, which only
        -- computes an expression, prefers the busiest node of an outer statement.  Shows the
        -- progress of the client's statement.  Of several plans at the same level, prefers one that
        -- is not suspended.
        LEFT JOIN (SELECT DISTINCT ON (n.pid) n.pid, n.level, n.share_percent,
                          -- the first publication may have no times yet
                          CASE WHEN n.self_ms IS NOT NULL OR n.calls IS NULL
                               THEN nullif(pg_catalog.concat_ws(' on ',
                                               pg_catalog.ltrim(n.node_type), n.relation), '')
                                    || coalesce(j.relations, '')
                               END AS node,
                          -- false: the plan of the client's statement is not published
                          pg_catalog.first_value(n.level) OVER outermost = 0 AS is_whole,
                          pg_catalog.first_value(n.progress_percent) OVER outermost
                              AS progress_percent,
                          pg_catalog.first_value(n.remaining_ms) OVER outermost AS remaining_ms,
                          pg_catalog.first_value(n.remaining_low_ms) OVER outermost
                              AS remaining_low_ms,
                          pg_catalog.first_value(n.remaining_high_ms) OVER outermost
                              AS remaining_high_ms,
                          pg_catalog.first_value(n.reason) OVER outermost AS reason
                   FROM running n
                       -- Returns the first relation of a join's inner side, which is the second
                       -- child.  Returns no row if the join has subplans.
                       LEFT JOIN LATERAL (
                           SELECT pg_catalog.format(
                                      ' with %s%s', b.names[1],
                                      CASE WHEN pg_catalog.cardinality(b.names) > 1
                                           THEN ', ...' END) AS relations
                           FROM (SELECT pg_catalog.array_agg(c.relation ORDER BY c.node) AS names
                                 FROM (SELECT m.node, m.relation,
                                              max(m.node) FILTER (WHERE m.depth = n.depth + 1)
                                                  OVER () AS inner_node,
                                              count(*) FILTER (WHERE m.depth = n.depth + 1)
                                                  OVER () AS children
                                       FROM running m
                                       WHERE m.pid = n.pid AND m.level = n.level
                                         AND m.started_at = n.started_at AND m.node > n.node
                                         AND NOT EXISTS (
                                             SELECT FROM running o
                                             WHERE o.pid = n.pid AND o.level = n.level
                                               AND o.started_at = n.started_at
                                               AND o.depth <= n.depth
                                               AND o.node > n.node AND o.node <= m.node)) c
                                 WHERE c.children = 2 AND c.node >= c.inner_node
                                   AND c.relation IS NOT NULL) b
                           WHERE b.names IS NOT NULL) j ON n.node_type ~ '(Join|Nested Loop)$'
                   WHERE n.busiest IS NOT FALSE
                   WINDOW outermost AS (PARTITION BY n.pid
                                        ORDER BY n.level, n.suspended_at IS NOT NULL, n.as_of DESC)
                   ORDER BY n.pid, pg_catalog.ltrim(n.node_type) = 'Result', n.level DESC,
                            n.suspended_at IS NOT NULL, n.as_of DESC) r
            ON r.pid = a.pid AND a.state = 'active'
        -- Returns the state of most processes of the innermost statement, and the node.  A Gather,
        -- which waits for its workers, counts only if no other node is at work.  Like above, Result
        -- nodes come last.
        LEFT JOIN (SELECT DISTINCT ON (n.pid) n.pid,
                          pg_catalog.format('%s in %s', n.now,
                                            pg_catalog.concat_ws(
                                                ' on ', pg_catalog.ltrim(n.node_type),
                                                n.relation)) AS now
                   FROM running n
                   WHERE n.now IS NOT NULL AND n.suspended_at IS NULL
                   ORDER BY n.pid, pg_catalog.ltrim(n.node_type) = 'Result', n.level DESC,
                            n.as_of DESC, n.node_type ~ 'Gather', n.now_processes DESC,
                            n.innermost DESC, n.node) c
            ON c.pid = a.pid AND a.state = 'active'
    WHERE (a.state = 'active'
           OR a.state LIKE 'idle%' AND a.pid IN (SELECT i.pid FROM blocking i))
        AND a.backend_type = 'client backend' AND a.pid <> pg_catalog.pg_backend_pid()
        -- always true: calls clock_running() for its error or notice, although no other client may
        -- execute a statement
        AND (SELECT count(*) FROM running) IS NOT NULL
    ORDER BY a.query_start;
COMMENT ON VIEW clock_activity IS
    'running statements of other clients in the cluster: the busiest node, the share that is done, '
    'and the remaining time of each; and idle sessions that block them';
GRANT SELECT ON TABLE clock_activity TO PUBLIC;
COMMENT ON COLUMN clock_activity.pid IS
    'process that executes the statement: in a parallel plan, the leader';
COMMENT ON COLUMN clock_activity.elapsed IS
    'time since the statement began, or since an idle session became idle, in whole seconds';
COMMENT ON COLUMN clock_activity.node IS
    'node with the largest share_percent, of the running nodes if there are any, and its '
    'relation; for a join, the first relation of its inner side. In a function, the node of the '
    'innermost statement';
COMMENT ON COLUMN clock_activity.share_percent IS 'the node''s own time, as in clock_running';
COMMENT ON COLUMN clock_activity.done_percent IS
    'estimated share of the statement''s time that has passed, in percent; always null for a DO '
    'block, a procedure, or a function that executes statements';
COMMENT ON COLUMN clock_activity.ends_in IS
    'estimated time until the end of the statement, and in parentheses a range that contains it '
    'in about nine of ten cases; or the reason why it is unknown, such as blocked by 4711, a '
    'process that holds the lock or waits for it earlier; or idle or idle in transaction: the '
    'session executes nothing, and blocks others';
COMMENT ON COLUMN clock_activity.now IS
    'event for which the statement waits at present, or CPU, and the node at work, such as '
    'IO:DataFileRead in Seq Scan on orders. In a parallel plan, the state of most processes';
COMMENT ON COLUMN clock_activity.query IS
    'beginning of the statement, without line breaks; of an idle session, the latest one';

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
        || CASE WHEN s.innermost THEN ', innermost' ELSE '' END
        || coalesce('; now: ' || s.now, '') || coalesce('; waits so far: ' || s.waits, ''),
        E'\n' ORDER BY s.node)
    FROM (SELECT r.*, max(r.as_of) OVER () AS latest FROM clock_running() r
          WHERE r.pid = clock_running_text.pid AND r.level = clock_running_text.level) s
    WHERE s.as_of = s.latest AND s.node IS NOT NULL;
END;
COMMENT ON FUNCTION clock_running_text(integer, integer) IS
    'returns the plan that a process is executing, in the text format of EXPLAIN ANALYZE, with '
    'rows, loops, time and state of each node so far; null if clock_running does not show the '
    'process';
