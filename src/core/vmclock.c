/*
 * Reads VMClock.
 *
 * The hypervisor increments the sequence number before and after each update, so it is odd during
 * an update (a seqlock).  A copy is valid if the number was even and is the same after the copy.
 * Otherwise the copy is repeated.  Each field is read at its offset, and only if it lies within the
 * size that the device states.  The frequency follows from the counter's period, a 64-bit fraction
 * of a second, shifted by 64 bits and the stated number of bits.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/timing_counter.h"
#include "core/vmclock.h"

#define MAGIC				0x4b4c4356	/* "VCLK", little-endian */
#define VERSION				1

/* Number of attempts.  An update takes the hypervisor less than a microsecond. */
#define TRIES				10

/* Offsets of the fields in bytes.  All numbers are little-endian. */
enum
{
	AT_MAGIC = 0,				/* 4 bytes */
	AT_SIZE = 4,				/* 4 bytes */
	AT_VERSION = 8,				/* 2 bytes */
	AT_COUNTER = 10,			/* 1 byte */
	AT_SEQUENCE = 12,			/* 4 bytes; odd: an update is under way */
	AT_MARKER = 16,				/* 8 bytes */
	AT_FLAGS = 24,				/* 8 bytes */
	AT_STATUS = 34,				/* 1 byte */
	AT_SHIFT = 39,				/* 1 byte */
	AT_PERIOD = 48,				/* 8 bytes */
	AT_PERIOD_ERROR = 56,		/* 8 bytes */
	AT_PERIOD_BOUND = 64,		/* 8 bytes */
	AT_GENERATION = 104			/* 8 bytes */
};

/* Linux offers no device without these bytes: all fields up to the flags. */
#define LEAST_SIZE			(AT_FLAGS + 8)

/* Bits of the flags. */
#define FLAG_SOON			(UINT64_C(1) << 1)
#define FLAG_IMMINENT		(UINT64_C(1) << 2)
#define FLAG_PERIOD_ERROR	(UINT64_C(1) << 3)
#define FLAG_PERIOD_BOUND	(UINT64_C(1) << 4)
#define FLAG_GENERATION		(UINT64_C(1) << 8)

const char *const vmclock_state_names[VMCLOCK_STATES] = {
	[VMCLOCK_ABSENT] = "absent",
	[VMCLOCK_UNREADABLE] = "unreadable",
	[VMCLOCK_INVALID] = "invalid",
	[VMCLOCK_BUSY] = "busy",
	[VMCLOCK_READ] = "read",
};

const char *const vmclock_announced_names[VMCLOCK_ANNOUNCEMENTS] = {
	[VMCLOCK_NONE_ANNOUNCED] = "none",
	[VMCLOCK_SOON] = "in about a day",
	[VMCLOCK_IMMINENT] = "in about an hour",
};

const char *const vmclock_counter_names[VMCLOCK_COUNTERS] = {
	[VMCLOCK_NO_COUNTER] = "no known counter",
	[VMCLOCK_TSC] = "the TSC",
	[VMCLOCK_ARM] = "CNTVCT_EL0",
};

/* States of the host's clock by their numbers.  Number 0, "unknown", is no state. */
static const char *const status_names[] = {
	NULL, "initializing", "synchronized", "free-running", "unreliable"
};

/* The known part of a device.  A field that is not within the first "size" bytes is absent. */
typedef struct Fields
{
	unsigned char bytes[VMCLOCK_SIZE];
	size_t		size;
} Fields;

static bool
has(const Fields *fields, size_t offset, size_t length)
{
	return offset + length <= fields->size;
}

static uint64_t
number(const Fields *fields, size_t offset, size_t length)
{
	uint64_t	value = 0;

	while (length-- > 0)
		value = value << 8 | fields->bytes[offset + length];
	return value;
}

/*
 * Decodes the counter's period and its error.  All three are multiples of 2^-(64 + shift) s, so the
 * ratio of an error to the period needs no shift.  A period of 0 is none: Firecracker states no
 * counter and no period.
 */
static void
decode_period(const Fields *fields, uint64_t flags, VmClock *clock)
{
	uint64_t	period;

	if (!has(fields, AT_PERIOD, 8) || (period = number(fields, AT_PERIOD, 8)) == 0)
		return;
	clock->hz = ldexp(1 / (double) period, 64 + (int) number(fields, AT_SHIFT, 1));
	if ((flags & FLAG_PERIOD_ERROR) != 0 && has(fields, AT_PERIOD_ERROR, 8))
		clock->hz_error_ppm = (double) number(fields, AT_PERIOD_ERROR, 8) / (double) period * 1e6;
	if ((flags & FLAG_PERIOD_BOUND) != 0 && has(fields, AT_PERIOD_BOUND, 8))
		clock->hz_bound_ppm = (double) number(fields, AT_PERIOD_BOUND, 8) / (double) period * 1e6;
}

static void
refuse(VmClock *clock, VmClockState state, const char *reason)
{
	clock->state = state;
	snprintf(clock->why_not, sizeof(clock->why_not), "%s", reason);
}

