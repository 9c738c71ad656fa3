/* clock_cpu_skew(): compares the clocks of all CPUs. */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"

#include "clock/functions/clock_args.h"
#include "clock/measure/skew_run.h"
#include "compat.h"
#include "server/args.h"
#include "server/row.h"

PG_FUNCTION_INFO_V1(clock_cpu_skew);

/* Warns of faults of the clock.  Raises no ERROR, because faults are results of the measurement. */
static void
warn_of_findings(const Skew *skew)
{
	const ClockSource *source = skew->source;
	const CpuSkew *first = &skew->cpus[0];
	int			warped = 0;
	int			unknown = 0;
	int64		longest_stall = 0;
	double		stall_ns = 0;

	for (int i = 1; i < skew->ncpus; i++)
	{
		const CpuSkew *cpu = &skew->cpus[i];
		const SkewResult *result = &cpu->result;

		unknown += !result->known;
		longest_stall = Max(longest_stall, result->longest_stall);
		/* each reading took at least the cost of a reading on the faster CPU */
		stall_ns = Max(stall_ns, result->longest_stall * Min(first->reading_ns, cpu->reading_ns));
		warped += result->warps > 0;
	}
	if (skew->warps > 0)
		ereport(WARNING,
				(errmsg("clock source \"%s\" went backwards between CPUs", source->name),
				 errdetail("Warps: %lld, the largest of %.0f ns, between CPU %d and %d of the %d other CPUs.",
						   (long long) skew->warps, skew->warp_max * skew->tick_ns, first->cpu,
						   warped,
						   skew->ncpus - 1)));
	if (unknown > 0)
		ereport(WARNING,
				(errmsg("clock source \"%s\" stood still", source->name),
				 errdetail("It did not advance during the comparison of CPU %d with %d of the %d other CPUs, so their offsets are not known.",
						   first->cpu, unknown, skew->ncpus - 1),
				 source->kind == CLOCK_COARSE ?
				 errhint("It advances by %g ms at a time: a longer duration might help.",
						 clock_source_resolution_ns(source) / 1e6) : 0));
	else if (stall_ns > DISAGREEMENT_NS + 2 * clock_source_resolution_ns(source) +
			 clock_source_slack_ns(source))
		ereport(WARNING,
				(errmsg("clock source \"%s\" stood still", source->name),
				 errdetail("Up to %lld readings in a row were equal to the previous reading.",
						   (long long) longest_stall)));
	for (int i = 1; i < skew->ncpus; i++)
	{
		if (!skew->cpus[i].result.steady)
			ereport(WARNING,
					(errmsg("the offset of clock source \"%s\" on CPU %d changed",
							source->name, skew->cpus[i].cpu),
					 errdetail("No constant offset explains all readings; the bounds contain every value that the offset had.")));
	}
}

static const ClockSource *
get_source(FunctionCallInfo fcinfo)
{
	const ClockSource *source;

	if (PG_ARGISNULL(0))
		return skew_default_source();
	source = arg_source(fcinfo, 0);

	/* the background worker on the other CPU lacks this session's settings */
	if (strcmp(source->name, "instr_time") == 0)
		source = clock_source_get(clock_source_for_explain());
	if (source->kind == CLOCK_CPU_TIME)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("clock source \"%s\" cannot be compared between CPUs",
						source->name),
				 errdetail("It counts the CPU time of each process separately.")));
	return source;
}

/* Adds a bound in ns, rounded outwards to two decimals so that it remains a bound. */
static void
put_bound(Row *row, double ns, double (*outwards) (double))
{
	row_put_number(row, outwards(ns * 100) / 100, 2);
}

/*
 * Returns a row for each CPU: the offset of its clock from the first CPU's, which is the middle of
 * two bounds.  Raises a WARNING for each finding.
 */
Datum
clock_cpu_skew(PG_FUNCTION_ARGS)
{
	double		duration_s = arg_duration(fcinfo, 1);
	Skew		skew;
	Row			row;

	InitMaterializedSRF(fcinfo, 0);
	skew = skew_run(get_source(fcinfo), duration_s);

	row = row_of_set(fcinfo);
	for (int i = 0; i < skew.ncpus; i++)
	{
		const SkewResult *result = &skew.cpus[i].result;
		double		tick_ns = result->known ? skew.tick_ns : NAN;

		row_put(&row, Int32GetDatum(skew.cpus[i].cpu));
		row_put_text(&row, clock_source_reads(skew.source));
		row_put_number(&row, skew.cpus[i].reading_ns, 2);
		row_put_number(&row, (result->offset_min / 2.0 + result->offset_max / 2.0) * tick_ns, 2);
		put_bound(&row, result->offset_min * tick_ns, floor);
		put_bound(&row, result->offset_max * tick_ns, ceil);
		row_put_number(&row, result->round_trip == INT64_MAX ? NAN :
					   result->round_trip * skew.tick_ns, 2);
		row_put_count(&row, result->exchanges);
		row_put_count(&row, result->warps);
		row_put_number(&row, result->warp_max * skew.tick_ns, 2);
		row_put_count(&row, result->stalls);
		row_put_count(&row, result->longest_stall);
		row_to_set(&row, fcinfo);
	}
	warn_of_findings(&skew);
	return (Datum) 0;
}
