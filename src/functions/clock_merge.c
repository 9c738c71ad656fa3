/*-------------------------------------------------------------------------
 *
 * clock_merge.c
 *	  clock_merge(): one sample out of many.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "libpq/pqformat.h"
#include "miscadmin.h"

#include "clock/sample_binary.h"
#include "clock/sample_members.h"
#include "compat.h"

PG_FUNCTION_INFO_V1(clock_merge_add);
PG_FUNCTION_INFO_V1(clock_merge_combine);
PG_FUNCTION_INFO_V1(clock_merge_serialize);
PG_FUNCTION_INFO_V1(clock_merge_deserialize);
PG_FUNCTION_INFO_V1(clock_merge_result);

/* The tally of all durations, and the rest of a sample beside it. */
typedef struct MergeState
{
	ClockSample sample;			/* without entries until the end */
	Tally		tally;
	double		squared_error;	/* sum of (mean_margin_ns * durations)^2 */
} MergeState;

/* The union of two ascending lists of CPUs, in the current memory context. */
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

/* ERROR if there are too many of them to be counted. */
static uint64
scaled_ticks(uint64 ticks, double scale)
{
	double		scaled = rint((double) ticks * scale);

	/* another server's, or another day's calibration */
	if (scale == 1)
		return ticks;
	if (!(scaled < (double) PG_INT64_MAX))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("duration is out of range in ticks of the first sample")));
	return (uint64) scaled;
}

/*
 * The run with the lowest upper end of the interval: the least disturbed one,
 * unless it says so for want of blocks.
 */
static void
merge_cost(ClockSample *into, const ClockSample *from)
{
	if (isnan(from->cost_ns + from->cost_margin_ns) ||
		into->cost_ns + into->cost_margin_ns <= from->cost_ns + from->cost_margin_ns)
		return;
	into->cost_ns = from->cost_ns;
	into->cost_margin_ns = from->cost_margin_ns;
}

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

/*
 * Merges a sample with its squared error into a state, or into a new one if
 * that is NULL.
 */
static MergeState *
merge_into(MergeState *state, MemoryContext context, const ClockSample *sample,
		   double squared_error, int precision_bits)
{
	MemoryContext old = MemoryContextSwitchTo(context);

	if (state == NULL)
	{
		state = palloc(sizeof(MergeState));
		memset(&state->sample, 0, sizeof(ClockSample));
		tally_init(&state->tally);
		state->squared_error = 0;
		state->sample.source = pstrdup(sample->source);
		state->sample.clock = pstrdup(sample->clock);
		state->sample.started_at = sample->started_at;
		state->sample.frequency_hz = sample->frequency_hz;
		state->sample.precision_bits = TALLY_EXACT;
		state->sample.cost_ns = state->sample.cost_margin_ns = NAN;
	}
	else if (strcmp(state->sample.source, sample->source) != 0 ||
			 strcmp(state->sample.clock, sample->clock) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot merge samples of different clocks"),
				 errdetail("One is of \"%s\" reading %s, another of \"%s\" reading %s.",
						   state->sample.source, state->sample.clock,
						   sample->source, sample->clock),
				 errhint("Merge each clock apart: SELECT clock_merge(sample) FROM ..., clock_summary(sample) AS s GROUP BY s.source, s.clock.")));
	tally_round(&state->tally, precision_bits);
	merge_sample(state, sample);
	state->squared_error += squared_error;
	MemoryContextSwitchTo(old);
	return state;
}

/*
 * The sample that a state stands for.  The state may be asked again (a
 * window), so it is left as it is.
 */
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
	/* lest a value is stored that cannot be read */
	sample_check(&result, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE);
	return result;
}

/* The memory context of an aggregate's states. */
static MemoryContext
merge_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "function of clock_merge called in non-aggregate context");
	return context;
}

static MergeState *
arg_state(FunctionCallInfo fcinfo, int n)
{
	return PG_ARGISNULL(n) ? NULL : (MergeState *) PG_GETARG_POINTER(n);
}

static Datum
return_state(FunctionCallInfo fcinfo, MergeState *state)
{
	if (state == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(state);
}

Datum
clock_merge_add(PG_FUNCTION_ARGS)
{
	MemoryContext context = merge_context(fcinfo);
	MergeState *state = arg_state(fcinfo, 0);

	/* aggregates ignore null values */
	if (!PG_ARGISNULL(1))
	{
		ClockSample *sample = sample_from_datum(PG_GETARG_DATUM(1));

		/* independent runs: the error of the weighted mean of their means */
		state = merge_into(state, context, sample, sample->total > 0 ?
						   pow(sample->mean_margin_ns * (double) sample->total, 2) : 0,
						   TALLY_EXACT);
	}
	return return_state(fcinfo, state);
}

Datum
clock_merge_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = merge_context(fcinfo);
	MergeState *state = arg_state(fcinfo, 0);
	MergeState *from = arg_state(fcinfo, 1);

	if (from != NULL)
	{
		ClockSample sample = merged(from);

		state = merge_into(state, context, &sample, from->squared_error,
						   from->tally.precision_bits);
		pfree(sample.entries);
	}
	return return_state(fcinfo, state);
}

/*
 * The binary form of the sample, and what that does not tell of the state.  It
 * is the tally's own precision, not the samples', that holds for what is to
 * come.
 */
Datum
clock_merge_serialize(PG_FUNCTION_ARGS)
{
	const MergeState *state = arg_state(fcinfo, 0);
	ClockSample sample;
	StringInfoData buf;

	merge_context(fcinfo);
	sample = merged(state);
	pq_begintypsend(&buf);
	sample_encode(&buf, &sample, false);
	pq_sendfloat8(&buf, state->squared_error);
	pq_sendint8(&buf, state->tally.precision_bits);
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

Datum
clock_merge_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *serialized = PG_GETARG_BYTEA_PP(0);
	StringInfoData buf;
	ClockSample *sample;
	double		squared_error;
	int			precision_bits;

	merge_context(fcinfo);
	buf.data = VARDATA_ANY(serialized);
	buf.len = buf.maxlen = VARSIZE_ANY_EXHDR(serialized);
	buf.cursor = 0;
	sample = sample_decode(&buf, false);
	squared_error = pq_getmsgfloat8(&buf);
	precision_bits = pq_getmsgbyte(&buf);
	pq_getmsgend(&buf);
	/* it may have come from another server */
	if (precision_bits < 1)
		sample_malformed(ERRCODE_DATA_CORRUPTED, "The precision is 0.");
	return return_state(fcinfo, merge_into(NULL, CurrentMemoryContext, sample,
										   squared_error, precision_bits));
}

Datum
clock_merge_result(PG_FUNCTION_ARGS)
{
	const MergeState *state = arg_state(fcinfo, 0);
	ClockSample result;

	merge_context(fcinfo);
	if (state == NULL)
		PG_RETURN_NULL();
	result = merged(state);
	return sample_to_datum(&result);
}
