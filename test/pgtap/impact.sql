-- clock_impact(): properties that hold on any server.
SET stats_fetch_consistency = snapshot;
BEGIN;
SELECT * FROM no_plan();

CREATE TEMP TABLE detail AS SELECT * FROM clock_impact(setting => NULL);
CREATE TEMP TABLE impact AS SELECT * FROM clock_impact();

SELECT is((SELECT array_agg(setting) FROM impact), ARRAY['track_io_timing', 'track_wal_io_timing',
    'auto_explain.log_analyze', 'auto_explain.log_timing = off', 'clocktiming.sampled_timing'],
          'clock_impact: five settings, in this order');
-- README's statement shows the first columns, whose widths and those of their separators fit 100
-- columns.
SELECT columns_are('impact', '{setting,verdict,max_sample_rate,most_slowdown_percent,'
    'slowdown_percent,in_effect,value,period_s,reason,advice}'::name[]);
SELECT cmp_ok(sum(greatest(length(attname), CASE attname WHEN 'verdict' THEN 19
                           WHEN 'setting' THEN (SELECT max(length(setting)) FROM impact) END) + 3),
              '<=', 100::bigint, 'clock_impact: the first four columns fit 100 columns')
FROM pg_attribute WHERE attrelid = 'impact'::regclass AND attnum BETWEEN 1 AND 4;
SELECT is((SELECT array_agg(DISTINCT setting ORDER BY setting) FROM detail),
    (SELECT array_agg(setting ORDER BY setting) FROM impact),
          'each of the five settings times some kind of work');

-- cpu_percent follows from the number of operations and the time of an operation.
SELECT cmp_ok(abs(cpu_percent - operations_per_s * operation_ns / 1e7), '<=',
    0.0001 + cpu_percent * 0.001 + operations_per_s * 0.005 / 1e7,
              work || ': cpu_percent is operations_per_s times operation_ns') FROM detail
                  WHERE cpu_percent IS NOT NULL;
SELECT cmp_ok(abs(operation_ns - readings_per_operation * reading_ns), '<=', 0.03, work
    || ': the cost of an operation is that of its readings')
FROM detail WHERE setting LIKE 'track%';
SELECT cmp_ok(operation_ns, '>', 0::numeric, work
    || ': the cost of timing a call is positive') FROM detail
    WHERE setting = 'auto_explain.log_analyze';
SELECT cmp_ok(operation_ns, '>=', 0::numeric, work
    || ': the cost of counting a call is not negative')
    FROM detail WHERE setting = 'auto_explain.log_timing = off';
SELECT is(ARRAY[reading_ns, readings_per_operation], ARRAY[NULL, 0.00], work
    || ': counting a call reads no clock') FROM detail
WHERE setting = 'auto_explain.log_timing = off';
SELECT matches(reason, 'includes that of counting rows', work
    || ': reason says that the cost includes that of counting') FROM detail
WHERE setting = 'auto_explain.log_analyze';
SELECT matches(reason, 'cost of writing plans to the log is not included', setting
    || ': reason says that the cost of writing plans is not included')
    FROM detail WHERE setting LIKE 'auto_explain.%';
SELECT is(period, 'since the last reset', work
    || ': the period is since the last reset') FROM detail;
SELECT cmp_ok(cpu_margin_percent, '>=', 0::numeric, work || ': the cost has a margin') FROM detail
    WHERE cpu_percent IS NOT NULL;
SELECT cmp_ok(least_cpu_percent, '<=', cpu_percent, work
    || ': least_cpu_percent is at most cpu_percent') FROM detail
    WHERE least_cpu_percent IS NOT NULL;
SELECT is(most_cpu_percent, cpu_percent, work
    || ': most_cpu_percent is cpu_percent if that is exact or a bound') FROM detail
    WHERE (bound IS NULL OR bound = 'at most') AND cpu_percent IS NOT NULL;
SELECT cmp_ok(most_cpu_percent, '>=', cpu_percent,
              work || ': most_cpu_percent is at least cpu_percent')
    FROM detail WHERE setting LIKE 'track%' AND cpu_percent IS NOT NULL;
SELECT is(least_cpu_percent, cpu_percent, work
    || ': least_cpu_percent is cpu_percent if that is exact')
    FROM detail WHERE bound IS NULL AND cpu_percent IS NOT NULL;
