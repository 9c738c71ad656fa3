/*
 * Names of wait events.  Their numbers are those of wait_event_info in PGPROC: the class is in the
 * highest byte, the number of the event in the lower two.
 */
#include "postgres.h"

#include "storage/lwlock.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "plan/explain/wait_names.h"

/* Parts of a wait_event_info. */
#define EVENT_CLASS		0xFF000000U
#define EVENT_NUMBER	0x0000FFFFU

/*
 * Number of an event of which only the type is known.  The server has no such event, and from
 * PostgreSQL 17 on raises an error if it is asked for the name of an unknown one.
 */
#define UNKNOWN_NUMBER	EVENT_NUMBER

const char *
wait_event_type(uint32 event)
{
	return pgstat_get_wait_event_type(event);
}

const char *
wait_event_name(uint32 event)
{
	if ((event & EVENT_NUMBER) == UNKNOWN_NUMBER)
		return NULL;
	return pgstat_get_wait_event(event);
}

uint32
wait_event_after_restart(uint32 event)
{
	uint32		class = event & EVENT_CLASS;
	uint32		number = event & EVENT_NUMBER;

	if ((class == PG_WAIT_EXTENSION && event != PG_WAIT_EXTENSION) ||
		(class == PG_WAIT_LWLOCK && number >= LWTRANCHE_FIRST_USER_DEFINED) ||
		class == PG_WAIT_INJECTIONPOINT)
		return class | UNKNOWN_NUMBER;
	return event;
}
