/*
 * Which executions are published: those that are expected to be long, and those that turn out to
 * be.
 */
#ifndef CLOCKTIMING_LIVE_ATTACH_H
#define CLOCKTIMING_LIVE_ATTACH_H

/* The settings.  Nothing is published but where the library was preloaded. */
extern void live_init(void);

/* Whether this process publishes what it executes. */
extern bool live_is_on(void);

/* After shared memory is there: puts clocktiming.live into effect. */
extern void live_start(void);

#endif							/* CLOCKTIMING_LIVE_ATTACH_H */
