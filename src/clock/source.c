#include "postgres.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/formatting.h"
#include "utils/memutils.h"
#include "utils/varlena.h"

#include "clock/instr_clock.h"
#include "clock/source.h"
#include "clock/wait.h"
#include "compat.h"
#include "core/arm_counter.h"
#include "core/reference.h"
#include "core/system_clock.h"
#include "core/tsc.h"

/* Largest delay of a coarse clock, in ticks. */
#define COARSE_SLACK		25

/* Largest edit distance of a suggested name. */
#define MOST_TYPOS			4

const CounterFrequency *
calibrated_tsc_frequency(void)
{
	return tsc_frequency(wait_briefly);
}

static const char *
reads_call(const ClockSource *source)
{
	return source->call;
}

static double
nanoseconds(const ClockSource *source, const char **from)
{
	(void) source;
	*from = "nanoseconds by definition";
	return 1e9;
}

/* does not read the clock, so that the first reading of a run is really the first */
static const char *
always_available(const ClockSource *source)
{
	(void) source;
	return NULL;
}

static const char *
why_no_os_clock(const ClockSource *source)
{
	return os_clock_works(source->os) ? NULL : "this operating system does not have it";
}

static double
os_resolution(const ClockSource *source)
{
	return os_clock_resolution_ns(source->os);
}

static double
tick_ns(const ClockSource *source)
{
	const char *from;

	return 1e9 / source->frequency_hz(source, &from);
}

static bool
is_tsc(const ClockSource *source)
{
	return strncmp(source->name, "rdtsc", strlen("rdtsc")) == 0;
}

static const CounterFrequency *
counter_frequency(const ClockSource *source)
{
	return is_tsc(source) ? calibrated_tsc_frequency() : arm_counter_frequency(wait_briefly);
}

static double
counter_hz(const ClockSource *source, const char **from)
{
	const CounterFrequency *frequency = counter_frequency(source);

	*from = frequency->from;
	return frequency->hz;
}

const char *
clock_source_why_unreadable(const ClockSource *source)
{
	if (source->frequency_hz != counter_hz)
		return source->why_not(source);
	if (strcmp(source->name, "rdtscp") == 0)
		return tsc_why_no_rdtscp();
	return is_tsc(source) ? tsc_why_no_rdtsc() : arm_counter_why_not();
}

static const char *
why_no_counter(const ClockSource *source)
{
	const char *why_not = clock_source_why_unreadable(source);

	if (why_not == NULL && counter_frequency(source) == NULL)
		return "the frequency of the counter could not be found: it did not advance while calibrating";
	return why_not;
}

/* Returns the source that EXPLAIN ANALYZE reads now, which instr_time stands for. */
static const ClockSource *
read_now(void)
{
	return clock_source_find(clock_source_for_explain());
}

static const char *
why_no_instr_time(const ClockSource *source)
{
	source = read_now();
	return source->why_not(source);
}

static const char *
reads_instr_time(const ClockSource *source)
{
	(void) source;
	return clock_of_explain();
}

static double
instr_time_hz(const ClockSource *source, const char **from)
{
	source = read_now();
	return source->frequency_hz(source, from);
}

static double
instr_time_resolution(const ClockSource *source)
{
	source = read_now();
	return source->resolution_ns(source);
}

#ifdef CLOCKTIMING_HAVE_TSC
#define TSC_READER(reader) (&(reader))
#else
#define TSC_READER(reader) NULL
#endif
#ifdef CLOCKTIMING_HAVE_ARM_COUNTER
#define ARM_READER(reader) (&(reader))
#else
#define ARM_READER(reader) NULL
#endif

static const OsClock system_clock = {.id = SYSTEM_CLOCK_ID};

/* The sources that are not the operating system's.  Those of os_clocks.c follow. */
static const ClockSource first_sources[] = {
	{
		"system", "what PostgreSQL reads when it does not use the TSC",
		CLOCK_FINE, always_available, &reader_system,
		reads_call, nanoseconds, os_resolution, SYSTEM_CLOCK_NAME, &system_clock
	},
	{
		"rdtscp", "time-stamp counter of x86, after all earlier instructions",
		CLOCK_FINE, why_no_counter, TSC_READER(reader_rdtscp),
		reads_call, counter_hz, tick_ns, "RDTSCP", NULL
	},
	{
		"rdtsc", "time-stamp counter of x86, as soon as possible",
		CLOCK_FINE, why_no_counter, TSC_READER(reader_rdtsc),
		reads_call, counter_hz, tick_ns, "RDTSC", NULL
	},
	{
		"cntvct_isb", "counter of 64-bit Arm, after all earlier instructions",
		CLOCK_FINE, why_no_counter, ARM_READER(reader_cntvct_isb),
		reads_call, counter_hz, tick_ns, "ISB, CNTVCT_EL0", NULL
	},
	{
		"cntvct", "counter of 64-bit Arm, as soon as possible",
		CLOCK_FINE, why_no_counter, ARM_READER(reader_cntvct),
		reads_call, counter_hz, tick_ns, "CNTVCT_EL0", NULL
	},
	{
		"instr_time", "what EXPLAIN ANALYZE of this server reads at present",
		CLOCK_FINE, why_no_instr_time, &reader_instr_time,
		reads_instr_time, instr_time_hz, instr_time_resolution, NULL, NULL
	},
};

int
clock_source_count(void)
{
	return lengthof(first_sources) + n_os_clocks;
}

