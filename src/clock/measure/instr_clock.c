/*
 * The clock that the server reads for timing.  This file is not in core/, because the loop that
 * reads the clock needs PostgreSQL's headers.
 */
#include "postgres.h"

#include "clock/measure/instr_clock.h"
#include "compat.h"
#include "core/arm_counter.h"
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
#define SET_TO(source)	(timing_clock_source == TIMING_CLOCK_SOURCE_##source)
#define TIMES_BY_TSC	timing_tsc_enabled
#define TSC_KHZ			timing_tsc_frequency_khz
#else							/* the server reads only the system clock */
#define SET_TO(source)	false
#define TIMES_BY_TSC	false
#define TSC_KHZ			0
#endif

bool
server_times_by_tsc(void)
{
	return TIMES_BY_TSC;
}

/* Unless timing_clock_source is auto, predicts the choice that the server would make for auto. */
bool
server_defaults_to_tsc(void)
{
	if (SET_TO(AUTO))
		return TIMES_BY_TSC;
	return TSC_KHZ > 0 && tsc_is_default(tsc_evidence());
}

double
server_tsc_hz(void)
{
	return TSC_KHZ > 0 ? TSC_KHZ * 1e3 : 0;
}
