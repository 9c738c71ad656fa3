/*-------------------------------------------------------------------------
 *
 * plan_estimate.c
 *	  From calls that were counted and timed to the times of plan nodes.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/plan_estimate.h"
#include "core/stats.h"

/* Below so many timed calls, a stratum says too little by itself. */
#define MIN_TIMED		16

/*
 * A call is long if it takes so many times the mean of those before it, and
 * long calls are no exception if there are so many of them.
 */
#define MANY_TIMES		16
#define MANY_LONG		8

/* So many times as many others' turns as are expected there may be. */
#define MANY_DISTURBANCES	2

/* A call that makes so many calls below is long for that reason. */
#define MANY_BELOW		16

/* Quantile of the normal distribution for a confidence of 95 %. */
#define NORMAL_975		1.959964

/*
 * How far a calibrated cost may be off within a query whose other work hides
 * it, or is delayed by it: this share of it, either way.
 */
#define COST_UNCERTAINTY 0.5

/*
 * How workers share out the work among them differs from run to run: this is
 * the least relative standard deviation of a process's part.
 */
#define SHARING			0.1

/*
 * Below this share of the query a node is next to nothing, however badly its time is
 * known.
 */
#define NEXT_TO_NOTHING	0.01

/* A process's part in a node's times. */
#define NOT_A_WORKER	(-1)

void
call_stratum_add(CallStratum *stratum, double ns, const CallsBelow *below)
{
	stratum->timed++;
	stratum->sum += ns;
	stratum->sum_sq += ns * ns;
	for (int i = 0; i < N_BELOW; i++)
	{
		double		n = (double) below->n[i];

		stratum->below_sum[i] += n;
		stratum->cross[i] += n * ns;
		for (int j = 0; j < N_BELOW; j++)
			stratum->products[i][j] += n * (double) below->n[j];
	}
}

static int64_t
all_below(const CallsBelow *below)
{
	int64_t		n = 0;

	for (int i = 0; i < N_BELOW; i++)
		n += below->n[i];
	return n;
}

/*
 * What a call takes as a rule, in which so much is done below: in proportion if
 * that is much.  The very first one is no exception to anything.
 */
static double
expected_ns(const CallSeries *series, const CallsBelow *below)
{
	double		timed = (double) (series->before.timed + series->now.timed);
	double		sum = series->before.sum + series->now.sum;
	double		n = (double) all_below(below);
	double		sum_below = 0;

	if (timed <= 0)
		return INFINITY;
	if (n < MANY_BELOW)
		return sum / timed;
	for (int i = 0; i < N_BELOW; i++)
		sum_below += series->before.below_sum[i] + series->now.below_sum[i];
	return sum_below <= 0 ? INFINITY : sum / timed * fmax(n / (sum_below / timed), 1);
}

/*
 * A disturbance that happens to hit a call that is timed would count "gap"
 * times, and all those that hit others not at all.  So long calls stand for
 * themselves only, as outliers in surveys do (Hidiroglou and Srinath,
 * Biometrics 37(4), 1981), unless there are so many of them that they are in
 * the nature of the node, and not all others' turns.  Then each stands for "gap"
 * calls (Horvitz and Thompson, JASA 47, 1952).
 */
void
call_series_add(CallSeries *series, double ns, const CallsBelow *below,
				int gap, double long_ns)
{
	series->timed_sum += ns;
	if (ns > long_ns && ns > MANY_TIMES * expected_ns(series, below))
	{
		series->now.timed++;
		series->nlong++;
		series->long_sum += ns;
		series->long_total += gap * ns;
		series->long_variance += (double) gap * (gap - 1) * ns * ns;
		return;
	}
	call_stratum_add(&series->now, ns, below);
}

/* Sums of products of deviations from the means, from sums of products. */
static double
deviations(double products, double sum, double other_sum, int64_t n)
{
	return n < 2 ? 0 : products - sum * other_sum / (double) n;
}

static double
square_deviations(const CallStratum *stratum)
{
	return fmax(deviations(stratum->sum_sq, stratum->sum, stratum->sum, stratum->timed), 0);
}

