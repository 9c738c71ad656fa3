/* Measures the cost of counting and of timing a call. */
#ifndef CLOCKTIMING_CALL_CALIBRATION_H
#define CLOCKTIMING_CALL_CALIBRATION_H

#include "core/plan_estimate.h"

/*
 * Returns the costs of counting and of timing a call, if all calls are timed or only a sample of
 * them.  May calibrate, which takes some ms.
 */
extern const CallCost *call_cost(bool all_timed);

/* Shared memory for calibrations that all backends share if clocktiming is preloaded. */
extern Size call_calibration_shmem_size(void);
extern void call_calibration_shmem_init(void);

#endif							/* CLOCKTIMING_CALL_CALIBRATION_H */
