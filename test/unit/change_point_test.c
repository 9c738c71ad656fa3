/*
 * change_point_test: change_point.c must detect each change of a server's cost of reading its clock
 * soon, once, and with its size.  Without a change, it must detect none.  Servers are simulated.  A
 * server measures its cost in several observations per interval of 10 s.  The smallest of these
 * measurements is the interval's value, which change_point.c gets.
 */
#include <math.h>
#include <string.h>

#include "clock/sampling/change_point.h"
#include "core/random.h"
#include "tap.h"

#define YEAR	3153600			/* number of intervals of 10 s in a year */
#define SAMPLES	5				/* observations in an interval */
#define BLOCKS	6				/* measurements in an observation */

static uint64_t state;
static ChangePoint point;

static double
uniform(void)
{
	return (double) (random_next(&state) >> 11) / 9007199254740992.0;
}

/*
 * A simulated server.  An undisturbed measurement is equal to the cost of a reading.  The
 * properties say how measurements are disturbed.
 */
typedef struct Server
{
	const char *name;
	double		deviation;		/* relative standard deviation of measurements */
	double		tail;			/* probability of a Pareto distributed factor */
	double		stolen;			/* probability that a measurement loses a time slice of 4 ms */
	double		busy;			/* share of the time with busy neighbours */
	double		slowed;			/* share of the observations that busy neighbours slow down */
	double		wander;			/* amplitude of slow changes of the frequency */
	bool		neighbours;		/* neighbours are busy at present */
} Server;

static double
interval(Server *server, double cost, long i)
{
	double		least = INFINITY;
	double		frequency = 1 + server->wander * sin(i * 2 * M_PI / 8640);

	/* Busy times last for 5 minutes on average. */
	if (server->neighbours ? uniform() < 1 / 30.0 :
		uniform() < server->busy / (1 - server->busy) / 30)
		server->neighbours = !server->neighbours;
	for (int sample = 0; sample < SAMPLES; sample++)
	{
		bool		slow = server->neighbours && uniform() < server->slowed;
		double		factor = slow ? 1.3 + 0.7 * uniform() : 1;

		for (int block = 0; block < BLOCKS; block++)
		{
			double		x = cost * factor * frequency *
				(1 + server->deviation * random_exponential(&state));

			if (uniform() < server->tail)
				x /= pow(uniform(), 1 / 1.2);
			if (uniform() < server->stolen)
				x += 4e6 / 1000;
			least = fmin(least, x);
		}
	}
	return least;
}

static Server calm = {"calm", 0.02, 0.001, 0.001, 0, 0, 0.01, false};
static Server noisy = {"noisy", 0.1, 0.3, 0.2, 0.3, 0.6, 0.08, false};

static void
start(uint64_t seed)
{
	state = seed;
	memset(&point, 0, sizeof(point));
	calm.neighbours = noisy.neighbours = false;
}

static int
events(Server *server, long n)
{
	int			count = 0;
	Change		change;

	for (long i = 0; i < n; i++)
	{
		if (change_point_add(&point, interval(server, 30, i), &change) && change.began)
			count++;
	}
	return count;
}

static void
test_nothing(void)
{
	int			n;

	for (int seed = 1; seed <= 3; seed++)
	{
		start(seed);
		n = events(&calm, 100000);
		ok(n == 0, "a calm server, 100,000 intervals: %d false events", n);
	}
	start(7);
	n = events(&noisy, YEAR);
	ok(n <= 1, "a noisy server, a year: %d false events", n);

	/*
	 * Every 20th value is 101 times as high as the other values, which are all equal.
	 */
	start(9);
	n = 0;
	for (int i = 0; i < 100000; i++)
	{
		Change		change;

		n += change_point_add(&point, i % 2 ? 30 : 30 * (1 + 100 * (i % 20 == 0)), &change);
	}
	ok(n == 0, "a single high value is no event: %d events", n);

	/* A cost that rises by 15 % is no change, however long it lasts. */
	start(10);
	n = events(&calm, 1000);
	for (int i = 0; i < 5000; i++)
	{
		Change		change;

		n += change_point_add(&point, interval(&calm, 30 * 1.15, i), &change);
	}
	ok(n == 0, "a cost that is 15 %% higher is no event: %d events", n);

	start(11);
	{
		static const double odd[] = {0, -1, NAN, INFINITY};
		Change		change;

		(void) events(&calm, 100);
		n = 0;
		for (int i = 0; i < 400; i++)
			n += change_point_add(&point, odd[i % 4], &change);
		ok(n == 0 && fabs(exp(point.level) - 30) < 1, "values that are zero, negative, NaN or infinite are ignored");
	}
}

