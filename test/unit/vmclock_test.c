/*
 * vmclock_test: decodes devices in the format of Linux's struct vmclock_abi: complete ones, ones
 * without some of the fields, invalid ones, and ones that change while they are read.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/vmclock.h"
#include "tap.h"

#define HZ			2600000000.0
#define FULL_FLAGS	(1 << 3 | 1 << 4 | 1 << 8)

static unsigned char device[4096];

static void
put(size_t offset, size_t length, uint64_t value)
{
	while (length-- > 0)
	{
		device[offset++] = (unsigned char) value;
		value >>= 8;
	}
}

/* Writes a complete device: 2.6 GHz to within 2 ppm, estimated error 0.5 ppm. */
static void
fill(void)
{
	/* the period in units of 2^-(64 + 30) s */
	uint64_t	period = (uint64_t) ldexp(1 / HZ, 94);

	memset(device, 0, sizeof(device));
	put(0, 4, 0x4b4c4356);
	put(4, 4, 4096);
	put(8, 2, 1);
	put(10, 1, 1);
	put(12, 4, 40);
	put(16, 8, UINT64_C(0x1122334455667788));
	put(24, 8, FULL_FLAGS);
	put(34, 1, 2);
	put(39, 1, 30);
	put(48, 8, period);
	put(56, 8, (uint64_t) ((double) period * 0.5e-6));
	put(64, 8, (uint64_t) ((double) period * 2e-6));
	put(104, 8, 7);
}

/* A device that is updated during the first "torn" copies. */
typedef struct Source
{
	int			torn;			/* copies that are torn */
	bool		odd;			/* the sequence number is odd meanwhile; else it changes */
	int			copies;			/* copies so far */
	int			error;			/* errno, or 0 */
	size_t		size;			/* readable bytes */
} Source;

static long
copy(void *arg, unsigned char *bytes, size_t size, uint32_t *sequence)
{
	Source	   *source = arg;
	bool		torn = source->copies++ < source->torn;

	if (source->error != 0)
	{
		errno = source->error;
		return -1;
	}
	if (size > source->size)
		size = source->size;
	memcpy(bytes, device, size);
	*sequence = device[12];
	if (torn)
	{
		/* the marker is being written */
		memset(bytes + 16, 0xee, size > 24 ? 8 : 0);
		if (source->odd)
			bytes[12] = (unsigned char) ++*sequence;
		else
			*sequence += 2;
	}
	return (long) size;
}

static VmClock
read_from(Source source)
{
	VmClock		clock;

	if (source.size == 0)
		source.size = sizeof(device);
	vmclock_read_by(copy, &source, &clock);
	return clock;
}

static void
test_complete(void)
{
	VmClock		clock;

	fill();
	clock = read_from((Source) {0});
	ok(clock.state == VMCLOCK_READ && clock.size == 4096, "a complete device");
	ok(clock.disruption_marker == UINT64_C(0x1122334455667788), "marker");
	ok(clock.has_generation && clock.generation == 7, "generation");
	ok(clock.counter == VMCLOCK_TSC, "counter");
	ok(clock.status != NULL && strcmp(clock.status, "synchronized") == 0, "status");
	ok(fabs(clock.hz / HZ - 1) < 1e-12, "frequency: %.6f", clock.hz);
	ok(fabs(clock.hz_error_ppm - 0.5) < 1e-6, "estimated error: %g ppm", clock.hz_error_ppm);
	ok(fabs(clock.hz_bound_ppm - 2) < 1e-6, "largest error: %g ppm", clock.hz_bound_ppm);
	ok(clock.announced == VMCLOCK_NONE_ANNOUNCED, "nothing announced");
	put(24, 8, FULL_FLAGS | 1 << 1);
	ok(read_from((Source) {0}).announced == VMCLOCK_SOON, "announced: in a day");
	put(24, 8, FULL_FLAGS | 1 << 1 | 1 << 2);
	ok(read_from((Source) {0}).announced == VMCLOCK_IMMINENT, "announced: in an hour");

	/* other shifts state the same frequency */
	for (int shift = 0; shift <= 31; shift += 31)
	{
		fill();
		put(39, 1, (uint64_t) shift);
		put(48, 8, (uint64_t) ldexp(1 / HZ, 64 + shift));
		clock = read_from((Source) {0});
		ok(fabs(clock.hz / HZ - 1) < (shift == 0 ? 1e-9 : 1e-12), "shift %d: %.3f", shift, clock.hz);
	}
	fill();
	put(39, 1, 255);
	put(48, 8, UINT64_MAX);
	ok(isfinite(read_from((Source) {0}).hz), "extreme period");

	/* unknown values */
	fill();
	put(10, 1, 0);
	ok(read_from((Source) {0}).counter == VMCLOCK_ARM, "counter of Arm");
	put(10, 1, 2);
	ok(read_from((Source) {0}).counter == VMCLOCK_NO_COUNTER, "unknown counter");
	put(34, 1, 5);
	ok(read_from((Source) {0}).status == NULL, "unknown status");
}

