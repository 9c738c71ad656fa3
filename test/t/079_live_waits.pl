
# What running statements wait for: now and earlier, in clock_running and clock_activity.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use LiveCluster;

my $cluster = LiveCluster->new;
my ($node, $holder, $session, $pid, $rows) = @$cluster{qw(node holder session pid rows)};

sub query { my ($sql) = @_; return $cluster->query($sql); }
sub wait_for { my ($sql) = @_; return $cluster->wait_for($sql); }

# Starts a statement, waits until a condition on clock_activity or clock_running is true, calls
# $during, and cancels the statement.
sub while_running
{
	my ($sql, $condition, $during) = @_;

	$session->send($sql);
	wait_for("SELECT count(*) > 0 FROM $condition");
	$during->();
	query("SELECT pg_cancel_backend($pid)");
	return $session->result;
}

# Returns the condition that clock_activity has this text in the column "now".
sub now { my ($text) = @_; return "clock_activity WHERE pid = $pid AND now = '$text'"; }

# Returns the condition that a node has waited for an event, which is the first in "waits".
sub waited { my ($event) = @_; return "clock_running WHERE pid = $pid AND waits ~ '^$event [0-9]+ %' AND wait_ms > 0"; }

# A sleep, a lock of a row, and work
while_running('SELECT pg_sleep(1000), i FROM a', now('Timeout:PgSleep in Seq Scan on a'), sub {
	wait_for('SELECT count(*) = 1 FROM ' . waited('Timeout:PgSleep') . q{ AND relation = 'a'});
	is(query("SELECT now, now_processes, cpu_ms >= 0, abs(cpu_ms + wait_ms - self_ms) < 0.01, cpu_wait_ms >= 0 $rows"),
		'Timeout:PgSleep|1|t|t|t', 'a sleep: columns of clock_running');
	like(query("SELECT clock_running_text($pid)"), qr/^  State: running, innermost; now: Timeout:PgSleep; waits so far: Timeout:PgSleep \d+ %$/m, 'a sleep: clock_running_text');
});
$holder->query('BEGIN; UPDATE a SET k = k WHERE i = 1');
while_running('UPDATE a SET k = k', now('Lock:transactionid in Update on a'), sub {
	wait_for('SELECT count(*) > 0 FROM ' . waited('Lock:transactionid') . q{ AND node_type = 'Update'});
	is(query("SELECT string_agg(concat(node_type, ' ', now), ', ' ORDER BY node), count(waits) $rows"), 'Update Lock:transactionid,   Seq Scan |1', 'a lock of a row: only at one node');
	is(query("SELECT ends_in FROM clock_activity WHERE pid = $pid"), 'blocked by ' . $holder->pid, 'ends_in says by whom');
	is(query('SELECT ends_in, now, elapsed IS NOT NULL, node, query FROM clock_activity WHERE pid = ' . $holder->pid), 'idle in transaction|Client:ClientRead|t||UPDATE a SET k = k WHERE i', 'the idle transaction that blocks it has a row');
});
is(query('SELECT count(*) FROM clock_activity WHERE pid = ' . $holder->pid), 0, 'an idle transaction that blocks nothing has no row');
$holder->query('ROLLBACK');
while_running(q{SELECT count(*) FROM a x, a y, a z WHERE md5((x.i + y.i + z.i)::text) < 'g'}, "clock_activity WHERE pid = $pid AND now ~ '^CPU in Nested Loop'", sub {
	wait_for("SELECT count(*) > 0 $rows AND node_type ~ 'Nested Loop' AND cpu_ms > 0 AND waits IS NULL AND now IS NOT NULL");
	pass('work');
});

# A statement in a function: the nodes of both statements wait. The node that is shown is not a
# Result, which only calls functions.
$cluster->while_waiting('SELECT hold(i, 300) FROM a', sub {
	is(query("SELECT now FROM clock_activity WHERE pid = $pid"), 'Lock:advisory in Seq Scan on a', 'a statement in a function: in clock_activity');
	wait_for('SELECT count(DISTINCT level) = 2 FROM ' . waited('Lock:advisory'));
	is(query("SELECT string_agg(DISTINCT now, ', '), count(now) $rows"), 'Lock:advisory|2', 'a statement in a function: at its node and at the caller\'s');
});

# A statement that fails in a function, and the next statement, whose nodes get the same numbers
$node->safe_psql('postgres', q{
	CREATE FUNCTION failing() RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		BEGIN
			PERFORM pg_sleep(0.2), 1 / (i - 3) FROM a;
		EXCEPTION WHEN division_by_zero THEN
			NULL;
		END;
		PERFORM hold(i, 300) FROM a;
	END $$});
$cluster->while_waiting('SELECT failing()', sub {
	wait_for('SELECT count(*) > 0 FROM ' . waited('Lock:advisory') . ' AND level = 1 AND self_ms > 0');
	is(query("SELECT bool_or(waits ~ 'PgSleep') $rows AND level = 1"), 'f', 'waits of a statement that has failed are not those of the next one');
});

# A statement without plan, and before its plan is executed
$holder->query('BEGIN; LOCK TABLE a');
while_running('SELECT count(*) FROM a', now('Lock:relation'), sub { pass('a lock before the plan is executed: no node') });
$holder->query('ROLLBACK');

# The server's timers do not tell what a node waits for.
while_running('EXPLAIN ANALYZE SELECT pg_sleep(1000), i FROM a', now('Timeout:PgSleep in Seq Scan on a'), sub {
	wait_for("SELECT count(self_ms) = 1 $rows");
	is(query("SELECT cpu_ms, wait_ms, waits, cpu_wait_ms, now $rows"), '||||Timeout:PgSleep', 'EXPLAIN ANALYZE: only the present event');
});

# Parallel workers: the state of most processes, but not the leader's wait for its workers
$session->query('SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off');
while_running('SELECT count(*) FROM big WHERE pg_sleep(1000 + 0 * i) IS NULL', now('Timeout:PgSleep in Parallel Seq Scan on big') . " AND pid IN (SELECT r.pid FROM clock_running r WHERE r.now_processes = 2)", sub {
	wait_for('SELECT count(*) = 1 FROM ' . waited('Timeout:PgSleep') . q{ AND relation = 'big'});
	is(query("SELECT now, now_processes $rows AND node_type ~ 'Gather'"), 'IPC:ExecuteGather|1', 'parallel workers: the leader');
});
$session->query('RESET ALL');

# A process that has not published its counters for a second: the present event. The counters of a
# late execution are first published before it sleeps.
$session->query('SET clocktiming.live_late_only = on; SET clocktiming.live_after = 10; SET clocktiming.live_interval = 10000');
while_running('SELECT pg_sleep(CASE WHEN i < 10 THEN 0.01 ELSE 1000 END) FROM a',
	now('Timeout:PgSleep in Seq Scan on a') . " AND pid IN (SELECT r.pid FROM clock_running r WHERE r.as_of < r.since + interval '1 s')", sub { pass('a process that is stuck') });
$session->query('RESET ALL');

done_testing();
