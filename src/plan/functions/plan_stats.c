/* The functions of the views clock_plan_stats and clock_node_stats, and of clock_node_changes(). */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "plan/explain/explain_output.h"
#include "plan/live/live_history.h"
#include "plan/stats/plan_draw.h"
#include "plan/stats/plan_store.h"
#include "plan/stats/store_read.h"
#include "server/args.h"
#include "server/row.h"

PG_FUNCTION_INFO_V1(clock_plan_stats);
PG_FUNCTION_INFO_V1(clock_node_stats);
PG_FUNCTION_INFO_V1(internal_clock_node_sums);
PG_FUNCTION_INFO_V1(clock_stats_reset);
PG_FUNCTION_INFO_V1(internal_clock_compare_sums);
PG_FUNCTION_INFO_V1(internal_clock_check_changes);
PG_FUNCTION_INFO_V1(internal_clock_stats_period);

/* Maximum of n in clock_node_stats(n), which returns the n slowest nodes.  NULL: all nodes. */
#define MOST_WORST		1000

static const double ms = 1e-6;

/* Adds a time in milliseconds, rounded to whole nanoseconds. */
static void
put_ms(Row *row, double ns)
{
	row_put_double(row, rint(ns) / 1e6, ROW_EXACT);
}

/*
 * Adds a number rounded to a bigint; null if it does not fit, because callers of
 * internal_clock_compare_sums() may pass any sums.
 */
static void
put_rounded(Row *row, double count)
{
	count = rint(count);
	if (!isnan(count) && FLOAT8_FITS_IN_INT64(count))
		row_put_count(row, (int64) count);
	else
		row_put_null(row);
}

static void
put_name(Row *row, const PlanEntry *entry, const NameData *name)
{
	row_put_text(row, NameStr(*name)[0] == '\0' ? NULL : store_name(entry, NameStr(*name)));
}

static void
put_key(Row *row, const PlanEntry *entry)
{
	row_put(row, ObjectIdGetDatum(entry->key.dbid));
	row_put(row, ObjectIdGetDatum(entry->key.userid));
	row_put_counts(row, (int64) entry->key.queryid, (int64) entry->key.planid);
}

/* Returns the number of executions that have not failed. */
static double
succeeded(const PlanEntry *entry)
{
	return Max(entry->executions - entry->failed.w, 0);
}

/* Returns sums over the durations of all executions that have not failed. */
static WeightedSums
plan_sums(const PlanEntry *entry)
{
	return population_total(&entry->times, succeeded(entry), MOST_UNSEEN_NS);
}

/*
 * By how much a measured execution takes longer than one that is not measured, in ns: choosing it
 * displaces data from the processor's caches.  Of queries of 2.1 us, it was 30 in the median and 90
 * in the mean, so that totals of short executions were 1 to 4 % too large.
 */
#define SLOWED_NS		100

/*
 * Returns the factor by which the times of nodes in short executions are multiplied, so that those
 * of a serial plan add up to total_ms.  Many short executions have been timed as a whole, but only
 * a few have timed nodes, whose durations may differ from the others.  This is the ratio estimator
 * (Cochran, Sampling Techniques, 1977, chapter 6) with the duration as the auxiliary variable.  The
 * times of long executions are known, and need no factor.
 *
 * Snapshots and metrics contain the times without the factor, because it changes, and the
 * difference between two readings of a counter must not be negative.
 */
static double
short_factor(const PlanEntry *entry)
{
	double		total_ns = plan_sums(entry).wx;

	return total_ns > 0 && entry->short_ns > 0 ?
		Max(total_ns - entry->long_ns, 0) / entry->short_ns : 1;
}

/* Returns a time of all executions, of which "of_long" is the part in long ones. */
static double
scaled(double ns, double of_long, double factor)
{
	return of_long + factor * Max(ns - of_long, 0);
}

/* Adds a time of a node, and its margin, which is scaled like the time. */
static void
put_scaled(Row *row, const WeightedSums *sums, double of_long, double factor)
{
	double		ns = scaled(sums->wx, of_long, factor);

	put_ms(row, ns);
	put_ms(row, weighted_total_margin(sums) * (sums->wx > 0 ? ns / sums->wx : factor));
}

