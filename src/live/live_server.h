/* Publishes executions that the server instruments, as for EXPLAIN ANALYZE. */
#ifndef CLOCKTIMING_LIVE_SERVER_H
#define CLOCKTIMING_LIVE_SERVER_H

#include "datatype/timestamp.h"
#include "executor/execdesc.h"

typedef struct ServerExecution ServerExecution;

/* Publishes the plan of an execution; returns NULL if no slot (live_memory.h) is free. */
extern ServerExecution *server_begin(const QueryDesc *desc, int level, TimestampTz started_at);

extern ServerExecution *server_find(const QueryDesc *desc);

/*
 * Publishes the counters, unless the previous publication was less than clocktiming.live_interval
 * ago and "always" is false.  A signal handler may call it during ExecutorRun().
 */
extern void server_publish(ServerExecution *server, bool always);

#endif							/* CLOCKTIMING_LIVE_SERVER_H */
