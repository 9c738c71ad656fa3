/*-------------------------------------------------------------------------
 *
 * full_shm.c
 *	  For LD_PRELOAD: makes posix_fallocate() fail for small requests, as if /dev/shm were full.
 *
 * The environment variable FULL_SHM_CONTROL names the control file (see shim.h).  Small requests
 * fail with the error in the only word of this file, unless it is 0.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "shim.h"

/*
 * Requests of at least this number of bytes succeed.  These include the server's own requests for
 * parallel queries, whose segments contain tuple queues.
 */
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
		return (int) control[0];
	if (real == NULL)
		*(void **) &real = dlsym(RTLD_NEXT, "posix_fallocate");
	return real(fd, offset, size);
}

int
posix_fallocate64(int fd, off64_t offset, off64_t size)
{
	return posix_fallocate(fd, (off_t) offset, (off_t) size);
}
