/*-------------------------------------------------------------------------
 *
 * slow_clock.c
 *	  For LD_PRELOAD: a clock_gettime() that is a real system call, as where the
 *	  kernel's clock source cannot be read in user space.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	return (int) syscall(SYS_clock_gettime, id, ts);
}
