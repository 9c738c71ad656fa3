/* Possible causes if the stated frequency of the TSC differs from the calibrated one. */
#ifndef CLOCKTIMING_FREQUENCY_CAUSE_H
#define CLOCKTIMING_FREQUENCY_CAUSE_H

#include <stdbool.h>

#include "core/system_state.h"

typedef enum FrequencyCause
{
	FREQUENCY_AGREES,			/* or one of the two is not known */
	FREQUENCY_OF_KERNEL,		/* the kernel's own frequency is wrong */
	FREQUENCY_SECURE_TSC,		/* perhaps that of Secure TSC, a part of AMD's
								 * SEV-SNP */
	FREQUENCY_OF_HYPERVISOR,	/* perhaps the hypervisor states that of
								 * another machine */
	FREQUENCY_OF_PROCESSOR		/* the processor or firmware states a wrong
								 * one */
} FrequencyCause;

typedef struct FrequencyEvidence
{
	double		stated_hz;		/* by CPUID or the hypervisor; 0: not known */
	double		calibrated_hz;	/* against the kernel's clock; 0: not known */
	double		limit_ppm;		/* largest difference that is no error */
	bool		hypervisor;		/* in a virtual machine */
	bool		amd;			/* processor of AMD */
	SystemSync	sync;
} FrequencyEvidence;

/*
 * Returns the most likely cause.  Calibration compares the TSC with a clock that the kernel
 * computes from the same TSC, by the frequency that the kernel assumes.  So calibration finds this
 * frequency, right or wrong.  If it is wrong, the time service has to correct the clock's rate by
 * the same difference.
 */
extern FrequencyCause frequency_cause(const FrequencyEvidence *evidence);

#endif							/* CLOCKTIMING_FREQUENCY_CAUSE_H */
