-- A fleet: the servers that one database asks, by dblink, for the state of their clocks.  Each
-- server is a foreign server of the type "clocktiming", which clock_fleet_add() creates.

CREATE FUNCTION internal_clock_state() RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL SAFE SET extra_float_digits = 1
BEGIN ATOMIC
    SELECT coalesce(pg_catalog.to_jsonb(h), '{}') || pg_catalog.to_jsonb(t)
           || pg_catalog.jsonb_build_object('server_version', current_setting('server_version'))
    FROM clock_trust(now() - interval '1 hour', now()) t
    LEFT JOIN (SELECT at, intervals, watched_s, source, cold_ns, warm_ns, rate_ppm,
                      assumed_rate_ppm, backward_steps, warps, lags, gaps, stolen_percent,
                      off_cpu_percent, cpu_skew_ns, synchronised, sync_offset_us, sync_error_us,
                      sync_frequency_ppm, kernel_clock_source, boot_id, hypervisor, processor, cpus
               FROM clock_history WHERE per = 'minute' AND warm_ns IS NOT NULL
               ORDER BY at DESC LIMIT 1) h ON true;
END;
COMMENT ON FUNCTION internal_clock_state() IS
    'internal: returns, as one object, the latest minute of clock_history without its sample, the '
    'result of clock_trust() for the latest hour, and the server''s version';
\only_for pg_monitor FUNCTION internal_clock_state()

CREATE FUNCTION clock_fleet_add(
    name text,
    options jsonb DEFAULT '{}',
    role name DEFAULT CURRENT_USER
) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    of_server text;
    of_mapping text;
    missing text;
    state text;
    message text;
    hint text;
BEGIN
    IF name IS NULL OR octet_length(name) NOT BETWEEN 1 AND 63 THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_name',
            MESSAGE = 'the name of a server must have between 1 and 63 bytes';
    END IF;
    IF options IS NULL OR role IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed',
            MESSAGE = 'options and role must not be null';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'dblink') THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = 'extension dblink is not installed in this database',
            HINT = 'Connections to other servers use dblink: CREATE EXTENSION dblink.';
    END IF;
    SELECT string_agg(format('%I %L', o.key, o.value), ', ')
               FILTER (WHERE o.key NOT IN ('user', 'password', 'sslpassword')),
           ' OPTIONS (' || string_agg(format('%I %L', o.key, o.value), ', ')
                               FILTER (WHERE o.key IN ('user', 'password', 'sslpassword')) || ')',
           min(o.key) FILTER (WHERE o.value IS NULL)
    INTO of_server, of_mapping, missing
    FROM jsonb_each_text('{"connect_timeout": 3, "fallback_application_name": "clocktiming"}'
                         || options) o;
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed',
            MESSAGE = format('option "%s" must not be null', missing);
    END IF;
    BEGIN
        EXECUTE format('CREATE SERVER %I TYPE ''clocktiming'' FOREIGN DATA WRAPPER dblink_fdw '
                       'OPTIONS (%s)', name, of_server);
        EXECUTE format('CREATE USER MAPPING FOR %I SERVER %I%s', role, name, of_mapping);
        EXECUTE format('GRANT USAGE ON FOREIGN SERVER %I TO %I', name,
                       CASE role WHEN 'public' THEN 'pg_monitor' ELSE role END);
    EXCEPTION WHEN OTHERS THEN
        -- Raises the error again, but without its context, because the context contains the
        -- statement and with it the password.
        GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
            hint = PG_EXCEPTION_HINT;
        IF hint = '' THEN
            RAISE EXCEPTION USING ERRCODE = state, MESSAGE = message;
        END IF;
        RAISE EXCEPTION USING ERRCODE = state, MESSAGE = message, HINT = hint;
    END;
END
$$;
COMMENT ON FUNCTION clock_fleet_add(text, jsonb, name) IS
    'adds a server to the fleet, whose servers clock_fleet shows: creates a foreign server of '
    'dblink_fdw and a user mapping; DROP SERVER ... CASCADE removes the server from the fleet';
REVOKE ALL ON FUNCTION clock_fleet_add(text, jsonb, name) FROM PUBLIC;

