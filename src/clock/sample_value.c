/*-------------------------------------------------------------------------
 *
 * sample_value.c
 *	  One run as a value: the SQL composite type clock_sample, and the views of
 *	  it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "port/pg_bitutils.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "clock/sample_value.h"
#include "compat.h"

/* Attributes of clock_sample, in the order of the type's definition. */
enum
{
	SAMPLE_SOURCE,
	SAMPLE_CLOCK,
	SAMPLE_STARTED_AT,
	SAMPLE_DURATION_S,
	SAMPLE_FREQUENCY_HZ,
	SAMPLE_RESOLUTION_NS,
	SAMPLE_GRANULARITY_TICKS,
	SAMPLE_READINGS,
	SAMPLE_MEAN_ERROR_NS,
	SAMPLE_ADVANCE_S,
	SAMPLE_REFERENCE_ERROR_NS,
	SAMPLE_LONGEST_STALL,
	SAMPLE_BACKWARD_STEPS,
	SAMPLE_BACKWARD_MAX_TICKS,
	SAMPLE_WARPS,
	SAMPLE_WARP_MAX_NS,
	SAMPLE_WARP_TOTAL_NS,
	SAMPLE_LAGS,
	SAMPLE_LAG_MAX_NS,
	SAMPLE_LAG_TOTAL_NS,
	SAMPLE_GAPS,
	SAMPLE_GAP_MAX_NS,
	SAMPLE_GAP_TOTAL_NS,
	SAMPLE_CPUS,
	SAMPLE_MIGRATIONS,
	SAMPLE_PRECISION_BITS,
	SAMPLE_TICKS,
	SAMPLE_COUNTS,
	SAMPLE_NATTS
};

static const char *const sample_attribute[SAMPLE_NATTS] = {
	"source", "clock", "started_at", "duration_s", "frequency_hz",
	"resolution_ns", "granularity_ticks", "readings", "mean_error_ns",
	"advance_s", "reference_error_ns", "longest_stall", "backward_steps",
	"backward_max_ticks", "warps", "warp_max_ns", "warp_total_ns", "lags",
	"lag_max_ns", "lag_total_ns", "gaps", "gap_max_ns", "gap_total_ns", "cpus",
	"migrations", "precision_bits", "ticks", "counts"
};

static uint64
sum_of_counts(const TallyEntry *entries, int n)
{
	uint64		total = 0;

	for (int i = 0; i < n; i++)
		total += entries[i].count;
	return total;
}

ClockSample *
sample_from_run(const SamplerRun *run)
{
	ClockSample *sample = palloc0(sizeof(ClockSample));
	const Tally *tally = run->tally;

	sample->duration_s = run->elapsed_s;
	sample->frequency_hz = run->frequency_hz;
	sample->resolution_ns = run->resolution_ns;
	sample->granularity_ticks = run->granularity_ticks;
	sample->readings = run->readings;
	sample->mean_error_ns = run->mean_error_ns;
	sample->advance_s = run->advance_ns / 1e9;
	sample->reference_error_ns = run->reference_error_ns;
	sample->longest_stall = (int64) tally->longest_stall;
	sample->backward_steps = (int64) tally->backward_steps;
	sample->backward_max_ticks = (int64) tally->backward_max;
	sample->warps = run->warps;
	sample->lags = run->lags;
	sample->gaps = run->gaps;
	sample->migrations = run->migrations;
	sample->precision_bits = tally->precision_bits;

	for (int cpu = 0; cpu < SAMPLER_MAX_CPUS; cpu++)
		sample->ncpus += (run->cpus[cpu / 8] >> (cpu % 8)) & 1;
	sample->cpus = palloc(sizeof(int32) * (sample->ncpus + 1));
	sample->ncpus = 0;
	for (int cpu = 0; cpu < SAMPLER_MAX_CPUS; cpu++)
	{
		if ((run->cpus[cpu / 8] >> (cpu % 8)) & 1)
			sample->cpus[sample->ncpus++] = cpu;
	}

	sample->entries = palloc(sizeof(TallyEntry) * (tally_distinct(tally) + 1));
	sample->n = tally_export(tally, sample->entries);
	sample->total = sum_of_counts(sample->entries, sample->n);
	return sample;
}