/* Adds those of counts below, and of these with times, each times "weight". */
static void
add_deviations(double products[N_BELOW][N_BELOW], double *cross,
			   const CallStratum *stratum, double weight)
{
	for (int i = 0; i < N_BELOW; i++)
	{
		cross[i] += weight * deviations(stratum->cross[i], stratum->sum,
										stratum->below_sum[i], stratum->timed);
		for (int j = 0; j < N_BELOW; j++)
			products[i][j] += weight * deviations(stratum->products[i][j], stratum->below_sum[i],
												  stratum->below_sum[j], stratum->timed);
	}
}

/*
 * Stratified sampling without replacement (Cochran, Sampling Techniques, 1977,
 * 5.4 and 5.6): N times the mean of the sample, with a variance of N^2 * s^2 / n
 * * (1 - n / N).  "like" is another stratum that tells how much calls differ,
 * or NULL.
 */
static void
close_stratum(CallSeries *series, const CallStratum *stratum, const CallStratum *like)
{
	double		calls = (double) stratum->calls;
	double		timed = (double) stratum->timed;
	double		sum_sq = square_deviations(stratum);
	int64_t		df = stratum->timed - 1;
	double		weight;
	double		quantile;

	series->calls += stratum->calls;
	series->timed += stratum->timed;
	if (stratum->timed == 0)
		return;
	series->total += stratum->sum / timed * calls;
	for (int i = 0; i < N_BELOW; i++)
		series->expected[i] += stratum->below_sum[i] / timed * calls;
	if (stratum->timed >= stratum->calls)
		return;
	add_deviations(series->products, series->cross, stratum, 1);

	if (like != NULL && like->timed > 1)
	{
		sum_sq += square_deviations(like);
		df += like->timed - 1;
	}
	else
		like = NULL;
	weight = calls * calls / timed * (1 - timed / calls);
	if (df < 1)
	{
		/* of a single one nothing is known but that it can vary by itself */
		series->variance += weight * stratum->sum * stratum->sum;
		return;
	}
	/* of a few not much: what goes with the normal quantile is Student's t */
	quantile = stats_t_critical(0.95, 0.05, (double) df) / NORMAL_975;
	weight *= quantile * quantile / (double) df;
	series->variance += weight * sum_sq;
	add_deviations(series->weighted_products, series->weighted_cross, stratum, weight);
	if (like != NULL)
		add_deviations(series->weighted_products, series->weighted_cross, like, weight);
}

/*
 * Slopes by least squares, of those variables that "use" says: Gaussian
 * elimination.  Of what always varies together the larger count gets it all, the
 * others nothing: many calls cost more than one does.
 */
static void
solve(const double products[N_BELOW][N_BELOW], const double *cross, const bool *use,
	  double *slopes)
{
	double		m[N_BELOW][N_BELOW + 1];
	bool		solved[N_BELOW] = {false};

	for (int i = 0; i < N_BELOW; i++)
	{
		for (int j = 0; j < N_BELOW; j++)
			m[i][j] = products[i][j];
		m[i][N_BELOW] = cross[i];
		slopes[i] = 0;
	}
	for (;;)
	{
		int			i = -1;

		for (int k = 0; k < N_BELOW; k++)
		{
			/* counts are integers: what varies has a sum of squares of some 1 */
			if (use[k] && !solved[k] && m[k][k] >= 0.5 && m[k][k] >= 1e-6 * products[k][k] &&
				(i < 0 || m[k][k] > m[i][i]))
				i = k;
		}
		if (i < 0)
			break;
		solved[i] = true;
		for (int k = 0; k < N_BELOW; k++)
		{
			double		factor = m[k][i] / m[i][i];

			for (int j = 0; k != i && j <= N_BELOW; j++)
				m[k][j] -= factor * m[i][j];
		}
	}
	for (int i = 0; i < N_BELOW; i++)
	{
		if (solved[i])
			slopes[i] = m[i][N_BELOW] / m[i][i];
	}
}

/*
 * The same, but none is negative, since what is done below takes time.  The most
 * negative one is left out until there is none, which with three of them is
 * what Lawson and Hanson (Solving Least Squares Problems, 1974, 23.3) do.
 */
static void
slopes_of(const double products[N_BELOW][N_BELOW], const double *cross, double *slopes)
{
	bool		use[N_BELOW];
	int			worst;

	for (int i = 0; i < N_BELOW; i++)
		use[i] = true;
	do
	{
		worst = -1;
		solve(products, cross, use, slopes);
		for (int i = 0; i < N_BELOW; i++)
		{
			if (slopes[i] < 0 && (worst < 0 || slopes[i] < slopes[worst]))
				worst = i;
		}
		if (worst >= 0)
			use[worst] = false;
	} while (worst >= 0);
}

