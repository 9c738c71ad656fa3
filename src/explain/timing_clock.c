#include "postgres.h"

#include "clock/instr_clock.h"
#include "core/reference.h"
#include "explain/timing_clock.h"

/* Time in ns for which a chosen clock stays valid.  Choosing asks the kernel, which takes 60 us. */
#define VALID_NS		UINT64CONST(10000000000)

bool		timing_by_counter = false;

/* Number of timed queries whose memory is not yet freed.  If above 0, the clock is not changed. */
static int	holders = 0;

/*
 * Chooses the clock by the rules of PostgreSQL 19's timing_clock_source.  Does not change it while
 * a query is timed.
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
