/* Key of the statistics of a plan. */
#ifndef CLOCKTIMING_PLAN_KEY_H
#define CLOCKTIMING_PLAN_KEY_H

/* Has no padding, because dynahash hashes its bytes. */
typedef struct PlanKey
{
	Oid			dbid;
	Oid			userid;
	uint64		queryid;
	uint64		planid;
} PlanKey;

#endif							/* CLOCKTIMING_PLAN_KEY_H */
