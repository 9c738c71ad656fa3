-- Functions that sample a clock, and functions that show a stored sample.  To sample a clock means
-- to read it in a loop for some seconds, which keeps a CPU busy.  Therefore only members of
-- pg_monitor may call functions that sample.

-- In all attributes, null means unknown.
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
COMMENT ON TYPE clock_summary_row IS 'a run of a clock in one row, as clock_summary() returns it';
COMMENT ON COLUMN clock_summary_row.source IS 'name of the clock source';
COMMENT ON COLUMN clock_summary_row.clock IS 'clock that was read, such as RDTSC';
COMMENT ON COLUMN clock_summary_row.cost_ns IS 'undisturbed cost of a reading, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.cost_margin_ns IS
    'half of the 95 % confidence interval of cost_ns, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.duration_s IS
    'duration of the run by the reference clock, in seconds';
COMMENT ON COLUMN clock_summary_row.readings IS 'number of durations plus number of backward steps';
COMMENT ON COLUMN clock_summary_row.loop_ns IS
    'time of the run divided by readings, in nanoseconds; includes counting the durations';
COMMENT ON COLUMN clock_summary_row.mean_ns IS
    'mean duration, including interruptions, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.mean_margin_ns IS
    'half of the 95 % confidence interval of mean_ns, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.stddev_ns IS
    'standard deviation of the durations, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.min_ns IS 'shortest duration, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.p50_ns IS 'median of the durations, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.p90_ns IS '90 % quantile of the durations, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.p99_ns IS '99 % quantile of the durations, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.p999_ns IS '99.9 % quantile of the durations, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.p9999_ns IS '99.99 % quantile of the durations, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.max_ns IS 'longest duration, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.granularity_ticks IS
    'smallest step by which the clock was observed to advance, in ticks';
COMMENT ON COLUMN clock_summary_row.granularity_ns IS
    'smallest step by which the clock was observed to advance, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.stalls IS 'number of readings equal to the previous one';
COMMENT ON COLUMN clock_summary_row.longest_stall IS 'largest number of consecutive stalls';
COMMENT ON COLUMN clock_summary_row.backward_steps IS 'number of readings below the previous one';
COMMENT ON COLUMN clock_summary_row.backward_max_ns IS 'largest backward step, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.warps IS 'number of jumps ahead of the reference clock';
COMMENT ON COLUMN clock_summary_row.warp_max_ns IS 'largest warp, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.lags IS
    'number of times that the clock fell behind the reference clock, without backward steps';
COMMENT ON COLUMN clock_summary_row.lag_max_ns IS 'largest lag, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.gaps IS
    'number of times that the process was off the CPU for 10 microseconds or more';
COMMENT ON COLUMN clock_summary_row.gap_max_ns IS 'longest gap, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.lost_ms IS 'total duration of the gaps, in milliseconds';
COMMENT ON COLUMN clock_summary_row.lost_percent IS
    'total duration of the gaps, in percent of the run';
COMMENT ON COLUMN clock_summary_row.rate_ppm IS
    'excess of the clock''s rate over that of the reference clock, in parts per million';
COMMENT ON COLUMN clock_summary_row.rate_bound_ppm IS
    'largest possible error of rate_ppm, in parts per million';
COMMENT ON COLUMN clock_summary_row.cpus IS 'CPUs on which the run was observed; empty if unknown';
COMMENT ON COLUMN clock_summary_row.migrations IS 'number of observed changes of CPU';
COMMENT ON COLUMN clock_summary_row.warp_total_ns IS 'sum of all warps, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.lag_total_ns IS 'sum of all lags, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.resolution_ns IS
    'resolution of the clock that the system reports, in nanoseconds';
COMMENT ON COLUMN clock_summary_row.precision_bits IS
    'significant bits of stored durations of 4096 ticks or more; 64 if all are exact';
COMMENT ON COLUMN clock_summary_row.frequency_hz IS 'ticks of the clock per second';
COMMENT ON COLUMN clock_summary_row.started_at IS 'start of the run';

CREATE FUNCTION clock_measure(
    source   text             DEFAULT 'instr_time',
    duration double precision DEFAULT 3,
    rate     double precision DEFAULT NULL
) RETURNS clock_sample
LANGUAGE C VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'clock_measure';
COMMENT ON FUNCTION clock_measure(text, double precision, double precision) IS
    'samples a clock for some seconds (3) and returns the run as one value; if rate is not null, '
    'reads the clock only at random instants, rate per second on average, and sleeps in between';
\only_for pg_monitor FUNCTION clock_measure(text, double precision, double precision)

