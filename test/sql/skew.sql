--
-- clock_cpu_skew: bad input.
--
\set VERBOSITY default
SELECT clock_cpu_skew(NULL);
SELECT clock_cpu_skew(0);
SELECT clock_cpu_skew(-1);
SELECT clock_cpu_skew('NaN');
SELECT clock_cpu_skew('Infinity');
SELECT clock_cpu_skew('-Infinity');
SELECT clock_cpu_skew(86401);
SELECT clock_cpu_skew(1e-7);
-- a clock that each process has of its own
SELECT clock_cpu_skew(0.01, 'process_cputime');
\set VERBOSITY sqlstate
SELECT clock_cpu_skew(0.01, 'process_cputime');
SELECT clock_cpu_skew(0.01, '');
SELECT clock_cpu_skew(NULL);
SELECT clock_cpu_skew(0);
SELECT clock_cpu_skew(0.01, 'sundial');
SELECT clock_cpu_skew(0.01, 1);
\set VERBOSITY default

-- the backend is as it was, and works, whatever is found on this machine
SET client_min_messages = error;
SELECT count(*) > 0 AS rows, min(offset_ns) = 0 OR count(*) > 1 AS first FROM clock_cpu_skew(0.01, 'SYSTEM');
SELECT count(*) > 0 AS rows FROM clock_cpu_skew(source => 'instr_time', duration => 0.000001);
-- in a transaction that goes on after an error, and in a read-only one
BEGIN READ ONLY;
SAVEPOINT s;
SELECT clock_cpu_skew(0);
ROLLBACK TO s;
SELECT count(*) > 0 AS rows FROM clock_cpu_skew(0.01, 'system');
SELECT 1 / (count(*) - count(*)) FROM clock_cpu_skew(0.01, 'system');
ROLLBACK;
-- twice in a statement
SELECT count(*) > 0 AS rows FROM clock_cpu_skew(0.01, 'system') AS a, clock_cpu_skew(0.01, 'system') AS b;
-- and not to be had by everybody
CREATE ROLE regress_clock_skew;
SET ROLE regress_clock_skew;
SELECT clock_cpu_skew(0.01);
RESET ROLE;
DROP ROLE regress_clock_skew;
