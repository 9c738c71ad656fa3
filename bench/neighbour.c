/*
 * neighbour SECONDS: uses as much as possible of a processor and of its caches, for bench/busy.
 * Creates a session of its own, because Linux divides processor time among sessions (autogroups).
 * Otherwise all neighbours together would get only the share of one session.
 */
#include <stdlib.h>
#include <unistd.h>

#define SIZE	((size_t) 64 << 20)
#define STEP	(7 * 4160 + 64)

int
main(int argc, char **argv)
{
	volatile char *memory = calloc(SIZE, 1);

	(void) setsid();
	(void) alarm(argc > 1 ? (unsigned) atoi(argv[1]) : 60);
	for (size_t i = 0; memory != NULL; i = (i + STEP) % SIZE)
		memory[i]++;
	return 1;
}
