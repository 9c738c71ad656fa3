/*
 * sample_value.c
 *	  See sample_value.h.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "port/pg_bitutils.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "clock/sample_value.h"
#include "compat.h"

typedef enum FieldKind
{
	FIELD_TEXT,
	FIELD_TIME,
	FIELD_COUNT,				/* int64, not negative */
	FIELD_NUMBER,				/* a finite double */
	FIELD_NOT_NEGATIVE,
	FIELD_POSITIVE,
	FIELD_UNLESS_NAN,			/* not negative, or NaN */
	FIELD_OTHER
} FieldKind;

/* The attributes of clock_sample that are FIELD_OTHER. */
enum
{
	SAMPLE_CPUS = 23,
	SAMPLE_PRECISION_BITS = 25,
	SAMPLE_TICKS,
	SAMPLE_COUNTS,
	NFIELDS
};

#define FIELD(name, kind, member) {#name, FIELD_##kind, offsetof(ClockSample, member)}

/* Attributes of clock_sample, in the order of the type's definition. */
static const struct Field
{
	const char *name;
	FieldKind	kind;
	size_t		offset;
}			fields[NFIELDS] = {

	FIELD(source, TEXT, source),
	FIELD(clock, TEXT, clock),
	FIELD(started_at, TIME, started_at),
	FIELD(duration_s, NOT_NEGATIVE, duration_s),
	FIELD(frequency_hz, POSITIVE, frequency_hz),
	FIELD(resolution_ns, NOT_NEGATIVE, resolution_ns),
	FIELD(granularity_ticks, NOT_NEGATIVE, granularity_ticks),
	FIELD(readings, COUNT, readings),
	FIELD(mean_margin_ns, UNLESS_NAN, mean_margin_ns),
	FIELD(advance_s, NUMBER, advance_s),
	FIELD(reference_bound_ns, NOT_NEGATIVE, reference_bound_ns),
	FIELD(longest_stall, COUNT, longest_stall),
	FIELD(backward_steps, COUNT, backward_steps),
	FIELD(backward_max_ticks, COUNT, backward_max_ticks),
	FIELD(warps, COUNT, warps.count),
	FIELD(warp_max_ns, NOT_NEGATIVE, warps.max_ns),
	FIELD(warp_total_ns, NOT_NEGATIVE, warps.total_ns),
	FIELD(lags, COUNT, lags.count),
	FIELD(lag_max_ns, NOT_NEGATIVE, lags.max_ns),
	FIELD(lag_total_ns, NOT_NEGATIVE, lags.total_ns),
	FIELD(gaps, COUNT, gaps.count),
	FIELD(gap_max_ns, NOT_NEGATIVE, gaps.max_ns),
	FIELD(gap_total_ns, NOT_NEGATIVE, gaps.total_ns),
	FIELD(cpus, OTHER, cpus),
	FIELD(migrations, COUNT, migrations),
	FIELD(precision_bits, OTHER, precision_bits),
	FIELD(ticks, OTHER, entries),
	FIELD(counts, OTHER, entries)
};

void
sample_set_durations(ClockSample *sample, const Tally *tally)
{
	sample->entries = palloc(sizeof(TallyEntry) * (tally_distinct(tally) + 1));
	sample->n = tally_export(tally, sample->entries);
	sample->total = 0;
	for (int i = 0; i < sample->n; i++)
		sample->total += sample->entries[i].count;
	sample->backward_steps = (int64) tally->backward_steps;
	sample->readings = (int64) sample->total + sample->backward_steps;
	sample->backward_max_ticks = (int64) tally->backward_max;
	sample->longest_stall = (int64) tally->longest_stall;
	sample->precision_bits = tally->precision_bits;
}

ClockSample *
sample_from_run(const SamplerRun *run)
{
	ClockSample *sample = palloc0(sizeof(ClockSample));

	sample->duration_s = run->elapsed_s;
	sample->frequency_hz = run->frequency_hz;
	sample->resolution_ns = run->resolution_ns;
	sample->granularity_ticks = run->granularity_ticks;
	sample->mean_margin_ns = run->mean_margin_ns;
	sample->cost_ns = run->cost_ns;
	sample->cost_margin_ns = run->cost_margin_ns;
	sample->advance_s = run->advance_ns / 1e9;
	sample->reference_bound_ns = run->reference_bound_ns;
	sample->warps = run->warps;
	sample->lags = run->lags;
	sample->gaps = run->gaps;
	sample->migrations = run->migrations;
	sample_set_durations(sample, run->tally);

	sample->cpus = palloc(sizeof(int32) * SAMPLER_MAX_CPUS);
	for (int cpu = 0; cpu < SAMPLER_MAX_CPUS; cpu++)
	{
		if ((run->cpus[cpu / 8] >> (cpu % 8)) & 1)
			sample->cpus[sample->ncpus++] = cpu;
	}
	return sample;
}

