/*-------------------------------------------------------------------------
 *
 * clock_source.c
 *	  The one table of clocks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "lib/stringinfo.h"
#include "miscadmin.h"

#include "clock_source.h"
#include "instr_clock.h"
#include "system_clock.h"
#include "tsc.h"

/* Waits a little, so that a cancel takes effect while calibrating. */
static void
calibration_wait(double seconds)
{
	pg_usleep(Min(seconds, 0.001) * 1e6);
	CHECK_FOR_INTERRUPTS();
}

const TscFrequency *
calibrated_tsc_frequency(void)
{
	return tsc_frequency(calibration_wait);
}

static const char *
always_available(void)
{
	return NULL;
}

static const char *
reads_system(void)
{
	return SYSTEM_CLOCK_NAME;
}

static double
nanoseconds(const char **from)
{
	*from = "nanoseconds by definition";
	return 1e9;
}

static double
system_resolution(void)
{
	struct timespec ts;

	if (clock_getres(SYSTEM_CLOCK_ID, &ts) != 0)
		return 0;
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static const char *
with_frequency(const char *why_not)
{
	if (why_not == NULL && calibrated_tsc_frequency() == NULL)
		return "the frequency of the time-stamp counter could not be found: it did not advance while calibrating";
	return why_not;
}

static const char *
why_no_rdtsc(void)
{
	return with_frequency(tsc_why_no_rdtsc());
}

static const char *
why_no_rdtscp(void)
{
	return with_frequency(tsc_why_no_rdtscp());
}

static const char *
reads_rdtsc(void)
{
	return "RDTSC";
}

static const char *
reads_rdtscp(void)
{
	return "RDTSCP";
}

static double
tsc_hz(const char **from)
{
	const TscFrequency *frequency = calibrated_tsc_frequency();

	*from = frequency->from;
	return frequency->hz;
}

static double
tsc_resolution(void)
{
	return 1e9 / calibrated_tsc_frequency()->hz;
}

static const char *
why_no_instr_time(void)
{
	return server_times_by_tsc() ? why_no_rdtsc() : NULL;
}

static const char *
reads_instr_time(void)
{
	return server_times_by_tsc() ? reads_rdtsc() : reads_system();
}

static double
instr_time_hz(const char **from)
{
	return server_times_by_tsc() ? tsc_hz(from) : nanoseconds(from);
}

static double
instr_time_resolution(void)
{
	return server_times_by_tsc() ? tsc_resolution() : system_resolution();
}

#ifdef CLOCKTIMING_HAVE_TSC
#define TSC_READER(reader) (&(reader))
#else
#define TSC_READER(reader) NULL
#endif

const ClockSource clock_sources[] = {
	{
		"system", "what PostgreSQL reads when it does not use the TSC",
		always_available, &reader_system,
		reads_system, nanoseconds, system_resolution
	},
	{
		"rdtscp", "time-stamp counter of x86, after all earlier instructions",
		why_no_rdtscp, TSC_READER(reader_rdtscp),
		reads_rdtscp, tsc_hz, tsc_resolution
	},
	{
		"rdtsc", "time-stamp counter of x86, as soon as possible",
		why_no_rdtsc, TSC_READER(reader_rdtsc),
		reads_rdtsc, tsc_hz, tsc_resolution
	},
	{
		"instr_time", "what EXPLAIN ANALYZE of this server reads at present",
		why_no_instr_time, &reader_instr_time,
		reads_instr_time, instr_time_hz, instr_time_resolution
	},
};

const int	n_clock_sources = lengthof(clock_sources);

const ClockSource *
clock_source_find(const char *name)
{
	for (int i = 0; i < n_clock_sources; i++)
	{
		if (pg_strcasecmp(clock_sources[i].name, name) == 0)
			return &clock_sources[i];
	}
	return NULL;
}

const ClockSource *
clock_source_get(const char *name)
{
	const ClockSource *source = clock_source_find(name);
	StringInfoData known;

	if (source != NULL)
	{
		const char *why_not = source->why_not();

		if (why_not != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("clock source \"%s\" is not available on this server",
							source->name),
					 errdetail("It cannot be read because %s.", why_not),
					 errhint("The view clock_sources lists the sources that are available.")));
		return source;
	}

	initStringInfo(&known);
	for (int i = 0; i < n_clock_sources; i++)
		appendStringInfo(&known, "%s%s", i > 0 ? ", " : "",
						 clock_sources[i].name);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown clock source \"%s\"", name),
			 errhint("Known clock sources are %s.", known.data)));
	return NULL;				/* keep compiler quiet */
}

const char *
clock_source_for_explain(void)
{
	return server_times_by_tsc() ? "rdtsc" : "system";
}

const char *
clock_source_for_other_timing(void)
{
	return server_times_by_tsc() ? "rdtscp" : "system";
}
