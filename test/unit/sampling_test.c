/*
 * sampling_test: tests which calls the sampling policy times, and how exact the estimates from
 * these calls are.
 *
 * A simulator executes queries many times.  The times of the calls of their nodes have known
 * distributions.  The sampling policy chooses the calls to time, and the extension's code estimates
 * totals from them.  For comparison, the rules of an older version choose the calls.  Those rules
 * had constants for each kind of node.
 *
 * For both, the test prints: overhead; error of the nodes' shares (root of the sum of their mean
 * squares, in percent of the query); and how often the margin contains the truth.  All random
 * numbers come from a generator with a constant seed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/call_series.h"
#include "core/sampling_policy.h"
#include "core/stats.h"
#include "tap.h"

#define POLICY_SHARE	0.01
#define LENGTH(a)	((int) (sizeof(a) / sizeof((a)[0])))

#define SAMPLING	64
#define COST		60			/* cost of timing a call, in ticks */
#define LONG_TICKS	20000
#define MAX_NODES	1000

/* Cost of counting a call, in ticks. */
static double counting = 0;

/* ---------------------------------------------------------------------
 * Random numbers: xorshift64*
 */

static uint64_t random_state = 1;

/* Returns a random number above 0 and below 1. */
static double
uniform(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return ((random_state * UINT64_C(0x2545F4914F6CDD1D) >> 11) + 0.5) / 9007199254740992.0;
}

static double
normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* ---------------------------------------------------------------------
 * Plans.
 */

/* Distributions of the times of a node's calls, by members of Node */
typedef enum Shape
{
	ALIKE,						/* uniform from 0.8 to 1.2 times "ticks" */
	EXPONENTIAL,
	LOGNORMAL,					/* lognormal with median "ticks" and sigma "times" */
	RARE,						/* one call in "every" takes "times" times as long */
	LATE,						/* the last tenth takes "times" times as long */
	EARLY						/* the first tenth takes "times" times as long */
} Shape;

typedef struct Node
{
	int64_t		calls;
	Shape		shape;
	double		ticks;
	double		times;
	double		every;

	/* kinds of nodes in the rules of the older version */
	enum
	{
		LEAF,
		INNER,
		UNEVEN,
		GATHER
	}			kind;
} Node;

/*
 * Returns the mean time of a call when a share f of all calls has been made. variance_at() returns
 * the variance of that time.
 */
static double
mean_at(const Node *node, double f)
{
	switch (node->shape)
	{
		case LOGNORMAL:
			return node->ticks * exp(node->times * node->times / 2);
		case RARE:
			return node->ticks * (1 + (node->times - 1) / node->every);
		case LATE:
			return node->ticks * (f < 0.9 ? 1 : node->times);
		case EARLY:
			return node->ticks * (f < 0.1 ? node->times : 1);
		default:
			return node->ticks;
	}
}

static double
variance_at(const Node *node, double f)
{
	double		mean = mean_at(node, f);

	switch (node->shape)
	{
		case EXPONENTIAL:
			return mean * mean;
		case LOGNORMAL:
			return mean * mean * (exp(node->times * node->times) - 1);
		case RARE:
			return pow(node->ticks * (node->times - 1), 2) / node->every * (1 - 1 / node->every);
		default:
			return mean * mean * 0.16 / 12;
	}
}

/* Returns the expected total time of the first calls, which are a share f of all calls. */
static double
ticks_upto(const Node *node, double f)
{
	double		calls = (double) node->calls;

	switch (node->shape)
	{
		case LATE:
			return calls * node->ticks * (f + fmax(f - 0.9, 0) * (node->times - 1));
		case EARLY:
			return calls * node->ticks * (f + fmin(f, 0.1) * (node->times - 1));
		default:
			return calls * mean_at(node, f) * f;
	}
}

static double
draw_ticks(const Node *node, double f)
{
	switch (node->shape)
	{
		case EXPONENTIAL:
			return -node->ticks * log(uniform());
		case LOGNORMAL:
			return node->ticks * exp(node->times * normal());
		case RARE:
			return uniform() * node->every < 1 ? node->ticks * node->times : node->ticks;
		default:
			return mean_at(node, f) * (0.8 + 0.4 * uniform());
	}
}

/* ---------------------------------------------------------------------
 * Rules of the older version.
 */

typedef struct OldRules
{
	int64_t		timed;
} OldRules;

