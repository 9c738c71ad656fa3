-- The slowdown of a query by EXPLAIN ANALYZE.

CREATE PROCEDURE clock_executor_overhead(
    INOUT rows                   bigint           DEFAULT 1000,
    INOUT workload               text             DEFAULT 'generate_series',
    IN    duration               double precision DEFAULT 3,
    INOUT counting_ns            numeric          DEFAULT NULL,
    INOUT timing_ns              numeric          DEFAULT NULL,
    INOUT overhead_ns            numeric          DEFAULT NULL,
    INOUT typical_overhead_ns    numeric          DEFAULT NULL,
    INOUT slowdown_percent       numeric          DEFAULT NULL,
    INOUT clock                  text             DEFAULT NULL,
    INOUT counting_margin_ns         numeric      DEFAULT NULL,
    INOUT timing_margin_ns           numeric      DEFAULT NULL,
    INOUT overhead_margin_ns         numeric      DEFAULT NULL,
    INOUT typical_overhead_margin_ns numeric      DEFAULT NULL,
    INOUT repetitions            bigint           DEFAULT NULL,
    INOUT plain_ms               numeric          DEFAULT NULL,
    INOUT analyze_ms             numeric          DEFAULT NULL,
    INOUT reading_ns             numeric          DEFAULT NULL,
    INOUT reading_margin_ns      numeric          DEFAULT NULL,
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
    OUT parallel boolean, OUT jit boolean, OUT reason text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 4
AS 'MODULE_PATHNAME', 'clock_executor_overhead_runs';
COMMENT ON FUNCTION clock_executor_overhead_runs(bigint, text, double precision, text) IS
    'executes count(*) over some rows (1000) alternately in four modes for some seconds (3): '
    'plain, with counting, with timing, and with timing and buffers; returns a row for each mode, '
    'with its times in milliseconds and its overhead in nanoseconds per row, undisturbed and as '
    'the median of all runs (typical), with margins. reason: why a figure is null, not_executed or '
    'few_rounds';
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
    OUT parallel boolean, OUT jit boolean, OUT reason text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 4
AS 'MODULE_PATHNAME', 'clock_query_overhead';
COMMENT ON FUNCTION clock_query_overhead(text, double precision, boolean, text[], text[]) IS
    'executes a statement alternately in four modes for some seconds (3): plain, with counting, '
    'with timing, and with timing and buffers; returns a row for each mode, with its times and the '
    'median overhead in milliseconds. reason: why a figure is null, not_executed or few_rounds';
