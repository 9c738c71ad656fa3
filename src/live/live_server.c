/*
 * Publishes executions that the server instruments.  The server's Instrumentation has the rows,
 * loops and times of each node.  The timeout's handler (live_attach.c) reads it while nodes are
 * executed.
 *
 * The server does not record that a node has returned its last row.  The end of a node's loop is
 * known only if the node above has read all of the node's rows.
 */
#include "postgres.h"

#include <math.h>

#include "access/parallel.h"
#include "lib/ilist.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "explain/plan_shape.h"
#include "explain/server_instr.h"
#include "live/live_plan.h"
#include "live/live_publish.h"
#include "live/live_server.h"

struct ServerExecution
{
	const QueryDesc *desc;
	dlist_node	link;
	LiveImage  *image;
	PlanState **nodes;			/* indexed by place (live_memory.h) */
	MemoryContextCallback at_end;	/* calls server_end() */
};

static dlist_head servers = DLIST_STATIC_INIT(servers);

/* Called when the query's memory is freed, also after an error. */
static void
server_end(void *arg)
{
	ServerExecution *server = arg;

	dlist_delete(&server->link);
	live_release(server->image);
}

ServerExecution *
server_begin(const QueryDesc *desc, int level, TimestampTz started_at)
{
	MemoryContext old = MemoryContextSwitchTo(desc->estate->es_query_cxt);
	ServerExecution *server = palloc0(sizeof(ServerExecution));

	server->desc = desc;
	server->image = live_describe(desc, level, started_at, &server->nodes);
	server->image->header.since = started_at;
	server->at_end.func = server_end;
	server->at_end.arg = server;
	MemoryContextSwitchTo(old);
	if (!live_claim(server->image))
		return NULL;
	dlist_push_head(&servers, &server->link);
	MemoryContextRegisterResetCallback(desc->estate->es_query_cxt, &server->at_end);
	live_write(server->image, true);
	server_publish(server, true);
	return server;
}

ServerExecution *
server_find(const QueryDesc *desc)
{
	dlist_iter	i;

	dlist_foreach(i, &servers)
	{
		ServerExecution *server = dlist_container(ServerExecution, link, i.cur);

		if (server->desc == desc)
			return server;
	}
	return NULL;
}

/*
 * Returns whether a node's state shows that an input has returned its last row.  The input's loop
 * must have begun.  An Append that executes another input now is done with this one.
 */
static bool
remembers_end(const PlanState *node, const PlanState *input)
{
	const AppendState *append = (const AppendState *) node;
	int			i;

	if (IsA(node, MaterialState))
		return ((const MaterialState *) node)->eof_underlying;
	if (!IsA(node, AppendState) || append->as_nasyncplans > 0)
		return false;
	i = append->as_whichplan;
	return i >= 0 && i < append->as_nplans && append->appendplans[i] != input;
}

/* Returns whether a node's latest loop, which the Instrumentation shows as begun, has ended. */
static bool
loop_is_over(const ServerExecution *server, int place)
{
	const LiveNode *n = live_node(server->image, place);
	const PlanState *above = n->parent < 0 ? NULL : server->nodes[n->parent];
	bool		above_ended = above != NULL &&
		live_counts(server->image, n->parent)->state == LIVE_FINISHED;

	/* one call evaluates a subplan to its end, unless it is a CTE */
	if (above == NULL || n->is_subplan)
		return n->is_subplan && !n->is_cte;
	if (remembers_end(above, server->nodes[place]))
		return true;
	switch (plan_input_reading(above, server->nodes[place]))
	{
		case INPUT_READ_TO_END:
			return above_ended || (plan_shape(above)->output == OUTPUT_TUPLES &&
								   instr_in_loop(above->instrument));
		case INPUT_IF_BEGUN:
		case INPUT_AS_NODE:
			return above_ended;
		default:
			return false;
	}
}

/*
 * Returns a node's state.  If a node does all its work in one call ("whole"), it has finished when
 * the call has ended.  If the server does not time the node, the Instrumentation does not show that
 * the first call of a loop is in progress.  Then the node is running if a node below is running.
 */
