/*-------------------------------------------------------------------------
 *
 * libpq_calls.h
 *	  The functions of libpq, which postgres_fdw has loaded.
 *
 * clocktiming is not linked with libpq: it is built where libpq's header is
 * missing, and only sessions that ask other servers have libpq loaded.  Types and
 * constants are those of libpq-fe.h, where they never change.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_LIBPQ_CALLS_H
#define CLOCKTIMING_LIBPQ_CALLS_H

typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;

#define CONNECTION_BAD			1
#define PGRES_POLLING_READING	1
#define PGRES_POLLING_WRITING	2
#define PGRES_POLLING_OK		3
#define PGRES_TUPLES_OK			2

/* An option of a connection, as PQconndefaults() lists them. */
typedef struct PQconninfoOption
{
	char	   *keyword;
	char	   *envvar;
	char	   *compiled;
	char	   *val;
	char	   *label;
	char	   *dispchar;
	int			dispsize;
} PQconninfoOption;

typedef void (*PQnoticeProcessor) (void *arg, const char *message);

typedef struct Libpq
{
	PGconn	   *(*connectStartParams) (const char *const *keywords, const char *const *values, int expand_dbname);
	int			(*connectPoll) (PGconn *conn);
	int			(*status) (const PGconn *conn);
	int			(*socket) (const PGconn *conn);
	char	   *(*errorMessage) (const PGconn *conn);
	int			(*connectionUsedPassword) (const PGconn *conn);
	PQnoticeProcessor (*setNoticeProcessor) (PGconn *conn, PQnoticeProcessor processor, void *arg);
	int			(*sendQuery) (PGconn *conn, const char *query);
	int			(*consumeInput) (PGconn *conn);
	int			(*isBusy) (PGconn *conn);
	PGresult   *(*getResult) (PGconn *conn);
	int			(*resultStatus) (const PGresult *result);
	char	   *(*resultErrorField) (const PGresult *result, int field);
	int			(*ntuples) (const PGresult *result);
	int			(*nfields) (const PGresult *result);
	int			(*getisnull) (const PGresult *result, int row, int column);
	char	   *(*getvalue) (const PGresult *result, int row, int column);
	void		(*clear) (PGresult *result);
	void		(*finish) (PGconn *conn);
	PQconninfoOption *(*conndefaults) (void);
	void		(*conninfoFree) (PQconninfoOption *options);
} Libpq;

/* Loads postgres_fdw, if need be.  ERROR where it is not installed. */
extern const Libpq *libpq_calls(void);

#endif							/* CLOCKTIMING_LIBPQ_CALLS_H */