/* Cuts the device after each number of bytes, by its stated size and by its readable size. */
static void
test_sizes(void)
{
	for (int stated = 0; stated < 2; stated++)
	{
		bool		good = true;

		for (size_t size = 0; size <= VMCLOCK_SIZE; size++)
		{
			VmClock		clock;
			Source		source = {.size = stated || size == 0 ? sizeof(device) : size};

			fill();
			if (stated || size == 0)
				put(4, 4, size);
			clock = read_from(source);
			if (size < 32)
				good = good && clock.state == VMCLOCK_INVALID && clock.why_not[0] != '\0';
			else
				good = good && clock.state == VMCLOCK_READ &&
					clock.disruption_marker == UINT64_C(0x1122334455667788) &&
					(clock.status != NULL) == (size >= 35) &&
					isnan(clock.hz) == (size < 56) && isnan(clock.hz_error_ppm) == (size < 64) &&
					isnan(clock.hz_bound_ppm) == (size < 72) &&
					clock.has_generation == (size >= 112);
			if (!good)
			{
				printf("# size %zu\n", size);
				break;
			}
		}
		ok(good, "each number of bytes, %s", stated ? "stated" : "readable");
	}
	fill();
	put(4, 4, UINT32_MAX);
	ok(read_from((Source) {0}).state == VMCLOCK_READ, "a huge size");
}

static void
test_flags(void)
{
	VmClock		clock;

	fill();
	put(24, 8, 0);
	clock = read_from((Source) {0});
	ok(clock.state == VMCLOCK_READ && !clock.has_generation && isnan(clock.hz_error_ppm) &&
	   isnan(clock.hz_bound_ppm) && !isnan(clock.hz), "flags state which fields are valid");

	/* as Firecracker: no counter, no period, no status */
	fill();
	put(10, 1, 0xff);
	put(24, 8, 1 << 8 | 1 << 9);
	put(34, 1, 0);
	memset(device + 39, 0, 64);
	clock = read_from((Source) {0});
	ok(clock.state == VMCLOCK_READ && clock.has_generation && clock.generation == 7 &&
	   clock.counter == VMCLOCK_NO_COUNTER && isnan(clock.hz) && isnan(vmclock_hz(&clock)) &&
	   clock.status == NULL, "marker and generation only");
}

static void
test_invalid(void)
{
	VmClock		clock;

	fill();
	put(0, 4, 0x4b4c4357);
	clock = read_from((Source) {0});
	ok(clock.state == VMCLOCK_INVALID && strstr(clock.why_not, "magic") != NULL, "magic: %s",
	   clock.why_not);
	fill();
	put(8, 2, 2);
	clock = read_from((Source) {0});
	ok(clock.state == VMCLOCK_INVALID && strstr(clock.why_not, "version is 2") != NULL,
	   "version: %s", clock.why_not);
	fill();
	clock = read_from((Source) {.error = EACCES});
	ok(clock.state == VMCLOCK_UNREADABLE && clock.why_not[0] != '\0', "error: %s", clock.why_not);
	ok(read_from((Source) {.error = ENODEV}).state == VMCLOCK_ABSENT, "removed device");
	vmclock_read("/nonexistent/vmclock", &clock);
	ok(clock.state == VMCLOCK_ABSENT && isnan(clock.hz), "absent: %s", clock.why_not);
	vmclock_read("/", &clock);
	ok(clock.state == VMCLOCK_UNREADABLE, "a directory: %s", clock.why_not);
	vmclock_read("/dev/null", &clock);
	ok(clock.state == VMCLOCK_INVALID, "an empty file: %s", clock.why_not);
}

