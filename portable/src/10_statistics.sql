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

CREATE FUNCTION @extschema@.internal_clock_duration(duration double precision)
RETURNS double precision
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    setting text;
    left_s double precision;
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
    FOREACH setting IN ARRAY ARRAY['statement_timeout', 'transaction_timeout'] LOOP
        -- reserves a fifth of the remaining time, and another tenth of a second, for the work after
        -- the measurement
        left_s := 0.8 * (extract(epoch FROM nullif(current_setting(setting, true), '0')::interval)
            - extract(epoch FROM clock_timestamp()
                      - CASE setting WHEN 'statement_timeout' THEN statement_timestamp()
                        ELSE now() END)) - 0.1;
        IF left_s < least(duration, 0.2) THEN
            RAISE EXCEPTION '% would end the measurement', setting
                USING ERRCODE = 'object_not_in_prerequisite_state',
                DETAIL = format('%s is %s.', setting, current_setting(setting)),
                HINT = format('Increase it, for example by SET %s = ''1min''.', setting);
        ELSIF left_s < duration THEN
            RAISE NOTICE '% is %: measuring for % s instead of % s',
                setting, current_setting(setting), round(left_s::numeric, 1), duration;
            duration := left_s;
        END IF;
    END LOOP;
    RETURN duration;
END
$$;
COMMENT ON FUNCTION @extschema@.internal_clock_duration(double precision) IS
    'internal: checks a duration in seconds, and limits it to the rest of statement_timeout and '
    'transaction_timeout';
