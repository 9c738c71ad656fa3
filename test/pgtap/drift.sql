-- clock_drift() and clock_monitor(): properties that hold for every drift and every interval.
BEGIN;
SELECT * FROM no_plan();

CREATE TEMP TABLE drift AS
    SELECT s.reads, s.cpu_time, d.*
    FROM (SELECT source, clock AS reads, source IN ('process_cputime', 'thread_cputime', 'clock',
        'getrusage') AS cpu_time
          FROM clock_sources WHERE available) AS s,
         clock_drift(s.source, 0.1, 'kernel') AS d;

SELECT cmp_ok((SELECT count(*)::int FROM drift), '>=', 2,
    'at least system and instr_time were compared');
SELECT is(clock, reads, source || ': clock is that of clock_sources') FROM drift;
SELECT is(reference, 'kernel', source || ': the reference is "kernel"') FROM drift;
SELECT cmp_ok(pairs, '>', 10::bigint, source || ': more than 10 pairs of readings') FROM drift;
SELECT cmp_ok(pairs + rejected, '<=', 1000::bigint, source
    || ': at most 1000 pairs of readings') FROM drift;
SELECT cmp_ok(rejected, '<=', pairs, source
    || ': at most half of the pairs are rejected') FROM drift;
SELECT cmp_ok(duration_s, '>=', 0.1, source
    || ': the run lasts at least the requested duration') FROM drift;
SELECT cmp_ok(drift_margin_ppm, '>', 0.0, source
    || ': the margin of the drift is positive') FROM drift;
SELECT cmp_ok(residual_max_ns, '>=', 0.0, source
    || ': the largest residual is not negative') FROM drift;
SELECT cmp_ok(bracket_ns, '>', 0.0, source || ': the width of brackets is positive') FROM drift;
-- Drifts are limited, because NTP changes the rate of a clock by at most 500 ppm. Ticks of
-- instr_time are converted by the calibrated frequency of the TSC, not by that of the server, which
-- may be wrong by 0.1 % or more on PostgreSQL 19.
SELECT cmp_ok(abs(drift_ppm), '<=', 600 + drift_margin_ppm, source
           || ': the rate is that of the kernel''s clock') FROM drift
WHERE NOT cpu_time AND source <> 'time';
SELECT cmp_ok(drift_ppm, '<=', drift_margin_ppm, source
    || ': CPU time is not faster than the reference clock')
    FROM drift WHERE cpu_time;
SELECT is((SELECT sum(backward_steps + warps + lags)::int FROM drift
    WHERE source NOT LIKE 'realtime%' AND source NOT IN ('gettimeofday', 'time', 'tai')),
          0, 'correct clocks do not step');
SELECT ok((backward_steps > 0) = (backward_max_ns > 0) AND (warps > 0) = (warp_max_ns > 0)
    AND (lags > 0) = (lag_max_ns > 0),
          source || ': sizes of steps are positive if and only if there are steps') FROM drift;
-- The margin includes the error from the clock's resolution: the resolution divided by the duration
-- of the run.
SELECT cmp_ok(drift_margin_ppm, '>=', (c.resolution_ns / 1e3 / duration_s::float8)::numeric,
    d.source || ': the margin includes the error from the resolution')
FROM drift AS d JOIN clock_sources AS c USING (source) WHERE c.resolution_ns >= 1000;

-- Some drifts are known to be 0. An interval misses the truth in one of 20 cases. So nine intervals
-- are measured, of which at least five must contain 0. This fails by chance once in 30,000 times.
SELECT cmp_ok(percentile_disc(0.5) WITHIN GROUP (ORDER BY abs(d.drift_ppm) - d.drift_margin_ppm),
    '<=', 0.0, format('%s does not drift against %s', v.a, v.b))
FROM (VALUES ('monotonic_raw', 'kernel'), ('rdtsc', 'rdtscp'), ('cntvct', 'cntvct_isb'),
    ('boottime', 'monotonic')) AS v (a, b)
    JOIN clock_sources AS s ON s.source = v.a AND s.available,
    generate_series(1, 9) AS n,
    LATERAL clock_drift(v.a, 0.1 + 0 * n, v.b) AS d
