/* The rows of clock_platform about what surrounds the clocks (core/environment.h). */
#ifndef CLOCKTIMING_ENVIRONMENT_FACTS_H
#define CLOCKTIMING_ENVIRONMENT_FACTS_H

/*
 * Calls put() for each fact.  "value" is NULL if not known; "note" may be NULL.
 */
extern void environment_facts(void (*put) (void *arg, const char *name, const char *value,
										   const char *note), void *arg);

#endif							/* CLOCKTIMING_ENVIRONMENT_FACTS_H */
