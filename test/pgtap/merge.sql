-- What is merged equals the parts.
BEGIN;
SELECT * FROM no_plan();

CREATE FUNCTION pg_temp.number(s clock_sample, name text) RETURNS numeric LANGUAGE sql AS
    $$SELECT (s::jsonb ->> name)::numeric$$;
CREATE FUNCTION pg_temp.numbers(s clock_sample, name text) RETURNS bigint[] LANGUAGE sql AS
    $$SELECT ARRAY(SELECT e::bigint FROM jsonb_array_elements_text(s::jsonb -> name) AS e)$$;

CREATE TEMP TABLE part AS SELECT n, clock_measure('system', 0.02) AS sample FROM generate_series(1, 5) AS n;
CREATE TEMP TABLE whole AS SELECT clock_merge(sample) AS sample FROM part;

SELECT is(pg_temp.number(w.sample, 'readings')::bigint, (SELECT sum(pg_temp.number(sample, 'readings')::bigint)::bigint FROM part), 'readings') FROM whole AS w;
SELECT is(pg_temp.number(w.sample, 'gaps')::bigint, (SELECT sum(pg_temp.number(sample, 'gaps')::bigint)::bigint FROM part), 'gaps') FROM whole AS w;
SELECT is(pg_temp.number(w.sample, 'migrations')::bigint, (SELECT sum(pg_temp.number(sample, 'migrations')::bigint)::bigint FROM part), 'migrations') FROM whole AS w;
SELECT is(pg_temp.number(w.sample, 'gap_max_ns'), (SELECT max(pg_temp.number(sample, 'gap_max_ns')) FROM part), 'the longest gap') FROM whole AS w;
SELECT is((w.sample::jsonb ->> 'started_at'), (SELECT min(sample::jsonb ->> 'started_at') FROM part), 'started with the first') FROM whole AS w;
SELECT is(pg_temp.numbers(w.sample, 'cpus'), (SELECT array_agg(DISTINCT c ORDER BY c) FROM part, unnest(pg_temp.numbers(sample, 'cpus')) AS c), 'CPUs')
FROM whole AS w;
SELECT results_eq(
    $$SELECT t, c FROM whole, unnest(pg_temp.numbers(sample, 'ticks'), pg_temp.numbers(sample, 'counts')) AS u(t, c) ORDER BY t$$,
    $$SELECT t, sum(c)::bigint FROM part, unnest(pg_temp.numbers(sample, 'ticks'), pg_temp.numbers(sample, 'counts')) AS u(t, c) GROUP BY t ORDER BY t$$,
    'each duration');
SELECT results_eq(
    'SELECT h.le_ns, h.count FROM whole, clock_histogram(sample) AS h WHERE h.count > 0 ORDER BY 1',
    'SELECT h.le_ns, sum(h.count)::bigint FROM part, clock_histogram(sample) AS h WHERE h.count > 0 GROUP BY 1 ORDER BY 1',
    'each bucket');
SELECT is(s.max_ns, (SELECT max(p.max_ns) FROM part, clock_summary(part.sample) AS p), 'the largest duration')
FROM whole, clock_summary(whole.sample) AS s;
SELECT cmp_ok(abs(s.mean_ns - (SELECT sum(p.mean_ns * p.readings) / sum(p.readings) FROM part, clock_summary(part.sample) AS p)),
              '<=', 0.01, 'the mean') FROM whole, clock_summary(whole.sample) AS s;
SELECT cmp_ok(s.mean_margin_ns, '<=', (SELECT max(p.mean_margin_ns) FROM part, clock_summary(part.sample) AS p) + 0.01,
              'merging does not make the mean less certain') FROM whole, clock_summary(whole.sample) AS s
WHERE s.mean_margin_ns IS NOT NULL;

SELECT is((s.cost_ns, s.cost_margin_ns),
          (SELECT (p.cost_ns, p.cost_margin_ns) FROM part, clock_summary(part.sample) AS p
           ORDER BY pg_temp.number(part.sample, 'cost_ns') + pg_temp.number(part.sample, 'cost_margin_ns') LIMIT 1),
          'the cost of the part that was disturbed least') FROM whole, clock_summary(whole.sample) AS s;

-- in whatever order, in however many steps
SELECT is((SELECT row(pg_temp.numbers(m, 'ticks'), pg_temp.numbers(m, 'counts'), pg_temp.number(m, 'readings')::bigint, m::jsonb ->> 'started_at', pg_temp.numbers(m, 'cpus'))::text
           FROM (SELECT clock_merge(sample ORDER BY n DESC) AS m FROM part) AS x),
          (SELECT row(pg_temp.numbers(sample, 'ticks'), pg_temp.numbers(sample, 'counts'), pg_temp.number(sample, 'readings')::bigint, sample::jsonb ->> 'started_at', pg_temp.numbers(sample, 'cpus'))::text FROM whole),
          'the order does not matter');
SELECT is((SELECT row(pg_temp.numbers(m, 'ticks'), pg_temp.numbers(m, 'counts'), pg_temp.number(m, 'readings')::bigint)::text
           FROM (SELECT clock_merge(g.m) AS m FROM (SELECT clock_merge(sample) AS m FROM part GROUP BY n % 2) AS g) AS x),
          (SELECT row(pg_temp.numbers(sample, 'ticks'), pg_temp.numbers(sample, 'counts'), pg_temp.number(sample, 'readings')::bigint)::text FROM whole),
          'in two steps as in one');

SELECT * FROM finish();
ROLLBACK;
