/*
 * Wrapper around a node's ExecProcNode function: counts all calls and times some.  A node with a
 * wrapper has its Instrumentation in a NodeTiming: its "instrument" points to NodeTiming.instr.
 * Its ExecProcNode is counted_call(), or counted_call_unseen() if the wrapper need not know whether
 * calls return a row.  Both usually count the call and call the node's own function. call_if_due()
 * handles calls that begin a loop or are to be timed.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "explain/call_samples.h"
#include "explain/call_wrapper.h"
#include "explain/timing_clock.h"

static dlist_head timed_queries = DLIST_STATIC_INIT(timed_queries);

/* Address range of the NodeTimings of the execution whose wrapper was called last; size 0: none. */
static TimingRange current_timings;

void
wrappers_register(QueryTiming *query, void *timings, Size size)
{
	query->timings.begin = (uintptr_t) timings + offsetof(NodeTiming, instr);
	query->timings.size = size;
	dlist_push_head(&timed_queries, &query->link);
}

void
wrappers_forget(QueryTiming *query)
{
	if (current_timings.begin == query->timings.begin)
		current_timings.size = 0;
	dlist_delete(&query->link);
}

void
wrappers_use(NodeTiming *t, bool use)
{
	current_timings.begin = (uintptr_t) &t->instr;
	current_timings.size = use ? sizeof(t->instr) : 0;
}

static inline bool
in_range(const PlanState *node, TimingRange range)
{
	return (uintptr_t) node->instrument - range.begin < range.size;
}

/*
 * Returns the NodeTiming that a node's "instrument" points into, and makes its execution the
 * current one.  Returns NULL if it points into no NodeTiming.
 */
static NodeTiming *
find_node_timing(const PlanState *node)
{
	dlist_iter	i;

	dlist_foreach(i, &timed_queries)
	{
		const QueryTiming *query = dlist_container(QueryTiming, link, i.cur);

		if (in_range(node, query->timings))
		{
			current_timings = query->timings;
			return node_timing_of(node);
		}
	}
	return NULL;
}

/*
 * Returns a node's NodeTiming if the node belongs to the current execution, and its wrapper checks
 * the results of calls (with "unseen": does not check them), else NULL.  Other extensions save and
 * restore nodes' functions.  So a wrapper may be called for a node to which it does not belong.
 * "instrument" may then not be part of a NodeTiming, so its address is checked before it is
 * dereferenced.
 */
static inline NodeTiming *
own_node_timing(const PlanState *node, bool unseen)
{
	NodeTiming *t = node_timing_of(node);

	return likely(in_range(node, current_timings) && t->wrapped == wrapped_node(node, unseen)) ? t :
		NULL;
}

static void
put_wrapper(NodeTiming *t)
{
	t->node->ExecProcNode = t->call;
}

/*
 * Executes a node for which a wrong wrapper was called, see own_node_timing().  Calls the node's
 * own wrapper, if any, else the node's function, with the server's instrumentation if needed.
 */
static pg_noinline TupleTableSlot *
call_other(PlanState *node)
{
	NodeTiming *t = find_node_timing(node);
	TupleTableSlot *slot;

	check_stack_depth();
	if (t != NULL && t->node == node && t->wrapped != 0)
		return t->call(node);

	/*
	 * Another extension has let this node share another node's
	 * instrumentation.  If both nodes used its timer, the server would raise
	 * an error.
	 */
	if (t != NULL && t->node != node)
	{
		instr_set_timer(&t->instr, false);
		return node->ExecProcNodeReal(node);
	}
	if (node->instrument == NULL)
		return node->ExecProcNodeReal(node);
	InstrStartNode(node->instrument);
	slot = node->ExecProcNodeReal(node);
	InstrStopNode(node->instrument, TupIsNull(slot) ? 0 : 1);
	return slot;
}

/*
 * Temporary wrapper of a parallel Hash Join directly below Gather.  Gather's first call makes the
 * server replace the Hash Join's wrapper by a function of the server, which then times the Hash
 * Join's first call.  During that call, the first call of a node below notices the replacement in
 * begin(), and installs resumed_call(), which restores the wrapper at the second call.
 */
static TupleTableSlot *
resumed_call(PlanState *node)
{
	NodeTiming *t = find_node_timing(node);
	double		ns;

	if (t == NULL || t->node != node || t->begun)
		return call_other(node);
	if (instr_in_loop(&t->instr))
	{
		t->calls++;
		t->ends += !instr_take_off_call(&t->instr, &ns);
		begin_samples(t);
		t->begun = true;
		t->first_calls++;
		add_known(t, &t->samples->first, ns * t->query->ticks_per_ns, 0);
	}
	instr_set_timer(&t->instr, false);
	next_due(t) = 0;
	put_wrapper(t);
	return t->call(node);
}

