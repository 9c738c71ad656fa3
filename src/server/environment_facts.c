/* Formats the facts of core/environment.h as rows of clock_platform, with notes. */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "core/environment.h"
#include "core/system_state.h"
#include "core/time_namespace.h"
#include "server/environment_facts.h"

/* Smallest difference in s between two ages of the server that is no error of starting it. */
#define RESTORED_S		10.0

typedef void (*PutFact) (void *arg, const char *name, const char *value, const char *note);

static void
put_time_namespace(PutFact put, void *arg)
{
	TimeNamespace namespace = time_namespace("");

	if (namespace.inode == 0)
		put(arg, "time_namespace", NULL, "the operating system has none");
	else if (namespace.inode == INITIAL_TIME_NAMESPACE)
		put(arg, "time_namespace", "initial", NULL);
	else
		put(arg, "time_namespace", "own",
			psprintf("CLOCK_MONOTONIC is %.3f s ahead of the machine's, CLOCK_BOOTTIME %.3f s",
					 namespace.monotonic_s, namespace.boottime_s));
}

/*
 * A process that was restored from a checkpoint is a new one to the kernel, but not to PostgreSQL,
 * which remembers the time of day at which it started.
 */
static void
put_checkpoint_restore(PutFact put, void *arg)
{
	int			pid = PostmasterPid != 0 ? PostmasterPid : MyProcPid;
	double		start_s = environment_process_start_s("", pid);
	double		kernel_s = system_boottime_s() - start_s;
	double		server_s = (double) (GetCurrentTimestamp() - PgStartTime) / 1e6;

	if (start_s < 0)
		put(arg, "checkpoint_restore", NULL, "the operating system does not tell");
	else
		put(arg, "checkpoint_restore", server_s - kernel_s >= RESTORED_S ? "possible" : "no",
			fabs(server_s - kernel_s) < RESTORED_S ? NULL :
			psprintf("the server's age is %.0f s by the time of day, and that of its process %.0f s: %s",
					 server_s, kernel_s, server_s > kernel_s ?
					 "it was restored from a checkpoint, or the time of day was set ahead" :
					 "the time of day was set back"));
}

static void
put_cpu_limit(PutFact put, void *arg)
{
	CpuLimit	limit = environment_cpu_limit("");

	if (limit.quota_us > 0)
		put(arg, "cpu_limit_cpus", psprintf("%.2f", limit.quota_us / limit.period_us),
			psprintf("after %.0f us of CPU time, its processes wait for the rest of each %.0f us; so far for %.3f s",
					 limit.quota_us, limit.period_us, system_throttled_ns() / 1e9));
	else
		put(arg, "cpu_limit_cpus", limit.known ? "none" : NULL,
			limit.known ? NULL : "the operating system does not tell");
}

static void
put_cpus(PutFact put, void *arg)
{
	char text[	ENVIRONMENT_TEXT_SIZE];
	bool		known = environment_cpu_types("", text);

	put(arg, "cpu_types", known ? text : NULL,
		known && strcmp(text, "one") != 0 ?
		"times, and the cost of a reading, depend on the CPU that executes a process" : NULL);
	known = environment_nohz_full("", text);
	put(arg, "nohz_full_cpus", known ? text : NULL,
		known && strcmp(text, "none") != 0 ?
		"no timer interrupts interrupt a single process there, but system calls cost more" : NULL);
}

static void
put_idle_states(PutFact put, void *arg)
{
	IdleStates	idle = environment_idle_states("");
	const char *limited = idle.max_cstate >= 0 ? psprintf("max_cstate %d", idle.max_cstate) : NULL;
	const char *deepest = idle.deepest[0] == '\0' ? NULL :
		psprintf("waking up from the deepest state, %s, takes %.0f us", idle.deepest, idle.latency_us);

	put(arg, "idle_driver", idle.driver[0] != '\0' ? idle.driver : NULL,
		deepest == NULL ? limited : limited == NULL ? deepest :
		psprintf("%s; %s", deepest, limited));
}

void
environment_facts(PutFact put, void *arg)
{
	put_time_namespace(put, arg);
	put_checkpoint_restore(put, arg);
	put_cpu_limit(put, arg);
	put_cpus(put, arg);
	put_idle_states(put, arg);
}
