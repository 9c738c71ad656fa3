-- Clock sources, and what the machine says of its clocks.

CREATE FUNCTION clock_sources(
    OUT source text, OUT description text, OUT available boolean, OUT reason text,
    OUT clock text, OUT frequency_hz double precision, OUT frequency_from text,
    OUT resolution_ns double precision, OUT used_for text
) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 4
AS 'MODULE_PATHNAME', 'clock_sources';
COMMENT ON FUNCTION clock_sources() IS
'lists the clock sources known, a row each, as the view clock_sources shows them; takes 50 ms once a session, to calibrate the counter of the processor';
\only_for pg_monitor FUNCTION clock_sources()

CREATE VIEW clock_sources AS
    SELECT source, available, clock, frequency_hz, frequency_from, resolution_ns, used_for, reason, description
    FROM clock_sources();
COMMENT ON VIEW clock_sources IS
'clock sources known: whether each can be read here, or why not, and what this server uses it for; takes 50 ms once a session, to calibrate the counter of the processor';
\only_for pg_monitor TABLE clock_sources
COMMENT ON COLUMN clock_sources.source IS 'name of the clock source, as functions take it';
COMMENT ON COLUMN clock_sources.available IS 'whether it can be read on this server';
COMMENT ON COLUMN clock_sources.clock IS 'system call, function or instruction that is read; null if not available';
COMMENT ON COLUMN clock_sources.frequency_hz IS 'ticks a second; null if not available';
COMMENT ON COLUMN clock_sources.frequency_from IS 'where frequency_hz is known from';
COMMENT ON COLUMN clock_sources.resolution_ns IS 'nanoseconds of a step, as the system reports it, or of a tick of a counter; null if not available';
COMMENT ON COLUMN clock_sources.used_for IS 'what this server reads it for at present; null for nothing';
COMMENT ON COLUMN clock_sources.reason IS 'why it is not available; null if it is';
COMMENT ON COLUMN clock_sources.description IS 'what the source is';

CREATE FUNCTION clock_platform(OUT name text, OUT value text, OUT note text) RETURNS SETOF record
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 20
AS 'MODULE_PATHNAME', 'clock_platform';
COMMENT ON FUNCTION clock_platform() IS
'lists what processor, hypervisor, operating system and server say of their clocks, a row each, as the view clock_platform shows it';
\only_for pg_monitor FUNCTION clock_platform()

CREATE VIEW clock_platform AS
    SELECT name, value, note
    FROM clock_platform();
COMMENT ON VIEW clock_platform IS
'what processor, hypervisor, operating system and server say of their clocks, with a note where one has to be taken; measures nothing';
\only_for pg_monitor TABLE clock_platform
COMMENT ON COLUMN clock_platform.name IS 'what is told of, such as processor or kernel_clock_source';
COMMENT ON COLUMN clock_platform.value IS 'what it is on this machine; null if not known';
COMMENT ON COLUMN clock_platform.note IS 'what has to be considered about the value; null if nothing';
