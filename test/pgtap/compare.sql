-- clock_compare(): measures clocks alternately, and compares the costs of a reading.
BEGIN;
SELECT * FROM no_plan();

CREATE TEMP TABLE compared AS SELECT * FROM clock_compare('{system, all}', 0.2) WITH ORDINALITY;
SELECT is(array_agg(source ORDER BY ordinality),
          (SELECT array_agg(source ORDER BY source <> 'system') FROM clock_sources WHERE available),
          'a row for each available source, in the given order') FROM compared;
SELECT ok(n = 100 AND min_ns > 0 AND min_ns <= median_ns AND median_ns <= max_ns
    AND mean_ns BETWEEN min_ns AND max_ns
          AND stddev_ns >= 0, source
              || ': 100 values; minimum, median, mean and maximum are in order') FROM compared;
SELECT ok(num_nulls(difference_ns, difference_margin_ns, difference_percent, verdict, p_value,
    difference_low_ns,
                    difference_high_ns, difference_margin_percent) = CASE ordinality WHEN 1 THEN 8
                        ELSE 0 END,
          source || ': has a comparison, unless it is the first source') FROM compared;
SELECT ok(pooled_stddev_ns IS NULL, source
    || ': no pooled standard deviation without Student''s test')
    FROM compared;
-- A row for each clock except the first, with figures of this clock and of the first one.
-- Tolerances in the checks allow for rounding, because each figure is rounded separately.
CREATE TEMP VIEW pair AS
    SELECT c.*, f.min_ns AS first_min_ns, f.max_ns AS first_max_ns, f.median_ns AS first_median_ns
    FROM compared AS c, compared AS f WHERE c.ordinality > 1 AND f.ordinality = 1;
SELECT ok(difference_low_ns <= difference_ns AND difference_ns <= difference_high_ns,
          source || ': the interval contains the difference') FROM pair;
SELECT ok(difference_low_ns >= min_ns - first_max_ns - 0.001 AND difference_high_ns <= max_ns -
    first_min_ns + 0.001,
          source || ': the interval is in the range of all differences of two values') FROM pair;
SELECT ok(abs(difference_margin_ns - (difference_high_ns - difference_low_ns) / 2) <= 0.0002,
          source || ': the margin is half of the interval') FROM pair;
SELECT ok(abs(difference_percent - difference_ns / first_median_ns * 100) <= 0.002 +
    abs(difference_percent) * 1e-4,
          source || ': the differences in percent and in ns agree') FROM pair;
SELECT is(verdict, CASE WHEN p_value >= 0.05 THEN 'no difference proven'
                        WHEN difference_ns < 0 THEN 'faster'
                        WHEN difference_ns = 0 THEN 'differs' ELSE 'slower' END,
          source || ': the verdict agrees with the p-value') FROM pair;
SELECT is(matters, CASE WHEN p_value < 0.05 THEN abs(difference_ns) >= 5 END,
          source || ': 5 ns matter') FROM pair;

-- A system call costs more than an instruction. The medians differ even if other processes disturb
-- the measurement.
SELECT cmp_ok(r.median_ns, '<', g.median_ns, 'an instruction costs less than a system call')
FROM compared AS r, compared AS g WHERE r.source IN ('rdtsc', 'cntvct') AND g.source = 'getrusage';
-- Costs agree with those of clock_survey(). Other processes may slow down a measurement, so the
-- minimum of three surveys and three comparisons, made alternately, is used for each clock. Even
-- then the cost of a single clock may be wrong by a multiple. So the median over all clocks of the
-- ratio of the two costs is checked, and the correlation of the two costs.
CREATE TEMP TABLE costs AS
    SELECT source, min(min_ns) AS compared_ns, min(cost_ns) AS surveyed_ns
    FROM generate_series(1, 6) AS turn,
        LATERAL (SELECT source, NULL::numeric AS min_ns, cost_ns FROM clock_survey(duration => 0.4)
            WHERE turn % 2 = 0
                 UNION ALL SELECT source, min_ns, NULL FROM clock_compare('{system, all}', 0.1)
                     WHERE turn % 2 = 1) AS c
    GROUP BY source HAVING min(cost_ns) > 5;
SELECT cmp_ok(percentile_cont(0.5) WITHIN GROUP (ORDER BY compared_ns / surveyed_ns), '>',
    0.5::double precision,
              'costs are more than half of those of clock_survey') FROM costs;
SELECT cmp_ok(percentile_cont(0.5) WITHIN GROUP (ORDER BY compared_ns / surveyed_ns), '<',
    2::double precision,
              'costs are less than twice those of clock_survey') FROM costs;
SELECT cmp_ok(corr(ln(compared_ns), ln(surveyed_ns)), '>', 0.7::double precision,
              'costs of clock_compare and of clock_survey are correlated') FROM costs;

-- Student's t-test of the means
CREATE TEMP TABLE students AS SELECT * FROM clock_compare('{system, getrusage}', 0.05, 'student')
    WITH ORDINALITY;
SELECT ok(abs(b.difference_ns - (b.mean_ns - a.mean_ns)) <= 0.0002,
    'Student''s test: the difference is that of the means')
FROM students AS a, students AS b WHERE a.ordinality = 1 AND b.ordinality = 2;
-- Both samples have the same n, so the pooled variance is the mean of their variances.
SELECT ok(abs(b.pooled_stddev_ns ^ 2 - (b.stddev_ns ^ 2 + a.stddev_ns ^ 2) / 2) <= 0.001 *
    b.pooled_stddev_ns + 0.001,
        'Student''s test: the pooled standard deviation is that of both samples')
