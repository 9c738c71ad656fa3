/*
 * Implements the view clock_metrics and clock_metrics_text().
 *
 * Measures nothing.  Returns the background worker's observations of the clock, statistics of
 * plans, and the number and the longest duration of running statements.
 */
#include "postgres.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "commands/dbcommands.h"
#include "common/string.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/lwlock.h"
#include "utils/acl.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "clock/measure/source.h"
#include "clock/verdict/clock_criteria.h"
#include "clock/watch/watch_observe.h"
#include "compat.h"
#include "core/reference.h"
#include "core/tsc.h"
#include "plan/explain/wait_names.h"
#include "plan/functions/clock_running.h"
#include "plan/live/live_attach.h"
#include "plan/live/live_history.h"
#include "plan/stats/plan_store.h"
#include "plan/stats/store_read.h"
#include "server/args.h"
#include "server/row.h"

PG_FUNCTION_INFO_V1(clock_metrics);

/*
 * Numbers of plan nodes and of waits that are returned, as the help texts below state.  They are
 * small, because each combination of labels is a time series in the monitoring system.
 */
#define WORST_NODES		10
#define WORST_WAITS		20

/*
 * The clock counts as watched if the worker's latest interval (clocktiming.watch_interval) ended at
 * most LATE_INTERVALS intervals or LATE_MS ms ago, whichever is longer.
 */
#define LATE_INTERVALS	3
#define LATE_MS			60000

/* Time for which a past fault remains a warning, in ms. */
#define RECENT_MS		(15 * 60 * 1000)

typedef struct Metric
{
	const char *name;
	const char *type;
	const char *labels;			/* names, separated by commas */
	const char *help;
} Metric;

/* monitoring/generate parses these definitions. */
static const Metric metric_watched = {"pg_clock_watched", "gauge", "",
"1 if clocktiming.watch is on and its worker has judged the clock recently, else 0"};
static const Metric metric_info = {"pg_clock_source_info", "gauge", "source,clock,kernel_clock_source,hypervisor,processor",
"always 1, with labels that describe the clock source that EXPLAIN ANALYZE reads and the machine"};
static const Metric metric_reading = {"pg_clock_reading_seconds", "gauge", "source",
"cost of a reading right after another reading, in the latest interval"};
static const Metric metric_cold_reading = {"pg_clock_cold_reading_seconds", "gauge", "source",
"cost of the first reading after a sleep, in the latest interval"};
static const Metric metric_backward_steps = {"pg_clock_backward_steps_total", "counter", "source",
"readings smaller than the previous reading, since the server started"};
static const Metric metric_warps = {"pg_clock_warps_total", "counter", "source",
"jumps of the clock ahead of the reference clock, since the server started"};
static const Metric metric_lags = {"pg_clock_lags_total", "counter", "source",
"number of times that the clock fell behind the reference clock, since the server started"};
static const Metric metric_gaps = {"pg_clock_gaps_total", "counter", "source",
"gaps between readings while the process or the virtual machine was off the CPU, since the server started"};
static const Metric metric_rate_error = {"pg_clock_rate_error_ratio", "gauge", "",
"by how much the clock runs faster than CLOCK_MONOTONIC_RAW, as a fraction"};
static const Metric metric_assumed_rate_error = {"pg_clock_assumed_rate_error_ratio", "gauge", "",
"by how much the TSC runs faster than the server assumes, as a fraction"};
static const Metric metric_off_cpu = {"pg_clock_off_cpu_ratio", "gauge", "",
"share of the time of observations in which other processes used the CPU"};
static const Metric metric_stolen = {"pg_clock_stolen_ratio", "gauge", "",
"share of the time of all CPUs that the hypervisor gave to other virtual machines"};
static const Metric metric_sync_status = {"pg_clock_sync_status", "gauge", "",
"1 if the clock of the kernel is synchronised, else 0"};
static const Metric metric_sync_error = {"pg_clock_sync_error_seconds", "gauge", "",
"upper bound of the error of the clock of the kernel"};
static const Metric metric_sync_offset = {"pg_clock_sync_offset_seconds", "gauge", "",
"offset of the clock of the kernel from its time server"};
static const Metric metric_events = {"pg_clock_events_total", "counter", "what",
"events of the clock, as in clock_events, including those before the server started"};
static const Metric metric_event_active = {"pg_clock_event_active", "gauge", "what",
"1 while an event of the clock is active, else 0"};
static const Metric metric_advice = {"pg_clock_advice", "gauge", "check,severity",
"1 if the check of clock_advice, based on the watched clock, has this severity, else 0"};
static const Metric metric_node_self = {"pg_clock_node_self_seconds_total", "counter", "datname,usename,queryid,planid,node,node_type,relation,index_name",
"time of a plan node in all executions, without the nodes below it, for the ten nodes with the longest times; node 0 is the time outside of the nodes of a plan"};
static const Metric metric_node_wait = {"pg_clock_node_wait_seconds_total", "counter", "node_type,wait_event_type,wait_event",
"time of all plan nodes of a type in a wait event, in all executions, for the twenty longest of these times; Query is the time outside of the nodes"};

