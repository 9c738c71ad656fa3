# Functions for the scripts in tools/, which are bash and source this file. They find PostgreSQL, create a work directory, install
# into a copy of PostgreSQL, start a temporary server, and count results.

set -euo pipefail
shopt -s nullglob

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
OLDEST=15			# range of the supported PostgreSQL versions
NEWEST=19

# Removes variables of a calling make, and the user's settings for psql, which would change what is built and tested.
unset MAKEFLAGS MAKELEVEL MFLAGS
for v in ${!PG@}; do case $v in PG_*) ;; *) unset "$v" ;; esac; done
export LC_ALL=C

say() { printf -- '-- %s\n' "$*"; }
in_words() { echo "$(($1 / 60)) min $(($1 % 60)) s"; }	# in_words SECONDS
warn() { printf -- '** %s\n' "$*" >&2; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

major() { "$1" --version | sed -E 's/^[^0-9]*([0-9]+).*/\1/'; }

# Succeeds if this pg_config belongs to a server whose development files are installed.
usable() {
	[ -x "$(command -v "$1")" ] && "$1" --version >/dev/null 2>&1 && [ "$(major "$1")" -ge $OLDEST ] &&
		[ -f "$("$1" --pgxs)" ] && [ -x "$("$1" --bindir)/postgres" ] && [ -f "$("$1" --includedir-server)/postgres.h" ]
}

# Sets PG_CONFIG to the first usable candidate: the user's setting, the pg_config in PATH, the newest one in the usual directories.
# With an argument, only this major version is usable. Without an argument, the user's setting, if any, is the only candidate.
find_pg_config() {
	local c candidates=(${PG_CONFIG:-})
	[ -n "${PG_CONFIG:-}" -a -z "${1:-}" ] ||
		candidates+=(pg_config $(printf '%s\n' /usr/lib/postgresql/*/bin/pg_config /usr/pgsql-*/bin/pg_config \
			/usr/local/pgsql/bin/pg_config | sort -rV))
	for c in "${candidates[@]}"; do
		if usable "$c" && [ "${1:-$(major "$c")}" = "$(major "$c")" ]; then
			# Does not resolve symbolic links: on some systems, the output of pg_config depends on its path.
			PG_CONFIG=$(command -v "$c")
			[[ $PG_CONFIG = /* ]] || PG_CONFIG=$PWD/$PG_CONFIG
			export PG_CONFIG
			return
		fi
	done
	return 1
}

# Runs a command in a process group of its own, and returns its exit status. On a signal, ends the group, and waits until the
# command's trap has cleaned up. The command runs in the background, because bash delays its traps for a foreground command.
job=
supervise() {
	local status=0
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	[ -n "$(trap -p EXIT)" ] || trap end_job EXIT
	set -m
	"$@" </dev/null &
	job=$!
	set +m
	wait "$job" || status=$?
	job=
	return $status
}

# Like supervise, and also writes the output to a file.
supervise_logged() {	# supervise_logged FILE COMMAND...
	supervise bash -o pipefail -c '"$@" 2>&1 | tee "$0"' "$@"
}

end_job() {
	[ -n "$job" ] || return 0
	trap '' HUP INT TERM
	kill -TERM -- "-$job" 2>/dev/null || true
	timeout 30 sh -c "while kill -0 -- -$job; do sleep 0.1; done" 2>/dev/null || kill -KILL -- "-$job" 2>/dev/null || true
	job=
}

as_runner() { if [ -n "$runner" ]; then runuser -u "$runner" -- "$@"; else "$@"; fi; }

# Stops the servers and ends the processes of a run, and removes its directory.
clean_up() {
	local pidfile
	end_job
	find "$work" -name postmaster.pid 2>/dev/null | while read -r pidfile; do
		as_runner "$("$PG_CONFIG" --bindir)/pg_ctl" stop -s -m immediate -D "${pidfile%/*}" </dev/null >/dev/null 2>&1 || true
	done
	rm -rf "$work"
}

# enter PURPOSE ARGS...: installs packages (see tools/setup). Then runs the calling script again, with ARGS, as a user that
# PostgreSQL accepts, and waits for it. In this second run, enter sets $WORK and returns. The second run uses a copy of the
# sources, because its user may be unable to read the original, and because a build must not change the original.
enter() {
	local need=$1 status=0
	shift
	if [ -n "${CLOCKTIMING_WORK:-}" ]; then
		WORK=$CLOCKTIMING_WORK
		SECONDS=$(($(date +%s) - CLOCKTIMING_SINCE))
		unset CLOCKTIMING_WORK
		cd "$WORK/src"
		return
	fi
	work=$(mktemp -d "${TMPDIR:-/tmp}/clocktiming.XXXXXX")
	trap clean_up EXIT
	CLOCKTIMING_INSTALLED=$work/installed "$TOP/tools/setup" "$need"
	find_pg_config || die "no PostgreSQL $OLDEST or later with its headers; say which by PG_CONFIG="
	runner=
	if [ "$(id -u)" = 0 ]; then
		command -v runuser >/dev/null || die "PostgreSQL does not run as root; please run this as another user"
		runner=postgres
		id $runner >/dev/null 2>&1 || runner=nobody
	fi
	mkdir "$work/src" "$work/tmp"
	copy_sources "$work/src"
	[ -z "$runner" ] || chown -R "$runner:" "$work"
	supervise as_runner env CLOCKTIMING_WORK="$work" CLOCKTIMING_SINCE=$(($(date +%s) - SECONDS)) HOME="$work" TMPDIR="$work/tmp" \
		"$work/src/tools/${0##*/}" "$@" || status=$?
	exit $status
}

copy_sources() {	# copy_sources DIRECTORY: omits the files that a build makes
	tar -C "$TOP" --exclude=./.git --exclude='*.o' --exclude='*.so' --exclude='*.bc' --exclude=./build \
		--exclude=./results --exclude=./tmp_check -cf - . | tar -C "$1" -xof -
}

# Prints which packages were installed for this run, and the command that removes them.
say_installed() { [ ! -s "$WORK/installed" ] || cat "$WORK/installed"; }

cache_dir() {
	CACHE=${CLOCKTIMING_CACHE:-/var/cache/clocktiming}
	mkdir -p "$CACHE" 2>/dev/null && [ -w "$CACHE" -o -n "${CLOCKTIMING_CACHE:-}" ] ||
		{ CACHE=$HOME/.cache/clocktiming; mkdir -p "$CACHE"; }
}

# Sets $version, and splits a version such as arm18 into $arch and $major. On a machine of that architecture, arm18 means 18.
read_version() {
	version=$1 arch= major=$1
	case $1 in
	arm*) arch=arm64 major=${1#arm} ;;
	s390x*) arch=s390x major=${1#s390x} ;;
	esac
	[ -z "$arch" -o "$arch" != "$(dpkg --print-architecture 2>/dev/null)" ] || version=$major arch=
}

in_cache() { echo "$CACHE/pg$1"; }
cached_pg_config() {	# prints the path of pg_config; in the tree of a Debian release, relative to the tree
	case $1 in
	16) echo "$(in_cache 16)/pgserver/pginstall/bin/pg_config" ;;
	assert) echo "/usr/local/pgsql/bin/pg_config" ;;
	*) echo "/usr/lib/postgresql/${1##*[a-z]}/bin/pg_config" ;;
	esac
}

