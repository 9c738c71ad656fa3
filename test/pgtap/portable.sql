-- The portable edition and the extension in one database. They must have the same names, columns
-- and texts, and consistent figures. On PostgreSQL 13 and 14, tests only the portable edition.
SET client_min_messages = warning;
SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'clocktiming') AS with_c \gset
\if :with_c
SET stats_fetch_consistency = snapshot;
\endif
BEGIN;
SELECT * FROM no_plan();
CREATE TEMP TABLE settings AS SELECT name, setting FROM pg_settings;
CREATE SCHEMA portable;
SET LOCAL search_path = portable;
\ir ../../portable/clocktiming.sql
SET LOCAL search_path = public, pg_temp;

--
-- Functions and columns
--

-- All functions of both editions, with their inputs and outputs. In the portable edition, jsonb
-- replaces clock_sample.
CREATE FUNCTION pg_temp.arguments(p pg_proc, output boolean) RETURNS text[] LANGUAGE sql AS $$
    SELECT array_agg(format('%s %s', (p).proargnames[i], replace(format_type(type, NULL),
        'clock_sample', 'jsonb')) ORDER BY i)
    FROM unnest(coalesce((p).proallargtypes, (p).proargtypes::oid[])) WITH ORDINALITY AS u(type, i)
    WHERE coalesce((p).proargmodes[i], 'i') IN ('b', CASE WHEN output THEN 't' ELSE 'i' END, CASE
        WHEN output THEN 'o' ELSE 'i' END)
$$;
CREATE TEMP TABLE surface AS
SELECT n.nspname AS schema, p.oid::regprocedure::text AS signature, p.proname AS name, p.prokind
    AS kind, p.proretset AS is_set,
       coalesce(pg_temp.arguments(p, false), '{}') AS inputs,
       coalesce(pg_temp.arguments(p, true),
                (SELECT array_agg(format('%s %s', attname, format_type(atttypid, NULL))
                    ORDER BY attnum)
                 FROM pg_attribute WHERE attrelid = t.typrelid AND attnum > 0),
                ARRAY[replace(format_type(t.oid, NULL), 'clock_sample', 'jsonb')]) AS outputs,
       p.proconfig AS settings, p.prosecdef AS definer, 
       -- Removes the version that the installation appends to each comment.
       regexp_replace(obj_description(p.oid, 'pg_proc'), '\s*\[clocktiming [^]]*\]$', '')
           AS comment, p.proname LIKE 'internal\_%' AS internal
FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace JOIN pg_type
    AS t ON t.oid = p.prorettype
WHERE n.nspname IN ('public', 'portable') AND p.proname ~ '^(internal_)?clock_';

SELECT is((SELECT array_agg(DISTINCT name ORDER BY name) FROM surface WHERE schema = 'portable'
    AND NOT internal),
          '{clock_advice,clock_check,clock_executor_overhead,clock_explain,'
              'clock_explain_json,clock_explain_text,clock_histogram,clock_impact,clock_measure,'
              'clock_query_overhead,clock_report,clock_summary}'::name[],
          'the portable edition has exactly these functions');
\if :with_c
SELECT ok(EXISTS (SELECT FROM surface AS c
                  WHERE c.schema = 'public' AND c.name = p.name AND c.kind = p.kind
                      AND c.is_set = p.is_set
                        -- The portable edition may lack arguments, but has the others in the same
                        -- order.
                        AND ARRAY(SELECT i FROM unnest(c.inputs) WITH ORDINALITY AS u(i, n)
                            WHERE i = ANY (p.inputs) ORDER BY n) = p.inputs
                        AND (c.outputs = p.outputs OR c.outputs || e.extra = p.outputs)),
          format('%s: arguments and columns are those of the extension', p.signature))
FROM surface AS p LEFT JOIN (VALUES ('clock_histogram', 'note text')) AS e(name, extra) USING (name)
WHERE p.schema = 'portable' AND NOT p.internal ORDER BY p.signature;
\endif
SELECT is((SELECT string_agg(signature, ', ') FROM surface WHERE schema = 'portable'
    AND coalesce(comment, '') = ''), NULL, 'each function has a comment');
SELECT is((SELECT string_agg(signature, ', ') FROM surface WHERE schema = 'portable'
    AND internal <> (comment LIKE 'internal: %')), NULL,
          'comments of internal functions begin with "internal", no others');
SELECT is((SELECT string_agg(signature, ', ') FROM surface WHERE schema = 'portable' AND definer),
    NULL, 'no function is SECURITY DEFINER');
SELECT is((SELECT string_agg(name, ', ' ORDER BY name COLLATE "C") FROM surface
           WHERE schema = 'portable' AND coalesce(NOT 'search_path=pg_catalog, pg_temp' = ANY
               (settings), true)),
          'clock_explain, clock_explain_json, clock_explain_text, clock_query_overhead, '
              'internal_clock_run',
          'only functions that execute the caller''s statement do not set search_path');
SELECT is((SELECT count(*)::int FROM pg_class WHERE relnamespace = 'portable'::regnamespace)
          + (SELECT count(*)::int FROM pg_type WHERE typnamespace = 'portable'::regnamespace), 0,
              'the portable edition has no tables, views or types');

--
-- One clock
--
CREATE TEMP TABLE sample AS SELECT portable.clock_measure('system', 0.3) AS s;
\if :with_c
SELECT lives_ok('SELECT s::clock_sample FROM sample',
    'a portable sample can be cast to clock_sample');
SELECT is((s::clock_sample)::jsonb -> k, s -> k, k
    || ': unchanged by the cast to clock_sample') FROM sample,
    unnest('{source,readings,ticks,counts,gaps,backward_steps}'::text[]) AS k;