static LiveState
node_state(const NodeInstr *instr, const PlanState *node, double loops, bool below_runs)
{
	bool		whole = plan_shape(node)->output == OUTPUT_WHOLE ||
		(IsA(node, ModifyTableState) && ((const ModifyTable *) node->plan)->returningLists == NIL);

	if (instr_is_timing(instr))
		return LIVE_RUNNING;
	if (instr_in_loop(instr))
		return whole ? LIVE_FINISHED : LIVE_RUNNING;
	if (below_runs && !instr_has_timer(instr))
		return LIVE_RUNNING;
	if (loops <= 0)
		return LIVE_NOT_STARTED;
	return whole ? LIVE_FINISHED : LIVE_RESCANNING;
}

/* Sets the nodes' states in two passes: from the leaves to the root, then back. */
static void
put_states(const ServerExecution *server)
{
	LiveImage  *image = server->image;
	int			n = image->header.nnodes;

	for (int i = n - 1; i >= 0; i--)
	{
		const LiveNode *node = live_node(image, i);
		const NodeInstr *instr = server->nodes[i]->instrument;
		LiveCounts *counts = live_counts(image, i);

		/* a running node below has already set the state to LIVE_RUNNING */
		counts->state = node_state(instr, server->nodes[i], counts->loops,
								   counts->state == LIVE_RUNNING);
		if (counts->state != LIVE_RUNNING)
			continue;
		/* the server counts a loop after its first call */
		counts->loops += !instr_in_loop(instr);
		if (node->parent >= 0)
			live_counts(image, node->parent)->state = LIVE_RUNNING;
	}
	for (int i = 0; i < n; i++)
	{
		LiveCounts *counts = live_counts(image, i);
		const NodeInstr *instr = server->nodes[i]->instrument;

		if (counts->self_ns < 0)
			counts->self_ns = 0;
		if (counts->state == LIVE_RUNNING && instr_in_loop(instr) && !instr_is_timing(instr) &&
			loop_is_over(server, i))
			counts->state = LIVE_FINISHED;
	}
}

/* Sets the nodes' rows, loops and times, and the node that was called last. */
static void
put_counts(const ServerExecution *server)
{
	LiveImage  *image = server->image;
	double		latest = 0;

	image->header.innermost = -1;
	for (int i = 0; i < image->header.nnodes; i++)
	{
		const NodeInstr *instr = server->nodes[i]->instrument;
		const LiveNode *node = live_node(image, i);
		LiveCounts *counts = live_counts(image, i);
		NodeRecord	so_far = instr_so_far(instr);
		double		call_start = instr_call_start(instr);

		counts->state = LIVE_NOT_STARTED;
		counts->scanned = (float) share_scanned(server->nodes[i], !IsParallelWorker());
		counts->rows = so_far.rows;
		counts->loops = so_far.loops;
		counts->calls = -1;
		counts->includes_workers = server->nodes[i]->worker_instrument != NULL;
		if (call_start > latest)
		{
			latest = call_start;
			image->header.innermost = i;
		}
		if (!instr_has_timer(instr) || (so_far.loops <= 0 && call_start <= 0))
			continue;
		counts->total_ns = counts->self_ns = so_far.total_ns + instr_call_ns(instr);
		counts->total_margin_ns = counts->self_margin_ns = 0;

		/* a parent does not call its InitPlans and CTEs; a node below does */
		if (node->parent >= 0 && (!node->is_subplan || node->is_expression))
			live_counts(image, node->parent)->self_ns -= counts->total_ns;
	}
}

void
server_publish(ServerExecution *server, bool always)
{
	LiveImage  *image = server->image;
	TimestampTz now = GetCurrentTimestamp();

	if (!always && now - image->header.as_of < live_interval_ms * INT64CONST(1000))
		return;
	put_counts(server);
	put_states(server);
	image->header.run_ns = image->header.nnodes > 0 ? live_counts(image, 0)->total_ns : NAN;
	image->header.as_of = now;
	live_write(image, false);
}
