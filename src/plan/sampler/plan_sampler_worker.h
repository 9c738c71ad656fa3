/* The background worker that samples observed processes (plan_sampler.h). */
#ifndef CLOCKTIMING_PLAN_SAMPLER_WORKER_H
#define CLOCKTIMING_PLAN_SAMPLER_WORKER_H

/* The worker's main function, which the postmaster calls by name. */
extern PGDLLEXPORT void clock_sampler_main(Datum arg);

/* Whether the library is preloaded.  The sampler then runs until the server stops. */
extern bool plan_sampler_is_permanent;

#endif							/* CLOCKTIMING_PLAN_SAMPLER_WORKER_H */
