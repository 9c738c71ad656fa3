/*-------------------------------------------------------------------------
 *
 * call_calibration.h
 *	  What counting and timing a call costs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_CALL_CALIBRATION_H
#define CLOCKTIMING_CALL_CALIBRATION_H

#include "core/plan_estimate.h"

/*
 * That of the clock chosen, measured within some milliseconds unless it was a
 * moment ago; where all calls are timed, or some.
 */
extern const CallCost *call_cost(bool all_timed, double *ticks_per_ns);

/* For shared_preload_libraries: one calibration serves all backends. */
extern Size call_calibration_shmem_size(void);
extern void call_calibration_shmem_init(void);

#endif							/* CLOCKTIMING_CALL_CALIBRATION_H */
