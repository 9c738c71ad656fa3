/*
 * The server's Instrumentation.  PostgreSQL 19 divides the structure into a common part and one for
 * plan nodes, and stores times as ticks of its clock instead of seconds.  This file and its header
 * hide the difference.
 */
#include "postgres.h"

#include <math.h>

#include "compat.h"
#include "plan/explain/server_instr.h"

#if PG_VERSION_NUM >= 190000
typedef instr_time ServerTime;

#define SERVER_TIME_NS(t) (INSTR_TIME_GET_DOUBLE(t) * 1e9)

static ServerTime
server_time(double ns)
{
	instr_time	unit;

	unit.ticks = INT64CONST(1) << 40;
	unit.ticks = (int64) (ns / 1e9 / INSTR_TIME_GET_DOUBLE(unit) * (double) unit.ticks);
	return unit;
}
#else
typedef double ServerTime;

#define SERVER_TIME_NS(t) ((t) * 1e9)

static ServerTime
server_time(double ns)
{
	return ns / 1e9;
}
#endif

static ServerCounts
counts_of(const NodeInstr *instr)
{
	return (ServerCounts)
	{
		.rows = instr->ntuples,
			.loops = instr->nloops,
			.first_ns = SERVER_TIME_NS(instr->startup),
			.total_ns = SERVER_TIME_NS(INSTR_COMMON(instr)->total)
	};
}

ServerCounts
instr_end(NodeInstr *instr)
{
	InstrEndLoop(instr);
	return counts_of(instr);
}

ServerCounts
instr_so_far(const NodeInstr *instr)
{
	NodeInstr	copy = *instr;

	instr_set_timer(&copy, false);
	return instr_end(&copy);
}

double
instr_call_ns(const NodeInstr *instr)
{
	instr_time	now;

	if (INSTR_TIME_IS_ZERO(INSTR_COMMON(instr)->starttime))
		return 0;
	INSTR_TIME_SET_CURRENT_FAST(now);
	INSTR_TIME_SUBTRACT(now, INSTR_COMMON(instr)->starttime);
	return INSTR_TIME_GET_DOUBLE(now) * 1e9;
}

ServerCounts
instr_of_worker(const PlanState *node, int worker)
{
	return counts_of(&node->worker_instrument->instrument[worker]);
}

NodeInstr *
instr_alloc(bool async)
{
#if SERVER_HAS_INSTR_STACK
	NodeInstr  *instr = palloc0(sizeof(NodeInstr));

	InstrInitNode(instr, INSTRUMENT_ROWS);
	instr->async_mode = async;
	return instr;
#elif PG_VERSION_NUM >= 190000
	return InstrAllocNode(INSTRUMENT_ROWS, async);
#else
	return InstrAlloc(1, INSTRUMENT_ROWS, async);
#endif
}

void
instr_show(NodeInstr *instr, double first_ns, double total_ns)
{
	/* EXPLAIN prints startup..total, so startup must not exceed total */
	total_ns = Max(total_ns, 0);
	instr->startup = server_time(Min(Max(first_ns, 0), total_ns));
	INSTR_COMMON(instr)->total = server_time(total_ns);
}

void
instr_common_set_timer(Instrumentation *instr, bool need)
{
	instr->need_timer = need;
	/* if a call is being timed, discards its start */
	INSTR_TIME_SET_ZERO(instr->starttime);
}

#if SERVER_HAS_INSTR_STACK
int
instr_options(const EState *estate)
{
	return estate->es_instrument == NULL ? 0 : estate->es_instrument->instrument_options;
}

void
instr_set_options(EState *estate, int options)
{
	if (estate->es_instrument == NULL)
	{
		estate->es_instrument = MemoryContextAllocZero(estate->es_query_cxt,
													   sizeof(QueryInstrumentation));
		estate->es_instrument->instr_cxt = estate->es_query_cxt;
	}
	estate->es_instrument->instrument_options = options;
}
#else
int
instr_options(const EState *estate)
{
	return estate->es_instrument;
}

void
instr_set_options(EState *estate, int options)
{
	estate->es_instrument = options;
}
#endif

#if SERVER_HAS_INSTR_STACK
typedef QueryInstrumentation QueryInstr;

#define QUERY_INSTR(desc)	((desc)->query_instr)
#define QUERY_INSTR_NS(query) SERVER_TIME_NS((query)->instr.total)
#define QUERY_TIMER(query)	((query)->instr.need_timer)
#define ALLOC_QUERY_INSTR()	InstrQueryAlloc(INSTRUMENT_TIMER)
#elif PG_VERSION_NUM >= 190000
typedef Instrumentation QueryInstr;

#define QUERY_INSTR(desc)	((desc)->query_instr)
#define QUERY_INSTR_NS(instr) SERVER_TIME_NS((instr)->total)
#define QUERY_TIMER(instr)	((instr)->need_timer)
#define ALLOC_QUERY_INSTR()	InstrAlloc(INSTRUMENT_TIMER)
#else
typedef Instrumentation QueryInstr;

#define QUERY_INSTR(desc)	((desc)->totaltime)
#define QUERY_INSTR_NS(instr) \
	(((instr)->total + INSTR_TIME_GET_DOUBLE((instr)->counter)) * 1e9)
#define QUERY_TIMER(instr)	((instr)->need_timer)
#define ALLOC_QUERY_INSTR()	InstrAlloc(1, INSTRUMENT_TIMER, false)
#endif

double
instr_query_ns(const QueryDesc *desc)
{
	const QueryInstr *instr = QUERY_INSTR(desc);

	return instr == NULL || !QUERY_TIMER(instr) ? NAN : QUERY_INSTR_NS(instr);
}

bool
instr_time_query(QueryDesc *desc)
{
	MemoryContext old;

	if (QUERY_INSTR(desc) != NULL)
	{
		QUERY_TIMER(QUERY_INSTR(desc)) = true;
		return false;
	}
	old = MemoryContextSwitchTo(desc->estate->es_query_cxt);
	QUERY_INSTR(desc) = ALLOC_QUERY_INSTR();
	MemoryContextSwitchTo(old);
	return true;
}

void
instr_forget_query(QueryDesc *desc)
{
	QUERY_INSTR(desc) = NULL;
}