static int
old_rules(const OldRules *rules, const Node *node, int gap, double mean, int64_t calls,
		  double elapsed)
{
	static const double many[] =
		{[LEAF] = 4096,[INNER] = 8192,[UNEVEN] = INFINITY,[GATHER] = 32768};
	double		most = node->kind == GATHER ? 8 : SAMPLING;
	double		expensive = COST / 0.001;
	double		next;
	bool		too_costly = rules->timed > 2048 && (double) rules->timed * COST > 0.01 * elapsed;

	if ((double) calls >= many[node->kind])
	{
		most *= 32;
		expensive *= 2;
	}
	next = expensive / mean;
	next = fmin(next, too_costly ? most : fmin(most, 4.0 * gap));
	next = fmax(next, 1);
	return fabs(next - gap) >= 0.25 * gap ? (int) next : gap;
}

/* ---------------------------------------------------------------------
 * Execution.
 */

typedef struct Run
{
	const Node *node;
	SamplingClass class;
	int			gap;
	int			batch;
	int			nsamples;
	double		samples[POLICY_BATCH];
	int64_t		over;			/* number of calls so far */
	int64_t		next;			/* number of the next timed call */
	int64_t		before;			/* number of calls at the latest change of "gap" */
	int64_t		all_timed;
	double		known;			/* total time of the first calls, which are all timed */
	double		truth;
	CallSeries	drawn;
} Run;

static Run runs[MAX_NODES];

static void
draw_gap(Run *run)
{
	run->next = run->over;
	if (run->gap > 1)
		run->next += (int64_t) (log(uniform()) / log1p(-1.0 / run->gap));
	if (run->next > run->node->calls)
		run->next = run->node->calls;
}

/*
 * Executes the untimed calls before the next timed one.  If there are many untimed calls, draws
 * their total time from a normal distribution.
 */
static void
skip(Run *run)
{
	const Node *node = run->node;
	int64_t		n = run->next - run->over;
	double		f = ((double) run->over + (double) n / 2) / (double) node->calls;

	if (n > 8)
		run->truth += (double) n * mean_at(node, f) + sqrt((double) n * variance_at(node, f)) *
			normal();
	else
		for (; n > 0; n--)
			run->truth += draw_ticks(node, f);
	run->over = run->next;
}

static void
next_stratum(Run *run, int gap)
{
	if (run->gap > 1)
	{
		run->drawn.now.calls = run->over - run->before;
		call_series_next(&run->drawn);
	}
	run->before = run->over;
	run->gap = gap;
}

static void
add_batch(Run *run)
{
	static const CallsBelow nothing;

	for (int i = 0; run->gap > 1 && i < run->nsamples; i++)
		call_stratum_add(&run->drawn.now, run->samples[i], &nothing);
	run->nsamples = 0;
}

static void
timed_call(Run *run)
{
	double		ticks = draw_ticks(run->node, (double) run->over / (double) run->node->calls);

	run->over++;
	run->truth += ticks;
	run->samples[run->nsamples++] = ticks;
	if (run->gap == 1)
	{
		run->known += ticks;
		run->all_timed++;
	}
}

static void
end_run(Run *run)
{
	CallSeries *drawn = &run->drawn;

	add_batch(run);
	next_stratum(run, 1);
	call_series_end(drawn);
	if (drawn->timed == 0 && drawn->calls > 0 && run->all_timed > 0)
	{
		double		ticks = run->known / (double) run->all_timed * (double) drawn->calls;

		drawn->total += ticks;
		drawn->variance += ticks * ticks / 4;
	}
}

typedef struct Plan
{
	const char *name;
	Node		nodes[8];
	/*
	 * Number of nodes in a stage.  The calls of a stage's nodes alternate.  Stages are executed one
	 * after the other.
	 */
	int			nodes_at_once;
	int			copies;			/* number of times that all stages are executed */
	int			repeats;
	double		coverage;		/* minimum coverage of the policy's margins, in percent */
} Plan;

/*
 * Executes the nodes of a stage, whose calls alternate, from the time "now" in ticks on.  Returns
 * the time of their end.  If "policy" is NULL, uses the rules of the older version.
 */
