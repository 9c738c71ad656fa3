/*
 * Bounds the error of the watched clock.
 *
 * VMClock states the frequency of the processor's counter with a bound of its error.  Two readings
 * of clock and counter, an interval apart, give the clock's rate relative to the counter.  The
 * bound is the sum of this difference by the first or last stated frequency, whichever is larger,
 * its uncertainty (half of the widths of both readings), and the bound that VMClock states.
 */
#include "postgres.h"

#include <math.h>

#include "clock/measure/instr_clock.h"
#include "clock/measure/migration.h"
#include "clock/measure/source.h"
#include "clock/watch/watch_bound.h"
#include "core/reference.h"
#include "core/timing_counter.h"

/* Maximum number of comparisons of the clock with the counter, and largest accepted width in ns. */
#define TRIES			9
#define MOST_WIDTH_NS	1000000

/* A reading of the clock, of the processor's counter, and of VMClock. */
typedef struct BoundReading
{
	const ClockSource *source;
	VmClockMarks marks;			/* not known: there is no bound */
	double		hz;				/* frequency of the counter */
	double		hz_bound_ppm;
	ReferencePair pair;			/* the counter; the clock is its reference */
} BoundReading;

/* Reads clock, counter and VMClock.  Without a bound of the frequency, the marks are not known. */
static BoundReading
read_now(const ClockSource *source)
{
	BoundReading reading = {.source = source};
#ifdef CLOCKTIMING_HAVE_COUNTER
	VmClock		clock;

	vmclock_read(VMCLOCK_DEVICE, &clock);
	reading.hz = vmclock_hz(&clock);
	reading.hz_bound_ppm = clock.hz_bound_ppm;
	if (isnan(reading.hz) || isnan(reading.hz_bound_ppm) || timing_counter_why_not() != NULL)
		return reading;
	if (!clock_source_is_instruction(source))
	{
		reading.pair = reference_pair(source->reader->read, timing_counter_read, TRIES, 0, NULL,
									  NULL);
		/* the width is huge if the clock went backwards */
		if (reading.pair.width_ns > MOST_WIDTH_NS)
			return reading;
	}
	reading.marks = vmclock_marks(&clock);
#endif
	return reading;
}

/* Returns the excess of the clock's rate in ppm, if the counter's frequency is counter_hz. */
static double
excess_ppm(const BoundReading *from, const BoundReading *to, double counter_hz, double hz)
{
	double		clock_ns = (double) (int64) (to->pair.reference_ns - from->pair.reference_ns);
	double		ticks = (double) (int64) (to->pair.reading - from->pair.reading);

	/* the clock is the counter itself, converted to time by another frequency */
	if (clock_source_is_instruction(to->source))
		return (counter_hz / hz - 1) * 1e6;
	if (clock_ns <= 0 || ticks <= 0)
		return NAN;
	return (clock_ns / (ticks * 1e9 / counter_hz) - 1) * 1e6;
}

/* Returns the uncertainty of excess_ppm(), in ppm. */
static double
uncertainty_ppm(const BoundReading *from, const BoundReading *to)
{
	if (clock_source_is_instruction(to->source))
		return 0;
	return (double) (from->pair.width_ns + to->pair.width_ns) / 2 /
		(double) (int64) (to->pair.reference_ns - from->pair.reference_ns) * 1e6;
}

double
watch_bound_ppm(const ClockSource *source, double hz)
{
	static BoundReading from;
	BoundReading to = read_now(source);
	double		bound_ppm = NAN;

	if (from.source == source && migration_between(&from.marks, &to.marks) == MIGRATION_NONE)
	{
		double		by_first = fabs(excess_ppm(&from, &to, from.hz, hz));
		double		by_last = fabs(excess_ppm(&from, &to, to.hz, hz));

		/* NAN if the excess is */
		bound_ppm = (by_first > by_last ? by_first : by_last) +
			fmax(from.hz_bound_ppm, to.hz_bound_ppm) + uncertainty_ppm(&from, &to);
	}
	from = to;
	return bound_ppm;
}