SELECT ok(reason IS NOT NULL, work
    || ': reason explains a bound or an unknown cost') FROM detail WHERE bound IS NOT NULL
    OR cpu_percent IS NULL;
SELECT ok(bound IS NULL AND reason IS NULL AND cpu_percent = 0, work
    || ': without work, the cost is 0 and has no bound')
    FROM detail WHERE operations = 0 AND work <> 'calls of plan nodes';
SELECT cmp_ok(abs(operations_per_s - operations / period_s), '<=', operations_per_s * 0.01 + 0.001,
    work || ': operations_per_s is operations divided by period_s')
FROM detail WHERE statistics IN ('pg_stat_io', 'pg_stat_wal', 'pg_stat_bgwriter');

-- The total is the sum of its parts. Both calls read the same snapshot of the statistics, but
-- divide by the periods until then.
SELECT cmp_ok(abs(i.slowdown_percent / nullif(d.slowdown_percent * d.age, 0) - 1), '<=', 0.5,
    i.setting || ': slowdown_percent is the sum over the kinds of work')
FROM impact AS i JOIN (SELECT setting, sum(slowdown_percent) AS slowdown_percent,
    max(d.period_s) / (SELECT max(period_s) FROM impact) AS age
                       FROM detail AS d GROUP BY setting) AS d USING (setting)
WHERE i.setting LIKE 'track%' AND i.slowdown_percent > 0.01;
SELECT is(i.period_s >= d.period_s - 60, true, i.setting || ': period_s is the longest')
FROM impact AS i JOIN (SELECT setting, max(period_s) AS period_s FROM detail GROUP BY setting) AS d
    USING (setting);

-- The numbers of operations are those of the server's statistics.
CREATE FUNCTION pg_temp.counts(query text) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE query;
END $$;
CREATE TEMP TABLE expected AS
    SELECT * FROM (VALUES
        (160000, 990000, 'relation reads',
            'SELECT sum(reads)::bigint FROM pg_stat_io '
            'WHERE object IN (''relation'', ''temp relation'')'),
        (160000, 990000, 'relation writes',
            'SELECT sum(writes)::bigint FROM pg_stat_io '
            'WHERE object IN (''relation'', ''temp relation'')'),
        (160000, 990000, 'relation extends',
            'SELECT sum(extends)::bigint FROM pg_stat_io '
            'WHERE object IN (''relation'', ''temp relation'')'),
        (160000, 990000, 'relation writebacks',
            'SELECT sum(writebacks)::bigint FROM pg_stat_io WHERE object = ''relation'''),
        (160000, 990000, 'relation fsyncs',
            'SELECT sum(fsyncs)::bigint FROM pg_stat_io WHERE object = ''relation'''),
        (180000, 990000, 'WAL writes',
            'SELECT sum(writes)::bigint FROM pg_stat_io WHERE object = ''wal'''),
        (180000, 990000, 'WAL fsyncs',
            'SELECT sum(fsyncs)::bigint FROM pg_stat_io WHERE object = ''wal'''),
        (180000, 990000, 'WAL reads',
            'SELECT sum(reads)::bigint FROM pg_stat_io WHERE object = ''wal'''),
        (150000, 179999, 'WAL writes', 'SELECT wal_write FROM pg_stat_wal'),
        (150000, 179999, 'WAL fsyncs', 'SELECT wal_sync FROM pg_stat_wal'),
        (150000, 159999, 'relation reads', 'SELECT sum(blks_read)::bigint FROM pg_stat_database'),
        (150000, 159999, 'relation writes',
            'SELECT buffers_checkpoint + buffers_clean + buffers_backend FROM pg_stat_bgwriter'),
        (150000, 990000, 'temporary files',
            'SELECT sum(temp_bytes / 8192)::bigint FROM pg_stat_database'),
        (150000, 990000, 'calls of plan nodes',
            'SELECT sum(tup_returned)::bigint FROM pg_stat_database'),
        (150000, 990000, 'statements', NULL)
    ) AS v(least_version, most_version, work, query)
    WHERE current_setting('server_version_num')::int BETWEEN least_version AND most_version;
SELECT is((SELECT array_agg(DISTINCT work ORDER BY work) FROM detail),
    (SELECT array_agg(work ORDER BY work) FROM expected), 'all kinds of work of this version');
