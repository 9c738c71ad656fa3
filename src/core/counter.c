/*
 * A counter is calibrated by two comparisons with the reference clock, CALIBRATION_S apart.  Each
 * comparison is the narrowest of CALIBRATION_TRIES brackets (reference.h).  The reading of the
 * counter was taken at some time within its bracket.  So the time that passed between both readings
 * is known to within half of the sum of the widths, which bounds the error of the frequency:
 * usually a few ppm.
 */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "core/counter.h"
#include "core/reading_fence.h"
#include "core/reference.h"

/*
 * Duration of a calibration in s.  A bracket is some 100 ns wide, so the bound of the frequency's
 * error is then a few ppm, much less than BELIEVED_PPM.
 */
#define CALIBRATION_S		0.05
#define CALIBRATION_TRIES	21	/* brackets at each end of the calibration */
#define BELIEVED_PPM		100.0	/* accepted difference from calibrated_hz */

static uint64_t (*counter_read) (void);

/* Reads the counter.  The fences keep this reading between two readings of the reference. */
static uint64_t
fenced_read(void)
{
	uint64_t	ticks;

	reading_fence();
	ticks = counter_read();
	reading_fence();
	return ticks;
}

static ReferencePair
calibration_pair(uint64_t (*read) (void))
{
	counter_read = read;
	return reference_pair(reference_ns, fenced_read, CALIBRATION_TRIES, 0, NULL, NULL);
}

void
counter_calibrate(CounterFrequency *frequency, uint64_t (*read) (void),
				  void (*wait) (double seconds))
{
	ReferencePair begin = calibration_pair(read);
	ReferencePair end;
	double		left_s;
	double		passed_ns;

	while ((left_s = CALIBRATION_S - (reference_ns() - begin.reference_ns) / 1e9) > 0)
		wait(left_s);
	end = calibration_pair(read);
	passed_ns = (double) (end.reference_ns - begin.reference_ns);
	if ((int64_t) (end.reading - begin.reading) > 0)
	{
		frequency->calibrated_hz = (end.reading - begin.reading) * 1e9 / passed_ns;
		frequency->calibrated_bound_ppm =
			(begin.width_ns + end.width_ns) / 2.0 / passed_ns * 1e6;
	}
}

void
counter_consider(CounterFrequency *frequency, double stated_hz, const char *from)
{
	if (frequency->hz == 0 && stated_hz > 0 &&
		(frequency->calibrated_hz == 0 ||
		 fabs(stated_hz / frequency->calibrated_hz - 1) * 1e6 <= BELIEVED_PPM))
	{
		frequency->hz = stated_hz;
		frequency->from = from;
	}
}

static sigjmp_buf probe_failed;

static void
probe_handler(int signo)
{
	(void) signo;
	siglongjmp(probe_failed, 1);
}

/*
 * Installs handlers for the signals that a forbidden instruction raises, reads the counter, and
 * restores the earlier handlers.  The handler leaves by siglongjmp(), because after a return the
 * processor would execute the instruction again.
 */
bool
probe(Probe *probe)
{
	static const int signals[] = {SIGSEGV, SIGILL, SIGBUS};
	struct sigaction action;
	struct sigaction saved[3];

	if (probe->done)
		return probe->survived;
	probe->done = true;
	memset(&action, 0, sizeof(action));
	action.sa_handler = probe_handler;
	sigemptyset(&action.sa_mask);
	for (int i = 0; i < 3; i++)
		sigaction(signals[i], &action, &saved[i]);
	if (sigsetjmp(probe_failed, 1) == 0)
	{
		(void) probe->read();
		probe->survived = true;
	}
	for (int i = 0; i < 3; i++)
		sigaction(signals[i], &saved[i], NULL);
	return probe->survived;
}