/* "offset" is that of the member of TallyEntry to take. */
static Datum
entries_to_array(const ClockSample *sample, size_t offset)
{
	Datum	   *datums = palloc(sizeof(Datum) * (sample->n + 1));
	ArrayType  *array;

	for (int i = 0; i < sample->n; i++)
	{
		uint64		value;

		memcpy(&value, (const char *) &sample->entries[i] + offset,
			   sizeof(value));
		datums[i] = Int64GetDatum((int64) value);
	}
	array = construct_array(datums, sample->n, INT8OID, sizeof(int64),
							FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
	pfree(datums);
	return PointerGetDatum(array);
}

static void
put_events(const Events *events, Datum *values)
{
	values[0] = Int64GetDatum(events->count);
	values[1] = Float8GetDatum(events->max_ns);
	values[2] = Float8GetDatum(events->total_ns);
}

HeapTuple
sample_to_tuple(const ClockSample *sample, TupleDesc tupdesc)
{
	Datum		values[SAMPLE_NATTS];
	bool		nulls[SAMPLE_NATTS] = {0};
	Datum	   *cpus = palloc(sizeof(Datum) * (sample->ncpus + 1));

	if (tupdesc->natts != SAMPLE_NATTS)
		elog(ERROR, "type clock_sample has %d attributes, %d expected",
			 tupdesc->natts, SAMPLE_NATTS);

	values[SAMPLE_SOURCE] = CStringGetTextDatum(sample->source);
	values[SAMPLE_CLOCK] = CStringGetTextDatum(sample->clock);
	values[SAMPLE_STARTED_AT] = TimestampTzGetDatum(sample->started_at);
	values[SAMPLE_DURATION_S] = Float8GetDatum(sample->duration_s);
	values[SAMPLE_FREQUENCY_HZ] = Float8GetDatum(sample->frequency_hz);
	values[SAMPLE_RESOLUTION_NS] = Float8GetDatum(sample->resolution_ns);
	values[SAMPLE_GRANULARITY_TICKS] = Float8GetDatum(sample->granularity_ticks);
	values[SAMPLE_READINGS] = Int64GetDatum(sample->readings);
	values[SAMPLE_MEAN_ERROR_NS] = Float8GetDatum(sample->mean_error_ns);
	values[SAMPLE_ADVANCE_S] = Float8GetDatum(sample->advance_s);
	values[SAMPLE_REFERENCE_ERROR_NS] = Float8GetDatum(sample->reference_error_ns);
	values[SAMPLE_LONGEST_STALL] = Int64GetDatum(sample->longest_stall);
	values[SAMPLE_BACKWARD_STEPS] = Int64GetDatum(sample->backward_steps);
	values[SAMPLE_BACKWARD_MAX_TICKS] = Int64GetDatum(sample->backward_max_ticks);
	put_events(&sample->warps, &values[SAMPLE_WARPS]);
	put_events(&sample->lags, &values[SAMPLE_LAGS]);
	put_events(&sample->gaps, &values[SAMPLE_GAPS]);
	for (int i = 0; i < sample->ncpus; i++)
		cpus[i] = Int32GetDatum(sample->cpus[i]);
	values[SAMPLE_CPUS] =
		PointerGetDatum(construct_array(cpus, sample->ncpus, INT4OID,
										sizeof(int32), true, TYPALIGN_INT));
	values[SAMPLE_MIGRATIONS] = Int64GetDatum(sample->migrations);
	values[SAMPLE_PRECISION_BITS] = Int32GetDatum(sample->precision_bits);
	values[SAMPLE_TICKS] = entries_to_array(sample, offsetof(TallyEntry, ticks));
	values[SAMPLE_COUNTS] = entries_to_array(sample, offsetof(TallyEntry, count));
	return heap_form_tuple(tupdesc, values, nulls);
}

pg_noreturn static void
malformed(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("malformed clock_sample value"),
			 errdetail_internal("%s", detail),
			 errhint("Use values that clock_measure() or clock_merge() has returned, unchanged.")));
}

/* A double attribute, which must be a finite number and at least "least". */
static double
get_double(const Datum *values, int attribute, double least)
{
	double		value = DatumGetFloat8(values[attribute]);

	if (!isfinite(value) || value < least)
		malformed(psprintf("The attribute \"%s\" is %g.",
						   sample_attribute[attribute], value));
	return value;
}