SELECT is(d.operations, pg_temp.counts(e.query), d.work
    || ': operations are those of the server''s statistics')
FROM detail AS d JOIN expected AS e USING (work) WHERE d.statistics <> 'pg_stat_statements';
COMMIT;

-- A known amount of work is counted.
RESET stats_fetch_consistency;
CREATE TEMP TABLE before AS SELECT * FROM clock_impact(setting => NULL);
CREATE TEMP TABLE after (LIKE before);
CREATE TABLE impact_rows AS SELECT i, repeat('x', 1000) AS filler FROM generate_series(1, 7000)
    AS i;
SET work_mem = '64kB';
SELECT count(*) = 7000 AS sorted FROM (SELECT filler FROM impact_rows ORDER BY filler, i OFFSET 0)
    AS s \g /dev/null
RESET work_mem;
SELECT pg_stat_force_next_flush() \g /dev/null
SELECT pg_sleep(0.1) \g /dev/null
-- Each commit is flushed before the next one. The WAL writer may flush some of them, and reports
-- its statistics later than the session does.
DO $$
BEGIN
    FOR n IN 1..100 LOOP
        INSERT INTO impact_rows VALUES (-n, '');
        COMMIT;
    END LOOP;
    FOR n IN 1..600 LOOP
        PERFORM pg_stat_force_next_flush();
        COMMIT;
        DELETE FROM after;
        INSERT INTO after SELECT * FROM clock_impact(setting => NULL);
        EXIT WHEN (SELECT a.operations - b.operations FROM after AS a JOIN before
            AS b USING (setting, work) WHERE work = 'WAL writes') >= 100;
        PERFORM pg_sleep(0.1);
    END LOOP;
END $$;
DROP TABLE impact_rows;
BEGIN;
CREATE FUNCTION pg_temp.more(text) RETURNS bigint LANGUAGE sql
AS 'SELECT a.operations - b.operations FROM pg_temp.after AS a JOIN pg_temp.before '
    'AS b USING (setting, work) WHERE a.work = $1 LIMIT 1';
-- The work has used 7000 kB of temporary files (875 blocks), and has written at least 100 commits.
SELECT cmp_ok(pg_temp.more('temporary files'), '>=', 875::bigint,
    'known work: blocks of temporary files are counted');
SELECT cmp_ok(pg_temp.more('WAL writes'), '>=', 100::bigint,
    'known work: writes of WAL are counted');
SELECT cmp_ok(pg_temp.more('calls of plan nodes'), '>=', 7000::bigint,
    'known work: rows of scans are counted');
SELECT cmp_ok(pg_temp.more('relation extends'), '>=', CASE
    WHEN current_setting('server_version_num')::int < 180000 THEN 1000 ELSE 20 END::bigint,
              'known work: extensions of tables are counted')
    WHERE current_setting('server_version_num')::int >= 160000;

-- If scans read at least one row per microsecond of active time, the upper limit assumes 4 calls
-- per row.  Otherwise, or if the active time is unknown, it is NULL.  most_slowdown_percent is at
-- most 400: timing costs 40 ns per call, and a call takes at least 10 ns.
SELECT is(array_agg(ARRAY[w.most_cpu_percent, w.most_slowdown_percent] ORDER BY c.n),
          ARRAY[[NULL::numeric, NULL], [NULL::numeric, NULL], [8.0000, 16.0000],
                [480.0000, 400.0000], [32000.0000, 400.0000]],
          'upper limits for calls of plan nodes')
FROM (VALUES (1, NULL, 1e6), (2, 500, 499999), (3, 500, 500000), (4, 500, 3e7), (5, 500, 2e9))
         AS c (n, active, calls),
     internal_clock_works(jsonb_build_object('active ms', jsonb_build_object('per_s', c.active),
                                             'calls of plan nodes', jsonb_build_object('total', 1,
                                                 'per_s', c.calls)),
                          true, '{"timing_ns": 40}') AS w
