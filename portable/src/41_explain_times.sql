-- clock_explain(): computes the times of plan nodes without the cost of timing.

-- A node's measured time in ms, as a mean over processes, is
--
-- measured = true + calls * inside + (calls of all nodes below) * (inside + outside)
--
-- A call is timed by two readings of the clock. "inside" is the part of their cost that falls
-- between the two readings, so that the node's own time includes it. "outside" is the rest, which
-- only the times of the nodes above include. The argument "each" is inside + outside. In total, the
-- cost is the difference between the root's time and the query's time without timing.
--
-- "counting" is the cost of counting a call, in ms.
CREATE FUNCTION @extschema@.internal_clock_times(measured jsonb,
    inside double precision, each double precision, counting double precision)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp SET jit = off
AS $body$
DECLARE
    -- assumed relative standard deviation of a query's time between runs
    variation constant double precision := 0.03;
    -- assumed relative standard deviation of the cost of timing a call
    cost_deviation constant double precision := 0.25;
    -- usual self time of a node in ms, per call of the node and per call of its children
    self_prior_ms constant double precision := 30e-6;
    timed jsonb;
    plain double precision[];
    roots double precision[];
    n integer;
    k integer;
    -- Arrays with an element per node, in EXPLAIN's order. Times are in ms, means over processes.
    item jsonb[];              -- the node in EXPLAIN's JSON
    parent integer[];          -- node whose time includes this node's; NULL: none
    shown_parent integer[];    -- node above in EXPLAIN's output
    depth integer[];
    type text[];
    lines text[];
    loops double precision[];
    rows double precision[];
    rows_bound double precision[];         -- bound of the error of rows
    calls double precision[];
    processes double precision[];          -- number of processes that execute the node
    total double precision[];  -- time with all nodes below: first as measured, then as corrected
    start double precision[];              -- time until the first row
    leader double precision[];             -- time in the leader of a parallel query
    shown double precision[];              -- total before the corrections
    below double precision[];
    rounding double precision[];           -- range of total that EXPLAIN rounds to the same value
    is_timed boolean[];
    rounding_variance double precision[];  -- variance of total by rounding
    variance double precision[];          -- variance of total by rounding and by the cost of timing
    children double precision[];           -- sum of the children's totals
    children_variance double precision[];  -- sum of the children's variances
    children_cost double precision[];
    self double precision;
    x double precision;
    y double precision;
    z double precision;
    plain_ms double precision;
    undisturbed double precision;
    outside double precision;
    whole double precision;
    noise double precision;
    noise_of_difference double precision;
    scale double precision := 1;
    scale_deviation double precision;
    note text;
    pattern text;
    cte text;
    candidates integer[];
    candidate integer;
    levels integer[];
    top_down integer[];
    margin double precision;
    self_margin double precision;
    nodes jsonb := '[]';
