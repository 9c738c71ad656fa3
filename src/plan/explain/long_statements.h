/*
 * A session's cache of statements whose latest execution took long although the planner expected
 * few calls of nodes.  If two statements have the same entry, the later one replaces the earlier.
 */
#ifndef CLOCKTIMING_LONG_STATEMENTS_H
#define CLOCKTIMING_LONG_STATEMENTS_H

#include "executor/execdesc.h"

/* Number of entries of a session.  They need 8 kB. */
#define LONG_STATEMENTS	1024

/* Keys of statements, indexed by a hash of the key; 0: none. */
typedef uint64 LongStatements[LONG_STATEMENTS];

/* Returns the query id.  Without query ids, the planner's cost distinguishes statements. */
static inline uint64
statement_key(const QueryDesc *desc)
{
	uint64		key = (uint64) desc->plannedstmt->queryId;

	if (key == 0)
		memcpy(&key, &desc->plannedstmt->planTree->total_cost, sizeof(key));
	return key;
}

static inline bool
was_long(const LongStatements statements, const QueryDesc *desc)
{
	uint64		key = statement_key(desc);

	return statements[(key ^ key >> 32) % LONG_STATEMENTS] == key;
}

static inline void
remember_statement(LongStatements statements, const QueryDesc *desc, bool is_long)
{
	uint64		key = statement_key(desc);
	uint64	   *at = &statements[(key ^ key >> 32) % LONG_STATEMENTS];

	if (is_long)
		*at = key;
	else if (*at == key)
		*at = 0;
}

#endif							/* CLOCKTIMING_LONG_STATEMENTS_H */
