-- clock_compare() and clock_histogram(), with their plots: fixed data and errors. The comparison
-- with ministat is in test/t.
\set VERBOSITY default
\set SHOW_CONTEXT never
-- prints twelve digits, which are the same on every platform
SET extra_float_digits = -3;

CREATE TABLE figures (name text PRIMARY KEY, a float8[], b float8[]);
INSERT INTO figures VALUES
    ('stairs', '{1, 2, 3, 4, 5, 5.5, 6, 7}', '{3, 4, 5, 6, 7, 8, 9, 9.5, 5}'),
    ('ministat''s own', '{50, 200, 150, 400, 750, 400, 150}', '{150, 400, 720, 500, 930}'),
    ('apart', '{10.1, 10.2, 10.3}', '{12.1, 12.5, 12.2, 12.3}'),
    ('one varies', '{5, 5, 5}', '{6, 7, 8, 8, 9, 12}'),
    ('neither varies', '{5, 5, 5}', '{7, 7}'),
    ('the same', '{5, 5, 5}', '{5, 5, 5}'),
    ('below 0', '{-5, -6, -7.5}', '{6, 7, 8, 8, 9, 12}'),
    ('mean of 0', '{-1, 1}', '{2, 3, 4}'),
    ('far from 0', '{123456789.5, 123456790, 123456791}', '{123456789, 123456793, 123456794.25}'),
    ('large and small', '{1e-300, 2e-300, 4e-300}', '{-1e149, 2e149, 1e148}');

SELECT name, data, n, min, max, median, mean, stddev
FROM figures, clock_compare(a, b) ORDER BY name COLLATE "C", data;
-- the method rank, which is the default
SELECT name, difference, difference_margin, difference_percent, verdict, p_value
FROM figures, clock_compare(a, b) WHERE data = 'b' ORDER BY name COLLATE "C";
SELECT name, difference_low, difference_high, difference_margin_percent, pooled_stddev
FROM figures, clock_compare(a, b) WHERE data = 'b' ORDER BY name COLLATE "C";
-- one outlier among ten values hides the difference from a t test, but not from a rank test
SELECT method, difference, difference_low, difference_high, verdict
FROM unnest('{rank, student, welch}'::text[]) AS method,
     clock_compare('{22.1, 22.2, 22.3, 22.4, 22.5, 80, 22.6, 22.7, 22.8, 22.9}'::float8[],
                   '{18.1, 18.2, 18.3, 18.4, 18.5, 18.6, 18.7, 18.8, 95, 18.9}', method)
                       WHERE data = 'b';
-- Student's t test
SELECT name, difference, difference_margin, difference_percent, difference_margin_percent,
    pooled_stddev, p_value, verdict
FROM figures, clock_compare(a, b, 'student') WHERE data = 'b' ORDER BY name COLLATE "C";
-- Welch's t test
SELECT name, difference, difference_margin, pooled_stddev, p_value, verdict
FROM figures, clock_compare(a, b, method => 'Welch') WHERE data = 'b' ORDER BY name COLLATE "C";
-- the row of the first data set has no comparison
SELECT DISTINCT difference, difference_margin, difference_percent, verdict, p_value, difference_low,
    difference_high,
    difference_margin_percent, pooled_stddev
FROM figures, unnest('{rank, student}'::text[]) AS method, clock_compare(a, b, method)
    WHERE data = 'a';
-- exchanging the data sets changes only signs
SELECT method, bool_and(x.difference = -y.difference AND x.difference_margin IS NOT DISTINCT
    FROM y.difference_margin
    AND x.difference_low IS NOT DISTINCT FROM -y.difference_high
    AND x.verdict = CASE y.verdict WHEN 'lower' THEN 'higher'
        WHEN 'higher' THEN 'lower' ELSE y.verdict END
    AND x.p_value IS NOT DISTINCT FROM y.p_value) AS symmetric
FROM figures, unnest('{rank, student, welch}'::text[]) AS method,
     clock_compare(a, b, method) AS x, clock_compare(b, a, method) AS y
WHERE x.data = 'b' AND y.data = 'b' GROUP BY method ORDER BY method;

-- any confidence level: the margin grows with it, and the verdict agrees with the p-value
SELECT confidence, difference_margin, difference_margin > lag(difference_margin) OVER w AS grows,
       (verdict ~ 'er$') = (p_value < 1 - confidence / 100) AS agrees, verdict
FROM figures,
    unnest('{50, 60, 80, 90, 90.0, 95, 95.00, 98, 99, 99.5, 99.50, 99.95, 99.999999, '
    '99.99999999999999999999}'::numeric[])
    WITH ORDINALITY AS c(confidence, i), clock_compare(a, b, 'student', confidence)
