/*
 * Running executions in shared memory.
 *
 * A process copies an image of an execution to its slots every few milliseconds, and readers copy
 * the slots.  The copies are protected by a seqlock: the writer increases the sequence number of
 * the execution's first slot before and after it writes, so the number is odd meanwhile.  A reader
 * repeats its copy if the number was odd, or has changed.  So a writer never waits, which a signal
 * handler must not, and a reader waits at most SLEEPS ms for a writer that was preempted.
 *
 * A slot is occupied by a compare-and-exchange of its owner's pid.  A process frees its slots at
 * the end of an execution, or when it exits.
 *
 * A parallel worker that ends before its leader leaves its slots, with the counts of what it has
 * done, to the leader.  The next worker of the same query takes them over and adds its own counts.
 * Otherwise, the rows of workers would vanish from the view when a Gather is rescanned.
 */
#include "postgres.h"

#include <math.h>

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/shmem.h"

#include "compat.h"
#include "plan/live/live_memory.h"

/*
 * A reader copies a slot again if the slot's process has written to it meanwhile.  After
 * TRIES_AT_ONCE copies, the reader sleeps for a millisecond, because the process has probably been
 * preempted while writing.  After SLEEPS such sleeps, the reader skips the slot.
 */
#define TRIES_AT_ONCE	1000
#define SLEEPS			20

typedef struct LiveSlot
{
	pg_atomic_uint32 owner;		/* pid of its process; 0: free */
	pg_atomic_uint32 sequence;	/* seqlock of the execution whose first slot
								 * this is; odd during a write to its slots */

	/* written by readers; each has the number of the execution, see pack() */
	pg_atomic_uint64 shown;		/* LiveShown */
	pg_atomic_uint64 predicted; /* LivePrediction */
	pg_atomic_uint32 predictions;	/* number of them so far */

	LiveHeader	header;
	LiveChunk	chunk;
} LiveSlot;

static LiveSlot *live_slots = NULL;
static int	nlive_slots;

/* Returns the number of slots: one per process, and more for nested executions and large plans. */
static int
slots_wanted(void)
{
	return MaxBackends + MaxBackends / 2 + 4 * LIVE_CHUNKS;
}

void
live_shmem_request(void)
{
	RequestAddinShmemSpace(mul_size(sizeof(LiveSlot), slots_wanted()));
}

void
live_shmem_init(void)
{
	bool		found;

	nlive_slots = slots_wanted();
	live_slots = ShmemInitStruct("clocktiming live", mul_size(sizeof(LiveSlot), nlive_slots), &found);
	for (int i = 0; i < nlive_slots && !found; i++)
	{
		memset(&live_slots[i], 0, sizeof(LiveSlot));
		pg_atomic_init_u32(&live_slots[i].owner, 0);
		pg_atomic_init_u32(&live_slots[i].sequence, 0);
		pg_atomic_init_u64(&live_slots[i].shown, 0);
		pg_atomic_init_u64(&live_slots[i].predicted, 0);
		pg_atomic_init_u32(&live_slots[i].predictions, 0);
	}
}

bool
live_memory_ready(void)
{
	return live_slots != NULL;
}

const char *
live_name(const LiveImage *image, int place, int16 offset)
{
	return offset == 0 ? NULL : &image->chunks[place / LIVE_CHUNK].names[offset];
}

static int
chunks_for(int nnodes)
{
	return Max((nnodes + LIVE_CHUNK - 1) / LIVE_CHUNK, 1);
}

Size
live_image_size(int nnodes)
{
	return offsetof(LiveImage, chunks) + sizeof(LiveChunk) * chunks_for(nnodes);
}

static void
begin_write(LiveSlot *slot)
{
	pg_atomic_write_u32(&slot->sequence, pg_atomic_read_u32(&slot->sequence) + 1);
	pg_write_barrier();
}

static void
end_write(LiveSlot *slot)
{
	pg_write_barrier();
	pg_atomic_write_u32(&slot->sequence, pg_atomic_read_u32(&slot->sequence) + 1);
}

static void
free_slots(const int *slots, int n)
{
	for (int i = 0; i < n; i++)
	{
		LiveSlot   *slot = &live_slots[slots[i]];

		begin_write(slot);
		slot->header.nslots = 0;
		end_write(slot);
		pg_memory_barrier();
		pg_atomic_write_u32(&slot->owner, 0);
	}
}

/* Frees the slots that this process owns when it exits.  Its executions have ended by then. */
static void
free_all(int code, Datum arg)
{
	(void) code;
	(void) arg;
	for (int i = 0; i < nlive_slots; i++)
	{
		if (pg_atomic_read_u32(&live_slots[i].owner) == (uint32) MyProcPid)
			free_slots(&i, 1);
	}
}

