/*-------------------------------------------------------------------------
 *
 * fleet_read.h
 *	  One row from each of many servers, which are asked all at once.
 *
 * By libpq's asynchronous calls: a server that is down or does not answer costs the
 * others nothing.  postgres_fdw, whose options these are, could not do it: it
 * connects to one server after the other, waits for each, and its first error ends
 * the query.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_FLEET_READ_H
#define CLOCKTIMING_FLEET_READ_H

typedef struct FleetServer
{
	/* to be given; keywords and values of a connection end with a NULL */
	const char *name;
	const char **keywords;
	const char **values;
	const char *query;			/* one row, as text */
	int			columns;
	int			timeout_s;		/* from the connection's start to the answer */
	bool		needs_password; /* which the server must have asked for */

	/*
	 * what has come; an error that is there at first stays, and the server is
	 * not asked
	 */
	char	   *error;			/* or NULL */
	char	  **answer;			/* values; NULL is null */
	double		took_ms;
} FleetServer;

/* Can be cancelled; fails only where this machine has no sockets left at all. */
extern void fleet_read(FleetServer *servers, int n);

#endif							/* CLOCKTIMING_FLEET_READ_H */
