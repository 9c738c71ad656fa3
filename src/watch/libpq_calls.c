/*
 * libpq_calls.c
 *	  See libpq_calls.h.
 */
#include "postgres.h"

#include <dlfcn.h>

#include "fmgr.h"

#include "compat.h"
#include "watch/libpq_calls.h"

#define CALL(member, name) {offsetof(Libpq, member), name}

static const struct
{
	size_t		offset;
	const char *name;
}			calls[] = {

	CALL(connectStartParams, "PQconnectStartParams"),
	CALL(connectPoll, "PQconnectPoll"),
	CALL(status, "PQstatus"),
	CALL(socket, "PQsocket"),
	CALL(errorMessage, "PQerrorMessage"),
	CALL(connectionUsedPassword, "PQconnectionUsedPassword"),
	CALL(setNoticeProcessor, "PQsetNoticeProcessor"),
	CALL(sendQuery, "PQsendQuery"),
	CALL(consumeInput, "PQconsumeInput"),
	CALL(isBusy, "PQisBusy"),
	CALL(getResult, "PQgetResult"),
	CALL(resultStatus, "PQresultStatus"),
	CALL(resultErrorField, "PQresultErrorField"),
	CALL(ntuples, "PQntuples"),
	CALL(nfields, "PQnfields"),
	CALL(getisnull, "PQgetisnull"),
	CALL(getvalue, "PQgetvalue"),
	CALL(clear, "PQclear"),
	CALL(finish, "PQfinish"),
	CALL(conndefaults, "PQconndefaults"),
	CALL(conninfoFree, "PQconninfoFree"),
};

const Libpq *
libpq_calls(void)
{
	static Libpq libpq;
	static bool found = false;

	if (found)
		return &libpq;

	/*
	 * The server opens libraries so that their symbols, and those of what
	 * they need, are global.
	 */
	(void) load_external_function("$libdir/postgres_fdw", "postgres_fdw_handler", true, NULL);
	for (size_t i = 0; i < lengthof(calls); i++)
	{
		void	   *function = dlsym(RTLD_DEFAULT, calls[i].name);

		if (function == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_FUNCTION),
					 errmsg("postgres_fdw has not loaded libpq's function %s", calls[i].name)));
		memcpy((char *) &libpq + calls[i].offset, &function, sizeof(function));
	}
	found = true;
	return &libpq;
}
