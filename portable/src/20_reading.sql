-- Readings of the system clock by clock_timestamp(), which calls gettimeofday(). EXPLAIN up to
-- PostgreSQL 18 calls clock_gettime(). On Linux, both functions read the same kernel clock through
-- the vDSO, that is, without a system call.

-- Each row of a query times three expressions. The first has 100 calls of clock_timestamp(). In the
-- second, every other call is replaced by statement_timestamp(), which reads no clock. So the cost
-- of a reading is a fiftieth of the difference between these two. The third expression has 100
-- calls of statement_timestamp().
--
-- A processor executes the code of a call while it waits for the clock that the previous call
-- reads. So this code costs less beside readings than alone. Therefore the second expression keeps
-- 50 calls of clock_timestamp(). If the first expression were compared with the third, a reading
-- would seem 2 to 3 ns cheaper.
--
-- The difference includes the conversion of gettimeofday()'s result to microseconds since
-- PostgreSQL's epoch, which EXPLAIN does not need. The conversion is assumed to cost 0.3 times as
-- much as a call of statement_timestamp(), which the third expression measures. On the measured
-- machines, it cost 1 to 2 ns of a reading's 25 ns. The assumed cost is subtracted. It is also
-- added to the margin, because it may be wrong for this processor.
--
-- If the kernel's clock can only be read by a system call, gettimeofday() may be a fifth cheaper
-- than clock_gettime(). In this case, or if clock_timestamp() advances in steps of more than a
-- microsecond, the cost of a reading is measured with EXPLAIN: it is half of
-- EXPLAIN's cost of timing a call. The error is at most a twentieth of EXPLAIN's cost, because the
-- processor does not overlap system calls with other work.
--
-- The first function measures the cost without EXPLAIN. Its result is null if clock_timestamp()
-- advances in steps of more than a microsecond.
CREATE FUNCTION @extschema@.internal_clock_direct_cost(
    duration double precision, step_us double precision,
    OUT cost_ns double precision, OUT cost_margin_ns double precision)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
    clock constant text := 'clock_timestamp()';
    other constant text := 'statement_timestamp()';
    -- clock_timestamp() has a resolution of a microsecond, so only means over many rows are
    -- precise. Omits a row if one of its expressions took longer than the median plus 10 % plus
    -- 2 us, because the row was disturbed.
    block constant text := format($q$
        WITH readings AS MATERIALIZED (
            SELECT %1$s AS t0, num_nonnulls(%2$s), %1$s AS t1, num_nonnulls(%3$s),
                   %1$s AS t2, num_nonnulls(%4$s), %1$s AS t3
            FROM generate_series(1, $1)
        ), times AS (
            SELECT extract(epoch FROM t1 - t0)::double precision * 1e9 AS a,
                   extract(epoch FROM t2 - t1)::double precision * 1e9 AS b,
                   extract(epoch FROM t3 - t2)::double precision * 1e9 AS c FROM readings
        ), most AS (
            SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY a) * 1.1 + 2000 AS a,
                   percentile_disc(0.5) WITHIN GROUP (ORDER BY b) * 1.1 + 2000 AS b,
                   percentile_disc(0.5) WITHIN GROUP (ORDER BY c) * 1.1 + 2000 AS c FROM times
        )
        SELECT avg(t.a), avg(t.b), avg(t.c) FROM times AS t, most
        WHERE t.a BETWEEN 0 AND most.a AND t.b BETWEEN 0 AND most.b AND t.c BETWEEN 0 AND most.c
        $q$, clock, rtrim(repeat(clock || ',', 100), ','),
        rtrim(repeat(clock || ',' || other || ',', 50), ','),
        rtrim(repeat(other || ',', 100), ','));
    system_call_ns constant integer := 100;
    -- duration of a block in seconds
    block_s constant double precision := least(0.02, duration / 10);
    rows integer := 20;
    until timestamptz := clock_timestamp() + duration * interval '1 s';
    -- latest end, at which fewer than 5 blocks must do
    latest timestamptz := until
        + least(0.3, (@extschema@.internal_clock_left()).seconds / 16) * interval '1 s';
    started timestamptz;
    took double precision := 0;
    a double precision; b double precision; c double precision;
    sums double precision[] := '{}';
    costs double precision[] := '{}';
    calls double precision[] := '{}';