WHERE w.setting = 'auto_explain.log_analyze';
-- The slowdown is unknown if sessions were active in less than 1 % of the observed time.  That by
-- track_wal_io_timing is in percent of one CPU if less than one session is active.
SELECT is(array_agg(ARRAY[w.slowdown_percent, w.most_slowdown_percent] ORDER BY c.n, w.setting),
          ARRAY[[NULL::numeric, NULL], [NULL::numeric, NULL], [4.0000, 16.0000], [0.4000, 0.4000],
                [4.0000, 16.0000], [0.4000, 0.4000], [0.0200, NULL::numeric], [0.2000, 0.2000]],
          'slowdown: sessions active in 0.9 and 1 % of the observed time, or in 1 % of the period '
          'of the statistics, and two active sessions')
FROM (VALUES (1, true, 9), (2, true, 10), (3, false, 10), (4, true, 2000))
         AS c (n, observed, active),
     internal_clock_works(jsonb_build_object(
         'active ms', jsonb_build_object('per_s', c.active),
         'calls of plan nodes', jsonb_build_object('total', 1, 'per_s', 1e4),
         'WAL writes', jsonb_build_object('total', 1, 'per_s', 1e5)), c.observed,
         '{"timing_ns": 40, "reading_ns": 20}') AS w
WHERE w.setting = 'auto_explain.log_analyze' OR w.work = 'WAL writes';
-- If clocktiming.track has counted calls, the upper limit assumes their rate, (100000 calls +
-- margin) / 1000 ms, for all active time, here 900 ms per s, and 1.3 times the cost of a call.  The
-- slowdown follows from the counted calls per ms of a process, and its limit from those of the
-- plan with the most.  In the last row, each execution has two processes.
SELECT is(array_agg(ARRAY[w.cpu_percent, w.most_cpu_percent,
                          w.slowdown_percent, w.most_slowdown_percent] ORDER BY c.n),
          ARRAY[[0.0800, 0.4680, 0.0889, 0.5200], [0.0800, 0.5616, 0.4000, 0.7800],
                [0.0800, 0.9360, 0.4000, 0.5200], [0.0800, 0.4680, 0.2000, 0.5200]],
          'counted calls: estimates, upper limits; without times of processes; margin; parallel')
FROM (VALUES (1, 0, NULL, NULL), (2, 20000, 1000, 150), (3, NULL, 1000, NULL), (4, 0, 2000, 100))
         AS c (n, margin, process_ms, most),
     internal_clock_works(jsonb_build_object(
         'active ms', jsonb_build_object('per_s', 900),
         'calls of plan nodes', jsonb_build_object('total', 1, 'per_s', 5),
         'counted calls', jsonb_build_object('total', 100000, 'per_s', 20000,
                                             'most_per_process_ms', c.most),
         'squared margin of counted calls', jsonb_build_object('total', c.margin ^ 2),
         'counted ms', jsonb_build_object('total', 1000),
         'counted process ms', jsonb_build_object('total', c.process_ms)),
         true, '{"timing_ns": 40}') AS w
WHERE w.setting = 'auto_explain.log_analyze';
SELECT is(ARRAY[w.most_slowdown_percent::text, w.statistics], ARRAY['400.0000', 'clock_node_stats'],
          'counted calls: at most one per 10 ns of a process')
FROM internal_clock_works('{"active ms": {"per_s": 900}, "counted calls": {"total": 1, "per_s": 1},
         "squared margin of counted calls": {"total": 0}, "counted ms": {"total": 1e-9}}',
         true, '{"timing_ns": 40}') AS w
WHERE w.setting = 'auto_explain.log_analyze';
-- Statements can call plan nodes without reading rows.
SELECT is(ARRAY[w.bound, w.slowdown_percent::text, w.most_slowdown_percent::text],
          ARRAY['estimate', '0.0000', NULL], 'no rows: the upper limit is unknown')
FROM internal_clock_works('{"active ms": {"per_s": 900},
         "calls of plan nodes": {"total": 0, "per_s": 0}}', false, '{"timing_ns": 40}') AS w
WHERE w.setting = 'auto_explain.log_analyze';
-- The upper limit for temporary files assumes 12 reads and writes of each block, in addition to
-- those that pg_stat_statements has counted.
SELECT is(ARRAY[w.statistics, w.bound, w.cpu_percent::text, w.most_cpu_percent::text], v.expected,
          format('temporary files: pg_stat_statements has counted %s reads and writes per s',
                 coalesce(v.uses::text, 'no')))