static const Metric metric_kept_plans = {"pg_clock_kept_plans", "gauge", "",
"plans that have statistics"};
static const Metric metric_evicted_plans = {"pg_clock_evicted_plans_total", "counter", "",
"plans whose statistics were evicted since all statistics were reset"};
static const Metric metric_plans_reset = {"pg_clock_plans_reset_timestamp_seconds", "gauge", "",
"time of the last reset of all statistics of plans, in seconds since 1970"};
static const Metric metric_running = {"pg_clock_running_statements", "gauge", "",
"statements of other clients in clock_running that are not suspended"};
static const Metric metric_longest = {"pg_clock_longest_running_seconds", "gauge", "node_type",
"execution time so far of the longest of these statements, with the type of its innermost active plan node"};

static const Metric metric_ends = {"pg_clock_estimated_ends_total", "counter", "ended",
"executions of statements of clients since the server started whose end was estimated, by whether they ended within the estimated range, before it or after it"};

static bool
is_convertible(const char *name)
{
	int			encoding = GetDatabaseEncoding() == PG_SQL_ASCII ? PG_UTF8 : GetDatabaseEncoding();
	int			length = (int) strlen(name);
	int			size = length * MAX_CONVERSION_GROWTH + 1;
	Oid			conversion;

	if (pg_is_ascii(name))
		return true;
	if (pg_encoding_verifymbstr(encoding, name, length) < length)
		return false;
	conversion = encoding == PG_UTF8 ? InvalidOid : FindDefaultConversionProc(encoding, PG_UTF8);
	return !OidIsValid(conversion) ||
		pg_do_encoding_conversion_buf(conversion, encoding, PG_UTF8, (unsigned char *) name, length,
									  palloc(size), size, true) == length;
}

/*
 * Returns a name as the value of a label.  Names of databases and roles may be in another encoding
 * than this database's.  If a name cannot be converted to UTF-8, each byte that is not ASCII is
 * escaped, for example as \xE4.  A backslash that looks like the start of such an escape is written
 * as \x5C, so that different names have different values.
 */
static char *
label_value(const char *name)
{
	bool		convertible = is_convertible(name);
	StringInfoData value;

	initStringInfo(&value);
	for (const char *c = name; *c != '\0'; c++)
	{
		if (IS_HIGHBIT_SET(*c) && !convertible)
			appendStringInfo(&value, "\\x%02X", (unsigned char) *c);
		else if (c[0] == '\\' && c[1] == 'x' && isxdigit((unsigned char) c[2]) &&
				 isxdigit((unsigned char) c[3]))
			appendStringInfoString(&value, "\\x5C");
		else
			appendStringInfoChar(&value, *c);
	}
	return value.data;
}

/*
 * Adds a row of a metric, unless the value is NaN or infinite.  The further arguments are the
 * values of the metric's labels.
 */
