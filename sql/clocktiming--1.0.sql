/* sql/clocktiming--1.0.sql: generated from sql/src by `make generate`, do not edit */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION clocktiming" to load this file. \quit

-- Security: while this script runs, PostgreSQL resolves the names in function bodies in pg_catalog
-- and in the extension's schema.  Other users may have created operators and functions in that
-- schema, and one of them is used if its argument types match better.  Therefore in all function
-- bodies below:
-- * operands have exactly the types of an operator in pg_catalog, if necessary by a cast;
-- * polymorphic functions of pg_catalog are schema-qualified;
-- * calls of clocktiming's own functions pass all arguments.

-- The type clock_sample: one run of a clock as a value; its casts, operators and aggregate.

CREATE TYPE clock_sample;

CREATE FUNCTION internal_clock_sample_in(cstring) RETURNS clock_sample
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_sample_in';
COMMENT ON FUNCTION internal_clock_sample_in(cstring) IS
    'internal: input function of the type clock_sample: reads a JSON object';

CREATE FUNCTION internal_clock_sample_out(clock_sample) RETURNS cstring
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_sample_out';
COMMENT ON FUNCTION internal_clock_sample_out(clock_sample) IS
    'internal: output function of the type clock_sample: writes a JSON object';

-- The next two functions are STABLE and not IMMUTABLE, because they convert texts from or to
-- client_encoding.
CREATE FUNCTION internal_clock_sample_recv(internal) RETURNS clock_sample
LANGUAGE C STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_sample_recv';
COMMENT ON FUNCTION internal_clock_sample_recv(internal) IS
    'internal: binary input function of the type clock_sample';

CREATE FUNCTION internal_clock_sample_send(clock_sample) RETURNS bytea
LANGUAGE C STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_sample_send';
COMMENT ON FUNCTION internal_clock_sample_send(clock_sample) IS
    'internal: binary output function of the type clock_sample';

CREATE TYPE clock_sample (
    INPUT          = internal_clock_sample_in,
    OUTPUT         = internal_clock_sample_out,
    RECEIVE        = internal_clock_sample_recv,
    SEND           = internal_clock_sample_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT      = int4,
    STORAGE        = extended
);
COMMENT ON TYPE clock_sample IS
    'a run of a clock: durations in ticks, each with its count, and faults of the clock';

-- Both casts use the text form of a sample, which is a JSON object.
CREATE CAST (jsonb AS clock_sample) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (jsonb AS clock_sample) IS
    'converts a JSON object, which is the text form of a sample, to the sample';

CREATE CAST (clock_sample AS jsonb) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (clock_sample AS jsonb) IS 'converts a sample to a JSON object of all its members';

-- The operators compare samples byte by byte with functions for bytea.  Equal samples have equal
-- bytes.
CREATE FUNCTION internal_clock_sample_eq(clock_sample, clock_sample) RETURNS boolean
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteaeq';
COMMENT ON FUNCTION internal_clock_sample_eq(clock_sample, clock_sample) IS
    'internal: function of the operator =';

