/* The functions of the views clock_sources and clock_platform. */
#include "postgres.h"

#include <math.h>
#include <unistd.h>

#include "funcapi.h"
#include "utils/guc.h"

#include "clock/measure/instr_clock.h"
#include "clock/measure/source.h"
#include "core/clock_alias.h"
#include "core/reference.h"
#include "core/tsc.h"
#include "core/tsc_check.h"
#include "core/vmclock.h"
#include "server/environment_facts.h"
#include "server/platform.h"
#include "server/row.h"

PG_FUNCTION_INFO_V1(clock_sources);
PG_FUNCTION_INFO_V1(clock_platform);

#define AUX_CLOCKS_DIRECTORY	"/sys/kernel/time/aux_clocks"

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

static void
put_environment_fact(void *arg, const char *name, const char *value, const char *note)
{
	put_fact(arg, name, value, note);
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

/* Returns rows about the processor.  If CPUID cannot be executed, values are NULL. */
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
			 id->readable ? "none" : NULL, tsc_why_no_cpuid());
	put_fact(fcinfo, "cpus", online > 0 ? psprintf("%d", online) : NULL,
			 allowed > 0 ? psprintf("%d of them may run this backend", allowed) : NULL);
	put_fact(fcinfo, "tsc", yes_no(true, why_no_rdtsc == NULL), why_no_rdtsc);
	put_fact(fcinfo, "rdtscp", yes_no(true, why_no_rdtscp == NULL), why_no_rdtscp);
	put_fact(fcinfo, "invariant_tsc", yes_no(id->readable, id->invariant),
			 id->readable && !id->invariant ? "its rate may change with power states" :
			 tsc_why_no_cpuid());
	put_fact(fcinfo, "tsc_adjust", yes_no(id->readable, id->tsc_adjust), tsc_why_no_cpuid());
}

/* Adds the frequencies of the TSC that CPUID, the hypervisor, calibration and the server state. */
static void
put_frequencies(FunctionCallInfo fcinfo)
{
	const TscCpuid *id = tsc_cpuid();
	const CounterFrequency *frequency = calibrated_tsc_frequency();
	double		calibrated_hz = frequency ? frequency->calibrated_hz : 0;
	const char *no_cpuid = tsc_why_no_cpuid();

	put_frequency(fcinfo, "tsc_frequency_cpuid_khz", id->cpuid_hz, calibrated_hz,
				  no_cpuid ? no_cpuid : "CPUID leaves 0x15 and 0x16 do not tell");
	put_frequency(fcinfo, "tsc_frequency_hypervisor_khz", id->hypervisor_hz, calibrated_hz,
				  no_cpuid ? no_cpuid :
				  id->hypervisor ? "CPUID leaf 0x40000010 does not tell" : "no hypervisor");
	put_fact(fcinfo, "tsc_frequency_calibration_khz",
			 calibrated_hz > 0 ? psprintf("%.3f", calibrated_hz / 1e3) : NULL,
			 calibrated_hz > 0 ?
			 psprintf("error at most %.2f ppm, against %s",
					  frequency->calibrated_bound_ppm, reference_name) : tsc_why_no_rdtsc());
	put_frequency(fcinfo, "tsc_frequency_server_khz", server_tsc_hz(),
				  calibrated_hz, "this server has none");
	put_fact(fcinfo, "tsc_frequency_in_use_khz",
			 frequency ? psprintf("%.3f", frequency->hz / 1e3) : NULL,
			 frequency ? psprintf("from %s", frequency->from) : tsc_why_no_rdtsc());
}

/* Adds the numbers of the enabled auxiliary clocks. */
static void
put_aux_clocks(FunctionCallInfo fcinfo)
{
	char	   *list = NULL;

	for (int i = 0; i < n_aux_clocks; i++)
	{
		if (os_clock_works(&aux_clocks[i]))
			list = list == NULL ? psprintf("%d", i) : psprintf("%s, %d", list, i);
	}
	put_fact(fcinfo, "aux_clocks", list != NULL ? list : "none",
			 list != NULL ? "a program sets time and rate of each of them" :
			 access(AUX_CLOCKS_DIRECTORY, F_OK) == 0 ? "none is enabled" :
			 "this kernel has none; Linux 6.17 and later may have them");
}

/* Returns the counter from which Linux computes its clocks; NULL: not known. */
static const char *
counter_of_kernel(const char *kernel_source)
{
	static const char *const from_tsc[] = {
		"tsc", "kvm-clock", "xen", "hyperv_clocksource_tsc_page"
	};

	for (int i = 0; kernel_source != NULL && i < (int) lengthof(from_tsc); i++)
	{
		if (strcmp(kernel_source, from_tsc[i]) == 0)
			return "tsc";
	}
	return kernel_source != NULL && strcmp(kernel_source, "arch_sys_counter") == 0 ? "cntvct" :
		kernel_source;
}

