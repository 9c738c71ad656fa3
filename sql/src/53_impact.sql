-- clock_impact(): the CPU time that settings such as track_io_timing add to this server's work.

\include portable/src/49_work.sql

-- A plan's calls and its time are sums over the same sample of executions.  So the margin of the
-- calls is assumed to be the same percentage as that of the time.
CREATE FUNCTION internal_clock_counted_calls() RETURNS jsonb
LANGUAGE SQL VOLATILE PARALLEL SAFE
BEGIN ATOMIC
    SELECT pg_catalog.jsonb_build_object(
               'counted calls', pg_catalog.jsonb_build_object(
                   'total', s.calls, 'per_s', s.calls / s.period_s, 'period_s', s.period_s,
                   'most_per_process_ms', s.most_per_process_ms),
               'squared margin of counted calls',
               pg_catalog.jsonb_build_object('total', s.squared_margin),
               'counted ms', pg_catalog.jsonb_build_object('total', s.total_ms),
               'counted process ms', pg_catalog.jsonb_build_object('total', s.process_ms))
    FROM (SELECT sum(p.calls) AS calls, sum(p.total_ms) AS total_ms,
                 sum(p.self_ms) AS process_ms,
                 max(p.calls / nullif(p.self_ms, 0.0::double precision))
                     FILTER (WHERE p.n <= 10) AS most_per_process_ms,
                 sum((p.calls * p.total_margin_ms / nullif(p.total_ms, 0.0::double precision))
                     ^ 2.0::double precision) AS squared_margin,
                 nullif(extract(epoch FROM pg_catalog.clock_timestamp() - min(p.first_seen))
                        ::double precision, 0.0::double precision) AS period_s
          FROM (SELECT s.total_ms, s.total_margin_ms, s.first_seen, n.calls, n.self_ms,
                       row_number() OVER (ORDER BY n.self_ms DESC NULLS LAST) AS n
                FROM clock_plan_stats() s
                JOIN (SELECT c.dbid, c.userid, c.queryid, c.planid,
                             sum(c.calls)::double precision AS calls, sum(c.self_ms) AS self_ms
                      FROM clock_node_stats(NULL::integer) c
                      WHERE c.node > 0
                      GROUP BY c.dbid, c.userid, c.queryid, c.planid) n
                    USING (dbid, userid, queryid, planid)) p) s;
END;
COMMENT ON FUNCTION internal_clock_counted_calls() IS
    'internal: returns the calls of plan nodes and the execution times in the statistics of plans, '
    'as counters for internal_clock_counts()';
\only_for pg_monitor FUNCTION internal_clock_counted_calls()

CREATE FUNCTION internal_clock_impact(
    seconds double precision,
    cost_ns double precision,
    OUT setting text, OUT value text, OUT in_effect boolean, OUT work text,
    OUT cpu_percent numeric, OUT cpu_margin_percent numeric,
    OUT least_cpu_percent numeric, OUT most_cpu_percent numeric,
    OUT bound text,
    OUT operations bigint, OUT operations_per_s numeric, OUT operation_ns numeric,
    OUT operation_margin_ns numeric,
    OUT reading_ns numeric, OUT period_s numeric, OUT period text,
    OUT readings_per_operation numeric, OUT reading_margin_ns numeric, OUT clock text,
    OUT slowdown_percent numeric, OUT most_slowdown_percent numeric,
    OUT statistics text, OUT reason text
) RETURNS SETOF record
LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp SET extra_float_digits = 1
BEGIN ATOMIC
    SELECT w.*
    FROM internal_clock_works(
        -- Passes functions by qualified names: a regproc is printed with its schema, because
        -- search_path excludes the extension's schema.
        internal_clock_counts(
            seconds, 'internal_clock_wait'::regproc::text,
            CASE WHEN pg_catalog.current_setting('clocktiming.track', true) = 'on'
                 THEN pg_catalog.format('SELECT %s()',
                                        'internal_clock_counted_calls'::regproc) END),
        seconds IS NOT NULL,
        CASE WHEN cost_ns IS NULL
             THEN (SELECT pg_catalog.to_jsonb(c) FROM internal_clock_timing_costs() c)
             ELSE pg_catalog.jsonb_build_object('reading_ns', nullif(cost_ns, 'NaN'),
                                                'plan_reading_ns', nullif(cost_ns, 'NaN')) END) w;
END;
COMMENT ON FUNCTION internal_clock_impact(double precision, double precision) IS
    'internal: returns the kinds of work that clock_impact() sums up; measures the cost of a '
    'reading if cost_ns is null, else uses cost_ns and omits rows that need the cost of counting '
    'calls';
\only_for pg_monitor FUNCTION internal_clock_impact(double precision, double precision)

