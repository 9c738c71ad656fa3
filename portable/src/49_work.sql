--
-- clock_impact(): counts the operations that this server has executed and that a setting can time,
-- and computes the cost of timing them.  The C extension includes this file.
--

-- Returns the server's counters by name.  Each is an object with total (the number of operations),
-- per_s (operations per second) and period_s (the time in which they were counted, in seconds),
-- which are null if unknown.  If seconds is not null, the function counts the operations between
-- two snapshots, and calls the function "wait" between them.  The query "more" returns further
-- counters.  "problem" is the reason why calls of statements are not counted.
CREATE FUNCTION @extschema@.internal_clock_counts(
    seconds double precision, wait text, more text DEFAULT NULL
) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET extra_float_digits = 1 AS $body$
DECLARE
    version CONSTANT int := current_setting('server_version_num');
    -- query of a view whose counters were all reset at the same time
    simple CONSTANT text := $$
        SELECT $1 || jsonb_object_agg(v.counter, jsonb_build_object('total', v.n, $$
            || $$'per_s', v.n / s.period_s, 'period_s', s.period_s))
        FROM (SELECT (%s)::float8[] AS counts, $$
            || $$nullif(extract(epoch FROM clock_timestamp() - %s)::float8, 0) AS period_s $$
            || $$FROM %s) AS s,
             unnest(%L::text[], s.counts) AS v(counter, n)$$;
    counts jsonb;
    before jsonb;
    others jsonb;
    started timestamptz;
    statements text;
    problem text;
