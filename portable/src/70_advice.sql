-- Measures the cost of timing with another setting of timing_clock_source, and restores the
-- setting.
CREATE FUNCTION @extschema@.internal_clock_timing_by(
    source text, duration double precision, OUT timing_ns numeric, OUT problem text
)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
    PERFORM set_config('timing_clock_source', source, true);
    SELECT round(o.timing_ns::numeric, 1) INTO timing_ns
    FROM @extschema@.internal_clock_overhead(1000, 'generate_series', duration,
             @extschema@.internal_clock_step()) AS o;
    -- The error rolls the setting back. The variable timing_ns keeps its value.
    RAISE EXCEPTION USING ERRCODE = 'CT000';
EXCEPTION
    WHEN SQLSTATE 'CT000' THEN RETURN;
    WHEN OTHERS THEN problem := SQLERRM;
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_timing_by(text, double precision) IS
    'internal: returns the cost of timing per call of a plan node, in nanoseconds, with a setting '
    'of timing_clock_source';

-- Returns a duration with its margin, as text; null if the duration is unknown.
CREATE FUNCTION @extschema@.internal_clock_figure(what text, ns numeric, margin_ns numeric)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $body$
    SELECT round(ns, 1) || ' ns' || what
        || ', margin ' || coalesce(round(margin_ns, 1) || ' ns', 'unknown')
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_figure(text, numeric, numeric) IS
    'internal: returns a duration in nanoseconds with its margin, as text';

