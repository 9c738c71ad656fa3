-- Views of facts about this machine's clocks that are known without measuring: the clock sources,
-- which are named ways of reading the time, and the reports of kernel and processor.

CREATE FUNCTION clock_sources(
    OUT source text, OUT description text, OUT available boolean, OUT reason text,
    OUT clock text, OUT frequency_hz double precision, OUT frequency_from text,
    OUT resolution_ns double precision, OUT used_for text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 4
AS 'MODULE_PATHNAME', 'clock_sources';
COMMENT ON FUNCTION clock_sources() IS
    'lists the known clock sources, as the view clock_sources shows them; calibrates the '
    'processor''s counter once per session, which takes 50 ms';
\only_for pg_monitor FUNCTION clock_sources()

CREATE VIEW clock_sources AS
    SELECT source, available, clock, frequency_hz, frequency_from, resolution_ns, used_for, reason,
           description
    FROM clock_sources();
COMMENT ON VIEW clock_sources IS
    'known clock sources: whether this server can read each of them, the reason if not, and what '
    'the server uses it for; calibrates the processor''s counter once per session, which takes 50 '
    'ms';
\only_for pg_monitor TABLE clock_sources
COMMENT ON COLUMN clock_sources.source IS 'name of the clock source, as functions accept it';
COMMENT ON COLUMN clock_sources.available IS 'true if this server can read the source';
COMMENT ON COLUMN clock_sources.clock IS
    'system call, function or instruction that reads the clock';
COMMENT ON COLUMN clock_sources.frequency_hz IS 'ticks per second';
COMMENT ON COLUMN clock_sources.frequency_from IS
    'way in which frequency_hz was determined, such as a calibration';
COMMENT ON COLUMN clock_sources.resolution_ns IS
    'resolution that the system reports, or length of a counter''s tick, in nanoseconds';
COMMENT ON COLUMN clock_sources.used_for IS
    'what this server currently uses the source for, such as EXPLAIN ANALYZE; null if nothing';
COMMENT ON COLUMN clock_sources.reason IS 'reason why the source is unavailable';
COMMENT ON COLUMN clock_sources.description IS 'description of the source';

CREATE FUNCTION clock_platform(OUT name text, OUT value text, OUT note text) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 20
AS 'MODULE_PATHNAME', 'clock_platform';
COMMENT ON FUNCTION clock_platform() IS
    'lists properties of the clocks that processor, hypervisor, operating system and server '
    'report, as the view clock_platform shows them';
\only_for pg_monitor FUNCTION clock_platform()

CREATE VIEW clock_platform AS
    SELECT name, value, note
    FROM clock_platform();
COMMENT ON VIEW clock_platform IS
    'properties of the clocks that processor, hypervisor, operating system and server report, '
    'with remarks; measures nothing, but reads clocks for some microseconds';
\only_for pg_monitor TABLE clock_platform
COMMENT ON COLUMN clock_platform.name IS
    'name of the property, such as processor or kernel_clock_source';
COMMENT ON COLUMN clock_platform.value IS 'value on this machine; null if unknown';
COMMENT ON COLUMN clock_platform.note IS 'remark about the value; null if none';
