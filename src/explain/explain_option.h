/*-------------------------------------------------------------------------
 *
 * explain_option.h
 *	  EXPLAIN (ANALYZE, CLOCK_SAMPLING 64), on PostgreSQL 18 and later.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_EXPLAIN_OPTION_H
#define CLOCKTIMING_EXPLAIN_OPTION_H

/* Registers the option, where the server has options of extensions. */
extern void explain_option_init(void);

#endif							/* CLOCKTIMING_EXPLAIN_OPTION_H */