FROM students AS a, students AS b WHERE a.ordinality = 1 AND b.ordinality = 2;
-- The number of values per source does not depend on the duration.
SELECT ok(count(*) = 2 AND bool_and(n = 100), 'the shortest duration: 100 values per source')
    FROM clock_compare('{system, getrusage}', 0.000001);

-- Stored runs are compared by the cost of a reading.
CREATE TEMP TABLE runs AS
    SELECT source, clock_measure(source, 0.05) AS run FROM unnest('{time, getrusage}'::text[])
        AS source, generate_series(1, 5);
CREATE TEMP TABLE stored AS
    SELECT c.* FROM (SELECT array_agg(run) FILTER (WHERE source = 'time') AS a,
                            array_agg(run) FILTER (WHERE source = 'getrusage') AS b FROM runs) AS r,
                                clock_compare(a, b) AS c;
SELECT is(array_agg(data || n ORDER BY data), '{a5,b5}', 'a row for each array of runs')
    FROM stored;
SELECT ok(abs(c.median_ns - m.cost_ns) < 0.01, data
    || ': the median is that of the costs of the runs')
FROM stored AS c
JOIN (SELECT run.source, percentile_cont(0.5) WITHIN
    GROUP (ORDER BY (clock_summary(run)).cost_ns)::numeric AS cost_ns
      FROM runs AS run GROUP BY run.source) AS m ON (data = 'a') = (m.source = 'time');
-- All costs of "getrusage" are larger than those of "time". With five different values in each
-- array, p is 2/252, because only 2 of the 252 ways to order the two arrays' values are as extreme.
-- On an idle machine some values are equal. Then p is computed by the normal approximation: by R's
-- wilcox.test it is 0.0119 if two values are equal, and 0.0040 if all five values of each array are
-- equal.
SELECT ok(verdict = 'slower' AND matters AND difference_ns > 0 AND pooled_stddev_ns IS NULL
          AND p_value BETWEEN CASE WHEN equal THEN 0.0039 ELSE 0.0079 END AND CASE WHEN equal
              THEN 0.0120 ELSE 0.0080 END,
          'stored runs: getrusage is slower than time')
FROM stored, (SELECT count(DISTINCT (source, (clock_summary(run)).cost_ns)) < 10 AS equal FROM runs)
    AS costs WHERE data = 'b';
SELECT is((SELECT count(*)::int FROM clock_compare(a, b, plot_width => 74)
    WHERE plot LIKE '%(Hodges-Lehmann shift, Mann-Whitney interval)'), 1,
          'stored runs: the plot names the method of comparison')
FROM (SELECT array_agg(run) FILTER (WHERE source = 'time') AS a,
    array_agg(run) FILTER (WHERE source = 'getrusage') AS b FROM runs) AS r;
SELECT throws_ok('SELECT clock_compare(array_agg(run), array_agg(run)) FROM runs', '22023',
                 'a must contain samples of one clock only',
                     'stored runs: two sources in an array are an error');
SELECT throws_ok($$SELECT clock_compare(array_agg(run) FILTER (WHERE source = 'time'),
    ARRAY[max(run::text)::clock_sample, NULL]) FROM runs$$,
                 '22004', 'b must not contain null values',
                     'stored runs: a run that is NULL is an error');

-- Plots of clock_compare(). By default, they fit a screen; by Student's t, each value is a symbol.
SELECT cmp_ok(count(*), '<=', 50::bigint, 'plot: at most 50 lines')
FROM clock_compare('{system, getrusage}', 0.05, plot_width => 74, separate => true),
    regexp_split_to_table(plot, '\n');
CREATE TEMP TABLE picture AS
    SELECT p.* FROM clock_compare('{system, getrusage}', 0.05, 'student', plot_width => 74,
                                  separate => true),
        regexp_split_to_table(plot, '\n') WITH ORDINALITY AS p(line, i);
SELECT is(array_agg(line ORDER BY i), '{x system,+ getrusage}',
    'plot: the first lines name the clocks') FROM picture WHERE i <= 2;
SELECT ok(max(length(line)) <= 74 AND bool_and(line ~ '^[ -~]*$'),
    'plot: at most 74 columns of ASCII characters')
    FROM picture;
SELECT is(count(*)::int, 3, 'plot: a frame line above and below')
    FROM (SELECT FROM picture WHERE line ~ '^\+-+\+$' UNION ALL SELECT) AS f;
SELECT is(count(*)::int, 2, 'plot: an interval bar for each clock')
    FROM picture WHERE line ~ '^\|.*A.*\|$';
SELECT is(sum(length(line) - length(translate(line, 'x+*', '')) + length(line) -
    length(replace(line, '*', '')))::int,
          200, 'plot: each of the 200 values is shown') FROM picture WHERE line ~ '^\|[ x+*]*\|$';

CREATE TEMP TABLE histogram AS SELECT * FROM clock_histogram('system', 0.1);
SELECT is(max(length(bar)), 40, 'histogram: the longest bar has 40 characters') FROM histogram;
SELECT is(count(*), 0::bigint,
    'histogram: all buckets except empty ones have a bar or a dot') FROM histogram
WHERE (count = 0) IS DISTINCT FROM (bar !~ '^(#+|\.)$');

SELECT * FROM finish();
ROLLBACK;
