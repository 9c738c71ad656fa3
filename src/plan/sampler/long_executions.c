/*
 * Slots of the processes, and the sampler's decision which process to ask.
 *
 * At each tick, the sampler compares the serial numbers in each slot with those of the previous
 * tick.  Equal numbers mean that the execution has lasted for a tick.  Reading the slots takes no
 * lock: a torn pair of numbers only causes a signal too many or a tick too late.
 */
#include "postgres.h"

#include <signal.h>

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/memutils.h"

#include "compat.h"
#include "plan/sampler/long_executions.h"

typedef struct LongShared
{
	int			n;				/* number of slots, indexed as
								 * ProcGlobal->allProcs */
	LongSlot	slots[FLEXIBLE_ARRAY_MEMBER];
} LongShared;

/* What the sampler has seen of a process. */
typedef struct LongSeen
{
	uint32		innermost;		/* at the previous tick */
	uint32		outermost;
	uint32		asked;			/* innermost execution of the latest signal */
	uint32		ticks;			/* of the outermost execution */
} LongSeen;

static LongShared *shared = NULL;
static LongSlot *own = NULL;

Size
long_executions_shmem_size(void)
{
	return TYPEALIGN(LINE_SIZE, offsetof(LongShared, slots)) +
		sizeof(LongSlot) * ((Size) MaxBackends + 1);
}

void
long_executions_shmem_init(void)
{
	bool		found;

	shared = ShmemInitStruct("clocktiming executions", long_executions_shmem_size(), &found);
	if (found)
		return;
	memset(shared, 0, long_executions_shmem_size());
	shared->n = MaxBackends;
}

/* Returns the slots, each of which fills a line of the processor's caches. */
static LongSlot *
slots(void)
{
	return (LongSlot *) TYPEALIGN(LINE_SIZE, shared->slots);
}

static void
leave(int code, Datum arg)
{
	(void) code;
	(void) arg;
	own->pid = own->innermost = own->outermost = 0;
}

LongSlot *
long_executions_join(void)
{
	int			i;

	if (own != NULL || shared == NULL || MyProc == NULL)
		return own;
	i = (int) (MyProc - ProcGlobal->allProcs);
	if (i < 0 || i >= shared->n)
		return NULL;
	own = &slots()[i];
	own->innermost = own->outermost = own->asked = 0;
	own->pid = (uint32) MyProcPid;
	before_shmem_exit(leave, 0);
	return own;
}

/* Returns whether to ask a process, whose slot has these values. */
static bool
is_due(LongSeen *seen, uint32 innermost, uint32 outermost)
{
	bool		due = false;

	seen->ticks = outermost == seen->outermost ? seen->ticks + 1 : 0;
	if (innermost == seen->innermost && innermost != seen->asked)
	{
		seen->asked = innermost;
		due = true;
	}
	due |= seen->ticks > 0 && (seen->ticks & (seen->ticks - 1)) == 0;
	seen->innermost = innermost;
	seen->outermost = outermost;
	return due;
}

/* Sends SIGUSR1 to each process whose innermost or outermost execution has become long. */
void
long_executions_look(void)
{
	static LongSeen *all = NULL;

	if (shared == NULL)
		return;
	if (all == NULL)
		all = MemoryContextAllocZero(TopMemoryContext, sizeof(LongSeen) * shared->n);
	for (int i = 0; i < shared->n; i++)
	{
		LongSlot   *slot = &slots()[i];
		uint32		innermost = slot->innermost;
		uint32		outermost = slot->outermost;
		uint32		pid = slot->pid;

		if (innermost == 0 || pid == 0)
		{
			memset(&all[i], 0, sizeof(all[i]));
			continue;
		}
		if (!is_due(&all[i], innermost, outermost))
			continue;
		slot->asked = 1;
		(void) kill((pid_t) pid, SIGUSR1);
	}
}
