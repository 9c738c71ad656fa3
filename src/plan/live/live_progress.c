/*
 * Estimates the progress and the remaining time of a running execution.
 *
 * Two shares are computed for each node: the share of its work that is done, and the share of its
 * rows that it has returned.
 *
 * - For a scan, both are the share of pages read or, if unknown, of expected rows returned.
 * - If a node returns rows while it reads its first input, both are the input's share of rows.
 * - If a node reads its input to the end before it returns a row, as a sort does, it begins a new
 *   pipeline, and the two shares differ.
 *
 * A node's remaining time is extrapolated from its time so far.  The time of a node that has not
 * begun follows from its cost.
 *
 * If the counters began during the execution (LiveHeader.late), the number of earlier rows is
 * unknown.  Then shares are computed only from the positions of sequential scans and from the nodes
 * that have ended: once for the time at which the counters began, and once for now.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "nodes/nodes.h"

#include "compat.h"
#include "plan/live/live_progress.h"

/*
 * Minimum counting time, in us, for an estimate from counters that began late.  An estimate after
 * 50 ms was 8 s too short, because the node with most of the work had hardly begun.
 */
#define LEAST_COUNTED	500000

/* Minimum share of a node's work that must be done before its remaining time is extrapolated. */
#define TELLING_SHARE	0.02

/*
 * Minimum share of the plan's cost that must be done before the remaining time is extrapolated.
 * Without it, a Function Scan with a cost of 0.03 and a time of 53 ms led to an estimate of 180 d.
 */
#define TELLING_COST	0.001

/*
 * Weight of a node's cost in the estimate of its time.  The weight of its time so far is the share
 * of its work that is done.  The cost is used, too, because the times of a few calls are imprecise.
 */
#define PRIOR_WEIGHT	0.05

/*
 * Time of a sort, in multiples of the time to read its input.  In memory, it is SORT_MULTIPLE plus
 * SORT_LOG_MULTIPLE times the base-2 logarithm of the number of rows.  If the sort writes to disk,
 * it is SPILL_MULTIPLE.  Measured with 0.4 and 4 million rows.
 */
#define SORT_MULTIPLE	3.0
#define SORT_LOG_MULTIPLE	0.11
#define SPILL_MULTIPLE	2.0

/* Share of a sort's work that is done when it returns its first row: in memory, and on disk. */
#define SORTED_SHARE	0.6
#define SPILLED_SHARE	0.8

/* Share of the work of a hash join with batches that is done when its outer side has been read. */
#define OUTER_SHARE		0.3

/*
 * Time of an aggregate or set operation per group, as a multiple of the time per input row.  For
 * this constant and the next: "Hash aggregates" in doc/benchmarks.md.
 */
#define GROUP_MULTIPLE	0.25

/* Time of a hash aggregate on disk after the end of its input, as a multiple of the time before. */
#define SPILLED_MULTIPLE	0.8

/*
 * If the planner expects at least this number of rows per loop of a nested loop's inner side, the
 * nested loop's share is at most that of the inner side.  With fewer rows, the nested loop's share
 * is that of the outer side.
 */
#define MANY_ROWS		10

static const char *const exceeded = gettext_noop("a node has returned more rows than the planner expected");
static const char *const began_late = gettext_noop("the counters began while the query was running");

typedef struct NodeProgress
{
	double		loops;			/* expected total number of loops */
	double		work;			/* share of the work that is done */
	double		rows;			/* share of the rows that were returned */
	double		first_work;		/* value of "work" when the counters began; 0
								 * unless they began late */
	double		cost;			/* planner's cost without that of nodes below */
} NodeProgress;

typedef struct ProgressWalk
{
	LiveImage  *image;
	const int  *processes;		/* number of processes per node, by place */
	NodeProgress *nodes;		/* indexed by place */

	/*
	 * If the counters began late, share of a nested loop's outer side, which
	 * replaces the shares of the nodes on the inner side.  Otherwise NAN.
	 */
	double		outer;
	const char *reason;			/* why the remaining time is unknown; or NULL */
} ProgressWalk;

/* Returns a node's loops per process, for comparison with the planner's estimate. */
static double
loops_of(ProgressWalk *walk, int place)
{
	return live_counts(walk->image, place)->loops / Max(walk->processes[place], 1);
}

/* Returns a node's rows per process, for comparison with the planner's estimate. */
static double
rows_of(ProgressWalk *walk, int place)
{
	double		workers = Max(walk->processes[place], 1) - 1;

	/* the planner assumes that each worker reduces the leader's part by 30 % */
	return live_counts(walk->image, place)->rows / (workers + Max(1 - 0.3 * workers, 0));
}

