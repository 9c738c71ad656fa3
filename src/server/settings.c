/* Table of the settings, and functions that define them. */
#include "postgres.h"

#include "compat.h"
#include "server/settings.h"

/* Flags of settings that only clocktiming's tests and clocktiming itself use. */
#define INTERNAL	(GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE)

typedef struct Setting
{
	const char *name;
	const char *description;
	const char *detail;			/* or NULL */
	GucContext	context;		/* PGC_POSTMASTER: PGC_AT_START */
	int			flags;

	/* not for boolean settings and strings, whose defaults are off and empty */
	double		boot;
	double		least;
	double		most;
} Setting;

static const Setting settings[] = {
	[SETTING_LIVE] = {
		"clocktiming.live",
		gettext_noop("Shows the plans of running statements in clock_running."),
		gettext_noop("It has no effect unless clocktiming is in shared_preload_libraries."),
		.context = PGC_SUSET
	},
	[SETTING_LIVE_AFTER] = {
		"clocktiming.live_after",
		gettext_noop("Duration after which a running statement is shown in clock_running."),
		gettext_noop("Statements that are expected to take longer are shown from their start, unless counting their rows adds more than clocktiming.max_overhead."),
		.context = PGC_SUSET, .flags = GUC_UNIT_MS, .boot = 1000, .most = 3600000
	},
	[SETTING_LIVE_INTERVAL] = {
		"clocktiming.live_interval",
		"For tests: shortest time between two publications of a statement.",
		.context = PGC_SUSET, .flags = GUC_UNIT_MS | INTERNAL, .boot = 50, .least = 1, .most = 10000
	},
	[SETTING_LIVE_LATE_ONLY] = {
		"clocktiming.live_late_only",
		"For tests: publishes no statement from its start.",
		.context = PGC_SUSET, .flags = INTERNAL
	},
	[SETTING_MAX_OVERHEAD] = {
		"clocktiming.max_overhead",
		gettext_noop("Maximum overhead of the statistics of plans, in percent of the elapsed time."),
		gettext_noop("If timing every execution would add more, a random sample is timed. If counting a statement's rows would add more, clock_running does not show it from its start."),
		.context = PGC_SUSET, .boot = 1, .least = 0.01, .most = 100
	},
	[SETTING_PROGRESS_INTERVAL] = {
		"clocktiming.progress_interval",
		gettext_noop("Time between two progress reports of a long run."),
		gettext_noop("0 turns progress reports off."),
		.context = PGC_USERSET, .flags = GUC_UNIT_MS, .boot = 15000, .most = PG_INT32_MAX
	},
	[SETTING_SAMPLED_COUNTING] = {
		"clocktiming.sampled_counting",
		"For tests: lets clocktiming count the rows of plan nodes where row counts are requested.",
		.context = PGC_USERSET, .flags = INTERNAL
	},
	[SETTING_SAMPLED_TIMING] = {
		"clocktiming.sampled_timing",
		gettext_noop("Estimates the times of plan nodes by sampling where timers are requested."),
		gettext_noop("With \"auto_explain\", the server times EXPLAIN statements itself, without sampling."),
		.context = PGC_USERSET
	},
	[SETTING_SAMPLER_OFF] = {
		"clocktiming.sampler_off",
		"For tests: lets each process sample itself, as without a free background worker.",
		.context = PGC_USERSET, .flags = INTERNAL
	},
	[SETTING_SHOW_MARGINS] = {
		"clocktiming.show_margins",
		gettext_noop("Prints the margins of sampled times in the output of EXPLAIN."),
		.context = PGC_USERSET
	},
	[SETTING_TRACK] = {
		"clocktiming.track",
		gettext_noop("Collects statistics of plans and their nodes from all long executions and a random sample of the others."),
		gettext_noop("It has no effect unless clocktiming is in shared_preload_libraries."),
		.context = PGC_SUSET
	},
	[SETTING_TRACK_EVERYTHING] = {
		"clocktiming.track_everything",
		"For tests: times every execution, regardless of the overhead.",
		.context = PGC_SUSET, .flags = INTERNAL
	},

	/*
	 * A plan needs 8 kB, so the default needs 8 MB, and the limits 0.8 and
	 * 410 MB.
	 */
	[SETTING_TRACK_MAX] = {
		"clocktiming.track_max",
		gettext_noop("Maximum number of plans with statistics."),
		gettext_noop("If there are more plans, those with the least total time are evicted."),
		.context = PGC_POSTMASTER, .boot = 1000, .least = 100, .most = 50000
	},
	[SETTING_WATCH] = {
		"clocktiming.watch",
		gettext_noop("Monitors the server's clock continuously, and keeps a history."),
		gettext_noop("A background worker does this."),
		.context = PGC_POSTMASTER
	},

	/* A row of the history is a minute. */
	[SETTING_WATCH_INTERVAL] = {
		"clocktiming.watch_interval",
		gettext_noop("Time between two evaluations of the monitored clock."),
		.context = PGC_SIGHUP, .flags = GUC_UNIT_MS, .boot = 10000, .least = 100, .most = 60000
	},
	[SETTING_WORKER_OBSERVATION] = {
		"clocktiming.worker_observation",
		"Tells parallel workers that their plan nodes are observed.",
		"Set by clocktiming itself while a query is executed.",
		.context = PGC_SUSET, .flags = INTERNAL | GUC_DISALLOW_IN_FILE
	}
};

static GucContext
context_of(const Setting *s)
{
	return s->context == PGC_POSTMASTER ? PGC_AT_START : s->context;
}

void
setting_define_bool(SettingId id, bool *variable, GucBoolCheckHook check, GucBoolAssignHook assign)
{
	const Setting *s = &settings[id];

	DefineCustomBoolVariable(s->name, s->description, s->detail, variable, false,
							 context_of(s), s->flags, check, assign, NULL);
}

void
setting_define_int(SettingId id, int *variable, GucIntAssignHook assign)
{
	const Setting *s = &settings[id];

	DefineCustomIntVariable(s->name, s->description, s->detail, variable, (int) s->boot,
							(int) s->least, (int) s->most, context_of(s), s->flags,
							NULL, assign, NULL);
}

void
setting_define_real(SettingId id, double *variable)
{
	const Setting *s = &settings[id];

	DefineCustomRealVariable(s->name, s->description, s->detail, variable, s->boot,
							 s->least, s->most, context_of(s), s->flags, NULL, NULL, NULL);
}

void
setting_define_string(SettingId id, char **variable, GucStringAssignHook assign)
{
	const Setting *s = &settings[id];

	DefineCustomStringVariable(s->name, s->description, s->detail, variable, "",
							   context_of(s), s->flags, NULL, assign, NULL);
}

/* The default is 0. */
void
setting_define_enum(SettingId id, int *variable, const struct config_enum_entry *values,
					GucEnumAssignHook assign)
{
	const Setting *s = &settings[id];

	DefineCustomEnumVariable(s->name, s->description, s->detail, variable, 0, values,
							 context_of(s), s->flags, NULL, assign, NULL);
}
