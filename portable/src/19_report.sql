--
-- Text of clock_report().  The C extension includes this file.
--
-- A busy machine has thousands of different durations below the cutoff.  The list ends after 40
-- of them, unless the cutoff is 100 %, and its title says how many percent they are.
--

CREATE FUNCTION @extschema@.internal_clock_report_block(
    title text, sample jsonb, cutoff double precision) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $body$
    WITH run AS (
        SELECT d.ns, d.n, length(ltrim(d.ns::bigint::bit(64)::text, '0')) AS bucket
        FROM (SELECT round(u.t::numeric * 1000000000 / (sample ->> 'frequency_hz')::numeric) AS ns,
                     sum(u.n::numeric) AS n
              FROM ROWS FROM (jsonb_array_elements_text(sample -> 'ticks'),
                              jsonb_array_elements_text(sample -> 'counts')) AS u(t, n)
              GROUP BY 1) AS d
    ), rows AS (
        SELECT 1 AS part, trunc(2::numeric ^ i) - 1 AS ns, coalesce(sum(r.n), 0) AS n
        FROM generate_series(0, coalesce((SELECT max(bucket) FROM run), 0)) AS i
             LEFT JOIN run AS r ON r.bucket = i
        GROUP BY i
        UNION ALL
        SELECT 2, ns, n FROM run
    ), counted AS (
        SELECT part, ns, n, sum(n) OVER (PARTITION BY part ORDER BY ns) AS running,
               row_number() OVER (PARTITION BY part ORDER BY ns) AS nth,
               greatest(sum(n) OVER (PARTITION BY part), 1) AS total,
               max(ns) OVER (PARTITION BY part) AS largest
        FROM rows
    ), list AS (
        SELECT least(cutoff, min(trunc(c.running * 100 / c.total, 4)::double precision)
                             FILTER (WHERE c.nth = 40 AND cutoff < 100)) AS percent
        FROM counted AS c WHERE c.part = 2
    ), lines AS (
        -- shows the longest duration even if it is beyond the cutoff, after a line "..."
        SELECT part, ns, CASE WHEN s.shown THEN '' ELSE E'...\n' END
               || format('%19s   %10s %10s %10s', ns, round(n * 100 / total, 4),
                         round(running * 100 / total, 4), n) AS line
        FROM counted,
             LATERAL (SELECT part = 1 OR running = n
                             OR ((running - n) * 100 / total)::double precision < cutoff
                                AND (nth <= 40 OR cutoff >= 100)
                             AS shown) AS s
        WHERE s.shown OR ns = largest
    )
    SELECT concat_ws(E'\n',
        title || ': ' || (sample ->> 'clock'),
        format('Average loop time including overhead: %s ns',
               round((sample ->> 'duration_s')::numeric * 1000000000
                     / nullif((sample ->> 'readings')::numeric, 0), 2)),
        'Histogram of timing durations:',
        format('%19s   %10s %10s %10s', '<= ns', '% of total', 'running %', 'count'),
        (SELECT string_agg(line, E'\n' ORDER BY ns) FROM lines WHERE part = 1),
        '',
        format('Observed timing durations up to %s%%:',
               to_char((SELECT l.percent FROM list AS l), 'FM990.0000')),
        format('%19s   %10s %10s %10s', 'ns', '% of total', 'running %', 'count'),
        (SELECT string_agg(line, E'\n' ORDER BY ns) FROM lines WHERE part = 2))
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_report_block(text, jsonb, double precision) IS
    'internal: returns the results for a clock in the format of PostgreSQL 19''s pg_test_timing';