/* Returns ExecProcNodeFirst(), which the server sets as a node's function before its first call. */
static ExecProcNodeMtd
server_function(void)
{
	static ExecProcNodeMtd function = NULL;

	if (function == NULL)
	{
		PlanState	node = {0};

		ExecSetExecProcNode(&node, NULL);
		function = node.ExecProcNode;
	}
	return function;
}

bool
has_server_function(const PlanState *node)
{
	return node->ExecProcNode == node->ExecProcNodeReal || node->ExecProcNode == server_function();
}

static TupleTableSlot *
no_row(PlanState *node)
{
	(void) node;
	return NULL;
}

ExecProcNodeMtd
server_call_function(const PlanState *node)
{
	static ExecProcNodeMtd instrumented = NULL;

	if (instrumented == NULL)
	{
		NodeInstr	instr = {0};
		PlanState	called = {.instrument = &instr};

		ExecSetExecProcNode(&called, no_row);
		(void) called.ExecProcNode(&called);
		instrumented = called.ExecProcNode;
	}
	return node == NULL || node->instrument != NULL ? instrumented : node->ExecProcNodeReal;
}

/* Called at a node's first call.  Reinstalls wrappers that were replaced below and above it. */
static void
begin(NodeTiming *t)
{
	/* as ExecProcNodeFirst() does, which the wrapper replaces */
	check_stack_depth();

	/*
	 * switches off the timer of a parallel Hash Join, which is only needed
	 * if the server replaces the wrapper, see resumed_call()
	 */
	instr_set_timer(&t->instr, false);
	begin_samples(t);
	t->begun = true;
	if (t == t->query->root)
	{
		t->query->has_sentinel = true;
		instr_begin_loop(&t->instr);
	}
	if (t->dynamic && t->query->innermost != NULL)
		t->parent = t->query->innermost;
	for (NodeTiming *c = t->child; c != NULL; c = c->sibling)
	{
		if (c->kind == NODE_SAMPLED && !c->begun && c->node->ExecProcNode == server_function())
			put_wrapper(c);
	}
	for (NodeTiming *p = t->parent; p != NULL && !p->begun; p = p->parent)
	{
		if (p->kind == NODE_SAMPLED && p->node->ExecProcNode != p->call)
			p->node->ExecProcNode = resumed_call;
	}
}

/* Counts the call if it returned no tuple.  The next call then begins another loop. */
static inline void
record_result(NodeTiming *t, TupleTableSlot *slot)
{
	if (likely(!TupIsNull(slot)))
		return;
	t->ends++;
	if (t->reading == INPUT_ENDED_BY_MATCH)
		return;
	t->ended = true;
	next_due(t) = 0;
}

/*
 * Marks a loop as begun.  Called after its first call, because during that call some nodes rescan
 * themselves, once their search keys are known.  Such a rescan must not end the loop.
 */
static inline void
begin_loop(NodeTiming *t)
{
	t->in_loop = true;
	if (unlikely(t == t->query->root && query_was_read(t->query)))
		query_restore_loops(t->query, NULL);
	instr_begin_loop(&t->instr);
	next_due(t) = t->first_calls + t->later_due;
}

/* Records when a timed call of the root ended, to measure the time until the next call. */
static void
record_root_call(NodeTiming *t, uint64 start, uint64 stop)
{
	OutsideCalls *outside = &t->query->outside;

	if (outside->first_ticks == 0)
		outside->first_ticks = start;
	if (t->ended)
		outside->last_ticks = stop;
	else
	{
		/* a new reading, because the time since "stop" was spent on timing */
		next_due(t) = 0;
		t->returned = fenced_ticks() - t->query->off_ticks;
	}
}