FROM (VALUES (NULL, '{pg_stat_database,"at least",0.2000,2.4000}'::text[]),
             (2.5e5, '{pg_stat_statements,"at least",0.5000,2.9000}'),
             (2e6, '{pg_stat_statements,"at least",4.0000,6.4000}')) AS v (uses, expected),
     internal_clock_works(jsonb_build_object(
         'temporary files', jsonb_build_object('total', 1, 'per_s', 1e5),
         'temporary files of statements', jsonb_build_object('total', 2, 'per_s', v.uses)),
         true, '{"reading_ns": 10}') AS w
WHERE w.work = 'temporary files';

-- verdict, max_sample_rate and reason follow from the slowdown, its upper limit and bound. The
-- function that returns this server's costs is replaced by one that returns made-up costs.
CREATE TEMP TABLE made_up (setting text, cpu_percent numeric, most_cpu_percent numeric, bound text,
    verdict text, max_sample_rate numeric, reason text);
INSERT INTO made_up VALUES
    ('exact, low', 0.9, 0.9, NULL, 'on', NULL, 'low'),
    ('exact, high', 1.1, 1.1, NULL, 'off', NULL, 'high'),
    ('estimate, low', 0.2, NULL, 'estimate', 'unknown', NULL, 'uncertain'),
    ('estimate, limit above 1', 0.2, 1.2, 'estimate', 'unknown', NULL, 'uncertain'),
    ('estimate, high', 3.1, NULL, 'estimate', 'off', NULL, 'high'),
    ('at least, low', 0.4, NULL, 'at least', 'unknown', NULL, 'uncertain'),
    ('at least, high', 1.1, NULL, 'at least', 'off', NULL, 'high'),
    ('at most, low', 0.9, 0.9, 'at most', 'on', NULL, 'low'),
    ('at most, high', 1.1, 1.1, 'at most', 'unknown', NULL, 'uncertain'),
    ('auto_explain, low', 0.04, 300, 'estimate', 'on_with_sample_rate', 0.003, 'calls_guessed'),
    ('auto_explain.log_timing = off', 0.06, 300, 'estimate', 'on_with_sample_rate', 0.003,
     'calls_guessed'),
    ('auto_explain.log_analyze', 40, 200, 'estimate', 'on_with_sample_rate', 0.005,
     'calls_guessed'),
    ('clocktiming.sampled_timing', 1, 2, 'estimate', 'on_with_sample_rate', 0.5, 'calls_guessed'),
    ('auto_explain, 1 %', 1, 1, 'at least', 'on_with_sample_rate', 1, 'calls_guessed'),
    ('auto_explain, cost unknown', NULL, 12, NULL, 'on_with_sample_rate', 0.08, 'calls_guessed'),
    ('auto_explain, no limit', 0.01, NULL, 'estimate', 'unknown', NULL, 'no_upper_limit'),
    ('unknown', NULL, NULL, NULL, 'unknown', NULL, 'not_counted');
CREATE TEMP TABLE original AS SELECT pg_get_functiondef('internal_clock_impact'::regproc) AS def;
DO $$
BEGIN
    EXECUTE regexp_replace((SELECT def FROM original), '\mBEGIN ATOMIC.*', $body$BEGIN ATOMIC
        SELECT m.setting, 'off'::text, false, 'work'::text, m.cpu_percent, 0.0, 0.0,
            m.most_cpu_percent, m.bound, 1::bigint, 1.0,
            1.0, 0.0, 1.0, CASE WHEN seconds IS NULL THEN 11.0 ELSE seconds::numeric END,
               CASE WHEN seconds IS NULL THEN 'since the last reset' ELSE 'observed' END, 2.0, 0.0,
               'clock'::text, m.cpu_percent, m.most_cpu_percent,
               'view'::text, 'reason'::text
                   FROM pg_temp.made_up AS m;
    END $body$);
END $$;
SELECT is(ARRAY[i.verdict, i.max_sample_rate::text, i.reason, i.most_slowdown_percent::text],
          ARRAY[m.verdict, m.max_sample_rate::text, m.reason, m.most_cpu_percent::text],
          m.setting || ': verdict of clock_impact(60)')
FROM clock_impact(60) AS i RIGHT JOIN made_up AS m USING (setting);
SELECT is(ARRAY[i.verdict, i.reason],
          ARRAY['unknown', CASE m.reason WHEN 'not_counted' THEN m.reason ELSE 'short_period' END],
          m.setting || ': verdict from statistics of 11 s')
