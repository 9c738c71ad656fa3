-- What EXPLAIN ANALYZE costs: its own "Execution Time", which leaves out planning and printing, against executions
-- of the same query without it.

-- count(*) over so many rows, several times in a statement, lest a microsecond, which is as exactly as EXPLAIN prints
-- times, matters. A cursor executes without storing the result; its times without those of the same statement
-- over no row are compared with EXPLAIN's without those over no row, so that what either does once cancels out.
CREATE FUNCTION @extschema@.clock_portable_overhead(rows bigint, workload text, duration double precision,
    OUT repetitions bigint, OUT plain_ms double precision, OUT analyze_ms double precision,
    OUT counting_ns double precision, OUT counting_margin_ns double precision,
    OUT timing_ns double precision, OUT timing_margin_ns double precision,
    OUT overhead_ns double precision, OUT overhead_margin_ns double precision,
    OUT parallel boolean, OUT jit boolean)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET cursor_tuple_fraction = 1
AS $$
DECLARE
    until constant timestamptz := clock_timestamp() + duration * interval '1 s';
    copies constant integer := least(greatest(10000 / rows, 1), 20);
    ns constant double precision := 1e6 / rows / copies;
    -- half of what EXPLAIN rounds to, twice
    printed_ms constant double precision := 0.001;
    memory text := greatest(rows * 112 / 1024 * copies + 1024, pg_size_bytes(current_setting('work_mem')) / 1024)::text;
    explain constant text[] := '{"EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF) ","EXPLAIN (ANALYZE, FORMAT JSON) "}';
    many text;
    none text := 'SELECT count(*) FROM generate_series(1, 0)';
    times double precision[];
    plain double precision[] := '{}'; plain_none double precision[] := '{}';
    counting double precision[] := '{}'; counting_none double precision[] := '{}';
    timing double precision[] := '{}'; timing_none double precision[] := '{}';
    round integer := 0;
    mode integer;
    opened refcursor;
    started timestamptz;
    explained json;
    statement text;
    round_s double precision;
    round_started timestamptz;
BEGIN
    IF workload = 'table' THEN
        EXECUTE format('CREATE TEMPORARY TABLE clock_overhead_rows AS SELECT i FROM generate_series(1, %s) AS i', rows);
        many := 'SELECT count(*) FROM pg_temp.clock_overhead_rows';
    ELSE
        many := format('SELECT count(*) FROM generate_series(1, %s)', rows);
    END IF;
    many := many || repeat(' UNION ALL ' || many, copies - 1);
    none := none || repeat(' UNION ALL ' || none, copies - 1);
    -- glibc: what has been freed once as one large piece teaches malloc() not to give smaller ones back to the
    -- system, for which the next execution would pay with page faults
    PERFORM set_config('work_mem', memory, true), length(repeat(' ', 8000000));
    LOOP
        round_started := clock_timestamp();
        times := '{}';
        -- three modes over many rows, in every order; and now and then over none
        FOR turn IN 0 .. CASE WHEN round % 4 = 0 THEN 5 ELSE 2 END LOOP
            mode := CASE WHEN round % 6 < 3 THEN (round + turn) % 3 ELSE (round + 5 - turn) % 3 END + turn / 3 * 3;
            IF mode IN (0, 3) THEN
                statement := CASE mode WHEN 0 THEN many ELSE none END;
                OPEN opened NO SCROLL FOR EXECUTE statement;
                started := clock_timestamp();
                MOVE FORWARD ALL FROM opened;
                CLOSE opened;
                times[mode] := extract(epoch FROM clock_timestamp() - started) * 1000;
            ELSE
                EXECUTE explain[mode % 3] || CASE WHEN mode < 3 THEN many ELSE none END INTO explained;
                times[mode] := explained -> 0 ->> 'Execution Time';
                IF mode = 2 AND parallel IS NULL THEN
                    parallel := explained::text ~ '"Node Type": "Gather';
                    jit := explained::text ~ '"JIT":';
                END IF;
            END IF;
        END LOOP;
        IF round > 0 THEN
            plain := plain || times[0]; counting := counting || times[1]; timing := timing || times[2];
            plain_none := plain_none || times[3]; counting_none := counting_none || times[4]; timing_none := timing_none || times[5];
        END IF;
        round := round + 1;
        round_s := extract(epoch FROM clock_timestamp() - round_started);
        EXIT WHEN clock_timestamp() + round_s * interval '1 s' >= until AND round >= 2;
        EXIT WHEN round >= 20000;
    END LOOP;
    IF workload = 'table' THEN
        DROP TABLE pg_temp.clock_overhead_rows;
    END IF;

    repetitions := cardinality(plain);
    SELECT m.mean INTO analyze_ms FROM @extschema@.clock_portable_low_mean(timing) AS m;
    SELECT p.mean - b.mean + c.mean INTO plain_ms FROM @extschema@.clock_portable_low_mean(plain) AS p,
        @extschema@.clock_portable_low_mean(plain_none) AS b, @extschema@.clock_portable_low_mean(counting_none) AS c;
    SELECT (m.difference - n.difference) * ns, sqrt(m.margin ^ 2 + coalesce(n.margin, 0) ^ 2 + printed_ms ^ 2) * ns INTO counting_ns, counting_margin_ns
    FROM @extschema@.clock_portable_difference(plain, counting) AS m, @extschema@.clock_portable_difference(plain_none, counting_none) AS n;
    SELECT (m.difference - n.difference) * ns, sqrt(m.margin ^ 2 + coalesce(n.margin, 0) ^ 2 + printed_ms ^ 2) * ns INTO timing_ns, timing_margin_ns
    FROM @extschema@.clock_portable_difference(counting, timing) AS m, @extschema@.clock_portable_difference(counting_none, timing_none) AS n;
    SELECT (m.difference - n.difference) * ns, sqrt(m.margin ^ 2 + coalesce(n.margin, 0) ^ 2 + printed_ms ^ 2) * ns INTO overhead_ns, overhead_margin_ns
    FROM @extschema@.clock_portable_difference(plain, timing) AS m, @extschema@.clock_portable_difference(plain_none, timing_none) AS n;
    plain_ms := plain_ms / copies;
    analyze_ms := analyze_ms / copies;
