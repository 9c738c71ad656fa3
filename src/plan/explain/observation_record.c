/*
 * Converts the sums of an observation to the input of plan_estimate().
 *
 * The server has added the workers' counts to the leader's counts.  The estimates need the counts
 * of each process, so the workers' counts are subtracted from the leader's again.
 */
#include "postgres.h"

#include <math.h>

#include "plan/explain/observation_record.h"
#include "plan/explain/plan_shape.h"
#include "plan/explain/server_instr.h"

/*
 * Adds samples.  A nested execution uses the numbers of an earlier one.  If a late sample then
 * moves time of the earlier one to another number, the difference since the start can be
 * negative.
 */
static void
add_positive(SampleSums *sum, const SampleSums *samples)
{
	SampleSums	positive = {
		.samples = fmax(samples->samples, 0),
		.cpu_ns = fmax(samples->cpu_ns, 0),
		.wait_ns = fmax(samples->wait_ns, 0),
		.cpu_wait_ns = fmax(samples->cpu_wait_ns, 0),
		.variance = fmax(samples->variance, 0)
	};

	sample_sums_add(sum, &positive, 1);
}

double
record_samples(const Observation *o)
{
	double		samples = o->outside.samples;

	for (int i = 0; i < o->nnodes; i++)
		samples += o->nodes[i].samples.samples;
	return samples;
}

void
record_run(const Observation *o, ProcessRun *run)
{
	double		samples = record_samples(o);

	/* fmin() ignores NAN */
	run->run_ns += fmin(o->run.run_ns, instr_query_ns(o->desc));
	run->cpu_ns += o->run.cpu_ns;
	run->delay_ns += o->run.delay_ns;
	run->samples += samples;
	run->finish_ns += o->run.finish_ns;
	run->finish_samples += o->ran ? samples - o->ran_samples : 0;
	run->squares += samples * o->mean_square;
	run->unseen_squares += o->run.unseen_squares;
	run->pending = o->run.pending;
	run->pending_ns = o->run.pending_ns;
	run->gaps_ns += o->run.gaps_ns;
	run->sampler_cpu_ns += o->run.sampler_cpu_ns;
	add_positive(&run->outside, &o->outside);
}

static void
add_caller(NodeRecord *record, int place, const ProbeCaller *caller)
{
	NodeCaller *to = record->callers;

	while (to < &record->callers[NODE_CALLERS - 1] && to->calls > 0 && to->place != place)
		to++;
	if (to->calls <= 0)
		to->place = place;
	to->calls += caller->calls;
	to->loops += caller->loops;
	to->first_ns += probe_caller_first_ns(caller);
}

/*
 * Returns the time of parts without samples, such as those of a cursor that fetches a row at a
 * time, unless other parts have enough samples, so that plan_estimate() divides this time in their
 * proportions.
 */
static double
unseen_ns(const Observation *o)
{
	return (o->ran ? o->ran_samples : record_samples(o)) < MANY_SAMPLES ? o->unseen_ns : 0;
}

/*
 * Adds the samples, loops and first calls of a node in this process.  A caller is recorded by its
 * place in the leader, so that the records of all processes can be added.
 */
void
record_node(const Observation *o, int place, const int *places, NodeRecord *record)
{
	const ObservedNode *n = &o->nodes[place];
	ServerCounts counts = instr_end(n->probed.instr);
	double		loops = counts.loops;
	double		whole_ns = counts.total_ns;

	/* its first call may have begun before the observation did */
	if (o->options.late)
		loops = Max(loops, 1);

	/* the server has added the workers' counts to the leader's */
	for (int i = 0; i < instr_nworkers(n->probed.node); i++)
	{
		ServerCounts worker = instr_of_worker(n->probed.node, i);

		loops -= worker.loops;
		whole_ns -= worker.total_ns;
	}
	add_positive(&record->samples, &n->samples);
	if (place == 0)
		record->unseen_ns += unseen_ns(o);
	record->loops += loops;
	record->first_ns += probe_first_ns(&n->probed);
	if (n->kind == NODE_WHOLE)
	{
		record->whole_ns += whole_ns;
		record->first_ns += whole_ns;
	}
	for (int i = 0; i < PROBE_CALLERS; i++)
	{
		const ProbeCaller *caller = &n->probed.callers[i];
		int			at;

		/*
		 * calls by other executions, and outside of the nodes, belong to no
		 * node
		 */
		if (caller->calls <= 0)
			continue;
		at = (int) (caller->number - o->first) - 1;
		if (at >= o->nnodes)
			at = -1;
		add_caller(record, at >= 0 && places != NULL ? places[at] : at, caller);
	}
}

void
record_counts(const ObservedNode *n, NodeEstimate *node)
{
	ServerCounts counts = instr_end(n->probed.node->instrument);

	node->rows = counts.rows;
	node->loops = counts.loops;
	node->calls = (plan_shape(n->probed.node)->output == OUTPUT_WHOLE ? 0 : counts.rows) +
		counts.loops;
}
