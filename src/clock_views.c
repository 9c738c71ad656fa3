/*-------------------------------------------------------------------------
 *
 * clock_views.c
 *	  What is behind the views clock_sources and clock_platform.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/tuplestore.h"

#include "clock_source.h"
#include "instr_clock.h"
#include "platform.h"
#include "reference.h"
#include "tsc.h"

PG_FUNCTION_INFO_V1(clock_list_sources);
PG_FUNCTION_INFO_V1(clock_list_platform);

/* What the server uses a source for; NULL if for nothing. */
static const char *
used_for(const ClockSource *source)
{
	bool		explain = strcmp(source->name, clock_source_for_explain()) == 0;
	bool		other = strcmp(source->name, clock_source_for_other_timing()) == 0;

	if (explain && other)
		return "EXPLAIN ANALYZE, other timing";
	if (explain || strcmp(source->name, "instr_time") == 0)
		return "EXPLAIN ANALYZE";
	if (other)
		return "other timing";
	return NULL;
}

Datum
clock_list_sources(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int row = 0; row < n_clock_sources; row++)
	{
		const ClockSource *source = &clock_sources[row];
		const char *why_not = source->why_not();
		Datum		values[9] = {0};
		bool		nulls[9] = {0};
		int			i = 0;

		values[i++] = CStringGetTextDatum(source->name);
		values[i++] = CStringGetTextDatum(source->description);
		values[i++] = BoolGetDatum(why_not == NULL);
		if (why_not == NULL)
		{
			const char *from;
			double		hz = source->frequency_hz(&from);
			double		resolution_ns = source->resolution_ns();
			const char *use = used_for(source);

			nulls[i++] = true;
			values[i++] = CStringGetTextDatum(source->reads());
			values[i++] = Float8GetDatum(rint(hz));
			values[i++] = CStringGetTextDatum(from);
			nulls[i] = resolution_ns == 0;
			values[i++] = Float8GetDatum(rint(resolution_ns * 1e4) / 1e4);
			nulls[i] = use == NULL;
			values[i++] = use ? CStringGetTextDatum(use) : (Datum) 0;
		}
		else
		{
			values[i++] = CStringGetTextDatum(why_not);
			while (i < 9)
				nulls[i++] = true;
		}
		Assert(i == rsinfo->setDesc->natts);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* One fact: "value" NULL if it is not known, "note" NULL if it needs none. */
static void
put_fact(ReturnSetInfo *rsinfo, const char *name, const char *value,
		 const char *note)
{
	Datum		values[3];
	bool		nulls[3] = {false, value == NULL, note == NULL};

	values[0] = CStringGetTextDatum(name);
	values[1] = value ? CStringGetTextDatum(value) : (Datum) 0;
	values[2] = note ? CStringGetTextDatum(note) : (Datum) 0;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

static const char *
yes_no(bool yes)
{
	return yes ? "yes" : "no";
}

/* NULL for an empty string, which is how CPUID's say nothing. */
static const char *
unless_empty(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

/* A frequency, with its difference from the calibrated one as the note. */
static void
put_frequency(ReturnSetInfo *rsinfo, const char *name, double hz,
			  double calibrated_hz, const char *why_unknown)
{
	if (hz <= 0)
		put_fact(rsinfo, name, NULL, why_unknown);
	else
		put_fact(rsinfo, name, psprintf("%.3f", hz / 1e3),
				 calibrated_hz > 0 ?
				 psprintf("%+.2f ppm from calibration",
						  (hz / calibrated_hz - 1) * 1e6) : NULL);
}

static void
put_processor(ReturnSetInfo *rsinfo)
{
	const TscCpuid *id = tsc_cpuid();
	const char *why_no_rdtsc = tsc_why_no_rdtsc();
	const char *why_no_rdtscp = tsc_why_no_rdtscp();
	int			online = platform_cpus_online();
	int			allowed = platform_cpus_allowed();

	put_fact(rsinfo, "processor", unless_empty(id->brand),
			 unless_empty(id->vendor));
	put_fact(rsinfo, "hypervisor",
			 id->hypervisor ? (id->hypervisor_name[0] ? id->hypervisor_name : "yes") :
			 id->readable ? "none" : NULL, NULL);
	put_fact(rsinfo, "cpus", online > 0 ? psprintf("%d", online) : NULL,
			 allowed > 0 ? psprintf("%d of them may run this backend", allowed) : NULL);
	put_fact(rsinfo, "tsc", yes_no(why_no_rdtsc == NULL), why_no_rdtsc);
	put_fact(rsinfo, "rdtscp", yes_no(why_no_rdtscp == NULL), why_no_rdtscp);
	put_fact(rsinfo, "invariant_tsc", id->readable ? yes_no(id->invariant) : NULL,
			 id->readable && !id->invariant ?
			 "its rate may change with power states" : NULL);
	put_fact(rsinfo, "tsc_adjust", id->readable ? yes_no(id->tsc_adjust) : NULL,
			 NULL);
}

static void
put_frequencies(ReturnSetInfo *rsinfo)
{
	const TscCpuid *id = tsc_cpuid();
	const TscFrequency *frequency = calibrated_tsc_frequency();
	double		calibrated_hz = frequency ? frequency->calibrated_hz : 0;

	put_frequency(rsinfo, "tsc_frequency_cpuid_khz", id->cpuid_hz,
				  calibrated_hz, "CPUID leaves 0x15 and 0x16 do not tell");
	put_frequency(rsinfo, "tsc_frequency_hypervisor_khz", id->hypervisor_hz,
				  calibrated_hz, id->hypervisor ?
				  "CPUID leaf 0x40000010 does not tell" : "no hypervisor");
	put_fact(rsinfo, "tsc_frequency_calibration_khz",
			 calibrated_hz > 0 ? psprintf("%.3f", calibrated_hz / 1e3) : NULL,
			 calibrated_hz > 0 ?
			 psprintf("error at most %.2f ppm, against %s",
					  frequency->calibrated_error_ppm, reference_name) : NULL);
	put_frequency(rsinfo, "tsc_frequency_server_khz", server_tsc_hz(),
				  calibrated_hz, "this server has none");
	put_fact(rsinfo, "tsc_frequency_in_use_khz",
			 frequency ? psprintf("%.3f", frequency->hz / 1e3) : NULL,
			 frequency ? psprintf("from %s", frequency->from) : NULL);
}

Datum
clock_list_platform(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const char *setting = GetConfigOption("timing_clock_source", true, false);
	const char *kernel = platform_kernel_clock_source();
	const char *note = "the operating system does not tell";

	InitMaterializedSRF(fcinfo, 0);
	put_fact(rsinfo, "server_version",
			 GetConfigOption("server_version", false, false), NULL);
	put_fact(rsinfo, "operating_system", platform_operating_system(), NULL);
	put_processor(rsinfo);
	put_frequencies(rsinfo);
	put_fact(rsinfo, "kernel_clock_source", kernel, kernel ? NULL : note);
	put_fact(rsinfo, "kernel_clock_sources_available",
			 platform_kernel_clock_sources_available(), kernel ? NULL : note);
	put_fact(rsinfo, "timing_clock_source", setting,
			 setting ? psprintf("resolved to %s",
								server_times_by_tsc() ? "tsc" : "system") :
			 "PostgreSQL 19 and later have this setting");
	put_fact(rsinfo, "explain_analyze_source", clock_source_for_explain(), NULL);
	put_fact(rsinfo, "other_timing_source", clock_source_for_other_timing(),
			 "track_io_timing and its like");
	return (Datum) 0;
}
