/*-------------------------------------------------------------------------
 *
 * signal_counter.c
 *	  A test extension whose handler of SIGUSR1 counts signals, and calls the
 *	  previous handler.  clocktiming must not replace it.
 *
 * signal_counter_install(info) installs the handler; info: with SA_SIGINFO.
 * signal_counter() returns the number of signals so far.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "fmgr.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(signal_counter_install);
PG_FUNCTION_INFO_V1(signal_counter);

static volatile int64 signals = 0;
static struct sigaction previous;

static void
count_info(int signo, siginfo_t *info, void *context)
{
	signals++;
	if ((previous.sa_flags & SA_SIGINFO) != 0)
		previous.sa_sigaction(signo, info, context);
	else
		previous.sa_handler(signo);
}

static void
count_signal(int signo)
{
	signals++;
	previous.sa_handler(signo);
}

Datum
signal_counter_install(PG_FUNCTION_ARGS)
{
	struct sigaction action;

	if (sigaction(SIGUSR1, NULL, &previous) != 0)
		elog(ERROR, "sigaction: %m");
	action = previous;
	if (PG_GETARG_BOOL(0) || (previous.sa_flags & SA_SIGINFO) != 0)
	{
		action.sa_flags |= SA_SIGINFO;
		action.sa_sigaction = count_info;
	}
	else
		action.sa_handler = count_signal;
	if (sigaction(SIGUSR1, &action, NULL) != 0)
		elog(ERROR, "sigaction: %m");
	PG_RETURN_VOID();
}

Datum
signal_counter(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(signals);
}