-- A row is the sum over a setting's kinds of work.  The sum is an estimate if one of the costs is
-- an estimate, or if the costs include an upper bound and also a lower bound or an unknown cost.
-- The sum is a lower bound if some costs are unknown and none is an upper bound.
CREATE FUNCTION clock_impact(
    seconds double precision DEFAULT NULL,
    OUT setting text, OUT verdict text, OUT max_sample_rate numeric,
    OUT most_slowdown_percent numeric, OUT slowdown_percent numeric,
    OUT in_effect boolean, OUT value text, OUT period_s numeric, OUT reason text, OUT advice text
) RETURNS SETOF record
LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 4
BEGIN ATOMIC
    WITH observed AS MATERIALIZED (
        SELECT d.* FROM internal_clock_impact(seconds, NULL::double precision) WITH ORDINALITY AS d
    ), idle AS MATERIALIZED (
        SELECT seconds IS NOT NULL AND bool_and(o.slowdown_percent IS NULL) AS is_idle
        FROM observed o
    ), works AS MATERIALIZED (
        SELECT o.* FROM observed o WHERE NOT (SELECT i.is_idle FROM idle i)
        UNION ALL
        -- if the server was idle, uses the statistics since their last reset
        SELECT d.*
        FROM internal_clock_impact(NULL::double precision, NULL::double precision)
             WITH ORDINALITY AS d
        WHERE (SELECT i.is_idle FROM idle i)
    )
    SELECT r.setting, v.verdict, v.max_sample_rate, r.most_slowdown_percent, r.slowdown_percent,
           r.in_effect, r.value, r.period_s, v.reason,
           -- With setting, the output of psql then fits 100 columns.
           internal_clock_lines(v.advice, 66)
    FROM (SELECT d.setting, d.value, d.in_effect,
                 sum(d.cpu_percent) AS cpu_percent,
                 CASE WHEN bool_and(d.most_cpu_percent IS NOT NULL)
                      THEN sum(d.most_cpu_percent) END AS most_cpu_percent,
                 CASE WHEN bool_or(d.bound = 'estimate')
                           OR bool_or(d.bound = 'at most')
                              AND bool_or(d.bound = 'at least' OR d.cpu_percent IS NULL)
                      THEN 'estimate'
                      WHEN bool_and(d.cpu_percent IS NULL) THEN NULL
                      WHEN bool_or(d.cpu_percent IS NULL) THEN 'at least'
                      ELSE max(d.bound) END AS bound,
                 max(d.period_s) AS period_s,
                 max(d.period) AS period,
                 sum(d.slowdown_percent) AS slowdown_percent,
                 CASE WHEN bool_and(d.most_slowdown_percent IS NOT NULL)
                      THEN sum(d.most_slowdown_percent) END AS most_slowdown_percent,
                 string_agg(DISTINCT d.statistics, ', ') AS statistics,
                 min(d.ordinality) AS ordinality
          FROM works d
          GROUP BY d.setting, d.value, d.in_effect) r,
         LATERAL internal_clock_verdict(pg_catalog.to_jsonb(r), seconds) v
    ORDER BY r.ordinality;
END;
COMMENT ON FUNCTION clock_impact(double precision) IS
    'estimates by how many percent track_io_timing, track_wal_io_timing and auto_explain lengthen '
    'this server''s statements, for its work during the given seconds or since the last reset of '
    'its statistics. A row per setting. verdict: on, off, on_with_sample_rate (up to '
    'max_sample_rate) or unknown. reason: low, high, calls_guessed, uncertain, idle, short_period, '
    'no_upper_limit or not_counted. advice: the reason in words';
\only_for pg_monitor FUNCTION clock_impact(double precision)

CREATE FUNCTION clock_impact(
    INOUT setting text,
    seconds double precision DEFAULT NULL,
    OUT work text, OUT cpu_percent numeric, OUT cpu_margin_percent numeric,
    OUT least_cpu_percent numeric, OUT most_cpu_percent numeric,
    OUT bound text, OUT operations bigint, OUT operations_per_s numeric, OUT operation_ns numeric,
    OUT operation_margin_ns numeric,
    OUT reading_ns numeric, OUT period_s numeric, OUT period text,
    OUT readings_per_operation numeric, OUT reading_margin_ns numeric, OUT clock text,
    OUT slowdown_percent numeric, OUT most_slowdown_percent numeric,
    OUT statistics text, OUT reason text
) RETURNS SETOF record
LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
    SELECT d.setting, d.work, d.cpu_percent, d.cpu_margin_percent, d.least_cpu_percent,
           d.most_cpu_percent, d.bound, d.operations, d.operations_per_s, d.operation_ns,
           d.operation_margin_ns, d.reading_ns, d.period_s, d.period, d.readings_per_operation,
           d.reading_margin_ns, d.clock, d.slowdown_percent, d.most_slowdown_percent,
           d.statistics, d.reason
    FROM internal_clock_setting($1) AS chosen,
         internal_clock_impact(seconds, NULL::double precision) AS d
    WHERE d.setting = coalesce(chosen, d.setting);
END;
COMMENT ON FUNCTION clock_impact(text, double precision) IS
    'estimates the CPU time of timing each kind of work that a setting (null: each setting) times, '
    'from which clock_impact() without a setting computes its verdict. bound: accuracy of '
    'cpu_percent, which is of one CPU. reason: why a figure is unknown or a bound';
\only_for pg_monitor FUNCTION clock_impact(text, double precision)
