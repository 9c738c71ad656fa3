#!/usr/bin/env bash
# pg_cron does not run a job that is committed while its scheduler reads the table cron.job.
#
# Seen with pg_cron 1.4.2 (Debian's postgresql-15-cron 1.4.2-2+b1) on PostgreSQL 15.18:
# - A change of cron.job sends a relcache invalidation, which tells the scheduler to read the table
#   again. RefreshTaskHash() reads the table, and then sets CronJobCacheValid = true. So it forgets
#   an invalidation that the scheduler has accepted while reading, although the snapshot of the scan
#   is older than the change. A build of pg_cron 1.6.7 behaves the same. A build of 1.4.2 that sets
#   CronJobCacheValid before it reads runs the job.
# - The job runs only after another relcache invalidation in the scheduler's database: by another
#   change of cron.job, or by CREATE TABLE or ANALYZE of any table, because the scheduler has
#   forgotten the OID of cron.job as well.
# Users report jobs that do not run until cron.job is changed (issue 362 of pg_cron). This script
# does not show that their cause is the same.
#
# The script stops the scheduler while it reads. It locks pg_authid, where the scheduler looks up
# the owner of each job. The scheduler has to wait, because it has not cached this role before.
# Output:
#   PostgreSQL 15.18 (Debian 15.18-0+deb12u1), pg_cron 1.4-1, package 1.4.2-2+b1
#   scheduler was reading cron.job before and after job "second" was committed: t, t
#   runs without another change: job "first" 2, job "second" 0
#   runs after SELECT cron.alter_job(jobid, active => true): job "second" 1
#
# Needs Debian's postgresql-15. Runs a server of its own in a temporary folder, as the user postgres
# if it is called by root, for two to four minutes. An argument replaces the statement that ends the
# state, for example 'CREATE TABLE t ()'. Exits with 0 if this is still so.
set -euo pipefail
version=1.4.2-2+b1
again=${1-"SELECT cron.alter_job(jobid, active => true) FROM cron.job WHERE jobname = 'first'"}
dir=$(mktemp -d "${TMPDIR:-/tmp}/pg_cron.XXXXXX")
as=()
if [ "$(id -u)" = 0 ]; then
	as=(runuser -u postgres --)
fi
bin=/usr/lib/postgresql/15/bin
clean_up()
{
	if [ -e "$dir/data/postmaster.pid" ]; then
		"${as[@]}" "$bin/pg_ctl" -s -D "$dir/data" -m immediate stop || true
	fi
	cd /
	rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"

# Unless this version is installed, extracts it into a copy of the server, which finds the files of
# extensions relative to its program.
installed=$(dpkg-query -W -f '${Version}' postgresql-15-cron 2>/dev/null) || true
if [ "$installed" != "$version" ]; then
	apt-get -q -q -o APT::Sandbox::User=root download "postgresql-15-cron=$version"
	mkdir -p usr/lib/postgresql usr/share/postgresql
	cp -R /usr/lib/postgresql/15 usr/lib/postgresql
	cp -R /usr/share/postgresql/15 usr/share/postgresql
	dpkg-deb -x postgresql-15-cron_*.deb .
	bin=$dir/usr/lib/postgresql/15/bin
fi
if [ "$(id -u)" = 0 ]; then
	chown postgres "$dir"
fi

# Listens only in this folder, where no other server has a socket. Autovacuum is off, because its
# ANALYZE would end the state.
unset PGOPTIONS PGSERVICE
export PGHOST=$dir PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
"${as[@]}" "$bin/initdb" -N -D data -U postgres -A trust --no-locale -E UTF8 >/dev/null
cat >>data/postgresql.conf <<END
listen_addresses = ''
unix_socket_directories = '$dir'
shared_preload_libraries = 'pg_cron'
cron.use_background_workers = on
autovacuum = off
fsync = off
shared_buffers = 16MB
END
"${as[@]}" "$bin/pg_ctl" -s -w -D data -l "$dir/log" start

sql() { "${as[@]}" "$bin/psql" -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }

# Prints how often the job of this name ran.
runs()
{
	sql -c "SELECT count(*) FROM cron.job_run_details JOIN cron.job USING (jobid)
		WHERE jobname = '$1'"
}

has_run() { [ "$(runs "$1")" -ge "$2" ]; }

# Repeats a command each second until it succeeds, at most for the given number of seconds.
try_for()
{
	local end=$((SECONDS + $1))

	until "${@:2}"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 1
	done
}

try_for 60 grep -q 'pg_cron scheduler started' log

# One session does all this, and first caches the role. Otherwise it would wait for its own lock.
sql >waits <<'SQL'
CREATE EXTENSION pg_cron;
CREATE EXTENSION dblink;
CREATE FUNCTION scheduler_waits(seconds int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 0 .. seconds * 20 LOOP
		IF 2 = (SELECT count(*) FROM pg_locks
			WHERE pid = current_setting('my.scheduler')::int AND mode = 'AccessShareLock'
				AND (relation = 'cron.job'::regclass AND granted
					OR relation = 'pg_authid'::regclass AND NOT granted))
		THEN
			RETURN true;
		END IF;
		PERFORM pg_sleep(0.05);
	END LOOP;
	RETURN false;
END
$$;
SET lock_timeout = '10s';
SELECT set_config('my.scheduler', pid::text, false) AS scheduler FROM pg_stat_activity
	WHERE application_name = 'pg_cron scheduler' \gset
SELECT dblink_connect('locker', '') AS locker \gset
SELECT dblink_exec('locker', 'BEGIN') AS locker \gset
BEGIN;
SELECT cron.schedule('rolled back', '* * * * *', 'SELECT 0') AS job \gset
SELECT cron.alter_job(:job, active => true) AS altered \gset
ROLLBACK;
SELECT scheduler_waits(0) AS waits \gset

SELECT dblink_exec('locker', 'LOCK TABLE pg_authid IN ACCESS EXCLUSIVE MODE') AS locker \gset
SELECT cron.schedule('first', '* * * * *', 'SELECT 1') AS job \gset
SELECT scheduler_waits(10) AS waits \gset
-- The scheduler can lose this job as well, if it was reading because of CREATE EXTENSION.
\if :waits
\else
	SELECT cron.alter_job(:job, active => true) AS altered \gset
\endif
SELECT scheduler_waits(60);
SELECT cron.schedule('second', '* * * * *', 'SELECT 2') AS job \gset
SELECT scheduler_waits(0);
SELECT dblink_exec('locker', 'COMMIT') AS locker \gset
SQL

sql -c "SELECT format('PostgreSQL %s, pg_cron %s, package $version',
	current_setting('server_version'), extversion) FROM pg_extension WHERE extname = 'pg_cron'"
waits=$(paste -s -d , waits)
echo "scheduler was reading cron.job before and after job \"second\" was committed: ${waits/,/, }"

try_for 200 has_run first 2 || true
first=$(runs first)
lost=$(runs second)
echo "runs without another change: job \"first\" $first, job \"second\" $lost"

sql -c "$again" >/dev/null
try_for 130 has_run second 1 || true
found=$(runs second)
echo "runs after ${again%% FROM *}: job \"second\" $found"
[ "$waits" = t,t ] && [ "$first" -ge 2 ] && [ "$lost" = 0 ] && [ "$found" -ge 1 ]
