/*
 * Judges why the stated frequency of the TSC is wrong.
 *
 * Calibration compares the TSC with a clock that the kernel computes from the TSC.  So if the
 * kernel assumes a wrong frequency, calibration finds that one.  The time service then corrects the
 * kernel's clock by the same difference, which adjtimex() shows.
 */
#include <math.h>

#include "core/frequency_cause.h"

/* Largest difference in ppm that a time service has to correct although no frequency is wrong. */
#define OWN_PPM		50.0

/* Returns the kernel's error if the time service confirms it, else the likeliest cause. */
FrequencyCause
frequency_cause(const FrequencyEvidence *evidence)
{
	double		ppm;

	if (evidence->stated_hz <= 0 || evidence->calibrated_hz <= 0)
		return FREQUENCY_AGREES;
	ppm = (evidence->stated_hz / evidence->calibrated_hz - 1) * 1e6;
	if (fabs(ppm) <= evidence->limit_ppm)
		return FREQUENCY_AGREES;

	/*
	 * a kernel that assumes too small a frequency has a clock that is fast by
	 * "ppm"
	 */
	if (evidence->sync.known && evidence->sync.synchronised &&
		fabs(ppm + evidence->sync.frequency_ppm) <= OWN_PPM)
		return FREQUENCY_OF_KERNEL;
	if (evidence->hypervisor && evidence->amd)
		return FREQUENCY_SECURE_TSC;
	return evidence->hypervisor ? FREQUENCY_OF_HYPERVISOR : FREQUENCY_OF_PROCESSOR;
}