WHERE name = 'stairs' AND data = 'b' WINDOW w AS (ORDER BY i) ORDER BY i;
SELECT confidence, difference_low, difference_high, verdict
FROM figures, unnest('{50, 80, 90, 95, 99, 99.99, 99.999999}'::numeric[])
    WITH ORDINALITY AS c(confidence, i), clock_compare(a, b, confidence => confidence)
WHERE name = 'stairs' AND data = 'b' ORDER BY i;
-- confidence levels between which the verdict changes
SELECT method, confidence, p_value, c.verdict
FROM figures, (VALUES ('student', 93.41), ('student', 93.42), ('rank', 88.94), ('rank', 88.95))
    AS l(method, confidence),
     clock_compare(a, b, method, confidence) AS c WHERE name = 'stairs' AND data = 'b' ORDER BY 1,
         2;

-- calls that resolve to different signatures of the function
SELECT verdict FROM clock_compare(ARRAY[1.0, 2.0], ARRAY[1.5, 4, 8]) WHERE data = 'b';
SELECT verdict FROM clock_compare(ARRAY[1, 2], ARRAY[3, 4]) WHERE data = 'b';
SELECT verdict FROM clock_compare('{1, 2}'::float8[], '{3, 4}', 'rank', 60) WHERE data = 'b';
SELECT verdict FROM clock_compare('{1, 2}', '{3, 4}'::float8[]) WHERE data = 'b';
SELECT verdict FROM clock_compare(a => '{1, 2}', b => '{3, 4}'::float8[]) WHERE data = 'b';
SELECT verdict FROM clock_compare('{1, 2}', ARRAY[3::real, 4::real]) WHERE data = 'b';
SELECT source, n FROM clock_compare('{system}', 0.01);
SELECT source, n FROM clock_compare('{system}', 0.01, 'student', 99);
SELECT source, n FROM clock_compare(sources => '{system}', duration => 0.01, method => 'welch');
SELECT source, n FROM clock_compare(ARRAY['system'], 0.01);
-- ambiguous calls, whose error messages differ between versions of PostgreSQL
\set VERBOSITY sqlstate
SELECT count(*) FROM clock_compare('{1, 2}', '{3, 4}');
SELECT count(*) FROM clock_compare(a => '{1, 2}', b => '{3, 4}');
\set VERBOSITY default
-- neither the order of the values nor the bounds of the array matter
SELECT DISTINCT difference FROM clock_compare('[5:7]={3, 1, 2}'::float8[], '{6, 4, 5}')
    WHERE data = 'b';

-- plots of clock_compare()
SELECT regexp_split_to_table(plot, '\n') AS plot FROM figures, clock_compare(a, b, plot_width => 74)
    WHERE name = 'stairs';
SELECT regexp_split_to_table(plot, '\n') AS plot FROM figures, clock_compare(a, b, plot_width => 60,
    separate => true) WHERE name = 'ministat''s own';
SELECT regexp_split_to_table(plot, '\n') AS plot FROM figures, clock_compare(a, b, 'student', 80,
    100) WHERE name = 'ministat''s own';
SELECT regexp_split_to_table(plot, '\n') AS plot FROM figures, clock_compare(a, b, 'welch', 99.5,
    plot_width => 74) WHERE name = 'apart';
SELECT regexp_split_to_table(plot, '\n') AS plot FROM figures, clock_compare(a, b, plot_width => 74)
    WHERE name = 'below 0';
SELECT regexp_split_to_table(plot, '\n') AS plot FROM figures, clock_compare(b, a, 'rank', 90, 60,
    true) WHERE name = 'stairs';
SELECT regexp_split_to_table(plot, '\n') AS plot FROM figures, clock_compare(a, b, plot_width => 74)
    WHERE name = 'neither varies';
SELECT regexp_split_to_table(plot, '\n') AS plot FROM figures, clock_compare(a, b, 'student',
    plot_width => 74) WHERE name = 'neither varies';
SELECT regexp_split_to_table(plot, '\n') AS plot FROM figures, clock_compare(a, b, plot_width => 74)
    WHERE name = 'the same';
SELECT regexp_split_to_table(plot, '\n') AS plot FROM figures, clock_compare(a, b, plot_width => 74)
    WHERE name = 'mean of 0';
SELECT regexp_split_to_table(plot, '\n') AS plot FROM figures, clock_compare(a, b, plot_width => 60)
    WHERE name = 'large and small';
-- a plot shows every value, but a symbol of a high stack stands for several values
SELECT count(*) < 50 AS not_too_tall, max(length(line)) AS longest,
    min(line) FILTER (WHERE line LIKE '(%') AS says