CREATE OPERATOR = (
    LEFTARG = clock_sample, RIGHTARG = clock_sample, FUNCTION = internal_clock_sample_eq,
    COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (clock_sample, clock_sample) IS 'equal';

CREATE FUNCTION internal_clock_sample_ne(clock_sample, clock_sample) RETURNS boolean
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteane';
COMMENT ON FUNCTION internal_clock_sample_ne(clock_sample, clock_sample) IS
    'internal: function of the operator <>';

CREATE OPERATOR <> (
    LEFTARG = clock_sample, RIGHTARG = clock_sample, FUNCTION = internal_clock_sample_ne,
    COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (clock_sample, clock_sample) IS 'not equal';

CREATE FUNCTION internal_clock_sample_lt(clock_sample, clock_sample) RETURNS boolean
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'bytealt';
COMMENT ON FUNCTION internal_clock_sample_lt(clock_sample, clock_sample) IS
    'internal: function of the operator <';

CREATE OPERATOR < (
    LEFTARG = clock_sample, RIGHTARG = clock_sample, FUNCTION = internal_clock_sample_lt,
    COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (clock_sample, clock_sample) IS 'less than';

CREATE FUNCTION internal_clock_sample_le(clock_sample, clock_sample) RETURNS boolean
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteale';
COMMENT ON FUNCTION internal_clock_sample_le(clock_sample, clock_sample) IS
    'internal: function of the operator <=';

CREATE OPERATOR <= (
    LEFTARG = clock_sample, RIGHTARG = clock_sample, FUNCTION = internal_clock_sample_le,
    COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (clock_sample, clock_sample) IS 'less than or equal';

CREATE FUNCTION internal_clock_sample_gt(clock_sample, clock_sample) RETURNS boolean
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteagt';
COMMENT ON FUNCTION internal_clock_sample_gt(clock_sample, clock_sample) IS
    'internal: function of the operator >';

CREATE OPERATOR > (
    LEFTARG = clock_sample, RIGHTARG = clock_sample, FUNCTION = internal_clock_sample_gt,
    COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (clock_sample, clock_sample) IS 'greater than';

CREATE FUNCTION internal_clock_sample_ge(clock_sample, clock_sample) RETURNS boolean
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteage';
COMMENT ON FUNCTION internal_clock_sample_ge(clock_sample, clock_sample) IS
    'internal: function of the operator >=';

CREATE OPERATOR >= (
    LEFTARG = clock_sample, RIGHTARG = clock_sample, FUNCTION = internal_clock_sample_ge,
    COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (clock_sample, clock_sample) IS 'greater than or equal';

CREATE FUNCTION internal_clock_sample_cmp(clock_sample, clock_sample) RETURNS integer
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteacmp';
COMMENT ON FUNCTION internal_clock_sample_cmp(clock_sample, clock_sample) IS
    'internal: compares two samples, for indexes and sorts';

CREATE FUNCTION internal_clock_sample_hash(clock_sample) RETURNS integer
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'hashvarlena';
COMMENT ON FUNCTION internal_clock_sample_hash(clock_sample) IS
    'internal: returns the hash of a sample';

CREATE FUNCTION internal_clock_sample_hash_extended(clock_sample, bigint) RETURNS bigint
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'hashvarlenaextended';
COMMENT ON FUNCTION internal_clock_sample_hash_extended(clock_sample, bigint) IS
    'internal: returns the hash of a sample with a seed';

CREATE OPERATOR CLASS clock_sample_ops DEFAULT FOR TYPE clock_sample USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 internal_clock_sample_cmp(clock_sample, clock_sample);
COMMENT ON OPERATOR CLASS clock_sample_ops USING btree IS
    'arbitrary order of samples, for DISTINCT, ORDER BY and merge joins';
COMMENT ON OPERATOR FAMILY clock_sample_ops USING btree IS 'order of samples';

CREATE OPERATOR CLASS clock_sample_ops DEFAULT FOR TYPE clock_sample USING hash AS
    OPERATOR 1 =, FUNCTION 1 internal_clock_sample_hash(clock_sample),
    FUNCTION 2 internal_clock_sample_hash_extended(clock_sample, bigint);
COMMENT ON OPERATOR CLASS clock_sample_ops USING hash IS
    'equality of samples, for DISTINCT, GROUP BY, UNION and hash joins';
COMMENT ON OPERATOR FAMILY clock_sample_ops USING hash IS 'equality of samples';

CREATE FUNCTION internal_clock_merge_add(clock_sample, clock_sample) RETURNS clock_sample
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'internal_clock_merge_add';
COMMENT ON FUNCTION internal_clock_merge_add(clock_sample, clock_sample) IS
    'internal: transition and combine function of the aggregate clock_merge()';

-- SSPACE is the size of the state: two tables of counters and a table of long durations.
CREATE AGGREGATE clock_merge(clock_sample) (
    SFUNC = internal_clock_merge_add,
    STYPE = clock_sample,
    SSPACE = 400000,
    COMBINEFUNC = internal_clock_merge_add,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE clock_merge(clock_sample) IS 'merges samples of the same clock into one';

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
REVOKE ALL ON FUNCTION internal_clock_timing_costs() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION internal_clock_timing_costs() TO pg_monitor;

--
-- Text of clock_report().  The C extension includes this file.
--
-- A busy machine has thousands of different durations below the cutoff.  The list ends after 40
-- of them, unless the cutoff is 100 %, and its title says how many percent they are.
--

CREATE FUNCTION internal_clock_report_block(
    title text, sample jsonb, cutoff double precision) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on AS $body$
    WITH run AS (
        SELECT d.ns, d.n, length(ltrim(d.ns::bigint::bit(64)::text, '0')) AS bucket
        FROM (SELECT round(u.t::numeric * 1000000000 / (sample ->> 'frequency_hz')::numeric) AS ns,
                     sum(u.n::numeric) AS n
              FROM ROWS FROM (jsonb_array_elements_text(sample -> 'ticks'),
                              jsonb_array_elements_text(sample -> 'counts')) AS u(t, n)
              GROUP BY 1) AS d
    ), rows AS (
        SELECT 1 AS part, trunc(2::numeric ^ i) - 1 AS ns, coalesce(sum(r.n), 0) AS n
        FROM generate_series(0, coalesce((SELECT max(bucket) FROM run), 0)) AS i
             LEFT JOIN run AS r ON r.bucket = i
        GROUP BY i
        UNION ALL
        SELECT 2, ns, n FROM run
    ), counted AS (
        SELECT part, ns, n, sum(n) OVER (PARTITION BY part ORDER BY ns) AS running,
               row_number() OVER (PARTITION BY part ORDER BY ns) AS nth,
               greatest(sum(n) OVER (PARTITION BY part), 1) AS total,
               max(ns) OVER (PARTITION BY part) AS largest
        FROM rows
    ), list AS (
        SELECT least(cutoff, min(trunc(c.running * 100 / c.total, 4)::double precision)
                             FILTER (WHERE c.nth = 40 AND cutoff < 100)) AS percent
        FROM counted AS c WHERE c.part = 2
    ), lines AS (
        -- shows the longest duration even if it is beyond the cutoff, after a line "..."
        SELECT part, ns, CASE WHEN s.shown THEN '' ELSE E'...\n' END
               || format('%19s   %10s %10s %10s', ns, round(n * 100 / total, 4),
                         round(running * 100 / total, 4), n) AS line
        FROM counted,
             LATERAL (SELECT part = 1 OR running = n
                             OR ((running - n) * 100 / total)::double precision < cutoff
                                AND (nth <= 40 OR cutoff >= 100)
                             AS shown) AS s
        WHERE s.shown OR ns = largest
    )
    SELECT concat_ws(E'\n',
        title || ': ' || (sample ->> 'clock'),
        format('Average loop time including overhead: %s ns',
               round((sample ->> 'duration_s')::numeric * 1000000000
                     / nullif((sample ->> 'readings')::numeric, 0), 2)),
        'Histogram of timing durations:',
        format('%19s   %10s %10s %10s', '<= ns', '% of total', 'running %', 'count'),
        (SELECT string_agg(line, E'\n' ORDER BY ns) FROM lines WHERE part = 1),
        '',
        format('Observed timing durations up to %s%%:',
               to_char((SELECT l.percent FROM list AS l), 'FM990.0000')),
        format('%19s   %10s %10s %10s', 'ns', '% of total', 'running %', 'count'),
        (SELECT string_agg(line, E'\n' ORDER BY ns) FROM lines WHERE part = 2))
$body$;
COMMENT ON FUNCTION internal_clock_report_block(text, jsonb, double precision) IS
    'internal: returns the results for a clock in the format of PostgreSQL 19''s pg_test_timing';


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
REVOKE ALL ON FUNCTION internal_clock_report_parts(double precision, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION internal_clock_report_parts(double precision, double precision) TO pg_monitor;

--
-- Line breaks in texts of clock_advice() and clock_impact(), and the summary of all checks.  The C
-- extension includes this file.
--

-- Breaks a text into lines between words.  Breaks a word only if it is longer than a line.  Does
-- not break commands, which are enclosed in backquotes, and removes the backquotes.
CREATE FUNCTION internal_clock_lines(t text, width int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on AS $body$
    SELECT translate(rtrim(regexp_replace(
               string_agg(CASE WHEN p.n % 2 = 0 THEN translate(p.part, ' ', chr(1))
                               ELSE regexp_replace(p.part, format('(\S{%s})(?=\S)', width),
                                                   '\1 ', 'g') END,
                          '' ORDER BY p.n),
               format('(\S{%s,}|.{1,%1$s})( +|$)', width), E'\\1\n', 'g'), E'\n'), chr(1), ' ')
    FROM regexp_split_to_table(t, '`') WITH ORDINALITY AS p(part, n)
$body$;
COMMENT ON FUNCTION internal_clock_lines(text, int) IS
    'internal: breaks a text into lines of a number of columns';

-- Summarizes all checks in one row.  The severity of a check is null if SQL alone cannot decide it.
CREATE FUNCTION internal_clock_overall(found jsonb[], all_right text) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $body$
    SELECT jsonb_build_object('check_name', 'overall',
        'severity', CASE WHEN c.warnings > 0 THEN 'warning'
                         WHEN c.notices > c.gaps THEN 'notice' ELSE 'ok' END,
        'finding', CASE WHEN c.warnings > 0
                        THEN format('%s warning%s', c.warnings,
                                    CASE WHEN c.warnings > 1 THEN 's' END)
                             || CASE WHEN c.notices > 0 THEN ' and ' ELSE '' END
                        ELSE all_right || coalesce(' (unknown: ' || c.unknown || ')', '')
                             || CASE WHEN c.notices > 0 THEN ', with ' ELSE '' END END
                   || CASE WHEN c.notices > 0
                           THEN format('%s notice%s', c.notices,
                                       CASE WHEN c.notices > 1 THEN 's' END)
                           ELSE '' END
                   || coalesce(': ' || c.names, ''))
    FROM (SELECT count(*) FILTER (WHERE s ->> 'severity' = 'warning') AS warnings,
                 count(*) FILTER (WHERE s ->> 'severity' = 'notice') AS notices,
                 -- gaps are not a fault of the clock, so they do not change the verdict
                 count(*) FILTER (WHERE s ->> 'severity' = 'notice'
                                        AND s ->> 'check_name' = 'gaps') AS gaps,
                 string_agg(s ->> 'check_name', ', ' ORDER BY s ->> 'severity' DESC, n)
                     FILTER (WHERE s ->> 'severity' <> 'ok') AS names,
                 string_agg(s ->> 'check_name', ', ' ORDER BY n)
                     FILTER (WHERE s ->> 'severity' IS NULL) AS unknown
          FROM unnest(found) WITH ORDINALITY AS u(s, n)) AS c
$body$;
COMMENT ON FUNCTION internal_clock_overall(jsonb[], text) IS
    'internal: returns the row of clock_advice() that summarizes the others';


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
REVOKE ALL ON FUNCTION internal_clock_findings(double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION internal_clock_findings(double precision) TO pg_monitor;

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
REVOKE ALL ON FUNCTION internal_clock_node_sums() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION internal_clock_node_sums() TO pg_monitor;

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
REVOKE ALL ON FUNCTION internal_clock_compare_sums(float8[], float8[], boolean, float8) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION internal_clock_compare_sums(float8[], float8[], boolean, float8) TO pg_monitor;

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
REVOKE ALL ON FUNCTION internal_clock_page_sources() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION internal_clock_page_sources() TO pg_monitor;

CREATE FUNCTION internal_clock_page_escape(value text) RETURNS text
LANGUAGE SQL IMMUTABLE PARALLEL SAFE
RETURN coalesce(replace(replace(replace(replace(replace(
           regexp_replace(value, E'[\\x01-\\x1f\\x7f]', ' ', 'g'),
           '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;'),
           '<i>not known</i>');
COMMENT ON FUNCTION internal_clock_page_escape(text) IS
    'internal: escapes a text for an HTML element or a quoted attribute; null becomes "not known"';
REVOKE ALL ON FUNCTION internal_clock_page_escape(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION internal_clock_page_escape(text) TO pg_monitor;

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
REVOKE ALL ON FUNCTION internal_clock_fleet_connect(text, text, text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION internal_clock_fleet_connect(text, text, text, integer) TO pg_monitor;

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
REVOKE ALL ON FUNCTION clock_measure(text, double precision, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_measure(text, double precision, double precision) TO pg_monitor;

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
REVOKE ALL ON FUNCTION clock_histogram(text, double precision, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_histogram(text, double precision, double precision) TO pg_monitor;

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
REVOKE ALL ON FUNCTION clock_summary(text, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_summary(text, double precision) TO pg_monitor;

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
REVOKE ALL ON FUNCTION clock_throttled(text, double precision, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_throttled(text, double precision, double precision) TO pg_monitor;

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
REVOKE ALL ON FUNCTION clock_timeline(text, float8, float8, float8) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_timeline(text, float8, float8, float8) TO pg_monitor;

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
REVOKE ALL ON FUNCTION clock_report(double precision, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_report(double precision, double precision) TO pg_monitor;

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
REVOKE ALL ON FUNCTION clock_survey(text[], double precision, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_survey(text[], double precision, text) TO pg_monitor;

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
REVOKE ALL ON FUNCTION clock_survey(text, double precision, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_survey(text, double precision, text) TO pg_monitor;

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
REVOKE ALL ON FUNCTION clock_cpu_skew(text, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_cpu_skew(text, double precision) TO pg_monitor;

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
REVOKE ALL ON FUNCTION clock_drift(text, double precision, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_drift(text, double precision, text) TO pg_monitor;

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
REVOKE ALL ON FUNCTION clock_monitor(text[], double precision, double precision, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_monitor(text[], double precision, double precision, text) TO pg_monitor;

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
REVOKE ALL ON FUNCTION clock_monitor(text, double precision, double precision, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_monitor(text, double precision, double precision, text) TO pg_monitor;

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
REVOKE ALL ON FUNCTION clock_compare(text[], float8, text, numeric, integer, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_compare(text[], float8, text, numeric, integer, boolean) TO pg_monitor;

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

-- Views of facts about this machine's clocks that are known without measuring: the clock sources,
-- which are named ways of reading the time, and the reports of kernel and processor.

CREATE FUNCTION clock_sources(
    OUT source text, OUT description text, OUT available boolean, OUT reason text,
    OUT clock text, OUT frequency_hz double precision, OUT frequency_from text,
    OUT resolution_ns double precision, OUT used_for text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 4
AS 'MODULE_PATHNAME', 'clock_sources';
COMMENT ON FUNCTION clock_sources() IS
    'lists the known clock sources, as the view clock_sources shows them; calibrates the '
    'processor''s counter once per session, which takes 50 ms';
REVOKE ALL ON FUNCTION clock_sources() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_sources() TO pg_monitor;

CREATE VIEW clock_sources AS
    SELECT source, available, clock, frequency_hz, frequency_from, resolution_ns, used_for, reason,
           description
    FROM clock_sources();
COMMENT ON VIEW clock_sources IS
    'known clock sources: whether this server can read each of them, the reason if not, and what '
    'the server uses it for; calibrates the processor''s counter once per session, which takes 50 '
    'ms';
REVOKE ALL ON TABLE clock_sources FROM PUBLIC;
GRANT SELECT ON TABLE clock_sources TO pg_monitor;
COMMENT ON COLUMN clock_sources.source IS 'name of the clock source, as functions accept it';
COMMENT ON COLUMN clock_sources.available IS 'true if this server can read the source';
COMMENT ON COLUMN clock_sources.clock IS
    'system call, function or instruction that reads the clock';
COMMENT ON COLUMN clock_sources.frequency_hz IS 'ticks per second';
COMMENT ON COLUMN clock_sources.frequency_from IS
    'way in which frequency_hz was determined, such as a calibration';
COMMENT ON COLUMN clock_sources.resolution_ns IS
    'resolution that the system reports, or length of a counter''s tick, in nanoseconds';
COMMENT ON COLUMN clock_sources.used_for IS
    'what this server currently uses the source for, such as EXPLAIN ANALYZE; null if nothing';
COMMENT ON COLUMN clock_sources.reason IS 'reason why the source is unavailable';
COMMENT ON COLUMN clock_sources.description IS 'description of the source';

CREATE FUNCTION clock_platform(OUT name text, OUT value text, OUT note text) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 20
AS 'MODULE_PATHNAME', 'clock_platform';
COMMENT ON FUNCTION clock_platform() IS
    'lists properties of the clocks that processor, hypervisor, operating system and server '
    'report, as the view clock_platform shows them';
REVOKE ALL ON FUNCTION clock_platform() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_platform() TO pg_monitor;

CREATE VIEW clock_platform AS
    SELECT name, value, note
    FROM clock_platform();
COMMENT ON VIEW clock_platform IS
    'properties of the clocks that processor, hypervisor, operating system and server report, '
    'with remarks; measures nothing, but reads clocks for some microseconds';
REVOKE ALL ON TABLE clock_platform FROM PUBLIC;
GRANT SELECT ON TABLE clock_platform TO pg_monitor;
COMMENT ON COLUMN clock_platform.name IS
    'name of the property, such as processor or kernel_clock_source';
COMMENT ON COLUMN clock_platform.value IS 'value on this machine; null if unknown';
COMMENT ON COLUMN clock_platform.note IS 'remark about the value; null if none';

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
REVOKE ALL ON PROCEDURE clock_executor_overhead FROM PUBLIC;
GRANT EXECUTE ON PROCEDURE clock_executor_overhead TO pg_monitor;

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
REVOKE ALL ON FUNCTION clock_executor_overhead_runs(bigint, text, double precision, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_executor_overhead_runs(bigint, text, double precision, text) TO pg_monitor;

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

-- Replacements of EXPLAIN ANALYZE that hardly slow down the query.  A background worker, the
-- sampler, checks some thousand times a second which plan node is at work and what it waits for.
-- All users may call these functions for queries that they may execute.

CREATE FUNCTION clock_explain(
    query        text,
    method       text    DEFAULT 'sampling',
    verify       boolean DEFAULT false,
    allow_writes boolean DEFAULT false,
    params       text[]  DEFAULT NULL,
    runs         integer DEFAULT 1,
    OUT node           integer,
    OUT depth          integer,
    OUT line           text,
    OUT node_type      text,
    OUT relation       text,
    OUT loops          bigint,
    OUT rows           bigint,
    OUT self_ms        numeric,
    OUT self_margin_ms  numeric,
    OUT share_percent  numeric,
    OUT share_margin_percent numeric,
    OUT cpu_ms         numeric,
    OUT wait_ms        numeric,
    OUT waits          text,
    OUT cpu_wait_ms    numeric,
    OUT total_ms       numeric,
    OUT total_margin_ms numeric,
    OUT note           text,
    OUT run_ms         numeric,
    OUT plain_ms       numeric,
    OUT samples        bigint,
    OUT sampler_ms     numeric,
    OUT total_stddev_ms numeric
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10
AS 'MODULE_PATHNAME', 'clock_explain';
COMMENT ON FUNCTION clock_explain(text, text, boolean, boolean, text[], integer) IS
    'executes a query and returns a row for the whole query and one per plan node, with times and '
    'waits that a sampler has seen';

CREATE FUNCTION clock_explain_text(
    query        text,
    method       text    DEFAULT 'sampling',
    verify       boolean DEFAULT false,
    allow_writes boolean DEFAULT false,
    params       text[]  DEFAULT NULL,
    runs         integer DEFAULT 1
) RETURNS TABLE ("QUERY PLAN" text)
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 20
AS 'MODULE_PATHNAME', 'clock_explain_text';
COMMENT ON FUNCTION clock_explain_text(text, text, boolean, boolean, text[], integer) IS
    'executes a query and returns the output of EXPLAIN ANALYZE, with times and waits of plan '
    'nodes that a sampler has seen';

CREATE FUNCTION clock_explain_json(
    query        text,
    method       text    DEFAULT 'sampling',
    verify       boolean DEFAULT false,
    allow_writes boolean DEFAULT false,
    params       text[]  DEFAULT NULL,
    runs         integer DEFAULT 1
) RETURNS json
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'clock_explain_json';
COMMENT ON FUNCTION clock_explain_json(text, text, boolean, boolean, text[], integer) IS
    'executes a query and returns the output of EXPLAIN (ANALYZE, FORMAT JSON), with times and '
    'waits of plan nodes that a sampler has seen';

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
REVOKE ALL ON FUNCTION clock_advice(double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_advice(double precision) TO pg_monitor;

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
REVOKE ALL ON FUNCTION clock_check(float8, float8, float8, float8, float8) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_check(float8, float8, float8, float8, float8) TO pg_monitor;

-- Statistics of executed plans and of their nodes, kept in shared memory while clocktiming.track is
-- on.  Only members of pg_read_all_stats see the executions of other users.

CREATE FUNCTION clock_plan_stats(
    OUT dbid oid, OUT userid oid, OUT queryid bigint, OUT planid bigint,
    OUT executions bigint, OUT executions_margin double precision, OUT timed_executions bigint,
    OUT failed_executions bigint,
    OUT total_ms double precision, OUT total_margin_ms double precision,
    OUT mean_ms double precision, OUT mean_margin_ms double precision,
    OUT cpu_ms double precision, OUT wait_ms double precision, OUT waits text,
    OUT cpu_wait_ms double precision,
    OUT first_seen timestamptz, OUT last_seen timestamptz, OUT nodes integer, OUT plan text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL SAFE ROWS 1000
AS 'MODULE_PATHNAME', 'clock_plan_stats';
COMMENT ON FUNCTION clock_plan_stats() IS
    'lists the plans that have statistics, as the view clock_plan_stats shows them';

CREATE VIEW clock_plan_stats AS
    SELECT s.queryid, s.planid, s.executions, s.executions_margin, s.timed_executions,
           s.failed_executions,
           s.total_ms, s.total_margin_ms, s.mean_ms, s.mean_margin_ms,
           s.cpu_ms, s.wait_ms, s.waits, s.cpu_wait_ms, s.plan, s.nodes,
           s.first_seen, s.last_seen,
           d.datname AS dbname, pg_catalog.pg_get_userbyid(s.userid) AS username, s.dbid, s.userid
    FROM clock_plan_stats() s LEFT JOIN pg_catalog.pg_database d ON d.oid = s.dbid;
COMMENT ON VIEW clock_plan_stats IS
    'plans that were executed while clocktiming.track was on, a row for each plan of a query of a '
    'user in a database: number of the executions, and their time, estimated from all long '
    'executions and a random sample of the others';
GRANT SELECT ON TABLE clock_plan_stats TO PUBLIC;
COMMENT ON COLUMN clock_plan_stats.executions IS
    'number of executions, without the estimated number of those that failed';
COMMENT ON COLUMN clock_plan_stats.executions_margin IS
    'half of a 95 % confidence interval of failed_executions; 0 if none failed';
COMMENT ON COLUMN clock_plan_stats.timed_executions IS 'number of timed executions that succeeded';
COMMENT ON COLUMN clock_plan_stats.failed_executions IS
    'estimated number of executions that ended with an error, whose times are not included';
COMMENT ON COLUMN clock_plan_stats.total_ms IS
    'estimated time of all executions, without the cost of timing them, in milliseconds';
COMMENT ON COLUMN clock_plan_stats.total_margin_ms IS
    'half of a 95 % confidence interval of the time of all executions, in milliseconds; null if '
    'fewer than two of several short executions were timed';
COMMENT ON COLUMN clock_plan_stats.mean_ms IS
    'mean time of an execution, in milliseconds; null if none succeeded';
COMMENT ON COLUMN clock_plan_stats.mean_margin_ms IS
    'half of a 95 % confidence interval of the mean time, in milliseconds; null for fewer than '
    'two timed executions';
COMMENT ON COLUMN clock_plan_stats.cpu_ms IS
    'estimated time on the CPU in all executions and processes, in the nodes and outside, in '
    'milliseconds';
COMMENT ON COLUMN clock_plan_stats.wait_ms IS
    'estimated time in wait events in all executions and processes, in the nodes and outside, in '
    'milliseconds';
COMMENT ON COLUMN clock_plan_stats.waits IS
    'longest wait events of 1 % or more, each in percent of the sum of cpu_ms and wait_ms; null '
    'if there is none';
COMMENT ON COLUMN clock_plan_stats.cpu_wait_ms IS
    'estimated time in which the processes were ready to run, but had no CPU, in milliseconds';
COMMENT ON COLUMN clock_plan_stats.plan IS
    'plan as EXPLAIN shows it, without figures and conditions; null until an execution whose nodes '
    'were timed has succeeded';
COMMENT ON COLUMN clock_plan_stats.nodes IS
    'number of nodes of the plan, of which the first 200 have statistics';
COMMENT ON COLUMN clock_plan_stats.first_seen IS 'time of the first timed execution';
COMMENT ON COLUMN clock_plan_stats.last_seen IS 'time of the latest timed execution';

CREATE FUNCTION clock_node_stats(
    most integer DEFAULT NULL,
    OUT dbid oid, OUT userid oid, OUT queryid bigint, OUT planid bigint,
    OUT node integer, OUT depth integer, OUT node_type text, OUT relation text, OUT index_name text,
    OUT loops bigint, OUT estimated_rows double precision, OUT actual_rows double precision,
    OUT mean_rows_factor double precision, OUT worst_rows_factor double precision, OUT calls bigint,
    OUT total_ms double precision, OUT total_margin_ms double precision,
    OUT self_ms double precision, OUT self_margin_ms double precision,
    OUT share_percent double precision,
    OUT cpu_ms double precision, OUT cpu_margin_ms double precision,
    OUT wait_ms double precision, OUT wait_margin_ms double precision,
    OUT waits text, OUT cpu_wait_ms double precision
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL SAFE ROWS 5000
AS 'MODULE_PATHNAME', 'clock_node_stats';
COMMENT ON FUNCTION clock_node_stats(integer) IS
    'lists the plan nodes that have statistics, as the view clock_node_stats shows them; with an '
    'argument n, only the n rows with the longest self times; n above 1000 counts as 1000';

CREATE VIEW clock_node_stats AS
    SELECT s.queryid, s.planid, s.node, s.depth, s.node_type, s.relation, s.index_name,
           s.self_ms, s.self_margin_ms, s.share_percent, s.total_ms, s.total_margin_ms,
           s.cpu_ms, s.cpu_margin_ms, s.wait_ms, s.wait_margin_ms, s.waits, s.cpu_wait_ms,
           s.loops, s.estimated_rows, s.actual_rows, s.mean_rows_factor, s.worst_rows_factor,
           s.calls,
           d.datname AS dbname, pg_catalog.pg_get_userbyid(s.userid) AS username, s.dbid, s.userid
    FROM clock_node_stats(NULL::integer) s LEFT JOIN pg_catalog.pg_database d ON d.oid = s.dbid;
COMMENT ON VIEW clock_node_stats IS
    'nodes of the plans in clock_plan_stats, and the time outside of them: times and waits of all '
    'executions together, and errors of the planner''s estimates of rows';
GRANT SELECT ON TABLE clock_node_stats TO PUBLIC;
COMMENT ON COLUMN clock_node_stats.node IS
    'number of the node in the plan, from 1, in the order of EXPLAIN; 0, of the type Query, is '
    'the time outside of the nodes, with the sum of all self times as total_ms';
COMMENT ON COLUMN clock_node_stats.relation IS
    'relation that the node scans or modifies, by its name when the plan was first seen; null if '
    'none';
COMMENT ON COLUMN clock_node_stats.index_name IS
    'index that the node scans, by its name when the plan was first seen; null if none';
COMMENT ON COLUMN clock_node_stats.self_ms IS
    'estimated time of the node itself, without its children, in all executions and processes, in '
    'milliseconds';
COMMENT ON COLUMN clock_node_stats.share_percent IS
    'self_ms in percent of the sum over all rows of the plan, in the executions whose nodes were '
    'timed';
COMMENT ON COLUMN clock_node_stats.total_ms IS
    'estimated time of the node and its children in all executions and processes, in milliseconds';
COMMENT ON COLUMN clock_node_stats.cpu_ms IS
    'part of self_ms on the CPU, in milliseconds';
COMMENT ON COLUMN clock_node_stats.cpu_margin_ms IS
    'half of a 95 % confidence interval of the time on the CPU, in milliseconds';
COMMENT ON COLUMN clock_node_stats.wait_ms IS
    'part of self_ms in wait events, in milliseconds';
COMMENT ON COLUMN clock_node_stats.wait_margin_ms IS
    'half of a 95 % confidence interval of the time in wait events, in milliseconds';
COMMENT ON COLUMN clock_node_stats.waits IS
    'longest wait events of 1 % or more, each in percent of self_ms; null if there is none';
COMMENT ON COLUMN clock_node_stats.cpu_wait_ms IS
    'estimated time in which the node was ready to run, but its process had no CPU, in '
    'milliseconds; not part of self_ms';
COMMENT ON COLUMN clock_node_stats.loops IS
    'estimated number of loops in all executions';
COMMENT ON COLUMN clock_node_stats.estimated_rows IS
    'mean number of rows per loop that the planner estimated';
COMMENT ON COLUMN clock_node_stats.actual_rows IS 'mean number of rows per loop';
COMMENT ON COLUMN clock_node_stats.mean_rows_factor IS
    'factor, at least 1, by which the planner''s estimate of rows was too high or too low: '
    'geometric mean over the executions; numbers of rows below 1 count as 1';
COMMENT ON COLUMN clock_node_stats.worst_rows_factor IS
    'factor, at least 1, by which the planner''s estimate of rows was too high or too low in the '
    'worst execution';
COMMENT ON COLUMN clock_node_stats.calls IS
    'estimated number of calls of the node in all executions';
CREATE FUNCTION clock_stats_reset(
    userid  oid    DEFAULT 0,
    dbid    oid    DEFAULT 0,
    queryid bigint DEFAULT 0
) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_stats_reset';
COMMENT ON FUNCTION clock_stats_reset(oid, oid, bigint) IS
    'deletes the statistics of the plans of a user, a database and a query, where 0 means all; '
    'does nothing if an argument is null; does not delete the snapshots of '
    'clock_stats_snapshot()';
REVOKE ALL ON FUNCTION clock_stats_reset(oid, oid, bigint) FROM PUBLIC;

CREATE FUNCTION internal_clock_stats_period(
    min_percent double precision,
    OUT since timestamptz, OUT evicted bigint
) RETURNS record
LANGUAGE C VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'internal_clock_stats_period';
COMMENT ON FUNCTION internal_clock_stats_period(double precision) IS
    'internal: returns the time since which the statistics of plans have been collected, and '
    'the number of plans that were evicted since then; raises an error if min_percent, an argument '
    'of clock_time_spent(), is invalid';

-- Returns the texts that pg_stat_statements shows to the caller.  Returns no rows if it is not
-- installed in this database or not preloaded, or if the caller may not read it.
CREATE FUNCTION internal_clock_statements() RETURNS TABLE (dbid oid, queryid bigint, query text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1000 SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    statements text;
BEGIN
    -- Only the extension's own view: other users may have created relations of this name.
    SELECT format('%I.%I', n.nspname, c.relname) INTO statements
    FROM pg_extension e
        JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
            AND d.deptype = 'e' AND d.classid = 'pg_class'::regclass
        JOIN pg_class c ON c.oid = d.objid AND c.relname = 'pg_stat_statements'
        JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE e.extname = 'pg_stat_statements';
    IF statements IS NOT NULL THEN
        RETURN QUERY EXECUTE format(
            'SELECT s.dbid, s.queryid, min(s.query) FROM %s s WHERE s.queryid IS NOT NULL '
            'GROUP BY s.dbid, s.queryid', statements);
    END IF;
EXCEPTION WHEN out_of_memory THEN
    RAISE;
WHEN OTHERS THEN
    RETURN;
END
$body$;
COMMENT ON FUNCTION internal_clock_statements() IS
    'internal: returns the texts of statements that pg_stat_statements shows to the caller';

-- The rows of clock_node_stats are summed over users, plans, and nodes of the same type and
-- relation.  The texts of cells are broken into lines, so that the output of psql fits 100 columns:
-- 14 for the borders, 7 for percent, 7 for time_s, 20 for node, 24 for waits and 28 for query.
CREATE FUNCTION clock_time_spent(
    min_percent double precision DEFAULT 1,
    OUT percent numeric, OUT time_s numeric, OUT node text, OUT waits text, OUT query text
) RETURNS SETOF record
LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 20
BEGIN ATOMIC
    WITH nodes AS MATERIALIZED (
        SELECT s.dbid, s.queryid,
               pg_catalog.concat_ws(' on ', s.node_type, coalesce(s.relation, s.index_name))
                   AS node,
               s.self_ms, s.cpu_wait_ms, s.waits
        FROM clock_node_stats(NULL::integer) s
        WHERE s.self_ms IS NOT NULL
        UNION ALL
        -- plans of which no execution with timed nodes has succeeded
        SELECT p.dbid, p.queryid, 'not known', p.total_ms, 0::double precision, NULL::text
        FROM clock_plan_stats() p
        WHERE p.nodes = 0
    ), parts AS MATERIALIZED (
        SELECT n.dbid, n.queryid, n.node, p.what, sum(p.ms) AS ms
        FROM nodes n, LATERAL (
            SELECT 'all' AS what, n.self_ms + n.cpu_wait_ms AS ms
            UNION ALL
            SELECT 'waiting for a CPU', n.cpu_wait_ms
            UNION ALL
            SELECT w.m[1], n.self_ms * w.m[2]::double precision / 100::double precision
            FROM regexp_matches(n.waits, '([^ ,][^,]*) ([0-9]+) %', 'g') AS w(m)) p
        GROUP BY n.dbid, n.queryid, n.node, p.what
    ), total AS MATERIALIZED (
        SELECT coalesce(sum(p.ms), 0::double precision) AS ms FROM parts p WHERE p.what = 'all'
    ), spent AS MATERIALIZED (
        SELECT p.dbid, p.queryid, p.node, p.ms,
               100::double precision * p.ms / nullif(t.ms, 0::double precision) AS percent
        FROM parts p, total t
        WHERE p.what = 'all'
    ), listed AS MATERIALIZED (
        SELECT 2 AS place, s.dbid, s.queryid, s.node, s.ms, s.percent, 1::bigint AS n
        FROM spent s
        WHERE s.percent >= clock_time_spent.min_percent
        UNION ALL
        SELECT 1, NULL::oid, NULL::bigint, 'all nodes', t.ms,
               100::double precision * t.ms / nullif(t.ms, 0::double precision),
               (SELECT count(*) FROM (SELECT DISTINCT s.dbid, s.queryid FROM spent s) q)
        FROM total t
        UNION ALL
        SELECT 3, NULL::oid, NULL::bigint, 'others', sum(s.ms), sum(s.percent), count(*)
        FROM spent s
        WHERE (s.percent >= clock_time_spent.min_percent) IS NOT TRUE
        HAVING count(*) > 0::bigint
    ), waits AS MATERIALIZED (
        -- the three longest waits of the sum (place 1) and of each listed node (place 2)
        SELECT w.place, w.dbid, w.queryid, w.node,
               string_agg(internal_clock_lines(
                              pg_catalog.format('%s `%s %%`', w.what, w.percent), 24),
                          E'\n' ORDER BY w.rank) AS lines
        FROM (SELECT v.place, v.dbid, v.queryid, v.node, v.what,
                     round((100::double precision * v.ms
                            / nullif(v.of_ms, 0::double precision))::numeric) AS percent,
                     row_number() OVER (PARTITION BY v.place, v.dbid, v.queryid, v.node
                                        ORDER BY v.ms DESC, v.what) AS rank
              FROM (SELECT 1 AS place, NULL::oid AS dbid, NULL::bigint AS queryid,
                           'all nodes' AS node, p.what, sum(p.ms) AS ms, t.ms AS of_ms
                    FROM parts p, total t
                    WHERE p.what <> 'all'
                    GROUP BY p.what, t.ms
                    UNION ALL
                    SELECT 2, l.dbid, l.queryid, l.node, p.what, p.ms, l.ms
                    FROM listed l JOIN parts p ON p.dbid = l.dbid AND p.queryid = l.queryid
                                                  AND p.node = l.node
                    WHERE l.place = 2 AND p.what <> 'all') v) w
        WHERE w.rank <= 3::bigint AND w.percent >= 1::numeric
        GROUP BY w.place, w.dbid, w.queryid, w.node
    ), texts AS (
        SELECT t.dbid, t.queryid,
               string_to_array(internal_clock_lines(
                   "left"(regexp_replace(translate(t.query, '`', ''''), '[[:space:]]+', ' ', 'g'),
                          1000), 28), E'\n') AS lines
        FROM internal_clock_statements() t
        WHERE EXISTS (SELECT FROM listed l WHERE l.dbid = t.dbid AND l.queryid = t.queryid)
    )
    SELECT round(l.percent::numeric, 1), round(l.ms::numeric / 1000::numeric, 1),
           internal_clock_lines(l.node, 20),
           w.lines,
           CASE l.place
               WHEN 1 THEN pg_catalog.concat_ws(
                   E'\n', pg_catalog.concat(l.n, ' different statements since'),
                   to_char(i.since, 'YYYY-MM-DD HH24:MI TZ'),
                   nullif(i.evicted, 0::bigint)::text || ' plans evicted',
                   CASE WHEN NOT current_setting('clocktiming.track')::boolean
                        THEN 'clocktiming.track is off' END)
               WHEN 3 THEN pg_catalog.concat(l.n, ' nodes below ', min_percent, ' %')
               ELSE pg_catalog.concat_ws(
                   E'\n', 'in database ' || d.datname::text,
                   CASE WHEN pg_catalog.cardinality(t.lines) <= 3
                        THEN pg_catalog.array_to_string(t.lines, E'\n')
                        ELSE pg_catalog.concat_ws(E'\n', t.lines[1], t.lines[2],
                                                  'queryid ' || l.queryid::text) END) END
    FROM listed l
        CROSS JOIN internal_clock_stats_period(min_percent) i
        LEFT JOIN waits w ON w.place = l.place AND w.node = l.node
            AND (l.place = 1 OR w.dbid = l.dbid AND w.queryid = l.queryid)
        LEFT JOIN texts t ON t.dbid = l.dbid AND t.queryid = l.queryid
        LEFT JOIN pg_catalog.pg_database d ON d.oid = l.dbid AND d.datname <> current_database()
    ORDER BY l.place, l.percent DESC, l.node, l.queryid;
END;
COMMENT ON FUNCTION clock_time_spent(double precision) IS
    'shows where the time of all executions in the statistics of plans went, since these were '
    'reset: a row with the sum and the time of the reset, then the nodes of statements with at '
    'least min_percent (1) of the time, most expensive first, with the longest waits in percent of '
    'the row''s time, and the statement as pg_stat_statements has it, or its query identifier';

-- Changes of execution times: clock_stats_snapshot() stores the statistics of plans, and
-- clock_node_changes() compares the current statistics with a stored snapshot.

-- Rows of internal_clock_node_sums(), with the time of the snapshot.  The table is unlogged,
-- because a crash also discards the statistics in shared memory, with which snapshots are
-- compared.
CREATE UNLOGGED TABLE clock_node_snapshots (
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
    CHECK (pg_catalog.cardinality(total_sums) = 8 AND pg_catalog.cardinality(self_sums) = 8)
);
COMMENT ON TABLE clock_node_snapshots IS
    'snapshots of the statistics of plans and nodes: clock_stats_snapshot() stores them, and '
    'clock_node_changes() compares the current statistics with them; empty after a crash, neither '
    'dumped nor replicated';
GRANT SELECT ON TABLE clock_node_snapshots TO pg_monitor;
COMMENT ON COLUMN clock_node_snapshots.taken_at IS 'time of the snapshot';
COMMENT ON COLUMN clock_node_snapshots.queryid IS 'query identifier, that of pg_stat_statements';
COMMENT ON COLUMN clock_node_snapshots.node IS
    'number of the node in the plan, from 1; 0 is the whole plan';
COMMENT ON COLUMN clock_node_snapshots.first_seen IS
    'time of the first execution that the sums include; two snapshots of a plan have different '
    'times here if its statistics were reset or evicted in between';
COMMENT ON COLUMN clock_node_snapshots.total_sums IS
    'weighted sums from which mean and variance of the time of the node and its descendants are '
    'computed; times are in nanoseconds';
COMMENT ON COLUMN clock_node_snapshots.self_sums IS
    'weighted sums from which mean and variance of the time of the node itself are computed; '
    'times are in nanoseconds';

CREATE FUNCTION clock_stats_snapshot(
    keep interval DEFAULT '30 days'
) RETURNS timestamptz
LANGUAGE SQL VOLATILE PARALLEL UNSAFE SECURITY DEFINER
BEGIN ATOMIC
    DELETE FROM clock_node_snapshots WHERE taken_at < clock_timestamp() - keep;
    WITH t AS MATERIALIZED (
        SELECT clock_timestamp() AS now
    ), i AS (
        INSERT INTO clock_node_snapshots
            SELECT t.now, s.dbid, s.userid, s.queryid, s.planid, s.node, s.depth, s.node_type,
                   s.relation, s.index_name,
                   s.first_seen, s.total_sums, s.self_sums
            FROM t, internal_clock_node_sums() s
            RETURNING taken_at
    )
    SELECT max(i.taken_at) FROM i;
END;
COMMENT ON FUNCTION clock_stats_snapshot(interval) IS
    'stores a snapshot of the statistics of all plans and nodes, and returns its time, or null if '
    'there are no plans; deletes snapshots older than the argument, none if it is null';
REVOKE ALL ON FUNCTION clock_stats_snapshot(interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_stats_snapshot(interval) TO pg_monitor;

-- Returns two kinds of changes: nodes whose mean self time differs significantly from that in the
-- snapshot, and queries whose executions now spend most of their time in another plan ("other
-- plan").
--
-- One test is made for each plan and node.  With many tests, some p-values are small by chance.
-- Therefore the p-values are adjusted by the procedure of Benjamini and Hochberg (Journal of the
-- Royal Statistical Society B 57, 1995): each is multiplied by the number of p-values and divided
-- by its rank, and is at most the adjusted p-value of the next rank.
CREATE FUNCTION clock_node_changes(
    since      timestamptz DEFAULT NULL,
    confidence numeric     DEFAULT 95
) RETURNS TABLE (
    change text, queryid bigint, planid bigint, node integer, depth integer, node_type text,
    relation text,
    before_ms double precision, after_ms double precision, difference_ms double precision,
    difference_margin_ms double precision,
    p_value double precision, before_timed bigint, after_timed bigint, before_planid bigint,
    index_name text, dbid oid, userid oid, snapshot timestamptz
)
LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
    SELECT internal_clock_check_changes(clock_node_changes.confidence,
                               (SELECT max(s.taken_at) FROM clock_node_snapshots s
                                WHERE s.taken_at <= coalesce(since, 'infinity')));
    WITH was AS MATERIALIZED (
        SELECT s.* FROM clock_node_snapshots s
        WHERE s.taken_at = (SELECT max(l.taken_at) FROM clock_node_snapshots l
                            WHERE l.taken_at <= coalesce(since, 'infinity'))
    ), compared AS MATERIALIZED (
        SELECT i.dbid, i.userid, i.queryid, i.planid, i.node, i.depth, i.node_type, i.relation,
               i.index_name, w.taken_at, c.*
        FROM internal_clock_node_sums() i
        LEFT JOIN was w ON w.dbid = i.dbid AND w.userid = i.userid
                           AND w.queryid = i.queryid AND w.planid = i.planid
                           AND w.node = i.node AND w.node_type = i.node_type,
             LATERAL internal_clock_compare_sums(
                 coalesce(w.self_sums, '{0,0,0,0,0,0,0,0}'), i.self_sums,
                 coalesce(w.first_seen = i.first_seen, false),
                 (confidence / 100::numeric)::double precision) c
    ), ranked AS (
        SELECT c.*,
               c.p_value * (count(*) OVER ())::double precision
               / (count(*) OVER (ORDER BY c.p_value))::double precision AS scaled
        FROM compared c WHERE c.p_value IS NOT NULL
    ), adjusted AS (
        SELECT r.*,
               least(1::double precision, min(r.scaled) OVER (ORDER BY r.p_value DESC)) AS adjusted
        FROM ranked r
    ), mostly_before AS (
        -- For each query, the plan with the longest total time in the snapshot.  Reads the snapshot
        -- and not "compared", which lacks plans that have been evicted since then.
        SELECT DISTINCT ON (w.dbid, w.userid, w.queryid) w.dbid, w.userid, w.queryid, w.planid,
            w.taken_at, c.after_ms AS mean_ms, c.after_timed AS timed
        FROM was w,
            LATERAL internal_clock_compare_sums('{0,0,0,0,0,0,0,0}', w.total_sums, false,
                                                (confidence / 100::numeric)::double precision) c
        WHERE w.node = 0 AND c.after_timed > 0::bigint
        ORDER BY w.dbid, w.userid, w.queryid, c.after_total_ms DESC, w.planid
    ), mostly_after AS (
        SELECT DISTINCT ON (c.dbid, c.userid, c.queryid) c.dbid, c.userid, c.queryid, c.planid,
            c.node_type, c.after_ms AS mean_ms, c.after_timed AS timed
        FROM compared c
        WHERE c.node = 0 AND c.after_timed > 0::bigint
        ORDER BY c.dbid, c.userid, c.queryid, c.after_total_ms DESC, c.planid
    )
    SELECT v.change, v.queryid, v.planid, v.node, v.depth, v.node_type, v.relation,
           v.before_ms, v.after_ms, v.difference_ms, v.difference_margin_ms, v.adjusted,
           v.before_timed, v.after_timed, v.before_planid,
           v.index_name, v.dbid, v.userid, v.taken_at
    FROM (SELECT 'other plan' AS change, a.queryid, a.planid, 0 AS node, 0 AS depth, a.node_type,
                 NULL::text AS relation,
                 b.mean_ms AS before_ms, a.mean_ms AS after_ms,
                 a.mean_ms - b.mean_ms AS difference_ms,
                 NULL::double precision AS difference_margin_ms, NULL::double precision AS adjusted,
                 b.timed AS before_timed, a.timed AS after_timed,
                 b.planid AS before_planid, NULL::text AS index_name, a.dbid, a.userid, b.taken_at
          FROM mostly_before b
          JOIN mostly_after a ON a.dbid = b.dbid AND a.userid = b.userid AND a.queryid = b.queryid
          WHERE a.planid <> b.planid
          UNION ALL
          SELECT CASE WHEN d.difference_ms > 0::double precision THEN 'slower' ELSE 'faster' END,
                 d.queryid, d.planid, d.node, d.depth, d.node_type, d.relation,
                 d.before_ms, d.after_ms, d.difference_ms, d.difference_margin_ms, d.adjusted,
                 d.before_timed, d.after_timed,
                 d.planid, d.index_name, d.dbid, d.userid, d.taken_at
          FROM adjusted d
          WHERE d.adjusted < (1::numeric - confidence / 100::numeric)::double precision) v
    ORDER BY v.change = 'other plan' DESC,
        abs(v.difference_ms * v.after_timed::double precision) DESC, v.queryid, v.planid, v.node;
END;
COMMENT ON FUNCTION clock_node_changes(timestamptz, numeric) IS
    'lists changes since the latest snapshot that is not later than the first argument: mean times '
    'of plans (node 0) and mean self times of nodes that differ significantly by Welch''s test, '
    'and queries that now spend most of their time in another plan; p-values are adjusted for the '
    'number of tests (Benjamini and Hochberg)';
REVOKE ALL ON FUNCTION clock_node_changes(timestamptz, numeric) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_node_changes(timestamptz, numeric) TO pg_monitor;

-- clock_impact(): the CPU time that settings such as track_io_timing add to this server's work.

--
-- clock_impact(): counts the operations that this server has executed and that a setting can time,
-- and computes the cost of timing them.  The C extension includes this file.
--

-- Returns the server's counters by name.  Each is an object with total (the number of operations),
-- per_s (operations per second) and period_s (the time in which they were counted, in seconds),
-- which are null if unknown.  If seconds is not null, the function counts the operations between
-- two snapshots, and calls the function "wait" between them.  The query "more" returns further
-- counters.  "problem" is the reason why calls of statements are not counted.
CREATE FUNCTION internal_clock_counts(
    seconds double precision, wait text, more text DEFAULT NULL
) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on SET extra_float_digits = 1 AS $body$
DECLARE
    version CONSTANT int := current_setting('server_version_num');
    -- query of a view whose counters were all reset at the same time
    simple CONSTANT text := $$
        SELECT $1 || jsonb_object_agg(v.counter, jsonb_build_object('total', v.n, $$
            || $$'per_s', v.n / s.period_s, 'period_s', s.period_s))
        FROM (SELECT (%s)::float8[] AS counts, $$
            || $$nullif(extract(epoch FROM clock_timestamp() - %s)::float8, 0) AS period_s $$
            || $$FROM %s) AS s,
             unnest(%L::text[], s.counts) AS v(counter, n)$$;
    counts jsonb;
    before jsonb;
    others jsonb;
    started timestamptz;
    statements text;
    problem text;
BEGIN
    IF seconds IS NOT NULL THEN
        PERFORM pg_stat_clear_snapshot();
    END IF;
    LOOP
        -- stats_reset is null if a database's counters were never reset.  These counters began
        -- when all statistics were discarded, at initdb or after a crash.  The oldest stats_reset
        -- of other views is that time.
        EXECUTE format($$
            SELECT jsonb_object_agg(t.counter, to_jsonb(t))
            FROM (SELECT v.counter, sum(v.n) AS total, sum(v.n / d.period_s) AS per_s, $$
                || $$max(d.period_s) AS period_s
                  FROM (SELECT d.*, nullif(extract(epoch FROM $$
                || $$clock_timestamp() - coalesce(d.stats_reset, f.discarded))::float8, 0) $$
                || $$AS period_s
                        FROM pg_stat_database AS d, $$
                || $$(SELECT least(a.stats_reset, b.stats_reset, %s) AS discarded
                                                     FROM pg_stat_archiver AS a, $$
                || $$pg_stat_bgwriter AS b) AS f) AS d,
                       LATERAL (VALUES ('active ms', %s::float8),
                                       ('relation reads', $$
                || $$CASE WHEN %3$L THEN d.blks_read::float8 END),
                                       ('calls of plan nodes', $$
                || $$CASE WHEN %3$L THEN d.tup_returned::float8 END),
                                       ('temporary files', $$
                || $$(d.temp_bytes / current_setting('block_size')::int)::float8)) AS v(counter, n)
                  GROUP BY v.counter) AS t$$,
            CASE WHEN version >= 140000 THEN '(SELECT stats_reset FROM pg_stat_wal)'
                 ELSE 'NULL' END,
            -- active_time does not contain statements that have not ended
            CASE WHEN version >= 140000
                 THEN $$d.active_time + coalesce((SELECT 1000 * sum(extract(epoch $$
                     || $$FROM clock_timestamp() - a.query_start))
                     FROM pg_stat_activity AS a
                     WHERE a.datid = d.datid AND a.state = 'active' $$
                     || $$AND a.backend_type = 'client backend' $$
                     || $$AND a.pid <> pg_backend_pid()), 0)::float8$$
                 ELSE 'NULL' END,
            current_setting('track_counts'))
        INTO counts;
        IF version >= 160000 THEN
            EXECUTE format(simple,
                'ARRAY[sum(reads), sum(writes), sum(extends), sum(writebacks), sum(fsyncs)]',
                'min(stats_reset)', $$pg_stat_io WHERE object <> 'wal'$$,
                '{relation reads,relation writes,relation extends,relation writebacks,'
                'relation fsyncs}')
            INTO counts USING counts;
        ELSE
            EXECUTE format(simple,
                'ARRAY[buffers_checkpoint + buffers_clean, '
                'buffers_checkpoint + buffers_clean + buffers_backend]',
                'stats_reset', 'pg_stat_bgwriter', '{least relation writes,relation writes}')
            INTO counts USING counts;
        END IF;
        IF version >= 180000 THEN
            EXECUTE format(simple, 'ARRAY[sum(writes), sum(fsyncs), sum(reads)]',
                'min(stats_reset)', $$pg_stat_io WHERE object = 'wal'$$,
                '{WAL writes,WAL fsyncs,WAL reads}')
            INTO counts USING counts;
        ELSIF version >= 140000 THEN
            EXECUTE format(simple, 'ARRAY[wal_write, wal_sync]', 'stats_reset', 'pg_stat_wal',
                '{WAL writes,WAL fsyncs}')
            INTO counts USING counts;
        END IF;

        SELECT quote_ident(n.nspname) || '.pg_stat_statements' INTO statements
        FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
        WHERE e.extname = 'pg_stat_statements';
        problem := CASE WHEN statements IS NULL
                        THEN 'pg_stat_statements is not installed in this database'
                        WHEN version < 140000
                        THEN 'pg_stat_statements does not say since when it has counted' END;
        IF statements IS NOT NULL THEN
            -- Estimates the calls of plan nodes.  Each of these statements calls its topmost node,
            -- or the node below it, once per row and once at the end.  The calls of other nodes are
            -- unknown.  Other statements, such as COPY, count rows without calling a node.
            BEGIN
                EXECUTE format(simple, format($$(SELECT ARRAY[
                            coalesce(sum(calls + rows) FILTER (WHERE query ~* %3$L %2$s), 0),
                            coalesce(sum(temp_blks_read + temp_blks_written), 0),
                            coalesce(sum(calls) FILTER (WHERE query ~* %3$L), 0)] FROM %1$s)$$,
                        statements, CASE WHEN version >= 140000 THEN 'AND toplevel' END,
                        '^\s*(select|with|insert|update|delete|merge|values|table)\y'),
                    CASE WHEN version >= 140000 THEN 'stats_reset' ELSE 'NULL::timestamptz' END,
                    CASE WHEN version >= 140000 THEN statements || '_info'
                         ELSE '(SELECT) AS none' END,
                    '{calls of statements,temporary files of statements,statements}')
                INTO counts USING counts;
            EXCEPTION WHEN out_of_memory THEN
                RAISE;
            WHEN OTHERS THEN
                -- pg_stat_statements is not preloaded or too old, or this role may not read it
                problem := 'pg_stat_statements cannot be read: ' || SQLERRM;
            END;
        END IF;
        IF more IS NOT NULL THEN
            BEGIN
                EXECUTE more INTO others;
                counts := counts || others;
            EXCEPTION WHEN object_not_in_prerequisite_state THEN
                -- the server was started without clocktiming in shared_preload_libraries
                more := NULL;
            END;
        END IF;
        EXIT WHEN seconds IS NULL OR before IS NOT NULL;
        before := counts;
        started := clock_timestamp();
        -- an expression, and not a statement, which clocktiming.track would count
        EXECUTE format('DO %L', format('BEGIN IF %s(%L) IS NULL THEN END IF; END', wait, seconds));
        PERFORM pg_stat_clear_snapshot();
        seconds := extract(epoch FROM clock_timestamp() - started);
    END LOOP;
    IF seconds IS NOT NULL THEN
        -- a counter that has decreased was reset
        SELECT jsonb_object_agg(c.key, c.value || jsonb_build_object(
                   'total', m.more, 'per_s', m.more / seconds, 'period_s', seconds))
        INTO counts
        FROM jsonb_each(counts) AS c,
             LATERAL (SELECT (c.value ->> 'total')::float8
                             - (before -> c.key ->> 'total')::float8 AS n) AS d,
             LATERAL (SELECT CASE WHEN d.n >= 0 THEN d.n END AS more) AS m;
    END IF;
    RETURN counts || jsonb_build_object('problem', problem);
END
$body$;
COMMENT ON FUNCTION internal_clock_counts(double precision, text, text) IS
    'internal: returns the server''s counters since the last reset of its statistics, or during '
    'the given seconds: totals, rates, and periods in seconds';

CREATE FUNCTION internal_clock_works(
    counts jsonb, observed boolean, costs jsonb,
    OUT setting text, OUT value text, OUT in_effect boolean, OUT work text,
    OUT cpu_percent numeric, OUT cpu_margin_percent numeric,
    OUT least_cpu_percent numeric, OUT most_cpu_percent numeric,
    OUT bound text,
    OUT operations bigint, OUT operations_per_s numeric, OUT operation_ns numeric,
    OUT operation_margin_ns numeric,
    OUT reading_ns numeric, OUT period_s numeric, OUT period text,
    OUT readings_per_operation numeric, OUT reading_margin_ns numeric, OUT clock text,
    OUT slowdown_percent numeric, OUT most_slowdown_percent numeric,
    OUT statistics text, OUT reason text
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE ROWS 10 SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    version CONSTANT int := current_setting('server_version_num');
    -- without auto_explain, the setting is null, or an empty string if it was set and reset
    sample_rate CONSTANT double precision :=
        coalesce(nullif(current_setting('auto_explain.sample_rate', true), ''), '1');
    -- Time of the shortest calls of plan nodes without counting and timing, in ns: those of
    -- count(*) over a cross join (doc/benchmarks.md, "Shortest calls").
    least_call_ns CONSTANT double precision := 10;
    -- Largest number of calls of plan nodes per row read, in test queries that read at least one
    -- row per microsecond (doc/benchmarks.md, "Calls per row").
    most_calls_per_row CONSTANT int := 4;
    -- Largest number of reads and writes of a temporary file's block, together, in test queries
    -- that do not rescan a file (doc/benchmarks.md, "Temporary files").
    most_uses_per_block CONSTANT int := 12;
    -- Largest factors from the measured costs to those in test queries (doc/benchmarks.md, "Cost of
    -- timing a call"): of counting and timing a call, and of counting only.
    costliest_timing CONSTANT double precision := 1.3;
    costliest_counting CONSTANT double precision := 2.2;
    -- Time that sampling adds to a statement, in ns.  It is up to twice as long for 30 plan nodes
    -- (doc/benchmarks.md, "Cost of sampling per statement").
    sampled_statement_ns CONSTANT double precision := 1e5;
    -- Expected number of calls up to which all calls of a statement are timed (FEW_CALLS).
    few_calls CONSTANT int := 800;
    -- Whether clocktiming.sampled_timing replaces timers in this session.  NULL if the C library is
    -- not loaded: then clocktiming.show_margins does not exist.  pg_settings is not read, because
    -- that can write temporary files.
    sampled CONSTANT boolean :=
        CASE WHEN current_setting('clocktiming.show_margins', true) <> ''
             THEN current_setting('clocktiming.sampled_timing', true) <> 'off' END;
    unknown CONSTANT text := CASE WHEN observed THEN ' was reset meanwhile'
                                  ELSE ' lacks the number of operations or the time of its reset'
                                  END;
    -- Calls of plan nodes in the executions that clocktiming.track has counted, the upper limit of
    -- their number per ms of execution, their number per ms of a process, and this number for the
    -- plan where it is largest.  Null if no execution has been counted.
    counted_calls CONSTANT double precision :=
        counts -> 'counted calls' ->> 'total';
    most_calls_per_ms CONSTANT double precision :=
        (counted_calls
         + coalesce((counts -> 'squared margin of counted calls' ->> 'total')::float8 ^ 0.5,
                    counted_calls))
        / nullif((counts -> 'counted ms' ->> 'total')::float8, 0);
    calls_per_process_ms CONSTANT double precision :=
        counted_calls / nullif((counts -> 'counted process ms' ->> 'total')::float8, 0);
    most_calls_per_process_ms CONSTANT double precision :=
        counts -> 'counted calls' ->> 'most_per_process_ms';
    -- mean number of active sessions
    active_sessions CONSTANT double precision :=
        (counts -> 'active ms' ->> 'per_s')::float8 / 1000;
    not_written CONSTANT text :=
        '; the cost of writing plans to the log is not included, and is far higher if each '
        'statement is logged';
    cost record;
    counted jsonb;
    why_not_statements text;
    not_nested boolean;
    blocks int;
    share double precision;
    rate double precision;
    least_rate double precision;
    least_ns double precision;
    most_ns double precision;
    op_ns double precision;
    op_margin_ns double precision;
    -- calls of plan nodes per second: the estimate, and the upper limit
    calls_per_s double precision;
    most_calls_per_s double precision;
    cost_percent double precision;
    most_percent double precision;
BEGIN
    SELECT c.* INTO cost
    FROM jsonb_to_record(costs) AS c(clock text, reading_ns float8, reading_margin_ns float8,
                                     plan_clock text, plan_reading_ns float8,
                                     plan_reading_margin_ns float8,
                                     counting_ns float8, counting_margin_ns float8,
                                     timing_ns float8, timing_margin_ns float8,
                                     problem text, is_bound boolean);
    FOR work, statistics, blocks, setting IN
        SELECT w.work, w.statistics, w.blocks,
               coalesce(w.setting, CASE WHEN w.work LIKE 'WAL%' THEN 'track_wal_io_timing'
                                        ELSE 'track_io_timing' END)
        FROM (VALUES (1, 160000, 990000, 'relation reads', 'pg_stat_io',
                      CASE version / 10000 WHEN 17 THEN 32 ELSE 1 END, NULL),
                     (2, 160000, 990000, 'relation writes', 'pg_stat_io', 1, NULL),
                     (3, 160000, 990000, 'relation extends', 'pg_stat_io',
                      CASE WHEN version < 180000 THEN 64 ELSE 1 END, NULL),
                     (4, 160000, 990000, 'relation writebacks', 'pg_stat_io', 256, NULL),
                     (5, 160000, 990000, 'relation fsyncs', 'pg_stat_io', 1, NULL),
                     (1, 0, 159999, 'relation reads', 'pg_stat_database', 1, NULL),
                     (2, 0, 159999, 'relation writes', 'pg_stat_bgwriter', 1, NULL),
                     (6, 150000, 990000, 'temporary files', 'pg_stat_database', 1, NULL),
                     (7, 180000, 990000, 'WAL writes', 'pg_stat_io', 1, NULL),
                     (8, 180000, 990000, 'WAL fsyncs', 'pg_stat_io', 1, NULL),
                     (9, 180000, 990000, 'WAL reads', 'pg_stat_io', 1, NULL),
                     (7, 0, 179999, 'WAL writes', 'pg_stat_wal', 1, NULL),
                     (8, 0, 179999, 'WAL fsyncs', 'pg_stat_wal', 1, NULL),
                     (10, 0, 990000, 'calls of plan nodes', 'pg_stat_database', 1,
                      'auto_explain.log_analyze'),
                     (11, 0, 990000, 'calls of plan nodes', 'pg_stat_database', 1,
                      'auto_explain.log_timing = off'),
                     (12, 0, 990000, 'calls of plan nodes', 'pg_stat_database', 1,
                      'clocktiming.sampled_timing'),
                     (13, 0, 990000, 'statements', 'pg_stat_statements', 1,
                      'clocktiming.sampled_timing')
             ) AS w(n, since, until, work, statistics, blocks, setting)
        WHERE version BETWEEN w.since AND w.until
          AND (w.n NOT IN (11, 12) OR costs ? 'counting_ns')
          AND (w.n NOT IN (12, 13) OR sampled IS NOT NULL)
        ORDER BY w.n
    LOOP
        counted := counts -> work;
        rate := counted ->> 'per_s';
        least_rate := rate;
        share := 1;
        readings_per_operation := 2.00;
        least_ns := 2.0 / blocks * cost.reading_ns;
        bound := NULL;
        reason := NULL;
        IF blocks > 1 THEN
            bound := 'at most';
            reason := format('the statistics count blocks, but one timed operation may process up '
                             'to %s blocks', blocks);
        ELSIF work = 'relation reads' AND version >= 180000
              AND current_setting('io_method') <> 'sync' THEN
            readings_per_operation := 4.00;
            bound := 'at most';
            reason := 'a read is timed twice if a process waits for it: when it starts, and during '
                      'the wait';
        ELSIF work = 'relation reads' AND version < 160000 THEN
            least_rate := 0;
            bound := 'at most';
            reason := 'blks_read contains blocks by which tables were extended, but extensions are '
                      'not timed before PostgreSQL 16';
        ELSIF work = 'relation writes' AND version < 160000 THEN
            least_rate := counts -> 'least relation writes' ->> 'per_s';
            bound := 'at most';
            reason := 'buffers_backend contains blocks by which tables were extended, but '
                      'extensions are not timed before PostgreSQL 16';
        ELSIF work = 'temporary files' THEN
            bound := 'at least';
            reason := 'each block of the files is counted once, but it may have been written and '
                      'read several times';
            IF (counts -> 'temporary files of statements' ->> 'per_s')::float8
               >= coalesce(rate, 0) THEN
                statistics := 'pg_stat_statements';
                counted := counts -> 'temporary files of statements';
                rate := counted ->> 'per_s';
                least_rate := rate;
                reason := 'only statements that pg_stat_statements has kept are counted';
            END IF;
            reason := reason || format('; the upper limit assumes that each block of the files was '
                                       'written and read %s times altogether', most_uses_per_block);
        ELSIF work = 'calls of plan nodes' AND most_calls_per_ms IS NOT NULL THEN
            statistics := 'clock_node_stats';
            counted := counts -> 'counted calls';
            rate := counted ->> 'per_s';
            least_rate := least(rate, (counts -> 'calls of statements' ->> 'per_s')::float8);
            share := sample_rate;
            bound := 'estimate';
            reason := 'calls are those of the statements that clocktiming.track has counted; '
                      'most_cpu_percent assumes as many calls per second for all active time';
        ELSIF work = 'calls of plan nodes' THEN
            least_rate := counts -> 'calls of statements' ->> 'per_s';
            why_not_statements := CASE WHEN least_rate IS NULL
                THEN coalesce(counts ->> 'problem', 'pg_stat_statements was reset just now') END;
            bound := 'estimate';
            reason := 'calls are not counted; one call is assumed for each row that a scan read'
                || coalesce('; a lower bound is unknown, because ' || why_not_statements, '');
            IF least_rate > coalesce(rate, '-infinity') THEN
                statistics := 'pg_stat_statements';
                counted := counts -> 'calls of statements';
                rate := least_rate;
                bound := 'at least';
                reason := 'calls are not counted; the lower bound is one call for each row that a '
                          'statement returned or modified, and one for each statement';
            END IF;
            share := sample_rate;
        ELSIF work = 'statements' THEN
            least_rate := 0 * rate;
            share := sample_rate;
            bound := 'estimate';
            reason := 'statements of few calls are timed call by call; others are assumed to '
                      'cost 0.1 ms, and at most 0.2 ms, those with more than 30 plan nodes more; '
                      'only statements that pg_stat_statements has kept are counted';
            not_nested := current_setting('auto_explain.log_nested_statements', true) = 'on'
                AND current_setting('pg_stat_statements.track', true) <> 'all';
            IF not_nested THEN
                reason := reason || ', but not the nested ones (pg_stat_statements.track = all)';
            END IF;
        END IF;
        IF rate IS NULL THEN
            reason := CASE
                WHEN work LIKE 'WAL%' AND version < 140000
                THEN 'PostgreSQL neither counts nor times them before 14'
                WHEN work = 'calls of plan nodes' THEN
                    CASE WHEN current_setting('track_counts')::boolean THEN statistics || unknown
                         ELSE 'track_counts is off' END
                    || ', and ' || why_not_statements
                WHEN work = 'statements'
                THEN coalesce(counts ->> 'problem', statistics || unknown)
                WHEN work = 'relation reads' AND version < 160000
                     AND NOT current_setting('track_counts')::boolean
                THEN 'track_counts is off'
                ELSE statistics || unknown END;
            statistics := CASE WHEN work NOT LIKE 'WAL%' OR version >= 140000 THEN statistics END;
        END IF;
        IF share <> 1 THEN
            reason := reason || format('; auto_explain.sample_rate is %s', sample_rate);
        END IF;

        -- cost of timing an operation, in ns
        op_ns := readings_per_operation * cost.reading_ns;
        op_margin_ns := readings_per_operation * cost.reading_margin_ns;
        reading_ns := round(cost.reading_ns::numeric, 2);
        reading_margin_ns := round(cost.reading_margin_ns::numeric, 2);
        clock := cost.clock;
        IF work = 'calls of plan nodes' AND setting <> 'auto_explain.log_analyze' THEN
            readings_per_operation := 0.00;
            op_ns := cost.counting_ns;
            op_margin_ns := cost.counting_margin_ns;
            least_ns := op_ns;
            clock := NULL;
            reading_ns := NULL;
            reading_margin_ns := NULL;
            reason := coalesce('the cost of counting a call is unknown, because ' || cost.problem,
                               reason) || not_written;
        ELSIF setting = 'auto_explain.log_analyze' THEN
            op_ns := coalesce(cost.counting_ns, 0)
                + coalesce(cost.timing_ns, 2 * cost.plan_reading_ns);
            op_margin_ns := coalesce(cost.counting_margin_ns, 0)
                + CASE WHEN cost.timing_ns IS NULL THEN 2 * cost.plan_reading_margin_ns
                       ELSE cost.timing_margin_ns END;
            least_ns := op_ns;
            reading_ns := round(cost.plan_reading_ns::numeric, 2);
            reading_margin_ns := round(cost.plan_reading_margin_ns::numeric, 2);
            clock := cost.plan_clock;
            reason := format('the cost %s that of counting rows; ',
                             CASE WHEN cost.counting_ns IS NULL THEN 'excludes'
                                  ELSE 'includes' END)
                || reason
                || coalesce('; timing a call is assumed to cost two readings, because '
                            || cost.problem, '') || not_written;
        ELSIF work = 'statements' THEN
            -- Statements of few_calls or less cost their calls, others the time of sampling.  The
            -- estimate assumes that all statements have the mean number of calls.  A statement
            -- costs at most the time of sampling times its calls / few_calls, and at most the time
            -- of sampling.  So does the mean, whatever the distribution: that is the limit.
            readings_per_operation := NULL;
            least_ns := few_calls * coalesce(cost.timing_ns, 2 * cost.plan_reading_ns);
            op_ns := least(greatest(sampled_statement_ns, least_ns),
                           least_ns * calls_per_s / nullif(rate, 0) / few_calls);
            op_margin_ns := 0;
            most_ns := greatest(2 * sampled_statement_ns, least_ns);
            most_ns := least(most_ns, most_ns * most_calls_per_s / nullif(rate, 0) / few_calls);
            clock := NULL;
            reading_ns := NULL;
            reading_margin_ns := NULL;
        END IF;
        IF cost.is_bound AND reading_ns IS NOT NULL THEN
            reading_ns := NULL;
            reading_margin_ns := NULL;
            IF setting LIKE 'track%' THEN
                least_ns := NULL;
                bound := CASE WHEN coalesce(bound, 'at most') = 'at most' THEN 'at most'
                              ELSE 'estimate' END;
                reason := concat_ws('; ', reason,
                                    'SQL cannot measure the cost of reading the TSC: the cost of '
                                    'reading the system clock is used, which is usually higher');
            END IF;
        END IF;

        value := current_setting(split_part(setting, ' ', 1), true);
        in_effect := CASE
            WHEN setting LIKE 'track%' THEN coalesce(value = 'on', false)
            ELSE coalesce(current_setting('auto_explain.log_analyze', true) = 'on'
                          AND current_setting('auto_explain.log_min_duration', true) <> '-1', false)
                 AND CASE WHEN current_setting('auto_explain.log_timing', true) = 'off'
                          THEN setting = 'auto_explain.log_timing = off'
                          ELSE setting = CASE WHEN sampled THEN 'clocktiming.sampled_timing'
                                              ELSE 'auto_explain.log_analyze' END
                     END
            END;
        -- converts ns per second to percent of one CPU
        cost_percent := rate * share * op_ns / 1e7;
        cpu_percent := round(cost_percent::numeric, 4);
        cpu_margin_percent := round((rate * share * op_margin_ns / 1e7)::numeric, 4);
        least_cpu_percent := round((least_rate * share * least_ns / 1e7)::numeric, 4);
        operations := (counted ->> 'total')::double precision;
        most_cpu_percent := CASE WHEN coalesce(bound, 'at most') = 'at most' THEN cpu_percent END;
        IF work = 'calls of plan nodes' THEN
            most_ns := op_ns * CASE WHEN setting = 'auto_explain.log_analyze' THEN costliest_timing
                                    ELSE costliest_counting END;
            calls_per_s := rate;
            most_calls_per_s := CASE
                WHEN most_calls_per_ms IS NOT NULL THEN 1000 * active_sessions * most_calls_per_ms
                WHEN bound = 'estimate' AND rate >= 1e6 * active_sessions
                THEN most_calls_per_row * rate END;
            IF most_calls_per_ms IS NOT NULL THEN
                -- assumes the counted calls per ms for all active time
                most_cpu_percent := round((1000 * active_sessions * most_calls_per_ms * most_ns
                                           * share / 1e7)::numeric, 4);
            ELSIF bound = 'estimate' AND rate >= 1e6 * active_sessions THEN
                most_cpu_percent := most_calls_per_row * cpu_percent;
            END IF;
            IF cpu_percent > most_cpu_percent THEN
                most_cpu_percent := cpu_percent;
            END IF;
        ELSIF work = 'temporary files' THEN
            -- Counted reads and writes, which include those of rescans, plus the limit for all
            -- files, because they may belong to statements that are not counted.
            most_cpu_percent := round(
                ((most_uses_per_block * (counts -> work ->> 'per_s')::float8
                  + CASE statistics WHEN 'pg_stat_statements' THEN rate ELSE 0 END)
                 * op_ns / 1e7)::numeric, 4);
        ELSIF work = 'statements' AND not_nested IS NOT TRUE THEN
            most_cpu_percent := round((rate * share * most_ns / 1e7)::numeric, 4);
        END IF;
        operations_per_s := round((rate * share)::numeric, 3);
        operation_ns := round(op_ns::numeric, 2);
        operation_margin_ns := round(op_margin_ns::numeric, 2);
        period_s := round((counted ->> 'period_s')::numeric, 3);
        period := CASE WHEN observed THEN 'observed' ELSE 'since the last reset' END;
        IF rate IS NULL THEN
            bound := NULL;
        ELSIF operations = 0 AND work <> 'calls of plan nodes' THEN
            -- Without operations, the cost is 0.  But the number of calls of plan nodes is derived
            -- from rows: statements can make calls without reading rows, or may not have ended.
            most_cpu_percent := cpu_percent;
            bound := NULL;
            reason := NULL;
        ELSIF version < 140000 THEN
            reason := concat_ws('; ', reason,
                                'the active time of sessions is unknown before PostgreSQL 14');
        END IF;
        most_percent := CASE WHEN most_cpu_percent IS NOT NULL
                             THEN greatest(most_cpu_percent, cost_percent) END;
        IF observed AND active_sessions < 0.01 THEN
            -- The work of so short a time need not be the usual one.
            slowdown_percent := NULL;
            most_slowdown_percent := NULL;
        ELSIF setting LIKE 'track%' THEN
            -- Background processes cause a part of the cost.  In percent of a short active time,
            -- their part would be large on a server that is mostly idle.
            slowdown_percent := round((cost_percent / greatest(active_sessions, 1))::numeric, 4);
            most_slowdown_percent := round((most_percent
                                            / greatest(active_sessions, 1))::numeric, 4);
        ELSE
            slowdown_percent := round((cost_percent / nullif(active_sessions, 0))::numeric, 4);
            most_slowdown_percent := round((most_percent / nullif(active_sessions, 0))::numeric, 4);
            IF work = 'calls of plan nodes' AND calls_per_process_ms IS NOT NULL THEN
                -- In a parallel plan, the processes share the cost.
                slowdown_percent := round((share * calls_per_process_ms * op_ns / 1e4)::numeric, 4);
                most_slowdown_percent := round(
                    (share * greatest(calls_per_process_ms, most_calls_per_process_ms)
                     * most_ns / 1e4)::numeric, 4);
            END IF;
            IF work = 'calls of plan nodes' AND most_slowdown_percent IS NOT NULL THEN
                most_slowdown_percent := least(
                    most_slowdown_percent,
                    round((100 * share * op_ns / least_call_ns)::numeric, 4));
            END IF;
            -- without counted calls, slowdown_percent of parallel plans is too high
            slowdown_percent := least(slowdown_percent, most_slowdown_percent);
        END IF;
        RETURN NEXT;
    END LOOP;
END
$body$;
COMMENT ON FUNCTION internal_clock_works(jsonb, boolean, jsonb) IS
    'internal: returns the kinds of work of clock_impact() for the server''s counters by name '
    'and the costs of readings and of calls of plan nodes';

CREATE FUNCTION internal_clock_setting(setting text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
    IF setting <> ALL ('{track_io_timing,track_wal_io_timing,auto_explain.log_analyze,'
                       'auto_explain.log_timing = off,clocktiming.sampled_timing}'::text[]) THEN
        RAISE EXCEPTION 'unknown setting "%"', setting
            USING ERRCODE = 'invalid_parameter_value',
            HINT = 'SELECT setting FROM clock_impact() lists the settings.';
    END IF;
    RETURN setting;
END
$body$;
COMMENT ON FUNCTION internal_clock_setting(text) IS
    'internal: returns a setting''s name, or raises an error if clock_impact() does not know it';

-- Returns the columns of clock_impact() by which a setting may be on or not.  "work" has its other
-- columns by name, and the sums of those of its kinds of work.  "seconds" is its argument.
CREATE FUNCTION internal_clock_verdict(
    work jsonb, seconds double precision,
    OUT verdict text, OUT max_sample_rate numeric, OUT reason text, OUT advice text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    by_auto_explain CONSTANT boolean := work ->> 'setting' ~ '^(auto_explain|clocktiming)';
    bound CONSTANT text := work ->> 'bound';
    -- before PostgreSQL 14, the slowdown by auto_explain is unknown
    has_slowdown CONSTANT boolean := current_setting('server_version_num')::int >= 140000;
    percent CONSTANT numeric := CASE WHEN has_slowdown THEN work ->> 'slowdown_percent'
        ELSE coalesce(work ->> 'slowdown_percent', work ->> 'cpu_percent') END;
    most_percent CONSTANT numeric := CASE WHEN has_slowdown THEN work ->> 'most_slowdown_percent'
        ELSE coalesce(work ->> 'most_slowdown_percent', work ->> 'most_cpu_percent') END;
    -- period of the statistics, or null if the work was observed
    statistics_s CONSTANT numeric := CASE WHEN work ->> 'period' <> 'observed'
                                          THEN coalesce(work ->> 'period_s', '0') END;
    is_idle CONSTANT boolean := seconds IS NOT NULL AND statistics_s IS NOT NULL;
    counted CONSTANT boolean := coalesce(work ->> 'statistics' ~ 'clock_node_stats', false);
    -- false in the portable edition, unless the C library is also loaded
    can_count CONSTANT boolean := current_setting('clocktiming.track', true) IS NOT NULL;
    sample_rate CONSTANT numeric :=
        coalesce(nullif(current_setting('auto_explain.sample_rate', true), ''), '1');
    -- where auto_explain is not loaded, the setting is unknown
    sample_rate_now CONSTANT text :=
        CASE WHEN nullif(current_setting('auto_explain.sample_rate', true), '') IS NULL
             THEN 'default: ' ELSE 'it is ' END || trim_scale(sample_rate);
    most_rate numeric;
BEGIN
    verdict := 'unknown';
    reason := CASE
        WHEN work ->> 'cpu_percent' IS NULL AND most_percent IS NULL THEN 'not_counted'
        WHEN percent IS NULL AND most_percent IS NULL THEN 'idle'
        WHEN statistics_s < 60 AND is_idle THEN 'idle'
        WHEN statistics_s < 60 THEN 'short_period'
        WHEN most_percent < 1 THEN 'low'
        WHEN by_auto_explain AND most_percent IS NOT NULL
        THEN CASE WHEN counted THEN 'high' ELSE 'calls_guessed' END
        WHEN percent IS NULL
             OR work ->> 'setting' = 'clocktiming.sampled_timing' AND most_percent IS NULL
        THEN 'not_counted'
        -- without an upper limit, the estimate may be too low by a factor of thousands
        WHEN by_auto_explain THEN 'no_upper_limit'
        -- whether the true cost may be below 1 %, or else 1 % or more
        WHEN percent < 1 OR coalesce(bound = 'at most' OR bound = 'estimate' AND percent < 3, false)
        THEN CASE WHEN is_idle THEN 'idle' ELSE 'uncertain' END
        ELSE 'high' END;
    IF reason = 'low' THEN
        verdict := 'on';
    ELSIF by_auto_explain AND reason IN ('high', 'calls_guessed') THEN
        -- sample_rate at which the upper limit is 1 %, rounded down to one significant digit
        verdict := 'on_with_sample_rate';
        most_rate := sample_rate / most_percent;
        max_sample_rate := trim_scale(trunc(most_rate, ceil(-log(most_rate))::int));
    ELSIF reason = 'high' THEN
        verdict := 'off';
    END IF;
    advice := CASE reason
        WHEN 'low' THEN 'May be on: costs less than 1 %.'
        WHEN 'high' THEN
            CASE verdict WHEN 'off' THEN 'Costs 1 % or more. Switch it on only while you need it.'
                ELSE format('May be on with auto_explain.sample_rate %s or less (%s).',
                            max_sample_rate, sample_rate_now) END
        WHEN 'calls_guessed' THEN
            format('May be on with auto_explain.sample_rate %s or less (%s). Calls of nodes '
                   'are guessed%s.', max_sample_rate, sample_rate_now,
                   CASE WHEN can_count THEN '; clocktiming.track counts them' ELSE '' END)
        WHEN 'uncertain' THEN
            'May cost less than 1 %, or more. '
            || CASE WHEN seconds IS NULL THEN 'Execute `clock_impact(60)` in the busiest hour.'
                    ELSE 'Switch it on only while you need it.' END
        WHEN 'idle' THEN 'The server is idle. Execute `clock_impact(60)` under load.'
        WHEN 'short_period' THEN
            'The statistics cover less than a minute. Execute `clock_impact(60)` under load.'
        WHEN 'no_upper_limit' THEN
            format('The number of calls is unknown. %s clock_query_overhead() with a usual '
                   'statement.',
                   CASE WHEN can_count THEN 'Count them by clocktiming.track, or execute'
                        ELSE 'Execute' END)
        ELSE 'The server does not count the operations. The reason: '
             '`SELECT setting, reason FROM clock_impact(setting => NULL)`' END;
END
$body$;
COMMENT ON FUNCTION internal_clock_verdict(jsonb, double precision) IS
    'internal: returns verdict, max_sample_rate, reason and advice of clock_impact() for a row '
    'with its figures; statements in the advice are enclosed in backquotes';


-- A plan's calls and its time are sums over the same sample of executions.  So the margin of the
-- calls is assumed to be the same percentage as that of the time.
CREATE FUNCTION internal_clock_counted_calls() RETURNS jsonb
LANGUAGE SQL VOLATILE PARALLEL SAFE
BEGIN ATOMIC
    SELECT pg_catalog.jsonb_build_object(
               'counted calls', pg_catalog.jsonb_build_object(
                   'total', s.calls, 'per_s', s.calls / s.period_s, 'period_s', s.period_s,
                   'most_per_process_ms', s.most_per_process_ms),
               'squared margin of counted calls',
               pg_catalog.jsonb_build_object('total', s.squared_margin),
               'counted ms', pg_catalog.jsonb_build_object('total', s.total_ms),
               'counted process ms', pg_catalog.jsonb_build_object('total', s.process_ms))
    FROM (SELECT sum(p.calls) AS calls, sum(p.total_ms) AS total_ms,
                 sum(p.self_ms) AS process_ms,
                 max(p.calls / nullif(p.self_ms, 0.0::double precision))
                     FILTER (WHERE p.n <= 10) AS most_per_process_ms,
                 sum((p.calls * p.total_margin_ms / nullif(p.total_ms, 0.0::double precision))
                     ^ 2.0::double precision) AS squared_margin,
                 nullif(extract(epoch FROM pg_catalog.clock_timestamp() - min(p.first_seen))
                        ::double precision, 0.0::double precision) AS period_s
          FROM (SELECT s.total_ms, s.total_margin_ms, s.first_seen, n.calls, n.self_ms,
                       row_number() OVER (ORDER BY n.self_ms DESC NULLS LAST) AS n
                FROM clock_plan_stats() s
                JOIN (SELECT c.dbid, c.userid, c.queryid, c.planid,
                             sum(c.calls)::double precision AS calls, sum(c.self_ms) AS self_ms
                      FROM clock_node_stats(NULL::integer) c
                      WHERE c.node > 0
                      GROUP BY c.dbid, c.userid, c.queryid, c.planid) n
                    USING (dbid, userid, queryid, planid)) p) s;
END;
COMMENT ON FUNCTION internal_clock_counted_calls() IS
    'internal: returns the calls of plan nodes and the execution times in the statistics of plans, '
    'as counters for internal_clock_counts()';
REVOKE ALL ON FUNCTION internal_clock_counted_calls() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION internal_clock_counted_calls() TO pg_monitor;

CREATE FUNCTION internal_clock_impact(
    seconds double precision,
    cost_ns double precision,
    OUT setting text, OUT value text, OUT in_effect boolean, OUT work text,
    OUT cpu_percent numeric, OUT cpu_margin_percent numeric,
    OUT least_cpu_percent numeric, OUT most_cpu_percent numeric,
    OUT bound text,
    OUT operations bigint, OUT operations_per_s numeric, OUT operation_ns numeric,
    OUT operation_margin_ns numeric,
    OUT reading_ns numeric, OUT period_s numeric, OUT period text,
    OUT readings_per_operation numeric, OUT reading_margin_ns numeric, OUT clock text,
    OUT slowdown_percent numeric, OUT most_slowdown_percent numeric,
    OUT statistics text, OUT reason text
) RETURNS SETOF record
LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp SET extra_float_digits = 1
BEGIN ATOMIC
    SELECT w.*
    FROM internal_clock_works(
        -- Passes functions by qualified names: a regproc is printed with its schema, because
        -- search_path excludes the extension's schema.
        internal_clock_counts(
            seconds, 'internal_clock_wait'::regproc::text,
            CASE WHEN pg_catalog.current_setting('clocktiming.track', true) = 'on'
                 THEN pg_catalog.format('SELECT %s()',
                                        'internal_clock_counted_calls'::regproc) END),
        seconds IS NOT NULL,
        CASE WHEN cost_ns IS NULL
             THEN (SELECT pg_catalog.to_jsonb(c) FROM internal_clock_timing_costs() c)
             ELSE pg_catalog.jsonb_build_object('reading_ns', nullif(cost_ns, 'NaN'),
                                                'plan_reading_ns', nullif(cost_ns, 'NaN')) END) w;
END;
COMMENT ON FUNCTION internal_clock_impact(double precision, double precision) IS
    'internal: returns the kinds of work that clock_impact() sums up; measures the cost of a '
    'reading if cost_ns is null, else uses cost_ns and omits rows that need the cost of counting '
    'calls';
REVOKE ALL ON FUNCTION internal_clock_impact(double precision, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION internal_clock_impact(double precision, double precision) TO pg_monitor;

-- A row is the sum over a setting's kinds of work.  The sum is an estimate if one of the costs is
-- an estimate, or if the costs include an upper bound and also a lower bound or an unknown cost.
-- The sum is a lower bound if some costs are unknown and none is an upper bound.
CREATE FUNCTION clock_impact(
    seconds double precision DEFAULT NULL,
    OUT setting text, OUT verdict text, OUT max_sample_rate numeric,
    OUT most_slowdown_percent numeric, OUT slowdown_percent numeric,
    OUT in_effect boolean, OUT value text, OUT period_s numeric, OUT reason text, OUT advice text
) RETURNS SETOF record
LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 4
BEGIN ATOMIC
    WITH observed AS MATERIALIZED (
        SELECT d.* FROM internal_clock_impact(seconds, NULL::double precision) WITH ORDINALITY AS d
    ), idle AS MATERIALIZED (
        SELECT seconds IS NOT NULL AND bool_and(o.slowdown_percent IS NULL) AS is_idle
        FROM observed o
    ), works AS MATERIALIZED (
        SELECT o.* FROM observed o WHERE NOT (SELECT i.is_idle FROM idle i)
        UNION ALL
        -- if the server was idle, uses the statistics since their last reset
        SELECT d.*
        FROM internal_clock_impact(NULL::double precision, NULL::double precision)
             WITH ORDINALITY AS d
        WHERE (SELECT i.is_idle FROM idle i)
    )
    SELECT r.setting, v.verdict, v.max_sample_rate, r.most_slowdown_percent, r.slowdown_percent,
           r.in_effect, r.value, r.period_s, v.reason,
           -- With setting, the output of psql then fits 100 columns.
           internal_clock_lines(v.advice, 66)
    FROM (SELECT d.setting, d.value, d.in_effect,
                 sum(d.cpu_percent) AS cpu_percent,
                 CASE WHEN bool_and(d.most_cpu_percent IS NOT NULL)
                      THEN sum(d.most_cpu_percent) END AS most_cpu_percent,
                 CASE WHEN bool_or(d.bound = 'estimate')
                           OR bool_or(d.bound = 'at most')
                              AND bool_or(d.bound = 'at least' OR d.cpu_percent IS NULL)
                      THEN 'estimate'
                      WHEN bool_and(d.cpu_percent IS NULL) THEN NULL
                      WHEN bool_or(d.cpu_percent IS NULL) THEN 'at least'
                      ELSE max(d.bound) END AS bound,
                 max(d.period_s) AS period_s,
                 max(d.period) AS period,
                 sum(d.slowdown_percent) AS slowdown_percent,
                 CASE WHEN bool_and(d.most_slowdown_percent IS NOT NULL)
                      THEN sum(d.most_slowdown_percent) END AS most_slowdown_percent,
                 string_agg(DISTINCT d.statistics, ', ') AS statistics,
                 min(d.ordinality) AS ordinality
          FROM works d
          GROUP BY d.setting, d.value, d.in_effect) r,
         LATERAL internal_clock_verdict(pg_catalog.to_jsonb(r), seconds) v
    ORDER BY r.ordinality;
END;
COMMENT ON FUNCTION clock_impact(double precision) IS
    'estimates by how many percent track_io_timing, track_wal_io_timing and auto_explain lengthen '
    'this server''s statements, for its work during the given seconds or since the last reset of '
    'its statistics. A row per setting. verdict: on, off, on_with_sample_rate (up to '
    'max_sample_rate) or unknown. reason: low, high, calls_guessed, uncertain, idle, short_period, '
    'no_upper_limit or not_counted. advice: the reason in words';
REVOKE ALL ON FUNCTION clock_impact(double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_impact(double precision) TO pg_monitor;

CREATE FUNCTION clock_impact(
    INOUT setting text,
    seconds double precision DEFAULT NULL,
    OUT work text, OUT cpu_percent numeric, OUT cpu_margin_percent numeric,
    OUT least_cpu_percent numeric, OUT most_cpu_percent numeric,
    OUT bound text, OUT operations bigint, OUT operations_per_s numeric, OUT operation_ns numeric,
    OUT operation_margin_ns numeric,
    OUT reading_ns numeric, OUT period_s numeric, OUT period text,
    OUT readings_per_operation numeric, OUT reading_margin_ns numeric, OUT clock text,
    OUT slowdown_percent numeric, OUT most_slowdown_percent numeric,
    OUT statistics text, OUT reason text
) RETURNS SETOF record
LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
    SELECT d.setting, d.work, d.cpu_percent, d.cpu_margin_percent, d.least_cpu_percent,
           d.most_cpu_percent, d.bound, d.operations, d.operations_per_s, d.operation_ns,
           d.operation_margin_ns, d.reading_ns, d.period_s, d.period, d.readings_per_operation,
           d.reading_margin_ns, d.clock, d.slowdown_percent, d.most_slowdown_percent,
           d.statistics, d.reason
    FROM internal_clock_setting($1) AS chosen,
         internal_clock_impact(seconds, NULL::double precision) AS d
    WHERE d.setting = coalesce(chosen, d.setting);
END;
COMMENT ON FUNCTION clock_impact(text, double precision) IS
    'estimates the CPU time of timing each kind of work that a setting (null: each setting) times, '
    'from which clock_impact() without a setting computes its verdict. bound: accuracy of '
    'cpu_percent, which is of one CPU. reason: why a figure is unknown or a bound';
REVOKE ALL ON FUNCTION clock_impact(text, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_impact(text, double precision) TO pg_monitor;

-- Progress of the plans that are being executed.  While clocktiming.live is on, each process counts
-- the rows of its plan's nodes, a sampler estimates their times, and the process publishes both
-- every 50 ms in shared memory.

CREATE FUNCTION clock_running(
    OUT pid integer, OUT level integer,
    OUT node integer, OUT depth integer, OUT node_type text, OUT relation text, OUT index_name text,
    OUT state text, OUT innermost boolean, OUT loops bigint, OUT rows bigint, OUT calls bigint,
    OUT estimated_rows double precision,
    OUT total_ms double precision, OUT total_margin_ms double precision,
    OUT self_ms double precision, OUT self_margin_ms double precision,
    OUT share_percent double precision, OUT cpu_ms double precision, OUT wait_ms double precision,
    OUT waits text, OUT cpu_wait_ms double precision, OUT now text, OUT now_processes integer,
    OUT startup_cost double precision, OUT total_cost double precision, OUT width integer,
    OUT progress_percent double precision, OUT remaining_ms double precision,
    OUT remaining_low_ms double precision, OUT remaining_high_ms double precision, OUT reason text,
    OUT elapsed_ms double precision, OUT workers integer,
    OUT started_at timestamptz, OUT since timestamptz, OUT as_of timestamptz,
    OUT suspended_at timestamptz,
    OUT dbid oid, OUT userid oid, OUT queryid bigint
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 100
AS 'MODULE_PATHNAME', 'clock_running';
COMMENT ON FUNCTION clock_running() IS
    'lists the nodes of running plans, as the view clock_running shows them, and those of the '
    'reader''s own session';

CREATE VIEW clock_running AS
    SELECT s.pid, s.level, s.node, pg_catalog.repeat('  ', s.depth) || s.node_type AS node_type,
           s.relation, s.state, s.rows,
           s.estimated_rows * greatest(s.loops, 1)::double precision AS estimated_rows,
           s.self_ms,
           CASE WHEN s.node_type !~ 'Gather'
                THEN pg_catalog.round(
                         (100.0::double precision * s.share_percent
                          / nullif(sum(s.share_percent) FILTER (WHERE s.node_type !~ 'Gather')
                                       OVER plan, 0.0::double precision))::numeric,
                         2)::double precision END AS share_percent,
           s.now, s.waits,
           s.progress_percent, s.remaining_ms, s.remaining_low_ms, s.remaining_high_ms, s.reason,
           s.elapsed_ms,
           s.innermost,
           s.node = pg_catalog.first_value(s.node) OVER (
               PARTITION BY s.pid, s.level
               ORDER BY s.state IN ('running', 'suspended') AND s.node_type !~ 'Gather'
                            DESC NULLS LAST,
                        s.node_type !~ 'Gather' DESC, s.share_percent DESC NULLS LAST,
                        s.innermost DESC) AS busiest,
           s.depth, s.index_name, s.loops, s.calls, s.total_ms, s.total_margin_ms,
           s.self_margin_ms, s.cpu_ms, s.wait_ms, s.cpu_wait_ms, s.now_processes, s.workers,
           a.wait_event_type, a.wait_event, s.started_at, s.since, s.as_of, s.suspended_at,
           d.datname AS dbname, pg_catalog.pg_get_userbyid(s.userid) AS username, s.queryid,
           s.dbid, s.userid
    FROM clock_running() s LEFT JOIN pg_catalog.pg_database d ON d.oid = s.dbid
        LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = s.pid
    WHERE s.pid <> pg_catalog.pg_backend_pid()
    WINDOW plan AS (PARTITION BY s.pid, s.level, s.started_at)
    ORDER BY s.started_at, s.pid, s.level, s.node;
COMMENT ON VIEW clock_running IS
    'nodes of the plans that are being executed in the cluster by other sessions, with counters '
    'and times so far, while clocktiming.live is on';
GRANT SELECT ON TABLE clock_running TO PUBLIC;
COMMENT ON COLUMN clock_running.pid IS
    'process that executes the plan, whose workers'' counters are included';
COMMENT ON COLUMN clock_running.level IS
    'nesting level: 0 for a statement of the client, 1 for a statement of a function that it '
    'calls, and so on';
COMMENT ON COLUMN clock_running.node IS
    'number of the node in the plan, from 1, in the order of EXPLAIN; null in the single row of a '
    'plan with more than 256 nodes';
COMMENT ON COLUMN clock_running.node_type IS
    'type of the node, as EXPLAIN calls it, indented by its depth';
COMMENT ON COLUMN clock_running.state IS
    'not started, or the state of the node''s latest loop: running, finished (all its rows have '
    'been returned), rescanning (ended, the next loop has not begun) or suspended; null if the '
    'node was executed only before counting began and may have ended then';
COMMENT ON COLUMN clock_running.rows IS
    'rows that the node has returned since counting began, in all loops and processes; null if it '
    'was executed only before';
COMMENT ON COLUMN clock_running.estimated_rows IS
    'planner''s estimate of the rows of all loops that have begun';
COMMENT ON COLUMN clock_running.self_ms IS
    'estimated time of the node itself so far, without its children, in all processes, in '
    'milliseconds';
COMMENT ON COLUMN clock_running.share_percent IS
    'self_ms per process, in percent of the sum over all nodes; null for Gather and Gather Merge, '
    'which are not part of the sum';
COMMENT ON COLUMN clock_running.now IS
    'event for which most of the processes that execute the node wait, or CPU: they use a CPU or '
    'wait for one; null if no process executes the node';
COMMENT ON COLUMN clock_running.waits IS
    'wait events of the node so far of 1 percent of self_ms or more, at most four, the longest '
    'first';
COMMENT ON COLUMN clock_running.progress_percent IS
    'estimated share of the execution''s time that has passed, in percent';
COMMENT ON COLUMN clock_running.remaining_ms IS
    'estimated time until the end of the execution, in milliseconds';
COMMENT ON COLUMN clock_running.remaining_low_ms IS
    'beginning of a range that contains the remaining time in about nine of ten cases, in '
    'milliseconds';
COMMENT ON COLUMN clock_running.remaining_high_ms IS 'end of this range, in milliseconds';
COMMENT ON COLUMN clock_running.reason IS
    'why progress_percent and remaining_ms are unknown: too early, began late, recursive query or '
    'too many nodes';
COMMENT ON COLUMN clock_running.elapsed_ms IS
    'time since started_at, in milliseconds, without that in which the execution was suspended';
COMMENT ON COLUMN clock_running.innermost IS
    'true for the innermost node that was active when the counters were published';
COMMENT ON COLUMN clock_running.busiest IS
    'true for one node of each plan: that with the largest share_percent, of the running nodes if '
    'there are any';
COMMENT ON COLUMN clock_running.loops IS 'number of loops that have begun, in all processes';
COMMENT ON COLUMN clock_running.calls IS
    'number of calls of the node, in all processes, computed from rows and loops';
COMMENT ON COLUMN clock_running.total_ms IS
    'estimated time of the node and its children so far, in all processes, in milliseconds';
COMMENT ON COLUMN clock_running.cpu_ms IS 'part of self_ms on the CPU, in milliseconds';
COMMENT ON COLUMN clock_running.wait_ms IS 'part of self_ms in wait events, in milliseconds';
COMMENT ON COLUMN clock_running.cpu_wait_ms IS
    'time for which the node has waited for a CPU so far, in all processes, in milliseconds; not '
    'part of self_ms';
COMMENT ON COLUMN clock_running.now_processes IS 'number of processes in the state that now shows';
COMMENT ON COLUMN clock_running.workers IS 'number of parallel workers that execute the plan';
COMMENT ON COLUMN clock_running.wait_event_type IS
    'type of the event for which the process waits, as in pg_stat_activity';
COMMENT ON COLUMN clock_running.wait_event IS
    'event for which the process waits, as in pg_stat_activity';
COMMENT ON COLUMN clock_running.started_at IS
    'start of the execution; in a function, the time when the execution was first noticed';
COMMENT ON COLUMN clock_running.since IS
    'time when counting began: started_at if the execution was expected to be long, else later';
COMMENT ON COLUMN clock_running.as_of IS
    'time when the process published the counters, which it does every 50 ms';
COMMENT ON COLUMN clock_running.suspended_at IS
    'time when the execution was suspended: it has returned the requested rows of a cursor, and '
    'waits for the next request; null while it is at work';
COMMENT ON COLUMN clock_running.dbname IS 'name of the database';
COMMENT ON COLUMN clock_running.username IS
    'name of the user with whose rights the plan is executed, which need not be the user of the '
    'session';
COMMENT ON COLUMN clock_running.queryid IS
    'query identifier, that of pg_stat_activity; 0 if the server computes none';
COMMENT ON COLUMN clock_running.userid IS
    'OID of the user with whose rights the plan is executed';

CREATE FUNCTION internal_clock_ends_in(
    remaining_ms double precision, low_ms double precision, high_ms double precision
) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN ends.low >= 365.0::double precision AND unit.name = 'd'
                THEN 'more than a year'
                ELSE pg_catalog.format(CASE WHEN ends.estimate = 0.0::double precision
                                            THEN 'within %2$s %3$s'
                                            WHEN ends.low = 0.0::double precision
                                            THEN '%4$s %3$s (up to %2$s %3$s)'
                                            ELSE '%4$s %3$s (%1$s to %2$s %3$s)' END,
                                       ends.low::bigint, ends.high::bigint, unit.name,
                                       ends.estimate::bigint) END
    FROM (SELECT internal_clock_ends_in.low_ms / 1000.0::double precision AS low,
                 least(internal_clock_ends_in.high_ms / 1000.0::double precision,
                       31536000000.0::double precision) AS high) AS s,
        LATERAL (SELECT u.name, u.s
                 FROM (VALUES ('s', 1.0::double precision), ('min', 60.0), ('h', 3600.0),
                              ('d', 86400.0)) AS u (name, s)
                 WHERE s.high <= 120.0::double precision * u.s OR u.name = 'd'
                 ORDER BY u.s LIMIT 1) AS unit,
        LATERAL (SELECT CASE WHEN s.high <= 20.0::double precision * unit.s THEN unit.s
                             ELSE 5.0::double precision * unit.s END AS s) AS step,
        LATERAL (SELECT pg_catalog.floor(s.low / step.s) * step.s / unit.s AS low,
                        pg_catalog.round(least(internal_clock_ends_in.remaining_ms
                                               / 1000.0::double precision, s.high) / step.s)
                            * step.s / unit.s AS estimate,
                        greatest(pg_catalog.ceil(s.high / step.s), 1.0::double precision)
                            * step.s / unit.s AS high) AS ends;
END;
COMMENT ON FUNCTION internal_clock_ends_in(double precision, double precision, double precision) IS
    'internal: returns the remaining time and its range, all in ms, as text';

CREATE VIEW clock_activity AS
    -- Without cursors that were suspended before the statement began.
    WITH running AS MATERIALIZED (
        SELECT n.* FROM clock_running n
        WHERE n.suspended_at IS NULL
           OR n.suspended_at >= (SELECT s.query_start FROM pg_catalog.pg_stat_activity s
                                 WHERE s.pid = n.pid)),
    -- Sessions for which a statement waits.  Even idle ones may hold an advisory lock.
    blocking AS MATERIALIZED (
        SELECT DISTINCT b.pid
        FROM pg_catalog.pg_stat_activity w,
            pg_catalog.unnest(pg_catalog.pg_blocking_pids(w.pid)) b(pid)
        WHERE w.state = 'active' AND w.wait_event_type = 'Lock' AND w.wait_event <> 'extend')
    SELECT a.pid,
           pg_catalog.date_trunc('second', pg_catalog.clock_timestamp()
                                 - CASE a.state WHEN 'active' THEN a.query_start
                                                ELSE a.state_change END) AS elapsed,
           r.node, pg_catalog.round(r.share_percent::numeric, 1) AS share_percent,
           CASE WHEN r.is_whole AND NOT p.is_procedure
                THEN r.progress_percent END AS done_percent,
           CASE WHEN a.state <> 'active' THEN a.state
                WHEN a.wait_event_type = 'Lock' AND a.wait_event <> 'extend'
                -- a parallel query that holds the lock is listed several times
                THEN (SELECT CASE pg_catalog.count(b.blocker)
                                 WHEN 0 THEN 'waits for a lock'
                                 ELSE pg_catalog.concat(
                                     'blocked by ',
                                     coalesce(nullif(pg_catalog.min(b.blocker), 0)::text,
                                              'a prepared transaction'),
                                     CASE WHEN pg_catalog.count(DISTINCT b.blocker) > 1
                                          THEN ', ...' END) END
                      FROM pg_catalog.unnest(pg_catalog.pg_blocking_pids(a.pid)) b(blocker))
                WHEN p.is_procedure THEN 'unknown in a procedure'
                WHEN r.is_whole AND r.remaining_ms IS NOT NULL
                THEN internal_clock_ends_in(r.remaining_ms, r.remaining_low_ms,
                                            r.remaining_high_ms)
                WHEN r.level > 0 THEN 'unknown in a function'
                WHEN r.pid IS NOT NULL THEN r.reason
                WHEN (SELECT s.reset_val FROM pg_catalog.pg_settings s
                      WHERE s.name = 'clocktiming.live') = 'off' THEN 'clocktiming.live is off'
                WHEN pg_catalog.clock_timestamp() - a.query_start
                     < (SELECT s.reset_val::double precision + 500.0::double precision
                        FROM pg_catalog.pg_settings s
                        WHERE s.name = 'clocktiming.live_after') * interval '1 ms'
                THEN 'too early'
                ELSE 'no plan is shown' END AS ends_in,
           coalesce(c.now, a.wait_event_type || ':' || a.wait_event, 'CPU') AS now,
           pg_catalog.rtrim(pg_catalog."left"(pg_catalog.btrim(pg_catalog.regexp_replace(
               pg_catalog."left"(a.query, 1000), '[[:space:]]+', ' ', 'g')), 26)) AS query
    FROM pg_catalog.pg_stat_activity a
        -- A DO block or a procedure has no plan.  The estimates of the statements that it executes
        -- are not its own.
        CROSS JOIN LATERAL (
            SELECT a.query ~* E'^([[:space:]]|/[*].*[*]/|--[^\n]*\n)*(call|do)[^a-z0-9_]'
                AS is_procedure) p
        -- Shows the busiest node of the innermost statement.  If this is a Result node, which only
        -- computes an expression, prefers the busiest node of an outer statement.  Shows the
        -- progress of the client's statement.  Of several plans at the same level, prefers one that
        -- is not suspended.
        LEFT JOIN (SELECT DISTINCT ON (n.pid) n.pid, n.level, n.share_percent,
                          -- the first publication may have no times yet
                          CASE WHEN n.self_ms IS NOT NULL OR n.calls IS NULL
                               THEN nullif(pg_catalog.concat_ws(' on ',
                                               pg_catalog.ltrim(n.node_type), n.relation), '')
                                    || coalesce(j.relations, '')
                               END AS node,
                          -- false: the plan of the client's statement is not published
                          pg_catalog.first_value(n.level) OVER outermost = 0 AS is_whole,
                          pg_catalog.first_value(n.progress_percent) OVER outermost
                              AS progress_percent,
                          pg_catalog.first_value(n.remaining_ms) OVER outermost AS remaining_ms,
                          pg_catalog.first_value(n.remaining_low_ms) OVER outermost
                              AS remaining_low_ms,
                          pg_catalog.first_value(n.remaining_high_ms) OVER outermost
                              AS remaining_high_ms,
                          pg_catalog.first_value(n.reason) OVER outermost AS reason
                   FROM running n
                       -- Returns the first relation of a join's inner side, which is the second
                       -- child.  Returns no row if the join has subplans.
                       LEFT JOIN LATERAL (
                           SELECT pg_catalog.format(
                                      ' with %s%s', b.names[1],
                                      CASE WHEN pg_catalog.cardinality(b.names) > 1
                                           THEN ', ...' END) AS relations
                           FROM (SELECT pg_catalog.array_agg(c.relation ORDER BY c.node) AS names
                                 FROM (SELECT m.node, m.relation,
                                              max(m.node) FILTER (WHERE m.depth = n.depth + 1)
                                                  OVER () AS inner_node,
                                              count(*) FILTER (WHERE m.depth = n.depth + 1)
                                                  OVER () AS children
                                       FROM running m
                                       WHERE m.pid = n.pid AND m.level = n.level
                                         AND m.started_at = n.started_at AND m.node > n.node
                                         AND NOT EXISTS (
                                             SELECT FROM running o
                                             WHERE o.pid = n.pid AND o.level = n.level
                                               AND o.started_at = n.started_at
                                               AND o.depth <= n.depth
                                               AND o.node > n.node AND o.node <= m.node)) c
                                 WHERE c.children = 2 AND c.node >= c.inner_node
                                   AND c.relation IS NOT NULL) b
                           WHERE b.names IS NOT NULL) j ON n.node_type ~ '(Join|Nested Loop)$'
                   WHERE n.busiest IS NOT FALSE
                   WINDOW outermost AS (PARTITION BY n.pid
                                        ORDER BY n.level, n.suspended_at IS NOT NULL, n.as_of DESC)
                   ORDER BY n.pid, pg_catalog.ltrim(n.node_type) = 'Result', n.level DESC,
                            n.suspended_at IS NOT NULL, n.as_of DESC) r
            ON r.pid = a.pid AND a.state = 'active'
        -- Returns the state of most processes of the innermost statement, and the node.  A Gather,
        -- which waits for its workers, counts only if no other node is at work.  Like above, Result
        -- nodes come last.
        LEFT JOIN (SELECT DISTINCT ON (n.pid) n.pid,
                          pg_catalog.format('%s in %s', n.now,
                                            pg_catalog.concat_ws(
                                                ' on ', pg_catalog.ltrim(n.node_type),
                                                n.relation)) AS now
                   FROM running n
                   WHERE n.now IS NOT NULL AND n.suspended_at IS NULL
                   ORDER BY n.pid, pg_catalog.ltrim(n.node_type) = 'Result', n.level DESC,
                            n.as_of DESC, n.node_type ~ 'Gather', n.now_processes DESC,
                            n.innermost DESC, n.node) c
            ON c.pid = a.pid AND a.state = 'active'
    WHERE (a.state = 'active'
           OR a.state LIKE 'idle%' AND a.pid IN (SELECT i.pid FROM blocking i))
        AND a.backend_type = 'client backend' AND a.pid <> pg_catalog.pg_backend_pid()
        -- always true: calls clock_running() for its error or notice, although no other client may
        -- execute a statement
        AND (SELECT count(*) FROM running) IS NOT NULL
    ORDER BY a.query_start;
COMMENT ON VIEW clock_activity IS
    'running statements of other clients in the cluster: the busiest node, the share that is done, '
    'and the remaining time of each; and idle sessions that block them';
GRANT SELECT ON TABLE clock_activity TO PUBLIC;
COMMENT ON COLUMN clock_activity.pid IS
    'process that executes the statement: in a parallel plan, the leader';
COMMENT ON COLUMN clock_activity.elapsed IS
    'time since the statement began, or since an idle session became idle, in whole seconds';
COMMENT ON COLUMN clock_activity.node IS
    'node with the largest share_percent, of the running nodes if there are any, and its '
    'relation; for a join, the first relation of its inner side. In a function, the node of the '
    'innermost statement';
COMMENT ON COLUMN clock_activity.share_percent IS 'the node''s own time, as in clock_running';
COMMENT ON COLUMN clock_activity.done_percent IS
    'estimated share of the statement''s time that has passed, in percent; always null for a DO '
    'block, a procedure, or a function that executes statements';
COMMENT ON COLUMN clock_activity.ends_in IS
    'estimated time until the end of the statement, and in parentheses a range that contains it '
    'in about nine of ten cases; or the reason why it is unknown, such as blocked by 4711, a '
    'process that holds the lock or waits for it earlier; or idle or idle in transaction: the '
    'session executes nothing, and blocks others';
COMMENT ON COLUMN clock_activity.now IS
    'event for which the statement waits at present, or CPU, and the node at work, such as '
    'IO:DataFileRead in Seq Scan on orders. In a parallel plan, the state of most processes';
COMMENT ON COLUMN clock_activity.query IS
    'beginning of the statement, without line breaks; of an idle session, the latest one';

CREATE FUNCTION clock_running_text(pid integer, level integer DEFAULT 0) RETURNS text
LANGUAGE sql VOLATILE PARALLEL RESTRICTED
BEGIN ATOMIC
    SELECT pg_catalog.string_agg(
        CASE WHEN s.depth = 0 THEN '' ELSE pg_catalog.repeat('      ', s.depth - 1) || '  ->  ' END
        || s.node_type
        || CASE WHEN s.index_name IS NULL THEN ''
                WHEN s.relation IS NULL THEN ' on ' || pg_catalog.quote_ident(s.index_name)
                ELSE ' using ' || pg_catalog.quote_ident(s.index_name) END
        || coalesce(' on ' || pg_catalog.quote_ident(s.relation), '')
        || pg_catalog.format('  (cost=%s..%s rows=%s width=%s)', s.startup_cost::numeric(100, 2),
                             s.total_cost::numeric(100, 2), s.estimated_rows, s.width)
        || CASE WHEN s.loops IS NULL THEN ''
                WHEN s.loops = 0 THEN ' (never executed)'
                WHEN s.total_ms IS NULL
                THEN pg_catalog.format(' (actual rows=%s loops=%s)',
                                       pg_catalog.round(s.rows::numeric / s.loops::numeric),
                                       s.loops)
                ELSE pg_catalog.format(' (actual time=0.000..%s rows=%s loops=%s)',
                                       (s.total_ms / s.loops::double precision)::numeric(100, 3),
                                       pg_catalog.round(s.rows::numeric / s.loops::numeric),
                                       s.loops)
           END
        || E'\n' || pg_catalog.repeat('      ', s.depth)
        || '  State: ' || coalesce(s.state, 'unknown')
        || CASE WHEN s.innermost THEN ', innermost' ELSE '' END
        || coalesce('; now: ' || s.now, '') || coalesce('; waits so far: ' || s.waits, ''),
        E'\n' ORDER BY s.node)
    FROM (SELECT r.*, max(r.as_of) OVER () AS latest FROM clock_running() r
          WHERE r.pid = clock_running_text.pid AND r.level = clock_running_text.level) s
    WHERE s.as_of = s.latest AND s.node IS NOT NULL;
END;
COMMENT ON FUNCTION clock_running_text(integer, integer) IS
    'returns the plan that a process is executing, in the text format of EXPLAIN ANALYZE, with '
    'rows, loops, time and state of each node so far; null if clock_running does not show the '
    'process';

-- History of the clock that EXPLAIN ANALYZE reads, and events: changes and errors of the clock.  A
-- background worker observes the clock while clocktiming.watch is on.

CREATE FUNCTION clock_history(
    period text DEFAULT NULL,
    OUT per text,
    OUT at timestamptz,
    OUT intervals integer,
    OUT watched_s double precision,
    OUT source text,
    OUT cold_ns double precision,
    OUT warm_ns double precision,
    OUT rate_ppm double precision,
    OUT assumed_rate_ppm double precision,
    OUT error_bound_ppm double precision,
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
AS 'MODULE_PATHNAME', 'clock_history';
COMMENT ON FUNCTION clock_history(text) IS
    'lists the history of the clock that EXPLAIN ANALYZE reads, by minute, by hour or both, as '
    'the view clock_history shows it';
REVOKE ALL ON FUNCTION clock_history(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_history(text) TO pg_monitor;

-- Calls the function clock_history() once for hours and once for minutes, with a constant as the
-- column "per".  If a query has the condition per = 'hour' or per = 'minute', the planner removes
-- the other call.
CREATE VIEW clock_history AS
    SELECT 'hour'::text AS per, at, intervals, watched_s, source, cold_ns, warm_ns, rate_ppm,
           assumed_rate_ppm, error_bound_ppm, backward_steps, warps, lags, gaps, stolen_percent,
           off_cpu_percent, cpu_skew_ns, synchronised, sync_offset_us, sync_error_us,
           sync_frequency_ppm,
           kernel_clock_source, boot_id, hypervisor, processor, cpus, sample
    FROM clock_history('hour')
    UNION ALL
    SELECT 'minute'::text, at, intervals, watched_s, source, cold_ns, warm_ns, rate_ppm,
           assumed_rate_ppm, error_bound_ppm, backward_steps, warps, lags, gaps, stolen_percent,
           off_cpu_percent, cpu_skew_ns, synchronised, sync_offset_us, sync_error_us,
           sync_frequency_ppm,
           kernel_clock_source, boot_id, hypervisor, processor, cpus, sample
    FROM clock_history('minute');
COMMENT ON VIEW clock_history IS
    'history of the clock that EXPLAIN ANALYZE reads, while clocktiming.watch was on: a row per '
    'minute of the latest day and per hour of the latest 400 days; if the time of day was set '
    'back, rows of the future are hidden until the time of day reaches them';
REVOKE ALL ON TABLE clock_history FROM PUBLIC;
GRANT SELECT ON TABLE clock_history TO pg_monitor;
COMMENT ON COLUMN clock_history.per IS
    'period of the row: minute, for the latest day, or hour, for the latest 400 days';
COMMENT ON COLUMN clock_history.at IS 'beginning of the minute or hour';
COMMENT ON COLUMN clock_history.intervals IS
    'number of intervals of clocktiming.watch_interval in which the clock was observed';
COMMENT ON COLUMN clock_history.watched_s IS
    'part of the period during which the clock was observed, in seconds';
COMMENT ON COLUMN clock_history.source IS
    'clock source that EXPLAIN ANALYZE read at the end of the period';
COMMENT ON COLUMN clock_history.cold_ns IS
    'mean over the intervals of the minimum cost of a reading right after a sleep, in nanoseconds';
COMMENT ON COLUMN clock_history.warm_ns IS
    'mean over the intervals of the minimum cost of a reading that follows other readings, in '
    'nanoseconds';
COMMENT ON COLUMN clock_history.rate_ppm IS
    'excess of the clock''s rate over that of CLOCK_MONOTONIC_RAW, mean of the medians of the '
    'intervals, in parts per million; null if the clock is CLOCK_MONOTONIC_RAW itself';
COMMENT ON COLUMN clock_history.error_bound_ppm IS
    'largest possible error of times that the clock measured, in parts per million, by the '
    'counter''s frequency that VMClock states';
COMMENT ON COLUMN clock_history.backward_steps IS 'number of readings below the previous one';
COMMENT ON COLUMN clock_history.warps IS 'number of jumps ahead of the reference clock';
COMMENT ON COLUMN clock_history.lags IS
    'number of times that the clock fell behind the reference clock, without backward steps';
COMMENT ON COLUMN clock_history.gaps IS
    'number of pauses between readings in which the process or the virtual machine was off the CPU';
COMMENT ON COLUMN clock_history.cpu_skew_ns IS
    'largest proven difference between the clocks of two CPUs, in nanoseconds; 0 if none was '
    'proven, null if there is only one CPU';
COMMENT ON COLUMN clock_history.sync_offset_us IS
    'latest offset of the kernel''s clock from its time server, in microseconds';
COMMENT ON COLUMN clock_history.sync_frequency_ppm IS
    'latest frequency correction of the kernel''s clock, in parts per million';
COMMENT ON COLUMN clock_history.boot_id IS 'identifier of the machine''s boot';
COMMENT ON COLUMN clock_history.sample IS
    'durations between successive readings, of at most 24 different lengths, as a clock_sample';

CREATE FUNCTION clock_events(
    OUT at timestamptz,
    OUT what text,
    OUT before text,
    OUT after text,
    OUT evidence text,
    OUT ended_at timestamptz,
    OUT repetitions bigint
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL SAFE ROWS 100
AS 'MODULE_PATHNAME', 'clock_events';
COMMENT ON FUNCTION clock_events() IS
    'lists the latest 1000 changes of the clocks, as the view clock_events shows them';
REVOKE ALL ON FUNCTION clock_events() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_events() TO pg_monitor;

CREATE VIEW clock_events AS
    SELECT at, what, before, after, evidence, ended_at, repetitions
    FROM clock_events();
COMMENT ON VIEW clock_events IS
    'changes of the clocks while clocktiming.watch was on, the latest 1000';
REVOKE ALL ON TABLE clock_events FROM PUBLIC;
GRANT SELECT ON TABLE clock_events TO pg_monitor;
COMMENT ON COLUMN clock_events.at IS
    'start of the change, or its detection if the kind is kernel clock source, clock source, '
    'machine, synchronisation, stolen time, time of day, migration announced or container';
COMMENT ON COLUMN clock_events.what IS 'kind of change, such as rate or machine';
COMMENT ON COLUMN clock_events.before IS
    'value before the change, or before the first of several changes of the cost';
COMMENT ON COLUMN clock_events.after IS 'value after the change';
COMMENT ON COLUMN clock_events.evidence IS 'observation by which the change was detected';
COMMENT ON COLUMN clock_events.ended_at IS
    'time when the former value returned or another change followed; null if the change is ongoing';
COMMENT ON COLUMN clock_events.repetitions IS
    'number of further changes of this kind until ended_at: after 30 changes within an hour, '
    'further ones are only counted';

CREATE FUNCTION clock_trust(
    "from" timestamptz,
    "to" timestamptz DEFAULT pg_catalog.now(),
    OUT trusted boolean,
    OUT watched_percent double precision,
    OUT spoilt_by text[],
    OUT verdict text,
    OUT error_bound_ppm double precision
) RETURNS record
LANGUAGE sql VOLATILE PARALLEL SAFE
BEGIN ATOMIC
    WITH spoilt AS (
        SELECT coalesce(pg_catalog.array_agg(DISTINCT e.what ORDER BY e.what), '{}') AS by
        FROM clock_events e
        WHERE e.at < "to" AND "from" < "to"
          AND CASE
                -- Events of these kinds make timings wrong as long as they last.
                WHEN e.what IN ('rate', 'backward step', 'warp', 'lag', 'CPU skew', 'resume',
                                'stolen time', 'migrated', 'restored', 'container')
                THEN coalesce(e.ended_at, 'infinity') >= "from"
                -- The server has begun to read another clock.  Timings before and after cannot be
                -- compared, so only a period in which the event starts or ends is affected.  The
                -- event may never end.
                WHEN e.what IN ('clock source', 'kernel clock source')
                THEN e.at >= "from" OR e.ended_at BETWEEN "from" AND "to"
                -- The cost of a reading changed.  A period in which the event starts or ends is
                -- affected, as above.  If the cost rose, all periods during the event are affected.
                WHEN e.what = 'cost' THEN e.at >= "from" OR e.ended_at BETWEEN "from" AND "to"
                  OR coalesce(e.ended_at, 'infinity') >= "from"
                     AND split_part(e.after, ' ', 1)::double precision
                         > split_part(e.before, ' ', 1)::double precision
              END
    ), minutes AS MATERIALIZED (
        SELECT h.at, h.watched_s, h.rate_ppm, h.error_bound_ppm FROM clock_history h
        WHERE h.per = 'minute'
    ), pieces AS (
        SELECT m.at, m.watched_s, m.rate_ppm, m.error_bound_ppm, 60::double precision AS length_s
        FROM minutes m
        UNION ALL
        -- Adds the hours that end before the oldest minute of the history.  If the period does not
        -- begin before that minute, the condition on "from" is false, and clock_history('hour') is
        -- not called.
        SELECT h.at, h.watched_s, h.rate_ppm, h.error_bound_ppm, 3600
        FROM clock_history h
        WHERE h.per = 'hour' AND "from" < (SELECT coalesce(min(m.at), 'infinity') FROM minutes m)
          AND h.at + interval '1 hour' <= (SELECT coalesce(min(m.at), 'infinity') FROM minutes m)
    ), watched AS (
        -- Adds up how long the clock was observed in the period.  A piece (minute or hour) may be
        -- only partly in the period.  For a minute, assumes that as much as possible of its
        -- observed time is in the period; for an hour, that its observed time is evenly
        -- distributed.
        -- Subtracts epochs and not timestamps, because before PostgreSQL 17 it is an error to
        -- subtract a timestamp from infinity.
        SELECT CASE WHEN "from" < "to"
                    THEN least(100, coalesce(sum(CASE p.length_s
                                                 WHEN 60::double precision
                                                 THEN least(p.watched_s, o.overlap_s)
                                                 ELSE least(p.watched_s, p.length_s)
                                                      * o.overlap_s / p.length_s
                                                 END), 0)
                                    * 100::double precision
                                    / (extract(epoch FROM "to")
                                       - extract(epoch FROM "from"))::double precision)
               END AS percent,
               CASE WHEN bool_and(p.error_bound_ppm IS NOT NULL) THEN max(p.error_bound_ppm) END
               AS error_bound_ppm,
               -- The rate is null if the reference clock is the watched clock.
               coalesce(bool_and(p.rate_ppm IS NOT NULL), true) AS has_reference
        FROM pieces p,
             LATERAL (SELECT (extract(epoch FROM
                                      least("to", p.at + p.length_s * interval '1 second'))
                              - extract(epoch FROM greatest("from", p.at)))::double precision
                             AS overlap_s) o
        WHERE p.at < "to" AND p.at + p.length_s * interval '1 second' > "from"
    )
    SELECT CASE WHEN pg_catalog.cardinality(s.by) > 0 THEN false
                WHEN w.percent >= 90::double precision AND w.has_reference THEN true END,
           round(w.percent::numeric, 2)::double precision,
           s.by,
           CASE WHEN pg_catalog.cardinality(s.by) > 0
                THEN 'not to be believed: ' || pg_catalog.array_to_string(s.by, ', ')
                WHEN w.percent >= 90::double precision AND w.has_reference THEN 'to be believed'
                WHEN w.percent >= 90::double precision
                THEN 'not known: the reference clock is the watched clock'
                WHEN w.percent IS NULL THEN 'not known: the period is empty'
                ELSE 'not known: the clock was watched for '
                     || coalesce(round(w.percent::numeric, 2)::text, '0') || ' % of the period' END,
           CASE WHEN pg_catalog.cardinality(s.by) = 0 AND w.percent >= 90::double precision
                  AND w.has_reference
                THEN w.error_bound_ppm END
    FROM spoilt s, watched w;
END;
COMMENT ON FUNCTION clock_trust(timestamptz, timestamptz) IS
    'returns whether timings that were measured in a period, for example by pg_stat_statements, '
    'auto_explain and track_io_timing, are reliable, and which events make them unreliable';
REVOKE ALL ON FUNCTION clock_trust(timestamptz, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_trust(timestamptz, timestamptz) TO pg_monitor;

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
REVOKE ALL ON FUNCTION clock_metrics(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_metrics(text) TO pg_monitor;

CREATE VIEW clock_metrics AS
    SELECT name, labels, value, type, help
    FROM clock_metrics('prometheus'::text);
COMMENT ON VIEW clock_metrics IS
    'metrics of the clocks, of the ten plan nodes with the longest times, and of the longest waits '
    'by type of plan node, for monitoring; measures nothing';
REVOKE ALL ON TABLE clock_metrics FROM PUBLIC;
GRANT SELECT ON TABLE clock_metrics TO pg_monitor;
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
REVOKE ALL ON FUNCTION clock_metrics_text(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_metrics_text(text) TO pg_monitor;

-- clock_page() returns an HTML page about the clocks, which is built by a single query.

-- Classes of the page's style sheet:
--   .v            verdict; .ok, .bad and .unk choose its colour
--   .plot         chart: path .g grid, .b band from minimum to maximum, .w line of means, .e
--                 periods of events; .m mark of an event, .x and .y labels of the axes
--   .key, .k      legend of a chart, and the symbol in it that stands for an event
--   .n            table of numbers; .t is a cell of text in it
--   .h            histogram
--   .ev           table of events
--   .sr           text for screen readers only
CREATE FUNCTION clock_page() RETURNS text
LANGUAGE SQL VOLATILE PARALLEL UNSAFE SET extra_float_digits = 1 SET intervalstyle = postgres
BEGIN ATOMIC
WITH knows AS MATERIALIZED (
    SELECT k.watched, k.plans FROM internal_clock_page_sources() k
), history AS MATERIALIZED (
    -- If the clocks are not watched, a call of clock_history() raises an error.  The condition
    -- k.watched prevents the call: it uses no column of clock_history, so PostgreSQL evaluates it
    -- first, and does not scan the function if it is false.
    SELECT h.* FROM clock_history h WHERE (SELECT k.watched FROM knows k) AND h.at <= now()
), latest AS MATERIALIZED (
    SELECT h.* FROM history h WHERE h.per = 'minute' ORDER BY h.at DESC LIMIT 1
), trust AS MATERIALIZED (
    SELECT t.* FROM clock_trust(now() - interval '1 day', now()) t
    WHERE (SELECT k.watched FROM knows k)
), events AS MATERIALIZED (
    SELECT e.*, row_number() OVER (ORDER BY e.at DESC) AS no
    FROM clock_events e WHERE (SELECT k.watched FROM knows k)
),

-- Charts of the cost of a warm reading.  A chart shows a span of time ("spans"), divided into
-- buckets.  x is a bucket's number, y is in percent of the chart's height, from the top.
spans AS MATERIALIZED (
    SELECT s.*, now() - s.length AS began
    FROM (VALUES (1, 'last day', 'minute', interval '1 day', 288.0, 300.0, '5 minutes', 'day',
                  interval '6 hours'),
                 (2, 'last 400 days', 'hour', interval '400 days', 400.0, 86400.0, 'day', 'year',
                  interval '3 months'))
         AS s(span, title, per, length, buckets, bucket_s, bucket, labels_from, labels_every)
), buckets AS MATERIALIZED (
    SELECT s.span, floor(extract(epoch FROM h.at - s.began) / s.bucket_s) AS x,
           min(h.warm_ns)::numeric AS low, avg(h.warm_ns)::numeric AS mean,
           max(h.warm_ns)::numeric AS high
    FROM spans s JOIN history h ON h.per = s.per AND h.at >= s.began
    GROUP BY 1, 2
), scales AS MATERIALIZED (
    SELECT t.span, t.step, t.step * ceil(t.most / t.step) AS top
    FROM (SELECT p.span, p.most,
                 p.power * CASE WHEN p.most / p.power <= 3.0 THEN 1.0
                                WHEN p.most / p.power <= 6.0 THEN 2.0
                                WHEN p.most / p.power <= 15.0 THEN 5.0 ELSE 10.0 END AS step
          FROM (SELECT m.*, power(10.0, floor(log(m.most / 3.0))) AS power
                FROM (SELECT b.span, greatest(max(b.high), 1.0) AS most
                      FROM buckets b GROUP BY b.span) m) p) t
), points AS MATERIALIZED (
    SELECT b.span, b.x, round(100.0 - 100.0 * b.mean / s.top, 1) AS y,
           round(100.0 - 100.0 * b.low / s.top, 1) AS y_low,
           round(100.0 - 100.0 * b.high / s.top, 1) AS y_high,
           coalesce(pg_catalog.lag(b.x) OVER (PARTITION BY b.span ORDER BY b.x) = b.x - 1.0,
                    false) AS goes_on
    FROM buckets b JOIN scales s ON s.span = b.span
    WHERE b.mean IS NOT NULL
), lines AS (
    SELECT p.span,
           string_agg(pg_catalog.concat(CASE WHEN p.goes_on THEN 'L' ELSE 'M' END, p.x, ' ', p.y,
                                        CASE WHEN NOT p.goes_on THEN 'h0' END),
                      '' ORDER BY p.x) AS mean,
           string_agg(pg_catalog.concat('M', p.x, ' ', p.y_high, 'V', p.y_low), '' ORDER BY p.x)
               FILTER (WHERE p.y_high < p.y_low) AS band
    FROM points p
    GROUP BY p.span
), happened AS MATERIALIZED (
    SELECT s.span, s.buckets, e.*,
           greatest(0.0, extract(epoch FROM e.at - s.began) / s.bucket_s) AS x,
           extract(epoch FROM coalesce(e.ended_at, now()) - s.began) / s.bucket_s AS x_end
    FROM spans s JOIN events e ON coalesce(e.ended_at, now()) >= s.began AND e.at <= now()
), spells AS (
    SELECT s.span,
           string_agg(pg_catalog.concat('M', s.x, ' 0h', s.width, 'v100H', s.x, 'z'),
                      '' ORDER BY s.x) AS path
    FROM (SELECT h.span, round(h.x, 1) AS x,
                 round(greatest(max(h.x_end - h.x), 0.2), 1) AS width
          FROM happened h GROUP BY 1, 2) s
    GROUP BY s.span
), marks AS (
    -- Merges the events in each thirtieth of the chart's width into one mark, so that marks do not
    -- overlap.
    SELECT m.span,
           string_agg(pg_catalog.format('<a class="m" href="#%s" style="left:%s%%" title="%s">'
                                        '<span aria-hidden="true">&#9660;</span></a>',
                                        CASE WHEN m.no <= 50::bigint THEN 'e' || m.no::text
                                             ELSE 'events' END,
                                        m.percent, internal_clock_page_escape(m.title)),
                      '' ORDER BY m.percent) AS html
    FROM (SELECT h.span, min(h.no) AS no, round(min(100.0 * h.x / h.buckets), 1) AS percent,
                 pg_catalog.concat(to_char(min(h.at), 'YYYY-MM-DD HH24:MI'), ' ',
                                   string_agg(DISTINCT h.what, ', ')) AS title
          FROM happened h
          GROUP BY h.span, floor(30.0 * h.x / h.buckets)) m
    GROUP BY m.span
), charts AS (
    SELECT string_agg(pg_catalog.concat(
        '<figure><figcaption id="c', s.span, '"><h3>Cost of a warm reading, ', s.title,
        ', in nanoseconds</h3><ul class="key">',
        '<li><svg viewBox="0 0 24 8"><path class="b" d="M12 0V8" style="stroke-width:24"/>'
        '<path class="w" d="M0 4h24"/></svg> mean of each ', s.bucket,
        ', and range from minimum to maximum</li><li><span class="k">&#9660;</span> event; its '
        'duration is shaded</li></ul></figcaption>',
        '<div class="plot"><svg viewBox="0 0 ', s.buckets, ' 100" preserveAspectRatio="none" '
        'role="img" aria-labelledby="c', s.span, '">',
        '<path class="g" d="',
        (SELECT string_agg(pg_catalog.concat('M0 ', round(100.0 - 100.0 * ns / c.top, 1), 'H',
                                             s.buckets), '')
         FROM generate_series(c.step, c.top, c.step) ns),
        '"/><path class="e" d="', (SELECT p.path FROM spells p WHERE p.span = s.span),
        '"/><g transform="translate(.5)"><path class="b" d="', l.band,
        '"/><path class="w" d="', l.mean, '"/></g></svg>',
        (SELECT m.html FROM marks m WHERE m.span = s.span),
        (SELECT string_agg(pg_catalog.format('<span class="y" style="bottom:%s%%">%s</span>',
                                             round(100.0 * ns / c.top, 1), trim_scale(ns)), '')
         FROM generate_series(0.0, c.top, c.step) ns),
        (SELECT string_agg(pg_catalog.format('<span class="x" style="left:%s%%">%s</span>',
                                             x.percent, x.label), '')
         FROM (SELECT round(100.0 * extract(epoch FROM t - s.began) / (s.buckets * s.bucket_s), 1)
                          AS percent,
                      CASE WHEN s.span = 2 THEN to_char(t, 'Mon YYYY')
                           WHEN t = date_trunc('day', t) THEN to_char(t, 'DD Mon')
                           ELSE to_char(t, 'HH24:MI') END AS label
               FROM generate_series(date_trunc(s.labels_from, s.began), now(), s.labels_every) t) x
         WHERE x.percent BETWEEN 4.0 AND 96.0),
        '</div></figure>'), '' ORDER BY s.span) AS html
    FROM spans s JOIN scales c ON c.span = s.span LEFT JOIN lines l ON l.span = s.span
),

-- Table of minima, maxima and totals, with a column for each span
totals AS (
    SELECT s.span, v.no, v.label, v.value
    FROM spans s, LATERAL (
        SELECT sum(h.watched_s) AS watched_s, sum(h.backward_steps) AS backward_steps,
               sum(h.warps) AS warps, sum(h.lags) AS lags,
               min(h.warm_ns) AS least_warm, max(h.warm_ns) AS most_warm,
               min(h.cold_ns) AS least_cold, max(h.cold_ns) AS most_cold,
               min(h.rate_ppm) AS least_rate, max(h.rate_ppm) AS most_rate,
               max(h.stolen_percent) AS stolen, max(h.off_cpu_percent) AS off_cpu,
               max(h.sync_error_us) AS sync_error
        FROM history h WHERE h.per = s.per AND h.at >= s.began) h, LATERAL (VALUES
        (1, 'watched, hours', round(h.watched_s::numeric / 3600.0, 2)::text),
        (2, 'cost of a warm reading, ns',
         h.least_warm::text || coalesce(' to ' || nullif(h.most_warm, h.least_warm)::text, '')),
        (3, 'cost of a cold reading, ns',
         h.least_cold::text || coalesce(' to ' || nullif(h.most_cold, h.least_cold)::text, '')),
        (4, 'faster than the kernel&#8217;s clock, ppm',
         h.least_rate::text || coalesce(' to ' || nullif(h.most_rate, h.least_rate)::text, '')),
        (5, 'backward steps', h.backward_steps::text),
        (6, 'warps: jumps ahead', h.warps::text),
        (7, 'lags: falls behind the reference', h.lags::text),
        (8, 'CPU time stolen by the hypervisor, maximum, %', h.stolen::text),
        (9, 'lost to other processes or a CPU limit during observations, maximum, %',
         h.off_cpu::text),
        (10, 'bound of the synchronisation error, maximum, &#181;s', h.sync_error::text))
        v(no, label, value)
), figures AS (
    SELECT string_agg(r.html, '' ORDER BY r.no) AS html
    FROM (SELECT t.no,
                 pg_catalog.format('<tr><th scope="row">%s</th>%s</tr>', t.label,
                                   string_agg('<td>' || internal_clock_page_escape(t.value)
                                              || '</td>', '' ORDER BY t.span)) AS html
          FROM totals t GROUP BY t.no, t.label) r
),

-- Section about the machine, and the clocks watched in the last day.  Merges a clock's samples.
samples AS (
    SELECT h.at, h.warm_ns, h.cold_ns, h.sample, h.sample::jsonb AS members
    FROM history h WHERE h.per = 'minute' AND h.at >= now() - interval '1 day'
), merged AS MATERIALIZED (
    SELECT s.members ->> 'source'::text AS source, s.members ->> 'clock'::text AS reads,
           clock_merge(s.sample) AS sample, max(s.at) AS seen,
           (pg_catalog.array_agg(s.warm_ns ORDER BY s.at DESC))[1] AS warm_ns,
           (pg_catalog.array_agg(s.cold_ns ORDER BY s.at DESC))[1] AS cold_ns
    FROM samples s
    -- Skips samples without durations.  "readings" counts durations and backward steps.
    WHERE (s.members ->> 'readings'::text)::bigint > (s.members ->> 'backward_steps'::text)::bigint
    GROUP BY 1, 2
), clocks AS (
    SELECT string_agg(pg_catalog.concat(
        '<article><h3>', internal_clock_page_escape(m.source),
        '</h3><p>', internal_clock_page_escape(m.reads),
        ', latest observation ', to_char(m.seen, 'YYYY-MM-DD HH24:MI'), '</p><dl>',
        (SELECT string_agg(pg_catalog.format('<div><dt>%s</dt><dd>%s ns</dd></div>', v.label,
                                             internal_clock_page_escape(v.ns)), '' ORDER BY v.no)
         FROM (VALUES (1, 'warm reading', m.warm_ns::text), (2, 'cold reading', m.cold_ns::text),
                      (3, 'median duration', s.p50_ns::text),
                      (4, '99 % quantile', s.p99_ns::text)) v(no, label, ns)),
        '</dl><table class="h"><caption>Durations from one reading to the next, ', s.readings,
        ' in the last day</caption>',
        '<thead><tr><th scope="col">up to, ns</th><th scope="col">%</th>'
        '<th scope="col"><span class="sr">bar</span></th></tr></thead><tbody>',
        (SELECT string_agg(pg_catalog.concat(
                               '<tr><th scope="row">', d.le_ns, '</th><td>', d.percent,
                               '</td><td><svg viewBox="0 0 100 1" ',
                               'preserveAspectRatio="none" aria-hidden="true"><path d="M0 0H',
                               d.percent, 'V1H0"/></svg></td></tr>'), '' ORDER BY d.le_ns)
         FROM clock_histogram(m.sample, NULL::double precision) d WHERE d.count > 0::bigint),
        '</tbody></table></article>'), '' ORDER BY m.seen DESC, m.source) AS html
    FROM merged m, LATERAL clock_summary(m.sample) s
), machine AS (
    SELECT '<dl>'
           || string_agg(pg_catalog.format('<div><dt>%s</dt><dd>%s</dd></div>', v.label,
                                           internal_clock_page_escape(v.value)), '' ORDER BY v.no)
           || '</dl>' AS html
    FROM latest l, LATERAL (VALUES
        (1, 'kernel&#8217;s clock source', l.kernel_clock_source),
        (2, 'synchronised', CASE WHEN l.synchronised THEN 'yes'
                                 WHEN NOT l.synchronised THEN 'no' END),
        (3, 'processor', l.processor),
        (4, 'CPUs', l.cpus::text),
        (5, 'hypervisor', l.hypervisor)) v(no, label, value)
),

listed AS (
    SELECT string_agg(pg_catalog.format(
               '<tr id="e%s"><td>%s<small>%s</small></td>'
               '<td><b>%s</b>: %s &#8594; %s<small>%s</small></td></tr>',
               e.no, to_char(e.at, 'YYYY-MM-DD"<br/>"HH24:MI:SS'),
               CASE WHEN e.ended_at IS NULL THEN '<b>goes on</b>'
                    WHEN e.ended_at = e.at THEN 'a moment'
                    ELSE internal_clock_page_escape(
                             date_trunc('second', e.ended_at - e.at)::text) END,
               internal_clock_page_escape(e.what), internal_clock_page_escape(e.before),
               internal_clock_page_escape(e.after), internal_clock_page_escape(e.evidence)),
               '' ORDER BY e.no) FILTER (WHERE e.no <= 50::bigint) AS html,
           count(*) AS n, count(*) FILTER (WHERE e.ended_at IS NULL) AS going_on,
           count(*) FILTER (WHERE e.at >= now() - interval '1 day') AS today
    FROM events e
), costs AS (
    SELECT string_agg(pg_catalog.format(
               '<tr><th scope="row">%s<small>%s</small></th><td>%s</td><td>%s%s</td></tr>',
               replace(c.setting, '_', '_<wbr/>'),
               internal_clock_page_escape(coalesce('is ' || c.value, 'not loaded')),
               internal_clock_page_escape(round(c.operations_per_s, 1)::text),
               internal_clock_page_escape(c.cpu_percent::text),
               '<small>at least ' || nullif(c.least_percent, c.cpu_percent)::text || '</small>'),
               '' ORDER BY c.setting DESC) AS html
    FROM (SELECT d.setting, d.value, sum(d.operations_per_s) AS operations_per_s,
                 sum(d.cpu_percent) AS cpu_percent, sum(d.least_cpu_percent) AS least_percent
          FROM internal_clock_impact(NULL::double precision,
                                     coalesce((SELECT l.warm_ns FROM latest l),
                                              'NaN'::double precision)) d
          GROUP BY d.setting, d.value) c
), nodes AS (
    SELECT string_agg(pg_catalog.concat(
               '<tr><td class="t">',
               CASE n.node WHEN 0 THEN 'Outside of the nodes'
                    ELSE internal_clock_page_escape(n.node_type) END,
               CASE WHEN n.relation IS NOT NULL
                    THEN ' on <b>' || internal_clock_page_escape(n.relation) || '</b>' END,
               CASE WHEN n.index_name IS NOT NULL
                    THEN ' using ' || internal_clock_page_escape(n.index_name) END,
               '<small>database ', internal_clock_page_escape(n.dbname::text),
               ', query ', internal_clock_page_escape(n.queryid::text),
               ', plan ', internal_clock_page_escape(n.planid::text),
               ', node ', n.node, '</small></td><td>',
               round(n.self_ms::numeric, 3),
               ' &#177; ' || round(n.self_margin_ms::numeric, 3)::text,
               '<small>', internal_clock_page_escape(n.share_percent::text),
               ' % of its plan</small></td><td>',
               internal_clock_page_escape(n.mean_rows_factor::text), '</td></tr>'),
               '' ORDER BY n.self_ms DESC) AS html
    FROM (SELECT s.*, d.datname AS dbname
          FROM clock_node_stats(10) s LEFT JOIN pg_catalog.pg_database d ON d.oid = s.dbid
          WHERE (SELECT k.plans FROM knows k)) n
), steps AS (
    SELECT coalesce(string_agg('<li>' || s.html || '</li>', '' ORDER BY s.no),
                    '<li>Nothing.</li>') AS html
    FROM knows k LEFT JOIN latest l ON true LEFT JOIN trust t ON true, LATERAL (VALUES
        (1, NOT k.watched,
         'The clocks are not watched. Put <code>clocktiming</code> into '
         '<code>shared_preload_libraries</code>, set <code>clocktiming.watch = on</code>, '
         'make sure that <code>max_worker_processes</code> leaves a slot for the worker, and '
         'restart the server. Until then, <code>SELECT * FROM clock_advice();</code> measures for '
         'a second and recommends what to do.'),
        (2, k.watched AND l.at IS NULL,
         'The background worker has not recorded an interval yet. '
         'Look again after <code>clocktiming.watch_interval</code>; '
         'if there is still no interval, the server&#8217;s log states the reason.'),
        (3, l.at + interval '2 minutes'
            + current_setting('clocktiming.watch_interval', true)::interval
              * 2.0::double precision < now(),
         'The background worker has recorded nothing since ' || to_char(l.at, 'YYYY-MM-DD HH24:MI')
         || '. The server&#8217;s log states the reason.'),
        (4, t.trusted IS NULL AND l.at IS NOT NULL,
         'Timings of a period can be judged only if the clock was watched for 90 % of it. '
         'Look again tomorrow, or ask about a shorter period: '
         '<code>SELECT * FROM clock_trust(now() - interval &#39;10 minutes&#39;);</code>'),
        (5, NOT t.trusted,
         'Do not trust times that <code>EXPLAIN ANALYZE</code>, <code>auto_explain</code>, '
         '<code>pg_stat_statements</code> and <code>track_io_timing</code> have measured during '
         'the <a href="#events">events</a> named. '
         '<code>SELECT * FROM clock_advice();</code> says what is wrong now, and what to do.'))
         s(no, applies, html)
    WHERE s.applies
)
SELECT pg_catalog.concat('<!DOCTYPE html>
<html lang="en"><head><meta charset="',
CASE WHEN pg_client_encoding()::text IN ('UTF8', 'SQL_ASCII') THEN 'utf-8'
     ELSE replace(replace(pg_client_encoding()::text, '_', '-'), 'WIN', 'windows-') END,
'"/><title>Clocks of ', who.name, '</title><meta name="viewport" content="width=device-width"/>
<meta http-equiv="Content-Security-Policy" '
'content="default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;"/><style>
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--dim:#545d68;--line:#d0d7de;--soft:#f5f7f9;'
'--hue:#0b5fa5;--ok:#116329;--bad:#b3261e;--unk:#6b5200}
@media(prefers-color-scheme:dark){'
':root{--bg:#0f1318;--fg:#e4e9ef;--dim:#9aa5b1;--line:#333b45;--soft:#181e25;'
'--hue:#6cb6ff;--ok:#56d364;--bad:#ff8a80;--unk:#e3b341}}
body{max-width:70rem;margin:auto;padding:1rem;background:var(--bg);color:var(--fg);'
'font:1rem/1.5 system-ui,sans-serif}
td,dd,h1,code{overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:0}'
'h2{font-size:1.2rem;margin:2.5rem 0 .5rem;padding-top:.5rem;border-top:1px solid var(--line)}'
'h3{font-size:1rem;margin:0}
p,dl,ul{margin:.5rem 0}ul{padding-left:1.2rem}figure{margin:1.5rem 0 3rem}
small,dt,caption,figcaption ul,footer,header p,article p,i{color:var(--dim);font-size:.85rem}
code{background:var(--soft);padding:.1em .3em;border-radius:3px}a{color:var(--hue)}
.v{border-left:.4rem solid var(--c);background:var(--soft);padding:.8rem 1rem;margin:1rem 0}'
'.v strong{color:var(--c);font-size:1.3rem}.v p{margin:0}
.ok{--c:var(--ok)}.bad{--c:var(--bad)}.unk{--c:var(--unk)}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(9rem,1fr));gap:.5rem 1rem}'
'dd{margin:0;font-variant-numeric:tabular-nums}
.key{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:0 1.5rem}'
'.key svg{width:24px;height:8px}
.plot{position:relative;height:12rem;margin:1.5rem .5rem 1.8rem 3rem;border:solid var(--line);'
'border-width:0 0 1px 1px}
.plot svg{position:absolute;width:100%;height:100%}
path{fill:none;vector-effect:non-scaling-stroke}.g{stroke:var(--line)}
.w{stroke:var(--hue);stroke-width:2.5;stroke-linecap:round;stroke-linejoin:round}'
'.b{stroke:var(--hue);stroke-width:1;opacity:.25;vector-effect:none}
.e{fill:var(--bad);fill-opacity:.15;stroke:var(--bad);stroke-opacity:.5}'
'.m,.k{color:var(--bad);font-size:.8rem;line-height:1;text-decoration:none}
.m{position:absolute;bottom:100%;transform:translateX(-50%)}'
'.y,.x{position:absolute;font-size:.8rem;color:var(--dim)}small{display:block}
.y,.x{white-space:nowrap}.y{right:100%;transform:translateY(50%);padding-right:.4rem}'
'.x{top:100%;transform:translateX(-50%);padding-top:.2rem}
table{border-collapse:collapse;width:100%;margin:1rem 0;font-variant-numeric:tabular-nums}'
'caption{text-align:left}
th,td{padding:.35rem .7rem .35rem 0;border-bottom:1px solid var(--line);text-align:left;'
'vertical-align:top}th{font-weight:400}
td:last-child,th:last-child{padding-right:0}'
'thead th{color:var(--dim);font-size:.85rem;vertical-align:bottom}
.n td,.n thead th:not(:first-child),.h td,.h th{text-align:right}'
'.n td:not(.t),.h td{overflow-wrap:normal}.n .t{text-align:left}.n{max-width:48rem}
.ev td:first-child{white-space:nowrap}:target{background:var(--soft);outline:2px solid var(--hue)}
article{margin:1rem 0 2rem}.h td,.h th{border:0;padding:.1rem .7rem .1rem 0;width:4rem}'
'.h th:last-child,.h td:last-child{width:auto}
.h svg{display:block;width:100%;height:1.1em}.h path{fill:var(--hue)}
.sr{position:absolute;clip-path:inset(50%)}'
'footer{margin-top:2.5rem;border-top:1px solid var(--line)}
</style></head><body>
<header><h1>Clocks of ', who.name, '</h1><p>', to_char(now(), 'YYYY-MM-DD HH24:MI:SS'),
', times of ', internal_clock_page_escape(current_setting('TimeZone')),
'; PostgreSQL ',
internal_clock_page_escape(split_part(current_setting('server_version'), ' ', 1)), '</p></header>
<main><section class="v ',
CASE WHEN t.trusted THEN 'ok' WHEN NOT t.trusted THEN 'bad' ELSE 'unk' END,
'"><p>Timings of the last day</p><strong>',
internal_clock_page_escape(coalesce(t.verdict, 'not known: the clocks are not watched')),
'</strong>',
CASE WHEN l.at IS NOT NULL THEN pg_catalog.concat(
    '<p>A reading of ', internal_clock_page_escape(l.source),
    ' costs ', internal_clock_page_escape(l.warm_ns::text),
    ' ns. Watched for ', internal_clock_page_escape(t.watched_percent::text),
    ' % of the last day; events: ', e.today, ', going on: ', e.going_on, '.</p>') END,
'</section><h2>What to do</h2><ul>', (SELECT s.html FROM steps s), '</ul>
<h2>Clocks</h2>',
coalesce((SELECT c.html FROM clocks c), '<p>No clock was watched in the last day.</p>'),
(SELECT m.html FROM machine m), '
<h2>The last day and the last 400 days</h2>', coalesce((SELECT c.html FROM charts c)
    || '<table class="n"><thead><tr><th scope="col"><span class="sr">what</span></th>'
       '<th scope="col">last day</th><th scope="col">last 400 days</th></tr></thead><tbody>'
    || (SELECT f.html FROM figures f) || '</tbody></table>', '<p>There is no history.</p>'), '
<h2 id="events">Events</h2>',
CASE WHEN e.n = 0::bigint THEN '<p>None is known.</p>' ELSE pg_catalog.concat(
    '<table class="ev"><thead><tr><th scope="col">at, and for how long</th>'
    '<th scope="col">event, value before and after</th></tr></thead><tbody>', e.html,
    '</tbody></table>',
    CASE WHEN e.n > 50::bigint
         THEN '<p>The latest 50 of ' || e.n::text
              || '. <code>SELECT * FROM clock_events;</code> returns all events.</p>' END) END, '
<h2>Cost of timing</h2>',
'<p><code>EXPLAIN ANALYZE</code> reads the clock twice for each row that a node of a plan returns: '
'at least ' || trim_scale(2.0 * l.warm_ns::numeric)::text || ' ms for a million.</p>',
'<table class="n"><thead><tr><th scope="col">setting</th>'
'<th scope="col">operations per second</th><th scope="col">% of one CPU</th></tr></thead><tbody>',
(SELECT c.html FROM costs c),
'</tbody></table><p>Computed from the server&#8217;s statistics since their reset and the cost of '
'a warm reading. ',
'<code>SELECT * FROM clock_impact();</code> measures the cost, and returns bounds.</p>
<h2>The worst plan nodes</h2>',
coalesce('<table class="n"><thead><tr><th scope="col">node</th>'
    '<th scope="col">self time, ms</th>'
    '<th scope="col">estimated rows wrong by a factor of</th></tr></thead><tbody>'
    || (SELECT n.html FROM nodes n) || '</tbody></table>',
    '<p>There are no plan statistics.</p>'),
CASE WHEN NOT k.plans
     THEN '<p>To collect plan statistics, put <code>clocktiming</code> into '
          '<code>shared_preload_libraries</code>.</p>'
     WHEN current_setting('clocktiming.track', true) IS DISTINCT FROM 'on'
     THEN '<p>No statistics are being collected. To collect them: '
          '<code>ALTER SYSTEM SET clocktiming.track = on; SELECT pg_reload_conf();</code></p>'
     END, '
</main><footer><p>Made by clock_page() of clocktiming from clock_history, clock_events, '
'clock_trust(), clock_node_stats and the server&#8217;s statistics, ',
'without measuring.</p></footer></body></html>')
FROM knows k LEFT JOIN latest l ON true LEFT JOIN trust t ON true CROSS JOIN listed e,
     (SELECT internal_clock_page_escape(coalesce(nullif(current_setting('cluster_name'), ''),
                 'the server on port ' || current_setting('port'))) AS name) who;
END;
COMMENT ON FUNCTION clock_page() IS
    'returns an HTML page about this server''s clocks: reliability of timings of the last day, '
    'cost of a reading and events during the last day and the last 400 days, cost of timing for '
    'the server''s work, and the ten plan nodes with the longest self times; measures nothing';
REVOKE ALL ON FUNCTION clock_page() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_page() TO pg_monitor;

-- A fleet: the servers that one database asks, by dblink, for the state of their clocks.  Each
-- server is a foreign server of the type "clocktiming", which clock_fleet_add() creates.

CREATE FUNCTION internal_clock_state() RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL SAFE SET extra_float_digits = 1
BEGIN ATOMIC
    SELECT coalesce(pg_catalog.to_jsonb(h), '{}') || pg_catalog.to_jsonb(t)
           || pg_catalog.jsonb_build_object('server_version', current_setting('server_version'))
    FROM clock_trust(now() - interval '1 hour', now()) t
    LEFT JOIN (SELECT at, intervals, watched_s, source, cold_ns, warm_ns, rate_ppm,
                      assumed_rate_ppm, backward_steps, warps, lags, gaps, stolen_percent,
                      off_cpu_percent, cpu_skew_ns, synchronised, sync_offset_us, sync_error_us,
                      sync_frequency_ppm, kernel_clock_source, boot_id, hypervisor, processor, cpus
               FROM clock_history WHERE per = 'minute' AND warm_ns IS NOT NULL
               ORDER BY at DESC LIMIT 1) h ON true;
END;
COMMENT ON FUNCTION internal_clock_state() IS
    'internal: returns, as one object, the latest minute of clock_history without its sample, the '
    'result of clock_trust() for the latest hour, and the server''s version';
REVOKE ALL ON FUNCTION internal_clock_state() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION internal_clock_state() TO pg_monitor;

CREATE FUNCTION clock_fleet_add(
    name text,
    options jsonb DEFAULT '{}',
    role name DEFAULT CURRENT_USER
) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    of_server text;
    of_mapping text;
    missing text;
    state text;
    message text;
    hint text;
BEGIN
    IF name IS NULL OR octet_length(name) NOT BETWEEN 1 AND 63 THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_name',
            MESSAGE = 'the name of a server must have between 1 and 63 bytes';
    END IF;
    IF options IS NULL OR role IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed',
            MESSAGE = 'options and role must not be null';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'dblink') THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = 'extension dblink is not installed in this database',
            HINT = 'Connections to other servers use dblink: CREATE EXTENSION dblink.';
    END IF;
    SELECT string_agg(format('%I %L', o.key, o.value), ', ')
               FILTER (WHERE o.key NOT IN ('user', 'password', 'sslpassword')),
           ' OPTIONS (' || string_agg(format('%I %L', o.key, o.value), ', ')
                               FILTER (WHERE o.key IN ('user', 'password', 'sslpassword')) || ')',
           min(o.key) FILTER (WHERE o.value IS NULL)
    INTO of_server, of_mapping, missing
    FROM jsonb_each_text('{"connect_timeout": 3, "fallback_application_name": "clocktiming"}'
                         || options) o;
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed',
            MESSAGE = format('option "%s" must not be null', missing);
    END IF;
    BEGIN
        EXECUTE format('CREATE SERVER %I TYPE ''clocktiming'' FOREIGN DATA WRAPPER dblink_fdw '
                       'OPTIONS (%s)', name, of_server);
        EXECUTE format('CREATE USER MAPPING FOR %I SERVER %I%s', role, name, of_mapping);
        EXECUTE format('GRANT USAGE ON FOREIGN SERVER %I TO %I', name,
                       CASE role WHEN 'public' THEN 'pg_monitor' ELSE role END);
    EXCEPTION WHEN OTHERS THEN
        -- Raises the error again, but without its context, because the context contains the
        -- statement and with it the password.
        GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
            hint = PG_EXCEPTION_HINT;
        IF hint = '' THEN
            RAISE EXCEPTION USING ERRCODE = state, MESSAGE = message;
        END IF;
        RAISE EXCEPTION USING ERRCODE = state, MESSAGE = message, HINT = hint;
    END;
END
$$;
COMMENT ON FUNCTION clock_fleet_add(text, jsonb, name) IS
    'adds a server to the fleet, whose servers clock_fleet shows: creates a foreign server of '
    'dblink_fdw and a user mapping; DROP SERVER ... CASCADE removes the server from the fleet';
REVOKE ALL ON FUNCTION clock_fleet_add(text, jsonb, name) FROM PUBLIC;

-- Asks up to at_once servers at the same time, by asynchronous queries of dblink.  Three timeouts
-- limit the time:
-- * The option connect_timeout of the foreign server limits the time for connecting.
-- * On the asked server, statement_timeout limits the query to "seconds".  If no answer has arrived
--   one second after that, this function reports an error for that server.
-- * When failed servers have cost 30 s in total, no further servers are asked.
--
-- After a timeout, this function disconnects.  client_connection_check_interval makes the asked
-- server end the query then.  This function does not call dblink_cancel_query(), because before
-- PostgreSQL 17 that function waits without limit for a server that does not respond.
CREATE FUNCTION clock_fleet_ask(
    query text,
    seconds double precision DEFAULT 5,
    OUT server text,
    OUT error text,
    OUT answer jsonb,
    OUT answer_ms double precision
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    at_once CONSTANT integer := 8;
    encoding CONSTANT name := getdatabaseencoding();
    connect text;
    send text;
    is_busy text;
    get_result text;
    disconnect text;
    script text;
    own_schema name;
    dblink_schema name;
    -- Arrays with an element for each server of the fleet:
    servers text[];             -- name
    timeouts integer[];         -- connect_timeout in seconds; null if none
    began timestamptz[];        -- time when connecting began
    results integer[];          -- number of received results; null if not connected
    sent_at double precision[]; -- value of "slept" (below) when the query was sent
    -- Variables of the server that the loop is handling:
    connection text;            -- name of dblink's connection
    rows text[];                -- rows of the latest result
    answers jsonb[];            -- rows to return; null while there is no answer
    state text;
    detail text;
    context text;
    -- Other variables:
    asked integer[] := '{}';        -- numbers of the servers that are being asked
    last integer := 0;              -- number of the server that was added last
    i integer;
    busy integer;
    idle boolean;                   -- nothing was sent or received, so sleep
    slept double precision := 0;    -- total time of pg_sleep() so far, in seconds
    lost interval := '0';           -- time that failed servers have cost so far
BEGIN
    IF query IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed',
            MESSAGE = 'query must not be null';
    END IF;
    IF (seconds >= 0.001 AND seconds <= 3600) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'seconds must be between 0.001 and 3600';
    END IF;
    -- Selects only foreign servers that a superuser, the current user or the extension's owner
    -- owns.  The owner of a foreign server chooses its host, so any other owner could make the
    -- caller connect to a hostile host.
    SELECT array_agg(f.srvname), array_agg(f.timeout)
    INTO servers, timeouts
    FROM (SELECT s.srvname::text,
                 (SELECT nullif(substring(o.option_value FROM '^ *([0-9]{1,4}) *$')::integer, 0)
                  FROM pg_options_to_table(s.srvoptions) o
                  WHERE o.option_name = 'connect_timeout') AS timeout
          FROM pg_foreign_server s JOIN pg_roles r ON r.oid = s.srvowner
          WHERE s.srvtype = 'clocktiming'
            AND (r.rolsuper OR r.rolname = current_user
                 OR r.oid IN (SELECT e.extowner FROM pg_extension e
                              WHERE e.extname = 'clocktiming'))
          ORDER BY random()) f;
    IF servers IS NULL THEN
        RETURN;
    END IF;
    SELECT min(p.nspname) FILTER (WHERE e.extname = 'clocktiming'),
           min(p.nspname) FILTER (WHERE e.extname = 'dblink')
    INTO own_schema, dblink_schema
    FROM pg_extension e JOIN pg_namespace p ON p.oid = e.extnamespace;
    IF dblink_schema IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = 'extension dblink is not installed in this database',
            HINT = 'Connections to other servers use dblink: CREATE EXTENSION dblink.';
    END IF;
    connect := format('SELECT %I.internal_clock_fleet_connect($1, $2, $3, $4)', own_schema);
    send := format('SELECT %I.dblink_send_query($1, $2)', dblink_schema);
    is_busy := format('SELECT %I.dblink_is_busy($1)', dblink_schema);
    get_result := format('SELECT array_agg(r.value) FROM %I.dblink_get_result($1) AS r(value text)',
                         dblink_schema);
    disconnect := format('SELECT %1$I.dblink_disconnect(c) '
                         'FROM unnest(%1$I.dblink_get_connections()) c WHERE c LIKE $1',
                         dblink_schema);
    script := format('SELECT pg_catalog.concat('
                     'pg_catalog.set_config(''statement_timeout'', %L, true), '
                     'pg_catalog.set_config(''client_connection_check_interval'', ''1s'', true), '
                     'pg_catalog.set_config(''search_path'', coalesce('
                     '(SELECT e.extnamespace::pg_catalog.regnamespace::pg_catalog.text '
                     'FROM pg_catalog.pg_extension e '
                     'WHERE e.extname OPERATOR(pg_catalog.=) ''clocktiming''), '
                     '''pg_catalog''), true)); %s', ceil(seconds * 1000)::integer, query);
    EXECUTE disconnect USING 'clocktiming %';
    LOOP
        WHILE cardinality(asked) < at_once AND last < cardinality(servers) LOOP
            last := last + 1;
            asked := asked || last;
        END LOOP;
        EXIT WHEN cardinality(asked) = 0;
        idle := true;
        FOREACH i IN ARRAY asked LOOP
            connection := 'clocktiming ' || i;
            error := NULL;
            answers := NULL;
            BEGIN
                IF results[i] IS NULL THEN
                    idle := false;
                    IF timeouts[i] IS NULL THEN
                        RAISE EXCEPTION '%',
                            format('no connect_timeout: ALTER SERVER %I OPTIONS '
                                   '(ADD connect_timeout ''3'')', servers[i]);
                    ELSIF lost >= '30 s' THEN
                        RAISE EXCEPTION 'not asked, because failed servers have taken 30 s';
                    END IF;
                    began[i] := clock_timestamp();
                    EXECUTE connect USING format('SELECT %I.dblink_connect($1, $2)', dblink_schema),
                    connection, servers[i], timeouts[i];
                    EXECUTE send USING connection, script;
                    results[i] := 0;
                    sent_at[i] := slept;
                ELSE
                    EXECUTE is_busy INTO busy USING connection;
                    IF busy = 0 THEN
                        idle := false;
                        EXECUTE get_result INTO rows USING connection;
                        results[i] := results[i] + 1;
                        IF results[i] = 2 THEN
                            -- Checks the encoding: convert_to() raises an error if the text is
                            -- invalid in the database's encoding.
                            SELECT array_agg(convert_from(convert_to(r.value, encoding),
                                                          encoding)::jsonb)
                            INTO answers FROM unnest(rows) r(value);
                            answers := coalesce(answers, ARRAY[NULL::jsonb]);
                        ELSIF rows IS NULL THEN
                            RAISE EXCEPTION 'unexpected answer';
                        END IF;
                    ELSIF slept - sent_at[i] > seconds + 1 THEN
                        RAISE EXCEPTION 'no answer within % s', seconds::numeric;
                    END IF;
                END IF;
            EXCEPTION WHEN OTHERS OR query_canceled THEN
                GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, error = MESSAGE_TEXT,
                    detail = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
                -- The query was cancelled on the asked server, or this function was cancelled.  In
                -- the first case, the error's context contains the name of the connection.
                IF state = '57014' AND strpos(context, connection) = 0 THEN
                    RAISE;
                END IF;
                BEGIN
                    -- The message of a server that refuses a connection may be in any encoding.
                    -- convert_to() raises an error if the text is invalid in the database's.
                    PERFORM convert_to(detail, encoding), convert_to(error, encoding);
                    error := CASE state WHEN '08001' THEN coalesce(nullif(detail, ''), error)
                                        WHEN '2F003' THEN concat_ws(': ', error, nullif(detail, ''))
                                        ELSE error END;
                    error := split_part(error, chr(10), 1);
                EXCEPTION WHEN OTHERS THEN
                    error := 'SQLSTATE ' || state || ', and a message in another encoding';
                END;
                answers := ARRAY[NULL::jsonb];
                lost := lost + greatest(clock_timestamp() - began[i], '0')
                               / CASE WHEN results[i] IS NULL THEN 1 ELSE at_once END;
            END;
            IF answers IS NOT NULL THEN
                EXECUTE disconnect USING connection;
                asked := array_remove(asked, i);
                server := servers[i];
                answer_ms := round(extract(epoch FROM clock_timestamp() - began[i]) * 1000, 1);
                FOREACH answer IN ARRAY answers LOOP
                    RETURN NEXT;
                END LOOP;
            END IF;
        END LOOP;
        IF idle THEN
            PERFORM pg_sleep(0.005);
            slept := slept + 0.005;
        END IF;
    END LOOP;
EXCEPTION WHEN OTHERS OR query_canceled OR assert_failure THEN
    IF disconnect IS NOT NULL THEN
        EXECUTE disconnect USING 'clocktiming %';
    END IF;
    RAISE;
END
$$;
COMMENT ON FUNCTION clock_fleet_ask(text, double precision) IS
    'executes a query on all servers of the fleet by dblink, with clocktiming''s schema as '
    'search_path; the query must return one column of JSON; returns a row for each row of a '
    'server''s answer, one row with a null answer if the answer has no rows, or one row with the '
    'error';
REVOKE ALL ON FUNCTION clock_fleet_ask(text, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_fleet_ask(text, double precision) TO pg_monitor;

CREATE FUNCTION clock_fleet(
    OUT server text,
    OUT error text,
    OUT at timestamptz,
    OUT source text,
    OUT warm_ns double precision,
    OUT cold_ns double precision,
    OUT rate_ppm double precision,
    OUT assumed_rate_ppm double precision,
    OUT trusted boolean,
    OUT verdict text,
    OUT stolen_percent double precision,
    OUT off_cpu_percent double precision,
    OUT synchronised boolean,
    OUT sync_error_us double precision,
    OUT kernel_clock_source text,
    OUT hypervisor text,
    OUT processor text,
    OUT cpus integer,
    OUT server_version text,
    OUT answer_ms double precision
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    answer jsonb;
BEGIN
    FOR server, error, answer, answer_ms IN
        EXECUTE (SELECT format('SELECT * FROM %s.clock_fleet_ask('
                               '''SELECT internal_clock_state()'')', e.extnamespace::regnamespace)
                 FROM pg_extension e WHERE e.extname = 'clocktiming')
    LOOP
        LOOP
            BEGIN
                RETURN QUERY SELECT server, error, s.*, answer_ms
                FROM jsonb_to_record(answer)
                     AS s(at timestamptz, source text, warm_ns double precision,
                     cold_ns double precision, rate_ppm double precision,
                     assumed_rate_ppm double precision,
                     trusted boolean, verdict text, stolen_percent double precision,
                     off_cpu_percent double precision, synchronised boolean,
                     sync_error_us double precision,
                     kernel_clock_source text, hypervisor text, processor text, cpus integer,
                     server_version text);
                EXIT;
            EXCEPTION WHEN OTHERS THEN
                error := 'unexpected answer: ' || sqlerrm;
                answer := NULL;
            END;
        END LOOP;
    END LOOP;
END
$$;
COMMENT ON FUNCTION clock_fleet() IS
    'asks all servers of the fleet for their latest state, as the view clock_fleet shows it';
REVOKE ALL ON FUNCTION clock_fleet() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_fleet() TO pg_monitor;

CREATE VIEW clock_fleet AS
    SELECT server, error, at, source, warm_ns, cold_ns, rate_ppm, assumed_rate_ppm, trusted,
           verdict, stolen_percent, off_cpu_percent, synchronised, sync_error_us,
           kernel_clock_source, hypervisor, processor, cpus, server_version, answer_ms
    FROM clock_fleet();
COMMENT ON VIEW clock_fleet IS
    'servers of the fleet with their latest state, or the error if a server did not answer';
REVOKE ALL ON TABLE clock_fleet FROM PUBLIC;
GRANT SELECT ON TABLE clock_fleet TO pg_monitor;
COMMENT ON COLUMN clock_fleet.server IS 'name of the foreign server';
COMMENT ON COLUMN clock_fleet.error IS
    'reason why the server did not report its state; null if it did';
COMMENT ON COLUMN clock_fleet.at IS 'beginning of the latest minute of the server''s history';
COMMENT ON COLUMN clock_fleet.source IS 'clock source that EXPLAIN ANALYZE reads';
COMMENT ON COLUMN clock_fleet.warm_ns IS
    'cost of a reading that follows other readings, in the minute that begins at "at", in '
    'nanoseconds';
COMMENT ON COLUMN clock_fleet.cold_ns IS
    'cost of a reading after a sleep, in the minute that begins at "at", in nanoseconds';
COMMENT ON COLUMN clock_fleet.rate_ppm IS
    'excess of the clock''s rate over that of CLOCK_MONOTONIC_RAW, in parts per million';
COMMENT ON COLUMN clock_fleet.trusted IS
    'true if timings of the latest hour are reliable; null if unknown';
COMMENT ON COLUMN clock_fleet.verdict IS
    'reliability of the timings of the latest hour in words, with the events that impair it';
COMMENT ON COLUMN clock_fleet.server_version IS 'version of PostgreSQL';
COMMENT ON COLUMN clock_fleet.answer_ms IS
    'time from the start of the connection until the answer or the error was read, in '
    'milliseconds; null if the server was not asked';

CREATE FUNCTION clock_fleet_outliers(
    confidence numeric DEFAULT 95,
    OUT server text,
    OUT what text,
    OUT figure double precision,
    OUT median double precision,
    OUT low double precision,
    OUT high double precision,
    OUT unit text,
    OUT finding text
) RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
    WITH fleet AS MATERIALIZED (
        SELECT f.server, f.warm_ns, coalesce(f.assumed_rate_ppm, f.rate_ppm) AS rate_ppm, f.trusted,
               f.verdict
        FROM clock_fleet f WHERE f.error IS NULL
    ), sums AS (
        SELECT pg_catalog.array_agg(ln(f.warm_ns))
                   FILTER (WHERE f.warm_ns > 0::double precision) AS costs,
               pg_catalog.array_agg(f.rate_ppm) AS rates,
               (pg_catalog.count(f.warm_ns) + pg_catalog.count(f.rate_ppm))::integer AS comparisons,
               count(*) FILTER (WHERE f.trusted)
                   > count(*) FILTER (WHERE NOT f.trusted) AS mostly_trusted
        FROM fleet f
    ), cost AS (
        SELECT exp(l.median) AS median, exp(l.low) AS low, exp(l.high) AS high
        FROM sums s,
            internal_clock_outlier_limits(s.costs, clock_fleet_outliers.confidence,
                                          ln(1.2::double precision), s.comparisons) l
    ), rate AS (
        SELECT l.median, l.low, l.high
        FROM sums s,
            internal_clock_outlier_limits(s.rates, clock_fleet_outliers.confidence,
                                          100::double precision, s.comparisons) l
    ), odd AS (
        SELECT f.server, 'cost' AS what, f.warm_ns AS figure, l.*, 'ns' AS unit,
               NULL::text AS finding
        FROM fleet f, cost l WHERE f.warm_ns < l.low OR f.warm_ns > l.high
        UNION ALL
        SELECT f.server, 'rate', f.rate_ppm, l.*, 'ppm', NULL
        FROM fleet f, rate l WHERE f.rate_ppm < l.low OR f.rate_ppm > l.high
        UNION ALL
        SELECT f.server, 'trust', NULL, NULL, NULL, NULL, NULL, f.verdict
        FROM fleet f, sums s WHERE NOT f.trusted AND s.mostly_trusted
    )
    SELECT o.server, o.what, o.figure, round(o.median::numeric, 2)::double precision,
           round(o.low::numeric, 2)::double precision, round(o.high::numeric, 2)::double precision,
           o.unit,
           coalesce(o.finding, pg_catalog.format('%s %s; the median of all servers is %s, '
                                                 'and outliers are outside of %s to %s',
                                      o.figure::numeric, o.unit, round(o.median::numeric, 2),
                                      round(o.low::numeric, 2), round(o.high::numeric, 2)))
    FROM odd o ORDER BY o.server COLLATE "C", o.what;
END;
COMMENT ON FUNCTION clock_fleet_outliers(numeric) IS
    'returns the servers of the fleet whose cost of a reading or whose clock rate is an outlier '
    'among the servers, or whose timings are unreliable while those of most servers are reliable';
REVOKE ALL ON FUNCTION clock_fleet_outliers(numeric) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_fleet_outliers(numeric) TO pg_monitor;

-- Descriptions of columns that several views share.

COMMENT ON COLUMN clock_plan_stats.queryid IS
    'query identifier, that of pg_stat_statements; planid if the server computes none';
COMMENT ON COLUMN clock_node_stats.queryid IS
    'query identifier, that of pg_stat_statements; planid if the server computes none';
COMMENT ON COLUMN clock_plan_stats.planid IS
    'identifier of the plan: a hash of its tree';
COMMENT ON COLUMN clock_node_stats.planid IS
    'identifier of the plan: a hash of its tree';
COMMENT ON COLUMN clock_node_snapshots.planid IS
    'identifier of the plan: a hash of its tree';
COMMENT ON COLUMN clock_plan_stats.dbname IS
    'name of the database; null if it was dropped';
COMMENT ON COLUMN clock_node_stats.dbname IS
    'name of the database; null if it was dropped';
COMMENT ON COLUMN clock_plan_stats.username IS
    'name of the user who executed the plan';
COMMENT ON COLUMN clock_node_stats.username IS
    'name of the user who executed the plan';
COMMENT ON COLUMN clock_plan_stats.dbid IS
    'OID of the database';
COMMENT ON COLUMN clock_node_stats.dbid IS
    'OID of the database';
COMMENT ON COLUMN clock_running.dbid IS
    'OID of the database';
COMMENT ON COLUMN clock_node_snapshots.dbid IS
    'OID of the database';
COMMENT ON COLUMN clock_plan_stats.userid IS
    'OID of the user who executed the plan';
COMMENT ON COLUMN clock_node_stats.userid IS
    'OID of the user who executed the plan';
COMMENT ON COLUMN clock_node_snapshots.userid IS
    'OID of the user who executed the plan';
COMMENT ON COLUMN clock_node_stats.depth IS
    'depth of the node in the plan; 0 is the root';
COMMENT ON COLUMN clock_running.depth IS
    'depth of the node in the plan; 0 is the root';
COMMENT ON COLUMN clock_node_snapshots.depth IS
    'depth of the node in the plan; 0 is the root';
COMMENT ON COLUMN clock_node_stats.node_type IS
    'type of the node, as EXPLAIN calls it';
COMMENT ON COLUMN clock_node_snapshots.node_type IS
    'type of the node, as EXPLAIN calls it';
COMMENT ON COLUMN clock_node_stats.self_margin_ms IS
    'half of a 95 % confidence interval of the time of the node itself, in milliseconds';
COMMENT ON COLUMN clock_running.self_margin_ms IS
    'half of a 95 % confidence interval of the time of the node itself, in milliseconds';
COMMENT ON COLUMN clock_node_stats.total_margin_ms IS
    'half of a 95 % confidence interval of the time of the node and its children, in milliseconds';
COMMENT ON COLUMN clock_running.total_margin_ms IS
    'half of a 95 % confidence interval of the time of the node and its children, in milliseconds';
COMMENT ON COLUMN clock_running.relation IS
    'relation that the node scans or modifies; null if none';
COMMENT ON COLUMN clock_node_snapshots.relation IS
    'relation that the node scans or modifies; null if none';
COMMENT ON COLUMN clock_running.index_name IS
    'index that the node scans; null if none';
COMMENT ON COLUMN clock_node_snapshots.index_name IS
    'index that the node scans; null if none';
COMMENT ON COLUMN clock_history.assumed_rate_ppm IS
    'excess of the TSC''s rate over the frequency that the server assumes, in parts per million; '
    'null if the server times by another clock';
COMMENT ON COLUMN clock_fleet.assumed_rate_ppm IS
    'excess of the TSC''s rate over the frequency that the server assumes, in parts per million; '
    'null if the server times by another clock';
COMMENT ON COLUMN clock_history.stolen_percent IS
    'share of the time of all CPUs that the hypervisor gave to other machines, in percent';
COMMENT ON COLUMN clock_fleet.stolen_percent IS
    'share of the time of all CPUs that the hypervisor gave to other machines, in percent';
COMMENT ON COLUMN clock_history.off_cpu_percent IS
    'share of the time of observations in which other processes had the CPU, in percent';
COMMENT ON COLUMN clock_fleet.off_cpu_percent IS
    'share of the time of observations in which other processes had the CPU, in percent';
COMMENT ON COLUMN clock_history.synchronised IS
    'true if the kernel''s clock was synchronised with a time server during the whole period';
COMMENT ON COLUMN clock_fleet.synchronised IS
    'true if the kernel''s clock was synchronised with a time server during the whole period';
COMMENT ON COLUMN clock_history.sync_error_us IS
    'largest error bound that the kernel states for its clock, in microseconds';
COMMENT ON COLUMN clock_fleet.sync_error_us IS
    'largest error bound that the kernel states for its clock, in microseconds';
COMMENT ON COLUMN clock_history.kernel_clock_source IS 'clock source of the kernel';
COMMENT ON COLUMN clock_fleet.kernel_clock_source IS 'clock source of the kernel';
COMMENT ON COLUMN clock_history.hypervisor IS 'name of the hypervisor, or none';
COMMENT ON COLUMN clock_fleet.hypervisor IS 'name of the hypervisor, or none';
COMMENT ON COLUMN clock_history.processor IS 'name of the processor';
COMMENT ON COLUMN clock_fleet.processor IS 'name of the processor';
COMMENT ON COLUMN clock_history.cpus IS 'number of CPUs online';
COMMENT ON COLUMN clock_fleet.cpus IS 'number of CPUs online';
