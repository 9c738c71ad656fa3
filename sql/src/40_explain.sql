-- Replacements of EXPLAIN ANALYZE that hardly slow down the query.  A background worker, the
-- sampler, checks some thousand times a second which plan node is at work and what it waits for.
-- All users may call these functions for queries that they may execute.

CREATE FUNCTION clock_explain(
    query        text,
    method       text    DEFAULT 'sampling',
    verify       boolean DEFAULT false,
    allow_writes boolean DEFAULT false,
    params       text[]  DEFAULT NULL,
    runs         integer DEFAULT 1,
    OUT node           integer,
    OUT depth          integer,
    OUT line           text,
    OUT node_type      text,
    OUT relation       text,
    OUT loops          bigint,
    OUT rows           bigint,
    OUT self_ms        numeric,
    OUT self_margin_ms  numeric,
    OUT share_percent  numeric,
    OUT share_margin_percent numeric,
    OUT cpu_ms         numeric,
    OUT wait_ms        numeric,
    OUT waits          text,
    OUT cpu_wait_ms    numeric,
    OUT total_ms       numeric,
    OUT total_margin_ms numeric,
    OUT note           text,
    OUT run_ms         numeric,
    OUT plain_ms       numeric,
    OUT samples        bigint,
    OUT sampler_ms     numeric,
    OUT total_stddev_ms numeric
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10
AS 'MODULE_PATHNAME', 'clock_explain';
COMMENT ON FUNCTION clock_explain(text, text, boolean, boolean, text[], integer) IS
    'executes a query and returns a row for the whole query and one per plan node, with times and '
    'waits that a sampler has seen';

CREATE FUNCTION clock_explain_text(
    query        text,
    method       text    DEFAULT 'sampling',
    verify       boolean DEFAULT false,
    allow_writes boolean DEFAULT false,
    params       text[]  DEFAULT NULL,
    runs         integer DEFAULT 1
) RETURNS TABLE ("QUERY PLAN" text)
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 20
AS 'MODULE_PATHNAME', 'clock_explain_text';
COMMENT ON FUNCTION clock_explain_text(text, text, boolean, boolean, text[], integer) IS
    'executes a query and returns the output of EXPLAIN ANALYZE, with times and waits of plan '
    'nodes that a sampler has seen';

CREATE FUNCTION clock_explain_json(
    query        text,
    method       text    DEFAULT 'sampling',
    verify       boolean DEFAULT false,
    allow_writes boolean DEFAULT false,
    params       text[]  DEFAULT NULL,
    runs         integer DEFAULT 1
) RETURNS json
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'clock_explain_json';
COMMENT ON FUNCTION clock_explain_json(text, text, boolean, boolean, text[], integer) IS
    'executes a query and returns the output of EXPLAIN (ANALYZE, FORMAT JSON), with times and '
    'waits of plan nodes that a sampler has seen';
