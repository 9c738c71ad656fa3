/* Measures the time that counting and timing add to a call of a plan node. */
#ifndef CLOCKTIMING_CALL_CALIBRATION_H
#define CLOCKTIMING_CALL_CALIBRATION_H

#include "core/plan_estimate.h"

/*
 * Returns the costs of calls if all calls are timed, or if only a sample of the calls is timed.
 * Measures the costs anew if the latest measurement is too old.  A measurement takes some ms.
 */
extern const CallCost *call_cost(bool all_timed);

/* Shared memory for the results, which all backends share if the server preloads clocktiming. */
extern Size call_calibration_shmem_size(void);
extern void call_calibration_shmem_init(void);

#endif							/* CLOCKTIMING_CALL_CALIBRATION_H */