/* Adds waits as clock_explain() does, in percent of the self times. */
static void
put_waits(Row *row, const WaitSet *set, double self_ns)
{
	NodeWait	waits[WAIT_SET_SIZE];
	int			n = wait_set_list(set, waits);

	row_put_text(row, explain_wait_list(waits, n, self_ns));
}

/* Adds the parts of the times of all nodes and of the time outside of them. */
static void
put_plan_parts(Row *row, const PlanEntry *entry)
{
	const LongTimes *of_long = &entry->all_long;
	double		factor = short_factor(entry);

	if (!(entry->all.n > 0))
	{
		row_put_nulls(row, 4);
		return;
	}
	put_ms(row, scaled(entry->cpu_ns, of_long->cpu_ns, factor));
	put_ms(row, scaled(entry->wait_ns, of_long->wait_ns, factor));
	put_waits(row, &entry->waits, entry->all.wx);
	put_ms(row, scaled(entry->cpu_wait_ns, of_long->cpu_wait_ns, factor));
}

/* Adds the row of a plan.  Failed executions are only counted, because they have no times. */
static void
put_plan(FunctionCallInfo fcinfo, const PlanCopy *plan)
{
	const PlanEntry *entry = &plan->entry;
	const WeightedSums all = plan_sums(entry);
	double		n = succeeded(entry);
	Row			row = row_of_set(fcinfo);

	put_key(&row, entry);
	put_rounded(&row, all.w);
	row_put_double(&row, rint(weighted_count_margin(&entry->failed)), ROW_EXACT);
	put_rounded(&row, all.n);
	put_rounded(&row, entry->failed.w);
	put_ms(&row, all.wx);
	put_ms(&row, population_total_margin(&entry->times, n, MOST_UNSEEN_NS, SLOWED_NS));
	put_ms(&row, weighted_mean(&all));
	put_ms(&row, population_mean_margin(&entry->times, n, MOST_UNSEEN_NS, SLOWED_NS));
	put_plan_parts(&row, entry);
	row_put(&row, TimestampTzGetDatum(entry->first_seen));
	row_put(&row, TimestampTzGetDatum(entry->last_seen));
	row_put(&row, Int32GetDatum(entry->nnodes));
	row_put_text(&row, entry->nslots > 0 ? store_plan_text(plan) : NULL);
	row_to_set(&row, fcinfo);
}

/* Adds rows of all visible plans.  Frees memory after each plan, as there may be 500000 nodes. */
static void
list_plans(FunctionCallInfo fcinfo, bool with_unobserved,
		   void (*put_rows) (FunctionCallInfo, const PlanCopy *))
{
	PlanCopy   *plans;
	int			n;
	Oid			userid = seen_user();
	MemoryContext of_plan = AllocSetContextCreate(CurrentMemoryContext, "clocktiming plan",
												  ALLOCSET_DEFAULT_SIZES);

	require_preloaded(plan_store_ready());
	InitMaterializedSRF(fcinfo, 0);
	plan_draw_flush();
	plans = store_copy(&n, with_unobserved);
	if (n == 0 && !plan_draw_tracks())
		notice_setting_is_off("clocktiming.track");
	for (int i = 0; i < n; i++)
	{
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		if (OidIsValid(userid) && plans[i].entry.key.userid != userid)
			continue;
		old = MemoryContextSwitchTo(of_plan);
		put_rows(fcinfo, &plans[i]);
		MemoryContextSwitchTo(old);
		MemoryContextReset(of_plan);
	}
	MemoryContextDelete(of_plan);
}

Datum
clock_plan_stats(PG_FUNCTION_ARGS)
{
	list_plans(fcinfo, true, put_plan);
	return (Datum) 0;
}

/* Returns sum / of; NAN if "of" is 0, for example the loops of a node that was never executed. */
static double
per(double sum, double of)
{
	return of > 0 ? sum / of : NAN;
}