static void
test_torn(void)
{
	for (int odd = 0; odd < 2; odd++)
	{
		Source		source = {.torn = 3,.odd = odd,.size = sizeof(device)};
		VmClock		clock;

		fill();
		vmclock_read_by(copy, &source, &clock);
		ok(clock.state == VMCLOCK_READ && source.copies == 4 &&
		   clock.disruption_marker == UINT64_C(0x1122334455667788), "three torn copies, %s", odd ?
		   "odd sequence number" : "changed sequence number");
		source.copies = 0;
		source.torn = 1000000;
		vmclock_read_by(copy, &source, &clock);
		ok(clock.state == VMCLOCK_BUSY && source.copies < 100, "gives up after %d torn copies",
		   source.copies);
	}
	{
		Source		source = {.error = ETIMEDOUT,.size = sizeof(device)};
		VmClock		clock;

		vmclock_read_by(copy, &source, &clock);
		ok(clock.state == VMCLOCK_BUSY && source.copies == 1, "the driver's timeout ends it");
	}
}

static atomic_bool stop;

/* Updates a mapped device all the time: marker and generation are equal after each update. */
static void *
update(void *arg)
{
	volatile unsigned char *mapped = arg;

	for (uint64_t i = 1; !stop; i++)
	{
		_Atomic uint32_t *sequence = (_Atomic uint32_t *) (mapped + 12);

		atomic_fetch_add(sequence, 1);
		for (int k = 0; k < 8; k++)
			mapped[16 + k] = (unsigned char) (i >> (8 * k));
		/* so long that many copies are torn */
		for (volatile int pause = 0; pause < 1000; pause++)
			;
		for (int k = 0; k < 8; k++)
			mapped[104 + k] = (unsigned char) (i >> (8 * k));
		atomic_fetch_add(sequence, 1);
		for (volatile int pause = 0; pause < (i % 8 == 0 ? 30000 : 300); pause++)
			;
	}
	return NULL;
}

/* Reads a file while another thread updates it. */
static void
test_concurrent(void)
{
	char		path[] = "/tmp/vmclock_test_XXXXXX";
	int			fd = mkstemp(path);
	void	   *mapped;
	pthread_t	thread;
	int			complete = 0;
	int			mixed = 0;
	VmClock		clock;

	fill();
	put(16, 8, 0);
	put(104, 8, 0);
	if (fd < 0 || write(fd, device, sizeof(device)) != (ssize_t) sizeof(device))
	{
		ok(false, "temporary file");
		return;
	}
	mapped = mmap(NULL, sizeof(device), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	pthread_create(&thread, NULL, update, mapped);
	for (int i = 0; complete < 10000 && i < 1000000; i++)
	{
		vmclock_read(path, &clock);
		complete += clock.state == VMCLOCK_READ;
		mixed += clock.state == VMCLOCK_READ && clock.disruption_marker != clock.generation;
	}
	stop = true;
	pthread_join(thread, NULL);
	ok(complete == 10000 && mixed == 0, "%d complete copies, %d of them mixed", complete, mixed);
	munmap(mapped, sizeof(device));
	(void) chmod(path, 0);
	vmclock_read(path, &clock);
	ok(clock.state == (geteuid() == 0 ? VMCLOCK_READ : VMCLOCK_UNREADABLE), "permissions");
	close(fd);
	unlink(path);
}

int
main(void)
{
	test_complete();
	test_sizes();
	test_flags();
	test_invalid();
	test_torn();
	test_concurrent();
	return done();
}
