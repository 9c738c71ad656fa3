/*-------------------------------------------------------------------------
 *
 * counter_frequency.h
 *	  The frequency of a processor's counter.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_COUNTER_FREQUENCY_H
#define CLOCKTIMING_COUNTER_FREQUENCY_H

#include <stdint.h>

/* All 0 before it is known. */
typedef struct CounterFrequency
{
	double		hz;				/* in use; 0 if it could not be found */
	const char *from;			/* who states that, or "calibration" */
	double		calibrated_hz;	/* 0 if calibration did not succeed */
	double		calibrated_bound_ppm;	/* bound of its error */
} CounterFrequency;

/*
 * Compares the counter with the reference clock for 50 ms, in which "wait" is
 * called with the time left in seconds; that may leave by longjmp.
 */
extern void counter_calibrate(CounterFrequency *frequency, uint64_t (*read) (void),
							  void (*wait) (double seconds));

/*
 * Takes a stated frequency into use if none is yet, and the calibration confirms
 * it to 100 ppm, or there is none: it is better than a calibrated one since it is the
 * same for every process.  0 if nothing is stated.
 */
extern void counter_consider(CounterFrequency *frequency, double stated_hz, const char *from);

#endif							/* CLOCKTIMING_COUNTER_FREQUENCY_H */