static double
share(double part, double whole)
{
	return whole > 0 ? Max(Min(part / whole, 1), 0) : 0;
}

/*
 * Returns whether a node has ended its last loop.  If the counters began late, they may lack the
 * only loop of a node, because it ended before.
 */
static bool
is_done(ProgressWalk *walk, int place)
{
	return live_counts(walk->image, place)->state == LIVE_FINISHED &&
		(loops_of(walk, place) >= walk->nodes[place].loops ||
		 (walk->image->header.late && walk->nodes[place].loops <= 1));
}

/* Returns the place of a node's n-th input, counted from 0; -1 if there is none. */
static int
input_of(ProgressWalk *walk, int place, int n)
{
	for (int i = place + 1; i < walk->image->header.nnodes; i++)
	{
		const LiveNode *node = live_node(walk->image, i);

		if (node->parent == place && !node->is_subplan && n-- == 0)
			return i;
	}
	return -1;
}

static double
scan_share(ProgressWalk *walk, int place)
{
	const LiveCounts *counts = live_counts(walk->image, place);
	double		loops = walk->nodes[place].loops;
	double		expected = Max((double) live_node(walk->image, place)->rows, 1) * loops;

	if (is_done(walk, place))
		return 1;
	if (walk->image->header.late)
	{
		if (counts->state == LIVE_NOT_STARTED)
			return 0;
		if (isnan(counts->scanned) || loops > 1 ||
			(isnan(counts->first_scanned) && counts->first_state != LIVE_NOT_STARTED))
			walk->reason = began_late;
		return isnan(counts->scanned) ? 0 : (double) counts->scanned;
	}
	if (!isnan(counts->scanned))
		return share(loops_of(walk, place) - 1 + (double) counts->scanned, loops);
	if (rows_of(walk, place) > expected)
		walk->reason = exceeded;
	return share(rows_of(walk, place), expected);
}

/* Returns the share of rows of a node that returns its rows again in each loop. */
static double
repeated_share(ProgressWalk *walk, int place)
{
	double		rows = (double) live_node(walk->image, place)->rows;

	if (loops_of(walk, place) > 1)
		rows = Max(rows_of(walk, place) / loops_of(walk, place), rows);
	return share(rows_of(walk, place), Max(rows, 1) * walk->nodes[place].loops);
}

/* Returns the share of rows for a node that first reads its input to the end, such as a sort. */
static double
output_share(ProgressWalk *walk, int place, const NodeProgress *input, double input_rows)
{
	const LiveNode *node = live_node(walk->image, place);
	double		expected = (double) node->rows * walk->nodes[place].loops;

	if (is_done(walk, place))
		return 1;
	if (walk->image->header.late && input->first_work >= 1)
		walk->reason = began_late;
	if (node->tag == T_Sort)
		expected = input->rows > input->first_work ?
			input_rows / (input->rows - input->first_work) : expected;
	if (rows_of(walk, place) > expected && node->tag != T_Sort)
		walk->reason = exceeded;
	return share(rows_of(walk, place), expected);
}

static void walk_node(ProgressWalk *walk, int place, double loops);

/* Computes the shares of the nodes below.  Returns the inputs' share of rows, weighted by costs. */
static double
walk_inputs(ProgressWalk *walk, int place)
{
	NodeProgress *p = &walk->nodes[place];
	const LiveNode *node = live_node(walk->image, place);
	bool		late = walk->image->header.late;
	double		cost = 0;
	double		done = 0;

	for (int i = place + 1; i < walk->image->header.nnodes; i++)
	{
		const LiveNode *input = live_node(walk->image, i);
		double		loops = p->loops;
		double		outer_share = walk->outer;

		if (input->parent != place)
			continue;
		if (input->is_subplan)
			loops = Max(loops_of(walk, i), 1);
		else if (node->tag == T_NestLoop && i != input_of(walk, place, 0))
		{
			int			outer = input_of(walk, place, 0);
			double		outer_rows = rows_of(walk, outer);

			loops = walk->nodes[outer].rows > TELLING_SHARE && !late ?
				outer_rows / walk->nodes[outer].rows :
				p->loops * live_node(walk->image, outer)->rows;
			loops = Max(loops, loops_of(walk, i));
			if (late && isnan(walk->outer))
				walk->outer = walk->nodes[outer].rows;
		}
		else if (node->tag == T_Material)
			loops = loops_of(walk, i);
		else if (node->tag == T_Memoize && loops_of(walk, place) > 0)
			loops *= loops_of(walk, i) / loops_of(walk, place);
		walk_node(walk, i, Max(loops, 1));
		walk->outer = outer_share;
		p->cost -= (double) input->total_cost * walk->nodes[i].loops;
		cost += Max((double) input->total_cost, 0.01);
		done += Max((double) input->total_cost, 0.01) * walk->nodes[i].rows;
	}
	return share(done, cost);
}

