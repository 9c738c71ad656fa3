/* clock_alias_test: a table of simulated clocks; which of them seem to be one. */
#include "core/clock_alias.h"
#include "core/reference.h"
#include "core/system_clock.h"
#include "tap.h"

/* True time in ns.  Each reading takes between 20 ns and "longest". */
static uint64_t now;
static uint64_t longest = 60;
static uint64_t random_state = 1;

static uint64_t
pass(void)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	now += 20 + (random_state >> 33) % (longest - 19);
	return now;
}

static uint64_t monotonic(void) { return 5000000000 + pass(); }
static uint64_t alias(void) { return monotonic(); }
static uint64_t ahead(void) { return monotonic() + 100; }
static uint64_t behind(void) { return monotonic() - 100; }
static uint64_t far_ahead(void) { return monotonic() + UINT64_C(1700000000000000000); }
static uint64_t slightly_ahead(void) { return monotonic() + 5; }
static uint64_t frozen(void) { (void) pass(); return 5000000000; }

/* Steered by 10 ppm since time 0. */
static uint64_t steered(void) { uint64_t t = pass(); return 5000000000 + t + t / 100000; }

static const struct
{
	const char *name;
	uint64_t	(*read) (void);
	bool		one;			/* seems to be the clock "monotonic" */
}			table[] = {
	{"the same clock", monotonic, true},
	{"an alias", alias, true},
	{"100 ns ahead", ahead, false},
	{"100 ns behind", behind, false},
	{"the time of day", far_ahead, false},
	{"ahead by less than a reading takes", slightly_ahead, true},
	{"a clock that stands still", frozen, false},
};

int
main(void)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
	{
		int			one = 0;

		for (int k = 0; k < 1000; k++)
			one += clocks_seem_one(monotonic, table[i].read);
		ok(one == (table[i].one ? 1000 : 0), "%s: one clock in %d of 1000 comparisons",
		   table[i].name, one);
	}
	now = 0;
	ok(clocks_seem_one(monotonic, steered), "a steered clock, at first");
	now = 1000000000;
	ok(!clocks_seem_one(monotonic, steered), "a steered clock, a second later");

	/* a slow system call, as in gVisor */
	longest = 5000;
	now = 0;
	ok(clocks_seem_one(monotonic, alias), "slow readings: an alias");
	ok(!clocks_seem_one(monotonic, far_ahead), "slow readings: another clock");

	ok(clocks_seem_one(reference_ns, reference_ns), "the reference clock of this machine");
	printf("# the system clock is %sthe reference clock\n",
		   is_reference_clock(system_clock_read) ? "" : "not ");
	return done();
}
