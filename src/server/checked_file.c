/*
 * Files that end with a checksum (CRC-32C).
 *
 * A file is written under a temporary name, which durable_rename() replaces by the final one.  So
 * after a crash the file is the old one or the new one, never a part of it.  The checksum shows
 * damage of other kinds, such as that by a failing disk.
 *
 * The postmaster calls these functions when the server starts and stops, and an error there would
 * prevent that.  So failures are logged, and the caller starts without the file's contents.
 */
#include "postgres.h"

#include <sys/stat.h>
#include <unistd.h>

#include "storage/fd.h"

#include "compat.h"
#include "server/checked_file.h"

void
checked_write_begin(CheckedWriter *writer, const char *path)
{
	writer->path = path;
	snprintf(writer->temporary, MAXPGPATH, "%s.tmp", path);
	writer->file = AllocateFile(writer->temporary, PG_BINARY_W);
	writer->error = writer->file == NULL ? errno : 0;
	INIT_CRC32C(writer->crc);
}

static void
write_raw(CheckedWriter *writer, const void *data, Size size)
{
	if (writer->error == 0 && size > 0 && fwrite(data, size, 1, writer->file) != 1)
		writer->error = errno;
}

void
checked_write(CheckedWriter *writer, const void *data, Size size)
{
	COMP_CRC32C(writer->crc, data, size);
	write_raw(writer, data, size);
}

void
checked_write_end(CheckedWriter *writer)
{
	FIN_CRC32C(writer->crc);
	write_raw(writer, &writer->crc, sizeof(writer->crc));
	if (writer->file != NULL && FreeFile(writer->file) != 0 && writer->error == 0)
		writer->error = errno;
	if (writer->error == 0)
	{
		(void) durable_rename(writer->temporary, writer->path, LOG);
		return;
	}
	errno = writer->error;
	ereport(LOG,
			(errcode_for_file_access(),
			 errmsg("could not write file \"%s\": %m", writer->temporary)));
	unlink(writer->temporary);
}

/* Removes the checksum from the end of the data; returns whether it matches. */
static bool
take_checksum(CheckedReader *reader)
{
	pg_crc32c	crc;
	pg_crc32c	stored;

	reader->left -= sizeof(crc);
	memcpy(&stored, reader->data + reader->left, sizeof(crc));
	INIT_CRC32C(crc);
	COMP_CRC32C(crc, reader->data, reader->left);
	FIN_CRC32C(crc);
	return EQ_CRC32C(crc, stored);
}

/*
 * Reads a file into palloc'd memory, and verifies its checksum.  An unreadable file is logged here;
 * the caller logs one with invalid data.  Limits the size, because a damaged file may have any
 * size, and a file that does not fit into memory must not end the process.
 */
static CheckedStatus
checked_read(CheckedReader *reader, const char *path, Size max_size, const char *consequence)
{
	FILE	   *file = AllocateFile(path, PG_BINARY_R);
	struct stat info = {0};
	CheckedStatus status = CHECKED_INVALID;
	int			error = 0;

	memset(reader, 0, sizeof(*reader));
	if (file == NULL && errno == ENOENT)
		return CHECKED_MISSING;
	if (file == NULL || fstat(fileno(file), &info) != 0)
		error = errno;
	else if (S_ISREG(info.st_mode) && info.st_size > (off_t) sizeof(pg_crc32c) &&
			 (Size) info.st_size <= max_size)
	{
		reader->data = palloc_extended(info.st_size, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
		reader->next = reader->data;
		if (reader->data == NULL)
			error = ENOMEM;
		else
			reader->left = fread(reader->data, 1, info.st_size, file);
		if (error == 0 && ferror(file))
			error = errno;
		else if (error == 0 && reader->left == (Size) info.st_size && take_checksum(reader))
			status = CHECKED_VALID;
	}
	if (file != NULL)
		FreeFile(file);
	if (error == 0)
		return status;
	errno = error;
	ereport(LOG,
			(error == ENOMEM ? errcode(ERRCODE_OUT_OF_MEMORY) : errcode_for_file_access(),
			 errmsg("could not read file \"%s\": %m", path),
			 errdetail_internal("%s", consequence)));
	return CHECKED_UNREADABLE;
}

CheckedStatus
checked_load(const char *path, Size max_size, const char *consequence,
			 bool (*restore) (CheckedReader *reader))
{
	CheckedReader reader;
	CheckedStatus status = checked_read(&reader, path, max_size, consequence);

	if (status == CHECKED_VALID && !restore(&reader))
		status = CHECKED_INVALID;
	if (status == CHECKED_INVALID)
		ereport(LOG,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("ignoring invalid data in file \"%s\"", path),
				 errdetail_internal("%s", consequence)));
	if (reader.data != NULL)
		pfree(reader.data);
	return status;
}

const void *
checked_take(CheckedReader *reader, Size size)
{
	const char *taken = reader->next;

	if (reader->left < size)
		return NULL;
	reader->next += size;
	reader->left -= size;
	return taken;
}
