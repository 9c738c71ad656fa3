/*
 * yardstick.c
 *	  See yardstick.h.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "core/reference.h"
#include "core/stats.h"
#include "explain/yardstick.h"

#define MAX_KEPT		64
#define MAX_AGE_NS		60e9
#define LATEST			8
#define STEPS			3
#define WARM_UPS		1		/* whatever ran before has had the caches */

/* More than the work allocates: it shall not ask the system for memory. */
#define ROOM			(128 * 1024)

/* What takes so many times as long as at best was interrupted by another process. */
#define INTERRUPTED		5

static double taken_ns[MAX_KEPT];
static double taken_at[MAX_KEPT];
static int64 taken = 0;
static double best_ns = INFINITY;

/*
 * It is the server's own code, and much of it at a time, as in a query: those
 * with whom a processor is shared slow that down by much more than a loop that
 * fits into the fastest caches.  Returns how long it took.
 */
static double
work(MemoryContext context)
{
	static char document[] = "{\"id\": 4711, \"name\": \"clocktiming\", \"tags\": [\"a\", \"b\", 3.25, null, true],"
		" \"nested\": {\"x\": 1.5, \"y\": [1, 2, 3, {\"z\": \"end\"}]}}";
	Datum		datum = CStringGetDatum(document);
	uint64		start = reference_ns();
	double		ns;

	for (int i = 0; i < STEPS; i++)
		datum = DirectFunctionCall1(jsonb_out, DirectFunctionCall1(jsonb_in, datum));
	ns = (double) (reference_ns() - start);
	MemoryContextReset(context);
	return ns;
}

void
yardstick_take(int n)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "clocktiming yardstick",
												  ROOM, ROOM, ROOM);
	MemoryContext caller = MemoryContextSwitchTo(context);

	for (int i = -WARM_UPS; i < n; i++)
	{
		double		ns = work(context);

		if (i < 0)
			continue;
		taken_at[taken % MAX_KEPT] = (double) reference_ns();
		taken_ns[taken++ % MAX_KEPT] = ns;
		/* a clock that stands still has not shown how fast it is */
		if (ns > 0)
			best_ns = Min(best_ns, ns);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}

double
yardstick_deviation(void)
{
	double		recent[MAX_KEPT];
	double		now = (double) reference_ns();
	int			n = 0;

	for (int i = 0; i < MAX_KEPT && i < taken; i++)
	{
		if (now - taken_at[i] <= MAX_AGE_NS && taken_ns[i] <= INTERRUPTED * best_ns)
			recent[n++] = taken_ns[i];
	}
	if (n < 4)
		return NAN;
	(void) stats_median(recent, n); /* sorts them */
	/* of a normal distribution, 90 % are within 1.645 either side */
	return (recent[(int) (0.95 * n)] - recent[(int) (0.05 * n)]) / 2 / 1.645 / recent[n / 2];
}

double
yardstick_factor(void)
{
	double		latest[LATEST];
	int			n = (int) Min(taken, LATEST);

	for (int i = 0; i < n; i++)
		latest[i] = taken_ns[(taken - 1 - i) % MAX_KEPT];
	if (n < LATEST || isinf(best_ns))
		return NAN;
	return Max(stats_median(latest, n) / best_ns, 1);
}