\endif
SELECT is((SELECT sum(c::numeric) FROM jsonb_array_elements_text(s -> 'counts') AS c),
    (s ->> 'readings')::numeric - (s ->> 'backward_steps')::numeric,
          'the sample counts each reading except backward steps') FROM sample;
\if :with_c
SELECT set_eq('SELECT h.le_ns, h.percent, h.running_percent, h.count FROM sample, '
    'portable.clock_histogram(s) AS h',
              'SELECT h.le_ns, h.percent, h.running_percent, h.count FROM sample, '
                  'public.clock_histogram(s::clock_sample) AS h',
              'the histogram is that of the extension');
SELECT is(p.readings, c.readings,
    'clock_summary: readings are those of the extension')
    FROM sample, portable.clock_summary(s) AS p,
    public.clock_summary(s::clock_sample) AS c;
SELECT is(ARRAY[p.gaps, p.backward_steps, p.stalls], ARRAY[c.gaps, c.backward_steps, c.stalls],
    'clock_summary: gaps, backward steps and stalls are the extension''s')
FROM sample, portable.clock_summary(s) AS p, public.clock_summary(s::clock_sample) AS c;
SELECT is(ARRAY[p.max_ns, p.gap_max_ns, p.lost_ms], ARRAY[c.max_ns, c.gap_max_ns, c.lost_ms],
    'clock_summary: longest duration, gap and lost time are the extension''s')
FROM sample, portable.clock_summary(s) AS p, public.clock_summary(s::clock_sample) AS c;
SELECT is((clock_summary(clock_merge(s::clock_sample))).readings,
    2 * (SELECT (s ->> 'readings')::bigint FROM sample),
        'clock_merge of the extension merges portable samples')
FROM (SELECT s FROM sample UNION ALL SELECT s FROM sample) AS twice;
\endif

CREATE TEMP TABLE histogram AS SELECT * FROM portable.clock_histogram('system', 0.2) WITH ORDINALITY
    AS h(le_ns, percent, running_percent, count, bar, note, n);
SELECT cmp_ok(count(*), '>', 9::bigint, 'clock_histogram: at least 10 buckets') FROM histogram;
SELECT cmp_ok(abs(sum(percent) - 100), '<', 0.01,
    'clock_histogram: percentages add up to 100') FROM histogram;
SELECT is(max(running_percent), 100.0000,
    'clock_histogram: running_percent ends at 100') FROM histogram;
SELECT is((SELECT count(*)::int FROM (SELECT running_percent < lag(running_percent, 1, 0::numeric)
    OVER (ORDER BY n) AS falls,
                                             abs(running_percent - sum(percent) OVER (ORDER BY n)) >
                                                 0.001 AS differs,
                                             le_ns <> 2 ^ (n - 1) - 1 AS le FROM histogram) AS h
                                                 WHERE falls OR differs OR le), 0,
          'clock_histogram: running_percent is the sum of percent for powers of two');
SELECT matches(string_agg(note, ' '), 'only the mean of all durations is known',
    'clock_histogram: a note says that below a microsecond only the mean is known') FROM histogram;

CREATE TEMP TABLE summary AS SELECT * FROM portable.clock_summary('system', 0.3);
SELECT cmp_ok(count(*), '=', 1::bigint, 'clock_summary: one row') FROM summary;
SELECT cmp_ok(cost_ns, '>', 0::numeric,
    'clock_summary: the cost of a reading is positive') FROM summary;
SELECT cmp_ok(cost_margin_ns, '>', 0::numeric, 'clock_summary: the cost has a margin') FROM summary;
-- Quantiles below two ticks are NULL. On an idle machine, all quantiles may be below two ticks.
SELECT is(q, ARRAY(SELECT v FROM unnest(q) AS v ORDER BY v NULLS FIRST),
    'clock_summary: quantiles ascend')
FROM summary, LATERAL (SELECT ARRAY[min_ns, p50_ns, p90_ns, p99_ns, p999_ns, p9999_ns, max_ns] AS q)
    AS quantiles;
SELECT is(ARRAY[min_ns, p50_ns, p90_ns, p99_ns, p999_ns, p9999_ns, max_ns],
    '{NULL,NULL,NULL,NULL,3000,3000,50000}', 'clock_summary: quantiles below two ticks are NULL')
FROM portable.clock_summary('{"frequency_hz": 1000000, "ticks": [0, 1, 3, 50], "counts": [900000, '
    '98900, 1000, 100]}'::jsonb);
SELECT is(ARRAY[warps::text, lags::text, rate_ppm::text], ARRAY[NULL, NULL, NULL]::text[],
    'clock_summary: figures that need a second clock are NULL') FROM summary;

--
-- Cost of timing
--
CALL portable.clock_executor_overhead(1000, duration => 2) \gset o_
SELECT cmp_ok(:o_plain_ms::numeric, '>', 0::numeric,
    'clock_executor_overhead: the time of a query is positive');
SELECT cmp_ok(:o_repetitions, '>', 0, 'clock_executor_overhead: the query is executed');
SELECT cmp_ok(abs(:o_counting_ns::numeric + :o_timing_ns - :o_overhead_ns), '<=',
    0.02 + 0.02 * abs(:o_overhead_ns),
        'clock_executor_overhead: the overhead is that of counting and timing');
CREATE TEMP TABLE overhead AS SELECT * FROM
    portable.clock_query_overhead('SELECT count(*) FROM generate_series(1, 1000)', 0.5);
\if :with_c
SELECT is((SELECT array_agg(mode ORDER BY mode) FROM overhead),
    (SELECT array_agg(mode ORDER BY mode) FROM
    public.clock_query_overhead('SELECT count(*) FROM generate_series(1, 1000)', 0.2)),
          'clock_query_overhead: the modes are those of the extension');
