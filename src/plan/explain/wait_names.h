/* Names of wait events, as in pg_stat_activity. */
#ifndef CLOCKTIMING_WAIT_NAMES_H
#define CLOCKTIMING_WAIT_NAMES_H

/* Return the type and the name of a wait event; NULL if unknown.  Raise no error. */
extern const char *wait_event_type(uint32 event);
extern const char *wait_event_name(uint32 event);

/*
 * Returns the event whose name is known after a restart of the server.  The server assigns the
 * numbers of extensions' events and LWLocks anew at each start.  So only the type of these is
 * known.
 */
extern uint32 wait_event_after_restart(uint32 event);

#endif							/* CLOCKTIMING_WAIT_NAMES_H */