const ClockSource *
clock_source_at(int i)
{
	static ClockSource *others = NULL;

	if (i < (int) lengthof(first_sources))
		return &first_sources[i];

	if (others == NULL)
	{
		ClockSource *table = MemoryContextAllocZero(TopMemoryContext,
													sizeof(ClockSource) * n_os_clocks);

		for (int j = 0; j < n_os_clocks; j++)
		{
			const OsClock *os = &os_clocks[j];

			table[j] = (ClockSource)
			{
				os->name, os->description, os->kind, why_no_os_clock, os->reader,
					reads_call, nanoseconds, os_resolution, os->call, os
			};
		}
		others = table;
	}
	return &others[i - lengthof(first_sources)];
}

double
clock_source_slack_ns(const ClockSource *source)
{
	return source->kind == CLOCK_COARSE ? COARSE_SLACK * source->resolution_ns(source) : 0;
}

const ClockSource *
clock_source_find(const char *name)
{
	for (int i = 0; i < clock_source_count(); i++)
	{
		if (pg_strcasecmp(clock_source_at(i)->name, name) == 0)
			return clock_source_at(i);
	}
	return NULL;
}

/* Returns the source with the most similar name, as "rdtsc" for "tsc"; NULL if none is similar. */
static const char *
nearest_source(const char *name)
{
	char	   *lower = asc_tolower(name, strlen(name));
	int			length = strlen(lower);
	int			nearest = Min(MOST_TYPOS, (length + 1) / 2);
	const char *result = NULL;

	if (length >= NAMEDATALEN)
		return NULL;
	for (int i = 0; i < clock_source_count(); i++)
	{
		const char *known = clock_source_at(i)->name;
		int			distance = varstr_levenshtein_less_equal(lower, length, known, strlen(known),
															 1, 1, 1, nearest, true);

		if (distance <= nearest)
		{
			result = known;
			nearest = distance - 1;
		}
	}
	return result;
}

pg_noreturn static void
unknown_source(const char *name, const char *others)
{
	const char *nearest = nearest_source(name);
	StringInfoData known;

	initStringInfo(&known);
	for (int i = 0; i < clock_source_count(); i++)
		appendStringInfo(&known, "%s%s", i > 0 ? ", " : "",
						 clock_source_at(i)->name);
	appendStringInfoString(&known, others);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown clock source \"%s\"", name),
			 nearest == NULL ? errhint("Known clock sources are %s.", known.data) :
			 errhint("Did you mean \"%s\"? Known clock sources are %s.", nearest, known.data)));
}

const ClockSource *
clock_source_get(const char *name)
{
	const ClockSource *source = clock_source_find(name);
	const char *why_not;

	if (source == NULL)
		unknown_source(name, "");
	why_not = source->why_not(source);
	if (why_not != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("clock source \"%s\" is not available on this server",
						source->name),
				 errdetail("It cannot be read because %s.", why_not),
				 errhint("The view clock_sources lists the sources that are available.")));
	return source;
}

List *
clock_sources_of_array(ArrayType *array)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	List	   *result = NIL;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT,
					  &elements, &nulls, &n);
	if (n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sources must not be empty"),
				 errhint("'{all}' stands for all clock sources.")));
	for (int i = 0; i < n; i++)
	{
		char	   *name;
		const ClockSource *source;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("sources must not contain null values")));
		name = TextDatumGetCString(elements[i]);
		if (pg_strcasecmp(name, "all") == 0)
		{
			for (int j = 0; j < clock_source_count(); j++)
				result = list_append_unique_ptr(result,
												unconstify(ClockSource *, clock_source_at(j)));
			continue;
		}
		source = clock_source_find(name);
		if (source == NULL)
			unknown_source(name, ", and all");
		result = list_append_unique_ptr(result, unconstify(ClockSource *, source));
	}
	return result;
}

bool
clock_source_is_instruction(const ClockSource *source)
{
	return source->os == NULL &&
		(strcmp(source->name, "instr_time") != 0 || server_times_by_tsc());
}

/* A counter as a reference: ns since it became the reference, so that the product is exact. */
static uint64_t (*counter_read) (void);
static uint64_t counter_start;
static double counter_tick_ns;

static uint64_t
counter_ns(void)
{
	return (uint64_t) ((double) (counter_read() - counter_start) * counter_tick_ns);
}

ClockReference
clock_reference_get(const char *name)
{
	ClockReference reference = {REFERENCE_BY_DEFAULT, reference_ns};
	const ClockSource *source;
	const char *from;
	double		hz;

	if (pg_strcasecmp(name, REFERENCE_BY_DEFAULT) == 0)
		return reference;
	if (clock_source_find(name) == NULL)
		unknown_source(name, ", and kernel as a reference");
	source = clock_source_get(name);
	if (source->kind != CLOCK_FINE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("clock source \"%s\" cannot be a reference", source->name),
				 source->kind == CLOCK_COARSE ?
				 errdetail("It is coarse: it advances by %g ms at a time.",
						   source->resolution_ns(source) / 1e6) :
				 errdetail("It counts CPU time, and stands still while the process does not run."),
				 errhint("%s, the default, is the kernel's steadiest clock.", REFERENCE_BY_DEFAULT)));

	reference.name = source->name;
	hz = source->frequency_hz(source, &from);
	if (hz == 1e9)
		reference.ns = source->reader->read;
	else
	{
		counter_read = source->reader->read;
		counter_tick_ns = 1e9 / hz;
		counter_start = counter_read();
		reference.ns = counter_ns;
	}
	return reference;
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

const char *
clock_of_explain(void)
{
	return read_now()->call;
}
