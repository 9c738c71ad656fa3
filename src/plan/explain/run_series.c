/*
 * Means over several runs of one plan.
 *
 * A node's times in different runs scatter for two reasons: the runs take different times, and each
 * is estimated from samples.  The margin of a mean is the larger of two values: Student's t times
 * the standard error of the runs' times, which contains both reasons; and the root mean square of
 * the runs' margins, divided by the square root of the number of runs.  The second one is needed
 * because few runs may agree by chance.
 */
#include "postgres.h"

#include <math.h>

#include "core/stats.h"
#include "plan/explain/run_series.h"

#define CONFIDENCE			0.95

/* Statistics of a time, or of a share in percent, over several runs. */
typedef struct TimeSeries
{
	int			n;
	double		mean;
	double		squares;		/* sum of squared differences from the mean */
	double		margins;		/* sum of squared margins */
} TimeSeries;

typedef struct NodeSeries
{
	int			id;				/* plan_node_id */
	TimeSeries	total;
	TimeSeries	self;
	TimeSeries	share;			/* share of the query's time, in percent */
	NodeTimes	sums;			/* these: sums over runs */
	double		first_ns;
	double		rows;
	double		loops;
	double		calls;
	int			processes;		/* maximum over runs */
	NodeWait   *waits;
	int			nwaits;
} NodeSeries;

static void
add_time(TimeSeries *series, double value, double margin)
{
	double		difference = value - series->mean;

	series->n++;
	series->mean += difference / series->n;
	series->squares += difference * (value - series->mean);
	series->margins += margin * margin;
}

/* Adds a run's waits of a node to the sums, by event. */
static void
add_waits(const RunSeries *series, NodeSeries *sums, const NodeEstimate *node)
{
	for (int i = 0; i < node->nwaits; i++)
	{
		int			k = 0;

		while (k < sums->nwaits && sums->waits[k].event != node->waits[i].event)
			k++;
		if (k == sums->nwaits)
		{
			sums->nwaits++;
			sums->waits = sums->waits == NULL ?
				MemoryContextAlloc(series->context, sizeof(NodeWait)) :
				repalloc(sums->waits, sizeof(NodeWait) * sums->nwaits);
			sums->waits[k] = (NodeWait)
			{
				.event = node->waits[i].event
			};
		}
		sums->waits[k].ns += node->waits[i].ns;
	}
}

static void
add_node(const RunSeries *series, NodeSeries *sums, const NodeEstimate *node)
{
	add_time(&sums->total, node->times.total_ns, node->total_margin_ns);
	add_time(&sums->self, node->times.self_ns, node->self_margin_ns);
	if (!isnan(node->share_percent))
		add_time(&sums->share, node->share_percent, node->share_margin_percent);
	sums->sums.cpu_ns += node->times.cpu_ns;
	sums->sums.wait_ns += node->times.wait_ns;
	sums->sums.cpu_wait_ns += node->times.cpu_wait_ns;
	sums->first_ns += node->first_ns;
	sums->rows += node->rows;
	sums->loops += node->loops;
	sums->calls += node->calls;
	sums->processes = Max(sums->processes, node->processes);
	add_waits(series, sums, node);
}

/*
 * Returns the sums of a node with this plan_node_id.  Because of pruning, a run may have fewer
 * nodes than an earlier one, but the order is the same.
 */
static NodeSeries *
series_of(const RunSeries *series, int id, int *from)
{
	for (int i = 0; i < series->nnodes; i++)
	{
		NodeSeries *sums = &series->nodes[(*from + i) % series->nnodes];

		if (sums->id == id)
		{
			*from = (*from + i + 1) % series->nnodes;
			return sums;
		}
	}
	return NULL;
}

/*
 * Adds the times of a run to the sums.  The first run determines the nodes, because all later runs
 * execute the same plan.
 */
void
run_series_add(RunSeries *series, const PlanEstimate *plan)
{
	int			from = 0;

	if (series->nodes == NULL)
	{
		series->nnodes = plan->nnodes;
		series->nodes = MemoryContextAllocZero(series->context, sizeof(NodeSeries) * (plan->nnodes +
																					  1));
		for (int i = 0; i < plan->nnodes; i++)
			series->nodes[i].id = plan->nodes[i].id;
		series->outside = &series->nodes[plan->nnodes];
	}
	series->runs++;
	series->run_ns += plan->run_ns;
	series->share_ns += plan->share_ns;
	series->cpu_wait_ns += plan->cpu_wait_ns;
	series->samples += plan->samples;
	series->sampler_cpu_ns += plan->sampler_cpu_ns;
	series->throttled_ns += plan->throttled_ns;
	add_node(series, series->outside, &plan->outside);
	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeSeries *sums = series_of(series, plan->nodes[i].id, &from);

		if (sums != NULL)
			add_node(series, sums, &plan->nodes[i]);
	}
}

/* Returns the mean of n runs, and sets *margin to half the width of its confidence interval. */
static double
mean_time(TimeSeries series, int n, double *margin)
{
	while (series.n < n)
		add_time(&series, 0, 0);
	if (n > 1)
	{
		double		spread = stats_t_critical(CONFIDENCE, 1 - CONFIDENCE, n - 1) *
			sqrt(series.squares / (n - 1) / n);

		*margin = Max(spread, sqrt(series.margins) / n);
	}
	return series.mean;
}

static void
put_node(const NodeSeries *sums, int n, NodeEstimate *node)
{
	node->times.total_ns = mean_time(sums->total, n, &node->total_margin_ns);
	node->times.self_ns = mean_time(sums->self, n, &node->self_margin_ns);
	node->share_percent = mean_time(sums->share, n, &node->share_margin_percent);
	node->total_stddev_ns = n < 2 ? NAN : sqrt(sums->total.squares / (n - 1));
	node->times.cpu_ns = sums->sums.cpu_ns / n;
	node->times.wait_ns = sums->sums.wait_ns / n;
	node->times.cpu_wait_ns = sums->sums.cpu_wait_ns / n;
	node->first_ns = Min(sums->first_ns / n, node->times.total_ns);
	node->rows = sums->rows / n;
	node->loops = sums->loops / n;
	node->calls = sums->calls / n;
	node->processes = sums->processes;
	node->waits = sums->waits;
	node->nwaits = sums->nwaits;
	for (int i = 0; i < node->nwaits; i++)
		node->waits[i].ns /= n;
}

void
run_series_put(const RunSeries *series, PlanEstimate *plan)
{
	int			n = series->runs;
	int			from = 0;

	plan->run_ns = series->run_ns / n;
	plan->share_ns = series->share_ns / n;
	plan->cpu_wait_ns = series->cpu_wait_ns / n;
	plan->samples = series->samples;
	plan->sampler_cpu_ns = series->sampler_cpu_ns;
	plan->throttled_ns = series->throttled_ns / n;
	put_node(series->outside, n, &plan->outside);
	for (int i = 0; i < plan->nnodes; i++)
	{
		const NodeSeries *sums = series_of(series, plan->nodes[i].id, &from);

		if (sums != NULL)
			put_node(sums, n, &plan->nodes[i]);
	}
}
