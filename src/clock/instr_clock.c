/*-------------------------------------------------------------------------
 *
 * instr_clock.c
 *	  The clock that this server times with: INSTR_TIME_SET_CURRENT_FAST.
 *
 * The one hot loop that needs PostgreSQL's headers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "clock/instr_clock.h"
#include "compat.h"
#include "core/tsc.h"

static inline uint64
instr_clock_now(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT_FAST(now);
	return instr_time_ticks(now);
}

DEFINE_CLOCK_READER(reader_instr_time, instr_clock_now());

#if defined(SERVER_HAS_TIMING_CLOCK_SOURCE) && PG_INSTR_TSC_CLOCK

bool
server_times_by_tsc(void)
{
	return timing_tsc_enabled;
}

/*
 * As a rule the server has said so itself.  Where another setting is in force,
 * it is not asked, since it answers only by changing the clock that it reads.
 */
bool
server_defaults_to_tsc(void)
{
	if (timing_clock_source == TIMING_CLOCK_SOURCE_AUTO)
		return timing_tsc_enabled;
	return timing_tsc_frequency_khz > 0 && tsc_is_default_now();
}

const char *
why_not_timed_by_tsc(void)
{
	if (timing_clock_source == TIMING_CLOCK_SOURCE_SYSTEM)
		return "timing_clock_source is system";
	if (timing_clock_source == TIMING_CLOCK_SOURCE_TSC)
		return tsc_why_not_usable();
	return tsc_why_not_trusted();
}

double
server_tsc_hz(void)
{
	return timing_tsc_frequency_khz > 0 ? timing_tsc_frequency_khz * 1e3 : 0;
}

#else

bool
server_times_by_tsc(void)
{
	return false;
}

bool
server_defaults_to_tsc(void)
{
	return false;
}

const char *
why_not_timed_by_tsc(void)
{
	return tsc_why_not_trusted();
}

double
server_tsc_hz(void)
{
	return 0;
}

#endif
