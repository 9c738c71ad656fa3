/*
 * simulated_process.h: a simulated process and a simulated sampler.  The process is a sequence of
 * pieces of time.  In each of them it works at one node, is in one wait event, or has lost its CPU.
 */
#ifndef SIMULATED_PROCESS_H
#define SIMULATED_PROCESS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "plan/estimate/sample_sums.h"

#define NUMBERS		8
#define WAITS		8
#define MOST_PIECES	60000

/* Time at which each process begins, in ns. */
#define BEGIN_NS	1000000000

typedef struct Piece
{
	uint32_t	number;
	uint32_t	event;
	bool		off;			/* the process has lost its CPU */
	double		ns;
} Piece;

typedef struct Process
{
	int			npieces;
	Piece		pieces[MOST_PIECES];
	double		run_ns;
	double		cpu_ns;
	SampleSums	truth[NUMBERS]; /* true times by number */
} Process;

typedef struct Sampler
{
	double		interval_ns;	/* mean time between samples */
	double		tick_ns;		/* time between the kernel's updates of the CPU time; 0: none */
	double		stop_every_ns;	/* mean time between losses of the sampler's CPU; 0: never */
	double		stop_ns;		/* mean length of a loss */
	double		period_ns;		/* of a limit of the CPU time; 0: none */
} Sampler;

/* What the sampler has found. */
typedef struct Sampled
{
	SampleSums	sums[NUMBERS];
	SampleWait	waits[WAITS];
	double		squares;
	double		samples;
	SampleState	state;
} Sampled;

static inline double
uniform(uint64_t *random)
{
	return (double) (random_next(random) >> 11) / 9007199254740992.0;
}

/* Returns a number with a lognormal distribution with mean 1. */
static inline double
random_lognormal(uint64_t *random, double sigma)
{
	double		radius = sqrt(2 * random_exponential(random));

	return exp(sigma * radius * cos(2 * 3.14159265358979 * uniform(random)) - sigma * sigma / 2);
}

static inline void
process_clear(Process *p)
{
	p->npieces = 0;
	p->run_ns = p->cpu_ns = 0;
	memset(p->truth, 0, sizeof(p->truth));
}

static inline void
process_add(Process *p, Piece piece)
{
	SampleSums   *truth = &p->truth[piece.number];

	if (p->npieces == MOST_PIECES)
		abort();
	p->pieces[p->npieces++] = piece;
	p->run_ns += piece.ns;
	if (piece.event != 0)
		truth->wait_ns += piece.ns;
	else if (piece.off)
		truth->cpu_wait_ns += piece.ns;
	else
	{
		truth->cpu_ns += piece.ns;
		p->cpu_ns += piece.ns;
	}
}

static inline void
process_work(Process *p, uint32_t number, double ns)
{
	process_add(p, (Piece) {.number = number,.ns = ns});
}

static inline void
process_wait(Process *p, uint32_t number, uint32_t event, double ns)
{
	process_add(p, (Piece) {.number = number,.event = event,.ns = ns});
}

static inline void
process_lose_cpu(Process *p, uint32_t number, double ns)
{
	process_add(p, (Piece) {.number = number,.off = true,.ns = ns});
}

/* When a process loses its CPU. */
typedef struct Losses
{
	double		every_ns;		/* mean time of work between two losses */
	double		mean_ns;		/* mean length of a loss */
	double		period_ns;		/* not 0: as by the limit of a container, after some
								 * milliseconds of each period until its end */
} Losses;

static inline double
work_until_loss(const Losses *losses, uint64_t *random)
{
	return losses->period_ns > 0 ? losses->period_ns * (0.04 + 0.06 * uniform(random)) :
		losses->every_ns * random_exponential(random);
}

static inline double
length_of_loss(const Losses *losses, double now, uint64_t *random)
{
	return losses->period_ns > 0 ? (floor(now / losses->period_ns) + 1) * losses->period_ns - now :
		losses->mean_ns * random_exponential(random);
}

