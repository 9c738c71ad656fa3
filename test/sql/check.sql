-- clock_check(), as pg_regress tests of other projects use it, and the stable parts of
-- clock_advice().
\set VERBOSITY terse
\set SHOW_CONTEXT never
-- on a slow machine, reports of progress would be printed
SET clocktiming.progress_interval = 0;

-- thresholds that every machine meets
SELECT check_name, ok FROM clock_check(max_cost_ns => 1e6, max_skew_ns => 'infinity',
    max_drift_ppm => 1e5, max_lost_percent => 100,
                          duration => 0.1);
-- a threshold that no machine can meet: 0 ns
SELECT check_name, ok FROM clock_check(0.01, 0, 'infinity', 'infinity', 'infinity') WHERE NOT ok;
SELECT check_name, ok, figure IS NOT NULL AS has_figure, threshold, unit, detail IS NOT NULL
    AS has_detail
FROM clock_check(0.1, 1e6, 'infinity', 1e5, 100);

-- without thresholds as arguments, they are those of clock_advice(); gaps has none
SELECT check_name, threshold IS NOT NULL AS has_threshold, unit FROM clock_check(0.1);

SELECT check_name, severity IN ('ok', 'notice', 'warning') AS severity, finding <> '' AS finding,
       (severity = 'ok' OR check_name = 'overall') = (action IS NULL) AS action
FROM clock_advice(0.1)
ORDER BY check_name <> 'overall', check_name COLLATE "C";

-- invalid arguments
SELECT clock_check(max_cost_ns => -1);
SELECT clock_check(max_skew_ns => 'NaN');
SELECT clock_check(max_lost_percent => '-infinity');
SELECT clock_check(duration => 0);
SELECT clock_check(duration => NULL);
SELECT clock_advice(0);
SELECT clock_advice(NULL);