static int64
get_count(const Datum *values, int attribute)
{
	int64		value = DatumGetInt64(values[attribute]);

	if (value < 0)
		malformed(psprintf("The attribute \"%s\" is negative.",
						   sample_attribute[attribute]));
	return value;
}

static Events
get_events(const Datum *values, int attribute)
{
	Events		events;

	events.count = get_count(values, attribute);
	events.max_ns = get_double(values, attribute + 1, 0);
	events.total_ns = get_double(values, attribute + 2, 0);
	return events;
}

/* The elements of a one-dimensional array of int4 or int8 without NULLs. */
static void *
get_array(const Datum *values, int attribute, int *n)
{
	ArrayType  *array = DatumGetArrayTypeP(values[attribute]);

	if (ARR_NDIM(array) > 1)
		malformed(psprintf("The array \"%s\" has more than one dimension.",
						   sample_attribute[attribute]));
	if (ARR_HASNULL(array) && array_contains_nulls(array))
		malformed(psprintf("The array \"%s\" contains a null value.",
						   sample_attribute[attribute]));
	*n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	return ARR_DATA_PTR(array);
}

/* Entries of the sample, ascending and counted. */
static void
get_entries(const Datum *values, ClockSample *sample)
{
	int			nticks;
	int			ncounts;
	int64	   *ticks = get_array(values, SAMPLE_TICKS, &nticks);
	int64	   *counts = get_array(values, SAMPLE_COUNTS, &ncounts);
	int64		total = 0;

	if (nticks != ncounts)
		malformed(psprintf("The arrays \"ticks\" and \"counts\" have %d and %d elements.",
						   nticks, ncounts));
	sample->n = nticks;
	sample->entries = palloc(sizeof(TallyEntry) * ((Size) nticks + 1));
	for (int i = 0; i < nticks; i++)
	{
		if (ticks[i] < 0)
			malformed("The array \"ticks\" contains a negative value.");
		if (i > 0 && ticks[i] <= ticks[i - 1])
			malformed("The array \"ticks\" is not in ascending order.");
		if (counts[i] <= 0)
			malformed("The array \"counts\" contains a value that is not positive.");
		if (pg_add_s64_overflow(total, counts[i], &total))
			malformed("The sum of the array \"counts\" is out of range.");
		sample->entries[i].ticks = (uint64) ticks[i];
		sample->entries[i].count = (uint64) counts[i];
	}
	sample->total = (uint64) total;
	if (sample->n > 0 &&
		sample_ns(sample, sample->entries[sample->n - 1].ticks) >= (double) PG_INT64_MAX)
		malformed("The longest duration is out of range in nanoseconds.");
}

