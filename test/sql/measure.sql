--
-- Real runs: the parts of their output that are the same everywhere.  Other
-- properties are tested in test/pgtap.
--
-- each way to call the functions
SELECT count(*) BETWEEN 1 AND 64 AS ok FROM clock_histogram('system', 0.01);
SELECT count(*) > 0 AS ok FROM clock_histogram(source => 'system', duration => 0.01);
SELECT count(*) > 0 AS ok FROM clock_histogram(duration => 0.01);
SELECT count(*) > 1 AS ok FROM clock_histogram('system', 0.01, 99.99);
SELECT count(*) > 1 AS ok FROM clock_histogram('system', 0.01, 100);
SELECT count(*) > 0 AS ok FROM clock_histogram(cutoff => 50, duration => 0.01);
SELECT source FROM clock_summary('system', 0.01);
SELECT source FROM clock_summary(duration => 0.01);
SELECT (clock_summary(clock_measure('System', 0.01))).source;
SELECT count(*) > 0 AS ok FROM clock_measure('system', 0.01) AS s, clock_histogram(s) AS h;
SELECT count(*) > 0 AS ok FROM clock_measure('system', 0.01) AS s, clock_histogram(s, 50) AS d;
SELECT c.source FROM clock_measure('system', 0.01) AS s, clock_summary(s) AS c;
-- the shortest run
SELECT readings > 0 AS ok FROM clock_summary('system', 0.000001);
-- in the select list, in a subquery, once for each row
SELECT count(*) > 1 AS ok FROM (SELECT clock_histogram('system', 0.001, 99.99)) AS t;
SELECT count(DISTINCT s::text) FROM generate_series(1, 3) AS g, LATERAL clock_measure('system',
    0.001 + g * 0) AS s;

-- the default source is the clock that EXPLAIN ANALYZE reads
SELECT s.source, s.clock = c.clock AS same_clock, c.used_for
FROM clock_summary(duration => 0.001) AS s JOIN clock_sources AS c USING (source);

-- a sample in a table
CREATE TEMP TABLE kept (at timestamptz DEFAULT now(), sample clock_sample, several clock_sample[]);
INSERT INTO kept (sample) SELECT clock_measure('system', 0.01) FROM generate_series(1, 3);
INSERT INTO kept (several) SELECT array_agg(clock_measure('system', 0.01))
    FROM generate_series(1, 3);
SELECT count(*) FROM kept, clock_summary(sample) AS s WHERE sample IS NOT NULL AND s.readings > 0;
SELECT count(*) FROM kept, unnest(several) AS s, LATERAL (SELECT sum(count) AS n
    FROM clock_histogram(s)) h
WHERE n = (clock_summary(s)).readings;
SELECT count(*) FROM kept WHERE sample::jsonb ->> 'source' = 'system';
-- a sample is unchanged by a conversion to text and back
SELECT bool_and(sample::text::clock_sample::text = sample::text) AS same FROM kept
    WHERE sample IS NOT NULL;
SELECT bool_and(clock_summary(sample::text::clock_sample) = clock_summary(sample)) AS same FROM kept
    WHERE sample IS NOT NULL;

-- no reports of progress: they are turned off, or the run is shorter than the interval
SET clocktiming.progress_interval = 0;
SELECT source FROM clock_summary('system', 0.05);
RESET clocktiming.progress_interval;
SELECT source FROM clock_summary('system', 0.05);

-- sources
SELECT source FROM clock_sources;
SELECT source, available, clock, reason FROM clock_sources WHERE source IN ('system');
-- a source has either a reason or all other columns
SELECT count(*) FROM clock_sources
WHERE available = (reason IS NULL) AND available = (frequency_hz IS NOT NULL)
  AND available = (clock IS NOT NULL) AND available = (resolution_ns IS NOT NULL)
      AND description IS NOT NULL;
-- used_for names both uses of the server's clocks
SELECT count(*) FILTER (WHERE used_for ~ 'EXPLAIN ANALYZE' AND source <> 'instr_time') AS explain,
       count(*) FILTER (WHERE used_for ~ 'other timing') AS other FROM clock_sources;

-- platform
-- some rows exist only on virtual machines with VMClock, or depend on the operating system
SELECT name FROM clock_platform WHERE name NOT LIKE ALL (ARRAY['vmclock\_%', 'counter\_of\_%']);
SELECT count(*) FROM clock_platform p JOIN clock_sources s ON s.source = p.value
WHERE p.name IN ('explain_analyze_source', 'other_timing_source');
SELECT value = current_setting('server_version') AS same FROM clock_platform
    WHERE name = 'server_version';

-- the lines of the report that do not vary
SELECT l FROM clock_report(0.01, 90) WITH ORDINALITY AS r(l, n) WHERE n <= 3;
SELECT count(*) AS blocks FROM clock_report(0.001) AS l
    WHERE l ~ '^Observed timing durations up to [0-9.]+%:$'
HAVING count(*) NOT IN (1, 3);
SELECT l FROM clock_report(1e-6, 12.5) AS l WHERE l ~ 'up to' LIMIT 1;
SELECT l FROM clock_report(1) AS l LIMIT 1;
