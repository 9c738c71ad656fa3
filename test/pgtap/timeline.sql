-- clock_timeline() and clock_throttled(): properties that hold for each interval and each run.
BEGIN;
SELECT * FROM no_plan();

-- Timelines of all clocks that can be read. The column took is the duration of the whole call.
CREATE TEMP TABLE timeline AS
    SELECT ''::text AS source, t.*, 0 AS n, interval '0' AS took FROM clock_timeline('system',
        0.001, 0.001) AS t LIMIT 0;
DO $$
DECLARE
    s text;
    began timestamptz;
BEGIN
    FOR s IN SELECT source FROM clock_sources WHERE available LOOP
        began := clock_timestamp();
        INSERT INTO timeline SELECT s, t.*, row_number() OVER (ORDER BY t.elapsed_s)
            FROM clock_timeline(s, 0.15, 0.05) AS t;
        UPDATE timeline SET took = clock_timestamp() - began WHERE source = s;
    END LOOP;
END $$;
SELECT cmp_ok(count(DISTINCT source)::int, '>=', 2,
    'at least system and instr_time have a timeline') FROM timeline;
SELECT is(array_agg(elapsed_s ORDER BY elapsed_s), ARRAY[0.050, 0.100, 0.150], source
    || ': intervals end at multiples of their length')
FROM timeline GROUP BY source;
-- An interval that had CPU time has readings.
SELECT cmp_ok(readings, '>', 0::bigint, format(
    '%s, %s s: an interval with CPU time has readings', source, elapsed_s))
    FROM timeline WHERE sampled_s > 0.01;
SELECT is((sampled_s > 0, readings > 0, mean_ns IS NOT NULL, p50_ns IS NOT NULL, p99_ns IS NOT NULL,
    max_ns IS NOT NULL),
          (readings > 0, readings > 0, readings > 0, readings > 0, readings > 0, readings > 0),
              format('%s, %s s: figures if there are readings', source, elapsed_s))
FROM timeline;
SELECT cmp_ok(p50_ns, '<=', p99_ns, format(
    '%s, %s s: p50 is at most p99', source, elapsed_s)) FROM timeline
    WHERE readings > 0;
SELECT cmp_ok(p99_ns, '<=', max_ns, format(
    '%s, %s s: p99 is at most the maximum', source, elapsed_s)) FROM timeline
    WHERE readings > 0;
SELECT cmp_ok(lost_ms, '>=', gaps * 0.01, format('%s, %s s: no gap is shorter than 10 us', source,
    elapsed_s)) FROM timeline;
SELECT is(backward_steps, 0::bigint, format('%s, %s s: no backward step', source, elapsed_s))
    FROM timeline
WHERE source NOT LIKE 'realtime%' AND source NOT IN ('tai', 'gettimeofday', 'time');
SELECT is((instants, cold_mean_ns, late_mean_us), (NULL::bigint, NULL::numeric, NULL::numeric),
    format('%s, %s s: columns of throttled runs are NULL', source, elapsed_s))
FROM timeline;
-- Intervals do not overlap.
SELECT cmp_ok(sum(sampled_s), '<=', 0.001 + extract(epoch FROM max(took)), source
    || ': the sampled time is at most the elapsed time')
FROM timeline GROUP BY source;
-- The sampled time of the first interval does not include the preparation of the run, which takes
-- some 50 ms for the TSC.
SELECT cmp_ok(sampled_s, '<=', 0.05 + 0.002 + lost_ms / 1000 + 0.05, source
    || ': sampled_s of the first interval excludes the preparation')
        FROM timeline WHERE n = 1 AND gaps = 0;

-- The durations of an interval add up to at most the time in which it was sampled.
SELECT cmp_ok(t.readings * t.mean_ns, '<=', t.sampled_s * 1.001e9, t.elapsed_s
    || ' s: durations add up to at most the sampled time') FROM clock_timeline(
        'system', 0.3, 0.1) AS t;

-- The time that is lost in gaps is a part of the sampled time, because each interval contains only
-- its own gaps.
SELECT cmp_ok(sum(lost_ms), '<=', sum(sampled_s) * 1000, 'no more time was lost than sampled')
    FROM timeline;

-- Throttled runs, which read the clock only at random instants
CREATE TEMP TABLE throttled AS SELECT * FROM clock_timeline('system', 1, 0.25, 200);
SELECT is(array_agg(elapsed_s ORDER BY elapsed_s), ARRAY[0.250, 0.500, 0.750, 1.000],
    'throttled: intervals end at multiples of their length') FROM throttled;
SELECT is(readings - backward_steps, instants * 32,
    format('throttled, %s s: 32 warm durations for each instant', elapsed_s))
    FROM throttled;
-- Instants are a Poisson process. On a busy machine they are late, and the last ones may be
-- missing.
SELECT cmp_ok(sum(instants), '<=', 200 + 6 * sqrt(200::numeric),
    'throttled: instants exceed the expected number by at most 6 sigma') FROM throttled;
SELECT cmp_ok(sum(instants), '>', 0::numeric, 'throttled: there are instants') FROM throttled;
SELECT cmp_ok(cold_mean_ns, '>=', 0.0, format(
    'throttled, %s s: cold_mean_ns is not negative', elapsed_s)) FROM throttled
    WHERE instants > 20;
SELECT cmp_ok(late_mean_us, '>=', 0.0, format(
    'throttled, %s s: late_mean_us is not negative', elapsed_s)) FROM throttled
    WHERE instants > 0;
