--
-- clock_check(): the checks of the clock, and the measurements for them and for clock_advice().
--

-- Reads the clock continuously, by a PL/pgSQL loop with about 3 readings per microsecond.
CREATE FUNCTION @extschema@.internal_clock_watch(
    duration double precision,
    OUT seconds double precision, OUT readings bigint, OUT backward_steps bigint,
    OUT backward_max_us double precision,
    OUT gaps bigint, OUT lost_s double precision, OUT gap_max_us double precision,
    OUT period_s double precision, OUT slowdown double precision
)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    began CONSTANT timestamptz := clock_timestamp();
    ends timestamptz := began + duration * interval '1 s';
    last timestamptz := began;
    this timestamptz;
    d interval;
    step_us CONSTANT double precision := @extschema@.internal_clock_step();
    -- a gap is a duration of 10 us or more, or of two steps of the clock
    gap CONSTANT interval := greatest(10, 2 * step_us) * interval '1 us';
    block_began timestamptz;
    slot int;
    fastest interval[] := array_fill(NULL::interval, '{10}');
    stops double precision[] := '{}';
    stopped double precision[] := '{}';
BEGIN
    readings := 0;
    backward_steps := 0;
    backward_max_us := 0;
    gaps := 0;
    lost_s := 0;
    gap_max_us := 0;
    LOOP
        block_began := last;
        FOR i IN 1..500 LOOP
            this := clock_timestamp();
            d := this - last;
            IF d >= gap OR d < '0' THEN
                IF d < '0' THEN
                    backward_steps := backward_steps + 1;
                    backward_max_us := greatest(backward_max_us, -1e6 * extract(epoch FROM d));
                    -- without this, a backward step would prolong the loop
                    ends := ends + d;
                ELSE
                    gaps := gaps + 1;
                    lost_s := lost_s + extract(epoch FROM d);
                    gap_max_us := greatest(gap_max_us, 1e6 * extract(epoch FROM d));
                    IF d >= '2 ms' AND cardinality(stops) < 1000 THEN
                        stops := stops || extract(epoch FROM this - began)::double precision;
                        stopped := stopped || extract(epoch FROM d)::double precision;
                    END IF;
                END IF;
            END IF;
            last := this;
        END LOOP;
        readings := readings + 500;
        slot := least(1 + floor(10 * extract(epoch FROM last - began) / duration), 10);
        fastest[slot] := least(fastest[slot], last - block_began);
        EXIT WHEN last >= ends;
    END LOOP;
    seconds := extract(epoch FROM last - began);

    -- Detects a CPU quota, by the intervals between the ends of long gaps. With a quota, a process
    -- continues at the beginning of the next period, usually of 100 ms. If other processes use the
    -- CPU, the process continues at shorter or irregular intervals.
    SELECT p.period INTO period_s
    FROM (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY distance) AS period,
                 array_agg(distance) AS distances
          FROM (SELECT t - lag(t) OVER (ORDER BY t) AS distance
                FROM unnest(stops, stopped) AS s(t, s)
                WHERE s > 0.3 * gap_max_us / 1e6) AS s WHERE distance IS NOT NULL) AS p
    WHERE cardinality(p.distances) >= 3 AND p.period >= 0.02
          AND (SELECT avg(abs(x / p.period - round(x / p.period)))
               FROM unnest(p.distances) AS x) < 0.05;
    -- compares the fastest blocks of readings in the last 30 % of the time with those in the first
    -- 30 %, because the processor may have become slower; unknown if the clock's steps are longer
    -- than these blocks
    SELECT extract(epoch FROM min(f) FILTER (WHERE n > 7))
           / nullif(extract(epoch FROM min(f) FILTER (WHERE n < 4)), 0) INTO slowdown
    FROM unnest(fastest) WITH ORDINALITY AS s(f, n)
    WHERE step_us = 1;
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_watch(double precision) IS
    'internal: observes clock_timestamp() for some seconds: backward steps, times off the CPU, '
    'their period if it is regular, and the factor by which the processor became slower';

-- Like system_throttled_ns() of the C extension: reads the control groups of this process, and the
-- first cpu.stat that exists for one of them.  Version 1 counts ns, version 2 us.
CREATE FUNCTION @extschema@.internal_clock_throttled_s() RETURNS double precision
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    file text;
    figure text[];
