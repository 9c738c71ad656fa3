/* Measures the time that counting and timing add to a call of a plan node. */
#ifndef CLOCKTIMING_CALL_CALIBRATION_H
#define CLOCKTIMING_CALL_CALIBRATION_H

#include "core/plan_estimate.h"

/*
 * Returns these costs for the case that all calls are timed, or that only a sample of them is.
 * Calibrates (measures the costs anew) if the latest results are too old.  That takes some ms.
 */
extern const CallCost *call_cost(bool all_timed);

/* Shared memory for the results, which all backends share if the server preloads clocktiming. */
extern Size call_calibration_shmem_size(void);
extern void call_calibration_shmem_init(void);

#endif							/* CLOCKTIMING_CALL_CALIBRATION_H */
