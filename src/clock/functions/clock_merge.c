/* clock_merge(): merges samples. */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"

#include "clock/measure/sample_members.h"
#include "clock/measure/sample_value.h"
#include "compat.h"

PG_FUNCTION_INFO_V1(internal_clock_merge_add);

/*
 * State of the aggregate: an expanded object of the type clock_sample, with a tally of all
 * durations.  As the state is of this type, the aggregate needs no functions to serialize it, and
 * Citus can merge samples on the shards.  One function both adds a sample and combines two states.
 */
typedef struct MergeState
{
	ExpandedObjectHeader header;
	ClockSample sample;			/* all but the durations */
	Tally		tally;
	double		squared_error;	/* sum of (mean_margin_ns * total)^2 */
	struct varlena *flat;		/* stored form; NULL: outdated */
} MergeState;

/* Adds the CPUs of a sample.  Both lists are ascending. */
static void
merge_cpus(ClockSample *into, const ClockSample *from)
{
	int32	   *cpus = palloc(sizeof(int32) * ((Size) into->ncpus + from->ncpus + 1));
	int			a = 0;
	int			b = 0;
	int			n = 0;

	while (a < into->ncpus || b < from->ncpus)
	{
		bool		first = b == from->ncpus ||
			(a < into->ncpus && into->cpus[a] <= from->cpus[b]);
		int32		cpu = first ? into->cpus[a++] : from->cpus[b++];

		if (n == 0 || cpus[n - 1] != cpu)
			cpus[n++] = cpu;
	}
	if (into->cpus != NULL)
		pfree(into->cpus);
	into->cpus = cpus;
	into->ncpus = n;
}

/* Converts ticks to ticks of the first sample.  Raises an ERROR on overflow. */
static uint64
scaled_ticks(uint64 ticks, double scale)
{
	double		scaled = rint((double) ticks * scale);

	/* scale is not 1 if the samples are of different servers or calibrations */
	if (scale == 1)
		return ticks;
	if (!(scaled < (double) PG_INT64_MAX))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("duration is out of range in ticks of the first sample")));
	return (uint64) scaled;
}

/* Keeps the cost whose upper confidence bound is lower, because its run was less disturbed. */
static void
merge_cost(ClockSample *into, const ClockSample *from)
{
	if (isnan(from->cost_ns + from->cost_margin_ns) ||
		into->cost_ns + into->cost_margin_ns <= from->cost_ns + from->cost_margin_ns)
		return;
	into->cost_ns = from->cost_ns;
	into->cost_margin_ns = from->cost_margin_ns;
}

/* Must be called in the state's memory context. */
static void
merge_sample(MergeState *state, const ClockSample *from)
{
	ClockSample *into = &state->sample;
	double		scale = into->frequency_hz / from->frequency_hz;
	ClockSample findings = *from;

	into->started_at = Min(into->started_at, from->started_at);
	into->duration_s += from->duration_s;
	into->resolution_ns = Max(into->resolution_ns, from->resolution_ns);
	into->granularity_ticks = Max(into->granularity_ticks, from->granularity_ticks * scale);
	into->advance_s += from->advance_s;
	into->reference_bound_ns += from->reference_bound_ns;
	into->precision_bits = Min(into->precision_bits, from->precision_bits);
	merge_cpus(into, from);
	merge_cost(into, from);
	findings.backward_max_ticks = (int64) scaled_ticks(from->backward_max_ticks, scale);
	sample_add_findings(into, &findings);
	into->total += from->total;

	for (int i = 0; i < from->n; i++)
		tally_add(&state->tally, scaled_ticks(from->entries[i].ticks, scale),
				  from->entries[i].count);
}

