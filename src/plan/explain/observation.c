/*
 * Several executions of a process may be observed at a time: functions within a plan execute
 * other plans, and cursors pause.  Each has a range of numbers.  The sampler's sums begin at 0
 * (an epoch) when a process that was idle begins to execute an observed plan, and for a nested
 * execution whose times somebody has asked for; sums of other executions are collected before.
 * The sums of a nested execution are added to the node that was at work.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "miscadmin.h"

#include "compat.h"
#include "core/cpu_usage.h"
#include "core/system_clock.h"
#include "plan/explain/observation.h"
#include "plan/explain/plan_shape.h"
#include "plan/sampler/plan_sampler.h"

/* Levels of nested executions to which times are added. */
#define MOST_LEVELS		100

static dlist_head observations = DLIST_STATIC_INIT(observations);

/* Sampler's sums of waits that are already in an observation, by index of ObservedProcess.waits. */
static double wait_base[OBSERVED_WAITS];

/*
 * Replaces the array at once, because observed_waits() may interrupt this function.  Returns false
 * if there is no memory: no error may be raised after an error.
 */
static bool
grow_waits(Observation *o)
{
	int			max_waits = Max(2 * o->max_waits, 16);
	ObservedWait *waits = MemoryContextAllocExtended(o->context, sizeof(ObservedWait) * max_waits,
													 MCXT_ALLOC_NO_OOM);
	ObservedWait *old = o->waits;

	if (waits == NULL)
		return false;
	if (old != NULL)
		memcpy(waits, old, sizeof(ObservedWait) * o->nwaits);
	pg_compiler_barrier();
	o->waits = waits;
	o->max_waits = max_waits;
	pg_compiler_barrier();
	if (old != NULL)
		pfree(old);
	return true;
}

static void
add_wait(Observation *o, int place, uint32 event, double ns)
{
	for (int i = 0; i < o->nwaits; i++)
	{
		if (o->waits[i].place == place && o->waits[i].event == event)
		{
			o->waits[i].ns += ns;
			return;
		}
	}
	if (o->nwaits == o->max_waits && !grow_waits(o))
		return;
	o->waits[o->nwaits] = (ObservedWait)
	{
		.place = place, .event = event, .ns = ns
	};
	pg_compiler_barrier();
	o->nwaits++;
}

static bool
has_number(const Observation *o, uint32 number)
{
	return number >= o->first && number <= o->first + (uint32) o->nnodes;
}

/* Returns the observation that a number belongs to, or NULL. */
static Observation *
owner_of(uint32 number)
{
	dlist_iter	i;

	dlist_foreach(i, &observations)
	{
		Observation *o = dlist_container(Observation, link, i.cur);

		if (has_number(o, number))
			return o;
	}
	return NULL;
}

static int
place_of(const Observation *o, uint32 number)
{
	return (int) (number - o->first) - 1;
}

static SampleSums *
samples_at(Observation *o, int place)
{
	return place < 0 ? &o->outside : &o->nodes[place].samples;
}

/* Returns the execution that has called this one, and the place of its node at work; or NULL. */
static Observation *
caller_of(const Observation *o, int *place)
{
	Observation *above = o->above == SAMPLE_IDLE ? NULL : owner_of(o->above);

	if (above == NULL || above == o)
		return NULL;
	*place = place_of(above, o->above);
	return above;
}

/*
 * Adds the increase of a number's sums since the latest call, and returns the number of
 * samples.  In the executions that have called this one, adds it to the node at work, but
 * without the variance: switches between nodes of this execution do not matter there.
 */
static double
collect_samples(Observation *o, int place, SampleSums *base, double factor)
{
	SampleSums	now = observed->sums[o->first + 1 + (uint32) place];
	SampleSums	more = {0};
	double		samples = now.samples - base->samples;
	int			level = 0;

	sample_sums_add(&more, &now, factor);
	sample_sums_add(&more, base, -factor);
	more.samples = samples;
	more.variance *= factor;
	*base = now;
	sample_sums_add(samples_at(o, place), &more, 1);
	more.variance = 0;
	while (samples > 0 && (o = caller_of(o, &place)) != NULL && level++ < MOST_LEVELS)
		sample_sums_add(samples_at(o, place), &more, 1);
	return samples;
}

