-- clock_report() has the format of PostgreSQL 19's pg_test_timing, and its figures are consistent.
BEGIN;
SELECT * FROM no_plan();

CREATE TEMP TABLE report AS SELECT n, l FROM clock_report(0.05, 99) WITH ORDINALITY AS r(l, n);

SELECT is((SELECT l FROM report WHERE n = 1), 'Testing timing overhead for 0.05 seconds.',
    'the first line states the duration');
SELECT is((SELECT l FROM report WHERE n = 2), '', 'the second line is empty');
SELECT is((SELECT l FROM report WHERE n = 3), 'System clock source: '
    || (SELECT clock FROM clock_sources WHERE source = 'system'),
          'the third line names the system clock');

-- The list of durations ends after 40 rows, and its title says so, unless the cutoff is 100 %.
CREATE FUNCTION pg_temp.list(cutoff float8, OUT title text, OUT rows bigint, OUT last text)
LANGUAGE sql AS $$
    SELECT substring(b.t FROM 'up to [0-9.]+%'), count(*), max(l.row)
    FROM internal_clock_report_block('made', (SELECT jsonb_build_object('clock', 'made',
             'frequency_hz', 1e9, 'duration_s', 1, 'readings', 3000,
             'ticks', jsonb_agg(t), 'counts', jsonb_agg(1)) FROM generate_series(11, 3010) AS t),
             cutoff) AS b(t),
         regexp_split_to_table(split_part(b.t, 'Observed', 2), '\n') AS l(row)
    WHERE l.row ~ '^ +[0-9]'
    GROUP BY b.t
$$;
SELECT is(ARRAY[title, rows::text, split_part(trim(last), ' ', 1)],
          ARRAY['up to ' || t || '%', n, '3010'],
          'cutoff ' || c || ': rows of durations, and the title')
FROM (VALUES (99.99, '1.3333', '41'), (1, '1.0000', '31'), (100, '100.0000', '3000'))
         AS v (c, t, n), pg_temp.list(c);

-- Each line has the form of a line of pg_test_timing.
SELECT is_empty($$
    SELECT n, l FROM report WHERE l !~ '^(|Testing timing overhead for [0-9.]+ seconds?\.'
        '|(System clock|Clock|Fast clock) source: .+|Average loop time including overhead: '
            '[0-9]+\.[0-9][0-9] ns'
        '|Histogram of timing durations:|Observed timing durations up to [0-9]{1,2}\.[0-9]{4}%:'
        '|              <= ns   % of total  running %      count|                 ns   % of total  '
            'running %      count'
        '|[ 0-9]{19}   [ 0-9]{5}\.[0-9]{4} [ 0-9]{5}\.[0-9]{4} [ 0-9]{10}|\.\.\.'
        '|TSC frequency source: x86[a-z, ]*|TSC frequency in use: [0-9]+ kHz|TSC frequency from '
            'calibration: [0-9]+ kHz|TSC clock source .*)$' $$,
    'every line has the form of a line of pg_test_timing');

-- Numbers the clocks, and the two tables of each clock.
CREATE TEMP TABLE line AS
    SELECT n, l, count(*) FILTER (WHERE l ~ 'lock source: ') OVER w AS clock,
           count(*) FILTER (WHERE l ~ '^(Histogram|Observed)') OVER w AS tab
    FROM report WINDOW w AS (ORDER BY n);
CREATE TEMP TABLE cell AS
    SELECT n, clock, tab, split_part(t, ' ', 1)::bigint AS ns, split_part(t, ' ', 2)::numeric
        AS percent,
           split_part(t, ' ', 3)::numeric AS running, split_part(t, ' ', 4)::bigint AS count
    FROM (SELECT *, regexp_replace(trim(l), ' +', ' ', 'g') AS t FROM line) AS x
        WHERE l ~ '^ +[0-9]+ +[0-9.]+ +[0-9.]+ +[0-9]+$';