CREATE FUNCTION @extschema@.clock_advice(
    duration double precision DEFAULT 1,
    OUT check_name text, OUT severity text, OUT finding text, OUT action text
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE ROWS 12 SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    facts jsonb;
    c record;
    source CONSTANT text := current_setting('timing_clock_source', true);
    by_tsc CONSTANT boolean := @extschema@.internal_clock_clock() = 'RDTSC';
    x86 CONSTANT boolean := version() LIKE '%x86_64%';
    lost numeric;
    throttled_ms numeric;
    period_ms numeric;
    slowdown numeric;
    timing_ns numeric;
    figures text;
    by_system record;
    by_the_tsc record;
    now_ text;
    for_good text;
    provider text;
    said jsonb[] := '{}';
    case_ text := '';
BEGIN
    duration := @extschema@.internal_clock_duration(duration);
    facts := @extschema@.internal_clock_facts(
        CASE WHEN source IS NULL THEN duration ELSE duration / 2 END);
    timing_ns := round((facts -> 'calls' ->> 'timing_ns')::numeric, 1);
    lost := round(100 * (facts ->> 'lost_s')::numeric / (facts ->> 'seconds')::numeric, 2);
    throttled_ms := nullif(round(1000 * (facts ->> 'throttled_s')::numeric, 1), 0);
    period_ms := round(1000 * (facts ->> 'period_s')::numeric);
    slowdown := round((facts ->> 'slowdown')::numeric, 2);
    figures := coalesce(nullif(concat_ws('; ',
        'a reading of the system clock takes ' || @extschema@.internal_clock_figure(
            '', (facts ->> 'cost_ns')::numeric, (facts ->> 'cost_margin_ns')::numeric),
        'timing adds ' || @extschema@.internal_clock_figure(
            ' to a call of a plan node', timing_ns,
            (facts -> 'calls' ->> 'timing_margin_ns')::numeric)), ''),
        'the time was too short to measure it');

    FOR c IN
        SELECT k.* FROM @extschema@.internal_clock_criteria(facts) AS k
        UNION ALL VALUES ('explain_clock', 0::float8, 0::float8, '', '')
    LOOP
        check_name := c.check_name;
        severity := CASE WHEN c.figure > c.threshold THEN 'warning' ELSE 'ok' END;
        now_ := NULL;
        for_good := NULL;
        provider := NULL;
        CASE
        WHEN c.figure IS NULL THEN
            severity := NULL;
            finding := c.detail;
        WHEN check_name = 'cost' THEN
            IF c.figure > 60 THEN
                finding := CASE WHEN severity = 'ok'
                                THEN 'each reading of the clock costs as much as a system call or '
                                     'a slow device: '
                                ELSE 'each reading of the clock is expensive: ' END || figures;
                severity := CASE severity WHEN 'ok' THEN 'notice' ELSE severity END;
                now_ := '`EXPLAIN (ANALYZE, TIMING OFF)`, or clock_explain(), which subtracts the '
                        'cost of timing';
                for_good := 'track_io_timing and auto_explain.log_timing off, where clock_impact() '
                            'shows that they cost much';
                provider := 'which clock source the kernel of this instance uses, and which '
                            'instance type offers one that is read without a system call (tsc, '
                            'kvm-clock, hyperv_clocksource_tsc_page, arch_sys_counter)';
            ELSE
                finding := 'reading the clock is cheap: ' || figures;
            END IF;
        WHEN check_name = 'backward_steps' THEN
            IF severity = 'ok' THEN
                finding := format(
                    'the clock did not go backwards in %s readings of clock_timestamp()',
                    facts ->> 'readings');
            ELSE
                finding := format(
                    'clock_timestamp() went backwards, so durations can be negative or huge: %s '
                    'times in %s readings, by at most %s us',
                    facts ->> 'backward_steps', facts ->> 'readings', facts ->> 'backward_max_us');
                now_ := 'check whether it happens again; a single step may be caused by setting '
                        'the time';
                provider := 'why the time goes backwards, and for a host whose processors'' '
                            'counters are synchronised';
            END IF;
        WHEN check_name = 'gaps' THEN
            finding := format(': %s %% of %s s lost, in %s', lost,
                              round((facts ->> 'seconds')::numeric, 2), c.detail)
                || coalesce('; by cpu.stat of the control group, the CPU limit of the server''s '
                            'container stopped its processes for ' || throttled_ms || ' ms', '');
            IF (lost >= 10 OR period_ms IS NOT NULL)
                -- as in the C extension, if the limit explains half of the gaps
                AND throttled_ms > 500 * (facts ->> 'lost_s')::numeric THEN
                severity := 'notice';
                finding := 'the CPU limit of the server''s container interrupted the run; the '
                           'figures of the clock are valid nevertheless' || finding;
                for_good := 'raise the limit: `docker update --cpus`, Kubernetes'' '
                            'resources.limits.cpu, systemd''s CPUQuota, or cpu.max of the control '
                            'group';
                provider := 'for a higher CPU limit';
            ELSIF period_ms IS NOT NULL THEN
                severity := 'notice';
                finding := format('a quota or a lack of CPU credits throttles the CPU, every %s '
                                  'ms', period_ms) || finding;
                now_ := 'times of queries include the waits: measure later, and check the '
                        'provider''s graph of CPU credits or CPU limits';
                for_good := 'an instance type that is not burstable, or a higher CPU limit';
                provider := format('whether a CPU quota or a lack of CPU credits takes the CPU '
                                   'away every %s ms', period_ms);
            ELSIF lost >= 10 THEN
                severity := 'notice';
                finding := 'other processes interrupted the run; the figures of the clock '
                           'are valid nevertheless' || finding;
                now_ := CASE WHEN pg_has_role('pg_read_all_stats', 'USAGE')
                             THEN 'find the server''s own busy sessions: `SELECT * FROM '
                                  'pg_stat_activity WHERE state = ''active''`; if there are none, '
                             ELSE 'look at the provider''s graph of CPU usage: if the server '
                                  'itself uses little CPU time, ' END
                        || 'ask the provider how much of the CPU''s time the hypervisor takes '
                           '(steal)';
            ELSE
                finding := 'other processes hardly interrupted the run' || finding;
            END IF;
            IF slowdown > 1.25 THEN
                severity := 'notice';
                finding := finding || format('; the CPU became slower during the run, by a factor '
                                             'of %s', slowdown);
                now_ := coalesce(now_, 'measure again: the processor''s speed changes');
            END IF;
        WHEN check_name = 'explain_clock' THEN
            IF source IS NULL THEN
                finding := 'EXPLAIN ANALYZE reads the system clock'
                    || CASE WHEN x86 THEN '; PostgreSQL 19 can read the TSC, which is faster'
                            ELSE ', as always before PostgreSQL 19' END;
            ELSIF NOT x86 THEN
                finding := 'this processor has no other clock that EXPLAIN ANALYZE can read';
            ELSE
                SELECT * INTO by_system
                FROM @extschema@.internal_clock_timing_by('system', duration / 4) AS t;
                SELECT * INTO by_the_tsc
                FROM @extschema@.internal_clock_timing_by('tsc', duration / 4) AS t;
                finding := format(': timing_clock_source is %s, with which timing adds %s to a '
                                  'call of a plan node; ',
                                  source, coalesce(timing_ns || ' ns', 'an unknown time'))
                    || CASE WHEN by_system.problem IS NULL
                            THEN format('with system %s, with tsc %s',
                                        coalesce(by_system.timing_ns::text, 'unknown'),
                                        coalesce(by_the_tsc.problem, by_the_tsc.timing_ns::text,
                                                 'unknown'))
                            ELSE concat_ws('; ', 'this role may not set it',
                                           'a reading of the system clock takes '
                                           || round((facts ->> 'cost_ns')::numeric, 1) || ' ns')
                       END;
                IF by_tsc AND timing_ns > 1.1 * by_system.timing_ns THEN
                    severity := 'notice';
                    finding := 'EXPLAIN ANALYZE reads the TSC, which is slower than the system '
                               'clock' || finding;
                    provider := 'why reading the TSC takes so long, and whether the hypervisor '
                                'intercepts RDTSC';
                ELSIF by_tsc THEN
                    finding := 'EXPLAIN ANALYZE reads the TSC' || finding;
                ELSIF by_system.problem IS NULL AND by_the_tsc.problem IS NOT NULL THEN
                    finding := 'EXPLAIN ANALYZE cannot read the TSC' || finding;
                ELSIF by_the_tsc.timing_ns >= 0.9 * timing_ns THEN
                    finding := 'the TSC is not faster than the system clock' || finding;
                ELSE
                    severity := 'notice';
                    finding := 'EXPLAIN ANALYZE reads the system clock' || finding;
                    now_ := CASE WHEN by_the_tsc.timing_ns IS NOT NULL
                                 THEN '`SET timing_clock_source = ''tsc''`' END;
                    provider := 'whether the TSC of this instance is reliable, and if so to have '
                                'timing_clock_source set to tsc';
                END IF;
            END IF;
        ELSE
            finding := c.detail;
        END CASE;
        IF provider IS NOT NULL THEN
            case_ := case_ || E'\n' || @extschema@.internal_clock_lines(
                format('%s: %s. We ask %s.', check_name, finding, provider), 49);
        END IF;
        said := said || jsonb_build_object('check_name', check_name, 'severity', severity,
            'finding', finding,
            'action', nullif(concat_ws(E'\n',
                @extschema@.internal_clock_lines('now: ' || now_, 49),
                @extschema@.internal_clock_lines('for good: ' || for_good, 49),
                @extschema@.internal_clock_lines('ask the provider: ' || provider, 49)), ''));
    END LOOP;

    said := @extschema@.internal_clock_overall(said,
                                               'the clock is all right, so far as SQL can tell')
        || said
        || CASE WHEN case_ = ''
                THEN jsonb_build_object('check_name', 'support_case', 'severity', 'ok',
                    'finding', 'no fault of the clock to report')
                ELSE jsonb_build_object('check_name', 'support_case', 'severity', 'notice',
                    'finding', 'text for a ticket',
                    'action', @extschema@.internal_clock_lines(
                                  'ask the provider: about '
                                      || regexp_replace(version(), ',.*', ''), 49)
                              || E'\n'
                              || @extschema@.internal_clock_lines(
                                  format('measured by SQL at %s: %s.', date_trunc('second', now()),
                                         figures), 49)
                              || case_) END;
    RETURN QUERY
    SELECT s ->> 'check_name', s ->> 'severity',
           @extschema@.internal_clock_lines(s ->> 'finding',
                                            greatest(87 - max(w.width) OVER (), 28)),
           s ->> 'action'
    FROM unnest(said) WITH ORDINALITY AS u(s, n),
         LATERAL (SELECT coalesce(max(length(l)), 6) AS width
                  FROM regexp_split_to_table(s ->> 'action', E'\n') AS l) AS w
    ORDER BY s ->> 'check_name' = 'support_case', s ->> 'check_name' <> 'overall',
             array_position('{warning,notice,ok}', s ->> 'severity'), n;
END
$body$;
COMMENT ON FUNCTION @extschema@.clock_advice(double precision) IS
    'measures this server''s clock for some seconds (1) and returns an overall verdict, then each '
    'check, worst first: severity (ok, notice or warning; null if SQL alone cannot tell), finding '
    'with figures, and action; the last row contains a text for a support case';
