/* Files that end with a checksum.  Errors are written to the server log, not raised. */
#ifndef CLOCKTIMING_CHECKED_FILE_H
#define CLOCKTIMING_CHECKED_FILE_H

#include "port/pg_crc32c.h"

typedef struct CheckedWriter
{
	const char *path;
	char		temporary[MAXPGPATH];
	FILE	   *file;			/* NULL if it could not be opened */
	pg_crc32c	crc;
	int			error;			/* errno of the first failure; 0: none */
} CheckedWriter;

extern void checked_write_begin(CheckedWriter *writer, const char *path);
extern void checked_write(CheckedWriter *writer, const void *data, Size size);

/* Writes the checksum, and renames the file. */
extern void checked_write_end(CheckedWriter *writer);

typedef enum CheckedStatus
{
	CHECKED_MISSING,
	CHECKED_UNREADABLE,
	CHECKED_INVALID,
	CHECKED_VALID
} CheckedStatus;

typedef struct CheckedReader
{
	char	   *data;			/* whole file, or NULL */
	const char *next;			/* next byte for checked_take() */
	Size		left;			/* bytes from "next" to the checksum */
} CheckedReader;

/*
 * Reads a file of at most max_size bytes.  If the checksum matches, calls restore(), which returns
 * whether the contents are valid.  "consequence" is the translated DETAIL of messages about an
 * unreadable or invalid file.
 */
extern CheckedStatus checked_load(const char *path, Size max_size, const char *consequence,
								  bool (*restore) (CheckedReader *reader));

/* Returns the next bytes, which need not be aligned; NULL if fewer than "size" are left. */
extern const void *checked_take(CheckedReader *reader, Size size);

#endif							/* CLOCKTIMING_CHECKED_FILE_H */
