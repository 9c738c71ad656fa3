/*
 * The table of a clock_sample's members, and the checks of a value.
 *
 * The binary and the JSON form are both generated from this table, so that a new member needs one
 * entry only.  Samples come from files and from clients, so each value is checked when it is read,
 * before it is used: numbers are finite, arrays are in order, and sums agree.  Later computations
 * then need no checks.
 */
#include "postgres.h"

#include <math.h>

#include "common/int.h"
#include "utils/datetime.h"

#include "clock/measure/sample_members.h"
#include "compat.h"

#define MEMBER(name, kind, member) {#name, MEMBER_##kind, offsetof(ClockSample, member)}

const SampleMember sample_members[SAMPLE_MEMBERS] = {

	MEMBER(source, TEXT, source),
	MEMBER(clock, TEXT, clock),
	MEMBER(started_at, TIME, started_at),
	MEMBER(duration_s, NOT_NEGATIVE, duration_s),
	MEMBER(frequency_hz, POSITIVE, frequency_hz),
	MEMBER(resolution_ns, UNLESS_ZERO, resolution_ns),
	MEMBER(granularity_ticks, UNLESS_ZERO, granularity_ticks),
	MEMBER(readings, COUNT, readings),
	MEMBER(mean_margin_ns, UNLESS_NAN, mean_margin_ns),
	MEMBER(cost_ns, UNLESS_NAN, cost_ns),
	MEMBER(cost_margin_ns, UNLESS_NAN, cost_margin_ns),
	MEMBER(advance_s, NUMBER, advance_s),
	MEMBER(reference_bound_ns, NOT_NEGATIVE, reference_bound_ns),
	MEMBER(longest_stall, COUNT, longest_stall),
	MEMBER(backward_steps, COUNT, backward_steps),
	MEMBER(backward_max_ticks, COUNT, backward_max_ticks),
	MEMBER(warps, COUNT, warps.count),
	MEMBER(warp_max_ns, NOT_NEGATIVE, warps.max_ns),
	MEMBER(warp_total_ns, NOT_NEGATIVE, warps.total_ns),
	MEMBER(lags, COUNT, lags.count),
	MEMBER(lag_max_ns, NOT_NEGATIVE, lags.max_ns),
	MEMBER(lag_total_ns, NOT_NEGATIVE, lags.total_ns),
	MEMBER(gaps, COUNT, gaps.count),
	MEMBER(gap_max_ns, NOT_NEGATIVE, gaps.max_ns),
	MEMBER(gap_total_ns, NOT_NEGATIVE, gaps.total_ns),
	MEMBER(cpus, CPUS, cpus),
	MEMBER(migrations, COUNT, migrations),
	MEMBER(precision_bits, BITS, precision_bits),
	MEMBER(ticks, TICKS, entries),
	MEMBER(counts, COUNTS, entries)
};

void
sample_malformed(int sqlstate, const char *detail)
{
	ereport(ERROR,
			(errcode(sqlstate),
			 errmsg("malformed clock_sample value"),
			 errdetail_internal("%s", detail),
			 errhint("Use values that clock_measure() or clock_merge() has returned, unchanged.")));
}

void
sample_check_version(int64 version, int sqlstate)
{
	if (version > SAMPLE_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("clock_sample value of version %lld cannot be read", (long long) version),
				 errdetail("This clocktiming reads versions up to %d.", SAMPLE_VERSION),
				 errhint("Install a newer clocktiming.")));
	if (version < 1)
		sample_malformed(sqlstate, psprintf("The version is " INT64_FORMAT ".", version));
}

/* Returns whether ISO 8601 writes the year with four digits. */
static bool
time_in_range(TimestampTz at)
{
	int64		year_1 = -(int64) (POSTGRES_EPOCH_JDATE - date2j(1, 1, 1)) * USECS_PER_DAY;
	int64		year_10000 = (int64) (date2j(10000, 1, 1) - POSTGRES_EPOCH_JDATE) * USECS_PER_DAY;

	return at >= year_1 && at < year_10000;
}

