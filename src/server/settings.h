/*
 * The settings: names, descriptions, defaults, ranges and contexts are in a table of settings.c.
 * The module that a setting belongs to has its variable and its hooks, and defines it by these
 * functions.
 */
#ifndef CLOCKTIMING_SETTINGS_H
#define CLOCKTIMING_SETTINGS_H

#include "utils/guc.h"

typedef enum SettingId
{
	SETTING_LIVE,
	SETTING_LIVE_AFTER,
	SETTING_LIVE_INTERVAL,
	SETTING_LIVE_LATE_ONLY,
	SETTING_MAX_OVERHEAD,
	SETTING_PROGRESS_INTERVAL,
	SETTING_SAMPLED_COUNTING,
	SETTING_SAMPLED_TIMING,
	SETTING_SAMPLER_OFF,
	SETTING_SHOW_MARGINS,
	SETTING_TRACK,
	SETTING_TRACK_EVERYTHING,
	SETTING_TRACK_MAX,
	SETTING_WATCH,
	SETTING_WATCH_INTERVAL,
	SETTING_WORKER_OBSERVATION
} SettingId;

/* Hooks may be NULL.  Set the variable to the default. */
extern void setting_define_bool(SettingId id, bool *variable, GucBoolCheckHook check,
								GucBoolAssignHook assign);
extern void setting_define_int(SettingId id, int *variable, GucIntAssignHook assign);
extern void setting_define_real(SettingId id, double *variable);
extern void setting_define_string(SettingId id, char **variable, GucStringAssignHook assign);
extern void setting_define_enum(SettingId id, int *variable,
								const struct config_enum_entry *values, GucEnumAssignHook assign);

#endif							/* CLOCKTIMING_SETTINGS_H */
