/*
 * Fleets of servers: computes limits of outliers, and connects to a server for clock_fleet_ask().
 * The other functions for fleets are in the install script.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timeout.h"

#include "compat.h"
#include "core/stats.h"
#include "server/args.h"
#include "server/row.h"

PG_FUNCTION_INFO_V1(internal_clock_fleet_connect);
PG_FUNCTION_INFO_V1(internal_clock_outlier_limits);

/* Longest timeout for connecting, in s: as a number of milliseconds, it must fit into an int. */
#define MAX_TIMEOUT_S	3600

/* True if the timeout, not the user, has requested the pending cancellation. */
static volatile sig_atomic_t timed_out;

/* Handler of the timeout for connecting.  Cancels the statement, unless the user has done so. */
static void
cancel_connecting(void)
{
	if (QueryCancelPending)
		return;
	timed_out = true;
	QueryCancelPending = true;
	InterruptPending = true;
}

/* Disables the timeout.  If it has expired, withdraws its cancellation and returns true. */
static bool
end_timeout(TimeoutId timeout)
{
	disable_timeout(timeout, false);
	if (timed_out)
		QueryCancelPending = false;
	return timed_out;
}

/*
 * Executes the statement that connects by dblink, and cancels the statement after a timeout.  The
 * statement's parameters are the names of the connection and of the foreign server.
 *
 * On PostgreSQL 15 no timeout is set, because its dblink obeys connect_timeout and cannot be
 * interrupted while it connects.  Later versions ignore connect_timeout and can be interrupted.
 */
Datum
internal_clock_fleet_connect(PG_FUNCTION_ARGS)
{
	static TimeoutId timeout = MAX_TIMEOUTS;
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Oid			types[] = {TEXTOID, TEXTOID};
	Datum		names[] = {PG_GETARG_DATUM(1), PG_GETARG_DATUM(2)};
	int			seconds = Min(PG_GETARG_INT32(3), MAX_TIMEOUT_S);

	if (timeout == MAX_TIMEOUTS)
		timeout = RegisterTimeout(USER_TIMEOUT, cancel_connecting);
	SPI_connect();
	timed_out = false;
	if (PG_VERSION_NUM >= 160000)
		enable_timeout_after(timeout, seconds * 1000);
	PG_TRY();
	{
		if (SPI_execute_with_args(statement, 2, types, names, NULL, false, 0) != SPI_OK_SELECT)
			elog(ERROR, "could not execute statement");
	}
	PG_CATCH();
	{
		if (!end_timeout(timeout))
			PG_RE_THROW();
		FlushErrorState();
		ereport(ERROR,
				(errcode(ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION),
				 errmsg("connection to server failed: timeout expired")));
	}
	PG_END_TRY();
	(void) end_timeout(timeout);
	SPI_finish();
	PG_RETURN_VOID();
}

static double *
finite_numbers(ArrayType *array, int *n)
{
	Datum	   *elements;
	bool	   *nulls;
	double	   *x;
	int			count;

	deconstruct_array(array, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
					  &elements, &nulls, &count);
	x = palloc(sizeof(double) * Max(count, 1));
	*n = 0;
	for (int i = 0; i < count; i++)
	{
		if (!nulls[i] && isfinite(DatumGetFloat8(elements[i])))
			x[(*n)++] = DatumGetFloat8(elements[i]);
	}
	return x;
}

/*
 * Returns the limits beyond which a server's figure is an outlier of the fleet.  The probability of
 * a false alarm is divided by the number of comparisons, so that it holds for all of them together
 * (Bonferroni).
 */
Datum
internal_clock_outlier_limits(PG_FUNCTION_ARGS)
{
	double		outside = arg_confidence(fcinfo, 1).outside;
	double		tolerance = PG_ARGISNULL(2) ? 0 : PG_GETARG_FLOAT8(2);
	OutlierLimits limits = {NAN, NAN, NAN};
	Row			row = row_of_result(fcinfo);
	int			n = 0;

	if (!(tolerance >= 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("tolerance must not be negative")));
	if (!PG_ARGISNULL(0))
	{
		double	   *x = finite_numbers(PG_GETARG_ARRAYTYPE_P(0), &n);
		int			comparisons = PG_ARGISNULL(3) ? n : PG_GETARG_INT32(3);

		if (comparisons < n)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("comparisons must be at least the number of figures")));
		if (comparisons > 0)
			limits = outlier_limits(x, n, outside / comparisons, tolerance);
	}
	row_put_double(&row, limits.median, ROW_EXACT);
	row_put_double(&row, limits.low, ROW_EXACT);
	row_put_double(&row, limits.high, ROW_EXACT);
	return row_result(&row);
}
