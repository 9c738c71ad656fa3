/* The background worker that observes the server's clock and keeps its history. */
#ifndef CLOCKTIMING_WATCH_WORKER_H
#define CLOCKTIMING_WATCH_WORKER_H

extern bool watch_registered;	/* the worker is registered */
extern bool watch_lacks_slot;	/* no slot was free to register the worker */

extern void watch_define_settings(void);

/* Registers the worker if clocktiming.watch is on. */
extern void watch_register(void);

/* Called by shmem_request_hook and shmem_startup_hook if the worker is registered. */
extern void watch_shmem_request(void);
extern void watch_shmem_init(void);

extern PGDLLEXPORT void clock_watch_main(Datum arg);

#endif							/* CLOCKTIMING_WATCH_WORKER_H */
