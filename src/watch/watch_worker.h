/*-------------------------------------------------------------------------
 *
 * watch_worker.h
 *	  The background worker that watches the clocks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_WATCH_WORKER_H
#define CLOCKTIMING_WATCH_WORKER_H

/* Whether the clocks are watched since the server's start; whether they would be, were there a slot for the worker. */
extern bool watch_registered;
extern bool watch_lacks_slot;

/* Settings, and the worker, if the clocks are to be watched. */
extern void watch_define_settings(void);
extern void watch_register(void);

extern PGDLLEXPORT void clock_watch_main(Datum arg);

#endif							/* CLOCKTIMING_WATCH_WORKER_H */
