#include <math.h>
#include <stddef.h>

#include "core/counter_frequency.h"
#include "core/reading_fence.h"
#include "core/reference.h"

#define CALIBRATION_S		0.05
#define CALIBRATION_TRIES	21
/* larger deviations from the calibration refute a stated frequency */
#define BELIEVED_PPM		100.0

static uint64_t (*counter_read) (void);

/* The fences keep the reading inside its bracket. */
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