BEGIN
    FOR file IN
        -- A line is "number:controllers:path".  Version 2 has no controllers.  Within a container,
        -- the process's group may be mounted as the root.
        SELECT m.mount || CASE WHEN m.below THEN g.path ELSE '' END || '/cpu.stat'
        FROM (SELECT n, ',' || split_part(line, ':', 2) || ',' AS controllers,
                     regexp_replace(line, '^[^:]*:[^:]*:', '') AS path
              FROM unnest(string_to_array(pg_read_file('/proc/self/cgroup', 0, 65536, true),
                                          chr(10))) WITH ORDINALITY AS l(line, n)
              UNION ALL VALUES (NULL::bigint, 'none', NULL)) AS g
            JOIN (VALUES (1, ',,', '/sys/fs/cgroup', true),
                         (2, ',,', '/sys/fs/cgroup/unified', true),
                         (3, ',cpu,', '/sys/fs/cgroup/cpu', true),
                         (4, ',cpu,', '/sys/fs/cgroup/cpu', false),
                         (5, 'none', '/sys/fs/cgroup', false)) AS m(i, controller, mount, below)
                ON strpos(g.controllers, m.controller) > 0
        ORDER BY g.n NULLS LAST, m.i
    LOOP
        figure := regexp_match(pg_read_file(file, 0, 65536, true),
                               'throttled_(time|usec) ([0-9]{1,18})');
        IF figure IS NOT NULL THEN
            RETURN figure[2]::float8 / CASE figure[1] WHEN 'time' THEN 1e9 ELSE 1e6 END;
        END IF;
    END LOOP;
    RETURN NULL;
EXCEPTION
    WHEN out_of_memory THEN RAISE;
    -- this role may not read files of the server
    WHEN OTHERS THEN RETURN NULL;
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_throttled_s() IS
    'internal: returns for how long the CPU limit of the server''s container has stopped its '
    'processes, in seconds; null if there is no limit, or if the role may not read files of the '
    'server';

CREATE FUNCTION @extschema@.internal_clock_facts(duration double precision) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    until CONSTANT timestamptz := clock_timestamp() + duration * interval '1 s';
    facts jsonb;
    calls jsonb;
    throttled_s double precision := @extschema@.internal_clock_throttled_s();
BEGIN
    -- watches the clock first, because the other measurements may cause the CPU to be throttled
    SELECT to_jsonb(w) INTO facts FROM @extschema@.internal_clock_watch(0.4 * duration) AS w;
    throttled_s := @extschema@.internal_clock_throttled_s() - throttled_s;
    SELECT facts || to_jsonb(c) INTO facts
    FROM @extschema@.internal_clock_cost(0.2 * duration) AS c;
    BEGIN
        -- this measurement takes longest, in particular at the first call in a session
        IF (@extschema@.internal_clock_left()).seconds < 0.4 THEN
            RAISE EXCEPTION USING MESSAGE = 'not known: the time was too short';
        END IF;
        SELECT to_jsonb(o) INTO calls
        FROM @extschema@.internal_clock_overhead(1000, 'generate_series',
                 greatest(extract(epoch FROM until - clock_timestamp()), 0.1 * duration),
                 @extschema@.internal_clock_step()) AS o;
    EXCEPTION WHEN OTHERS THEN
        calls := jsonb_build_object('problem', SQLERRM);
    END;
    RETURN facts || jsonb_build_object('by_tsc', @extschema@.internal_clock_clock() = 'RDTSC',
                                       'calls', calls, 'throttled_s', throttled_s);
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_facts(double precision) IS
    'internal: measures all facts for clock_advice() and clock_check() in some seconds';