# Adds Debian's release experimental to apt's sources in $1, a chroot with sid. Only experimental has PostgreSQL $NEWEST.
add_experimental() {
	sed -n 's/ sid / experimental /p' "$1/etc/apt/sources.list" >"$1/etc/apt/sources.list.d/experimental.list"
	printf '%s\n' "Package: src:postgresql-$NEWEST" 'Pin: release a=experimental' 'Pin-Priority: 600' >"$1/etc/apt/preferences.d/clocktiming"
}

# lock NAME -x|-s: holds the lock until this process and its children have ended.
lock() {
	local fd
	exec {fd}>"$CACHE/$1.lock"
	flock -n "$2" $fd || { say "waiting for another run, which uses $CACHE/$1"; flock "$2" $fd; }
}

# stage MAKE-ARGUMENTS...: copies PostgreSQL to $WORK/root, sets PG_CONFIG to the copy's pg_config, and calls make with the
# arguments, so that make install installs into the copy. The copied programs find the extension there, relative to their own paths.
stage() {
	local root=$WORK/root bindir include
	bindir=$("$PG_CONFIG" --bindir) include=$("$PG_CONFIG" --includedir)
	copy_tree "$("$PG_CONFIG" --pkglibdir)" --exclude=./bitcode --exclude=./pgxs --exclude='*.a' . &&
		copy_tree "$("$PG_CONFIG" --sharedir)" --exclude=./man --exclude=./locale --exclude=./doc . &&
		# Copies only PostgreSQL's programs, because on some systems this directory is /usr/bin.
		copy_tree "$bindir" $(cd "$bindir" && ls | grep -E '^(pg_.*|postgres|initdb|psql|pgbench|(create|drop)(db|user)|vacuumdb)$') ||
		return 1
	mkdir -p "$root${include%/*}"
	ln -sfn "$include" "$root$include"
	ln -sfn "$("$PG_CONFIG" --pkglibdir)/pgxs" "$root$("$PG_CONFIG" --pkglibdir)/pgxs"
	export PATH="$root$bindir:$PATH" PG_CONFIG="$root$bindir/pg_config"
	# In some installations, programs search shared libraries relative to their own path. The copy does not contain these libraries.
	psql --version >/dev/null 2>&1 ||
		export LD_LIBRARY_PATH=$(ldd "$bindir/psql" | sed -nE 's,.*=> (/.*)/[^/]* .*,\1,p' | sort -u | paste -sd:)
	make -s -j "$(getconf _NPROCESSORS_ONLN)" with_llvm=no "$@" >"$WORK/make.log" 2>&1 || { cat "$WORK/make.log"; return 1; }
}

copy_tree() {	# copy_tree DIRECTORY TAR-ARGUMENTS...: to the same place below $WORK/root
	mkdir -p "$WORK/root$1"
	tar -C "$1" -chf - "${@:2}" | tar -C "$WORK/root$1" -xof -
}

start_server() {	# start_server [PG_CTL-ARGUMENTS...]
	initdb -D "$WORK/data" -A trust -U postgres --no-sync --locale=C --encoding=UTF8 >"$WORK/initdb.log" 2>&1 ||
		{ cat "$WORK/initdb.log"; return 1; }
	printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$WORK'" "fsync = off" >>"$WORK/data/postgresql.conf"
	pg_ctl start -s -w -D "$WORK/data" -l "$WORK/server.log" "$@" </dev/null ||
		{ cat "$WORK/server.log"; return 1; }
	export PGHOST=$WORK PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
}

# Prints the last line of a run. Scripts that start several runs read this line.
closing_line() { printf '%d passed, %d failed, %d skipped\n' "$1" "$2" "$3"; }

# Prints the three numbers of a file's closing line.  Fails if there is no such line.
read_closing_line() {
	tail -n 1 "$1" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' | grep .
}
