-- Statements of make demo.
\set QUIET on
\pset pager off
\pset null -
\pset footer off
CREATE EXTENSION clocktiming;
SELECT min(source) AS fast FROM clock_sources WHERE available AND source IN ('rdtsc','system') \gset

\echo
\echo '1. Is the clock all right?  The verdict first, then the worst finding, with what to do.'
\echo '   SELECT * FROM clock_advice();'
\echo
SELECT * FROM clock_advice();

\echo
\echo '2. What does this server read, and what can it read?'
\echo '   SELECT source, available, clock, used_for, reason FROM clock_sources;'
\echo
SELECT source, available, clock, used_for, reason FROM clock_sources;

\echo
\echo '3. How long does one reading take?  Rows are buckets: at most le_ns nanoseconds, more than the row above.'
\echo '   SELECT * FROM clock_histogram(':'fast'', 1);'
\echo
SELECT * FROM clock_histogram(:'fast', 1);

\echo
\echo '4. All clocks side by side: what a reading costs, how it is read, and what is wrong with each.'
\echo '   SELECT source, cost_ns, read_by, ... FROM clock_survey();'
\echo
SELECT source, cost_ns, cost_margin_ns, read_by, observed_hz, warps, stalls, backward_steps, gaps
FROM clock_survey() WHERE reason IS NULL;

\echo
\echo '5. Those that PostgreSQL reads, at length.  EXPLAIN ANALYZE reads its clock twice for every row of every plan node.'
\echo '   All but gaps (time off the CPU) should be 0, the rate near 0 (NTP steers some clocks).'
\echo '   SELECT s.* FROM clock_sources AS c, clock_summary(c.source, 1) AS s WHERE c.available AND ...;'
\echo
CREATE TEMP TABLE run AS
    SELECT s.* FROM clock_sources AS c, clock_summary(c.source, 1) AS s
    WHERE c.available AND c.source IN ('system', 'rdtscp', 'rdtsc', 'instr_time');
SELECT source, cost_ns, cost_margin_ns, mean_ns, p50_ns, p99_ns, p9999_ns, max_ns FROM run;
SELECT source, readings, stalls, backward_steps, warps, lags, gaps, lost_percent, rate_ppm FROM run;

\echo
\echo '6. What does EXPLAIN ANALYZE cost a query?  In nanoseconds per row, for being counted and for being timed.'
\echo '   CALL clock_executor_overhead();'
\echo
CALL clock_executor_overhead() \gx

\echo
\echo '7. EXPLAIN ANALYZE without the cost of timing: a sampler looks at which plan node is at work.'
\echo '   SELECT * FROM clock_explain_text(''SELECT i % 10, count(*) FROM generate_series(1, 300000) AS i GROUP BY 1'','
\echo '                                    verify => true);'
\echo
SELECT * FROM clock_explain_text(
    'SELECT i % 10, count(*) FROM generate_series(1, 300000) AS i GROUP BY 1', verify => true);

\echo
\echo '8. The machine.'
\echo '   SELECT * FROM clock_platform;'
\echo
\pset format wrapped
\pset columns 120
SELECT * FROM clock_platform;
\echo 'What pg_test_timing of PostgreSQL 19 prints: SELECT clock_report(1);   README.md has more.'
