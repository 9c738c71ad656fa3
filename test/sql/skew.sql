--
-- clock_cpu_skew(): bad input, and the session after a call.
--
\set VERBOSITY default
SELECT clock_cpu_skew(duration => NULL);
SELECT clock_cpu_skew(duration => 0);
SELECT clock_cpu_skew(duration => -1);
SELECT clock_cpu_skew(duration => 'NaN');
SELECT clock_cpu_skew(duration => 'Infinity');
SELECT clock_cpu_skew(duration => '-Infinity');
SELECT clock_cpu_skew(duration => 86401);
SELECT clock_cpu_skew(duration => 1e-7);
-- a clock that counts each process's own time is rejected
SELECT clock_cpu_skew('process_cputime', 0.01);
\set VERBOSITY sqlstate
SELECT clock_cpu_skew('process_cputime', 0.01);
SELECT clock_cpu_skew('', 0.01);
SELECT clock_cpu_skew(duration => NULL);
SELECT clock_cpu_skew(duration => 0);
SELECT clock_cpu_skew('sundial', 0.01);
SELECT clock_cpu_skew(1, 0.01);
\set VERBOSITY default

-- the backend works after a call, whatever the measured skew is
SET client_min_messages = error;
SELECT count(*) > 0 AS rows, min(offset_ns) = 0 OR count(*) > 1 AS first
    FROM clock_cpu_skew('SYSTEM', 0.01);
SELECT count(*) > 0 AS rows FROM clock_cpu_skew(source => 'instr_time', duration => 0.000001);
-- in a read-only transaction that continues after an error
BEGIN READ ONLY;
SAVEPOINT s;
SELECT clock_cpu_skew(duration => 0);
ROLLBACK TO s;
SELECT count(*) > 0 AS rows FROM clock_cpu_skew('system', 0.01);
SELECT 1 / (count(*) - count(*)) FROM clock_cpu_skew('system', 0.01);
ROLLBACK;
-- twice in a statement
SELECT count(*) > 0 AS rows FROM clock_cpu_skew('system', 0.01) AS a, clock_cpu_skew('system', 0.01)
    AS b;
-- only members of pg_monitor may execute it
CREATE ROLE regress_clock_skew;
SET ROLE regress_clock_skew;
SELECT clock_cpu_skew(duration => 0.01);
RESET ROLE;
DROP ROLE regress_clock_skew;
