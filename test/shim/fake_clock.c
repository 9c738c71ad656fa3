/*-------------------------------------------------------------------------
 *
 * fake_clock.c
 *	  For LD_PRELOAD: a CLOCK_MONOTONIC with faults on a schedule.
 *
 * A test writes the schedule into the control file, FAKE_CLOCK_CONTROL (see shim.h), and then a new
 * generation number.  It reads back the faults that were injected; the words are listed below.
 * Faults are injected into one process, whose pid the file contains.  The process checks the
 * generation at each call.
 *
 * Calls are counted from the new generation on.  A fault is injected at the first undisturbed call
 * that the schedule allows: one that follows the previous call about as soon as calls ever do.
 * Otherwise a process that loses the CPU right before a backward step would not see the clock go
 * backwards.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "shim.h"

enum
{
	/* the schedule, written by the test */
	GENERATION,
	PID,
	KIND,
	FIRST,						/* no fault before this call */
	EVERY,						/* least number of calls between two faults */
	TIMES,						/* largest number of faults */
	SIZE,						/* size of the fault: ns, calls, or ppm */
	UNUSED,

	/* results, read by the test */
	SEEN,						/* generation of the results */
	CALLS,
	FAULTS,
	REPEATS,					/* readings equal to the previous one ... */
	TRUE_REPEATS,				/* ... including those of the true clock */
	BACKWARD_STEPS,
	BACKWARD_MAX,				/* ns */
	GAPS,						/* number of true durations of at least GAP_NS ... */
	HIDDEN,						/* ... while the clock stood still */
	WORDS
};

enum
{
	NOTHING,
	BACK,						/* SIZE ns back, permanently */
	BACK_ONCE,					/* one reading is SIZE ns early */
	STILL,						/* repeats its last value for SIZE calls */
	STILL_FOR_GOOD,				/* repeats its last value for ever */
	JUMP,						/* SIZE ns ahead, permanently */
	FAST,						/* runs SIZE ppm fast */
	RANDOM						/* returns a random time below SIZE ns */
};

#define GAP_NS	10000

/* of the current schedule */
static int64_t generation;
static int	armed;
static int64_t next_fault;
static int64_t still_left;
static int64_t offset;
static int64_t fast_since;
static uint64_t random_state;	/* 0: not seeded */
static int64_t shortest;		/* shortest true duration so far, above 0 */
static int64_t last_true;
static int64_t last_told;

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
