/*
 * fleet_read.c
 *	  See fleet_read.h.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "watch/fleet_read.h"
#include "watch/libpq_calls.h"

/* So many at once, which leaves file descriptors to the rest of the session. */
#define FLEET_AT_ONCE	100

/* A server that is being asked. */
typedef struct Asked
{
	FleetServer *server;		/* NULL: done */
	PGconn	   *conn;
	bool		connected;
	uint32		wait_for;		/* WL_SOCKET_... */
	instr_time	start;
} Asked;

typedef struct Reading
{
	const Libpq *libpq;
	Asked		asked[FLEET_AT_ONCE];
	int			n;
	WaitEventSet *set;
} Reading;

static void
ignore_notice(void *arg pg_attribute_unused(), const char *message pg_attribute_unused())
{
}

static double
elapsed_ms(const Asked *asked)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, asked->start);
	return INSTR_TIME_GET_MILLISEC(now);
}

/* The first line of a message from elsewhere, in this database's encoding. */
static char *
first_line(const char *message)
{
	char	   *line = pstrdup(message);

	line[strcspn(line, "\n")] = '\0';
	if (!pg_verifymbstr(line, strlen(line), true))
	{
		for (char *c = line; *c != '\0'; c++)
			if (IS_HIGHBIT_SET(*c))
				*c = '?';
	}
	return line[0] != '\0' ? line : pstrdup("unknown error");
}

static void
finish(const Libpq *libpq, Asked *asked)
{
	if (asked->conn != NULL)
		libpq->finish(asked->conn);
	asked->conn = NULL;
	ReleaseExternalFD();
	asked->server = NULL;
}

/* The answer is complete, or there will be none. */
static void
done(const Libpq *libpq, Asked *asked, const char *error)
{
	asked->server->took_ms = elapsed_ms(asked);
	if (error != NULL)
		asked->server->error = first_line(error);
	finish(libpq, asked);
}

static void
failed(const Libpq *libpq, Asked *asked)
{
	done(libpq, asked, libpq->errorMessage(asked->conn));
}

static void
take_result(const Libpq *libpq, Asked *asked, PGresult *result)
{
	FleetServer *server = asked->server;

	if (libpq->resultStatus(result) != PGRES_TUPLES_OK)
	{
		const char *message = libpq->resultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

		done(libpq, asked, message != NULL ? message : libpq->errorMessage(asked->conn));
	}
	else if (libpq->ntuples(result) != 1 || libpq->nfields(result) != server->columns)
		done(libpq, asked, "unexpected answer");
	else
	{
		server->answer = palloc0(sizeof(char *) * server->columns);
		for (int i = 0; i < server->columns; i++)
			if (!libpq->getisnull(result, 0, i))
				server->answer[i] = pstrdup(libpq->getvalue(result, 0, i));
		done(libpq, asked, NULL);
	}
	libpq->clear(result);
}

static void
receive(const Libpq *libpq, Asked *asked)
{
	PGresult   *result;

	if (!libpq->consumeInput(asked->conn))
		failed(libpq, asked);
	else if (!libpq->isBusy(asked->conn))
	{
		result = libpq->getResult(asked->conn);
		if (result == NULL)
			done(libpq, asked, "unexpected answer");
		else
			take_result(libpq, asked, result);
	}
}

static void
connect_further(const Libpq *libpq, Asked *asked)
{
	switch (libpq->connectPoll(asked->conn))
	{
		case PGRES_POLLING_READING:
			asked->wait_for = WL_SOCKET_READABLE;
			break;
		case PGRES_POLLING_WRITING:
			asked->wait_for = WL_SOCKET_WRITEABLE;
			break;
		case PGRES_POLLING_OK:
			asked->connected = true;
			asked->wait_for = WL_SOCKET_READABLE;

			/*
			 * postgres_fdw's rule: or else others would be who this server's
			 * owner is
			 */
			if (asked->server->needs_password && !libpq->connectionUsedPassword(asked->conn))
				done(libpq, asked, "password is required: a user who is no superuser can connect only where the server asks for the password of the user mapping");
			else if (!libpq->sendQuery(asked->conn, asked->server->query))
				failed(libpq, asked);
			break;
		default:
			failed(libpq, asked);
	}
}

