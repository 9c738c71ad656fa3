-- Comparing clocks as they run.
BEGIN;
SELECT * FROM no_plan();

CREATE TEMP TABLE compared AS SELECT * FROM clock_compare('{system, all}', 20, 2000) WITH ORDINALITY;
SELECT is(array_agg(source ORDER BY ordinality),
          (SELECT array_agg(source ORDER BY source <> 'system') FROM clock_sources WHERE available),
          'a row for each source that is available') FROM compared;
SELECT ok(n = 20 AND min_ns > 0 AND min_ns <= median_ns AND median_ns <= max_ns AND mean_ns BETWEEN min_ns AND max_ns
          AND stddev_ns >= 0, source || ': figures in order') FROM compared;
SELECT ok(num_nulls(difference_ns, difference_margin_ns, difference_percent, difference_margin_percent,
                    pooled_stddev_ns, p_value, verdict) = CASE ordinality WHEN 1 THEN 7 ELSE 0 END,
          source || ': compared with the first') FROM compared;
-- each figure has been rounded by itself
CREATE TEMP VIEW pair AS
    SELECT c.*, f.mean_ns AS first_mean_ns, f.stddev_ns AS first_stddev_ns
    FROM compared AS c, compared AS f WHERE c.ordinality > 1 AND f.ordinality = 1;
SELECT ok(abs(difference_ns - (mean_ns - first_mean_ns)) <= 0.0002, source || ': the difference is that of means') FROM pair;
SELECT ok(abs(difference_percent - difference_ns / first_mean_ns * 100) <= 0.002 + abs(difference_percent) * 1e-4,
          source || ': in percent') FROM pair;
SELECT is(verdict, CASE WHEN p_value < 0.05 THEN 'difference at 95.0% confidence' ELSE 'no difference proven at 95.0% confidence' END,
          source || ': the verdict is that of p') FROM pair;
SELECT is(verdict ~ '^difference', abs(difference_ns) > difference_margin_ns, source || ': and of the margin') FROM pair
WHERE abs(abs(difference_ns) - difference_margin_ns) > 0.001;
-- n is the same for both, so that the pooled variance is the mean of the two
SELECT ok(abs(pooled_stddev_ns ^ 2 - (stddev_ns ^ 2 + first_stddev_ns ^ 2) / 2) <= 0.001 * pooled_stddev_ns + 0.001,
          source || ': pooled') FROM pair;

-- a real system call costs more than RDTSC, whatever else runs here: the
-- medians say so even where others disturb the processor
SELECT cmp_ok(r.median_ns, '<', g.median_ns, 'an instruction costs less than a system call')
FROM compared AS r, compared AS g WHERE r.source = 'rdtsc' AND g.source = 'getrusage';
-- costs are those of the survey: all of them together, since whatever disturbs a processor makes a single one
-- several times as large
CREATE TEMP TABLE costs AS
    SELECT c.source, c.min_ns AS compared_ns, s.cost_ns AS surveyed_ns
    FROM compared AS c JOIN clock_survey() AS s USING (source) WHERE s.cost_ns > 5;
SELECT cmp_ok(percentile_cont(0.5) WITHIN GROUP (ORDER BY compared_ns / surveyed_ns), '>', 0.5::double precision,
              'not half of what the survey says') FROM costs;
SELECT cmp_ok(percentile_cont(0.5) WITHIN GROUP (ORDER BY compared_ns / surveyed_ns), '<', 2::double precision,
              'nor twice as much') FROM costs;
SELECT cmp_ok(corr(ln(compared_ns), ln(surveyed_ns)), '>', 0.7::double precision,
              'what costs more costs more in both') FROM costs;

-- the fewest readings, and the most that are one batch and more
SELECT ok(count(*) = 2, 'one reading a sample') FROM clock_compare('{system, getrusage}', 2, 1);
SELECT ok(bool_and(mean_ns > 0), 'many readings a sample') FROM clock_compare('{system, getrusage}', 2, 100001);

-- pictures
CREATE TEMP TABLE picture AS
    SELECT * FROM clock_compare_plot('{system, getrusage}', 10, 1000, separate => true) WITH ORDINALITY AS p(line, i);
SELECT is(array_agg(line ORDER BY i), '{x system,+ getrusage}', 'names') FROM picture WHERE i <= 2;
SELECT ok(max(length(line)) <= 74 AND bool_and(line ~ '^[ -~]*$'), 'at most 74 columns of ASCII') FROM picture;
SELECT is(count(*)::int, 3, 'frame') FROM (SELECT FROM picture WHERE line ~ '^\+-+\+$' UNION ALL SELECT) AS f;
SELECT is(count(*)::int, 2, 'bars') FROM picture WHERE line ~ '^\|.*A.*\|$';
SELECT is(sum(length(line) - length(translate(line, 'x+*', '')) + length(line) - length(replace(line, '*', '')))::int,
          20, 'every value') FROM picture WHERE line ~ '^\|[ x+*]*\|$';

CREATE TEMP TABLE histogram AS
    SELECT l.line, l.i, s FROM clock_measure('system', 0.1) AS s, clock_histogram_plot(s) WITH ORDINALITY AS l(line, i);
SELECT is((SELECT count(*) - 1 FROM histogram), (SELECT count(*) FROM clock_histogram((SELECT s FROM histogram LIMIT 1))),
          'a bar for each bucket');
SELECT is(max(length(line)), 74, 'the longest bar fills the line') FROM histogram;
SELECT is(count(*), 0::bigint, 'every bucket that is not empty is seen') FROM histogram
WHERE i > 1 AND (line ~ ' 0 \|$') IS DISTINCT FROM (line !~ '\|(#+|\.)$');

SELECT * FROM finish();
ROLLBACK;
