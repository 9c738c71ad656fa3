/* The criteria for this server's clocks, which clock_advice() and clock_check() share. */
#ifndef CLOCKTIMING_CLOCK_CRITERIA_H
#define CLOCKTIMING_CLOCK_CRITERIA_H

#include "clock/measure/skew_run.h"
#include "clock/measure/survey_run.h"

/*
 * A reading is expensive if it costs more than EXPENSIVE_NS, or nearly as much as a system call.
 * If the cost of a system call is unknown, the second limit is EXPENSIVE_RATIO times the cost of
 * the cheapest clock.
 */
#define EXPENSIVE_RATIO		3.0
#define EXPENSIVE_NS		200.0

/* Largest deviation of a clock's rate that NTP can cause, in ppm. */
#define RATE_PPM			600.0

/* A notice is issued if other processes had the CPU for this percentage of the run. */
#define LOST_PERCENT		10.0

/* Deviation of a stated TSC frequency from the calibrated one that yields a notice, in ppm. */
#define FREQUENCY_PPM		100.0

typedef enum Severity
{
	OK,
	WORTH_NOTICE,
	WORTH_WARNING,
	N_SEVERITIES,
	NOT_KNOWN = N_SEVERITIES
} Severity;

extern const char *const severity_names[N_SEVERITIES];

/* The clocks that PostgreSQL reads or could read. */
enum
{
	SYSTEM, INSTR_TIME, RDTSCP, RDTSC, N_CLOCKS
};

typedef struct Faults
{
	int64		count;
	char	   *names;			/* names of the clocks; NULL: none */
} Faults;

typedef struct Facts
{
	SurveyedClock clocks[N_CLOCKS];
	ReadingCost system_call;
	double		expensive_ns;	/* threshold of an expensive reading */
	Faults		backward_steps;
	Faults		warps;
	Faults		lags;
	double		lost_percent;	/* percentage of the run off the CPU */
	double		gaps_ns;		/* sum of all clocks' gaps */
	double		throttled_ns;	/* system_throttled_ns() in the run */

	/* the reference clock is the system clock, so errors of it are unseen */
	bool		self_reference;

	/* duration of comparing the CPUs' clocks; 0: not requested */
	double		skew_duration_s;
	char	   *why_no_skew;	/* NULL: the skew is known */
	Skew		skew;
} Facts;

/* Checks in the order of clock_check(). */
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

typedef struct Criterion
{
	const char *check_name;
	double		figure;			/* NAN: not determined */
	double		limit;			/* INFINITY: always passed */
	const char *unit;
	const char *detail;			/* may be NULL */
} Criterion;

/* Surveys the clocks for duration_s seconds.  If "skew", also compares the clocks of all CPUs. */
extern Facts *clock_facts(double duration_s, bool skew);

/* Returns whether no clock that is independent of the reference clock was compared with it. */
extern bool jumps_are_unseen(const Facts *facts);

/* Returns whether the rate of the clock that the server reads cannot be known. */
extern bool rate_is_unseen(const Facts *facts);

extern void clock_criteria(const Facts *facts, Criterion criteria[N_CHECKS]);

extern bool clock_is_available(const SurveyedClock *clock);

/* Returns the excess of the clock's rate over the reference's rate, in ppm. */
extern double rate_ppm(const SurveyedClock *clock);

extern double rate_bound_ppm(const SurveyedClock *clock);

/* Returns the clock whose rate has the larger proven error: SYSTEM or INSTR_TIME. */
extern const SurveyedClock *clock_of_worst_rate(const Facts *facts);

extern const char *gaps_in_words(const Facts *facts);

#endif							/* CLOCKTIMING_CLOCK_CRITERIA_H */
