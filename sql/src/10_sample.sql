-- The type clock_sample: one run of a clock as a value; its casts, operators and aggregate.

CREATE TYPE clock_sample;

CREATE FUNCTION internal_clock_sample_in(cstring) RETURNS clock_sample
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_sample_in';
COMMENT ON FUNCTION internal_clock_sample_in(cstring) IS
    'internal: input function of the type clock_sample: reads a JSON object';

CREATE FUNCTION internal_clock_sample_out(clock_sample) RETURNS cstring
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_sample_out';
COMMENT ON FUNCTION internal_clock_sample_out(clock_sample) IS
    'internal: output function of the type clock_sample: writes a JSON object';

-- The next two functions are STABLE and not IMMUTABLE, because they convert texts from or to
-- client_encoding.
CREATE FUNCTION internal_clock_sample_recv(internal) RETURNS clock_sample
LANGUAGE C STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_sample_recv';
COMMENT ON FUNCTION internal_clock_sample_recv(internal) IS
    'internal: binary input function of the type clock_sample';

CREATE FUNCTION internal_clock_sample_send(clock_sample) RETURNS bytea
LANGUAGE C STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'clock_sample_send';
COMMENT ON FUNCTION internal_clock_sample_send(clock_sample) IS
    'internal: binary output function of the type clock_sample';

CREATE TYPE clock_sample (
    INPUT          = internal_clock_sample_in,
    OUTPUT         = internal_clock_sample_out,
    RECEIVE        = internal_clock_sample_recv,
    SEND           = internal_clock_sample_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT      = int4,
    STORAGE        = extended
);
COMMENT ON TYPE clock_sample IS
    'a run of a clock: durations in ticks, each with its count, and faults of the clock';

-- Both casts use the text form of a sample, which is a JSON object.
CREATE CAST (jsonb AS clock_sample) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (jsonb AS clock_sample) IS
    'converts a JSON object, which is the text form of a sample, to the sample';

CREATE CAST (clock_sample AS jsonb) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (clock_sample AS jsonb) IS 'converts a sample to a JSON object of all its members';

-- The operators compare samples byte by byte with functions for bytea.  Equal samples have equal
-- bytes.
CREATE FUNCTION internal_clock_sample_eq(clock_sample, clock_sample) RETURNS boolean
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteaeq';
COMMENT ON FUNCTION internal_clock_sample_eq(clock_sample, clock_sample) IS
    'internal: function of the operator =';

CREATE OPERATOR = (
    LEFTARG = clock_sample, RIGHTARG = clock_sample, FUNCTION = internal_clock_sample_eq,
    COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (clock_sample, clock_sample) IS 'equal';

CREATE FUNCTION internal_clock_sample_ne(clock_sample, clock_sample) RETURNS boolean
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteane';
COMMENT ON FUNCTION internal_clock_sample_ne(clock_sample, clock_sample) IS
    'internal: function of the operator <>';

CREATE OPERATOR <> (
    LEFTARG = clock_sample, RIGHTARG = clock_sample, FUNCTION = internal_clock_sample_ne,
    COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (clock_sample, clock_sample) IS 'not equal';

CREATE FUNCTION internal_clock_sample_lt(clock_sample, clock_sample) RETURNS boolean
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'bytealt';
COMMENT ON FUNCTION internal_clock_sample_lt(clock_sample, clock_sample) IS
    'internal: function of the operator <';

CREATE OPERATOR < (
    LEFTARG = clock_sample, RIGHTARG = clock_sample, FUNCTION = internal_clock_sample_lt,
    COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (clock_sample, clock_sample) IS 'less than';

CREATE FUNCTION internal_clock_sample_le(clock_sample, clock_sample) RETURNS boolean
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteale';
COMMENT ON FUNCTION internal_clock_sample_le(clock_sample, clock_sample) IS
    'internal: function of the operator <=';

CREATE OPERATOR <= (
    LEFTARG = clock_sample, RIGHTARG = clock_sample, FUNCTION = internal_clock_sample_le,
    COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (clock_sample, clock_sample) IS 'less than or equal';

CREATE FUNCTION internal_clock_sample_gt(clock_sample, clock_sample) RETURNS boolean
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteagt';
COMMENT ON FUNCTION internal_clock_sample_gt(clock_sample, clock_sample) IS
    'internal: function of the operator >';

CREATE OPERATOR > (
    LEFTARG = clock_sample, RIGHTARG = clock_sample, FUNCTION = internal_clock_sample_gt,
    COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (clock_sample, clock_sample) IS 'greater than';

CREATE FUNCTION internal_clock_sample_ge(clock_sample, clock_sample) RETURNS boolean
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteage';
COMMENT ON FUNCTION internal_clock_sample_ge(clock_sample, clock_sample) IS
    'internal: function of the operator >=';

CREATE OPERATOR >= (
    LEFTARG = clock_sample, RIGHTARG = clock_sample, FUNCTION = internal_clock_sample_ge,
    COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (clock_sample, clock_sample) IS 'greater than or equal';

CREATE FUNCTION internal_clock_sample_cmp(clock_sample, clock_sample) RETURNS integer
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteacmp';
COMMENT ON FUNCTION internal_clock_sample_cmp(clock_sample, clock_sample) IS
    'internal: compares two samples, for indexes and sorts';

CREATE FUNCTION internal_clock_sample_hash(clock_sample) RETURNS integer
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'hashvarlena';
COMMENT ON FUNCTION internal_clock_sample_hash(clock_sample) IS
    'internal: returns the hash of a sample';

CREATE FUNCTION internal_clock_sample_hash_extended(clock_sample, bigint) RETURNS bigint
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'hashvarlenaextended';
COMMENT ON FUNCTION internal_clock_sample_hash_extended(clock_sample, bigint) IS
    'internal: returns the hash of a sample with a seed';

CREATE OPERATOR CLASS clock_sample_ops DEFAULT FOR TYPE clock_sample USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 internal_clock_sample_cmp(clock_sample, clock_sample);
COMMENT ON OPERATOR CLASS clock_sample_ops USING btree IS
    'arbitrary order of samples, for DISTINCT, ORDER BY and merge joins';
COMMENT ON OPERATOR FAMILY clock_sample_ops USING btree IS 'order of samples';

CREATE OPERATOR CLASS clock_sample_ops DEFAULT FOR TYPE clock_sample USING hash AS
    OPERATOR 1 =, FUNCTION 1 internal_clock_sample_hash(clock_sample),
    FUNCTION 2 internal_clock_sample_hash_extended(clock_sample, bigint);
COMMENT ON OPERATOR CLASS clock_sample_ops USING hash IS
    'equality of samples, for DISTINCT, GROUP BY, UNION and hash joins';
COMMENT ON OPERATOR FAMILY clock_sample_ops USING hash IS 'equality of samples';

CREATE FUNCTION internal_clock_merge_add(clock_sample, clock_sample) RETURNS clock_sample
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'internal_clock_merge_add';
COMMENT ON FUNCTION internal_clock_merge_add(clock_sample, clock_sample) IS
    'internal: transition and combine function of the aggregate clock_merge()';

-- SSPACE is the size of the state: two tables of counters and a table of long durations.
CREATE AGGREGATE clock_merge(clock_sample) (
    SFUNC = internal_clock_merge_add,
    STYPE = clock_sample,
    SSPACE = 400000,
    COMBINEFUNC = internal_clock_merge_add,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE clock_merge(clock_sample) IS 'merges samples of the same clock into one';
