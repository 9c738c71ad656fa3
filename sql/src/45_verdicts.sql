-- Judgements of this server's clocks.

CREATE FUNCTION clock_advice(
    duration double precision DEFAULT 1,
    OUT check_name text, OUT severity text, OUT finding text, OUT action text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 11
AS 'MODULE_PATHNAME', 'clock_advice';
COMMENT ON FUNCTION clock_advice(double precision) IS
'what to think of this server''s clocks, by what is measured in so many seconds: an overall verdict, then each check, worst first, with its severity (ok, notice or warning), what was found with the figures, and the commands that help now and for good, or what to ask a provider for';
\only_for pg_monitor FUNCTION clock_advice(double precision)

CREATE FUNCTION clock_check(
    duration         double precision DEFAULT 1,
    max_cost_ns      double precision DEFAULT NULL,
    max_skew_ns      double precision DEFAULT NULL,
    max_drift_ppm    double precision DEFAULT NULL,
    max_lost_percent double precision DEFAULT NULL,
    OUT check_name text, OUT ok boolean, OUT figure numeric, OUT threshold numeric, OUT unit text, OUT detail text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 9
AS 'MODULE_PATHNAME', 'clock_check';
COMMENT ON FUNCTION clock_check(double precision, double precision, double precision, double precision, double precision) IS
'checks of the clocks, which fail where clock_advice warns or a threshold is exceeded: check_name and ok for the expected output of tests, as there are always the same rows; then the figure, its threshold and its unit';
\only_for pg_monitor FUNCTION clock_check(double precision, double precision, double precision, double precision, double precision)
