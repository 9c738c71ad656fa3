/* The worker connects to no database, so it also runs on standbys and during recovery. */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/bgworker_internals.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "clock/watch/watch_file.h"
#include "clock/watch/watch_judge.h"
#include "clock/watch/watch_worker.h"
#include "compat.h"
#include "core/reference.h"
#include "server/settings.h"

#define TRANCHE		"clocktiming_watch"

/* Time and, if an event is unsaved, number of intervals between writes of the history's file. */
#define SAVE_EVERY_MS		(5 * 60 * 1000)
#define SAVE_INTERVALS		3

#define RESTART_S			5	/* bgw_restart_time */

#define NS_PER_MS			INT64CONST(1000000)

bool		watch_registered = false;
bool		watch_lacks_slot = false;

static bool watch_on = false;

void
watch_define_settings(void)
{
	setting_define_bool(SETTING_WATCH, &watch_on, NULL, NULL);
	setting_define_int(SETTING_WATCH_INTERVAL, &watch_interval_ms, NULL);
}

/*
 * Registers the worker at server start.  RegisterBackgroundWorker() only logs that there is no
 * slot, so the list of workers is compared before and after.
 */
void
watch_register(void)
{
	BackgroundWorker worker;
	const void *latest = BackgroundWorkerList.head.next;

	/* while pg_upgrade runs the server, its clock is not watched */
	if (!watch_on || IsBinaryUpgrade)
		return;
	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
	worker.bgw_start_time = BgWorkerStart_PostmasterStart;
	worker.bgw_restart_time = RESTART_S;
	strlcpy(worker.bgw_library_name, "clocktiming", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "clock_watch_main", sizeof(worker.bgw_function_name));
	strlcpy(worker.bgw_name, "clocktiming watch", sizeof(worker.bgw_name));
	strlcpy(worker.bgw_type, "clocktiming watch", sizeof(worker.bgw_type));
	RegisterBackgroundWorker(&worker);
	/* the only sign of success is a new first element in the list */
	watch_registered = BackgroundWorkerList.head.next != latest;
	watch_lacks_slot = !watch_registered && IsPostmasterEnvironment;
	if (watch_lacks_slot)
		ereport(WARNING,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("clocktiming does not watch the clocks because no background worker slot is free"),
				 errhint("Raise max_worker_processes, and restart the server.")));
}

void
watch_shmem_request(void)
{
	RequestAddinShmemSpace(MAXALIGN(sizeof(WatchStore)));
	RequestNamedLWLockTranche(TRANCHE, 1);
}

void
watch_shmem_init(void)
{
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	watch_store = ShmemInitStruct("clocktiming watch", sizeof(WatchStore), &found);
	if (!found)
	{
		memset(watch_store, 0, sizeof(WatchStore));
		watch_store->lock = &GetNamedLWLockTranche(TRANCHE)->lock;
	}
	LWLockRelease(AddinShmemInitLock);
	if (!found)
		watch_load();
}

/* Sleeps, and reloads the configuration after SIGHUP; returns false if the worker must exit. */
static bool
sleep_ms(long ms)
{
	uint64		until = reference_ns() + ms * NS_PER_MS;

	for (;;)
	{
		int64		left_ns;

		if (ShutdownRequestPending)
			return false;
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
			until = Min(until, reference_ns() + watch_interval_ms / WATCH_OBSERVATIONS * NS_PER_MS);
		}
		CHECK_FOR_INTERRUPTS();
		left_ns = (int64) (until - reference_ns());
		if (left_ns <= 0)
			return true;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 left_ns / NS_PER_MS + 1, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
}

/* Watches for one interval; returns false if the worker must exit. */
static bool
watch_interval(void)
{
	WatchRow	row;
	WatchFindings found;
	WatchObservation observed;

	for (int i = 0; i < WATCH_OBSERVATIONS; i++)
	{
		if (!sleep_ms(watch_interval_ms / WATCH_OBSERVATIONS))
			return false;
		watch_judge_time();
		watch_judge_vmclock(GetCurrentTimestamp());
		if (watch_is_outdated())
		{
			watch_judge_machine(GetCurrentTimestamp());
			watch_start();
			return true;
		}
		watch_observe(&observed);
		watch_judge_observation(&observed);
	}
	watch_judge_machine(GetCurrentTimestamp());
	watch_end_interval(&row, &found);
	watch_judge(&row, &found);
	watch_put_interval(&row, found.ended_at);
	return true;
}

/*
 * The worker's main function.  Saves the history soon after an event, otherwise every few minutes,
 * and when the server stops.
 */
void
clock_watch_main(Datum arg)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "clocktiming watch", ALLOCSET_DEFAULT_SIZES);
	bool		goes_on = true;
	int			unsaved = 0;	/* intervals since the file was written */

	(void) arg;
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();

	MemoryContextSwitchTo(context);
	watch_judge_time();
	watch_judge_machine(GetCurrentTimestamp());
	watch_judge_vmclock(GetCurrentTimestamp());
	watch_start();
	watch_save();
	while (goes_on)
	{
		MemoryContextReset(context);
		goes_on = watch_interval();
		unsaved++;
		/* counts intervals, because the time of day may be set back */
		if ((watch_store->unsaved && unsaved >= SAVE_INTERVALS) || !goes_on ||
			unsaved >= SAVE_EVERY_MS / watch_interval_ms)
		{
			watch_save();
			unsaved = 0;
		}
	}

	/* after exit code 0 the postmaster would not restart the worker */
	proc_exit(1);
}
