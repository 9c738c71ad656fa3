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
#if PG_VERSION_NUM >= 190000
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

#if PG_VERSION_NUM >= 190000
#define QUERY_INSTR(desc)	((desc)->query_instr)
#define QUERY_INSTR_NS(instr) SERVER_TIME_NS((instr)->total)
#define ALLOC_QUERY_INSTR()	InstrAlloc(INSTRUMENT_TIMER)
#else
#define QUERY_INSTR(desc)	((desc)->totaltime)
#define QUERY_INSTR_NS(instr) \
	(((instr)->total + INSTR_TIME_GET_DOUBLE((instr)->counter)) * 1e9)
#define ALLOC_QUERY_INSTR()	InstrAlloc(1, INSTRUMENT_TIMER, false)
#endif

double
instr_query_ns(const QueryDesc *desc)
{
	const Instrumentation *instr = QUERY_INSTR(desc);

	return instr == NULL || !instr->need_timer ? NAN : QUERY_INSTR_NS(instr);
}

bool
instr_time_query(QueryDesc *desc)
{
	MemoryContext old;

	if (QUERY_INSTR(desc) != NULL)
	{
		QUERY_INSTR(desc)->need_timer = true;
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
