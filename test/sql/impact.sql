-- clock_impact(), with and without details: the stable parts of its results.
\set VERBOSITY terse
\set SHOW_CONTEXT never

SELECT setting, verdict IN ('on', 'off', 'on_with_sample_rate', 'unknown') AS verdict,
    max_sample_rate IS NOT NULL = (verdict = 'on_with_sample_rate') AS rate, in_effect, value,
    period_s > 0 AS period_s,
    reason IN ('low', 'high', 'calls_guessed', 'uncertain', 'idle', 'short_period',
               'no_upper_limit', 'not_counted') AS reason, advice <> '' AS advice
FROM clock_impact();

-- kinds of work that the server times on all versions; the column bound has three values only
SELECT setting, work, reading_ns > 0 AND clock <> '' AS clock, readings_per_operation IN (2, 4)
    AS readings, operation_ns >= 0 AS cost
FROM clock_impact(setting => NULL)
WHERE work IN ('relation reads', 'relation writes', 'temporary files', 'WAL writes', 'WAL fsyncs',
    'calls of plan nodes');
SELECT count(*) AS others FROM clock_impact(setting => NULL) WHERE bound NOT IN ('at most',
    'at least', 'estimate');
-- a figure that is only bounded, or unknown, has a reason
SELECT count(*) AS silent FROM clock_impact(setting => NULL)
    WHERE (bound IS NOT NULL OR cpu_percent IS NULL) AND reason IS NULL;

-- settings that are on are in effect
SET track_io_timing = on;
SET track_wal_io_timing = on;
SELECT setting, value, in_effect FROM clock_impact();
RESET track_io_timing;
RESET track_wal_io_timing;

-- the period between two snapshots of the statistics
SELECT DISTINCT period, period_s FROM (SELECT period, period_s BETWEEN 0.1 AND 60 AS period_s
    FROM clock_impact(NULL, 0.1)) AS d;
-- the kinds of work of a setting
SELECT DISTINCT setting FROM clock_impact('track_wal_io_timing');
-- invalid arguments
SELECT * FROM clock_impact('track_io');
SELECT * FROM clock_impact(0.09);
SELECT * FROM clock_impact(86401);
SELECT * FROM clock_impact(NULL, 'NaN');
SELECT * FROM clock_impact(NULL, 'infinity');

-- with track_counts off, the server counts no rows, so the cost of auto_explain is unknown
SET track_counts = off;
SELECT setting, cpu_percent, bound, operations_per_s, reason FROM clock_impact(setting => NULL)
    WHERE setting LIKE 'auto_explain.%';
SELECT setting, verdict, reason FROM clock_impact() WHERE setting LIKE 'auto_explain.%';
RESET track_counts;

-- objects of the same names that come first in search_path are ignored
CREATE SCHEMA shadow;
CREATE VIEW shadow.pg_stat_database AS SELECT 1/0 AS blks_read;
CREATE FUNCTION shadow.lessgreater(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT 1/0 > 0';
CREATE OPERATOR shadow.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = shadow.lessgreater);
SET search_path = shadow, pg_catalog, public;
SELECT count(*) FROM public.clock_impact();
SHOW search_path;
RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA shadow CASCADE;
RESET client_min_messages;

-- clock_impact() works in read-only transactions
BEGIN READ ONLY;
SELECT count(*) FROM clock_impact();
SELECT count(*) FROM clock_impact(0.1);
COMMIT;
-- only members of pg_monitor may execute it
CREATE ROLE regress_clock_nobody;
CREATE ROLE regress_clock_monitor IN ROLE pg_monitor;
SET ROLE regress_clock_nobody;
SELECT count(*) FROM clock_impact();
SELECT count(*) FROM clock_impact(setting => NULL);
SET ROLE regress_clock_monitor;
SELECT count(*) FROM clock_impact();
SELECT count(*) > 5 AS several FROM clock_impact(setting => NULL);
RESET ROLE;
DROP ROLE regress_clock_nobody, regress_clock_monitor;
