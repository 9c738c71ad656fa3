-- Statements of make demo: the best first, each with a sentence on what to see.
\set QUIET on
\pset pager off
\pset null -
\pset footer off
CREATE EXTENSION clocktiming;
LOAD '$libdir/plugins/clocktiming';
CREATE TABLE orders AS SELECT i AS id, md5(i::text) AS note FROM generate_series(1, 300000) AS i;
VACUUM ANALYZE orders;
SET max_parallel_workers_per_gather = 0;
SELECT min(source) AS fast FROM clock_sources
WHERE available AND source IN ('rdtsc', 'system') \gset

\echo
\echo '1. Where does the time of a query go?  No call is timed; a sampler sees which node is at work, and what it waits for.'
\echo '   See: percent adds up to 100, and waits names the temporary files that the nodes write.'
\echo
\echo '   SELECT line, self_ms, share_percent, ... FROM clock_explain('
\echo '       ''SELECT note, count(*) FROM orders GROUP BY note ORDER BY 2 DESC, 1'');'
\echo
SELECT line, round(self_ms, 1) AS self_ms, round(share_percent, 1) AS percent,
       round(share_margin_percent, 1) AS margin, waits
FROM clock_explain('SELECT note, count(*) FROM orders GROUP BY note ORDER BY 2 DESC, 1');

\echo
\echo '2. Is the clock all right?  See: the first row is the verdict.  The worst finding follows, with what to do.'
\echo
\echo '   SELECT * FROM clock_advice();'
\echo
SELECT * FROM clock_advice();

\echo
\echo '3. How long does a reading take?  See: nearly all readings are in one or two rows of some nanoseconds.'
\echo '   The long ones at the end are interruptions by other processes.'
\echo
\echo '   SELECT * FROM clock_histogram(':'fast'', 3);'
\echo
SELECT * FROM clock_histogram(:'fast', 3);

\echo
\echo '4. What does EXPLAIN ANALYZE cost a query?  See: overhead_ns, in nanoseconds per row of a plan node.'
\echo '   It is the sum of counting_ns (TIMING OFF) and timing_ns.'
\echo
\echo '   CALL clock_executor_overhead();'
\echo
CALL clock_executor_overhead() \gx

\echo
\echo '5. All clocks of this machine.  See: PostgreSQL up to 18 reads system, and 19 can read the processor''s counter.'
\echo
\echo '   SELECT source, cost_ns, read_by, warps, backward_steps FROM clock_survey();'
\echo
SELECT source, cost_ns, cost_margin_ns AS margin_ns, read_by, warps, backward_steps
FROM clock_survey() WHERE reason IS NULL;

\echo
\echo 'README.md has more: running queries, statistics of plans, and what may be on in production.'