static void
merge_strata(CallStratum *into, const CallStratum *from)
{
	into->calls += from->calls;
	into->timed += from->timed;
	into->sum += from->sum;
	into->sum_sq += from->sum_sq;
	for (int i = 0; i < N_BELOW; i++)
	{
		into->below_sum[i] += from->below_sum[i];
		into->cross[i] += from->cross[i];
		for (int j = 0; j < N_BELOW; j++)
			into->products[i][j] += from->products[i][j];
	}
}

/*
 * A stratum of which no call was timed is taken to be like the one beside it.
 * One of few timed calls keeps its own mean, since calls may take longer as time
 * goes by, and those of different strata were not timed with the same chance;
 * only how much they differ is taken from the one before it, too (a pooled
 * variance).
 */
void
call_series_next(CallSeries *series)
{
	if (series->now.timed == 0 || series->before.timed == 0)
		merge_strata(&series->before, &series->now);
	else if (series->now.timed < MIN_TIMED)
		close_stratum(series, &series->now, &series->before);
	else
	{
		close_stratum(series, &series->before, NULL);
		series->before = series->now;
	}
	memset(&series->now, 0, sizeof(CallStratum));
}

void
call_series_end(CallSeries *series)
{
	call_series_next(series);
	close_stratum(series, &series->before, NULL);
	memset(&series->before, 0, sizeof(CallStratum));
	series->measured = series->timed_sum;
	if ((double) series->nlong >= MANY_LONG + MANY_DISTURBANCES * series->disturbances)
	{
		series->measured += series->long_total - series->long_sum;
		series->total += series->long_total;
		series->variance += series->long_variance;
	}
	else
	{
		series->total += series->long_sum;
		series->variance += series->long_sum * series->long_sum / 4;
	}
}

/*
 * What is done below as auxiliary variables: the combined regression estimator
 * (Cochran, 7.10), whose variance is that of what the slopes leave.  Where the
 * sample says too little of a slope, since calls in which much is done below
 * are not in it, the calls known serve as well, and the margin contains half
 * of what follows from it.
 */
void
call_series_regress(CallSeries *series, const CallStratum *known, const CallsBelow *below)
{
	double		products[N_BELOW][N_BELOW];
	double		cross[N_BELOW];
	double		slopes[N_BELOW];
	double		missing[N_BELOW];
	double		calls = (double) series->calls;
	bool		far[N_BELOW];
	bool		any_far = false;
	double		missing_ns = 0;
	double		beyond = 0;		/* variance of what the sample does not say */

	if (series->calls == 0)
		return;
	memcpy(products, series->products, sizeof(products));
	memcpy(cross, series->cross, sizeof(cross));
	for (int i = 0; i < N_BELOW; i++)
	{
		missing[i] = (double) below->n[i] - series->expected[i];
		far[i] = missing[i] / calls * missing[i] / calls * (double) series->timed > products[i][i];
		any_far |= far[i];
	}
	if (any_far)
		add_deviations(products, cross, known, 1);
	slopes_of(products, cross, slopes);
	for (int i = 0; i < N_BELOW; i++)
	{
		double		ns = slopes[i] * missing[i];

		if (far[i])
			beyond += ns * ns / 16;
		if (products[i][i] < 0.5 && missing[i] > 0)
		{
			/* nothing is known but that none takes longer than a call does */
			ns = series->total / calls * missing[i] / 2;
			beyond += ns * ns / 4;
		}
		missing_ns += ns;
		series->variance -= 2 * slopes[i] * series->weighted_cross[i];
		for (int j = 0; j < N_BELOW; j++)
			series->variance += slopes[i] * slopes[j] * series->weighted_products[i][j];
	}
	series->total += missing_ns;
	series->variance = fmax(series->variance, 0) + beyond;
}

void
call_series_join(CallSeries *series, const CallSeries *other)
{
	series->calls += other->calls;
	series->timed += other->timed;
	series->total += other->total;
	series->variance += other->variance;
	series->timed_sum += other->timed_sum;
	series->measured += other->measured;
	for (int i = 0; i < N_BELOW; i++)
	{
		series->cross[i] += other->cross[i];
		series->weighted_cross[i] += other->weighted_cross[i];
		series->expected[i] += other->expected[i];
		for (int j = 0; j < N_BELOW; j++)
		{
			series->products[i][j] += other->products[i][j];
			series->weighted_products[i][j] += other->weighted_products[i][j];
		}
	}
}

