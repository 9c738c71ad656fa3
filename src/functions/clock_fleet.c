/*-------------------------------------------------------------------------
 *
 * clock_fleet.c
 *	  Many servers: what is behind the view clock_fleet, and clock_outlier_limits().
 *
 * A server of the fleet is one whose foreign table is a child of
 * clock_remote_history.  Nothing else is stored, so that a dump has all of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "clock/subtransaction.h"
#include "compat.h"
#include "core/outliers.h"
#include "functions/row.h"
#include "watch/fleet_read.h"
#include "watch/libpq_calls.h"

PG_FUNCTION_INFO_V1(clock_list_fleet);
PG_FUNCTION_INFO_V1(clock_outlier_limits);

/* From a connection's start to the answer, unless connect_timeout is set. */
#define TIMEOUT_S		5
#define MAX_TIMEOUT_S	3600

/* The first columns, which are not the server's to fill in. */
#define OWN_COLUMNS		4

/* One server, while it is prepared and while its row is made. */
typedef struct Member
{
	Oid			table;
	TupleDesc	tupdesc;
	const PQconninfoOption *known;
	FleetServer *server;
	Datum	   *values;
	bool	   *nulls;
} Member;

static const char *
option(List *options, const char *name, const char *otherwise)
{
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *def = lfirst(cell);

		if (strcmp(def->defname, name) == 0)
			return defGetString(def);
	}
	return otherwise;
}

/* Those that are libpq's; the others are postgres_fdw's own. */
static void
set_connection(FleetServer *server, const PQconninfoOption *known, List *options)
{
	int			n = 0;
	ListCell   *cell;

	server->keywords = palloc0(sizeof(char *) * (list_length(options) + 3));
	server->values = palloc0(sizeof(char *) * (list_length(options) + 3));
	server->keywords[n] = "fallback_application_name";
	server->values[n++] = "clocktiming";
	foreach(cell, options)
	{
		DefElem    *def = lfirst(cell);

		for (const PQconninfoOption *o = known; o->keyword != NULL; o++)
		{
			if (strcmp(o->keyword, def->defname) != 0)
				continue;
			server->keywords[n] = def->defname;
			server->values[n++] = defGetString(def);
		}
	}
	server->keywords[n] = "client_encoding";
	server->values[n] = GetDatabaseEncodingName();
}

/* Who is no superuser must have a password: the rule of postgres_fdw. */
static void
check_password(FleetServer *server, const UserMapping *user)
{
	bool		required = true;

	(void) parse_bool(option(user->options, "password_required", "true"), &required);
	server->needs_password = required && !superuser_arg(user->userid);
	if (server->needs_password && option(user->options, "password", "")[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED),
				 errmsg("password is required: a user who is no superuser must have one in the user mapping")));
}

/* The state's values, by their names, as text; what else there may be is nothing to us. */
static char *
state_query(const char *schema, TupleDesc tupdesc)
{
	StringInfoData query;

	initStringInfo(&query);
	appendStringInfo(&query, "SELECT r.* FROM %s.clock_state() AS s, pg_catalog.jsonb_to_record(s) AS r(", quote_identifier(schema));
	for (int i = OWN_COLUMNS; i < tupdesc->natts; i++)
		appendStringInfo(&query, "%s%s text", i == OWN_COLUMNS ? "" : ", ", quote_identifier(NameStr(TupleDescAttr(tupdesc, i)->attname)));
	appendStringInfoChar(&query, ')');
	return query.data;
}

static void
prepare(void *arg)
{
	Member	   *member = arg;
	FleetServer *server = member->server;
	ForeignTable *table = GetForeignTable(member->table);
	ForeignServer *foreign = GetForeignServer(table->serverid);
	UserMapping *user;
	List	   *options;

	server->name = foreign->servername;
	if (strcmp(GetForeignDataWrapper(foreign->fdwid)->fdwname, "postgres_fdw") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("server \"%s\" is not one of postgres_fdw", server->name)));
	user = GetUserMapping(GetUserId(), foreign->serverid);
	check_password(server, user);
	options = list_concat(list_copy(foreign->options), user->options);
	set_connection(server, member->known, options);
	server->timeout_s = atoi(option(options, "connect_timeout", "0"));
	if (server->timeout_s <= 0)
		server->timeout_s = TIMEOUT_S;
	server->timeout_s = Min(server->timeout_s, MAX_TIMEOUT_S);
	server->query = state_query(option(table->options, "schema_name", "public"), member->tupdesc);
	server->columns = member->tupdesc->natts - OWN_COLUMNS;
}

