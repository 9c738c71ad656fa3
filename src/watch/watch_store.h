/*
 * The history of the watched clocks in shared memory.
 *
 * Only the worker changes the history, while it holds the lock exclusively.  Other processes copy
 * rows.  There is a row per minute of the last day and per hour of the last 400 days: 4.2 MB.
 */
#ifndef CLOCKTIMING_WATCH_STORE_H
#define CLOCKTIMING_WATCH_STORE_H

#include "datatype/timestamp.h"

#include "clock/sample_value.h"
#include "core/change_point.h"
#include "core/system_state.h"

/* Maximum numbers of elements in the ring buffers. */
#define WATCH_MINUTES	1440
#define WATCH_HOURS		9600
#define WATCH_EVENTS	1000
#define WATCH_MACHINES	256

/* Maximum number of clock sources with totals. */
#define WATCH_SOURCES	4

/* Maximum number of distinct durations in a row; further ones are merged with their neighbours. */
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

/* Results of one or more intervals; NAN: not known. */
typedef struct WatchRow
{
	TimestampTz at;				/* beginning of the minute or hour */
	int32		intervals;
	int32		machine;		/* index of the latest machine */
	double		watched_s;
	double		cold_ns;		/* mean cost after a sleep */
	double		warm_ns;		/* mean cost in a loop */
	double		rate_ppm;		/* mean deviation of the rate */
	double		assumed_ppm;	/* mean, with the server's TSC frequency */
	double		stolen_percent; /* mean */
	double		off_cpu_percent;	/* mean */
	double		skew_ns;		/* largest difference of CPUs; 0: none */
	double		offset_us;		/* latest offset of the synchronisation */
	double		max_error_us;	/* largest maxerror of adjtimex() */
	double		frequency_ppm;	/* latest frequency correction */
	int32		synchronised;	/* intervals with a synchronised clock */
	int32		sync_known;		/* intervals with known synchronisation */
	int32		backward_steps;
	int32		warps;
	int32		lags;
	int32		gaps;
	double		frequency_hz;
	double		resolution_ns;
	int32		longest_stall;
	int32		n;				/* number of distinct durations */
	uint32		ticks[WATCH_DURATIONS];
	uint32		counts[WATCH_DURATIONS];
} WatchRow;

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
	WATCH_WHATS
} WatchWhat;

typedef struct WatchEvent
{
	TimestampTz at;
	TimestampTz ended_at;		/* 0: the event is open */
	int32		what;
	char		before[80];
	char		after[80];
	char		evidence[160];
} WatchEvent;

/* A ring buffer with the n latest elements.  "next" is the index of the next one to write. */
typedef struct WatchRing
{
	int32		n;
	int32		next;
} WatchRing;

/* The part of the history that the file stores as one block. */
typedef struct WatchState
{
	TimestampTz until;			/* end of the latest interval */
	TimestampTz booted_at;		/* 0: not known */
	WatchRing	minutes;
	WatchRing	hours;
	WatchRing	events;
	WatchRing	machines;
	int32		machine_now;	/* index of the current machine */
	int32		open[WATCH_WHATS];	/* index of the open event + 1; 0: none */
	int64		counts[WATCH_WHATS];	/* events of each kind */
	ChangePoint cost;			/* detects changes of the cost */
	WatchEvent	event[WATCH_EVENTS];
	WatchMachine machine[WATCH_MACHINES];
} WatchState;

/* Findings per clock source since the server started. */
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
	bool		unsaved;		/* an event has not been written to the file */
	uint64		latest_ns;		/* end of "latest" on reference_ns(), or 0 */
	WatchRow	latest;			/* latest interval */
	WatchTotals totals[WATCH_SOURCES];
	WatchState	state;
	WatchRow	minute[WATCH_MINUTES];
	WatchRow	hour[WATCH_HOURS];
} WatchStore;

/* NULL if the clocks are not watched. */
extern WatchStore *watch_store;

extern const char *const watch_what_names[WATCH_WHATS];

/* Returns the index of the i-th oldest element of a ring of this size. */
extern int	watch_ring_index(const WatchRing *ring, int size, int i);

/* Returns the current machine; NULL: not known yet. */
extern const WatchMachine *watch_machine(void);

/* Only the worker may call the functions from here to watch_end_event(). */

/* Stores the machine's start time, and applies a change of the time of day by set_us. */
extern void watch_put_time(TimestampTz booted_at, int64 set_us);

extern void watch_put_machine(const WatchMachine *machine);
extern void watch_put_interval(const WatchRow *row, TimestampTz ended_at);

/* Begin an event of this kind; return the open one or NULL; end the open one. */
extern void watch_begin_event(WatchWhat what, TimestampTz at, const char *before,
							  const char *after, const char *evidence);
extern WatchEvent *watch_open_event(WatchWhat what);
extern void watch_end_event(WatchWhat what, TimestampTz at);

extern ClockSample *watch_sample(const WatchRow *row, const WatchMachine *machine);

extern void watch_add_durations(WatchRow *into, const TallyEntry *entries, int n);

#endif							/* CLOCKTIMING_WATCH_STORE_H */