static pg_noinline TupleTableSlot *
timed_call(PlanState *node, NodeTiming *t, CallClass *class)
{
	QueryTiming *query = t->query;
	NodeTiming *outer = query->innermost;
	CallsBelow	before = calls_below(t);
	CallsBelow	below;
	double		known = t->known;
	TupleTableSlot *slot;
	uint64		start;
	uint64		stop;

	query->innermost = t;
	begin_timed_call(t, query_reading(query, t, false));
	t->call_known = known;

	t->call_start = start = query_reading(query, t, false);
	slot = node->ExecProcNodeReal(node);
	stop = query_reading(query, t, true);
	t->call_start = 0;
	query->innermost = outer;
	if (class == &t->samples->first)
		begin_loop(t);
	record_result(t, slot);
	below = calls_below(t);
	for (int i = 0; i < N_BELOW; i++)
		below.n[i] -= before.n[i];
	keep_sample(t, class, start, stop, t->known - known, below);

	if (class == &t->samples->first)
		t->first_skip = draw_gap(class);
	else
		draw_later(t);
	if (t->ended)
		next_due(t) = 0;
	if (t->is_root)
		record_root_call(t, start, stop);
	if (unlikely(query->watcher != NULL && stop >= query->publish_due))
		query->watcher->publish(query, t, false);
	return slot;
}

/* Publishes the counters for clock_running at the start of a call, whether it is timed or not. */
static pg_noinline void
watch_call(NodeTiming *t)
{
	(void) query_reading(t->query, t, false);
	t->query->watcher->publish(t->query, t, true);
}

static pg_noinline TupleTableSlot *
first_call(PlanState *node, NodeTiming *t)
{
	QueryTiming *query = t->query;
	NodeTiming *outer = query->innermost;
	TupleTableSlot *slot;

	end_loop(t);
	t->calls++;
	t->first_calls++;
	t->first_skip--;
	t->returned = 0;
	if (!t->begun)
		begin(t);
	t->calls_again += t->ended && instr_in_loop(&t->instr) && !(t->is_root && query->rewound);
	t->ended = t->in_loop = false;
	query->rewound &= !t->is_root;
	if (unlikely(query->publish_now))
		watch_call(t);
	if (t->first_skip < 0)
	{
		if (t->samples->first.policy.gap > 0)
			return timed_call(node, t, &t->samples->first);
		t->first_skip = NEVER;
	}

	query->innermost = t;
	slot = node->ExecProcNodeReal(node);
	query->innermost = outer;
	begin_loop(t);
	record_result(t, slot);
	return slot;
}

/* Adds the time from the end of the root's latest timed call to the call that begins now. */
static pg_noinline void
record_time_between_calls(NodeTiming *t)
{
	OutsideCalls *outside = &t->query->outside;
	double		ticks = (double) (int64) (query_reading(t->query, NULL, false) - t->returned);

	t->returned = 0;
	outside->n++;
	outside->sum += ticks;
	outside->sum_sq += ticks * ticks;
	next_due(t) = t->first_calls + t->later_due;
}

static pg_noinline TupleTableSlot *
due_call(PlanState *node)
{
	NodeTiming *t = node_timing_of(node);
	TupleTableSlot *slot;

	if (unlikely(query_was_read(t->query)))
	{
		query_restore_loops(t->query, t);
		if (t->calls < next_due(t))
			return t->counted_call(node);
	}
	if (t->reading == INPUT_ENDED_BY_MATCH)
	{
		if (!t->begun)
			begin(t);
	}
	else if (!t->begun || !instr_in_loop(&t->instr) || t->ended ||
			 (t->is_root && t->query->rewound))
		return first_call(node, t);
	if (t->returned != 0)
		record_time_between_calls(t);
	if (t->samples->later.policy.gap == 0)
		draw_later(t);

	/*
	 * resumed_call() or live_publish.c has set next_due to 0, so that
	 * due_call() handles this call
	 */
	else if (next_due(t) == 0)
		next_due(t) = t->first_calls + t->later_due;
	t->calls++;
	if (unlikely(t->query->publish_now))
		watch_call(t);
	if (t->calls > next_due(t))
		return timed_call(node, t, &t->samples->later);
	slot = node->ExecProcNodeReal(node);
	if (t->seen)
		record_result(t, slot);
	return slot;
}

/*
 * Fast path: counts a call that begins a loop.  Returns false if due_call() must handle the call.
 * First, if first_skip is 0: the call is to be timed, or it is the node's very first call, in which
 * some nodes rescan themselves, or loops are not detected (INPUT_ENDED_BY_MATCH).  Second, if a
 * loop is active, because the call may belong to it.  Third, with INPUT_IF_BEGUN: end_loop() must
 * first count the call that ended the previous loop, unless that call was checked.
 */
static inline bool
count_first_call(NodeTiming *t)
{
	if (t->first_skip <= 0 || instr_in_loop(&t->instr) || t->reading == INPUT_IF_BEGUN ||
		query_needs_attention(t->query))
		return false;
	t->calls++;
	t->first_calls++;
	t->first_skip--;
	t->ended = false;
	begin_loop(t);
	return true;
}

