/* Rows that SQL functions return, filled column by column. */
#ifndef CLOCKTIMING_ROW_H
#define CLOCKTIMING_ROW_H

#include "access/tupdesc.h"
#include "datatype/timestamp.h"
#include "fmgr.h"

typedef struct Row
{
	TupleDesc	tupdesc;
	Datum	   *values;
	bool	   *nulls;
	int			natts;			/* number of filled columns */
} Row;

extern Row	row_of_result(FunctionCallInfo fcinfo);

/* Returns an empty row of a set; requires InitMaterializedSRF(). */
extern Row	row_of_set(FunctionCallInfo fcinfo);

extern void row_put(Row *row, Datum value);
extern void row_put_null(Row *row);
extern void row_put_nulls(Row *row, int n);
extern void row_put_text(Row *row, const char *text);	/* NULL adds null */
extern void row_put_count(Row *row, int64 count);
extern void row_put_bool(Row *row, bool value);
extern void row_put_int_array(Row *row, const int32 *elements, int n);
extern void row_put_time(Row *row, TimestampTz time);	/* 0 adds null */

/* Adds a numeric with a fixed number of decimals; null if it is NaN. */
extern void row_put_number(Row *row, double value, int decimals);

/* Adds a double precision number, rounded unless decimals is ROW_EXACT; null if it is NaN. */
#define ROW_EXACT	(-1)
extern void row_put_double(Row *row, double value, int decimals);

/* Add several columns. */
#define row_put_counts(row, ...) \
	row_put_count_list(row, (const int64[]) {__VA_ARGS__}, \
					   lengthof(((const int64[]) {__VA_ARGS__})))
#define row_put_numbers(row, decimals, ...) \
	row_put_number_list(row, decimals, (const double[]) {__VA_ARGS__}, \
						lengthof(((const double[]) {__VA_ARGS__})))
extern void row_put_count_list(Row *row, const int64 *counts, int n);
extern void row_put_number_list(Row *row, int decimals, const double *values, int n);

/* row_result() returns the row as the function's result.  row_to_set() adds it to the set. */
extern Datum row_result(Row *row);
extern void row_to_set(Row *row, FunctionCallInfo fcinfo);

#endif							/* CLOCKTIMING_ROW_H */