/* Returns whether a slot is the first one of an ended worker, and belongs to this leader. */
static bool
is_bequeathed(LiveSlot *slot, int leader_pid, uint32 text_hash)
{
	return pg_atomic_read_u32(&slot->owner) == (uint32) leader_pid && slot->header.nslots > 0 &&
		slot->header.leader_pid == leader_pid && slot->header.text_hash == text_hash;
}

/*
 * Takes over the slots that an ended worker of the same query has left to this worker's leader.
 * Copies their counts to image->before. live_write() adds these to the counts of this worker.
 */
static bool
adopt_slots(LiveImage *image)
{
	LiveHeader *header = &image->header;

	for (int i = 0; i < nlive_slots; i++)
	{
		LiveSlot   *slot = &live_slots[i];
		uint32		leader = (uint32) header->leader_pid;

		if (!is_bequeathed(slot, header->leader_pid, header->text_hash) ||
			slot->header.nnodes != header->nnodes ||
			!pg_atomic_compare_exchange_u32(&slot->owner, &leader, (uint32) MyProcPid))
			continue;
		header->nslots = slot->header.nslots;
		memcpy(header->slots, slot->header.slots, sizeof(header->slots));
		image->before_ns = slot->header.run_ns;
		image->before = MemoryContextAlloc(GetMemoryChunkContext(image),
										   sizeof(LiveCounts) * Max(header->nnodes, 1));
		for (int j = 0; j < header->nslots; j++)
		{
			const LiveSlot *other = &live_slots[header->slots[j]];

			pg_atomic_write_u32(&live_slots[header->slots[j]].owner, (uint32) MyProcPid);
			memcpy(&image->before[j * LIVE_CHUNK], other->chunk.counts,
				   sizeof(LiveCounts) * Min(header->nnodes - j * LIVE_CHUNK, LIVE_CHUNK));
		}
		return true;
	}
	return false;
}

/*
 * Searches for free slots, from a place that depends on the process, so that processes do not
 * compete for the same slots.
 */
bool
live_claim(LiveImage *image)
{
	static int	registered_for = 0;
	static int	start = 0;
	LiveHeader *header = &image->header;
	int			wanted = chunks_for(header->nnodes);

	if (registered_for != MyProcPid)
	{
		on_shmem_exit(free_all, (Datum) 0);
		registered_for = MyProcPid;
		start = MyProcPid % nlive_slots;
	}
	if (header->leader_pid != 0 && adopt_slots(image))
		return true;
	header->nslots = 0;
	for (int i = 0; i < nlive_slots && header->nslots < wanted; i++)
	{
		int			at = (start + i) % nlive_slots;
		uint32		nobody = 0;

		if (pg_atomic_compare_exchange_u32(&live_slots[at].owner, &nobody, (uint32) MyProcPid))
			header->slots[header->nslots++] = at;
	}
	if (header->nslots < wanted)
	{
		free_slots(&header->slots[1], header->nslots - 1);
		header->nslots = Min(header->nslots, 1);
		header->nnodes = 0;
	}
	return header->nslots > 0;
}

/* Writes all of an image or only its counts, under the sequence lock of its first slot. */
void
live_write(const LiveImage *image, bool all)
{
	const LiveHeader *header = &image->header;
	LiveSlot   *first = &live_slots[header->slots[0]];

	begin_write(first);
	first->header = *header;
	first->header.run_ns += image->before_ns;
	for (int i = 0; i < header->nslots; i++)
	{
		LiveChunk  *chunk = &live_slots[header->slots[i]].chunk;
		int			n = Min(header->nnodes - i * LIVE_CHUNK, LIVE_CHUNK);

		if (all)
			memcpy(chunk, &image->chunks[i], sizeof(LiveChunk));
		else
			memcpy(chunk->counts, image->chunks[i].counts, sizeof(LiveCounts) * n);
		for (int j = 0; j < n && image->before != NULL; j++)
			live_add_counts(&chunk->counts[j], &image->before[i * LIVE_CHUNK + j]);
	}
	end_write(first);
}

/* Gives the slots of a worker to its leader; returns false if the leader has no slots. */
static bool
bequeath_slots(LiveImage *image)
{
	LiveHeader *header = &image->header;

	for (int i = 0; i < nlive_slots; i++)
	{
		LiveSlot   *slot = &live_slots[i];

		if (pg_atomic_read_u32(&slot->owner) != (uint32) header->leader_pid ||
			slot->header.nslots == 0 ||
			slot->header.pid != header->leader_pid || slot->header.text_hash != header->text_hash)
			continue;
		header->pid = 0;
		live_write(image, false);
		for (int j = 0; j < header->nslots; j++)
			pg_atomic_write_u32(&live_slots[header->slots[j]].owner, (uint32) header->leader_pid);
		return true;
	}
	return false;
}

