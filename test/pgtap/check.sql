-- clock_check() and clock_advice(): properties that hold on any server.
BEGIN;
SELECT * FROM no_plan();

-- A call of clock_check() as users may write it in their own test suites
SELECT ok(ok, 'clock_check: ' || check_name)
-- max_drift_ppm is large, because on a busy machine PostgreSQL 19 calibrates the TSC with an error
-- of up to 0.1 percent.
FROM clock_check(max_cost_ns => 'infinity', max_skew_ns => 1e6, max_drift_ppm => 10000);

CREATE TEMP TABLE detail AS SELECT * FROM clock_check();
SELECT is((SELECT array_agg(check_name) FROM detail), (SELECT array_agg(check_name)
    FROM clock_check(duration => 0.01)),
          'clock_check: the same checks in the same order for every duration');
SELECT is(ok, threshold IS NULL OR coalesce(figure <= threshold, false), check_name
    || ': passed if within its threshold') FROM detail;
SELECT cmp_ok(figure, '>=', 0.0, check_name
    || ': the figure is not negative') FROM detail WHERE figure IS NOT NULL;
SELECT cmp_ok((SELECT figure FROM detail WHERE check_name = 'cost'), '>', 0.0,
    'clock_check: the cost of a reading is positive');

CREATE TEMP TABLE advice AS
SELECT n, check_name, severity, finding, action, array_position(ARRAY['ok', 'notice', 'warning'],
    severity) AS rank
FROM clock_advice() WITH ORDINALITY AS a(check_name, severity, finding, action, n);
SELECT is((SELECT array_agg(check_name ORDER BY check_name) FROM advice),
          (SELECT array_agg(check_name ORDER BY check_name)
           FROM (SELECT check_name FROM detail UNION ALL VALUES ('overall'), ('explain_clock'),
               ('migration')) AS c),
          'clock_advice: the checks, overall, explain_clock and migration, each once');
SELECT is((SELECT check_name FROM advice WHERE n = 1), 'overall',
    'clock_advice: the verdict is the first row');
SELECT is((SELECT rank FROM advice WHERE n = 1),
          (SELECT max(rank) FROM advice WHERE n > 1 AND check_name <> 'gaps'),
          'clock_advice: the verdict is that of the worst check except gaps');
SELECT is(internal_clock_overall(found, 'all right'),
          jsonb_build_object('check_name', 'overall', 'severity', severity, 'finding', finding),
          'internal_clock_overall: ' || finding)
FROM (VALUES
    ('ok', 'all right', ARRAY['{"check_name": "a", "severity": "ok"}'::jsonb]),
    ('ok', 'all right (unknown: b, c), with 1 notice: gaps',
     ARRAY['{"check_name": "b"}'::jsonb, '{"check_name": "gaps", "severity": "notice"}',
           '{"check_name": "c"}']),
    ('notice', 'all right, with 2 notices: a, gaps',
     ARRAY['{"check_name": "a", "severity": "notice"}'::jsonb,
           '{"check_name": "gaps", "severity": "notice"}']),
    ('warning', '1 warning and 1 notice: a, gaps',
     ARRAY['{"check_name": "gaps", "severity": "notice"}'::jsonb,
           '{"check_name": "a", "severity": "warning"}', '{"check_name": "b"}']))
    AS v (severity, finding, found);
SELECT ok(rank IS NOT NULL AND finding <> '', check_name
    || ': has a severity and a finding') FROM advice;
SELECT ok(NOT EXISTS (SELECT FROM advice AS a JOIN advice AS b ON b.n > a.n AND b.rank > a.rank
    WHERE a.n > 1), 'clock_advice: worse checks come first');
SELECT matches(translate(finding, E'\n', ' '),
    format('%s warning', (SELECT count(*) FROM advice WHERE n > 1 AND severity = 'warning')),
    'the verdict states the number of warnings')
FROM advice WHERE n = 1 AND severity = 'warning';
-- translate() replaces line breaks, which make the text fit a terminal, by spaces.
SELECT matches(translate(finding, E'\n', ' '),
    format('%s notice', (SELECT count(*) FROM advice WHERE n > 1 AND severity = 'notice')),
    'the verdict states the number of notices')
FROM advice WHERE n = 1 AND EXISTS (SELECT FROM advice WHERE n > 1
    AND severity = 'notice');
SELECT is(action IS NOT NULL, severity <> 'ok', check_name
    || ': has an action if and only if its severity is not ok') FROM advice WHERE n > 1;
SELECT ok(action ~ '^(now|for good|ask the provider): ', check_name
    || ': the action begins with a label') FROM advice
    WHERE action IS NOT NULL;
SELECT ok(position('`' IN finding || coalesce(action, '')) = 0, check_name
    || ': the texts contain no backquotes') FROM advice;
-- clock_advice() does not change settings of the session.
SELECT set_config('timing_clock_source', 'system', true) FROM pg_settings
    WHERE name = 'timing_clock_source';
SELECT is((SELECT count(*)::int FROM clock_advice(0.1)), 12,
    'clock_advice: 12 rows if the server reads the system clock');
SELECT cmp_ok((SELECT count(*)::int FROM clock_report(0.001)), '>', 9,
    'clock_report: works if the server reads the system clock');
SELECT is(setting, 'system',
    'clock_advice and clock_report do not change timing_clock_source') FROM pg_settings
    WHERE name = 'timing_clock_source';

-- A cancellation ends the whole call, also while the skew between CPUs is measured.
CREATE FUNCTION pg_temp.state(statement text) RETURNS text LANGUAGE plpgsql AS
$$BEGIN EXECUTE statement; RETURN '00000'; EXCEPTION WHEN query_canceled
    THEN RETURN SQLSTATE; END$$;
SET LOCAL statement_timeout = '800ms';
SELECT is(pg_temp.state('SELECT * FROM clock_advice()'), '57014',
    'statement_timeout ends clock_advice while the skew is measured');
SET LOCAL statement_timeout = 0;
SELECT is((SELECT count(*)::int FROM clock_advice(0.1)), 12,
    'after a timeout, the next call of clock_advice returns all rows');

-- There is no false warning: if the vDSO reads the system clock, it counts as fast, whatever clock
-- source the kernel uses.
SELECT is(a.severity, 'ok', 'the system clock is fast enough if the vDSO reads it')
FROM advice AS a, clock_survey('{system}', duration => 0.1) AS s
WHERE a.check_name = 'cost' AND s.read_by = 'vDSO' AND s.cost_ns < 100;

SELECT * FROM finish();
ROLLBACK;