static void
check_cpus(const ClockSample *sample, int sqlstate)
{
	for (int i = 0; i < sample->ncpus; i++)
	{
		if (sample->cpus[i] < 0 || (i > 0 && sample->cpus[i] <= sample->cpus[i - 1]))
			sample_malformed(sqlstate, "The array \"cpus\" is not in ascending order, or has a negative value.");
		if (sample->cpus[i] >= SAMPLE_MAX_CPUS)
			sample_malformed(sqlstate, psprintf("The array \"cpus\" has a value above %d.",
												SAMPLE_MAX_CPUS - 1));
	}
}

/*
 * Checks the durations.  Their counts and the backward steps must add up to the number of readings,
 * which shows most errors of samples that were edited by hand.
 */
static void
check_entries(const ClockSample *sample, int sqlstate)
{
	int64		total = 0;

	if (sample->n > SAMPLE_MAX_ENTRIES)
		sample_malformed(sqlstate, psprintf("The array \"ticks\" has more than %d elements.",
											SAMPLE_MAX_ENTRIES));
	for (int i = 0; i < sample->n; i++)
	{
		const TallyEntry *entry = &sample->entries[i];

		if ((int64) entry->ticks < 0)
			sample_malformed(sqlstate, "The array \"ticks\" contains a negative value.");
		if (i > 0 && entry->ticks <= entry[-1].ticks)
			sample_malformed(sqlstate, "The array \"ticks\" is not in ascending order.");
		if ((int64) entry->count <= 0)
			sample_malformed(sqlstate, "The array \"counts\" contains a value that is not positive.");
		if (pg_add_s64_overflow(total, (int64) entry->count, &total))
			sample_malformed(sqlstate, "The sum of the array \"counts\" is out of range.");
	}
	if (sample->n > 0 &&
		sample_ns(sample, (double) sample->entries[sample->n - 1].ticks) >= (double) PG_INT64_MAX)
		sample_malformed(sqlstate, "The longest duration is out of range in nanoseconds.");
	if (pg_add_s64_overflow(total, sample->backward_steps, &total) || total != sample->readings)
		sample_malformed(sqlstate, "The counts and \"backward_steps\" do not add up to \"readings\".");
}

static void
check_number(const SampleMember *m, double value, int sqlstate)
{
	if (m->kind == MEMBER_UNLESS_NAN && isnan(value))
		return;
	if (!isfinite(value) || (m->kind != MEMBER_NUMBER && value < 0) ||
		(m->kind == MEMBER_POSITIVE && value == 0))
		sample_malformed(sqlstate, psprintf("The member \"%s\" is %g.", m->name, value));
}

/* Checks each member according to its kind.  For MEMBER_TICKS, also checks the counts. */
void
sample_check(const ClockSample *sample, int sqlstate)
{
	for (int i = 0; i < SAMPLE_MEMBERS; i++)
	{
		const SampleMember *m = &sample_members[i];
		const void *member = (const char *) sample + m->offset;

		switch (m->kind)
		{
			case MEMBER_TEXT:
				if (strlen(*(const char *const *) member) > SAMPLE_MAX_NAME)
					sample_malformed(sqlstate, psprintf("The member \"%s\" has more than %d bytes.",
														m->name, SAMPLE_MAX_NAME));
				break;
			case MEMBER_TIME:
				if (!time_in_range(int64_of(member)))
					sample_malformed(sqlstate, psprintf("The member \"%s\" is out of range.", m->name));
				break;
			case MEMBER_COUNT:
				if (int64_of(member) < 0)
					sample_malformed(sqlstate, psprintf("The member \"%s\" is negative.", m->name));
				break;
			case MEMBER_BITS:
				if (sample->precision_bits < 1 || sample->precision_bits > TALLY_EXACT)
					sample_malformed(sqlstate, psprintf("The member \"%s\" is %d.",
														m->name, sample->precision_bits));
				break;
			case MEMBER_CPUS:
				check_cpus(sample, sqlstate);
				break;
			case MEMBER_TICKS:
				check_entries(sample, sqlstate);
				break;
			case MEMBER_COUNTS:
				break;
			default:
				check_number(m, double_of(member), sqlstate);
		}
	}
}
