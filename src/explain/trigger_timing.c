#include "postgres.h"

#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "utils/reltrigger.h"

#include "explain/call_samples.h"
#include "explain/plan_record.h"
#include "explain/trigger_timing.h"

typedef struct TimedTrigger
{
	NodeTiming	timing;
	FmgrInfo	function;		/* the trigger's own function */
	TriggerInstr *instr;		/* the server's instrumentation */
	int64		timed_firings;
	struct TimedTrigger *next;
} TimedTrigger;

static pg_noinline Datum
timed_firing(FunctionCallInfo fcinfo, TimedTrigger *trigger)
{
	NodeTiming *t = &trigger->timing;
	CallsBelow	none = {{0}};
	Datum		result;
	uint64		start;
	uint64		stop;

	begin_timed_call(t, query_reading(t->query, t, false));
	start = query_reading(t->query, t, true);
	result = FunctionCallInvoke(fcinfo);
	stop = query_reading(t->query, t, true);
	trigger->timed_firings++;
	keep_sample(t, &t->samples->later, start, stop, 0, none);
	draw_later(t);
	return result;
}

static Datum
counted_firing(PG_FUNCTION_ARGS)
{
	TimedTrigger *trigger = fcinfo->flinfo->fn_extra;
	NodeTiming *t = &trigger->timing;

	/* the function keeps its state between firings in its own FmgrInfo */
	fcinfo->flinfo = &trigger->function;
	t->calls++;
	if (unlikely(t->calls > next_due(t)))
		return timed_firing(fcinfo, trigger);
	return FunctionCallInvoke(fcinfo);
}

/*
 * Returns whether a statement may fire a trigger.  UPDATE may move a row to another partition by
 * DELETE and INSERT.
 */
static bool
may_fire(const ModifyTable *plan, const Trigger *trigger)
{
	if (trigger->tgenabled == TRIGGER_DISABLED)
		return false;
	switch (plan->operation)
	{
		case CMD_INSERT:
			return TRIGGER_FOR_INSERT(trigger->tgtype) ||
				(plan->onConflictAction == ONCONFLICT_UPDATE &&
				 TRIGGER_FOR_UPDATE(trigger->tgtype));
		case CMD_DELETE:
			return TRIGGER_FOR_DELETE(trigger->tgtype);
		default:
			return true;
	}
}

/*
 * Installs counted_firing() in place of a trigger's function.  The server would look the function
 * up at the first firing.  This function does so earlier, because pg_stat_user_functions needs the
 * result before counted_firing() is called.  If the lookup fails, the firing would fail as well.
 */
static void
attach_trigger(QueryTiming *query, PlanState *node, const Trigger *trigger,
			   FmgrInfo *function, TriggerInstr *instr)
{
	TimedTrigger *timed = palloc0(sizeof(TimedTrigger));
	NodeTiming *t = &timed->timing;

	t->query = query;
	t->node = node;
	t->kind = NODE_SAMPLED;
	begin_samples(t);
	t->begun = t->in_loop = true;
	/* AFTER triggers fire outside of the node's calls */
	if (TRIGGER_FOR_BEFORE(trigger->tgtype))
		t->parent = query_node(query, node);
	draw_later(t);

	fmgr_info_cxt(trigger->tgfoid, &timed->function, CurrentMemoryContext);
	*function = timed->function;
	function->fn_addr = counted_firing;
	function->fn_extra = timed;
	timed->instr = instr;
	instr_set_timer(instr, false);
	timed->next = query->triggers;
	query->triggers = timed;
}

/*
 * Attaches to the triggers of a relation that can be sampled.  The server times the other ones.
 * If nodes' calls are only counted, or only one node is timed, the server times all triggers.
 */
static void
attach_triggers_of(QueryTiming *query, ModifyTableState *state, ResultRelInfo *relation)
{
	const ModifyTable *plan = (const ModifyTable *) state->ps.plan;

	for (int i = 0; relation->ri_TrigInstrument != NULL &&
		 i < relation->ri_TrigDesc->numtriggers; i++)
	{
		const Trigger *trigger = &relation->ri_TrigDesc->triggers[i];
		FmgrInfo   *function = &relation->ri_TrigFunctions[i];

		if (query->sampling > 0 && query->only_node < 0 &&
			function->fn_oid == InvalidOid && may_fire(plan, trigger))
			attach_trigger(query, &state->ps, trigger, function, &relation->ri_TrigInstrument[i]);
		else
			instr_set_timer(&relation->ri_TrigInstrument[i], true);
	}
}

/*
 * Attaches to the triggers of all relations that the plan modifies.  The server opens some
 * relations only during the run: partitions into which rows are routed, and relations that only
 * fire AFTER triggers for rows of a partition.  The server times their triggers if es_instrument
 * requests timers. es_instrument would also make workers time nodes, so it is only set for plans
 * without workers.
 */
void
triggers_attach(QueryTiming *query)
{
	MemoryContext old = MemoryContextSwitchTo(query->context);

	for (int id = 0; id < query->nnodes; id++)
	{
		ModifyTableState *state;

		if (query->nodes[id] == NULL || !IsA(query->nodes[id]->node, ModifyTableState))
			continue;
		state = (ModifyTableState *) query->nodes[id]->node;
		if (query->nworkers == 0 && state->ps.state->es_instrument != 0)
			state->ps.state->es_instrument |= INSTRUMENT_TIMER;
		for (int i = 0; i < state->mt_nrels; i++)
			attach_triggers_of(query, state, &state->resultRelInfo[i]);
		if (state->rootResultRelInfo != state->resultRelInfo)
			attach_triggers_of(query, state, state->rootResultRelInfo);
	}
	MemoryContextSwitchTo(old);
}

void
triggers_add_costs(const QueryTiming *query, PlanEstimate *plan)
{
	for (const TimedTrigger *trigger = query->triggers; trigger != NULL; trigger = trigger->next)
	{
		const NodeTiming *t = &trigger->timing;
		double		untimed = (double) (t->calls - trigger->timed_firings);
		double		cost_ns = (double) trigger->timed_firings * query->cost.timed_ns +
			untimed * query->cost.counted_ns;

		if (t->parent != NULL)
			plan->nodes[t->parent->place].triggers_ns += cost_ns;
		else
			plan->besides_ns += cost_ns;
	}
}

void
triggers_show(const QueryTiming *query)
{
	for (TimedTrigger *trigger = query->triggers; trigger != NULL; trigger = trigger->next)
	{
		NodeRecord	record = {0};

		record_node(&trigger->timing, &record);
		trigger_show(trigger->instr,
					 record.total_ns - (double) record.calls * query->cost.inside_ns);
	}
}
