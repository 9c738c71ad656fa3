/*
 * The planner records in PlannedStmt.invalItems which functions a plan depends on, except the
 * server's own: those that it calls, and those that were inlined.  It records the hash values of
 * their OIDs.  They are compared with the hash values of the extension's functions.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_proc.h"
#include "commands/extension.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "compat.h"
#include "plan/stats/own_statements.h"

/* Sorted hash values of the extension's functions in this database. */
static uint32 *own_functions = NULL;
static int	nown_functions = 0;

/* Number of changes of functions, from 1, and the number when own_functions was listed. */
static uint64 changes = 1;
static uint64 listed_at = 0;

static int
compare_hashes(const void *a, const void *b)
{
	uint32		x = *(const uint32 *) a;
	uint32		y = *(const uint32 *) b;

	return (x > y) - (x < y);
}

/* Called when functions were created, changed or dropped. */
static void
forget_functions(Datum arg, int cacheid, uint32 hashvalue)
{
	(void) arg;
	(void) cacheid;
	(void) hashvalue;
	changes++;
}

static void
add_function(uint32 hash)
{
	static int	nallocated = 0;

	if (nown_functions >= nallocated)
	{
		int			n = Max(256, 2 * nallocated);

		own_functions = own_functions == NULL ?
			MemoryContextAlloc(TopMemoryContext, sizeof(uint32) * n) :
			repalloc(own_functions, sizeof(uint32) * n);
		nallocated = n;
	}
	own_functions[nown_functions++] = hash;
}

/* Lists the functions that are members of the extension; none if it was not created. */
static void
list_functions(void)
{
	uint64		at_start = changes;
	Oid			extension;
	Relation	depend;
	SysScanDesc scan;
	ScanKeyData keys[2];
	HeapTuple	tuple;

	nown_functions = 0;
	extension = get_extension_oid("clocktiming", true);
	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(ExtensionRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(extension));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, lengthof(keys), keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend member = (Form_pg_depend) GETSTRUCT(tuple);

		if (member->classid == ProcedureRelationId && member->deptype == DEPENDENCY_EXTENSION)
			add_function(GetSysCacheHashValue1(PROCOID, ObjectIdGetDatum(member->objid)));
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	if (nown_functions > 0)
		qsort(own_functions, nown_functions, sizeof(uint32), compare_hashes);

	/* differs from "changes" if functions have changed meanwhile */
	listed_at = at_start;
}

static bool
is_own_function(uint32 hash)
{
	static bool has_callback = false;

	if (!has_callback)
	{
		CacheRegisterSyscacheCallback(PROCOID, forget_functions, (Datum) 0);
		has_callback = true;
	}
	if (listed_at != changes)
		list_functions();
	return nown_functions > 0 &&
		bsearch(&hash, own_functions, nown_functions, sizeof(uint32), compare_hashes) != NULL;
}

bool
is_own_statement(const PlannedStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->invalItems)
	{
		const PlanInvalItem *item = lfirst_node(PlanInvalItem, cell);

		if (item->cacheId == PROCOID && is_own_function(item->hashValue))
			return true;
	}
	return false;
}
