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
 * The numbers of rows that these shares need are known at first only from the planner.  They are
 * corrected during the execution: by the true numbers of nodes that have ended, and of rows that a
 * hash table, a sort or a CTE has in memory; then by the rows that a node has returned for the
 * share of its input that it has read.  The ratio of a node's corrected to its estimated rows is
 * applied to the nodes above, so that both underestimates and overestimates are noticed.  See Lee
 * et al., "Operator and Query Progress Estimation in Microsoft SQL Server Live Query Statistics"
 * (SIGMOD 2016), and for bounds Chaudhuri et al., "Estimating Progress of Execution for SQL
 * Queries" (SIGMOD 2004).
 *
 * A node's remaining time is extrapolated from its time so far.  The time of a node that has not
 * begun follows from its cost, multiplied by the ratios of its inputs.  The doubt of the sum is the
 * logarithm of how much larger the sum is if each node's remaining time is larger by its own doubt:
 * the more of the remaining time follows from the planner, the less certain it is.
 * plan/estimate/end_estimate.c combines the result with the durations of earlier executions.
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
 * So time and cost count equally after 5 % of the work: with half of the weight after 2.5 %, with
 * twice after 10 %.
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
 * If at least this number of rows per loop is expected of a nested loop's inner side, the nested
 * loop's share is at most that of the inner side.  With fewer rows, the nested loop's share is that
 * of the outer side.
 */
#define MANY_ROWS		10

/* Planner's cost of a row of Materialize after its first loop: cpu_operator_cost. */
#define MATERIAL_COST	0.0025

/*
 * Number of loops of a nested loop's inner side that the planner's estimate counts as.  After one
 * loop, the rows of that loop have a weight of two thirds; with twice, of a half.
 */
#define PRIOR_LOOPS		0.5

/* Number of rows to expect if all expected ones have been returned, in multiples of these. */
#define EXCEEDED_MULTIPLE	1.5

/*
 * Standard deviations of logarithms: of the planner's number of rows of a scan or join relative to
 * its inputs, and of groups; the largest one; of a number that was exceeded; of the time of a node
 * that has hardly begun, extrapolated from others by its cost; and of a time that is extrapolated
 * from its own.  They determine the range before calibration (plan/estimate/end_estimate.h): half
 * or twice as much makes it half or twice as wide.
 */
#define ROWS_DOUBT		0.5
#define GROUPS_DOUBT	0.5
#define MOST_DOUBT		2.0
#define EXCEEDED_DOUBT	1.0
#define COST_DOUBT		1.0
#define RATE_DOUBT		0.3

static const char *const began_late = "began late";

