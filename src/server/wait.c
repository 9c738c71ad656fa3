/*
 * Waits in a long run.
 *
 * A latch wakes up at once when a signal arrives, but its timeout has a resolution of a
 * millisecond.  pg_usleep() wakes up only some 60 us late, but if a signal arrives just before it,
 * the signal takes effect only after the sleep.  So a wait uses the latch for all but its last
 * LAST_SLEEP_S to 2 * LAST_SLEEP_S, and pg_usleep() for the rest.
 *
 * A run that must observe its clock often sets Wait.awake.  Its wait consists of sleeps of at most
 * SHORT_SLEEP_S, after each of which awake() is called.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#include "server/wait.h"

/*
 * Time left, in s, below which wait_until() loops instead of sleeping, if Wait.awake is set.  A
 * sleep takes about 60 us longer than requested.
 */
#define AWAKE_S			100e-6
#define SHORT_SLEEP_S	1e-3	/* limit of wait_briefly() */

/*
 * A wait ends with a pg_usleep() of LAST_SLEEP_S to 2 * LAST_SLEEP_S, because a latch's timeout has
 * a resolution of only 1 ms.  A longer sleep would delay the response to a signal that arrives just
 * before the sleep.  After a shorter sleep, the CPU caches would still hold the previous wake-up's
 * data, so readings would be faster than after a usual wait.  LONGEST_SLEEP_S limits the delay of
 * progress reports.  A wake-up costs about 35 us of CPU time.
 */
#define LAST_SLEEP_S	0.01
#define LONGEST_SLEEP_S 0.1

void
wait_start(Wait *wait, const char *label, double total_s,
		   void (*report) (void *arg, double elapsed_s), void *arg)
{
	progress_start(&wait->progress, label, total_s);
	wait->report = report;
	wait->awake = NULL;
	wait->arg = arg;
}

void
wait_poll(Wait *wait, double elapsed_s)
{
	CHECK_FOR_INTERRUPTS();
	if (progress_due(&wait->progress, elapsed_s))
		wait->report(wait->arg, elapsed_s);
}

void
wait_latch(long timeout_ms)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 timeout_ms, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

void
wait_briefly(double seconds)
{
	if (seconds > 0)
		pg_usleep((long) (Min(seconds, SHORT_SLEEP_S) * 1e6));
	CHECK_FOR_INTERRUPTS();
}

/*
 * Sleeps until due_s.  In each iteration, first checks for interrupts and reports progress, then
 * sleeps for at most a tenth of a second.  With "awake", loops without sleeping for the last
 * AWAKE_S, because a sleep would end too late.
 */
bool
wait_until(Wait *wait, double due_s)
{
	bool		slept = false;

	for (;;)
	{
		double		elapsed_s = progress_elapsed_s(&wait->progress);
		double		left_s = due_s - elapsed_s;

		wait_poll(wait, elapsed_s);
		if (left_s <= 0)
			return slept;
		if (wait->awake != NULL && left_s <= AWAKE_S)
			continue;
		if (wait->awake != NULL)
			wait_briefly(left_s);
		else if (left_s > 2 * LAST_SLEEP_S)
			wait_latch((long) (Min(left_s - LAST_SLEEP_S, LONGEST_SLEEP_S) * 1e3));
		else
			pg_usleep((long) (left_s * 1e6) + 1);
		slept = true;
		if (wait->awake != NULL && due_s - progress_elapsed_s(&wait->progress) > AWAKE_S)
			wait->awake(wait->arg);
	}
}
