-- Checks of this server's clocks: clock_advice() describes problems and their solutions, and
-- clock_check() compares figures with thresholds, for monitoring.

CREATE FUNCTION clock_advice(
    duration double precision DEFAULT 1,
    OUT check_name text, OUT severity text, OUT finding text, OUT action text
) RETURNS SETOF record
LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 12
BEGIN ATOMIC
    WITH found AS MATERIALIZED (
        SELECT f.n, f.check_name, f.severity, f.finding,
               nullif(pg_catalog.concat_ws(E'\n',
                   internal_clock_lines('now: ' || f.now, 49),
                   internal_clock_lines('for good: ' || f.for_good, 49),
                   internal_clock_lines('ask the provider: ' || f.provider, 49)), '') AS action
        FROM internal_clock_findings(duration) WITH ORDINALITY
             AS f(check_name, severity, finding, now, for_good, provider, n)
    ), listed AS (
        SELECT 0::bigint AS n, o.overall ->> 'check_name' AS check_name,
               o.overall ->> 'severity' AS severity, o.overall ->> 'finding' AS finding,
               NULL::text AS action
        FROM (SELECT internal_clock_overall(
                         pg_catalog.array_agg(pg_catalog.to_jsonb(f) ORDER BY f.n),
                         'the clocks are all right') AS overall
              FROM found f) o
        UNION ALL
        SELECT f.* FROM found f
    )
    -- Breaks the findings into lines, so that the output of psql fits a terminal with 120 columns.
    -- The columns check_name and severity and the borders leave 87 of them for finding and action.
    SELECT l.check_name, l.severity,
           internal_clock_lines(l.finding, greatest(87 - max(w.width) OVER (), 28)), l.action
    FROM listed l,
         LATERAL (SELECT coalesce(max(length(a)), 6) AS width
                  FROM regexp_split_to_table(l.action, E'\n') a) w
    ORDER BY l.n > 0, pg_catalog.array_position('{warning,notice,ok}'::text[], l.severity), l.n;
END;
COMMENT ON FUNCTION clock_advice(double precision) IS
    'measures this server''s clocks for some seconds (1) and returns an overall verdict, then the '
    'checks, warnings first: severity (ok, notice or warning), finding with figures, and actions '
    'that solve the problem';
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
    'measures this server''s clocks for some seconds (1) and returns a row per check, with figure, '
    'threshold and unit; ok is false if the figure exceeds the threshold or is unknown; if the '
    'argument for a threshold is null, the threshold is that from which clock_advice() warns';
\only_for pg_monitor FUNCTION clock_check(float8, float8, float8, float8, float8)
