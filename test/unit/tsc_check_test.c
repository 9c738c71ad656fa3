/* tsc_check_test: whether Linux checks the TSC, by what the kernel reports. */
#include <string.h>

#include "core/tsc_check.h"
#include "tap.h"

#define EXEMPT "fpu tsc constant_tsc nonstop_tsc tsc_adjust"

/* A machine with one package, whose TSC the kernel compares with HPET. */
static const TscCheckEvidence ordinary = {
	"tsc", "tsc hpet acpi_pm", "BOOT_IMAGE=/vmlinuz quiet", "fpu tsc constant_tsc nonstop_tsc",
	"6.12.5", 1, 1
};

static const char *const names[] = {"unknown", "checked", "unchecked"};

static void
check(TscCheckEvidence evidence, TscCheck expected, const char *reason, const char *what)
{
	const char *why = NULL;
	TscCheck	found = tsc_check_judge(&evidence, &why);

	ok(found == expected && why != NULL && strstr(why, reason) != NULL, "%s: %s, %s", what,
	   names[found], why);
}

static void
test_options(void)
{
	TscCheckEvidence e = ordinary;
	static const char *const unchecked[] = {
		"tsc=reliable", "quiet tsc=reliable", "tsc=nowatchdog ro", "a tsc=unstable\ttsc=nowatchdog"
	};
	static const char *const others[] = {
		"", "tsc=unstable", "xtsc=reliable", "tsc=reliablex", "quiet -- tsc=reliable", "tsc=watchdog"
	};

	check(ordinary, TSC_CHECKED, "another timer", "an ordinary machine");
	for (int i = 0; i < 4; i++)
	{
		e.command_line = unchecked[i];
		check(e, TSC_UNCHECKED, "was started with tsc=", unchecked[i]);
	}
	for (int i = 0; i < 6; i++)
		ok(tsc_unchecked_option(others[i]) == NULL, "no such option: \"%s\"", others[i]);
	e = ordinary;
	e.cpu_flags = "fpu tsc_reliable";
	check(e, TSC_UNCHECKED, "declares", "tsc_reliable");
	e = ordinary;
	e.kernel_source = "hpet";
	check(e, TSC_CHECK_UNKNOWN, "does not keep time", "another clock source");
	e = ordinary;
	e.kernel_sources_available = "tsc kvm-clock";
	check(e, TSC_UNCHECKED, "independent of the TSC", "only kvm-clock");
	e = ordinary;
	e.command_line = "";
	check(e, TSC_CHECK_UNKNOWN, "cannot be read", "no command line");
	e = ordinary;
	e.cpu_flags = "";
	check(e, TSC_CHECK_UNKNOWN, "cannot be read", "no flags");
}

static void
test_exemption(void)
{
	TscCheckEvidence e = ordinary;
	static const struct
	{
		const char *release;
		int			packages;
		int			nodes;
		TscCheck	expected;
		const char *reason;
	}			cases[] = {
		{"5.16.20", 1, 1, TSC_CHECKED, "another timer"},
		{"5.17.0-rc1", 1, 1, TSC_UNCHECKED, "TSC_ADJUST"},
		{"5.17", 2, 2, TSC_UNCHECKED, "TSC_ADJUST"},
		{"6.1.0-13-amd64", 2, 8, TSC_CHECK_UNKNOWN, "depends"},
		{"6.12", 4, 4, TSC_CHECK_UNKNOWN, "depends"},
		{"6.12", 8, 8, TSC_CHECKED, "another timer"},
		{"6.12", 0, 0, TSC_CHECK_UNKNOWN, "depends"},
		{"7.2.1", 1, 1, TSC_UNCHECKED, "TSC_ADJUST"},
		{"unknown", 1, 1, TSC_CHECKED, "another timer"},
	};

	e.cpu_flags = EXEMPT;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		e.release = cases[i].release;
		e.packages = cases[i].packages;
		e.nodes = cases[i].nodes;
		check(e, cases[i].expected, cases[i].reason, cases[i].release);
	}
	e = ordinary;
	e.cpu_flags = "tsc constant_tsc tsc_adjust";
	check(e, TSC_CHECKED, "another timer", "a TSC that stops");
}

int
main(void)
{
	const char *why = NULL;
	static const char *const good[] = {"7.0.9", "6.18.44", "7.4.0", "8.1", "5.10", "", "x"};
	static const char *const bad[] = {"7.1", "7.1.10-arch1-1", "7.2.0-rc3", "7.3.1"};

	test_options();
	test_exemption();
	for (int i = 0; i < 7; i++)
		ok(!kernel_may_reject_good_tsc(good[i]), "release \"%s\"", good[i]);
	for (int i = 0; i < 4; i++)
		ok(kernel_may_reject_good_tsc(bad[i]), "release \"%s\" may reject a good TSC", bad[i]);
	(void) tsc_check(&why);
	ok(why != NULL, "this machine: %s", why);
	return done();
}
