--
-- clock_impact(): measures the cost of timing an operation, and multiplies it by the numbers of
-- operations that the server has counted.
--

CREATE FUNCTION @extschema@.internal_clock_impact(
    seconds double precision, duration double precision,
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
LANGUAGE plpgsql VOLATILE ROWS 10 SET search_path = pg_catalog, pg_temp
SET extra_float_digits = 1 AS $body$
DECLARE
    by_tsc CONSTANT boolean := @extschema@.internal_clock_clock() = 'RDTSC';
    total double precision;
    counts jsonb;
    system record;
    costs jsonb;
BEGIN
    IF NOT (seconds >= 0.1 AND seconds <= 86400) THEN
        RAISE EXCEPTION 'seconds must be between 0.1 and 86400'
            USING ERRCODE = 'invalid_parameter_value',
            DETAIL = format('The number given is %s.', seconds),
            HINT = 'Without seconds, the statistics since their last reset are used.';
    END IF;
    -- Measures the costs for a second, perhaps twice: clock_impact() calls this function again,
    -- with a duration, if the server was idle. A timeout shortens all parts.
    IF duration IS NULL THEN
        total := @extschema@.internal_clock_duration(coalesce(seconds + 2, 1));
        duration := total / coalesce(seconds + 2, 1);
        seconds := total - 2 * duration + 0 * seconds;
    END IF;
    counts := @extschema@.internal_clock_counts(seconds, 'pg_sleep');
    SELECT c.cost_ns, c.cost_margin_ns INTO system
    FROM @extschema@.internal_clock_cost(0.3 * duration) AS c;
    costs := jsonb_build_object(
        'clock', CASE WHEN by_tsc THEN 'RDTSCP' ELSE @extschema@.internal_clock_clock() END,
        'reading_ns', system.cost_ns, 'reading_margin_ns', system.cost_margin_ns,
        'plan_clock', @extschema@.internal_clock_clock(),
        'plan_reading_ns', system.cost_ns, 'plan_reading_margin_ns', system.cost_margin_ns,
        'counting_ns', NULL, 'is_bound', by_tsc);
    BEGIN
        -- noise may make the difference of two times, and so a cost, negative
        SELECT costs || jsonb_build_object('counting_ns', greatest(o.typical_counting_ns, 0),
                                           'counting_margin_ns', o.typical_counting_margin_ns,
                                           'timing_ns', greatest(o.typical_timing_ns, 0),
                                           'timing_margin_ns', o.typical_timing_margin_ns)
        INTO STRICT costs
        FROM @extschema@.internal_clock_overhead(1000, 'generate_series', 0.6 * duration,
                 @extschema@.internal_clock_step()) AS o
        WHERE o.typical_counting_ns IS NOT NULL AND o.typical_timing_ns IS NOT NULL;
    EXCEPTION WHEN no_data_found THEN
        costs := costs || jsonb_build_object('problem',
            'the server was too busy to measure the cost of counting and timing');
    WHEN OTHERS THEN
        costs := costs || jsonb_build_object('problem', SQLERRM);
    END;
    RETURN QUERY
    SELECT w.* FROM @extschema@.internal_clock_works(counts, seconds IS NOT NULL, costs) AS w;
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_impact(double precision, double precision) IS
    'internal: returns the kinds of work that clock_impact() sums up';

-- A row is the sum over a setting's kinds of work.  The sum is an estimate if one of the costs is
-- an estimate, or if the costs include an upper bound and also a lower bound or an unknown cost.
-- The sum is a lower bound if some costs are unknown and none is an upper bound.
CREATE FUNCTION @extschema@.clock_impact(
    seconds double precision DEFAULT NULL,
    OUT setting text, OUT verdict text, OUT max_sample_rate numeric,
    OUT most_slowdown_percent numeric, OUT slowdown_percent numeric,
    OUT in_effect boolean, OUT value text, OUT period_s numeric, OUT reason text, OUT advice text
) RETURNS SETOF record
LANGUAGE sql VOLATILE ROWS 4 SET search_path = pg_catalog, pg_temp AS $body$
    WITH observed AS MATERIALIZED (
        SELECT d.* FROM @extschema@.internal_clock_impact(seconds, NULL) WITH ORDINALITY AS d
    ), idle AS MATERIALIZED (
        SELECT seconds IS NOT NULL AND bool_and(o.slowdown_percent IS NULL) AS is_idle
        FROM observed o
    ), works AS MATERIALIZED (
        SELECT o.* FROM observed o WHERE NOT (SELECT i.is_idle FROM idle i)
        UNION ALL
        -- if the server was idle, uses the statistics since their last reset
        SELECT d.*
        FROM @extschema@.internal_clock_impact(
                 NULL, least(1, (@extschema@.internal_clock_left()).seconds / 4))
             WITH ORDINALITY AS d
        WHERE (SELECT i.is_idle FROM idle i)
    )
    SELECT r.setting, v.verdict, v.max_sample_rate, r.most_slowdown_percent, r.slowdown_percent,
           r.in_effect, r.value, r.period_s, v.reason,
           -- With setting, the output of psql then fits 100 columns.
           @extschema@.internal_clock_lines(v.advice, 66)
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
         LATERAL @extschema@.internal_clock_verdict(to_jsonb(r), seconds) v
    ORDER BY r.ordinality
$body$;
COMMENT ON FUNCTION @extschema@.clock_impact(double precision) IS
    'estimates by how many percent track_io_timing, track_wal_io_timing and auto_explain lengthen '
    'this server''s statements, for its work during the given seconds or since the last reset of '
    'its statistics. A row per setting. verdict: on, off, on_with_sample_rate (up to '
    'max_sample_rate) or unknown. reason: low, high, calls_guessed, uncertain, idle, short_period, '
    'no_upper_limit or not_counted. advice: the reason in words';

CREATE FUNCTION @extschema@.clock_impact(
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
LANGUAGE sql VOLATILE ROWS 10 SET search_path = pg_catalog, pg_temp AS $body$
    SELECT d.setting, d.work, d.cpu_percent, d.cpu_margin_percent, d.least_cpu_percent,
           d.most_cpu_percent, d.bound, d.operations, d.operations_per_s, d.operation_ns,
           d.operation_margin_ns, d.reading_ns, d.period_s, d.period, d.readings_per_operation,
           d.reading_margin_ns, d.clock, d.slowdown_percent, d.most_slowdown_percent,
           d.statistics, d.reason
    FROM @extschema@.internal_clock_setting($1) AS chosen,
         @extschema@.internal_clock_impact(seconds, NULL) AS d
    WHERE d.setting = coalesce(chosen, d.setting)
$body$;
COMMENT ON FUNCTION @extschema@.clock_impact(text, double precision) IS
    'estimates the CPU time of timing each kind of work that a setting (null: each setting) times, '
    'from which clock_impact() without a setting computes its verdict. bound: accuracy of '
    'cpu_percent, which is of one CPU. reason: why a figure is unknown or a bound';
