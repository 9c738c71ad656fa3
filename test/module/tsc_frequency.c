/*
 * A library for shared_preload_libraries that makes the server assume a frequency of the TSC that
 * is too high by 1 %, as if CPUID or the hypervisor stated it.  For PostgreSQL 19 and later.
 */
#include "postgres.h"

#include "fmgr.h"
#include "portability/instr_time.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
#if PG_VERSION_NUM >= 190000 && PG_INSTR_TSC_CLOCK
	timing_tsc_frequency_khz += timing_tsc_frequency_khz / 100;
#endif
}
