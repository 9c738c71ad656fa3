/*-------------------------------------------------------------------------
 *
 * plan_key.h
 *	  What statistics of plans are kept by.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_PLAN_KEY_H
#define CLOCKTIMING_PLAN_KEY_H

/* No padding: it is hashed as bytes. */
typedef struct PlanKey
{
	Oid			dbid;
	Oid			userid;
	uint64		queryid;
	uint64		planid;
} PlanKey;

#endif							/* CLOCKTIMING_PLAN_KEY_H */