/*
 * Adds the waits that the sampler has seen since the last call to their nodes, and to the nodes of
 * outer executions that have called the function in which they occurred.
 */
static void
collect_waits(Observation *o)
{
	for (int i = 0; i < OBSERVED_WAITS; i++)
	{
		const SampleWait *wait = &observed->waits[i];
		uint32		number = *(volatile const uint32 *) &wait->number;
		double		ns = wait->ns - wait_base[i];
		Observation *at = o;
		int			level = 0;
		int			place;

		if (number == SAMPLE_IDLE)
			break;
		if (!has_number(o, number) || ns <= 0)
			continue;
		wait_base[i] += ns;
		place = place_of(o, number);
		do
			add_wait(at, place, wait->event, ns);
		while ((at = caller_of(at, &place)) != NULL && level++ < MOST_LEVELS);
	}
}

void
observe_collect(Observation *o, double factor)
{
	double		samples;
	double		all;

	if (!plan_sampler_has_sampled())
		return;
	samples = collect_samples(o, -1, &o->outside_base, factor);
	for (int i = 0; i < o->nnodes; i++)
		samples += collect_samples(o, i, &o->nodes[i].base, factor);
	collect_waits(o);
	/* the sampler counts a sample after it has added it to the sums */
	all = *(volatile double *) &observed->samples;
	if (samples > 0 && all > 0)
		o->mean_square = observed->squares / all;
}

/*
 * Sets the bases to the sampler's present sums, or to 0.  An execution that
 * has failed may have used the same numbers before.
 */
static void
set_bases(Observation *o, bool zero)
{
	SampleSums	none = {0};

	o->outside_base = zero ? none : observed->sums[o->first];
	for (int i = 0; i < o->nnodes; i++)
		o->nodes[i].base = zero ? none : observed->sums[o->first + 1 + i];
	for (int i = 0; i < OBSERVED_WAITS; i++)
	{
		if (has_number(o, observed->waits[i].number))
			wait_base[i] = zero ? 0 : observed->waits[i].ns;
	}
}

/* Returns the smallest number above those of all observations. */
static uint32
free_number(void)
{
	uint32		number = SAMPLE_IDLE + 1;
	dlist_iter	i;

	dlist_foreach(i, &observations)
	{
		const Observation *o = dlist_container(Observation, link, i.cur);

		number = Max(number, o->first + (uint32) o->nnodes + 1);
	}
	return number;
}

/* Begins an epoch of the sampler's sums, for an execution, at the number of the node at work. */
static void
begin_epoch(const Observation *next, uint32 number)
{
	dlist_iter	i;

	dlist_foreach(i, &observations)
	{
		Observation *o = dlist_container(Observation, link, i.cur);

		observe_collect(o, 1);
		set_bases(o, true);
		if (o->under_way && o->has_epoch && o != next && plan_sampler_has_sampled())
			o->run.sampler_cpu_ns += observed->cpu_ns;
	}
	memset(wait_base, 0, sizeof(wait_base));
	plan_sampler_begin(number, next->options.asked, free_number(), IsParallelWorker() ? 0 : 1 +
					   (uint32) next->nworkers);
}

/*
 * Called if an error has ended an execution.  The times so far belong to the node that has called
 * it; the sampler goes on as the calling execution wants.
 */
static void
return_to_caller(Observation *o)
{
	const Observation *above = owner_of(o->above);

	if (above == NULL || !above->under_way)
		return;
	observe_collect(o, 1);
	observed->asked = above->options.asked;
}

/* Reset callback of the query's memory context; called after an error, too. */
static void
end_observation(void *arg)
{
	Observation *o = arg;

	if (o->under_way && o->above != SAMPLE_IDLE && observed != NULL)
		return_to_caller(o);
	if (has_number(o, *current_number))
		*current_number = owner_of(o->above) != NULL ? o->above : SAMPLE_IDLE;
	dlist_delete(&o->link);
	for (int i = 0; i < o->nnodes; i++)
		probe_remove(&o->nodes[i].probed);
}