-- Asks up to at_once servers at the same time, by asynchronous queries of dblink.  Three timeouts
-- limit the time:
-- * The option connect_timeout of the foreign server limits the time for connecting.
-- * On the asked server, statement_timeout limits the query to "seconds".  If no answer has arrived
--   one second after that, this function reports an error for that server.
-- * When failed servers have cost 30 s in total, no further servers are asked.
--
-- After a timeout, this function disconnects.  client_connection_check_interval makes the asked
-- server end the query then.  This function does not call dblink_cancel_query(), because before
-- PostgreSQL 17 that function waits without limit for a server that does not respond.
CREATE FUNCTION clock_fleet_ask(
    query text,
    seconds double precision DEFAULT 5,
    OUT server text,
    OUT error text,
    OUT answer jsonb,
    OUT answer_ms double precision
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    at_once CONSTANT integer := 8;
    encoding CONSTANT name := getdatabaseencoding();
    connect text;
    send text;
    is_busy text;
    get_result text;
    disconnect text;
    script text;
    own_schema name;
    dblink_schema name;
    -- Arrays with an element for each server of the fleet:
    servers text[];             -- name
    timeouts integer[];         -- connect_timeout in seconds; null if none
    began timestamptz[];        -- time when connecting began
    results integer[];          -- number of received results; null if not connected
    sent_at double precision[]; -- value of "slept" (below) when the query was sent
    -- Variables of the server that the loop is handling:
    connection text;            -- name of dblink's connection
    rows text[];                -- rows of the latest result
    answers jsonb[];            -- rows to return; null while there is no answer
    state text;
    detail text;
    context text;
    -- Other variables:
    asked integer[] := '{}';        -- numbers of the servers that are being asked
    last integer := 0;              -- number of the server that was added last
    i integer;
    busy integer;
    idle boolean;                   -- nothing was sent or received, so sleep
    slept double precision := 0;    -- total time of pg_sleep() so far, in seconds
    lost interval := '0';           -- time that failed servers have cost so far
BEGIN
    IF query IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed',
            MESSAGE = 'query must not be null';
    END IF;
    IF (seconds >= 0.001 AND seconds <= 3600) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'seconds must be between 0.001 and 3600';
    END IF;
    -- Selects only foreign servers that a superuser, the current user or the extension's owner
    -- owns.  The owner of a foreign server chooses its host, so any other owner could make the
    -- caller connect to a hostile host.
    SELECT array_agg(f.srvname), array_agg(f.timeout)
    INTO servers, timeouts
    FROM (SELECT s.srvname::text,
                 (SELECT nullif(substring(o.option_value FROM '^ *([0-9]{1,4}) *$')::integer, 0)
                  FROM pg_options_to_table(s.srvoptions) o
                  WHERE o.option_name = 'connect_timeout') AS timeout
          FROM pg_foreign_server s JOIN pg_roles r ON r.oid = s.srvowner
          WHERE s.srvtype = 'clocktiming'
            AND (r.rolsuper OR r.rolname = current_user
                 OR r.oid IN (SELECT e.extowner FROM pg_extension e
                              WHERE e.extname = 'clocktiming'))
          ORDER BY random()) f;
    IF servers IS NULL THEN
        RETURN;
    END IF;
    SELECT min(p.nspname) FILTER (WHERE e.extname = 'clocktiming'),
           min(p.nspname) FILTER (WHERE e.extname = 'dblink')
    INTO own_schema, dblink_schema
    FROM pg_extension e JOIN pg_namespace p ON p.oid = e.extnamespace;
    IF dblink_schema IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = 'extension dblink is not installed in this database',
            HINT = 'Connections to other servers use dblink: CREATE EXTENSION dblink.';
    END IF;
    connect := format('SELECT %I.internal_clock_fleet_connect($1, $2, $3, $4)', own_schema);
    send := format('SELECT %I.dblink_send_query($1, $2)', dblink_schema);
    is_busy := format('SELECT %I.dblink_is_busy($1)', dblink_schema);
    get_result := format('SELECT array_agg(r.value) FROM %I.dblink_get_result($1) AS r(value text)',
                         dblink_schema);
    disconnect := format('SELECT %1$I.dblink_disconnect(c) '
                         'FROM unnest(%1$I.dblink_get_connections()) c WHERE c LIKE $1',
                         dblink_schema);
    script := format('SELECT pg_catalog.concat('
                     'pg_catalog.set_config(''statement_timeout'', %L, true), '
                     'pg_catalog.set_config(''client_connection_check_interval'', ''1s'', true), '
                     'pg_catalog.set_config(''search_path'', coalesce('
                     '(SELECT e.extnamespace::pg_catalog.regnamespace::pg_catalog.text '
                     'FROM pg_catalog.pg_extension e '
                     'WHERE e.extname OPERATOR(pg_catalog.=) ''clocktiming''), '
                     '''pg_catalog''), true)); %s', ceil(seconds * 1000)::integer, query);
    EXECUTE disconnect USING 'clocktiming %';
    LOOP
        WHILE cardinality(asked) < at_once AND last < cardinality(servers) LOOP
            last := last + 1;
            asked := asked || last;
        END LOOP;
        EXIT WHEN cardinality(asked) = 0;
        idle := true;
        FOREACH i IN ARRAY asked LOOP
            connection := 'clocktiming ' || i;
            error := NULL;
            answers := NULL;
            BEGIN
                IF results[i] IS NULL THEN
                    idle := false;
                    IF timeouts[i] IS NULL THEN
                        RAISE EXCEPTION '%',
                            format('no connect_timeout: ALTER SERVER %I OPTIONS '
                                   '(ADD connect_timeout ''3'')', servers[i]);
                    ELSIF lost >= '30 s' THEN
                        RAISE EXCEPTION 'not asked, because failed servers have taken 30 s';
                    END IF;
                    began[i] := clock_timestamp();
                    EXECUTE connect USING format('SELECT %I.dblink_connect($1, $2)', dblink_schema),
                    connection, servers[i], timeouts[i];
                    EXECUTE send USING connection, script;
                    results[i] := 0;
                    sent_at[i] := slept;
                ELSE
                    EXECUTE is_busy INTO busy USING connection;
                    IF busy = 0 THEN
                        idle := false;
                        EXECUTE get_result INTO rows USING connection;
                        results[i] := results[i] + 1;
                        IF results[i] = 2 THEN
                            -- Checks the encoding: convert_to() raises an error if the text is
                            -- invalid in the database's encoding.
                            SELECT array_agg(convert_from(convert_to(r.value, encoding),
                                                          encoding)::jsonb)
                            INTO answers FROM unnest(rows) r(value);
                            answers := coalesce(answers, ARRAY[NULL::jsonb]);
                        ELSIF rows IS NULL THEN
                            RAISE EXCEPTION 'unexpected answer';
                        END IF;
                    ELSIF slept - sent_at[i] > seconds + 1 THEN
                        RAISE EXCEPTION 'no answer within % s', seconds::numeric;
                    END IF;
                END IF;
            EXCEPTION WHEN OTHERS OR query_canceled THEN
                GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, error = MESSAGE_TEXT,
                    detail = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
                -- The query was cancelled on the asked server, or this function was cancelled.  In
                -- the first case, the error's context contains the name of the connection.
                IF state = '57014' AND strpos(context, connection) = 0 THEN
                    RAISE;
                END IF;
                BEGIN
                    -- The message of a server that refuses a connection may be in any encoding.
                    -- convert_to() raises an error if the text is invalid in the database's.
                    PERFORM convert_to(detail, encoding), convert_to(error, encoding);
                    error := CASE state WHEN '08001' THEN coalesce(nullif(detail, ''), error)
                                        WHEN '2F003' THEN concat_ws(': ', error, nullif(detail, ''))
                                        ELSE error END;
                    error := split_part(error, chr(10), 1);
                EXCEPTION WHEN OTHERS THEN
                    error := 'SQLSTATE ' || state || ', and a message in another encoding';
                END;
                answers := ARRAY[NULL::jsonb];
                lost := lost + greatest(clock_timestamp() - began[i], '0')
                               / CASE WHEN results[i] IS NULL THEN 1 ELSE at_once END;
            END;
            IF answers IS NOT NULL THEN
                EXECUTE disconnect USING connection;
                asked := array_remove(asked, i);
                server := servers[i];
                answer_ms := round(extract(epoch FROM clock_timestamp() - began[i]) * 1000, 1);
                FOREACH answer IN ARRAY answers LOOP
                    RETURN NEXT;
                END LOOP;
            END IF;
        END LOOP;
        IF idle THEN
            PERFORM pg_sleep(0.005);
            slept := slept + 0.005;
        END IF;
    END LOOP;
EXCEPTION WHEN OTHERS OR query_canceled OR assert_failure THEN
    IF disconnect IS NOT NULL THEN
        EXECUTE disconnect USING 'clocktiming %';
    END IF;
    RAISE;
END
$$;
COMMENT ON FUNCTION clock_fleet_ask(text, double precision) IS
    'executes a query on all servers of the fleet by dblink, with clocktiming''s schema as '
    'search_path; the query must return one column of JSON; returns a row for each row of a '
    'server''s answer, one row with a null answer if the answer has no rows, or one row with the '
    'error';
\only_for pg_monitor FUNCTION clock_fleet_ask(text, double precision)

CREATE FUNCTION clock_fleet(
    OUT server text,
    OUT error text,
    OUT at timestamptz,
    OUT source text,
    OUT warm_ns double precision,
    OUT cold_ns double precision,
    OUT rate_ppm double precision,
    OUT assumed_rate_ppm double precision,
    OUT trusted boolean,
    OUT verdict text,
    OUT stolen_percent double precision,
    OUT off_cpu_percent double precision,
    OUT synchronised boolean,
    OUT sync_error_us double precision,
    OUT kernel_clock_source text,
    OUT hypervisor text,
    OUT processor text,
    OUT cpus integer,
    OUT server_version text,
    OUT answer_ms double precision
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    answer jsonb;
BEGIN
    FOR server, error, answer, answer_ms IN
        EXECUTE (SELECT format('SELECT * FROM %s.clock_fleet_ask('
                               '''SELECT internal_clock_state()'')', e.extnamespace::regnamespace)
                 FROM pg_extension e WHERE e.extname = 'clocktiming')
    LOOP
        LOOP
            BEGIN
                RETURN QUERY SELECT server, error, s.*, answer_ms
                FROM jsonb_to_record(answer)
                     AS s(at timestamptz, source text, warm_ns double precision,
                     cold_ns double precision, rate_ppm double precision,
                     assumed_rate_ppm double precision,
                     trusted boolean, verdict text, stolen_percent double precision,
                     off_cpu_percent double precision, synchronised boolean,
                     sync_error_us double precision,
                     kernel_clock_source text, hypervisor text, processor text, cpus integer,
                     server_version text);
                EXIT;
            EXCEPTION WHEN OTHERS THEN
                error := 'unexpected answer: ' || sqlerrm;
                answer := NULL;
            END;
        END LOOP;
    END LOOP;
