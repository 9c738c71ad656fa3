/*
 * Refuses 32-bit processors, as compat.h does for files that include headers of PostgreSQL.  The
 * Makefile includes this header first in all files of the unit tests.
 */
#ifndef CLOCKTIMING_WORD_SIZE_H
#define CLOCKTIMING_WORD_SIZE_H

#ifndef __LP64__
#error "clocktiming needs a 64-bit processor"
#endif

#endif							/* CLOCKTIMING_WORD_SIZE_H */
