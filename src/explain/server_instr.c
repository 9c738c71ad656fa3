/* The server's instrumentation of plan nodes and triggers. */
#include "postgres.h"

#include "compat.h"
#include "explain/server_instr.h"

#if PG_VERSION_NUM >= 190000
typedef instr_time ServerTime;

#define COMMON(i) (&(i)->instr)
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

#define COMMON(i) (i)
#define SERVER_TIME_NS(t) ((t) * 1e9)

static ServerTime
server_time(double ns)
{
	return ns / 1e9;
}
#endif

static NodeRecord
counts_of(const NodeInstr *instr)
{
	return (NodeRecord)
	{
		.rows = instr->ntuples,
			.loops = instr->nloops,
			.first_ns = SERVER_TIME_NS(instr->startup),
			.total_ns = SERVER_TIME_NS(COMMON(instr)->total),
			.removed = {instr->nfiltered1, instr->nfiltered2}
	};
}

NodeRecord
instr_end(NodeInstr *instr)
{
	InstrEndLoop(instr);
	return counts_of(instr);
}

NodeRecord
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

	if (INSTR_TIME_IS_ZERO(COMMON(instr)->starttime))
		return 0;
	INSTR_TIME_SET_CURRENT_FAST(now);
	INSTR_TIME_SUBTRACT(now, COMMON(instr)->starttime);
	return INSTR_TIME_GET_DOUBLE(now) * 1e9;
}

double
instr_call_start(const NodeInstr *instr)
{
	return INSTR_TIME_GET_DOUBLE(COMMON(instr)->starttime);
}

int
instr_nworkers(const PlanState *node)
{
	return node->worker_instrument == NULL ? 0 : node->worker_instrument->num_workers;
}

bool
instr_of_worker(const PlanState *node, int worker, NodeRecord *counts)
{
	if (worker >= instr_nworkers(node))
		return false;
	*counts = counts_of(&node->worker_instrument->instrument[worker]);
	return true;
}

double
instr_own_rows(const NodeInstr *instr)
{
	return instr->ntuples + instr->tuplecount;
}

bool
instr_take_off_call(NodeInstr *instr, double *ns)
{
	bool		tuple = instr->tuplecount != 0;

	*ns = INSTR_TIME_GET_DOUBLE(instr->counter) * 1e9;
	instr->tuplecount = 0;
	return tuple;
}

void
instr_show(NodeInstr *instr, double rows, double loops, double first_ns, double total_ns)
{
	/* EXPLAIN prints a range, whose end must not be before its beginning */
	total_ns = Max(total_ns, 0);
	instr->ntuples = rows;
	instr->nloops = loops;
	instr->startup = server_time(Min(Max(first_ns, 0), total_ns));
	COMMON(instr)->total = server_time(total_ns);
}

void
instr_add_counts(NodeInstr *instr, double rows, double loops)
{
	instr->ntuples += rows;
	instr->nloops += loops;
	instr->startup = COMMON(instr)->total = server_time(0);
}

void
instr_add_removed(NodeInstr *instr, const double removed[2])
{
	instr->nfiltered1 += removed[0];
	instr->nfiltered2 += removed[1];
}

void
instr_forget_removed(NodeInstr *instr)
{
	instr->nfiltered1 = instr->nfiltered2 = 0;
}

void
instr_set_timer(NodeInstr *instr, bool need)
{
	COMMON(instr)->need_timer = need;
	/* a call that is being timed is not counted as timed */
	INSTR_TIME_SET_ZERO(COMMON(instr)->starttime);
}

bool
instr_has_timer(const NodeInstr *instr)
{
	return COMMON(instr)->need_timer;
}

bool
instr_is_timing(const NodeInstr *instr)
{
	return !INSTR_TIME_IS_ZERO(COMMON(instr)->starttime);
}

bool
instr_needs_usage(const NodeInstr *instr)
{
	return COMMON(instr)->need_bufusage || COMMON(instr)->need_walusage;
}

void
instr_set_wal_records(NodeInstr *instr, int64 records)
{
	COMMON(instr)->walusage.wal_records = records;
}

void
trigger_set_timer(TriggerInstr *instr, bool need)
{
	COMMON(instr)->need_timer = need;
	/* a call that is being timed is not counted as timed */
	INSTR_TIME_SET_ZERO(COMMON(instr)->starttime);
}

void
trigger_show(TriggerInstr *instr, double total_ns)
{
	COMMON(instr)->total = server_time(Max(total_ns, 0));
}