GROUP BY v.a, v.b ORDER BY v.a;
-- If clock and reference are exchanged, the sign of the drift changes. Compares medians of five
-- measurements.
SELECT cmp_ok(percentile_disc(0.5) WITHIN GROUP (ORDER BY abs(a.drift_ppm + b.drift_ppm) -
    a.drift_margin_ppm - b.drift_margin_ppm),
              '<=', 0.001, 'exchanging clock and reference changes only the sign of the drift')
FROM generate_series(1, 5) AS n, LATERAL clock_drift('system', 0.05 + 0 * n, 'instr_time') AS a,
    LATERAL clock_drift('instr_time', 0.05 + 0 * n, 'system') AS b;

-- The shortest run has at least 30 pairs of readings.
SELECT is(source || ' ' || (pairs + rejected >= 30), 'system true',
    'the shortest run has at least 30 pairs of readings')
FROM clock_drift(duration => 0.000001);

-- clock_monitor
CREATE TEMP TABLE monitor AS SELECT * FROM clock_monitor(duration => 0.3, every => 0.1);
SELECT is((SELECT array_agg(DISTINCT source ORDER BY source) FROM monitor),
          (SELECT array_agg(source ORDER BY source) FROM clock_sources WHERE available),
              'clock_monitor: all available sources');
SELECT is(count(*)::int, 1, elapsed_s || ', ' || source || ': one row') FROM monitor
    GROUP BY elapsed_s, source;
SELECT cmp_ok(count(DISTINCT elapsed_s)::int, '<=', 3,
    'clock_monitor: at most three intervals') FROM monitor;
SELECT cmp_ok(elapsed_s, '>=', 0.1 * n, format('clock_monitor: interval %s does not end early', n))
FROM (SELECT elapsed_s, row_number() OVER (ORDER BY elapsed_s) AS n FROM (SELECT DISTINCT elapsed_s
    FROM monitor) AS e) AS e;
SELECT cmp_ok(min(advance_ms - lag), '>=', 0.0, source || ': the clock never goes backwards')
FROM (SELECT source, advance_ms, lag(advance_ms) OVER (PARTITION BY source ORDER BY elapsed_s)
    AS lag FROM monitor) AS m
GROUP BY source HAVING count(lag) > 0;
SELECT cmp_ok(abs(against_reference_us), '<=',
              (advance_ms * 0.6 + bracket_ns * 2 / 1000 + (c.resolution_ns / 1000)::numeric + 100),
                  format('%s after %s s: advances like the kernel''s clock', m.source, elapsed_s))
FROM monitor AS m JOIN clock_sources AS c USING (source)
WHERE source NOT IN ('process_cputime', 'thread_cputime', 'clock', 'getrusage', 'realtime_coarse',
    'monotonic_coarse', 'times', 'time');
SELECT cmp_ok(abs(against_reference_us), '<=', 2.0,
    format('monotonic_raw after %s s: agrees with the kernel''s clock', elapsed_s))
FROM monitor WHERE source = 'monotonic_raw' AND bracket_ns < 1000;
-- ALL means all clocks except for the reference.
SELECT is((SELECT array_agg(DISTINCT m.source ORDER BY m.source) FROM clock_monitor('{ALL}', 0.01,
    0.01, 'system') AS m),
          (SELECT array_agg(source ORDER BY source) FROM clock_sources WHERE available
              AND source <> 'system'),
          'clock_monitor: {ALL} means all clocks except for the reference');
SELECT is((SELECT array_agg(m.source) FROM clock_monitor('{system,instr_time,SYSTEM}', 0.01, 0.01)
    AS m),
          '{system,instr_time}', 'clock_monitor: each source once, in the given order');
-- If the rest of the duration is shorter than an interval, the run ends without waiting for it.
SELECT is((SELECT count(*)::int FROM clock_monitor('{system}', 0.0199, 0.01)), 1,
    'clock_monitor: no row for a part of an interval');

SELECT * FROM finish();
ROLLBACK;
