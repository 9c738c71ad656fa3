/*
 * A table of classes in shared memory, without locks.
 *
 * Each class has one place, by a hash of its key, and replaces the class that was there.  The gap
 * is written before the key.  A process may still read a gap that another process has just written
 * for another class.  So it times executions with another probability than intended, until it has
 * measured the cost itself.  The weights of executions remain right, because they are computed from
 * the probability that was used.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/shmem.h"

#include "plan/stats/shared_gaps.h"

/* Number of classes in the shared table; a power of two. */
#define CLASSES			8192

/*
 * A class in the shared table.  Read without a lock, so a backend may read the gap of another
 * class.  This does no harm: it only changes how often the backend times executions.
 */
typedef struct DrawClass
{
	pg_atomic_uint64 key;
	pg_atomic_uint32 gap;		/* the bits of a float */
} DrawClass;

typedef struct DrawShared
{
	pg_atomic_uint32 resets;	/* number of resets of the statistics */
	DrawClass	classes[CLASSES];
} DrawShared;

static DrawShared *shared = NULL;

static DrawClass *
class_of(uint64 *key)
{
	*key = hash_bytes_extended((const unsigned char *) key, sizeof(*key), MyDatabaseId) | 1;
	return &shared->classes[(*key >> 20) % CLASSES];
}

float
shared_gap(uint64 key)
{
	DrawClass  *class = class_of(&key);
	uint32		bits = pg_atomic_read_u64(&class->key) == key ? pg_atomic_read_u32(&class->gap) : 0;
	float		gap;

	memcpy(&gap, &bits, sizeof(gap));
	return gap;
}

void
share_gap(uint64 key, float gap)
{
	DrawClass  *class = class_of(&key);
	uint32		bits;

	memcpy(&bits, &gap, sizeof(bits));
	pg_atomic_write_u32(&class->gap, bits);
	pg_atomic_write_u64(&class->key, key);
}

uint32
shared_gaps_resets(void)
{
	return pg_atomic_read_u32(&shared->resets);
}

void
shared_gaps_reset(void)
{
	for (int i = 0; i < CLASSES; i++)
		pg_atomic_write_u64(&shared->classes[i].key, 0);
	(void) pg_atomic_fetch_add_u32(&shared->resets, 1);
}

bool
shared_gaps_ready(void)
{
	return shared != NULL;
}

Size
shared_gaps_shmem_size(void)
{
	return sizeof(DrawShared);
}

void
shared_gaps_shmem_init(void)
{
	bool		found;

	shared = ShmemInitStruct("clocktiming draws", sizeof(DrawShared), &found);
	if (!found)
		pg_atomic_init_u32(&shared->resets, 0);
	for (int i = 0; i < CLASSES && !found; i++)
	{
		pg_atomic_init_u64(&shared->classes[i].key, 0);
		pg_atomic_init_u32(&shared->classes[i].gap, 0);
	}
}
