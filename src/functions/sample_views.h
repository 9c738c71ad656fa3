/*-------------------------------------------------------------------------
 *
 * sample_views.h
 *	  The views of a clock_sample: what SQL functions return of one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_SAMPLE_VIEWS_H
#define CLOCKTIMING_SAMPLE_VIEWS_H

#include "fmgr.h"

#include "clock/sample_value.h"

/* Each fills in the result of the SQL function that fcinfo is a call of. */
extern Datum return_histogram(FunctionCallInfo fcinfo, const ClockSample *sample);
extern Datum return_histogram_plot(FunctionCallInfo fcinfo, const ClockSample *sample,
								   int width);
extern Datum return_durations(FunctionCallInfo fcinfo, const ClockSample *sample,
							  double cutoff);
extern Datum return_summary(FunctionCallInfo fcinfo, const ClockSample *sample);

/* One more row of a set of text, after InitMaterializedSRF(). */
extern void put_text_line(FunctionCallInfo fcinfo, const char *line);

#endif							/* CLOCKTIMING_SAMPLE_VIEWS_H */