BEGIN
    timed := measured -> 'timed';
    lines := ARRAY(SELECT line
                   FROM unnest(string_to_array(measured ->> 'lines', chr(10)))
                        WITH ORDINALITY AS l (line, n)
                   WHERE l.n = 1 OR line ~ '^ *-> ' ORDER BY l.n);

    -- Reads the nodes of the last run, and EXPLAIN's tree of them (shown_parent).
    SELECT array_agg(t.item ORDER BY node), array_agg(t.parent ORDER BY node),
           array_agg(t.depth ORDER BY node), array_agg(t.item ->> 'Node Type' ORDER BY node),
           array_agg(coalesce((t.item ->> 'Actual Loops')::double precision, 0) ORDER BY node),
           array_agg(coalesce((t.item ->> 'Actual Rows')::double precision, 0) ORDER BY node)
        INTO item, shown_parent, depth, type, loops, rows
        FROM @extschema@.internal_clock_nodes(timed -> -1 -> 'Plan') AS t;
    n := cardinality(item);

    -- Computes each node's mean over its fastest third of the runs, because disturbances affect
    -- only some runs. In each run, a node takes at least as long as its children. The means have
    -- the same property.
    WITH run AS (
        SELECT i, explained,
               (SELECT count(*) FROM @extschema@.internal_clock_nodes(explained -> 'Plan')) AS size
        FROM jsonb_array_elements(timed) WITH ORDINALITY AS r (explained, i)
    ), node AS (
        SELECT i, node,
               coalesce((t.item ->> 'Actual Total Time')::double precision
                        * (t.item ->> 'Actual Loops')::double precision, 0) AS time,
               (t.item ->> 'Actual Startup Time')::double precision AS first,
               (SELECT sum((w ->> 'Actual Total Time')::double precision
                           * (w ->> 'Actual Loops')::double precision)
                FROM jsonb_array_elements(t.item -> 'Workers') AS w) AS workers
        FROM run, @extschema@.internal_clock_nodes(explained -> 'Plan') AS t WHERE run.size = n
    ), ordered AS (
        SELECT *, row_number() OVER (PARTITION BY node ORDER BY time)
                  <= (count(*) OVER (PARTITION BY node) + 2) / 3 AS is_fast
        FROM node
    ), mean AS (
        SELECT node, avg(time) AS time, coalesce(avg(first), 0) AS first,
               avg(time - coalesce(workers, 0)) AS leader
        FROM ordered WHERE is_fast GROUP BY node
    )
    SELECT array_agg(time ORDER BY node), array_agg(first ORDER BY node),
           array_agg(mean.leader ORDER BY node),
           (SELECT array_agg(time) FROM node WHERE node = 1)
        INTO total, start, leader, roots FROM mean;
    -- time outside of all nodes: start and end of the executor, and triggers that fire after the
    -- last row
    SELECT avg(fastest.ms) INTO outside FROM (
        SELECT (r ->> 'Execution Time')::double precision
               - (r #>> '{Plan,Actual Total Time}')::double precision AS ms
        FROM jsonb_array_elements(timed) AS r
        ORDER BY 1 LIMIT (jsonb_array_length(timed) + 2) / 3) AS fastest;

    parent := shown_parent;
    FOR i IN 1..n LOOP
        -- The time of a CTE is part of that of the slowest of its scans. The time of an InitPlan is
        -- part of that of the deepest node that uses its value. But if this node is below a Gather,
        -- the Gather gets the value before it starts the workers. The users are below the node to
        -- which the CTE or InitPlan belongs. A node below the CTE itself is a scan of another CTE
        -- with the same name.
        candidates := NULL;
        IF item[i] ->> 'Subplan Name' ~ '^(CTE|InitPlan) ' THEN
            cte := substring(item[i] ->> 'Subplan Name' FROM '^CTE (.*)');
            pattern := coalesce(
                '\$(?:' || (SELECT string_agg(m[1], '|') FROM regexp_matches(
                    item[i] ->> 'Subplan Name', '\$([0-9]+)', 'g') AS m) || ')\M',
                (item[i] ->> 'Subplan Name') || '\)');
            candidates := ARRAY(SELECT j FROM generate_series(shown_parent[i], n) AS j
                WHERE CASE WHEN item[i] ->> 'Subplan Name' LIKE 'CTE %'
                           -- PostgreSQL 19 numbers CTEs of the same name: CTE x_1, scanned as x
                           THEN type[j] = 'CTE Scan'
                                AND item[j] ->> 'CTE Name' IN
                                    (cte, regexp_replace(cte, '_[0-9]+$', ''))
                           ELSE (item[j] - 'Subplan Name')::text ~ pattern END
                    AND NOT EXISTS (SELECT FROM generate_series(shown_parent[i] + 1, j) AS other
                                    WHERE depth[other] <= depth[shown_parent[i]])
                ORDER BY item[j] ->> 'CTE Name' = cte DESC NULLS LAST,
                         CASE WHEN item[i] ->> 'Subplan Name' LIKE 'CTE %' THEN total[j]
                              ELSE depth[j] END DESC);
        END IF;
        FOREACH candidate IN ARRAY coalesce(candidates, '{}') LOOP
            k := candidate;
            WHILE k <> i LOOP
                k := parent[k];
            END LOOP;
            CONTINUE WHEN k = i;
            parent[i] := candidate;
            k := candidate;
            WHILE k > shown_parent[i] LOOP
                k := shown_parent[k];
                IF type[k] LIKE 'Gather%' AND k >= shown_parent[i] THEN
                    parent[i] := k;
                END IF;
            END LOOP;
            EXIT;
        END LOOP;
        -- number of processes below a Gather, assuming that each executes the Gather's child once
        processes[i] := CASE WHEN i = 1 THEN 1
            WHEN type[shown_parent[i]] LIKE 'Gather%' AND loops[shown_parent[i]] > 0
            THEN greatest(round(loops[i] / loops[shown_parent[i]]), 1)
            ELSE processes[shown_parent[i]] END;
        -- bound of the error of rows, because EXPLAIN prints the rows per loop, rounded
        rows_bound[i] := CASE WHEN loops[i] <= 1 OR item[i] ->> 'Strategy' = 'Plain' THEN 0
            WHEN current_setting('server_version_num')::integer >= 180000 THEN 0.005
            ELSE 0.5 END * loops[i];
        rows[i] := rows[i] * loops[i];
        -- The inner side of an inner join has returned the rows of the join, plus those that the
        -- join has removed. Replaces the rounded number of rows by this exact one, if they agree.
        IF rows_bound[i] > 0 AND type[shown_parent[i]] = 'Nested Loop'
            AND item[i] ->> 'Parent Relationship' = 'Inner'
            AND item[shown_parent[i]] ->> 'Join Type' = 'Inner' AND rows_bound[shown_parent[i]] = 0
            AND NOT item[shown_parent[i]] ? 'Rows Removed by Filter' THEN
            x := rows[shown_parent[i]] + coalesce(
                (item[shown_parent[i]] ->> 'Rows Removed by Join Filter')::double precision, 0);
            IF abs(x - rows[i]) <= rows_bound[i] THEN
                rows[i] := x;
                rows_bound[i] := 0;
            END IF;
        END IF;
        rows[i] := round(rows[i]);
        calls[i] := CASE
            WHEN type[i] IN ('Hash', 'BitmapAnd', 'BitmapOr', 'Bitmap Index Scan') THEN loops[i]
            -- a join that needs only one match ends the inner loop after the match, without a last
            -- call that returns no row
            WHEN item[i] ->> 'Parent Relationship' = 'Inner'
                AND type[shown_parent[i]] = 'Nested Loop'
                AND (item[shown_parent[i]] ->> 'Inner Unique' = 'true'
                     OR item[shown_parent[i]] ->> 'Join Type' IN ('Semi', 'Anti'))
                OR type[shown_parent[i]] = 'Memoize'
                AND item[shown_parent[shown_parent[i]]] ->> 'Inner Unique' = 'true'
                THEN greatest(loops[i], rows[i])
            ELSE loops[i] + rows[i] END;
        total[i] := total[i] / processes[i];
        rounding[i] := 0.001 * loops[i] / processes[i];
        -- asynchronous scans are not timed, because they work while other nodes are timed
        is_timed[i] := NOT (item[i] ->> 'Async Capable' = 'true'
                            AND type[shown_parent[i]] = 'Append') IS TRUE;
    END LOOP;

    -- numbers of calls in one process: below[i] counts those of all nodes below node i,
    -- children_cost[i] those of its children only
    below := array_fill(0::double precision, ARRAY[n]);
    children_cost := below;
    levels := array_fill(0, ARRAY[n]);
    FOR i IN 2..n LOOP
        k := parent[i];
        children_cost[k] := children_cost[k] + calls[i] / processes[i];
        WHILE k IS NOT NULL LOOP
            below[k] := below[k] + calls[i] / processes[i];
            levels[i] := levels[i] + 1;
            k := parent[k];
        END LOOP;
    END LOOP;
    -- all nodes, each after its parent, which may have a higher number: the first scan of a CTE
    top_down := ARRAY(SELECT l.i FROM unnest(levels) WITH ORDINALITY AS l (level, i)
                      ORDER BY l.level, l.i);

    -- Durations of ExecutorRun without timing. "plain_ms" is the median. "undisturbed" is the mean
    -- of the fastest third, like the means of the timed runs, with which it is compared.
    plain := ARRAY(SELECT jsonb_array_elements_text(measured -> 'plain')::double precision);
    SELECT avg(v) INTO undisturbed
    FROM (SELECT v FROM unnest(plain) AS v
          ORDER BY v LIMIT (cardinality(plain) + 2) / 3) AS fastest;
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v) INTO plain_ms FROM unnest(plain) AS v;
    -- "noise" is the relative standard deviation of plain_ms. It includes the times' resolution of
    -- a microsecond. A disturbance may last a second, so the executions within 3 s count as at most
    -- 4 independent ones.
    noise := sqrt(variation ^ 2 + (0.001 / greatest(plain_ms, 0.001)) ^ 2);
    IF cardinality(plain) >= 3 THEN
        SELECT 1.4826 * percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(v - plain_ms))
               / nullif(plain_ms, 0) INTO x
        FROM unnest(plain) AS v;
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v) INTO z FROM unnest(roots) AS v;
        SELECT 1.4826 * percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(v - z))
               / nullif(z, 0) INTO y
        FROM unnest(roots) AS v;
        noise_of_difference :=
            sqrt(noise ^ 2 + coalesce(greatest(x, y), 0) ^ 2 / cardinality(plain));
        noise := sqrt(noise ^ 2 + coalesce(greatest(x, y), 0) ^ 2 / least(cardinality(plain), 4));
    END IF;
    IF NOT (measured ->> 'cursor')::boolean THEN
        -- Without a cursor, plain_ms is EXPLAIN's "Execution Time". This includes the executor's
        -- start and end, and the cost of counting, which are subtracted.
        x := outside + counting * (below[1] + calls[1]);
        plain_ms := greatest(plain_ms - x, plain_ms / 2);
        undisturbed := greatest(undisturbed - x, undisturbed / 2);
    END IF;

    -- "scale" is the ratio of the cost of timing in this query to the calibrated cost. It is the
    -- mean of the measured ratio and of 1, the expected ratio, weighted by their inverse variances.
    x := inside * calls[1] + each * below[1];
    scale_deviation := cost_deviation;
    IF x > 0 THEN
        y := (total[1] - undisturbed) / x;
        -- standard deviation of the measured ratio. The difference of two times is less uncertain
        -- (noise_of_difference) than a single time (noise): plain and timed runs alternate, so a
        -- disturbance affects both
        z := greatest(coalesce(noise_of_difference, noise) * undisturbed * 1.4 / x, 1e-3);
        scale := greatest((y / z ^ 2 + 1 / cost_deviation ^ 2)
                          / (1 / z ^ 2 + 1 / cost_deviation ^ 2), 0);
        scale_deviation := sqrt(1 / (1 / z ^ 2 + 1 / cost_deviation ^ 2));
    END IF;
    inside := inside * scale;
    each := each * scale;

    shown := total;
    FOR i IN 1..n LOOP
        total[i] := greatest(total[i] - inside * calls[i] / processes[i] - each * below[i], 0);
    END LOOP;
    -- If the root's time still differs from plain_ms, the machine's speed was different in the
    -- timed runs. So all times are multiplied by the ratio.
    x := CASE WHEN total[1] > 0 AND plain_ms > 0 THEN plain_ms / total[1] ELSE 1 END;
    FOR i IN 1..n LOOP
        total[i] := CASE WHEN is_timed[i] THEN total[i] * x ELSE 0 END;
        rounding[i] := rounding[i] * x;
        rounding_variance[i] := rounding[i] ^ 2 / 12;
        variance[i] := rounding_variance[i]
            + (cost_deviation * inside * calls[i] / processes[i]) ^ 2
            + (cost_deviation * each * below[i] / 2) ^ 2;
    END LOOP;

    -- EXPLAIN rounds the time of a loop, so the total time of many short loops has few correct
    -- digits. Two other facts are known: the times of the nodes above are precise, and a node's
    -- self time is usually about 30 ns per call.
    --
    -- First, from the leaves to the root, a node's rounded time is combined with the sum of its
    -- children's times and its usual self time. Then, from the root to the leaves, the difference
    -- between a node's time and that sum is distributed to its children in proportion to their
    -- variances.
    children := array_fill(0::double precision, ARRAY[n]);
    children_variance := children;
    FOR i IN REVERSE n..1 LOOP
        k := top_down[i];
        IF children[k] > 0 AND type[k] NOT LIKE 'Gather%' THEN
            x := self_prior_ms * (calls[k] / processes[k] + children_cost[k]);
            y := children_variance[k] + x ^ 2;
            z := greatest(variance[k], 1e-12);
            IF rounding[k] > 0.05 * total[k] THEN
                total[k] := (total[k] / z + (children[k] + x) / y) / (1 / z + 1 / y);
                variance[k] := 1 / (1 / z + 1 / y);
            END IF;
        END IF;
        IF parent[k] IS NOT NULL AND type[parent[k]] NOT LIKE 'Gather%' THEN
            children[parent[k]] := children[parent[k]] + total[k];
            children_variance[parent[k]] := children_variance[parent[k]] + variance[k];
        END IF;
    END LOOP;
    total[1] := plain_ms;
    FOR i IN 1..n LOOP
        k := top_down[i];
        CONTINUE WHEN children[k] = 0;
        y := self_prior_ms * (calls[k] / processes[k] + children_cost[k]);
        z := total[k] - children[k] - y;
        FOR j IN 1..n LOOP
            IF parent[j] = k AND type[k] NOT LIKE 'Gather%' THEN
                IF rounding[j] > 0.02 * total[j] THEN
                    x := total[j] + z * variance[j] / nullif(children_variance[k] + y ^ 2, 0);
                    total[j] := greatest(least(x, total[j] + rounding[j] / 2),
                                         total[j] - rounding[j] / 2, 0);
                    rounding_variance[j] := rounding_variance[j]
                        * greatest(1 - variance[j] / nullif(children_variance[k] + y ^ 2, 0), 0);
                END IF;
            END IF;
        END LOOP;
        SELECT sum(total[j]) INTO x FROM generate_series(1, n) AS j WHERE parent[j] = k;
        IF x > total[k] AND type[k] NOT LIKE 'Gather%' THEN
            FOR j IN 1..n LOOP
                IF parent[j] = k THEN
                    total[j] := total[j] * total[k] / x;
                END IF;
            END LOOP;
        END IF;
    END LOOP;

    whole := total[1];
    FOR i IN 1..n LOOP
        -- a Gather's time is that of the leader, so it includes only the leader's part of its
        -- children's times
        SELECT total[i] - coalesce(sum(CASE WHEN type[i] LIKE 'Gather%' AND processes[j] > 1
                                                 AND shown[j] > 0
                                           THEN leader[j] * total[j] / shown[j]
                                           ELSE total[j] END), 0),
               coalesce(sum(rounding_variance[j]), 0)
            INTO self, x FROM generate_series(1, n) AS j WHERE parent[j] = i;
        self := greatest(self, 0);
        margin := 1.96 * sqrt((noise * total[i]) ^ 2 + rounding_variance[i]
            + (cost_deviation * inside * calls[i] / processes[i]
               + greatest(scale_deviation, 0.1) * each * below[i]) ^ 2);
        IF i = 1 THEN
            margin := 1.96 * noise * total[i];
        END IF;
        self_margin := 1.96 * sqrt((noise * self) ^ 2 + rounding_variance[i] + x
            + (cost_deviation * (inside * calls[i] / processes[i]
                                 + (each - inside) * children_cost[i])) ^ 2);
        margin := least(margin, greatest(whole, total[i]));
        note := nullif(concat_ws(', ',
            CASE WHEN processes[i] > 1 THEN format('mean of %s processes', processes[i]) END,
            CASE WHEN rows_bound[i] > greatest(0.02 * rows[i], 1)
                 THEN format('rows +/- %s', ceil(rows_bound[i])) END), '');
        IF NOT is_timed[i] THEN
            note := 'not timed';
            total[i] := NULL; margin := NULL;
            self := NULL; self_margin := NULL;
        END IF;
        nodes := nodes || jsonb_build_array(jsonb_build_object(
            'depth', depth[i], 'line', lines[i], 'type', type[i],
            'relation', item[i] ->> 'Relation Name',
            'loops', loops[i], 'rows', rows[i], 'calls', calls[i],
            'processes', processes[i],
            'start_ms',
            CASE WHEN shown[i] > 0 AND loops[i] > 0
                 THEN least(start[i] * total[i] / shown[i], total[i] * processes[i] / loops[i])
                 ELSE 0 END,
            'total_ms', total[i], 'total_margin_ms', margin,
            'self_ms', self, 'self_margin_ms', self_margin,
            'removed_ms', shown[i] - total[i], 'note', note));
    END LOOP;
    -- In a parallel plan, the sum of all self times differs from the query's time, because they are
    -- means over processes.
    SELECT jsonb_agg(node || jsonb_build_object(
               'share_percent', (node ->> 'self_ms')::double precision * scale_to_percent,
               'share_margin_percent',
               (node ->> 'self_margin_ms')::double precision * scale_to_percent) ORDER BY i)
    INTO nodes
    FROM (SELECT node, i,
                 100 / nullif(sum((node ->> 'self_ms')::double precision) OVER (), 0)
                     AS scale_to_percent
          FROM jsonb_array_elements(nodes) WITH ORDINALITY AS u(node, i)) AS s;
    RETURN jsonb_build_object('nodes', nodes, 'run_ms', shown[1] + outside, 'plain_ms', plain_ms,
        'estimate_ms', shown[1], 'runs', cardinality(plain),
        'removed_ms', inside * calls[1] + each * below[1],
        'scale', scale, 'printed', measured ->> 'printed');
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_times(
    jsonb, double precision, double precision, double precision) IS
    'internal: subtracts the cost of timing from the times of plan nodes that '
    'internal_clock_rounds() returned; the arguments are costs of a call in milliseconds: the '
    'part within the node''s own time, the whole cost of timing, and the cost of counting';

