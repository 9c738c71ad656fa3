/*-------------------------------------------------------------------------
 *
 * timing_clock.c
 *	  The clock that calls are timed with.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "clock/instr_clock.h"
#include "core/reference.h"
#include "explain/timing_clock.h"

/* It takes 60 us to ask the kernel which clock it trusts. */
#define VALID_NS		UINT64CONST(10000000000)

bool		timing_by_counter = false;

/* Queries that are timed with it, of which the memory is still there. */
static int	holders = 0;

/*
 * By the rule of PostgreSQL 19, also where the server is older, and by its
 * setting: which a function in a query that is being timed may change.
 */
void
timing_clock_choose(bool recent)
{
	static uint64 chosen_ns = 0;
	static int	chosen_for = 0;
	uint64		now_ns;

	if (holders > 0)
		return;
	now_ns = reference_ns();
	if (recent && chosen_ns != 0 && now_ns - chosen_ns < VALID_NS &&
		chosen_for == server_clock_setting())
		return;
	timing_by_counter = why_not_timed_by_counter() == NULL;
	chosen_ns = now_ns;
	chosen_for = server_clock_setting();
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
	return timing_by_counter ? TIMING_COUNTER_READS : SYSTEM_CLOCK_NAME;
}
