/*
 * Linux's time namespace of this process.  A namespace shifts CLOCK_MONOTONIC and CLOCK_BOOTTIME,
 * for example so that they go on when a container is restored.
 */
#ifndef CLOCKTIMING_TIME_NAMESPACE_H
#define CLOCKTIMING_TIME_NAMESPACE_H

#include <stdbool.h>
#include <stdint.h>

/* All values are 0 if the system has no time namespaces. */
typedef struct TimeNamespace
{
	uint64_t	inode;			/* of /proc/self/ns/time; may be used again */
	double		monotonic_s;	/* added to the machine's CLOCK_MONOTONIC */
	double		boottime_s;		/* added to the machine's CLOCK_BOOTTIME */
} TimeNamespace;

/* Inode of the machine's initial namespace, in all versions of Linux that have namespaces. */
#define INITIAL_TIME_NAMESPACE	UINT64_C(4026531834)

/* "root" is the directory that contains proc: "" for that of this machine. */
extern TimeNamespace time_namespace(const char *root);

/* Returns whether two values are of the same namespace. */
extern bool time_namespace_equal(const TimeNamespace *a, const TimeNamespace *b);

#endif							/* CLOCKTIMING_TIME_NAMESPACE_H */