/*
 * What was measured has in it that others had the processor; what is estimated
 * from a few calls has not, and gets its share of that time.  Of both a part is
 * others' turns that fell into the readings: it is taken off with these, which
 * stay.
 */
void
record_add_times(NodeRecord *record, double calls, double loops, double measured_ns,
				 double estimated_ns, double variance, double first_ns, double inside_ns,
				 const Preempted *others)
{
	double		share = others->share;

	record->total_ns += measured_ns + estimated_ns * (1 + share) - calls * inside_ns * share;
	record->first_ns += first_ns - loops * inside_ns * share;
	record->variance += variance * (1 + share) * (1 + share) +
		preempted_variance(others, measured_ns, estimated_ns);
}

static const NodeRecord *
record_of(const NodeEstimate *node, int worker)
{
	if (worker == NOT_A_WORKER)
		return &node->leader;
	return node->workers == NULL ? NULL : &node->workers[worker];
}

/* What timing and counting a node's calls adds to whatever contains them. */
static double
overhead(const PlanEstimate *plan, const NodeEstimate *node, const NodeRecord *record)
{
	switch (node->kind)
	{
		case NODE_SAMPLED:
			return (double) record->timed * plan->cost.timed_ns +
				(double) (record->calls - record->uncounted - record->timed) *
				(node->drained ? plan->cost.drained_ns : plan->cost.counted_ns);
		case NODE_WHOLE:
			return (double) record->timed * plan->cost.server_ns;
		case NODE_UNTIMED:
			break;
	}
	return 0;
}

static double
inside(const PlanEstimate *plan, const NodeEstimate *node)
{
	return node->kind == NODE_WHOLE ? plan->cost.whole_ns : plan->cost.inside_ns;
}

/*
 * Adds one process's times to the nodes', without what timing has cost: what
 * falls into a call's own interval, and all that the calls below it have cost.
 * variance[] gets those of sampling.
 */
static void
add_process(PlanEstimate *plan, int worker, double *variance)
{
	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeEstimate *node = &plan->nodes[i];
		const NodeRecord *record = record_of(node, worker);
		double		own;
		double		ns;

		if (record == NULL || record->loops <= 0)
			continue;
		node->processes++;
		node->calls += record->calls;
		node->timed += record->timed;
		node->rows += record->rows;
		node->loops += record->loops;

		ns = inside(plan, node);
		node->total_ns += record->total_ns - (double) record->calls * ns;
		node->first_ns += record->first_ns - record->loops * ns;
		variance[i] += record->variance;
		if (worker == NOT_A_WORKER)
			node->leader_ns += record->total_ns - (double) record->calls * ns;

		/* a worker's calls are in no interval of Gather's */
		own = overhead(plan, node, record);
		node->cost_ns += own;
		for (int a = node->parent; a >= 0; a = plan->nodes[a].parent)
		{
			NodeEstimate *ancestor = &plan->nodes[a];

			if (worker != NOT_A_WORKER && ancestor->gathers)
				break;
			ancestor->total_ns -= own;
			ancestor->below_ns += own;
			if (worker == NOT_A_WORKER)
				ancestor->leader_ns -= own;
		}
		if (worker == NOT_A_WORKER)
			plan->overhead_ns += own;
	}
}

/* Whether this node's time is part of its parent's. */
static bool
within_parent(const PlanEstimate *plan, const NodeEstimate *node)
{
	return node->parent >= 0 && node->kind != NODE_UNTIMED && node->loops > 0 &&
		!plan->nodes[node->parent].gathers &&
		plan->nodes[node->parent].kind != NODE_UNTIMED;
}

/* Lists of children. */
static void
link_children(PlanEstimate *plan)
{
	for (int i = 0; i < plan->nnodes; i++)
		plan->nodes[i].child = plan->nodes[i].sibling = -1;
	for (int i = plan->nnodes - 1; i >= 0; i--)
	{
		NodeEstimate *node = &plan->nodes[i];

		if (node->parent < 0)
			continue;
		node->sibling = plan->nodes[node->parent].child;
		plan->nodes[node->parent].child = i;
	}
}

