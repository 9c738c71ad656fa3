/*
 * Judges whether Linux checks the TSC.
 *
 * The watchdog (kernel/time/clocksource.c) compares a clock source that is marked as MUST_VERIFY
 * with another timer twice a second.  The TSC is not marked if an option or the platform declares
 * it to be reliable, or since Linux 5.17 if the processor has TSC_ADJUST and the machine has few
 * packages.  Without a timer that is independent of the TSC, there is nothing to compare with.
 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/system_state.h"
#include "core/tsc_check.h"

/*
 * Since commit b50db7095fe0 in Linux 5.17, the watchdog skips the TSC of processors with TSC_ADJUST
 * on machines with few packages.  The limit was 2 and later 4, and older releases counted memory
 * nodes instead of packages.
 */
#define EXEMPT_SINCE(release)	release_is_from(release, 5, 17)
#define EXEMPT_FOR_SURE			2
#define EXEMPT_AT_MOST			4

/* Timers that do not come from the TSC.  A hypervisor's clock such as kvm-clock does. */
static const char *const independent_timers[] = {"hpet", "acpi_pm", "pit"};

static bool
parse_release(const char *release, int *major, int *minor)
{
	return sscanf(release, "%d.%d", major, minor) == 2;
}

static bool
release_is_from(const char *release, int first_major, int first_minor)
{
	int			major;
	int			minor;

	return parse_release(release, &major, &minor) &&
		(major > first_major || (major == first_major && minor >= first_minor));
}

bool
kernel_may_reject_good_tsc(const char *release)
{
	return release_is_from(release, 7, 1) && !release_is_from(release, 7, 4);
}

/* Returns whether a word is in a text of words.  If it contains "--", the text ends there. */
static bool
has_word(const char *text, const char *word)
{
	size_t		length = strlen(word);

	while (*text != '\0')
	{
		size_t		n = strcspn(text, " \t\n");

		if (n == 2 && strncmp(text, "--", 2) == 0)
			return false;
		if (n == length && strncmp(text, word, n) == 0)
			return true;
		text	  +=n;
		text	  +=strspn(text, " \t\n");
	}
	return false;
}

const char *
tsc_unchecked_option(const char *command_line)
{
	return has_word(command_line, "tsc=reliable") ? "tsc=reliable" :
		has_word(command_line, "tsc=nowatchdog") ? "tsc=nowatchdog" : NULL;
}

static bool
has_independent_timer(const char *sources)
{
	for (size_t i = 0; i < sizeof(independent_timers) / sizeof(independent_timers[0]); i++)
	{
		if (kernel_offers(independent_timers[i], sources))
			return true;
	}
	return false;
}

/* Judges a processor with TSC_ADJUST, whose TSC neither stops nor changes its rate. */
static TscCheck
judge_exemption(const TscCheckEvidence *evidence, const char **why)
{
	if (evidence->packages > EXEMPT_AT_MOST)
	{
		*why = "more than four processor packages";
		return TSC_CHECKED;
	}
	if (evidence->packages > 0 && evidence->packages <= EXEMPT_FOR_SURE &&
		evidence->nodes <= EXEMPT_FOR_SURE)
	{
		*why = "Linux does not check the TSC of a processor with TSC_ADJUST";
		return TSC_UNCHECKED;
	}
	*why = "with this number of processor packages or memory nodes, it depends on the kernel";
	return TSC_CHECK_UNKNOWN;
}

/*
 * Applies the kernel's rules in its order: options, the platform's declaration, the exemption of
 * processors with TSC_ADJUST, and then whether another timer exists.
 */
