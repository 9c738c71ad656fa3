/*
 * The history of the clock that EXPLAIN ANALYZE reads, in shared memory.  It has a row per minute
 * of the last day and per hour of the last 400 days, 4.2 MB in all.  Only the worker
 * (watch_worker.h) changes the history, and holds the lock exclusively meanwhile.  Other processes
 * copy rows under a shared lock.
 */
#ifndef CLOCKTIMING_WATCH_STORE_H
#define CLOCKTIMING_WATCH_STORE_H

#include "datatype/timestamp.h"

#include "clock/measure/sample_value.h"
#include "clock/sampling/change_point.h"
#include "core/system_state.h"
#include "core/time_namespace.h"
#include "core/vmclock.h"

/* Maximum numbers of elements in the ring buffers. */
#define WATCH_MINUTES	1440
#define WATCH_HOURS		9600
#define WATCH_EVENTS	1000
#define WATCH_MACHINES	256

/* Number of events of one kind within an hour from which on further ones are counted only. */
#define WATCH_BURST		30

/* Maximum number of clock sources with WatchTotals: those that EXPLAIN ANALYZE has read. */
#define WATCH_SOURCES	4

/* Maximum number of distinct durations in a WatchRow.  If there are more, neighbours are merged. */
#define WATCH_DURATIONS	24

/* The machine and its clock.  An unknown text is empty. */
typedef struct WatchMachine
{
	char		boot_id[BOOT_ID_SIZE];
	char		hypervisor[16];
	char		processor[49];
	char		kernel_source[32];
	char		source[16];		/* source that EXPLAIN ANALYZE reads */
	char		reads[48];		/* instruction or call that reads it */
	int32		cpus;
} WatchMachine;

/*
 * Results of a minute, an hour, or a single interval (clocktiming.watch_interval).  Means are over
 * intervals.  Unknown values are NAN.
 */
typedef struct WatchRow
{
	TimestampTz at;				/* beginning of the minute, hour or interval */
	int32		intervals;		/* number of intervals */
	int32		machine;		/* latest machine: index in WatchState */
	double		watched_s;		/* duration of the intervals */
	double		cold_ns;		/* mean cost of a reading after a sleep */
	double		warm_ns;		/* mean cost of a reading in a loop */
	double		rate_ppm;		/* mean deviation from the reference's rate */
	double		assumed_ppm;	/* the same, if the server's TSC frequency
								 * converts ticks to time */
	double		error_bound_ppm;	/* largest possible error of times */
	double		stolen_percent; /* mean stolen share of all CPUs' time */
	double		off_cpu_percent;	/* mean share of the observations' time
									 * for which the worker was off the CPU */
	double		skew_ns;		/* largest difference of CPUs' clocks, or 0 */
	double		offset_us;		/* latest offset by adjtimex() */
	double		max_error_us;	/* largest maxerror by adjtimex() */
	double		frequency_ppm;	/* latest frequency correction by adjtimex() */
	int32		synchronised;	/* intervals with a synchronised clock */
	int32		sync_known;		/* intervals with known synchronisation */
	int32		backward_steps; /* numbers of findings, see doc/glossary.md */
	int32		warps;
	int32		lags;
	int32		gaps;
	double		frequency_hz;	/* ticks per second */
	double		resolution_ns;
	int32		longest_stall;	/* equal readings in a row */
	int32		n;				/* number of distinct durations */
	uint32		ticks[WATCH_DURATIONS]; /* durations, ascending */
	uint32		counts[WATCH_DURATIONS];	/* how often each occurred */
} WatchRow;

/* Kinds of events.  watch_what_names has their names. */
typedef enum WatchWhat
{
	WATCH_KERNEL_SOURCE,
	WATCH_SOURCE,
	WATCH_COST,
	WATCH_RATE,
	WATCH_BACKWARD,
	WATCH_WARP,
	WATCH_LAG,
	WATCH_SKEW,
	WATCH_MACHINE,
	WATCH_RESUME,
	WATCH_SYNC,
	WATCH_STOLEN,
	WATCH_TIME,
	WATCH_MIGRATED,
	WATCH_RESTORED,
	WATCH_ANNOUNCED,
	WATCH_CONTAINER,
	WATCH_WHATS					/* number of kinds */
} WatchWhat;

