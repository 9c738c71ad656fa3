/*-------------------------------------------------------------------------
 *
 * sample_json.h
 *	  A clock_sample as a JSON object.
 *
 * Nothing in it depends on a setting.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_SAMPLE_JSON_H
#define CLOCKTIMING_SAMPLE_JSON_H

#include "utils/jsonb.h"

#include "clock/sample_value.h"

/*
 * Longer text is not even parsed.  The largest value takes a quarter of it; the
 * rest is for white space.
 */
#define SAMPLE_MAX_TEXT		(2 * 1024 * 1024)

extern char *sample_to_json(const ClockSample *sample);

/* ERROR if it is not a value of the type. */
extern ClockSample *sample_from_jsonb(Jsonb *jsonb);

#endif							/* CLOCKTIMING_SAMPLE_JSON_H */
