/*-------------------------------------------------------------------------
 *
 * timing_clock.c
 *	  The clock that calls are timed with.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "clock/instr_clock.h"
#include "explain/timing_clock.h"

bool		timing_by_tsc = false;

/* Queries that are timed with it, of which the memory is still there. */
static int	holders = 0;

/*
 * By the rule of PostgreSQL 19, also where the server is older, and by its
 * setting: which a function in a query that is being timed may change.
 */
void
timing_clock_choose(void)
{
	if (holders == 0)
		timing_by_tsc = why_not_timed_by_tsc() == NULL;
}

void
timing_clock_hold(void)
{
	holders++;
}

void
timing_clock_release(void)
{
	holders--;
}

const char *
timing_clock_name(void)
{
	return timing_by_tsc ? "RDTSC" : SYSTEM_CLOCK_NAME;
}
