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
    'internal: returns the rows of clock_impact() with detail';

-- Without detail, a row is the sum over a setting's kinds of work. The sum is an estimate if one of
-- the costs is an estimate, or if the costs include an upper bound and also a lower bound or an
-- unknown cost. The sum is a lower bound if some costs are unknown and none is an upper bound.
CREATE FUNCTION @extschema@.clock_impact(
    seconds double precision DEFAULT NULL,
    detail  boolean          DEFAULT false,
    OUT setting text, OUT value text, OUT in_effect boolean, OUT work text,
    OUT cpu_percent numeric, OUT cpu_margin_percent numeric,
    OUT least_cpu_percent numeric, OUT most_cpu_percent numeric,
    OUT bound text, OUT advice text,
    OUT operations bigint, OUT operations_per_s numeric, OUT operation_ns numeric,
    OUT operation_margin_ns numeric,
    OUT reading_ns numeric, OUT period_s numeric, OUT period text,
    OUT readings_per_operation numeric, OUT reading_margin_ns numeric, OUT clock text,
    OUT slowdown_percent numeric, OUT most_slowdown_percent numeric,
    OUT statistics text, OUT reason text
) RETURNS SETOF record
LANGUAGE sql VOLATILE ROWS 4 SET search_path = pg_catalog, pg_temp AS $body$
    WITH observed AS MATERIALIZED (
        SELECT d.* FROM @extschema@.internal_clock_impact(seconds, NULL) WITH ORDINALITY AS d
    ), idle AS MATERIALIZED (
        SELECT seconds IS NOT NULL AND detail IS NOT TRUE
                   AND bool_and(o.slowdown_percent IS NULL) AS is_idle
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
    SELECT r.setting, r.value, r.in_effect, r.work, r.cpu_percent, r.cpu_margin_percent,
           r.least_cpu_percent, r.most_cpu_percent, r.bound,
           CASE WHEN r.work IS NULL
                THEN @extschema@.internal_clock_timing_advice(to_jsonb(r), seconds)
           END,
           r.operations, r.operations_per_s, r.operation_ns, r.operation_margin_ns, r.reading_ns,
           r.period_s, r.period,
           r.readings_per_operation, r.reading_margin_ns, r.clock, r.slowdown_percent,
           r.most_slowdown_percent, r.statistics, r.reason
    FROM (SELECT d.* FROM works d WHERE detail IS TRUE
          UNION ALL
          SELECT d.setting, d.value, d.in_effect, NULL::text,
                 sum(d.cpu_percent),
                 sum(d.cpu_margin_percent),
                 sum(d.least_cpu_percent),
                 CASE WHEN bool_and(d.most_cpu_percent IS NOT NULL)
                      THEN sum(d.most_cpu_percent) END,
                 CASE WHEN bool_or(d.bound = 'estimate')
                           OR bool_or(d.bound = 'at most')
                              AND bool_or(d.bound = 'at least' OR d.cpu_percent IS NULL)
                      THEN 'estimate'
                      WHEN bool_and(d.cpu_percent IS NULL) THEN NULL
                      WHEN bool_or(d.cpu_percent IS NULL) THEN 'at least'
                      ELSE max(d.bound) END,
                 sum(d.operations)::bigint,
                 sum(d.operations_per_s),
                 NULL::numeric,
                 NULL::numeric,
                 max(d.reading_ns),
                 max(d.period_s),
                 max(d.period),
                 round(sum(d.operations_per_s * d.readings_per_operation)
                       / nullif(sum(d.operations_per_s), 0), 2),
                 max(d.reading_margin_ns),
                 max(d.clock),
                 sum(d.slowdown_percent),
                 CASE WHEN bool_and(d.most_slowdown_percent IS NOT NULL)
                      THEN sum(d.most_slowdown_percent) END,
                 string_agg(DISTINCT d.statistics, ', '),
                 string_agg(d.work || ': ' || d.reason, '; ' ORDER BY d.ordinality),
                 min(d.ordinality)
          FROM works d
          WHERE detail IS NOT TRUE
          GROUP BY d.setting, d.value, d.in_effect) r
    ORDER BY r.ordinality
$body$;
COMMENT ON FUNCTION @extschema@.clock_impact(double precision, boolean) IS
    'estimates what track_io_timing, track_wal_io_timing and auto_explain cost this server, during '
    'the given seconds or since the last reset of its statistics. Returns a row per setting or, '
    'with detail, per kind of work. bound: accuracy of cpu_percent, which is of one CPU. advice: '
    'whether the setting may be on. reason: why a figure is unknown or a bound';
