/*
 * Parses, checks and plans the text of a statement.
 *
 * The statement is planned as the server would plan it: with the same parameter types as by
 * PREPARE, with the plan that EXECUTE would use, or as the owner of a materialized view.  It is
 * executed repeatedly, so it must have no effect that a rollback does not undo; utility statements
 * other than those that only execute a query are rejected.  The planner may execute functions, for
 * example to simplify constants, so planning is guarded in the same way as an execution
 * (plan_guard.c).
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/createas.h"
#include "commands/prepare.h"
#include "commands/tablecmds.h"
#include "executor/executor.h"
#include "jit/jit.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "rewrite/prs2lock.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/rel.h"

#include "compat.h"
#include "plan/explain/plan_guard.h"
#include "plan/explain/plan_source.h"
#include "server/subtransaction.h"

typedef struct Planning
{
	PlanQuery  *query;
	ArrayType  *values;			/* values of parameters; NULL: none */
	bool		allow_writes;

	/* arguments of callbacks, such as read_parameters() */
	Oid		   *types;			/* types of the parameters */
	int			ntypes;
	const ExecuteStmt *execute;
	Query	   *view;			/* query of a materialized view */
} Planning;

static void
refuse_writes(const Planning *planning, const char *kind)
{
	if (!planning->allow_writes)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot measure a statement that modifies data: %s", kind),
				 errhint(ALLOW_WRITES_HINT)));
}

static void
refuse_params(const Planning *planning, const char *kind, const char *hint)
{
	if (planning->values != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("params cannot be given with %s", kind),
				 errhint("%s", hint)));
}

static void
refuse_no_data(const char *kind)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot measure %s WITH NO DATA", kind),
			 errdetail("Its query is not executed."),
			 errhint("Leave WITH NO DATA out.")));
}

/* Rejects statements that cannot be executed repeatedly without harm. */
static void
check_statement(const Planning *planning, RawStmt *raw)
{
	const char *kind = CreateCommandName(raw->stmt);

	switch (nodeTag(raw->stmt))
	{
		case T_SelectStmt:
		case T_DeclareCursorStmt:
		case T_ExecuteStmt:
		case T_RefreshMatViewStmt:
			return;
		case T_InsertStmt:
		case T_UpdateStmt:
		case T_DeleteStmt:
		case T_MergeStmt:
		case T_CreateTableAsStmt:
			refuse_writes(planning, kind);
			return;
		case T_ExplainStmt:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot measure EXPLAIN itself"),
					 errhint("Give the statement without EXPLAIN.")));
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot measure utility statements: %s", kind),
					 errhint("SELECT, VALUES, TABLE, WITH, EXECUTE, DECLARE CURSOR and REFRESH MATERIALIZED VIEW can be measured, and with allow_writes => true also INSERT, UPDATE, DELETE, MERGE, CREATE TABLE AS and CREATE MATERIALIZED VIEW.")));
	}
}

static void
param_error_callback(void *arg)
{
	errcontext("value of parameter $%d", *(int *) arg);
}

/*
 * Converts the values in "params" by the input functions of the parameters' types.  Passes nulls to
 * these functions, too, because a domain may reject them.
 */
static void
read_parameters(void *arg)
{
	Planning   *planning = arg;
	ParamListInfo params;
	int			number = 0;
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = param_error_callback,
		.arg = &number
	};
	Datum	   *elements;
	bool	   *nulls;
	int			n;

	deconstruct_array(planning->values, TEXTOID, -1, false, TYPALIGN_INT,
					  &elements, &nulls, &n);
	if (n != planning->ntypes)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("wrong number of values in params"),
				 errdetail("Expected %d values but got %d.", planning->ntypes, n),
				 planning->ntypes == 0 ? errhint("Leave params out.") :
				 errhint("Give one value for each parameter, in order, for example params => '{42,abc}'.")));

	params = makeParamList(n);
	error_context_stack = &callback;
	for (int i = 0; i < n; i++)
	{
		ParamExternData *param = &params->params[i];
		Oid			input;
		Oid			io_param;

		number = i + 1;
		param->ptype = planning->types[i];
		param->pflags = PARAM_FLAG_CONST;
		param->isnull = nulls[i];
		getTypeInputInfo(param->ptype, &input, &io_param);
		param->value = OidInputFunctionCall(input,
											nulls[i] ? NULL : TextDatumGetCString(elements[i]),
											io_param, -1);
	}
	error_context_stack = callback.previous;
	planning->query->params = params;
}

