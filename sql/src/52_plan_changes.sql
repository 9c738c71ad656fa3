-- Changes of execution times: clock_stats_snapshot() stores the statistics of plans, and
-- clock_node_changes() compares the current statistics with a stored snapshot.

-- Rows of internal_clock_node_sums(), with the time of the snapshot.  The table is unlogged,
-- because a crash also discards the statistics in shared memory, with which snapshots are
-- compared.
CREATE UNLOGGED TABLE clock_node_snapshots (
    taken_at   timestamptz        NOT NULL,
    dbid       oid                NOT NULL,
    userid     oid                NOT NULL,
    queryid    bigint             NOT NULL,
    planid     bigint             NOT NULL,
    node       integer            NOT NULL,
    depth      integer            NOT NULL,
    node_type  text               NOT NULL,
    relation   text,
    index_name text,
    first_seen timestamptz        NOT NULL,
    total_sums double precision[] NOT NULL,
    self_sums  double precision[] NOT NULL,
    PRIMARY KEY (taken_at, dbid, userid, queryid, planid, node),
    CHECK (pg_catalog.cardinality(total_sums) = 8 AND pg_catalog.cardinality(self_sums) = 8)
);
COMMENT ON TABLE clock_node_snapshots IS
    'snapshots of the statistics of plans and nodes: clock_stats_snapshot() stores them, and '
    'clock_node_changes() compares the current statistics with them; empty after a crash, neither '
    'dumped nor replicated';
GRANT SELECT ON TABLE clock_node_snapshots TO pg_monitor;
COMMENT ON COLUMN clock_node_snapshots.taken_at IS 'time of the snapshot';
COMMENT ON COLUMN clock_node_snapshots.queryid IS 'query identifier, that of pg_stat_statements';
COMMENT ON COLUMN clock_node_snapshots.node IS
    'number of the node in the plan, from 1; 0 is the whole plan';
COMMENT ON COLUMN clock_node_snapshots.first_seen IS
    'time of the first execution that the sums include; two snapshots of a plan have different '
    'times here if its statistics were reset or evicted in between';
COMMENT ON COLUMN clock_node_snapshots.total_sums IS
    'weighted sums from which mean and variance of the time of the node and its descendants are '
    'computed; times are in nanoseconds';
COMMENT ON COLUMN clock_node_snapshots.self_sums IS
    'weighted sums from which mean and variance of the time of the node itself are computed; '
    'times are in nanoseconds';

CREATE FUNCTION clock_stats_snapshot(
    keep interval DEFAULT '30 days'
) RETURNS timestamptz
LANGUAGE SQL VOLATILE PARALLEL UNSAFE SECURITY DEFINER
BEGIN ATOMIC
    DELETE FROM clock_node_snapshots WHERE taken_at < clock_timestamp() - keep;
    WITH t AS MATERIALIZED (
        SELECT clock_timestamp() AS now
    ), i AS (
        INSERT INTO clock_node_snapshots
            SELECT t.now, s.dbid, s.userid, s.queryid, s.planid, s.node, s.depth, s.node_type,
                   s.relation, s.index_name,
                   s.first_seen, s.total_sums, s.self_sums
            FROM t, internal_clock_node_sums() s
            RETURNING taken_at
    )
    SELECT max(i.taken_at) FROM i;
END;
COMMENT ON FUNCTION clock_stats_snapshot(interval) IS
    'stores a snapshot of the statistics of all plans and nodes, and returns its time, or null if '
    'there are no plans; deletes snapshots older than the argument, none if it is null';
\only_for pg_monitor FUNCTION clock_stats_snapshot(interval)

