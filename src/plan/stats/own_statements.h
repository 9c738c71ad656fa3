/*
 * Recognizes statements of clocktiming itself, such as those of monitoring programs that read its
 * views.  They are no workload, so they are not in the statistics of plans.
 */
#ifndef CLOCKTIMING_OWN_STATEMENTS_H
#define CLOCKTIMING_OWN_STATEMENTS_H

#include "nodes/plannodes.h"

/*
 * Returns whether a statement calls a function of the extension, directly or through a view.  Reads
 * catalogs if the statement calls functions that are not the server's own.
 */
extern bool is_own_statement(const PlannedStmt *statement);

#endif							/* CLOCKTIMING_OWN_STATEMENTS_H */