/* Analyzes the query.  Parameter types are inferred as by PREPARE; the default is text. */
static Query *
analyze(Planning *planning, RawStmt *raw)
{
	const char *text = planning->query->text;
	bool		known;
	Query	   *query;

	if (planning->values == NULL)
		return parse_analyze_fixedparams(raw, text, NULL, 0, NULL);
	do
	{
		known = true;
		query = parse_analyze_varparams(copyObject(raw), text, &planning->types, &planning->ntypes,
										NULL);
		for (int i = 0; i < planning->ntypes; i++)
		{
			if (planning->types[i] != InvalidOid && planning->types[i] != UNKNOWNOID)
				continue;
			planning->types[i] = TEXTOID;
			known = false;
		}
	} while (!known);
	/* rolled back, because types' input functions may write */
	subtransaction_undone(read_parameters, planning);
	return query;
}

static void
take_plan(const Planning *planning, PlannedStmt *plan)
{
	PlanQuery  *result = planning->query;
	bool		writes = plan->commandType != CMD_SELECT || plan->hasModifyingCTE ||
		plan->rowMarks != NIL;

	result->plan = plan;
	result->may_write = planning->allow_writes; /* a SELECT may call functions
												 * that write */
	result->parallel = plan->parallelModeNeeded;
	result->jit = (plan->jitFlags & PGJIT_PERFORM) != 0;
	if (writes && !planning->allow_writes)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot measure a statement that modifies or locks data"),
				 errhint(ALLOW_WRITES_HINT)));
}

/* Returns the only statement.  Raises an error for none, several or a utility statement. */
static void *
only_statement(List *statements)
{
	Node	   *only = list_length(statements) == 1 ? linitial(statements) : NULL;

	if (only == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot measure a statement that rules turn into %d statements",
						list_length(statements))));
	if (IsA(only, Query) ? ((Query *) only)->utilityStmt != NULL :
		((PlannedStmt *) only)->utilityStmt != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot measure utility statements: %s", CreateCommandName(only))));
	return only;
}

static void
plan_analyzed(const Planning *planning, Query *query, int cursor_options)
{
	bool		generic = plan_cache_mode == PLAN_CACHE_MODE_FORCE_GENERIC_PLAN;

	take_plan(planning, compat_plan_query(only_statement(pg_rewrite_query(query)),
										  planning->query->text, cursor_options,
										  generic ? NULL : planning->query->params));
}

/*
 * Evaluates EXECUTE's arguments, as the server's EvaluateParams() does, which is not exported.
 * Marks the values as constant, so that the planner may use them.
 */
