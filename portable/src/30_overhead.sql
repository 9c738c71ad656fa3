-- Measures the overhead of EXPLAIN ANALYZE. Compares its "Execution Time", which excludes planning
-- and printing, with the duration of plain executions of the same query.

-- The measured statements are executed by functions, so auto_explain affects them only if
-- log_nested_statements is on.  pg_qualstats chooses statements of the client at random, and then
-- counts the rows of all statements within.  So the caller switches it off meanwhile, which needs
-- no privilege.
CREATE FUNCTION @extschema@.internal_clock_alone() RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF current_setting('auto_explain.log_analyze', true) = 'on'
        AND current_setting('auto_explain.log_nested_statements', true) = 'on'
        AND current_setting('auto_explain.log_min_duration', true) <> '-1' THEN
        RAISE EXCEPTION 'another extension instruments the query, too'
            USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'auto_explain.log_analyze and auto_explain.log_nested_statements are on.',
            HINT = 'If you have the privilege: SET auto_explain.log_nested_statements = off.';
    END IF;
    IF current_setting('pg_qualstats.enabled', true) = 'on' THEN
        PERFORM set_config('pg_qualstats.enabled', 'off', true);
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.internal_clock_alone() IS
    'internal: raises an error if auto_explain counts or times executions, and switches '
    'pg_qualstats off until the end of the transaction';

-- If clock_timestamp() advances in steps of more than a microsecond (internal_clock_step), EXPLAIN,
-- which reads another clock, measures the plain execution: it is part of this function.
CREATE FUNCTION @extschema@.internal_clock_move(opened refcursor) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    MOVE FORWARD ALL FROM opened;
END
$$;
COMMENT ON FUNCTION @extschema@.internal_clock_move(refcursor) IS
    'internal: executes the query of a cursor';

-- The addresses of an execution's data on the stack and in memory can make it slower by a multiple
-- of the cost of counting. Repeated executions would use the same addresses, and have the same
-- error. Recursive calls ("depth") change the addresses on the stack, and a string of random length
-- ("pad") changes those in memory.
CREATE FUNCTION @extschema@.internal_clock_once(
    explain text, statement text, depth integer, pad text, step_us double precision)
RETURNS double precision
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    explained json;
    opened refcursor;
    started timestamptz;
BEGIN
    IF depth > 0 THEN
        RETURN @extschema@.internal_clock_once(explain, statement, depth - 1, pad, step_us);
    ELSIF explain IS NOT NULL THEN
        EXECUTE explain || statement INTO explained;
        RETURN explained -> 0 ->> 'Execution Time';
    END IF;
    OPEN opened NO SCROLL FOR EXECUTE statement;
    IF step_us > 1 THEN
        EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) '
                'SELECT @extschema@.internal_clock_move($1)' INTO explained USING opened;
        CLOSE opened;
        RETURN explained -> 0 ->> 'Execution Time';
    END IF;
    started := clock_timestamp();
    MOVE FORWARD ALL FROM opened;
    CLOSE opened;
    RETURN extract(epoch FROM clock_timestamp() - started) * 1000;
END
$$;
COMMENT ON FUNCTION @extschema@.internal_clock_once(
    text, text, integer, text, double precision) IS
    'internal: returns the duration of an execution of a query in milliseconds, plain or as '
    'EXPLAIN prints it';

-- Executes count(*) over a number of rows ("rows") in three modes: plain, with counting, and with
-- timing. A correlated subquery repeats the count(*) several times per statement, so that EXPLAIN's
-- rounding to a microsecond does not matter. Plain executions use a cursor, which does not store
-- the result.
--
-- The same statements are also executed over no rows. Subtracting these times removes the costs
-- that a cursor and EXPLAIN have once per statement.
CREATE FUNCTION @extschema@.internal_clock_overhead(
    rows bigint, workload text, duration double precision, step_us double precision,
    OUT repetitions bigint, OUT plain_ms double precision, OUT analyze_ms double precision,
    OUT counting_ns double precision, OUT counting_margin_ns double precision,
    OUT timing_ns double precision, OUT timing_margin_ns double precision,
    OUT overhead_ns double precision, OUT overhead_margin_ns double precision,
    OUT typical_counting_ns double precision, OUT typical_counting_margin_ns double precision,
    OUT typical_timing_ns double precision, OUT typical_timing_margin_ns double precision,
    OUT typical_overhead_ns double precision, OUT typical_overhead_margin_ns double precision,
    OUT parallel boolean, OUT jit boolean)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET cursor_tuple_fraction = 1