-- Returns two kinds of changes: nodes whose mean self time differs significantly from that in the
-- snapshot, and queries whose executions now spend most of their time in another plan ("other
-- plan").
--
-- One test is made for each plan and node.  With many tests, some p-values are small by chance.
-- Therefore the p-values are adjusted by the procedure of Benjamini and Hochberg (Journal of the
-- Royal Statistical Society B 57, 1995): each is multiplied by the number of p-values and divided
-- by its rank, and is at most the adjusted p-value of the next rank.
CREATE FUNCTION clock_node_changes(
    since      timestamptz DEFAULT NULL,
    confidence numeric     DEFAULT 95
) RETURNS TABLE (
    change text, queryid bigint, planid bigint, node integer, depth integer, node_type text,
    relation text,
    before_ms double precision, after_ms double precision, difference_ms double precision,
    difference_margin_ms double precision,
    p_value double precision, before_timed bigint, after_timed bigint, before_planid bigint,
    index_name text, dbid oid, userid oid, snapshot timestamptz
)
LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
    SELECT internal_clock_check_changes(clock_node_changes.confidence,
                               (SELECT max(s.taken_at) FROM clock_node_snapshots s
                                WHERE s.taken_at <= coalesce(since, 'infinity')));
    WITH was AS MATERIALIZED (
        SELECT s.* FROM clock_node_snapshots s
        WHERE s.taken_at = (SELECT max(l.taken_at) FROM clock_node_snapshots l
                            WHERE l.taken_at <= coalesce(since, 'infinity'))
    ), compared AS MATERIALIZED (
        SELECT i.dbid, i.userid, i.queryid, i.planid, i.node, i.depth, i.node_type, i.relation,
               i.index_name, w.taken_at, c.*
        FROM internal_clock_node_sums() i
        LEFT JOIN was w ON w.dbid = i.dbid AND w.userid = i.userid
                           AND w.queryid = i.queryid AND w.planid = i.planid
                           AND w.node = i.node AND w.node_type = i.node_type,
             LATERAL internal_clock_compare_sums(
                 coalesce(w.self_sums, '{0,0,0,0,0,0,0,0}'), i.self_sums,
                 coalesce(w.first_seen = i.first_seen, false),
                 (confidence / 100::numeric)::double precision) c
    ), ranked AS (
        SELECT c.*,
               c.p_value * (count(*) OVER ())::double precision
               / (count(*) OVER (ORDER BY c.p_value))::double precision AS scaled
        FROM compared c WHERE c.p_value IS NOT NULL
    ), adjusted AS (
        SELECT r.*,
               least(1::double precision, min(r.scaled) OVER (ORDER BY r.p_value DESC)) AS adjusted
        FROM ranked r
    ), mostly_before AS (
        -- For each query, the plan with the longest total time in the snapshot.  Reads the snapshot
        -- and not "compared", which lacks plans that have been evicted since then.
        SELECT DISTINCT ON (w.dbid, w.userid, w.queryid) w.dbid, w.userid, w.queryid, w.planid,
            w.taken_at, c.after_ms AS mean_ms, c.after_timed AS timed
        FROM was w,
            LATERAL internal_clock_compare_sums('{0,0,0,0,0,0,0,0}', w.total_sums, false,
                                                (confidence / 100::numeric)::double precision) c
        WHERE w.node = 0 AND c.after_timed > 0::bigint
        ORDER BY w.dbid, w.userid, w.queryid, c.after_total_ms DESC, w.planid
    ), mostly_after AS (
        SELECT DISTINCT ON (c.dbid, c.userid, c.queryid) c.dbid, c.userid, c.queryid, c.planid,
            c.node_type, c.after_ms AS mean_ms, c.after_timed AS timed
        FROM compared c
        WHERE c.node = 0 AND c.after_timed > 0::bigint
        ORDER BY c.dbid, c.userid, c.queryid, c.after_total_ms DESC, c.planid
    )
    SELECT v.change, v.queryid, v.planid, v.node, v.depth, v.node_type, v.relation,
           v.before_ms, v.after_ms, v.difference_ms, v.difference_margin_ms, v.adjusted,
           v.before_timed, v.after_timed, v.before_planid,
           v.index_name, v.dbid, v.userid, v.taken_at
    FROM (SELECT 'other plan' AS change, a.queryid, a.planid, 0 AS node, 0 AS depth, a.node_type,
                 NULL::text AS relation,
                 b.mean_ms AS before_ms, a.mean_ms AS after_ms,
                 a.mean_ms - b.mean_ms AS difference_ms,
                 NULL::double precision AS difference_margin_ms, NULL::double precision AS adjusted,
                 b.timed AS before_timed, a.timed AS after_timed,
                 b.planid AS before_planid, NULL::text AS index_name, a.dbid, a.userid, b.taken_at
          FROM mostly_before b
          JOIN mostly_after a ON a.dbid = b.dbid AND a.userid = b.userid AND a.queryid = b.queryid
          WHERE a.planid <> b.planid
          UNION ALL
          SELECT CASE WHEN d.difference_ms > 0::double precision THEN 'slower' ELSE 'faster' END,
                 d.queryid, d.planid, d.node, d.depth, d.node_type, d.relation,
                 d.before_ms, d.after_ms, d.difference_ms, d.difference_margin_ms, d.adjusted,
                 d.before_timed, d.after_timed,
                 d.planid, d.index_name, d.dbid, d.userid, d.taken_at
          FROM adjusted d
          WHERE d.adjusted < (1::numeric - confidence / 100::numeric)::double precision) v
    ORDER BY v.change = 'other plan' DESC,
        abs(v.difference_ms * v.after_timed::double precision) DESC, v.queryid, v.planid, v.node;
END;
COMMENT ON FUNCTION clock_node_changes(timestamptz, numeric) IS
    'lists changes since the latest snapshot that is not later than the first argument: mean times '
    'of plans (node 0) and mean self times of nodes that differ significantly by Welch''s test, '
    'and queries that now spend most of their time in another plan; p-values are adjusted for the '
    'number of tests (Benjamini and Hochberg)';
\only_for pg_monitor FUNCTION clock_node_changes(timestamptz, numeric)
