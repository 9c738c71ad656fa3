/* Orders a reading of a clock and the instructions around it. */
#ifndef CLOCKTIMING_READING_FENCE_H
#define CLOCKTIMING_READING_FENCE_H

/*
 * On x86 and Arm, delays instructions after the fence until those before it have completed (Arm:
 * DDI 0487, B2.3, "Instruction Synchronization Barrier").  Elsewhere, only the compiler obeys it.
 */
static inline void
reading_fence(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_lfence();
#elif defined(__aarch64__)
	__asm__ volatile ("isb":::"memory");
#else
	__asm__ volatile ("":::"memory");
#endif
}

#endif							/* CLOCKTIMING_READING_FENCE_H */
