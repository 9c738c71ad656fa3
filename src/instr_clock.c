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

#include "compat.h"
#include "instr_clock.h"
#include "sampler_loop.h"

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

bool
server_defaults_to_tsc(void)
{
	TimingClockSourceType set = (TimingClockSourceType) timing_clock_source;
	bool		by_tsc;

	/*
	 * The server resolves "auto" only as it sets it, and that sets the
	 * setting's variable, too.  Nothing between these calls can fail or reads
	 * a clock.
	 */
	pg_set_timing_clock_source(TIMING_CLOCK_SOURCE_AUTO);
	by_tsc = timing_tsc_enabled;
	pg_set_timing_clock_source(set);
	return by_tsc;
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

double
server_tsc_hz(void)
{
	return 0;
}

#endif
