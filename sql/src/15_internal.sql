-- Functions that users do not call: only other functions of the extension call them.  Their names
-- begin with internal_clock_, so that \df clock_* does not list them.

CREATE FUNCTION internal_clock_wait(seconds double precision) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'internal_clock_wait';
COMMENT ON FUNCTION internal_clock_wait(double precision) IS
    'internal: waits for some seconds and reports progress; clock_impact() calls it between two '
    'snapshots of the server''s counters';

CREATE FUNCTION internal_clock_timing_costs(
    OUT clock text, OUT reading_ns double precision, OUT reading_margin_ns double precision,
    OUT plan_clock text, OUT plan_reading_ns double precision,
    OUT plan_reading_margin_ns double precision,
    OUT counting_ns double precision, OUT counting_margin_ns double precision,
    OUT timing_ns double precision, OUT timing_margin_ns double precision,
    OUT problem text
) RETURNS record
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'internal_clock_timing_costs';
COMMENT ON FUNCTION internal_clock_timing_costs() IS
    'internal: measures the cost of a reading of the clock that track_io_timing uses (reading_ns) '
    'and of the one that EXPLAIN uses (plan_reading_ns), and the time that counting and timing '
    'add to a call of a plan node';
\only_for pg_monitor FUNCTION internal_clock_timing_costs()

\include portable/src/19_report.sql

CREATE FUNCTION internal_clock_report_parts(
    duration double precision,
    cutoff double precision,
    OUT title text, OUT source text, OUT lines text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 5
AS 'MODULE_PATHNAME', 'internal_clock_report_parts';
COMMENT ON FUNCTION internal_clock_report_parts(double precision, double precision) IS
    'internal: returns the parts of clock_report() in their order: a part is either a clock that '
    'clock_report() has to measure (title and source) or finished text (lines)';
\only_for pg_monitor FUNCTION internal_clock_report_parts(double precision, double precision)

\include portable/src/48_texts.sql

CREATE FUNCTION internal_clock_findings(
    duration double precision,
    OUT check_name text, OUT severity text, OUT finding text,
    OUT now text, OUT for_good text, OUT provider text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 11
AS 'MODULE_PATHNAME', 'internal_clock_findings';
COMMENT ON FUNCTION internal_clock_findings(double precision) IS
    'internal: returns the checks of clock_advice(): finding, immediate action (now), permanent '
    'action (for_good), and what to request from the provider of the machine (provider); commands '
    'are enclosed in backquotes';
\only_for pg_monitor FUNCTION internal_clock_findings(double precision)

CREATE FUNCTION internal_clock_node_sums(
    OUT dbid oid, OUT userid oid, OUT queryid bigint, OUT planid bigint,
    OUT node integer, OUT depth integer, OUT node_type text, OUT relation text, OUT index_name text,
    OUT first_seen timestamptz, OUT total_sums double precision[], OUT self_sums double precision[]
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL SAFE ROWS 5000
AS 'MODULE_PATHNAME', 'internal_clock_node_sums';
COMMENT ON FUNCTION internal_clock_node_sums() IS
    'internal: returns the statistics of plans that the caller may see: a row for each plan (node '
    '0) and for each of its nodes, with sums from which mean and variance of its total time '
    '(total_sums) and of its self time (self_sums) are computed';
\only_for pg_monitor FUNCTION internal_clock_node_sums()

CREATE FUNCTION internal_clock_compare_sums(
    "before" double precision[], "after" double precision[], continues boolean,
    confidence double precision,
    OUT before_timed bigint, OUT after_timed bigint, OUT before_ms double precision,
    OUT after_ms double precision,
    OUT difference_ms double precision, OUT difference_margin_ms double precision,
    OUT p_value double precision,
    OUT before_total_ms double precision, OUT after_total_ms double precision
) RETURNS record
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'internal_clock_compare_sums';
COMMENT ON FUNCTION internal_clock_compare_sums(float8[], float8[], boolean, float8) IS
    'internal: compares the mean times of two arrays that internal_clock_node_sums() has returned, '
    'by Welch''s test; if continues is true, "after" also contains the executions of "before", and '
    'they are subtracted first';
\only_for pg_monitor FUNCTION internal_clock_compare_sums(float8[], float8[], boolean, float8)

CREATE FUNCTION internal_clock_check_changes(
    confidence numeric, taken_at timestamptz
) RETURNS void
LANGUAGE C STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'internal_clock_check_changes';
COMMENT ON FUNCTION internal_clock_check_changes(numeric, timestamptz) IS
    'internal: raises an error if the confidence is invalid, or if taken_at, the time of a '
    'snapshot, is null, because then there is no snapshot';

CREATE FUNCTION internal_clock_page_sources(
    OUT watched boolean, OUT plans boolean
) RETURNS record
LANGUAGE C VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'internal_clock_page_sources';
COMMENT ON FUNCTION internal_clock_page_sources() IS
    'internal: returns whether this server keeps a history of its clock (watched), and whether it '
    'can keep statistics of plans (plans)';
\only_for pg_monitor FUNCTION internal_clock_page_sources()

CREATE FUNCTION internal_clock_page_escape(value text) RETURNS text
LANGUAGE SQL IMMUTABLE PARALLEL SAFE
RETURN coalesce(replace(replace(replace(replace(replace(
           regexp_replace(value, E'[\\x01-\\x1f\\x7f]', ' ', 'g'),
           '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;'),
           '<i>not known</i>');
COMMENT ON FUNCTION internal_clock_page_escape(text) IS
    'internal: escapes a text for an HTML element or a quoted attribute; null becomes "not known"';
\only_for pg_monitor FUNCTION internal_clock_page_escape(text)

CREATE FUNCTION internal_clock_fleet_connect(
    statement text,
    connection text,
    server text,
    seconds integer
) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'internal_clock_fleet_connect';
COMMENT ON FUNCTION internal_clock_fleet_connect(text, text, text, integer) IS
    'internal: executes the statement, which calls dblink_connect(connection, server), and raises '
    'an error if it takes longer than some seconds';
\only_for pg_monitor FUNCTION internal_clock_fleet_connect(text, text, text, integer)

CREATE FUNCTION internal_clock_outlier_limits(
    figures double precision[],
    confidence numeric DEFAULT 95,
    tolerance double precision DEFAULT 0,
    comparisons integer DEFAULT NULL,
    OUT median double precision,
    OUT low double precision,
    OUT high double precision
) RETURNS record
LANGUAGE C IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'internal_clock_outlier_limits';
COMMENT ON FUNCTION internal_clock_outlier_limits(float8[], numeric, float8, integer) IS
    'internal: returns the median of the figures, and limits outside of which a figure is an '
    'outlier, by the median absolute deviation; the limits are at least the tolerance away from '
    'the median; the confidence, in percent, is the probability that none of the comparisons '
    'calls a regular figure an outlier';
