/*-------------------------------------------------------------------------
 *
 * fake_clock.c
 *	  For LD_PRELOAD: a CLOCK_MONOTONIC that lies, on a schedule.
 *
 * A test writes the schedule into the control file, FAKE_CLOCK_CONTROL, see
 * shim.h, its own new generation number last, and reads back what has really
 * been done: see the words below.  One process lies at a time, the one whose
 * pid the file bears, and it takes notice of a new generation at its next call.
 *
 * Calls are counted from there on.  A fault comes at the first quiet call that
 * its schedule allows: one which follows the one before about as soon as calls
 * ever do.  Otherwise a process that loses the CPU right before a step back
 * would not see the clock go backwards at all.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "shim.h"

enum
{
	/* the schedule, from the test */
	GENERATION,
	PID,
	KIND,
	FIRST,						/* no fault before this call */
	EVERY,						/* nor within so many calls of another */
	TIMES,						/* nor more faults than this */
	SIZE,						/* ns, calls, or ppm */
	UNUSED,

	/* what was done, for the test */
	SEEN,						/* the generation that all this belongs to */
	CALLS,
	FAULTS,
	REPEATS,					/* readings equal to the one before ... */
	TRUE_REPEATS,				/* ... of which the true clock's own */
	BACKWARD_STEPS,
	BACKWARD_MAX,				/* ns */
	GAPS,						/* true durations of GAP_NS and more ... */
	HIDDEN,						/* ... of which while the clock stood still */
	WORDS
};

enum
{
	NOTHING,
	BACK,						/* SIZE ns back, for good */
	BACK_ONCE,					/* one reading is SIZE ns early */
	STILL,						/* repeats its last value for SIZE calls */
	STILL_FOR_GOOD,				/* does so for ever */
	JUMP,						/* SIZE ns ahead, for good */
	FAST,						/* runs SIZE ppm fast */
	RANDOM						/* shows any time below SIZE ns, each time */
};

#define GAP_NS	10000

/* of the schedule in force */
static int64_t generation;
static int	armed;
static int64_t next_fault;
static int64_t still_left;
static int64_t offset;
static int64_t fast_since;
static uint64_t random_state;	/* 0: not yet */
static int64_t shortest;		/* true duration so far, above 0 */
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

/* What to tell in place of the true time. */
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
