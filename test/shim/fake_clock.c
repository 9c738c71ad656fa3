/*-------------------------------------------------------------------------
 *
 * fake_clock.c
 *	  For LD_PRELOAD: injects faults into CLOCK_MONOTONIC of a process, by a schedule.
 *
 * The environment variable FAKE_CLOCK_CONTROL names the control file (see shim.h).  A test writes a
 * schedule to this file, and then a new generation number.  This number makes the schedule
 * effective at the process's next call of clock_gettime().  The process writes the number of
 * injected faults and other results to the file.
 *
 * When a fault is due by the schedule, it is injected at the next undisturbed call.  A call is
 * undisturbed if the time since the previous call is at most four times the shortest time between
 * two calls.  After a longer time, a backward step could be smaller than the time that has passed.
 * Then the reading would exceed the previous one, and the step could not be detected.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "shim.h"

enum
{
	/* the schedule, which the test writes */
	GENERATION,					/* number of the schedule */
	PID,						/* process whose clock is faulty */
	KIND,						/* kind of fault, see below */
	FIRST,						/* number of the first call with a fault */
	EVERY,						/* minimum number of calls between two faults */
	TIMES,						/* maximum number of faults */
	SIZE,						/* size of a fault, see below */
	UNUSED,

	/* results, which the test reads */
	SEEN,						/* number of the schedule of these results */
	CALLS,						/* number of calls */
	FAULTS,						/* number of injected faults */
	REPEATS,					/* number of readings equal to the previous one */
	TRUE_REPEATS,				/* number of true times equal to the previous one */
	BACKWARD_STEPS,				/* number of readings below the previous one */
	BACKWARD_MAX,				/* largest of these steps, in ns */
	GAPS,						/* number of true durations of 10 us or more */
	HIDDEN,						/* number of these gaps while the clock stood still */
	WORDS
};

/* kinds of fault */
enum
{
	NOTHING,
	BACK,						/* step back by SIZE ns */
	BACK_ONCE,					/* one reading that is SIZE ns too small */
	STILL,						/* SIZE calls return the last value again */
	STILL_FOR_GOOD,				/* all later calls return the last value again */
	JUMP,						/* step ahead by SIZE ns */
	FAST,						/* runs SIZE ppm fast */
	RANDOM						/* returns random times below SIZE ns */
};

#define GAP_NS	10000

/* state of this process since it has read the current schedule */
static int64_t generation;
static int	armed;				/* this process is the one with the faulty clock */
static int64_t next_fault;		/* number of the next call that may have a fault */
static int64_t still_left;		/* number of calls to come that return last_told */
static int64_t offset;			/* sum of the steps, in ns */
static int64_t fast_since;		/* true time since which the clock runs fast */
static uint64_t random_state;	/* 0: times are not random yet */
static int64_t shortest;		/* shortest true duration above 0, in ns */
static int64_t last_true;		/* true time of the previous call */
static int64_t last_told;		/* time that the previous call returned */

static void __attribute__((constructor))
attach(void)
{
	map_control("FAKE_CLOCK_CONTROL", WORDS);
}

static void
read_schedule(void)
{
	generation = control[GENERATION];
	armed = control[PID] == getpid();
	if (!armed)
		return;
	next_fault = control[FIRST];
	still_left = offset = fast_since = shortest = last_true = last_told = 0;
	random_state = 0;
	for (int i = CALLS; i < WORDS; i++)
		control[i] = 0;
	control[SEEN] = generation;
}

/* Returns the faulty time for a true time. */
static int64_t
lie(int64_t now)
{
	int64_t		size = control[SIZE];
	int64_t		passed = now - last_true;
	int			quiet = 0;
	int			due;
	int64_t		told;

	control[CALLS]++;
	if (last_true != 0)
	{
		if (passed > 0 && (shortest == 0 || passed < shortest))
			shortest = passed;
		quiet = passed <= 4 * shortest;
		control[TRUE_REPEATS] += passed == 0;
		control[GAPS] += passed >= GAP_NS;
		control[HIDDEN] += passed >= GAP_NS && still_left > 0;
	}
	due = quiet && control[CALLS] >= next_fault &&
		control[FAULTS] < control[TIMES] && still_left == 0;
	if (due)
	{
		control[FAULTS]++;
		next_fault = control[CALLS] + control[EVERY];
	}

	switch (control[KIND])
	{
		case BACK:
			if (due)
				offset -= size;
			break;
		case JUMP:
			if (due)
				offset += size;
			break;
		case STILL:
			if (due)
				still_left = size;
			break;
		case STILL_FOR_GOOD:
			if (due)
				still_left = INT64_MAX;
			break;
		case FAST:
			if (due)
				fast_since = now;
			break;
		case RANDOM:
			if (due)
				random_state = 88172645463325252U;
			break;
	}

	told = now + offset;
	if (due && control[KIND] == BACK_ONCE)
		told -= size;
	if (fast_since != 0)
		told += (now - fast_since) * size / 1000000;
	if (random_state != 0)
	{
		random_state ^= random_state << 13;
		random_state ^= random_state >> 7;
		random_state ^= random_state << 17;
		told = (int64_t) (random_state % (uint64_t) size);
	}
	if (still_left > 0)
	{
		still_left--;
		told = last_told;
	}

	if (last_true != 0)
	{
		control[REPEATS] += told == last_told;
		if (told < last_told)
		{
			control[BACKWARD_STEPS]++;
			if (last_told - told > control[BACKWARD_MAX])
				control[BACKWARD_MAX] = last_told - told;
		}
	}
	last_true = now;
	last_told = told;
	return told;
}

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	int			result = real_clock_gettime(id, ts);

	if (id != CLOCK_MONOTONIC || result != 0 || control == NULL)
		return result;
	if (control[GENERATION] != generation)
		read_schedule();
	if (armed)
		*ts = from_ns(lie(to_ns(ts)));
	return 0;
}
