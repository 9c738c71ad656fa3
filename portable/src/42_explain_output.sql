-- clock_explain(): the functions that users call, and the output as text and JSON.

CREATE FUNCTION @extschema@.clock_explain(
    query text, allow_writes boolean DEFAULT false, params text[] DEFAULT NULL,
    runs integer DEFAULT NULL,
    OUT node integer, OUT depth integer, OUT line text, OUT node_type text, OUT relation text,
    OUT loops bigint, OUT rows bigint,
    OUT self_ms numeric, OUT self_margin_ms numeric,
    OUT share_percent numeric, OUT share_margin_percent numeric,
    OUT cpu_ms numeric, OUT wait_ms numeric, OUT waits text, OUT cpu_wait_ms numeric,
    OUT total_ms numeric, OUT total_margin_ms numeric, OUT note text,
    OUT run_ms numeric, OUT plain_ms numeric,
    OUT samples bigint, OUT sampler_ms numeric, OUT total_stddev_ms numeric) RETURNS SETOF record
LANGUAGE sql VOLATILE ROWS 10
AS $body$
    SELECT n::integer, (x ->> 'depth')::integer,
           pg_catalog.repeat('  ', coalesce((x ->> 'depth')::integer, 0))
               || pg_catalog.regexp_replace(x ->> 'line', '^ *(->  )?', ''),
           x ->> 'type', x ->> 'relation',
           (x ->> 'loops')::bigint, (x ->> 'rows')::bigint,
           pg_catalog.round((x ->> 'self_ms')::numeric, 4),
           pg_catalog.round((x ->> 'self_margin_ms')::numeric, 4),
           pg_catalog.round((x ->> 'share_percent')::numeric, 4),
           pg_catalog.round((x ->> 'share_margin_percent')::numeric, 4),
           -- cpu_ms, wait_ms, waits and cpu_wait_ms, which need the C extension
           NULL::numeric, NULL::numeric, NULL::text, NULL::numeric,
           pg_catalog.round((x ->> 'total_ms')::numeric, 4),
           pg_catalog.round((x ->> 'total_margin_ms')::numeric, 4),
           nullif(pg_catalog.concat_ws(', ',
               CASE WHEN n = 0
                    THEN pg_catalog.concat(
                        pg_catalog.round((e ->> 'plain_ms')::numeric,
                                         CASE WHEN (e ->> 'plain_ms')::numeric < 1000 THEN 1
                                              ELSE 0 END),
                        ' ms',
                        e ->> 'waits') END,
               -- A node may have taken the most time if the upper limit of its share is not below
               -- the lower limit of any other node's share.
               CASE WHEN pg_catalog.count(*) OVER () > 2 AND s.upper >= s.lower
                    THEN CASE WHEN pg_catalog.count(*) FILTER (WHERE s.upper >= s.lower)
                                   OVER () = 1
                              THEN 'took the most time'
                              ELSE 'may have taken the most time' END
               END,
               -- Shows the number of processes only for the topmost node below a Gather.
               CASE WHEN x ->> 'processes' = pg_catalog.lag(x ->> 'processes') OVER (ORDER BY n)
                    THEN nullif(pg_catalog.regexp_replace(x ->> 'note',
                                                          '^mean of [0-9]+ processes(, )?', ''),
                                '')
                    ELSE x ->> 'note' END), ''),
           CASE WHEN n = 0 THEN pg_catalog.round((e ->> 'run_ms')::numeric, 4) END,
           CASE WHEN n = 0 THEN pg_catalog.round((e ->> 'plain_ms')::numeric, 4) END,
           -- samples, sampler_ms and total_stddev_ms, which need the C extension
           NULL::bigint, NULL::numeric, NULL::numeric
    FROM (SELECT e, x, t.i - 1 AS n, m.share + m.margin AS upper,
                 -- At least 1e-4, so that a node that was never executed, whose share is 0, does
                 -- not get the note "may have taken the most time".
                 greatest(pg_catalog.max(m.share - m.margin) OVER (), 1e-4) AS lower
          FROM @extschema@.internal_clock_explain($1, $2, $3, $4, NULL,
                   pg_catalog.current_setting('search_path')) AS e,
               -- row 0 describes the run of the whole query
               pg_catalog.jsonb_array_elements('[{"line": "Query"}]' || (e -> 'nodes'))
                   WITH ORDINALITY AS t (x, i),
               LATERAL (SELECT (x ->> 'share_percent')::float8 AS share,
                               (x ->> 'share_margin_percent')::float8 AS margin) AS m) AS s
    ORDER BY n;
