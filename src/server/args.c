/* Checks arguments of SQL functions.  Comparisons such as !(x >= 0) reject NaN, too. */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/numeric.h"
#include "utils/varlena.h"

#include "compat.h"
#include "server/args.h"

/* Range of durations of measurements, in s.  A longer duration is probably a typing error. */
#define MIN_DURATION_S	1e-6
#define MAX_DURATION_S	86400.0

void
check_not_null(FunctionCallInfo fcinfo, int argno, const char *name)
{
	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
}

char *
arg_text(FunctionCallInfo fcinfo, int argno, const char *name)
{
	check_not_null(fcinfo, argno, name);
	return text_to_cstring(PG_GETARG_TEXT_PP(argno));
}

int
arg_choice(FunctionCallInfo fcinfo, int argno, const char *name, const char *const *words, int n,
		   const char *hint)
{
	char	   *word = arg_text(fcinfo, argno, name);

	for (int i = 0; i < n; i++)
		if (pg_strcasecmp(word, words[i]) == 0)
			return i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown %s \"%s\"", name, word),
			 errhint("%s", _(hint))));
}

double
arg_double(FunctionCallInfo fcinfo, int argno, const char *name)
{
	check_not_null(fcinfo, argno, name);
	return PG_GETARG_FLOAT8(argno);
}

double
arg_duration(FunctionCallInfo fcinfo, int argno)
{
	double		duration_s = arg_double(fcinfo, argno, "duration");

	if (!(duration_s >= MIN_DURATION_S && duration_s <= MAX_DURATION_S))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("duration must be between 0.000001 and 86400 seconds"),
				 errdetail("The duration given is %g seconds.", duration_s),
				 errhint("A few seconds are enough for most purposes.")));
	return duration_s;
}

/* Converts a numeric.  Unlike numeric_float8(), raises no error on underflow to 0. */
static double
numeric_to_double(Datum numeric)
{
	return strtod(DatumGetCString(DirectFunctionCall1(numeric_out, numeric)), NULL);
}

/* Returns the percentage as text with at least one decimal, but without further trailing zeros. */
static char *
percent_text(Datum confidence)
{
	char	   *percent = DatumGetCString(DirectFunctionCall1(numeric_out, confidence));
	char	   *point = strchr(percent, '.');
	char	   *end = percent + strlen(percent);

	if (point == NULL)
		return psprintf("%s.0", percent);
	while (end > point + 2 && end[-1] == '0')
		*--end = '\0';
	return percent;
}

/*
 * Rejects values below 50, because 0.95 is probably meant as 95 percent.  Subtracts from 100 as a
 * numeric, so that a confidence such as 99.9999999999999999 is not rounded to 100.
 */
ConfidenceLevel
arg_confidence(FunctionCallInfo fcinfo, int argno)
{
	bool		isnull = PG_ARGISNULL(argno);
	Datum		confidence = PG_GETARG_DATUM(argno);
	Datum		hundred = NumericGetDatum(int64_to_numeric(100));
	ConfidenceLevel level = {0};

	/* subtract from 100 as a numeric, because a double would lose digits */
	if (!isnull && !numeric_is_nan(DatumGetNumeric(confidence)) &&
		!numeric_is_inf(DatumGetNumeric(confidence)))
	{
		level.inside = numeric_to_double(confidence) / 100;
		level.outside = numeric_to_double(DirectFunctionCall2(numeric_sub, hundred, confidence)) /
			100;
	}
	/* a value below 50 is probably meant as a fraction */
	if (!(level.inside >= 0.5 && level.outside > 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("confidence must be at least 50 and below 100 percent"),
				 errdetail("The confidence given is %s.", isnull ? "null" :
						   DatumGetCString(DirectFunctionCall1(numeric_out, confidence))),
				 errhint("95, the default, is customary.")));
	level.percent = percent_text(confidence);
	return level;
}

/*
 * Returns the value of shared_preload_libraries with clocktiming added, in the form that ALTER
 * SYSTEM accepts: each library is a literal of its own.
 */
static const char *
libraries_to_set(void)
{
	char	   *others = pstrdup(shared_preload_libraries_string == NULL ? "" :
								 shared_preload_libraries_string);
	List	   *names = NIL;
	ListCell   *cell;
	StringInfoData list;

	initStringInfo(&list);
	if (!SplitDirectoriesString(others, ',', &names))
		names = NIL;
	foreach(cell, names)
		appendStringInfo(&list, "%s, ", quote_literal_cstr(lfirst(cell)));
	appendStringInfoString(&list, "'clocktiming'");
	return list.data;
}

Oid
seen_user(void)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ? InvalidOid : GetUserId();
}

void
require_preloaded(bool ready)
{
	if (ready)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("clocktiming must be loaded via shared_preload_libraries"),
			 errhint("Execute ALTER SYSTEM SET shared_preload_libraries = %s, and restart the server.", libraries_to_set())));
}

void
notice_setting_is_off(const char *setting)
{
	static const char *latest;
	static TimestampTz latest_at;
	TimestampTz statement_at = GetCurrentStatementStartTimestamp();

	/* once per statement, which may read several views */
	if (latest != NULL && strcmp(latest, setting) == 0 && latest_at == statement_at)
		return;
	latest = setting;
	latest_at = statement_at;
	ereport(NOTICE,
			(errmsg("nothing is recorded, because %s is off", setting),
			 errhint("Execute ALTER SYSTEM SET %s = on, and SELECT pg_reload_conf().", setting)));
}

void
warn_unless_preloaded(const char *setting, bool ready, GucSource source)
{
	if (!ready && source >= PGC_S_INTERACTIVE && !InitializingParallelWorker)
		ereport(WARNING,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s has no effect", setting),
				 errdetail("The server was started without clocktiming in shared_preload_libraries."),
				 errhint("Execute ALTER SYSTEM SET shared_preload_libraries = %s, and restart the server.", libraries_to_set())));
}