/* Returns the share of a sort's work that is done, from its shares of input and output rows. */
static double
sort_work(const LiveNode *node, double input, bool returns, double input_rows, double output)
{
	double		sorted = node->spills ? SPILLED_SHARE : SORTED_SHARE;

	if (returns)
		return sorted + (1 - sorted) * output;
	return input / (node->spills ? SPILL_MULTIPLE : SORT_MULTIPLE + SORT_LOG_MULTIPLE *
					log2(Max(input_rows / Max(input, TELLING_SHARE), 2)));
}

static void
walk_node(ProgressWalk *walk, int place, double loops)
{
	NodeProgress *p = &walk->nodes[place];
	const LiveNode *node = live_node(walk->image, place);
	const LiveCounts *counts = live_counts(walk->image, place);
	int			input = input_of(walk, place, 0);
	int			inner;
	double		all;
	double		output;			/* time after the end of the input / time
								 * until then */

	check_stack_depth();
	p->loops = Max(loops, loops_of(walk, place));
	p->cost = (double) node->total_cost * p->loops;
	all = walk_inputs(walk, place);
	p->cost = Max(p->cost, (double) node->total_cost * p->loops * 0.001);
	p->cost += (double) node->sorting_cost * p->loops;
	if (!isnan(walk->outer))
		p->work = p->rows = walk->outer;
	else if (input < 0 || node->tag == T_BitmapHeapScan)
		p->work = p->rows = scan_share(walk, place);
	else
	{
		const NodeProgress *driver = &walk->nodes[input];
		double		input_rows = rows_of(walk, input);

		switch (node->tag)
		{
			case T_Append:
			case T_MergeAppend:
				p->work = p->rows = all;
				break;
			case T_Limit:
				p->work = p->rows =
					Max(driver->rows, share(rows_of(walk, place), (double) node->rows * p->loops));
				if (walk->image->header.late && rows_of(walk, place) > 0)
					walk->reason = began_late;
				break;
			case T_HashJoin:
				p->work = p->rows = driver->rows;
				if (counts->batches > 0)
				{
					if (walk->image->header.late && driver->first_work >= 1 && counts->batch < 0)
						walk->reason = began_late;
					p->rows = share(rows_of(walk, place), Max((double) node->rows, 1) * p->loops);
					if (counts->batch >= 0)
						p->rows = Min(Max(p->rows, counts->batch / (double) counts->batches),
									  (counts->batch + 1) / (double) counts->batches);
					p->work = OUTER_SHARE * driver->rows + (1 - OUTER_SHARE) * p->rows;
				}
				break;
			case T_RecursiveUnion:
				walk->reason = gettext_noop("the number of rounds of a recursive query is unknown");
				break;
			case T_Material:
				p->work = p->rows = repeated_share(walk, place);
				break;
			case T_NestLoop:
				p->work = p->rows = driver->rows;

				/*
				 * With many inner rows for each outer row, much of the work
				 * for the latest outer row is not done yet.
				 */
				inner = input_of(walk, place, 1);
				if (!walk->image->header.late &&
					live_node(walk->image, inner)->rows >= MANY_ROWS)
					p->work = p->rows = Min(driver->rows, repeated_share(walk, inner));
				break;
			case T_Sort:
				p->rows = output_share(walk, place, driver, input_rows);
				p->work = sort_work(node, driver->rows, counts->rows > 0, input_rows, p->rows);
				break;
			case T_Agg:
			case T_SetOp:
				p->rows = output_share(walk, place, driver, input_rows);
				output = node->spills ? SPILLED_MULTIPLE :
					GROUP_MULTIPLE * node->rows / Max(live_node(walk->image, input)->rows, 1);

				/*
				 * A sorted aggregate returns rows while it reads its input,
				 * and a plain one returns a single row.
				 */
				if (node->tag == T_Agg &&
					node->startup_cost < live_node(walk->image, input)->total_cost)
					p->work = p->rows = driver->rows;
				else if (node->tag == T_Agg && node->rows <= 1)
					p->work = node->sorting_cost <= 0 ? driver->rows :
						sort_work(node, driver->rows, false, input_rows, 0);
				else
					p->work = (driver->rows + output * p->rows) / (1 + output);
				break;
			default:
				p->work = p->rows = driver->rows;
				break;
		}
	}
	if (is_done(walk, place))
		p->work = p->rows = 1;
}

