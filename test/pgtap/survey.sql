-- clock_survey(): properties that hold on any machine.
BEGIN;
SELECT * FROM no_plan();

CREATE TEMP TABLE survey AS SELECT * FROM clock_survey();
CREATE TEMP VIEW available AS SELECT * FROM survey WHERE reason IS NULL;

SELECT is((SELECT count(*)::int FROM survey), (SELECT count(*)::int FROM clock_sources),
    'a row for each source');
SELECT ok(s.reason IS NOT DISTINCT FROM c.reason, s.source
    || ': the reason is that of clock_sources')
FROM survey AS s JOIN clock_sources AS c USING (source);
SELECT ok((s.cost_ns IS NOT NULL) = c.available AND (s.clock IS NOT DISTINCT FROM c.clock),
          s.source || ': measured if and only if it is available')
FROM survey AS s JOIN clock_sources AS c USING (source);
SELECT ok(cost_ns > 0 AND cost_margin_ns >= 0, source || ': a cost and its margin') FROM available;
SELECT ok(typical_cost_ns >= cost_ns AND typical_cost_margin_ns >= 0, source
    || ': the typical cost is not below the undisturbed one') FROM available;
SELECT ok(fails >= 0 AND warps >= 0 AND backward_steps >= 0 AND gaps >= 0 AND fails <= stalls,
    source || ': counts are not negative, and fails are at most stalls') FROM available;
SELECT is(strictly_monotonic, stalls = 0 AND backward_steps = 0 AND warps = 0, source
    || ': strictly monotonic without stalls, backward steps and warps') FROM available;
SELECT is(warps + backward_steps, 0::bigint, source
    || ': no warps and no backward steps') FROM available;
SELECT ok(abs(observed_hz * observed_ns / 1e9 - 1) < 0.01, source
    || ': observed_hz and observed_ns agree')
    FROM available
WHERE observed_hz >= 100;
SELECT ok(observed_ns IS NULL, source
    || ': observed_ns is NULL if there are no stalls') FROM available
    WHERE stalls = 0;
-- Observed steps have the size that the system reports. For coarse clocks, adjtimex() may change it
-- by up to 500 ppm.
SELECT cmp_ok(observed_ns, '>=', resolution_ns * 0.999, source
    || ': observed steps are not smaller than reported')
    FROM available
WHERE source IN ('realtime_coarse', 'monotonic_coarse', 'gettimeofday', 'times', 'time');

-- If instr_time is another name of the system clock, both are read in the same way.
SELECT is(count(DISTINCT read_by)::int, 1, 'system and instr_time are read in the same way')
FROM available WHERE source IN ('system', 'instr_time')
    AND (SELECT clock FROM clock_sources WHERE source = 'instr_time') LIKE 'clock_gettime%'
HAVING count(*) = 2;
SELECT is(read_by, 'instruction', source || ': read by an instruction') FROM available
    WHERE source IN ('rdtsc', 'rdtscp', 'cntvct', 'cntvct_isb');
-- Linux reads these clocks by system calls, not by the vDSO.
SELECT is(read_by, 'system call', source || ': read by a system call') FROM available
WHERE source IN ('getrusage', 'times', 'process_cputime') AND (SELECT value LIKE 'Linux%'
    FROM clock_platform WHERE name = 'operating_system');
-- monotonic_coarse is read by the vDSO on every machine, because this requires no counter.
SELECT is(read_by, 'vDSO', source || ': read by the vDSO') FROM available
WHERE source = 'monotonic_coarse' AND (SELECT value LIKE 'Linux%' FROM clock_platform
    WHERE name = 'operating_system');
SELECT cmp_ok(i.cost_ns, '<', c.cost_ns, 'an instruction costs less than a system call')
FROM available AS i, available AS c WHERE i.source IN ('rdtsc', 'cntvct')
    AND c.source = 'getrusage';

SELECT * FROM finish();
ROLLBACK;
