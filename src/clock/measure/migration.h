/* Detects, by VMClock, that the virtual machine was migrated, or restored from a snapshot. */
#ifndef CLOCKTIMING_MIGRATION_H
#define CLOCKTIMING_MIGRATION_H

#include "core/vmclock.h"

typedef enum Migration
{
	MIGRATION_UNKNOWN,			/* VMClock could not be read */
	MIGRATION_NONE,
	MIGRATION_MOVED,			/* to another host */
	MIGRATION_RESTORED			/* from a snapshot */
} Migration;

/* Returns what happened between two readings of VMClock. */
extern Migration migration_between(const VmClockMarks *before, const VmClockMarks *now);

/* Reads VMClock in the postmaster.  Backends inherit the result. */
extern void migration_remember_start(void);

/* Returns what happened since migration_remember_start(); unknown if that was not called. */
extern Migration migration_since_start(const VmClock *now);

#endif							/* CLOCKTIMING_MIGRATION_H */
