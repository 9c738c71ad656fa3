-- clock_cpu_skew(): properties that hold for each clock that it can compare between CPUs.
BEGIN;
SELECT * FROM no_plan();

CREATE TEMP TABLE skew AS
    SELECT c.source, s.* FROM clock_sources AS c, clock_cpu_skew(c.source, 0.2) AS s
    WHERE c.available AND c.source NOT IN ('process_cputime', 'thread_cputime', 'clock',
        'getrusage');
CREATE TEMP TABLE first_cpu AS SELECT DISTINCT ON (source) * FROM skew ORDER BY source, cpu;
CREATE TEMP TABLE others AS SELECT * FROM skew EXCEPT SELECT * FROM first_cpu;

SELECT cmp_ok((SELECT count(DISTINCT source)::int FROM skew), '>=', 2,
    'at least system and instr_time were compared');
SELECT is((SELECT count(DISTINCT cpus)::int FROM (SELECT array_agg(cpu ORDER BY cpu) AS cpus
    FROM skew GROUP BY source) AS x),
          1, 'the same CPUs for each clock');
SELECT is((SELECT count(*)::int FROM skew), (SELECT count(DISTINCT (source, cpu))::int FROM skew),
    'each CPU once for each clock');
SELECT is((SELECT count(*)::text FROM skew WHERE source = 'system'),
          (SELECT value FROM clock_platform WHERE name = 'cpus_allowed'),
              'a row for each CPU that the server may run on')
WHERE (SELECT value FROM clock_platform WHERE name = 'cpus_allowed') IS NOT NULL;

SELECT ok(offset_ns = 0 AND offset_min_ns = 0 AND offset_max_ns = 0 AND round_trip_ns IS NULL
    AND exchanges = 0
          AND warps = 0 AND warp_max_ns = 0 AND stalls = 0 AND longest_stall = 0, source
              || ': the first CPU is the reference of the other CPUs') FROM first_cpu;
SELECT cmp_ok(reading_ns, '>', 0::numeric, format(
    '%s, CPU %s: the cost of a reading is positive', source,
    cpu)) FROM skew;
SELECT is(s.clock, c.clock, format(
    '%s, CPU %s: clock is that of clock_sources', s.source, s.cpu)) FROM skew AS s
    JOIN clock_sources AS c USING (source);
SELECT ok(offset_min_ns <= offset_ns AND offset_ns <= offset_max_ns,
    format('%s, CPU %s: the offset is within its bounds', source, cpu))
FROM skew WHERE offset_ns IS NOT NULL;
SELECT is(num_nulls(offset_ns, offset_min_ns, offset_max_ns) % 3, 0,
    format(
        '%s, CPU %s: the offset and its bounds are all known or all NULL', source, cpu)) FROM skew;
-- Only a clock that does not advance has no offset.
SELECT ok(offset_ns IS NOT NULL OR stalls > 0, format(
    '%s, CPU %s: there is an offset, unless the clock stood still',
    source, cpu)) FROM others;
SELECT ok(offset_ns IS NOT NULL, format(
    '%s, CPU %s: a clock that is not coarse has an offset', source, cpu))
    FROM others
WHERE source NOT IN ('realtime_coarse', 'monotonic_coarse', 'times', 'time');
-- For a coarse clock, the bounds are at least a step apart, because smaller offsets cannot be seen.
SELECT cmp_ok(offset_max_ns - offset_min_ns, '>=', c.resolution_ns::numeric,
    format('%s, CPU %s: the bounds are at least a step apart', s.source, cpu))
FROM others AS s JOIN clock_sources AS c USING (source)
WHERE source IN ('realtime_coarse', 'monotonic_coarse', 'times', 'time', 'gettimeofday')
    AND offset_ns IS NOT NULL;
SELECT cmp_ok(exchanges, '>=', 2::bigint, format(
    '%s, CPU %s: at least two exchanges of readings', source,
    cpu)) FROM others;
SELECT ok(stalls >= longest_stall, format(
    '%s, CPU %s: the longest stall is at most the number of stalls', source, cpu)) FROM skew;
SELECT ok((warps > 0) = (warp_max_ns > 0), format(
    '%s, CPU %s: warp_max_ns is positive if and only if there are warps', source, cpu))
    FROM others;
SELECT ok(warps <= exchanges, format('%s, CPU %s: at most one warp per exchange', source, cpu))
    FROM others;

-- A clock has warps if and only if its bounds exclude 0.
SELECT ok((warps > 0) = (offset_min_ns > 0 OR offset_max_ns < 0),
    format('%s, CPU %s: warps if and only if the bounds exclude 0', source, cpu))
FROM others WHERE offset_max_ns - offset_min_ns <= round_trip_ns AND stalls = 0;
-- If the offset has not changed and the clock has not stood still, the bounds differ by at most a
-- round trip.
SELECT cmp_ok(offset_max_ns - offset_min_ns, '<=', round_trip_ns + 0.03,
    format('%s, CPU %s: the bounds are at most a round trip apart', source, cpu))
FROM others WHERE stalls = 0;

-- By default, the processor's counter is compared.
SELECT is((SELECT DISTINCT clock FROM clock_cpu_skew(duration => 0.02)),
          (SELECT clock FROM clock_sources WHERE source IN ('rdtscp', 'cntvct_isb', 'system')
              AND available ORDER BY source = 'system' LIMIT 1),
          'the default source is the processor''s counter, if available');

SELECT * FROM finish();
ROLLBACK;
