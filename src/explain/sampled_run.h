/*-------------------------------------------------------------------------
 *
 * sampled_run.h
 *	  One execution of a plan whose nodes are timed by sampling.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_SAMPLED_RUN_H
#define CLOCKTIMING_SAMPLED_RUN_H

#define SAMPLING_DEFAULT		64
#define MAX_OVERHEAD_DEFAULT	1.0

/*
 * ERROR unless a value may be that field of NodeTimingOptions.  "name" is what
 * the user calls it.
 */
extern int	sampling_check(const char *name, int64 sampling);
extern double max_overhead_check(const char *name, double percent);

#endif							/* CLOCKTIMING_SAMPLED_RUN_H */
