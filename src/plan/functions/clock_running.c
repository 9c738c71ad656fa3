/*
 * Implements the function behind the view clock_running: reads the running executions from shared
 * memory, and adds the counters of parallel workers to those of their leaders.
 */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "plan/explain/explain_output.h"
#include "plan/functions/clock_running.h"
#include "plan/live/live_attach.h"
#include "plan/live/live_memory.h"
#include "plan/live/live_progress.h"
#include "server/args.h"
#include "server/row.h"

PG_FUNCTION_INFO_V1(clock_running);

static const char *const state_names[] = {"not started", "running", "finished", "rescanning", NULL};

/* State of a node that would be running if its execution were not suspended. */
static const char *const suspended = "suspended";

/*
 * Age of the counters from which a process is stuck, in ms: in a read from a failing disk, for
 * example, its timeout's handler is not called.
 */
#define STUCK_MS		1000

/* Processes that execute the same node and wait for the same event, or for none. */
typedef struct AtWork
{
	int			place;
	uint32		event;			/* wait_event_info; 0: none */
	int			processes;
} AtWork;

/* An execution, with the sums of its parallel workers. */
typedef struct Running
{
	LiveImage  *image;
	int			workers;
	List	   *at_work;		/* of AtWork; the leader's is first */
	int		   *processes;		/* by node: number of processes that ran it */
	double	   *share_ns;		/* by node: sum of these processes' run_ns */
} Running;

/*
 * Returns the leader's place of a node.  A worker's plan may lack nodes, and several nodes may have
 * the same plan_node_id, but the order is the same.  -1: not found.
 */
static int
leader_place(LiveImage *image, int id, int *from)
{
	int			n = image->header.nnodes;

	for (int i = 0; i < n; i++)
	{
		int			place = (*from + i) % n;

		if (live_node(image, place)->id == id)
		{
			*from = place + 1;
			return place;
		}
	}
	return -1;
}

/*
 * Returns the event for which a process waited when its counters were published, so that it belongs
 * to the node that was at work then.  If the process is stuck, returns the present event.
 */
static uint32
event_of(const LiveHeader *header)
{
	const PGPROC *proc = &ProcGlobal->allProcs[header->procno];

	if (proc->pid == header->pid &&
		TimestampDifferenceExceeds(header->as_of, GetCurrentTimestamp(), STUCK_MS))
		return *(volatile const uint32 *) &proc->wait_event_info;
	return header->event;
}

/* Adds a process that is at work at a place. */
static void
add_at_work(Running *running, int place, const LiveHeader *header)
{
	uint32		event = event_of(header);
	AtWork	   *at_work;
	ListCell   *cell;

	if (place < 0 || header->pid == 0)
		return;
	foreach(cell, running->at_work)
	{
		at_work = lfirst(cell);
		if (at_work->place == place && at_work->event == event)
		{
			at_work->processes++;
			return;
		}
	}
	at_work = palloc(sizeof(AtWork));
	*at_work = (AtWork)
	{
		.place = place, .event = event, .processes = 1
	};
	running->at_work = lappend(running->at_work, at_work);
}

/*
 * Adds a worker's counters to those of the leader's nodes.  The server has added rows and loops of
 * workers that have ended to the leader's Instrumentation.  Such nodes get only the times.
 */
static void
add_worker(Running *leader, LiveImage *worker)
{
	LiveImage  *image = leader->image;
	int			from = 0;

	leader->workers += worker->header.pid != 0;
	image->header.as_of = Max(image->header.as_of, worker->header.as_of);
	for (int i = 0; i < worker->header.nnodes; i++)
	{
		const LiveCounts *counts = live_counts(worker, i);
		int			place = leader_place(image, live_node(worker, i)->id, &from);

		if (i == worker->header.innermost)
			add_at_work(leader, place, &worker->header);
		if (place < 0 || counts->loops <= 0)
			continue;
		if (!live_counts(image, place)->includes_workers)
			live_add_counts(live_counts(image, place), counts);
		else if (image->header.sampled)
			live_add_times(live_counts(image, place), counts);
		leader->processes[place]++;
		leader->share_ns[place] += worker->header.run_ns;
	}
}

static Running *
new_running(LiveImage *image)
{
	int			n = image->header.nnodes;
	Running    *running = palloc0(sizeof(Running));

	running->image = image;
	running->processes = palloc0(sizeof(int) * (n + 1));
	running->share_ns = palloc0(sizeof(double) * (n + 1));
	for (int i = 0; i < n; i++)
	{
		running->processes[i] = live_counts(image, i)->loops > 0;
		running->share_ns[i] = running->processes[i] * image->header.run_ns;
	}
	add_at_work(running, image->header.innermost, &image->header);
	return running;
}

/* Makes the time of all processes of a Gather 100 % for each node below, also if few ran it. */
static void
share_of_parents(Running *running)
{
	for (int i = 1; i < running->image->header.nnodes; i++)
	{
		int			parent = live_node(running->image, i)->parent;
		int			tag = live_node(running->image, parent)->tag;

		if (!live_node(running->image, i)->is_subplan && running->processes[i] > 0 &&
			tag != T_Gather && tag != T_GatherMerge)
			running->share_ns[i] = Max(running->share_ns[i], running->share_ns[parent]);
	}
}

