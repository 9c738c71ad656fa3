/*
 * Detects a migration or a restored snapshot by comparing the markers of two readings of VMClock.
 * The hypervisor changes the marker at each disruption, and the generation only at a restore.
 */
#include "postgres.h"

#include "clock/measure/migration.h"
#include "compat.h"

/* not known if the library was not preloaded */
static VmClockMarks at_start;

Migration
migration_between(const VmClockMarks *before, const VmClockMarks *now)
{
	if (!before->known || !now->known)
		return MIGRATION_UNKNOWN;
	/* a restored snapshot also changes the marker */
	if (before->has_generation && now->has_generation && before->generation != now->generation)
		return MIGRATION_RESTORED;
	return before->disruption_marker != now->disruption_marker ? MIGRATION_MOVED : MIGRATION_NONE;
}

void
migration_remember_start(void)
{
	VmClock		clock;

	vmclock_read(VMCLOCK_DEVICE, &clock);
	at_start = vmclock_marks(&clock);
}

Migration
migration_since_start(const VmClock *now)
{
	VmClockMarks marks = vmclock_marks(now);

	return migration_between(&at_start, &marks);
}