FROM clock_impact() AS i RIGHT JOIN made_up AS m USING (setting);
SET LOCAL auto_explain.sample_rate = 0.01;
SELECT is((SELECT max_sample_rate FROM clock_impact(60) WHERE setting = 'auto_explain.log_analyze'),
    0.00005, 'max_sample_rate depends on auto_explain.sample_rate');
RESET auto_explain.sample_rate;
SELECT is(count(*), 0::bigint, 'advice is one of a few sentences')
FROM clock_impact() WHERE advice IS NULL OR length(advice) > 130;
SELECT is(ARRAY[max(length(l)) <= 66, bool_or(l ~ '`')], '{t,f}',
          'in lines of at most 66 columns, without backquotes')
FROM clock_impact(), regexp_split_to_table(advice, E'\n') AS l;
-- If the server was idle in the observed time, the rows are those of the statistics.
UPDATE made_up SET setting = 'idle';
DO $$
BEGIN
    EXECUTE regexp_replace((SELECT def FROM original), '\mBEGIN ATOMIC.*', $body$BEGIN ATOMIC
        SELECT DISTINCT m.setting, 'off'::text, false, 'work'::text, 0.1, 0.0, 0.0, 0.1,
               NULL::text, 1::bigint, 1.0, 1.0, 0.0, 1.0, 600.0,
               CASE WHEN seconds IS NULL THEN 'since the last reset' ELSE 'observed' END, 2.0, 0.0,
               'clock'::text, CASE WHEN seconds IS NULL THEN 0.2 END,
               CASE WHEN seconds IS NULL THEN 0.3 END, 'view'::text, 'reason'::text
        FROM pg_temp.made_up AS m;
    END $body$);
END $$;
SELECT is((SELECT ARRAY[slowdown_percent::text, verdict, reason] FROM clock_impact(60)),
          '{0.2,on,low}', 'idle server: statistics');
SELECT is((SELECT ARRAY[slowdown_percent::text, period] FROM clock_impact(NULL, 60)),
          '{NULL,observed}', 'idle server: the kinds of work are the observed ones');
DO $$ BEGIN EXECUTE (SELECT def FROM original); END $$;
SET LOCAL clocktiming.track = on;
SELECT isnt_empty('SELECT FROM clock_impact()',
    'clocktiming.track without clocktiming in shared_preload_libraries');
SET LOCAL clocktiming.track = off;

-- "slow" and "most" are in percent of the sessions' active time, and decide.  "s" is the period of
-- the statistics, or NULL if the work was observed.
CREATE FUNCTION pg_temp.verdict(name text, slow numeric, most numeric, statistics text, s numeric,
                                seconds float8) RETURNS text LANGUAGE sql
AS $$SELECT concat_ws(' ', verdict, max_sample_rate, reason)
     FROM internal_clock_verdict(jsonb_build_object(
         'setting', name, 'cpu_percent', 10, 'most_cpu_percent', 20, 'slowdown_percent', slow,
         'most_slowdown_percent', most, 'bound', 'estimate', 'statistics', statistics,
         'period', CASE WHEN s IS NULL THEN 'observed' ELSE 'since the last reset' END,
         'period_s', s), seconds)$$;
SELECT is(pg_temp.verdict(name, slow, most, statistics, s, seconds), expected,
          concat_ws(', ', 'verdict', name, slow, most, statistics, s, seconds))
