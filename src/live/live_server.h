/*
 * Publishes executions whose nodes the server counts and times, as those of EXPLAIN ANALYZE and
 * auto_explain.
 */
#ifndef CLOCKTIMING_LIVE_SERVER_H
#define CLOCKTIMING_LIVE_SERVER_H

#include "datatype/timestamp.h"
#include "executor/execdesc.h"

typedef struct ServerExecution ServerExecution;

/* Publishes the plan of an execution; returns NULL if no slot is free. */
extern ServerExecution *server_begin(const QueryDesc *desc, int level, TimestampTz started_at);

/* Returns the execution that is published, or NULL. */
extern ServerExecution *server_find(const QueryDesc *desc);

/*
 * Publishes the counters unless they were published just now ("always": even then).  May be called
 * by a signal handler during ExecutorRun().
 */
extern void server_publish(ServerExecution *server, bool always);

#endif							/* CLOCKTIMING_LIVE_SERVER_H */