-- Reads the clock without pause until a time, and returns the seconds that were not lost in gaps.
-- The argument "gap" is the duration of the shortest gap.
CREATE FUNCTION @extschema@.internal_clock_busy(until timestamptz, gap interval)
RETURNS double precision
LANGUAGE plpgsql VOLATILE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    began CONSTANT timestamptz := clock_timestamp();
    last timestamptz := began;
    this timestamptz;
    lost interval := '0';
BEGIN
    WHILE last < until LOOP
        this := clock_timestamp();
        IF this - last >= gap THEN
            lost := lost + (this - last);
        END IF;
        last := this;
    END LOOP;
    RETURN extract(epoch FROM last - began - lost);
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_busy(timestamptz, interval) IS
    'internal: keeps a CPU busy until a time, and returns the seconds in which the process had it';

-- Returns the sum of internal_clock_busy() over the processes of a parallel query, and their
-- number.  The table is large enough for several workers, and each process gets a row of it.  In
-- this row the process is busy until the time is over; further rows return 0.  The query has
-- workers only because the function around it is not volatile, and is called in FROM.
CREATE FUNCTION @extschema@.internal_clock_busy_processes(
    until timestamptz, gap interval, OUT seconds double precision, OUT processes bigint)
RETURNS SETOF record
LANGUAGE sql STABLE ROWS 1 SET search_path = pg_catalog, pg_temp AS $body$
    SELECT sum(b.s), count(*) FILTER (WHERE b.s > 0)
    FROM (SELECT @extschema@.internal_clock_busy($1, $2) AS s FROM pg_proc) AS b
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_busy_processes(timestamptz, interval) IS
    'internal: keeps several processes busy until a time, and returns the seconds in which they '
    'had a CPU, and their number';