void
live_release(LiveImage *image)
{
	LiveHeader *header = &image->header;

	if (header->nslots == 0)
		return;
	for (int i = 0; i < nlive_slots && header->leader_pid == 0; i++)
	{
		LiveHeader	worker = live_slots[i].header;

		if (is_bequeathed(&live_slots[i], header->pid, header->text_hash))
			free_slots(worker.slots, worker.nslots);
	}
	if (header->leader_pid == 0 || !bequeath_slots(image))
		free_slots(header->slots, header->nslots);
	header->nslots = 0;
}

static void
add_squares(double *margin, double other)
{
	*margin = sqrt(*margin * *margin + other * other);
}

static LiveState
joint_state(LiveState a, LiveState b)
{
	static const int rank[] = {
		[LIVE_NOT_STARTED] = 0,[LIVE_FINISHED] = 1,[LIVE_RESCANNING] = 2,[LIVE_UNKNOWN] = 3,
		[LIVE_RUNNING] = 4
	};

	return rank[a] >= rank[b] ? a : b;
}

void
live_add_counts(LiveCounts *sum, const LiveCounts *counts)
{
	sum->state = joint_state(sum->state, counts->state);
	sum->first_state = joint_state(sum->first_state, counts->first_state);
	sum->scanned = fmaxf(sum->scanned, counts->scanned);
	sum->first_scanned = fminf(sum->first_scanned, counts->first_scanned);
	sum->calls = sum->calls < 0 || counts->calls < 0 ? -1 : sum->calls + counts->calls;
	sum->rows += counts->rows;
	sum->loops += counts->loops;
	live_add_times(sum, counts);
}

void
live_add_times(LiveCounts *sum, const LiveCounts *counts)
{
	if (isnan(counts->total_ns))
		return;
	if (isnan(sum->total_ns))
		sum->total_ns = sum->self_ns = sum->total_margin_ns = sum->self_margin_ns = sum->wait_ns =
			sum->cpu_wait_ns = 0;
	sum->total_ns += counts->total_ns;
	sum->self_ns += counts->self_ns;
	add_squares(&sum->total_margin_ns, counts->total_margin_ns);
	add_squares(&sum->self_margin_ns, counts->self_margin_ns);
	sum->wait_ns += counts->wait_ns;
	sum->cpu_wait_ns += counts->cpu_wait_ns;
	for (int i = 0; i < LIVE_WAITS; i++)
		live_add_wait(sum, counts->waits[i].event, counts->waits[i].ns);
}

/*
 * Adds to the event's element or to an unused one.  A longer wait replaces the shortest one, whose
 * time is lost.
 */
void
live_add_wait(LiveCounts *counts, uint32 event, double ns)
{
	LiveWait   *shortest = &counts->waits[0];

	for (int i = 0; i < LIVE_WAITS && event != 0; i++)
	{
		LiveWait   *wait = &counts->waits[i];

		if (wait->event == event || wait->event == 0)
		{
			wait->event = event;
			wait->ns += (float) ns;
			return;
		}
		if (wait->ns < shortest->ns)
			shortest = wait;
	}
	if (event != 0 && ns > shortest->ns)
		*shortest = (LiveWait)
	{
		.event = event, .ns = (float) ns
	};
}

void
live_forget_times(LiveCounts *counts)
{
	counts->total_ns = counts->total_margin_ns = counts->self_ns = counts->self_margin_ns =
		counts->wait_ns = counts->cpu_wait_ns = NAN;
	memset(counts->waits, 0, sizeof(counts->waits));
}

static bool
is_unchanged(LiveSlot *slot, uint32 sequence)
{
	pg_read_barrier();
	return (sequence & 1) == 0 && pg_atomic_read_u32(&slot->sequence) == sequence;
}

/*
 * Returns a copy of the execution whose first slot this is, or NULL if there is none.  Sets *torn
 * to whether the execution's process has written meanwhile, which makes the copy invalid.
 */
static LiveImage *
copy_slot(LiveSlot *slot, bool *torn)
{
	uint32		sequence = pg_atomic_read_u32(&slot->sequence);
	LiveImage  *image = NULL;
	LiveHeader	header;

	pg_read_barrier();
	header = slot->header;
	*torn = !is_unchanged(slot, sequence);
	if (*torn || header.nslots == 0)
		return NULL;
	image = palloc(offsetof(LiveImage, chunks) + sizeof(LiveChunk) * header.nslots);
	image->header = header;
	for (int i = 0; i < header.nslots; i++)
		image->chunks[i] = live_slots[header.slots[i]].chunk;
	*torn = !is_unchanged(slot, sequence);
	return image;
}