/* Children before their parents, and the other way round. */
static int
first_below(const PlanEstimate *plan, int i)
{
	while (plan->nodes[i].child >= 0)
		i = plan->nodes[i].child;
	return i;
}

static int
next_upwards(const PlanEstimate *plan, int i)
{
	int			sibling = plan->nodes[i].sibling;

	return sibling >= 0 ? first_below(plan, sibling) : plan->nodes[i].parent;
}

static int
next_downwards(const PlanEstimate *plan, int i)
{
	if (plan->nodes[i].child >= 0)
		return plan->nodes[i].child;
	while (i >= 0 && plan->nodes[i].sibling < 0)
		i = plan->nodes[i].parent;
	return i < 0 ? -1 : plan->nodes[i].sibling;
}

/* Two estimates of the same, weighted by the inverse of their variances. */
static void
combine(double *ns, double *variance, double other_ns, double other_variance)
{
	double		sum = *variance + other_variance;

	if (sum <= 0)
		return;
	*ns = (*ns * other_variance + other_ns * *variance) / sum;
	*variance = *variance * other_variance / sum;
}

/* What a node's children take together. */
static double
sum_of_children(const PlanEstimate *plan, int i, double *variance)
{
	double		ns = 0;

	*variance = 0;
	for (int c = plan->nodes[i].child; c >= 0; c = plan->nodes[c].sibling)
	{
		if (!within_parent(plan, &plan->nodes[c]))
			continue;
		ns += plan->nodes[c].joint_ns;
		*variance += plan->nodes[c].joint_variance;
	}
	return ns;
}

/*
 * The totals of a node's children, as its own is known: if it is full, they take
 * all of it.
 */
static void
share_out(PlanEstimate *plan, int i, double sum_ns, double sum_variance)
{
	NodeEstimate *node = &plan->nodes[i];

	for (int c = node->child; c >= 0; c = plan->nodes[c].sibling)
	{
		NodeEstimate *child = &plan->nodes[c];

		child->total_ns = child->joint_ns;
		if (!within_parent(plan, child) || !node->full)
			continue;
		if (sum_variance > 0)
			child->total_ns += (node->total_ns - sum_ns) * child->joint_variance / sum_variance;
		else if (sum_ns > 0)
			child->total_ns *= node->total_ns / sum_ns;
	}
}

/*
 * Totals such that no node's is less than the sum of its children's, nor below
 * 0, and the root's and what is outside of it are together what was measured:
 * those that differ least from what was estimated, the squares of the differences
 * divided by the variances.
 *
 * If it is known which nodes are full, that is those whose children take all
 * of their time, this is least squares on a tree: upwards, what is known of a
 * full node is combined with what is known of its children together;
 * downwards, what is left over is shared out by the variances.  A node whose
 * children take more than it has is full.  No node ceases to be full as
 * others become so: that makes its parent smaller, or its children larger.  (In
 * terms of linear complementarity, the matrix is an M-matrix: Chandrasekaran, A
 * Special Case of the Complementary Pivot Problem, Opsearch 7, 1970.)  So this
 * ends after as many rounds as there are nodes, at the latest.
 */
static void
reconcile(PlanEstimate *plan, const double *variance)
{
	NodeEstimate *root = &plan->nodes[0];
	bool		changed;

	for (int i = 0; i < plan->nnodes; i++)
	{
		plan->nodes[i].given_ns = plan->nodes[i].total_ns;
		plan->nodes[i].full = false;
	}
	do
	{
		double		sum_ns;
		double		sum_variance;

		if (plan->check != NULL)
			plan->check();
		changed = false;
		for (int i = first_below(plan, 0); i >= 0; i = next_upwards(plan, i))
		{
			NodeEstimate *node = &plan->nodes[i];

			node->joint_ns = node->given_ns;
			node->joint_variance = variance[i];
			if (i == 0 && !isnan(plan->outside_ns))
				combine(&node->joint_ns, &node->joint_variance,
						plan->whole_ns - plan->outside_ns, plan->outside_variance);
			if (!node->full)
				continue;
			sum_ns = sum_of_children(plan, i, &sum_variance);
			combine(&node->joint_ns, &node->joint_variance, sum_ns, sum_variance);
		}
		root->total_ns = fmin(root->joint_ns, plan->whole_ns);
		for (int i = 0; i >= 0; i = next_downwards(plan, i))
		{
			NodeEstimate *node = &plan->nodes[i];

			sum_ns = sum_of_children(plan, i, &sum_variance);
			share_out(plan, i, sum_ns, sum_variance);
			if (!node->full && sum_ns > node->total_ns)
				node->full = changed = true;
		}
	} while (changed);

	/* what rounding has left */
	for (int i = 0; i < plan->nnodes; i++)
		plan->nodes[i].total_ns = fmax(plan->nodes[i].total_ns, 0);
	plan->outside_ns = plan->whole_ns - root->total_ns;
}

