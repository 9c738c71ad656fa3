/* Finds libraries that replace a function of the C library, such as libfaketime by LD_PRELOAD. */
#ifndef CLOCKTIMING_INTERPOSED_H
#define CLOCKTIMING_INTERPOSED_H

/*
 * Returns the path of the library or program whose function of this name this process calls instead
 * of the C library's; NULL if it calls the C library's, or it is not known.
 */
extern const char *interposed_by(const char *function);

#endif							/* CLOCKTIMING_INTERPOSED_H */