static LiveImage *
read_slot(LiveSlot *slot)
{
	for (int i = 1; pg_atomic_read_u32(&slot->owner) != 0 && i <= TRIES_AT_ONCE * SLEEPS; i++)
	{
		bool		torn;
		LiveImage  *image = copy_slot(slot, &torn);

		if (!torn)
			return image;
		if (image != NULL)
			pfree(image);
		if (i % TRIES_AT_ONCE != 0)
			continue;
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000);
	}
	return NULL;
}

/* Returns whether an execution that was copied still occupies its slots. */
static bool
is_running(const LiveImage *image)
{
	const LiveHeader *header = &live_slots[image->header.slots[0]].header;

	/*
	 * keeps workers, whose slots usually pass to the leader or to a later
	 * worker
	 */
	return image->header.leader_pid != 0 ||
		(header->nslots > 0 && header->pid == image->header.pid &&
		 header->since == image->header.since);
}

/*
 * Copies the slots one after the other.  Then removes the executions that have ended meanwhile from
 * the list, because it may also contain the next execution of the same process.
 */
List *
live_read_all(void)
{
	List	   *images = NIL;
	ListCell   *cell;

	for (int i = 0; i < nlive_slots; i++)
	{
		LiveImage  *image;

		CHECK_FOR_INTERRUPTS();
		image = read_slot(&live_slots[i]);
		if (image != NULL)
			images = lappend(images, image);
	}
	pg_read_barrier();
	foreach(cell, images)
	{
		if (!is_running(lfirst(cell)))
			images = foreach_delete_current(images, cell);
	}
	return images;
}

/*
 * A reader's values and the number of the execution are a word, so that readers need no lock, and
 * so that values of an earlier execution in the same slot are not mistaken for this one's.
 */
static uint64
pack(uint32 number, uint16 first, uint16 second)
{
	return (uint64) number << 32 | (uint64) first << 16 | second;
}

static bool
unpack(uint64 word, uint32 number, uint16 *first, uint16 *second)
{
	*first = (uint16) (word >> 16);
	*second = (uint16) word;
	return word != 0 && (uint32) (word >> 32) == number;
}

LiveShown
live_shown(const LiveImage *image)
{
	LiveSlot   *slot = &live_slots[image->header.slots[0]];
	LiveShown	shown = {0};
	uint16		share;
	uint16		least;

	if (unpack(pg_atomic_read_u64(&slot->shown), image->header.number, &share, &least))
	{
		shown.share = share / (double) PG_UINT16_MAX;
		shown.least = least / (double) PG_UINT16_MAX;
	}
	return shown;
}

void
live_set_shown(const LiveImage *image, LiveShown shown)
{
	LiveSlot   *slot = &live_slots[image->header.slots[0]];

	pg_atomic_write_u64(&slot->shown, pack(image->header.number,
										   (uint16) (shown.share * PG_UINT16_MAX),
										   (uint16) (shown.least * PG_UINT16_MAX)));
}

/*
 * A duration is stored as its logarithm, with a resolution of 0.05 %, from SHORTEST on.  The last
 * bit of the lower end is LivePrediction.with_history.
 */
#define SHORTEST		1e-4
#define STEPS			2200

static uint16
duration_code(double duration)
{
	return (uint16) Max(Min(log(Max(duration, SHORTEST) / SHORTEST) * STEPS, PG_UINT16_MAX), 0);
}

static double
coded_duration(uint16 code)
{
	return SHORTEST * exp((double) code / STEPS);
}

void
live_predict(const LiveImage *image, const LivePrediction *prediction)
{
	LiveSlot   *slot = &live_slots[image->header.slots[0]];
	LivePrediction earlier;
	uint32		n = 1;

	if (live_predicted(image, &earlier))
		n = pg_atomic_add_fetch_u32(&slot->predictions, 1);
	else
		pg_atomic_write_u32(&slot->predictions, 1);
	if (n > 1 && pg_prng_double(&pg_global_prng_state) * n >= 1)
		return;
	pg_atomic_write_u64(&slot->predicted,
						pack(image->header.number,
							 (duration_code(prediction->low) & ~1) | prediction->with_history,
							 duration_code(prediction->high)));
}

bool
live_predicted(const LiveImage *image, LivePrediction *prediction)
{
	const LiveHeader *header = &image->header;
	uint16		low;
	uint16		high;

	if (header->nslots == 0 ||
		!unpack(pg_atomic_read_u64(&live_slots[header->slots[0]].predicted), header->number,
				&low, &high))
		return false;
	prediction->with_history = (low & 1) != 0;
	prediction->low = coded_duration(low & ~1);
	prediction->high = coded_duration(high);
	return true;
}