typedef struct NodeProgress
{
	double		loops;			/* expected total number of loops */
	double		rows_expected;	/* expected total number of rows per process */
	double		ratio;			/* rows_expected / the planner's estimate for
								 * this number of loops */
	double		doubt;			/* standard deviation of the logarithm of the
								 * expected number of rows */
	double		work;			/* share of the work that is done */
	double		work_doubt;		/* standard deviation of the logarithm of the
								 * remaining work that its inputs cause */
	double		input_doubt;	/* doubt of the inputs' number of rows */
	double		rows;			/* share of the rows that were returned */
	double		first_work;		/* value of "work" when the counters began; 0
								 * unless they began late */
	double		cost;			/* expected cost without that of nodes below */
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

/* Returns the planner's estimate of a node's rows for a number of loops. */
static double
planned_rows(ProgressWalk *walk, int place, double loops)
{
	return Max((double) live_node(walk->image, place)->rows, 1) * loops;
}

/*
 * Returns the ratio of a join's rows from those of its inputs.  If both inputs have more rows than
 * the planner expected, mostly the same error is its cause, so their product would be too large.
 */
static double
joint_ratio(double a, double b)
{
	return a > 1 && b > 1 ? Max(a, b) : a * b;
}

/*
 * Sets rows_expected to the planner's estimate, corrected by what is known of the inputs: by the
 * ratios of their expected to their estimated rows.  Sets doubt.
 */
static void
expect_from_inputs(ProgressWalk *walk, int place)
{
	NodeProgress *p = &walk->nodes[place];
	const LiveNode *node = live_node(walk->image, place);
	double		planned = planned_rows(walk, place, p->loops);
	int			first = input_of(walk, place, 0);
	double		ratio = 1;
	double		doubt = 0;
	double		rows = 0;
	double		doubt_rows = 0;

	if (node->source >= 0)
	{
		ratio = walk->nodes[node->source].ratio;
		doubt = walk->nodes[node->source].doubt;
	}
	for (int n = 0, i = first; i >= 0; i = input_of(walk, place, ++n))
	{
		const NodeProgress *input = &walk->nodes[i];

		ratio = joint_ratio(ratio, input->ratio);
		doubt += input->doubt;
		rows += input->rows_expected;
		doubt_rows += input->rows_expected * input->doubt;
	}
	switch (node->tag)
	{
		case T_Append:
		case T_MergeAppend:
			p->rows_expected = rows;
			p->doubt = doubt_rows / Max(rows, 1);
			return;
		case T_Agg:
		case T_SetOp:
		case T_Unique:
		case T_Group:
			p->rows_expected = planned * sqrt(Max(ratio, 1));
			p->rows_expected = first >= 0 ? Min(p->rows_expected, Max(rows, 1)) : planned;
			p->doubt = planned <= 1 ? 0 : GROUPS_DOUBT;
			return;
		case T_Limit:
			p->rows_expected = Min(planned, rows);
			p->doubt = 0;
			return;
		case T_Material:
			p->rows_expected = rows / walk->nodes[first].loops * p->loops;
			p->doubt = doubt;
			return;
		case T_BitmapHeapScan:
			ratio = 1;
			doubt = ROWS_DOUBT;
			break;
		case T_NestLoop:
		case T_MergeJoin:
		case T_HashJoin:
			doubt += ROWS_DOUBT;
			break;
		default:
			if (first < 0)
				doubt += node->source < 0 || node->has_condition ? ROWS_DOUBT : 0;
			break;
	}
	p->rows_expected = planned * ratio;
	p->doubt = Min(doubt, MOST_DOUBT);
}

/*
 * Corrects rows_expected and doubt by the rows so far.  "read": share of the node's input that it
 * has read, if it returns rows while it reads; else NAN.
 */
static void
expect_from_rows(ProgressWalk *walk, int place, double read)
{
	NodeProgress *p = &walk->nodes[place];
	const LiveNode *node = live_node(walk->image, place);
	const LiveCounts *counts = live_counts(walk->image, place);
	double		rows = rows_of(walk, place);
	double		loops = loops_of(walk, place);

	if (walk->image->header.late && !is_done(walk, place) && isnan(counts->known_rows))
		return;					/* earlier rows are unknown */
	if (is_done(walk, place) && !walk->image->header.late)
	{
		p->rows_expected = rows;
		p->doubt = 0;
	}
	else if (!isnan(counts->known_rows) && p->loops <= 1)
	{
		/* with a condition such as HAVING, it is only an upper bound */
		p->rows_expected = node->has_condition ?
			Min(p->rows_expected, (double) counts->known_rows) : (double) counts->known_rows;
		if (!node->has_condition)
			p->doubt = 0;
	}
	else if (loops > 1 && node->tag != T_Material)
	{
		double		complete = loops - (counts->state == LIVE_FINISHED ? 0 : 0.5);

		p->rows_expected = p->loops *
			(rows + PRIOR_LOOPS * p->rows_expected / p->loops) / (complete + PRIOR_LOOPS);
		p->doubt /= sqrt(loops);
	}
	else if (!isnan(read) && read > 0)
	{
		double		prior = PRIOR_WEIGHT * (1 - read);

		p->rows_expected = (rows + prior * p->rows_expected) / (read + prior);
		p->doubt *= 1 - read;
	}
	if (rows >= p->rows_expected && counts->state == LIVE_RUNNING && !(p->doubt <= 0))
	{
		p->rows_expected = EXCEEDED_MULTIPLE * rows;
		p->doubt = EXCEEDED_DOUBT;
	}
}

/*
 * The share of a scan that is done: by its position in the relation, else by its rows.  If counting
 * began late, rows before are unknown, so only the position counts.
 */
static double
scan_share(ProgressWalk *walk, int place)
{
	NodeProgress *p = &walk->nodes[place];
	const LiveCounts *counts = live_counts(walk->image, place);

	if (is_done(walk, place))
		return 1;
	if (walk->image->header.late)
	{
		if (counts->state == LIVE_NOT_STARTED)
			return 0;
		if (isnan(counts->scanned) || p->loops > 1 ||
			(isnan(counts->first_scanned) && counts->first_state != LIVE_NOT_STARTED))
			walk->reason = began_late;
		return isnan(counts->scanned) ? 0 : (double) counts->scanned;
	}
	if (!isnan(counts->scanned))
		return share(loops_of(walk, place) - 1 + (double) counts->scanned, p->loops);
	p->work_doubt = p->doubt;
	return share(rows_of(walk, place), p->rows_expected);
}

/* Returns the share of rows of a node that first reads its input to the end, such as a sort. */
static double
output_share(ProgressWalk *walk, int place, const NodeProgress *input)
{
	if (is_done(walk, place))
		return 1;
	if (walk->image->header.late && input->first_work >= 1 &&
		isnan(live_counts(walk->image, place)->known_rows))
		walk->reason = began_late;
	return share(rows_of(walk, place), walk->nodes[place].rows_expected);
}

/*
 * Returns the planner's cost of a number of loops of a node.  A Materialize node reads its input in
 * its first loop only.
 */
static double
cost_of(const LiveNode *node, double loops)
{
	if (node->tag == T_Material && loops > 1)
		return (double) node->total_cost + (loops - 1) * MATERIAL_COST * (double) node->rows;
	return (double) node->total_cost * loops;
}

static void walk_node(ProgressWalk *walk, int place, double loops);

/* Walks the subplans of expressions: one loop for each row, unless the subplan is hashed. */
static void
walk_expressions(ProgressWalk *walk, int place)
{
	NodeProgress *p = &walk->nodes[place];
	double		outer_share = walk->outer;

	for (int i = place + 1; i < walk->image->header.nnodes; i++)
	{
		const LiveNode *subplan = live_node(walk->image, i);
		double		loops = Max(loops_of(walk, i), 1);

		if (subplan->parent != place || !subplan->is_expression)
			continue;
		if (walk->image->header.late && isnan(outer_share))
			walk->outer = p->rows;
		if (!subplan->is_hashed && p->work > 0 && p->work < 1 && loops > 1)
			loops = Max(loops, loops / p->work);
		walk_node(walk, i, loops);
		walk->outer = outer_share;
		walk->nodes[i].work_doubt = Max(walk->nodes[i].work_doubt, p->work_doubt);
		p->cost -= cost_of(subplan, walk->nodes[i].loops);
	}
}

/*
 * Walks the other nodes below.  Returns the inputs' share of rows, weighted by costs.  Sets the
 * node's own cost: the planner's, multiplied by the ratio of expected to estimated input rows.
 */
static double
walk_inputs(ProgressWalk *walk, int place)
{
	NodeProgress *p = &walk->nodes[place];
	const LiveNode *node = live_node(walk->image, place);
	bool		late = walk->image->header.late;
	double		cost = 0;
	double		done = 0;
	double		planned = 0;
	double		rows = 0;
	double		ratio = 1;

	p->cost = (double) node->total_cost;
	for (int i = place + 1; i < walk->image->header.nnodes; i++)
	{
		const LiveNode *input = live_node(walk->image, i);
		double		loops = p->loops;
		double		planned_loops = 1;	/* in a loop of this node */
		double		outer_share = walk->outer;

		if (input->parent != place || input->is_expression)
			continue;
		if (input->is_subplan)
			loops = Max(loops_of(walk, i), 1);
		else if (node->tag == T_NestLoop && i != input_of(walk, place, 0))
		{
			int			outer = input_of(walk, place, 0);

			planned_loops = Max((double) live_node(walk->image, outer)->rows, 1);
			loops = late ? p->loops * planned_loops : walk->nodes[outer].rows_expected;
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
		if (input->is_subplan)
			planned_loops = 1 / p->loops;
		else
		{
			planned += planned_rows(walk, i, walk->nodes[i].loops);
			rows += walk->nodes[i].rows_expected;
			ratio *= walk->nodes[i].ratio;
		}
		p->cost -= cost_of(input, planned_loops);
		cost += Max((double) input->total_cost, 0.01);
		done += Max((double) input->total_cost, 0.01) * walk->nodes[i].rows;
	}
	if (node->tag != T_NestLoop)
		ratio = planned > 0 ? rows / planned : 1;
	if (node->source >= 0)
		ratio *= walk->nodes[node->source].ratio;
	p->cost = (Max(p->cost, 0) * ratio + (double) node->total_cost * 0.001) * p->loops;
	return share(done, cost);
}

/* Returns the time of a sort in memory, as a multiple of the time to read its input. */
static double
sort_multiple(double rows)
{
	return SORT_MULTIPLE + SORT_LOG_MULTIPLE * log2(Max(rows, 2));
}

/* Returns the share of a sort's work that is done, from its shares of input and output rows. */
static double
sort_work(const LiveNode *node, double input, bool returns, double input_rows, double output)
{
	double		sorted = node->spills ? SPILLED_SHARE : SORTED_SHARE;

	if (returns)
		return sorted + (1 - sorted) * output;
	return input / (node->spills ? SPILL_MULTIPLE :
					sort_multiple(input_rows / Max(input, TELLING_SHARE)));
}

/* Limits a share to the limits that follow from the number of batches that are done. */
static double
within_batch(const LiveCounts *counts, double rows)
{
	return Min(Max(rows, counts->batch / (double) counts->batches),
			   (counts->batch + 1) / (double) counts->batches);
}

/*
 * Sets the shares of an aggregate that reads its rows several times, for grouping sets.  Only the
 * first time, it reads the rows of its input.
 */
static void
share_of_passes(ProgressWalk *walk, int place, const NodeProgress *driver)
{
	NodeProgress *p = &walk->nodes[place];
	const LiveCounts *counts = live_counts(walk->image, place);

	expect_from_rows(walk, place, NAN);
	p->rows = within_batch(counts, share(rows_of(walk, place), p->rows_expected));
	p->work = counts->batch == 0 ? driver->rows / counts->batches : p->rows;
	p->work_doubt = Max(p->work_doubt, p->doubt);
}

/*
 * Sets the shares of a sorted aggregate that sorts the rows of each group for DISTINCT or ORDER BY.
 * The rows of a group are sorted when all of them have been read, and then the group is returned.
 * So the work for the latest group is not done yet when the input ends.  If a condition (HAVING)
 * removes groups, their number is unknown.
 */
static void
share_of_sorted_groups(ProgressWalk *walk, int place, const NodeProgress *driver,
					   double input_rows)
{
	NodeProgress *p = &walk->nodes[place];
	double		groups = rows_of(walk, place);
	double		multiple;

	if (walk->image->header.late || live_node(walk->image, place)->has_condition || p->loops > 1)
		return;
	p->rows_expected = Max(p->rows_expected, groups + 1);
	p->rows = Min(driver->rows, share(groups, p->rows_expected));
	multiple = sort_multiple(input_rows / (groups + 1));
	p->work = driver->rows / multiple + (1 - 1 / multiple) * p->rows;
}

/* Returns the share of the rows that a nested loop has returned, from those of its inputs. */
static double
nested_share(ProgressWalk *walk, int outer, int inner)
{
	const NodeProgress *p = &walk->nodes[inner];

	/*
	 * With many inner rows for each outer row, much of the work for the
	 * latest outer row is not done yet.
	 */
	if (walk->image->header.late || p->rows_expected < MANY_ROWS * p->loops)
		return walk->nodes[outer].rows;
	return Min(walk->nodes[outer].rows, share(rows_of(walk, inner), p->rows_expected));
}

/*
 * Computes a node's expected rows, and its shares of work and rows, from those of its inputs, which
 * are computed first.  Then walks the subplans of its expressions, whose number of loops depends on
 * its own share.
 */
static void
walk_node(ProgressWalk *walk, int place, double loops)
{
	NodeProgress *p = &walk->nodes[place];
	const LiveNode *node = live_node(walk->image, place);
	const LiveCounts *counts = live_counts(walk->image, place);
	int			input = input_of(walk, place, 0);
	double		all;
	double		output;			/* time after the end of the input / time
								 * until then */

	check_stack_depth();
	p->loops = Max(loops, loops_of(walk, place));
	all = walk_inputs(walk, place);
	p->cost += (double) node->sorting_cost * p->loops;
	p->work_doubt = 0;
	expect_from_inputs(walk, place);
	if (!isnan(walk->outer))
		p->work = p->rows = walk->outer;
	else if (input < 0 || node->tag == T_BitmapHeapScan)
	{
		expect_from_rows(walk, place, isnan(counts->scanned) || p->loops > 1 ? NAN :
						 (double) counts->scanned);
		p->work = p->rows = scan_share(walk, place);
	}
	else
	{
		const NodeProgress *driver = &walk->nodes[input];
		double		input_rows = rows_of(walk, input);

		p->work_doubt = driver->work_doubt;
		p->input_doubt = driver->doubt;
		p->work = p->rows = driver->rows;
		switch (node->tag)
		{
			case T_Append:
			case T_MergeAppend:
				p->work = p->rows = all;
				expect_from_rows(walk, place, NAN);
				break;
			case T_Limit:
				p->work = p->rows = Max(driver->rows,
										share(rows_of(walk, place), p->rows_expected));
				if (walk->image->header.late && rows_of(walk, place) > 0)
					walk->reason = began_late;
				break;
			case T_HashJoin:
				if (counts->batches > 0)
				{
					expect_from_rows(walk, place, NAN);
					if (walk->image->header.late && driver->first_work >= 1 && counts->batch < 0)
						walk->reason = began_late;
					p->rows = share(rows_of(walk, place), p->rows_expected);
					if (counts->batch >= 0)
						p->rows = within_batch(counts, p->rows);
					p->work = OUTER_SHARE * driver->rows + (1 - OUTER_SHARE) * p->rows;
					break;
				}
				expect_from_rows(walk, place, p->rows);
				break;
			case T_RecursiveUnion:
				walk->reason = "recursive query";
				break;
			case T_Material:
				expect_from_rows(walk, place, NAN);
				p->work = p->rows = share(rows_of(walk, place), p->rows_expected);
				p->work_doubt = p->doubt;
				break;
			case T_NestLoop:
				p->work = p->rows = nested_share(walk, input, input_of(walk, place, 1));
				expect_from_rows(walk, place, p->rows);
				break;
			case T_Sort:
				expect_from_rows(walk, place, NAN);
				p->rows = output_share(walk, place, driver);
				p->work = sort_work(node, driver->rows, counts->rows > 0, input_rows, p->rows);
				break;
			case T_Agg:
			case T_SetOp:
				output = node->spills ? SPILLED_MULTIPLE :
					GROUP_MULTIPLE * Min(p->rows_expected / driver->rows_expected, 1);

				/*
				 * A sorted aggregate returns rows while it reads its input,
				 * and a plain one returns a single row.
				 */
				if (node->tag == T_Agg &&
					node->startup_cost < live_node(walk->image, input)->total_cost)
				{
					if (counts->batches > 0 && !walk->image->header.late)
					{
						share_of_passes(walk, place, driver);
						break;
					}
					expect_from_rows(walk, place, driver->rows);
					if (node->sorting_cost > 0)
						share_of_sorted_groups(walk, place, driver, input_rows);
					break;
				}
				expect_from_rows(walk, place, NAN);
				p->rows = output_share(walk, place, driver);
				if (node->tag == T_Agg && node->rows <= 1)
					p->work = node->sorting_cost <= 0 ? driver->rows :
						sort_work(node, driver->rows, false, input_rows, 0);
				else
					p->work = (driver->rows + output * p->rows) / (1 + output);
				break;
			default:
				expect_from_rows(walk, place, p->rows);
				break;
		}
	}
	if (is_done(walk, place))
		p->work = p->rows = 1;
	p->rows_expected = Max(p->rows_expected, 1);
	p->ratio = p->rows_expected / planned_rows(walk, place, p->loops);
	walk_expressions(walk, place);
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

/*
 * Walks the plan, and adds up the remaining times of the nodes.  Converts this sum to elapsed time
 * by the ratio of the elapsed time so far to the sum of the nodes' times so far.
 */
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
	double		doubt_ns = 0;
	double		age_ns;
	int64		counted_us = header->as_of - header->since - header->suspended_us;

	if (n == 0)
		progress.reason = "too many nodes";
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
		double		doubt = has_rate ? hypot(RATE_DOUBT, p->work_doubt) :
			hypot(COST_DOUBT, Max(p->work_doubt, p->input_doubt));

		left_ns += ns * (1 - p->work);
		doubt_ns += ns * (1 - p->work) * (exp(doubt) - 1);
		done_ns += isnan(counts->self_ns) ? ns * work : self_ns;
	}
	if (walk.reason == NULL &&
		(timed_cost <= TELLING_COST * plan_cost || done_ns <= 0 ||
		 (header->late && counted_us < LEAST_COUNTED)))
		walk.reason = "too early";
	progress.reason = walk.reason;
	pfree(walk.nodes);
	if (progress.reason != NULL)
		return progress;
	age_ns = header->suspended_at != 0 ? 0 : (double) Max(now - header->as_of, 0) * 1e3;
	progress.doubt = left_ns > 0 ? log1p(doubt_ns / left_ns) : 1;

	/*
	 * converts to elapsed time, which includes waits and other processes'
	 * time
	 */
	left_ns *= (double) counted_us * 1e3 / done_ns;
	progress.remaining_ns = Max(left_ns - age_ns, 0);
	return progress;
}
