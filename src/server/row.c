/*
 * Rows that SQL functions return.
 *
 * Functions with many columns add their values in the order of the columns.  An assertion fails if
 * a function adds too many or too few, so that tests notice if only the C code or only the install
 * script has a new column.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "server/row.h"

static Row
row_of(TupleDesc tupdesc)
{
	return (Row)
	{
		.tupdesc = tupdesc,
			.values = palloc0(sizeof(Datum) * tupdesc->natts),
			.nulls = palloc0(sizeof(bool) * tupdesc->natts)
	};
}

Row
row_of_result(FunctionCallInfo fcinfo)
{
	TupleDesc	tupdesc;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return row_of(BlessTupleDesc(tupdesc));
}

Row
row_of_set(FunctionCallInfo fcinfo)
{
	return row_of(((ReturnSetInfo *) fcinfo->resultinfo)->setDesc);
}

void
row_put(Row *row, Datum value)
{
	Assert(row->natts < row->tupdesc->natts);
	row->values[row->natts++] = value;
}

void
row_put_null(Row *row)
{
	row->nulls[row->natts] = true;
	row_put(row, (Datum) 0);
}

void
row_put_nulls(Row *row, int n)
{
	for (int i = 0; i < n; i++)
		row_put_null(row);
}

void
row_put_text(Row *row, const char *text)
{
	if (text == NULL)
		row_put_null(row);
	else
		row_put(row, CStringGetTextDatum(text));
}

void
row_put_count(Row *row, int64 count)
{
	row_put(row, Int64GetDatum(count));
}

void
row_put_bool(Row *row, bool value)
{
	row_put(row, BoolGetDatum(value));
}

void
row_put_int_array(Row *row, const int32 *elements, int n)
{
	Datum	   *datums = palloc(sizeof(Datum) * ((Size) n + 1));

	for (int i = 0; i < n; i++)
		datums[i] = Int32GetDatum(elements[i]);
	row_put(row, PointerGetDatum(construct_array(datums, n, INT4OID, sizeof(int32), true,
												 TYPALIGN_INT)));
}

void
row_put_time(Row *row, TimestampTz time)
{
	if (time != 0)
		row_put(row, TimestampTzGetDatum(time));
	else
		row_put_null(row);
}

static Datum
fixed_numeric(double value, int decimals)
{
	double		scaled = rint(value * pow(10, decimals));

	if (fabs(scaled) < 9e18)
		return NumericGetDatum(int64_div_fast_to_numeric((int64) scaled, decimals));
	return DirectFunctionCall1(float8_numeric, Float8GetDatum(value));
}

void
row_put_number(Row *row, double value, int decimals)
{
	if (isnan(value))
		row_put_null(row);
	else
		row_put(row, fixed_numeric(value, decimals));
}

void
row_put_double(Row *row, double value, int decimals)
{
	double		scale = pow(10, decimals);

	if (isnan(value))
		row_put_null(row);
	else
		row_put(row, Float8GetDatum(decimals == ROW_EXACT ? value : rint(value * scale) / scale));
}

void
row_put_count_list(Row *row, const int64 *counts, int n)
{
	for (int i = 0; i < n; i++)
		row_put_count(row, counts[i]);
}

void
row_put_number_list(Row *row, int decimals, const double *values, int n)
{
	for (int i = 0; i < n; i++)
		row_put_number(row, values[i], decimals);
}

Datum
row_result(Row *row)
{
	Assert(row->natts == row->tupdesc->natts);
	return HeapTupleGetDatum(heap_form_tuple(row->tupdesc, row->values, row->nulls));
}

void
row_to_set(Row *row, FunctionCallInfo fcinfo)
{
	Assert(row->natts == row->tupdesc->natts);
	tuplestore_putvalues(((ReturnSetInfo *) fcinfo->resultinfo)->setResult,
						 row->tupdesc, row->values, row->nulls);
	memset(row->nulls, false, sizeof(bool) * row->natts);
	row->natts = 0;
}
