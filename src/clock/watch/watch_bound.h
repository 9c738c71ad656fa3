/* Bounds the error of the watched clock's rate by the counter's frequency that VMClock states. */
#ifndef CLOCKTIMING_WATCH_BOUND_H
#define CLOCKTIMING_WATCH_BOUND_H

#include "clock/sampling/os_clocks.h"

/*
 * Returns the largest possible error, in ppm, of times that the clock has measured since the
 * previous call; NAN: not known.  "hz" is the frequency by which the source's ticks were converted.
 * The first call for a source begins a period, and returns NAN.
 */
extern double watch_bound_ppm(const ClockSource *source, double hz);

#endif							/* CLOCKTIMING_WATCH_BOUND_H */
