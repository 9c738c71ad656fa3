/* The members of a clock_sample, and its binary and JSON forms. */
#ifndef CLOCKTIMING_SAMPLE_MEMBERS_H
#define CLOCKTIMING_SAMPLE_MEMBERS_H

#include "lib/stringinfo.h"
#include "utils/jsonb.h"

#include "clock/measure/sample_value.h"
#include "compat.h"

/*
 * Version of new samples.  Versions from 1 to this one can be read.  A new version may only add
 * members at the end.  Then the table sample_members must state each member's first version, and
 * its value in older samples.  Older samples must be converted before a comparison, because
 * equality compares stored bytes.
 */
#define SAMPLE_VERSION		1

/* Limits of a clock_sample.  Runs and merges return at most TALLY_MOST distinct durations. */
#define SAMPLE_MAX_ENTRIES	TALLY_MOST
#define SAMPLE_MAX_CPUS		SAMPLER_MAX_CPUS
#define SAMPLE_MAX_NAME		255 /* bytes */

typedef enum MemberKind
{
	MEMBER_TEXT,
	MEMBER_TIME,
	MEMBER_COUNT,				/* int64, not negative */
	MEMBER_NUMBER,				/* finite double */
	MEMBER_NOT_NEGATIVE,
	MEMBER_POSITIVE,
	MEMBER_UNLESS_ZERO,			/* positive; 0 is null in JSON */
	MEMBER_UNLESS_NAN,			/* not negative; NaN is null in JSON */
	MEMBER_CPUS,
	MEMBER_BITS,
	MEMBER_TICKS,
	MEMBER_COUNTS
} MemberKind;

typedef struct SampleMember
{
	const char *name;
	MemberKind	kind;
	size_t		offset;			/* offset in ClockSample */
} SampleMember;

#define SAMPLE_MEMBERS		30

extern const SampleMember sample_members[SAMPLE_MEMBERS];

#define int64_of(member)	(*(const int64 *) (member))
#define double_of(member)	(*(const double *) (member))

pg_noreturn extern void sample_malformed(int sqlstate, const char *detail);

/* Raises an error if the version is less than 1 or greater than SAMPLE_VERSION. */
extern void sample_check_version(int64 version, int sqlstate);

/* Raises an error if the value is inconsistent or too large. */
extern void sample_check(const ClockSample *sample, int sqlstate);

/* Convert to and from the binary form.  If "wire", texts in it are in the client's encoding. */
extern void sample_encode(StringInfo buf, const ClockSample *sample, bool wire);
extern ClockSample *sample_decode(StringInfo buf, bool wire);

/* Longest text that is parsed, in bytes: four times the largest value, to allow for white space. */
#define SAMPLE_MAX_TEXT		(2 * 1024 * 1024)

extern char *sample_to_json(const ClockSample *sample);
extern ClockSample *sample_from_jsonb(Jsonb *jsonb);

#endif							/* CLOCKTIMING_SAMPLE_MEMBERS_H */