/* A file descriptor for a connection; another one has to be there, which await() takes. */
static bool
acquire_descriptor(void)
{
	if (!AcquireExternalFD())
		return false;
	if (AcquireExternalFD())
	{
		ReleaseExternalFD();
		return true;
	}
	ReleaseExternalFD();
	return false;
}

/* Needs a file descriptor, which the caller has acquired. */
static void
ask(const Libpq *libpq, Asked *asked, FleetServer *server)
{
	memset(asked, 0, sizeof(*asked));
	asked->server = server;
	INSTR_TIME_SET_CURRENT(asked->start);
	asked->conn = libpq->connectStartParams(server->keywords, server->values, 0);
	asked->wait_for = WL_SOCKET_WRITEABLE;
	if (asked->conn == NULL)
		done(libpq, asked, "out of memory");
	else if (libpq->status(asked->conn) == CONNECTION_BAD)
		failed(libpq, asked);
	else
		libpq->setNoticeProcessor(asked->conn, ignore_notice, NULL);
}

/* Ends what has taken too long, forgets what is done; the time to the next such end in ms. */
static long
tidy(Reading *reading)
{
	double		left_ms = 1e6;
	int			n = 0;

	for (int i = 0; i < reading->n; i++)
	{
		Asked	   *asked = &reading->asked[i];

		if (asked->server != NULL)
		{
			double		left = asked->server->timeout_s * 1e3 - elapsed_ms(asked);

			if (left <= 0)
				done(reading->libpq, asked, psprintf("no answer within %d s", asked->server->timeout_s));
			else
				left_ms = Min(left_ms, left);
		}
		if (asked->server != NULL && n++ < i)
		{
			reading->asked[n - 1] = *asked;
			/* lest it is finished twice, should there be an error */
			asked->server = NULL;
		}
	}
	reading->n = n;
	return (long) left_ms + 1;
}

static void
await(Reading *reading, long timeout_ms)
{
	WaitEvent	events[FLEET_AT_ONCE + 2];
	int			n;

	reading->set = compat_CreateWaitEventSet(reading->n + 2);
	AddWaitEventToSet(reading->set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	AddWaitEventToSet(reading->set, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, NULL, NULL);
	for (int i = 0; i < reading->n; i++)
		AddWaitEventToSet(reading->set, reading->asked[i].wait_for, reading->libpq->socket(reading->asked[i].conn),
						  NULL, &reading->asked[i]);
	n = WaitEventSetWait(reading->set, timeout_ms, events, lengthof(events), PG_WAIT_EXTENSION);
	FreeWaitEventSet(reading->set);
	reading->set = NULL;

	for (int i = 0; i < n; i++)
	{
		Asked	   *asked = events[i].user_data;

		if (events[i].events & WL_LATCH_SET)
			ResetLatch(MyLatch);
		else if (asked != NULL && asked->connected)
			receive(reading->libpq, asked);
		else if (asked != NULL)
			connect_further(reading->libpq, asked);
	}
	CHECK_FOR_INTERRUPTS();
}

static void
read_all(Reading *reading, FleetServer *servers, int n)
{
	int			next = 0;

	for (;;)
	{
		long		timeout_ms;

		while (next < n && reading->n < FLEET_AT_ONCE)
		{
			if (servers[next].error != NULL)
			{
				next++;
				continue;
			}
			if (!acquire_descriptor())
			{
				if (reading->n > 0)
					break;
				ereport(ERROR,
						(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
						 errmsg("could not ask another server: %m"),
						 errhint("Raise max_files_per_process, or close connections that this session has.")));
			}
			ask(reading->libpq, &reading->asked[reading->n++], &servers[next++]);
		}
		timeout_ms = tidy(reading);
		if (reading->n > 0)
			await(reading, timeout_ms);
		else if (next == n)
			break;
	}
}

void
fleet_read(FleetServer *servers, int n)
{
	Reading    *reading = palloc0(sizeof(Reading));

	reading->libpq = libpq_calls();
	PG_TRY();
	{
		read_all(reading, servers, n);
	}
	PG_FINALLY();
	{
		if (reading->set != NULL)
			FreeWaitEventSet(reading->set);
		for (int i = 0; i < reading->n; i++)
			if (reading->asked[i].server != NULL)
				finish(reading->libpq, &reading->asked[i]);
	}
	PG_END_TRY();
	pfree(reading);
}
