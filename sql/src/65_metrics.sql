-- Metrics for monitoring systems such as Prometheus.  They are read from the history of the clock
-- and from the statistics of plans, without measuring.

CREATE FUNCTION clock_metrics(
    format text DEFAULT 'prometheus',
    OUT name text,
    OUT labels jsonb,
    OUT value double precision,
    OUT type text,
    OUT help text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL SAFE ROWS 90
AS 'MODULE_PATHNAME', 'clock_metrics';
COMMENT ON FUNCTION clock_metrics(text) IS
    'lists metrics of the clocks, as the view clock_metrics shows them, with names that conform to '
    'the format prometheus or openmetrics; measures nothing';
\only_for pg_monitor FUNCTION clock_metrics(text)

CREATE VIEW clock_metrics AS
    SELECT name, labels, value, type, help
    FROM clock_metrics('prometheus'::text);
COMMENT ON VIEW clock_metrics IS
    'metrics of the clocks, of the ten plan nodes with the longest times, and of the longest waits '
    'by type of plan node, for monitoring; measures nothing';
\only_for pg_monitor TABLE clock_metrics
COMMENT ON COLUMN clock_metrics.name IS 'name of the metric, by the conventions of Prometheus';
COMMENT ON COLUMN clock_metrics.labels IS 'labels, as an object of strings';
COMMENT ON COLUMN clock_metrics.value IS
    'value, in seconds or as a ratio if the name contains this unit; otherwise a number, or 1 for '
    'true and 0 for false';
COMMENT ON COLUMN clock_metrics.type IS 'gauge or counter';
COMMENT ON COLUMN clock_metrics.help IS 'description of the metric';

CREATE FUNCTION clock_metrics_text(format text DEFAULT 'prometheus') RETURNS text
LANGUAGE sql VOLATILE PARALLEL SAFE SET extra_float_digits = 1
BEGIN ATOMIC
    WITH metrics AS (
        SELECT m.n, m.name, m.type, m.help, m.value,
               CASE WHEN format = 'openmetrics' AND m.type = 'counter'
                    THEN regexp_replace(m.name, '_total$', '') ELSE m.name END AS family,
               (SELECT '{' || string_agg(l.key || '="'
                                         || replace(replace(replace(l.value, E'\\', E'\\\\'),
                                                            '"', E'\\"'), E'\n', E'\\n')
                                         || '"', ',') || '}'
                FROM jsonb_each_text(m.labels) l) AS labels
        FROM clock_metrics(format) WITH ORDINALITY AS m(name, labels, value, type, help, n)
    ), families AS (
        SELECT min(m.n) AS n, '# TYPE ' || m.family || ' ' || m.type || E'\n'
               || coalesce(CASE format WHEN 'openmetrics' THEN '# UNIT ' END || m.family || ' '
                           || substring(m.family, '_(seconds|ratio)$') || E'\n', '')
               || '# HELP ' || m.family || ' ' || m.help || E'\n'
               || string_agg(m.name || coalesce(m.labels, '') || ' ' || m.value::text || E'\n',
                             '' ORDER BY m.n) AS lines
        FROM metrics m
        GROUP BY m.family, m.type, m.help
    )
    SELECT string_agg(f.lines, '' ORDER BY f.n)
           || CASE format WHEN 'openmetrics' THEN '# EOF' ELSE '' END
    FROM families f;
END;
COMMENT ON FUNCTION clock_metrics_text(text) IS
    'returns the view clock_metrics as text in the format openmetrics or prometheus, for example '
    'for the textfile collector of node_exporter';
\only_for pg_monitor FUNCTION clock_metrics_text(text)
