/* The loop that reads a clock.  It is a macro, so that each clock's reading is compiled into it. */
#ifndef CLOCKTIMING_SAMPLER_LOOP_H
#define CLOCKTIMING_SAMPLER_LOOP_H

#include "clock/sampling/tally.h"

/*
 * Functions that read one clock, in ticks.  "read" returns one reading.  "block" takes 2 * pairs +
 * 2 successive readings, counts the durations between them, stores the first reading and returns
 * the last one.  "repeat" returns the sum of n readings.
 */
typedef struct ClockReader
{
	uint64_t	(*read) (void);
	uint64_t	(*block) (Tally *tally, int pairs, uint64_t *first);
	uint64_t	(*repeat) (int n);
} ClockReader;

/*
 * Counts the duration b - a of two successive readings. tally_unusual() counts stalls, backward
 * steps and long durations.  One comparison finds all three, because ticks_ - 1 is a huge unsigned
 * number for stalls and backward steps.
 */
#define CLOCK_STEP(tally, usual, table, a, b) \
	do { \
		uint64_t	ticks_ = (b) - (a); \
		\
		if (__builtin_expect(ticks_ - 1 < (usual) - 1, 1)) \
			(tally)->direct[table][ticks_]++; \
		else \
			tally_unusual((tally), (a), (b)); \
	} while (0)

/*
 * DEFINE_CLOCK_READER(name, READ) defines "const ClockReader name".  READ is an expression that
 * reads the clock once and returns uint64_t ticks.  For a static reader, use
 * CLOCK_READER_FUNCTIONS() and CLOCK_READER().
 *
 * The loop issues the next reading before it counts the previous duration, so that the processor
 * counts while it reads (software pipelining).  Successive durations are often equal, and would
 * increment the same counter, so that increments would wait for each other.  Therefore the loop
 * uses two tables of counters alternately.
 */
#define CLOCK_READER_FUNCTIONS(name, READ) \
static uint64_t \
name##_read(void) \
{ \
	return (READ); \
} \
\
static uint64_t \
name##_block(Tally *tally, int pairs, uint64_t *first) \
{ \
	const uint64_t usual = tally->usual; \
	uint64_t	a = (READ); \
	uint64_t	b = (READ); \
	uint64_t	c; \
	uint64_t	d; \
	\
	*first = a; \
	for (int i = 0; i < pairs; i++) \
	{ \
		c = (READ); \
		CLOCK_STEP(tally, usual, 0, a, b); \
		d = (READ); \
		CLOCK_STEP(tally, usual, 1, b, c); \
		a = c; \
		b = d; \
	} \
	CLOCK_STEP(tally, usual, 0, a, b); \
	return b; \
} \
\
static uint64_t \
name##_repeat(int n) \
{ \
	uint64_t	sum = 0; \
	\
	for (int i = 0; i < n; i++) \
		sum += (READ); \
	return sum; \
}

#define CLOCK_READER(name) {name##_read, name##_block, name##_repeat}

#define DEFINE_CLOCK_READER(name, READ) \
CLOCK_READER_FUNCTIONS(name, READ) \
const ClockReader name = CLOCK_READER(name)

#endif							/* CLOCKTIMING_SAMPLER_LOOP_H */