END
$$;
COMMENT ON FUNCTION clock_fleet() IS
    'asks all servers of the fleet for their latest state, as the view clock_fleet shows it';
\only_for pg_monitor FUNCTION clock_fleet()

CREATE VIEW clock_fleet AS
    SELECT server, error, at, source, warm_ns, cold_ns, rate_ppm, assumed_rate_ppm, trusted,
           verdict, stolen_percent, off_cpu_percent, synchronised, sync_error_us,
           kernel_clock_source, hypervisor, processor, cpus, server_version, answer_ms
    FROM clock_fleet();
COMMENT ON VIEW clock_fleet IS
    'servers of the fleet with their latest state, or the error if a server did not answer';
\only_for pg_monitor TABLE clock_fleet
COMMENT ON COLUMN clock_fleet.server IS 'name of the foreign server';
COMMENT ON COLUMN clock_fleet.error IS
    'reason why the server did not report its state; null if it did';
COMMENT ON COLUMN clock_fleet.at IS 'beginning of the latest minute of the server''s history';
COMMENT ON COLUMN clock_fleet.source IS 'clock source that EXPLAIN ANALYZE reads';
COMMENT ON COLUMN clock_fleet.warm_ns IS
    'cost of a reading that follows other readings, in the minute that begins at "at", in '
    'nanoseconds';
