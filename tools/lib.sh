# Shared by the scripts beside it, which source it (bash): finding PostgreSQL, the work directory in which
# everything happens, a staged installation with a throwaway server, and the counting of results.

set -euo pipefail
shopt -s nullglob

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
OLDEST=15			# the PostgreSQL versions that clocktiming is for
NEWEST=19

# Whatever a make above us passes on, or the user keeps for psql, must not decide what is built and tested here.
unset MAKEFLAGS MAKELEVEL MFLAGS
for v in ${!PG@}; do case $v in PG_*) ;; *) unset "$v" ;; esac; done
export LC_ALL=C

say() { printf -- '-- %s\n' "$*"; }
in_words() { if [ "$1" -lt 60 ]; then echo "$1 s"; else echo "$(($1 / 60)) min $(($1 % 60)) s"; fi; }	# seconds
warn() { printf -- '** %s\n' "$*" >&2; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# ---------------------------------------------------------------------------------------------------------------
# Finding PostgreSQL

major() { "$1" --version | sed -E 's/^[^0-9]*([0-9]+).*/\1/'; }

# Does this pg_config belong to a server with what is needed to build for it?
usable() {
	[ -x "$(command -v "$1")" ] && "$1" --version >/dev/null 2>&1 && [ "$(major "$1")" -ge $OLDEST ] &&
		[ -f "$("$1" --pgxs)" ] && [ -x "$("$1" --bindir)/postgres" ] && [ -f "$("$1" --includedir-server)/postgres.h" ]
}

# Sets PG_CONFIG: to what the user has set it to, or else to the one in PATH, or else to the newest in the usual
# places.  find_pg_config MAJOR takes any of these which is of that version.
find_pg_config() {
	local c candidates=(${PG_CONFIG:-})
	[ -n "${PG_CONFIG:-}" -a -z "${1:-}" ] ||
		candidates+=(pg_config $(printf '%s\n' /usr/lib/postgresql/*/bin/pg_config /usr/pgsql-*/bin/pg_config \
			/usr/local/pgsql/bin/pg_config | sort -rV))
	for c in "${candidates[@]}"; do
		if usable "$c" && [ "${1:-$(major "$c")}" = "$(major "$c")" ]; then
			# Absolute, but not resolved: some systems' pg_config goes by the name it is called by.
			PG_CONFIG=$(command -v "$c")
			[[ $PG_CONFIG = /* ]] || PG_CONFIG=$PWD/$PG_CONFIG
			export PG_CONFIG
			return
		fi
	done
	return 1
}

# ---------------------------------------------------------------------------------------------------------------
# Jobs and the work directory

# Run a command in a process group of its own and pass on its exit status.  If we are to stop, so is the whole
# group; the command's own trap has then time to clean up.  (Bash would not look at a signal before a command in
# the foreground has ended.)
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

# The same, and write the output to a file as well.
supervise_logged() {	# supervise_logged FILE COMMAND...
	local log=$1 fifo=$1.fifo status=0 tee
	mkfifo "$fifo"
	tee "$log" <"$fifo" &
	tee=$!
	supervise "${@:2}" >"$fifo" 2>&1 || status=$?
	wait $tee
	rm -f "$fifo"
	return $status
}

end_job() {
	[ -n "$job" ] || return 0
	trap '' HUP INT TERM
	kill -TERM -- "-$job" 2>/dev/null || true
	for _ in {1..300}; do
		kill -0 -- "-$job" 2>/dev/null || break
		sleep 0.1
	done
	kill -KILL -- "-$job" 2>/dev/null || true
	job=
}

as_runner() { if [ -n "$runner" ]; then runuser -u "$runner" -- "$@"; else "$@"; fi; }

# Removes everything that a run has left, however it ended: its processes, its servers, its directory.
clean_up() {
	local pidfile
	end_job
	find "$work" -name postmaster.pid 2>/dev/null | while read -r pidfile; do
		as_runner "$("$PG_CONFIG" --bindir)/pg_ctl" stop -s -m immediate -D "${pidfile%/*}" </dev/null >/dev/null 2>&1 || true
	done
	rm -rf "$work"
}

# enter NEED ARGS...: installs what NEED stands for (see tools/setup), and then runs the calling script once more
# with ARGS in a copy of the sources, as a user that PostgreSQL agrees to run as.  In that second run it returns,
# with $WORK set, and $SECONDS counted since the first run began.  The first one only waits and cleans up.  (A copy,
# because that user may not be able to read the sources where they are, and lest the user's own build is overwritten.)
enter() {
	local need=$1 status=0
	shift
	if [ -n "${CLOCKTIMING_WORK:-}" ]; then
		WORK=$CLOCKTIMING_WORK
		SECONDS=$(($(date +%s) - CLOCKTIMING_SINCE))
		unset CLOCKTIMING_WORK CLOCKTIMING_SINCE
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

copy_sources() {	# copy_sources DIRECTORY: without what has been built
	tar -C "$TOP" --exclude=./.git --exclude='*.o' --exclude='*.so' --exclude='*.bc' --exclude=./build \
		--exclude=./results --exclude=./tmp_check -cf - . | tar -C "$1" -xof -
}

# What tools/setup has installed for this run, if anything, and how to remove it.  To be used after enter.
say_installed() { [ ! -s "$WORK/installed" ] || cat "$WORK/installed"; }

# ---------------------------------------------------------------------------------------------------------------
# The cache of PostgreSQL versions that are not on this system: see tools/fetch

cache_dir() {
	CACHE=${CLOCKTIMING_CACHE:-/var/cache/clocktiming}
	mkdir -p "$CACHE" 2>/dev/null && [ -w "$CACHE" -o -n "${CLOCKTIMING_CACHE:-}" ] ||
		{ CACHE=$HOME/.cache/clocktiming; mkdir -p "$CACHE"; }
}

# Where a version is in the cache, and its pg_config there.
in_cache() { echo "$CACHE/pg$1"; }
cached_pg_config() {
	case $1 in
	16) echo "$(in_cache 16)/pgserver/pginstall/bin/pg_config" ;;
	assert) echo "/usr/local/pgsql/bin/pg_config" ;;
	*) echo "/usr/lib/postgresql/$1/bin/pg_config" ;;	# in a tree: as seen from inside
	esac
}

# Lets apt have the PostgreSQL that is not in sid yet in the tree $1, which is of sid.
add_experimental() {
	sed -n 's/ sid / experimental /p' "$1/etc/apt/sources.list" >"$1/etc/apt/sources.list.d/experimental.list"
	printf '%s\n' "Package: src:postgresql-$NEWEST" 'Pin: release a=experimental' 'Pin-Priority: 600' >"$1/etc/apt/preferences.d/clocktiming"
}

# lock NAME -x|-s: until this process, and what it starts, has ended.
lock() {
	local fd
	exec {fd}>"$CACHE/$1.lock"
	flock -n "$2" $fd || { say "waiting for another run, which uses $CACHE/$1"; flock "$2" $fd; }
}

# ---------------------------------------------------------------------------------------------------------------
# A staged installation, and a server in it.  To be used after enter.

build() {	# build [FLAGS]
	make -s with_llvm=no PG_CONFIG="$PG_CONFIG" COPT="${1:-}" all
}

# PostgreSQL finds its files relative to its programs.  So a copy of it below $WORK/root, with the extension
# installed there, is all that is needed to leave the real installation alone.
stage() {
	local root=$WORK/root bindir libdir sharedir
	bindir=$("$PG_CONFIG" --bindir) libdir=$("$PG_CONFIG" --pkglibdir) sharedir=$("$PG_CONFIG" --sharedir)
	copy_tree "$libdir" --exclude=./bitcode --exclude=./pgxs --exclude='*.a' . &&
		copy_tree "$sharedir" --exclude=./man --exclude=./locale --exclude=./doc . &&
		# By name, as on some systems this directory is /usr/bin.
		copy_tree "$bindir" $(cd "$bindir" && ls | grep -E '^(pg_.*|postgres|initdb|psql|pgbench|(create|drop)(db|user)|vacuumdb)$') ||
		return 1
	make -s with_llvm=no PG_CONFIG="$PG_CONFIG" DESTDIR="$root" install >"$WORK/install.log" 2>&1 ||
		{ cat "$WORK/install.log"; return 1; }
	export PATH="$root$bindir:$PATH"
	# Programs that find their libraries relative to themselves have to be told where these are.
	psql --version >/dev/null 2>&1 ||
		export LD_LIBRARY_PATH=$(ldd "$bindir/psql" | sed -nE 's,.*=> (/.*)/[^/]* .*,\1,p' | sort -u | paste -sd:)
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

# ---------------------------------------------------------------------------------------------------------------
# Results

# A run ends with this line; whoever runs several looks for it.
closing_line() { printf '%d passed, %d failed, %d skipped\n' "$1" "$2" "$3"; }

# The three numbers of the closing line in a file; nothing, and false, if there is none.
read_closing_line() {
	tail -n 1 "$1" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' | grep .
}