-- Keeps processes busy, and returns the percentage of the time in which they waited for a CPU.
-- Returns null if fewer processes could be started.  The settings make the plan of
-- internal_clock_busy_processes() a parallel scan of the table.  A scan of its index would have
-- fewer workers.
CREATE FUNCTION @extschema@.internal_clock_wait_percent(
    processes integer, seconds double precision) RETURNS double precision
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
SET max_parallel_workers_per_gather = 0 SET parallel_setup_cost = 0 SET parallel_tuple_cost = 0
SET min_parallel_table_scan_size = 0 SET enable_indexonlyscan = off AS $body$
DECLARE
    busy record;
BEGIN
    PERFORM set_config('max_parallel_workers_per_gather', (processes - 1)::text, true);
    SELECT b.* INTO busy
    FROM @extschema@.internal_clock_busy_processes(
             clock_timestamp() + seconds * interval '1 s',
             greatest(10, 2 * @extschema@.internal_clock_step()) * interval '1 us') AS b;
    RETURN CASE WHEN busy.processes = processes
                THEN greatest(0, 100 * (1 - busy.seconds / (processes * seconds))) END;
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_wait_percent(integer, double precision) IS
    'internal: returns the percentage of the time in which busy processes wait for a CPU';

-- Returns a text about the waits of an execution that took "ms" and had "processes" processes.
-- The waits are estimated from those of the same number of busy processes.
CREATE FUNCTION @extschema@.internal_clock_waits(
    processes integer, ms double precision, seconds double precision) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    -- null if a timeout leaves too little time
    left_s CONSTANT double precision := (@extschema@.internal_clock_left()).seconds;
    others_percent CONSTANT double precision := CASE WHEN left_s > 0.2 + 3 * seconds
        THEN @extschema@.internal_clock_wait_percent(1, seconds) END;
    wait_percent CONSTANT double precision := CASE
        WHEN processes = 1 OR others_percent IS NULL THEN others_percent
        ELSE @extschema@.internal_clock_wait_percent(processes, seconds) END;
    waited_ms CONSTANT numeric := ms * wait_percent / 100;
    reasons CONSTANT text := concat_ws(', ',
        CASE WHEN processes > 1 THEN processes || ' processes' END
        || CASE WHEN wait_percent >= 10 AND others_percent < 10
                THEN format(' on about %s CPUs',
                            round((processes * (1 - wait_percent / 100))::numeric, 1))
                ELSE '' END,
        CASE WHEN others_percent >= 10 THEN 'CPUs used by other processes' END);
