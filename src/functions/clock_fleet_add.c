/*-------------------------------------------------------------------------
 *
 * clock_fleet_add.c
 *	  A server more in the fleet: what postgres_fdw needs to know of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "functions/args.h"

PG_FUNCTION_INFO_V1(clock_fleet_add);

/* So much is left for the server's name. */
#define MAX_NAME	(NAMEDATALEN - 1 - (int) strlen("clock_remote_history_"))

/* Options of the user mapping; all others, but for "schema", are the server's. */
static const char *const mapping_options[] = {"user", "password", "password_required", "sslcert", "sslkey", "sslpassword"};

/* The lists of OPTIONS (...), and where the server has clocktiming. */
typedef struct Options
{
	StringInfoData server;
	StringInfoData mapping;
	const char *schema;
} Options;

static void
add_option(StringInfo list, const char *name, const char *value)
{
	appendStringInfo(list, "%s%s %s", list->len > 0 ? ", " : "", quote_identifier(name), quote_literal_cstr(value));
}

/*
 * An error is raised without its context, which would have the statement, and so the
 * password, for whoever reads the log.
 */
static void
execute(const char *statement)
{
	MemoryContext context = CurrentMemoryContext;
	int			status = 0;

	PG_TRY();
	{
		status = SPI_execute(statement, false, 0);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		error->context = error->internalquery = NULL;
		error->internalpos = 0;
		ReThrowError(error);
	}
	PG_END_TRY();
	if (status < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(status));
}

static void
sort_options(Options *options, Datum given)
{
	Oid			type = JSONBOID;

	initStringInfo(&options->server);
	initStringInfo(&options->mapping);
	if (SPI_execute_with_args("SELECT key, value FROM pg_catalog.jsonb_each_text($1)",
							  1, &type, &given, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read options");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		char	   *name = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);
		char	   *value = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2);
		bool		mapping = false;

		if (value == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("option \"%s\" must not be null", name)));
		for (size_t j = 0; j < lengthof(mapping_options); j++)
			mapping = mapping || strcmp(name, mapping_options[j]) == 0;
		if (strcmp(name, "schema") == 0)
			options->schema = value;
		else
			add_option(mapping ? &options->mapping : &options->server, name, value);
	}
}

static const char *
in_parentheses(const StringInfoData *list)
{
	return list->len > 0 ? psprintf(" OPTIONS (%s)", list->data) : "";
}

/* A foreign table of the server's view clock_WHAT, which clock_remote_WHAT then has. */
static void
add_table(const char *schema, const char *what, const char *name, const char *remote_schema)
{
	execute(psprintf("CREATE FOREIGN TABLE %s () INHERITS (%s) SERVER %s"
					 " OPTIONS (schema_name %s, table_name 'clock_%s', async_capable 'true', fetch_size '1000', updatable 'false')",
					 quote_qualified_identifier(schema, psprintf("clock_remote_%s_%s", what, name)),
					 quote_qualified_identifier(schema, psprintf("clock_remote_%s", what)),
					 quote_identifier(name), quote_literal_cstr(remote_schema), what));
}

Datum
clock_fleet_add(PG_FUNCTION_ARGS)
{
	char	   *name = arg_text(fcinfo, 0, "name");
	char	   *schema = get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid));
	Options		options = {.schema = "public"};

	check_not_null(fcinfo, 2, "role");
	if (name[0] == '\0' || strlen(name) > MAX_NAME)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("the name of a server must have between 1 and %d bytes", MAX_NAME)));
	if (GetForeignDataWrapperByName("postgres_fdw", true) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension postgres_fdw is not installed in this database"),
				 errhint("Other servers are reached by it: CREATE EXTENSION postgres_fdw.")));

	SPI_connect();
	if (!PG_ARGISNULL(1))
	{
		sort_options(&options, PG_GETARG_DATUM(1));
		execute(psprintf("CREATE SERVER %s FOREIGN DATA WRAPPER postgres_fdw%s", quote_identifier(name), in_parentheses(&options.server)));
		execute(psprintf("CREATE USER MAPPING FOR %s SERVER %s%s", quote_identifier(NameStr(*PG_GETARG_NAME(2))),
						 quote_identifier(name), in_parentheses(&options.mapping)));
	}
	add_table(schema, "history", name, options.schema);
	add_table(schema, "events", name, options.schema);
	SPI_finish();
	PG_RETURN_VOID();
}
