-- Statistics of plans if clocktiming is not preloaded: errors, and the comparison of sums.
-- Everything else is tested in test/t/040_plan_stats.pl.
\set VERBOSITY default
SELECT setting LIKE '%clocktiming%' AS preloaded FROM pg_settings
    WHERE name = 'shared_preload_libraries';
SELECT * FROM clock_plan_stats;
\set VERBOSITY terse
SELECT * FROM clock_node_stats;
SELECT * FROM clock_time_spent();
SELECT clock_stats_reset();
SELECT clock_stats_snapshot();
SELECT * FROM clock_node_changes();
SHOW clocktiming.track_max;
\set VERBOSITY default
SET clocktiming.track = on;
SET clocktiming.live = on;
\set VERBOSITY terse
SET clocktiming.track = off;
RESET clocktiming.live;
SELECT count(*) FROM clock_node_snapshots;

-- columns
SELECT a.attrelid::regclass AS view, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type
FROM pg_attribute a
WHERE a.attrelid IN ('clock_plan_stats'::regclass, 'clock_node_stats'::regclass,
    'clock_node_snapshots'::regclass) AND a.attnum > 0
ORDER BY a.attrelid::regclass::text COLLATE "C", a.attnum;

-- Returns the sums that the statistics of plans keep, for these times, each of the same weight.
CREATE FUNCTION pg_temp.sums(ms double precision[], weight double precision DEFAULT 1) RETURNS
    double precision[]
LANGUAGE sql AS $$
    SELECT ARRAY[count(*), sum(w), sum(w * w), sum(w * x), sum(w * x * x), sum(w * w * x),
        sum(w * w * x * x), 0]
    FROM (SELECT weight AS w, m * 1e6 AS x FROM unnest(ms) AS m) AS v
$$;
CREATE FUNCTION pg_temp.compare(a double precision[], b double precision[], continues boolean,
    confidence double precision DEFAULT 0.95,
    OUT before_timed bigint, OUT after_timed bigint, OUT before_ms numeric, OUT after_ms numeric,
        OUT difference_ms numeric, OUT margin_ms numeric, OUT p numeric)
LANGUAGE sql AS $$
    SELECT c.before_timed, c.after_timed, round(c.before_ms::numeric, 4), round(c.after_ms::numeric,
        4), round(c.difference_ms::numeric, 4),
           round(c.difference_margin_ms::numeric, 4), round(p_value::numeric, 4)
    FROM internal_clock_compare_sums(a, b, continues, confidence) c
$$;
-- p of Welch's test is 0.0442
SELECT * FROM pg_temp.compare(pg_temp.sums('{1,2,3,4,5}'), pg_temp.sums('{4,6,8,10}'), false);
SELECT * FROM pg_temp.compare(pg_temp.sums('{1,2,3,4,5}'), pg_temp.sums('{1,2,3,4,5,4,6,8,10}'),
    true);
SELECT * FROM pg_temp.compare(pg_temp.sums('{1,2,3,4,5}', 100), pg_temp.sums('{4,6,8,10}', 7),
    false);
SELECT * FROM pg_temp.compare(pg_temp.sums('{1,2,3,4,5}'), pg_temp.sums('{4,6,8,10}'), false, 0.99);
SELECT * FROM pg_temp.compare(pg_temp.sums('{1,2,3,4,5}'), pg_temp.sums('{4}'), false);
SELECT * FROM pg_temp.compare('{0,0,0,0,0,0,0,0}', pg_temp.sums('{4,6}'), false);
SELECT * FROM pg_temp.compare(pg_temp.sums('{3,3}'), pg_temp.sums('{3,3,3,3}'), true);
SELECT internal_clock_compare_sums('{1,2,3}', '{}', false, 0.95);
SELECT internal_clock_compare_sums('{1,2,3,4,5,6,7,NULL}', '{1,2,3,4,5,6,7,8}', false, 0.95);
SELECT before_timed, after_timed FROM internal_clock_compare_sums('{1e300,2,3,4,5,6,7,8}',
    '{NaN,2,3,4,5,6,7,8}', false, 0.95);
SELECT internal_clock_compare_sums(NULL, '{1,2,3,4,5,6,7,8}', false, 0.95);
