/*-------------------------------------------------------------------------
 *
 * source.h
 *	  The one table of clocks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_SOURCE_H
#define CLOCKTIMING_SOURCE_H

#include "nodes/pg_list.h"
#include "utils/array.h"

#include "core/os_clocks.h"
#include "core/sampler.h"

typedef struct ClockSource ClockSource;

/*
 * A clock source.  One more clock of the operating system is one more entry
 * in os_clocks.c; another one is an entry in source.c, with a reader by
 * DEFINE_CLOCK_READER() and a reason for where it is not available.
 */
struct ClockSource
{
	const char *name;
	const char *description;
	ClockKind	kind;

	/* NULL if the clock can be read now, else the reason why not */
	const char *(*why_not) (const ClockSource *source);

	/* the reader; NULL where the platform does not have the clock */
	const ClockReader *reader;

	/*
	 * The functions that follow may be called only where why_not() returned
	 * NULL.
	 *
	 * What a reading reads: a system call with its clock, or an instruction.
	 */
	const char *(*reads) (const ClockSource *source);

	/* ticks a second and where that figure comes from; may take 50 ms */
	double		(*frequency_hz) (const ClockSource *source, const char **from);

	/* as the system reports it, in nanoseconds; 0 if it does not */
	double		(*resolution_ns) (const ClockSource *source);

	/* what those above look at: what is read, a clock of the system or NULL */
	const char *call;
	const OsClock *os;
};

/* All sources that there are, available or not, in the order of listings. */
extern int	clock_source_count(void);
extern const ClockSource *clock_source_at(int i);

/* The source of that name, whatever the case of its letters; NULL if none. */
extern const ClockSource *clock_source_find(const char *name);

/* Such a source, ready to be read.  ERROR if there is none or it is not available. */
extern const ClockSource *clock_source_get(const char *name);

/*
 * The sources that an argument called "sources" names, each once, available or
 * not, in the order given; all where one of the names is "all".  ERROR if it is
 * empty, contains a null or an unknown name.
 */
extern List *clock_sources_of_array(ArrayType *array);

/*
 * By how much the clock may be late by its nature, in ns: a coarse one advances
 * with a timer interrupt, which a hypervisor can delay.
 */
extern double clock_source_slack_ns(const ClockSource *source);

/* Whether a reading is one instruction. */
extern bool clock_source_is_instruction(const ClockSource *source);

/* A clock to judge others by. */
#define REFERENCE_BY_DEFAULT "kernel"

typedef struct ClockReference
{
	const char *name;			/* of the source, or REFERENCE_BY_DEFAULT */
	uint64_t	(*ns) (void);	/* nanoseconds since some moment */
} ClockReference;

/*
 * The reference of that name: REFERENCE_BY_DEFAULT, which is reference_ns(), or
 * that of a source.  ERROR if it is not available, coarse or counts CPU time.
 * There is one reference by the TSC at a time: its "ns" is that of the latest
 * call.
 */
extern ClockReference clock_reference_get(const char *name);

/* The source that the server reads for EXPLAIN ANALYZE, or all other timing. */
extern const char *clock_source_for_explain(void);
extern const char *clock_source_for_other_timing(void);

/* What EXPLAIN ANALYZE reads now: a system call with its clock, or RDTSC. */
extern const char *clock_of_explain(void);

/* The TSC's frequency by tsc_frequency(), interruptible. */
struct CounterFrequency;
extern const struct CounterFrequency *calibrated_tsc_frequency(void);

#endif							/* CLOCKTIMING_SOURCE_H */
