/*
 * The text form of a clock_sample: a JSON object with the members of the table sample_members, in
 * its order, and the version as the first member.
 *
 * Each value is written such that reading it back yields the same bits, because equality of samples
 * compares these: a double in its shortest exact form, a time in ISO 8601 with microseconds and the
 * time zone Z.  Values that JSON lacks are null.  Unknown and missing members are errors, so that a
 * misspelt member is not ignored.
 */
#include "postgres.h"

#include <math.h>

#include "common/shortest_dec.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/json.h"
#include "utils/numeric.h"

#include "clock/measure/sample_members.h"

#define WHOLE_NUMBER	"a whole number of 64 bits"
#define WHOLE_NUMBERS	"an array of whole numbers of 64 bits"

static char *
time_to_text(TimestampTz at, bool fraction)
{
	struct pg_tm tm;
	fsec_t		fsec;

	if (timestamp2tm(at, NULL, &tm, &fsec, NULL, NULL) != 0)
		elog(ERROR, "timestamp out of range");
	return psprintf(fraction ? "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ" :
					"%04d-%02d-%02dT%02d:%02d:%02dZ",
					tm.tm_year, tm.tm_mon, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
					(int) fsec);
}

/* Accepts only the two forms of time_to_text().  A whole second may have the fraction 0. */
static bool
time_from_text(const char *text, TimestampTz *at)
{
	struct pg_tm tm;
	int			fsec = 0;

	return sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%6d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
				  &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &fsec) >= 6 &&
		tm.tm_year > 0 && tm2timestamp(&tm, fsec, NULL, at) == 0 &&
		strcmp(text, time_to_text(*at, strchr(text, '.') != NULL)) == 0;
}

static void
append_double(StringInfo buf, double value)
{
	char text[	DOUBLE_SHORTEST_DECIMAL_LEN];

	/* jsonb has no -0 */
	(void) double_to_shortest_decimal_buf(value == 0 ? 0 : value, text);
	appendStringInfoString(buf, text);
}

/*
 * Writes the members in the table's order.  A NaN is written as null, as is a 0 that stands for an
 * unknown value.
 */
char *
sample_to_json(const ClockSample *sample)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "{\"version\": %d", SAMPLE_VERSION);
	for (int i = 0; i < SAMPLE_MEMBERS; i++)
	{
		const SampleMember *m = &sample_members[i];
		const void *member = (const char *) sample + m->offset;
		int			n = m->kind == MEMBER_CPUS ? sample->ncpus : sample->n;

		appendStringInfo(&buf, ", \"%s\": ", m->name);
		switch (m->kind)
		{
			case MEMBER_TEXT:
				escape_json(&buf, *(const char *const *) member);
				break;
			case MEMBER_TIME:
				escape_json(&buf, time_to_text(int64_of(member),
											   int64_of(member) % USECS_PER_SEC != 0));
				break;
			case MEMBER_COUNT:
				appendStringInfo(&buf, INT64_FORMAT, int64_of(member));
				break;
			case MEMBER_BITS:
				appendStringInfo(&buf, "%d", sample->precision_bits);
				break;
			case MEMBER_CPUS:
			case MEMBER_TICKS:
			case MEMBER_COUNTS:
				appendStringInfoChar(&buf, '[');
				for (int k = 0; k < n; k++)
					appendStringInfo(&buf, "%s" INT64_FORMAT, k > 0 ? ", " : "",
									 m->kind == MEMBER_CPUS ? (int64) sample->cpus[k] :
									 m->kind == MEMBER_TICKS ? (int64) sample->entries[k].ticks :
									 (int64) sample->entries[k].count);
				appendStringInfoChar(&buf, ']');
				break;
			default:
				if (isnan(double_of(member)) ||
					(m->kind == MEMBER_UNLESS_ZERO && double_of(member) == 0))
					appendStringInfoString(&buf, "null");
				else
					append_double(&buf, double_of(member));
		}
	}
	appendStringInfoChar(&buf, '}');
	return buf.data;
}

pg_noreturn static void
bad_json(const char *name, const char *what)
{
	sample_malformed(ERRCODE_INVALID_TEXT_REPRESENTATION,
					 psprintf("The member \"%s\" is not %s.", name, what));
}

static char *
json_number(const char *name, const JsonbValue *value, const char *what)
{
	if (value->type != jbvNumeric)
		bad_json(name, what);
	return DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value->val.numeric)));
}

static int64
json_int64(const char *name, const JsonbValue *value, const char *what)
{
	char	   *text = json_number(name, value, what);
	char	   *end;
	int64		result;

	errno = 0;
	result = strtoi64(text, &end, 10);
	if (errno != 0 || *end != '\0')
		bad_json(name, what);
	pfree(text);
	return result;
}

static char *
json_text(const char *name, const JsonbValue *value)
{
	if (value->type != jbvString)
		bad_json(name, "a string");
	return pnstrdup(value->val.string.val, value->val.string.len);
}

/*
 * Returns the elements of an array of whole numbers.  Checks their number before allocating memory
 * for them.
 */
