/* sql/clocktiming--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION clocktiming" to load this file. \quit

--
-- One run as a value.
--
CREATE TYPE clock_sample AS (
    source             text,
    clock              text,
    started_at         timestamp with time zone,
    duration_s         double precision,
    frequency_hz       double precision,
    resolution_ns      double precision,
    granularity_ticks  double precision,
    readings           bigint,
    mean_margin_ns      double precision,
    advance_s          double precision,
    reference_bound_ns double precision,
    longest_stall      bigint,
    backward_steps     bigint,
    backward_max_ticks bigint,
    warps              bigint,
    warp_max_ns        double precision,
    warp_total_ns      double precision,
    lags               bigint,
    lag_max_ns         double precision,
    lag_total_ns       double precision,
    gaps               bigint,
    gap_max_ns         double precision,
    gap_total_ns       double precision,
    cpus               integer[],
    migrations         bigint,
    precision_bits     integer,
    ticks              bigint[],
    counts             bigint[]
);
COMMENT ON TYPE clock_sample IS
'one run of a clock: its exact durations in ticks with their counts, and what was found';

-- A run in one row; NULL stands for what is not known.
CREATE TYPE clock_summary_row AS (
    source            text,
    clock             text,
    duration_s        numeric,
    readings          bigint,
    loop_ns           numeric,
    mean_ns           numeric,
    mean_margin_ns     numeric,
    stddev_ns         numeric,
    min_ns            numeric,
    p50_ns            numeric,
    p90_ns            numeric,
    p99_ns            numeric,
    p999_ns           numeric,
    p9999_ns          numeric,
    max_ns            numeric,
    granularity_ticks numeric,
    granularity_ns    numeric,
    stalls            bigint,
    longest_stall     bigint,
    backward_steps    bigint,
    backward_max_ns   numeric,
    warps             bigint,
    warp_max_ns       numeric,
    lags              bigint,
    lag_max_ns        numeric,
    gaps              bigint,
    gap_max_ns        numeric,
    lost_ms           numeric,
    lost_percent      numeric,
    rate_ppm          numeric,
    rate_bound_ppm    numeric,
    cpus              integer[],
    migrations        bigint
);
COMMENT ON TYPE clock_summary_row IS
'one run of a clock in one row: what clock_summary() returns';

--
-- Measuring functions.  They keep a CPU busy for as long as they are told to,
-- so they are not for everybody.
--
CREATE FUNCTION clock_measure(
    source   text             DEFAULT 'instr_time',
    duration double precision DEFAULT 3,
    rate     double precision DEFAULT NULL
) RETURNS clock_sample
LANGUAGE C VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'clock_measure';
COMMENT ON FUNCTION clock_measure(text, double precision, double precision) IS
'samples a clock for a number of seconds and returns the run as one value';

CREATE FUNCTION clock_histogram(
    source   text             DEFAULT 'instr_time',
    duration double precision DEFAULT 3,
    OUT le_ns bigint, OUT percent numeric, OUT running_percent numeric, OUT count bigint
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 20
AS 'MODULE_PATHNAME', 'clock_histogram_source';
COMMENT ON FUNCTION clock_histogram(text, double precision) IS
'samples a clock and counts its durations in buckets of powers of two nanoseconds';

CREATE FUNCTION clock_histogram_plot(
    source   text             DEFAULT 'instr_time',
    duration double precision DEFAULT 3,
    width    integer          DEFAULT 74
) RETURNS SETOF text
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 20
AS 'MODULE_PATHNAME', 'clock_histogram_plot_source';
COMMENT ON FUNCTION clock_histogram_plot(text, double precision, integer) IS
'samples a clock source and draws the histogram of its durations with bars';

CREATE FUNCTION clock_durations(
    source   text             DEFAULT 'instr_time',
    duration double precision DEFAULT 3,
    cutoff   double precision DEFAULT 99.99,
    OUT ns bigint, OUT percent numeric, OUT running_percent numeric, OUT count bigint
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 100
AS 'MODULE_PATHNAME', 'clock_durations_source';
COMMENT ON FUNCTION clock_durations(text, double precision, double precision) IS
'samples a clock and counts each duration in nanoseconds, up to a cutoff in percent, and the largest';

CREATE FUNCTION clock_summary(
    source   text             DEFAULT 'instr_time',
    duration double precision DEFAULT 3
) RETURNS clock_summary_row
LANGUAGE C VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'clock_summary_source';
COMMENT ON FUNCTION clock_summary(text, double precision) IS
'samples a clock and sums up the run in one row: cost, spread, quantiles, and what was found';

CREATE FUNCTION clock_throttled(
    source   text             DEFAULT 'instr_time',
    duration double precision DEFAULT 3,
    rate     double precision DEFAULT 200,
    OUT source text, OUT clock text, OUT instants bigint, OUT wakeups bigint, OUT rate_reached numeric,
    OUT cold_mean_ns numeric, OUT cold_p50_ns numeric, OUT cold_p99_ns numeric, OUT cold_max_ns numeric,
    OUT warm_mean_ns numeric, OUT warm_p50_ns numeric, OUT warm_p99_ns numeric, OUT warm_max_ns numeric,
    OUT late_mean_us numeric, OUT late_p50_us numeric, OUT late_p99_us numeric, OUT late_max_us numeric,
    OUT cpu_percent numeric
) RETURNS record
LANGUAGE C VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'clock_throttled';
COMMENT ON FUNCTION clock_throttled(text, double precision, double precision) IS
'samples a clock at random instants and sleeps in between: the first reading after a sleep, those right after it, and how late it woke';

CREATE FUNCTION clock_timeline(
    source   text             DEFAULT 'instr_time',
    duration double precision DEFAULT 10,
    every    double precision DEFAULT 1,
    rate     double precision DEFAULT NULL,
    OUT elapsed_s numeric, OUT readings bigint, OUT mean_ns numeric, OUT stddev_ns numeric,
    OUT p50_ns numeric, OUT p99_ns numeric, OUT max_ns numeric,
    OUT gaps bigint, OUT lost_ms numeric, OUT backward_steps bigint,
    OUT sampled_s numeric, OUT cpu_percent numeric,
    OUT instants bigint, OUT cold_mean_ns numeric, OUT late_mean_us numeric
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 10
AS 'MODULE_PATHNAME', 'clock_timeline';
COMMENT ON FUNCTION clock_timeline(text, double precision, double precision, double precision) IS
'samples a clock and gives a row an interval, when the interval ends';

CREATE FUNCTION clock_report(
    duration double precision DEFAULT 3,
    cutoff   double precision DEFAULT 99.99
) RETURNS SETOF text
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 200
AS 'MODULE_PATHNAME', 'clock_report';
COMMENT ON FUNCTION clock_report(double precision, double precision) IS
'samples the system clock, RDTSCP and RDTSC and returns the lines that pg_test_timing of PostgreSQL 19 prints';

CREATE FUNCTION clock_survey(
    sources   text[]           DEFAULT '{all}',
    duration  double precision DEFAULT 1.5,
    reference text             DEFAULT 'kernel',
    OUT source text,
    OUT cost_ns numeric, OUT cost_margin_ns numeric, OUT read_by text,
    OUT resolution_ns numeric, OUT observed_ns numeric, OUT observed_hz numeric, OUT granularity_ticks numeric,
    OUT strictly_monotonic boolean,
    OUT fails bigint, OUT warps bigint, OUT stalls bigint, OUT backward_steps bigint, OUT gaps bigint,
    OUT clock text, OUT judged_by text, OUT reason text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 18
AS 'MODULE_PATHNAME', 'clock_survey';
COMMENT ON FUNCTION clock_survey(text[], double precision, text) IS
'all clocks side by side: what a reading costs, resolution, and what is wrong with each';

--
-- Views of a run that has been made.
--
CREATE FUNCTION clock_histogram(
    sample clock_sample,
    OUT le_ns bigint, OUT percent numeric, OUT running_percent numeric, OUT count bigint
) RETURNS SETOF record
LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 20
AS 'MODULE_PATHNAME', 'clock_histogram_sample';
COMMENT ON FUNCTION clock_histogram(clock_sample) IS
'counts the durations of a run in buckets of powers of two nanoseconds';

-- a bigint, lest clock_histogram_plot('rdtsc', 3) be this one, as 3 is an integer
CREATE FUNCTION clock_histogram_plot(
    sample clock_sample,
    width  bigint DEFAULT 74
) RETURNS SETOF text
LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 20
AS 'MODULE_PATHNAME', 'clock_histogram_plot_sample';
COMMENT ON FUNCTION clock_histogram_plot(clock_sample, bigint) IS
'draws the histogram of a run with bars';

CREATE FUNCTION clock_durations(
    sample clock_sample,
    cutoff double precision DEFAULT 99.99,
    OUT ns bigint, OUT percent numeric, OUT running_percent numeric, OUT count bigint
) RETURNS SETOF record
LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 100
AS 'MODULE_PATHNAME', 'clock_durations_sample';
COMMENT ON FUNCTION clock_durations(clock_sample, double precision) IS
'counts each duration of a run in nanoseconds, up to a cutoff in percent, and the largest';

CREATE FUNCTION clock_summary(sample clock_sample) RETURNS clock_summary_row
LANGUAGE C IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_summary_sample';
COMMENT ON FUNCTION clock_summary(clock_sample) IS
'sums up a run in one row: cost, spread, quantiles, and what was found';

CREATE FUNCTION clock_merge_add(internal, clock_sample) RETURNS internal
LANGUAGE C IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_merge_add';
COMMENT ON FUNCTION clock_merge_add(internal, clock_sample) IS
'transition function of clock_merge()';

CREATE FUNCTION clock_merge_result(internal) RETURNS clock_sample
LANGUAGE C IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_merge_result';
COMMENT ON FUNCTION clock_merge_result(internal) IS
'final function of clock_merge()';

-- a state is two tables of counters and a table of long durations
CREATE AGGREGATE clock_merge(clock_sample) (
    SFUNC = clock_merge_add,
    STYPE = internal,
    SSPACE = 400000,
    FINALFUNC = clock_merge_result,
    FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE clock_merge(clock_sample) IS
'one sample out of many of the same clock';

--
-- Whether the clocks of all CPUs agree.
--
CREATE FUNCTION clock_cpu_skew(
    source   text             DEFAULT NULL,
    duration double precision DEFAULT 3,
    OUT cpu integer, OUT clock text, OUT reading_ns numeric,
    OUT offset_ns numeric, OUT offset_min_ns numeric, OUT offset_max_ns numeric, OUT round_trip_ns numeric,
    OUT exchanges bigint, OUT warps bigint, OUT warp_max_ns numeric, OUT stalls bigint, OUT longest_stall bigint
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 10
AS 'MODULE_PATHNAME', 'clock_cpu_skew';
COMMENT ON FUNCTION clock_cpu_skew(text, double precision) IS
'compares the clock of each CPU with the first one''s: offset with hard bounds, warps, and the cost of a reading';

--
-- What timing costs queries.
--
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
'what EXPLAIN ANALYZE costs in nanoseconds per row: count(*) against EXPLAIN ANALYZE of it';

CREATE FUNCTION clock_executor_overhead_runs(
    rows     bigint           DEFAULT 1000,
    workload text             DEFAULT 'generate_series',
    duration double precision DEFAULT 3,
    path     text             DEFAULT 'executor',
    OUT mode text, OUT clock text, OUT runs bigint,
    OUT min_ms numeric, OUT median_ms numeric, OUT mean_ms numeric, OUT stddev_ms numeric,
    OUT overhead_ns numeric, OUT overhead_margin_ns numeric, OUT slowdown_percent numeric,
    OUT parallel boolean, OUT jit boolean
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 4
AS 'MODULE_PATHNAME', 'clock_executor_overhead_runs';
COMMENT ON FUNCTION clock_executor_overhead_runs(bigint, text, double precision, text) IS
'executes count(*) with and without timing by turns and returns what EXPLAIN ANALYZE costs in nanoseconds per row, a row for each level of instrumentation';

CREATE FUNCTION clock_query_overhead(
    query         text,
    duration      double precision DEFAULT 3,
    allow_writes  boolean          DEFAULT false,
    clock_sources text[]           DEFAULT NULL,
    params        text[]           DEFAULT NULL,
    OUT mode text, OUT clock text, OUT runs bigint,
    OUT min_ms numeric, OUT median_ms numeric, OUT mean_ms numeric, OUT stddev_ms numeric,
    OUT overhead_ms numeric, OUT overhead_margin_ms numeric, OUT slowdown_percent numeric,
    OUT node_calls bigint, OUT overhead_ns_per_call numeric, OUT overhead_margin_ns_per_call numeric,
    OUT parallel boolean, OUT jit boolean
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 4
AS 'MODULE_PATHNAME', 'clock_query_overhead';
COMMENT ON FUNCTION clock_query_overhead(text, double precision, boolean, text[], text[]) IS
'executes a statement of one''s own with and without timing by turns and returns what EXPLAIN ANALYZE costs it, a row for each level of instrumentation';

--
-- Clocks beside each other.
--
CREATE FUNCTION clock_drift(
    source    text             DEFAULT 'system',
    duration  double precision DEFAULT 1,
    reference text             DEFAULT 'kernel',
    OUT source text, OUT reference text, OUT clock text, OUT pairs bigint, OUT rejected bigint,
    OUT duration_s numeric, OUT drift_ppm numeric, OUT drift_margin_ppm numeric,
    OUT residual_max_ns numeric, OUT bracket_ns numeric,
    OUT backward_steps bigint, OUT backward_max_ns numeric, OUT warps bigint, OUT warp_max_ns numeric,
    OUT lags bigint, OUT lag_max_ns numeric
) RETURNS record
LANGUAGE C VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'clock_drift';
COMMENT ON FUNCTION clock_drift(text, double precision, text) IS
'by how many parts per million a clock runs faster than a reference, with a 95 % interval, steps of the clock apart';

CREATE FUNCTION clock_monitor(
    sources   text[]           DEFAULT '{all}',
    duration  double precision DEFAULT 5,
    every     double precision DEFAULT 1,
    reference text             DEFAULT 'kernel',
    OUT elapsed_s numeric, OUT source text, OUT advance_ms numeric,
    OUT against_reference_us numeric, OUT bracket_ns numeric
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 100
AS 'MODULE_PATHNAME', 'clock_monitor';
COMMENT ON FUNCTION clock_monitor(text[], double precision, double precision, text) IS
'how far each clock has advanced, and by how much more than a reference, interval by interval';

CREATE FUNCTION clock_compare(
    sources    text[],
    samples    integer DEFAULT 12,
    readings   integer DEFAULT 10000,
    confidence numeric DEFAULT 95,
    welch      boolean DEFAULT false,
    OUT source text, OUT n integer,
    OUT min_ns numeric, OUT max_ns numeric, OUT median_ns numeric, OUT mean_ns numeric, OUT stddev_ns numeric,
    OUT difference_ns numeric, OUT difference_margin_ns numeric,
    OUT difference_percent numeric, OUT difference_margin_percent numeric,
    OUT pooled_stddev_ns numeric, OUT p_value double precision, OUT verdict text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 4
AS 'MODULE_PATHNAME', 'clock_compare_sources';
COMMENT ON FUNCTION clock_compare(text[], integer, integer, numeric, boolean) IS
'what a reading of each source costs, from samples in turn, and whether that differs from the first: Student''s t';

CREATE FUNCTION clock_compare(
    a          double precision[],
    b          double precision[],
    confidence numeric DEFAULT 95,
    welch      boolean DEFAULT false,
    OUT data text, OUT n integer,
    OUT min double precision, OUT max double precision, OUT median double precision,
    OUT mean double precision, OUT stddev double precision,
    OUT difference double precision, OUT difference_margin double precision,
    OUT difference_percent double precision, OUT difference_margin_percent double precision,
    OUT pooled_stddev double precision, OUT p_value double precision, OUT verdict text
) RETURNS SETOF record
LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 2
AS 'MODULE_PATHNAME', 'clock_compare_arrays';
COMMENT ON FUNCTION clock_compare(double precision[], double precision[], numeric, boolean) IS
'whether two sets of figures differ: Student''s t';

CREATE FUNCTION clock_compare_plot(
    sources    text[],
    samples    integer DEFAULT 12,
    readings   integer DEFAULT 10000,
    confidence numeric DEFAULT 95,
    width      integer DEFAULT 74,
    welch      boolean DEFAULT false,
    separate   boolean DEFAULT false
) RETURNS SETOF text
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 20
AS 'MODULE_PATHNAME', 'clock_compare_plot_sources';
COMMENT ON FUNCTION clock_compare_plot(text[], integer, integer, numeric, integer, boolean, boolean) IS
'the picture that ministat draws, of what a reading of each source costs in nanoseconds';

CREATE FUNCTION clock_compare_plot(
    a          double precision[],
    b          double precision[],
    confidence numeric DEFAULT 95,
    width      integer DEFAULT 74,
    welch      boolean DEFAULT false,
    separate   boolean DEFAULT false
) RETURNS SETOF text
LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 20
AS 'MODULE_PATHNAME', 'clock_compare_plot_arrays';
COMMENT ON FUNCTION clock_compare_plot(double precision[], double precision[], numeric, integer, boolean, boolean) IS
'the picture that ministat draws, of two sets of figures';

--
-- What there is to measure.
--
CREATE FUNCTION clock_list_sources(
    OUT source text, OUT description text, OUT available boolean, OUT reason text,
    OUT clock text, OUT frequency_hz double precision, OUT frequency_from text,
    OUT resolution_ns double precision, OUT used_for text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 4
AS 'MODULE_PATHNAME', 'clock_list_sources';
COMMENT ON FUNCTION clock_list_sources() IS
'the rows of the view clock_sources';

CREATE VIEW clock_sources AS
    SELECT source, available, clock, frequency_hz, frequency_from, resolution_ns, used_for, reason, description
    FROM clock_list_sources();
COMMENT ON VIEW clock_sources IS
'clock sources known: whether each can be read here, or why not, and what this server uses it for';

CREATE FUNCTION clock_list_platform(OUT name text, OUT value text, OUT note text) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 20
AS 'MODULE_PATHNAME', 'clock_list_platform';
COMMENT ON FUNCTION clock_list_platform() IS
'the rows of the view clock_platform';

CREATE VIEW clock_platform AS
    SELECT name, value, note
    FROM clock_list_platform();
COMMENT ON VIEW clock_platform IS
'what processor, hypervisor, operating system and server say of their clocks';

--
-- What to think of it.
--
CREATE FUNCTION clock_list_advice(
    OUT check_name text, OUT severity text, OUT finding text, OUT evidence text,
    OUT do_now text, OUT do_persistently text, OUT ask_provider text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 9
AS 'MODULE_PATHNAME', 'clock_list_advice';
COMMENT ON FUNCTION clock_list_advice() IS
'the rows of the view clock_advice';

CREATE VIEW clock_advice AS
    SELECT check_name, severity, finding, evidence, do_now, do_persistently, ask_provider
    FROM clock_list_advice();
COMMENT ON VIEW clock_advice IS
'what to think of this server''s clocks, by what is measured as the view is read, and what to do';

CREATE FUNCTION clock_check_detail(
    duration         double precision DEFAULT 1,
    max_cost_ns      double precision DEFAULT 200,
    max_skew_ns      double precision DEFAULT 1000,
    max_drift_ppm    double precision DEFAULT 600,
    max_lost_percent double precision DEFAULT 90,
    OUT check_name text, OUT ok boolean, OUT figure numeric, OUT threshold numeric, OUT unit text, OUT detail text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 7
AS 'MODULE_PATHNAME', 'clock_check_detail';
COMMENT ON FUNCTION clock_check_detail(double precision, double precision, double precision, double precision, double precision) IS
'checks of the clocks, with the figures behind each';

CREATE FUNCTION clock_check(
    duration         double precision DEFAULT 1,
    max_cost_ns      double precision DEFAULT 200,
    max_skew_ns      double precision DEFAULT 1000,
    max_drift_ppm    double precision DEFAULT 600,
    max_lost_percent double precision DEFAULT 90,
    OUT check_name text, OUT ok boolean
) RETURNS SETOF record
LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 7
BEGIN ATOMIC
    SELECT d.check_name, d.ok
    FROM clock_check_detail(duration, max_cost_ns, max_skew_ns, max_drift_ppm, max_lost_percent)
         WITH ORDINALITY AS d(check_name, ok, figure, threshold, unit, detail, n)
    ORDER BY d.n;
END;
COMMENT ON FUNCTION clock_check(double precision, double precision, double precision, double precision, double precision) IS
'checks of the clocks with nothing that varies: for expected output of tests';

--
-- EXPLAIN ANALYZE without its own weight.
--
CREATE FUNCTION clock_explain(
    query        text,
    sampling     integer DEFAULT 64,
    method       text    DEFAULT 'sampling',
    verify       boolean DEFAULT false,
    allow_writes boolean DEFAULT false,
    max_overhead double precision DEFAULT 1,
    params       text[]  DEFAULT NULL,
    runs         integer DEFAULT 1,
    OUT node           integer,
    OUT depth          integer,
    OUT line           text,
    OUT node_type      text,
    OUT relation       text,
    OUT loops          bigint,
    OUT rows           bigint,
    OUT calls          bigint,
    OUT timed_calls    bigint,
    OUT total_ms       numeric,
    OUT total_margin_ms numeric,
    OUT self_ms        numeric,
    OUT self_margin_ms  numeric,
    OUT share_percent  numeric,
    OUT removed_ms     numeric,
    OUT note           text,
    OUT estimate_ms    numeric,
    OUT run_ms         numeric,
    OUT plain_ms       numeric
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10
AS 'MODULE_PATHNAME', 'clock_explain';
COMMENT ON FUNCTION clock_explain(text, integer, text, boolean, boolean, double precision, text[], integer) IS
'executes a query and returns what each node of its plan takes, a row a node, estimated from a few of its calls';

CREATE FUNCTION clock_explain_text(
    query        text,
    sampling     integer DEFAULT 64,
    method       text    DEFAULT 'sampling',
    verify       boolean DEFAULT false,
    allow_writes boolean DEFAULT false,
    max_overhead double precision DEFAULT 1,
    params       text[]  DEFAULT NULL,
    runs         integer DEFAULT 1
) RETURNS TABLE ("QUERY PLAN" text)
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 20
AS 'MODULE_PATHNAME', 'clock_explain_text';
COMMENT ON FUNCTION clock_explain_text(text, integer, text, boolean, boolean, double precision, text[], integer) IS
'executes a query and returns what EXPLAIN ANALYZE would print, with times estimated from a few calls of each plan node';

CREATE FUNCTION clock_explain_json(
    query        text,
    sampling     integer DEFAULT 64,
    method       text    DEFAULT 'sampling',
    verify       boolean DEFAULT false,
    allow_writes boolean DEFAULT false,
    max_overhead double precision DEFAULT 1,
    params       text[]  DEFAULT NULL,
    runs         integer DEFAULT 1
) RETURNS json
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'clock_explain_json';
COMMENT ON FUNCTION clock_explain_json(text, integer, text, boolean, boolean, double precision, text[], integer) IS
'executes a query and returns what EXPLAIN (ANALYZE, FORMAT JSON) would print, with times estimated from a few calls of each plan node';

--
-- What timing would cost this server, by what it has been seen to do.
--
CREATE FUNCTION clock_list_impact(
    OUT setting text, OUT value text, OUT in_effect boolean, OUT work text,
    OUT ms_per_s numeric, OUT margin_ms_per_s numeric, OUT least_ms_per_s numeric, OUT bound text,
    OUT percent numeric, OUT percent_of_active numeric,
    OUT operations bigint, OUT operations_per_s numeric, OUT readings_per_operation numeric,
    OUT operation_ns numeric, OUT operation_margin_ns numeric,
    OUT reading_ns numeric, OUT reading_margin_ns numeric, OUT clock text,
    OUT statistics text, OUT period_s numeric, OUT reason text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10
AS 'MODULE_PATHNAME', 'clock_list_impact';
COMMENT ON FUNCTION clock_list_impact() IS
'the rows of the view clock_impact_detail';

CREATE VIEW clock_impact_detail AS
    SELECT setting, value, in_effect, work, ms_per_s, margin_ms_per_s, least_ms_per_s, bound, percent, percent_of_active,
           operations, operations_per_s, readings_per_operation, operation_ns, operation_margin_ns,
           reading_ns, reading_margin_ns, clock, statistics, period_s, reason
    FROM clock_list_impact();
COMMENT ON VIEW clock_impact_detail IS
'what timing would cost on this server''s observed work, a row for each kind of work';

-- What is not known of a part, is not known of the whole: then the others are
-- what it costs at least.
CREATE VIEW clock_impact AS
    SELECT setting, value, in_effect,
           sum(ms_per_s) AS ms_per_s,
           sum(margin_ms_per_s) AS margin_ms_per_s,
           sum(least_ms_per_s) AS least_ms_per_s,
           CASE WHEN bool_or(bound = 'estimate') OR bool_or(bound = 'at most') AND bool_or(bound = 'at least' OR ms_per_s IS NULL)
                THEN 'estimate'
                WHEN bool_and(ms_per_s IS NULL) THEN NULL
                WHEN bool_or(ms_per_s IS NULL) THEN 'at least'
                ELSE max(bound) END AS bound,
           sum(percent) AS percent,
           sum(percent_of_active) AS percent_of_active,
           sum(operations_per_s) AS operations_per_s,
           round(sum(operations_per_s * readings_per_operation) / nullif(sum(operations_per_s), 0), 2) AS readings_per_operation,
           max(reading_ns) AS reading_ns,
           max(reading_margin_ns) AS reading_margin_ns,
           max(clock) AS clock,
           string_agg(DISTINCT statistics, ', ') AS statistics,
           max(period_s) AS period_s,
           string_agg(work || ': ' || reason, '; ' ORDER BY n) AS reason
    FROM clock_list_impact() WITH ORDINALITY
         AS i(setting, value, in_effect, work, ms_per_s, margin_ms_per_s, least_ms_per_s, bound, percent, percent_of_active,
              operations, operations_per_s, readings_per_operation, operation_ns, operation_margin_ns,
              reading_ns, reading_margin_ns, clock, statistics, period_s, reason, n)
    GROUP BY setting, value, in_effect
    ORDER BY min(n);
COMMENT ON VIEW clock_impact IS
'what track_io_timing, track_wal_io_timing and auto_explain.log_timing would cost on this server''s observed work';


--
-- Privileges: measuring and looking at the machine is for those who monitor
-- the server.  Functions of values are for everybody, and so are those that
-- execute a query of the caller's, with the caller's privileges.
--
REVOKE ALL ON FUNCTION clock_measure(text, double precision, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_measure(text, double precision, double precision) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_histogram(text, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_histogram(text, double precision) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_histogram_plot(text, double precision, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_histogram_plot(text, double precision, integer) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_durations(text, double precision, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_durations(text, double precision, double precision) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_summary(text, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_summary(text, double precision) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_throttled(text, double precision, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_throttled(text, double precision, double precision) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_timeline(text, double precision, double precision, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_timeline(text, double precision, double precision, double precision) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_report(double precision, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_report(double precision, double precision) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_survey(text[], double precision, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_survey(text[], double precision, text) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_cpu_skew(text, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_cpu_skew(text, double precision) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_executor_overhead_runs(bigint, text, double precision, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_executor_overhead_runs(bigint, text, double precision, text) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_drift(text, double precision, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_drift(text, double precision, text) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_monitor(text[], double precision, double precision, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_monitor(text[], double precision, double precision, text) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_compare(text[], integer, integer, numeric, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_compare(text[], integer, integer, numeric, boolean) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_compare_plot(text[], integer, integer, numeric, integer, boolean, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_compare_plot(text[], integer, integer, numeric, integer, boolean, boolean) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_check_detail(double precision, double precision, double precision, double precision, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_check_detail(double precision, double precision, double precision, double precision, double precision) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_check(double precision, double precision, double precision, double precision, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_check(double precision, double precision, double precision, double precision, double precision) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_list_advice() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_list_advice() TO pg_monitor;
REVOKE ALL ON FUNCTION clock_list_sources() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_list_sources() TO pg_monitor;
REVOKE ALL ON FUNCTION clock_list_platform() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_list_platform() TO pg_monitor;
REVOKE ALL ON FUNCTION clock_list_impact() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_list_impact() TO pg_monitor;
REVOKE ALL ON PROCEDURE clock_executor_overhead FROM PUBLIC;
GRANT EXECUTE ON PROCEDURE clock_executor_overhead TO pg_monitor;
REVOKE ALL ON TABLE clock_sources FROM PUBLIC;
GRANT SELECT ON TABLE clock_sources TO pg_monitor;
REVOKE ALL ON TABLE clock_platform FROM PUBLIC;
GRANT SELECT ON TABLE clock_platform TO pg_monitor;
REVOKE ALL ON TABLE clock_advice FROM PUBLIC;
GRANT SELECT ON TABLE clock_advice TO pg_monitor;
REVOKE ALL ON TABLE clock_impact_detail FROM PUBLIC;
GRANT SELECT ON TABLE clock_impact_detail TO pg_monitor;
REVOKE ALL ON TABLE clock_impact FROM PUBLIC;
GRANT SELECT ON TABLE clock_impact TO pg_monitor;
