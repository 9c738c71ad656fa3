-- Costs of timing: the slowdown of a query by EXPLAIN ANALYZE, and the CPU time that settings such
-- as track_io_timing add to this server's work.

CREATE PROCEDURE clock_executor_overhead(
    INOUT rows                   bigint           DEFAULT 1000,
    INOUT workload               text             DEFAULT 'generate_series',
    IN    duration               double precision DEFAULT 3,
    INOUT repetitions            bigint           DEFAULT NULL,
    INOUT plain_ms               numeric          DEFAULT NULL,
    INOUT analyze_ms             numeric          DEFAULT NULL,
    INOUT counting_ns            numeric          DEFAULT NULL,
    INOUT counting_margin_ns      numeric          DEFAULT NULL,
    INOUT timing_ns              numeric          DEFAULT NULL,
    INOUT timing_margin_ns        numeric          DEFAULT NULL,
    INOUT overhead_ns            numeric          DEFAULT NULL,
    INOUT overhead_margin_ns      numeric          DEFAULT NULL,
    INOUT typical_overhead_ns         numeric      DEFAULT NULL,
    INOUT typical_overhead_margin_ns  numeric      DEFAULT NULL,
    INOUT slowdown_percent       numeric          DEFAULT NULL,
    INOUT clock                  text             DEFAULT NULL,
    INOUT reading_ns             numeric          DEFAULT NULL,
    INOUT reading_margin_ns       numeric          DEFAULT NULL,
    INOUT predicted_ns           numeric          DEFAULT NULL,
    INOUT measured_per_predicted numeric          DEFAULT NULL,
    INOUT parallel               boolean          DEFAULT NULL,
    INOUT jit                    boolean          DEFAULT NULL
) LANGUAGE C
AS 'MODULE_PATHNAME', 'clock_executor_overhead';
COMMENT ON PROCEDURE clock_executor_overhead IS
    'executes count(*) over some rows (1000) alternately plain and under EXPLAIN ANALYZE for some '
    'seconds (3): returns the overhead of counting and of timing in nanoseconds per row, '
    'undisturbed and as the median of all runs (typical), with margins, and the overhead that the '
    'cost of a reading predicts';
\only_for pg_monitor PROCEDURE clock_executor_overhead