/* Returns the visible executions, with workers' counters added to their leaders'. */
static List *
running_executions(void)
{
	List	   *images = live_read_all();
	List	   *executions = NIL;
	ListCell   *cell;
	Oid			userid = seen_user();

	foreach(cell, images)
	{
		LiveImage  *image = lfirst(cell);

		if (image->header.leader_pid == 0 &&
			(!OidIsValid(userid) || image->header.userid == userid))
			executions = lappend(executions, new_running(image));
	}
	foreach(cell, images)
	{
		LiveImage  *worker = lfirst(cell);
		Running    *leader = NULL;
		ListCell   *other;

		foreach(other, executions)
		{
			Running    *r = lfirst(other);

			if (r->image->header.pid == worker->header.leader_pid &&
				r->image->header.text_hash == worker->header.text_hash &&
				(leader == NULL || leader->image->header.level < r->image->header.level))
				leader = r;
		}
		if (leader != NULL)
			add_worker(leader, worker);
	}
	foreach(cell, executions)
		share_of_parents(lfirst(cell));
	return executions;
}

static double
rounded_ms(double ns)
{
	return rint(ns / 1e3) / 1e3;
}

/* Adds the columns that describe a node's waits so far. */
static void
put_waits(Row *row, const LiveCounts *counts)
{
	NodeWait	waits[LIVE_WAITS];
	NodeEstimate node = {.waits = waits, .times.self_ns = counts->self_ns};

	for (int i = 0; i < LIVE_WAITS && counts->waits[i].event != 0; i++)
	{
		int			k = node.nwaits++;

		for (; k > 0 && waits[k - 1].ns < counts->waits[i].ns; k--)
			waits[k] = waits[k - 1];
		waits[k] = (NodeWait)
		{
			.event = counts->waits[i].event, .ns = counts->waits[i].ns
		};
	}
	row_put_double(row, rounded_ms(counts->self_ns - counts->wait_ns), ROW_EXACT);
	row_put_double(row, rounded_ms(counts->wait_ns), ROW_EXACT);
	row_put_text(row, explain_waits(&node));
	row_put_double(row, rounded_ms(counts->cpu_wait_ns), ROW_EXACT);
}

/* Adds the state of most of the processes that execute a node, and their number. */
static void
put_now(Row *row, const Running *running, int place)
{
	const AtWork *most = NULL;
	const char *type;
	const char *name;
	ListCell   *cell;

	foreach(cell, running->at_work)
	{
		const AtWork *at_work = lfirst(cell);

		if (at_work->place == place && (most == NULL || at_work->processes > most->processes))
			most = at_work;
	}
	if (most == NULL)
	{
		row_put_nulls(row, 2);
		return;
	}
	type = pgstat_get_wait_event_type(most->event);
	name = pgstat_get_wait_event(most->event);
	row_put_text(row, type == NULL || name == NULL ? "CPU" : psprintf("%s:%s", type, name));
	row_put(row, Int32GetDatum(most->processes));
}

/*
 * Adds the columns of a node.  If the node was called only before counting began, its counters are
 * null.
 */
static void
put_node(Row *row, const Running *running, int place)
{
	LiveImage  *image = running->image;
	const LiveNode *node = live_node(image, place);
	const LiveCounts *counts = live_counts(image, place);
	double		share_ns = running->share_ns[place];

	row_put(row, Int32GetDatum(place + 1));
	row_put(row, Int32GetDatum(node->depth));
	row_put_text(row, live_name(image, place, node->type));
	row_put_text(row, live_name(image, place, node->relation));
	row_put_text(row, live_name(image, place, node->index));
	row_put_text(row, image->header.suspended_at != 0 && counts->state == LIVE_RUNNING ?
				 suspended : state_names[counts->state]);
	row_put_bool(row, place == image->header.innermost);
	if (counts->loops <= 0 && counts->state != LIVE_NOT_STARTED)
		row_put_nulls(row, 3);	/* unknown, because the node ran before
								 * counting began */
	else
	{
		row_put_counts(row, (int64) counts->loops, (int64) counts->rows);
		if (counts->calls < 0)
			row_put_null(row);
		else
			row_put_count(row, counts->calls);
	}
	row_put_double(row, (double) node->rows, ROW_EXACT);
	row_put_double(row, rounded_ms(counts->total_ns), ROW_EXACT);
	row_put_double(row, rounded_ms(counts->total_margin_ns), ROW_EXACT);
	row_put_double(row, rounded_ms(counts->self_ns), ROW_EXACT);
	row_put_double(row, rounded_ms(counts->self_margin_ns), ROW_EXACT);
	row_put_double(row, share_ns > 0 ? 100 * counts->self_ns / share_ns : NAN, 2);
	put_waits(row, counts);
	put_now(row, running, place);
	row_put_double(row, (double) node->startup_cost, ROW_EXACT);
	row_put_double(row, (double) node->total_cost, ROW_EXACT);
	row_put(row, Int32GetDatum(node->width));
}