SELECT cmp_ok(cpu_percent, '<', 50.0, format(
    'throttled, %s s: less than 50 percent of a CPU is used', elapsed_s)) FROM throttled;

CREATE TEMP TABLE run AS
    SELECT t.* FROM (SELECT source FROM clock_sources WHERE available
        AND source IN ('system', 'instr_time', 'rdtsc', 'rdtscp', 'cntvct', 'cntvct_isb',
        'realtime_coarse', 'gettimeofday')) AS s,
        clock_throttled(s.source, 0.4, 500) AS t;
SELECT is(r.clock, c.clock, r.source
    || ': clock is that of clock_sources') FROM run AS r JOIN clock_sources
    AS c ON c.source = r.source;
SELECT cmp_ok(instants, '<=', (200 + 6 * sqrt(200))::bigint, source
    || ': instants exceed the expected number by at most 6 sigma') FROM run;
SELECT cmp_ok(wakeups, '<=', instants, source || ': at most one wakeup per instant') FROM run;
SELECT cmp_ok(wakeups, '>', 0::bigint, source || ': some instants follow a sleep') FROM run;
SELECT cmp_ok(instants_per_s, '<=', instants / 0.4 + 0.01, source
    || ': the reached rate is at most instants divided by the duration') FROM run;
SELECT ok(cold_mean_ns <= cold_max_ns AND cold_p50_ns <= cold_p99_ns AND cold_p99_ns <= cold_max_ns
    AND cold_p50_ns >= 0, source || ': figures of cold readings are in order') FROM run;
SELECT ok(warm_mean_ns <= warm_max_ns AND warm_p50_ns <= warm_p99_ns AND warm_p99_ns <= warm_max_ns
    AND warm_p50_ns >= 0, source || ': figures of warm durations are in order') FROM run;
SELECT ok(late_mean_us <= late_max_us AND late_p50_us <= late_p99_us AND late_p99_us <= late_max_us
    AND late_p50_us > 0, source || ': figures of lateness are in order') FROM run;
-- Only wide bounds of the CPU time are checked, because the kernel may count it by ticks.
SELECT cmp_ok(cpu_percent, '>', 0.0, source || ': the run uses CPU time') FROM run;
SELECT cmp_ok(cpu_percent, '<', 50.0, source
    || ': the run uses less than 50 percent of a CPU') FROM run;
-- Pauses between instants are not durations. Half of the pauses take 1.4 ms or longer.
SELECT cmp_ok(warm_p99_ns, '<', 500000.0, source || ': pauses are not in warm_p99_ns') FROM run
    WHERE source <> 'realtime_coarse';
SELECT cmp_ok(cold_p50_ns, '<', 500000.0, source || ': pauses are not in cold_p50_ns') FROM run;

CREATE FUNCTION pg_temp.number(s clock_sample, name text) RETURNS numeric LANGUAGE sql AS
    $$SELECT (s::jsonb ->> name)::numeric$$;
CREATE FUNCTION pg_temp.numbers(s clock_sample, name text) RETURNS bigint[] LANGUAGE sql AS
    $$SELECT ARRAY(SELECT e::bigint FROM jsonb_array_elements_text(s::jsonb -> name) AS e)$$;
-- clock_measure() with a rate returns a sample with the warm durations, which all functions accept.
CREATE TEMP TABLE sample AS SELECT clock_measure('system', 0.5, 200) AS s;
SELECT is(pg_temp.number(s, 'readings')::bigint % 32, pg_temp.number(s, 'backward_steps')::bigint,
    'throttled sample: 32 durations for each instant') FROM sample;
SELECT cmp_ok(pg_temp.number(s, 'readings')::bigint, '<=', (32 * (100 + 6 * sqrt(100)))::bigint,
    'throttled sample: instants exceed the expected number by at most 6 sigma') FROM sample;
SELECT cmp_ok(pg_temp.number(s, 'duration_s'), '>=', 0.5,
    'throttled sample: the run lasts at least the requested duration')
    FROM sample;
SELECT is((SELECT sum(count) FROM clock_histogram(s)), pg_temp.number(s, 'readings')::bigint -
    pg_temp.number(s, 'backward_steps')::bigint::numeric,
        'throttled sample: the histogram counts all durations') FROM sample;
SELECT is(readings, pg_temp.number(s, 'readings')::bigint,
    'throttled sample: the summary has the number of readings') FROM sample,
    clock_summary(s);
CREATE TEMP TABLE both_kinds AS SELECT s FROM sample UNION ALL SELECT clock_measure('system', 0.01);
SELECT is((SELECT (clock_summary(clock_merge(s))).readings FROM both_kinds),
    (SELECT sum(pg_temp.number(s, 'readings')::bigint)::bigint FROM both_kinds),
    'throttled sample: merged with a sample of another run');

-- A rate that the machine cannot reach
CREATE TEMP TABLE fast AS SELECT * FROM clock_throttled('system', 0.2, 1000000);
SELECT cmp_ok(instants_per_s, '<', 950000.0,
    'unreachable rate: less than 950,000 instants per second')
    FROM fast;
-- Late instants are not skipped, so the lateness of instants grows during the run.
SELECT cmp_ok(late_max_us, '>', 0.2e6 * (1 - instants_per_s / 1e6) / 2,
    'unreachable rate: the lateness of instants grows')
    FROM fast;
-- Late instants follow each other without a sleep. So only few have a cold reading, which is the
-- first reading after a sleep.
SELECT cmp_ok(wakeups, '<', instants / 2,
    'unreachable rate: less than half of the instants follow a sleep') FROM fast;

SELECT * FROM finish();
ROLLBACK;
