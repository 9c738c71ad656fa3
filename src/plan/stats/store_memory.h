/* Shared memory of the statistics of plans, kept in pg_stat/clocktiming.stat across restarts. */
#ifndef CLOCKTIMING_STORE_MEMORY_H
#define CLOCKTIMING_STORE_MEMORY_H

extern void store_define_settings(void);

/* Called by shmem_request_hook and shmem_startup_hook. */
extern void store_shmem_request(void);
extern void store_shmem_init(void);

#endif							/* CLOCKTIMING_STORE_MEMORY_H */
