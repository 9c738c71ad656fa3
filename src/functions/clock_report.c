/*
 * clock_report(): prints the text of PostgreSQL 19's pg_test_timing.
 *
 * Programs parse that text, so lines, order, widths and blanks are the same.
 */
#include "postgres.h"

#include "funcapi.h"

#include "clock/clock_run.h"
#include "clock/instr_clock.h"
#include "compat.h"
#include "core/tsc.h"
#include "functions/args.h"
#include "functions/row.h"

PG_FUNCTION_INFO_V1(clock_report);

typedef struct Report
{
	FunctionCallInfo fcinfo;
	double		duration_s;
	double		cutoff;
} Report;

static void
put_line(Report *report, const char *line)
{
	row_text_to_set(report->fcinfo, line);
}

static void
put_header(Report *report, const char *first)
{
	put_line(report, psprintf("%19s   %10s %10s %10s",
							  first, "% of total", "running %", "count"));
}

static void
put_row(Report *report, const DurationRow *row, uint64 total)
{
	put_line(report, psprintf("%19llu   %10.4f %10.4f %10llu",
							  (unsigned long long) row->ns, (double) row->count * 100 / total,
							  (double) row->running * 100 / total,
							  (unsigned long long) row->count));
}

static void
put_clock(Report *report, const char *label, const char *source)
{
	ClockSample *sample = clock_run(clock_source_get(source), 0, report->duration_s);
	DurationRow *rows;
	int			nrows;
	bool		stopped;

	put_line(report, psprintf("%s: %s", label, sample->clock));
	put_line(report, psprintf("Average loop time including overhead: %.2f ns",
							  sample->duration_s * 1e9 / sample->readings));

	put_line(report, "Histogram of timing durations:");
	put_header(report, "<= ns");
	rows = sample_histogram(sample, &nrows);
	for (int i = 0; i < nrows; i++)
		put_row(report, &rows[i], Max(sample->total, 1));

	put_line(report, "");
	put_line(report, psprintf("Observed timing durations up to %.4f%%:", report->cutoff));
	put_header(report, "ns");
	rows = sample_durations(sample, report->cutoff, &nrows, &stopped);
	for (int i = 0; i < nrows; i++)
	{
		if (stopped && i == nrows - 1)
			put_line(report, "...");
		put_row(report, &rows[i], sample->total);
	}
}

static void
put_tsc_frequency(Report *report)
{
	const CounterFrequency *frequency = calibrated_tsc_frequency();

	/* the processor's type, then the sources that were tried */
	put_line(report, psprintf("TSC frequency source: x86%s%s",
							  tsc_cpuid()->hypervisor ? ", hypervisor" : "",
							  strcmp(frequency->from, "calibration") == 0 ? ", calibration" : ""));
	put_line(report, psprintf("TSC frequency in use: %.0f kHz", frequency->hz / 1e3));
	if (frequency->calibrated_hz > 0)
		put_line(report, psprintf("TSC frequency from calibration: %.0f kHz",
								  frequency->calibrated_hz / 1e3));
	else
		put_line(report, "TSC calibration did not converge");

	put_line(report, "");
	if (server_defaults_to_tsc())
		put_line(report, "TSC clock source will be used by default, unless timing_clock_source is set to 'system'.");
	else
#ifdef SERVER_HAS_TIMING_CLOCK_SOURCE
		put_line(report, "TSC clock source will not be used by default, unless timing_clock_source is set to 'tsc'.");
#else
		put_line(report, psprintf("TSC clock source will not be used by default: PostgreSQL %s always reads the system clock.",
								  PG_MAJORVERSION));
#endif
}

Datum
clock_report(PG_FUNCTION_ARGS)
{
	Report		report;
	const ClockSource *rdtscp = clock_source_find("rdtscp");
	const char *why_not;

	report.duration_s = arg_duration(fcinfo, 0);
	report.cutoff = arg_cutoff(fcinfo, 1);

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	report.fcinfo = fcinfo;

	put_line(&report, psprintf("Testing timing overhead for %g second%s.",
							   report.duration_s, report.duration_s == 1 ? "" : "s"));
	put_line(&report, "");
	put_clock(&report, "System clock source", "system");
	put_line(&report, "");

	why_not = clock_source_why_not(rdtscp);
	if (why_not != NULL)
	{
		put_line(&report, psprintf("TSC clock source is not usable. The reason is that %s.",
								   why_not));
		return (Datum) 0;
	}
	put_clock(&report, "Clock source", "rdtscp");
	put_line(&report, "");
	put_clock(&report, "Fast clock source", "rdtsc");
	put_line(&report, "");
	put_tsc_frequency(&report);
	return (Datum) 0;
}