CREATE FUNCTION clock_histogram(
    source   text             DEFAULT 'instr_time',
    duration double precision DEFAULT 3,
    cutoff   double precision DEFAULT NULL,
    OUT le_ns bigint, OUT percent numeric, OUT running_percent numeric, OUT count bigint,
    OUT bar text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 20
AS 'MODULE_PATHNAME', 'clock_histogram_source';
COMMENT ON FUNCTION clock_histogram(text, double precision, double precision) IS
    'samples a clock for some seconds (3) and returns a histogram of the durations, with bars: '
    'without a cutoff a row per power of two nanoseconds, else a row per duration until the rows '
    'contain that percentage of all durations';
\only_for pg_monitor FUNCTION clock_histogram(text, double precision, double precision)

CREATE FUNCTION clock_histogram(
    sample clock_sample,
    cutoff double precision DEFAULT NULL,
    OUT le_ns bigint, OUT percent numeric, OUT running_percent numeric, OUT count bigint,
    OUT bar text
) RETURNS SETOF record
LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 20
AS 'MODULE_PATHNAME', 'clock_histogram_sample';
COMMENT ON FUNCTION clock_histogram(clock_sample, double precision) IS
    'returns a histogram of the durations of a run, with bars: without a cutoff a row per power of '
    'two nanoseconds, else a row per duration until the rows contain that percentage of all '
    'durations';

CREATE FUNCTION clock_summary(
    source   text             DEFAULT 'instr_time',
    duration double precision DEFAULT 3
) RETURNS clock_summary_row
LANGUAGE C VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'clock_summary_source';
COMMENT ON FUNCTION clock_summary(text, double precision) IS
    'samples a clock for some seconds (3) and summarizes the run in one row: cost of a reading, '
    'standard deviation, quantiles, gaps and errors of the clock';
\only_for pg_monitor FUNCTION clock_summary(text, double precision)

CREATE FUNCTION clock_summary(sample clock_sample) RETURNS clock_summary_row
LANGUAGE C IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_summary_sample';
COMMENT ON FUNCTION clock_summary(clock_sample) IS
    'summarizes a run in one row: cost of a reading, standard deviation, quantiles, gaps and '
    'errors of the clock';

CREATE FUNCTION clock_throttled(
    source   text             DEFAULT 'instr_time',
    duration double precision DEFAULT 3,
    rate     double precision DEFAULT 200,
    OUT source text, OUT clock text, OUT instants bigint, OUT wakeups bigint,
    OUT instants_per_s numeric,
    OUT cold_mean_ns numeric, OUT cold_p50_ns numeric, OUT cold_p99_ns numeric,
    OUT cold_max_ns numeric,
    OUT warm_mean_ns numeric, OUT warm_p50_ns numeric, OUT warm_p99_ns numeric,
    OUT warm_max_ns numeric,
    OUT late_mean_us numeric, OUT late_p50_us numeric, OUT late_p99_us numeric,
    OUT late_max_us numeric,
    OUT cpu_percent numeric
) RETURNS record
LANGUAGE C VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'clock_throttled';
COMMENT ON FUNCTION clock_throttled(text, double precision, double precision) IS
    'reads a clock at random instants for some seconds (3) and sleeps in between, so that it uses '
    'about 1 % of a CPU: cost of the first reading after a sleep (cold) and of the next ones '
    '(warm), in nanoseconds, and delay of the wake-ups (late), in microseconds';
\only_for pg_monitor FUNCTION clock_throttled(text, double precision, double precision)

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
    'samples a clock for some seconds (10) and returns a row at the end of each interval (1 s): '
    'mean, quantiles and maximum of the durations, in nanoseconds, and number of gaps and of '
    'backward steps';
\only_for pg_monitor FUNCTION clock_timeline(text, float8, float8, float8)

CREATE FUNCTION clock_report(
    duration double precision DEFAULT 3,
    cutoff   double precision DEFAULT 99.99
) RETURNS SETOF text
LANGUAGE SQL VOLATILE PARALLEL RESTRICTED ROWS 200
BEGIN ATOMIC
    SELECT l.line
    FROM internal_clock_report_parts(duration, cutoff) WITH ORDINALITY
             AS p(title, source, lines, n),
         LATERAL string_to_table(
             CASE WHEN p.n > 1::bigint THEN E'\n' ELSE '' END
             || coalesce(p.lines,
                         internal_clock_report_block(
                             p.title,
                             clock_measure(p.source, duration, NULL::double precision)::jsonb,
                             cutoff)),
             E'\n') WITH ORDINALITY AS l(line, n)
    ORDER BY p.n, l.n;
END;
COMMENT ON FUNCTION clock_report(double precision, double precision) IS
    'samples the system clock, RDTSCP and RDTSC for some seconds each (3) and returns the results '
    'in the format of PostgreSQL 19''s pg_test_timing';
\only_for pg_monitor FUNCTION clock_report(double precision, double precision)
