/* The file pg_stat/clocktiming.watch, with the history of the watched clock. */
#ifndef CLOCKTIMING_WATCH_FILE_H
#define CLOCKTIMING_WATCH_FILE_H

/* Writes watch_store to the file.  Needs no lock, because only the worker may call it. */
extern void watch_save(void);

/* Reads the file into watch_store at server start, before other processes use watch_store. */
extern void watch_load(void);

#endif							/* CLOCKTIMING_WATCH_FILE_H */
