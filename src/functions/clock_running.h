/* Statements that are being executed, for monitoring. */
#ifndef CLOCKTIMING_CLOCK_RUNNING_H
#define CLOCKTIMING_CLOCK_RUNNING_H

typedef struct LongestRunning
{
	double		seconds;		/* since its start */
	const char *node_type;		/* of the innermost node at work; "" if
								 * unknown */
} LongestRunning;

/* Returns the number of published statements that the caller may see, and the longest one. */
extern int	clock_running_statements(LongestRunning *longest);

#endif							/* CLOCKTIMING_CLOCK_RUNNING_H */