static double
execute_stage(Run *stage, int n, SamplingPolicy *policy, OldRules *rules, double now)
{
	double		begin = now;
	int64_t		timed = 0;

	for (int i = 0; i < n; i++)
	{
		if (policy != NULL)
			policy_class_init(policy, &stage[i].class, counting, stage[i].node->kind == UNEVEN ||
							  stage[i].node->kind == GATHER);
		stage[i].gap = 1;
		stage[i].batch = policy != NULL ? stage[i].class.batch : POLICY_BATCH;
		draw_gap(&stage[i]);
	}
	for (;;)
	{
		double		least = 2;
		double		f;
		Run		   *run = NULL;

		for (int i = 0; i < n; i++)
		{
			f = ((double) stage[i].next + (i + 1.0) / (n + 1)) / (double) stage[i].node->calls;
			if (stage[i].next < stage[i].node->calls && f < least)
			{
				least = f;
				run = &stage[i];
			}
		}
		if (run == NULL)
			break;
		skip(run);
		timed_call(run);
		timed++;
		rules->timed++;
		if (policy != NULL)
			policy->timed++;
		now = begin + (double) timed * COST;
		for (int i = 0; i < n; i++)
			now += ticks_upto(stage[i].node, fmin(least, 1));
		if (run->nsamples >= run->batch ||
			(policy == NULL && run->gap == 1 && run->nsamples == 4 &&
			 rules->timed > 2048 && (double) rules->timed * COST > 0.01 * now))
		{
			double		samples[POLICY_BATCH];
			double		sum = 0;
			int			nsamples = run->nsamples;
			int			gap;

			memcpy(samples, run->samples, sizeof(samples));
			for (int i = 0; i < nsamples; i++)
				sum += samples[i];
			add_batch(run);
			if (policy != NULL)
				gap = policy_see_batch(policy, &run->class, samples, nsamples, run->over,
									   (uint64_t) now);
			else
				gap = old_rules(rules, run->node, run->gap, sum / nsamples, run->over, now);
			if (policy != NULL)
				run->batch = run->class.batch;
			if (gap != run->gap)
				next_stratum(run, gap);
		}
		draw_gap(run);
	}
	now = begin + (double) timed * COST;
	for (int i = 0; i < n; i++)
	{
		skip(&stage[i]);
		end_run(&stage[i]);
		now += ticks_upto(stage[i].node, 1);
	}
	return now;
}

typedef struct Outcome
{
	int			nodes;
	double		ticks;			/* time of the query without timing */
	double		timed;			/* mean number of timed calls */
	double		overhead;		/* mean overhead in percent of "ticks" */
	double		most;			/* largest overhead in ticks */
	double		error;			/* error of the nodes' shares, in percent of the query */
	double		bias;			/* bias of the query's total, in percent */
	double		chance;			/* standard error of the bias */
	double		coverage;		/* percentage of margins that contain the truth */
} Outcome;

static Outcome
simulate(const Plan *plan, double share)
{
	Outcome		o = {0};
	int			n = plan->nodes_at_once;
	int			nnodes = n;
	int			nruns;
	double		sum = 0;
	double		sum_sq = 0;

	random_state = 4711;
	while (nnodes < LENGTH(plan->nodes) && plan->nodes[nnodes].calls > 0)
		nnodes++;
	nruns = o.nodes = nnodes * plan->copies;
	for (int i = 0; i < nnodes; i++)
		o.ticks += ticks_upto(&plan->nodes[i], 1) * plan->copies;
	for (int r = 0; r < plan->repeats; r++)
	{
		SamplingPolicy policy;
		OldRules	rules = {0};
		double		now = 0;
		double		off = 0;

		policy_init(&policy, share, COST, SAMPLING, LONG_TICKS, 0);
		memset(runs, 0, sizeof(Run) * nruns);
		for (int i = 0; i < nruns; i++)
			runs[i].node = &plan->nodes[i % nnodes];
		for (int i = 0; i < nruns; i += n)
			now = execute_stage(&runs[i], n, share > 0 ? &policy : NULL, &rules, now);
		for (int i = 0; i < nruns; i++)
		{
			double		error = runs[i].known + runs[i].drawn.total - runs[i].truth;

			off += 100 * error / o.ticks;
			o.error += pow(100 * error / o.ticks, 2) / plan->repeats;
			o.coverage += 100.0 * (fabs(error) <= NORMAL_975 * sqrt(runs[i].drawn.variance) +
								   1e-9 * runs[i].truth) / (nruns * plan->repeats);
		}
		sum += off;
		sum_sq += off * off;
		o.timed += (double) rules.timed / plan->repeats;
		o.most = fmax(o.most, (double) rules.timed * COST);
	}
	o.overhead = 100 * o.timed * COST / o.ticks;
	o.error = sqrt(o.error);
	o.bias = sum / plan->repeats;
	o.chance = sqrt(fmax(sum_sq / plan->repeats - o.bias * o.bias, 0) / plan->repeats);
	return o;
}

