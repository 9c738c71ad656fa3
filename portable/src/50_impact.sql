--
-- Cost of timing for the work of this server.
--

-- Returns the server's counters; NULL: not known.
CREATE FUNCTION @extschema@.internal_clock_counts(
    OUT counter text, OUT total double precision, OUT per_s double precision, OUT period_s double precision, OUT problem text
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    version CONSTANT int := current_setting('server_version_num');
    -- from a view whose counters have the same age
    simple CONSTANT text := $$
        SELECT v.counter, v.n, v.n / s.period_s, s.period_s, NULL
        FROM (SELECT (%s)::float8[] AS counts, nullif(extract(epoch FROM clock_timestamp() - %s)::float8, 0) AS period_s FROM %s) AS s,
             unnest(%L::text[], s.counts) AS v(counter, n)$$;
    statements text;
BEGIN
    -- The counters of a database that was never reset start when all statistics were discarded, at
    -- initdb or after a crash.
    RETURN QUERY EXECUTE format($$
        SELECT v.counter, sum(v.n), sum(v.n / d.period_s), max(d.period_s), NULL
        FROM (SELECT d.*, nullif(extract(epoch FROM clock_timestamp() - coalesce(d.stats_reset, f.discarded))::float8, 0) AS period_s
              FROM pg_stat_database AS d, (SELECT least(a.stats_reset, b.stats_reset, %s) AS discarded
                                           FROM pg_stat_archiver AS a, pg_stat_bgwriter AS b) AS f) AS d,
             LATERAL (VALUES ('active ms', %s::float8),
                             ('relation reads', CASE WHEN %3$L THEN d.blks_read::float8 END),
                             ('calls of plan nodes', CASE WHEN %3$L THEN d.tup_returned::float8 END),
                             ('temporary files', (d.temp_bytes / current_setting('block_size')::int)::float8)) AS v(counter, n)
        GROUP BY v.counter$$,
        CASE WHEN version >= 140000 THEN '(SELECT stats_reset FROM pg_stat_wal)' ELSE 'NULL' END,
        CASE WHEN version >= 140000 THEN 'd.active_time' ELSE 'NULL' END, current_setting('track_counts'),
        CASE WHEN version >= 160000 THEN 'blocks read' ELSE 'relation reads' END);
    IF version >= 160000 THEN
        RETURN QUERY EXECUTE format(simple, 'ARRAY[sum(reads), sum(writes), sum(extends), sum(writebacks), sum(fsyncs)]', 'min(stats_reset)',
            $$pg_stat_io WHERE object <> 'wal'$$, '{relation reads,relation writes,relation extends,relation writebacks,relation fsyncs}');
    ELSE
        RETURN QUERY EXECUTE format(simple, 'ARRAY[buffers_checkpoint + buffers_clean, buffers_checkpoint + buffers_clean + buffers_backend]',
            'stats_reset', 'pg_stat_bgwriter', '{least relation writes,relation writes}');
    END IF;
    IF version >= 180000 THEN
        RETURN QUERY EXECUTE format(simple, 'ARRAY[sum(writes), sum(fsyncs), sum(reads)]', 'min(stats_reset)',
            $$pg_stat_io WHERE object = 'wal'$$, '{WAL writes,WAL fsyncs,WAL reads}');
    ELSIF version >= 140000 THEN
        RETURN QUERY EXECUTE format(simple, 'ARRAY[wal_write, wal_sync]', 'stats_reset', 'pg_stat_wal', '{WAL writes,WAL fsyncs}');
    END IF;

    SELECT quote_ident(n.nspname) || '.pg_stat_statements' INTO statements
    FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
    WHERE e.extname = 'pg_stat_statements';
    IF statements IS NULL THEN
        problem := 'pg_stat_statements is not installed in this database';
    ELSIF version < 140000 THEN
        problem := 'pg_stat_statements does not say since when it has counted';
    END IF;
    IF statements IS NOT NULL THEN
        -- Each of these statements calls its topmost node, or the one below it, once per row and
        -- once at the end.
        BEGIN
            RETURN QUERY EXECUTE format(simple, format($$ARRAY[
                    (SELECT sum(calls + rows) FROM %1$s WHERE query ~* '^\s*(select|with|insert|update|delete|merge|values|table)\y' %2$s),
                    (SELECT sum(temp_blks_read + temp_blks_written) FROM %1$s)]$$,
                    statements, CASE WHEN version >= 140000 THEN 'AND toplevel' END),
                CASE WHEN version >= 140000 THEN 'stats_reset' ELSE 'NULL::timestamptz' END,
                CASE WHEN version >= 140000 THEN statements || '_info' ELSE '(SELECT) AS none' END,
                '{calls of statements,temporary files of statements}');
        EXCEPTION WHEN OTHERS THEN
            -- it may not be preloaded, be too old, or be forbidden for this role
            problem := 'pg_stat_statements cannot be read: ' || SQLERRM;
        END;
    END IF;
    counter := 'statements';
    total := NULL;
    per_s := NULL;
    period_s := NULL;
    RETURN NEXT;
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_counts() IS
    'internal: returns the server''s counters since the last reset of its statistics: totals, '
    'rates, and periods in seconds';

CREATE FUNCTION @extschema@.internal_clock_impact(
    seconds double precision,
    OUT setting text, OUT value text, OUT in_effect boolean, OUT work text,
    OUT cpu_percent numeric, OUT cpu_margin_percent numeric, OUT least_cpu_percent numeric, OUT bound text,
    OUT operations bigint, OUT operations_per_s numeric, OUT operation_ns numeric, OUT operation_margin_ns numeric,
    OUT reading_ns numeric, OUT period_s numeric, OUT period text,
    OUT readings_per_operation numeric, OUT reading_margin_ns numeric, OUT clock text, OUT active_percent numeric,
    OUT statistics text, OUT reason text
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE ROWS 10 SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    version CONSTANT int := current_setting('server_version_num');
    by_tsc CONSTANT boolean := @extschema@.internal_clock_clock() = 'RDTSC';
    -- (a custom setting that was set and reset is '')
    sample_rate CONSTANT double precision := coalesce(nullif(current_setting('auto_explain.sample_rate', true), ''), '1');
    started timestamptz;
    elapsed_s double precision;
    duration double precision := 1;
    before jsonb;
    counts jsonb;
    counted jsonb;
    system record;
    calls record;
    why_not_calls text;
    why_not_statements text;
    blocks int;
    share double precision;
    rate double precision;
    least_rate double precision;
    least_ns double precision;
    op_ns double precision;
    op_margin_ns double precision;
BEGIN
    IF NOT (seconds >= 0.1 AND seconds <= 86400) THEN
        RAISE EXCEPTION 'seconds must be between 0.1 and 86400' USING ERRCODE = 'invalid_parameter_value',
            DETAIL = format('The number given is %s.', seconds),
            HINT = 'Without seconds, the statistics since their last reset are used.';
    END IF;
    IF seconds IS NULL THEN
        duration := @extschema@.internal_clock_duration(1);
    ELSE
        seconds := @extschema@.internal_clock_duration(seconds + 1) - 1;
        PERFORM pg_stat_clear_snapshot();
        started := clock_timestamp();
        SELECT jsonb_object_agg(c.counter, to_jsonb(c)) INTO before FROM @extschema@.internal_clock_counts() AS c;
        PERFORM pg_sleep(seconds);
        PERFORM pg_stat_clear_snapshot();
        elapsed_s := extract(epoch FROM clock_timestamp() - started);
    END IF;
    SELECT jsonb_object_agg(c.counter, to_jsonb(c)) INTO counts FROM @extschema@.internal_clock_counts() AS c;
    IF seconds IS NOT NULL THEN
        -- a decrease means that the counter was reset
        SELECT jsonb_object_agg(c.key, c.value || jsonb_build_object('total', m.more, 'per_s', m.more / elapsed_s, 'period_s', elapsed_s))
        INTO counts
        FROM jsonb_each(counts) AS c,
             LATERAL (SELECT (c.value ->> 'total')::double precision - (before -> c.key ->> 'total')::double precision AS n) AS d,
             LATERAL (SELECT CASE WHEN d.n >= 0 THEN d.n END AS more) AS m;
    END IF;

    SELECT c.cost_ns, c.cost_margin_ns INTO system FROM @extschema@.internal_clock_cost(0.3 * duration) AS c;
    BEGIN
        SELECT o.typical_counting_ns AS counting_ns, o.typical_counting_margin_ns AS counting_margin_ns,
               o.typical_timing_ns AS timing_ns, o.typical_timing_margin_ns AS timing_margin_ns
        INTO calls FROM @extschema@.internal_clock_overhead(1000, 'generate_series', 0.6 * duration) AS o;
        IF calls.counting_ns IS NULL OR calls.timing_ns IS NULL THEN
            RAISE 'the server was too busy to measure it';
        END IF;
    EXCEPTION WHEN OTHERS THEN
        why_not_calls := SQLERRM;
        SELECT NULL::float8 AS counting_ns, NULL::float8 AS counting_margin_ns,
               2 * system.cost_ns AS timing_ns, 2 * system.cost_margin_ns AS timing_margin_ns INTO calls;
    END;

    FOR work, statistics, blocks, setting IN
        SELECT w.work, w.statistics, w.blocks, coalesce(w.setting, CASE WHEN w.work LIKE 'WAL%' THEN 'track_wal_io_timing' ELSE 'track_io_timing' END)
        FROM (VALUES (1, 160000, 990000, 'relation reads', 'pg_stat_io', CASE version / 10000 WHEN 17 THEN 32 ELSE 1 END, NULL),
                     (2, 160000, 990000, 'relation writes', 'pg_stat_io', 1, NULL),
                     (3, 160000, 990000, 'relation extends', 'pg_stat_io', CASE WHEN version < 180000 THEN 64 ELSE 1 END, NULL),
                     (4, 160000, 990000, 'relation writebacks', 'pg_stat_io', 256, NULL),
                     (5, 160000, 990000, 'relation fsyncs', 'pg_stat_io', 1, NULL),
                     (1, 0, 159999, 'relation reads', 'pg_stat_database', 1, NULL),
                     (2, 0, 159999, 'relation writes', 'pg_stat_bgwriter', 1, NULL),
                     (6, 0, 990000, 'temporary files', 'pg_stat_database', 1, NULL),
                     (7, 180000, 990000, 'WAL writes', 'pg_stat_io', 1, NULL),
                     (8, 180000, 990000, 'WAL fsyncs', 'pg_stat_io', 1, NULL),
                     (9, 180000, 990000, 'WAL reads', 'pg_stat_io', 1, NULL),
                     (7, 0, 179999, 'WAL writes', 'pg_stat_wal', 1, NULL),
                     (8, 0, 179999, 'WAL fsyncs', 'pg_stat_wal', 1, NULL),
                     (10, 0, 990000, 'calls of plan nodes', 'pg_stat_database', 1, 'auto_explain.log_analyze'),
                     (11, 0, 990000, 'calls of plan nodes', 'pg_stat_database', 1, 'auto_explain.log_timing')
             ) AS w(n, since, until, work, statistics, blocks, setting)
        WHERE version BETWEEN w.since AND w.until
        ORDER BY w.n
    LOOP
        counted := counts -> work;
        rate := counted ->> 'per_s';
        least_rate := rate;
        share := 1;
        readings_per_operation := 2.00;
        least_ns := 2.0 / blocks * system.cost_ns;
        bound := NULL;
        reason := NULL;
        IF blocks > 1 THEN
            bound := 'at most';
            reason := format('blocks are counted, of which up to %s may be done, and timed, at once', blocks);
        ELSIF work = 'relation reads' AND version >= 180000 AND current_setting('io_method') <> 'sync' THEN
            readings_per_operation := 4.00;
            bound := 'at most';
            reason := 'a read that is waited for is timed twice: as it is started, and while it is waited for';
        ELSIF work = 'relation reads' AND version < 160000 THEN
            least_rate := 0;
            bound := 'at most';
            reason := 'blks_read contains blocks that tables were extended by, which is not timed before PostgreSQL 16';
        ELSIF work = 'relation writes' AND version < 160000 THEN
            least_rate := counts -> 'least relation writes' ->> 'per_s';
            bound := 'at most';
            reason := 'buffers_backend contains blocks that tables were extended by, which is not timed before PostgreSQL 16';
        ELSIF work = 'temporary files' THEN
            bound := 'at least';
            reason := 'the sizes of files are counted, and not how often a block was written and read';
            IF (counts -> 'temporary files of statements' ->> 'per_s')::float8 >= coalesce(rate, 0) THEN
                statistics := 'pg_stat_statements';
                counted := counts -> 'temporary files of statements';
                rate := counted ->> 'per_s';
                least_rate := rate;
                reason := 'only statements that pg_stat_statements has kept are counted';
            END IF;
        ELSIF work = 'calls of plan nodes' THEN
            least_rate := counts -> 'calls of statements' ->> 'per_s';
            why_not_statements := CASE WHEN least_rate IS NULL
                THEN coalesce(counts -> 'statements' ->> 'problem', 'pg_stat_statements was reset just now') END;
            bound := 'estimate';
            reason := 'they are not counted; as many are assumed as scans found rows'
                || coalesce('; what there are at least is not known, because ' || why_not_statements, '');
            IF rate IS NULL OR least_rate > rate THEN
                statistics := 'pg_stat_statements';
                counted := counts -> 'calls of statements';
                rate := least_rate;
                bound := 'at least';
                reason := 'they are not counted; there are as many at least as statements returned rows, and one a statement';
            END IF;
            share := sample_rate;
        END IF;
        IF rate IS NULL THEN
            reason := CASE
                WHEN work LIKE 'WAL%' AND version < 140000 THEN 'PostgreSQL neither counts nor times them before 14'
                WHEN work = 'calls of plan nodes' THEN
                    CASE WHEN current_setting('track_counts')::boolean THEN 'pg_stat_database was reset just now' ELSE 'track_counts is off' END
                    || ', and ' || why_not_statements
                WHEN work = 'relation reads' AND version < 160000 AND NOT current_setting('track_counts')::boolean THEN 'track_counts is off'
                ELSE statistics || CASE WHEN seconds IS NULL THEN ' does not say how much was done since when' ELSE ' was reset meanwhile' END END;
            statistics := CASE WHEN work NOT LIKE 'WAL%' OR version >= 140000 THEN statistics END;
        END IF;
        IF share <> 1 THEN
            reason := reason || format('; auto_explain.sample_rate is %s', sample_rate);
        END IF;

        -- cost of timing an operation
        op_ns := readings_per_operation * system.cost_ns;
        op_margin_ns := readings_per_operation * system.cost_margin_ns;
        reading_ns := round(system.cost_ns::numeric, 2);
        reading_margin_ns := round(system.cost_margin_ns::numeric, 2);
        clock := @extschema@.internal_clock_clock();
        IF setting = 'auto_explain.log_analyze' THEN
            readings_per_operation := 0.00;
            -- noise may make it negative; of NULL and 0, greatest() is 0
            op_ns := CASE WHEN calls.counting_ns < 0 THEN 0 ELSE calls.counting_ns END;
            op_margin_ns := calls.counting_margin_ns;
            least_ns := op_ns;
            clock := NULL;
            reading_ns := NULL;
            reading_margin_ns := NULL;
            reason := coalesce('what counting a call costs is not known, because ' || why_not_calls, reason)
                || '; writing plans to the log comes on top, and costs by far the most where each statement is logged';
        ELSIF setting = 'auto_explain.log_timing' THEN
            op_ns := greatest(calls.timing_ns, 0);
            op_margin_ns := calls.timing_margin_ns;
            least_ns := op_ns;
            reason := 'what timing adds to log_analyze, without which nothing is timed; ' || reason
                || coalesce('; a call is assumed to cost two readings, because ' || why_not_calls, '');
        END IF;
        IF by_tsc AND reading_ns IS NOT NULL THEN
            reading_ns := NULL;
            reading_margin_ns := NULL;
            IF setting LIKE 'track%' THEN
                clock := 'RDTSCP';
                least_ns := NULL;
                bound := CASE WHEN coalesce(bound, 'at most') = 'at most' THEN 'at most' ELSE 'estimate' END;
                reason := concat_ws('; ', reason, 'what reading the TSC costs is not known without C: the system clock''s cost is taken, which is more as a rule');
            END IF;
        END IF;

        value := current_setting(setting, true);
        in_effect := coalesce(value = 'on', false) AND (setting LIKE 'track%' OR
            coalesce(current_setting('auto_explain.log_analyze', true) = 'on'
                     AND current_setting('auto_explain.log_min_duration', true) <> '-1', false));
        -- ns per second
        cpu_percent := round((rate * share * op_ns / 1e7)::numeric, 4);
        cpu_margin_percent := round((rate * share * op_margin_ns / 1e7)::numeric, 4);
        least_cpu_percent := round((least_rate * share * least_ns / 1e7)::numeric, 4);
        operations := (counted ->> 'total')::double precision;
        operations_per_s := round((rate * share)::numeric, 3);
        operation_ns := round(op_ns::numeric, 2);
        operation_margin_ns := round(op_margin_ns::numeric, 2);
        period_s := round((counted ->> 'period_s')::numeric, 3);
        period := CASE WHEN seconds IS NULL THEN 'since the last reset' ELSE 'observed' END;
        active_percent := round((rate * share * op_ns / 1e4 / nullif((counts -> 'active ms' ->> 'per_s')::float8, 0))::numeric, 4);
        IF rate IS NULL THEN
            bound := NULL;
        ELSIF operations = 0 THEN
            -- no work, no uncertainty
            bound := NULL;
            reason := NULL;
        ELSIF version < 140000 THEN
            reason := concat_ws('; ', reason, 'how long sessions were active is not known before PostgreSQL 14');
        END IF;
        RETURN NEXT;
    END LOOP;
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_impact(double precision) IS
    'internal: returns the rows of clock_impact() with detail';

-- If a part of a sum is unknown, the sum of the others is a lower bound.
CREATE FUNCTION @extschema@.clock_impact(
    seconds double precision DEFAULT NULL,
    detail  boolean          DEFAULT false,
    OUT setting text, OUT value text, OUT in_effect boolean, OUT work text,
    OUT cpu_percent numeric, OUT cpu_margin_percent numeric, OUT least_cpu_percent numeric, OUT bound text,
    OUT operations bigint, OUT operations_per_s numeric, OUT operation_ns numeric, OUT operation_margin_ns numeric,
    OUT reading_ns numeric, OUT period_s numeric, OUT period text,
    OUT readings_per_operation numeric, OUT reading_margin_ns numeric, OUT clock text, OUT active_percent numeric,
    OUT statistics text, OUT reason text
) RETURNS SETOF record
LANGUAGE sql VOLATILE ROWS 4 SET search_path = pg_catalog, pg_temp AS $body$
    WITH works AS MATERIALIZED (
        SELECT d.*
        FROM @extschema@.internal_clock_impact(seconds) WITH ORDINALITY
             AS d(setting, value, in_effect, work, cpu_percent, cpu_margin_percent, least_cpu_percent, bound,
                  operations, operations_per_s, operation_ns, operation_margin_ns, reading_ns, period_s, period,
                  readings_per_operation, reading_margin_ns, clock, active_percent, statistics, reason, n)
    )
    SELECT r.setting, r.value, r.in_effect, r.work, r.cpu_percent, r.cpu_margin_percent, r.least_cpu_percent, r.bound,
           r.operations, r.operations_per_s, r.operation_ns, r.operation_margin_ns, r.reading_ns, r.period_s, r.period,
           r.readings_per_operation, r.reading_margin_ns, r.clock, r.active_percent, r.statistics, r.reason
    FROM (SELECT d.* FROM works d WHERE detail IS TRUE
          UNION ALL
          SELECT d.setting, d.value, d.in_effect, NULL::text,
                 sum(d.cpu_percent),
                 sum(d.cpu_margin_percent),
                 sum(d.least_cpu_percent),
                 CASE WHEN bool_or(d.bound = 'estimate') OR bool_or(d.bound = 'at most') AND bool_or(d.bound = 'at least' OR d.cpu_percent IS NULL)
                      THEN 'estimate'
                      WHEN bool_and(d.cpu_percent IS NULL) THEN NULL
                      WHEN bool_or(d.cpu_percent IS NULL) THEN 'at least'
                      ELSE max(d.bound) END,
                 sum(d.operations)::bigint,
                 sum(d.operations_per_s),
                 NULL::numeric,
                 NULL::numeric,
                 max(d.reading_ns),
                 max(d.period_s),
                 max(d.period),
                 round(sum(d.operations_per_s * d.readings_per_operation) / nullif(sum(d.operations_per_s), 0), 2),
                 max(d.reading_margin_ns),
                 max(d.clock),
                 sum(d.active_percent),
                 string_agg(DISTINCT d.statistics, ', '),
                 string_agg(d.work || ': ' || d.reason, '; ' ORDER BY d.n),
                 min(d.n)
          FROM works d
          WHERE detail IS NOT TRUE
          GROUP BY d.setting, d.value, d.in_effect) r
    ORDER BY r.n
$body$;
COMMENT ON FUNCTION @extschema@.clock_impact(double precision, boolean) IS
    'estimates the cost of track_io_timing, track_wal_io_timing and auto_explain for this '
    'server''s work, since the last reset of the statistics or in the next so many seconds: a row '
    'per setting or, with detail, per kind of work; cpu_percent is of one CPU, bound tells in '
    'which direction the number of operations can be wrong, reason tells what is unknown';