BEGIN
    IF seconds IS NOT NULL THEN
        PERFORM pg_stat_clear_snapshot();
    END IF;
    LOOP
        -- stats_reset is null if a database's counters were never reset.  These counters began
        -- when all statistics were discarded, at initdb or after a crash.  The oldest stats_reset
        -- of other views is that time.
        EXECUTE format($$
            SELECT jsonb_object_agg(t.counter, to_jsonb(t))
            FROM (SELECT v.counter, sum(v.n) AS total, sum(v.n / d.period_s) AS per_s, $$
                || $$max(d.period_s) AS period_s
                  FROM (SELECT d.*, nullif(extract(epoch FROM $$
                || $$clock_timestamp() - coalesce(d.stats_reset, f.discarded))::float8, 0) $$
                || $$AS period_s
                        FROM pg_stat_database AS d, $$
                || $$(SELECT least(a.stats_reset, b.stats_reset, %s) AS discarded
                                                     FROM pg_stat_archiver AS a, $$
                || $$pg_stat_bgwriter AS b) AS f) AS d,
                       LATERAL (VALUES ('active ms', %s::float8),
                                       ('relation reads', $$
                || $$CASE WHEN %3$L THEN d.blks_read::float8 END),
                                       ('calls of plan nodes', $$
                || $$CASE WHEN %3$L THEN d.tup_returned::float8 END),
                                       ('temporary files', $$
                || $$(d.temp_bytes / current_setting('block_size')::int)::float8)) AS v(counter, n)
                  GROUP BY v.counter) AS t$$,
            CASE WHEN version >= 140000 THEN '(SELECT stats_reset FROM pg_stat_wal)'
                 ELSE 'NULL' END,
            -- active_time does not contain statements that have not ended
            CASE WHEN version >= 140000
                 THEN $$d.active_time + coalesce((SELECT 1000 * sum(extract(epoch $$
                     || $$FROM clock_timestamp() - a.query_start))
                     FROM pg_stat_activity AS a
                     WHERE a.datid = d.datid AND a.state = 'active' $$
                     || $$AND a.backend_type = 'client backend' $$
                     || $$AND a.pid <> pg_backend_pid()), 0)::float8$$
                 ELSE 'NULL' END,
            current_setting('track_counts'))
        INTO counts;
        IF version >= 160000 THEN
            EXECUTE format(simple,
                'ARRAY[sum(reads), sum(writes), sum(extends), sum(writebacks), sum(fsyncs)]',
                'min(stats_reset)', $$pg_stat_io WHERE object <> 'wal'$$,
                '{relation reads,relation writes,relation extends,relation writebacks,'
                'relation fsyncs}')
            INTO counts USING counts;
        ELSE
            EXECUTE format(simple,
                'ARRAY[buffers_checkpoint + buffers_clean, '
                'buffers_checkpoint + buffers_clean + buffers_backend]',
                'stats_reset', 'pg_stat_bgwriter', '{least relation writes,relation writes}')
            INTO counts USING counts;
        END IF;
        IF version >= 180000 THEN
            EXECUTE format(simple, 'ARRAY[sum(writes), sum(fsyncs), sum(reads)]',
                'min(stats_reset)', $$pg_stat_io WHERE object = 'wal'$$,
                '{WAL writes,WAL fsyncs,WAL reads}')
            INTO counts USING counts;
        ELSIF version >= 140000 THEN
            EXECUTE format(simple, 'ARRAY[wal_write, wal_sync]', 'stats_reset', 'pg_stat_wal',
                '{WAL writes,WAL fsyncs}')
            INTO counts USING counts;
        END IF;

        SELECT quote_ident(n.nspname) || '.pg_stat_statements' INTO statements
        FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
        WHERE e.extname = 'pg_stat_statements';
        problem := CASE WHEN statements IS NULL
                        THEN 'pg_stat_statements is not installed in this database'
                        WHEN version < 140000
                        THEN 'pg_stat_statements does not say since when it has counted' END;
        IF statements IS NOT NULL THEN
            -- Estimates the calls of plan nodes.  Each of these statements calls its topmost node,
            -- or the node below it, once per row and once at the end.  The calls of other nodes are
            -- unknown.  Other statements, such as COPY, count rows without calling a node.
            BEGIN
                EXECUTE format(simple, format($$(SELECT ARRAY[
                            coalesce(sum(calls + rows) FILTER (WHERE query ~* %3$L %2$s), 0),
                            coalesce(sum(temp_blks_read + temp_blks_written), 0),
                            coalesce(sum(calls) FILTER (WHERE query ~* %3$L), 0)] FROM %1$s)$$,
                        statements, CASE WHEN version >= 140000 THEN 'AND toplevel' END,
                        '^\s*(select|with|insert|update|delete|merge|values|table)\y'),
                    CASE WHEN version >= 140000 THEN 'stats_reset' ELSE 'NULL::timestamptz' END,
                    CASE WHEN version >= 140000 THEN statements || '_info'
                         ELSE '(SELECT) AS none' END,
                    '{calls of statements,temporary files of statements,statements}')
                INTO counts USING counts;
            EXCEPTION WHEN out_of_memory THEN
                RAISE;
            WHEN OTHERS THEN
                -- pg_stat_statements is not preloaded or too old, or this role may not read it
                problem := 'pg_stat_statements cannot be read: ' || SQLERRM;
            END;
        END IF;
        IF more IS NOT NULL THEN
            BEGIN
                EXECUTE more INTO others;
                counts := counts || others;
            EXCEPTION WHEN object_not_in_prerequisite_state THEN
                -- the server was started without clocktiming in shared_preload_libraries
                more := NULL;
            END;
        END IF;
        EXIT WHEN seconds IS NULL OR before IS NOT NULL;
        before := counts;
        started := clock_timestamp();
        -- an expression, and not a statement, which clocktiming.track would count
        EXECUTE format('DO %L', format('BEGIN IF %s(%L) IS NULL THEN END IF; END', wait, seconds));
        PERFORM pg_stat_clear_snapshot();
        seconds := extract(epoch FROM clock_timestamp() - started);
    END LOOP;
    IF seconds IS NOT NULL THEN
        -- a counter that has decreased was reset
        SELECT jsonb_object_agg(c.key, c.value || jsonb_build_object(
                   'total', m.more, 'per_s', m.more / seconds, 'period_s', seconds))
        INTO counts
        FROM jsonb_each(counts) AS c,
             LATERAL (SELECT (c.value ->> 'total')::float8
                             - (before -> c.key ->> 'total')::float8 AS n) AS d,
             LATERAL (SELECT CASE WHEN d.n >= 0 THEN d.n END AS more) AS m;
    END IF;
    RETURN counts || jsonb_build_object('problem', problem);
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_counts(double precision, text, text) IS
    'internal: returns the server''s counters since the last reset of its statistics, or during '
    'the given seconds: totals, rates, and periods in seconds';

