/*
 * Classes of executions, and the number of executions of each that need not be timed.
 *
 * The module that draws executions at random (plan/stats/plan_draw.c) fills the table.  The
 * executor hook of an execution decrements a number in it.  So these functions are inlined, and the
 * table is hidden.
 */
#ifndef CLOCKTIMING_EXECUTION_CLASSES_H
#define CLOCKTIMING_EXECUTION_CLASSES_H

#include "executor/execdesc.h"
#include "miscadmin.h"

/* Number of classes in a backend's table, and of slots for a class; powers of two. */
#define CLASS_SLOTS		1024
#define CLASS_WAYS		4

typedef struct ClassSlot
{
	uint64		key;			/* 0: unused */
	int32		remaining;		/* executions up to the next timed one; 0: a
								 * statement of clocktiming (is_own() in
								 * executor_hooks.h) */
	int32		counted;		/* value of "remaining" when executions were
								 * last added to a plan */
} ClassSlot;

extern ClassSlot class_slots[CLASS_SLOTS] __attribute__((visibility("hidden")));

/*
 * Returns a hash of the query id, the type of the root node, and the user.  If there is no query
 * id, uses the plan's cost instead.  Collisions do no harm: they only mean that two classes share a
 * slot.
 */
static pg_attribute_always_inline uint64
class_key(const QueryDesc *desc)
{
	const Plan *plan = desc->plannedstmt->planTree;
	uint64		key = (uint64) desc->plannedstmt->queryId;

	if (unlikely(key == 0))
	{
		memcpy(&key, &plan->total_cost, sizeof(key));
		key *= UINT64CONST(0x9e3779b97f4a7c15);
	}
	return (key ^ (uint64) nodeTag(plan) << 32 ^ (uint64) GetUserId() << 40) | 1;
}

/* Returns the first of the slots in which a class may be. */
static pg_attribute_always_inline ClassSlot *
class_ways(uint64 key)
{
	return &class_slots[(key >> 20) % (CLASS_SLOTS / CLASS_WAYS) * CLASS_WAYS];
}

/* Returns a class's slot, or NULL. */
static pg_attribute_always_inline ClassSlot *
find_class(uint64 key)
{
	ClassSlot  *slot = class_ways(key);

	for (int i = 0; i < CLASS_WAYS; i++)
	{
		if (slot[i].key == key)
			return &slot[i];
	}
	return NULL;
}

/* Returns whether an execution need not be timed, and counts it. */
static pg_attribute_always_inline bool
class_skips(const QueryDesc *desc)
{
	ClassSlot  *slot = find_class(class_key(desc));

	if (unlikely(slot == NULL || slot->remaining <= 1))
		return false;
	slot->remaining--;
	return true;
}

#endif							/* CLOCKTIMING_EXECUTION_CLASSES_H */
