/* sql/clocktiming--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION clocktiming" to load this file. \quit

--
-- One run as a value.
--
CREATE TYPE clock_sample;

CREATE FUNCTION clock_sample_in(cstring) RETURNS clock_sample
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_sample_in';
COMMENT ON FUNCTION clock_sample_in(cstring) IS
'input function of the type clock_sample: reads a JSON object';

CREATE FUNCTION clock_sample_out(clock_sample) RETURNS cstring
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_sample_out';
COMMENT ON FUNCTION clock_sample_out(clock_sample) IS
'output function of the type clock_sample: writes a JSON object';

-- texts are in the encoding of the client, which is a setting
CREATE FUNCTION clock_sample_recv(internal) RETURNS clock_sample
LANGUAGE C STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_sample_recv';
COMMENT ON FUNCTION clock_sample_recv(internal) IS
'binary input function of the type clock_sample';

CREATE FUNCTION clock_sample_send(clock_sample) RETURNS bytea
LANGUAGE C STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_sample_send';
COMMENT ON FUNCTION clock_sample_send(clock_sample) IS
'binary output function of the type clock_sample';

CREATE TYPE clock_sample (
    INPUT          = clock_sample_in,
    OUTPUT         = clock_sample_out,
    RECEIVE        = clock_sample_recv,
    SEND           = clock_sample_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT      = int4,
    STORAGE        = extended
);
COMMENT ON TYPE clock_sample IS
'one run of a clock: its exact durations in ticks with their counts, and what was found';

CREATE FUNCTION clock_sample_from_jsonb(jsonb) RETURNS clock_sample
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_sample_from_jsonb';
COMMENT ON FUNCTION clock_sample_from_jsonb(jsonb) IS
'makes a clock_sample of the JSON object that is its text';

CREATE FUNCTION clock_sample_to_jsonb(clock_sample) RETURNS jsonb
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_sample_to_jsonb';
COMMENT ON FUNCTION clock_sample_to_jsonb(clock_sample) IS
'gives all members of a clock_sample as a JSON object';

-- nothing is lost either way, so an INSERT may do it by itself
CREATE CAST (jsonb AS clock_sample) WITH FUNCTION clock_sample_from_jsonb(jsonb) AS ASSIGNMENT;
COMMENT ON CAST (jsonb AS clock_sample) IS 'a sample from the JSON object that is its text';
CREATE CAST (clock_sample AS jsonb) WITH FUNCTION clock_sample_to_jsonb(clock_sample) AS ASSIGNMENT;
COMMENT ON CAST (clock_sample AS jsonb) IS 'all members of a sample as a JSON object';

-- A run in one row; NULL stands for what is not known.
CREATE TYPE clock_summary_row AS (
    source            text,
    clock             text,
    cost_ns           numeric,
    cost_margin_ns    numeric,
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
    migrations        bigint,
    warp_total_ns     numeric,
    lag_total_ns      numeric,
    resolution_ns     numeric,
    precision_bits    integer,
    frequency_hz      double precision,
    started_at        timestamp with time zone
);
COMMENT ON TYPE clock_summary_row IS
'one run of a clock in one row: what clock_summary() returns';
COMMENT ON COLUMN clock_summary_row.source IS
'clock source that was read';
COMMENT ON COLUMN clock_summary_row.clock IS
'clock that the source stood for, such as RDTSC';
COMMENT ON COLUMN clock_summary_row.cost_ns IS
'what a reading costs when nothing disturbs it, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.cost_margin_ns IS
'half of the 95 % confidence interval of cost_ns, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.duration_s IS
'how long the run took on the reference clock, in seconds';
COMMENT ON COLUMN clock_summary_row.readings IS
'readings that were compared with the one before: durations counted plus backward steps';
COMMENT ON COLUMN clock_summary_row.loop_ns IS
'elapsed time per reading with the work of sampling included, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.mean_ns IS
'mean duration of a reading, interruptions included, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.mean_margin_ns IS
'half of the 95 % confidence interval of mean_ns, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.stddev_ns IS
'standard deviation of the durations, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.min_ns IS
'shortest duration, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.p50_ns IS
'median of the durations, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.p90_ns IS
'duration that 90 % of all are not above, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.p99_ns IS
'duration that 99 % of all are not above, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.p999_ns IS
'duration that 99.9 % of all are not above, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.p9999_ns IS
'duration that 99.99 % of all are not above, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.max_ns IS
'longest duration, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.granularity_ticks IS
'step that the clock was seen to advance by, in ticks';
COMMENT ON COLUMN clock_summary_row.granularity_ns IS
'step that the clock was seen to advance by, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.stalls IS
'durations of 0: readings that repeated the one before';
COMMENT ON COLUMN clock_summary_row.longest_stall IS
'largest number of readings in a row that repeated the one before';
COMMENT ON COLUMN clock_summary_row.backward_steps IS
'readings that were below the one before';
COMMENT ON COLUMN clock_summary_row.backward_max_ns IS
'largest backward step, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.warps IS
'times that the clock jumped ahead of the reference clock';
COMMENT ON COLUMN clock_summary_row.warp_max_ns IS
'largest warp, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.lags IS
'times that the clock fell behind the reference clock';
COMMENT ON COLUMN clock_summary_row.lag_max_ns IS
'largest lag, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.gaps IS
'times of 10 microseconds or more that the process was kept from running';
COMMENT ON COLUMN clock_summary_row.gap_max_ns IS
'longest gap, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.lost_ms IS
'time that all gaps took, in milliseconds';
COMMENT ON COLUMN clock_summary_row.lost_percent IS
'share of the run that all gaps took, in percent';
COMMENT ON COLUMN clock_summary_row.rate_ppm IS
'by how many parts per million the clock advanced more than the reference clock';
COMMENT ON COLUMN clock_summary_row.rate_bound_ppm IS
'largest possible error of rate_ppm, in parts per million';
COMMENT ON COLUMN clock_summary_row.cpus IS
'CPUs that the run was seen on; empty where the system does not say';
COMMENT ON COLUMN clock_summary_row.migrations IS
'changes of CPU that were seen';
COMMENT ON COLUMN clock_summary_row.warp_total_ns IS
'sum of all warps, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.lag_total_ns IS
'sum of all lags, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.resolution_ns IS
'resolution that the system reports for the clock, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.precision_bits IS
'significant bits kept of durations of 4096 ticks and more; 64 if all are exact';
COMMENT ON COLUMN clock_summary_row.frequency_hz IS
'ticks of the clock per second';
COMMENT ON COLUMN clock_summary_row.started_at IS
'when the run began';

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
    OUT duration_ns bigint, OUT percent numeric, OUT running_percent numeric, OUT count bigint
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
'samples a clock and sums up the run in one row: cost of a reading, spread, quantiles, and what was found';

CREATE FUNCTION clock_throttled(
    source   text             DEFAULT 'instr_time',
    duration double precision DEFAULT 3,
    rate     double precision DEFAULT 200,
    OUT source text, OUT clock text, OUT instants bigint, OUT wakeups bigint, OUT instants_per_s numeric,
    OUT cold_mean_ns numeric, OUT cold_p50_ns numeric, OUT cold_p99_ns numeric, OUT cold_max_ns numeric,
    OUT warm_mean_ns numeric, OUT warm_p50_ns numeric, OUT warm_p99_ns numeric, OUT warm_max_ns numeric,
    OUT late_mean_us numeric, OUT late_p50_us numeric, OUT late_p99_us numeric, OUT late_max_us numeric,
    OUT cpu_percent numeric
) RETURNS record
LANGUAGE C VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'clock_throttled';
COMMENT ON FUNCTION clock_throttled(text, double precision, double precision) IS
'reads a clock at random instants for a number of seconds (3), sleeping in between at about 1 % of a CPU: what a reading costs right after a sleep and when warm, in nanoseconds, and how late it woke, in microseconds';

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
'samples a clock for a number of seconds (10) and gives a row an interval (1 s), when the interval ends: mean, quantiles and largest duration in nanoseconds, and what was found';

CREATE FUNCTION clock_report(
    duration double precision DEFAULT 3,
    cutoff   double precision DEFAULT 99.99
) RETURNS SETOF text
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 200
AS 'MODULE_PATHNAME', 'clock_report';
COMMENT ON FUNCTION clock_report(double precision, double precision) IS
'samples the system clock, RDTSCP and RDTSC, each for a number of seconds (3), and returns the lines that pg_test_timing of PostgreSQL 19 prints';

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
'samples all clocks in turn, each for an equal part of a number of seconds (1.5), and gives a row for each: cost of a reading with its margin and resolution in nanoseconds, and what is wrong with it';

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
    OUT duration_ns bigint, OUT percent numeric, OUT running_percent numeric, OUT count bigint
) RETURNS SETOF record
LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 100
AS 'MODULE_PATHNAME', 'clock_durations_sample';
COMMENT ON FUNCTION clock_durations(clock_sample, double precision) IS
'counts each duration of a run in nanoseconds, up to a cutoff in percent, and the largest';

CREATE FUNCTION clock_summary(sample clock_sample) RETURNS clock_summary_row
LANGUAGE C IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_summary_sample';
COMMENT ON FUNCTION clock_summary(clock_sample) IS
'sums up a run in one row: cost of a reading, spread, quantiles, and what was found';

CREATE FUNCTION clock_merge_add(internal, clock_sample) RETURNS internal
LANGUAGE C IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_merge_add';
COMMENT ON FUNCTION clock_merge_add(internal, clock_sample) IS
'transition function of the aggregate clock_merge()';

CREATE FUNCTION clock_merge_combine(internal, internal) RETURNS internal
LANGUAGE C IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_merge_combine';
COMMENT ON FUNCTION clock_merge_combine(internal, internal) IS
'combine function of the aggregate clock_merge()';

CREATE FUNCTION clock_merge_serialize(internal) RETURNS bytea
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_merge_serialize';
COMMENT ON FUNCTION clock_merge_serialize(internal) IS
'serialization function of the aggregate clock_merge()';

CREATE FUNCTION clock_merge_deserialize(bytea, internal) RETURNS internal
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_merge_deserialize';
COMMENT ON FUNCTION clock_merge_deserialize(bytea, internal) IS
'deserialization function of the aggregate clock_merge()';

CREATE FUNCTION clock_merge_result(internal) RETURNS clock_sample
LANGUAGE C IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_merge_result';
COMMENT ON FUNCTION clock_merge_result(internal) IS
'final function of the aggregate clock_merge()';

-- a state is two tables of counters and a table of long durations
CREATE AGGREGATE clock_merge(clock_sample) (
    SFUNC = clock_merge_add,
    STYPE = internal,
    SSPACE = 400000,
    FINALFUNC = clock_merge_result,
    FINALFUNC_MODIFY = READ_ONLY,
    COMBINEFUNC = clock_merge_combine,
    SERIALFUNC = clock_merge_serialize,
    DESERIALFUNC = clock_merge_deserialize,
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
'compares the clock of each CPU with that of the first, all of them within a number of seconds (3), by two background workers: offset in nanoseconds with certain bounds, warps, stalls, and the cost of a reading';

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
'executes count(*) over some rows (1000) plain and under EXPLAIN ANALYZE, by turns for a number of seconds (3): what counting and timing cost in nanoseconds a row, with margins, beside what the clock makes one expect';

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
'executes count(*) over some rows (1000) at each level of instrumentation, by turns for a number of seconds (3): a row a level with times in milliseconds, and overhead in nanoseconds a row with its margin';

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
'looks at a clock beside a reference now and then for a number of seconds (1): by how many parts per million it runs faster, with a 95 % margin, and its steps, which are no part of that';

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
'looks at clocks beside a reference at the end of each interval (1 s) for a number of seconds (5): how far each has advanced in milliseconds, and by how much more than the reference in microseconds';

CREATE FUNCTION clock_compare(
    sources    text[],
    duration   double precision DEFAULT 1,
    method     text DEFAULT 'rank',
    confidence numeric DEFAULT 95,
    OUT source text, OUT n integer, OUT median_ns numeric,
    OUT difference_ns numeric, OUT difference_margin_ns numeric, OUT difference_percent numeric,
    OUT verdict text, OUT p_value double precision,
    OUT difference_low_ns numeric, OUT difference_high_ns numeric, OUT difference_margin_percent numeric,
    OUT min_ns numeric, OUT max_ns numeric, OUT mean_ns numeric, OUT stddev_ns numeric, OUT pooled_stddev_ns numeric
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 4
AS 'MODULE_PATHNAME', 'clock_compare_sources';
COMMENT ON FUNCTION clock_compare(text[], double precision, text, numeric) IS
'what a reading of each clock source costs, and whether and by how much that differs from the first source''s';

CREATE FUNCTION clock_compare(
    a          double precision[],
    b          double precision[],
    method     text DEFAULT 'rank',
    confidence numeric DEFAULT 95,
    OUT data text, OUT n integer, OUT median double precision,
    OUT difference double precision, OUT difference_margin double precision, OUT difference_percent double precision,
    OUT verdict text, OUT p_value double precision,
    OUT difference_low double precision, OUT difference_high double precision,
    OUT difference_margin_percent double precision,
    OUT min double precision, OUT max double precision, OUT mean double precision, OUT stddev double precision,
    OUT pooled_stddev double precision
) RETURNS SETOF record
LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 2
AS 'MODULE_PATHNAME', 'clock_compare_arrays';
COMMENT ON FUNCTION clock_compare(double precision[], double precision[], text, numeric) IS
'whether and by how much two sets of figures differ';

CREATE FUNCTION clock_compare(
    a          clock_sample[],
    b          clock_sample[],
    method     text DEFAULT 'rank',
    confidence numeric DEFAULT 95,
    OUT data text, OUT n integer, OUT median_ns numeric,
    OUT difference_ns numeric, OUT difference_margin_ns numeric, OUT difference_percent numeric,
    OUT verdict text, OUT p_value double precision,
    OUT difference_low_ns numeric, OUT difference_high_ns numeric, OUT difference_margin_percent numeric,
    OUT min_ns numeric, OUT max_ns numeric, OUT mean_ns numeric, OUT stddev_ns numeric, OUT pooled_stddev_ns numeric
) RETURNS SETOF record
LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 2
AS 'MODULE_PATHNAME', 'clock_compare_samples';
COMMENT ON FUNCTION clock_compare(clock_sample[], clock_sample[], text, numeric) IS
'whether and by how much the cost of a reading differs between two sets of stored runs';

CREATE FUNCTION clock_compare_plot(
    sources    text[],
    duration   double precision DEFAULT 1,
    method     text DEFAULT 'rank',
    confidence numeric DEFAULT 95,
    width      integer DEFAULT 74,
    separate   boolean DEFAULT false
) RETURNS SETOF text
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 20
AS 'MODULE_PATHNAME', 'clock_compare_plot_sources';
COMMENT ON FUNCTION clock_compare_plot(text[], double precision, text, numeric, integer, boolean) IS
'the picture that ministat draws, of what a reading of each clock source costs in nanoseconds';

CREATE FUNCTION clock_compare_plot(
    a          double precision[],
    b          double precision[],
    method     text DEFAULT 'rank',
    confidence numeric DEFAULT 95,
    width      integer DEFAULT 74,
    separate   boolean DEFAULT false
) RETURNS SETOF text
LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 20
AS 'MODULE_PATHNAME', 'clock_compare_plot_arrays';
COMMENT ON FUNCTION clock_compare_plot(double precision[], double precision[], text, numeric, integer, boolean) IS
'the picture that ministat draws, of two sets of figures';

CREATE FUNCTION clock_compare_plot(
    a          clock_sample[],
    b          clock_sample[],
    method     text DEFAULT 'rank',
    confidence numeric DEFAULT 95,
    width      integer DEFAULT 74,
    separate   boolean DEFAULT false
) RETURNS SETOF text
LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 20
AS 'MODULE_PATHNAME', 'clock_compare_plot_samples';
COMMENT ON FUNCTION clock_compare_plot(clock_sample[], clock_sample[], text, numeric, integer, boolean) IS
'the picture that ministat draws, of what a reading costs in two sets of stored runs, in nanoseconds';

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
'lists the clock sources known, a row each, as the view clock_sources shows them; takes 50 ms once a session, to calibrate the TSC';

CREATE VIEW clock_sources AS
    SELECT source, available, clock, frequency_hz, frequency_from, resolution_ns, used_for, reason, description
    FROM clock_list_sources();
COMMENT ON VIEW clock_sources IS
'clock sources known: whether each can be read here, or why not, and what this server uses it for; takes 50 ms once a session, to calibrate the TSC';
COMMENT ON COLUMN clock_sources.source IS 'name of the clock source, as functions take it';
COMMENT ON COLUMN clock_sources.available IS 'whether it can be read on this server';
COMMENT ON COLUMN clock_sources.clock IS 'system call, function or instruction that is read; null if not available';
COMMENT ON COLUMN clock_sources.frequency_hz IS 'ticks a second; null if not available';
COMMENT ON COLUMN clock_sources.frequency_from IS 'where frequency_hz is known from';
COMMENT ON COLUMN clock_sources.resolution_ns IS 'nanoseconds of a step, as the system reports it, or of a tick of a counter; null if not available';
COMMENT ON COLUMN clock_sources.used_for IS 'what this server reads it for at present; null for nothing';
COMMENT ON COLUMN clock_sources.reason IS 'why it is not available; null if it is';
COMMENT ON COLUMN clock_sources.description IS 'what the source is';

CREATE FUNCTION clock_list_platform(OUT name text, OUT value text, OUT note text) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 20
AS 'MODULE_PATHNAME', 'clock_list_platform';
COMMENT ON FUNCTION clock_list_platform() IS
'lists what processor, hypervisor, operating system and server say of their clocks, a row each, as the view clock_platform shows it';

CREATE VIEW clock_platform AS
    SELECT name, value, note
    FROM clock_list_platform();
COMMENT ON VIEW clock_platform IS
'what processor, hypervisor, operating system and server say of their clocks, with a note where one has to be taken; measures nothing';
COMMENT ON COLUMN clock_platform.name IS 'what is told of, such as processor or kernel_clock_source';
COMMENT ON COLUMN clock_platform.value IS 'what it is on this machine; null if not known';
COMMENT ON COLUMN clock_platform.note IS 'what has to be considered about the value; null if nothing';

--
-- What to think of it.
--
CREATE FUNCTION clock_advice(
    duration double precision DEFAULT 1,
    OUT check_name text, OUT severity text, OUT finding text, OUT action text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 11
AS 'MODULE_PATHNAME', 'clock_advice';
COMMENT ON FUNCTION clock_advice(double precision) IS
'what to think of this server''s clocks, by what is measured in so many seconds: an overall verdict, then each check, worst first, with its severity (ok, notice or warning), what was found with the figures, and the commands that help now and for good, or what to ask a provider for';

CREATE FUNCTION clock_check_detail(
    duration         double precision DEFAULT 1,
    max_cost_ns      double precision DEFAULT NULL,
    max_skew_ns      double precision DEFAULT NULL,
    max_drift_ppm    double precision DEFAULT NULL,
    max_lost_percent double precision DEFAULT NULL,
    OUT check_name text, OUT ok boolean, OUT figure numeric, OUT threshold numeric, OUT unit text, OUT detail text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 9
AS 'MODULE_PATHNAME', 'clock_check_detail';
COMMENT ON FUNCTION clock_check_detail(double precision, double precision, double precision, double precision, double precision) IS
'checks of the clocks, which fail where clock_advice warns or a threshold is exceeded, with the figure, the threshold and the unit of each';

CREATE FUNCTION clock_check(
    duration         double precision DEFAULT 1,
    max_cost_ns      double precision DEFAULT NULL,
    max_skew_ns      double precision DEFAULT NULL,
    max_drift_ppm    double precision DEFAULT NULL,
    max_lost_percent double precision DEFAULT NULL,
    OUT check_name text, OUT ok boolean
) RETURNS SETOF record
LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 9
BEGIN ATOMIC
    SELECT d.check_name, d.ok
    FROM clock_check_detail(duration, max_cost_ns, max_skew_ns, max_drift_ppm, max_lost_percent)
         WITH ORDINALITY AS d(check_name, ok, figure, threshold, unit, detail, n)
    ORDER BY d.n;
END;
COMMENT ON FUNCTION clock_check(double precision, double precision, double precision, double precision, double precision) IS
'checks of the clocks, which fail where clock_advice warns or a threshold is exceeded: always the same rows, for the expected output of tests';

--
-- EXPLAIN ANALYZE without the cost of timing.
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
    OUT share_margin_percent numeric,
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
CREATE FUNCTION clock_impact_detail(
    seconds double precision DEFAULT NULL,
    OUT setting text, OUT value text, OUT in_effect boolean, OUT work text,
    OUT cpu_percent numeric, OUT cpu_margin_percent numeric, OUT least_cpu_percent numeric, OUT bound text,
    OUT operations bigint, OUT operations_per_s numeric, OUT operation_ns numeric, OUT operation_margin_ns numeric,
    OUT reading_ns numeric, OUT period_s numeric, OUT period text,
    OUT readings_per_operation numeric, OUT reading_margin_ns numeric, OUT clock text, OUT active_percent numeric,
    OUT statistics text, OUT reason text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10
AS 'MODULE_PATHNAME', 'clock_impact_detail';
COMMENT ON FUNCTION clock_impact_detail(double precision) IS
'what timing would cost on the work that this server does, a row for each kind of work, since the statistics were last reset or in so many seconds from now on: cpu_percent is of one CPU, with its margin (half of a 95 % interval) and the least it can be, bound says which way the number of operations may be off, operation_ns is the cost of timing one, reading_ns that of a reading of the clock, active_percent is of the time in which statements were executed, reason says what is not known';

-- What is not known of a part, is not known of the whole: then the others are
-- what it costs at least.
CREATE FUNCTION clock_impact(
    seconds double precision DEFAULT NULL,
    OUT setting text, OUT value text, OUT in_effect boolean,
    OUT cpu_percent numeric, OUT cpu_margin_percent numeric, OUT least_cpu_percent numeric, OUT bound text,
    OUT operations_per_s numeric, OUT reading_ns numeric, OUT period_s numeric, OUT period text,
    OUT readings_per_operation numeric, OUT reading_margin_ns numeric, OUT clock text, OUT active_percent numeric,
    OUT statistics text, OUT reason text
) RETURNS SETOF record
LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 4
BEGIN ATOMIC
    SELECT d.setting, d.value, d.in_effect,
           sum(d.cpu_percent),
           sum(d.cpu_margin_percent),
           sum(d.least_cpu_percent),
           CASE WHEN bool_or(d.bound = 'estimate') OR bool_or(d.bound = 'at most') AND bool_or(d.bound = 'at least' OR d.cpu_percent IS NULL)
                THEN 'estimate'
                WHEN bool_and(d.cpu_percent IS NULL) THEN NULL
                WHEN bool_or(d.cpu_percent IS NULL) THEN 'at least'
                ELSE max(d.bound) END,
           sum(d.operations_per_s),
           max(d.reading_ns),
           max(d.period_s),
           max(d.period),
           round(sum(d.operations_per_s * d.readings_per_operation) / nullif(sum(d.operations_per_s), 0::numeric), 2),
           max(d.reading_margin_ns),
           max(d.clock),
           sum(d.active_percent),
           string_agg(DISTINCT d.statistics, ', '),
           string_agg(d.work || ': ' || d.reason, '; ' ORDER BY d.n)
    FROM clock_impact_detail(seconds) WITH ORDINALITY
         AS d(setting, value, in_effect, work, cpu_percent, cpu_margin_percent, least_cpu_percent, bound,
              operations, operations_per_s, operation_ns, operation_margin_ns, reading_ns, period_s, period,
              readings_per_operation, reading_margin_ns, clock, active_percent, statistics, reason, n)
    GROUP BY d.setting, d.value, d.in_effect
    ORDER BY min(d.n);
END;
COMMENT ON FUNCTION clock_impact(double precision) IS
'what track_io_timing, track_wal_io_timing and auto_explain would cost on the work that this server does, a row for each setting, since the statistics were last reset or in so many seconds from now on: cpu_percent is of one CPU, with its margin (half of a 95 % interval) and the least it can be, bound says which way the number of operations may be off, reading_ns is the cost of a reading of the clock, active_percent is of the time in which statements were executed, reason says what is not known';

--
-- Statistics of plans that are timed all the time.
--
CREATE FUNCTION clock_list_plan_stats(
    OUT dbid oid, OUT userid oid, OUT queryid bigint, OUT planid bigint,
    OUT executions bigint, OUT executions_margin double precision, OUT timed_executions bigint, OUT failed_executions bigint,
    OUT total_ms double precision, OUT total_margin_ms double precision,
    OUT mean_ms double precision, OUT mean_margin_ms double precision,
    OUT first_seen timestamptz, OUT last_seen timestamptz, OUT nodes integer, OUT plan text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL SAFE ROWS 1000
AS 'MODULE_PATHNAME', 'clock_list_plan_stats';
COMMENT ON FUNCTION clock_list_plan_stats() IS
'lists the plans of which statistics are kept, a row each, as the view clock_plan_stats shows them';

CREATE VIEW clock_plan_stats AS
    SELECT s.queryid, s.planid, s.executions, s.executions_margin, s.timed_executions, s.failed_executions,
           s.total_ms, s.total_margin_ms, s.mean_ms, s.mean_margin_ms, s.plan, s.nodes, s.first_seen, s.last_seen,
           d.datname AS dbname, pg_catalog.pg_get_userbyid(s.userid) AS username, s.dbid, s.userid
    FROM clock_list_plan_stats() s LEFT JOIN pg_catalog.pg_database d ON d.oid = s.dbid;
COMMENT ON VIEW clock_plan_stats IS
'plans that were executed while clocktiming.track was on, a row for each plan of a query of a user in a database, with how often and how long they were executed, estimated from a random part of the executions';
COMMENT ON COLUMN clock_plan_stats.queryid IS 'query identifier, that of pg_stat_statements; null if it may not be seen';
COMMENT ON COLUMN clock_plan_stats.planid IS 'identifier of the plan: a hash of its tree; null if it may not be seen';
COMMENT ON COLUMN clock_plan_stats.executions IS 'estimated number of executions that have succeeded: each one that was timed stands for 1/p, where p was its chance of being timed';
COMMENT ON COLUMN clock_plan_stats.executions_margin IS 'half of a 95 % confidence interval of the number of executions';
COMMENT ON COLUMN clock_plan_stats.timed_executions IS 'number of executions that were timed, and have succeeded';
COMMENT ON COLUMN clock_plan_stats.failed_executions IS 'estimated number of executions that have ended with an error; their times are not counted';
COMMENT ON COLUMN clock_plan_stats.total_ms IS 'estimated time of all executions, in milliseconds, without what timing them has cost';
COMMENT ON COLUMN clock_plan_stats.total_margin_ms IS 'half of a 95 % confidence interval of the time of all executions, in milliseconds';
COMMENT ON COLUMN clock_plan_stats.mean_ms IS 'mean time of an execution, in milliseconds; null if none has succeeded';
COMMENT ON COLUMN clock_plan_stats.mean_margin_ms IS 'half of a 95 % confidence interval of the mean time, in milliseconds; null for fewer than two timed executions';
COMMENT ON COLUMN clock_plan_stats.plan IS 'the plan as EXPLAIN shows it, without figures and conditions; null if it is not known, as no execution has succeeded';
COMMENT ON COLUMN clock_plan_stats.nodes IS 'number of nodes of the plan, of which the first 200 have statistics of their own; 0 if none is known, as no execution has succeeded';
COMMENT ON COLUMN clock_plan_stats.first_seen IS 'time of the first timed execution';
COMMENT ON COLUMN clock_plan_stats.last_seen IS 'time of the latest timed execution';
COMMENT ON COLUMN clock_plan_stats.dbname IS 'name of the database; null if it has been dropped';
COMMENT ON COLUMN clock_plan_stats.username IS 'name of the user who has executed the plan';
COMMENT ON COLUMN clock_plan_stats.dbid IS 'OID of the database';
COMMENT ON COLUMN clock_plan_stats.userid IS 'OID of the user who has executed the plan';

CREATE FUNCTION clock_list_node_stats(
    OUT dbid oid, OUT userid oid, OUT queryid bigint, OUT planid bigint,
    OUT node integer, OUT depth integer, OUT node_type text, OUT relation text, OUT index_name text,
    OUT loops bigint, OUT estimated_rows double precision, OUT actual_rows double precision,
    OUT mean_rows_factor double precision, OUT worst_rows_factor double precision, OUT calls bigint, OUT timed_calls bigint,
    OUT total_ms double precision, OUT total_margin_ms double precision,
    OUT self_ms double precision, OUT self_margin_ms double precision, OUT share_percent double precision
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL SAFE ROWS 5000
AS 'MODULE_PATHNAME', 'clock_list_node_stats';
COMMENT ON FUNCTION clock_list_node_stats() IS
'lists the nodes of plans of which statistics are kept, a row each, as the view clock_node_stats shows them';

CREATE VIEW clock_node_stats AS
    SELECT s.queryid, s.planid, s.node, s.depth, s.node_type, s.relation, s.index_name,
           s.self_ms, s.self_margin_ms, s.share_percent, s.total_ms, s.total_margin_ms,
           s.loops, s.estimated_rows, s.actual_rows, s.mean_rows_factor, s.worst_rows_factor, s.calls, s.timed_calls,
           d.datname AS dbname, pg_catalog.pg_get_userbyid(s.userid) AS username, s.dbid, s.userid
    FROM clock_list_node_stats() s LEFT JOIN pg_catalog.pg_database d ON d.oid = s.dbid;
COMMENT ON VIEW clock_node_stats IS
'nodes of the plans in clock_plan_stats, a row each, with what they have taken in all executions together, and how far the planner''s estimates of rows were off';
COMMENT ON COLUMN clock_node_stats.queryid IS 'query identifier, that of pg_stat_statements; null if it may not be seen';
COMMENT ON COLUMN clock_node_stats.planid IS 'identifier of the plan: a hash of its tree; null if it may not be seen';
COMMENT ON COLUMN clock_node_stats.node IS 'number of the node in the plan, from 1, in the order of EXPLAIN';
COMMENT ON COLUMN clock_node_stats.depth IS 'depth of the node in the plan; 0 is the root';
COMMENT ON COLUMN clock_node_stats.node_type IS 'type of the node, as EXPLAIN calls it';
COMMENT ON COLUMN clock_node_stats.relation IS 'relation that the node scans or modifies, by its name when the plan was first seen; null if none';
COMMENT ON COLUMN clock_node_stats.index_name IS 'index that the node scans, by its name when the plan was first seen; null if none';
COMMENT ON COLUMN clock_node_stats.self_ms IS 'estimated time of the node itself in all executions and processes, without the nodes below, in milliseconds; null, as are the other times and the calls, if it was never timed, as one that is executed asynchronously';
COMMENT ON COLUMN clock_node_stats.self_margin_ms IS 'half of a 95 % confidence interval of the time of the node itself, in milliseconds';
COMMENT ON COLUMN clock_node_stats.share_percent IS 'share that a process''s time of the node itself has in the time of all executions of the plan, in percent';
COMMENT ON COLUMN clock_node_stats.total_ms IS 'estimated time of the node and those below it in all executions and processes, in milliseconds';
COMMENT ON COLUMN clock_node_stats.total_margin_ms IS 'half of a 95 % confidence interval of the time of the node and those below it, in milliseconds';
COMMENT ON COLUMN clock_node_stats.loops IS 'estimated number of loops in all executions, in the processes in which the node was timed; in all processes if it was timed in none';
COMMENT ON COLUMN clock_node_stats.estimated_rows IS 'mean number of rows that the planner has expected of a loop';
COMMENT ON COLUMN clock_node_stats.actual_rows IS 'mean number of rows that a loop has returned; null if there was none';
COMMENT ON COLUMN clock_node_stats.mean_rows_factor IS 'how many times too many or too few the expected rows were, on the geometric mean of the executions, neither number being taken for less than 1; null if there was no loop';
COMMENT ON COLUMN clock_node_stats.worst_rows_factor IS 'how many times too many or too few the expected rows were in the execution where they were furthest off; null if there was no loop';
COMMENT ON COLUMN clock_node_stats.calls IS 'estimated number of calls of the node in all executions';
COMMENT ON COLUMN clock_node_stats.timed_calls IS 'estimated number of calls that would have been timed, had all executions been';
COMMENT ON COLUMN clock_node_stats.dbname IS 'name of the database; null if it has been dropped';
COMMENT ON COLUMN clock_node_stats.username IS 'name of the user who has executed the plan';
COMMENT ON COLUMN clock_node_stats.dbid IS 'OID of the database';
COMMENT ON COLUMN clock_node_stats.userid IS 'OID of the user who has executed the plan';

CREATE FUNCTION clock_stats_info(
    OUT plans bigint, OUT evicted_plans bigint, OUT reset_at timestamptz
) RETURNS record
LANGUAGE C VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_stats_info';
COMMENT ON FUNCTION clock_stats_info() IS
'of how many plans there are statistics, how many plans were given up for lack of room (see clocktiming.track_max), and since when: the last reset of all';

CREATE FUNCTION clock_stats_reset(
    userid  oid    DEFAULT 0,
    dbid    oid    DEFAULT 0,
    queryid bigint DEFAULT 0
) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_stats_reset';
COMMENT ON FUNCTION clock_stats_reset(oid, oid, bigint) IS
'forgets the statistics of a user''s, a database''s or a query''s plans, 0 being all of them, and nothing if an argument is null; snapshots remain';

--
-- What has changed since a snapshot of them.
--
CREATE TABLE clock_node_snapshots (
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
    CHECK (cardinality(total_sums) = 8 AND cardinality(self_sums) = 8)
);
SELECT pg_catalog.pg_extension_config_dump('clock_node_snapshots', '');
COMMENT ON TABLE clock_node_snapshots IS
'snapshots of the statistics of plans and their nodes, which clock_stats_snapshot() takes and clock_node_changes() compares; rows that are no longer needed may be deleted';
COMMENT ON COLUMN clock_node_snapshots.taken_at IS 'time of the snapshot';
COMMENT ON COLUMN clock_node_snapshots.dbid IS 'OID of the database';
COMMENT ON COLUMN clock_node_snapshots.userid IS 'OID of the user who has executed the plan';
COMMENT ON COLUMN clock_node_snapshots.queryid IS 'query identifier, that of pg_stat_statements';
COMMENT ON COLUMN clock_node_snapshots.planid IS 'identifier of the plan: a hash of its tree';
COMMENT ON COLUMN clock_node_snapshots.node IS 'number of the node in the plan, from 1; 0 is the whole plan';
COMMENT ON COLUMN clock_node_snapshots.depth IS 'depth of the node in the plan; 0 is the root';
COMMENT ON COLUMN clock_node_snapshots.node_type IS 'type of the node, as EXPLAIN calls it';
COMMENT ON COLUMN clock_node_snapshots.relation IS 'relation that the node scans or modifies; null if none';
COMMENT ON COLUMN clock_node_snapshots.index_name IS 'index that the node scans; null if none';
COMMENT ON COLUMN clock_node_snapshots.first_seen IS 'time since when the sums are of the same plan without a reset';
COMMENT ON COLUMN clock_node_snapshots.total_sums IS 'weighted sums of the times of the node and those below it, in nanoseconds';
COMMENT ON COLUMN clock_node_snapshots.self_sums IS 'weighted sums of the times of the node itself, in nanoseconds';

CREATE FUNCTION clock_list_node_sums(
    OUT dbid oid, OUT userid oid, OUT queryid bigint, OUT planid bigint,
    OUT node integer, OUT depth integer, OUT node_type text, OUT relation text, OUT index_name text,
    OUT first_seen timestamptz, OUT total_sums double precision[], OUT self_sums double precision[]
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL SAFE ROWS 5000
AS 'MODULE_PATHNAME', 'clock_list_node_sums';
COMMENT ON FUNCTION clock_list_node_sums() IS
'internal: lists the sums that statistics of plans (node 0) and nodes are made of, as far as the caller may see them';

CREATE FUNCTION clock_compare_sums(
    "before" double precision[], "after" double precision[], continues boolean, confidence double precision,
    OUT before_timed bigint, OUT after_timed bigint, OUT before_ms double precision, OUT after_ms double precision,
    OUT difference_ms double precision, OUT difference_margin_ms double precision, OUT p_value double precision,
    OUT before_total_ms double precision, OUT after_total_ms double precision
) RETURNS record
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_compare_sums';
COMMENT ON FUNCTION clock_compare_sums(double precision[], double precision[], boolean, double precision) IS
'internal: compares the mean times of two sums of clock_list_node_sums() by Welch''s test; if one continues the other, what came before is taken off';

CREATE FUNCTION clock_check_changes(
    confidence numeric, taken_at timestamptz
) RETURNS void
LANGUAGE C STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_check_changes';
COMMENT ON FUNCTION clock_check_changes(numeric, timestamptz) IS
'internal: an error unless that is a confidence, and there is a snapshot';

CREATE FUNCTION clock_stats_snapshot() RETURNS timestamptz
LANGUAGE SQL VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    WITH t AS MATERIALIZED (
        SELECT clock_timestamp() AS now
    ), i AS (
        INSERT INTO clock_node_snapshots
            SELECT t.now, s.dbid, s.userid, s.queryid, s.planid, s.node, s.depth, s.node_type, s.relation, s.index_name,
                   s.first_seen, s.total_sums, s.self_sums
            FROM t, clock_list_node_sums() s
            RETURNING taken_at
    )
    SELECT max(i.taken_at) FROM i;
END;
COMMENT ON FUNCTION clock_stats_snapshot() IS
'stores the statistics of all plans and nodes as they are now, for clock_node_changes(), and returns the time of the snapshot; null, and none is stored, if there are no plans that may be seen';

-- The rate of false discoveries is held below what the confidence leaves by the procedure of Benjamini and Hochberg (Journal of the
-- Royal Statistical Society B 57, 1995): a p-value is multiplied by how many there are, and divided by its rank.
-- (Operators get the types that they are for: with others, one of whoever may create objects in the extension's schema could be taken.)
CREATE FUNCTION clock_node_changes(
    since      timestamptz DEFAULT NULL,
    confidence numeric     DEFAULT 95
) RETURNS TABLE (
    change text, queryid bigint, planid bigint, node integer, depth integer, node_type text, relation text,
    before_ms double precision, after_ms double precision, difference_ms double precision, difference_margin_ms double precision,
    p_value double precision, before_timed bigint, after_timed bigint, before_planid bigint,
    index_name text, dbid oid, userid oid, snapshot timestamptz
)
LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
    SELECT clock_check_changes(clock_node_changes.confidence,
                               (SELECT max(s.taken_at) FROM clock_node_snapshots s
                                WHERE s.taken_at <= coalesce(since, 'infinity')));
    WITH was AS MATERIALIZED (
        SELECT s.* FROM clock_node_snapshots s
        WHERE s.taken_at = (SELECT max(l.taken_at) FROM clock_node_snapshots l WHERE l.taken_at <= coalesce(since, 'infinity'))
    ), compared AS MATERIALIZED (
        SELECT i.dbid, i.userid, i.queryid, i.planid, i.node, i.depth, i.node_type, i.relation, i.index_name, w.taken_at, c.*
        FROM clock_list_node_sums() i
        LEFT JOIN was w ON w.dbid = i.dbid AND w.userid = i.userid AND w.queryid = i.queryid AND w.planid = i.planid
                           AND w.node = i.node AND w.node_type = i.node_type,
             LATERAL clock_compare_sums(coalesce(w.self_sums, '{0,0,0,0,0,0,0,0}'), i.self_sums,
                                        coalesce(w.first_seen = i.first_seen, false), (confidence / 100::numeric)::double precision) c
    ), ranked AS (
        SELECT c.*, c.p_value * (count(*) OVER ())::double precision / (count(*) OVER (ORDER BY c.p_value))::double precision AS scaled
        FROM compared c WHERE c.p_value IS NOT NULL
    ), adjusted AS (
        SELECT r.*, least(1::double precision, min(r.scaled) OVER (ORDER BY r.p_value DESC)) AS adjusted FROM ranked r
    ), mostly_before AS (
        -- (a plan that has been given up since then is compared by its snapshot alone)
        SELECT DISTINCT ON (w.dbid, w.userid, w.queryid) w.dbid, w.userid, w.queryid, w.planid, w.taken_at, c.after_ms AS mean_ms, c.after_timed AS timed
        FROM was w, LATERAL clock_compare_sums('{0,0,0,0,0,0,0,0}', w.total_sums, false, (confidence / 100::numeric)::double precision) c
        WHERE w.node = 0 AND c.after_timed > 0::bigint
        ORDER BY w.dbid, w.userid, w.queryid, c.after_total_ms DESC, w.planid
    ), mostly_after AS (
        SELECT DISTINCT ON (c.dbid, c.userid, c.queryid) c.dbid, c.userid, c.queryid, c.planid, c.node_type, c.after_ms AS mean_ms, c.after_timed AS timed
        FROM compared c
        WHERE c.node = 0 AND c.after_timed > 0::bigint
        ORDER BY c.dbid, c.userid, c.queryid, c.after_total_ms DESC, c.planid
    )
    SELECT v.change, v.queryid, v.planid, v.node, v.depth, v.node_type, v.relation,
           v.before_ms, v.after_ms, v.difference_ms, v.difference_margin_ms, v.adjusted, v.before_timed, v.after_timed, v.before_planid,
           v.index_name, v.dbid, v.userid, v.taken_at
    FROM (SELECT 'other plan' AS change, a.queryid, a.planid, 0 AS node, 0 AS depth, a.node_type, NULL::text AS relation,
                 b.mean_ms AS before_ms, a.mean_ms AS after_ms, a.mean_ms - b.mean_ms AS difference_ms,
                 NULL::double precision AS difference_margin_ms, NULL::double precision AS adjusted,
                 b.timed AS before_timed, a.timed AS after_timed,
                 b.planid AS before_planid, NULL::text AS index_name, a.dbid, a.userid, b.taken_at
          FROM mostly_before b JOIN mostly_after a ON a.dbid = b.dbid AND a.userid = b.userid AND a.queryid = b.queryid
          WHERE a.planid <> b.planid
          UNION ALL
          SELECT CASE WHEN d.difference_ms > 0::double precision THEN 'slower' ELSE 'faster' END, d.queryid, d.planid, d.node, d.depth, d.node_type, d.relation,
                 d.before_ms, d.after_ms, d.difference_ms, d.difference_margin_ms, d.adjusted, d.before_timed, d.after_timed,
                 d.planid, d.index_name, d.dbid, d.userid, d.taken_at
          FROM adjusted d WHERE d.adjusted < (1::numeric - confidence / 100::numeric)::double precision) v
    ORDER BY v.change = 'other plan' DESC, abs(v.difference_ms * v.after_timed::double precision) DESC, v.queryid, v.planid, v.node;
END;
COMMENT ON FUNCTION clock_node_changes(timestamptz, numeric) IS
'which plans and nodes take longer or shorter on average than until the latest snapshot of that time or before, and which queries mostly have another plan: by Welch''s test, whose p-values are adjusted for how many are compared (Benjamini and Hochberg); times are those of the node itself, node 0 is the whole plan';

--
-- Clocks that are watched all the time
--
CREATE FUNCTION clock_list_history(
    OUT per text,
    OUT at timestamptz,
    OUT intervals integer,
    OUT watched_s double precision,
    OUT source text,
    OUT cold_ns double precision,
    OUT warm_ns double precision,
    OUT rate_ppm double precision,
    OUT assumed_rate_ppm double precision,
    OUT backward_steps bigint,
    OUT warps bigint,
    OUT lags bigint,
    OUT gaps bigint,
    OUT stolen_percent double precision,
    OUT off_cpu_percent double precision,
    OUT cpu_skew_ns double precision,
    OUT synchronised boolean,
    OUT sync_offset_us double precision,
    OUT sync_error_us double precision,
    OUT sync_frequency_ppm double precision,
    OUT kernel_clock_source text,
    OUT boot_id text,
    OUT hypervisor text,
    OUT processor text,
    OUT cpus integer,
    OUT sample clock_sample
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL SAFE ROWS 2000
AS 'MODULE_PATHNAME', 'clock_list_history';
COMMENT ON FUNCTION clock_list_history() IS
'lists what the worker that watches the clocks has measured, a row a minute and a row an hour, as the view clock_history shows it';

CREATE VIEW clock_history AS
    SELECT per, at, intervals, watched_s, source, cold_ns, warm_ns, rate_ppm, assumed_rate_ppm, backward_steps, warps, lags, gaps, stolen_percent, off_cpu_percent, cpu_skew_ns, synchronised, sync_offset_us, sync_error_us, sync_frequency_ppm, kernel_clock_source, boot_id, hypervisor, processor, cpus, sample
    FROM clock_list_history();
COMMENT ON VIEW clock_history IS
'what the clock that EXPLAIN ANALYZE reads was like while clocktiming.watch was on, a row for each minute of the latest day and for each hour of the latest 400 days';
COMMENT ON COLUMN clock_history.per IS 'what the row is of: a minute of the latest day, or an hour of the latest 400 days, which is its minutes merged';
COMMENT ON COLUMN clock_history.at IS 'beginning of the minute or hour';
COMMENT ON COLUMN clock_history.intervals IS 'number of intervals of clocktiming.watch_interval in which the clock was judged';
COMMENT ON COLUMN clock_history.watched_s IS 'time in which the clock was watched, in seconds';
COMMENT ON COLUMN clock_history.source IS 'clock source that EXPLAIN ANALYZE has read, at the end';
COMMENT ON COLUMN clock_history.cold_ns IS 'cost of a reading after a sleep, in nanoseconds: mean of the intervals'' smallest';
COMMENT ON COLUMN clock_history.warm_ns IS 'cost of a reading among others, in nanoseconds: mean of the intervals'' smallest';
COMMENT ON COLUMN clock_history.rate_ppm IS 'by how much the clock has run faster than CLOCK_MONOTONIC_RAW, in parts per million: mean of the intervals'' medians';
COMMENT ON COLUMN clock_history.assumed_rate_ppm IS 'by how much the TSC has run faster than the frequency that the server reckons with, in parts per million; null where the server times by another clock';
COMMENT ON COLUMN clock_history.backward_steps IS 'number of readings below the one before';
COMMENT ON COLUMN clock_history.warps IS 'number of jumps ahead of the reference clock';
COMMENT ON COLUMN clock_history.lags IS 'number of times that the clock has fallen behind the reference clock, backward steps apart';
COMMENT ON COLUMN clock_history.gaps IS 'number of pauses in which both clocks have advanced';
COMMENT ON COLUMN clock_history.stolen_percent IS 'share of the time of all CPUs that the hypervisor gave to others, in percent; null if not known';
COMMENT ON COLUMN clock_history.off_cpu_percent IS 'share of the time of looking at the clock in which others had the CPU, in percent';
COMMENT ON COLUMN clock_history.cpu_skew_ns IS 'by how much the clocks of two CPUs have differed at least, the largest such amount, in nanoseconds; 0 where no difference was proven, which takes some microseconds of it; null where there is but one CPU';
COMMENT ON COLUMN clock_history.synchronised IS 'whether the kernel''s clock was synchronised all the time; null if not known';
COMMENT ON COLUMN clock_history.sync_offset_us IS 'latest offset of the kernel''s clock from its time server, in microseconds; null if not known';
COMMENT ON COLUMN clock_history.sync_error_us IS 'largest bound of the error of the kernel''s clock, in microseconds; null if not known';
COMMENT ON COLUMN clock_history.sync_frequency_ppm IS 'latest rate by which the kernel''s clock is steered, in parts per million; null if not known';
COMMENT ON COLUMN clock_history.kernel_clock_source IS 'clock source that the kernel keeps time by; null if not known';
COMMENT ON COLUMN clock_history.boot_id IS 'identifier of the machine''s start; null if not known';
COMMENT ON COLUMN clock_history.hypervisor IS 'name of the hypervisor, or none; null if not known';
COMMENT ON COLUMN clock_history.processor IS 'name of the processor; null if not known';
COMMENT ON COLUMN clock_history.cpus IS 'number of CPUs online; null if not known';
COMMENT ON COLUMN clock_history.sample IS 'durations between readings, at most 24 distinct ones, for all functions of a clock_sample';

CREATE FUNCTION clock_list_events(
    OUT at timestamptz,
    OUT what text,
    OUT before text,
    OUT after text,
    OUT evidence text,
    OUT ended_at timestamptz
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL SAFE ROWS 100
AS 'MODULE_PATHNAME', 'clock_list_events';
COMMENT ON FUNCTION clock_list_events() IS
'lists what has changed of the clocks, the latest 1000 events, as the view clock_events shows them';

CREATE VIEW clock_events AS
    SELECT at, what, before, after, evidence, ended_at
    FROM clock_list_events();
COMMENT ON VIEW clock_events IS
'what has changed of the clocks while clocktiming.watch was on, a row for each change, the latest 1000';
COMMENT ON COLUMN clock_events.at IS 'time from which on the change has shown, and of the kernel''s and the server''s clock source, the machine, synchronisation and stolen time the time when it was found';
COMMENT ON COLUMN clock_events.what IS 'what has changed: kernel clock source, clock source, cost, rate, backward step, warp, lag, CPU skew, machine, resume, synchronisation or stolen time';
COMMENT ON COLUMN clock_events.before IS 'what was until then';
COMMENT ON COLUMN clock_events.after IS 'what is since then';
COMMENT ON COLUMN clock_events.evidence IS 'what the event was found by';
COMMENT ON COLUMN clock_events.ended_at IS 'time when what was before has come back, or something else has followed; null if the event goes on';

CREATE FUNCTION clock_trust(
    "from" timestamptz,
    "to" timestamptz DEFAULT pg_catalog.now(),
    OUT trusted boolean,
    OUT watched_percent double precision,
    OUT spoilt_by text[],
    OUT verdict text
) RETURNS record
LANGUAGE sql VOLATILE PARALLEL SAFE
BEGIN ATOMIC
    WITH spoilt AS (
        SELECT coalesce(array_agg(DISTINCT e.what ORDER BY e.what), '{}') AS by
        FROM clock_events e
        WHERE e.at < "to"
          AND CASE
                -- these end when they are over
                WHEN e.what IN ('rate', 'backward step', 'warp', 'lag', 'CPU skew', 'resume', 'stolen time') THEN coalesce(e.ended_at, 'infinity') >= "from"
                -- these may go on for ever, but times of before and after are of two kinds
                WHEN e.what IN ('clock source', 'kernel clock source') THEN e.at >= "from" OR e.ended_at BETWEEN "from" AND "to"
                -- likewise, unless it is more
                WHEN e.what = 'cost' THEN e.at >= "from" OR e.ended_at BETWEEN "from" AND "to"
                  OR coalesce(e.ended_at, 'infinity') >= "from" AND split_part(e.after, ' ', 1)::double precision > split_part(e.before, ' ', 1)::double precision
              END
    ), pieces AS (
        -- minutes where there are any, hours before
        SELECT h.at, h.watched_s, CASE h.per WHEN 'minute' THEN 60 ELSE 3600 END AS length_s
        FROM clock_history h
        WHERE h.per = 'minute' OR h.at + interval '1 hour' <= (SELECT min(m.at) FROM clock_history m WHERE m.per = 'minute')
    ), watched AS (
        -- the part of a piece that is in the period; of a minute all that was watched may be
        SELECT CASE WHEN "from" < "to" THEN least(100, coalesce(sum(CASE p.length_s WHEN 60 THEN least(p.watched_s, o.overlap_s) ELSE least(p.watched_s, p.length_s) * o.overlap_s / p.length_s END), 0)
               * 100 / extract(epoch FROM "to" - "from")::double precision) END AS percent
        FROM pieces p,
             LATERAL (SELECT extract(epoch FROM least("to", p.at + p.length_s * interval '1 second') - greatest("from", p.at))::double precision AS overlap_s) o
        WHERE p.at < "to" AND p.at + p.length_s * interval '1 second' > "from"
    )
    SELECT CASE WHEN cardinality(s.by) > 0 THEN false WHEN w.percent >= 90 THEN true END,
           round(w.percent::numeric, 2)::double precision,
           s.by,
           CASE WHEN cardinality(s.by) > 0 THEN 'not to be believed: ' || array_to_string(s.by, ', ')
                WHEN w.percent >= 90 THEN 'to be believed'
                WHEN w.percent IS NULL THEN 'not known: the period is empty'
                ELSE 'not known: the clock was watched for ' || coalesce(round(w.percent::numeric, 2)::text, '0') || ' % of the period' END
    FROM spoilt s, watched w;
END;
COMMENT ON FUNCTION clock_trust(timestamptz, timestamptz) IS
'whether timings of a period, as of pg_stat_statements, auto_explain and track_io_timing, can be believed, and what has spoilt them';

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
REVOKE ALL ON FUNCTION clock_compare(text[], double precision, text, numeric) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_compare(text[], double precision, text, numeric) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_compare_plot(text[], double precision, text, numeric, integer, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_compare_plot(text[], double precision, text, numeric, integer, boolean) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_check_detail(double precision, double precision, double precision, double precision, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_check_detail(double precision, double precision, double precision, double precision, double precision) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_check(double precision, double precision, double precision, double precision, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_check(double precision, double precision, double precision, double precision, double precision) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_advice(double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_advice(double precision) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_list_sources() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_list_sources() TO pg_monitor;
REVOKE ALL ON FUNCTION clock_list_platform() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_list_platform() TO pg_monitor;
REVOKE ALL ON FUNCTION clock_impact_detail(double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_impact_detail(double precision) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_impact(double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_impact(double precision) TO pg_monitor;
REVOKE ALL ON PROCEDURE clock_executor_overhead FROM PUBLIC;
GRANT EXECUTE ON PROCEDURE clock_executor_overhead TO pg_monitor;
REVOKE ALL ON TABLE clock_sources FROM PUBLIC;
GRANT SELECT ON TABLE clock_sources TO pg_monitor;
REVOKE ALL ON TABLE clock_platform FROM PUBLIC;
GRANT SELECT ON TABLE clock_platform TO pg_monitor;
-- as of pg_stat_statements: who may not see a plan finds out that there is one
GRANT SELECT ON TABLE clock_plan_stats TO PUBLIC;
GRANT SELECT ON TABLE clock_node_stats TO PUBLIC;
REVOKE ALL ON FUNCTION clock_stats_reset(oid, oid, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION clock_list_node_sums() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_list_node_sums() TO pg_monitor;
REVOKE ALL ON FUNCTION clock_compare_sums(double precision[], double precision[], boolean, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_compare_sums(double precision[], double precision[], boolean, double precision) TO pg_monitor;
REVOKE ALL ON FUNCTION clock_stats_snapshot() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_stats_snapshot() TO pg_monitor;
REVOKE ALL ON FUNCTION clock_node_changes(timestamptz, numeric) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_node_changes(timestamptz, numeric) TO pg_monitor;
GRANT SELECT, INSERT, DELETE ON TABLE clock_node_snapshots TO pg_monitor;
REVOKE ALL ON FUNCTION clock_list_history() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_list_history() TO pg_monitor;
REVOKE ALL ON FUNCTION clock_list_events() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_list_events() TO pg_monitor;
REVOKE ALL ON TABLE clock_history FROM PUBLIC;
GRANT SELECT ON TABLE clock_history TO pg_monitor;
REVOKE ALL ON TABLE clock_events FROM PUBLIC;
GRANT SELECT ON TABLE clock_events TO pg_monitor;
REVOKE ALL ON FUNCTION clock_trust(timestamptz, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_trust(timestamptz, timestamptz) TO pg_monitor;