ClockSample *
sample_from_datum(Datum datum)
{
	ClockSample *sample = palloc0(sizeof(ClockSample));
	HeapTupleHeader header = DatumGetHeapTupleHeader(datum);
	TupleDesc	tupdesc;
	HeapTupleData tuple;
	Datum		values[SAMPLE_NATTS];
	bool		nulls[SAMPLE_NATTS];
	int64		sum;

	tupdesc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(header),
									 HeapTupleHeaderGetTypMod(header));
	if (tupdesc->natts != SAMPLE_NATTS)
		elog(ERROR, "type clock_sample has %d attributes, %d expected",
			 tupdesc->natts, SAMPLE_NATTS);
	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = header;
	heap_deform_tuple(&tuple, tupdesc, values, nulls);
	ReleaseTupleDesc(tupdesc);

	for (int i = 0; i < SAMPLE_NATTS; i++)
	{
		if (nulls[i])
			malformed(psprintf("The attribute \"%s\" is null.",
							   sample_attribute[i]));
	}

	sample->source = TextDatumGetCString(values[SAMPLE_SOURCE]);
	sample->clock = TextDatumGetCString(values[SAMPLE_CLOCK]);
	sample->started_at = DatumGetTimestampTz(values[SAMPLE_STARTED_AT]);
	sample->duration_s = get_double(values, SAMPLE_DURATION_S, 0);
	sample->frequency_hz = get_double(values, SAMPLE_FREQUENCY_HZ, 0);
	if (sample->frequency_hz == 0)
		malformed("The attribute \"frequency_hz\" is 0.");
	sample->resolution_ns = get_double(values, SAMPLE_RESOLUTION_NS, 0);
	sample->granularity_ticks = get_double(values, SAMPLE_GRANULARITY_TICKS, 0);
	sample->readings = get_count(values, SAMPLE_READINGS);
	sample->mean_error_ns = DatumGetFloat8(values[SAMPLE_MEAN_ERROR_NS]);
	if (!isnan(sample->mean_error_ns))
		(void) get_double(values, SAMPLE_MEAN_ERROR_NS, 0);
	sample->advance_s = get_double(values, SAMPLE_ADVANCE_S, -HUGE_VAL);
	sample->reference_error_ns = get_double(values, SAMPLE_REFERENCE_ERROR_NS, 0);
	sample->longest_stall = get_count(values, SAMPLE_LONGEST_STALL);
	sample->backward_steps = get_count(values, SAMPLE_BACKWARD_STEPS);
	sample->backward_max_ticks = get_count(values, SAMPLE_BACKWARD_MAX_TICKS);
	sample->warps = get_events(values, SAMPLE_WARPS);
	sample->lags = get_events(values, SAMPLE_LAGS);
	sample->gaps = get_events(values, SAMPLE_GAPS);
	sample->cpus = get_array(values, SAMPLE_CPUS, &sample->ncpus);
	for (int i = 0; i < sample->ncpus; i++)
	{
		if (sample->cpus[i] < (i > 0 ? sample->cpus[i - 1] + 1 : 0))
			malformed("The array \"cpus\" is not in ascending order, or has a negative value.");
	}
	sample->migrations = get_count(values, SAMPLE_MIGRATIONS);
	sample->precision_bits = DatumGetInt32(values[SAMPLE_PRECISION_BITS]);
	if (sample->precision_bits < 1 || sample->precision_bits > TALLY_EXACT)
		malformed(psprintf("The attribute \"precision_bits\" is %d.",
						   sample->precision_bits));
	get_entries(values, sample);

	if (pg_add_s64_overflow((int64) sample->total, sample->backward_steps, &sum) ||
		sum != sample->readings)
		malformed("The counts and \"backward_steps\" do not add up to \"readings\".");
	return sample;
}

double
sample_mean_ticks(const ClockSample *sample)
{
	double		mean = 0;

	for (int i = 0; i < sample->n; i++)
		mean += (double) sample->entries[i].count / (double) sample->total *
			(double) sample->entries[i].ticks;
	return mean;
}

/* Nanoseconds, rounded to whole ones. */
static uint64
whole_ns(const ClockSample *sample, uint64 ticks)
{
	return (uint64) llrint(sample_ns(sample, (double) ticks));
}

DurationRow *
sample_histogram(const ClockSample *sample, int *nrows)
{
	DurationRow *rows = palloc0(sizeof(DurationRow) * 65);
	uint64		running = 0;
	int			last = 0;

	for (int i = 0; i < sample->n; i++)
	{
		uint64		ns = whole_ns(sample, sample->entries[i].ticks);
		int			bucket = ns == 0 ? 0 : pg_leftmost_one_pos64(ns) + 1;

		rows[bucket].count += sample->entries[i].count;
		last = bucket;
	}
	for (int i = 0; i <= last; i++)
	{
		running += rows[i].count;
		rows[i].ns = (UINT64CONST(1) << i) - 1;
		rows[i].running = running;
	}
	*nrows = last + 1;
	return rows;
}

DurationRow *
sample_durations(const ClockSample *sample, double cutoff, int *nrows,
				 bool *stopped)
{
	DurationRow *rows = palloc(sizeof(DurationRow) * ((Size) sample->n + 1));
	uint64		running = 0;
	int			n = 0;
	int			keep;

	/* several durations in ticks may round to the same nanosecond */
	for (int i = 0; i < sample->n; i++)
	{
		uint64		ns = whole_ns(sample, sample->entries[i].ticks);

		running += sample->entries[i].count;
		if (n > 0 && rows[n - 1].ns == ns)
			rows[n - 1].count += sample->entries[i].count;
		else
		{
			rows[n].ns = ns;
			rows[n].count = sample->entries[i].count;
			n++;
		}
		rows[n - 1].running = running;
	}

	for (keep = 0; keep < n; keep++)
	{
		if ((double) rows[keep].running * 100 / sample->total >= cutoff)
			break;
	}
	*stopped = keep + 1 < n;
	if (*stopped)
	{
		rows[keep + 1] = rows[n - 1];
		n = keep + 2;
	}
	*nrows = n;
	return rows;
}
