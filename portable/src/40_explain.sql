-- clock_explain(): checks a statement, and executes it with and without the server's
-- instrumentation.

-- Rejects statements that cannot be measured, with the C extension's messages. A query string with
-- several statements is rejected later, by internal_clock_execute().
CREATE FUNCTION @extschema@.internal_clock_statement(
    query text, allow_writes boolean, params text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    -- the first two words, after white space, comments and parentheses
    words text[] := regexp_match(query,
        '^(?:[\s(;]|--[^\n]*(?:\n|$)|/\*(?:[^*]|\*+[^*/])*\*+/)*([A-Za-z]*)\s*([A-Za-z]*)');
    word text := upper(words[1]);
    rest text := query;
    result text := '';
    part text;
    largest integer := 0;
BEGIN
    IF query IS NULL THEN
        RAISE EXCEPTION 'query must not be null' USING ERRCODE = '22004';
    ELSIF coalesce(word, '') = '' AND query !~ '[^\s;]' THEN
        RAISE EXCEPTION 'there is no statement to measure'
            USING ERRCODE = '42601', HINT = 'Give exactly one statement.';
    ELSIF word = 'EXPLAIN' THEN
        RAISE EXCEPTION 'cannot measure EXPLAIN itself'
            USING ERRCODE = '0A000', HINT = 'Give the statement without EXPLAIN.';
    ELSIF word IN ('INSERT', 'UPDATE', 'DELETE', 'MERGE', 'CREATE') AND NOT allow_writes THEN
        RAISE EXCEPTION 'cannot measure a statement that modifies data: %', word
            USING ERRCODE = '0A000',
            HINT = 'allow_writes => true executes the statement and rolls each execution back. '
                   'Changes of sequences and effects outside of the database are not rolled '
                   'back.';
    ELSIF word NOT IN ('SELECT', 'VALUES', 'TABLE', 'WITH', 'EXECUTE', 'DECLARE',
                       'INSERT', 'UPDATE', 'DELETE', 'MERGE')
        AND NOT (word = 'CREATE' AND query ~* '\mAS\M') AND word <> '' THEN
        RAISE EXCEPTION 'cannot measure utility statements: %',
            concat_ws(' ', word, CASE WHEN word IN ('CREATE', 'ALTER', 'DROP', 'REFRESH')
                                      THEN upper(nullif(words[2], '')) END)
            USING ERRCODE = '0A000',
            HINT = 'SELECT, VALUES, TABLE, WITH, EXECUTE and DECLARE CURSOR can be measured, and '
                   'with allow_writes => true also INSERT, UPDATE, DELETE, MERGE and CREATE '
                   'TABLE AS.';
    END IF;
    IF params IS NULL THEN
        RETURN (query);
    ELSIF word = 'EXECUTE' THEN
        RAISE EXCEPTION 'params cannot be given with EXECUTE' USING ERRCODE = '22023',
            HINT = 'Give the values in parentheses after the statement''s name: '
                   'EXECUTE name(42, ''abc'').';
    END IF;

    -- Replaces $1, $2 by literals, because a prepared statement would remain in the session. As
    -- with PREPARE, the context determines the types of the values. The plan is a custom plan.
    WHILE rest <> '' LOOP
        part := coalesce(
            substring(rest FROM '^(?:[eE]''(?:[^''\\]|''''|\\.)*''|''(?:[^'']|'''')*'''
                                '|"(?:[^"]|"")*"'
                                '|--[^\n]*|/\*(?:[^*]|\*+[^*/])*\*+/)'),
            substring(rest FROM '^\$[0-9]+'),
            substring(rest FROM
                '^(?:[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*|\s+|[0-9]+)'),
            substring(rest FROM '^\$\w*\$'),
            left(rest, 1));
        IF part ~ '^\$[0-9]' THEN
            largest := greatest(largest, substr(part, 2)::integer);
            result := result || coalesce(quote_nullable(params[substr(part, 2)::integer]), 'NULL');
        ELSE
            IF part ~ '^\$.*\$$' AND strpos(substr(rest, length(part) + 1), part) > 0 THEN
                part := part || split_part(substr(rest, length(part) + 1), part, 1) || part;
            END IF;
            result := result || part;
        END IF;
        rest := substr(rest, length(part) + 1);
    END LOOP;
    IF cardinality(params) <> largest THEN
        RAISE EXCEPTION 'wrong number of values in params' USING ERRCODE = '22023',
            DETAIL = format('Expected %s values but got %s.', largest, cardinality(params)),
            HINT = CASE WHEN largest = 0 THEN 'Leave params out.' ELSE
                'Give one value for each parameter, in order, for example params => ''{42,abc}''.'
                END;
    END IF;
    RETURN result;
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_statement(text, boolean, text[]) IS
    'internal: returns the statement with the values of its parameters; raises an error if it '
    'cannot be measured';

-- Like internal_clock_move(), for statements that no cursor can execute. Leaves the caller's
-- search_path.
CREATE FUNCTION @extschema@.internal_clock_run(statement text) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $body$
BEGIN
    EXECUTE statement;
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_run(text) IS 'internal: executes a statement';

-- Executes the statement under the caller's search_path ("path"). The block always ends with an
-- error, which rolls back the statement's changes and the settings. Variables keep their values.
CREATE FUNCTION @extschema@.internal_clock_execute(
    statement text, how text, allow_writes boolean, path text,
    OUT ms double precision, OUT output text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    as_cursor constant boolean := how LIKE 'as a cursor%';
    is_plain constant boolean := as_cursor OR how LIKE 'as it is%';
    opened refcursor;
    started timestamptz;
    stopped timestamptz;
    is_second boolean := false;
    line text;
    lines text[];
    explained json;
    had_id boolean := pg_current_xact_id_if_assigned() IS NOT NULL;
    writes_hint constant text :=
        'allow_writes => true executes the statement and rolls each execution back. '
        'Changes of sequences and effects outside of the database are not rolled back.';
    was_read_only constant boolean := current_setting('transaction_read_only')::boolean;
    has_id boolean;
    message text;
    state text;
BEGIN
    BEGIN
        PERFORM @extschema@.internal_clock_alone();
        IF NOT allow_writes THEN
            PERFORM set_config('transaction_read_only', 'on', true);
        END IF;
        PERFORM set_config('cursor_tuple_fraction', '1', true),
                set_config('search_path', path, true);
        IF as_cursor THEN
            OPEN opened NO SCROLL FOR EXECUTE statement;
        END IF;
        IF is_plain AND how LIKE '% by EXPLAIN' THEN
            EXECUTE pg_catalog.concat('EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT ',
                CASE WHEN as_cursor
                     THEN '@extschema@.internal_clock_move($1::pg_catalog.refcursor)'
                     ELSE '@extschema@.internal_clock_run($1)' END)
                INTO explained USING CASE WHEN as_cursor THEN opened::pg_catalog.text
                                     ELSE statement END;
        ELSIF is_plain THEN
            -- The same expression reads the clock before and after the statement. A second
            -- expression would be planned between the readings, because search_path has changed,
            -- and its planning would be measured.
            LOOP
                stopped := pg_catalog.clock_timestamp();
                EXIT WHEN is_second;
                is_second := true;
                started := stopped;
                IF as_cursor THEN
                    MOVE FORWARD ALL FROM opened;
                ELSE
                    EXECUTE statement;
                END IF;
            END LOOP;
        ELSE
            -- FOR opens a cursor, and so rejects several statements
            FOR line IN EXECUTE pg_catalog.concat(how, statement) LOOP
                lines := pg_catalog.array_append(lines, line);
            END LOOP;
        END IF;
        has_id := pg_catalog.pg_current_xact_id_if_assigned() IS NOT NULL;
        RAISE EXCEPTION USING ERRCODE = 'CT000';
    EXCEPTION
        WHEN SQLSTATE 'CT000' THEN NULL;
        WHEN invalid_cursor_definition OR undefined_parameter OR read_only_sql_transaction THEN
            GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, state = RETURNED_SQLSTATE;
    END;
    IF state = '25006' AND pg_is_in_recovery() THEN
        RAISE EXCEPTION '%', message USING ERRCODE = state,
            HINT = 'This server is a standby. Execute the statement on the primary server.';
    ELSIF state = '25006' AND (allow_writes OR was_read_only) THEN
        RAISE EXCEPTION '%', message USING ERRCODE = state;
    ELSIF state = '25006' THEN
        RAISE EXCEPTION '%', message USING ERRCODE = state, HINT = writes_hint;
    ELSIF state = '42P02' THEN
        RAISE EXCEPTION '%', message
            USING ERRCODE = state,
            HINT = 'Give the parameters'' values, for example params => ''{42,abc}''.';
    ELSIF message ~ 'multi' OR message IS NOT NULL AND NOT as_cursor THEN
        RAISE EXCEPTION 'cannot measure several statements at once'
            USING ERRCODE = '42601', HINT = 'Give exactly one statement.';
    ELSIF message IS NOT NULL THEN
        RAISE EXCEPTION 'cannot measure a statement that modifies or locks data'
            USING ERRCODE = '0A000', DETAIL = message, HINT = writes_hint;
    ELSIF has_id AND NOT had_id AND NOT allow_writes THEN
        RAISE EXCEPTION 'cannot measure a query that writes' USING ERRCODE = '25006',
            DETAIL = 'A function in the query has written data or requested a transaction ID.',
            HINT = writes_hint;
    END IF;
    ms := coalesce((explained -> 0 ->> 'Execution Time')::double precision,
                   extract(epoch FROM stopped - started) * 1000);
    output := array_to_string(lines, chr(10));
    IF strpos(how, 'FORMAT JSON') > 0 THEN
        -- PostgreSQL 15 to 19 print MERGE's numbers of rows within the array of the target tables,
        -- which is invalid JSON. Moves these numbers behind the array.
        output := regexp_replace(output, '((?:,\n *"Tuples [^\n,]*)+)(\n *\])', '\2\1', 'g');
    END IF;
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_execute(text, text, boolean, text) IS
    'internal: executes a statement and rolls its changes back; if how is "as it is", returns its '
    'duration in milliseconds, if it is "as a cursor", returns the duration without parsing and '
    'planning, else returns the output of the EXPLAIN in how; with "by EXPLAIN", its clock '
    'measures the duration';

-- Returns the nodes of a plan in the order in which EXPLAIN prints them.
CREATE FUNCTION @extschema@.internal_clock_nodes(plan jsonb,
    OUT node integer, OUT parent integer, OUT depth integer, OUT item jsonb) RETURNS SETOF record
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $body$
    WITH RECURSIVE tree AS (
        SELECT ARRAY[]::integer[] AS place, $1 AS whole
        UNION ALL
        SELECT place || child.n::integer, child.whole
        FROM tree, jsonb_array_elements(tree.whole -> 'Plans') WITH ORDINALITY AS child (whole, n)),
    numbered AS (
        SELECT row_number() OVER (ORDER BY place)::integer AS n, place, whole - 'Plans' AS item
        FROM tree)
    SELECT own.n, above.n, cardinality(own.place), own.item
    FROM numbered AS own
    LEFT JOIN numbered AS above
        ON above.place = own.place[1 : cardinality(own.place) - 1] AND cardinality(own.place) > 0
    ORDER BY own.n;
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_nodes(jsonb) IS
    'internal: returns the nodes of a plan in EXPLAIN''s JSON, a row per node';

-- Plans the statement, and decides whether a cursor can execute it. A cursor discards rows, as
-- EXPLAIN does, but cannot execute parallel plans and statements that write.
CREATE FUNCTION @extschema@.internal_clock_shape(statement text, allow_writes boolean, path text,
    OUT plan jsonb, OUT as_cursor boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    explained jsonb;
    writes boolean;
BEGIN
    explained := (@extschema@.internal_clock_execute(statement, 'EXPLAIN (COSTS OFF, FORMAT JSON) ',
        allow_writes, path)).output;
    plan := explained -> 0 -> 'Plan';
    IF jsonb_array_length(explained) <> 1 THEN
        RAISE EXCEPTION 'cannot measure a statement that rules turn into % statements',
            jsonb_array_length(explained) USING ERRCODE = '0A000';
    ELSIF plan IS NULL THEN
        RAISE EXCEPTION 'cannot measure utility statements' USING ERRCODE = '0A000';
    END IF;
    SELECT coalesce(bool_or(item ->> 'Node Type' IN ('ModifyTable', 'LockRows')
                            OR item ->> 'Operation' <> 'Select'), false),
           NOT coalesce(bool_or(item ->> 'Node Type' LIKE 'Gather%'), false)
    INTO writes, as_cursor FROM @extschema@.internal_clock_nodes(plan);
    IF writes AND NOT allow_writes THEN
        RAISE EXCEPTION 'cannot measure a statement that modifies or locks data'
            USING ERRCODE = '0A000',
            HINT = 'allow_writes => true executes the statement and rolls each execution back. '
                   'Changes of sequences and effects outside of the database are not rolled '
                   'back.';
    END IF;
    as_cursor := as_cursor AND NOT writes
        AND statement !~* '^(\s|--[^\n]*\n|/\*(?:[^*]|\*+[^*/])*\*+/)*'
                          '(execute|declare|create|insert|update|delete|merge)\M'
        AND NOT (allow_writes AND statement ~* '\minto\M');
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_shape(text, boolean, text) IS
    'internal: returns the plan of a statement, and whether a cursor can execute it with this '
    'plan; raises an error if the statement writes and allow_writes is false';

-- Executes the query alternately without timing and with all calls timed: at least once each, and
-- as often as the time allows.
CREATE FUNCTION @extschema@.internal_clock_rounds(
    statement text, allow_writes boolean, runs integer, format text, path text) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    seconds constant double precision := 3;
    -- maximum number of rounds. Statements that write leave dead rows, although they are rolled
    -- back, and these slow down the following executions.
    most constant integer := CASE WHEN allow_writes THEN 3 ELSE 40 END;
    count_calls constant text := pg_catalog.format(
        'EXPLAIN (ANALYZE, TIMING OFF, BUFFERS OFF, FORMAT %s) ', coalesce(format, 'TEXT'));
    -- VERBOSE prints the time of each worker, from which the leader's own time below a Gather
    -- follows
    time_calls constant text := 'EXPLAIN (ANALYZE, BUFFERS OFF, VERBOSE, FORMAT JSON) ';
    began timestamptz := clock_timestamp();
    -- Half of the time until a timeout is for the measurements after the executions.
    left_s constant double precision := (@extschema@.internal_clock_left()).seconds;
    until_s constant double precision := left_s - least(left_s / 2, 1.5);
    as_cursor constant text := 'as a cursor'
        || CASE WHEN @extschema@.internal_clock_step() > 1 THEN ' by EXPLAIN' ELSE '' END;
    shape record;
    lines text;
    plain double precision[];
    timed jsonb := '[]';
    printed text;
    one record;
    elapsed double precision;
    n integer := 0;
BEGIN
    shape := @extschema@.internal_clock_shape(statement, allow_writes, path);
    lines := (@extschema@.internal_clock_execute(statement, 'EXPLAIN (COSTS OFF) ',
        allow_writes, path)).output;
    -- frees a large block, for the reason given in internal_clock_overhead
    PERFORM length(repeat(' ', CASE as_cursor WHEN 'as a cursor' THEN 8000000 ELSE 0 END));
    LOOP
        n := n + 1;
        -- executes both modes, in alternating order
        FOR turn IN 0..1 LOOP
            elapsed := extract(epoch FROM clock_timestamp() - began);
            IF n = 1 AND turn = 1
                AND 2.5 * elapsed > left_s THEN
                RAISE EXCEPTION 'statement_timeout leaves no time to execute the query twice'
                    USING ERRCODE = '55000',
                    DETAIL = format('An execution took %s s.', round(elapsed::numeric, 1)),
                    HINT = 'SET statement_timeout to four times as much or more.';
            END IF;
            IF (turn + n) % 2 = 0 THEN
                one := @extschema@.internal_clock_execute(statement, time_calls,
                    allow_writes, path);
                timed := timed || jsonb_build_array(one.output::jsonb -> 0);
            ELSIF shape.as_cursor THEN
                one := @extschema@.internal_clock_execute(statement, as_cursor,
                    allow_writes, path);
                plain := plain || one.ms;
            ELSE
                printed := (@extschema@.internal_clock_execute(statement, count_calls,
                    allow_writes, path)).output;
                plain := plain || substring(printed FROM
                    '\n *"?Execution Time"?: ([0-9.]+)')::double precision;
            END IF;
        END LOOP;
        elapsed := extract(epoch FROM clock_timestamp() - began);
        -- ends before the next round would exceed statement_timeout, because the function would
        -- then return nothing
        EXIT WHEN n >= coalesce(runs, most) OR runs IS NULL AND elapsed * (n + 1) / n > seconds
            OR elapsed * (1 + CASE WHEN format IS NOT NULL AND printed IS NULL THEN 2.5
                                   ELSE 1.5 END / n) > until_s;
    END LOOP;
    IF format IS NOT NULL AND printed IS NULL THEN
        printed := (@extschema@.internal_clock_execute(statement, count_calls,
            allow_writes, path)).output;
    END IF;
    RETURN jsonb_build_object('plain', to_jsonb(plain), 'timed', timed, 'cursor', shape.as_cursor,
                              'lines', lines, 'printed', printed);
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_rounds(text, boolean, integer, text, text) IS
    'internal: executes a statement plain and under EXPLAIN ANALYZE alternately, and returns all '
    'times and EXPLAIN''s output in a format';
