/*-------------------------------------------------------------------------
 *
 * block_costs.h
 *	  What a reading costs when nothing disturbs it, from the blocks of a run.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_BLOCK_COSTS_H
#define CLOCKTIMING_BLOCK_COSTS_H

#include "core/sampler_loop.h"

/* Shorter blocks are not counted: the reference clock matters in them. */
#define COST_BLOCK_NS	40000.0

/* Blocks kept: each of all has the same chance. */
#define BLOCK_COSTS		2048

/* All zeros in the beginning. */
typedef struct BlockCosts
{
	uint64_t	seen;
	uint64_t	random;
	double		ns[BLOCK_COSTS];	/* of a reading, on average in the block */
} BlockCosts;

extern void block_costs_add(BlockCosts *costs, double ns);

/* Whether there are enough of them for an estimate. */
extern bool block_costs_suffice(const BlockCosts *costs);

/*
 * Forgets all, and takes batches of bare readings instead, which takes some
 * milliseconds, but hardly ever more than 20.
 */
extern void block_costs_of_batches(BlockCosts *costs, const ClockReader *reader);

/*
 * The mean cost in the fastest fiftieth of the blocks, and half of its 95 %
 * confidence interval; NAN if there are too few.  Changes their order.
 */
extern double block_costs_least(BlockCosts *costs, double *margin_ns);

#endif							/* CLOCKTIMING_BLOCK_COSTS_H */
