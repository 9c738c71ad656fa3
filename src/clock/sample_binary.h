/*-------------------------------------------------------------------------
 *
 * sample_binary.h
 *	  The binary form of a clock_sample, on the wire and where it is stored.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_SAMPLE_BINARY_H
#define CLOCKTIMING_SAMPLE_BINARY_H

#include "lib/stringinfo.h"

#include "clock/sample_value.h"

/*
 * On the wire, texts are in the client's encoding.  What is decoded is checked:
 * ERROR if it is not a value of the type.
 */
extern void sample_encode(StringInfo buf, const ClockSample *sample, bool wire);
extern ClockSample *sample_decode(StringInfo buf, bool wire);

#endif							/* CLOCKTIMING_SAMPLE_BINARY_H */
