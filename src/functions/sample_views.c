/*-------------------------------------------------------------------------
 *
 * sample_views.c
 *	  The views of a clock_sample, and clock_merge().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "clock/sample_binary.h"
#include "clock/sample_members.h"
#include "compat.h"
#include "functions/args.h"
#include "functions/row.h"
#include "functions/sample_views.h"

PG_FUNCTION_INFO_V1(clock_histogram_sample);
PG_FUNCTION_INFO_V1(clock_histogram_plot_sample);
PG_FUNCTION_INFO_V1(clock_durations_sample);
PG_FUNCTION_INFO_V1(clock_summary_sample);
PG_FUNCTION_INFO_V1(clock_merge_add);
PG_FUNCTION_INFO_V1(clock_merge_combine);
PG_FUNCTION_INFO_V1(clock_merge_serialize);
PG_FUNCTION_INFO_V1(clock_merge_deserialize);
PG_FUNCTION_INFO_V1(clock_merge_result);

static double
percent(uint64 part, uint64 total)
{
	return (double) part * 100 / (double) total;
}

/*
 * The rows of a histogram, or with a cutoff those of durations.  A clock that
 * went backwards on every reading has no duration to show.
 */
static DurationRow *
rows_of(const ClockSample *sample, const double *cutoff, int *nrows)
{
	bool		stopped;

	if (sample->total == 0)
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA_FOUND),
				 errmsg("the sample of clock source \"%s\" contains no durations",
						sample->source),
				 errdetail("It has %lld backward steps.",
						   (long long) sample->backward_steps),
				 errhint("clock_summary() shows what was found.")));
	return cutoff == NULL ? sample_histogram(sample, nrows) :
		sample_durations(sample, *cutoff, nrows, &stopped);
}

/* Rows (nanoseconds, percent, running percent, count). */
static Datum
return_rows(FunctionCallInfo fcinfo, const ClockSample *sample, const double *cutoff)
{
	int			nrows;
	DurationRow *rows = rows_of(sample, cutoff, &nrows);
	Row			row;

	InitMaterializedSRF(fcinfo, 0);
	row = row_of_set(fcinfo);
	for (int i = 0; i < nrows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		row_put_count(&row, (int64) rows[i].ns);
		row_put_numbers(&row, 4, percent(rows[i].count, sample->total),
						percent(rows[i].running, sample->total));
		row_put_count(&row, (int64) rows[i].count);
		row_to_set(&row, fcinfo);
	}
	return (Datum) 0;
}

Datum
return_histogram(FunctionCallInfo fcinfo, const ClockSample *sample)
{
	return return_rows(fcinfo, sample, NULL);
}

Datum
return_durations(FunctionCallInfo fcinfo, const ClockSample *sample, double cutoff)
{
	return return_rows(fcinfo, sample, &cutoff);
}

void
put_text_line(FunctionCallInfo fcinfo, const char *line)
{
	Row			row = row_of_set(fcinfo);

	row_put_text(&row, line);
	row_to_set(&row, fcinfo);
}

/*
 * The longest bar fills the line, the others are in proportion.  A bucket that
 * is not empty, but whose bar would be, has a dot: the rare ones matter.
 */
Datum
return_histogram_plot(FunctionCallInfo fcinfo, const ClockSample *sample, int width)
{
	int			nrows;
	DurationRow *rows = rows_of(sample, NULL, &nrows);
	uint64		most = 0;
	int			ns_width;
	int			count_width;
	int			bar_width;

	for (int i = 0; i < nrows; i++)
		most = Max(most, rows[i].count);
	ns_width = Max(snprintf(NULL, 0, UINT64_FORMAT, rows[nrows - 1].ns), 5);
	count_width = Max(snprintf(NULL, 0, UINT64_FORMAT, most), 5);
	/* between them: two spaces, a percentage, two spaces; then " |" */
	bar_width = width - ns_width - count_width - 14;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	put_text_line(fcinfo, psprintf("%*s  %8s  %*s", ns_width, "<= ns", "percent",
								   count_width, "count"));
	for (int i = 0; i < nrows; i++)
	{
		int			length = (int) ((double) rows[i].count / (double) most * bar_width);
		char	   *bar = palloc(bar_width + 1);

		CHECK_FOR_INTERRUPTS();
		memset(bar, '#', bar_width);
		bar[length] = '\0';
		put_text_line(fcinfo, psprintf("%*s  %8.4f  %*s |%s",
									   ns_width, psprintf(UINT64_FORMAT, rows[i].ns),
									   percent(rows[i].count, sample->total),
									   count_width, psprintf(UINT64_FORMAT, rows[i].count),
									   length == 0 && rows[i].count > 0 ? "." : bar));
	}
	return (Datum) 0;
}

