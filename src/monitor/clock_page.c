/* A function for clock_page(). */
#include "postgres.h"

#include "fmgr.h"

#include "clock/watch/watch_store.h"
#include "plan/stats/plan_store.h"
#include "server/row.h"

PG_FUNCTION_INFO_V1(internal_clock_page_sources);

/* Returns whether the clock history and plan statistics exist: without them, their views fail. */
Datum
internal_clock_page_sources(PG_FUNCTION_ARGS)
{
	Row			row = row_of_result(fcinfo);

	row_put_bool(&row, watch_store != NULL);
	row_put_bool(&row, plan_store_ready());
	return row_result(&row);
}