FROM clock_compare(array_fill(1::float8, '{5000}') || 2::float8, '{1, 2}', plot_width => 74),
    regexp_split_to_table(plot, '\n') AS line;
SELECT count(*) > 5 AS lines, max(length(line)) AS longest, bool_and(line ~ '^[ -~]*$') AS ascii
FROM figures, clock_compare(a, b, 'student',
    99.99999999999999999999999999999999999999999999999999999999, 74),
     regexp_split_to_table(plot, '\n') AS line;

-- bars of clock_histogram()
CREATE FUNCTION pg_temp.sample(ticks bigint[], counts bigint[]) RETURNS clock_sample LANGUAGE sql
    AS $$
    SELECT ('{"version": 1,
        "source": "made", "clock": "by hand", "started_at": "2026-01-01T00:00:00Z",
        "duration_s": 0.000001,
        "frequency_hz": 1e9, "resolution_ns": 1, "granularity_ticks": 10, "mean_margin_ns": 0.5,
        "cost_ns": 9.5, "cost_margin_ns": 0.25,
        "advance_s": 0.000001, "reference_bound_ns": 0.1, "longest_stall": 2,
        "backward_steps": 0, "backward_max_ticks": 0,
        "warps": 0, "warp_max_ns": 0, "warp_total_ns": 0, "lags": 0, "lag_max_ns": 0,
        "lag_total_ns": 0,
        "gaps": 0, "gap_max_ns": 0, "gap_total_ns": 0, "cpus": [1, 3], "migrations": 4,
        "precision_bits": 64}'::jsonb
        || jsonb_build_object('ticks', ticks, 'counts', counts, 'readings',
            (SELECT sum(c) FROM unnest(counts) AS c)))::clock_sample $$;
SELECT * FROM clock_histogram(pg_temp.sample('{0, 1, 3, 4, 20, 500}', '{1, 1, 1, 2, 4, 1}'));
-- a count that is too small for a bar has a dot
SELECT le_ns, count, bar FROM clock_histogram(pg_temp.sample('{10, 20, 70, 5000}',
    '{123456789, 12345678, 1, 3}'));
SELECT * FROM clock_histogram(pg_temp.sample('{0}', '{1}'));
SELECT count(*), max(length(bar)) AS longest FROM
    clock_histogram(pg_temp.sample('{1, 9000000000000000000}', '{4000000000000000000, 3}'));

-- stored runs: the value of a run is its cost of a reading
CREATE FUNCTION pg_temp.runs(costs float8[], source text DEFAULT 'made') RETURNS clock_sample[]
    LANGUAGE sql AS $$
    SELECT array_agg((pg_temp.sample('{1, 2}', '{3, 4}')::jsonb || jsonb_build_object('cost_ns',
        nullif(cost, 'NaN'), 'source', source))::clock_sample ORDER BY i)
    FROM unnest(costs) WITH ORDINALITY AS c(cost, i) $$;
SELECT data, n, median_ns, difference_ns, difference_margin_ns, difference_percent, verdict, p_value
FROM clock_compare(pg_temp.runs('{22.1, 22.3, 22.2, 38, 22.4}'),
    pg_temp.runs('{18.1, 18.3, 18.2, 18.4}', 'other'));
SELECT data, n, mean_ns, difference_ns, pooled_stddev_ns, verdict
FROM clock_compare(pg_temp.runs('{22.1, 22.3, 22.2, 38, 22.4}'),
    pg_temp.runs('{18.1, 18.3, 18.2, 18.4}'), 'student', 99);
SELECT regexp_split_to_table(plot, '\n') AS plot
FROM clock_compare(pg_temp.runs('{22.1, 22.3, 22.2, 38, 22.4}'),
    pg_temp.runs('{18.1, 18.3, 18.2, 18.4}'), plot_width => 60);

-- sources: each once, in the given order; unavailable ones are omitted
SELECT source, n, min_ns <= median_ns AND median_ns <= max_ns AND mean_ns BETWEEN min_ns AND max_ns
    AS ordered,
       difference_ns IS NULL AS first, p_value BETWEEN 0 AND 1 AS p,
       verdict IN ('no difference proven', 'faster', 'slower', 'differs') AS verdict,
       matters IS NOT DISTINCT FROM CASE WHEN verdict <> 'no difference proven'
                                         THEN abs(difference_ns) >= 5 END AS matters
FROM clock_compare('{SYSTEM, getrusage, system, Monotonic, getrusage}', 0.01, confidence => 90);
SELECT array_agg(source) = (SELECT array_agg(source) FROM clock_sources WHERE available)
    AS those_available
FROM clock_compare('{all}', 0.01);
-- with one source, there is nothing to compare
SELECT count(*), bool_and(difference_ns IS NULL AND verdict IS NULL) AS alone
    FROM clock_compare('{system}', 0.01);
