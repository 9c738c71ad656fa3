/*
 * block_costs.c
 *	  See block_costs.h.
 */
#include <math.h>

#include "core/block_costs.h"
#include "core/random.h"
#include "core/reference.h"
#include "core/stats.h"

/* fewer blocks tell nothing */
#define LEAST_BLOCKS	30

/* batches of bare readings, and for how long more of them begin */
#define BATCHES			64
#define BATCHES_NS		20000000
#define MAX_BATCH		65536

/* The fastest blocks, whose mean counts, as in reading_cost.c. */
#define FASTEST_SHARE	50
#define FASTEST_MIN		5
#define CONFIDENCE		0.95

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

bool
block_costs_suffice(const BlockCosts *costs)
{
	return costs->seen >= LEAST_BLOCKS;
}

static double
batch_ns(const ClockReader *reader, int n)
{
	uint64_t	start = reference_ns();

	(void) reader->repeat(n);
	return (double) (reference_ns() - start);
}

void
block_costs_of_batches(BlockCosts *costs, const ClockReader *reader)
{
	uint64_t	start = reference_ns();
	int			n = 1;

	/* twice, since something else may have had the processor in one */
	while (n < MAX_BATCH && (batch_ns(reader, n) < COST_BLOCK_NS ||
							 batch_ns(reader, n) < COST_BLOCK_NS))
		n *= 2;
	costs->seen = 0;
	while (costs->seen < BATCHES && reference_ns() - start < BATCHES_NS)
		block_costs_add(costs, batch_ns(reader, n) / n);
}

double
block_costs_least(BlockCosts *costs, double *margin_ns)
{
	static const double zeros[BLOCK_COSTS];
	double		work[BLOCK_COSTS];
	int			n = costs->seen < BLOCK_COSTS ? (int) costs->seen : BLOCK_COSTS;
	int			fastest = n / FASTEST_SHARE > FASTEST_MIN ? n / FASTEST_SHARE : FASTEST_MIN;
	double		limit;
	double		least;

	*margin_ns = NAN;
	if (!block_costs_suffice(costs))
		return NAN;
	least = stats_low_mean(costs->ns, n, fastest, &limit);
	*margin_ns = stats_low_mean_half_width(costs->ns, limit, zeros, 0, n, fastest,
										   CONFIDENCE, work);
	return least;
}