SET work_mem = '4MB'
AS $$
DECLARE
    until constant timestamptz := clock_timestamp() + duration * interval '1 s';
    copies constant integer := least(greatest(4000 / rows, 1), 20);
    ns constant double precision := 1e6 / rows / copies;
    -- assumed error of a difference of times: EXPLAIN rounds times to microseconds, and the clock
    -- truncates them
    printed_ms constant double precision := 0.002;
    explain constant text[] :=
        '{"EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF) ","EXPLAIN (ANALYZE, FORMAT JSON) "}';
    copied constant text := format(
        'SELECT (SELECT count(*) + 0 * g FROM %%s) FROM generate_series(1, %s) AS g', copies);
    many constant text := format(copied,
        CASE workload WHEN 'table' THEN 'pg_temp.clock_overhead_rows'
        ELSE format('generate_series(1, %s + 0 * g)', rows) END);
    none constant text := format(copied, 'generate_series(1, 0 * g)');
    times double precision[];
    plain double precision[] := '{}'; plain_none double precision[] := '{}';
    counting double precision[] := '{}'; counting_none double precision[] := '{}';
    timing double precision[] := '{}'; timing_none double precision[] := '{}';
    round integer := 0;
    executions integer := 0;
    places integer[];
    mode integer;
    explained json;
    round_s double precision;
    round_started timestamptz;
    qualstats constant text := current_setting('pg_qualstats.enabled', true);