static const Plan plans[] = {
	{"short: 5 nodes of 50 calls", {
		{50, ALIKE, 200, 0, 0, LEAF}, {50, ALIKE, 500, 0, 0, LEAF},
			{50, EXPONENTIAL, 1000, 0, 0, INNER},
		{50, ALIKE, 100, 0, 0, INNER}, {50, EXPONENTIAL, 300, 0, 0, INNER}}, 5, 1, 400, 90},
	{"5 nodes of 2000 calls", {
		{2000, ALIKE, 200, 0, 0, LEAF}, {2000, ALIKE, 500, 0, 0, LEAF},
			{2000, EXPONENTIAL, 1000, 0, 0, INNER},
		{2000, ALIKE, 100, 0, 0, INNER}, {2000, EXPONENTIAL, 300, 0, 0, INNER}}, 5, 1, 400, 90},
	{"6 nodes of 200,000 calls", {
		{200000, ALIKE, 50, 0, 0, LEAF}, {200000, ALIKE, 80, 0, 0, LEAF},
			{200000, EXPONENTIAL, 100, 0, 0, INNER},
		{200000, ALIKE, 30, 0, 0, INNER}, {20000, EXPONENTIAL, 300, 0, 0, INNER},
			{2000, ALIKE, 300, 0, 0, INNER}},
	6, 1, 200, 90},
	{"10^7 cheap calls", {
		{10000000, ALIKE, 10, 0, 0, LEAF}, {10000000, EXPONENTIAL, 60, 0, 0, INNER}}, 2, 1, 40, 85},
	{"cheap calls beside those of ms", {
		{1000000, ALIKE, 10, 0, 0, LEAF}, {100, EXPONENTIAL, 1e6, 0, 0, INNER},
			{2000, LOGNORMAL, 30000, 0.5, 0, INNER},
		{100000, EXPONENTIAL, 200, 0, 0, INNER}}, 4, 1, 200, 85},
	{"lognormal", {
		{100000, LOGNORMAL, 200, 1, 0, LEAF}, {100000, ALIKE, 100, 0, 0, LEAF},
			{100000, LOGNORMAL, 50, 1.2, 0, INNER}},
	3, 1, 200, 85},
	{"one in 1000 takes 100 times as long", {
		{1000000, RARE, 100, 100, 1000, INNER}, {1000000, ALIKE, 100, 0, 0, LEAF}}, 2, 1, 200, 80},
	{"one in 1000, and fewer calls", {
		{100000, RARE, 100, 100, 1000, LEAF}, {100000, ALIKE, 100, 0, 0, LEAF}}, 2, 1, 200, 60},
	{"slow at its end", {
		{300000, LATE, 100, 10, 0, LEAF}, {300000, ALIKE, 100, 0, 0, LEAF}}, 2, 1, 200, 85},
	{"slow at its beginning", {
		{300000, EARLY, 100, 10, 0, LEAF}, {300000, ALIKE, 100, 0, 0, LEAF}}, 2, 1, 200, 85},
	{"1000 nodes of 100 calls", {
		{100, EXPONENTIAL, 80, 0, 0, LEAF}}, 1, 1000, 40, 60},
	{"300 nodes of 1000 calls", {
		{1000, ALIKE, 80, 0, 0, LEAF}}, 1, 300, 40, 80},
	{"three stages of two nodes", {
		{300000, ALIKE, 50, 0, 0, LEAF}, {300000, EXPONENTIAL, 60, 0, 0, INNER},
			{20000, EXPONENTIAL, 1000, 0, 0, INNER},
		{20000, ALIKE, 80, 0, 0, INNER}, {300000, ALIKE, 30, 0, 0, INNER},
			{300000, EXPONENTIAL, 50, 0, 0, INNER}}, 2, 1, 200, 85},
	{"a node of few long calls at last", {
		{1000000, ALIKE, 50, 0, 0, LEAF}, {60, EXPONENTIAL, 300000, 0, 0, INNER}}, 1, 1, 200, 85},
	{"waits: one in 500 takes a ms", {
		{100000, RARE, 150, 6667, 500, GATHER}, {100000, ALIKE, 150, 0, 0, LEAF}}, 2, 1, 100, 85},
	{"uneven: one in 200 takes 100 us", {
		{200000, RARE, 200, 500, 200, UNEVEN}, {200000, ALIKE, 150, 0, 0, LEAF}}, 2, 1, 100, 85},
	{"uneven, which its kind does not tell", {
		{200000, RARE, 200, 500, 200, LEAF}, {200000, ALIKE, 150, 0, 0, LEAF}}, 2, 1, 100, 85},
};

