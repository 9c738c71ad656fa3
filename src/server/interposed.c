/*
 * Compares the library that defines a function of this process with the one that defines strtol(),
 * which no library for faked times replaces.
 */
#include "postgres.h"

#include <dlfcn.h>

#include "server/interposed.h"

/* glibc's own clock_gettime() calls the vDSO, so the address found is that of the C library. */
const char *
interposed_by(const char *function)
{
#if defined(__linux__) && defined(RTLD_DEFAULT)
	Dl_info		found;
	Dl_info		c_library;
	void	   *address = dlsym(RTLD_DEFAULT, function);
	void	   *of_c_library = dlsym(RTLD_DEFAULT, "strtol");
	const char *name;

	if (address == NULL || of_c_library == NULL ||
		dladdr(address, &found) == 0 || dladdr(of_c_library, &c_library) == 0 ||
		found.dli_fbase == c_library.dli_fbase)
		return NULL;

	/* glibc resolves some functions to the vDSO; librt was part of it */
	name = strrchr(found.dli_fname, '/');
	name = name == NULL ? found.dli_fname : name + 1;
	if (strncmp(name, "linux-vdso", 10) == 0 || strncmp(name, "linux-gate", 10) == 0 ||
		strncmp(name, "librt", 5) == 0)
		return NULL;
	return found.dli_fname;
#else
	(void) function;
	return NULL;
#endif
}
