/* tap.h: the functions of the Test Anything Protocol that the unit tests use. */
#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int	tap_count = 0;
static int	tap_failed = 0;

__attribute__((format(printf, 2, 3)))
static bool
ok(bool passed, const char *format,...)
{
	va_list		args;

	printf("%sok %d - ", passed ? "" : "not ", ++tap_count);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	tap_failed += !passed;
	return passed;
}

static int
done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed > 0;
}

#endif							/* TAP_H */
