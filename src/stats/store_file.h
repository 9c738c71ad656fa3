/*-------------------------------------------------------------------------
 *
 * store_file.h
 *	  The statistics of plans in the file pg_stat/clocktiming.stat while no server runs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_STORE_FILE_H
#define CLOCKTIMING_STORE_FILE_H

/* Fills the empty store from the file, and removes the file. */
extern void store_load(void);

/* Callback of on_shmem_exit() in the postmaster.  Writes the file unless code is an error. */
extern void store_save(int code, Datum arg);

#endif							/* CLOCKTIMING_STORE_FILE_H */
