/*-------------------------------------------------------------------------
 *
 * row.h
 *	  Rows that SQL functions return, filled in column by column.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_ROW_H
#define CLOCKTIMING_ROW_H

#include "access/tupdesc.h"
#include "fmgr.h"

typedef struct Row
{
	TupleDesc	tupdesc;
	Datum	   *values;
	bool	   *nulls;
	int			natts;			/* columns filled so far */
} Row;

/* A row of the composite type that the function returns. */
extern Row	row_of_result(FunctionCallInfo fcinfo);

/* A row of a set, after InitMaterializedSRF(). */
extern Row	row_of_set(FunctionCallInfo fcinfo);

extern void row_put(Row *row, Datum value);
extern void row_put_null(Row *row);
extern void row_put_nulls(Row *row, int n);
extern void row_put_text(Row *row, const char *text);	/* NULL: null */
extern void row_put_count(Row *row, int64 count);
extern void row_put_bool(Row *row, bool value);
extern void row_put_int_array(Row *row, const int32 *elements, int n);

/* With a fixed number of decimals.  NaN is what is not known: null. */
extern void row_put_number(Row *row, double value, int decimals);

/* Several columns of these. */
#define row_put_counts(row, ...) \
	row_put_count_list(row, (const int64[]) {__VA_ARGS__}, \
					   lengthof(((const int64[]) {__VA_ARGS__})))
#define row_put_numbers(row, decimals, ...) \
	row_put_number_list(row, decimals, (const double[]) {__VA_ARGS__}, \
						lengthof(((const double[]) {__VA_ARGS__})))
extern void row_put_count_list(Row *row, const int64 *counts, int n);
extern void row_put_number_list(Row *row, int decimals, const double *values, int n);

/* What row_put_number() puts, of a number. */
extern Datum fixed_numeric(double value, int decimals);

/*
 * The complete row, as the function's result or as one more of its set, after
 * which it is empty again.
 */
extern Datum row_result(Row *row);
extern void row_to_set(Row *row, FunctionCallInfo fcinfo);

#endif							/* CLOCKTIMING_ROW_H */
