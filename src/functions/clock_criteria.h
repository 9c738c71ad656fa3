/*-------------------------------------------------------------------------
 *
 * clock_criteria.h
 *	  By what this server's clocks are judged: the one table of criteria that
 *	  clock_advice() and clock_check() share.
 *
 * Names of clock sources say little: kvm-clock read through the vDSO costs
 * hardly more than the TSC, and a TSC that the hypervisor intercepts costs more
 * than either.  So clocks are judged by what is measured.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_CLOCK_CRITERIA_H
#define CLOCKTIMING_CLOCK_CRITERIA_H

#include "clock/skew_run.h"
#include "functions/clock_survey.h"

/*
 * A reading is expensive if it costs as much as a system call; where that is not
 * known, if it costs so many times what a cheap one does; or so many ns.
 */
#define EXPENSIVE_RATIO		3.0
#define EXPENSIVE_NS		200.0

/* A rate that NTP does not explain. */
#define RATE_PPM			600.0

/* A frequency that is stated is worth a word if it is wrong by so much. */
#define FREQUENCY_PPM		100.0

typedef enum Severity
{
	OK,
	WORTH_NOTICE,
	WORTH_WARNING,
	N_SEVERITIES
} Severity;

extern const char *const severity_names[N_SEVERITIES];

/* The clocks that PostgreSQL reads, or could. */
enum
{
	SYSTEM, INSTR_TIME, RDTSCP, RDTSC, N_CLOCKS
};

/* What the wrongs of a kind add up to, in all clocks, and whose they are. */
typedef struct Wrongs
{
	int64		count;
	char	   *names;			/* NULL: nobody's */
} Wrongs;

/* All that is measured. */
typedef struct Facts
{
	SurveyedClock clocks[N_CLOCKS];
	ReadingCost system_call;
	double		expensive_ns;	/* a reading that costs more is expensive */
	Wrongs		backward_steps;
	Wrongs		warps;
	Wrongs		lags;
	double		lost_percent;	/* off the CPU while the system clock was
								 * watched */

	/* in seconds; 0: not asked for */
	double		skew_duration_s;
	char	   *why_no_skew;	/* NULL: it is known */
	Skew		skew;
} Facts;

/* The checks, in the order of clock_check(). */
typedef enum Check
{
	CHECK_COST,
	CHECK_BACKWARD_STEPS,
	CHECK_WARPS,
	CHECK_LAGS,
	CHECK_DRIFT,
	CHECK_SKEW,
	CHECK_GAPS,
	CHECK_TSC_FREQUENCY,
	CHECK_INVARIANT_TSC,
	N_CHECKS
} Check;

/*
 * What was found in a check, and what is allowed.  What exceeds it makes timings
 * wrong or expensive.
 */
typedef struct Criterion
{
	const char *check_name;
	double		figure;			/* NAN: it could not be found */
	double		limit;			/* infinity: nothing is wrong */
	const char *unit;
	const char *detail;			/* may be NULL */
} Criterion;

/*
 * Measures for so many seconds, with progress reports.  The skew, which takes a
 * background worker, is left out if it is not asked for.  Can be cancelled.
 */
extern Facts *clock_facts(double duration_s, bool skew);

/* The table; NULL in criteria[i].detail where there is nothing to say. */
extern void clock_criteria(const Facts *facts, Criterion criteria[N_CHECKS]);

/* Whether the clock can be read here. */
extern bool clock_is_available(const SurveyedClock *clock);

/* How much faster than the reference the clock runs, and within which bound. */
extern double rate_ppm(const SurveyedClock *clock);
extern double rate_bound_ppm(const SurveyedClock *clock);

/* The clock whose rate is the most wrong, of those that the server reads. */
extern const SurveyedClock *clock_of_worst_rate(const Facts *facts);

/* Gaps, in words. */
extern const char *gaps_in_words(const Facts *facts);

#endif							/* CLOCKTIMING_CLOCK_CRITERIA_H */
