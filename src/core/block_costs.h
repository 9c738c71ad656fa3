/*-------------------------------------------------------------------------
 *
 * block_costs.h
 *	  What a reading costs when nothing disturbs it, from the blocks of a run.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_BLOCK_COSTS_H
#define CLOCKTIMING_BLOCK_COSTS_H

#include <stdint.h>

/* Shorter blocks are not counted: the reference clock matters in them. */
#define COST_BLOCK_NS	40000.0

/* One block in so many is timed, which takes another reading of the reference clock. */
#define COST_BLOCKS		8

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

/*
 * The cost where nothing disturbs it, and half of its 95 % confidence interval;
 * NAN if there are too few blocks.  Changes their order.
 */
extern double block_costs_least(BlockCosts *costs, double *margin_ns);

#endif							/* CLOCKTIMING_BLOCK_COSTS_H */
