/*
 * The executions at work in this process, and functions that join one while it runs.
 *
 * When an execution has lasted for a tick of the sampler, the sampler sends a signal
 * (plan/sampler/long_executions.h).  The signal's handler replaces the functions of the
 * execution's nodes by join_now().  A signal handler may do this, because it only stores pointers,
 * and the tree of nodes that it reads does not change during ExecutorRun().  The next call of a
 * node then executes join_now(), which calls the functions that have registered.  So an execution
 * that is shorter than a tick only writes to this stack.
 *
 * A reset callback of the query's memory context removes an execution that ends by an error.
 */
#ifndef CLOCKTIMING_RUNNING_EXECUTIONS_H
#define CLOCKTIMING_RUNNING_EXECUTIONS_H

#include "executor/execdesc.h"
#include "nodes/execnodes.h"
#include "nodes/memnodes.h"

#include "core/system_clock.h"
#include "core/timing_counter.h"
#include "plan/sampler/long_executions.h"

/* Maximum number of nested executions.  Deeper ones are not on the stack. */
#define RUNNING_LEVELS	32

/* Number of ticks after which a process wants them again; they stop after 3 s. */
#define RUNNING_WANT_TICKS	100

/* State at the beginning of an execution that is counted in the statistics of plans. */
typedef struct CountedStart
{
	uint64		counter;		/* reading of a counter; 0: not counted */
	uint32		ticks;			/* number of the sampler's ticks
								 * (plan_sampler.h) */
} CountedStart;

typedef struct RunningExecution
{
	QueryDesc  *desc;
	uint32		serial;
	CountedStart start;
	MemoryContext context;		/* the query's */
	MemoryContextCallback at_end;

	/* free elements of the stack have these values: -1, false, false */
	int			entered;		/* result of the watcher's enter() if it was
								 * called late (watcher.h); else -1 */
	volatile bool is_long;		/* the handler has replaced the functions */
	bool		armed;			/* and join_now() was not called since */

	/* if armed: the time, the CPU time of the process, and the wait event */
	uint64		armed_ns;
	uint64		armed_cpu_ns;
	uint32		armed_event;
} RunningExecution;

/* Reasons why the next execution must not be treated as a short one (executor_hooks.c). */
typedef enum RunningUnusual
{
	UNUSUAL_PROCESS = 1,		/* not prepared, or a parallel worker */
	UNUSUAL_PLAN_RUN = 2,		/* plan_run_desc is set */
	UNUSUAL_EXPLAIN = 4,		/* explain_at_work is set */
	UNUSUAL_OWN = 8				/* a statement of clocktiming is at work */
} RunningUnusual;

static inline void
set_unusual(uint32 *unusual, RunningUnusual reason, bool set)
{
	*unusual = set ? *unusual | (uint32) reason : *unusual & ~(uint32) reason;
}

/*
 * State of this process.  Hidden, because each execution uses it.  The first element of the stack
 * is no execution: its serial number, 0, is that of the execution above an outermost one.
 */
typedef struct RunningState
{
	RunningExecution *volatile end; /* after the innermost execution */
	LongSlot   *slot;			/* NULL until running_prepare() */
	uint32		serial;			/* of the latest execution */
	uint32		wanted;			/* number of ticks when this process wanted
								 * them, for running_ticks() */
	uint32		unusual;		/* RunningUnusual of the next execution; 0:
								 * none */
	bool		by_counter;		/* CountedStart.counter is the processor's
								 * counter, because it is trusted */
	RunningExecution executions[1 + RUNNING_LEVELS];
} RunningState;

extern RunningState running_state __attribute__((visibility("hidden")));

/* The outermost execution, and the element after the stack. */
#define RUNNING_FIRST	(&running_state.executions[1])
#define RUNNING_LIMIT	(&running_state.executions[1 + RUNNING_LEVELS])

/* The sampler's ticks; always 0 without a sampler. */
extern const SamplerTicks *execution_ticks __attribute__((visibility("hidden")));

/* Prepares the process, at its first execution. */
extern void running_prepare(void);

/*
 * Unlinks the callback of an execution, which others have followed.  running_forget_above() forgets
 * the executions above one: errors have ended them, but nobody has freed their memory.
 */
