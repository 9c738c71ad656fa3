/*-------------------------------------------------------------------------
 *
 * probe.h
 *	  Tries an instruction that may be forbidden.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_PROBE_H
#define CLOCKTIMING_PROBE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Probe
{
	uint64_t	(*read) (void);
	bool		done;
	bool		survived;
} Probe;

/*
 * Executes "read", unless that has been done, with handlers in place for what
 * an unforeseen prohibition would raise (a hypervisor that intercepts it, say),
 * and returns whether it came back: an unhandled signal in one backend ends
 * every session of the server.
 */
extern bool probe(Probe *probe);

#endif							/* CLOCKTIMING_PROBE_H */
