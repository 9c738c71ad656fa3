-- Checks and advice agree with what they are based on.
BEGIN;
SELECT * FROM no_plan();

-- as other people's suites use it
SELECT ok(ok, 'clock_check: ' || check_name)
FROM clock_check(max_cost_ns => 'infinity', max_skew_ns => 1e6, max_lost_percent => 100);

CREATE TEMP TABLE detail AS SELECT * FROM clock_check_detail();
SELECT is((SELECT array_agg(check_name) FROM detail), (SELECT array_agg(check_name) FROM clock_check(duration => 0.01)),
          'the same checks in the same order');
SELECT is(ok, threshold IS NULL OR coalesce(figure <= threshold, false), check_name || ': passed if within its threshold') FROM detail;
SELECT cmp_ok(figure, '>=', 0.0, check_name || ': a figure') FROM detail WHERE figure IS NOT NULL;
SELECT cmp_ok((SELECT figure FROM detail WHERE check_name = 'cost'), '>', 0.0, 'a reading costs something');

CREATE TEMP TABLE advice AS SELECT * FROM clock_advice;
SELECT is((SELECT count(*)::int FROM advice), 9, 'nine rows of advice');
SELECT ok(severity IN ('ok', 'notice', 'warning') AND finding <> '' AND evidence <> '', check_name || ': severity, finding, evidence') FROM advice;
SELECT ok(coalesce(do_now, do_persistently, ask_provider) IS NOT NULL, check_name || ': there is something to do') FROM advice
WHERE severity <> 'ok';
SELECT ok(coalesce(do_now, do_persistently, ask_provider) IS NULL, check_name || ': there is nothing to do') FROM advice
WHERE severity = 'ok';
-- looking changes nothing that the session has set
SELECT set_config('timing_clock_source', 'system', true) FROM pg_settings WHERE name = 'timing_clock_source';
SELECT is((SELECT count(*)::int FROM clock_list_advice()), 9, 'advice where the server reads the system clock');
SELECT cmp_ok((SELECT count(*)::int FROM clock_report(0.001)), '>', 9, 'and a report');
SELECT is(setting, 'system', 'timing_clock_source is what it was') FROM pg_settings WHERE name = 'timing_clock_source';

-- a cancel ends all of it, while the skew is being measured, too
CREATE FUNCTION pg_temp.state(statement text) RETURNS text LANGUAGE plpgsql AS
$$BEGIN EXECUTE statement; RETURN '00000'; EXCEPTION WHEN query_canceled THEN RETURN SQLSTATE; END$$;
SET LOCAL statement_timeout = '800ms';
SELECT is(pg_temp.state('SELECT * FROM clock_advice'), '57014', 'a timeout while the skew is measured');
SET LOCAL statement_timeout = 0;
SELECT is((SELECT count(*)::int FROM clock_advice), 9, 'and the next one is as it should be');

-- no false alarm: the vDSO reads the clock, so its name is no matter
SELECT is(a.severity, 'ok', 'a clock that the vDSO reads is fast enough, whatever its name')
FROM advice AS a, clock_survey('{system}', duration => 0.1) AS s
WHERE a.check_name IN ('system clock', 'kernel clock source') AND s.read_by = 'vDSO';

SELECT * FROM finish();
ROLLBACK;
