/*
 * watch_worker.c
 *	  See watch_worker.h.
 *
 * It is connected to no database, and so works on standbys, too, and while a
 * server recovers.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/bgworker_internals.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "core/reference.h"
#include "watch/watch_judge.h"
#include "watch/watch_worker.h"

#define INTERVAL_DEFAULT_MS	10000
#define INTERVAL_LEAST_MS	100
#define INTERVAL_MOST_MS	60000	/* a row a minute */

/* The history goes to its file so often, and for events after so many intervals. */
#define SAVE_EVERY_MS		(5 * 60 * 1000)
#define SAVE_INTERVALS		3

#define RESTART_S			5

#define NS_PER_MS			INT64CONST(1000000)

bool		watch_registered = false;
bool		watch_lacks_slot = false;

static bool watch_on = false;

void
watch_define_settings(void)
{
	DefineCustomBoolVariable("clocktiming.watch",
							 gettext_noop("Watches the clocks all the time, and remembers what it has seen."),
							 gettext_noop("A background worker does so."),
							 &watch_on,
							 false,
							 PGC_AT_START,
							 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("clocktiming.watch_interval",
							gettext_noop("Time in which a watched clock is looked at some times, and judged once."),
							NULL,
							&watch_interval_ms,
							INTERVAL_DEFAULT_MS, INTERVAL_LEAST_MS, INTERVAL_MOST_MS,
							PGC_SIGHUP,
							GUC_UNIT_MS,
							NULL, NULL, NULL);
}

void
watch_register(void)
{
	BackgroundWorker worker;
	const void *latest = BackgroundWorkerList.head.next;

	/* pg_upgrade starts and stops servers: nothing to watch, or to remember */
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
	/* it returns nothing, and its message names no worker */
	watch_registered = BackgroundWorkerList.head.next != latest;
	watch_lacks_slot = !watch_registered && IsPostmasterEnvironment;
	if (watch_lacks_slot)
		ereport(WARNING,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("clocktiming does not watch the clocks, as there is no slot for its worker"),
				 errhint("Raise max_worker_processes, and restart the server.")));
}

/* Until it is time for the next look; false if the worker is to end. */
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
			until = Min(until, reference_ns() + watch_interval_ms / WATCH_LOOKS * NS_PER_MS);
		}
		CHECK_FOR_INTERRUPTS();
		left_ns = (int64) (until - reference_ns());
		if (left_ns <= 0)
			return true;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, left_ns / NS_PER_MS + 1, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
}

/* One interval; false if the worker is to end. */
static bool
watch_interval(void)
{
	WatchRow	row;
	WatchFindings found;
	WatchLook	look;

	for (int i = 0; i < WATCH_LOOKS; i++)
	{
		if (!sleep_ms(watch_interval_ms / WATCH_LOOKS))
			return false;
		watch_judge_time();
		if (watch_is_outdated())
		{
			watch_judge_machine(GetCurrentTimestamp());
			watch_start();
			return true;
		}
		watch_look(&look);
		watch_judge_look(&look);
	}
	watch_judge_machine(GetCurrentTimestamp());
	watch_end_interval(&row, &found);
	watch_judge(&row, &found);
	watch_put_interval(&row, found.ended_at);
	return true;
}

void
clock_watch_main(Datum arg)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "clocktiming watch", ALLOCSET_DEFAULT_SIZES);
	bool		goes_on = true;
	int			unsaved = 0;	/* intervals */

	(void) arg;
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();

	MemoryContextSwitchTo(context);
	watch_judge_time();
	watch_judge_machine(GetCurrentTimestamp());
	watch_start();
	watch_save();
	while (goes_on)
	{
		MemoryContextReset(context);
		goes_on = watch_interval();
		unsaved++;
		/* by what was watched, as somebody may set the time back */
		if ((watch_store->unsaved && unsaved >= SAVE_INTERVALS) || !goes_on ||
			unsaved >= SAVE_EVERY_MS / watch_interval_ms)
		{
			watch_save();
			unsaved = 0;
		}
	}

	/*
	 * not 0, after which the postmaster would not start it again if somebody
	 * has ended it by pg_terminate_backend()
	 */
	proc_exit(1);
}