/*
 * The square of the standard error of a cost that was taken off.  Where it is
 * off, it is so for all calls alike, so that costs are added up, not squares.
 */
static double
cost_variance(double ns)
{
	double		off = COST_UNCERTAINTY * ns / NORMAL_975;

	return off * off;
}

/* The same of what falls into calls' own intervals. */
static double
reading_variance(const PlanEstimate *plan, int64_t calls)
{
	double		off = (double) calls * plan->cost.error_ns / NORMAL_975;

	return off * off;
}

/*
 * Half of a 95 % confidence interval of what the node takes on this machine,
 * not only of what it took in this run.
 */
static double
margin(const PlanEstimate *plan, const NodeEstimate *node, double variance, double ns)
{
	double		deviation = plan->repeatability;

	/* at best it takes less */
	if (plan->slower > 1)
		deviation = fmax(deviation, (1 - 1 / plan->slower) / NORMAL_975);
	if (node->processes > 1)
		deviation = fmax(deviation, SHARING);
	return NORMAL_975 * sqrt(variance + deviation * deviation * ns * ns);
}

/*
 * A node's time without that of its children.  What timing the calls below the
 * children has cost was taken off them as well, so that an error of it is not
 * one of the difference.
 */
static void
estimate_self(const PlanEstimate *plan, NodeEstimate *node, const double *own)
{
	double		variance = own[node - plan->nodes];
	double		cost_ns = 0;

	node->self_ns = node->total_ns;
	for (int c = node->child; c >= 0; c = plan->nodes[c].sibling)
	{
		const NodeEstimate *child = &plan->nodes[c];

		if (child->kind == NODE_UNTIMED)
			continue;
		if (node->gathers)
		{
			/* workers' times are not in the node's */
			node->self_ns -= child->leader_ns;
			cost_ns += overhead(plan, child, &child->leader);
			variance += child->leader.variance +
				reading_variance(plan, child->leader.calls);
		}
		else
		{
			node->self_ns -= child->total_ns;
			cost_ns += child->cost_ns;
			variance += own[c];
		}
	}
	node->self_ns = fmax(node->self_ns, 0);
	node->self_error_ns = margin(plan, node, variance + cost_variance(cost_ns), node->self_ns);
	node->self_unknown = node->kind != NODE_UNTIMED && node->loops > 0 &&
		node->self_error_ns > node->self_ns &&
		node->self_ns + node->self_error_ns > NEXT_TO_NOTHING * plan->whole_ns * node->processes;
}

void
plan_estimate(PlanEstimate *plan, double *work)
{
	double	   *own = work;		/* variance without that of costs below */
	double	   *variance = work + plan->nnodes;

	plan->overhead_ns = 0;
	for (int i = 0; i < plan->nnodes; i++)
		own[i] = 0;
	for (int worker = NOT_A_WORKER; worker < plan->nworkers; worker++)
		add_process(plan, worker, own);

	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeEstimate *node = &plan->nodes[i];

		own[i] += reading_variance(plan, node->calls);
		variance[i] = own[i] + cost_variance(node->below_ns);
		node->total_ns = fmax(node->total_ns, 0);
		node->first_ns = fmin(fmax(node->first_ns, 0), node->total_ns);
		node->adjusted_ns = -node->total_ns;
	}
	plan->root_estimate_ns = plan->nodes[0].total_ns + plan->overhead_ns +
		(isnan(plan->outside_ns) ? 0 : plan->outside_ns);

	plan->whole_ns = fmax(plan->run_ns - plan->overhead_ns, 0);
	link_children(plan);
	if (!plan->as_it_is)
		reconcile(plan, variance);

	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeEstimate *node = &plan->nodes[i];

		node->adjusted_ns += node->total_ns;
		node->first_ns = fmin(node->first_ns, node->total_ns);
		node->total_error_ns = margin(plan, node, variance[i], node->total_ns);
		estimate_self(plan, node, own);
	}
}