CREATE FUNCTION @extschema@.internal_clock_criteria(
    facts jsonb,
    OUT check_name text, OUT figure double precision, OUT threshold double precision, OUT unit text,
    OUT detail text
) RETURNS SETOF record
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $body$
    SELECT v.*
    FROM (SELECT (facts ->> 'by_tsc')::boolean AS by_tsc,
                 (facts ->> 'cost_ns')::float8 AS system_ns,
                 (facts -> 'calls' ->> 'timing_ns')::float8 AS timing_ns,
                 (facts ->> 'backward_steps')::int AS steps) AS f,
         LATERAL (VALUES
            ('cost', CASE WHEN f.by_tsc AND f.timing_ns < 0 THEN 0
                          WHEN f.by_tsc THEN f.timing_ns / 2 ELSE f.system_ns END,
             200::float8, 'ns',
             CASE WHEN f.by_tsc AND f.timing_ns IS NULL
                  THEN coalesce(facts -> 'calls' ->> 'problem', 'not known: the time was too short')
                  WHEN f.by_tsc
                  THEN 'half of the cost of timing a call of a plan node, which reads the TSC '
                       'twice'
                  WHEN f.system_ns IS NULL THEN 'not known: the time was too short'
                  ELSE 'cost of a reading of the system clock, which the server reads' END),
            ('backward_steps', f.steps, 0, 'steps',
             CASE WHEN f.steps > 0 THEN 'clock_timestamp(), unless the time was set meanwhile' END),
            ('warps', NULL, 0, 'jumps',
             'not known without C: SQL can read one clock only, and cannot distinguish a jump of '
             'this clock from a gap'),
            ('lags', NULL, 0, 'times', 'not known without C: SQL can read one clock only'),
            ('drift', NULL, 600, 'ppm', 'not known without C: SQL can read one clock only'),
            ('skew', NULL, 0, 'ns', 'not known without C: SQL cannot choose a CPU'),
            ('gaps', 100 * (facts ->> 'lost_s')::float8 / (facts ->> 'seconds')::float8,
             'infinity', 'percent',
             format('%s gaps of at most %s us', facts ->> 'gaps',
                    round((facts ->> 'gap_max_us')::numeric, 1))),
            ('tsc_frequency', CASE WHEN NOT f.by_tsc THEN 0 END, 600, 'ppm',
             CASE WHEN f.by_tsc THEN 'not known without C: the TSC cannot be read'
                  ELSE 'the server reads the system clock, not the TSC' END),
            ('invariant_tsc', CASE WHEN NOT f.by_tsc THEN 0 END, 0, 'clocks',
             CASE WHEN f.by_tsc THEN 'not known without C: CPUID cannot be executed'
                  ELSE 'the server reads the system clock, not the TSC' END)
         ) AS v(check_name, figure, threshold, unit, detail)
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_criteria(jsonb) IS
    'internal: returns the figure of each check and its threshold';

CREATE FUNCTION @extschema@.clock_check(
    duration         double precision DEFAULT 1,
    max_cost_ns      double precision DEFAULT NULL,
    max_skew_ns      double precision DEFAULT NULL,
    max_drift_ppm    double precision DEFAULT NULL,
    max_lost_percent double precision DEFAULT NULL,
    OUT check_name text, OUT ok boolean, OUT figure numeric, OUT threshold numeric, OUT unit text,
    OUT detail text
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE ROWS 9 SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    given CONSTANT jsonb := jsonb_build_object(
        'cost', max_cost_ns::text, 'skew', max_skew_ns::text, 'drift', max_drift_ppm::text,
        'gaps', max_lost_percent::text, 'tsc_frequency', max_drift_ppm::text);
    wrong text;
BEGIN
    SELECT a.name INTO wrong
    FROM (VALUES (1, 'max_cost_ns', max_cost_ns), (2, 'max_skew_ns', max_skew_ns),
                 (3, 'max_drift_ppm', max_drift_ppm), (4, 'max_lost_percent', max_lost_percent))
         AS a(n, name, value)
    WHERE NOT a.value BETWEEN 0 AND 'infinity' ORDER BY a.n LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION '% must not be negative or NaN', wrong
            USING ERRCODE = 'invalid_parameter_value',
            HINT = '''infinity'' leaves the check out: it is passed in any case.';
    END IF;
    RETURN QUERY
    SELECT c.check_name, t.most = 'infinity' OR c.figure <= t.most, round(c.figure::numeric, 2),
           round(nullif(t.most, 'infinity')::numeric, 2), c.unit, c.detail
    FROM @extschema@.internal_clock_criteria(@extschema@.internal_clock_facts(
             @extschema@.internal_clock_duration(duration))) AS c,
         LATERAL (SELECT coalesce((given ->> c.check_name)::double precision, c.threshold) AS most)
             AS t;
END
$body$;
COMMENT ON FUNCTION @extschema@.clock_check(double precision, double precision, double precision,
                                            double precision, double precision) IS
    'checks this server''s clock for some seconds (1) and returns a row per check: ok is false if '
    'the figure exceeds the threshold, by default that from which clock_advice() warns; ok is null '
    'if SQL alone cannot tell, which bool_and(ok) ignores, and detail states the reason';
