-- History of the clock that EXPLAIN ANALYZE reads, and events: changes and errors of the clock.  A
-- background worker observes the clock while clocktiming.watch is on.

CREATE FUNCTION clock_history(
    period text DEFAULT NULL,
    OUT per text,
    OUT at timestamptz,
    OUT intervals integer,
    OUT watched_s double precision,
    OUT source text,
    OUT cold_ns double precision,
    OUT warm_ns double precision,
    OUT rate_ppm double precision,
    OUT assumed_rate_ppm double precision,
    OUT error_bound_ppm double precision,
    OUT backward_steps bigint,
    OUT warps bigint,
    OUT lags bigint,
    OUT gaps bigint,
    OUT stolen_percent double precision,
    OUT off_cpu_percent double precision,
    OUT cpu_skew_ns double precision,
    OUT synchronised boolean,
    OUT sync_offset_us double precision,
    OUT sync_error_us double precision,
    OUT sync_frequency_ppm double precision,
    OUT kernel_clock_source text,
    OUT boot_id text,
    OUT hypervisor text,
    OUT processor text,
    OUT cpus integer,
    OUT sample clock_sample
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL SAFE ROWS 2000
AS 'MODULE_PATHNAME', 'clock_history';
COMMENT ON FUNCTION clock_history(text) IS
    'lists the history of the clock that EXPLAIN ANALYZE reads, by minute, by hour or both, as '
    'the view clock_history shows it';
\only_for pg_monitor FUNCTION clock_history(text)

-- Calls the function clock_history() once for hours and once for minutes, with a constant as the
-- column "per".  If a query has the condition per = 'hour' or per = 'minute', the planner removes
-- the other call.
CREATE VIEW clock_history AS
    SELECT 'hour'::text AS per, at, intervals, watched_s, source, cold_ns, warm_ns, rate_ppm,
           assumed_rate_ppm, error_bound_ppm, backward_steps, warps, lags, gaps, stolen_percent,
           off_cpu_percent, cpu_skew_ns, synchronised, sync_offset_us, sync_error_us,
           sync_frequency_ppm,
           kernel_clock_source, boot_id, hypervisor, processor, cpus, sample
    FROM clock_history('hour')
    UNION ALL
    SELECT 'minute'::text, at, intervals, watched_s, source, cold_ns, warm_ns, rate_ppm,
           assumed_rate_ppm, error_bound_ppm, backward_steps, warps, lags, gaps, stolen_percent,
           off_cpu_percent, cpu_skew_ns, synchronised, sync_offset_us, sync_error_us,
           sync_frequency_ppm,
           kernel_clock_source, boot_id, hypervisor, processor, cpus, sample
    FROM clock_history('minute');
COMMENT ON VIEW clock_history IS
    'history of the clock that EXPLAIN ANALYZE reads, while clocktiming.watch was on: a row per '
    'minute of the latest day and per hour of the latest 400 days; if the time of day was set '
    'back, rows of the future are hidden until the time of day reaches them';
\only_for pg_monitor TABLE clock_history
COMMENT ON COLUMN clock_history.per IS
    'period of the row: minute, for the latest day, or hour, for the latest 400 days';
COMMENT ON COLUMN clock_history.at IS 'beginning of the minute or hour';
COMMENT ON COLUMN clock_history.intervals IS
    'number of intervals of clocktiming.watch_interval in which the clock was observed';
COMMENT ON COLUMN clock_history.watched_s IS
    'part of the period during which the clock was observed, in seconds';
COMMENT ON COLUMN clock_history.source IS
    'clock source that EXPLAIN ANALYZE read at the end of the period';
COMMENT ON COLUMN clock_history.cold_ns IS
    'mean over the intervals of the minimum cost of a reading right after a sleep, in nanoseconds';
COMMENT ON COLUMN clock_history.warm_ns IS
    'mean over the intervals of the minimum cost of a reading that follows other readings, in '
    'nanoseconds';
COMMENT ON COLUMN clock_history.rate_ppm IS
    'excess of the clock''s rate over that of CLOCK_MONOTONIC_RAW, mean of the medians of the '
    'intervals, in parts per million; null if the clock is CLOCK_MONOTONIC_RAW itself';
COMMENT ON COLUMN clock_history.error_bound_ppm IS
    'largest possible error of times that the clock measured, in parts per million, by the '
    'counter''s frequency that VMClock states';
COMMENT ON COLUMN clock_history.backward_steps IS 'number of readings below the previous one';
COMMENT ON COLUMN clock_history.warps IS 'number of jumps ahead of the reference clock';
COMMENT ON COLUMN clock_history.lags IS
    'number of times that the clock fell behind the reference clock, without backward steps';
COMMENT ON COLUMN clock_history.gaps IS
    'number of pauses between readings in which the process or the virtual machine was off the CPU';
COMMENT ON COLUMN clock_history.cpu_skew_ns IS
    'largest proven difference between the clocks of two CPUs, in nanoseconds; 0 if none was '
    'proven, null if there is only one CPU';
COMMENT ON COLUMN clock_history.sync_offset_us IS
    'latest offset of the kernel''s clock from its time server, in microseconds';
COMMENT ON COLUMN clock_history.sync_frequency_ppm IS
    'latest frequency correction of the kernel''s clock, in parts per million';
COMMENT ON COLUMN clock_history.boot_id IS 'identifier of the machine''s boot';
COMMENT ON COLUMN clock_history.sample IS
    'durations between successive readings, of at most 24 different lengths, as a clock_sample';

CREATE FUNCTION clock_events(
    OUT at timestamptz,
    OUT what text,
    OUT before text,
    OUT after text,
    OUT evidence text,
    OUT ended_at timestamptz,
    OUT repetitions bigint
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL SAFE ROWS 100
AS 'MODULE_PATHNAME', 'clock_events';
COMMENT ON FUNCTION clock_events() IS
    'lists the latest 1000 changes of the clocks, as the view clock_events shows them';
\only_for pg_monitor FUNCTION clock_events()

CREATE VIEW clock_events AS
    SELECT at, what, before, after, evidence, ended_at, repetitions
    FROM clock_events();
COMMENT ON VIEW clock_events IS
    'changes of the clocks while clocktiming.watch was on, the latest 1000';
\only_for pg_monitor TABLE clock_events
COMMENT ON COLUMN clock_events.at IS
    'start of the change, or its detection if the kind is kernel clock source, clock source, '
    'machine, synchronisation, stolen time, time of day, migration announced or container';
COMMENT ON COLUMN clock_events.what IS 'kind of change, such as rate or machine';
COMMENT ON COLUMN clock_events.before IS
    'value before the change, or before the first of several changes of the cost';
COMMENT ON COLUMN clock_events.after IS 'value after the change';
COMMENT ON COLUMN clock_events.evidence IS 'observation by which the change was detected';
COMMENT ON COLUMN clock_events.ended_at IS
    'time when the former value returned or another change followed; null if the change is ongoing';
COMMENT ON COLUMN clock_events.repetitions IS
    'number of further changes of this kind until ended_at: after 30 changes within an hour, '
    'further ones are only counted';

CREATE FUNCTION clock_trust(
    "from" timestamptz,
    "to" timestamptz DEFAULT pg_catalog.now(),
    OUT trusted boolean,
    OUT watched_percent double precision,
    OUT spoilt_by text[],
    OUT verdict text,
    OUT error_bound_ppm double precision
) RETURNS record
LANGUAGE sql VOLATILE PARALLEL SAFE
BEGIN ATOMIC
    WITH spoilt AS (
        SELECT coalesce(pg_catalog.array_agg(DISTINCT e.what ORDER BY e.what), '{}') AS by
        FROM clock_events e
        WHERE e.at < "to" AND "from" < "to"
          AND CASE
                -- Events of these kinds make timings wrong as long as they last.
                WHEN e.what IN ('rate', 'backward step', 'warp', 'lag', 'CPU skew', 'resume',
                                'stolen time', 'migrated', 'restored', 'container')
                THEN coalesce(e.ended_at, 'infinity') >= "from"
                -- The server has begun to read another clock.  Timings before and after cannot be
                -- compared, so only a period in which the event starts or ends is affected.  The
                -- event may never end.
                WHEN e.what IN ('clock source', 'kernel clock source')
                THEN e.at >= "from" OR e.ended_at BETWEEN "from" AND "to"
                -- The cost of a reading changed.  A period in which the event starts or ends is
                -- affected, as above.  If the cost rose, all periods during the event are affected.
                WHEN e.what = 'cost' THEN e.at >= "from" OR e.ended_at BETWEEN "from" AND "to"
                  OR coalesce(e.ended_at, 'infinity') >= "from"
                     AND split_part(e.after, ' ', 1)::double precision
                         > split_part(e.before, ' ', 1)::double precision
              END
    ), minutes AS MATERIALIZED (
        SELECT h.at, h.watched_s, h.rate_ppm, h.error_bound_ppm FROM clock_history h
        WHERE h.per = 'minute'
    ), pieces AS (
        SELECT m.at, m.watched_s, m.rate_ppm, m.error_bound_ppm, 60::double precision AS length_s
        FROM minutes m
        UNION ALL
        -- Adds the hours that end before the oldest minute of the history.  If the period does not
        -- begin before that minute, the condition on "from" is false, and clock_history('hour') is
        -- not called.
        SELECT h.at, h.watched_s, h.rate_ppm, h.error_bound_ppm, 3600
        FROM clock_history h
        WHERE h.per = 'hour' AND "from" < (SELECT coalesce(min(m.at), 'infinity') FROM minutes m)
          AND h.at + interval '1 hour' <= (SELECT coalesce(min(m.at), 'infinity') FROM minutes m)
    ), watched AS (
        -- Adds up how long the clock was observed in the period.  A piece (minute or hour) may be
        -- only partly in the period.  For a minute, assumes that as much as possible of its
        -- observed time is in the period; for an hour, that its observed time is evenly
        -- distributed.
        -- Subtracts epochs and not timestamps, because before PostgreSQL 17 it is an error to
        -- subtract a timestamp from infinity.
        SELECT CASE WHEN "from" < "to"
                    THEN least(100, coalesce(sum(CASE p.length_s
                                                 WHEN 60::double precision
                                                 THEN least(p.watched_s, o.overlap_s)
                                                 ELSE least(p.watched_s, p.length_s)
                                                      * o.overlap_s / p.length_s
                                                 END), 0)
                                    * 100::double precision
                                    / (extract(epoch FROM "to")
                                       - extract(epoch FROM "from"))::double precision)
               END AS percent,
               CASE WHEN bool_and(p.error_bound_ppm IS NOT NULL) THEN max(p.error_bound_ppm) END
               AS error_bound_ppm,
               -- The rate is null if the reference clock is the watched clock.
               coalesce(bool_and(p.rate_ppm IS NOT NULL), true) AS has_reference
        FROM pieces p,
             LATERAL (SELECT (extract(epoch FROM
                                      least("to", p.at + p.length_s * interval '1 second'))
                              - extract(epoch FROM greatest("from", p.at)))::double precision
                             AS overlap_s) o
        WHERE p.at < "to" AND p.at + p.length_s * interval '1 second' > "from"
    )
    SELECT CASE WHEN pg_catalog.cardinality(s.by) > 0 THEN false
                WHEN w.percent >= 90::double precision AND w.has_reference THEN true END,
           round(w.percent::numeric, 2)::double precision,
           s.by,
           CASE WHEN pg_catalog.cardinality(s.by) > 0
                THEN 'not to be believed: ' || pg_catalog.array_to_string(s.by, ', ')
                WHEN w.percent >= 90::double precision AND w.has_reference THEN 'to be believed'
                WHEN w.percent >= 90::double precision
                THEN 'not known: the reference clock is the watched clock'
                WHEN w.percent IS NULL THEN 'not known: the period is empty'
                ELSE 'not known: the clock was watched for '
                     || coalesce(round(w.percent::numeric, 2)::text, '0') || ' % of the period' END,
           CASE WHEN pg_catalog.cardinality(s.by) = 0 AND w.percent >= 90::double precision
                  AND w.has_reference
                THEN w.error_bound_ppm END
    FROM spoilt s, watched w;
END;
COMMENT ON FUNCTION clock_trust(timestamptz, timestamptz) IS
    'returns whether timings that were measured in a period, for example by pg_stat_statements, '
    'auto_explain and track_io_timing, are reliable, and which events make them unreliable';
\only_for pg_monitor FUNCTION clock_trust(timestamptz, timestamptz)
