/* Measures the cost of counting and of timing a call. */
#ifndef CLOCKTIMING_CALL_CALIBRATION_H
#define CLOCKTIMING_CALL_CALIBRATION_H

#include "core/plan_estimate.h"

/* Returns the cost of calls, if all of them or only some are timed.  May calibrate, for some ms. */
extern const CallCost *call_cost(bool all_timed);

/* Shared memory for calibrations that all backends share, with shared_preload_libraries. */
extern Size call_calibration_shmem_size(void);
extern void call_calibration_shmem_init(void);

#endif							/* CLOCKTIMING_CALL_CALIBRATION_H */