/* Adds a node's calls and times; nulls if no execution with timed nodes is known. */
static void
put_node_times(Row *row, const PlanEntry *entry, const NodeSlot *node)
{
	const NodeParts *parts = &node->parts;
	const LongTimes *of_long = &node->long_times;
	double		factor = short_factor(entry);

	if (!(node->total.n > 0))
	{
		row_put_nulls(row, 12);
		return;
	}
	if (node->place < 0)
		row_put_null(row);
	else
		put_rounded(row, node->calls);
	put_scaled(row, &node->total, of_long->total_ns, factor);
	put_scaled(row, &node->self, of_long->self_ns, factor);
	row_put_double(row, per(scaled(node->share_ns, of_long->self_ns, factor),
							scaled(entry->share_ns, entry->all_long.self_ns, factor)) * 100, 2);
	put_scaled(row, &parts->cpu, of_long->cpu_ns, factor);
	put_scaled(row, &parts->wait, of_long->wait_ns, factor);
	put_waits(row, &parts->waits, node->self.wx);
	put_ms(row, scaled(parts->cpu_wait_ns, of_long->cpu_wait_ns, factor));
}

/* Adds the row of a node, or that of the time outside of the nodes, which has no depth and rows. */
static void
put_node(FunctionCallInfo fcinfo, const PlanEntry *entry, const NodeSlot *node)
{
	Row			row = row_of_set(fcinfo);

	put_key(&row, entry);
	row_put(&row, Int32GetDatum(node->place + 1));
	if (node->place < 0)
		row_put_null(&row);
	else
		row_put(&row, Int32GetDatum(node->depth));
	row_put_text(&row, store_name(entry, node->type));
	put_name(&row, entry, &node->relation);
	put_name(&row, entry, &node->index);
	if (node->place < 0)
		row_put_null(&row);
	else
		put_rounded(&row, node->loops);
	row_put_double(&row, per(node->estimated_rows, node->w), 2);
	row_put_double(&row, per(node->rows, node->loops), 2);
	row_put_double(&row, exp(per(node->log_factor, node->begun)), 2);
	row_put_double(&row, node->begun > 0 ? node->worst_factor : NAN, 2);
	put_node_times(&row, entry, node);
	row_to_set(&row, fcinfo);
}

static void
put_nodes(FunctionCallInfo fcinfo, const PlanCopy *plan)
{
	NodeSlot	outside = store_outside(&plan->entry);

	if (plan->entry.nslots > 0)
		put_node(fcinfo, &plan->entry, &outside);
	for (int i = 0; i < plan->entry.nslots; i++)
		put_node(fcinfo, &plan->entry, &plan->nodes[i]);
}

Datum
clock_node_stats(PG_FUNCTION_ARGS)
{
	WorstNode  *worst;
	int			n;

	if (PG_ARGISNULL(0))
	{
		list_plans(fcinfo, true, put_nodes);
		return (Datum) 0;
	}
	require_preloaded(plan_store_ready());
	InitMaterializedSRF(fcinfo, 0);
	n = Min(Max(PG_GETARG_INT32(0), 1), MOST_WORST);
	worst = palloc(sizeof(WorstNode) * n);
	n = store_worst_nodes(seen_user(), true, worst, n);
	for (int i = 0; i < n; i++)
		put_node(fcinfo, &worst[i].entry, &worst[i].node);
	return (Datum) 0;
}

static void
put_sums(Row *row, const WeightedSums *sums)
{
	const double numbers[WEIGHTED_SUMS_MEMBERS] = {
		sums->n, sums->w, sums->w2, sums->wx, sums->wxx, sums->w2x, sums->w2xx, sums->wv
	};
	Datum		elements[WEIGHTED_SUMS_MEMBERS];

	for (int i = 0; i < WEIGHTED_SUMS_MEMBERS; i++)
		elements[i] = Float8GetDatum(numbers[i]);
	row_put(row, PointerGetDatum(construct_array(elements, WEIGHTED_SUMS_MEMBERS, FLOAT8OID,
												 sizeof(float8), FLOAT8PASSBYVAL,
												 TYPALIGN_DOUBLE)));
}

/* Adds a node's sums, for clock_node_changes().  If "node" is NULL, adds the plan's, as node 0. */
static void
put_node_sums(FunctionCallInfo fcinfo, const PlanEntry *entry, const NodeSlot *node)
{
	const WeightedSums all = plan_sums(entry);
	Row			row = row_of_set(fcinfo);

	put_key(&row, entry);
	row_put(&row, Int32GetDatum(node == NULL ? 0 : node->place + 1));
	row_put(&row, Int32GetDatum(node == NULL ? 0 : node->depth));
	row_put_text(&row, node == NULL ? "whole plan" : store_name(entry, node->type));
	if (node == NULL)
		row_put_nulls(&row, 2);
	else
	{
		put_name(&row, entry, &node->relation);
		put_name(&row, entry, &node->index);
	}
	row_put(&row, TimestampTzGetDatum(entry->first_seen));
	put_sums(&row, node == NULL ? &all : &node->total);
	put_sums(&row, node == NULL ? &all : &node->self);
	row_to_set(&row, fcinfo);
}

