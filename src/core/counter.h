/* The counters of processors: whether they can be read, and their frequency. */
#ifndef CLOCKTIMING_COUNTER_H
#define CLOCKTIMING_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Probe
{
	uint64_t	(*read) (void);
	bool		done;
	bool		survived;
} Probe;

/*
 * Executes "read" once, with signal handlers installed; returns whether it raised no signal.  An
 * instruction may fault unexpectedly, for example because a hypervisor intercepts it, and an
 * unhandled signal in one backend ends every session of the server.
 */
extern bool probe(Probe *probe);

/* Frequency of a counter.  Must be initialised with zeros. */
typedef struct CounterFrequency
{
	double		hz;				/* frequency in use; 0: not known */
	const char *from;			/* source of hz, such as "calibration" */
	double		calibrated_hz;	/* 0: calibration failed */
	double		calibrated_bound_ppm;	/* bound of its error */
} CounterFrequency;

/* Compares the counter with the reference for 50 ms.  wait() sleeps meanwhile; may longjmp(). */
extern void counter_calibrate(CounterFrequency *frequency, uint64_t (*read) (void),
							  void (*wait) (double seconds));

/*
 * Sets the frequency to the stated one, unless it is already set, or the calibration differs by
 * more than 100 ppm.  A stated frequency is preferred because it is the same in all processes.
 * Ignores a stated_hz of 0.
 */
extern void counter_consider(CounterFrequency *frequency, double stated_hz, const char *from);

#endif							/* CLOCKTIMING_COUNTER_H */