BEGIN
    WHILE step_us = 1 LOOP
        started := clock_timestamp();
        EXECUTE block INTO a, b, c USING rows;
        took := extract(epoch FROM clock_timestamp() - started);
        -- the first block, of 20 rows, only determines the number of rows that take as long as a
        -- block should, unless it has already taken longer
        IF rows > 20 OR took > block_s THEN
            sums := sums || a + b;
            costs := costs || (a - b) / 50;
            calls := calls || c / 100;
        END IF;
        rows := least(greatest(block_s / nullif(a + b + c, 0) * 1e9, 20), 4000);
        EXIT WHEN cardinality(costs) >= 5
                AND (clock_timestamp() >= until OR a > 100 * system_call_ns)
            OR cardinality(costs) > 0 AND clock_timestamp() >= latest;
    END LOOP;
    -- uses the faster half of the blocks, because the processor may have been slower in the rest
    SELECT avg(cost - 0.3 * call),
           sqrt(avg(0.3 * call) ^ 2
                + (@extschema@.internal_clock_t(count(*) - 1) ^ 2 * var_samp(cost) / count(*)))
    INTO cost_ns, cost_margin_ns
    FROM (SELECT * FROM unnest(sums, costs, calls) AS u(sum, cost, call)
          ORDER BY sum LIMIT (cardinality(sums) + 1) / 2) AS fast;
    IF cost_ns > system_call_ns THEN
        cost_margin_ns := sqrt(cost_margin_ns ^ 2 + (0.3 * cost_ns) ^ 2);
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.internal_clock_direct_cost(double precision, double precision) IS
    'internal: returns the cost of reading the system clock, in nanoseconds, measured without '
    'EXPLAIN';

CREATE FUNCTION @extschema@.internal_clock_cost(duration double precision,
    OUT cost_ns double precision, OUT cost_margin_ns double precision)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    step_us constant double precision := @extschema@.internal_clock_step();
    until timestamptz := clock_timestamp() + duration * interval '1 s';
BEGIN
    SELECT c.* INTO cost_ns, cost_margin_ns
    FROM @extschema@.internal_clock_direct_cost(duration, step_us) AS c;
    IF (cost_ns > 100 OR step_us > 1)
        AND @extschema@.internal_clock_clock() <> 'RDTSC' THEN
        -- measures for a second, unless a timeout is near; if the margin of EXPLAIN's measurement
        -- is too wide, keeps the previous result
        SELECT coalesce(max(o.timing_ns) / 2, cost_ns),
               coalesce(sqrt(max(o.timing_margin_ns / 2) ^ 2 + (0.05 * max(o.timing_ns)) ^ 2),
                        cost_margin_ns)
        INTO cost_ns, cost_margin_ns
        FROM @extschema@.internal_clock_overhead(1000, 'generate_series',
                 greatest(extract(epoch FROM until - clock_timestamp()),
                          least(1, (@extschema@.internal_clock_left()).seconds / 6)),
                 step_us) AS o
        WHERE o.timing_margin_ns < 0.3 * o.timing_ns;
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.internal_clock_cost(double precision) IS
    'internal: returns the cost of reading the system clock, in nanoseconds, as EXPLAIN reads it '
    'up to PostgreSQL 18';

-- timing_clock_source is a setting of PostgreSQL 19. It is "tsc" or "auto (tsc)" if EXPLAIN reads
-- the TSC.
CREATE FUNCTION @extschema@.internal_clock_clock() RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN current_setting('timing_clock_source', true) LIKE '%tsc%' THEN 'RDTSC'
                WHEN version() LIKE '%linux%' THEN 'clock_gettime (CLOCK_MONOTONIC)'
                ELSE 'system clock' END
$$;
COMMENT ON FUNCTION @extschema@.internal_clock_clock() IS
    'internal: returns the clock that EXPLAIN reads, RDTSC or the system clock';