Datum
return_summary(FunctionCallInfo fcinfo, const ClockSample *sample)
{
	double		duration_ns = sample->duration_s > 0 ? sample->duration_s * 1e9 : NAN;
	const Events *const events[] = {&sample->warps, &sample->lags, &sample->gaps};
	double		granularity = sample->granularity_ticks > 0 ? sample->granularity_ticks : NAN;
	Row			row = row_of_result(fcinfo);

	row_put_text(&row, sample->source);
	row_put_text(&row, sample->clock);
	row_put_numbers(&row, 2, sample->cost_ns, sample->cost_margin_ns);
	row_put_number(&row, sample->duration_s, 3);
	row_put_count(&row, sample->readings);
	row_put_numbers(&row, 2,
					sample->readings > 0 ? duration_ns / (double) sample->readings : NAN,
					sample_mean_ns(sample), sample->mean_margin_ns, sample_stddev_ns(sample),
					sample_quantile_ns(sample, 0), sample_quantile_ns(sample, 0.5),
					sample_quantile_ns(sample, 0.9), sample_quantile_ns(sample, 0.99),
					sample_quantile_ns(sample, 0.999), sample_quantile_ns(sample, 0.9999),
					sample_quantile_ns(sample, 1),
					granularity, sample_ns(sample, granularity));
	row_put_counts(&row,
				   sample->n > 0 && sample->entries[0].ticks == 0 ? (int64) sample->entries[0].count : 0,
				   sample->longest_stall, sample->backward_steps);
	row_put_number(&row, sample_ns(sample, (double) sample->backward_max_ticks), 2);
	for (int i = 0; i < (int) lengthof(events); i++)
	{
		row_put_count(&row, events[i]->count);
		row_put_number(&row, events[i]->max_ns, 2);
	}
	row_put_number(&row, sample->gaps.total_ns / 1e6, 3);
	row_put_number(&row, sample->gaps.total_ns / duration_ns * 100, 4);
	row_put_numbers(&row, 3, (sample->advance_s * 1e9 / duration_ns - 1) * 1e6,
					sample->reference_bound_ns / duration_ns * 1e6);
	row_put_int_array(&row, sample->cpus, sample->ncpus);
	row_put_count(&row, sample->migrations);
	row_put_numbers(&row, 2, sample->warps.total_ns, sample->lags.total_ns,
					sample->resolution_ns > 0 ? sample->resolution_ns : NAN);
	row_put(&row, Int32GetDatum(sample->precision_bits));
	row_put(&row, Float8GetDatum(sample->frequency_hz));
	row_put(&row, TimestampTzGetDatum(sample->started_at));
	return row_result(&row);
}

static ClockSample *
arg_sample(FunctionCallInfo fcinfo)
{
	check_not_null(fcinfo, 0, "sample");
	return sample_from_datum(PG_GETARG_DATUM(0));
}

Datum
clock_histogram_sample(PG_FUNCTION_ARGS)
{
	return return_histogram(fcinfo, arg_sample(fcinfo));
}

Datum
clock_histogram_plot_sample(PG_FUNCTION_ARGS)
{
	check_not_null(fcinfo, 1, "width");
	check_plot_width(PG_GETARG_INT64(1));
	return return_histogram_plot(fcinfo, arg_sample(fcinfo), (int) PG_GETARG_INT64(1));
}

Datum
clock_durations_sample(PG_FUNCTION_ARGS)
{
	double		cutoff = arg_cutoff(fcinfo, 1);

	return return_durations(fcinfo, arg_sample(fcinfo), cutoff);
}

Datum
clock_summary_sample(PG_FUNCTION_ARGS)
{
	return return_summary(fcinfo, arg_sample(fcinfo));
}

/*
 * clock_merge(): the state is a tally of all durations, and the rest of a
 * sample beside it.
 */
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