/* Computes the shares at the time when the counters began, and sets first_work to them. */
static void
walk_first(ProgressWalk *walk)
{
	int			n = walk->image->header.nnodes;
	Size		size = live_image_size(n);
	LiveImage  *now = walk->image;

	walk->image = memcpy(palloc(size), now, size);
	for (int i = 0; i < n; i++)
	{
		LiveCounts *counts = live_counts(walk->image, i);

		counts->state = counts->first_state;
		counts->scanned = counts->first_scanned;
		counts->rows = counts->loops = 0;
		counts->batch = counts->first_batch;
	}
	walk_node(walk, 0, 1);
	walk->image = now;

	/*
	 * a share that was unknown at that time does not matter if it is known
	 * now
	 */
	walk->reason = NULL;
	for (int i = 0; i < n; i++)
		walk->nodes[i].first_work = walk->nodes[i].work;
}

LiveProgress
live_progress(LiveImage *image, const int *processes, TimestampTz now)
{
	const LiveHeader *header = &image->header;
	int			n = header->nnodes;
	ProgressWalk walk = {.image = image, .processes = processes, .outer = NAN};
	LiveProgress progress = {NAN, NAN, NULL};
	double		timed_ns = 0;
	double		timed_cost = 0;
	double		plan_cost = 0;
	double		left_ns = 0;
	double		done_ns = 0;
	double		age_ns;
	int64		counted_us = header->as_of - header->since - header->suspended_us;

	if (n == 0)
		progress.reason = gettext_noop("the plan has more nodes than are shown");
	if (progress.reason != NULL)
		return progress;
	walk.nodes = palloc0(sizeof(NodeProgress) * n);
	if (header->late)
		walk_first(&walk);
	walk_node(&walk, 0, 1);
	for (int i = 0; i < n; i++)
	{
		const LiveCounts *counts = live_counts(image, i);
		double		work = walk.nodes[i].work - walk.nodes[i].first_work;

		plan_cost += walk.nodes[i].cost;
		if (work < TELLING_SHARE || isnan(counts->self_ns))
			continue;
		timed_ns += counts->self_ns / Max(processes[i], 1);
		timed_cost += walk.nodes[i].cost * work;
	}
	for (int i = 0; i < n && timed_cost > 0; i++)
	{
		const LiveCounts *counts = live_counts(image, i);
		const NodeProgress *p = &walk.nodes[i];
		double		work = p->work - p->first_work;
		double		self_ns = isnan(counts->self_ns) ? 0 : counts->self_ns / Max(processes[i], 1);
		bool		has_rate = self_ns > 0 && work > 0; /* else it has hardly
														 * begun */
		double		prior = has_rate ? PRIOR_WEIGHT * (1 - p->work) : 1;
		double		ns = p->work >= 1 ? self_ns :
			(has_rate * self_ns + prior * p->cost * timed_ns / timed_cost) / (work + prior);

		left_ns += ns * (1 - p->work);
		done_ns += isnan(counts->self_ns) ? ns * work : self_ns;
	}
	if (walk.reason == NULL &&
		(timed_cost <= TELLING_COST * plan_cost || done_ns <= 0 ||
		 (header->late && counted_us < LEAST_COUNTED)))
		walk.reason = gettext_noop("too little of the plan is done");
	else if (walk.reason == NULL && left_ns <= 0)
		walk.reason = gettext_noop("only the last rows of the plan remain");
	progress.reason = walk.reason;
	if (progress.reason != NULL)
		return progress;
	age_ns = header->suspended_at != 0 ? 0 : (double) Max(now - header->as_of, 0) * 1e3;

	/*
	 * converts to elapsed time, which includes waits and other processes'
	 * time
	 */
	left_ns *= (double) counted_us * 1e3 / done_ns;
	if (left_ns <= age_ns)
	{
		progress.reason = gettext_noop("a call of a node takes longer than expected");
		return progress;
	}
	progress.remaining_ns = left_ns - age_ns;
	progress.percent = 100 *
		(1 - progress.remaining_ns /
		 (progress.remaining_ns + (double) live_elapsed_us(header, now) * 1e3));
	return progress;
}