BEGIN
    PERFORM @extschema@.internal_clock_alone();
    IF workload = 'table' THEN
        EXECUTE format(
          'CREATE TEMPORARY TABLE clock_overhead_rows AS SELECT i FROM generate_series(1, %s) AS i',
          rows);
    END IF;
    -- Raises work_mem, so that the rows are not written to files. Then allocates and frees a large
    -- block: afterwards, glibc's malloc() keeps smaller freed blocks instead of returning them to
    -- the system. Otherwise the next execution would have page faults. PGlite (step_us > 1) has
    -- neither, and needs up to half a second for the block.
    PERFORM set_config('work_mem', greatest(rows * 112 / 1024 + 1024, 4096)::text, true),
            length(repeat(' ', CASE step_us WHEN 1 THEN 8000000 ELSE 0 END));
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || many INTO explained;
    parallel := explained::text ~ '"Node Type": "Gather';
    jit := explained::text ~ '"JIT":';
    LOOP
        round_started := clock_timestamp();
        times := '{}';
        -- executes the three modes over many rows, in varying order, and in every fourth round also
        -- over no rows
        FOR turn IN 0 .. CASE WHEN round % 4 = 0 THEN 5 ELSE 2 END LOOP
            mode := CASE WHEN round % 6 < 3 THEN (round + turn) % 3 ELSE (round + 5 - turn) % 3 END
                + turn / 3 * 3;
            executions := executions + 1;
            -- uses a hash instead of random(), whose sequence the session may have fixed by
            -- setseed()
            places := ARRAY(SELECT abs(hashint4(3 * executions + i)::bigint)
                            FROM generate_series(0, 2) AS i);
            times[mode] := @extschema@.internal_clock_once(explain[mode % 3],
                CASE WHEN mode < 3 THEN many ELSE none END || repeat(' ', places[1] % 4000),
                places[2] % 13, repeat(' ', places[3] % 60000), step_us);
            EXIT WHEN clock_timestamp() >= until;
        END LOOP;
        round_s := extract(epoch FROM clock_timestamp() - round_started);
        round := round + 1;
        plain_none := plain_none || times[3];
        counting_none := counting_none || times[4];
        timing_none := timing_none || times[5];
        -- the first round fills caches; it does not count if there is time for two more rounds
        CONTINUE WHEN round = 1 AND clock_timestamp() + 2 * round_s * interval '1 s' < until;
        EXIT WHEN times[0] IS NULL OR times[1] IS NULL OR times[2] IS NULL;
        plain := plain || times[0];
        counting := counting || times[1];
        timing := timing || times[2];
        EXIT WHEN clock_timestamp() + round_s * interval '1 s' >= until OR round >= 20000;
    END LOOP;
    IF workload = 'table' THEN
        DROP TABLE pg_temp.clock_overhead_rows;
    END IF;
    IF qualstats = 'on' THEN
        PERFORM set_config('pg_qualstats.enabled', qualstats, true);
    END IF;

    repetitions := cardinality(plain);
    SELECT m.mean INTO analyze_ms FROM @extschema@.internal_clock_low_mean(timing) AS m;
    SELECT p.mean - coalesce(b.mean - c.mean, 0) INTO plain_ms
    FROM @extschema@.internal_clock_low_mean(plain) AS p,
         @extschema@.internal_clock_low_mean(plain_none) AS b,
         @extschema@.internal_clock_low_mean(counting_none) AS c;
    SELECT (m.difference - coalesce(n.difference, 0)) * ns,
           sqrt(m.margin ^ 2 + coalesce(n.margin, 0) ^ 2 + printed_ms ^ 2) * ns
    INTO counting_ns, counting_margin_ns
    FROM @extschema@.internal_clock_difference(plain, counting) AS m,
         @extschema@.internal_clock_difference(plain_none, counting_none) AS n;
    SELECT (m.difference - coalesce(n.difference, 0)) * ns,
           sqrt(m.margin ^ 2 + coalesce(n.margin, 0) ^ 2 + printed_ms ^ 2) * ns
    INTO typical_counting_ns, typical_counting_margin_ns
    FROM @extschema@.internal_clock_typical(plain, counting, NULL) AS m,
         @extschema@.internal_clock_difference(plain_none, counting_none) AS n;
    SELECT (m.difference - coalesce(n.difference, 0)) * ns,
           sqrt(m.margin ^ 2 + coalesce(n.margin, 0) ^ 2 + printed_ms ^ 2) * ns
    INTO timing_ns, timing_margin_ns
    FROM @extschema@.internal_clock_difference(counting, timing) AS m,
         @extschema@.internal_clock_difference(counting_none, timing_none) AS n;
    SELECT (m.difference - coalesce(n.difference, 0)) * ns,
           sqrt(m.margin ^ 2 + coalesce(n.margin, 0) ^ 2 + printed_ms ^ 2) * ns
    INTO typical_timing_ns, typical_timing_margin_ns
    FROM @extschema@.internal_clock_typical(counting, timing, NULL) AS m,
         @extschema@.internal_clock_difference(counting_none, timing_none) AS n;
    SELECT (m.difference - coalesce(n.difference, 0)) * ns,
           sqrt(m.margin ^ 2 + coalesce(n.margin, 0) ^ 2 + printed_ms ^ 2) * ns
    INTO overhead_ns, overhead_margin_ns
    FROM @extschema@.internal_clock_difference(plain, timing) AS m,
         @extschema@.internal_clock_difference(plain_none, timing_none) AS n;
    SELECT (m.difference - coalesce(n.difference, 0)) * ns,
           sqrt(m.margin ^ 2 + coalesce(n.margin, 0) ^ 2 + printed_ms ^ 2) * ns
    INTO typical_overhead_ns, typical_overhead_margin_ns
    FROM @extschema@.internal_clock_typical(plain, timing, 20) AS m,
         @extschema@.internal_clock_difference(plain_none, timing_none) AS n;
    plain_ms := plain_ms / copies;
    analyze_ms := analyze_ms / copies;
END
$$;
COMMENT ON FUNCTION @extschema@.internal_clock_overhead(
    bigint, text, double precision, double precision) IS
    'internal: returns the overhead of counting and timing in nanoseconds per row, undisturbed '
    'and typical, with margins, by executing count(*) over some rows plain and under EXPLAIN '
    'ANALYZE alternately';

