/*
 * The table of clock sources: the clocks that PostgreSQL reads or could read, the processor's
 * counters, and the clocks of the operating system (os_clocks.c).
 *
 * A source is unavailable if the platform lacks it, or if this process may not read it at present.
 * Its availability is checked at each use, because a setting or a system call may change it.  The
 * source instr_time stands for the clock that EXPLAIN ANALYZE reads now; read_now() replaces it by
 * that clock's own entry.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/formatting.h"
#include "utils/memutils.h"
#include "utils/varlena.h"

#include "clock/measure/instr_clock.h"
#include "clock/measure/source.h"
#include "compat.h"
#include "core/arm_counter.h"
#include "core/clock_alias.h"
#include "core/reference.h"
#include "core/system_clock.h"
#include "core/tsc.h"
#include "server/interposed.h"
#include "server/wait.h"

/* Largest delay of a coarse clock's timer interrupt, in units of the clock's resolution. */
#define COARSE_SLACK		25

/* Largest edit distance of a suggested name. */
#define MOST_TYPOS			4

const CounterFrequency *
calibrated_tsc_frequency(void)
{
	return tsc_frequency(wait_briefly);
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

/* Clock sources listed before os_clocks.  All but the first and last are the CPU's counters. */
static const ClockSource first_sources[] = {
	{
		"system", SYSTEM_CLOCK_NAME, CLOCK_FINE,
		"the clock that PostgreSQL reads when it does not use the TSC", &reader_system, 0, SYSTEM_CLOCK_ID
	},
	{
		"rdtscp", "RDTSCP", CLOCK_FINE,
		"time-stamp counter of x86, read after all earlier instructions",
		TSC_READER(reader_rdtscp), 0, NO_CLOCK
	},
	{
		"rdtsc", "RDTSC", CLOCK_FINE,
		"time-stamp counter of x86, read before earlier instructions end",
		TSC_READER(reader_rdtsc), 0, NO_CLOCK
	},
	{
		"cntvct_isb", "ISB, CNTVCT_EL0", CLOCK_FINE,
		"counter of 64-bit Arm, read after all earlier instructions",
		ARM_READER(reader_cntvct_isb), 0, NO_CLOCK
	},
	{
		"cntvct", "CNTVCT_EL0", CLOCK_FINE,
		"counter of 64-bit Arm, read before earlier instructions end",
		ARM_READER(reader_cntvct), 0, NO_CLOCK
	},
	{
		"instr_time", NULL, CLOCK_FINE,
		"the clock that EXPLAIN ANALYZE reads on this server at present", &reader_instr_time, 0, NO_CLOCK
	},
};

/* Auxiliary clocks that were enabled at the latest call of clock_source_count(). */
#define MOST_AUX	8
static const ClockSource *listed_aux[MOST_AUX];
static int	n_listed_aux;

int
clock_source_count(void)
{
	n_listed_aux = 0;
	for (int i = 0; i < n_aux_clocks; i++)
	{
		if (os_clock_works(&aux_clocks[i]))
			listed_aux[n_listed_aux++] = &aux_clocks[i];
	}
	return lengthof(first_sources) + n_os_clocks + n_listed_aux;
}

const ClockSource *
clock_source_at(int i)
{
	if (i < (int) lengthof(first_sources))
		return &first_sources[i];
	i -= (int) lengthof(first_sources);
	return i < n_os_clocks ? &os_clocks[i] : listed_aux[i - n_os_clocks];
}

/* Returns the source itself, or for instr_time the one that EXPLAIN ANALYZE reads now. */
static const ClockSource *
read_now(const ClockSource *source)
{
	return source->call != NULL ? source : clock_source_find(clock_source_for_explain());
}

/* Returns whether a source that read_now() returned is a counter of the processor. */
static bool
is_counter(const ClockSource *source)
{
	return source > &first_sources[0] && source < &first_sources[lengthof(first_sources)];
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

const char *
clock_source_why_unreadable(const ClockSource *source)
{
	source = read_now(source);

	/* the system clock can always be read, so it needs no test */
	if (source == &first_sources[0])
		return NULL;
	if (!is_counter(source))
		return os_clock_works(source) ? NULL :
			os_clock_is_aux(source) ? "this auxiliary clock is not enabled" :
			"this operating system does not have it";
	if (strcmp(source->name, "rdtscp") == 0)
		return tsc_why_no_rdtscp();
	return is_tsc(source) ? tsc_why_no_rdtsc() : arm_counter_why_not();
}

const char *
clock_source_why_not(const ClockSource *source)
{
	const char *why_not = clock_source_why_unreadable(source);

	source = read_now(source);
	if (why_not == NULL && is_counter(source) && counter_frequency(source) == NULL)
		return "the frequency of the counter could not be found: it did not advance while calibrating";
	return why_not;
}

const char *
clock_source_reads(const ClockSource *source)
{
	return read_now(source)->call;
}

const char *
clock_source_interposed_by(const ClockSource *source)
{
	char		function[NAMEDATALEN];

	if (clock_source_is_instruction(source))
		return NULL;
	strlcpy(function, clock_source_reads(source), sizeof(function));
	function[strcspn(function, " (")] = '\0';
	return interposed_by(function);
}

double
clock_source_hz(const ClockSource *source, const char **from)
{
	const CounterFrequency *frequency = NULL;

	source = read_now(source);
	if (is_counter(source))
		frequency = counter_frequency(source);
	if (from != NULL)
		*from = frequency != NULL ? frequency->from : "nanoseconds by definition";
	return frequency != NULL ? frequency->hz : 1e9;
}

double
clock_source_resolution_ns(const ClockSource *source)
{
	source = read_now(source);
	return is_counter(source) ? 1e9 / clock_source_hz(source, NULL) :
		os_clock_resolution_ns(source);
}

double
clock_source_slack_ns(const ClockSource *source)
{
	return source->kind == CLOCK_COARSE ? COARSE_SLACK * clock_source_resolution_ns(source) : 0;
}

/* Compares names without clock_source_count(), which makes system calls. */
const ClockSource *
clock_source_find(const char *name)
{
	for (int i = 0; i < (int) lengthof(first_sources); i++)
	{
		if (pg_strcasecmp(first_sources[i].name, name) == 0)
			return &first_sources[i];
	}
	for (int i = 0; i < n_os_clocks; i++)
	{
		if (pg_strcasecmp(os_clocks[i].name, name) == 0)
			return &os_clocks[i];
	}
	for (int i = 0; i < n_aux_clocks; i++)
	{
		if (pg_strcasecmp(aux_clocks[i].name, name) == 0)
			return &aux_clocks[i];
	}
	return NULL;
}

/* Returns the most similar name of a source, such as "rdtsc" for "tsc"; NULL: none is similar. */
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
		appendStringInfo(&known, "%s%s", i > 0 ? ", " : "", clock_source_at(i)->name);
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
	why_not = clock_source_why_not(source);
	if (why_not != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("clock source \"%s\" is not available on this server",
						source->name),
				 errdetail("It cannot be read because %s.", why_not),
				 errhint("The view clock_sources lists the sources that are available.")));
	return source;
}

