/*
 * The binary form is the version in one byte, then the members in the order of sample_members, in
 * network byte order without alignment.  A text or an array follows its length in four bytes.
 */
#include "postgres.h"

#include <math.h>

#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "port/pg_bswap.h"

#include "clock/measure/sample_members.h"

static void
encode_text(StringInfo buf, const char *text, bool wire)
{
	char	   *sent = wire ? pg_server_to_client(text, strlen(text)) : unconstify(char *, text);
	int			length = strlen(sent);

	pq_sendint32(buf, length);
	pq_sendbytes(buf, sent, length);
}

/*
 * Writes the members in the table's order.  Equal samples have equal bytes, because the type's
 * equality, and so DISTINCT and GROUP BY, compares these.
 */
void
sample_encode(StringInfo buf, const ClockSample *sample, bool wire)
{
	pq_sendint8(buf, SAMPLE_VERSION);
	for (int i = 0; i < SAMPLE_MEMBERS; i++)
	{
		const SampleMember *m = &sample_members[i];
		const void *member = (const char *) sample + m->offset;

		switch (m->kind)
		{
			case MEMBER_TEXT:
				encode_text(buf, *(const char *const *) member, wire);
				break;
			case MEMBER_BITS:
				pq_sendint8(buf, sample->precision_bits);
				break;
			case MEMBER_CPUS:
				pq_sendint32(buf, sample->ncpus);
				for (int k = 0; k < sample->ncpus; k++)
					pq_sendint32(buf, sample->cpus[k]);
				break;
			case MEMBER_TICKS:
			case MEMBER_COUNTS:
				pq_sendint32(buf, sample->n);
				for (int k = 0; k < sample->n; k++)
					pq_sendint64(buf, m->kind == MEMBER_TICKS ? sample->entries[k].ticks :
								 sample->entries[k].count);
				break;
			case MEMBER_TIME:
			case MEMBER_COUNT:
				pq_sendint64(buf, int64_of(member));
				break;
			default:
				/* equal samples need equal bytes: one form of 0, one of NaN */
				pq_sendfloat8(buf,
							  isnan(double_of(member)) ? NAN : double_of(member) == 0 ? 0 :
							  double_of(member));
		}
	}
}

static char *
decode_text(const char *name, StringInfo buf, bool wire, int sqlstate)
{
	int			length = (int) pq_getmsgint(buf, 4);
	int			bytes;

	/* text may be longer in the client's encoding */
	if (length < 0 || length > SAMPLE_MAX_NAME * MAX_CONVERSION_GROWTH)
		sample_malformed(sqlstate, psprintf("The member \"%s\" has more than %d bytes.",
											name, SAMPLE_MAX_NAME));
	return wire ? pq_getmsgtext(buf, length, &bytes) :
		pnstrdup(pq_getmsgbytes(buf, length), length);
}

/* Reads and checks the number of elements of an array, of "size" bytes each. */
static int
decode_length(const char *name, StringInfo buf, int most, int size, int sqlstate)
{
	int			n = (int) pq_getmsgint(buf, 4);

	if (n < 0 || n > most)
		sample_malformed(sqlstate, psprintf("The array \"%s\" has more than %d elements.", name, most));
	if (n > (buf->len - buf->cursor) / size)
		sample_malformed(sqlstate, psprintf("The array \"%s\" is cut off.", name));
	return n;
}

/* Returns an element of eight bytes.  Faster than pq_getmsgint64(), for clock_merge(). */
static uint64
element(const char *elements, int k)
{
	uint64		value;

	memcpy(&value, elements + k * sizeof(value), sizeof(value));
	return pg_ntoh64(value);
}

/*
 * Reads the members in the table's order, and checks the whole.  Checks each length before
 * allocating memory for it, because the bytes may come from a client.
 */
ClockSample *
sample_decode(StringInfo buf, bool wire)
{
	ClockSample *sample = palloc0(sizeof(ClockSample));
	int			sqlstate = wire ? ERRCODE_INVALID_BINARY_REPRESENTATION : ERRCODE_DATA_CORRUPTED;

	sample_check_version(pq_getmsgbyte(buf), sqlstate);
	for (int i = 0; i < SAMPLE_MEMBERS; i++)
	{
		const SampleMember *m = &sample_members[i];
		void	   *member = (char *) sample + m->offset;
		const char *elements;
		int64		bits;

		switch (m->kind)
		{
			case MEMBER_TEXT:
				*(const char **) member = decode_text(m->name, buf, wire, sqlstate);
				break;
			case MEMBER_BITS:
				sample->precision_bits = pq_getmsgbyte(buf);
				break;
			case MEMBER_CPUS:
				sample->ncpus = decode_length(m->name, buf, SAMPLE_MAX_CPUS, 4, sqlstate);
				sample->cpus = palloc(sizeof(int32) * (sample->ncpus + 1));
				for (int k = 0; k < sample->ncpus; k++)
					sample->cpus[k] = (int32) pq_getmsgint(buf, 4);
				break;
			case MEMBER_TICKS:
				sample->n = decode_length(m->name, buf, SAMPLE_MAX_ENTRIES, 8, sqlstate);
				sample->entries = palloc(sizeof(TallyEntry) * (sample->n + 1));
				elements = pq_getmsgbytes(buf, sample->n * 8);
				for (int k = 0; k < sample->n; k++)
					sample->entries[k].ticks = element(elements, k);
				break;
			case MEMBER_COUNTS:
				if (decode_length(m->name, buf, SAMPLE_MAX_ENTRIES, 8, sqlstate) != sample->n)
					sample_malformed(sqlstate, "The arrays \"ticks\" and \"counts\" have different lengths.");
				elements = pq_getmsgbytes(buf, sample->n * 8);
				for (int k = 0; k < sample->n; k++)
				{
					sample->entries[k].count = element(elements, k);
					sample->total += sample->entries[k].count;
				}
				break;
			default:
				bits = pq_getmsgint64(buf);
				memcpy(member, &bits, sizeof(bits));
		}
	}
	sample_check(sample, sqlstate);
	return sample;
}

Datum
sample_to_datum(const ClockSample *sample)
{
	StringInfoData buf;
	bytea	   *stored;

	initStringInfo(&buf);
	appendStringInfoSpaces(&buf, VARHDRSZ);
	sample_encode(&buf, sample, false);
	stored = (bytea *) buf.data;
	SET_VARSIZE(stored, buf.len);
	return PointerGetDatum(stored);
}

ClockSample *
sample_from_datum(Datum datum)
{
	struct varlena *stored = PG_DETOAST_DATUM_PACKED(datum);
	StringInfoData buf;
	ClockSample *sample;

	/* PostgreSQL 15 lacks initReadOnlyStringInfo() */
	buf.data = VARDATA_ANY(stored);
	buf.len = buf.maxlen = VARSIZE_ANY_EXHDR(stored);
	buf.cursor = 0;
	sample = sample_decode(&buf, false);
	pq_getmsgend(&buf);
	return sample;
}