/*
 * Returns whether another extension has explained the plan during a node's call.  Explaining ends
 * the loops of all nodes.  The caller must then make the loops active again before the next rescan
 * of a node, for example of a nested loop's inner side.
 */
static inline bool
was_read_within(const NodeTiming *t)
{
	return unlikely(!instr_in_loop(&t->instr)) && query_was_read(t->query);
}

static pg_noinline TupleTableSlot *
end_seen_call(NodeTiming *t, TupleTableSlot *slot)
{
	if (was_read_within(t))
		query_restore_loops(t->query, NULL);
	record_result(t, slot);
	return slot;
}

static pg_noinline TupleTableSlot *
call_if_due(PlanState *node)
{
	NodeTiming *t = node_timing_of(node);
	TupleTableSlot *slot;

	if (count_first_call(t))
	{
		slot = node->ExecProcNodeReal(node);
		return t->seen ? end_seen_call(t, slot) : slot;
	}
	slot = due_call(node);
	if (t->seen && was_read_within(t))
		query_restore_loops(t->query, NULL);
	return slot;
}

/*
 * counted_call() and counted_call_unseen() handle rare cases by tail calls, so that the compiler
 * saves only the registers that the common case needs.
 */
static TupleTableSlot *
counted_call(PlanState *node)
{
	NodeTiming *t = own_node_timing(node, false);
	TupleTableSlot *slot;

	if (unlikely(t == NULL))
		return call_other(node);
	if (unlikely(t->calls >= next_due(t)))
		return call_if_due(node);
	t->calls++;
	slot = node->ExecProcNodeReal(node);
	return likely(!TupIsNull(slot) && !was_read_within(t)) ? slot : end_seen_call(t, slot);
}

/* Does not check the result, so that calling the node's function is a tail call. */
static TupleTableSlot *
counted_call_unseen(PlanState *node)
{
	NodeTiming *t = own_node_timing(node, true);

	if (unlikely(t == NULL))
		return call_other(node);
	if (unlikely(t->calls >= next_due(t)))
		return call_if_due(node);
	t->calls++;
	return node->ExecProcNodeReal(node);
}

/* Wrapper for a node for which the server counts buffers or WAL at each call. */
static TupleTableSlot *
counted_call_with_usage(PlanState *node)
{
	NodeTiming *t = own_node_timing(node, false);
	TupleTableSlot *slot;

	if (t == NULL)
		t = own_node_timing(node, true);
	if (unlikely(t == NULL || t->usage_call != counted_call_with_usage))
		return call_other(node);
	InstrStartNode(&t->instr);
	slot = t->counted_call(node);
	/* before InstrStopNode(), which would hide that the plan was explained */
	if (unlikely(query_was_read(t->query)))
		query_restore_loops(t->query, NULL);
	InstrStopNode(&t->instr, 0);
	return slot;
}

/* Wrapper for the root of a subplan that several nodes execute, and for these nodes. */
static TupleTableSlot *
counted_call_with_uses(PlanState *node)
{
	NodeTiming *t = own_node_timing(node, false);
	TupleTableSlot *slot;
	int64		first_calls;
	double		calls_again;

	if (t == NULL)
		t = own_node_timing(node, true);
	if (unlikely(t == NULL || t->call != counted_call_with_uses))
		return call_other(node);
	first_calls = t->first_calls;
	calls_again = t->calls_again;
	for (SubplanUse *use = t->uses; use != NULL; use = use->next_of_user)
	{
		use->outer = use->subplan->use;
		subplan_set_use(use);
	}
	slot = t->usage_call(node);
	for (SubplanUse *use = t->uses; use != NULL; use = use->next_of_user)
		subplan_set_use(use->outer);
	if (t->use != NULL)
	{
		/* a call after the loop's end counts for the latest user */
		if (t->calls_again == calls_again)
		{
			t->latest_use = t->use;
			t->latest_use->first_calls += t->first_calls - first_calls;
		}
		t->latest_use->calls++;
	}
	return slot;
}

ExecProcNodeMtd
call_wrapper(bool unseen)
{
	return unseen ? counted_call_unseen : counted_call;
}

void
install_wrapper(NodeTiming *t)
{
	t->wrapped = wrapped_node(t->node, !t->seen);
	t->counted_call = call_wrapper(!t->seen);
	t->usage_call = instr_needs_usage(&t->instr) ? counted_call_with_usage : t->counted_call;
	t->call = t->uses != NULL || t->use != NULL ? counted_call_with_uses : t->usage_call;
	put_wrapper(t);
}