static void
show(const Outcome *o)
{
	printf("  %7.3f %8.4f %6.1f", o->overhead, o->error, o->coverage);
}

/* Tests the policy with calls of extreme lengths, and with a clock that is wrong. */
static void
test_limits(void)
{
	static const double strange[] = {0, 1e-300, 1, 1e6, 1e15};
	double		ticks[POLICY_BATCH];

	for (int i = 0; i < LENGTH(strange); i++)
	{
		SamplingPolicy policy;
		SamplingClass class;
		int64_t		calls = 0;
		uint64_t	now = 1000;
		bool		fine = true;

		policy_init(&policy, POLICY_SHARE, 0, SAMPLING, LONG_TICKS, now);
		policy_class_init(&policy, &class, 0, false);
		fine &= class.gap == 1 && class.batch == POLICY_BATCH;
		for (int j = 0; j < 1000; j++)
		{
			int			n = class.batch;

			for (int k = 0; k < n; k++)
				ticks[k] = j % 100 == 50 ? strange[LENGTH(strange) - 1 - i] : strange[i];
			policy.timed += n;
			calls += (int64_t) n * class.gap;
			/* The clock stands still, and later also goes backwards. */
			now += j < 500 ? 0 : j % 2 == 0 ? 100000 : -99999;
			policy_see_batch(&policy, &class, ticks, n, calls, now);
			fine &= class.gap >= 1 && class.gap <= 1000000 && class.batch >= 1 &&
				class.batch <= POLICY_BATCH && isfinite(policy.k) && policy.k > 0;
		}
		ok(fine, "calls of %g ticks: gap %d", strange[i], class.gap);
	}
}

int
main(void)
{
	test_limits();
	printf("# %-37s  %-23s  %-23s  %-23s  %-23s\n", "each: overhead %, error %, covered %",
		   "the policy, 1 %", "0.2 %", "as much as the rules", "the rules before");
	for (int i = 0; i < LENGTH(plans); i++)
	{
		const Plan *p = &plans[i];
		Outcome		o = simulate(p, POLICY_SHARE);
		Outcome		little = simulate(p, POLICY_SHARE / 5);
		Outcome		old = simulate(p, 0);
		Outcome		alike = simulate(p, fmax(0.75 * old.overhead / 100, 1e-9));
		double		budget = POLICY_SHARE * o.ticks + (POLICY_ALLOWANCE + POLICY_FEW * o.nodes) *
			COST;

		printf("# %-37s", p->name);
		show(&o);
		show(&little);
		show(&alike);
		show(&old);
		printf("\n");
		ok(o.timed * COST <= 1.15 * budget && o.most <= 1.33 * budget, "%s: overhead of %.0f ticks, at most %.0f, of %.0f allowed",
		   p->name, o.timed * COST, o.most, budget);
		ok(fabs(o.bias) <= 4 * o.chance + 0.01, "totals have no bias: %+.4f %%, +- %.4f", o.bias, o.chance);
		ok(fabs(little.bias) <= 4 * little.chance + 0.01, "totals have no bias with a fifth of the budget: %+.4f %%, +- %.4f", little.bias, little.chance);
		ok(o.coverage >= p->coverage, "%.1f %% of the margins contain the truth", o.coverage);
	}

	/*
	 * Counting a call takes 1 tick.  The call takes 35 ticks on average.  So counting exceeds the
	 * whole overhead budget of 1 %.
	 */
	counting = 1;
	{
		Outcome		o = simulate(&plans[3], POLICY_SHARE);

		ok(o.overhead > 0.15 && o.overhead < 0.3, "if counting exceeds the budget, timing still gets a fifth of the budget: %.3f %%", o.overhead);
		ok(fabs(o.bias) <= 4 * o.chance + 0.01, "totals have no bias if counting exceeds the budget: %+.4f %%", o.bias);
	}
	return done();
}
