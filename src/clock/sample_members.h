/*-------------------------------------------------------------------------
 *
 * sample_members.h
 *	  The members of a clock_sample, as all its forms have them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_SAMPLE_MEMBERS_H
#define CLOCKTIMING_SAMPLE_MEMBERS_H

#include "clock/sample_value.h"
#include "compat.h"

/*
 * The version that is written; versions from 1 to this one are read.  Members
 * are never taken away, and their order never changes: a version 2 adds some at
 * the end.  The table then says from which version on there is a member, and
 * what it is in an older value.  Equality compares stored bytes: it then has to
 * make older ones new first.
 */
#define SAMPLE_VERSION		1

/*
 * Bounds of a value.  A tally holds TALLY_MOST distinct durations, so no run
 * and no merge of runs has more.  Names are shorter than that by far.
 */
#define SAMPLE_MAX_ENTRIES	TALLY_MOST
#define SAMPLE_MAX_CPUS		SAMPLER_MAX_CPUS
#define SAMPLE_MAX_NAME		255 /* bytes */

typedef enum MemberKind
{
	MEMBER_TEXT,
	MEMBER_TIME,
	MEMBER_COUNT,				/* int64, not negative */
	MEMBER_NUMBER,				/* a finite double */
	MEMBER_NOT_NEGATIVE,
	MEMBER_POSITIVE,
	MEMBER_UNLESS_ZERO,			/* positive; 0 is null */
	MEMBER_UNLESS_NAN,			/* not negative; NaN is null */
	MEMBER_CPUS,
	MEMBER_BITS,
	MEMBER_TICKS,
	MEMBER_COUNTS
} MemberKind;

typedef struct SampleMember
{
	const char *name;
	MemberKind	kind;
	size_t		offset;			/* in a ClockSample */
} SampleMember;

#define SAMPLE_MEMBERS		30

extern const SampleMember sample_members[SAMPLE_MEMBERS];

/* Those of eight bytes: an int64 or a double. */
extern int64 int64_of(const void *member);
extern double double_of(const void *member);

/* ERROR with this SQLSTATE ... */
pg_noreturn extern void sample_malformed(int sqlstate, const char *detail);

/* ... if there is no such version, and another one if it is newer ... */
extern void sample_check_version(int64 version, int sqlstate);

/* ... if the value makes no sense or is too large. */
extern void sample_check(const ClockSample *sample, int sqlstate);

#endif							/* CLOCKTIMING_SAMPLE_MEMBERS_H */