/*
 * Simulates a change of the cost by a factor.  It begins after "settled" intervals and lasts for
 * "lasts" intervals.
 */
static void
test_change(Server *server, double factor, int settled, int lasts, int within, double tolerance,
			uint64_t seed)
{
	int			began_at = -1,
				ended_at = -1,
				began = 0,
				ended = 0;
	Change		change;
	double		before = 0,
				after = 0;

	start(seed);
	for (int i = 0; i < settled + 2 * lasts; i++)
	{
		bool		high = i >= settled && i < settled + lasts;

		if (!change_point_add(&point, interval(server, high ? 30 * factor : 30, i), &change))
			continue;
		if (change.began)
		{
			began++;
			began_at = i - settled + 1;
			before = change.before;
			after = change.after;
		}
		if (change.ended)
		{
			ended++;
			ended_at = i - settled - lasts + 1;
		}
	}
	ok(began == 1 && began_at > 0 && began_at <= within,
	   "%s, %g times after %d: one event (%d), after %d intervals", server->name, factor, settled, began, began_at);
	ok(fabs(after / before / factor - 1) < tolerance, "the event's size is right: from %.1f to %.1f", before, after);
	ok(ended == 1 && ended_at > 0 && ended_at <= within, "the event ends once (%d), after %d intervals", ended, ended_at);
}

static void
test_between_changes(void)
{
	static const double costs[] = {30, 300, 150, 30, 3, 30};
	Change		change;
	double		before[3] = {0};
	int			began = 0,
				ended = 0;

	start(77);
	for (int i = 0; i < 600; i++)
	{
		if (!change_point_add(&point, interval(&calm, costs[i / 100], i), &change))
			continue;
		if (change.began && began < 3)
			before[began] = change.before;
		began += change.began;
		ended += change.ended;
	}
	for (int i = 0; i < 3; i++)
		ok(fabs(before[i] / 30 - 1) < 0.1, "event %d began from the normal level: %.1f", i + 1, before[i]);
	ok(began == 3 && ended == 3, "10 times, 5 times, normal, a tenth, normal: %d events, %d ends", began, ended);
	ok(!point.changed, "no change is active at the end");
}

/*
 * The level is learnt while other work raises the values by a third; then they are ten times as
 * high.  They return to their true level, below the learnt one: the event ends, and no other
 * begins.
 */
static void
test_back_below_normal(void)
{
	static const double costs[] = {40, 400, 30, 400, 30};
	Change		change;
	int			began = 0,
				ended = 0;

	start(78);
	for (int i = 0; i < 500; i++)
	{
		if (!change_point_add(&point, interval(&calm, costs[i / 100], i), &change))
			continue;
		began += change.began;
		ended += change.ended;
	}
	ok(began == 2 && ended == 2 && !point.changed, "back below the normal level: %d events, %d ends", began, ended);
}

/*
 * Tests that the end of a change is detected although one of the two values that show the end is
 * too high or too low by up to 25 %.  Two values that are both too high are another change.
 */
static void
test_back_with_noise(void)
{
	static const double back[][2] = {{174, 218}, {218, 174}, {174, 140}, {140, 174}, {218, 218}};

	for (int i = 0; i < 5; i++)
	{
		Change		change;

		start(1);
		for (int k = 0; k < 20; k++)
			(void) change_point_add(&point, 174, &change);
		for (int k = 0; k < 5; k++)
			(void) change_point_add(&point, 3047, &change);
		(void) change_point_add(&point, back[i][0], &change);
		(void) change_point_add(&point, back[i][1], &change);
		ok(change.ended && change.began == (i == 4), "back from 3047 by %g and %g: %s", back[i][0], back[i][1],
		   i < 4 ? "the event ends, and no other begins" : "the event ends, and another one begins");
	}
}

int
main(void)
{
	static const int settled[] = {6, 20, 1000, 50000};

	test_nothing();
	for (int i = 0; i < 4; i++)
	{
		test_change(&calm, 10, settled[i], 200, 2, 0.1, 100 + i);
		test_change(&calm, 18, settled[i], 200, 2, 0.1, 200 + i);
		test_change(&calm, 0.1, settled[i], 200, 2, 0.1, 250 + i);
		test_change(&calm, 1.3, settled[i], 200, 20, 0.1, 300 + i);
		test_change(&calm, 1 / 1.3, settled[i], 200, 20, 0.1, 400 + i);
		test_change(&noisy, 10, settled[i], 200, 2, 0.25, 500 + i);
		test_change(&noisy, 2, settled[i], 200, 8, 0.25, 600 + i);
	}
	test_between_changes();
	test_back_below_normal();
	test_back_with_noise();
	return done();
}