CREATE PROCEDURE @extschema@.clock_executor_overhead(
    INOUT rows bigint DEFAULT 1000, INOUT workload text DEFAULT 'generate_series',
    IN duration double precision DEFAULT 3,
    INOUT counting_ns numeric DEFAULT NULL, INOUT timing_ns numeric DEFAULT NULL,
    INOUT overhead_ns numeric DEFAULT NULL, INOUT typical_overhead_ns numeric DEFAULT NULL,
    INOUT slowdown_percent numeric DEFAULT NULL,
    INOUT clock text DEFAULT NULL,
    INOUT counting_margin_ns numeric DEFAULT NULL, INOUT timing_margin_ns numeric DEFAULT NULL,
    INOUT overhead_margin_ns numeric DEFAULT NULL,
    INOUT typical_overhead_margin_ns numeric DEFAULT NULL,
    INOUT repetitions bigint DEFAULT NULL,
    INOUT plain_ms numeric DEFAULT NULL, INOUT analyze_ms numeric DEFAULT NULL,
    INOUT reading_ns numeric DEFAULT NULL, INOUT reading_margin_ns numeric DEFAULT NULL,
    INOUT predicted_ns numeric DEFAULT NULL, INOUT measured_per_predicted numeric DEFAULT NULL,
    INOUT parallel boolean DEFAULT NULL, INOUT jit boolean DEFAULT NULL)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    until timestamptz;
    o record;
    cost record;
BEGIN
    workload := lower(workload);
    IF rows IS NULL THEN
        RAISE EXCEPTION 'rows must not be null' USING ERRCODE = 'null_value_not_allowed';
    ELSIF workload IS NULL THEN
        RAISE EXCEPTION 'workload must not be null' USING ERRCODE = 'null_value_not_allowed';
    ELSIF rows NOT BETWEEN 1 AND 10000000 THEN
        RAISE EXCEPTION 'rows must be between 1 and 10000000'
            USING ERRCODE = 'invalid_parameter_value',
            DETAIL = format('The number given is %s.', rows),
            HINT = '1000, the default, are enough for most purposes.';
    ELSIF workload NOT IN ('generate_series', 'table') THEN
        RAISE EXCEPTION 'unknown workload "%"', workload USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Workloads are generate_series and table.';
    END IF;
    duration := @extschema@.internal_clock_duration(duration);
    until := clock_timestamp() + duration * interval '1 s';
    clock := @extschema@.internal_clock_clock();
    -- the cost of reading the TSC is unknown, because SQL cannot read it
    IF clock <> 'RDTSC' THEN
        cost := @extschema@.internal_clock_cost(duration / 6);
        duration := greatest(extract(epoch FROM until - clock_timestamp()), duration / 3);
        reading_ns := round(cost.cost_ns::numeric, 2);
        reading_margin_ns := round(cost.cost_margin_ns::numeric, 2);
    END IF;
    o := @extschema@.internal_clock_overhead(rows, workload, duration,
                                             @extschema@.internal_clock_step());
    repetitions := o.repetitions;
    IF repetitions = 0 THEN
        RAISE WARNING 'the duration was too short to execute the query in all modes'
            USING DETAIL = format('The duration was %s s.', round(duration::numeric, 3)),
            HINT = 'Use a longer duration.';
    END IF;
    plain_ms := round(o.plain_ms::numeric, 4);
    analyze_ms := round(o.analyze_ms::numeric, 4);
    counting_ns := round(o.counting_ns::numeric, 2);
    counting_margin_ns := round(o.counting_margin_ns::numeric, 2);
    timing_ns := round(o.timing_ns::numeric, 2);
    timing_margin_ns := round(o.timing_margin_ns::numeric, 2);
    overhead_ns := round(o.overhead_ns::numeric, 2);
    overhead_margin_ns := round(o.overhead_margin_ns::numeric, 2);
    typical_overhead_ns := round(o.typical_overhead_ns::numeric, 2);
    typical_overhead_margin_ns := round(o.typical_overhead_margin_ns::numeric, 2);
    slowdown_percent := round((o.overhead_ns * rows / 1e4 / nullif(o.plain_ms, 0))::numeric, 4);
    predicted_ns := 2 * reading_ns;
    measured_per_predicted := round(timing_ns / nullif(predicted_ns, 0), 2);
    parallel := o.parallel;
    jit := o.jit;