/* While a node executes another plan, the node itself is at work as well. */
int
observed_at_work(const Observation *o)
{
	uint32		number = *current_number;

	for (int level = 0; level < MOST_LEVELS && !has_number(o, number); level++)
	{
		const Observation *owner = number == SAMPLE_IDLE ? NULL : owner_of(number);

		if (owner == NULL)
			return -1;
		number = owner->above;
	}
	return has_number(o, number) ? place_of(o, number) : -1;
}

/* Returns the increase of a number's sums since they were collected. */
static SampleSums
uncollected(uint32 number, const SampleSums *base)
{
	SampleSums	samples = observed->sums[number];

	sample_sums_add(&samples, base, -1);
	return samples;
}

/*
 * Returns whether an execution has called another one, directly or not, that is under way.  Sets
 * *place to the place of its node that did.
 */
static bool
has_called(const Observation *o, const Observation *nested, int *place)
{
	const Observation *at = nested;

	if (nested == o || !nested->under_way)
		return false;
	for (int level = 0; level < MOST_LEVELS && at != NULL && at != o; level++)
		at = caller_of(at, place);
	return at == o;
}

/* Adds the sums of an execution that a node has called, directly or not, and that is under way. */
static void
add_nested(const Observation *o, int place, const Observation *nested, SampleSums *samples)
{
	int			called_by = -1;
	SampleSums	more;

	if (!has_called(o, nested, &called_by) || called_by != place)
		return;
	more = uncollected(nested->first, &nested->outside_base);
	more.variance = 0;
	sample_sums_add(samples, &more, 1);
	for (int i = 0; i < nested->nnodes; i++)
	{
		more = uncollected(nested->first + 1 + (uint32) i, &nested->nodes[i].base);
		more.variance = 0;
		sample_sums_add(samples, &more, 1);
	}
}

SampleSums
observed_samples(const Observation *o, int place)
{
	SampleSums	samples = o->nodes[place].samples;
	SampleSums	more;
	dlist_iter	i;

	if (observed == NULL || !plan_sampler_has_sampled())
		return samples;
	more = uncollected(o->first + 1 + (uint32) place, &o->nodes[place].base);
	sample_sums_add(&samples, &more, 1);
	dlist_foreach(i, &observations)
		add_nested(o, place, dlist_container(Observation, link, i.cur), &samples);
	return samples;
}

/*
 * Visits the waits that were collected, then the increase of the sampler's waits since.  Waits of
 * an execution that this one has called belong to the node that called it.
 */
void
observed_waits(const Observation *o, void (*add) (void *arg, const ObservedWait *wait), void *arg)
{
	for (int i = 0; i < o->nwaits; i++)
		add(arg, &o->waits[i]);
	if (observed == NULL || !plan_sampler_has_sampled())
		return;
	for (int i = 0; i < OBSERVED_WAITS; i++)
	{
		uint32		number = *(volatile const uint32 *) &observed->waits[i].number;
		const Observation *owner;
		ObservedWait wait;

		if (number == SAMPLE_IDLE)
			break;
		owner = has_number(o, number) ? o : owner_of(number);
		wait = (ObservedWait)
		{
			.place = place_of(o, number), .event = observed->waits[i].event,
				.ns = observed->waits[i].ns - wait_base[i]
		};
		if (wait.ns > 0 && owner != NULL && (owner == o || has_called(o, owner, &wait.place)))
			add(arg, &wait);
	}
}

Observation *
observation_of(const QueryDesc *desc)
{
	dlist_iter	i;

	dlist_foreach(i, &observations)
	{
		Observation *o = dlist_container(Observation, link, i.cur);

		if (o->desc == desc)
			return o;
	}
	return NULL;
}

int
observed_place(const Observation *o, const PlanState *node)
{
	/* usually the plan_node_id is the place or close to it */
	for (int i = 0; i < o->nnodes; i++)
	{
		int			place = (node->plan->plan_node_id + i) % o->nnodes;

		if (o->nodes[place].probed.node == node)
			return place;
	}
	return -1;
}

/*
 * Lists the nodes, gives them the numbers above those of all other observations, and installs their
 * stubs.  Registers end_observation() before the first stub is installed, because an error may
 * occur at any time afterwards.
 */
