/*-------------------------------------------------------------------------
 *
 * full_shm.c
 *	  For LD_PRELOAD: a posix_fallocate() that finds no space for small requests, as if /dev/shm
 *	  were full after the server's own large ones.
 *
 * The first word of the control file, FULL_SHM_CONTROL, switches it on.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <errno.h>

#include "shim.h"

/* Tuple queues of a parallel query are larger. */
#define FEW_BYTES	65536

__attribute__((constructor))
static void
start(void)
{
	map_control("FULL_SHM_CONTROL", 1);
}

#undef posix_fallocate
#undef posix_fallocate64

int
posix_fallocate(int fd, off_t offset, off_t size)
{
	static int	(*real) (int, off_t, off_t);

	if (control != NULL && control[0] != 0 && size < FEW_BYTES)
		return ENOSPC;
	if (real == NULL)
		*(void **) &real = dlsym(RTLD_NEXT, "posix_fallocate");
	return real(fd, offset, size);
}

int
posix_fallocate64(int fd, off64_t offset, off64_t size)
{
	return posix_fallocate(fd, (off_t) offset, (off_t) size);
}
