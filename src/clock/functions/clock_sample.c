/* Input and output of the type clock_sample. */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "clock/measure/sample_members.h"
#include "compat.h"

PG_FUNCTION_INFO_V1(clock_sample_in);
PG_FUNCTION_INFO_V1(clock_sample_out);
PG_FUNCTION_INFO_V1(clock_sample_recv);
PG_FUNCTION_INFO_V1(clock_sample_send);

Datum
clock_sample_in(PG_FUNCTION_ARGS)
{
	char	   *text = PG_GETARG_CSTRING(0);
	Datum		jsonb;

	if (strlen(text) > SAMPLE_MAX_TEXT)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("clock_sample value is too long"),
				 errdetail("It has %zu bytes; the largest value needs fewer than %d.",
						   strlen(text), SAMPLE_MAX_TEXT)));
	jsonb = DirectFunctionCall1(jsonb_in, CStringGetDatum(text));
	return sample_to_datum(sample_from_jsonb(DatumGetJsonbP(jsonb)));
}

Datum
clock_sample_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(sample_to_json(sample_from_datum(PG_GETARG_DATUM(0))));
}

Datum
clock_sample_recv(PG_FUNCTION_ARGS)
{
	return sample_to_datum(sample_decode((StringInfo) PG_GETARG_POINTER(0), true));
}

Datum
clock_sample_send(PG_FUNCTION_ARGS)
{
	StringInfoData buf;

	pq_begintypsend(&buf);
	sample_encode(&buf, sample_from_datum(PG_GETARG_DATUM(0)), true);
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}