/* Checks the constant fields; returns whether the other ones can be decoded. */
static bool
check_format(Fields *fields, VmClock *clock)
{
	uint64_t	version;

	if (!has(fields, AT_MAGIC, 4) || number(fields, AT_MAGIC, 4) != MAGIC)
	{
		refuse(clock, VMCLOCK_INVALID, "its magic number is not that of VMClock");
		return false;
	}
	if (fields->size >= AT_SIZE + 4)
		clock->size = (uint32_t) number(fields, AT_SIZE, 4);
	if (clock->size < fields->size)
		fields->size = clock->size;
	if (fields->size < LEAST_SIZE)
	{
		snprintf(clock->why_not, sizeof(clock->why_not),
				 "it has %zu bytes, at least %d are necessary", fields->size, LEAST_SIZE);
		clock->state = VMCLOCK_INVALID;
		return false;
	}
	version = number(fields, AT_VERSION, 2);
	if (version != VERSION)
	{
		snprintf(clock->why_not, sizeof(clock->why_not),
				 "its version is %d, known is %d", (int) version, VERSION);
		clock->state = VMCLOCK_INVALID;
		return false;
	}
	return true;
}

/* Reads each field at its offset, if the device has it. */
static void
decode(const Fields *fields, VmClock *clock)
{
	uint64_t	flags = number(fields, AT_FLAGS, 8);
	uint64_t	counter = number(fields, AT_COUNTER, 1);

	clock->state = VMCLOCK_READ;
	clock->disruption_marker = number(fields, AT_MARKER, 8);
	clock->announced = (flags & FLAG_IMMINENT) != 0 ? VMCLOCK_IMMINENT :
		(flags & FLAG_SOON) != 0 ? VMCLOCK_SOON : VMCLOCK_NONE_ANNOUNCED;
	clock->counter = counter == 0 ? VMCLOCK_ARM : counter == 1 ? VMCLOCK_TSC : VMCLOCK_NO_COUNTER;
	clock->has_generation = (flags & FLAG_GENERATION) != 0 && has(fields, AT_GENERATION, 8);
	if (clock->has_generation)
		clock->generation = number(fields, AT_GENERATION, 8);
	if (has(fields, AT_STATUS, 1))
	{
		uint64_t	status = number(fields, AT_STATUS, 1);

		if (status < sizeof(status_names) / sizeof(status_names[0]))
			clock->status = status_names[status];
	}
	decode_period(fields, flags, clock);
}

/*
 * A copy is torn if the sequence number is odd, or has changed meanwhile.  The sequence number is
 * compared only after the constant fields: without a valid magic number, it means nothing.
 */
void
vmclock_read_by(VmClockCopy copy, void *arg, VmClock *clock)
{
	memset(clock, 0, sizeof(*clock));
	clock->hz = clock->hz_error_ppm = clock->hz_bound_ppm = NAN;
	for (int i = 0; i < TRIES; i++)
	{
		Fields		fields = {.size = 0};
		uint32_t	after = 1;
		long		size = copy(arg, fields.bytes, sizeof(fields.bytes), &after);

		if (size < 0 && errno == ETIMEDOUT)
			break;				/* the driver has already tried for 0.1 s */
		if (size < 0)
		{
			refuse(clock, errno == ENOENT || errno == ENODEV || errno == ENXIO ?
				   VMCLOCK_ABSENT : VMCLOCK_UNREADABLE, strerror(errno));
			return;
		}
		fields.size = (size_t) size;
		if (!check_format(&fields, clock))
			return;
		if ((after & 1) == 0 && number(&fields, AT_SEQUENCE, 4) == after)
		{
			decode(&fields, clock);
			return;
		}
	}
	refuse(clock, VMCLOCK_BUSY, "the hypervisor updates it all the time");
}

/*
 * Linux's driver copies between two updates, but a plain file may change meanwhile.  So this reads
 * the sequence number before and after everything else.  A system call may not order readings.
 */
static long
copy_file(void *arg, unsigned char *bytes, size_t size, uint32_t *sequence)
{
	int			fd = *(int *) arg;
	unsigned char before[4];
	Fields		after = {.size = 4};
	bool		has_before = pread(fd, before, sizeof(before), AT_SEQUENCE) == sizeof(before);
	long		n;

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	n = pread(fd, bytes, size, 0);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (has_before && n >= AT_SEQUENCE + 4 && pread(fd, after.bytes, 4, AT_SEQUENCE) == 4)
	{
		memcpy(bytes + AT_SEQUENCE, before, sizeof(before));
		*sequence = (uint32_t) number(&after, 0, 4);
	}
	return n;
}

void
vmclock_read(const char *path, VmClock *clock)
{
	int			fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int			error = errno;

	if (fd < 0)
	{
		memset(clock, 0, sizeof(*clock));
		clock->hz = clock->hz_error_ppm = clock->hz_bound_ppm = NAN;
		refuse(clock, error == ENOENT ? VMCLOCK_ABSENT : VMCLOCK_UNREADABLE, strerror(error));
		return;
	}
	vmclock_read_by(copy_file, &fd, clock);
	(void) close(fd);
}

VmClockMarks
vmclock_marks(const VmClock *clock)
{
	VmClockMarks marks = {.known = false};

	if (clock->state == VMCLOCK_READ)
	{
		marks.known = true;
		marks.disruption_marker = clock->disruption_marker;
		marks.has_generation = clock->has_generation;
		marks.generation = clock->generation;
	}
	return marks;
}

double
vmclock_hz(const VmClock *clock)
{
#if defined(CLOCKTIMING_HAVE_ARM_COUNTER)
	return clock->state == VMCLOCK_READ && clock->counter == VMCLOCK_ARM ? clock->hz : NAN;
#elif defined(CLOCKTIMING_HAVE_TSC)
	return clock->state == VMCLOCK_READ && clock->counter == VMCLOCK_TSC ? clock->hz : NAN;
#else
	(void) clock;
	return NAN;
#endif
}