END
$$;
COMMENT ON FUNCTION @extschema@.clock_portable_overhead(bigint, text, double precision) IS
'internal: what counting and timing cost in nanoseconds a row, with margins, by executing count(*) over some rows plain and under EXPLAIN ANALYZE by turns';

CREATE PROCEDURE @extschema@.clock_executor_overhead(
    INOUT rows bigint DEFAULT 1000, INOUT workload text DEFAULT 'generate_series', IN duration double precision DEFAULT 3,
    INOUT repetitions bigint DEFAULT NULL, INOUT plain_ms numeric DEFAULT NULL, INOUT analyze_ms numeric DEFAULT NULL,
    INOUT counting_ns numeric DEFAULT NULL, INOUT counting_margin_ns numeric DEFAULT NULL,
    INOUT timing_ns numeric DEFAULT NULL, INOUT timing_margin_ns numeric DEFAULT NULL,
    INOUT overhead_ns numeric DEFAULT NULL, INOUT overhead_margin_ns numeric DEFAULT NULL, INOUT slowdown_percent numeric DEFAULT NULL,
    INOUT clock text DEFAULT NULL, INOUT reading_ns numeric DEFAULT NULL, INOUT reading_margin_ns numeric DEFAULT NULL,
    INOUT predicted_ns numeric DEFAULT NULL, INOUT measured_per_predicted numeric DEFAULT NULL,
    INOUT parallel boolean DEFAULT NULL, INOUT jit boolean DEFAULT NULL)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    o record;
    cost record;
BEGIN
    workload := lower(workload);
    IF rows IS NULL THEN
        RAISE EXCEPTION 'rows must not be null' USING ERRCODE = 'null_value_not_allowed';
    ELSIF workload IS NULL THEN
        RAISE EXCEPTION 'workload must not be null' USING ERRCODE = 'null_value_not_allowed';
    ELSIF rows NOT BETWEEN 1 AND 10000000 THEN
        RAISE EXCEPTION 'rows must be between 1 and 10000000' USING ERRCODE = 'invalid_parameter_value',
            DETAIL = format('The number given is %s.', rows), HINT = '1000, the default, are enough for most purposes.';
    ELSIF workload NOT IN ('generate_series', 'table') THEN
        RAISE EXCEPTION 'unknown workload "%"', workload USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Workloads are generate_series and table.';
    END IF;
    duration := @extschema@.clock_portable_duration(duration);
    clock := @extschema@.clock_portable_clock();
    -- of the TSC nothing is known here
    IF clock <> 'RDTSC' THEN
        cost := @extschema@.clock_portable_cost(duration / 6);
        reading_ns := round(cost.cost_ns::numeric, 2);
        reading_margin_ns := round(cost.cost_margin_ns::numeric, 2);
    END IF;
    o := @extschema@.clock_portable_overhead(rows, workload, duration * CASE clock WHEN 'RDTSC' THEN 1 ELSE 5 / 6.0 END);
    repetitions := o.repetitions;
    plain_ms := round(o.plain_ms::numeric, 4);
    analyze_ms := round(o.analyze_ms::numeric, 4);
    counting_ns := round(o.counting_ns::numeric, 2);
    counting_margin_ns := round(o.counting_margin_ns::numeric, 2);
    timing_ns := round(o.timing_ns::numeric, 2);
    timing_margin_ns := round(o.timing_margin_ns::numeric, 2);
    overhead_ns := round(o.overhead_ns::numeric, 2);
    overhead_margin_ns := round(o.overhead_margin_ns::numeric, 2);
    slowdown_percent := round((o.overhead_ns * rows / 1e4 / o.plain_ms)::numeric, 4);
    predicted_ns := 2 * reading_ns;
    measured_per_predicted := round(timing_ns / predicted_ns, 2);
    parallel := o.parallel;
    jit := o.jit;
END
$$;
COMMENT ON PROCEDURE @extschema@.clock_executor_overhead IS
'executes count(*) over some rows (1000) plain and under EXPLAIN ANALYZE, by turns for a number of seconds (3): what counting and timing cost in nanoseconds a row, with margins, beside what the clock makes one expect';