static void
put_metric(FunctionCallInfo fcinfo, const Metric *metric, double value, ...)
{
	Row			row = row_of_set(fcinfo);
	const char *label = metric->labels;
	StringInfoData labels;
	va_list		values;

	if (isnan(value) || isinf(value))
		return;
	initStringInfo(&labels);
	appendStringInfoChar(&labels, '{');
	va_start(values, value);
	while (*label != '\0')
	{
		int			length = (int) strcspn(label, ",");

		appendStringInfo(&labels, "%s\"%.*s\": ", labels.len > 1 ? ", " : "", length, label);
		escape_json(&labels, label_value(va_arg(values, const char *)));
		label += length + (label[length] == ',');
	}
	va_end(values);
	appendStringInfoChar(&labels, '}');
	row_put_text(&row, metric->name);
	row_put(&row, DirectFunctionCall1(jsonb_in, CStringGetDatum(labels.data)));
	row_put(&row, Float8GetDatum(value));
	row_put_text(&row, metric->type);
	row_put_text(&row, metric->help);
	row_to_set(&row, fcinfo);
	pfree(labels.data);
}

typedef struct Watched
{
	bool		now;			/* whether "latest" is recent */
	WatchRow	latest;
	WatchMachine machine;
	WatchTotals totals[WATCH_SOURCES];
	int64		counts[WATCH_WHATS];
	bool		active[WATCH_WHATS];
	bool		recent[WATCH_WHATS];
	double		cost_ratio;		/* cost of a reading / its normal cost */
} Watched;

/* Copies what the worker has observed, so that the lock is not held while metrics are formed. */
static void
copy_watched(Watched *watched)
{
	const WatchState *state = &watch_store->state;
	TimestampTz now = GetCurrentTimestamp();
	double		late_ms = Max((double) watch_interval_ms * LATE_INTERVALS, LATE_MS);

	memset(watched, 0, sizeof(*watched));
	LWLockAcquire(watch_store->lock, LW_SHARED);
	watched->now = watch_store->latest_ns != 0 &&
		(double) (int64) (reference_ns() - watch_store->latest_ns) / 1e6 < late_ms;
	watched->latest = watch_store->latest;
	watched->machine = state->machine[watched->latest.machine];
	memcpy(watched->totals, watch_store->totals, sizeof(watched->totals));
	memcpy(watched->counts, state->counts, sizeof(watched->counts));
	for (int i = 0; i < WATCH_WHATS; i++)
		watched->active[i] = watched->recent[i] = state->open[i] != 0;
	for (int i = 0; i < state->events.n; i++)
	{
		const WatchEvent *event = &state->event[i];

		/* ended_at is in the future if the time of day was set back */
		if (event->ended_at != 0 && llabs(now - event->ended_at) < RECENT_MS * INT64CONST(1000))
			watched->recent[event->what] = true;
	}
	watched->cost_ratio = state->cost.changed ? exp(state->cost.level - state->cost.normal) : 1;
	LWLockRelease(watch_store->lock);
}

static void
put_latest(FunctionCallInfo fcinfo, const Watched *watched)
{
	const WatchRow *latest = &watched->latest;
	const char *source = watched->machine.source;

	put_metric(fcinfo, &metric_reading, latest->warm_ns / 1e9, source);
	put_metric(fcinfo, &metric_cold_reading, latest->cold_ns / 1e9, source);
	put_metric(fcinfo, &metric_rate_error, latest->rate_ppm / 1e6);
	put_metric(fcinfo, &metric_assumed_rate_error, latest->assumed_ppm / 1e6);
	put_metric(fcinfo, &metric_off_cpu, latest->off_cpu_percent / 100);
	put_metric(fcinfo, &metric_stolen, latest->stolen_percent / 100);
	if (latest->sync_known > 0)
	{
		put_metric(fcinfo, &metric_sync_status, latest->synchronised > 0);
		put_metric(fcinfo, &metric_sync_error, latest->max_error_us / 1e6);
		put_metric(fcinfo, &metric_sync_offset, latest->offset_us / 1e6);
	}
}