BEGIN
    IF wait_percent >= 10 AND waited_ms > 0 THEN
        -- with two significant digits
        RETURN format(E',\n  about %s ms waiting (included in self_ms): %s',
                      round(waited_ms, 1 - floor(log(waited_ms))::integer), reasons);
    END IF;
    RETURN CASE WHEN wait_percent IS NULL THEN ' (waits included, length unknown)'
                ELSE ' (few waits for a CPU)' END || coalesce(E',\n  ' || nullif(reasons, ''), '');
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_waits(
    integer, double precision, double precision) IS
    'internal: returns a text about the waits for a CPU of an execution';

CREATE FUNCTION @extschema@.internal_clock_explain(
    query text, allow_writes boolean, params text[], runs integer, format text, path text)
RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    began CONSTANT timestamptz := clock_timestamp();
    step_us CONSTANT double precision := @extschema@.internal_clock_step();
    executed_s double precision;
    throttled_s double precision := @extschema@.internal_clock_throttled_s();
    share_s double precision;
    measured jsonb;
    result jsonb;
    processes integer;
    overhead record;
    reading double precision;
    each double precision;
    deviation double precision;
BEGIN
    IF allow_writes IS NULL THEN
        RAISE EXCEPTION 'allow_writes must not be null' USING ERRCODE = '22004';
    ELSIF runs NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION 'runs must be between 1 and 1000' USING ERRCODE = '22023',
            DETAIL = pg_catalog.format('The number given is %s.', runs);
    END IF;
    measured := @extschema@.internal_clock_rounds(
        @extschema@.internal_clock_statement(query, allow_writes, params),
        allow_writes, runs, format, path);
    executed_s := extract(epoch FROM clock_timestamp() - began);
    throttled_s := @extschema@.internal_clock_throttled_s() - throttled_s;
    -- Estimates the cost of timing a call in two ways. The first is the cost of two readings, minus
    -- a part that overlaps other work. The second is the measured overhead of EXPLAIN ANALYZE. The
    -- two estimates are weighted by their inverse variances. On a busy machine the measured
    -- overhead has a wide margin, and so a low weight.
    SELECT 0.2 * least(1, l.seconds) INTO share_s FROM @extschema@.internal_clock_left() AS l;
    overhead := @extschema@.internal_clock_overhead(
        CASE WHEN share_s < 0.2 THEN 1000 ELSE 10000 END, 'generate_series', 0.75 * share_s,
        step_us);
    -- as in internal_clock_cost()
    reading := (@extschema@.internal_clock_direct_cost(0.25 * share_s, step_us)).cost_ns;
    IF (reading > 100 OR step_us > 1) AND overhead.timing_margin_ns < 0.3 * overhead.timing_ns THEN
        reading := overhead.timing_ns / 2;
    END IF;
    reading := coalesce(reading, 25);
    IF @extschema@.internal_clock_clock() = 'RDTSC' THEN
        reading := CASE WHEN overhead.overhead_margin_ns < 0.3 * overhead.overhead_ns
                   THEN 0.55 * overhead.overhead_ns ELSE 10 END;
    END IF;
    each := 2 * reading - least(10, reading / 2);
    deviation := CASE WHEN overhead.overhead_ns BETWEEN each / 3 AND each * 3
                 THEN greatest(overhead.overhead_margin_ns / 1.96, 0.05 * each) ELSE 1e9 END;
    each := (each / (0.3 * each) ^ 2 + coalesce(overhead.overhead_ns, each) / deviation ^ 2)
        / (1 / (0.3 * each) ^ 2 + 1 / deviation ^ 2);
    result := @extschema@.internal_clock_times(measured, least(reading, each) / 1e6, each / 1e6,
            least(greatest(overhead.counting_ns, 2), 8) / 1e6)
        || jsonb_build_object('clock', @extschema@.internal_clock_clock());
    -- Estimates the waits, which only the rows of clock_explain() show, from those of busy
    -- processes, as many as the plan has.  These are busy for as long as the executions took, but
    -- at most 0.3 s.  Beside two busy sessions on two CPUs, one of eight observations of 0.1 s saw
    -- no wait.
    IF format IS NULL THEN
        SELECT max((x ->> 'processes')::integer) INTO processes
        FROM jsonb_array_elements(result -> 'nodes') AS x;
        result := result || jsonb_build_object('waits', @extschema@.internal_clock_waits(
                processes, (result ->> 'plain_ms')::float8, least(0.3, greatest(0.1, executed_s)))
            || CASE WHEN throttled_s >= 0.1 * executed_s
                    THEN format(E',\n  in %s s of executions, the CPU limit of the container '
                                'stopped its processes for %s s', round(executed_s::numeric, 1),
                                round(throttled_s::numeric, 1))
                    ELSE '' END);
    END IF;
    RETURN result;
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_explain(
    text, boolean, text[], integer, text, text) IS
    'internal: executes a query with and without timing alternately, and returns the times of its '
    'plan nodes without the cost of timing';
