-- Replacements of EXPLAIN ANALYZE that hardly slow down the query.  They time only some calls of
-- each plan node, chosen at random, and estimate the time of the other calls.  All users may call
-- these functions for queries that they may execute.

CREATE FUNCTION clock_explain(
    query        text,
    sampling     integer DEFAULT 64,
    method       text    DEFAULT 'sampling',
    verify       boolean DEFAULT false,
    allow_writes boolean DEFAULT false,
    max_overhead double precision DEFAULT 1,
    params       text[]  DEFAULT NULL,
    runs         integer DEFAULT 1,
    OUT node           integer,
    OUT depth          integer,
    OUT line           text,
    OUT node_type      text,
    OUT relation       text,
    OUT loops          bigint,
    OUT rows           bigint,
    OUT calls          bigint,
    OUT timed_calls    bigint,
    OUT total_ms       numeric,
    OUT total_margin_ms numeric,
    OUT self_ms        numeric,
    OUT self_margin_ms  numeric,
    OUT share_percent  numeric,
    OUT share_margin_percent numeric,
    OUT removed_ms     numeric,
    OUT note           text,
    OUT estimate_ms    numeric,
    OUT run_ms         numeric,
    OUT plain_ms       numeric,
    OUT preempted_ms   numeric,
    OUT total_stddev_ms numeric
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10
AS 'MODULE_PATHNAME', 'clock_explain';
COMMENT ON FUNCTION clock_explain(text, integer, text, boolean, boolean, float8, text[], integer) IS
    'executes a query and returns a row for the whole query and one per plan node, with times '
    'estimated from a random sample of the node''s calls';

CREATE FUNCTION clock_explain_text(
    query        text,
    sampling     integer DEFAULT 64,
    method       text    DEFAULT 'sampling',
    verify       boolean DEFAULT false,
    allow_writes boolean DEFAULT false,
    max_overhead double precision DEFAULT 1,
    params       text[]  DEFAULT NULL,
    runs         integer DEFAULT 1
) RETURNS TABLE ("QUERY PLAN" text)
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 20
AS 'MODULE_PATHNAME', 'clock_explain_text';
COMMENT ON FUNCTION clock_explain_text(text, int, text, boolean, boolean, float8, text[], int) IS
    'executes a query and returns the output of EXPLAIN ANALYZE, with times estimated from a '
    'random sample of the calls of each plan node';

CREATE FUNCTION clock_explain_json(
    query        text,
    sampling     integer DEFAULT 64,
    method       text    DEFAULT 'sampling',
    verify       boolean DEFAULT false,
    allow_writes boolean DEFAULT false,
    max_overhead double precision DEFAULT 1,
    params       text[]  DEFAULT NULL,
    runs         integer DEFAULT 1
) RETURNS json
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'clock_explain_json';
COMMENT ON FUNCTION clock_explain_json(text, int, text, boolean, boolean, float8, text[], int) IS
    'executes a query and returns the output of EXPLAIN (ANALYZE, FORMAT JSON), with times '
    'estimated from a random sample of the calls of each plan node';
