-- Statistics for measurements on a busy machine: means of the fastest values, which other processes
-- have not disturbed, and medians.

-- Approximates the 97.5 % quantile of Student's distribution by its Cornish-Fisher expansion. The
-- error is at most 1 % for 3 or more degrees of freedom. For fewer degrees, returns the quantile
-- for 2 degrees or for 1 degree.
CREATE FUNCTION @extschema@.internal_clock_t(df double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN df >= 3 THEN 1.959964 + 2.372272 / df + 2.822499 / df ^ 2
                                  + 2.555851 / df ^ 3 + 1.589536 / df ^ 4
                WHEN df >= 2 THEN 4.303 WHEN df >= 1 THEN 12.706 END
$$;
COMMENT ON FUNCTION @extschema@.internal_clock_t(double precision) IS
    'internal: returns the 97.5 % quantile of Student''s distribution';

-- Returns the mean of the fastest fiftieth of the values, but of at least 5 values. The C extension
-- computes undisturbed costs in the same way. The margin is derived from the influence function of
-- this mean. It is proportional to the standard deviation of all values, where values slower than
-- the fastest fiftieth are replaced by the slowest value of that fiftieth.
CREATE FUNCTION @extschema@.internal_clock_low_mean(measured double precision[],
    OUT mean double precision, OUT margin double precision)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH ordered AS (
        SELECT x, row_number() OVER (ORDER BY x) AS i, count(*) OVER () AS n,
               least(greatest(count(*) OVER () / 50, 5), count(*) OVER ()) AS k
        FROM unnest(measured) AS x WHERE x IS NOT NULL
    ), cut AS (
        SELECT avg(x) FILTER (WHERE i <= k) AS mean, max(x) FILTER (WHERE i = k) AS at FROM ordered
    )
    SELECT max(cut.mean),
           @extschema@.internal_clock_t(max(k) - 1) * stddev_samp(least(x, cut.at))
           * max(n) / max(k) / sqrt(max(n))
    FROM ordered, cut
$$;
COMMENT ON FUNCTION @extschema@.internal_clock_low_mean(double precision[]) IS
    'internal: returns the mean of the fastest fiftieth of the values, with its 95 % margin';

CREATE FUNCTION @extschema@.internal_clock_difference(a double precision[], b double precision[],
    OUT difference double precision, OUT margin double precision)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH ordered AS (
        SELECT x, y, row_number() OVER (ORDER BY x) AS i, row_number() OVER (ORDER BY y) AS j,
               count(*) OVER () AS n,
               least(greatest(count(*) OVER () / 50, 5), count(*) OVER ()) AS k
        FROM unnest(a, b) AS u(x, y) WHERE x IS NOT NULL AND y IS NOT NULL
    ), cut AS (
        SELECT avg(x) FILTER (WHERE i <= k) AS x_mean, max(x) FILTER (WHERE i = k) AS x_at,
               avg(y) FILTER (WHERE j <= k) AS y_mean, max(y) FILTER (WHERE j = k) AS y_at
        FROM ordered
    )
    SELECT max(y_mean - x_mean),
           @extschema@.internal_clock_t(max(k) - 1) * stddev_samp(least(y, y_at) - least(x, x_at))
           * max(n) / max(k) / sqrt(max(n))
    FROM ordered, cut
$$;
COMMENT ON FUNCTION @extschema@.internal_clock_difference(double precision[], double precision[]) IS
    'internal: returns the mean of the smallest fiftieth of b minus that of a, with its 95 % '
    'margin; a and b must have been measured alternately';

-- Returns the median of the differences b - a or, with blocks, of the means of that many blocks of
-- successive differences. The margin is half of the distance between the two order statistics that
-- enclose the true median with a probability of 95 %. The C extension computes typical costs in the
-- same way.
CREATE FUNCTION @extschema@.internal_clock_typical(
    a double precision[], b double precision[], blocks integer,
    OUT difference double precision, OUT margin double precision)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
    WITH pairs AS (
        SELECT y - x AS d, row_number() OVER (ORDER BY i) - 1 AS i, count(*) OVER () AS n
        FROM unnest(a, b) WITH ORDINALITY AS u(x, y, i) WHERE x IS NOT NULL AND y IS NOT NULL
    ), means AS (
        SELECT avg(d) AS d FROM pairs GROUP BY i * least(blocks, n) / n
    ), ordered AS (
        SELECT array_agg(d ORDER BY d) AS d, count(*)::int AS n,
               floor((count(*) - 1 - 1.959964 * sqrt(count(*))) / 2)::int AS below
        FROM means
    )
    SELECT (d[(n + 1) / 2] + d[n / 2 + 1]) / 2,
           CASE WHEN below >= 0 THEN (d[n - below] - d[below + 1]) / 2 END
    FROM ordered
$$;
COMMENT ON FUNCTION @extschema@.internal_clock_typical(
    double precision[], double precision[], integer) IS
    'internal: returns the typical difference of the values of b and a, measured alternately, '
    'with its 95 % margin: the median of the differences or, if blocks is not null, the median of '
    'the means of that many blocks of successive differences';

-- Returns the earlier end by statement_timeout or transaction_timeout: its distance in seconds and
-- the setting; infinity if neither is set.
CREATE FUNCTION @extschema@.internal_clock_left(OUT seconds double precision, OUT setting text)
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT extract(epoch FROM t.began - clock_timestamp())::double precision
               + coalesce(extract(epoch FROM
                     nullif(current_setting(t.name, true), '0')::interval)::double precision,
                     'infinity'), t.name
    FROM (VALUES ('statement_timeout', statement_timestamp()), ('transaction_timeout', now()))
        AS t(name, began)
    ORDER BY 1 LIMIT 1
$$;
COMMENT ON FUNCTION @extschema@.internal_clock_left() IS
    'internal: returns the seconds that statement_timeout and transaction_timeout leave';

-- A part of the time before a timeout remains unused: for the last step of the measurement, and for
-- computing the results. On a busy machine, both take a multiple of their CPU time.
CREATE FUNCTION @extschema@.internal_clock_duration(duration double precision)
RETURNS double precision
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    timeout record;
BEGIN
    IF duration IS NULL THEN
        RAISE EXCEPTION 'duration must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    -- also rejects NaN, because PostgreSQL treats it as greater than all numbers
    IF NOT duration BETWEEN 0.000001 AND 86400 THEN
        RAISE EXCEPTION 'duration must be between 0.000001 and 86400 seconds'
            USING ERRCODE = 'invalid_parameter_value',
            DETAIL = format('The duration given is %s seconds.', duration),
            HINT = 'A few seconds are enough for most purposes.';
    END IF;
    SELECT l.setting,
           l.seconds - greatest(least(0.5 * l.seconds + 0.05, 2), 0.1 * l.seconds) AS usable_s
    INTO timeout FROM @extschema@.internal_clock_left() AS l WHERE l.seconds < 'infinity';
    IF timeout.usable_s < least(duration, 0.2) THEN
        RAISE EXCEPTION '% would end the measurement', timeout.setting
            USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = format('%s is %s.', timeout.setting, current_setting(timeout.setting)),
            HINT = format('Increase it, for example by SET %s = ''1min''.', timeout.setting);
    ELSIF timeout.usable_s < duration THEN
        RAISE NOTICE '% is %: measuring for % s instead of % s', timeout.setting,
            current_setting(timeout.setting), round(timeout.usable_s::numeric, 1),
            trim_scale(round(duration::numeric, 1));
        duration := timeout.usable_s;
    END IF;
    RETURN duration;
END
$$;
COMMENT ON FUNCTION @extschema@.internal_clock_duration(double precision) IS
    'internal: checks a duration in seconds, and limits it to the rest of statement_timeout and '
    'transaction_timeout';

-- Returns the smallest difference of two successive values of clock_timestamp(), in microseconds,
-- or 1 if it is shorter than 50. It is 1000 in PGlite, and depends on the speed of the processor
-- where the clock has a resolution of a microsecond.
CREATE FUNCTION @extschema@.internal_clock_step() RETURNS double precision
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    last timestamptz := clock_timestamp();
    this timestamptz;
    least_step interval;
    steps integer := 0;
BEGIN
    FOR i IN 1..10000000 LOOP
        this := clock_timestamp();
        IF this > last THEN
            -- the first step has begun before the first reading
            least_step := CASE WHEN steps > 0 THEN least(this - last, least_step) END;
            steps := steps + 1;
            EXIT WHEN steps > 8 OR least_step < '50 us';
        END IF;
        last := this;
    END LOOP;
    IF least_step IS NULL THEN
        RAISE EXCEPTION 'clock_timestamp() does not advance' USING ERRCODE = 'internal_error';
    END IF;
    RETURN CASE WHEN least_step < '50 us' THEN 1 ELSE 1e6 * extract(epoch FROM least_step) END;
END
$$;
COMMENT ON FUNCTION @extschema@.internal_clock_step() IS
    'internal: returns the step by which clock_timestamp() advances, in microseconds';
