-- clock_merge(): a merged sample has the sums and the extremes of its parts.
BEGIN;
SELECT * FROM no_plan();

CREATE FUNCTION pg_temp.number(s clock_sample, name text) RETURNS numeric LANGUAGE sql AS
    $$SELECT (s::jsonb ->> name)::numeric$$;
CREATE FUNCTION pg_temp.numbers(s clock_sample, name text) RETURNS bigint[] LANGUAGE sql AS
    $$SELECT ARRAY(SELECT e::bigint FROM jsonb_array_elements_text(s::jsonb -> name) AS e)$$;

CREATE TEMP TABLE part AS SELECT n, clock_measure('system', 0.02) AS sample
    FROM generate_series(1, 5) AS n;
CREATE TEMP TABLE whole AS SELECT clock_merge(sample) AS sample FROM part;

SELECT is(pg_temp.number(w.sample, 'readings')::bigint,
    (SELECT sum(pg_temp.number(sample, 'readings')::bigint)::bigint FROM part),
        'the readings are added up')
    FROM whole AS w;
SELECT is(pg_temp.number(w.sample, 'gaps')::bigint,
    (SELECT sum(pg_temp.number(sample, 'gaps')::bigint)::bigint FROM part),
        'the gaps are added up') FROM whole AS w;
SELECT is(pg_temp.number(w.sample, 'migrations')::bigint,
    (SELECT sum(pg_temp.number(sample, 'migrations')::bigint)::bigint FROM part),
        'the migrations are added up')
    FROM whole AS w;
SELECT is(pg_temp.number(w.sample, 'gap_max_ns'), (SELECT max(pg_temp.number(sample, 'gap_max_ns'))
    FROM part), 'the longest gap is that of all parts') FROM whole AS w;
SELECT is((w.sample::jsonb ->> 'started_at'), (SELECT min(sample::jsonb ->> 'started_at')
    FROM part), 'started_at is that of the earliest part') FROM whole AS w;
SELECT is(pg_temp.numbers(w.sample, 'cpus'), (SELECT array_agg(DISTINCT c ORDER BY c) FROM part,
    unnest(pg_temp.numbers(sample, 'cpus')) AS c), 'the CPUs are those of all parts')
FROM whole AS w;
SELECT results_eq(
    $$SELECT t, c FROM whole, unnest(pg_temp.numbers(sample, 'ticks'),
        pg_temp.numbers(sample, 'counts')) AS u(t, c) ORDER BY t$$,
    $$SELECT t, sum(c)::bigint FROM part, unnest(pg_temp.numbers(sample, 'ticks'),
        pg_temp.numbers(sample, 'counts')) AS u(t, c) GROUP BY t ORDER BY t$$,
    'the counts of each duration are added up');
SELECT results_eq(
    'SELECT h.le_ns, h.count FROM whole, clock_histogram(sample) AS h WHERE h.count > 0 ORDER BY 1',
    'SELECT h.le_ns, sum(h.count)::bigint FROM part, clock_histogram(sample) AS h '
        'WHERE h.count > 0 GROUP BY 1 ORDER BY 1',
    'the counts of each bucket are added up');
SELECT is(s.max_ns, (SELECT max(p.max_ns) FROM part, clock_summary(part.sample) AS p),
    'the largest duration is that of all parts')
FROM whole, clock_summary(whole.sample) AS s;
SELECT cmp_ok(abs(s.mean_ns - (SELECT sum(p.mean_ns * p.readings) / sum(p.readings) FROM part,
    clock_summary(part.sample) AS p)),
              '<=', 0.01,
                  'the mean is the weighted mean of the parts')
                  FROM whole, clock_summary(whole.sample) AS s;
SELECT cmp_ok(s.mean_margin_ns, '<=', (SELECT max(p.mean_margin_ns) FROM part,
    clock_summary(part.sample) AS p) + 0.01,
              'the margin of the mean is at most the largest one of the parts')
                  FROM whole, clock_summary(whole.sample)
                  AS s
WHERE s.mean_margin_ns IS NOT NULL;

SELECT is((s.cost_ns, s.cost_margin_ns),
          (SELECT (p.cost_ns, p.cost_margin_ns) FROM part, clock_summary(part.sample) AS p
           ORDER BY pg_temp.number(part.sample, 'cost_ns') + pg_temp.number(part.sample,
               'cost_margin_ns') LIMIT 1),
          'the cost is that of the part that was disturbed least')
              FROM whole, clock_summary(whole.sample)
              AS s;

-- The result does not depend on the order of the samples, nor on how many of them are merged at a
-- time.
SELECT is((SELECT row(pg_temp.numbers(m, 'ticks'), pg_temp.numbers(m, 'counts'),
    pg_temp.number(m, 'readings')::bigint, m::jsonb ->> 'started_at',
    pg_temp.numbers(m, 'cpus'))::text
           FROM (SELECT clock_merge(sample ORDER BY n DESC) AS m FROM part) AS x),
          (SELECT row(pg_temp.numbers(sample, 'ticks'), pg_temp.numbers(sample, 'counts'),
              pg_temp.number(sample, 'readings')::bigint, sample::jsonb ->> 'started_at',
              pg_temp.numbers(sample, 'cpus'))::text FROM whole),
          'the order of the samples does not matter');
SELECT is((SELECT row(pg_temp.numbers(m, 'ticks'), pg_temp.numbers(m, 'counts'),
    pg_temp.number(m, 'readings')::bigint)::text
           FROM (SELECT clock_merge(g.m) AS m FROM (SELECT clock_merge(sample) AS m FROM part
               GROUP BY n % 2) AS g) AS x),
          (SELECT row(pg_temp.numbers(sample, 'ticks'), pg_temp.numbers(sample, 'counts'),
              pg_temp.number(sample, 'readings')::bigint)::text FROM whole),
          'merging in two steps has the same result as in one step');

