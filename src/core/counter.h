/* Checks whether a processor's counter can be read, and determines its frequency. */
#ifndef CLOCKTIMING_COUNTER_H
#define CLOCKTIMING_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/* A first reading of a counter, and its result. */
typedef struct Probe
{
	uint64_t	(*read) (void); /* reads the counter */
	bool		done;			/* "read" has been executed */
	bool		survived;		/* it raised no signal */
} Probe;

/*
 * Executes "read" with signal handlers installed, once per Probe; returns whether it raised no
 * signal.  An instruction may fault unexpectedly, for example because a hypervisor intercepts it.
 * An unhandled signal in one backend would end every session of the server.
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

/*
 * Measures the frequency by comparing the counter with the reference clock for 50 ms.  Meanwhile,
 * calls wait() to sleep; wait() may leave by longjmp().
 */
extern void counter_calibrate(CounterFrequency *frequency, uint64_t (*read) (void),
							  void (*wait) (double seconds));

/*
 * Sets the frequency to stated_hz, unless it is already set, stated_hz is 0, or stated_hz differs
 * from the calibrated frequency by more than 100 ppm.  Callers pass the calibrated frequency last,
 * because it differs between processes, unlike a frequency that the hypervisor or CPU states.
 */
extern void counter_consider(CounterFrequency *frequency, double stated_hz, const char *from);

#endif							/* CLOCKTIMING_COUNTER_H */