extern void running_unlink(RunningExecution *r);
extern void running_forget_above(RunningExecution *r);

/* Pushes an execution on the stack, which has a free element "r". */
static pg_attribute_always_inline void
running_push_at(RunningExecution *r, QueryDesc *desc, CountedStart start)
{
	MemoryContext context = desc->estate->es_query_cxt;
	LongSlot   *slot = running_state.slot;
	uint32		serial = ++running_state.serial;

	r->desc = desc;
	r->context = context;
	r->serial = serial;
	r->start = start;
	r->at_end.next = context->reset_cbs;
	context->reset_cbs = &r->at_end;
	pg_compiler_barrier();
	running_state.end = r + 1;
	slot->outermost = RUNNING_FIRST->serial;
	slot->innermost = serial;
}

/* Called before an ExecutorRun().  Returns NULL if the stack is full. */
static inline RunningExecution *
running_push(QueryDesc *desc, const CountedStart *start)
{
	RunningExecution *r;

	if (unlikely(running_state.slot == NULL))
		running_prepare();
	r = running_state.end;
	if (unlikely(r == RUNNING_LIMIT))
		return NULL;
	running_push_at(r, desc, *start);
	return r;
}

/* Makes an element of the stack free. */
static inline void
running_free(RunningExecution *r)
{
	r->entered = -1;
	r->is_long = r->armed = false;
}

/* Removes an execution from the stack. */
static pg_attribute_always_inline void
running_pop_at(RunningExecution *r)
{
	if (unlikely(running_state.end != r + 1))
		running_forget_above(r);
	running_state.end = r;
	pg_compiler_barrier();
	if (likely(r->context->reset_cbs == &r->at_end))
		r->context->reset_cbs = r->at_end.next;
	else
		running_unlink(r);
	running_state.slot->innermost = r[-1].serial;
}

/*
 * Called after the ExecutorRun(), if it has raised no error.  Returns whether it was long; then the
 * caller calls running_free().
 */
static inline bool
running_pop(RunningExecution *r)
{
	running_pop_at(r);
	return r->is_long;
}

/*
 * Like the watcher's leave(); or NULL.  Called if an execution for which "entered" was set has
 * ended; if by an error, the QueryDesc may be freed.
 */
extern void (*running_left) (QueryDesc *desc, int entered, bool failed, bool complete);

extern void running_want(void);

/* running_counter() without a counter.  Not inlined, so that its callers need no stack. */
extern uint64 running_clock(void) __attribute__((visibility("hidden")));

/* Reads the counter from which the duration of a counted execution is computed. */
static pg_attribute_always_inline uint64
running_counter(void)
{
#ifdef CLOCKTIMING_HAVE_COUNTER
	if (likely(running_state.by_counter))
		return timing_counter_read();
#endif
	return running_clock();
}

/* Returns whether the sampler ticks, and this process need not ask for that. */
static pg_attribute_always_inline bool
running_is_ticking(uint32 ticks)
{
	return execution_ticks->ticking != 0 && ticks - running_state.wanted < RUNNING_WANT_TICKS;
}

/* Returns whether there is a sampler, and keeps it ticking. */
static inline bool
running_ticks(void)
{
	SamplerShared *shared = plan_sampler_shared;

	if (unlikely(shared == NULL || pg_atomic_read_u32(&shared->worker_pid) == 0))
		return false;
	if (unlikely(!running_is_ticking(shared->ticks.n)))
		running_want();
	return true;
}

/* Returns the number of executions that have called this one; -1: it is not on the stack. */
extern int	running_level(const QueryDesc *desc);

/* Returns the execution that a node belongs to, or NULL. */
extern RunningExecution *running_of(const PlanState *node);

/*
 * Lets the next call of a node execute join_now(), and restores the functions.  A signal handler
 * may call running_arm() during ExecutorRun().
 */
extern void running_arm(PlanState *root);
extern void running_disarm(PlanState *root);

/*
 * Registers a function that join_now() calls with the node whose call is about to begin.  It calls
 * running_disarm() if the node belongs to an execution for which it waits.
 */
typedef void (*RunningJoin) (PlanState *called);
extern void running_register(RunningJoin join);

#endif							/* CLOCKTIMING_RUNNING_EXECUTIONS_H */