FROM (VALUES
    ('auto_explain', 5, 6, 'a view', NULL, NULL, 'on_with_sample_rate 0.1 calls_guessed'),
    ('auto_explain', 5, 6, 'clock_node_stats', NULL, NULL, 'on_with_sample_rate 0.1 high'),
    ('auto_explain', 5, 6, 'a view', 60, NULL, 'on_with_sample_rate 0.1 calls_guessed'),
    ('auto_explain', 5, 6, 'a view', 59.9, NULL, 'unknown short_period'),
    ('auto_explain', 5, 6, 'a view', 59.9, 60, 'unknown idle'),
    ('auto_explain', 20, 4000, 'a view', NULL, NULL,
     'on_with_sample_rate 0.0002 calls_guessed'),
    ('auto_explain', 0.5, 0.9, 'a view', NULL, NULL, 'on low'),
    ('auto_explain', 0, 0, 'a view', NULL, NULL, 'on low'),
    ('auto_explain', 0.5, NULL, 'a view', NULL, NULL, 'unknown no_upper_limit'),
    -- statements are not counted
    ('clocktiming.sampled_timing', 0, NULL, 'a view', NULL, NULL, 'unknown not_counted'),
    -- a fresh server: no session was active
    ('auto_explain', NULL, NULL, 'a view', 11, NULL, 'unknown idle'),
    ('track_io_timing', NULL, NULL, 'a view', 11, NULL, 'unknown idle'),
    ('track_io_timing', 0.5, 0.6, 'a view', 7200, NULL, 'on low'),
    ('track_io_timing', 6, 10, 'a view', 7200, NULL, 'off high'),
    ('track_io_timing', 1, 1, 'a view', 3600, NULL, 'unknown uncertain'),
    ('track_io_timing', 1, 1, 'a view', 3600, 60, 'unknown idle'),
    ('track_io_timing', 1, 1, 'a view', NULL, 60, 'unknown uncertain')
    ) AS v (name, slow, most, statistics, s, seconds, expected);

-- With clocktiming.sampled_timing, only a few calls are timed. Then the cost depends on the number
-- of statements.
SET LOCAL auto_explain.log_timing = on;
SET LOCAL auto_explain.log_analyze = on;
SET LOCAL auto_explain.log_min_duration = '1d';
CREATE FUNCTION pg_temp.works(timing_ns float8) RETURNS TABLE (
    setting text, work text, in_effect boolean, cpu_percent numeric, most_cpu_percent numeric,
    bound text, operation_ns numeric, reason text) LANGUAGE sql
AS $$SELECT w.setting, w.work, w.in_effect, w.cpu_percent, w.most_cpu_percent, w.bound,
            w.operation_ns, w.reason
     FROM internal_clock_works(
         '{"active ms": {"per_s": 500}, "calls of plan nodes": {"total": 1, "per_s": 1e6},
           "statements": {"total": 100, "per_s": 50}}', true,
         jsonb_build_object('counting_ns', 3, 'timing_ns', timing_ns)) AS w
     WHERE w.setting !~ '^track'$$;
CREATE TEMP TABLE sampling AS
SELECT s.value AS sampled, w.*
FROM (VALUES ('off'), ('on'), ('auto_explain')) AS s (value),
     LATERAL (SELECT set_config('clocktiming.sampled_timing', s.value, true)) AS c,
     LATERAL pg_temp.works(40 + 0 * length(c.set_config)) AS w;
SELECT results_eq(
    format('SELECT setting, in_effect, cpu_percent, most_cpu_percent FROM sampling '
           'WHERE sampled = %L', s),
    format($$VALUES ('auto_explain.log_analyze', %1$L = 'off', 4.3000, 17.2000),
                    ('auto_explain.log_timing = off', false, 0.3000, 1.2000),
                    ('clocktiming.sampled_timing', %1$L <> 'off', 0.3000, 1.2000),
                    ('clocktiming.sampled_timing', %1$L <> 'off', 0.5000, 1.0000)$$, s),
    s || ' for sampled_timing: one of log_analyze and sampled_timing is in effect')
FROM unnest('{off,on,auto_explain}'::text[]) AS s;
-- Statements of few calls cost what timing these calls costs: here 10 calls of 40 ns. The upper
-- limit is 0.2 ms * 40 / 800, because it assumes 4 calls per row.
SELECT is(ARRAY[operation_ns, cpu_percent, most_cpu_percent], ARRAY[400.00, 2.0000, 50.0000],
    'sampled: statements of 10 calls')
FROM internal_clock_works(
    '{"active ms": {"per_s": 500}, "calls of plan nodes": {"total": 1, "per_s": 5e5},
      "statements": {"total": 100, "per_s": 50000}}', true,
    '{"counting_ns": 3, "timing_ns": 40}')
WHERE work = 'statements';
SELECT is(ARRAY[operation_ns, cpu_percent, most_cpu_percent], ARRAY[1000000.00, 5.0000, 5.0000],
    'sampled: with a slow clock, 800 calls that are timed cost more than sampling')
