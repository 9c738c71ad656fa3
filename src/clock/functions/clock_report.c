/*
 * Returns the lines of clock_report().  The install script adds the tables of durations.
 *
 * Lines and blanks are the same as those of PostgreSQL 19's pg_test_timing, because programs parse
 * them.
 */
#include "postgres.h"

#include "funcapi.h"
#include "lib/stringinfo.h"

#include "clock/functions/clock_args.h"
#include "clock/measure/instr_clock.h"
#include "clock/measure/source.h"
#include "compat.h"
#include "core/tsc.h"
#include "server/args.h"
#include "server/row.h"

PG_FUNCTION_INFO_V1(internal_clock_report_parts);

/* Adds a part of the report: either a clock to measure, with a title, or lines of text. */
static void
put_part(FunctionCallInfo fcinfo, const char *title, const char *source, const char *lines)
{
	Row			row = row_of_set(fcinfo);

	row_put_text(&row, title);
	row_put_text(&row, source);
	row_put_text(&row, lines);
	row_to_set(&row, fcinfo);
}

/* Returns what pg_test_timing prints of the TSC: its frequency, and whether the server uses it. */
static const char *
tsc_lines(void)
{
	const CounterFrequency *frequency = calibrated_tsc_frequency();
	StringInfoData lines;

	initStringInfo(&lines);
	/* as in pg_test_timing: the CPU's type, then the sources that were tried */
	appendStringInfo(&lines, "TSC frequency source: x86%s%s\n",
					 tsc_cpuid()->hypervisor ? ", hypervisor" : "",
					 strcmp(frequency->from, "calibration") == 0 ? ", calibration" : "");
	appendStringInfo(&lines, "TSC frequency in use: %.0f kHz\n", frequency->hz / 1e3);
	if (frequency->calibrated_hz > 0)
		appendStringInfo(&lines, "TSC frequency from calibration: %.0f kHz\n\n",
						 frequency->calibrated_hz / 1e3);
	else
		appendStringInfoString(&lines, "TSC calibration did not converge\n\n");

	if (server_defaults_to_tsc())
		appendStringInfoString(&lines, "TSC clock source will be used by default, unless timing_clock_source is set to 'system'.");
	else
#ifdef SERVER_HAS_TIMING_CLOCK_SOURCE
		appendStringInfoString(&lines, "TSC clock source will not be used by default, unless timing_clock_source is set to 'tsc'.");
#else
		appendStringInfo(&lines, "TSC clock source will not be used by default: PostgreSQL %s always reads the system clock.",
						 PG_MAJORVERSION);
#endif
	return lines.data;
}

/*
 * Returns the parts of pg_test_timing's output, a row each: a heading, the clock whose histogram
 * follows, and lines of text.  clock_report() measures the clocks and joins the parts.
 */
Datum
internal_clock_report_parts(PG_FUNCTION_ARGS)
{
	const ClockSource *rdtscp = clock_source_find("rdtscp");
	const char *why_not = clock_source_why_not(rdtscp);
	double		duration_s = arg_duration(fcinfo, 0);

	(void) arg_cutoff(fcinfo, 1);
	InitMaterializedSRF(fcinfo, 0);
	put_part(fcinfo, NULL, NULL, psprintf("Testing timing overhead for %g second%s.",
										  duration_s, duration_s == 1 ? "" : "s"));
	put_part(fcinfo, "System clock source", "system", NULL);
	if (why_not != NULL)
	{
		put_part(fcinfo, NULL, NULL,
				 psprintf("TSC clock source is not usable. The reason is that %s.", why_not));
		return (Datum) 0;
	}
	put_part(fcinfo, "Clock source", "rdtscp", NULL);
	put_part(fcinfo, "Fast clock source", "rdtsc", NULL);
	put_part(fcinfo, NULL, NULL, tsc_lines());
	return (Datum) 0;
}
