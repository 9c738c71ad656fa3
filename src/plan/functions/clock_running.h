/* Statements that are being executed, for monitoring.  Suspended ones do not count. */
#ifndef CLOCKTIMING_CLOCK_RUNNING_H
#define CLOCKTIMING_CLOCK_RUNNING_H

typedef struct LongestRunning
{
	double		seconds;		/* execution time of the statement so far */
	const char *node_type;		/* innermost active node; "" if unknown */
} LongestRunning;

/*
 * Returns the number of other clients' statements in clock_running that the caller may see.  Sets
 * *longest to the statement that has been executed longest, unless the number is 0.
 */
extern int	clock_running_statements(LongestRunning *longest);

#endif							/* CLOCKTIMING_CLOCK_RUNNING_H */
