-- Comparisons of several clocks, or of one clock on several CPUs.

CREATE FUNCTION clock_survey(
    sources   text[]           DEFAULT '{all}',
    duration  double precision DEFAULT 0.9,
    reference text             DEFAULT 'kernel',
    OUT source text,
    OUT cost_ns numeric, OUT cost_margin_ns numeric, OUT typical_cost_ns numeric,
    OUT typical_cost_margin_ns numeric, OUT read_by text,
    OUT resolution_ns numeric, OUT observed_ns numeric, OUT observed_hz numeric,
    OUT granularity_ticks numeric,
    OUT strictly_monotonic boolean,
    OUT fails bigint, OUT warps bigint, OUT stalls bigint, OUT backward_steps bigint,
    OUT gaps bigint,
    OUT clock text, OUT judged_by text, OUT reason text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 18
AS 'MODULE_PATHNAME', 'clock_survey';
COMMENT ON FUNCTION clock_survey(text[], double precision, text) IS
    'samples all clocks in turn, for about a second in total (0.9), and returns a row per clock: '
    'resolution in nanoseconds, errors of the clock, and the cost of a reading in nanoseconds: '
    'undisturbed (cost_ns) and as the median of all readings (typical_cost_ns), with margins';
\only_for pg_monitor FUNCTION clock_survey(text[], double precision, text)

-- A literal without a type is a text to PostgreSQL, so clock_survey('system') calls this form.
CREATE FUNCTION clock_survey(
    sources   text,
    duration  double precision DEFAULT 0.9,
    reference text             DEFAULT 'kernel',
    OUT source text,
    OUT cost_ns numeric, OUT cost_margin_ns numeric, OUT typical_cost_ns numeric,
    OUT typical_cost_margin_ns numeric, OUT read_by text,
    OUT resolution_ns numeric, OUT observed_ns numeric, OUT observed_hz numeric,
    OUT granularity_ticks numeric,
    OUT strictly_monotonic boolean,
    OUT fails bigint, OUT warps bigint, OUT stalls bigint, OUT backward_steps bigint,
    OUT gaps bigint,
    OUT clock text, OUT judged_by text, OUT reason text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 18
AS 'MODULE_PATHNAME', 'clock_survey_named';
COMMENT ON FUNCTION clock_survey(text, double precision, text) IS
    'clock_survey() of one clock (system), of several (system,rdtsc), or of all clocks (all)';
\only_for pg_monitor FUNCTION clock_survey(text, double precision, text)

CREATE FUNCTION clock_cpu_skew(
    source   text             DEFAULT NULL,
    duration double precision DEFAULT 3,
    OUT cpu integer, OUT clock text, OUT reading_ns numeric,
    OUT offset_ns numeric, OUT offset_min_ns numeric, OUT offset_max_ns numeric,
    OUT round_trip_ns numeric,
    OUT exchanges bigint, OUT warps bigint, OUT warp_max_ns numeric, OUT stalls bigint,
    OUT longest_stall bigint
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 10
AS 'MODULE_PATHNAME', 'clock_cpu_skew';
COMMENT ON FUNCTION clock_cpu_skew(text, double precision) IS
    'compares the clock of each CPU with that of the first CPU for some seconds in total (3), '
    'using a background worker: offset in nanoseconds with its lower and upper bound, jumps '
    'ahead (warps), readings equal to the previous one (stalls), and cost of a reading';
\only_for pg_monitor FUNCTION clock_cpu_skew(text, double precision)

CREATE FUNCTION clock_drift(
    source    text             DEFAULT 'system',
    duration  double precision DEFAULT 1,
    reference text             DEFAULT 'kernel',
    OUT source text, OUT reference text, OUT clock text, OUT pairs bigint, OUT rejected bigint,
    OUT duration_s numeric, OUT drift_ppm numeric, OUT drift_margin_ppm numeric,
    OUT residual_max_ns numeric, OUT bracket_ns numeric,
    OUT backward_steps bigint, OUT backward_max_ns numeric, OUT warps bigint,
    OUT warp_max_ns numeric,
    OUT lags bigint, OUT lag_max_ns numeric
) RETURNS record
LANGUAGE C VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'clock_drift';
COMMENT ON FUNCTION clock_drift(text, double precision, text) IS
    'compares a clock with a reference clock for some seconds (1): difference of the rates in '
    'parts per million, with a 95 % margin, and jumps of the clock, which the rate excludes';
\only_for pg_monitor FUNCTION clock_drift(text, double precision, text)

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
    'compares clocks with a reference clock for some seconds (5); at the end of each interval '
    '(1 s), returns by how much each clock has advanced since the start, in milliseconds, and the '
    'difference to the advance of the reference clock, in microseconds';
\only_for pg_monitor FUNCTION clock_monitor(text[], double precision, double precision, text)

CREATE FUNCTION clock_monitor(
    sources   text,
    duration  double precision DEFAULT 5,
    every     double precision DEFAULT 1,
    reference text             DEFAULT 'kernel',
    OUT elapsed_s numeric, OUT source text, OUT advance_ms numeric,
    OUT against_reference_us numeric, OUT bracket_ns numeric
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 100
AS 'MODULE_PATHNAME', 'clock_monitor_named';
COMMENT ON FUNCTION clock_monitor(text, double precision, double precision, text) IS
    'clock_monitor() of one clock (system), of several (system,rdtsc), or of all clocks (all)';
\only_for pg_monitor FUNCTION clock_monitor(text, double precision, double precision, text)

CREATE FUNCTION clock_compare(
    sources    text[],
    duration   double precision DEFAULT 1,
    method     text DEFAULT 'rank',
    confidence numeric DEFAULT 95,
    plot_width integer DEFAULT NULL,
    separate   boolean DEFAULT false,
    OUT source text, OUT n integer, OUT median_ns numeric,
    OUT difference_ns numeric, OUT difference_margin_ns numeric, OUT difference_percent numeric,
    OUT verdict text, OUT matters boolean, OUT p_value double precision,
    OUT difference_low_ns numeric, OUT difference_high_ns numeric,
    OUT difference_margin_percent numeric,
    OUT min_ns numeric, OUT max_ns numeric, OUT mean_ns numeric, OUT stddev_ns numeric,
    OUT pooled_stddev_ns numeric,
    OUT plot text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 4
AS 'MODULE_PATHNAME', 'clock_compare_sources';
COMMENT ON FUNCTION clock_compare(text[], double precision, text, numeric, integer, boolean) IS
    'compares the cost of a reading of each clock source with that of the first one; with '
    'plot_width, such as 74, the first row contains a plot like ministat''s';
\only_for pg_monitor FUNCTION clock_compare(text[], float8, text, numeric, integer, boolean)

CREATE FUNCTION clock_compare(
    a          double precision[],
    b          double precision[],
    method     text DEFAULT 'rank',
    confidence numeric DEFAULT 95,
    plot_width integer DEFAULT NULL,
    separate   boolean DEFAULT false,
    OUT data text, OUT n integer, OUT median double precision,
    OUT difference double precision, OUT difference_margin double precision,
    OUT difference_percent double precision,
    OUT verdict text, OUT p_value double precision,
    OUT difference_low double precision, OUT difference_high double precision,
    OUT difference_margin_percent double precision,
    OUT min double precision, OUT max double precision, OUT mean double precision,
    OUT stddev double precision,
    OUT pooled_stddev double precision, OUT plot text
) RETURNS SETOF record
LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 2
AS 'MODULE_PATHNAME', 'clock_compare_arrays';
COMMENT ON FUNCTION clock_compare(float8[], float8[], text, numeric, integer, boolean) IS
    'compares two sets of figures by a rank test or, with method student, as the program ministat '
    'does; with plot_width, such as 74, the first row contains a plot like ministat''s';

CREATE FUNCTION clock_compare(
    a          clock_sample[],
    b          clock_sample[],
    method     text DEFAULT 'rank',
    confidence numeric DEFAULT 95,
    plot_width integer DEFAULT NULL,
    separate   boolean DEFAULT false,
    OUT data text, OUT n integer, OUT median_ns numeric,
    OUT difference_ns numeric, OUT difference_margin_ns numeric, OUT difference_percent numeric,
    OUT verdict text, OUT matters boolean, OUT p_value double precision,
    OUT difference_low_ns numeric, OUT difference_high_ns numeric,
    OUT difference_margin_percent numeric,
    OUT min_ns numeric, OUT max_ns numeric, OUT mean_ns numeric, OUT stddev_ns numeric,
    OUT pooled_stddev_ns numeric,
    OUT plot text
) RETURNS SETOF record
LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 2
AS 'MODULE_PATHNAME', 'clock_compare_samples';
COMMENT ON FUNCTION clock_compare(clock_sample[], clock_sample[], text, numeric, int, boolean) IS
    'compares the cost of a reading between two sets of stored runs; with plot_width, such as 74, '
    'the first row contains a plot like ministat''s';