END
$$;
COMMENT ON PROCEDURE @extschema@.clock_executor_overhead IS
    'executes count(*) over some rows (1000) plain and under EXPLAIN ANALYZE, alternating for '
    'some seconds (3): overhead of counting and of timing in nanoseconds per row, undisturbed and '
    'typical (median), with margins, and the overhead predicted from the cost of a reading';

-- Compares EXPLAIN's "Execution Time" with the time of a cursor. Only the former includes the start
-- and the end of the executor, so their duration is added to the cursor's time. The duration is
-- estimated as EXPLAIN's time minus the root node's. This difference also includes the executor's
-- work between two rows of the root. So if the root returns many rows, the difference is measured
-- with count(*) as the root.
CREATE FUNCTION @extschema@.internal_clock_query(
    query text, duration double precision, allow_writes boolean,
    clock_sources text[], params text[], path text,
    OUT mode text, OUT clock text, OUT runs bigint,
    OUT min_ms numeric, OUT median_ms numeric, OUT mean_ms numeric, OUT stddev_ms numeric,
    OUT overhead_ms numeric, OUT overhead_margin_ms numeric, OUT slowdown_percent numeric,
    OUT node_calls bigint,
    OUT overhead_ns_per_call numeric, OUT overhead_margin_ns_per_call numeric,
    OUT parallel boolean, OUT jit boolean, OUT reason text)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    names constant text[] := '{plain,timing off,timing on,"timing on, buffers"}';
    explain constant text := 'EXPLAIN (ANALYZE, FORMAT JSON, BUFFERS %s, TIMING %s) ';
    statement text;
    plan jsonb;
    shape record;
    source text;
    part double precision;
    until timestamptz;
    elapsed double precision;
    times double precision[];
    plain double precision[];
    counting double precision[];
    timing double precision[];
    buffers double precision[];
    modes double precision[];
    planning double precision[];
        -- durations of planning; empty with a cursor, whose time excludes planning
    more double precision[];
        -- durations of the executor's start and end
    round integer;
    m integer;
    executed integer := 0;
    suffix constant text := CASE WHEN @extschema@.internal_clock_step() > 1 THEN ' by EXPLAIN'
                            ELSE '' END;
    most constant integer := 20000;
    set_before constant text := split_part(current_setting('timing_clock_source', true), ' ', 1);
    plain_ms double precision;
    shift double precision;
    shift_margin double precision;
    planning_margin double precision;
    difference double precision;
    margin double precision;
