-- Judgements of this server's clocks.

CREATE FUNCTION clock_advice(
    duration double precision DEFAULT 1,
    OUT check_name text, OUT severity text, OUT finding text, OUT action text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 11
AS 'MODULE_PATHNAME', 'clock_advice';
COMMENT ON FUNCTION clock_advice(double precision) IS
    'measures this server''s clocks for some seconds (1) and returns an overall verdict, then '
    'each check, worst first: severity (ok, notice or warning), finding with figures, and the '
    'commands that help';
\only_for pg_monitor FUNCTION clock_advice(double precision)

CREATE FUNCTION clock_check(
    duration         double precision DEFAULT 1,
    max_cost_ns      double precision DEFAULT NULL,
    max_skew_ns      double precision DEFAULT NULL,
    max_drift_ppm    double precision DEFAULT NULL,
    max_lost_percent double precision DEFAULT NULL,
    OUT check_name text, OUT ok boolean, OUT figure numeric, OUT threshold numeric, OUT unit text,
    OUT detail text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 9
AS 'MODULE_PATHNAME', 'clock_check';
COMMENT ON FUNCTION clock_check(float8, float8, float8, float8, float8) IS
    'checks this server''s clocks for some seconds (1): always the same rows, in which ok is '
    'false if clock_advice() would warn or a threshold is exceeded, with figure, threshold and '
    'unit';
\only_for pg_monitor FUNCTION clock_check(float8, float8, float8, float8, float8)