typedef struct WatchEvent
{
	TimestampTz at;
	TimestampTz ended_at;		/* 0: not ended, the event is open */
	int32		what;			/* a WatchWhat */
	char		before[80];		/* value before the event */
	char		after[80];		/* value since the event began */
	char		evidence[160];	/* how it was detected */
	int64		repetitions;	/* further events that were counted only */
} WatchEvent;

/* Number of the latest events of a kind that followed each other within an hour. */
typedef struct WatchBurst
{
	TimestampTz since;			/* time of the first one */
	int32		n;				/* number that are stored as events */
} WatchBurst;

/* State of a ring buffer, whose elements are in an array. */
typedef struct WatchRing
{
	int32		n;				/* number of elements */
	int32		next;			/* index of the next element to write */
} WatchRing;

/* The history without rows.  The file (watch_file.h) stores it as one block. */
typedef struct WatchState
{
	TimestampTz until;			/* end of the latest interval */
	TimestampTz booted_at;		/* start of the machine; 0: not known */
	TimeNamespace time_namespace;	/* of the server, at the latest look */
	WatchRing	minutes;		/* ring of WatchStore.minute */
	WatchRing	hours;			/* ring of WatchStore.hour */
	WatchRing	events;			/* ring of "event" */
	WatchRing	machines;		/* ring of "machine" */
	int32		machine_now;	/* index of the current machine */
	int32		open[WATCH_WHATS];	/* index of the open event + 1; 0: none */
	int64		counts[WATCH_WHATS];	/* number of events of each kind */
	VmClockMarks vmclock;		/* latest reading of VMClock */
	char		vmclock_boot_id[BOOT_ID_SIZE];	/* boot at that reading */
	WatchBurst	bursts[WATCH_WHATS];
	ChangePoint cost;			/* detects changes of the cost of a reading */
	WatchEvent	event[WATCH_EVENTS];
	WatchMachine machine[WATCH_MACHINES];
} WatchState;

/* Numbers of findings per clock source since the server started. */
typedef struct WatchTotals
{
	char		source[16];		/* empty: unused element */
	int64		backward_steps;
	int64		warps;
	int64		lags;
	int64		gaps;
} WatchTotals;

typedef struct WatchStore
{
	struct LWLock *lock;
	bool		unsaved;		/* an event is not in the file yet */
	uint64		latest_ns;		/* reference_ns() at end of "latest"; 0: none */
	WatchRow	latest;			/* row of the latest interval */
	WatchTotals totals[WATCH_SOURCES];
	WatchState	state;
	WatchRow	minute[WATCH_MINUTES];
	WatchRow	hour[WATCH_HOURS];
} WatchStore;

/* NULL unless the background worker is registered. */
extern WatchStore *watch_store;

extern const char *const watch_what_names[WATCH_WHATS];

/* Returns the array index of a ring's element i (0: oldest).  "size" is the length of the array. */
extern int	watch_ring_index(const WatchRing *ring, int size, int i);

/* Returns the current machine; NULL: not known yet. */
extern const WatchMachine *watch_machine(void);

/* Only the worker may call the functions from here to watch_end_event(). */

/*
 * Stores the machine's start time and the time namespace; adapts the history to a change of the
 * time of day by set_us.
 */
extern void watch_put_time(TimestampTz booted_at, const TimeNamespace *time_namespace,
						   int64 set_us);

/* Stores the latest reading of VMClock, which belongs to the current machine. */
extern void watch_put_vmclock(const VmClockMarks *marks);

extern void watch_put_machine(const WatchMachine *machine);

/* Adds the results of an interval to the rows of its minute and its hour. */
extern void watch_put_interval(const WatchRow *row, TimestampTz ended_at);

/*
 * Stores an event, or counts it as a repetition of the latest event of its kind if WATCH_BURST
 * events of this kind have begun within an hour.  Returns the number of repetitions, 0 if it was
 * stored.
 */
extern int64 watch_begin_event(WatchWhat what, TimestampTz at, const char *before,
							   const char *after, const char *evidence);

extern WatchEvent *watch_open_event(WatchWhat what);

extern void watch_end_event(WatchWhat what, TimestampTz at);

extern ClockSample *watch_sample(const WatchRow *row, const WatchMachine *machine);

/* Adds n ascending durations to a row. */
extern void watch_add_durations(WatchRow *into, const TallyEntry *entries, int n);

#endif							/* CLOCKTIMING_WATCH_STORE_H */
