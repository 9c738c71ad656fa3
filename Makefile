# The first part builds and installs the extension by PGXS: make, make install, make installcheck,
# with PG_CONFIG=. The second part has the targets that make help lists. The targets of the second
# part also work if PostgreSQL is not installed yet.

EXTENSION = clocktiming
EXTVERSION = $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" clocktiming.control)

MODULE_big = clocktiming
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c)))
# With -isystem, -Wextra does not warn about PostgreSQL's headers.
PG_CPPFLAGS = -I$(srcdir)/src -isystem $(shell $(PG_CONFIG) --includedir-server) -DCLOCKTIMING_VERSION='"$(EXTVERSION)"'

# Install scripts. The portable edition is not installed, because CREATE EXTENSION would take its file clocktiming--1.0-tle.sql for
# the script of a version "1.0-tle".
DATA = $(wildcard sql/clocktiming--*.sql)

# -ffp-contract=off prevents fused multiply-add, which Arm and s390x have. It rounds once instead of
# twice, so results would differ from those on x86. -std=gnu17 is for PostgreSQL 15, whose headers
# are not valid C23, the default of GCC 15 and later.
PG_CFLAGS = -ffp-contract=off $(if $(filter 15,$(MAJORVERSION)),-std=gnu17)

# Tests of make installcheck: the scripts of test/sql.  REGRESS="explain measure" selects scripts.
REGRESS = --schedule=$(srcdir)/test/schedule
REGRESS_OPTS = --inputdir=$(srcdir)/test --load-extension=clocktiming

