-- clock_drift() and clock_monitor(): bad input, and the parts of real runs that are the same
-- everywhere. Other properties are tested in test/pgtap and test/t.
CREATE FUNCTION pg_temp.try(statement text) RETURNS TABLE (state text, said text) LANGUAGE plpgsql
    AS $$
DECLARE
    message text;
    detail text;
    hint text;
BEGIN
    EXECUTE statement;
    RETURN QUERY VALUES ('00000', 'no error');
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
        detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    -- the list of sources depends on the platform, and the length of a tick on the kernel
    RETURN QUERY SELECT t.state, regexp_replace(regexp_replace(v.line,
        '(sources are system, ).*, (.*, and |.*$)', '\1..., \2'),
                                                'by \d+ ms', 'by ... ms')
        FROM (VALUES (message), ('DETAIL: ' || nullif(detail, '')), ('HINT: ' || nullif(hint, '')))
            v(line),
             (SELECT state) t
        WHERE v.line IS NOT NULL;
END $$;

\pset format unaligned
\pset tuples_only on

-- clock_drift
SELECT f, t.* FROM unnest(ARRAY[
    $$NULL$$, $$'system', NULL$$, $$'system', reference => NULL$$,
    $$'sundial'$$, $$''$$, $$'all'$$, $$'kernel'$$, $$'system', reference => 'sundial'$$,
    $$'system', reference => 'system'$$, $$'System', reference => 'SYSTEM'$$,
    $$'system', reference => 'monotonic_coarse'$$, $$'system', reference => 'time'$$,
        $$'system', reference => 'process_cputime'$$,
    $$'system', 0$$, $$'system', -1$$, $$'system', 'NaN'$$,
    $$'system', 'Infinity'$$, $$'system', 86400.1$$, $$'system', 1e-7$$
]) AS f, pg_temp.try(format('SELECT clock_drift(%s)', f)) AS t;

-- clock_monitor; arguments are checked before the run
SELECT f, t.* FROM unnest(ARRAY[
    $$NULL$$, $$'{}'$$, $$'{system,NULL}'$$, $$'{NULL}'$$, $$'{sundial}'$$, $$'{system,sundial}'$$,
        $$'{all,sundial}'$$, $$'{""}'$$,
    $$'{{system},{sundial}}'$$,
    $$'{system}', NULL$$, $$'{system}', 86400, NULL$$, $$'{system}', 86400, 1, NULL$$,
    $$'{system}', 0$$, $$'{system}', 'NaN'$$, $$'{system}', 86401$$,
    $$'{system}', 86400, 0$$, $$'{system}', 86400, -1$$, $$'{system}', 86400, 'NaN'$$,
        $$'{system}', 86400, 'Infinity'$$,
    $$'{system}', 86400, 0.0009$$, $$'{system}', 2, 2.5$$, $$'{system}', 0.0001, 0.0001$$,
    $$'{system}', 86400, 1, 'sundial'$$, $$'{system}', 86400, 1, 'realtime_coarse'$$,
        $$'{system}', 86400, 1, 'clock'$$,
    $$'{system}', 86400, 1, 'system'$$
]) AS f, pg_temp.try(format('SELECT clock_monitor(%s)', f)) AS t;

-- real runs
\pset format aligned
\pset tuples_only off
SELECT source, reference, pairs > 10 AS pairs, drift_ppm IS NOT NULL AS drift, drift_margin_ppm > 0
    AS error
FROM clock_drift(duration => 0.02);
SELECT source, reference FROM clock_drift('SYSTEM', 0.01, 'Kernel');
SELECT source, reference FROM clock_drift(reference => 'monotonic_raw', source => 'system',
    duration => 0.01);
SELECT drift_margin_ppm > 0 AS ok FROM clock_drift('system', 0.01, 'gettimeofday');
SELECT (clock_drift('monotonic_coarse', 0.01, 'system')).drift_margin_ppm > 1000 AS ok;
SELECT count(*) FROM generate_series(1, 3) AS g, LATERAL clock_drift('system', 0.001 + g * 0,
    'kernel');
SELECT source, elapsed_s >= 0.01 AS waited, advance_ms > 0 AS advanced,
    against_reference_us IS NOT NULL AS compared,
       bracket_ns >= 0 AS bracket
FROM clock_monitor('{instr_time,system,SYSTEM}', 0.01, 0.01);
SELECT count(*) AS reference FROM clock_monitor('{all,System}', 0.01, 0.01, 'system')
    WHERE source = 'system';
SELECT source FROM clock_monitor('system', 0.01, 0.01);
SELECT source FROM clock_monitor(ARRAY[['system'], ['realtime']], duration => 0.01, every => 0.01);
SELECT count(*) = (SELECT count(*) FROM clock_sources WHERE available AND source <> 'system')
    AS all_but_the_reference
FROM clock_monitor(duration => 0.01, every => 0.01, reference => 'system');