static void
add_count(int64 *into, int64 count, const char *what)
{
	if (pg_add_s64_overflow(*into, count, into))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s is out of range", what)));
}

static void
add_events(Events *into, const Events *from)
{
	into->max_ns = Max(into->max_ns, from->max_ns);
	into->total_ns += from->total_ns;
	add_count(&into->count, from->count, "count of events");
}

void
sample_add_findings(ClockSample *into, const ClockSample *from)
{
	add_events(&into->warps, &from->warps);
	add_events(&into->lags, &from->lags);
	add_events(&into->gaps, &from->gaps);
	add_count(&into->readings, from->readings, "number of readings");
	add_count(&into->migrations, from->migrations, "number of migrations");
	into->backward_steps += from->backward_steps;
	into->backward_max_ticks = Max(into->backward_max_ticks, from->backward_max_ticks);
	into->longest_stall = Max(into->longest_stall, from->longest_stall);
}

Datum
int4_array(const int32 *elements, int n)
{
	Datum	   *datums = palloc(sizeof(Datum) * ((Size) n + 1));

	for (int i = 0; i < n; i++)
		datums[i] = Int32GetDatum(elements[i]);
	return PointerGetDatum(construct_array(datums, n, INT4OID, sizeof(int32),
										   true, TYPALIGN_INT));
}