SELECT plot ~ 'onfidence' AS verdict FROM clock_compare('{system}', 0.01, plot_width => 74);
SELECT line AS names
FROM clock_compare('{system, getrusage, time, times, clock, realtime, gettimeofday}', 0.01,
    plot_width => 74),
     regexp_split_to_table(plot, '\n') WITH ORDINALITY AS p(line, i) WHERE i <= 7 ORDER BY i;
-- without plot_width there is no plot
SELECT count(plot) AS plots FROM clock_compare('{system, time}', 0.01);

-- invalid arguments
SELECT * FROM clock_compare('{nosuch}');
SELECT * FROM clock_compare('{}');
SELECT * FROM clock_compare('{system, NULL}');
SELECT * FROM clock_compare(sources => NULL);
SELECT * FROM clock_compare('{system}', 0);
SELECT * FROM clock_compare('{system}', 'Infinity'::float8);
SELECT * FROM clock_compare('{system}', NULL::float8);
SELECT * FROM clock_compare('{system}', method => 'ranks');
SELECT * FROM clock_compare('{system}', method => NULL);
SELECT * FROM clock_compare('{1, 2}'::float8[], '{3, 4}', '');
SELECT * FROM clock_compare('{system}', method => 't', plot_width => 74);
SELECT * FROM clock_compare('{system}', confidence => NULL);
SELECT * FROM clock_compare('{system}', confidence => 0);
SELECT * FROM clock_compare('{system}', confidence => 0.95);
SELECT * FROM clock_compare('{system}', confidence => 100);
SELECT * FROM clock_compare('{system}', confidence => -5);
SELECT * FROM clock_compare('{system}', confidence => 100.0000000000000000000000000001);
SELECT * FROM clock_compare('{system}', confidence => 'NaN');
SELECT * FROM clock_compare('{system}', confidence => 'Infinity');
SELECT * FROM clock_compare('{system}', confidence => 1e-330);
SELECT * FROM
    clock_compare('{system,realtime,monotonic,process_cputime,gettimeofday,getrusage,times,time}',
    plot_width => 74);
SELECT * FROM clock_compare('{system}', plot_width => 59);
SELECT * FROM clock_compare('{system}', plot_width => 1001);
SELECT * FROM clock_compare('{1, 2}'::float8[], '{3, 4}', plot_width => 0);
SELECT * FROM clock_compare('{1, 2}'::float8[], NULL);
SELECT * FROM clock_compare(NULL::float8[], '{1, 2}');
SELECT * FROM clock_compare('{}'::float8[], '{1, 2}');
SELECT * FROM clock_compare('{1, 2}'::float8[], '{1}');
SELECT * FROM clock_compare('{1, NULL}'::float8[], '{1, 2}');
SELECT * FROM clock_compare('{1, 2}'::float8[], '{1, NaN}');
SELECT * FROM clock_compare('{1, -Infinity}'::float8[], '{1, 2}');
SELECT * FROM clock_compare('{1, 2}'::float8[], '{1, -1e150}');
SELECT * FROM clock_compare('{{1, 2}, {3, 4}}'::float8[], '{1, 2}');
SELECT * FROM clock_compare(array_fill(1::float8, '{1000001}'), '{1, 2}');
SELECT * FROM clock_compare('{1, 2}'::float8[], '{3, 4}', confidence => 100);
SELECT * FROM clock_compare(pg_temp.runs('{1, 2}'), pg_temp.runs('{3, 4}')
    || pg_temp.runs('{5}', 'other'));
SELECT * FROM clock_compare(array_append(pg_temp.runs('{1, 2}'), NULL), pg_temp.runs('{3, 4}'));
SELECT * FROM clock_compare(pg_temp.runs('{1, 2}'), pg_temp.runs('{3}'));
SELECT * FROM clock_compare(pg_temp.runs('{1, NaN}'), pg_temp.runs('{3, 4}'));
SELECT * FROM clock_compare(NULL::clock_sample[], pg_temp.runs('{3, 4}'));
SELECT * FROM clock_compare(pg_temp.runs('{1, 2}'), pg_temp.runs('{3, 1e200}'));

-- An outlier beyond the range of integers is at the end of the plot where it belongs.
\pset format unaligned
\pset tuples_only on
SELECT plot FROM clock_compare(
    (SELECT array_agg(1 + g / 1000.0) || 1e12 FROM generate_series(1, 100) g)::float8[],
    (SELECT array_agg(1.5 + g / 1000.0) FROM generate_series(1, 100) g)::float8[],
    plot_width => 74) WHERE plot IS NOT NULL;
\pset format aligned
\pset tuples_only off

DROP TABLE figures;
