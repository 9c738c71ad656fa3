#include "postgres.h"

#include <math.h>

#include "core/stats.h"
#include "explain/run_series.h"

#define CONFIDENCE			0.95

/*
 * Statistics of a time per process, or of a share in percent, over several runs.  Margins have a
 * random part and a common part: the error of the calibrated cost of calls, the same in all runs.
 */
typedef struct TimeSeries
{
	int			n;
	double		mean_ns;
	double		squares;		/* sum of squared differences from the mean */
	double		random;			/* sum of squares of margins' random parts */
	double		common;			/* sum of squares of margins' common parts */
} TimeSeries;

typedef struct NodeSeries
{
	TimeSeries	total;
	TimeSeries	self;
	TimeSeries	first;
	TimeSeries	share;			/* share of the query's time, in percent */
	int			processes;		/* maximum over runs */
	double		waited_ns;		/* these seven: sums over runs */
	double		calls;
	double		timed;
	double		rows;
	double		loops;
	double		untimed_rows;
	double		untimed_loops;
} NodeSeries;

/* Adds a time to the statistics. common_ns is the common part of margin_ns. */
static void
add_time(TimeSeries *series, double ns, double margin_ns, double common_ns)
{
	double		difference = ns - series->mean_ns;
	double		common = Min(margin_ns * margin_ns, common_ns * common_ns);

	series->n++;
	series->mean_ns += difference / series->n;
	series->squares += difference * (ns - series->mean_ns);
	series->common += common;
	series->random += margin_ns * margin_ns - common;
}

void
run_series_add(RunSeries *series, const PlanEstimate *plan)
{
	/* earlier runs may have had fewer nodes because of pruning */
	if (plan->nids > series->nids)
	{
		NodeSeries *nodes = MemoryContextAllocZero(series->context,
												   sizeof(NodeSeries) * plan->nids);

		if (series->nodes != NULL)
			memcpy(nodes, series->nodes, sizeof(NodeSeries) * series->nids);
		series->nodes = nodes;
		series->nids = plan->nids;
	}
	series->runs++;
	series->run_ns += plan->run_ns;
	series->root_estimate_ns += plan->root_estimate_ns;
	series->whole_ns += plan->whole_ns;
	series->overhead_ns += plan->overhead_ns;
	series->preempted_ns += plan->preempted_ns;

	for (int i = 0; i < plan->nnodes; i++)
	{
		const NodeEstimate *node = &plan->nodes[i];
		double		part = 1.0 / Max(node->processes, 1);
		double		percent = 100 / (plan->base_ns * Max(node->processes, 1));
		NodeSeries *sums;

		/* a node has the same id in all runs */
		if (node->id < 0 || node->id >= series->nids)
			continue;
		sums = &series->nodes[node->id];
		add_time(&sums->total, node->total_ns * part, node->total_margin_ns * part,
				 node->total_cost_margin_ns * part);
		add_time(&sums->self, node->self_ns * part, node->self_margin_ns * part,
				 node->self_cost_margin_ns * part);
		add_time(&sums->first, node->first_ns * part, 0, 0);
		if (!isnan(node->share_percent))
			add_time(&sums->share, node->share_percent, node->share_margin_percent,
					 node->self_cost_margin_ns * percent);
		sums->waited_ns += node->waited_ns;
		sums->processes = Max(sums->processes, node->processes);
		sums->calls += (double) node->calls;
		sums->timed += (double) node->timed;
		sums->rows += node->rows;
		sums->loops += node->loops;
		sums->untimed_rows += node->untimed_rows;
		sums->untimed_loops += node->untimed_loops;
	}
}

/* Returns the mean of n runs, and sets *margin_ns to half the width of its confidence interval. */
static double
mean_time(TimeSeries series, int n, double *margin_ns)
{
	double		spread;

	while (series.n < n)
		add_time(&series, 0, 0, 0);
	if (n > 1)
	{
		spread = stats_t_critical(CONFIDENCE, 1 - CONFIDENCE, n - 1) *
			sqrt(series.squares / (n - 1) / n);
		*margin_ns = sqrt(Max(spread * spread, series.random / n / n) + series.common / n);
	}
	return series.mean_ns;
}

void
run_series_put(const RunSeries *series, PlanEstimate *plan)
{
	int			n = series->runs;

	plan->run_ns = series->run_ns / n;
	plan->root_estimate_ns = series->root_estimate_ns / n;
	plan->whole_ns = series->whole_ns / n;
	plan->overhead_ns = series->overhead_ns / n;
	plan->preempted_ns = series->preempted_ns / n;

	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeEstimate *node = &plan->nodes[i];
		const NodeSeries *sums;
		double		processes;
		double		ignored;

		if (node->id < 0 || node->id >= series->nids)
			continue;
		sums = &series->nodes[node->id];
		node->processes = sums->processes;
		processes = Max(node->processes, 1);
		node->total_ns = mean_time(sums->total, n, &node->total_margin_ns) * processes;
		node->self_ns = mean_time(sums->self, n, &node->self_margin_ns) * processes;
		node->total_stddev_ns = n < 2 ? NAN : processes * sqrt(sums->total.squares / (n - 1));
		node->total_margin_ns *= processes;
		node->self_margin_ns *= processes;
		node->first_ns = Min(mean_time(sums->first, n, &ignored) * processes, node->total_ns);
		node->waited_ns = sums->waited_ns / n;
		node->calls = (int64) rint(sums->calls / n);
		node->timed = (int64) rint(sums->timed / n);
		node->rows = sums->rows / n;
		node->loops = sums->loops / n;
		node->untimed_rows = sums->untimed_rows / n;
		node->untimed_loops = sums->untimed_loops / n;
		node->share_percent = mean_time(sums->share, n, &node->share_margin_percent);
		if (node->kind == NODE_UNTIMED || sums->share.n == 0)
			node->share_percent = node->share_margin_percent = NAN;
	}
}