\endif
SELECT ok(min_ms <= median_ms AND runs > 0, mode
    || ': executed, and the fastest is not above the median') FROM overhead;

-- Beside other work, the cost of counting and timing may not be measurable.  Then all three are
-- called again, up to ten times.  Returns whether they have failed ten times and did say so.
CREATE FUNCTION pg_temp.measure_impact(by_c text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    busy boolean;
    was_busy boolean := false;
BEGIN
    FOR i IN 1..10 LOOP
        DROP TABLE IF EXISTS detail, by_c, impact;
        CREATE TEMP TABLE detail AS SELECT * FROM portable.clock_impact(setting => NULL);
        EXECUTE 'CREATE TEMP TABLE by_c AS ' || by_c;
        CREATE TEMP TABLE impact AS SELECT * FROM portable.clock_impact();
        SELECT coalesce(bool_or(reason LIKE '%too busy%'), false) INTO busy
        FROM (SELECT reason FROM detail UNION ALL SELECT reason FROM by_c) AS reasons;
        was_busy := was_busy OR busy;
        IF NOT busy AND NOT EXISTS (
            SELECT FROM impact AS i JOIN detail AS d USING (setting)
            WHERE i.slowdown_percent IS NULL AND d.slowdown_percent IS NOT NULL) THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN was_busy;
END $$;
\if :with_c
SELECT pg_temp.measure_impact('SELECT * FROM public.clock_impact(setting => NULL)') AS busy \gset
\else
SELECT pg_temp.measure_impact('TABLE detail') AS busy \gset
\endif
\if :with_c
SELECT results_eq('SELECT setting, work, operations, period, statistics FROM detail',
                  'SELECT setting, work, operations, period, statistics FROM by_c',
                  'clock_impact: work and operations are those of the extension');
SELECT is((SELECT string_agg(d.work, ', ') FROM detail AS d JOIN by_c AS c USING (setting, work)
           WHERE abs(d.operations_per_s - c.operations_per_s) > 0.001 + 0.5 * c.operations_per_s),
               NULL, 'clock_impact: operations_per_s agrees with the extension');
-- Compared only if the server does not read the TSC, because the portable edition only knows bounds
-- of the cost of reading the TSC.
\if :busy
SELECT skip('the server is too busy to measure the cost of counting and timing');
\else
SELECT results_eq('SELECT setting, work, bound, reason, readings_per_operation FROM detail',
    'SELECT setting, work, bound, reason, readings_per_operation FROM by_c',
        'clock_impact: bounds and reasons are those of the extension')
WHERE coalesce(current_setting('timing_clock_source', true), '') NOT LIKE '%tsc%';
\endif
\endif
SELECT is((SELECT string_agg(work, ', ') FROM detail
    WHERE abs(cpu_percent - operations_per_s * operation_ns / 1e7) > 0.0001 + cpu_percent * 0.001 +
    operations_per_s * 0.005 / 1e7),
          NULL, 'clock_impact: cpu_percent is operations_per_s times operation_ns');
SELECT is((SELECT string_agg(work, ', ') FROM detail WHERE least_cpu_percent > cpu_percent), NULL,
    'clock_impact: least_cpu_percent is at most cpu_percent');
SELECT is((SELECT string_agg(work, ', ') FROM detail WHERE reason IS NULL
    AND (bound IS NOT NULL OR cpu_percent IS NULL)), NULL,
        'clock_impact: reason explains a bound or an unknown cost');
SELECT is((SELECT string_agg(work, ', ') FROM detail WHERE operations = 0
    AND work <> 'calls of plan nodes'
    AND (bound IS NOT NULL OR reason IS NOT NULL OR cpu_percent <> 0)), NULL,
        'clock_impact: without work, the cost is 0 and has no bound');
SELECT results_eq('SELECT setting FROM impact',
                  'SELECT setting FROM detail GROUP BY setting
                   ORDER BY array_position('
                       '''{track_io_timing,track_wal_io_timing,"auto_explain.log_analyze",'
                       '"auto_explain.log_timing = off",clocktiming.sampled_timing}'', setting)',
                  'clock_impact: a row for each setting');
\if :with_c
SELECT results_eq('SELECT setting, in_effect, value FROM impact',
                  'SELECT setting, in_effect, value FROM public.clock_impact()',
                  'clock_impact: the settings are those of the extension');
\endif
\if :busy
SELECT skip('the server is too busy to measure the cost of counting and timing');
\else
SELECT is((SELECT string_agg(i.setting, ', ') FROM impact AS i
    JOIN (SELECT setting, sum(slowdown_percent) AS n FROM detail GROUP BY setting)
    AS d USING (setting)
           WHERE (i.slowdown_percent IS NULL) <> (d.n IS NULL)
               OR i.setting LIKE 'track%' AND abs(i.slowdown_percent - d.n) > 0.01 + 0.5 * d.n),
          NULL,
                   'clock_impact: slowdown_percent is the sum over the kinds of work');
\endif
SELECT is((SELECT array_agg(DISTINCT period) FROM portable.clock_impact(NULL, 0.1)), '{observed}',
    'clock_impact(NULL, 0.1): the period is "observed"');
-- verdict for made-up costs: 3.01 ns for counting a call, and 36 ns for timing it
CREATE TEMP TABLE original AS
    SELECT pg_get_functiondef('portable.internal_clock_impact'::regproc) AS def;
DO $$
BEGIN
    EXECUTE regexp_replace((SELECT def FROM original), 'AS [$].*', $body$AS $made_up$
BEGIN
    RETURN QUERY
    SELECT m.setting, 'off'::text, false, 'calls of plan nodes'::text, 1.0, 0.0, 0.0, 300.0,
        'estimate'::text, 1::bigint, 1.0, m.ns, 0.0, 1.0, 1.0, 'observed'::text, 2.0, 0.0,
        'clock'::text, 1.0, 300.0, 'view'::text, 'reason'::text
    FROM (VALUES ('auto_explain.log_analyze', 36.0), ('auto_explain.log_timing = off', 3.01))
        AS m (setting, ns);
END $made_up$ $body$);
END $$;
SELECT results_eq(
    $$SELECT verdict, max_sample_rate, reason FROM portable.clock_impact(60) ORDER BY setting$$,
    $$VALUES ('on_with_sample_rate'::text, 0.003, 'calls_guessed'::text),
             ('on_with_sample_rate', 0.003, 'calls_guessed')$$,
                  'clock_impact: verdict, max_sample_rate and reason');
DO $$ BEGIN EXECUTE (SELECT def FROM original); END $$;
DROP TABLE original;

--
-- Plans
--
CREATE TEMP TABLE plan AS
SELECT * FROM
    portable.clock_explain('SELECT a, count(*) FROM generate_series(1, 20000) AS a '
    'JOIN generate_series(1, 20000) AS b ON a = b GROUP BY a ORDER BY a DESC');
CREATE TEMP TABLE tree AS
SELECT p.*, (SELECT max(q.node) FROM plan AS q WHERE q.node < p.node AND q.depth < p.depth)
    AS parent FROM plan AS p WHERE p.node > 0;
-- The first row is node 0 of the whole query, and the only one with the columns of the run. Its
-- columns of a node are NULL.
SELECT is((SELECT jsonb_agg(jsonb_strip_nulls(to_jsonb(p))
               - '{run_ms,plain_ms,note}'::text[])
           FROM plan AS p WHERE p.node IS NULL OR p.node <= 0), '[{"node": 0, "line": "Query"}]',
          'clock_explain: a row for the whole query');
SELECT ok(run_ms > 0 AND plain_ms > 0
          AND note ~ (E'^\\d+\\.\\d ms( \\(few waits for a CPU\\)|'
              ',\n  about [0-9.]+ ms waiting \\(included in self_ms\\): '
              'CPUs used by other processes)(,\n  in [0-9.]+ s of executions, .*)?$')
          AND abs(substring(note FROM '^[0-9.]+')::numeric - plain_ms) <= 0.0501,
          'clock_explain: the row for the whole query has the times of the run: '
              || p) FROM plan AS p WHERE node = 0;
SELECT is((SELECT string_agg(line, '; ') FROM tree
    WHERE num_nonnulls(run_ms, plain_ms, samples, sampler_ms) > 0), NULL,
          'clock_explain: no node has times of the run');
SELECT cmp_ok(count(*), '>', 4::bigint, 'clock_explain: the plan has several nodes') FROM tree;
SELECT is((SELECT count(*)::int FROM tree WHERE parent IS NULL), 1,
    'clock_explain: the plan has one root');
SELECT is((SELECT string_agg(format('%s: %s < %s', t.line, t.total_ms, c.total_ms), '; ') FROM tree
    AS t
           JOIN (SELECT parent, sum(total_ms) AS total_ms FROM tree GROUP BY parent)
               AS c ON c.parent = t.node
           WHERE t.total_ms < c.total_ms - 0.001), NULL,
               'clock_explain: no node takes less time than its children');
SELECT is((SELECT string_agg(format('%s: %s', t.line, t.self_ms), '; ') FROM tree AS t
           WHERE abs(t.self_ms - t.total_ms + coalesce((SELECT sum(c.total_ms) FROM tree AS c
               WHERE c.parent = t.node), 0)) > 0.01), NULL,
          'clock_explain: self time is total time without that of the children');
SELECT cmp_ok(sum(share_percent), '<=', 100.1,
    'clock_explain: shares add up to at most 100 percent') FROM tree;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET max_parallel_workers_per_gather = 2;
-- Parallel plans and serial plans, while one busy process waits for "one" percent of the time, and
-- several wait for "several" percent.
CREATE TEMP TABLE original AS
    SELECT pg_get_functiondef('portable.internal_clock_wait_percent'::regproc) AS def;
CREATE TEMP TABLE explained (n int, note text, plain_ms numeric, processes int);
CREATE TEMP TABLE waits (n int, one float8, several float8, serial text, parallel text);
INSERT INTO waits VALUES
    (1, 9.9, 9.9, ' (few waits for a CPU)', E' (few waits for a CPU),\n  P processes'),
    (2, 10, 70, E',\n  about N ms waiting (included in self_ms): CPUs used by other processes',
     E',\n  about N ms waiting (included in self_ms): P processes, CPUs used by other processes'),
    (3, 0, 60, ' (few waits for a CPU)',
     E',\n  about N ms waiting (included in self_ms): P processes on about C CPUs'),
    (4, 0, NULL, ' (few waits for a CPU)', E' (waits included, length unknown),\n  P processes'),
    (5, 10, NULL, E',\n  about N ms waiting (included in self_ms): CPUs used by other processes',
     E' (waits included, length unknown),\n  P processes, CPUs used by other processes');
DO $$
DECLARE
    w record;
BEGIN
    FOR w IN SELECT * FROM waits ORDER BY n LOOP
        EXECUTE regexp_replace((SELECT def FROM original), 'AS [$].*', format($body$AS $made_up$
BEGIN
    RETURN CASE processes WHEN 1 THEN %L ELSE %L END::float8;
END $made_up$ $body$, w.one, w.several));
        INSERT INTO explained SELECT w.n, p.note, p.plain_ms, s.processes
            FROM portable.clock_explain('SELECT count(*) FROM pg_attribute') AS p,
                 (SELECT max(substring(note FROM 'mean of (\d) processes')::int) AS processes
                  FROM portable.clock_explain('SELECT count(*) FROM pg_attribute')) AS s
            WHERE p.node = 0;
        INSERT INTO explained SELECT w.n, note, plain_ms, 1
            FROM portable.clock_explain('SELECT count(*) FROM generate_series(1, 10000)')
            WHERE node = 0;
    END LOOP;
    EXECUTE (SELECT def FROM original);
END $$;
SELECT is(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
                  e.note, '^[0-9.]+ ms', ''), 'about [0-9.]+ ms', 'about N ms'),
                  '[23] processes', 'P processes'), 'about [0-9.]+ CPUs', 'about C CPUs'),
          CASE WHEN e.processes = 1 THEN w.serial ELSE w.parallel END,
          format('clock_explain: note of row Query, %s, %s', e.n, e.processes))
FROM explained AS e JOIN waits AS w USING (n);
SELECT cmp_ok(abs(substring(note FROM 'about ([0-9.]+) ms')::numeric / (0.1 * plain_ms) - 1),
              '<=', 0.0501,
              'clock_explain: the wait in proportion to that of a busy process: ' || note)
FROM explained WHERE n = 2 AND processes = 1;
SELECT is(substring(note FROM '(\d) processes')::int * 0.4,
          substring(note FROM 'on about ([0-9.]+) CPUs')::numeric,
          'clock_explain: the number of CPUs follows from the waits')
FROM explained WHERE n = 3 AND processes > 1;
DROP TABLE original, explained, waits;
-- Really busy processes.  No server starts 1000 processes for a query.
SELECT cmp_ok(s, '>', 0::float8, 'a process is busy: ' || s)
FROM portable.internal_clock_busy(clock_timestamp() + interval '0.2 s', '10 us') AS s;
-- Null if other sessions have started all workers.
SELECT ok(min(s) >= 0 AND max(s) < 100, format('processes wait for a part of the time: %s', max(s)))
FROM generate_series(1, 10) AS n, portable.internal_clock_wait_percent(2 + 0 * n, 0.1) AS s;
SELECT is(portable.internal_clock_wait_percent(1000, 0.1), NULL,
          'the waits of 1000 processes are unknown');
-- An InitPlan that only the workers' part of the plan uses. The Gather waits for its value.
CREATE TABLE public.scanned AS SELECT i FROM generate_series(1, 1000) AS i;
ANALYZE public.scanned;
CREATE TEMP TABLE gathered AS
SELECT * FROM portable.clock_explain('SELECT count(*) FROM scanned '
    'WHERE i > (SELECT avg(g) FROM generate_series(1, 100000) AS g)') WHERE node > 0;
SELECT is(array_agg(node_type ORDER BY node), '{Aggregate,Aggregate,Function Scan,Gather,Aggregate,'
    'Seq Scan}', 'a plan with an InitPlan and a Gather') FROM gathered;
SELECT cmp_ok(sum(self_ms) FILTER (WHERE node <= 4), '<=', 0.01 + max(total_ms),
    'clock_explain: the time of an InitPlan is counted once') FROM gathered;
SELECT cmp_ok(abs(sum(share_percent) - 100), '<', 0.01,
    'clock_explain: shares of a parallel plan add up to 100') FROM gathered;
-- A CTE within another of the same name
CREATE TEMP TABLE nested AS
SELECT * FROM portable.clock_explain('WITH x AS MATERIALIZED (WITH x AS MATERIALIZED '
    '(SELECT i FROM generate_series(1, 20000) AS i) SELECT sum(i) FROM x) SELECT * FROM x')
WHERE node > 0;
SELECT is(array_agg(node_type ORDER BY node), '{CTE Scan,Aggregate,Function Scan,CTE Scan}',
    'a plan with two CTEs of the same name') FROM nested;
SELECT ok(abs(sum(self_ms) - max(total_ms)) < 0.01
          AND sum(total_ms) FILTER (WHERE node = 4)
              - sum(total_ms) FILTER (WHERE node = 3)
              - sum(self_ms) FILTER (WHERE node = 4) >= -0.01,
    'clock_explain: the time of each CTE is part of that of its own scan') FROM nested;
-- The same plan, with measured times of which the cost of timing is a large part: the inner CTE
-- takes 5 ms of the 5.2 ms of its own scan, but far more is subtracted from the scan.
SELECT is(array_agg(n ->> 'type' ORDER BY i)
          || format('%s', max((n ->> 'total_ms')::float8) FILTER (WHERE i = 3)
              <= max((n ->> 'total_ms')::float8) FILTER (WHERE i = 4) + 1e-9),
          '{CTE Scan,Aggregate,Function Scan,CTE Scan,t}',
    'clock_explain: a CTE takes no longer than its own scan')
FROM jsonb_array_elements(portable.internal_clock_times($json${
    "cursor": true, "lines": "a\n -> b\n -> c\n -> d", "plain": [6, 6, 6], "timed": [{
    "Execution Time": 9.1, "Plan": {"Node Type": "CTE Scan", "CTE Name": "x",
        "Actual Total Time": 9, "Actual Startup Time": 9, "Actual Loops": 1, "Actual Rows": 1,
        "Plans": [{"Node Type": "Aggregate", "Subplan Name": "CTE x",
            "Parent Relationship": "InitPlan", "Strategy": "Plain",
            "Actual Total Time": 8.9, "Actual Startup Time": 8.9, "Actual Loops": 1,
            "Actual Rows": 1,
            "Plans": [{"Node Type": "Function Scan", "Subplan Name": "CTE x",
                "Parent Relationship": "InitPlan",
                "Actual Total Time": 5, "Actual Startup Time": 1, "Actual Loops": 1,
                "Actual Rows": 20000},
                {"Node Type": "CTE Scan", "CTE Name": "x", "Parent Relationship": "Outer",
                "Actual Total Time": 5.2, "Actual Startup Time": 1, "Actual Loops": 1,
                "Actual Rows": 20000}]}]}}]}$json$::jsonb, 50e-6, 100e-6, 0) -> 'nodes')
    WITH ORDINALITY AS t (n, i);
DROP TABLE gathered, nested;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
SELECT is(current_setting('max_parallel_workers_per_gather'), '2', 'the setting is restored');
RESET max_parallel_workers_per_gather;
SELECT is((SELECT string_agg(format('%s: %s', line, note), '; ') FROM (
               SELECT line, note, upper >= lower AS may,
                      count(*) FILTER (WHERE upper >= lower) OVER () AS rivals
               FROM (SELECT line, note, share_percent + share_margin_percent AS upper,
                            greatest(max(share_percent - share_margin_percent) OVER (), 0.0001)
                                AS lower FROM tree) AS limits) AS verdicts
           WHERE coalesce(substring(note FROM '^[a-z ]+ most time'), '')
               <> CASE WHEN NOT may THEN '' WHEN rivals = 1 THEN 'took the most time'
                       ELSE 'may have taken the most time' END),
          NULL, 'clock_explain: notes about the largest share');
SELECT cmp_ok(abs(sum(self_ms) - max(total_ms)), '<=', 0.001 * count(*) + 0.001 * max(total_ms),
    'clock_explain: self times add up to the total time of the root') FROM tree;
SELECT is((SELECT count(*)::int FROM tree WHERE total_ms IS NULL OR total_margin_ms < 0
    OR self_margin_ms < 0 OR total_ms < 0 OR self_ms < 0), 0,
        'clock_explain: times and margins are not negative');
\if :with_c
SELECT results_eq('SELECT node, depth, node_type, loops, rows FROM plan ORDER BY node',
                  $q$SELECT node, depth, node_type, loops, rows
                     FROM public.clock_explain('SELECT a, count(*) FROM generate_series(1, 20000) '
                         'AS a JOIN generate_series(1, 20000) AS b ON a = b GROUP BY a '
                         'ORDER BY a DESC') ORDER BY node$q$,
                  'clock_explain: nodes, loops and rows are those of the extension');
\endif
SELECT is((SELECT count(*)::int FROM
    portable.clock_explain_text('SELECT a FROM generate_series(1, 1000) AS a ORDER BY 1') AS t
    WHERE t."QUERY PLAN" ~ 'actual time'), 2,
          'clock_explain_text: a time for each node');
SELECT is((SELECT count(*)::int FROM
    jsonb_path_query(portable.clock_explain_json('SELECT a FROM generate_series(1, 1000) AS a '
    'ORDER BY 1')::jsonb, 'strict $.**."Actual Total Time"')), 2,
          'clock_explain_json: a time for each node');
-- The statement is executed with the search_path of the caller, and its changes are undone.
CREATE TABLE portable.named (i int);
CREATE TABLE public.named AS SELECT 1 AS i, 2 AS j;
SELECT is((SELECT rows FROM portable.clock_explain('SELECT j FROM named') WHERE node > 0),
    1::bigint, 'clock_explain: names are found by the caller''s search_path');
SELECT is((SELECT count(*)::int FROM portable.clock_explain('DELETE FROM named',
    allow_writes => true) WHERE node > 0), 2,
        'clock_explain: a statement that writes has a row for each node');
SELECT is((SELECT count(*)::int FROM public.named), 1,
    'clock_explain: a statement that writes is undone');
-- A function in a SELECT may write with allow_writes only.
CREATE FUNCTION public.writes() RETURNS int LANGUAGE sql AS
    'INSERT INTO public.named VALUES (2, 2) RETURNING i';
SELECT throws_ok($$SELECT * FROM portable.clock_explain('SELECT writes()')$$, '25006', NULL,
    'clock_explain: a function that writes is refused');
SELECT lives_ok($$SELECT * FROM portable.clock_explain('SELECT writes()', allow_writes => true)$$,
    'clock_explain: a function that writes, with allow_writes');
SELECT is((SELECT count(*)::int FROM public.named), 1,
    'clock_explain: the write of a function is undone');

-- Rules turn a statement into several ones, or into none.
CREATE TABLE public.ruled (i int);
CREATE RULE logged AS ON INSERT TO public.ruled WHERE NEW.i = 1 DO ALSO INSERT INTO public.named
    SELECT 1, 1 FROM generate_series(1, 1000);
CREATE RULE kept AS ON DELETE TO public.ruled DO INSTEAD NOTHING;
CREATE RULE halved AS ON UPDATE TO public.ruled WHERE NEW.i = 1 DO INSTEAD DELETE FROM public.named;
CREATE RULE told AS ON INSERT TO public.ruled DO ALSO NOTIFY ruled;
SELECT throws_ok(format('SELECT * FROM portable.%s(%L, allow_writes => true)', f, s.statement),
                 '0A000', format('cannot measure a statement that rules turn into %s statements',
                                 s.n), f || ': ' || s.statement)
FROM (VALUES ('INSERT INTO ruled VALUES (1)', 3), ('DELETE FROM ruled', 0),
             ('UPDATE ruled SET i = 2', 2)) AS s(statement, n),
     unnest('{clock_explain,clock_explain_text,clock_explain_json,clock_query_overhead}'::text[])
         AS f;
-- MERGE into several tables. PostgreSQL 15 to 19 print its numbers of rows within the array of the
-- tables, which is invalid JSON.
SELECT current_setting('server_version_num')::int >= 150000 AS has_merge \gset
\if :has_merge
CREATE TABLE public.merged (i int) PARTITION BY RANGE (i);
CREATE TABLE public.merged_1 PARTITION OF public.merged FOR VALUES FROM (0) TO (100);
CREATE TABLE public.merged_2 PARTITION OF public.merged FOR VALUES FROM (100) TO (200);
INSERT INTO public.merged SELECT generate_series(0, 199);
CREATE TEMP TABLE merge AS SELECT 'MERGE INTO merged USING generate_series(70, 129) AS s(i) '
    'ON merged.i = s.i WHEN MATCHED AND s.i < 100 THEN DELETE WHEN MATCHED THEN DO NOTHING'::text
    AS statement;
SELECT is((SELECT node_type FROM portable.clock_explain(statement, allow_writes => true)
           WHERE node = 1), 'ModifyTable', 'clock_explain: MERGE into two partitions') FROM merge;
SELECT is(ARRAY[plan ->> 'Tuples Deleted', plan ->> 'Tuples Skipped',
                jsonb_array_length(plan -> 'Target Tables')::text], '{30,30,2}',
          'clock_explain_json: MERGE into two partitions')
FROM merge,
     LATERAL (SELECT portable.clock_explain_json(statement, allow_writes => true)::text::jsonb
                         -> 0 -> 'Plan' AS plan) AS p;
SELECT lives_ok(format('SELECT * FROM portable.clock_query_overhead(%L, 0.1, true)', statement),
                'clock_query_overhead: MERGE into two partitions') FROM merge;
DROP TABLE merge;
\endif

--
-- Verdicts
--
CREATE TEMP TABLE checks AS SELECT * FROM portable.clock_check() WITH ORDINALITY
    AS d(check_name, ok, figure, threshold, unit, detail, n);
\if :with_c
CREATE TEMP TABLE c_checks AS SELECT * FROM public.clock_check(0.1, max_skew_ns => 'infinity') WITH
    ORDINALITY AS d(check_name, ok, figure, threshold, unit, detail, n);
SELECT results_eq('SELECT check_name, unit FROM checks ORDER BY n',
    'SELECT check_name, unit FROM c_checks ORDER BY n',
    'clock_check: the checks are those of the extension, in its order');
\endif
SELECT results_eq('SELECT check_name FROM portable.clock_check(0.01)',
    'SELECT check_name FROM checks ORDER BY n', 'clock_check: the same checks for every duration');
SELECT is(ok, CASE WHEN threshold IS NULL THEN true ELSE figure <= threshold END, check_name
    || ': passed if within its threshold, not known without a figure') FROM checks;
SELECT is((SELECT string_agg(check_name, ', ') FROM checks WHERE ok IS NULL
    AND coalesce(detail, '') = ''), NULL, 'clock_check: detail explains each unknown result');
SELECT is((SELECT array_agg(check_name ORDER BY n) FROM checks WHERE ok IS NULL
    AND check_name NOT LIKE '%tsc%'), '{warps,lags,drift,skew}',
        'clock_check: these results are unknown without C');
SELECT ok((SELECT bool_and(ok) FROM portable.clock_check(1, max_cost_ns => 1e6)
    WHERE check_name <> 'backward_steps'), 'clock_check: bool_and ignores unknown results');
SELECT is((SELECT array_agg(check_name) FROM portable.clock_check(1, 0, 0, 0, 'infinity')
    WHERE NOT ok AND check_name NOT IN ('backward_steps', 'cost')), NULL,
    'clock_check: no unknown check fails because of its threshold');
SELECT is((SELECT array_agg(ok) FROM portable.clock_check(0.01, max_skew_ns => 'infinity',
    max_drift_ppm => 'infinity') WHERE check_name IN ('skew', 'drift', 'tsc_frequency')), '{t,t,t}',
          'clock_check: checks with infinite thresholds pass');
-- Made-up facts: a slow clock that went backwards, on a busy machine
CREATE TEMP TABLE made_up AS
SELECT * FROM
    portable.internal_clock_criteria('{"by_tsc": false, "cost_ns": 700, "backward_steps": 3, '
    '"lost_s": 0.5, "seconds": 2, "gaps": 7, "gap_max_us": 12, "calls": {}}');
SELECT is((SELECT array_agg(check_name) FROM made_up WHERE figure > threshold),
    '{cost,backward_steps}',
        'clock_check: a slow clock and a clock that goes backwards do not pass');
SELECT is((SELECT figure FROM made_up WHERE check_name = 'gaps'), 25::float8,
    'clock_check: the time off the CPU is in percent');

CREATE TEMP TABLE watched AS SELECT * FROM portable.internal_clock_watch(0.2);
SELECT ok(seconds >= 0.2 AND readings >= 1000 AND lost_s BETWEEN 0 AND seconds
    AND gap_max_us <= lost_s * 1e6 + 1 AND (gaps = 0) = (lost_s = 0) AND backward_steps >= 0,
          'internal_clock_watch: the figures are consistent') FROM watched;

CREATE TEMP TABLE advice AS
SELECT *, array_position('{ok,notice,warning}', severity) AS rank FROM portable.clock_advice(2) WITH
    ORDINALITY AS a(check_name, severity, finding, action, n);
SELECT is((SELECT array_agg(check_name ORDER BY check_name) FROM advice),
          (SELECT array_agg(c ORDER BY c) FROM (SELECT check_name AS c FROM checks UNION ALL
              VALUES ('overall'), ('explain_clock'), ('support_case')) AS c),
          'clock_advice: the checks, overall, explain_clock and support_case, each once');
SELECT is((SELECT array_agg(check_name ORDER BY n) FROM advice WHERE n IN (1, 12)),
    '{overall,support_case}', 'clock_advice: overall is first, support_case is last');
SELECT is((SELECT rank FROM advice WHERE n = 1), (SELECT max(rank) FROM advice WHERE n BETWEEN 2
    AND 11 AND check_name <> 'gaps'),
        'clock_advice: the verdict is that of the worst check except gaps');
SELECT is((SELECT count(*)::int FROM advice AS a JOIN advice AS b ON b.n > a.n
    AND coalesce(b.rank, 0) > coalesce(a.rank, 0) WHERE a.n > 1 AND b.n < 12), 0,
    'clock_advice: worse checks come first');
SELECT is((SELECT string_agg(check_name, ', ') FROM advice
    WHERE (severity IS NULL) <> (check_name IN (SELECT c.check_name FROM checks AS c
    WHERE c.ok IS NULL))), NULL,
          'clock_advice: exactly the unknown checks have no severity');
SELECT is(action IS NOT NULL, coalesce(severity <> 'ok', false), check_name
    || ': has an action if and only if there is a severity other than ok') FROM advice WHERE n > 1;
SELECT is((SELECT string_agg(check_name, ', ') FROM advice
    WHERE action !~ '^(now|for good|ask the provider): ' OR finding IS NULL OR finding
    || coalesce(action, '') ~ '`'), NULL,
          'clock_advice: actions begin with a label, no text has backquotes');
-- Replaces clock_advice()'s measurement by the same made-up facts. It must recommend an action for
-- each finding.
CREATE OR REPLACE FUNCTION portable.internal_clock_facts(duration double precision) RETURNS jsonb
    LANGUAGE sql AS $$
    SELECT '{"by_tsc": false, "cost_ns": 700, "backward_steps": 3, "lost_s": 0.5, "seconds": 2, '
        '"gaps": 7, "gap_max_us": 12, "readings": 9000, "backward_max_us": 5, "calls": {}}'::jsonb
$$;
CREATE TEMP TABLE bad_advice AS SELECT * FROM portable.clock_advice(0.1);
SELECT is((SELECT string_agg(check_name, ', ' ORDER BY check_name) FROM bad_advice
    WHERE action <> '' AND check_name <> 'explain_clock'),
          'backward_steps, cost, gaps, support_case', 'clock_advice: an action for each finding');
SELECT is((SELECT string_agg(regexp_replace(t, E'\n', ' ', 'g'), '; ')
           FROM bad_advice, unnest(ARRAY[finding, action]) AS t
           WHERE t ~ '\D\s(ns|us|%|s)\M|\s\s'), NULL,
          'clock_advice: no text has a unit without a figure');
SELECT is((SELECT string_agg(l, ', ') FROM bad_advice, regexp_split_to_table(action, E'\n') AS l
    WHERE length(l) > 60), NULL, 'clock_advice: lines of actions have at most 60 characters');
SELECT is(portable.internal_clock_lines('say `SELECT 1, 2, 3`, or nothing at all', 10),
    E'say\nSELECT 1, 2, 3,\nor nothing\nat all',
        'internal_clock_lines: commands are not broken into lines');
SELECT is(portable.internal_clock_lines('tell whether hyperv_clocksource is there', 10),
    E'tell\nwhether\nhyperv_clo\ncksource\nis there',
        'internal_clock_lines: words longer than a line are broken');

--
-- Calls leave the session as it was
--
SELECT isnt(problem, NULL, 'internal_clock_timing_by: an unknown clock is a problem')
    FROM portable.internal_clock_timing_by('sundial', 0.1);
SELECT is((SELECT string_agg(name, ', ') FROM pg_settings AS s JOIN settings AS b USING (name)
    WHERE s.setting IS DISTINCT FROM b.setting AND name <> 'search_path'), NULL,
          'all settings are unchanged after the calls');
SELECT is((SELECT count(*)::int FROM pg_prepared_statements) + (SELECT count(*)::int FROM pg_cursors
    WHERE name NOT LIKE '<unnamed%'), 0,
        'no statement is prepared and no cursor open after the calls');
SELECT throws_ok($$SELECT * FROM portable.clock_explain('SELECT $1::int / 0', params => '{1}')$$,
    '22012', NULL, 'clock_explain: a statement with parameters fails');
SELECT throws_ok($$SELECT * FROM portable.clock_query_overhead('SELECT 1/0')$$, '22012', NULL,
    'clock_query_overhead: a statement fails');
SELECT is((SELECT count(*)::int FROM pg_prepared_statements) + (SELECT count(*)::int FROM pg_cursors
    WHERE name NOT LIKE '<unnamed%'), 0,
        'no statement is prepared and no cursor open after an error');
SELECT is((SELECT string_agg(name, ', ') FROM pg_settings AS s JOIN settings AS b USING (name)
    WHERE s.setting IS DISTINCT FROM b.setting AND name <> 'search_path'), NULL,
          'all settings are unchanged after an error');
SELECT is((SELECT array_agg(relname ORDER BY relname) FROM pg_class
    WHERE relnamespace = pg_my_temp_schema() AND relkind IN ('r', 'v') AND relname NOT LIKE '\_\_%'
           AND relname NOT IN ('by_c', 'c_checks')),
          '{advice,bad_advice,checks,detail,histogram,impact,made_up,overhead,plan,sample,settings,'
              'summary,surface,tree,watched}',
          'no temporary table remains after the calls');

SELECT * FROM finish();
ROLLBACK;