static void
put_totals(FunctionCallInfo fcinfo, const Watched *watched)
{
	for (int i = 0; i < WATCH_SOURCES && watched->totals[i].source[0] != '\0'; i++)
	{
		const WatchTotals *totals = &watched->totals[i];

		put_metric(fcinfo, &metric_backward_steps, totals->backward_steps, totals->source);
		put_metric(fcinfo, &metric_warps, totals->warps, totals->source);
		put_metric(fcinfo, &metric_lags, totals->lags, totals->source);
		put_metric(fcinfo, &metric_gaps, totals->gaps, totals->source);
	}
	for (int i = 0; i < WATCH_WHATS; i++)
	{
		put_metric(fcinfo, &metric_events, watched->counts[i], watch_what_names[i]);
		put_metric(fcinfo, &metric_event_active, watched->active[i], watch_what_names[i]);
	}
}

static Severity
warning_if(bool wrong)
{
	return wrong ? WORTH_WARNING : OK;
}

static Severity
severity_of_cost(const Watched *watched)
{
	if (watched->latest.warm_ns > EXPENSIVE_NS || watched->cost_ratio > EXPENSIVE_RATIO)
		return WORTH_WARNING;
	return watched->active[WATCH_COST] && watched->cost_ratio > 1 ? WORTH_NOTICE : OK;
}

/*
 * Load average per CPU above which clock_advice() is expected to find that other processes
 * interrupt a run: half of the run's time is lost at 2.  Below it, the run may have a CPU of its
 * own.
 */
#define BUSY_LOAD			2.0

/*
 * Returns whether other processes interrupt runs on this machine.  The worker's observations are
 * so short that the scheduler hardly interrupts them, even on a busy machine.  So the load average
 * of the last minute decides, too.
 */
static bool
runs_are_interrupted(const Watched *watched)
{
	double		load = 0;
	long		cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return watched->active[WATCH_STOLEN] || watched->latest.off_cpu_percent >= LOST_PERCENT ||
		(getloadavg(&load, 1) == 1 && cpus > 0 && load > BUSY_LOAD * cpus);
}

/* Adds the severities of those checks of clock_advice() that the worker can judge. */
static void
put_advice(FunctionCallInfo fcinfo, const Watched *watched)
{
	const ClockSource *source = clock_source_find(watched->machine.source);
	bool		by_tsc = clock_source_is_instruction(source) && tsc_cpuid()->readable;
	double		assumed_ppm = fabs(watched->latest.assumed_ppm);
	const struct
	{
		const char *check_name;
		Severity	severity;
	}			advice[] = {
		{"cost", severity_of_cost(watched)},
		{"backward_steps", warning_if(watched->recent[WATCH_BACKWARD])},
		{"warps", warning_if(watched->recent[WATCH_WARP])},
		{"lags", warning_if(watched->recent[WATCH_LAG])},
		{"drift", isnan(watched->latest.rate_ppm) ? NOT_KNOWN : warning_if(watched->active[WATCH_RATE])},
		{"gaps", runs_are_interrupted(watched) ? WORTH_NOTICE : OK},
		{"tsc_frequency", assumed_ppm > RATE_PPM ? WORTH_WARNING :
		assumed_ppm > FREQUENCY_PPM ? WORTH_NOTICE : OK},
		{"invariant_tsc", warning_if(by_tsc && !tsc_cpuid()->invariant)},
	};

	for (int i = 0; i < (int) lengthof(advice); i++)
	{
		for (int severity = 0; severity < N_SEVERITIES; severity++)
			put_metric(fcinfo, &metric_advice, (int) advice[i].severity == severity,
					   advice[i].check_name, severity_names[severity]);
	}
}

