/* Statements that are being executed, for monitoring. */
#ifndef CLOCKTIMING_CLOCK_RUNNING_H
#define CLOCKTIMING_CLOCK_RUNNING_H

typedef struct LongestRunning
{
	double		seconds;		/* time since the statement's start */
	const char *node_type;		/* innermost active node; "" if unknown */
} LongestRunning;

/*
 * Returns the number of other clients' statements in clock_running that the caller may see.  Sets
 * *longest to the statement that started first, unless the number is 0.
 */
extern int	clock_running_statements(LongestRunning *longest);

#endif							/* CLOCKTIMING_CLOCK_RUNNING_H */
