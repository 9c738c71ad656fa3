/*
 * Reads VMClock, a device by which a hypervisor tells a virtual machine that its counter (the TSC)
 * was disrupted by a live migration or a restored snapshot, and at which rate the counter runs.
 * Linux offers it as /dev/vmclock0 since 6.13.  The format is Linux's "struct vmclock_abi".
 */
#ifndef CLOCKTIMING_VMCLOCK_H
#define CLOCKTIMING_VMCLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VMCLOCK_DEVICE		"/dev/vmclock0"

/* Size in bytes of the fields that are known.  A device may have fewer or more of them. */
#define VMCLOCK_SIZE		112

typedef enum VmClockState
{
	VMCLOCK_ABSENT,				/* there is no device */
	VMCLOCK_UNREADABLE,			/* for example, this user may not read it */
	VMCLOCK_INVALID,			/* wrong magic number, size or version */
	VMCLOCK_BUSY,				/* each attempt hit an update by the
								 * hypervisor */
	VMCLOCK_READ,				/* the other members of VmClock are valid */
	VMCLOCK_STATES				/* number of states */
} VmClockState;

extern const char *const vmclock_state_names[VMCLOCK_STATES];

/* The counter that the device describes. */
typedef enum VmClockCounter
{
	VMCLOCK_NO_COUNTER,			/* none, or an unknown one */
	VMCLOCK_TSC,				/* x86's TSC */
	VMCLOCK_ARM,				/* 64-bit Arm's CNTVCT_EL0 */
	VMCLOCK_COUNTERS			/* number of values */
} VmClockCounter;

extern const char *const vmclock_counter_names[VMCLOCK_COUNTERS];

/* A disruption that the hypervisor has announced. */
typedef enum VmClockAnnounced
{
	VMCLOCK_NONE_ANNOUNCED,
	VMCLOCK_SOON,				/* in about a day */
	VMCLOCK_IMMINENT,			/* in about an hour */
	VMCLOCK_ANNOUNCEMENTS		/* number of values */
} VmClockAnnounced;

extern const char *const vmclock_announced_names[VMCLOCK_ANNOUNCEMENTS];

/* Contents of the device.  NAN: the device does not say. */
typedef struct VmClock
{
	VmClockState state;
	char		why_not[80];	/* reason, if state is not VMCLOCK_READ */
	uint32_t	size;			/* stated size of the structure, in bytes */
	uint64_t	disruption_marker;	/* changes when the counter was disrupted */
	VmClockAnnounced announced;
	bool		has_generation; /* "generation" is valid */
	uint64_t	generation;		/* changes when a snapshot was restored */
	const char *status;			/* of the host's clock; NULL: not known */
	VmClockCounter counter;
	double		hz;				/* frequency of the counter */
	double		hz_error_ppm;	/* estimated error of hz */
	double		hz_bound_ppm;	/* largest possible error of hz */
} VmClock;

/* The members of VmClock that change when the virtual machine is migrated or restored. */
typedef struct VmClockMarks
{
	bool		known;			/* false: the device could not be read */
	bool		has_generation;
	uint64_t	disruption_marker;
	uint64_t	generation;
} VmClockMarks;

extern VmClockMarks vmclock_marks(const VmClock *clock);

/*
 * Copies the first "size" bytes of a device to "bytes", and then its sequence number to *sequence.
 * Returns the number of bytes copied; -1 if an error occurred, with errno.
 */
typedef long (*VmClockCopy) (void *arg, unsigned char *bytes, size_t size, uint32_t *sequence);

/* Reads a device by copy(), at most some ten times, until the hypervisor does not update it. */
extern void vmclock_read_by(VmClockCopy copy, void *arg, VmClock *clock);

/* Reads the device of this path by read().  Linux's driver waits at most 0.1 s for an update. */
extern void vmclock_read(const char *path, VmClock *clock);

/* Returns the frequency of this processor's counter according to the device; NAN: not known. */
extern double vmclock_hz(const VmClock *clock);

#endif							/* CLOCKTIMING_VMCLOCK_H */
