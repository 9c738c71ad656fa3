/*
 * Facts about the platform, and how an administrator changes the kernel's clock source.  The
 * commands are those of the kernel itself and of common boot loaders.  They are only shown, never
 * executed.
 */
#include "postgres.h"

#include <sys/utsname.h>
#include <unistd.h>

#include "core/cpu_set.h"
#include "core/system_state.h"
#include "server/platform.h"

/* Clock sources that are read without a system call, and commands to select one. */
#if defined(__linux__)
#define READ_BY_VDSO		"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"
#define CHANGE_NOW			"as root, `cd /sys/devices/system/clocksource/clocksource0` `echo %s > current_clocksource`"
#define CHANGE_FOR_GOOD		"add `clocksource=%s` to GRUB_CMDLINE_LINUX in /etc/default/grub, then as root `update-grub` (Debian, Ubuntu) or `grub2-mkconfig -o /boot/grub2/grub.cfg` (Red Hat, SUSE), and restart the machine"
#elif defined(__FreeBSD__)
#define READ_BY_VDSO		"TSC-low", "TSC"
#define CHANGE_NOW			"as root, `sysctl kern.timecounter.hardware=%s`"
#define CHANGE_FOR_GOOD		"as root, `echo kern.timecounter.hardware=%s >> /etc/sysctl.conf`"
#else
#define READ_BY_VDSO		"none"
#define CHANGE_NOW			"%s"
#define CHANGE_FOR_GOOD		"%s"
#endif

char *
platform_kernel_clock_source(void)
{
	char		name[KERNEL_CLOCK_SIZE];

	return kernel_clock_source(name) ? pstrdup(name) : NULL;
}

char *
platform_kernel_clock_sources_available(void)
{
	char		names[KERNEL_CLOCK_SIZE];

	return kernel_clock_sources_available(names) ? pstrdup(names) : NULL;
}

const char *
platform_faster_kernel_clock_source(void)
{
	static const char *const by_vdso[] = {READ_BY_VDSO};
	const char *offered = platform_kernel_clock_sources_available();
	const char *current = platform_kernel_clock_source();
	const char *faster = NULL;

	if (offered == NULL || current == NULL)
		return NULL;
	for (int i = 0; i < (int) lengthof(by_vdso); i++)
	{
		/* the current source needs no system call: no other is faster */
		if (strcmp(by_vdso[i], current) == 0)
			return NULL;
		if (faster == NULL && kernel_offers(by_vdso[i], offered))
			faster = by_vdso[i];
	}
	return faster;
}

void
platform_change_of_kernel_clock_source(const char *source, const char **now,
									   const char **for_good)
{
	if (source != NULL)
	{
		*now = psprintf(CHANGE_NOW, source);
		*for_good = psprintf(CHANGE_FOR_GOOD, source);
	}
}

char *
platform_operating_system(void)
{
	struct utsname name;

	if (uname(&name) < 0)
		return NULL;
	return psprintf("%s %s %s", name.sysname, name.release, name.machine);
}

char *
platform_linux_release(void)
{
	struct utsname name;

	if (uname(&name) < 0 || strcmp(name.sysname, "Linux") != 0)
		return NULL;
	return pstrdup(name.release);
}

int
platform_cpus_online(void)
{
#ifdef _SC_NPROCESSORS_ONLN
	return Max((int) sysconf(_SC_NPROCESSORS_ONLN), 0);
#else
	return 0;
#endif
}

int
platform_cpus_allowed(void)
{
#ifdef __linux__
	CpuSet		set;

	if (cpus_allowed(&set) == 0)
		return CPU_COUNT_S(sizeof(set), set.parts);
#endif
	return 0;
}