static void
put_plan_sums(FunctionCallInfo fcinfo, const PlanCopy *plan)
{
	if (plan->entry.nslots == 0)
		return;
	put_node_sums(fcinfo, &plan->entry, NULL);
	for (int i = 0; i < plan->entry.nslots; i++)
		put_node_sums(fcinfo, &plan->entry, &plan->nodes[i]);
}

Datum
internal_clock_node_sums(PG_FUNCTION_ARGS)
{
	list_plans(fcinfo, false, put_plan_sums);
	return (Datum) 0;
}

Datum
clock_stats_reset(PG_FUNCTION_ARGS)
{
	require_preloaded(plan_store_ready());
	store_reset(PG_GETARG_OID(0), PG_GETARG_OID(1), (uint64) PG_GETARG_INT64(2));
	plan_draw_reset();
	live_history_forget(PG_GETARG_OID(0), PG_GETARG_OID(1), (uint64) PG_GETARG_INT64(2));
	PG_RETURN_VOID();
}

static WeightedSums
sums_of(ArrayType *array)
{
	const double *x = (const double *) ARR_DATA_PTR(array);

	if (ARR_NDIM(array) != 1 || ARR_DIMS(array)[0] != WEIGHTED_SUMS_MEMBERS ||
		ARR_HASNULL(array) || ARR_ELEMTYPE(array) != FLOAT8OID)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the sums were not returned by internal_clock_node_sums()")));
	return (WeightedSums)
	{
		x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]
	};
}

/*
 * Compares the times before a snapshot of the statistics with those after it.  If argument 2 is
 * true, the second sums include the first, which are therefore subtracted.
 */
Datum
internal_clock_compare_sums(PG_FUNCTION_ARGS)
{
	WeightedSums before = sums_of(PG_GETARG_ARRAYTYPE_P(0));
	WeightedSums after = sums_of(PG_GETARG_ARRAYTYPE_P(1));
	double		confidence = PG_GETARG_FLOAT8(3);
	WeightedTest test;
	Row			row = row_of_result(fcinfo);

	if (PG_GETARG_BOOL(2))
		weighted_subtract(&after, &before);
	test = weighted_test(&before, &after, confidence);
	put_rounded(&row, before.n);
	put_rounded(&row, after.n);
	row_put_double(&row, weighted_mean(&before) * ms, ROW_EXACT);
	row_put_double(&row, weighted_mean(&after) * ms, ROW_EXACT);
	row_put_double(&row, test.difference * ms, ROW_EXACT);
	row_put_double(&row, test.margin * ms, ROW_EXACT);
	row_put_double(&row, test.p_value, ROW_EXACT);
	row_put_double(&row, before.wx * ms, ROW_EXACT);
	row_put_double(&row, after.wx * ms, ROW_EXACT);
	return row_result(&row);
}

/* Raises an ERROR if the confidence is invalid or the snapshot's time, argument 1, is null. */
Datum
internal_clock_check_changes(PG_FUNCTION_ARGS)
{
	require_preloaded(plan_store_ready());
	(void) arg_confidence(fcinfo, 0);
	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("there is no snapshot of that time or before"),
				 errhint("Take a snapshot with SELECT clock_stats_snapshot(), and compare with it later.")));
	PG_RETURN_VOID();
}

/* Returns since when there are statistics.  Raises an ERROR if argument 0 is not in [0, 100]. */
Datum
internal_clock_stats_period(PG_FUNCTION_ARGS)
{
	double		percent = arg_double(fcinfo, 0, "min_percent");
	Row			row = row_of_result(fcinfo);
	StoreInfo	info;

	require_preloaded(plan_store_ready());
	if (!(percent >= 0 && percent <= 100))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("min_percent must be between 0 and 100")));
	info = store_info();
	row_put(&row, TimestampTzGetDatum(info.reset_at));
	row_put_count(&row, info.evicted);
	return row_result(&row);
}
