/*
 * Collects numbers of executions by plan in a hash table of this process.
 *
 * A process counts each execution, but adds the numbers to the shared statistics only from time to
 * time, because that takes a lock.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "plan/stats/execution_counts.h"
#include "plan/stats/plan_store.h"

typedef struct CountedPlan
{
	PlanKey		plan;
	int64		executions;
	char		status;
} CountedPlan;

#define SH_PREFIX		counted
#define SH_ELEMENT_TYPE	CountedPlan
#define SH_KEY_TYPE		PlanKey
#define SH_KEY			plan
#define SH_HASH_KEY(table, key)	hash_bytes((const unsigned char *) &(key), sizeof(PlanKey))
#define SH_EQUAL(table, a, b)	(memcmp(&(a), &(b), sizeof(PlanKey)) == 0)
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static counted_hash * counted = NULL;

void
count_executions(const PlanKey *plan, int64 executions)
{
	CountedPlan *at;
	bool		found;

	if (executions <= 0)
		return;
	if (counted == NULL)
		counted = counted_create(TopMemoryContext, 64, NULL);
	at = counted_insert(counted, *plan, &found);
	at->executions = (found ? at->executions : 0) + executions;
}

void
execution_counts_flush(void)
{
	counted_iterator i;
	CountedPlan *at;

	if (counted == NULL)
		return;
	counted_start_iterate(counted, &i);
	while ((at = counted_iterate(counted, &i)) != NULL)
		plan_store_count(&at->plan, at->executions);
	counted_reset(counted);
}

void
execution_counts_forget(void)
{
	if (counted != NULL)
		counted_reset(counted);
}