CREATE FUNCTION clock_executor_overhead_runs(
    rows     bigint           DEFAULT 1000,
    workload text             DEFAULT 'generate_series',
    duration double precision DEFAULT 3,
    path     text             DEFAULT 'executor',
    OUT mode text, OUT clock text, OUT runs bigint,
    OUT min_ms numeric, OUT median_ms numeric, OUT mean_ms numeric, OUT stddev_ms numeric,
    OUT overhead_ns numeric, OUT overhead_margin_ns numeric,
    OUT typical_overhead_ns numeric, OUT typical_overhead_margin_ns numeric,
    OUT slowdown_percent numeric,
    OUT parallel boolean, OUT jit boolean
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 4
AS 'MODULE_PATHNAME', 'clock_executor_overhead_runs';
COMMENT ON FUNCTION clock_executor_overhead_runs(bigint, text, double precision, text) IS
    'executes count(*) over some rows (1000) alternately in four modes for some seconds (3): '
    'plain, with counting, with timing, and with timing and buffers; returns a row for each mode, '
    'with its times in milliseconds and its overhead in nanoseconds per row, undisturbed and as '
    'the median of all runs (typical), with margins';
\only_for pg_monitor FUNCTION clock_executor_overhead_runs(bigint, text, double precision, text)

CREATE FUNCTION clock_query_overhead(
    query         text,
    duration      double precision DEFAULT 3,
    allow_writes  boolean          DEFAULT false,
    clock_sources text[]           DEFAULT NULL,
    params        text[]           DEFAULT NULL,
    OUT mode text, OUT clock text, OUT runs bigint,
    OUT min_ms numeric, OUT median_ms numeric, OUT mean_ms numeric, OUT stddev_ms numeric,
    OUT overhead_ms numeric, OUT overhead_margin_ms numeric, OUT slowdown_percent numeric,
    OUT node_calls bigint, OUT overhead_ns_per_call numeric,
    OUT overhead_margin_ns_per_call numeric,
    OUT parallel boolean, OUT jit boolean
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 4
AS 'MODULE_PATHNAME', 'clock_query_overhead';
COMMENT ON FUNCTION clock_query_overhead(text, double precision, boolean, text[], text[]) IS
    'executes a statement alternately in four modes for some seconds (3): plain, with counting, '
    'with timing, and with timing and buffers; returns a row for each mode, with its times and the '
    'median overhead in milliseconds';

-- Without detail, a row is the sum over a setting's kinds of work.  The sum is an estimate if one
-- of the costs is an estimate, or if the costs include an upper bound and also a lower bound or an
-- unknown cost.  The sum is a lower bound if some costs are unknown and none is an upper bound.
CREATE FUNCTION clock_impact(
    seconds double precision DEFAULT NULL,
    detail  boolean          DEFAULT false,
    OUT setting text, OUT value text, OUT in_effect boolean, OUT work text,
    OUT cpu_percent numeric, OUT cpu_margin_percent numeric,
    OUT least_cpu_percent numeric, OUT most_cpu_percent numeric,
    OUT bound text, OUT advice text,
    OUT operations bigint, OUT operations_per_s numeric, OUT operation_ns numeric,
    OUT operation_margin_ns numeric,
    OUT reading_ns numeric, OUT period_s numeric, OUT period text,
    OUT readings_per_operation numeric, OUT reading_margin_ns numeric, OUT clock text,
    OUT active_percent numeric,
    OUT statistics text, OUT reason text
) RETURNS SETOF record
LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 4
BEGIN ATOMIC
    WITH works AS MATERIALIZED (
        SELECT d.*
        FROM internal_clock_impact(seconds, NULL::double precision) WITH ORDINALITY
             AS d(setting, value, in_effect, work, cpu_percent, cpu_margin_percent,
                  least_cpu_percent, most_cpu_percent, bound,
                  operations, operations_per_s, operation_ns, operation_margin_ns, reading_ns,
                  period_s, period,
                  readings_per_operation, reading_margin_ns, clock, active_percent, statistics,
                  reason, n)
    )
    SELECT r.setting, r.value, r.in_effect, r.work, r.cpu_percent, r.cpu_margin_percent,
           r.least_cpu_percent, r.most_cpu_percent, r.bound,
           CASE WHEN r.work IS NULL
                THEN internal_clock_timing_advice(
                         r.setting, r.cpu_percent, r.most_cpu_percent, r.bound,
                         CASE WHEN seconds IS NULL THEN coalesce(r.period_s, 0) END)
           END,
           r.operations, r.operations_per_s, r.operation_ns, r.operation_margin_ns, r.reading_ns,
           r.period_s, r.period,
           r.readings_per_operation, r.reading_margin_ns, r.clock, r.active_percent, r.statistics,
           r.reason
    FROM (SELECT d.* FROM works d WHERE detail IS TRUE
          UNION ALL
          SELECT d.setting, d.value, d.in_effect, NULL::text,
                 sum(d.cpu_percent),
                 sum(d.cpu_margin_percent),
                 sum(d.least_cpu_percent),
                 CASE WHEN bool_and(d.most_cpu_percent IS NOT NULL)
                      THEN sum(d.most_cpu_percent) END,
                 CASE WHEN bool_or(d.bound = 'estimate')
                           OR bool_or(d.bound = 'at most')
                              AND bool_or(d.bound = 'at least' OR d.cpu_percent IS NULL)
                      THEN 'estimate'
                      WHEN bool_and(d.cpu_percent IS NULL) THEN NULL
                      WHEN bool_or(d.cpu_percent IS NULL) THEN 'at least'
                      ELSE max(d.bound) END,
                 sum(d.operations)::bigint,
                 sum(d.operations_per_s),
                 NULL::numeric,
                 NULL::numeric,
                 max(d.reading_ns),
                 max(d.period_s),
                 max(d.period),
                 round(sum(d.operations_per_s * d.readings_per_operation)
                       / nullif(sum(d.operations_per_s), 0::numeric), 2),
                 max(d.reading_margin_ns),
                 max(d.clock),
                 sum(d.active_percent),
                 string_agg(DISTINCT d.statistics, ', '),
                 string_agg(d.work || ': ' || d.reason, '; ' ORDER BY d.n),
                 min(d.n)
          FROM works d
          WHERE detail IS NOT TRUE
          GROUP BY d.setting, d.value, d.in_effect) r
    ORDER BY r.n;
END;
COMMENT ON FUNCTION clock_impact(double precision, boolean) IS
    'estimates the cost of track_io_timing, track_wal_io_timing and auto_explain for this '
    'server''s work, since the last reset of the statistics or during the given seconds; returns '
    'a row per setting or, with detail, per kind of work; cpu_percent is in percent of one CPU, '
    'bound says whether it is a lower bound, an upper bound or an estimate, advice says whether '
    'the setting may be on, and reason says what is unknown';
\only_for pg_monitor FUNCTION clock_impact(double precision, boolean)