SHIMS = $(patsubst %.c,%.so,$(wildcard test/shim/*.c))
TEST_MODULES = $(patsubst %.c,%.so,$(wildcard test/module/*.c))
EXTRA_CLEAN = build $(SHIMS) $(TEST_MODULES)

PG_CONFIG ?= pg_config
# PGXS is empty if PGXS is not installed, and POSTGRES_H if the server's headers are not.  On Debian, pg_config, PGXS and the headers
# are in three packages, so each of them may be missing while the others are installed.
PGXS := $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))
POSTGRES_H := $(wildcard $(shell $(PG_CONFIG) --includedir-server 2>/dev/null)/postgres.h)

ifneq ($(and $(PGXS),$(POSTGRES_H)),)
include $(PGXS)

# Non-superusers may load libraries only from the directory plugins, by LOAD
# '$libdir/plugins/clocktiming' or local_preload_libraries. A symbolic link there refers to the
# library. The server does not load the library twice if both names are used, because it compares
# device and inode of the files.
PLUGINS = $(DESTDIR)$(pkglibdir)/plugins

install: install-plugin
uninstall: uninstall-plugin

.PHONY: install-plugin uninstall-plugin

install-plugin:
	$(MKDIR_P) '$(PLUGINS)'
	ln -sf ../clocktiming$(DLSUFFIX) '$(PLUGINS)/clocktiming$(DLSUFFIX)'

uninstall-plugin:
	rm -f '$(PLUGINS)/clocktiming$(DLSUFFIX)'

# make prove_installcheck runs the TAP tests with the installed extension.  PROVE_TESTS=test/t/010_report.pl selects tests,
# PROVE_FLAGS=--verbose passes options to prove.  make installcheck TAP_TESTS=1 also runs these tests.
PROVE_TESTS = $(wildcard test/t/*.pl)
PG_PROVE_FLAGS += -I $(srcdir)/test/t
export CLOCKTIMING_SHIM_DIR = $(abspath test/shim)

.PHONY: prove_installcheck

prove_installcheck: shims
	$(prove_installcheck)

# PGXS does not track an object's includes, so each object depends on all headers.
$(OBJS): $(wildcard src/*.h src/*/*.h src/*/*/*.h)
else
all install uninstall installcheck prove_installcheck clean:
	@echo "No server headers and PGXS: install PostgreSQL's development files (Debian: postgresql-server-dev-N, RHEL:"; \
	echo "postgresqlN-devel), or say by PG_CONFIG= which pg_config to use.  make help shows what works without."; \
	exit 1
endif

# ---------------------------------------------------------------------------------------------------------------
# Targets that make help lists

# Objects of the directories that include no headers of PostgreSQL, and the unit tests that are linked with them.
PURE = src/core src/clock/sampling src/plan/estimate
UNIT_OBJS = $(patsubst src/%.c,build/%.o,$(wildcard $(PURE:=/*.c)))
UNIT_HEADERS = $(wildcard $(PURE:=/*.h) test/unit/*.h)
UNIT_PROGRAMS = $(patsubst test/unit/%.c,build/unit/%,$(wildcard test/unit/*.c))
SANITIZE = address,undefined
UNIT_CFLAGS = -std=gnu11 -D_GNU_SOURCE -O2 -g -ffp-contract=off -Wall -Wextra -Werror -fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
	-Isrc -include core/word_size.h

.PHONY: help demo test check-all test-matrix test-valgrind test-upstream test-companions test-upgrade test-deb test-arm \
	bench unit unit-programs shims indent generate dist release-check deb

help:
	@echo 'make, make install, make installcheck  as with any extension (PG_CONFIG=path/to/pg_config)'
	@echo 'make demo                builds it and runs tools/demo.sql on a throwaway server                        1 min'
	@echo 'make test                tests each function and each kind of fault once                                9 min'
	@echo 'make check-all           all tests on one PostgreSQL                                                   15 min'
	@echo 'make test-matrix         tests on each PostgreSQL and on 15 with assertions (VERSIONS="15 19 assert")  30 min'
	@echo 'make prove_installcheck  TAP tests with the installed extension (PROVE_TESTS=test/t/010_report.pl)'
	@echo 'make unit                tests that need no PostgreSQL                                                  1 min'
	@echo 'make test-valgrind       regression tests on a server under Valgrind (TESTS="explain measure")          3 min'
	@echo 'make test-upstream       PostgreSQL'\''s own tests with clocktiming (WAYS="track counting": two ways)      2 min'
	@echo 'make test-companions     tests beside other programs                                                    3 min'
	@echo 'make test-upgrade        pg_upgrade from 15 to 18 and 19 (VERSIONS=18)                                  2 min'
	@echo 'make test-deb            builds, installs and purges Debian'\''s packages (RELEASES="trixie sid")         15 min'
	@echo 'make test-arm            tests on emulated 64-bit Arm, PostgreSQL 15 and 18                            40 min'
	@echo 'make deb                 builds Debian packages into build/deb (VERSIONS="15 17")                       2 min'
	@echo 'make bench               compares it with its peers (BENCH_ARGS=: arguments of bench/run)'
	@echo 'make generate            writes the install scripts from sql/src and portable/src, and files of monitoring/'
	@echo 'make indent              formats src/ with pgindent'
	@echo 'make dist                writes clocktiming-VERSION.zip for PGXN from the last commit'
	@echo 'make release-check       checks whether the last commit can be released                                 3 min'
	@echo 'The times are for two CPUs with little else to do.  Fetching missing packages takes longer.'
	@echo 'demo, deb, bench, release-check, check-all and all that begin with test install missing packages as'
	@echo 'root on Debian or Ubuntu, and print how to remove them.  They do not install clocktiming, and do'
	@echo 'not touch a PostgreSQL server that is running.'

demo:
	@tools/with-server psql -X -P pager=off -f tools/demo.sql

test:
	@tools/suite quick

check-all:
	@tools/suite

test-matrix:
	@tools/matrix $(VERSIONS)

test-valgrind:
	@TESTS='$(TESTS)' tools/in-tree assert tools/suite valgrind

test-upstream:
	@tools/in-tree assert env WAYS='$(WAYS)' PARTS='$(PARTS)' tools/suite upstream

test-companions:
	@tools/fetch pev2
	@TESTS='022_beside 032_portable_pooler 047_companions 048_viewers' tools/suite tap

# Upgrades from the PostgreSQL 15 with assertions, which needs only libc and zlib.  PostgreSQL 15 from
# Debian needs libraries that are missing in the Debian releases from which PostgreSQL 18 and 19 are taken.
test-upgrade:
	@set -e; for v in $(or $(VERSIONS),18 19); do tools/in-tree $$v --beside-assert tools/suite upgrade; done

test-arm:
	@MATRIX_SUITES='unit regress pgtap' tools/matrix $(or $(VERSIONS),arm15 arm18)

bench:
	@tools/with-server bench/run $(BENCH_ARGS)
	@case `$(PG_CONFIG) --version` in *' 19'*) ;; *) tools/in-tree 19 tools/with-server bench/run $(BENCH_ARGS) ;; esac

unit: unit-programs
	@prove --timer $(wildcard test/unit/*.pl) $(UNIT_PROGRAMS)

unit-programs: $(UNIT_PROGRAMS)

build/unit/%: test/unit/%.c $(UNIT_OBJS) $(UNIT_HEADERS)
	$(CC) $(UNIT_CFLAGS) -o $@ $< $(UNIT_OBJS) -lm -pthread

$(UNIT_OBJS): build/%.o: src/%.c $(UNIT_HEADERS)
	@mkdir -p $(@D) build/unit
	$(CC) $(UNIT_CFLAGS) -c -o $@ $<

# Builds what only tests use: libraries that LD_PRELOAD loads, which replace functions of the C library, and test extensions.
shims: $(SHIMS) $(TEST_MODULES)

$(SHIMS): %.so: %.c test/shim/shim.h
	$(CC) -shared -fPIC -O2 -Wall -Wextra -Werror -o $@ $< -ldl

$(TEST_MODULES): %.so: %.c
	$(CC) -shared -fPIC -O2 -Wall -Wextra -Werror -isystem $(shell $(PG_CONFIG) --includedir-server) -o $@ $<

indent:
	@tools/in-tree 19 tools/indent

# Writes the committed files that are generated from others.
generate:
	@sql/generate
	@monitoring/generate

# PGXN requires a version with three numbers, which META.json has.
DISTVERSION = $(shell sed -n '1,/"version"/s/^   "version": "\(.*\)",/\1/p' META.json)

dist:
	git archive --format=zip --prefix=clocktiming-$(DISTVERSION)/ -o $(or $(DISTDIR),.)/clocktiming-$(DISTVERSION).zip HEAD

release-check:
	@tools/release-check

deb:
	@tools/deb $(VERSIONS)

test-deb:
	@tools/test-deb $(RELEASES)
