/* Tests whether an instruction may be executed. */
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
 * Executes "read" once, with signal handlers installed; returns whether it raised no signal.  An
 * instruction may fault unexpectedly, for example because a hypervisor intercepts it, and an
 * unhandled signal in one backend ends every session of the server.
 */
extern bool probe(Probe *probe);

#endif							/* CLOCKTIMING_PROBE_H */