static void
evaluate_arguments(void *arg)
{
	Planning   *planning = arg;
	List	   *arguments = planning->execute->params;
	ParseState *pstate;
	EState	   *estate;
	List	   *expressions = NIL;
	ParamListInfo params;
	ListCell   *cell;
	int			i = 0;

	pstate = make_parsestate(NULL);
	pstate->p_sourcetext = planning->query->text;
	foreach(cell, arguments)
	{
		Oid			type = planning->types[i++];
		Node	   *given = transformExpr(pstate, copyObject(lfirst(cell)),
										  EXPR_KIND_EXECUTE_PARAMETER);
		Node	   *expression = coerce_to_target_type(pstate, given, exprType(given), type, -1,
													   COERCION_ASSIGNMENT, COERCE_IMPLICIT_CAST,
													   -1);

		if (expression == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("parameter $%d of type %s cannot be coerced to the expected type %s",
							i, format_type_be(exprType(given)), format_type_be(type)),
					 errhint("You will need to rewrite or cast the expression."),
					 parser_errposition(pstate, exprLocation(lfirst(cell)))));
		assign_expr_collations(pstate, expression);
		expressions = lappend(expressions, expression);
	}
	free_parsestate(pstate);

	params = makeParamList(list_length(arguments));
	estate = CreateExecutorState();
	i = 0;
	foreach(cell, ExecPrepareExprList(expressions, estate))
	{
		ParamExternData *param = &params->params[i];
		int16		length;
		bool		by_value;

		param->ptype = planning->types[i++];
		param->pflags = PARAM_FLAG_CONST;
		param->value = ExecEvalExprSwitchContext(lfirst(cell), GetPerTupleExprContext(estate),
												 &param->isnull);
		get_typlenbyval(param->ptype, &length, &by_value);

		/* copied, because it is used after FreeExecutorState() */
		if (!param->isnull)
			param->value = length == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(param->value)) :
				datumCopy(param->value, by_value, length);
	}
	FreeExecutorState(estate);
	planning->query->params = params;
}

/* Evaluates EXECUTE's arguments, then looks the statement up again: they may have replaced it. */
static CachedPlanSource *
prepared_source(Planning *planning, const ExecuteStmt *execute)
{
	CachedPlanSource *source = FetchPreparedStatement(execute->name, true)->plansource;
	int			n = source->num_params;

	if (list_length(execute->params) != n)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("wrong number of parameters for prepared statement \"%s\"",
						execute->name),
				 errdetail("Expected %d parameters but got %d.", n, list_length(execute->params))));
	if (n == 0)
		return source;

	planning->execute = execute;
	planning->types = memcpy(palloc(sizeof(Oid) * n), source->param_types, sizeof(Oid) * n);
	subtransaction_undone(evaluate_arguments, planning);

	source = FetchPreparedStatement(execute->name, true)->plansource;
	if (source->num_params != n ||
		memcmp(planning->types, source->param_types, sizeof(Oid) * n) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the arguments of EXECUTE have changed prepared statement \"%s\"",
						execute->name)));
	return source;
}

/* Copies the plan that EXECUTE would use, because a function in the plan may call DEALLOCATE. */
static void
plan_prepared(Planning *planning, const ExecuteStmt *execute)
{
	CachedPlanSource *source = prepared_source(planning, execute);
	char	   *source_text = pstrdup(source->query_string);
	ErrorContextCallback callback = {
		.callback = error_in_text,
		.arg = source_text
	};
	CachedPlan *cached;

	if (!source->fixed_result)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot measure a prepared statement whose result columns may change")));
	planning->query->source_text = source_text;

	callback.previous = error_context_stack;
	error_context_stack = &callback;
	cached = GetCachedPlan(source, planning->query->params, CurrentResourceOwner, NULL);
	error_context_stack = callback.previous;
	take_plan(planning, copyObject(castNode(PlannedStmt, only_statement(cached->stmt_list))));
	ReleaseCachedPlan(cached, CurrentResourceOwner);
}

/*
 * Plans the query of CREATE TABLE AS or CREATE MATERIALIZED VIEW.  Makes the checks that the server
 * makes before it executes the query.
 */
static void
plan_create(Planning *planning, CreateTableAsStmt *create)
{
	const char *kind = CreateCommandName((Node *) create);
	Query	   *query = castNode(Query, create->query);

	refuse_writes(planning, kind);
	PreventCommandIfReadOnly(kind);
	if (create->into->skipData)
		refuse_no_data(kind);
	/* if the relation exists: returns true with IF NOT EXISTS, else fails */
	if (CreateTableAsRelExists(create))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("relation \"%s\" already exists", create->into->rel->relname),
				 errdetail("With IF NOT EXISTS, the statement does not execute its query.")));

	if (query->commandType == CMD_UTILITY)
	{
		plan_prepared(planning, castNode(ExecuteStmt, query->utilityStmt));
		if (planning->query->plan->commandType != CMD_SELECT)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("prepared statement is not a SELECT")));
	}
	else
		plan_analyzed(planning, query, CURSOR_OPT_PARALLEL_OK);
	planning->query->into = create->into;
}