FROM pg_temp.works(1250) WHERE work = 'statements';
SET LOCAL auto_explain.sample_rate = 0.5;
SELECT is(ARRAY[cpu_percent, most_cpu_percent], ARRAY[0.2500, 0.5000],
    'sampled: with sample_rate 0.5, the cost is half as high')
FROM pg_temp.works(40) WHERE work = 'statements';
RESET auto_explain.sample_rate;
SET LOCAL auto_explain.log_nested_statements = on;
SET LOCAL pg_stat_statements.track = 'top';
SELECT is(most_cpu_percent, NULL, 'sampled: no upper bound if nested statements are not counted')
FROM pg_temp.works(40) WHERE work = 'statements';
SELECT matches(reason, 'not the nested ones',
    'sampled: reason says that nested statements are not counted')
FROM pg_temp.works(40) WHERE work = 'statements';
RESET auto_explain.log_nested_statements;
SELECT is(ARRAY[w.cpu_percent, w.most_cpu_percent], ARRAY[0.0000, 0.0000],
    'sampled: without statements, the cost is 0')
FROM internal_clock_works('{"statements": {"total": 0, "per_s": 0}}', true, '{"timing_ns": 40}')
     AS w WHERE w.work = 'statements';
SET LOCAL auto_explain.log_timing = off;
SELECT is(array_agg(in_effect ORDER BY setting, work), ARRAY[false, true, false, false],
    'log_timing = off: only its row is in effect')
FROM pg_temp.works(40);
RESET auto_explain.log_timing;
RESET auto_explain.log_analyze;
RESET auto_explain.log_min_duration;
SET LOCAL clocktiming.sampled_timing = off;

-- Loads auto_explain in this session, if it is installed.
SELECT (pg_stat_file(setting || '/auto_explain.so', true)).size IS NOT NULL AS has_auto_explain
    FROM pg_config WHERE name = 'PKGLIBDIR' \gset
\if :has_auto_explain
LOAD 'auto_explain';
SET LOCAL auto_explain.log_min_duration = '1d';
SELECT is((SELECT ARRAY[value, in_effect::text] FROM clock_impact()
    WHERE setting = 'auto_explain.log_analyze'), ARRAY['off', 'false'],
          'log_analyze is off, and not in effect');
SELECT is((SELECT ARRAY[value, in_effect::text] FROM clock_impact()
    WHERE setting = 'auto_explain.log_timing = off'), ARRAY['on', 'false'],
          'log_timing = off: the value is that of log_timing');
SET LOCAL auto_explain.log_analyze = on;
CREATE TEMP TABLE instrumented AS SELECT * FROM clock_impact()
    WHERE setting = 'auto_explain.log_analyze';
SELECT ok(in_effect, 'log_analyze is in effect if it is on') FROM instrumented;
-- For auto_explain, the statements that clocktiming executes are nested. With this setting,
-- auto_explain instruments them, and clocktiming cannot measure the cost of a call.
SET LOCAL auto_explain.log_nested_statements = on;
CREATE TEMP TABLE nested AS SELECT * FROM clock_impact(setting => NULL)
    WHERE setting = 'auto_explain.log_analyze';
SET LOCAL auto_explain.log_nested_statements = off;
SELECT is(round(operation_ns / reading_ns, 1), 2.0,
    'the cost of a call that cannot be measured is that of two readings') FROM nested;
SELECT matches(reason, 'another extension instruments the query',
    'reason says that another extension instruments the query') FROM nested;
SET LOCAL auto_explain.log_analyze = off;
CREATE TEMP TABLE whole AS SELECT * FROM clock_impact(setting => NULL)
    WHERE setting = 'auto_explain.log_analyze';
SET LOCAL auto_explain.sample_rate = 0.01;
CREATE TEMP TABLE sampled AS SELECT * FROM clock_impact(setting => NULL)
    WHERE setting = 'auto_explain.log_analyze';
SELECT cmp_ok(abs(s.operations_per_s * s.period_s / (w.operations_per_s * w.period_s) - 0.01), '<=',
    0.001,
              'with sample_rate 0.01, operations_per_s is 1 % of that without')
                  FROM sampled AS s, whole AS w;
SELECT matches(reason, 'sample_rate is 0.01', 'reason states the sample_rate') FROM sampled;
\endif

SELECT * FROM finish();
ROLLBACK;
