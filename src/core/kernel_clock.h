/*-------------------------------------------------------------------------
 *
 * kernel_clock.h
 *	  The clock that the kernel keeps time by.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_KERNEL_CLOCK_H
#define CLOCKTIMING_KERNEL_CLOCK_H

#include <stdbool.h>

#define KERNEL_CLOCK_SIZE 1024	/* room for what the two functions write */

/*
 * The clock source that the kernel keeps time by, and those that it could, as
 * the operating system names them, at this moment.  False, and an empty string,
 * if it does not say.
 */
extern bool kernel_clock_source(char *name);
extern bool kernel_clock_sources_available(char *names);

#endif							/* CLOCKTIMING_KERNEL_CLOCK_H */