/*
 * Looks up each name.  A source that occurs twice, by its name or by "all", is listed once, at its
 * first position.
 */
List *
clock_sources_of_array(ArrayType *array)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	List	   *result = NIL;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &n);
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
		CHECK_FOR_INTERRUPTS();
		if (pg_strcasecmp(name, "all") == 0)
		{
			int			count = clock_source_count();

			for (int j = 0; j < count; j++)
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
	return is_counter(read_now(source));
}

bool
clock_source_is_reference(const ClockSource *source)
{
	source = read_now(source);
	return source->id != NO_CLOCK && source->kind == CLOCK_FINE &&
		strcmp(source->name, "monotonic_raw") != 0 && is_reference_clock(source->reader->read);
}

/* Counter used as the reference.  Ticks since counter_start fit into a double without rounding. */
static uint64_t (*counter_read) (void);
static uint64_t counter_start;
static double counter_tick_ns;

/* Returns a negative time, in two's complement, if this CPU's counter is behind counter_start. */
static uint64_t
counter_ns(void)
{
	int64		ticks = (int64) (counter_read() - counter_start);

	return (uint64_t) (int64) ((double) ticks * counter_tick_ns);
}

/*
 * Accepts only sources that advance all the time, because the reference determines how long a run
 * lasts.  A source that does not count nanoseconds is converted by counter_ns(), which has static
 * state, because a reference is a function without arguments.
 */
ClockReference
clock_reference_get(const char *name)
{
	ClockReference reference = {REFERENCE_BY_DEFAULT, reference_ns};
	const ClockSource *source;
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
						   clock_source_resolution_ns(source) / 1e6) :
				 errdetail("It counts CPU time, and stands still while the process does not run."),
				 errhint("%s, the default, is the kernel's steadiest clock.", REFERENCE_BY_DEFAULT)));

	reference.name = source->name;
	hz = clock_source_hz(source, NULL);
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
	return clock_source_find(clock_source_for_explain())->call;
}
