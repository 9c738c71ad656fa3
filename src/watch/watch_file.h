/* The history of the clocks in the file pg_stat/clocktiming.watch. */
#ifndef CLOCKTIMING_WATCH_FILE_H
#define CLOCKTIMING_WATCH_FILE_H

/* Writes watch_store to the file.  Called by the worker, which alone changes watch_store. */
extern void watch_save(void);

/* Reads the file into watch_store, before any other process can see watch_store. */
extern void watch_load(void);

#endif							/* CLOCKTIMING_WATCH_FILE_H */