TscCheck
tsc_check_judge(const TscCheckEvidence *evidence, const char **why)
{
	static char reason[80];
	const char *option = tsc_unchecked_option(evidence->command_line);
	const char *flags = evidence->cpu_flags;

	*why = reason;
	if (strcmp(evidence->kernel_source, "tsc") != 0)
	{
		*why = "the kernel does not keep time by the TSC";
		return TSC_CHECK_UNKNOWN;
	}
	if (option != NULL)
	{
		snprintf(reason, sizeof(reason), "the kernel was started with %s", option);
		return TSC_UNCHECKED;
	}
	if (has_word(flags, "tsc_reliable"))
	{
		*why = "the hypervisor or the platform declares the TSC to be reliable";
		return TSC_UNCHECKED;
	}
	if (evidence->command_line[0] == '\0' || flags[0] == '\0')
	{
		*why = "/proc/cmdline or /proc/cpuinfo cannot be read";
		return TSC_CHECK_UNKNOWN;
	}
	if (has_word(flags, "tsc_adjust") && has_word(flags, "constant_tsc") &&
		has_word(flags, "nonstop_tsc") && EXEMPT_SINCE(evidence->release) &&
		judge_exemption(evidence, why) != TSC_CHECKED)
		return judge_exemption(evidence, why);
	if (!has_independent_timer(evidence->kernel_sources_available))
	{
		*why = "the kernel has no timer that is independent of the TSC";
		return TSC_UNCHECKED;
	}
	*why = "the kernel compares the TSC with another timer";
	return TSC_CHECKED;
}

void
kernel_command_line(char *text, size_t size)
{
	text[		0] = '\0';
#ifdef __linux__
	(void) kernel_file(text, size, "/proc/cmdline");
#endif
}

#ifdef __linux__

/* Writes the flags of the first CPU.  Reads only the beginning of the file, which may be long. */
static void
read_cpu_flags(char *flags, size_t size)
{
	char text[	8192];
	char	   *line;

	flags[0] = '\0';
	if (!kernel_file(text, sizeof(text), "/proc/cpuinfo") ||
		(line = strstr(text, "\nflags")) == NULL || (line = strchr(line, ':')) == NULL)
		return;
	line++;
	line[strcspn(line, "\n")] = '\0';
	snprintf(flags, size, "%s", line);
}

/* Counts different packages, at most EXEMPT_AT_MOST + 1; returns 0 if not known. */
static int
count_packages(void)
{
	int			ids[EXEMPT_AT_MOST + 1];
	int			n = 0;
	long		cpus = sysconf(_SC_NPROCESSORS_CONF);

	for (long cpu = 0; cpu < cpus && n <= EXEMPT_AT_MOST; cpu++)
	{
		char		path[80];
		char text[	32];
		int			id;
		int			i = 0;

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%ld/topology/physical_package_id",
				 cpu);
		if (!kernel_file(text, sizeof(text), path) || sscanf(text, "%d", &id) != 1)
			continue;			/* the CPU is offline */
		while (i < n && ids[i] != id)
			i++;
		if (i == n)
			ids[n++] = id;
	}
	return n;
}

/* Counts the memory nodes in a list such as 0-3,8; returns 0 if not known. */
static int
count_nodes(void)
{
	char text[	256];
	const char *p = text;
	int			n = 0;
	int			first;
	int			length;

	if (!kernel_file(text, sizeof(text), "/sys/devices/system/node/online"))
		return 0;
	while (sscanf(p, "%d%n", &first, &length) == 1)
	{
		int			last = first;

		p += length;
		if (*p == '-' && sscanf(p, "-%d%n", &last, &length) == 1)
			p += length;
		n += last - first + 1;
		if (*p != ',')
			break;
		p++;
	}
	return n;
}

#endif							/* __linux__ */

/* Collects the evidence from /proc, /sys and uname(). */
TscCheck
tsc_check(const char **why)
{
#ifdef __linux__
	char		source[KERNEL_CLOCK_SIZE];
	char		available[KERNEL_CLOCK_SIZE];
	char		command_line[4096];
	char		flags[4096];
	struct utsname name;
	TscCheckEvidence evidence = {source, available, command_line, flags, "", 0, 0};

	(void) kernel_clock_source(source);
	(void) kernel_clock_sources_available(available);
	kernel_command_line(command_line, sizeof(command_line));
	read_cpu_flags(flags, sizeof(flags));
	if (uname(&name) == 0)
		evidence.release = name.release;
	evidence.packages = count_packages();
	evidence.nodes = count_nodes();
	return tsc_check_judge(&evidence, why);
#else
	*why = "this is not Linux";
	return TSC_CHECK_UNKNOWN;
#endif
}