/* Lets a process lose its CPU outside of its wait events. */
static inline void
process_disturb(Process *p, const Losses *losses, uint64_t *random)
{
	static Process from;
	double		next = work_until_loss(losses, random);

	from = *p;
	process_clear(p);
	for (int i = 0; i < from.npieces; i++)
	{
		Piece		piece = from.pieces[i];

		while (piece.event == 0 && next < piece.ns)
		{
			process_work(p, piece.number, next);
			process_lose_cpu(p, piece.number, length_of_loss(losses, p->run_ns, random));
			piece.ns -= next;
			next = work_until_loss(losses, random);
		}
		if (piece.event == 0)
			next -= piece.ns;
		process_add(p, piece);
	}
}

static inline SampleTable
table_of(Sampled *s, uint32_t nsums, uint32_t nwaits)
{
	return (SampleTable)
	{
		.sums = s->sums,.nsums = nsums,.waits = s->waits,.nwaits = nwaits,.squares = &s->squares
	};
}

/* Returns the time of the sample after one at "now".  *stop is the next loss of the sampler's CPU. */
static inline double
next_sample(const Sampler *sampler, double now, double *stop, uint64_t *random)
{
	double		next = now + sampler->interval_ns * (0.5 + uniform(random));

	if (sampler->stop_every_ns > 0 && next > *stop)
	{
		next = fmax(next, *stop + sampler->stop_ns * random_exponential(random));
		*stop = next + sampler->stop_every_ns * random_exponential(random);
	}
	/* it is stopped up to 4 ms before or after the process, and goes on up to 4 ms after it */
	if (sampler->period_ns > 0 && fmod(next, sampler->period_ns) > *stop)
	{
		next = (floor(next / sampler->period_ns) + 1) * sampler->period_ns;
		next += sampler->period_ns * 0.04 * uniform(random) * (uniform(random) < 0.5);
		*stop = sampler->period_ns * (0.04 + 0.08 * uniform(random));
	}
	return next;
}

/*
 * Samples a process from its beginning to its end.  As in Linux, the kernel updates the CPU time at
 * ticks and when the process leaves the CPU.
 */
static inline void
sample_process(const Process *p, const Sampler *sampler, Sampled *s, uint64_t *random)
{
	SampleTable	table = table_of(s, NUMBERS, WAITS);
	double		begin = 0;		/* of the piece */
	double		cpu_begin = 0;
	double		kernel_cpu = 0;
	double		stop = sampler->period_ns > 0 ? 0.07 * sampler->period_ns :
		sampler->stop_every_ns * random_exponential(random);
	double		first_tick = sampler->tick_ns * uniform(random);
	/* as random as the rest of an interval */
	double		next = next_sample(sampler, -sampler->interval_ns * uniform(random), &stop, random);

	if (next < 0)
		next = next_sample(sampler, next, &stop, random);
	memset(s, 0, sizeof(*s));
	sample_begin(&s->state, BEGIN_NS, 0, sampler->interval_ns / 2);
	for (int i = 0; i < p->npieces; i++)
	{
		const Piece *piece = &p->pieces[i];
		bool		on = piece->event == 0 && !piece->off;
		double		end = begin + piece->ns;

		if (!on)
			kernel_cpu = cpu_begin;
		for (double now = fmin(next, end);; now = fmin(next, end))
		{
			double		tick = sampler->tick_ns <= 0 ? now :
				floor((now - first_tick) / sampler->tick_ns) * sampler->tick_ns + first_tick;

			if (on && tick > begin)
				kernel_cpu = cpu_begin + tick - begin;
			if (next >= end)
				break;
			sample_add(&s->state, &table,
					 &(Sample) {BEGIN_NS + (uint64_t) now, (uint64_t) kernel_cpu, piece->number,
						piece->event});
			s->samples++;
			next = next_sample(sampler, now, &stop, random);
		}
		begin = end;
		cpu_begin += on ? piece->ns : 0;
	}
}

#endif							/* SIMULATED_PROCESS_H */