static Datum
entries_to_array(const ClockSample *sample, bool counts)
{
	Datum	   *datums = palloc(sizeof(Datum) * (sample->n + 1));

	for (int i = 0; i < sample->n; i++)
		datums[i] = Int64GetDatum((int64) (counts ? sample->entries[i].count :
										   sample->entries[i].ticks));
	return PointerGetDatum(construct_array(datums, sample->n, INT8OID, sizeof(int64),
										   FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

static void
check_natts(TupleDesc tupdesc)
{
	if (tupdesc->natts != NFIELDS)
		elog(ERROR, "type clock_sample has %d attributes, %d expected",
			 tupdesc->natts, NFIELDS);
}

HeapTuple
sample_to_tuple(const ClockSample *sample, TupleDesc tupdesc)
{
	Datum		values[NFIELDS];
	bool		nulls[NFIELDS] = {0};

	check_natts(tupdesc);
	for (int i = 0; i < NFIELDS; i++)
	{
		const void *member = (const char *) sample + fields[i].offset;
		int64		bits;

		/* a Datum has the bits of a double as it has those of an int64 */
		memcpy(&bits, member, sizeof(bits));
		if (fields[i].kind == FIELD_TEXT)
			values[i] = CStringGetTextDatum(*(const char *const *) member);
		else if (fields[i].kind != FIELD_OTHER)
			values[i] = Int64GetDatum(bits);
	}
	values[SAMPLE_CPUS] = int4_array(sample->cpus, sample->ncpus);
	values[SAMPLE_PRECISION_BITS] = Int32GetDatum(sample->precision_bits);
	values[SAMPLE_TICKS] = entries_to_array(sample, false);
	values[SAMPLE_COUNTS] = entries_to_array(sample, true);
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

/* A number of eight bytes. */
static void
get_number(const struct Field *field, Datum datum, void *member)
{
	int64		bits = DatumGetInt64(datum);
	double		value = DatumGetFloat8(datum);

	memcpy(member, &bits, sizeof(bits));
	if (field->kind == FIELD_COUNT && bits < 0)
		malformed(psprintf("The attribute \"%s\" is negative.", field->name));
	if (field->kind >= FIELD_NUMBER && !(field->kind == FIELD_UNLESS_NAN && isnan(value)) &&
		(!isfinite(value) || (field->kind != FIELD_NUMBER && value < 0) ||
		 (field->kind == FIELD_POSITIVE && value == 0)))
		malformed(psprintf("The attribute \"%s\" is %g.", field->name, value));
}

/* The elements of a one-dimensional array of int4 or int8 without NULLs. */
static void *
get_array(const Datum *values, int attribute, int *n)
{
	const char *name = fields[attribute].name;
	ArrayType  *array = DatumGetArrayTypeP(values[attribute]);

	if (ARR_NDIM(array) > 1)
		malformed(psprintf("The array \"%s\" has more than one dimension.", name));
	if (ARR_HASNULL(array) && array_contains_nulls(array))
		malformed(psprintf("The array \"%s\" contains a null value.", name));
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
	if (pg_add_s64_overflow(total, sample->backward_steps, &total) ||
		total != sample->readings)
		malformed("The counts and \"backward_steps\" do not add up to \"readings\".");
}

ClockSample *
sample_from_datum(Datum datum)
{
	ClockSample *sample = palloc0(sizeof(ClockSample));
	HeapTupleHeader header = DatumGetHeapTupleHeader(datum);
	TupleDesc	tupdesc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(header),
												 HeapTupleHeaderGetTypMod(header));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(header), .t_data = header};
	Datum		values[NFIELDS];
	bool		nulls[NFIELDS];

	check_natts(tupdesc);
	heap_deform_tuple(&tuple, tupdesc, values, nulls);
	ReleaseTupleDesc(tupdesc);

	for (int i = 0; i < NFIELDS; i++)
	{
		if (nulls[i])
			malformed(psprintf("The attribute \"%s\" is null.", fields[i].name));
	}
	for (int i = 0; i < NFIELDS; i++)
	{
		void	   *member = (char *) sample + fields[i].offset;

		if (fields[i].kind == FIELD_TEXT)
			*(const char **) member = TextDatumGetCString(values[i]);
		else if (fields[i].kind != FIELD_OTHER)
			get_number(&fields[i], values[i], member);
	}
	sample->cpus = get_array(values, SAMPLE_CPUS, &sample->ncpus);
	for (int i = 0; i < sample->ncpus; i++)
	{
		if (sample->cpus[i] < (i > 0 ? sample->cpus[i - 1] + 1 : 0))
			malformed("The array \"cpus\" is not in ascending order, or has a negative value.");
	}
	sample->precision_bits = DatumGetInt32(values[SAMPLE_PRECISION_BITS]);
	if (sample->precision_bits < 1 || sample->precision_bits > TALLY_EXACT)
		malformed(psprintf("The attribute \"precision_bits\" is %d.", sample->precision_bits));
	get_entries(values, sample);
	return sample;
}

static double
mean_ticks(const ClockSample *sample)
{
	double		mean = 0;

	for (int i = 0; i < sample->n; i++)
		mean += (double) sample->entries[i].count / (double) sample->total *
			(double) sample->entries[i].ticks;
	return mean;
}

double
sample_mean_ns(const ClockSample *sample)
{
	return sample->n > 0 ? sample_ns(sample, mean_ticks(sample)) : NAN;
}

/* The mean first, then deviations from it: nothing cancels out. */
double
sample_stddev_ns(const ClockSample *sample)
{
	double		mean = mean_ticks(sample);
	double		squares = 0;

	for (int i = 0; i < sample->n; i++)
	{
		double		deviation = (double) sample->entries[i].ticks - mean;

		squares += (double) sample->entries[i].count * deviation * deviation;
	}
	return sample->total < 2 ? NAN :
		sample_ns(sample, sqrt(squares / ((double) sample->total - 1)));
}

double
sample_quantile_ns(const ClockSample *sample, double q)
{
	return sample->n == 0 ? NAN :
		sample_ns(sample, (double) tally_quantile(sample->entries, sample->n, sample->total, q));
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

	*nrows = 1;
	for (int i = 0; i < sample->n; i++)
	{
		uint64		ns = whole_ns(sample, sample->entries[i].ticks);
		int			bucket = ns == 0 ? 0 : pg_leftmost_one_pos64(ns) + 1;

		rows[bucket].count += sample->entries[i].count;
		*nrows = bucket + 1;
	}
	for (int i = 0; i < *nrows; i++)
	{
		rows[i].ns = (UINT64CONST(1) << i) - 1;
		rows[i].running = running += rows[i].count;
	}
	return rows;
}

DurationRow *
sample_durations(const ClockSample *sample, double cutoff, int *nrows, bool *stopped)
{
	DurationRow *rows = palloc(sizeof(DurationRow) * ((Size) sample->n + 1));
	uint64		running = 0;
	int			n = 0;
	int			keep = 0;

	/* several durations in ticks may round to the same nanosecond */
	for (int i = 0; i < sample->n; i++)
	{
		uint64		ns = whole_ns(sample, sample->entries[i].ticks);

		if (n == 0 || rows[n - 1].ns != ns)
			rows[n++] = (DurationRow)
		{
			.ns = ns
		};
		rows[n - 1].count += sample->entries[i].count;
		rows[n - 1].running = running += sample->entries[i].count;
	}

	while (keep < n && (double) rows[keep].running * 100 / sample->total < cutoff)
		keep++;
	*stopped = keep + 1 < n;
	if (*stopped)
		rows[keep + 1] = rows[n - 1];
	*nrows = *stopped ? keep + 2 : n;
	return rows;
}