BEGIN
    duration := @extschema@.internal_clock_duration(duration);
    IF allow_writes IS NULL THEN
        RAISE EXCEPTION 'allow_writes must not be null' USING ERRCODE = 'null_value_not_allowed';
    ELSIF clock_sources IS NOT NULL AND current_setting('timing_clock_source', true) IS NULL THEN
        RAISE EXCEPTION 'the clock for timing cannot be chosen on this server'
            USING ERRCODE = 'feature_not_supported',
            DETAIL = 'PostgreSQL 19 and later have the setting timing_clock_source.',
            HINT = 'Leave clock_sources out.';
    ELSIF cardinality(clock_sources) = 0 THEN
        RAISE EXCEPTION 'clock_sources must not be empty' USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Leave clock_sources out to use the current clock.';
    ELSIF array_position(clock_sources, NULL) IS NOT NULL THEN
        RAISE EXCEPTION 'clock_sources must not contain null values'
            USING ERRCODE = 'null_value_not_allowed';
    END IF;
    statement := @extschema@.internal_clock_statement(query, allow_writes, params);
    shape := @extschema@.internal_clock_shape(statement, allow_writes, path);
    parallel := shape.plan::text ~ '"Node Type": "Gather';
    -- frees a large block, as in internal_clock_overhead
    PERFORM length(repeat(' ', CASE suffix WHEN '' THEN 8000000 ELSE 0 END));

    FOREACH source IN ARRAY coalesce((SELECT array_agg(DISTINCT s) FROM unnest(clock_sources) AS s),
                                     ARRAY[NULL::text]) LOOP
        IF source IS NOT NULL THEN
            PERFORM set_config('timing_clock_source', source, true);
        END IF;
        clock := @extschema@.internal_clock_clock();
        part := duration / coalesce(cardinality(clock_sources), 1);
        until := clock_timestamp() + part * interval '1 s';
        plain := '{}'; counting := '{}'; timing := '{}'; buffers := '{}';
        more := '{}'; planning := '{}';
        node_calls := NULL;
        round := 0;
        elapsed := 0;
        LOOP
            times := '{}';
            FOR turn IN 0 .. 3 LOOP
                m := CASE WHEN round % 8 < 4 THEN (round + turn) % 4
                     ELSE (round + 3 - turn) % 4 END;
                IF m > 0 THEN
                    plan := (@extschema@.internal_clock_execute(statement,
                        format(explain, CASE m WHEN 3 THEN 'ON' ELSE 'OFF' END,
                               CASE m WHEN 1 THEN 'OFF' ELSE 'ON' END),
                        allow_writes, path)).output::jsonb -> 0;
                    times[m] := plan ->> 'Execution Time';
                    IF m = 2 THEN
                        jit := plan ? 'JIT';
                        IF node_calls IS NULL THEN
                            SELECT sum((n ->> 'Actual Loops')::double precision * (1 + CASE
                                WHEN n ->> 'Node Type' IN
                                    ('Hash', 'Bitmap Index Scan', 'BitmapAnd', 'BitmapOr') THEN 0
                                ELSE (n ->> 'Actual Rows')::double precision END))
                            INTO node_calls
                            FROM jsonb_path_query(plan -> 'Plan',
                                     'strict $.** ? (exists (@."Actual Loops"))') AS n;
                        END IF;
                        IF shape.as_cursor AND round % 4 = 0
                            AND (plan #>> '{Plan,Actual Rows}')::double precision > 10 THEN
                            plan := (@extschema@.internal_clock_execute(
                                format(E'SELECT count(*) FROM (%s\n) AS q',
                                       rtrim(statement, E'; \n\r\t')),
                                format(explain, 'OFF', 'ON'),
                                allow_writes, path)).output::jsonb -> 0;
                        END IF;
                        IF (plan #>> '{Plan,Actual Rows}')::double precision <= 10 THEN
                            more := more || (plan ->> 'Execution Time')::double precision
                                - (plan #>> '{Plan,Actual Total Time}')::double precision;
                        END IF;
                    END IF;
                ELSE
                    times[m] := (@extschema@.internal_clock_execute(statement,
                        CASE WHEN shape.as_cursor THEN 'as a cursor' ELSE 'as it is' END || suffix,
                        allow_writes, path)).ms;
                    IF NOT shape.as_cursor THEN
                        planning := planning || (@extschema@.internal_clock_execute(
                            'EXPLAIN (COSTS OFF) ' || statement, 'as it is' || suffix,
                            allow_writes, path)).ms;
                    END IF;
                END IF;
                executed := executed + 1;
                EXIT WHEN clock_timestamp() > until;
            END LOOP;
            elapsed := extract(epoch FROM clock_timestamp() - until) + part;
            round := round + 1;
            -- the first round fills caches; it does not count if there is time for two more rounds
            CONTINUE WHEN round = 1 AND elapsed * 3 < part;
            plain := plain || times[0];
            counting := counting || times[1];
            timing := timing || times[2];
            buffers := buffers || times[3];
            EXIT WHEN elapsed * (round + 1) / round > part OR round = most;
        END LOOP;

        SELECT greatest(coalesce(s.mean, 0), 0) - coalesce(p.mean, 0), s.mean / 2, p.margin
        INTO shift, shift_margin, planning_margin
        FROM @extschema@.internal_clock_low_mean(more) AS s,
             @extschema@.internal_clock_low_mean(planning) AS p;
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) + shift INTO plain_ms
        FROM unnest(plain) AS x;
        FOR m IN 0 .. 3 LOOP
            mode := names[m + 1];
            modes := CASE m WHEN 0 THEN plain WHEN 1 THEN counting WHEN 2 THEN timing
                     ELSE buffers END;
            SELECT count(t), round(min(t)::numeric, 4),
                   round(percentile_cont(0.5) WITHIN GROUP (ORDER BY t)::numeric, 4),
                   round(avg(t)::numeric, 4), round(stddev_samp(t)::numeric, 4)
            INTO runs, min_ms, median_ms, mean_ms, stddev_ms
            FROM (SELECT x + CASE m WHEN 0 THEN shift ELSE 0 END AS t
                  FROM unnest(modes) AS x) AS ran;
            IF m > 0 THEN
                SELECT d.difference - shift,
                       sqrt(d.margin ^ 2 + 0.002 ^ 2 + coalesce(shift_margin, 0) ^ 2
                            + coalesce(planning_margin, 0) ^ 2)
                INTO difference, margin
                FROM @extschema@.internal_clock_typical(plain, modes, NULL) AS d;
                overhead_ms := round(difference::numeric, 4);
                overhead_margin_ms := round(margin::numeric, 4);
                slowdown_percent := round((difference / nullif(plain_ms, 0) * 100)::numeric, 4);
                overhead_ns_per_call :=
                    round((difference * 1e6 / nullif(node_calls, 0))::numeric, 2);
                overhead_margin_ns_per_call :=
                    round((margin * 1e6 / nullif(node_calls, 0))::numeric, 2);
            ELSE
                overhead_ms := NULL; overhead_margin_ms := NULL; slowdown_percent := NULL;
                overhead_ns_per_call := NULL; overhead_margin_ns_per_call := NULL;
            END IF;
            reason := CASE WHEN runs = 0 THEN 'not_executed'
                           WHEN m > 0 AND overhead_margin_ms IS NULL THEN 'few_rounds' END;
            RETURN NEXT;
        END LOOP;
        IF cardinality(plain) = 0 THEN
            RAISE WARNING 'the duration was used up after % execution% of the query',
                executed, CASE WHEN executed > 1 THEN 's' ELSE '' END
                USING DETAIL = format('The duration was %s s.', duration),
                HINT = 'Two rounds of all modes need a longer duration.';
        END IF;
    END LOOP;
    IF clock_sources IS NOT NULL THEN
        PERFORM set_config('timing_clock_source', set_before, true);
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.internal_clock_query(
    text, double precision, boolean, text[], text[], text) IS
    'internal: returns the rows of clock_query_overhead() for a statement and its search_path';

CREATE FUNCTION @extschema@.clock_query_overhead(
    query text, duration double precision DEFAULT 3, allow_writes boolean DEFAULT false,
    clock_sources text[] DEFAULT NULL, params text[] DEFAULT NULL,
    OUT mode text, OUT clock text, OUT runs bigint,
    OUT min_ms numeric, OUT median_ms numeric, OUT mean_ms numeric, OUT stddev_ms numeric,
    OUT overhead_ms numeric, OUT overhead_margin_ms numeric, OUT slowdown_percent numeric,
    OUT node_calls bigint,
    OUT overhead_ns_per_call numeric, OUT overhead_margin_ns_per_call numeric,
    OUT parallel boolean, OUT jit boolean, OUT reason text)
RETURNS SETOF record
LANGUAGE sql VOLATILE ROWS 4
AS $$
    SELECT * FROM @extschema@.internal_clock_query(query, duration, allow_writes, clock_sources,
        params, pg_catalog.current_setting('search_path'))
$$;
COMMENT ON FUNCTION @extschema@.clock_query_overhead(
    text, double precision, boolean, text[], text[]) IS
    'executes a statement at each level of instrumentation, alternating for some seconds (3): a '
    'row per level, with times and the typical (median) overhead in milliseconds. reason: why a '
    'figure is null, not_executed or few_rounds';
