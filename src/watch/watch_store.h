/*-------------------------------------------------------------------------
 *
 * watch_store.h
 *	  What the worker that watches the clocks remembers: in shared memory,
 *	  and in a file.
 *
 * The worker alone changes it, under the lock; others copy it.  A row a minute of
 * a day, and a row an hour of 400 days: 4.2 MB in all.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_WATCH_STORE_H
#define CLOCKTIMING_WATCH_STORE_H

#include "datatype/timestamp.h"

#include "clock/sample_value.h"
#include "core/change_point.h"
#include "core/system_state.h"

#define WATCH_MINUTES	1440
#define WATCH_HOURS		9600
#define WATCH_EVENTS	1000
#define WATCH_MACHINES	256

/* Clock sources that EXPLAIN ANALYZE may read, with room to spare. */
#define WATCH_SOURCES	4

/* Distinct durations of a row; where there are more, neighbours become one. */
#define WATCH_DURATIONS	24

/* What the clock is and where it runs.  Texts are empty where not known. */
typedef struct WatchMachine
{
	char		boot_id[BOOT_ID_SIZE];
	char		hypervisor[16];
	char		processor[49];
	char		kernel_source[32];
	char		source[16];		/* that EXPLAIN ANALYZE reads ... */
	char		reads[48];		/* ... and what a reading of it is */
	int32		cpus;
} WatchMachine;

/* One or more intervals.  NAN is what is not known. */
typedef struct WatchRow
{
	TimestampTz at;				/* beginning of the minute, or hour */
	int32		intervals;
	int32		machine;		/* at its end, as an index */
	double		watched_s;
	double		cold_ns;		/* of these numbers, means over intervals */
	double		warm_ns;
	double		rate_ppm;
	double		assumed_ppm;
	double		stolen_percent;
	double		off_cpu_percent;
	double		skew_ns;		/* largest that is proven between CPUs, or 0 */
	double		offset_us;		/* of synchronisation, the latest ... */
	double		max_error_us;	/* ... and the largest */
	double		frequency_ppm;
	int32		synchronised;	/* intervals with that, and with ... */
	int32		sync_known;		/* ... any knowledge of it */
	int32		backward_steps;
	int32		warps;
	int32		lags;
	int32		gaps;
	double		frequency_hz;
	double		resolution_ns;
	int32		longest_stall;
	int32		n;
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
	TimestampTz ended_at;		/* 0: goes on */
	int32		what;
	char		before[80];
	char		after[80];
	char		evidence[160];
} WatchEvent;

/* The n latest of "size" elements are kept; the next one goes to "next". */
typedef struct WatchRing
{
	int32		n;
	int32		next;
} WatchRing;

/* What there is but once, as it is stored. */
typedef struct WatchState
{
	TimestampTz until;			/* end of the latest interval */
	TimestampTz booted_at;		/* time of day less the time since the machine
								 * started; 0: not known */
	WatchRing	minutes;
	WatchRing	hours;
	WatchRing	events;
	WatchRing	machines;
	int32		machine_now;	/* index, if there are any */
	int32		open[WATCH_WHATS];	/* 1 + index of the event that goes on, or
									 * 0 */
	int64		counts[WATCH_WHATS];	/* events of each kind so far */
	ChangePoint cost;
	WatchEvent	event[WATCH_EVENTS];
	WatchMachine machine[WATCH_MACHINES];
} WatchState;

/* What was counted of a clock source since the server has started. */
typedef struct WatchTotals
{
	char		source[16];		/* "": of none yet */
	int64		backward_steps;
	int64		warps;
	int64		lags;
	int64		gaps;
} WatchTotals;

typedef struct WatchStore
{
	struct LWLock *lock;
	bool		unsaved;		/* an event has begun or ended that is not in
								 * the file */
	uint64		latest_ns;		/* end of the latest interval since the server
								 * has started, on the reference; 0: none */
	WatchRow	latest;
	WatchTotals totals[WATCH_SOURCES];
	WatchState	state;
	WatchRow	minute[WATCH_MINUTES];
	WatchRow	hour[WATCH_HOURS];
} WatchStore;

/* NULL where the clocks are not watched. */
extern WatchStore *watch_store;

extern const char *const watch_what_names[WATCH_WHATS];

extern void watch_shmem_request(void);
extern void watch_shmem_init(void);

/* The index of the i-th oldest of a ring with room for "size". */
extern int	watch_ring_index(const WatchRing *ring, int size, int i);

/* The machine of now; NULL at first. */
extern const WatchMachine *watch_machine(void);

/*
 * For the worker: the time of day was set by so many microseconds (0: it was not),
 * as when the machine started has become another time of day.
 */
extern void watch_put_time(TimestampTz booted_at, int64 set_us);

/* For the worker: the machine of now, which may have been there before; one interval more. */
extern void watch_put_machine(const WatchMachine *machine);
extern void watch_put_interval(const WatchRow *row, TimestampTz ended_at);

/* For the worker: an event that goes on, or has gone on since then; the end of one. */
extern void watch_begin_event(WatchWhat what, TimestampTz at, const char *before,
							  const char *after, const char *evidence);
extern WatchEvent *watch_open_event(WatchWhat what);
extern void watch_end_event(WatchWhat what, TimestampTz at);

/* The durations of a row, as a value; for whoever reads. */
extern ClockSample *watch_sample(const WatchRow *row, const WatchMachine *machine);

/* The sum of durations, which become fewer. */
extern void watch_add_durations(WatchRow *into, const TallyEntry *entries, int n);

/* The file (watch_file.c).  Reports errors to the log. */
extern void watch_save(void);
extern void watch_load(void);

#endif							/* CLOCKTIMING_WATCH_STORE_H */