COMMENT ON COLUMN clock_fleet.cold_ns IS
    'cost of a reading after a sleep, in the minute that begins at "at", in nanoseconds';
COMMENT ON COLUMN clock_fleet.rate_ppm IS
    'excess of the clock''s rate over that of CLOCK_MONOTONIC_RAW, in parts per million';
COMMENT ON COLUMN clock_fleet.trusted IS
    'true if timings of the latest hour are reliable; null if unknown';
COMMENT ON COLUMN clock_fleet.verdict IS
    'reliability of the timings of the latest hour in words, with the events that impair it';
COMMENT ON COLUMN clock_fleet.server_version IS 'version of PostgreSQL';
COMMENT ON COLUMN clock_fleet.answer_ms IS
    'time from the start of the connection until the answer or the error was read, in '
    'milliseconds; null if the server was not asked';

CREATE FUNCTION clock_fleet_outliers(
    confidence numeric DEFAULT 95,
    OUT server text,
    OUT what text,
    OUT figure double precision,
    OUT median double precision,
    OUT low double precision,
    OUT high double precision,
    OUT unit text,
    OUT finding text
) RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
    WITH fleet AS MATERIALIZED (
        SELECT f.server, f.warm_ns, coalesce(f.assumed_rate_ppm, f.rate_ppm) AS rate_ppm, f.trusted,
               f.verdict
        FROM clock_fleet f WHERE f.error IS NULL
    ), sums AS (
        SELECT pg_catalog.array_agg(ln(f.warm_ns))
                   FILTER (WHERE f.warm_ns > 0::double precision) AS costs,
               pg_catalog.array_agg(f.rate_ppm) AS rates,
               (pg_catalog.count(f.warm_ns) + pg_catalog.count(f.rate_ppm))::integer AS comparisons,
               count(*) FILTER (WHERE f.trusted)
                   > count(*) FILTER (WHERE NOT f.trusted) AS mostly_trusted
        FROM fleet f
    ), cost AS (
        SELECT exp(l.median) AS median, exp(l.low) AS low, exp(l.high) AS high
        FROM sums s,
            internal_clock_outlier_limits(s.costs, clock_fleet_outliers.confidence,
                                          ln(1.2::double precision), s.comparisons) l
    ), rate AS (
        SELECT l.median, l.low, l.high
        FROM sums s,
            internal_clock_outlier_limits(s.rates, clock_fleet_outliers.confidence,
                                          100::double precision, s.comparisons) l
    ), odd AS (
        SELECT f.server, 'cost' AS what, f.warm_ns AS figure, l.*, 'ns' AS unit,
               NULL::text AS finding
        FROM fleet f, cost l WHERE f.warm_ns < l.low OR f.warm_ns > l.high
        UNION ALL
        SELECT f.server, 'rate', f.rate_ppm, l.*, 'ppm', NULL
        FROM fleet f, rate l WHERE f.rate_ppm < l.low OR f.rate_ppm > l.high
        UNION ALL
        SELECT f.server, 'trust', NULL, NULL, NULL, NULL, NULL, f.verdict
        FROM fleet f, sums s WHERE NOT f.trusted AND s.mostly_trusted
    )
    SELECT o.server, o.what, o.figure, round(o.median::numeric, 2)::double precision,
           round(o.low::numeric, 2)::double precision, round(o.high::numeric, 2)::double precision,
           o.unit,
           coalesce(o.finding, pg_catalog.format('%s %s; the median of all servers is %s, '
                                                 'and outliers are outside of %s to %s',
                                      o.figure::numeric, o.unit, round(o.median::numeric, 2),
                                      round(o.low::numeric, 2), round(o.high::numeric, 2)))
    FROM odd o ORDER BY o.server COLLATE "C", o.what;
END;
COMMENT ON FUNCTION clock_fleet_outliers(numeric) IS
    'returns the servers of the fleet whose cost of a reading or whose clock rate is an outlier '
    'among the servers, or whose timings are unreliable while those of most servers are reliable';
\only_for pg_monitor FUNCTION clock_fleet_outliers(numeric)