/* Adds the counter of each clock that runs all the time, and whether the reference can judge it. */
static void
put_counters(FunctionCallInfo fcinfo, const char *kernel_source)
{
	static const char *const names[] = {
		"system", "realtime", "monotonic", "monotonic_raw", "boottime", "tai"
	};
	static const char *const counters[] = {"rdtsc", "cntvct"};

	for (int i = 0; i < (int) lengthof(names); i++)
	{
		const ClockSource *source = clock_source_find(names[i]);

		if (clock_source_why_not(source) != NULL)
			continue;
		put_fact(fcinfo, psprintf("counter_of_%s", names[i]), counter_of_kernel(kernel_source),
				 strcmp(names[i], "monotonic_raw") == 0 ? "the reference clock" :
				 clock_source_is_reference(source) ?
				 "the same clock as the reference clock, so its errors cannot be seen" :
				 clocks_seem_one(reference_ns, source->reader->read) ?
				 "equal to the reference clock, because the kernel does not steer its clocks" :
				 "another clock than the reference clock");
	}
	for (int i = 0; i < (int) lengthof(counters); i++)
	{
		if (clock_source_why_unreadable(clock_source_find(counters[i])) == NULL)
			put_fact(fcinfo, psprintf("counter_of_%s", counters[i]), i == 0 ? "tsc" : "cntvct",
					 "read without the kernel");
	}
}

/* Returns the fields that a device lacks, separated by commas; NULL: none. */
static const char *
missing_fields(const VmClock *clock)
{
	StringInfoData list;

	initStringInfo(&list);
	if (!clock->has_generation)
		appendStringInfoString(&list, ", generation");
	if (clock->status == NULL)
		appendStringInfoString(&list, ", status");
	if (isnan(clock->hz))
		appendStringInfoString(&list, ", frequency");
	else if (isnan(clock->hz_bound_ppm))
		appendStringInfoString(&list, ", error of the frequency");
	return list.len > 0 ? list.data + 2 : NULL;
}

/* Adds the contents of VMClock.  Omits what the device does not say, except in the first note. */
static void
put_vmclock(FunctionCallInfo fcinfo)
{
	const CounterFrequency *calibrated = calibrated_tsc_frequency();
	const char *missing;
	VmClock		clock;

	vmclock_read(VMCLOCK_DEVICE, &clock);
	missing = clock.state == VMCLOCK_READ ? missing_fields(&clock) : NULL;
	put_fact(fcinfo, "vmclock", vmclock_state_names[clock.state],
			 clock.state == VMCLOCK_ABSENT ? "there is no " VMCLOCK_DEVICE :
			 clock.state != VMCLOCK_READ ? psprintf(VMCLOCK_DEVICE ": %s", clock.why_not) :
			 missing != NULL ? psprintf("without %s", missing) : NULL);
	if (clock.state != VMCLOCK_READ)
		return;
	put_fact(fcinfo, "vmclock_disruption_marker", psprintf(UINT64_FORMAT, clock.disruption_marker),
			 "changes when the virtual machine is migrated or restored");
	if (clock.has_generation)
		put_fact(fcinfo, "vmclock_generation", psprintf(UINT64_FORMAT, clock.generation),
				 "changes when the virtual machine is restored from a snapshot");
	put_fact(fcinfo, "vmclock_announced", vmclock_announced_names[clock.announced],
			 "migrations that the hypervisor announces");
	if (clock.status != NULL)
		put_fact(fcinfo, "vmclock_status", clock.status, "state of the host's clock");
	if (!isnan(clock.hz))
	{
		bool		ours = !isnan(vmclock_hz(&clock)) && calibrated != NULL;

		put_fact(fcinfo, "vmclock_frequency_khz", psprintf("%.3f", clock.hz / 1e3),
				 psprintf("of %s%s%s%s", vmclock_counter_names[clock.counter],
						  ours ? psprintf(", %+.2f ppm from calibration",
										  (clock.hz / calibrated->calibrated_hz - 1) * 1e6) : "",
						  isnan(clock.hz_bound_ppm) ? "" :
						  psprintf(", error at most %.3f ppm", clock.hz_bound_ppm),
						  isnan(clock.hz_error_ppm) ? "" :
						  psprintf(", estimated error %.3f ppm", clock.hz_error_ppm)));
	}
}

/*
 * Returns a row per fact: its name, its value, and a note, such as its origin or why it is unknown.
 */
Datum
clock_platform(PG_FUNCTION_ARGS)
{
	const char *setting = GetConfigOption("timing_clock_source", true, false);
	const char *kernel = platform_kernel_clock_source();
	const char *note = "the operating system does not tell";
	const char *why;
	TscCheck	checks;

	InitMaterializedSRF(fcinfo, 0);
	put_fact(fcinfo, "server_version",
			 GetConfigOption("server_version", false, false), NULL);
	put_fact(fcinfo, "operating_system", platform_operating_system(), NULL);
	put_processor(fcinfo);
	put_frequencies(fcinfo);
	put_fact(fcinfo, "kernel_clock_source", kernel, kernel ? NULL : note);
	put_fact(fcinfo, "kernel_clock_sources_available",
			 platform_kernel_clock_sources_available(), kernel ? NULL : note);
	put_aux_clocks(fcinfo);
	put_counters(fcinfo, kernel);
	checks = tsc_check(&why);
	put_fact(fcinfo, "kernel_checks_tsc", yes_no(checks != TSC_CHECK_UNKNOWN, checks == TSC_CHECKED), why);
	put_vmclock(fcinfo);
	put_fact(fcinfo, "timing_clock_source", setting,
			 setting ? psprintf("resolved to %s",
								server_times_by_tsc() ? "tsc" : "system") :
			 "PostgreSQL 19 and later have this setting");
	put_fact(fcinfo, "explain_analyze_source", clock_source_for_explain(), NULL);
	put_fact(fcinfo, "other_timing_source", clock_source_for_other_timing(),
			 "track_io_timing and its like");
	environment_facts(put_environment_fact, fcinfo);
	return (Datum) 0;
}