Observation *
observe_attach(QueryDesc *desc, const ObserveOptions *options)
{
	MemoryContext old = MemoryContextSwitchTo(desc->estate->es_query_cxt);
	Observation *o = observe_list(desc, options);
	bool		has_workers = o->nworkers > 0;
	uint32		first = free_number();

	if (!plan_sampler_join(first + (uint32) o->nnodes + 1))
	{
		MemoryContextSwitchTo(old);
		return NULL;
	}
	if (options->no_workers)
		o->nworkers = 0;
	o->first = first;
	dlist_push_head(&observations, &o->link);
	o->at_end.func = end_observation;
	o->at_end.arg = o;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &o->at_end);

	/*
	 * The server collects the workers' counts.  Workers inherit
	 * es_instrument; they too have stubs, so the server must not time the
	 * nodes.
	 */
	if (has_workers && (instr_options(desc->estate) != 0 || !options->no_workers))
		instr_set_options(desc->estate,
						  (instr_options(desc->estate) & ~INSTRUMENT_TIMER) | INSTRUMENT_ROWS);
	for (int i = 0; i < o->nnodes; i++)
		observe_install(o, i);
	if (observed != NULL && plan_sampler_has_sampled())
		set_bases(o, false);
	MemoryContextSwitchTo(old);
	return o;
}

/*
 * Begins an epoch of the sampler, if no execution is at work yet, or somebody waits for the result;
 * else goes on in that of the execution that has called this one.
 */
void
observe_begin_part(Observation *o)
{
	o->under_way = true;
	o->above = observed->current;
	o->has_epoch = o->above == SAMPLE_IDLE || o->options.asked;
	o->part_delay_ns = -1;
	if (o->has_epoch)
	{
		begin_epoch(o, o->first);
		/* outside of the part, because it reads a file */
		if (o->options.asked || o->options.late)
			o->part_delay_ns = cpu_delay_ns();
		plan_sampler_start(&o->part_ns, &o->part_cpu_ns);
	}
	else
	{
		o->part_cpu_ns = (uint64) cpu_time_ns();
		o->part_ns = system_clock_read();
		*current_number = o->first;
	}
}

void
observe_called(Observation *o, const PlanState *called)
{
	int			place = observed_place(o, called);

	if (place >= 0)
		*current_number = o->nodes[place].kind == NODE_SAMPLED &&
			!o->nodes[place].probed.is_called ?
			o->nodes[place].probed.number : o->nodes[place].probed.above;
}

/*
 * Returns the node that has worked, if none was called before the call of this one: the node
 * itself, in its previous call, if it has no nodes below or works without calling them, as a Sort
 * does; else the one below.  NULL if there are several, so that the time remains unknown.
 */
static const PlanState *
uncalled_node(const PlanState *node)
{
	while (node != NULL)
	{
		const PlanState *below = outerPlanState(node);

		if (IsA(node, SortState) || IsA(node, IncrementalSortState) ||
			IsA(node, WindowAggState) || IsA(node, ModifyTableState) ||
			(IsA(node, AggState) && ((const AggState *) node)->aggstrategy != AGG_PLAIN))
			return node;
		if (IsA(node, SubqueryScanState))
			below = ((const SubqueryScanState *) node)->subplan;
		else if (innerPlanState(node) != NULL || IsA(node, AppendState) ||
				 IsA(node, MergeAppendState) || IsA(node, CustomScanState))
			return NULL;
		if (below == NULL)
			return node;
		node = below;
	}
	return NULL;
}

/*
 * Returns whether the node above may itself have worked or waited for long since it called this
 * one the last time: to lock, insert, update or delete a row, with its triggers.
 */
static bool
is_below_writer(const Observation *o, const PlanState *called)
{
	int			place = observed_place(o, called);
	int			parent = place < 0 ? -1 : o->nodes[place].parent;
	const PlanState *above = parent < 0 ? NULL : o->nodes[parent].probed.node;

	return above != NULL && (IsA(above, ModifyTableState) || IsA(above, LockRowsState));
}