CREATE FUNCTION @extschema@.internal_clock_works(
    counts jsonb, observed boolean, costs jsonb,
    OUT setting text, OUT value text, OUT in_effect boolean, OUT work text,
    OUT cpu_percent numeric, OUT cpu_margin_percent numeric,
    OUT least_cpu_percent numeric, OUT most_cpu_percent numeric,
    OUT bound text,
    OUT operations bigint, OUT operations_per_s numeric, OUT operation_ns numeric,
    OUT operation_margin_ns numeric,
    OUT reading_ns numeric, OUT period_s numeric, OUT period text,
    OUT readings_per_operation numeric, OUT reading_margin_ns numeric, OUT clock text,
    OUT slowdown_percent numeric, OUT most_slowdown_percent numeric,
    OUT statistics text, OUT reason text
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE ROWS 10 SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    version CONSTANT int := current_setting('server_version_num');
    -- without auto_explain, the setting is null, or an empty string if it was set and reset
    sample_rate CONSTANT double precision :=
        coalesce(nullif(current_setting('auto_explain.sample_rate', true), ''), '1');
    -- Time of the shortest calls of plan nodes without counting and timing, in ns: those of
    -- count(*) over a cross join (doc/benchmarks.md, "Shortest calls").
    least_call_ns CONSTANT double precision := 10;
    -- Largest number of calls of plan nodes per row read, in test queries that read at least one
    -- row per microsecond (doc/benchmarks.md, "Calls per row").
    most_calls_per_row CONSTANT int := 4;
    -- Largest number of reads and writes of a temporary file's block, together, in test queries
    -- that do not rescan a file (doc/benchmarks.md, "Temporary files").
    most_uses_per_block CONSTANT int := 12;
    -- Largest factors from the measured costs to those in test queries (doc/benchmarks.md, "Cost of
    -- timing a call"): of counting and timing a call, and of counting only.
    costliest_timing CONSTANT double precision := 1.3;
    costliest_counting CONSTANT double precision := 2.2;
    -- Time that sampling adds to a statement, in ns.  It is up to twice as long for 30 plan nodes
    -- (doc/benchmarks.md, "Cost of sampling per statement").
    sampled_statement_ns CONSTANT double precision := 1e5;
    -- Expected number of calls up to which all calls of a statement are timed (FEW_CALLS).
    few_calls CONSTANT int := 800;
    -- Whether clocktiming.sampled_timing replaces timers in this session.  NULL if the C library is
    -- not loaded: then clocktiming.show_margins does not exist.  pg_settings is not read, because
    -- that can write temporary files.
    sampled CONSTANT boolean :=
        CASE WHEN current_setting('clocktiming.show_margins', true) <> ''
             THEN current_setting('clocktiming.sampled_timing', true) <> 'off' END;
    unknown CONSTANT text := CASE WHEN observed THEN ' was reset meanwhile'
                                  ELSE ' lacks the number of operations or the time of its reset'
                                  END;
    -- Calls of plan nodes in the executions that clocktiming.track has counted, the upper limit of
    -- their number per ms of execution, their number per ms of a process, and this number for the
    -- plan where it is largest.  Null if no execution has been counted.
    counted_calls CONSTANT double precision :=
        counts -> 'counted calls' ->> 'total';
    most_calls_per_ms CONSTANT double precision :=
        (counted_calls
         + coalesce((counts -> 'squared margin of counted calls' ->> 'total')::float8 ^ 0.5,
                    counted_calls))
        / nullif((counts -> 'counted ms' ->> 'total')::float8, 0);
    calls_per_process_ms CONSTANT double precision :=
        counted_calls / nullif((counts -> 'counted process ms' ->> 'total')::float8, 0);
    most_calls_per_process_ms CONSTANT double precision :=
        counts -> 'counted calls' ->> 'most_per_process_ms';
    -- mean number of active sessions
    active_sessions CONSTANT double precision :=
        (counts -> 'active ms' ->> 'per_s')::float8 / 1000;
    not_written CONSTANT text :=
        '; the cost of writing plans to the log is not included, and is far higher if each '
        'statement is logged';
    cost record;
    counted jsonb;
    why_not_statements text;
    not_nested boolean;
    blocks int;
    share double precision;
    rate double precision;
    least_rate double precision;
    least_ns double precision;
    most_ns double precision;
    op_ns double precision;
    op_margin_ns double precision;
    -- calls of plan nodes per second: the estimate, and the upper limit
    calls_per_s double precision;
    most_calls_per_s double precision;
    cost_percent double precision;
    most_percent double precision;
BEGIN
    SELECT c.* INTO cost
    FROM jsonb_to_record(costs) AS c(clock text, reading_ns float8, reading_margin_ns float8,
                                     plan_clock text, plan_reading_ns float8,
                                     plan_reading_margin_ns float8,
                                     counting_ns float8, counting_margin_ns float8,
                                     timing_ns float8, timing_margin_ns float8,
                                     problem text, is_bound boolean);
    FOR work, statistics, blocks, setting IN
        SELECT w.work, w.statistics, w.blocks,
               coalesce(w.setting, CASE WHEN w.work LIKE 'WAL%' THEN 'track_wal_io_timing'
                                        ELSE 'track_io_timing' END)
        FROM (VALUES (1, 160000, 990000, 'relation reads', 'pg_stat_io',
                      CASE version / 10000 WHEN 17 THEN 32 ELSE 1 END, NULL),
                     (2, 160000, 990000, 'relation writes', 'pg_stat_io', 1, NULL),
                     (3, 160000, 990000, 'relation extends', 'pg_stat_io',
                      CASE WHEN version < 180000 THEN 64 ELSE 1 END, NULL),
                     (4, 160000, 990000, 'relation writebacks', 'pg_stat_io', 256, NULL),
                     (5, 160000, 990000, 'relation fsyncs', 'pg_stat_io', 1, NULL),
                     (1, 0, 159999, 'relation reads', 'pg_stat_database', 1, NULL),
                     (2, 0, 159999, 'relation writes', 'pg_stat_bgwriter', 1, NULL),
                     (6, 150000, 990000, 'temporary files', 'pg_stat_database', 1, NULL),
                     (7, 180000, 990000, 'WAL writes', 'pg_stat_io', 1, NULL),
                     (8, 180000, 990000, 'WAL fsyncs', 'pg_stat_io', 1, NULL),
                     (9, 180000, 990000, 'WAL reads', 'pg_stat_io', 1, NULL),
                     (7, 0, 179999, 'WAL writes', 'pg_stat_wal', 1, NULL),
                     (8, 0, 179999, 'WAL fsyncs', 'pg_stat_wal', 1, NULL),
                     (10, 0, 990000, 'calls of plan nodes', 'pg_stat_database', 1,
                      'auto_explain.log_analyze'),
                     (11, 0, 990000, 'calls of plan nodes', 'pg_stat_database', 1,
                      'auto_explain.log_timing = off'),
                     (12, 0, 990000, 'calls of plan nodes', 'pg_stat_database', 1,
                      'clocktiming.sampled_timing'),
                     (13, 0, 990000, 'statements', 'pg_stat_statements', 1,
                      'clocktiming.sampled_timing')
             ) AS w(n, since, until, work, statistics, blocks, setting)
        WHERE version BETWEEN w.since AND w.until
          AND (w.n NOT IN (11, 12) OR costs ? 'counting_ns')
          AND (w.n NOT IN (12, 13) OR sampled IS NOT NULL)
        ORDER BY w.n
    LOOP
        counted := counts -> work;
        rate := counted ->> 'per_s';
        least_rate := rate;
        share := 1;
        readings_per_operation := 2.00;
        least_ns := 2.0 / blocks * cost.reading_ns;
        bound := NULL;
        reason := NULL;
        IF blocks > 1 THEN
            bound := 'at most';
            reason := format('the statistics count blocks, but one timed operation may process up '
                             'to %s blocks', blocks);
        ELSIF work = 'relation reads' AND version >= 180000
              AND current_setting('io_method') <> 'sync' THEN
            readings_per_operation := 4.00;
            bound := 'at most';
            reason := 'a read is timed twice if a process waits for it: when it starts, and during '
                      'the wait';
        ELSIF work = 'relation reads' AND version < 160000 THEN
            least_rate := 0;
            bound := 'at most';
            reason := 'blks_read contains blocks by which tables were extended, but extensions are '
                      'not timed before PostgreSQL 16';
        ELSIF work = 'relation writes' AND version < 160000 THEN
            least_rate := counts -> 'least relation writes' ->> 'per_s';
            bound := 'at most';
            reason := 'buffers_backend contains blocks by which tables were extended, but '
                      'extensions are not timed before PostgreSQL 16';
        ELSIF work = 'temporary files' THEN
            bound := 'at least';
            reason := 'each block of the files is counted once, but it may have been written and '
                      'read several times';
            IF (counts -> 'temporary files of statements' ->> 'per_s')::float8
               >= coalesce(rate, 0) THEN
                statistics := 'pg_stat_statements';
                counted := counts -> 'temporary files of statements';
                rate := counted ->> 'per_s';
                least_rate := rate;
                reason := 'only statements that pg_stat_statements has kept are counted';
            END IF;
            reason := reason || format('; the upper limit assumes that each block of the files was '
                                       'written and read %s times altogether', most_uses_per_block);
        ELSIF work = 'calls of plan nodes' AND most_calls_per_ms IS NOT NULL THEN
            statistics := 'clock_node_stats';
            counted := counts -> 'counted calls';
            rate := counted ->> 'per_s';
            least_rate := least(rate, (counts -> 'calls of statements' ->> 'per_s')::float8);
            share := sample_rate;
            bound := 'estimate';
            reason := 'calls are those of the statements that clocktiming.track has counted; '
                      'most_cpu_percent assumes as many calls per second for all active time';
        ELSIF work = 'calls of plan nodes' THEN
            least_rate := counts -> 'calls of statements' ->> 'per_s';
            why_not_statements := CASE WHEN least_rate IS NULL
                THEN coalesce(counts ->> 'problem', 'pg_stat_statements was reset just now') END;
            bound := 'estimate';
            reason := 'calls are not counted; one call is assumed for each row that a scan read'
                || coalesce('; a lower bound is unknown, because ' || why_not_statements, '');
            IF least_rate > coalesce(rate, '-infinity') THEN
                statistics := 'pg_stat_statements';
                counted := counts -> 'calls of statements';
                rate := least_rate;
                bound := 'at least';
                reason := 'calls are not counted; the lower bound is one call for each row that a '
                          'statement returned or modified, and one for each statement';
            END IF;
            share := sample_rate;
        ELSIF work = 'statements' THEN
            least_rate := 0 * rate;
            share := sample_rate;
            bound := 'estimate';
            reason := 'statements of few calls are timed call by call; others are assumed to '
                      'cost 0.1 ms, and at most 0.2 ms, those with more than 30 plan nodes more; '
                      'only statements that pg_stat_statements has kept are counted';
            not_nested := current_setting('auto_explain.log_nested_statements', true) = 'on'
                AND current_setting('pg_stat_statements.track', true) <> 'all';
            IF not_nested THEN
                reason := reason || ', but not the nested ones (pg_stat_statements.track = all)';
            END IF;
        END IF;
        IF rate IS NULL THEN
            reason := CASE
                WHEN work LIKE 'WAL%' AND version < 140000
                THEN 'PostgreSQL neither counts nor times them before 14'
                WHEN work = 'calls of plan nodes' THEN
                    CASE WHEN current_setting('track_counts')::boolean THEN statistics || unknown
                         ELSE 'track_counts is off' END
                    || ', and ' || why_not_statements
                WHEN work = 'statements'
                THEN coalesce(counts ->> 'problem', statistics || unknown)
                WHEN work = 'relation reads' AND version < 160000
                     AND NOT current_setting('track_counts')::boolean
                THEN 'track_counts is off'
                ELSE statistics || unknown END;
            statistics := CASE WHEN work NOT LIKE 'WAL%' OR version >= 140000 THEN statistics END;
        END IF;
        IF share <> 1 THEN
            reason := reason || format('; auto_explain.sample_rate is %s', sample_rate);
        END IF;

        -- cost of timing an operation, in ns
        op_ns := readings_per_operation * cost.reading_ns;
        op_margin_ns := readings_per_operation * cost.reading_margin_ns;
        reading_ns := round(cost.reading_ns::numeric, 2);
        reading_margin_ns := round(cost.reading_margin_ns::numeric, 2);
        clock := cost.clock;
        IF work = 'calls of plan nodes' AND setting <> 'auto_explain.log_analyze' THEN
            readings_per_operation := 0.00;
            op_ns := cost.counting_ns;
            op_margin_ns := cost.counting_margin_ns;
            least_ns := op_ns;
            clock := NULL;
            reading_ns := NULL;
            reading_margin_ns := NULL;
            reason := coalesce('the cost of counting a call is unknown, because ' || cost.problem,
                               reason) || not_written;
        ELSIF setting = 'auto_explain.log_analyze' THEN
            op_ns := coalesce(cost.counting_ns, 0)
                + coalesce(cost.timing_ns, 2 * cost.plan_reading_ns);
            op_margin_ns := coalesce(cost.counting_margin_ns, 0)
                + CASE WHEN cost.timing_ns IS NULL THEN 2 * cost.plan_reading_margin_ns
                       ELSE cost.timing_margin_ns END;
            least_ns := op_ns;
            reading_ns := round(cost.plan_reading_ns::numeric, 2);
            reading_margin_ns := round(cost.plan_reading_margin_ns::numeric, 2);
            clock := cost.plan_clock;
            reason := format('the cost %s that of counting rows; ',
                             CASE WHEN cost.counting_ns IS NULL THEN 'excludes'
                                  ELSE 'includes' END)
                || reason
                || coalesce('; timing a call is assumed to cost two readings, because '
                            || cost.problem, '') || not_written;
        ELSIF work = 'statements' THEN
            -- Statements of few_calls or less cost their calls, others the time of sampling.  The
            -- estimate assumes that all statements have the mean number of calls.  A statement
            -- costs at most the time of sampling times its calls / few_calls, and at most the time
            -- of sampling.  So does the mean, whatever the distribution: that is the limit.
            readings_per_operation := NULL;
            least_ns := few_calls * coalesce(cost.timing_ns, 2 * cost.plan_reading_ns);
            op_ns := least(greatest(sampled_statement_ns, least_ns),
                           least_ns * calls_per_s / nullif(rate, 0) / few_calls);
            op_margin_ns := 0;
            most_ns := greatest(2 * sampled_statement_ns, least_ns);
            most_ns := least(most_ns, most_ns * most_calls_per_s / nullif(rate, 0) / few_calls);
            clock := NULL;
            reading_ns := NULL;
            reading_margin_ns := NULL;
        END IF;
        IF cost.is_bound AND reading_ns IS NOT NULL THEN
            reading_ns := NULL;
            reading_margin_ns := NULL;
            IF setting LIKE 'track%' THEN
                least_ns := NULL;
                bound := CASE WHEN coalesce(bound, 'at most') = 'at most' THEN 'at most'
                              ELSE 'estimate' END;
                reason := concat_ws('; ', reason,
                                    'SQL cannot measure the cost of reading the TSC: the cost of '
                                    'reading the system clock is used, which is usually higher');
            END IF;
        END IF;

        value := current_setting(split_part(setting, ' ', 1), true);
        in_effect := CASE
            WHEN setting LIKE 'track%' THEN coalesce(value = 'on', false)
            ELSE coalesce(current_setting('auto_explain.log_analyze', true) = 'on'
                          AND current_setting('auto_explain.log_min_duration', true) <> '-1', false)
                 AND CASE WHEN current_setting('auto_explain.log_timing', true) = 'off'
                          THEN setting = 'auto_explain.log_timing = off'
                          ELSE setting = CASE WHEN sampled THEN 'clocktiming.sampled_timing'
                                              ELSE 'auto_explain.log_analyze' END
                     END
            END;
        -- converts ns per second to percent of one CPU
        cost_percent := rate * share * op_ns / 1e7;
        cpu_percent := round(cost_percent::numeric, 4);
        cpu_margin_percent := round((rate * share * op_margin_ns / 1e7)::numeric, 4);
        least_cpu_percent := round((least_rate * share * least_ns / 1e7)::numeric, 4);
        operations := (counted ->> 'total')::double precision;
        most_cpu_percent := CASE WHEN coalesce(bound, 'at most') = 'at most' THEN cpu_percent END;
        IF work = 'calls of plan nodes' THEN
            most_ns := op_ns * CASE WHEN setting = 'auto_explain.log_analyze' THEN costliest_timing
                                    ELSE costliest_counting END;
            calls_per_s := rate;
            most_calls_per_s := CASE
                WHEN most_calls_per_ms IS NOT NULL THEN 1000 * active_sessions * most_calls_per_ms
                WHEN bound = 'estimate' AND rate >= 1e6 * active_sessions
                THEN most_calls_per_row * rate END;
            IF most_calls_per_ms IS NOT NULL THEN
                -- assumes the counted calls per ms for all active time
                most_cpu_percent := round((1000 * active_sessions * most_calls_per_ms * most_ns
                                           * share / 1e7)::numeric, 4);
            ELSIF bound = 'estimate' AND rate >= 1e6 * active_sessions THEN
                most_cpu_percent := most_calls_per_row * cpu_percent;
            END IF;
            IF cpu_percent > most_cpu_percent THEN
                most_cpu_percent := cpu_percent;
            END IF;
        ELSIF work = 'temporary files' THEN
            -- Counted reads and writes, which include those of rescans, plus the limit for all
            -- files, because they may belong to statements that are not counted.
            most_cpu_percent := round(
                ((most_uses_per_block * (counts -> work ->> 'per_s')::float8
                  + CASE statistics WHEN 'pg_stat_statements' THEN rate ELSE 0 END)
                 * op_ns / 1e7)::numeric, 4);
        ELSIF work = 'statements' AND not_nested IS NOT TRUE THEN
            most_cpu_percent := round((rate * share * most_ns / 1e7)::numeric, 4);
        END IF;
        operations_per_s := round((rate * share)::numeric, 3);
        operation_ns := round(op_ns::numeric, 2);
        operation_margin_ns := round(op_margin_ns::numeric, 2);
        period_s := round((counted ->> 'period_s')::numeric, 3);
        period := CASE WHEN observed THEN 'observed' ELSE 'since the last reset' END;
        IF rate IS NULL THEN
            bound := NULL;
        ELSIF operations = 0 AND work <> 'calls of plan nodes' THEN
            -- Without operations, the cost is 0.  But the number of calls of plan nodes is derived
            -- from rows: statements can make calls without reading rows, or may not have ended.
            most_cpu_percent := cpu_percent;
            bound := NULL;
            reason := NULL;
        ELSIF version < 140000 THEN
            reason := concat_ws('; ', reason,
                                'the active time of sessions is unknown before PostgreSQL 14');
        END IF;
        most_percent := CASE WHEN most_cpu_percent IS NOT NULL
                             THEN greatest(most_cpu_percent, cost_percent) END;
        IF observed AND active_sessions < 0.01 THEN
            -- The work of so short a time need not be the usual one.
            slowdown_percent := NULL;
            most_slowdown_percent := NULL;
        ELSIF setting LIKE 'track%' THEN
            -- Background processes cause a part of the cost.  In percent of a short active time,
            -- their part would be large on a server that is mostly idle.
            slowdown_percent := round((cost_percent / greatest(active_sessions, 1))::numeric, 4);
            most_slowdown_percent := round((most_percent
                                            / greatest(active_sessions, 1))::numeric, 4);
        ELSE
            slowdown_percent := round((cost_percent / nullif(active_sessions, 0))::numeric, 4);
            most_slowdown_percent := round((most_percent / nullif(active_sessions, 0))::numeric, 4);
            IF work = 'calls of plan nodes' AND calls_per_process_ms IS NOT NULL THEN
                -- In a parallel plan, the processes share the cost.
                slowdown_percent := round((share * calls_per_process_ms * op_ns / 1e4)::numeric, 4);
                most_slowdown_percent := round(
                    (share * greatest(calls_per_process_ms, most_calls_per_process_ms)
                     * most_ns / 1e4)::numeric, 4);
            END IF;
            IF work = 'calls of plan nodes' AND most_slowdown_percent IS NOT NULL THEN
                most_slowdown_percent := least(
                    most_slowdown_percent,
                    round((100 * share * op_ns / least_call_ns)::numeric, 4));
            END IF;
            -- without counted calls, slowdown_percent of parallel plans is too high
            slowdown_percent := least(slowdown_percent, most_slowdown_percent);
        END IF;
        RETURN NEXT;
    END LOOP;
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_works(jsonb, boolean, jsonb) IS
    'internal: returns the kinds of work of clock_impact() for the server''s counters by name '
    'and the costs of readings and of calls of plan nodes';

CREATE FUNCTION @extschema@.internal_clock_setting(setting text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
    IF setting <> ALL ('{track_io_timing,track_wal_io_timing,auto_explain.log_analyze,'
                       'auto_explain.log_timing = off,clocktiming.sampled_timing}'::text[]) THEN
        RAISE EXCEPTION 'unknown setting "%"', setting
            USING ERRCODE = 'invalid_parameter_value',
            HINT = 'SELECT setting FROM clock_impact() lists the settings.';
    END IF;
    RETURN setting;
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_setting(text) IS
    'internal: returns a setting''s name, or raises an error if clock_impact() does not know it';

-- Returns the columns of clock_impact() by which a setting may be on or not.  "work" has its other
-- columns by name, and the sums of those of its kinds of work.  "seconds" is its argument.
CREATE FUNCTION @extschema@.internal_clock_verdict(
    work jsonb, seconds double precision,
    OUT verdict text, OUT max_sample_rate numeric, OUT reason text, OUT advice text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    by_auto_explain CONSTANT boolean := work ->> 'setting' ~ '^(auto_explain|clocktiming)';
    bound CONSTANT text := work ->> 'bound';
    -- before PostgreSQL 14, the slowdown by auto_explain is unknown
    has_slowdown CONSTANT boolean := current_setting('server_version_num')::int >= 140000;
    percent CONSTANT numeric := CASE WHEN has_slowdown THEN work ->> 'slowdown_percent'
        ELSE coalesce(work ->> 'slowdown_percent', work ->> 'cpu_percent') END;
    most_percent CONSTANT numeric := CASE WHEN has_slowdown THEN work ->> 'most_slowdown_percent'
        ELSE coalesce(work ->> 'most_slowdown_percent', work ->> 'most_cpu_percent') END;
    -- period of the statistics, or null if the work was observed
    statistics_s CONSTANT numeric := CASE WHEN work ->> 'period' <> 'observed'
                                          THEN coalesce(work ->> 'period_s', '0') END;
    is_idle CONSTANT boolean := seconds IS NOT NULL AND statistics_s IS NOT NULL;
    counted CONSTANT boolean := coalesce(work ->> 'statistics' ~ 'clock_node_stats', false);
    -- false in the portable edition, unless the C library is also loaded
    can_count CONSTANT boolean := current_setting('clocktiming.track', true) IS NOT NULL;
    sample_rate CONSTANT numeric :=
        coalesce(nullif(current_setting('auto_explain.sample_rate', true), ''), '1');
    -- where auto_explain is not loaded, the setting is unknown
    sample_rate_now CONSTANT text :=
        CASE WHEN nullif(current_setting('auto_explain.sample_rate', true), '') IS NULL
             THEN 'default: ' ELSE 'it is ' END || trim_scale(sample_rate);
    most_rate numeric;
BEGIN
    verdict := 'unknown';
    reason := CASE
        WHEN work ->> 'cpu_percent' IS NULL AND most_percent IS NULL THEN 'not_counted'
        WHEN percent IS NULL AND most_percent IS NULL THEN 'idle'
        WHEN statistics_s < 60 AND is_idle THEN 'idle'
        WHEN statistics_s < 60 THEN 'short_period'
        WHEN most_percent < 1 THEN 'low'
        WHEN by_auto_explain AND most_percent IS NOT NULL
        THEN CASE WHEN counted THEN 'high' ELSE 'calls_guessed' END
        WHEN percent IS NULL
             OR work ->> 'setting' = 'clocktiming.sampled_timing' AND most_percent IS NULL
        THEN 'not_counted'
        -- without an upper limit, the estimate may be too low by a factor of thousands
        WHEN by_auto_explain THEN 'no_upper_limit'
        -- whether the true cost may be below 1 %, or else 1 % or more
        WHEN percent < 1 OR coalesce(bound = 'at most' OR bound = 'estimate' AND percent < 3, false)
        THEN CASE WHEN is_idle THEN 'idle' ELSE 'uncertain' END
        ELSE 'high' END;
    IF reason = 'low' THEN
        verdict := 'on';
    ELSIF by_auto_explain AND reason IN ('high', 'calls_guessed') THEN
        -- sample_rate at which the upper limit is 1 %, rounded down to one significant digit
        verdict := 'on_with_sample_rate';
        most_rate := sample_rate / most_percent;
        max_sample_rate := trim_scale(trunc(most_rate, ceil(-log(most_rate))::int));
    ELSIF reason = 'high' THEN
        verdict := 'off';
    END IF;
    advice := CASE reason
        WHEN 'low' THEN 'May be on: costs less than 1 %.'
        WHEN 'high' THEN
            CASE verdict WHEN 'off' THEN 'Costs 1 % or more. Switch it on only while you need it.'
                ELSE format('May be on with auto_explain.sample_rate %s or less (%s).',
                            max_sample_rate, sample_rate_now) END
        WHEN 'calls_guessed' THEN
            format('May be on with auto_explain.sample_rate %s or less (%s). Calls of nodes '
                   'are guessed%s.', max_sample_rate, sample_rate_now,
                   CASE WHEN can_count THEN '; clocktiming.track counts them' ELSE '' END)
        WHEN 'uncertain' THEN
            'May cost less than 1 %, or more. '
            || CASE WHEN seconds IS NULL THEN 'Execute `clock_impact(60)` in the busiest hour.'
                    ELSE 'Switch it on only while you need it.' END
        WHEN 'idle' THEN 'The server is idle. Execute `clock_impact(60)` under load.'
        WHEN 'short_period' THEN
            'The statistics cover less than a minute. Execute `clock_impact(60)` under load.'
        WHEN 'no_upper_limit' THEN
            format('The number of calls is unknown. %s clock_query_overhead() with a usual '
                   'statement.',
                   CASE WHEN can_count THEN 'Count them by clocktiming.track, or execute'
                        ELSE 'Execute' END)
        ELSE 'The server does not count the operations. The reason: '
             '`SELECT setting, reason FROM clock_impact(setting => NULL)`' END;
END
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_verdict(jsonb, double precision) IS
    'internal: returns verdict, max_sample_rate, reason and advice of clock_impact() for a row '
    'with its figures; statements in the advice are enclosed in backquotes';
