/* The functions of the views clock_sources and clock_platform. */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"
#include "utils/guc.h"

#include "clock/measure/instr_clock.h"
#include "clock/measure/source.h"
#include "core/reference.h"
#include "core/tsc.h"
#include "server/platform.h"
#include "server/row.h"

PG_FUNCTION_INFO_V1(clock_sources);
PG_FUNCTION_INFO_V1(clock_platform);

/* Returns the purpose for which the server reads a source; NULL if the server does not read it. */
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

/* Returns a row for each clock of the table; of one that cannot be read, only the reason. */
Datum
clock_sources(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < clock_source_count(); i++)
	{
		const ClockSource *source = clock_source_at(i);
		const char *why_not = clock_source_why_not(source);
		Row			row = row_of_set(fcinfo);

		row_put_text(&row, source->name);
		row_put_text(&row, source->description);
		row_put_bool(&row, why_not == NULL);
		row_put_text(&row, why_not);
		if (why_not == NULL)
		{
			const char *from;
			double		hz = clock_source_hz(source, &from);
			double		resolution_ns = clock_source_resolution_ns(source);

			row_put_text(&row, clock_source_reads(source));
			row_put(&row, Float8GetDatum(rint(hz)));
			row_put_text(&row, from);
			row_put_double(&row, resolution_ns > 0 ? resolution_ns : NAN, 4);
			row_put_text(&row, used_for(source));
		}
		else
			row_put_nulls(&row, 5);
		row_to_set(&row, fcinfo);
	}
	return (Datum) 0;
}

/* Adds a row.  "value" is NULL if not known; "note" may be NULL. */
static void
put_fact(FunctionCallInfo fcinfo, const char *name, const char *value,
		 const char *note)
{
	Row			row = row_of_set(fcinfo);

	row_put_text(&row, name);
	row_put_text(&row, value);
	row_put_text(&row, note);
	row_to_set(&row, fcinfo);
}

static const char *
yes_no(bool known, bool yes)
{
	return !known ? NULL : yes ? "yes" : "no";
}

/* Returns a string of CPUID; NULL if it is empty, which means "not known". */
static const char *
unless_empty(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

/* Adds a frequency, with its deviation from the calibrated one as the note. */
static void
put_frequency(FunctionCallInfo fcinfo, const char *name, double hz,
			  double calibrated_hz, const char *why_unknown)
{
	if (hz <= 0)
		put_fact(fcinfo, name, NULL, why_unknown);
	else
		put_fact(fcinfo, name, psprintf("%.3f", hz / 1e3),
				 calibrated_hz > 0 ?
				 psprintf("%+.2f ppm from calibration",
						  (hz / calibrated_hz - 1) * 1e6) : NULL);
}

static void
put_processor(FunctionCallInfo fcinfo)
{
	const TscCpuid *id = tsc_cpuid();
	const char *why_no_rdtsc = tsc_why_no_rdtsc();
	const char *why_no_rdtscp = tsc_why_no_rdtscp();
	int			online = platform_cpus_online();
	int			allowed = platform_cpus_allowed();

	put_fact(fcinfo, "processor", unless_empty(id->brand), unless_empty(id->vendor));
	put_fact(fcinfo, "hypervisor",
			 id->hypervisor ? (id->hypervisor_name[0] ? id->hypervisor_name : "yes") :
			 id->readable ? "none" : NULL, NULL);
	put_fact(fcinfo, "cpus", online > 0 ? psprintf("%d", online) : NULL,
			 allowed > 0 ? psprintf("%d of them may run this backend", allowed) : NULL);
	put_fact(fcinfo, "tsc", yes_no(true, why_no_rdtsc == NULL), why_no_rdtsc);
	put_fact(fcinfo, "rdtscp", yes_no(true, why_no_rdtscp == NULL), why_no_rdtscp);
	put_fact(fcinfo, "invariant_tsc", yes_no(id->readable, id->invariant),
			 id->readable && !id->invariant ? "its rate may change with power states" : NULL);
	put_fact(fcinfo, "tsc_adjust", yes_no(id->readable, id->tsc_adjust), NULL);
}

/* Adds the frequencies of the TSC that CPUID, the hypervisor, calibration and the server state. */
static void
put_frequencies(FunctionCallInfo fcinfo)
{
	const TscCpuid *id = tsc_cpuid();
	const CounterFrequency *frequency = calibrated_tsc_frequency();
	double		calibrated_hz = frequency ? frequency->calibrated_hz : 0;

	put_frequency(fcinfo, "tsc_frequency_cpuid_khz", id->cpuid_hz,
				  calibrated_hz, "CPUID leaves 0x15 and 0x16 do not tell");
	put_frequency(fcinfo, "tsc_frequency_hypervisor_khz", id->hypervisor_hz,
				  calibrated_hz, id->hypervisor ?
				  "CPUID leaf 0x40000010 does not tell" : "no hypervisor");
	put_fact(fcinfo, "tsc_frequency_calibration_khz",
			 calibrated_hz > 0 ? psprintf("%.3f", calibrated_hz / 1e3) : NULL,
			 calibrated_hz > 0 ?
			 psprintf("error at most %.2f ppm, against %s",
					  frequency->calibrated_bound_ppm, reference_name) : NULL);
	put_frequency(fcinfo, "tsc_frequency_server_khz", server_tsc_hz(),
				  calibrated_hz, "this server has none");
	put_fact(fcinfo, "tsc_frequency_in_use_khz",
			 frequency ? psprintf("%.3f", frequency->hz / 1e3) : NULL,
			 frequency ? psprintf("from %s", frequency->from) : NULL);
}

Datum
clock_platform(PG_FUNCTION_ARGS)
{
	const char *setting = GetConfigOption("timing_clock_source", true, false);
	const char *kernel = platform_kernel_clock_source();
	const char *note = "the operating system does not tell";

	InitMaterializedSRF(fcinfo, 0);
	put_fact(fcinfo, "server_version",
			 GetConfigOption("server_version", false, false), NULL);
	put_fact(fcinfo, "operating_system", platform_operating_system(), NULL);
	put_processor(fcinfo);
	put_frequencies(fcinfo);
	put_fact(fcinfo, "kernel_clock_source", kernel, kernel ? NULL : note);
	put_fact(fcinfo, "kernel_clock_sources_available",
			 platform_kernel_clock_sources_available(), kernel ? NULL : note);
	put_fact(fcinfo, "timing_clock_source", setting,
			 setting ? psprintf("resolved to %s",
								server_times_by_tsc() ? "tsc" : "system") :
			 "PostgreSQL 19 and later have this setting");
	put_fact(fcinfo, "explain_analyze_source", clock_source_for_explain(), NULL);
	put_fact(fcinfo, "other_timing_source", clock_source_for_other_timing(),
			 "track_io_timing and its like");
	return (Datum) 0;
}