/* Adds the nodes with the longest times. */
static void
put_worst_nodes(FunctionCallInfo fcinfo)
{
	WorstNode  *worst = palloc(sizeof(WorstNode) * WORST_NODES);
	int			n = store_worst_nodes(seen_user(), false, worst, WORST_NODES);

	for (int i = 0; i < n; i++)
	{
		const PlanEntry *entry = &worst[i].entry;
		const NodeSlot *node = &worst[i].node;
		const char *database = get_database_name(entry->key.dbid);
		const char *user = GetUserNameFromId(entry->key.userid, true);

		put_metric(fcinfo, &metric_node_self, node->self.wx / 1e9,
				   database != NULL ? database : psprintf("unknown (OID=%u)", entry->key.dbid),
				   user != NULL ? user : psprintf("unknown (OID=%u)", entry->key.userid),
				   psprintf(INT64_FORMAT, (int64) entry->key.queryid),
				   psprintf(INT64_FORMAT, (int64) entry->key.planid),
				   psprintf("%d", node->place + 1), store_name(entry, node->type),
				   store_name(entry, NameStr(node->relation)),
				   store_name(entry, NameStr(node->index)));
	}
}

static void
put_worst_waits(FunctionCallInfo fcinfo)
{
	TypeWait	worst[WORST_WAITS];
	int			n = store_worst_waits(seen_user(), worst, WORST_WAITS);

	for (int i = 0; i < n; i++)
	{
		const char *type = wait_event_type(worst[i].event);
		const char *name = wait_event_name(worst[i].event);

		put_metric(fcinfo, &metric_node_wait, worst[i].ns / 1e9, worst[i].type,
				   type != NULL ? type : "", name != NULL ? name : "");
	}
}

static void
put_plans(FunctionCallInfo fcinfo)
{
	StoreInfo	info = store_info();

	put_metric(fcinfo, &metric_kept_plans, (double) info.plans);
	put_metric(fcinfo, &metric_evicted_plans, (double) info.evicted);
	put_metric(fcinfo, &metric_plans_reset,
			   info.reset_at / 1e6 + (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) *
			   (double) SECS_PER_DAY);
}

static void
put_running(FunctionCallInfo fcinfo)
{
	LongestRunning longest = {NAN, ""};
	LiveScores	scores = live_scores();

	put_metric(fcinfo, &metric_running, clock_running_statements(&longest));
	put_metric(fcinfo, &metric_longest, longest.seconds,
			   longest.node_type == NULL ? "" : longest.node_type);
	put_metric(fcinfo, &metric_ends, (double) scores.held, "within");
	put_metric(fcinfo, &metric_ends, (double) scores.early, "before");
	put_metric(fcinfo, &metric_ends, (double) scores.late, "after");
}

/*
 * Returns a row per value of a metric.  Leaves out metrics without a source, such as those of plans
 * if clocktiming is not in shared_preload_libraries: a 0 would be taken for a measured value.
 */
Datum
clock_metrics(PG_FUNCTION_ARGS)
{
	Watched    *watched = palloc0(sizeof(Watched));
	WatchMachine *machine = &watched->machine;
	const char *format = arg_text(fcinfo, 0, "format");

	if (strcmp(format, "prometheus") != 0 && strcmp(format, "openmetrics") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown format \"%s\"", format),
				 errhint("Known formats are prometheus and openmetrics.")));
	InitMaterializedSRF(fcinfo, 0);
	if (watch_store != NULL)
		copy_watched(watched);
	put_metric(fcinfo, &metric_watched, watched->now);
	if (!watched->now)
		watch_find_machine(machine);
	put_metric(fcinfo, &metric_info, 1.0, machine->source, machine->reads, machine->kernel_source,
			   machine->hypervisor, machine->processor);
	if (watched->now)
	{
		put_latest(fcinfo, watched);
		put_advice(fcinfo, watched);
	}
	if (watch_store != NULL)
		put_totals(fcinfo, watched);
	if (plan_store_ready())
	{
		put_plans(fcinfo);
		put_worst_nodes(fcinfo);
		put_worst_waits(fcinfo);
	}
	if (live_is_on())
		put_running(fcinfo);
	return (Datum) 0;
}
