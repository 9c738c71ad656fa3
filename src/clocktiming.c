/*-------------------------------------------------------------------------
 *
 * clocktiming.c
 *	  Module magic and settings.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "clock/progress.h"
#include "compat.h"
#include "explain/explain_option.h"
#include "explain/node_timing.h"

/* the name and the version are seen since 18, by pg_get_loaded_modules() */
#ifdef PG_MODULE_MAGIC_EXT
PG_MODULE_MAGIC_EXT(.name = "clocktiming", .version = CLOCKTIMING_VERSION);
#else
PG_MODULE_MAGIC;
#endif

void		_PG_init(void);

void
_PG_init(void)
{
	pg_bindtextdomain(TEXTDOMAIN);

	DefineCustomIntVariable("clocktiming.progress_interval",
							gettext_noop("Time between two progress reports of a long run."),
							gettext_noop("0 turns progress reports off."),
							&progress_interval_ms,
							5000, 0, PG_INT32_MAX,
							PGC_USERSET,
							GUC_UNIT_MS,
							NULL, NULL, NULL);
	node_timing_init();
	explain_option_init();
	MarkGUCPrefixReserved("clocktiming");
}