SELECT is((SELECT max(clock)::int FROM line),
          (SELECT 1 + 2 * bool_and(available)::int FROM clock_sources WHERE source IN ('rdtsc',
              'rdtscp')),
          'all three clocks where there is a TSC, else one');
SELECT is((SELECT max(tab) FROM line), 2 * (SELECT max(clock) FROM line),
    'two tables for each clock');
SELECT is((SELECT array_agg(l ORDER BY n) FROM line WHERE l ~ 'lock source: ' AND clock > 1),
          (SELECT ARRAY['Clock source: RDTSCP', 'Fast clock source: RDTSC']
              WHERE (SELECT max(clock) FROM line) > 1),
          'the clocks that read the TSC have the names of pg_test_timing');

-- The rows of a table are consistent.
SELECT is((SELECT running FROM cell AS c WHERE c.tab = t.tab ORDER BY n DESC LIMIT 1), 100.0000,
          format('table %s: running percent ends at 100', t.tab)) FROM (SELECT DISTINCT tab
              FROM cell) AS t ORDER BY tab;
SELECT is((SELECT max(ns) FROM cell AS b WHERE b.clock = c.clock AND b.tab = 2 * c.clock) <=
    max(c.ns), true,
          format('clock %s: the largest duration is in the last bucket', c.clock))
FROM cell AS c WHERE c.tab = 2 * c.clock - 1 GROUP BY c.clock ORDER BY c.clock;
SELECT cmp_ok((SELECT max(abs(percent - 100.0 * count / total))
               FROM (SELECT *, sum(count) OVER (PARTITION BY tab) AS total FROM cell
                   WHERE tab % 2 = 1) AS x),
              '<=', 0.0001, 'percent agrees with the counts');
-- If durations were omitted, "..." is in the line before the largest duration.
SELECT is_empty($$
    SELECT a.n FROM line AS a JOIN line AS b ON b.n = a.n + 1
    WHERE a.l = '...' AND NOT EXISTS (SELECT FROM cell AS c WHERE c.n = b.n AND c.running = 100.0000
                                      AND c.ns = (SELECT max(d.ns) FROM cell AS d
                                          WHERE d.tab = c.tab)) $$,
    '"..." is followed by the largest duration');
SELECT is_empty($$
    SELECT tab FROM cell AS c WHERE tab % 2 = 0 GROUP BY tab
    HAVING (SELECT count(*) FROM line AS l WHERE l.tab = c.tab AND l.l = '...')
           <> (CASE WHEN max(c.running) FILTER (WHERE c.running < 100) >= 99 THEN 1 ELSE 0 END) $$,
    '"..." is in exactly the tables from which the cutoff omitted rows');

-- The frequencies are those that clock_platform shows.
SELECT is((SELECT split_part(l, ' ', 5)::numeric FROM report WHERE l ~ '^TSC frequency in use'),
    round(value::numeric),
          'the TSC frequency in use is that of clock_platform') FROM clock_platform
              WHERE name = 'tsc_frequency_in_use_khz'
              AND value IS NOT NULL;
SELECT is((SELECT split_part(l, ' ', 5)::numeric FROM report WHERE l ~ '^TSC frequency from'),
    round(value::numeric),
          'the TSC frequency from calibration is that of clock_platform') FROM clock_platform
              WHERE name = 'tsc_frequency_calibration_khz' AND value IS NOT NULL;
SELECT is((SELECT array_agg(left(l, 20) ORDER BY n) FROM report
    WHERE n > (SELECT max(n) FROM cell)),
          ARRAY['', 'TSC frequency source', 'TSC frequency in use', 'TSC frequency from c', '',
              'TSC clock source wil'],
          'lines about the TSC follow the tables of the last clock')
              WHERE (SELECT count(*) FROM report
              WHERE l ~ '^Fast clock') = 1;
SELECT matches((SELECT l FROM report ORDER BY n DESC LIMIT 1),
    '^TSC clock source (will|will not) be used by default'
               '|^TSC clock source is not usable', 'the last line says which clock is the default');

SELECT * FROM finish();
ROLLBACK;