-- A parallel merge has the same result as a serial one.

-- Returns a sample as text, without the last digits of mean_margin_ns, which is a square root.
CREATE FUNCTION pg_temp.text_of(sample clock_sample) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
    SELECT regexp_replace(sample::text, '("mean_margin_ns": \d\.\d{12})\d*', '\1');
$$;
CREATE FUNCTION pg_temp.merge_test(query text, what text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    plan text := '';
    serial text;
    parallel text;
BEGIN
    PERFORM set_config('max_parallel_workers_per_gather', '0', true);
    EXECUTE query INTO serial;
    PERFORM set_config('max_parallel_workers_per_gather', '2', true);
    FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
        plan := plan || line;
    END LOOP;
    RETURN NEXT alike(plan, '%Finalize%Gather%Partial%Aggregate%', what
        || ': the plan is parallel');
    EXECUTE query INTO parallel;
    RETURN NEXT is(parallel, serial, what || ': the result of a parallel plan is the same');
    PERFORM set_config('parallel_leader_participation', 'off', true);
    EXECUTE query INTO parallel;
    RETURN NEXT is(parallel, serial, what
        || ': the result of workers without the leader is the same');
    PERFORM set_config('parallel_leader_participation', 'on', true);
END;
$$;
-- Returns a sample whose numbers are multiples of a power of 2, so that sums do not depend on the
-- order of the summands.
CREATE FUNCTION pg_temp.made(i integer, distinct_ticks integer, spread bigint) RETURNS clock_sample
    LANGUAGE sql AS $$
    SELECT (clock_measure('system', 0.001)::jsonb || jsonb_build_object('started_at',
        format('2026-01-%sT00:00:00Z', 10 + i % 20),
        'duration_s', 0.5, 'advance_s', 0.25 * i, 'frequency_hz', 1e9, 'reference_bound_ns', i,
            'cost_ns', 20 + i % 7, 'cost_margin_ns', 0.5,
        'mean_margin_ns', 0.5, 'granularity_ticks', 1, 'resolution_ns', 1, 'longest_stall', i % 5,
            'backward_steps', i, 'backward_max_ticks', i,
        'warps', 1, 'warp_max_ns', i, 'warp_total_ns', i, 'lags', 2, 'lag_max_ns', i,
            'lag_total_ns', 2 * i,
        'gaps', 3, 'gap_max_ns', i, 'gap_total_ns', 3 * i, 'cpus',
            jsonb_build_array(i % 3, 3 + i % 40), 'migrations', i,
        'readings', 2 * distinct_ticks + i, 'precision_bits', 64,
        'ticks', (SELECT jsonb_agg(i + k * spread ORDER BY k)
            FROM generate_series(1, distinct_ticks) AS k),
        'counts', (SELECT jsonb_agg(2) FROM generate_series(1, distinct_ticks))))::clock_sample;
$$;
CREATE TABLE merge_parts AS
    SELECT i, i % 4 AS g, CASE WHEN i % 10 <> 0 AND i % 4 <> 3 THEN pg_temp.made(i, 32, 256) END
        AS sample FROM generate_series(1, 600) AS i;
CREATE TABLE merge_wide AS SELECT pg_temp.made(i, 800, 100000) AS sample FROM generate_series(1, 60)
    AS i;
CREATE TABLE merge_mixed AS SELECT i, CASE WHEN i = 301
    THEN (sample::jsonb || '{"source": "other"}')::clock_sample ELSE sample END AS sample
    FROM merge_parts;
ALTER TABLE merge_parts SET (parallel_workers = 2);
ALTER TABLE merge_wide SET (parallel_workers = 2);
ALTER TABLE merge_mixed SET (parallel_workers = 2);
ANALYZE merge_parts, merge_wide, merge_mixed;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SELECT pg_temp.merge_test('SELECT pg_temp.text_of(clock_merge(sample)) FROM merge_parts',
    'one group');
SELECT pg_temp.merge_test('SELECT string_agg(g || coalesce(pg_temp.text_of(m), '' nothing''), '
    'E''\n'' ORDER BY g)
    FROM (SELECT g, clock_merge(sample) AS m FROM merge_parts GROUP BY g) AS x',
    'groups, one of them of NULLs');
SELECT pg_temp.merge_test('SELECT (clock_merge(sample) IS NULL)::text FROM merge_parts WHERE g = 3',
    'NULLs alone');
SELECT pg_temp.merge_test('SELECT (clock_merge(sample) IS NULL)::text FROM merge_parts '
    'WHERE -i > 0', 'no rows');
-- Compares only totals, not the single durations. If a sample has more distinct durations than it
-- can store exactly, it rounds them. A parallel merge rounds them twice, and the result depends on
-- the order of the samples.
SELECT pg_temp.merge_test('SELECT concat_ws('' '', m::jsonb -> ''precision_bits'', '
    'm::jsonb -> ''readings'', m::jsonb -> ''ticks'' -> -1,
        (SELECT sum(c::bigint) FROM jsonb_array_elements_text(m::jsonb -> ''counts'') AS c))
    FROM (SELECT clock_merge(sample) AS m FROM merge_wide) AS x',
    'more durations than are kept exactly');
SET LOCAL max_parallel_workers_per_gather = 2;
SELECT throws_ok('SELECT clock_merge(sample) FROM merge_mixed', '22023',
    'cannot merge samples of different clocks', 'a parallel merge of different clocks is an error');

SELECT * FROM finish();
ROLLBACK;