$body$;
COMMENT ON FUNCTION @extschema@.clock_explain(text, boolean, text[], integer) IS
    'executes a query several times, with and without timing, and returns a row for the whole '
    'query and one per plan node, with times without the cost of timing';

-- Inserts times into EXPLAIN's text of a run without timing. Adds a line "Clock:" at the end of
-- each node's lines. A node's lines end before the next node, before a heading such as
-- "SubPlan 1", or before a line that belongs to no node.
CREATE FUNCTION @extschema@.internal_clock_explain_text(result jsonb) RETURNS SETOF text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    line text;
    pending text;
    node jsonb;
    n integer := 0;
    end_of_plan boolean := false;
    loops double precision;
BEGIN
    FOREACH line IN ARRAY string_to_array(result ->> 'printed', chr(10)) LOOP
        IF pending IS NOT NULL
            AND (line ~ '^ *-> ' OR line ~ '^ *(InitPlan|SubPlan|CTE) [^:]*$' OR line ~ '^\S') THEN
            RETURN NEXT pending;
            pending := NULL;
        END IF;
        IF NOT end_of_plan AND (n = 0 OR line ~ '^ *-> ') THEN
            node := result -> 'nodes' -> n;
            n := n + 1;
            loops := (node ->> 'loops')::double precision;
            IF node ->> 'note' = 'not timed' THEN
                pending := repeat(' ', position('-> ' IN line) + 5) || 'Clock: not timed';
            ELSIF loops > 0 THEN
                line := regexp_replace(line, '\(actual rows=', format('(actual time=%s..%s rows=',
                    round((node ->> 'start_ms')::numeric, 3),
                    round(((node ->> 'total_ms')::double precision
                           * (node ->> 'processes')::double precision / loops)::numeric, 3)));
                pending := format(
                    '%sClock: total %s +/- %s ms, self %s +/- %s ms%s, %s of %s calls timed%s',
                    repeat(' ', CASE WHEN n = 1 THEN 2 ELSE position('-> ' IN line) + 5 END),
                    round((node ->> 'total_ms')::numeric, 3),
                    round((node ->> 'total_margin_ms')::numeric, 3),
                    round((node ->> 'self_ms')::numeric, 3),
                    round((node ->> 'self_margin_ms')::numeric, 3),
                    ' (' || round((node ->> 'share_percent')::numeric, 1) || ' +/- '
                        || round((node ->> 'share_margin_percent')::numeric, 1) || ' %)',
                    node ->> 'calls', node ->> 'calls', '; ' || (node ->> 'note'));
            END IF;
        ELSIF line ~ '^Execution Time:' THEN
            RETURN NEXT format('Time: %s, correction, runs %s, timing took %s ms',
                result ->> 'clock', result ->> 'runs',
                round((result ->> 'removed_ms')::numeric, 3));
            RETURN NEXT format('Plain Execution Time: %s ms',
                round((result ->> 'plain_ms')::numeric, 3));
            line := format('Execution Time: %s ms', round((result ->> 'run_ms')::numeric, 3));
        ELSIF line ~ '^\S' THEN
            end_of_plan := true;
        END IF;
        RETURN NEXT line;
    END LOOP;
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_explain_text(jsonb) IS
    'internal: returns EXPLAIN''s text with the times of internal_clock_explain()';

CREATE FUNCTION @extschema@.clock_explain_text(
    query text, allow_writes boolean DEFAULT false, params text[] DEFAULT NULL,
    runs integer DEFAULT NULL)