CREATE FUNCTION @extschema@.internal_clock_source(source text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tsc constant boolean := @extschema@.internal_clock_clock() = 'RDTSC';
BEGIN
    IF source IS NULL THEN
        RAISE EXCEPTION 'source must not be null' USING ERRCODE = 'null_value_not_allowed';
    ELSIF source IN ('system', 'gettimeofday') OR source = 'instr_time' AND NOT tsc THEN
        RETURN source;
    ELSIF source = ANY ('{instr_time,rdtsc,rdtscp,realtime,realtime_coarse,monotonic,'
                        'monotonic_coarse,monotonic_raw,boottime,tai,process_cputime,'
                        'thread_cputime,clock,getrusage,times,time,cntvct}') THEN
        RAISE EXCEPTION 'clock source "%" is not available on this server', source
            USING ERRCODE = 'feature_not_supported',
            DETAIL = 'Only the C extension can read this clock source. SQL can read only the '
                     'clock of clock_timestamp().',
            HINT = 'Sources that can be read are system and gettimeofday.';
    END IF;
    RAISE EXCEPTION 'unknown clock source "%"', source USING ERRCODE = 'invalid_parameter_value',
        HINT = 'Sources that can be read are system and gettimeofday.';
END
$$;
COMMENT ON FUNCTION @extschema@.internal_clock_source(text) IS
    'internal: checks the name of a clock source to be read';

-- Reads the clock in blocks of 200 rows. A row has 100 readings, with some nanoseconds of work
-- between them. After each block, the durations between readings are counted. Counting takes longer
-- than reading, so duration_s includes only the time of the readings.
CREATE FUNCTION @extschema@.internal_clock_durations(duration double precision) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
    block constant text := format('SELECT array_agg(ARRAY[%s]) FROM generate_series(1, 200)',
        rtrim(repeat('clock_timestamp(),', 100), ','));
    started_at constant timestamptz := clock_timestamp();
    until constant timestamptz := started_at + duration * interval '1 s';
    step_us constant double precision := @extschema@.internal_clock_step();
    -- a gap is a duration of 10 us or more, or of two steps
    gap_us constant double precision := greatest(10, 2 * step_us);
    readings timestamptz[];
    stall bigint;
    backward boolean;
    longest_stall bigint := 0;
    counts jsonb;
    of_blocks jsonb[] := '{}';
    result jsonb;
BEGIN
    LOOP
        EXECUTE block INTO readings;
        -- Counts equal readings, and the steps between different ones, which is fast. If equal
        -- readings are not adjacent, the clock went backwards. Only then compares each reading with
        -- the previous one.
        WITH same AS (
            SELECT t, count(*) AS n, min(i) AS first, max(i) - min(i) >= count(*) AS apart
            FROM unnest(readings) WITH ORDINALITY AS u(t, i) GROUP BY t
        ), steps AS (
            SELECT t - lag(t) OVER (ORDER BY first) AS d, 1 AS n FROM same
            UNION ALL SELECT interval '0', sum(n) - count(*) FROM same
        )
        SELECT jsonb_object_agg(extract(epoch FROM d)::numeric * 1000000, n),
               (SELECT max(n) - 1 FROM same), (SELECT bool_or(apart) FROM same)
        INTO counts, stall, backward
        FROM (SELECT d, sum(n) AS n FROM steps WHERE d IS NOT NULL GROUP BY d) AS counted;
        IF backward THEN
            SELECT jsonb_object_agg(extract(epoch FROM d)::numeric * 1000000, n) INTO counts
            FROM (SELECT d, count(*) AS n
                  FROM (SELECT t - lag(t) OVER () AS d FROM unnest(readings) AS t) AS differences
                  WHERE d IS NOT NULL GROUP BY d) AS counted;
        END IF;
        longest_stall := greatest(longest_stall, stall);
        of_blocks := of_blocks || counts;
        EXIT WHEN clock_timestamp() >= until;
    END LOOP;
    SELECT jsonb_build_object('version', 1, 'source', 'system', 'clock', 'clock_timestamp()',
        'started_at', to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        -- the bound of the clock's error is the whole duration, because SQL has no other clock for
        -- comparison
        'duration_s', s, 'advance_s', s, 'reference_bound_ns', s * 1000000000,
        'frequency_hz', 1000000, 'resolution_ns', 1000, 'granularity_ticks', step_us,
        'readings', n, 'mean_margin_ns', margin, 'cost_ns', NULL, 'cost_margin_ns', NULL,
        'longest_stall', longest_stall,
        'backward_steps', back, 'backward_max_ticks', back_max,
        'warps', 0, 'warp_max_ns', 0, 'warp_total_ns', 0,
        'lags', 0, 'lag_max_ns', 0, 'lag_total_ns', 0,
        'gaps', gaps, 'gap_max_ns', gap_max * 1000, 'gap_total_ns', gap_total * 1000,
        'cpus', '[]'::jsonb, 'migrations', 0, 'precision_bits', 64, 'ticks', ticks, 'counts', ns)
    INTO result
    FROM (SELECT greatest(sum(us * n) / 1000000, 0) AS s, sum(n) AS n,
                 coalesce(sum(n) FILTER (WHERE us < 0), 0) AS back,
                 coalesce(-min(us) FILTER (WHERE us < 0), 0) AS back_max,
                 coalesce(sum(n) FILTER (WHERE us >= gap_us), 0) AS gaps,
                 coalesce(max(us) FILTER (WHERE us >= gap_us), 0) AS gap_max,
                 coalesce(sum(us * n) FILTER (WHERE us >= gap_us), 0) AS gap_total,
                 jsonb_agg(us ORDER BY us) FILTER (WHERE us >= 0) AS ticks,
                 jsonb_agg(n ORDER BY us) FILTER (WHERE us >= 0) AS ns
          FROM (SELECT key::numeric::bigint AS us, sum(value::bigint) AS n
                FROM unnest(of_blocks) AS b, jsonb_each_text(b) GROUP BY 1) AS per_us) AS run,
         (SELECT @extschema@.internal_clock_t(count(*) - 1) * stddev_samp(mean) / sqrt(count(*))
                 AS margin
          FROM (SELECT sum(key::numeric * value::numeric) * 1000 / sum(value::numeric) AS mean
                FROM unnest(of_blocks) WITH ORDINALITY AS b(o, i), jsonb_each_text(o)
                GROUP BY i) AS means) AS spread;
    IF (result ->> 'backward_steps')::bigint > 0 THEN
        RAISE WARNING 'clock source "system" went backwards'
            USING DETAIL = format('Backward steps: %s, the largest of %s ns, in %s readings.',
                result ->> 'backward_steps', (result ->> 'backward_max_ticks')::bigint * 1000,
                result ->> 'readings');
    END IF;
    RETURN result;
END
$$;
COMMENT ON FUNCTION @extschema@.internal_clock_durations(double precision) IS
    'internal: returns a run of successive readings of clock_timestamp() as the text of a '
    'clock_sample';

CREATE FUNCTION @extschema@.clock_measure(
    source text DEFAULT 'system', duration double precision DEFAULT 3) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    until timestamptz;
    cost record;
BEGIN
    source := @extschema@.internal_clock_source(source);
    duration := @extschema@.internal_clock_duration(duration);
    until := clock_timestamp() + duration * interval '1 s';
    cost := @extschema@.internal_clock_cost(duration / 5);
    RETURN @extschema@.internal_clock_durations(greatest(
               extract(epoch FROM until - clock_timestamp()), 0.2 * duration))
        || jsonb_build_object('source', source, 'cost_ns', cost.cost_ns,
                              'cost_margin_ns', cost.cost_margin_ns);
END
$$;
COMMENT ON FUNCTION @extschema@.clock_measure(text, double precision) IS
    'reads clock_timestamp() for some seconds (3) and returns the run as JSON, which the C '
    'extension can cast to clock_sample; a fifth of the time is spent on the cost of a reading';

CREATE FUNCTION @extschema@.clock_summary(sample jsonb,
    OUT source text, OUT clock text, OUT cost_ns numeric, OUT cost_margin_ns numeric,
    OUT duration_s numeric, OUT readings bigint,
    OUT loop_ns numeric, OUT mean_ns numeric, OUT mean_margin_ns numeric, OUT stddev_ns numeric,
    OUT min_ns numeric, OUT p50_ns numeric, OUT p90_ns numeric, OUT p99_ns numeric,
    OUT p999_ns numeric, OUT p9999_ns numeric, OUT max_ns numeric,
    OUT granularity_ticks numeric, OUT granularity_ns numeric,
    OUT stalls bigint, OUT longest_stall bigint,
    OUT backward_steps bigint, OUT backward_max_ns numeric,
    OUT warps bigint, OUT warp_max_ns numeric, OUT lags bigint, OUT lag_max_ns numeric,
    OUT gaps bigint, OUT gap_max_ns numeric, OUT lost_ms numeric, OUT lost_percent numeric,
    OUT rate_ppm numeric, OUT rate_bound_ppm numeric,
    OUT cpus integer[], OUT migrations bigint,
    OUT warp_total_ns numeric, OUT lag_total_ns numeric, OUT resolution_ns numeric,
    OUT precision_bits integer, OUT frequency_hz double precision, OUT started_at timestamptz)
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
    ns constant numeric := 1000000000 / (sample ->> 'frequency_hz')::numeric;
    ticks constant numeric[] := ARRAY(
        SELECT t::numeric FROM jsonb_array_elements_text(sample -> 'ticks') AS t);
    counts constant numeric[] := ARRAY(
        SELECT t::numeric FROM jsonb_array_elements_text(sample -> 'counts') AS t);
    step constant numeric := coalesce((sample ->> 'granularity_ticks')::numeric, 1);
    quantiles numeric[];
BEGIN
    IF sample IS NULL THEN
        RAISE EXCEPTION 'sample must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    source := sample ->> 'source';
    clock := sample ->> 'clock';
    cost_ns := round((sample ->> 'cost_ns')::numeric, 2);
    cost_margin_ns := round((sample ->> 'cost_margin_ns')::numeric, 2);
    duration_s := round((sample ->> 'duration_s')::numeric, 3);
    readings := sample ->> 'readings';
    loop_ns := round((sample ->> 'duration_s')::numeric * 1000000000 / nullif(readings, 0), 2);
    mean_margin_ns := round((sample ->> 'mean_margin_ns')::numeric, 2);
    SELECT round(mean, 2), round(sqrt(sum(n * (t - mean) ^ 2) / nullif(sum(n) - 1, 0)), 2)
    INTO mean_ns, stddev_ns
    FROM (SELECT t * ns AS t, n, sum(t * ns * n) OVER () / sum(n) OVER () AS mean
          FROM unnest(ticks, counts) AS u(t, n)) AS m
    GROUP BY mean;
    -- quantiles below two steps of the clock are null, because a duration shorter than a step is
    -- measured as 0 or 1 steps, by chance
    SELECT array_agg((SELECT CASE WHEN t >= 2 * step OR ns <= 1 THEN round(t * ns, 2) END
                      FROM (SELECT t, sum(n) OVER (ORDER BY t) AS running, sum(n) OVER () AS total
                            FROM unnest(ticks, counts) AS u(t, n)) AS r
                      WHERE running >= q * total ORDER BY t LIMIT 1) ORDER BY q)
    INTO quantiles FROM unnest('{0, 0.5, 0.9, 0.99, 0.999, 0.9999, 1}'::numeric[]) AS q;
    min_ns := quantiles[1];
    p50_ns := quantiles[2];
    p90_ns := quantiles[3];
    p99_ns := quantiles[4];
    p999_ns := quantiles[5];
    p9999_ns := quantiles[6];
    max_ns := quantiles[7];
    granularity_ticks := round((sample ->> 'granularity_ticks')::numeric, 2);
    granularity_ns := round((sample ->> 'granularity_ticks')::numeric * ns, 2);
    stalls := CASE ticks[1] WHEN 0 THEN counts[1] ELSE 0 END;
    longest_stall := sample ->> 'longest_stall';
    backward_steps := sample ->> 'backward_steps';
    backward_max_ns := round((sample ->> 'backward_max_ticks')::numeric * ns, 2);
    gaps := sample ->> 'gaps';
    gap_max_ns := round((sample ->> 'gap_max_ns')::numeric, 2);
    lost_ms := round((sample ->> 'gap_total_ns')::numeric / 1000000, 3);
    lost_percent := round((sample ->> 'gap_total_ns')::numeric
        / nullif((sample ->> 'duration_s')::numeric, 0) / 10000000, 4);
    -- these columns are null unless the C extension has compared the clock with a second one
    IF (sample ->> 'clock') <> 'clock_timestamp()' THEN
        warps := sample ->> 'warps';
        warp_max_ns := round((sample ->> 'warp_max_ns')::numeric, 2);
        warp_total_ns := round((sample ->> 'warp_total_ns')::numeric, 2);
        lags := sample ->> 'lags';
        lag_max_ns := round((sample ->> 'lag_max_ns')::numeric, 2);
        lag_total_ns := round((sample ->> 'lag_total_ns')::numeric, 2);
        rate_ppm := round(((sample ->> 'advance_s')::numeric
            / (sample ->> 'duration_s')::numeric - 1) * 1000000, 3);
        rate_bound_ppm := round((sample ->> 'reference_bound_ns')::numeric
            / (sample ->> 'duration_s')::numeric / 1000, 3);
        cpus := ARRAY(SELECT c::integer FROM jsonb_array_elements_text(sample -> 'cpus') AS c);
        migrations := sample ->> 'migrations';
    END IF;
    resolution_ns := round((sample ->> 'resolution_ns')::numeric, 2);
    precision_bits := sample ->> 'precision_bits';
    frequency_hz := sample ->> 'frequency_hz';
    started_at := sample ->> 'started_at';
END
$$;
COMMENT ON FUNCTION @extschema@.clock_summary(jsonb) IS
    'summarizes a run in one row: cost of a reading in nanoseconds, and findings; quantiles below '
    'two steps of the clock and values that need a second clock are null';

CREATE FUNCTION @extschema@.clock_summary(
    source text DEFAULT 'system', duration double precision DEFAULT 3,
    OUT source text, OUT clock text, OUT cost_ns numeric, OUT cost_margin_ns numeric,
    OUT duration_s numeric, OUT readings bigint,
    OUT loop_ns numeric, OUT mean_ns numeric, OUT mean_margin_ns numeric, OUT stddev_ns numeric,
    OUT min_ns numeric, OUT p50_ns numeric, OUT p90_ns numeric, OUT p99_ns numeric,
    OUT p999_ns numeric, OUT p9999_ns numeric, OUT max_ns numeric,
    OUT granularity_ticks numeric, OUT granularity_ns numeric,
    OUT stalls bigint, OUT longest_stall bigint,
    OUT backward_steps bigint, OUT backward_max_ns numeric,
    OUT warps bigint, OUT warp_max_ns numeric, OUT lags bigint, OUT lag_max_ns numeric,
    OUT gaps bigint, OUT gap_max_ns numeric, OUT lost_ms numeric, OUT lost_percent numeric,
    OUT rate_ppm numeric, OUT rate_bound_ppm numeric,
    OUT cpus integer[], OUT migrations bigint,
    OUT warp_total_ns numeric, OUT lag_total_ns numeric, OUT resolution_ns numeric,
    OUT precision_bits integer, OUT frequency_hz double precision, OUT started_at timestamptz)
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT * FROM @extschema@.clock_summary(@extschema@.clock_measure($1, $2))
$$;
COMMENT ON FUNCTION @extschema@.clock_summary(text, double precision) IS
    'reads clock_timestamp() for some seconds (3) and summarizes the run in one row: cost of a '
    'reading in nanoseconds, as EXPLAIN reads the clock up to PostgreSQL 18, and findings';

CREATE FUNCTION @extschema@.clock_histogram(sample jsonb,
    OUT le_ns bigint, OUT percent numeric, OUT running_percent numeric, OUT count bigint,
    OUT bar text, OUT note text)
RETURNS SETOF record
LANGUAGE plpgsql IMMUTABLE ROWS 20
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
    step_us constant numeric := coalesce((sample ->> 'granularity_ticks')::numeric, 1);
    step constant text := CASE step_us WHEN 1 THEN 'a microsecond'
                          ELSE trim_scale(step_us) || ' us' END;
BEGIN
    IF sample IS NULL THEN
        RAISE EXCEPTION 'sample must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    RETURN QUERY
    WITH run AS (
        SELECT round(t::numeric * 1000000000 / (sample ->> 'frequency_hz')::numeric) AS ns,
               n::numeric AS n
        FROM ROWS FROM (jsonb_array_elements_text(sample -> 'ticks'),
                        jsonb_array_elements_text(sample -> 'counts')) AS u(t, n)
    ), buckets AS (
        SELECT length(ltrim(ns::bigint::bit(64)::text, '0')) AS bucket, sum(n) AS n FROM run
        GROUP BY 1
    )
    SELECT (2::numeric ^ i)::bigint - 1, round(coalesce(b.n, 0) * 100 / sum(b.n) OVER (), 4),
           round(sum(b.n) OVER (ORDER BY i) * 100 / sum(b.n) OVER (), 4), coalesce(b.n, 0)::bigint,
           CASE WHEN b.n < max(b.n) OVER () / 40 THEN '.'
                ELSE repeat('#', trunc(40 * coalesce(b.n, 0) / max(b.n) OVER ())::int) END,
           CASE WHEN (sample ->> 'frequency_hz')::numeric <> 1000000 THEN NULL
                WHEN i = 0 THEN
                    (SELECT format(
                         'below %s, only the mean of all durations is known: %s ns',
                         step, round(sum(ns * n) / sum(n), 2)) FROM run)
                WHEN i = length(ltrim((step_us * 1000)::bigint::bit(64)::text, '0'))
                THEN format('the clock advanced by %s, but most of these durations are shorter',
                            step) END
    FROM generate_series(0, (SELECT max(bucket) FROM buckets)) AS i
         LEFT JOIN buckets AS b ON b.bucket = i
    ORDER BY i;
END
$$;
COMMENT ON FUNCTION @extschema@.clock_histogram(jsonb) IS
    'counts the durations of a run in buckets of powers of two nanoseconds, with bars; note '
    'states what is unknown because the clock advances in steps of a microsecond or more';

CREATE FUNCTION @extschema@.clock_histogram(
    source text DEFAULT 'system', duration double precision DEFAULT 3,
    OUT le_ns bigint, OUT percent numeric, OUT running_percent numeric, OUT count bigint,
    OUT bar text, OUT note text)
RETURNS SETOF record
LANGUAGE sql VOLATILE ROWS 20
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT * FROM @extschema@.clock_histogram(@extschema@.clock_measure(source, duration))
$$;
COMMENT ON FUNCTION @extschema@.clock_histogram(text, double precision) IS
    'reads clock_timestamp() for some seconds (3) and counts the durations in buckets of powers '
    'of two nanoseconds, with bars; note states that below a microsecond only the mean is known';

CREATE FUNCTION @extschema@.clock_report(
    duration double precision DEFAULT 3, cutoff double precision DEFAULT 99.99) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE ROWS 30
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
    sample jsonb;
BEGIN
    IF cutoff IS NULL THEN
        RAISE EXCEPTION 'cutoff must not be null' USING ERRCODE = 'null_value_not_allowed';
    ELSIF NOT cutoff BETWEEN 0 AND 100 THEN
        RAISE EXCEPTION 'cutoff must be between 0 and 100 percent'
            USING ERRCODE = 'invalid_parameter_value',
            DETAIL = format('The cutoff given is %s.', cutoff),
            HINT = 'With 99.99, durations are listed until the list covers 99.99 percent of all '
                   'durations.';
    END IF;
    sample := @extschema@.internal_clock_durations(@extschema@.internal_clock_duration(duration));
    RETURN NEXT format('Testing timing overhead for %s second%s.', duration,
        CASE WHEN duration <> 1 THEN 's' END);
    RETURN NEXT '';
    RETURN QUERY SELECT regexp_split_to_table(
        @extschema@.internal_clock_report_block('System clock source', sample, cutoff), E'\n');
    RETURN NEXT '';
    RETURN NEXT
        'TSC clock source is not usable. The reason is that reading it needs the C extension.';
END
$$;
COMMENT ON FUNCTION @extschema@.clock_report(double precision, double precision) IS
    'reads clock_timestamp() for some seconds (3) and returns the results in the format of '
    'PostgreSQL 19''s pg_test_timing';
