/*
 * Sums of a sampler's samples of a process.
 *
 * A sample of a process records the time, the CPU time that the process has used, the number of the
 * plan node at work, and the wait event.  A sample stands for the time since the previous sample of
 * the process.
 *
 * Numbers identify plan nodes within a process.  Number 0, SAMPLE_IDLE, means that no observed
 * execution is at work.
 */
#ifndef CLOCKTIMING_SAMPLE_SUMS_H
#define CLOCKTIMING_SAMPLE_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#define SAMPLE_IDLE		0

/* Number of samples before and after a gap among which the time of the gap is divided. */
#define SAMPLE_RING		16

/* Sums of the samples of one number.  Times are in ns, and fill one line of the CPU caches. */
typedef struct SampleSums
{
	double		samples;		/* number of samples */
	double		cpu_ns;			/* on the CPU, without a wait event */
	double		wait_ns;		/* in a wait event */
	double		cpu_wait_ns;	/* neither on the CPU nor in a wait event */
	double		variance;		/* sampling variance of cpu_ns + wait_ns */
	double		unused[3];
} SampleSums;

/* Time of a number in a wait event. */
typedef struct SampleWait
{
	uint32_t	number;			/* SAMPLE_IDLE: unused */
	uint32_t	event;			/* PostgreSQL's wait_event_info */
	double		ns;
} SampleWait;

/* Sums of a process.  The arrays belong to the caller. */
typedef struct SampleTable
{
	SampleSums *sums;			/* indexed by number */
	uint32_t	nsums;
	SampleWait *waits;			/* filled from the beginning */
	uint32_t	nwaits;
	double	   *squares;		/* sum of the samples' squared times, in ns^2 */
} SampleTable;

typedef struct Sample
{
	uint64_t	ns;				/* time of the sample */
	uint64_t	cpu_ns;			/* CPU time of the process at the sample */
	uint32_t	number;
	uint32_t	event;			/* 0: no wait event */
} Sample;

/* Samples in succession at the same number, all with or all without a wait event. */
typedef struct SampleRun
{
	uint32_t	number;
	bool		waits;
	int			gap;			/* index of the gap before a late sample; -1:
								 * none */
	double		ns;				/* time that they stand for */
	double		first_ns;		/* times of the first and the last of them */
	double		last_ns;
	uint32_t	previous;		/* number of the sample before the first;
								 * SAMPLE_IDLE if there is none or if the
								 * first is late */
	bool		follows;		/* the run before it in "runs" is the one
								 * directly before */
} SampleRun;

/*
 * Numbers of runs and of gaps that are kept until the kernel updates the CPU time.  It does so at
 * least at each timer interrupt, which is every 10 ms or more often.  That is 500 samples at the
 * distance SAMPLE_DENSE_NS.  If there are more runs, only the longest one is kept; if there are
 * more gaps, further late samples count as usual ones.
 */
#define SAMPLE_RUNS		512
#define SAMPLE_GAPS		8

/* What a sample has found. */
typedef struct SamplePlace
{
	uint32_t	number;
	uint32_t	event;
} SamplePlace;

/* The latest samples. */
typedef struct SampleRing
{
	uint32_t	n;				/* number of samples, at most SAMPLE_RING */
	uint32_t	next;
	SamplePlace places[SAMPLE_RING];
} SampleRing;

/* The time before a late sample, in which there were no samples. */
typedef struct SampleGap
{
	uint32_t	number;			/* of the late sample */
	double		ns;				/* on the CPU */
	double		off_ns;			/* off the CPU, as far as known */
	bool		known;			/* the kernel has updated the CPU time since,
								 * so off_ns is known */
	uint32_t	before;			/* number of samples before the gap */
	uint32_t	n;				/* number of samples before and after the gap */
	SamplePlace places[2 * SAMPLE_RING];	/* these samples, in order of time */
} SampleGap;

