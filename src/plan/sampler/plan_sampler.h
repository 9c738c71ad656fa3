/*
 * The sampler: a background worker that samples processes which execute observed plans.
 *
 * Each process publishes the number of the plan node at work ("current" below) in shared
 * memory, and the sampler reads it some thousand times a second, together with the wait event
 * in PGPROC and the CPU clock of the process.  It adds the samples to sums
 * (plan/estimate/sample_sums.h) in the same memory.  Neither side ever waits for the other.
 *
 * If no background worker can be started, a timeout makes the process sample itself.
 */
#ifndef CLOCKTIMING_PLAN_SAMPLER_H
#define CLOCKTIMING_PLAN_SAMPLER_H

#include "port/atomics.h"
#include "storage/dsm.h"

#include "plan/estimate/sample_sums.h"

/* Bytes of a line of the CPU caches, on x86 and most Arm processors. */
#define LINE_SIZE		64

/* Mean time between two ticks (SamplerTicks), in ns.  It varies at random by up to a quarter. */
#define TICK_NS			5e6

/* Numbers of a process, with SAMPLE_IDLE; more are allocated for larger plans. */
#define OBSERVED_NUMBERS	1024

/* Pairs of a number and a wait event of a process. */
#define OBSERVED_WAITS		254

/*
 * What the sampler sees of a process.  Each part is written by one side only, and fills cache lines
 * of its own, so that the sampler's writes do not slow down the process.
 */
typedef struct ObservedProcess
{
	/* written by the process at each call of a node */
	union
	{
		volatile uint32 current;	/* number of the node at work, or
									 * SAMPLE_IDLE */
		char		line[LINE_SIZE];
	};

	/* written by the process when an execution begins or continues */
	union
	{
		struct
		{
			pg_atomic_uint32 epoch; /* increased before the sampler is woken */
			pg_atomic_uint32 part;	/* set to the epoch when the execution
									 * goes on, and the times are valid */
			uint64		part_ns;	/* time and CPU time at the start of the
									 * part */
			uint64		part_cpu_ns;
			bool		asked;	/* somebody waits for the result */
			bool		by_itself;	/* the process samples itself */
			uint32		processes;	/* processes that will execute the plan */
			uint32		nsums;	/* allocated elements of "sums" */
		};
		char		line2[LINE_SIZE];
	};

	/* written by the sampler */
	union
	{
		struct
		{
			pg_atomic_uint32 seen_epoch;	/* epoch of the sums */
			uint32		pending;	/* result of sample_pending() */
			double		pending_ns;
			double		gaps_ns;
			double		head_ns;	/* argument of sample_begin() */
			double		samples;
			double		squares;	/* sum of squared times of samples */
			uint64		sampled_ns; /* time of the latest sample */
			double		cpu_ns; /* CPU time of the sampler for this epoch */
		};
		char		line3[LINE_SIZE];
	};
	SampleWait	waits[OBSERVED_WAITS];
	SampleSums	sums[FLEXIBLE_ARRAY_MEMBER];
} ObservedProcess;

#define observed_size(n) \
	TYPEALIGN(LINE_SIZE, offsetof(ObservedProcess, sums) + sizeof(SampleSums) * (Size) (n))

/* A process that wants to be sampled. */
typedef struct SamplerSlot
{
	pg_atomic_uint32 pid;		/* 0: free */
	pg_atomic_uint32 ready;		/* the members below are valid */
	int			procno;			/* index of its PGPROC */
	dsm_handle	handle;			/* segment with its ObservedProcess */
	uint64		offset;			/* position in the segment */
} SamplerSlot;

/* Number of latest ticks whose times are kept; a power of two. */
#define TICKS_KEPT		32

/*
 * A clock that the sampler advances every TICK_NS while statistics of plans are collected.  A
 * process compares the number of ticks before and after an execution
 * (plan/stats/ticked_executions.h).
 */
typedef struct SamplerTicks
{
	volatile uint32 n;			/* number of ticks */
	volatile uint32 first;		/* tick after the latest pause without ticks */
	volatile uint32 ticking;	/* there is no pause */
	pg_atomic_uint64 wanted_ns; /* latest time at which a process wanted them */
	pg_atomic_uint64 times_ns[TICKS_KEPT];	/* of tick i at i % TICKS_KEPT */
} SamplerTicks;

typedef struct SamplerShared
{
	union
	{
		SamplerTicks ticks;
		char		tick_lines[TYPEALIGN(LINE_SIZE, sizeof(SamplerTicks))];
	};
	pg_atomic_uint32 worker_pid;	/* 0: there is no sampler */
	pg_atomic_uint32 worker_procno; /* valid if worker_pid is not 0 */
	pg_atomic_uint32 asleep;	/* the sampler waits for its latch */
	pg_atomic_uint32 changes;	/* increased after each change of a slot */
	pg_atomic_uint64 requested_ns;	/* time of the latest request to start it */
	int			nslots;
	SamplerSlot slots[FLEXIBLE_ARRAY_MEMBER];
} SamplerShared;

/* NULL if shared memory could not be allocated. */
extern SamplerShared *plan_sampler_shared;

/*
 * State of this process.  Stubs write to *current_number, also if nobody samples.  "observed" is
 * NULL until plan_sampler_join().
 */
extern volatile uint32 *current_number __attribute__((visibility("hidden")));
extern ObservedProcess *observed;

/* Finds or creates plan_sampler_shared.  Raises an error if there is no memory. */
extern void plan_sampler_attach(void);

/* Size of the shared memory to request if the library is preloaded. */
extern Size plan_sampler_shmem_size(void);

/*
 * Finds the shared memory, and starts the sampler if it does not run.  "wait": waits for its start
 * for at most 0.2 s.  Must not be called in a parallel worker.
 */
extern void plan_sampler_prepare(bool wait);

/*
 * Makes "observed" usable for "numbers" numbers.  Returns false if there is no memory for them,
 * because numbers are in use.
 */
extern bool plan_sampler_join(uint32 numbers);

/* Keeps the sampler ticking for the next seconds.  "now_ns": system_clock_read(). */
extern void plan_sampler_want_ticks(uint64 now_ns);

/* Joins in a parallel worker, with an ObservedProcess in the leader's segment. */
extern void plan_sampler_join_worker(ObservedProcess *process, dsm_handle handle, uint64 offset);

/*
 * Begins an epoch, now at "number": the sums of numbers below "numbers" are 0.  Wakes the sampler,
 * which takes no sample before plan_sampler_start().  "asked": somebody waits for the result, so
 * the sampler may use more CPU time.  "processes": number of processes that will execute the plan,
 * each of which may need a CPU; 0 in a parallel worker, as the leader has counted it.
 */
extern void plan_sampler_begin(uint32 number, bool asked, uint32 numbers, uint32 processes);

/* Forgets an ObservedProcess that plan_sampler_join_worker() has set. */
extern void plan_sampler_leave_worker(void);

/*
 * plan_sampler_start() begins the part of an execution for which plan_sampler_begin() was called.
 * plan_sampler_pause() ends it.  They set *ns and *cpu_ns to the time and to the CPU time of the
 * process.
 */
extern void plan_sampler_start(uint64 *ns, uint64 *cpu_ns);
extern void plan_sampler_pause(uint64 *ns, uint64 *cpu_ns);

/* Returns whether the sums belong to the current epoch.  If not, nobody has sampled. */
extern bool plan_sampler_has_sampled(void);

extern void plan_sampler_define_settings(void);

#endif							/* CLOCKTIMING_PLAN_SAMPLER_H */
