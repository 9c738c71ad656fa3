/* The table of clock sources. */
#ifndef CLOCKTIMING_SOURCE_H
#define CLOCKTIMING_SOURCE_H

#include "nodes/pg_list.h"
#include "utils/array.h"

#include "clock/sampling/os_clocks.h"
#include "clock/sampling/sampler.h"

/*
 * A clock of the operating system needs an entry in os_clocks.c, any other clock one in source.c.
 * DEFINE_CLOCK_READER() defines its reader.  The reader is NULL on platforms that lack the clock.
 */

/* Returns NULL if the clock can be read now, else the reason why not.  May calibrate for 50 ms. */
extern const char *clock_source_why_not(const ClockSource *source);

/* The next three functions may only be called if clock_source_why_not() returns NULL. */

/* Returns the name of the instruction, or of the system call and its clock. */
extern const char *clock_source_reads(const ClockSource *source);

/* Returns the path of a preloaded library that replaces the call that reads the source; or NULL. */
extern const char *clock_source_interposed_by(const ClockSource *source);

/* Returns ticks per second.  If "from" is not NULL, sets *from to the origin of this frequency. */
extern double clock_source_hz(const ClockSource *source, const char **from);

/* Returns the reported resolution; 0: none is reported. */
extern double clock_source_resolution_ns(const ClockSource *source);

/* Return the number of sources, available or not, and the i-th one in the order of listings. */
extern int	clock_source_count(void);
extern const ClockSource *clock_source_at(int i);

/* Returns the source of this name, ignoring case; NULL if there is none. */
extern const ClockSource *clock_source_find(const char *name);

/*
 * Like clock_source_why_not(), but does not calibrate.  So it also returns NULL for a source whose
 * frequency cannot be found.
 */
extern const char *clock_source_why_unreadable(const ClockSource *source);

/* Returns the source of this name; ERROR if there is none or it is not available. */
extern const ClockSource *clock_source_get(const char *name);

/*
 * Returns the sources in an argument named "sources", without duplicates, available or not; all
 * sources for "all".  ERROR if the array is empty or contains a null or an unknown name.
 */
extern List *clock_sources_of_array(ArrayType *array);

/* Returns the largest delay of a coarse clock's timer interrupt, in ns; 0 for other clocks. */
extern double clock_source_slack_ns(const ClockSource *source);

/* Returns whether the source is read by instructions of the processor, without a call. */
extern bool clock_source_is_instruction(const ClockSource *source);

/*
 * Returns whether the source seems to be the reference clock under another name, so that its errors
 * cannot be seen.  Returns false for monotonic_raw, which is this clock by its definition.
 */
extern bool clock_source_is_reference(const ClockSource *source);

#define REFERENCE_BY_DEFAULT "kernel"

typedef struct ClockReference
{
	const char *name;			/* name of the source, or REFERENCE_BY_DEFAULT */
	uint64_t	(*ns) (void);	/* returns nanoseconds since some moment */
} ClockReference;

/*
 * Returns the reference of this name: reference_ns() for REFERENCE_BY_DEFAULT, else a source.
 * ERROR if the source is not available, is coarse, or counts CPU time.  Only one source that
 * does not count in nanoseconds can be a reference at a time: the one of the latest call.
 */
extern ClockReference clock_reference_get(const char *name);

/* Return names of the sources that the server reads for EXPLAIN ANALYZE and for other timing. */
extern const char *clock_source_for_explain(void);
extern const char *clock_source_for_other_timing(void);

/* Returns the instruction (RDTSC), or the call and its clock, that EXPLAIN ANALYZE uses now. */
extern const char *clock_of_explain(void);

/* Returns the TSC's frequency; NULL: not known.  May calibrate the TSC; can be cancelled. */
struct CounterFrequency;
extern const struct CounterFrequency *calibrated_tsc_frequency(void);

#endif							/* CLOCKTIMING_SOURCE_H */