static void
plan_view(void *arg)
{
	const Planning *planning = arg;

	AcquireRewriteLocks(planning->view, true, false);
	plan_analyzed(planning, planning->view, CURSOR_OPT_PARALLEL_OK);
}

/*
 * Plans a materialized view's query as the view's owner.  The query is also executed as the owner,
 * and its rows are discarded.  Only users who own the view may measure it, because the plan shows
 * row counts of tables that only the owner may read.
 */
static void
plan_refresh(Planning *planning, const RefreshMatViewStmt *refresh)
{
	Relation	relation;

	refuse_params(planning, "REFRESH MATERIALIZED VIEW", "Leave params out.");
	if (refresh->skipData)
		refuse_no_data("REFRESH MATERIALIZED VIEW");
	if (refresh->concurrent)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot measure REFRESH MATERIALIZED VIEW CONCURRENTLY"),
				 errdetail("Only the view's query can be measured, not the comparison of its rows with the view's rows."),
				 errhint("Leave CONCURRENTLY out.")));

	relation = table_open(RangeVarGetRelidExtended(refresh->relation, AccessShareLock, 0,
												   RangeVarCallbackOwnsRelation, NULL), NoLock);
	if (relation->rd_rel->relkind != RELKIND_MATVIEW)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("\"%s\" is not a materialized view", RelationGetRelationName(relation))));
	if (relation->rd_rules == NULL || relation->rd_rules->numLocks != 1 ||
		list_length(relation->rd_rules->rules[0]->actions) != 1)
		elog(ERROR, "materialized view \"%s\" has no single query", RelationGetRelationName(relation));
	planning->view = copyObject(linitial_node(Query, relation->rd_rules->rules[0]->actions));
	planning->query->role = relation->rd_rel->relowner;
	table_close(relation, NoLock);

	work_as_role(planning->query->role, plan_view, planning);
}

/* Plans the statement, under guarded_work(): the planner may execute functions that write. */
static void
plan_it(void *arg)
{
	Planning   *planning = arg;
	List	   *statements = pg_parse_query(planning->query->text);
	RawStmt    *raw;
	Query	   *query;
	Node	   *utility;

	if (list_length(statements) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 statements == NIL ? errmsg("there is no statement to measure") :
				 errmsg("cannot measure %d statements at once", list_length(statements)),
				 errhint("Give exactly one statement.")));
	raw = linitial_node(RawStmt, statements);
	check_statement(planning, raw);
	if (IsA(raw->stmt, ExecuteStmt))
	{
		refuse_params(planning, "EXECUTE", "Give the values in parentheses after the statement's name: EXECUTE name(42, 'abc').");
		plan_prepared(planning, castNode(ExecuteStmt, raw->stmt));
		return;
	}
	if (IsA(raw->stmt, RefreshMatViewStmt))
	{
		plan_refresh(planning, castNode(RefreshMatViewStmt, raw->stmt));
		return;
	}

	query = analyze(planning, raw);
	utility = query->utilityStmt;
	if (query->commandType != CMD_UTILITY)
		plan_analyzed(planning, query, CURSOR_OPT_PARALLEL_OK);
	else if (IsA(utility, DeclareCursorStmt))
		plan_analyzed(planning, castNode(Query, castNode(DeclareCursorStmt, utility)->query),
					  castNode(DeclareCursorStmt, utility)->options);
	else
		plan_create(planning, castNode(CreateTableAsStmt, utility));
}

PlanQuery *
plan_query(const char *text, ArrayType *params, bool allow_writes)
{
	PlanQuery  *query = palloc0(sizeof(PlanQuery));
	Planning	planning = {.query = query, .values = params, .allow_writes = allow_writes};

	query->text = query->source_text = text;

	guarded_work(text, allow_writes, false, InvalidOid, plan_it, &planning);
	return query;
}