static int64 *
json_array(const char *name, const JsonbValue *value, int most, int *n)
{
	JsonbIterator *it;
	JsonbIteratorToken token;
	JsonbValue	element;
	int64	   *result;
	int			i = 0;

	if (value->type != jbvBinary || !JsonContainerIsArray(value->val.binary.data))
		bad_json(name, "an array");
	*n = JsonContainerSize(value->val.binary.data);
	if (*n > most)
		sample_malformed(ERRCODE_INVALID_TEXT_REPRESENTATION,
						 psprintf("The array \"%s\" has more than %d elements.", name, most));
	result = palloc(sizeof(int64) * (*n + 1));
	it = JsonbIteratorInit(value->val.binary.data);
	while ((token = JsonbIteratorNext(&it, &element, true)) != WJB_DONE)
	{
		if (token == WJB_ELEM)
			result[i++] = json_int64(name, &element, WHOLE_NUMBERS);
	}
	Assert(i == *n);
	return result;
}

/*
 * Raises an error if the object has a member that this version does not know.  The message shows at
 * most as many bytes of the name as a PostgreSQL name has.
 */
static void
check_names(JsonbContainer *root)
{
	JsonbIterator *it = JsonbIteratorInit(root);
	JsonbIteratorToken token;
	JsonbValue	key;

	while ((token = JsonbIteratorNext(&it, &key, true)) != WJB_DONE)
	{
		char	   *name;
		bool		known;

		if (token != WJB_KEY)
			continue;
		name = pnstrdup(key.val.string.val, key.val.string.len);
		known = strcmp(name, "version") == 0;
		for (int i = 0; i < SAMPLE_MEMBERS && !known; i++)
			known = strcmp(name, sample_members[i].name) == 0;
		if (!known)
			sample_malformed(ERRCODE_INVALID_TEXT_REPRESENTATION,
							 psprintf("There is no member \"%s\" in version %d.",
									  pnstrdup(name, pg_mbcliplen(name, strlen(name),
																  NAMEDATALEN - 1)),
									  SAMPLE_VERSION));
		pfree(name);
	}
}

static const JsonbValue *
json_member(JsonbContainer *root, const char *name, JsonbValue *value)
{
	if (getKeyJsonValueFromContainer(root, name, strlen(name), value) == NULL)
		sample_malformed(ERRCODE_INVALID_TEXT_REPRESENTATION,
						 psprintf("The member \"%s\" is missing.", name));
	return value;
}

/*
 * Reads the members in the table's order, and checks the whole.  Values that are out of range are
 * clamped to values that sample_check() rejects, because the members of ClockSample have fewer
 * bits.
 */
ClockSample *
sample_from_jsonb(Jsonb *jsonb)
{
	ClockSample *sample = palloc0(sizeof(ClockSample));
	JsonbContainer *root = &jsonb->root;
	JsonbValue	value;
	int64	   *ticks = NULL;
	int			ncounts;

	if (!JB_ROOT_IS_OBJECT(jsonb))
		sample_malformed(ERRCODE_INVALID_TEXT_REPRESENTATION, "It is not a JSON object.");
	/* checks the version first: a newer one may have other members */
	sample_check_version(json_int64("version", json_member(root, "version", &value), WHOLE_NUMBER),
						 ERRCODE_INVALID_TEXT_REPRESENTATION);
	check_names(root);

	for (int i = 0; i < SAMPLE_MEMBERS; i++)
	{
		const SampleMember *m = &sample_members[i];
		void	   *member = (char *) sample + m->offset;
		int64	   *array;

		json_member(root, m->name, &value);
		switch (m->kind)
		{
			case MEMBER_TEXT:
				*(const char **) member = json_text(m->name, &value);
				break;
			case MEMBER_TIME:
				if (!time_from_text(json_text(m->name, &value), (TimestampTz *) member))
					bad_json(m->name, "a time such as \"2026-01-31T23:59:59.123456Z\"");
				break;
			case MEMBER_COUNT:
				*(int64 *) member = json_int64(m->name, &value, WHOLE_NUMBER);
				break;
			case MEMBER_BITS:
				sample->precision_bits =
					(int) Min(Max(json_int64(m->name, &value, WHOLE_NUMBER), 0),
							  TALLY_EXACT + 1);
				break;
			case MEMBER_CPUS:
				array = json_array(m->name, &value, SAMPLE_MAX_CPUS, &sample->ncpus);
				sample->cpus = palloc(sizeof(int32) * (sample->ncpus + 1));
				for (int k = 0; k < sample->ncpus; k++)
					sample->cpus[k] = (int32) Min(Max(array[k], -1), SAMPLE_MAX_CPUS);
				break;
			case MEMBER_TICKS:
				ticks = json_array(m->name, &value, SAMPLE_MAX_ENTRIES, &sample->n);
				break;
			case MEMBER_COUNTS:
				array = json_array(m->name, &value, SAMPLE_MAX_ENTRIES, &ncounts);
				if (sample->n != ncounts)
					sample_malformed(ERRCODE_INVALID_TEXT_REPRESENTATION,
									 psprintf("The arrays \"ticks\" and \"counts\" have %d and %d elements.",
											  sample->n, ncounts));
				sample->entries = palloc(sizeof(TallyEntry) * (sample->n + 1));
				for (int k = 0; k < sample->n; k++)
				{
					sample->entries[k].ticks = (uint64) ticks[k];
					sample->entries[k].count = (uint64) array[k];
					sample->total += sample->entries[k].count;
				}
				break;
			default:
				if (value.type == jbvNull && m->kind >= MEMBER_UNLESS_ZERO)
					*(double *) member = m->kind == MEMBER_UNLESS_NAN ? NAN : 0;
				else
					/* infinity if too large; sample_check() rejects infinity */
					*(double *) member = strtod(json_number(m->name, &value, "a number"), NULL);
		}
	}
	sample_check(sample, ERRCODE_INVALID_TEXT_REPRESENTATION);
	return sample;
}
