/*
 * The plans are in a hash table of fixed size, whose sets have WAYS entries each.  A new plan
 * replaces the entry of its set that was not used for the longest time.  One lock protects the
 * table and the calibration, because it is held only while an entry is searched, and only when a
 * long execution ends or is read.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "compat.h"
#include "plan/live/live_history.h"

#define TRANCHE			"clocktiming live"

/* Number of sets, and of plans in each: 2048 plans, which need 112 kB. */
#define SETS			512
#define WAYS			4

typedef struct KnownPlan
{
	PlanKey		key;
	uint64		used;			/* value of LiveHistory.clock; 0: free */
	EndHistory	history;
} KnownPlan;

typedef struct LiveHistory
{
	LWLock	   *lock;
	uint64		clock;			/* number of executions so far */
	EndCalibration calibrations[2]; /* without and with a history */
	KnownPlan	plans[SETS][WAYS];
} LiveHistory;

static LiveHistory *live_past = NULL;

void
live_history_shmem_request(void)
{
	RequestAddinShmemSpace(sizeof(LiveHistory));
	RequestNamedLWLockTranche(TRANCHE, 1);
}

void
live_history_shmem_init(void)
{
	bool		found;

	live_past = ShmemInitStruct("clocktiming live history", sizeof(LiveHistory), &found);
	if (found)
		return;
	memset(live_past, 0, sizeof(LiveHistory));
	live_past->lock = &GetNamedLWLockTranche(TRANCHE)->lock;
}

/* Returns a plan's entry, or NULL.  If "replace" is true, returns the entry to replace instead. */
static KnownPlan *
find_plan(const PlanKey *key, bool replace)
{
	uint64		hash = hash_bytes_extended((const unsigned char *) key, sizeof(PlanKey), 0);
	KnownPlan  *set = live_past->plans[hash % SETS];
	KnownPlan  *oldest = &set[0];

	for (int i = 0; i < WAYS; i++)
	{
		if (set[i].used != 0 && memcmp(&set[i].key, key, sizeof(PlanKey)) == 0)
			return &set[i];
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	return replace ? oldest : NULL;
}

EndHistory
live_history(const PlanKey *plan, EndCalibration *calibration)
{
	EndHistory	history = {0};
	const KnownPlan *known;

	LWLockAcquire(live_past->lock, LW_SHARED);
	known = find_plan(plan, false);
	if (known != NULL)
		history = known->history;
	*calibration = live_past->calibrations[history.n > 0];
	LWLockRelease(live_past->lock);
	return history;
}

/* Adds a duration to a plan's history, and tells the calibration whether the range contained it. */
void
live_history_add(const PlanKey *plan, double duration, const LivePrediction *prediction)
{
	KnownPlan  *known;

	LWLockAcquire(live_past->lock, LW_EXCLUSIVE);
	known = find_plan(plan, true);
	if (known->used == 0 || memcmp(&known->key, plan, sizeof(PlanKey)) != 0)
	{
		known->key = *plan;
		known->history = (EndHistory)
		{
			0
		};
	}
	known->used = ++live_past->clock;
	end_history_add(&known->history, duration);
	if (prediction != NULL)
		end_score(&live_past->calibrations[prediction->with_history], prediction->low,
				  prediction->high, duration);
	LWLockRelease(live_past->lock);
}

void
live_history_forget(Oid userid, Oid dbid, uint64 queryid)
{
	LWLockAcquire(live_past->lock, LW_EXCLUSIVE);
	for (int i = 0; i < SETS * WAYS; i++)
	{
		KnownPlan  *known = &live_past->plans[i / WAYS][i % WAYS];

		if ((!OidIsValid(userid) || known->key.userid == userid) &&
			(!OidIsValid(dbid) || known->key.dbid == dbid) &&
			(queryid == 0 || known->key.queryid == queryid))
			memset(known, 0, sizeof(KnownPlan));
	}
	LWLockRelease(live_past->lock);
}

LiveScores
live_scores(void)
{
	LiveScores	scores = {0};

	LWLockAcquire(live_past->lock, LW_SHARED);
	for (int i = 0; i < 2; i++)
	{
		scores.held += live_past->calibrations[i].held;
		scores.early += live_past->calibrations[i].early;
		scores.late += live_past->calibrations[i].late;
	}
	LWLockRelease(live_past->lock);
	return scores;
}