/* Numbers of columns of a node before and after its state. */
#define COLUMNS_BEFORE_STATE	5
#define COLUMNS_AFTER_STATE		19

/* Returns the process of the reading session: of a parallel worker, its leader. */
static int
reader_pid(void)
{
	return MyProc->lockGroupLeader != NULL ? MyProc->lockGroupLeader->pid : MyProcPid;
}

/*
 * Estimates the duration of an execution, in s.  Stores the estimate with the execution, so that
 * that of a client's statement is scored at the end, and so that the shown progress does not fall.
 */
static EndEstimate
estimate_end(LiveImage *image, const LiveProgress *progress, double elapsed)
{
	EndCalibration calibration;
	EndHistory	history = live_history(&image->header.plan, &calibration);
	EndEstimate estimate = end_estimate(elapsed, progress->remaining_ns / 1e9, progress->doubt,
										&history, &calibration);
	LiveShown	shown = live_shown(image);
	LivePrediction prediction = {.with_history = history.n > 0};

	if (isnan(estimate.total) || image->header.pid == reader_pid())
		return estimate;
	estimate = end_steady(estimate, elapsed, shown.share, shown.least);
	shown.share = elapsed / estimate.total;
	shown.least = elapsed / estimate.high;
	live_set_shown(image, shown);
	prediction.low = estimate.low;
	prediction.high = estimate.high;
	if (image->header.level == 0)
		live_predict(image, &prediction);
	return estimate;
}

/*
 * Adds the rows of an execution, one per node.  An execution with more nodes than are published has
 * one row, without a node.
 */
static void
put_execution(FunctionCallInfo fcinfo, const Running *running)
{
	const LiveHeader *header = &running->image->header;
	TimestampTz now = GetCurrentTimestamp();
	double		elapsed = Max((double) live_elapsed_us(header, now) / 1e6, 1e-6);
	LiveProgress progress = live_progress(running->image, running->processes, now);
	EndEstimate estimate = estimate_end(running->image, &progress, elapsed);

	for (int place = 0; place < Max(header->nnodes, 1); place++)
	{
		Row			row = row_of_set(fcinfo);

		row_put(&row, Int32GetDatum(header->pid));
		row_put(&row, Int32GetDatum(header->level));
		if (header->nnodes > 0)
			put_node(&row, running, place);
		else
		{
			row_put_nulls(&row, COLUMNS_BEFORE_STATE);
			row_put_text(&row, header->suspended_at != 0 ? suspended : NULL);
			row_put_nulls(&row, COLUMNS_AFTER_STATE);
		}
		row_put_double(&row, isnan(estimate.total) ? NAN :
					   Min(100 * elapsed / estimate.total, 99.9), 1);
		row_put_double(&row, (estimate.total - elapsed) * 1e3, 0);
		row_put_double(&row, (estimate.low - elapsed) * 1e3, 0);
		row_put_double(&row, (estimate.high - elapsed) * 1e3, 0);
		row_put_text(&row, isnan(estimate.total) ? progress.reason : NULL);
		row_put_double(&row, (double) live_elapsed_us(header, now) / 1e3, 0);
		row_put(&row, Int32GetDatum(running->workers));
		row_put(&row, TimestampTzGetDatum(header->started_at));
		row_put(&row, TimestampTzGetDatum(header->since));
		row_put(&row, TimestampTzGetDatum(header->as_of));
		if (header->suspended_at != 0)
			row_put(&row, TimestampTzGetDatum(header->suspended_at));
		else
			row_put_null(&row);
		row_put(&row, ObjectIdGetDatum(header->dbid));
		row_put(&row, ObjectIdGetDatum(header->userid));
		row_put_count(&row, header->queryid);
		row_to_set(&row, fcinfo);
	}
}

/*
 * Skips nested statements, because the client waits for the outermost one; and the reader's own
 * statement, which monitoring would otherwise always count.
 */
int
clock_running_statements(LongestRunning *longest)
{
	List	   *executions = running_executions();
	ListCell   *cell;
	int64		longest_us = -1;
	int			n = 0;

	foreach(cell, executions)
	{
		LiveImage  *image = ((Running *) lfirst(cell))->image;
		const LiveHeader *header = &image->header;
		int			innermost = header->innermost;
		int64		elapsed_us = Max(live_elapsed_us(header, GetCurrentTimestamp()), 0);

		if (header->level > 0 || header->suspended_at != 0 || header->pid == reader_pid())
			continue;
		n++;
		if (elapsed_us <= longest_us)
			continue;
		longest_us = elapsed_us;
		longest->seconds = (double) elapsed_us / 1e6;
		longest->node_type = innermost < 0 || innermost >= header->nnodes ? "" :
			live_name(image, innermost, live_node(image, innermost)->type);
	}
	return n;
}

Datum
clock_running(PG_FUNCTION_ARGS)
{
	List	   *executions;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	require_preloaded(live_memory_ready());
	executions = running_executions();
	if (executions == NIL && !live_is_on())
		notice_setting_is_off("clocktiming.live");
	foreach(cell, executions)
		put_execution(fcinfo, lfirst(cell));
	return (Datum) 0;
}