void
observe_uncalled(Observation *o, const PlanState *called, double ns, double cpu_ns, uint32 event)
{
	const PlanState *node = is_below_writer(o, called) ? NULL : uncalled_node(called);
	int			place = node == NULL ? -1 : observed_place(o, node);
	double		off_ns = Max(ns - cpu_ns, 0);
	SampleSums	sums = {.samples = 1};

	while (place >= 0 && o->nodes[place].kind != NODE_SAMPLED)
		place = o->nodes[place].parent;
	if (place < 0 || !(ns > 0))
		return;
	sums.wait_ns = event != 0 ? off_ns : 0;
	sums.cpu_wait_ns = event != 0 ? 0 : off_ns;
	sums.cpu_ns = ns - off_ns;
	sample_sums_add(&o->nodes[place].samples, &sums, 1);
	if (event != 0)
		add_wait(o, place, event, off_ns);
	o->run.run_ns += ns;
	o->run.cpu_ns += Min(cpu_ns, ns);
}

/*
 * Adds a part of the execution in which nobody has sampled: to the time outside of the nodes if the
 * root was not called.
 */
static void
add_unseen(Observation *o, double ns)
{
	SampleSums	unseen = {.cpu_ns = ns, .variance = ns * ns / 4};

	if (o->ran || !(o->nodes[0].probed.begun || o->options.late))
		sample_sums_add(&o->outside, &unseen, 1);
	else
		o->unseen_ns += ns;
}

/*
 * After an epoch for a nested execution, begins another one for the execution that has called
 * it.
 */
static void
continue_above(const Observation *o)
{
	const Observation *above = owner_of(o->above);
	uint64		ns;
	uint64		cpu_ns;

	if (above == NULL)
	{
		observed->current = SAMPLE_IDLE;
		return;
	}
	begin_epoch(above, o->above);
	plan_sampler_start(&ns, &cpu_ns);
}

/*
 * The time from the latest sample to the end of the part is divided like the time before, unless
 * it is longer and the samples are few.
 */
void
observe_end_part(Observation *o)
{
	double		part_ns;
	double		epoch_ns;
	uint64		ns;
	uint64		cpu_ns;

	if (!o->under_way)
		return;

	/*
	 * the execution that has called this one may be one that had failed, and
	 * is freed by now
	 */
	if (o->above != SAMPLE_IDLE && owner_of(o->above) == NULL)
		o->above = SAMPLE_IDLE;
	if (o->above == SAMPLE_IDLE)
		plan_sampler_pause(&ns, &cpu_ns);
	else
	{
		ns = system_clock_read();
		*current_number = o->above;
		cpu_ns = (uint64) cpu_time_ns();
	}
	part_ns = (double) (int64) (ns - o->part_ns);
	o->run.run_ns += part_ns;
	if (o->ran)
		o->run.finish_ns += part_ns;
	o->run.cpu_ns += (double) (int64) (cpu_ns - o->part_cpu_ns);
	if (o->part_delay_ns >= 0)
		o->run.delay_ns += Max(cpu_delay_ns() - o->part_delay_ns, 0);
	o->under_way = false;
	if (!o->has_epoch)
	{
		observe_collect(o, 1);
		return;
	}
	o->by_timeouts |= observed->by_itself;
	/* less than part_ns after the epoch of a nested execution */
	epoch_ns = Min(part_ns, (double) (int64) (ns - observed->part_ns));
	if (plan_sampler_has_sampled() && observed->samples > 0)
	{
		double		unseen_ns = Max(Min((double) (int64) (ns - observed->sampled_ns), epoch_ns), 0);
		double		sampled_ns = epoch_ns - unseen_ns + observed->head_ns;

		unseen_ns = Max(epoch_ns - sampled_ns, 0);
		o->run.sampler_cpu_ns += observed->cpu_ns;
		if (has_number(o, observed->pending))
		{
			o->run.pending = place_of(o, observed->pending);
			o->run.pending_ns = observed->pending_ns;
			o->run.gaps_ns += observed->gaps_ns;
		}
		if (sampled_ns > 0 && (unseen_ns <= sampled_ns || observed->samples >= MANY_SAMPLES))
		{
			o->run.unseen_squares += unseen_ns * unseen_ns;
			observe_collect(o, epoch_ns / sampled_ns);
		}
		else
		{
			observe_collect(o, 1);
			add_unseen(o, unseen_ns);
		}
	}
	else
		add_unseen(o, epoch_ns);
	if (o->above != SAMPLE_IDLE)
		continue_above(o);
}
