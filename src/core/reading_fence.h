/*-------------------------------------------------------------------------
 *
 * reading_fence.h
 *	  The order of a reading of a clock and what stands around it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_READING_FENCE_H
#define CLOCKTIMING_READING_FENCE_H

/*
 * No instruction after it begins before all before it are done.
 *
 * Arm: nothing after an ISB is fetched before what precedes it has completed
 * (Arm Architecture Reference Manual, DDI 0487, B2.3, "Instruction
 * Synchronization Barrier"), and a read of the counter after it is not taken
 * before it.
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
