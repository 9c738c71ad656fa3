/* The cost of an undisturbed reading, from the blocks of a run. */
#ifndef CLOCKTIMING_BLOCK_COSTS_H
#define CLOCKTIMING_BLOCK_COSTS_H

#include <stdint.h>

/* Shortest block that counts, in ns; in shorter ones, reading the reference clock matters. */
#define COST_BLOCK_NS	40000.0

/* One in COST_BLOCKS blocks is timed, because that takes another reading of the reference. */
#define COST_BLOCKS		8

#define BLOCK_COSTS		2048

/* Must be initialised with zeros. */
typedef struct BlockCosts
{
	uint64_t	seen;
	uint64_t	random;
	double		ns[BLOCK_COSTS];	/* mean cost of a reading in the block */
} BlockCosts;

extern void block_costs_add(BlockCosts *costs, double ns);

/* Returns the undisturbed cost and half of its 95 % interval; NAN if blocks are too few.  Sorts. */
extern double block_costs_least(BlockCosts *costs, double *margin_ns);

#endif							/* CLOCKTIMING_BLOCK_COSTS_H */
