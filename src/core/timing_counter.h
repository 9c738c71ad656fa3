/* The processor's counter, which times plan nodes if it can be trusted. */
#ifndef CLOCKTIMING_TIMING_COUNTER_H
#define CLOCKTIMING_TIMING_COUNTER_H

#include "core/arm_counter.h"
#include "core/tsc.h"

/* Names of the clock sources.  A reading of the ordered one waits for earlier instructions. */
#ifdef CLOCKTIMING_HAVE_ARM_COUNTER
#define TIMING_COUNTER			"cntvct"
#define TIMING_COUNTER_ORDERED	"cntvct_isb"
#define TIMING_COUNTER_READS	"CNTVCT_EL0"
#define timing_counter_read		arm_counter_read
#define timing_counter_why_not	arm_counter_why_not
#define timing_counter_why_not_trusted arm_counter_why_not_trusted
#else
#define TIMING_COUNTER			"rdtsc"
#define TIMING_COUNTER_ORDERED	"rdtscp"
#define TIMING_COUNTER_READS	"RDTSC"
#define timing_counter_read		tsc_read_rdtsc
#define timing_counter_why_not	tsc_why_no_rdtsc
#define timing_counter_why_not_trusted() tsc_judge(tsc_evidence())
#endif

#if defined(CLOCKTIMING_HAVE_ARM_COUNTER) || defined(CLOCKTIMING_HAVE_TSC)
#define CLOCKTIMING_HAVE_COUNTER 1
#endif

#endif							/* CLOCKTIMING_TIMING_COUNTER_H */
