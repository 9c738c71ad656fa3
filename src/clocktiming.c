/* Loads the module: defines its settings and requests its shared memory. */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "clock/measure/migration.h"
#include "clock/watch/watch_worker.h"
#include "compat.h"
#include "plan/explain/executor_hooks.h"
#include "plan/live/live_attach.h"
#include "plan/live/live_history.h"
#include "plan/live/live_memory.h"
#include "plan/sampler/long_executions.h"
#include "plan/sampler/plan_sampler.h"
#include "plan/sampler/plan_sampler_worker.h"
#include "plan/stats/plan_draw.h"
#include "plan/stats/shared_gaps.h"
#include "plan/stats/store_memory.h"
#include "server/progress.h"
#include "server/settings.h"

/* PostgreSQL 18 added pg_get_loaded_modules(), which returns the name and version. */
#ifdef PG_MODULE_MAGIC_EXT
PG_MODULE_MAGIC_EXT(.name = "clocktiming", .version = CLOCKTIMING_VERSION);
#else
PG_MODULE_MAGIC;
#endif

void		_PG_init(void);

static shmem_request_hook_type previous_shmem_request = NULL;
static shmem_startup_hook_type previous_shmem_startup = NULL;

static void
request_shmem(void)
{
	if (previous_shmem_request != NULL)
		previous_shmem_request();
	RequestAddinShmemSpace(plan_sampler_shmem_size());
	RequestAddinShmemSpace(long_executions_shmem_size());
	RequestAddinShmemSpace(shared_gaps_shmem_size());
	store_shmem_request();
	live_shmem_request();
	live_history_shmem_request();
	if (watch_registered)
		watch_shmem_request();
}

static void
start_shmem(void)
{
	if (previous_shmem_startup != NULL)
		previous_shmem_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	long_executions_shmem_init();
	shared_gaps_shmem_init();
	plan_draw_start();
	live_shmem_init();
	live_history_shmem_init();
	live_start();
	LWLockRelease(AddinShmemInitLock);
	plan_sampler_attach();
	plan_sampler_is_permanent = true;
	store_shmem_init();
	if (watch_registered)
		watch_shmem_init();
}

/* At server start, reads VMClock, and registers the watch worker and the hooks of shared memory. */
static void
init_preloaded(void)
{
	migration_remember_start();
	watch_register();
	previous_shmem_request = shmem_request_hook;
	shmem_request_hook = request_shmem;
	previous_shmem_startup = shmem_startup_hook;
	shmem_startup_hook = start_shmem;
}

/*
 * Defines the settings.  Shared memory and the watch worker are available only if the library is
 * loaded at server start.
 */
void
_PG_init(void)
{
	pg_bindtextdomain(TEXTDOMAIN);

	setting_define_int(SETTING_PROGRESS_INTERVAL, &progress_interval_ms, NULL);
	executor_hooks_init();
	plan_sampler_define_settings();
	plan_draw_init();
	live_init();
	store_define_settings();
	watch_define_settings();
	if (process_shared_preload_libraries_in_progress)
		init_preloaded();
	MarkGUCPrefixReserved("clocktiming");
}