RETURNS TABLE ("QUERY PLAN" text)
LANGUAGE sql VOLATILE ROWS 20
AS $body$
    SELECT @extschema@.internal_clock_explain_text(
        @extschema@.internal_clock_explain($1, $2, $3, $4, 'TEXT',
            pg_catalog.current_setting('search_path')));
$body$;
COMMENT ON FUNCTION @extschema@.clock_explain_text(text, boolean, text[], integer) IS
    'executes a query several times, with and without timing, and returns the output of EXPLAIN '
    'ANALYZE without the cost of timing';

-- Inserts keys into EXPLAIN's JSON as text, because a conversion to jsonb would change the order of
-- its keys. EXPLAIN writes each key on a line of its own.
CREATE FUNCTION @extschema@.internal_clock_explain_json(result jsonb) RETURNS json
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    line text;
    lines text[];
    node jsonb;
    n integer := 0;
    head text;
    loops double precision;
BEGIN
    FOREACH line IN ARRAY string_to_array(result ->> 'printed', chr(10)) LOOP
        head := substring(line FROM '^ *"([^"]*)": ');
        IF head = 'Node Type' THEN
            node := result -> 'nodes' -> n;
            n := n + 1;
            loops := CASE WHEN node ->> 'note' = 'not timed' THEN NULL
                     ELSE nullif((node ->> 'loops')::double precision, 0) END;
        ELSIF head = 'Actual Rows' AND loops IS NOT NULL THEN
            lines := lines
                || format('%s"Actual Startup Time": %s,', substring(line FROM '^ *'),
                    round((node ->> 'start_ms')::numeric, 3))
                || format('%s"Actual Total Time": %s,', substring(line FROM '^ *'),
                    round(((node ->> 'total_ms')::double precision
                           * (node ->> 'processes')::double precision / loops)::numeric, 3));
        ELSIF head = 'Actual Loops' AND loops IS NOT NULL THEN
            loops := NULL;
            lines := lines || format(
                '%s"Clock Total Time": %s, "Clock Total Margin": %s, "Clock Self Time": %s, '
                '"Clock Self Margin": %s,%s "Clock Calls": %s, "Clock Timed Calls": %s,%s',
                substring(line FROM '^ *'),
                round((node ->> 'total_ms')::numeric, 3),
                round((node ->> 'total_margin_ms')::numeric, 3),
                round((node ->> 'self_ms')::numeric, 3),
                round((node ->> 'self_margin_ms')::numeric, 3),
                ' "Clock Self Percent": ' || round((node ->> 'share_percent')::numeric, 1)
                    || ', "Clock Self Percent Margin": '
                    || round((node ->> 'share_margin_percent')::numeric, 1) || ',',
                node ->> 'calls', node ->> 'calls',
                ' "Clock Note": ' || to_json(node ->> 'note') || ',');
        ELSIF line ~ '^    "Execution Time": ' THEN
            lines := lines || format(
                '    "Clock": {"Source": %s, "Method": "correction", "Runs": %s, '
                '"Timing Overhead": %s, "Plain Execution Time": %s},',
                result -> 'clock', result ->> 'runs',
                round((result ->> 'removed_ms')::numeric, 3),
                round((result ->> 'plain_ms')::numeric, 3));
        END IF;
        lines := lines || line;
    END LOOP;
    RETURN array_to_string(lines, chr(10))::json;
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_explain_json(jsonb) IS
    'internal: returns EXPLAIN''s JSON with the times of internal_clock_explain()';

CREATE FUNCTION @extschema@.clock_explain_json(
    query text, allow_writes boolean DEFAULT false, params text[] DEFAULT NULL,
    runs integer DEFAULT NULL)
RETURNS json
LANGUAGE sql VOLATILE
AS $body$
    SELECT @extschema@.internal_clock_explain_json(
        @extschema@.internal_clock_explain($1, $2, $3, $4, 'JSON',
            pg_catalog.current_setting('search_path')));
$body$;
COMMENT ON FUNCTION @extschema@.clock_explain_json(text, boolean, text[], integer) IS
    'executes a query several times, with and without timing, and returns the output of EXPLAIN '
    '(ANALYZE, FORMAT JSON) without the cost of timing';