/* What comes from elsewhere may be anything. */
static void
convert(void *arg)
{
	Member	   *member = arg;

	for (int i = 0; i < member->server->columns; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(member->tupdesc, OWN_COLUMNS + i);
		char	   *text = member->server->answer[i];
		Oid			input,
					parameter;

		if (text !=NULL)
			pg_verifymbstr(text, strlen(text), false);
		getTypeInputInfo(attribute->atttypid, &input, &parameter);
		member->nulls[i] = text == NULL;

		if (text !=NULL)
			member->values[i] = OidInputFunctionCall(input, text, parameter, attribute->atttypmod);
	}
}

static void
put_member(FunctionCallInfo fcinfo, Member *member)
{
	FleetServer *server = member->server;
	Row			row = row_of_set(fcinfo);
	int			n = member->tupdesc->natts - OWN_COLUMNS;

	member->values = palloc0(sizeof(Datum) * n);
	member->nulls = palloc0(sizeof(bool) * n);
	if (server->error == NULL)
	{
		char	   *error = subtransaction_attempt(convert, member);

		if (error != NULL)
			server->error = psprintf("unexpected answer: %s", error);
	}
	row_put_text(&row, server->name);
	row_put(&row, ObjectIdGetDatum(member->table));
	row_put_text(&row, server->error);
	if (server->took_ms > 0)
		row_put(&row, Float8GetDatum(rint(server->took_ms * 10) / 10));
	else
		row_put_null(&row);
	for (int i = 0; i < n; i++)
	{
		if (server->error != NULL || member->nulls[i])
			row_put_null(&row);
		else
			row_put(&row, member->values[i]);
	}
	row_to_set(&row, fcinfo);
}

Datum
clock_list_fleet(PG_FUNCTION_ARGS)
{
	Oid			parent = get_relname_relid("clock_remote_history", get_func_namespace(fcinfo->flinfo->fn_oid));
	PQconninfoOption *known;
	List	   *tables;
	ListCell   *cell;
	Member	   *members;
	FleetServer *servers;
	int			n = 0;

	InitMaterializedSRF(fcinfo, 0);
	tables = OidIsValid(parent) ? find_inheritance_children(parent, AccessShareLock) : NIL;
	if (tables == NIL)
		return (Datum) 0;

	members = palloc0(sizeof(Member) * list_length(tables));
	servers = palloc0(sizeof(FleetServer) * list_length(tables));
	known = libpq_calls()->conndefaults();
	if (known == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	foreach(cell, tables)
	{
		Member	   *member = &members[n];

		if (get_rel_relkind(lfirst_oid(cell)) != RELKIND_FOREIGN_TABLE)
			continue;
		member->table = lfirst_oid(cell);
		member->tupdesc = ((ReturnSetInfo *) fcinfo->resultinfo)->setDesc;
		member->known = known;
		member->server = &servers[n++];
		member->server->error = subtransaction_attempt(prepare, member);
	}
	libpq_calls()->conninfoFree(known);
	fleet_read(servers, n);
	for (int i = 0; i < n; i++)
		put_member(fcinfo, &members[i]);
	return (Datum) 0;
}

/* The numbers of an array, without nulls and what is not finite. */
static double *
finite_numbers(ArrayType *array, int *n)
{
	Datum	   *elements;
	bool	   *nulls;
	double	   *x;
	int			count;

	deconstruct_array(array, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &elements, &nulls, &count);
	x = palloc(sizeof(double) * Max(count, 1));
	*n = 0;
	for (int i = 0; i < count; i++)
	{
		if (!nulls[i] && isfinite(DatumGetFloat8(elements[i])))
			x[(*n)++] = DatumGetFloat8(elements[i]);
	}
	return x;
}

static void
put_limit(Row *row, double value)
{
	if (isnan(value))
		row_put_null(row);
	else
		row_put(row, Float8GetDatum(value));
}

Datum
clock_outlier_limits(PG_FUNCTION_ARGS)
{
	double		confidence = PG_ARGISNULL(1) ? NAN : DatumGetFloat8(DirectFunctionCall1(numeric_float8, PG_GETARG_DATUM(1)));
	double		tolerance = PG_ARGISNULL(2) ? 0 : PG_GETARG_FLOAT8(2);
	OutlierLimits limits = {NAN, NAN, NAN};
	Row			row = row_of_result(fcinfo);
	int			n = 0;

	if (!(confidence >= 50 && confidence < 100))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("confidence must be at least 50 and below 100 percent")));
	if (!(tolerance >= 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("tolerance must not be negative")));
	if (!PG_ARGISNULL(0))
	{
		double	   *x = finite_numbers(PG_GETARG_ARRAYTYPE_P(0), &n);
		int			comparisons = PG_ARGISNULL(3) ? n : PG_GETARG_INT32(3);

		if (comparisons < n)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("comparisons must not be fewer than the figures")));
		if (comparisons > 0)
			limits = outlier_limits(x, n, (1 - confidence / 100) / comparisons, tolerance);
	}
	put_limit(&row, limits.median);
	put_limit(&row, limits.low);
	put_limit(&row, limits.high);
	return row_result(&row);
}