static ClockSample
merged(const MergeState *state)
{
	ClockSample result = state->sample;

	result.mean_margin_ns = result.total > 0 ?
		sqrt(state->squared_error) / (double) result.total : NAN;
	result.precision_bits = Min(result.precision_bits, state->tally.precision_bits);
	result.entries = palloc(sizeof(TallyEntry) * (tally_distinct(&state->tally) + 1));
	result.n = tally_export(&state->tally, result.entries);
	if (!isfinite(result.duration_s + result.advance_s + result.reference_bound_ns +
				  result.warps.total_ns + result.lags.total_ns + result.gaps.total_ns))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("sum of times is out of range")));
	/* raises an error if the result could not be read as a sample */
	sample_check(&result, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE);
	return result;
}

static Size
flat_size(ExpandedObjectHeader *header)
{
	MergeState *state = (MergeState *) header;

	if (state->flat == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(header->eoh_context);
		ClockSample sample = merged(state);

		state->flat = (struct varlena *) DatumGetPointer(sample_to_datum(&sample));
		pfree(sample.entries);
		MemoryContextSwitchTo(old);
	}
	return VARSIZE(state->flat);
}

static void
flatten_into(ExpandedObjectHeader *header, void *result, Size size)
{
	memcpy(result, ((MergeState *) header)->flat, size);
}

static const ExpandedObjectMethods merge_methods = {flat_size, flatten_into};

static MergeState *
begin_state(MemoryContext parent, const ClockSample *sample)
{
	MemoryContext context = AllocSetContextCreate(parent, "clock_merge", ALLOCSET_START_SMALL_SIZES);
	MergeState *state = MemoryContextAlloc(context, sizeof(MergeState));

	EOH_init_header(&state->header, &merge_methods, context);
	memset(&state->sample, 0, sizeof(ClockSample));
	tally_init(&state->tally);
	state->squared_error = 0;
	state->flat = NULL;
	state->sample.source = MemoryContextStrdup(context, sample->source);
	state->sample.clock = MemoryContextStrdup(context, sample->clock);
	state->sample.started_at = sample->started_at;
	state->sample.frequency_hz = sample->frequency_hz;
	state->sample.precision_bits = TALLY_EXACT;
	state->sample.cost_ns = state->sample.cost_margin_ns = NAN;
	return state;
}

/* Adds a sample of the same clock to the state.  Raises an ERROR if it is of another clock. */
static void
add_sample(MergeState *state, const ClockSample *sample)
{
	MemoryContext old = MemoryContextSwitchTo(state->header.eoh_context);

	if (strcmp(state->sample.source, sample->source) != 0 ||
		strcmp(state->sample.clock, sample->clock) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot merge samples of different clocks"),
				 errdetail("One sample is of \"%s\", which reads %s; another is of \"%s\", which reads %s.",
						   state->sample.source, state->sample.clock,
						   sample->source, sample->clock),
				 errhint("Merge the samples of each clock separately: SELECT clock_merge(sample) FROM ..., clock_summary(sample) AS s GROUP BY s.source, s.clock.")));
	if (state->flat != NULL)
		pfree(state->flat);
	state->flat = NULL;
	merge_sample(state, sample);
	/* errors of different samples are independent, so their squares add up */
	if (sample->total > 0)
		state->squared_error += pow(sample->mean_margin_ns * (double) sample->total, 2);
	MemoryContextSwitchTo(old);
}

/*
 * Transition and combine function.  The first argument is a sample, or a state, which is modified.
 * The function is strict, so that nulls are skipped and the first sample becomes the first state.
 */
Datum
internal_clock_merge_add(PG_FUNCTION_ARGS)
{
	MemoryContext context;
	MergeState *state;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "function of clock_merge called in non-aggregate context");
	if (VARATT_IS_EXTERNAL_EXPANDED_RW(PG_GETARG_POINTER(0)))
	{
		state = (MergeState *) DatumGetEOHP(PG_GETARG_DATUM(0));
		Assert(state->header.eoh_methods == &merge_methods);
	}
	else
	{
		ClockSample *first = sample_from_datum(PG_GETARG_DATUM(0));

		state = begin_state(context, first);
		add_sample(state, first);
	}
	add_sample(state, sample_from_datum(PG_GETARG_DATUM(1)));
	PG_RETURN_DATUM(EOHPGetRWDatum(&state->header));
}
