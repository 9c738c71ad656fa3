/* Selects the executions that clock_running shows: those expected or found to be long. */
#ifndef CLOCKTIMING_LIVE_ATTACH_H
#define CLOCKTIMING_LIVE_ATTACH_H

/* Defines the settings.  They have no effect unless shared_preload_libraries has the library. */
extern void live_init(void);

extern bool live_is_on(void);

/* Applies clocktiming.live after shared memory has been initialized. */
extern void live_start(void);

#endif							/* CLOCKTIMING_LIVE_ATTACH_H */
