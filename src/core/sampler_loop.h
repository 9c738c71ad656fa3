/*-------------------------------------------------------------------------
 *
 * sampler_loop.h
 *	  How to read one clock: the hot loop, as a template, one instance a clock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_SAMPLER_LOOP_H
#define CLOCKTIMING_SAMPLER_LOOP_H

#include "core/tally.h"

/*
 * "read" takes one reading.  "block" takes 2 * pairs + 2 readings in a row,
 * counts the durations between them, stores the first reading and returns the
 * last.  "repeat" takes n readings and does nothing but add them up.
 */
typedef struct ClockReader
{
	uint64_t	(*read) (void);
	uint64_t	(*block) (Tally *tally, int pairs, uint64_t *first);
	uint64_t	(*repeat) (int n);
} ClockReader;

/*
 * Accounts for one duration.  One unsigned compare tells the common case, 1 to
 * usual - 1 ticks, where "usual" is the tally's, from all others: 0 wraps around
 * to the largest number, and so does whatever is below 0.
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
 * DEFINE_CLOCK_READER(name, READ) defines "const ClockReader name", where READ
 * is an expression that reads the clock once and gives uint64_t ticks.  Its two
 * parts are there for a reader that only one file knows.
 *
 * Software pipelining: the next reading is issued before the duration in hand
 * is accounted for, so that the accounting takes place while the reading is
 * under way.  The two tables keep successive increments, which nearly always
 * hit the same counter, from waiting for each other.
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