/* State between the samples of a process. */
typedef struct SampleState
{
	uint64_t	ns;				/* time of the latest sample */
	uint64_t	cpu_ns;			/* CPU time, as the kernel stated it then */
	double		head_ns;		/* of sample_begin(), until the first sample */
	uint32_t	number;			/* its number, and the time that it stood for */
	double		weight_ns;
	SampleRing	ring;
	double		mean_ns;		/* running mean of the time between
								 * SAMPLE_RING samples */

	/* samples since the kernel updated the CPU time */
	double		off_ns;			/* time off the CPU that is in no sum yet */
	uint32_t	nruns;
	uint32_t	longest;		/* index of the longest run without a wait */
	SampleRun	runs[SAMPLE_RUNS];
	uint32_t	ngaps;
	SampleGap	gaps[SAMPLE_GAPS];
	bool		gap_is_open;	/* samples after the last gap are missing */
	SampleGap	settled;		/* gap that is in the sums since the latest
								 * update, if its off_ns is not 0 */
} SampleState;

/* Adds samples, multiplied by a factor, to a sum. */
extern void sample_sums_add(SampleSums *sum, const SampleSums *samples, double factor);

/*
 * Begins the samples of an execution, which starts at these times, without earlier samples.  The
 * first sample stands for head_ns more than the time since the start: half of the expected time to
 * the second one.
 */
extern void sample_begin(SampleState *state, uint64_t ns, uint64_t cpu_ns, double head_ns);

/*
 * Adds a sample to the sums.  Ignores numbers outside of the table.  The time since the previous
 * sample counts as wait_ns if the sample has a wait event, else as cpu_ns.  Later samples may move
 * it to cpu_wait_ns, if the process turns out to have been off the CPU.  If the table of waits is
 * full, a wait is missing there.
 */
extern void sample_add(SampleState *state, const SampleTable *table, const Sample *sample);

/*
 * Returns the number of the first samples without a wait event since the kernel updated the CPU
 * time, and in *ns the time that they stand for: the process may have been off the CPU.
 * SAMPLE_IDLE if there are none.  Sets *gaps_ns to the time of gaps since then, which is in no
 * sum.
 */
extern uint32_t sample_pending(const SampleState *state, double *ns, double *gaps_ns);

/* Limits of the time that a sampler spends on an execution. */
typedef struct SamplePace
{
	bool		cpu_is_idle;	/* another CPU is idle, so the sampler may
								 * spin */
	double		sleep_cpu_ns;	/* CPU time of a sample after a sleep */
	double		max_share;		/* limit of the CPU time, as a share of the
								 * time; 0: none */
	int			processes;		/* number of processes that are sampled
								 * together after a sleep */
} SamplePace;

/*
 * Returns the time in ns from now to the next sample of an execution that began elapsed_ns ago.  It
 * is SAMPLE_DENSE_NS at first, and grows so that the sampler uses SAMPLE_DENSE_FOR_NS / elapsed_ns
 * of a CPU.  Without an idle CPU, it is at least SAMPLE_SPARSE_NS, divided by the number of
 * processes up to SAMPLE_TOGETHER.
 */
extern double sample_interval_ns(const SamplePace *pace, double elapsed_ns);

/*
 * Times between samples, in ns: at first, if another CPU is idle; and without an idle CPU.  The
 * first one holds for SAMPLE_DENSE_FOR_NS.  After a sleep, the samples of up to SAMPLE_TOGETHER
 * processes are taken at once.  On a virtual machine, a sample takes 1 us and a wake-up 20 us of
 * CPU time.  So without an idle CPU, the sampler uses 2 % of a CPU for a process, and 8 % for a
 * parallel plan.
 */
#define SAMPLE_DENSE_NS		20e3
#define SAMPLE_DENSE_FOR_NS	100e6
#define SAMPLE_SPARSE_NS		1e6
#define SAMPLE_TOGETHER		4

#endif							/* CLOCKTIMING_SAMPLE_SUMS_H */
