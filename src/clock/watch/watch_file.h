/* Saves watch_store, the clock's history in shared memory, in pg_stat/clocktiming.watch. */
#ifndef CLOCKTIMING_WATCH_FILE_H
#define CLOCKTIMING_WATCH_FILE_H

/* Writes the file.  Takes no lock, because the caller, the worker, alone changes watch_store. */
extern void watch_save(void);

/* Reads the file into watch_store at server start, before other processes use watch_store. */
extern void watch_load(void);

#endif							/* CLOCKTIMING_WATCH_FILE_H */
