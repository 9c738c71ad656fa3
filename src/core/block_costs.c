#include <math.h>

#include "core/block_costs.h"
#include "core/random.h"
#include "core/stats.h"

#define LEAST_BLOCKS	30

void
block_costs_add(BlockCosts *costs, double ns)
{
	uint64_t	place = costs->seen++;

	/* Vitter's algorithm R */
	if (place >= BLOCK_COSTS)
		place = random_next(&costs->random) % costs->seen;
	else if (place == 0)
		costs->random = UINT64_C(0x9E3779B97F4A7C15);
	if (place < BLOCK_COSTS)
		costs->ns[place] = ns;
}

double
block_costs_least(BlockCosts *costs, double *margin_ns)
{
	double		work[BLOCK_COSTS];
	int			n = costs->seen < BLOCK_COSTS ? (int) costs->seen : BLOCK_COSTS;

	*margin_ns = NAN;
	return n < LEAST_BLOCKS ? NAN : stats_undisturbed(costs->ns, n, margin_ns, work);
}
