
# clock_activity: one row for each running statement of a client, and for each the reason if the
# time of its end is unknown.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use LiveCluster;

my $cluster = LiveCluster->new;
my ($node, $holder, $session, $pid) = @$cluster{qw(node holder session pid)};

# pause() waits like hold(), but not for a lock.
$node->safe_psql('postgres', q{
	CREATE FUNCTION pause(i bigint, at bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
	BEGIN
		IF i = at THEN
			PERFORM pg_advisory_lock_shared(2);
			WHILE NOT pg_try_advisory_lock_shared(1) LOOP
				PERFORM pg_sleep(0.01);
			END LOOP;
			PERFORM pg_advisory_unlock_shared(1), pg_advisory_unlock_shared(2);
		END IF;
		RETURN i;
	END $$;
	CREATE FUNCTION pausing() RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
		n bigint;
	BEGIN
		SELECT count(*) INTO n FROM (SELECT pause(i, 300) FROM a OFFSET 0) s;
		RETURN n;
	END $$;
	CREATE ROLE regress_other;
	CREATE ROLE regress_monitor IN ROLE pg_read_all_stats});

sub query { my ($sql) = @_; return $cluster->query($sql); }
sub wait_for { my ($sql) = @_; return $cluster->wait_for($sql); }

# Returns the columns of the session's row in clock_activity; separates rows by line breaks.
sub row { my ($columns) = @_; return query("SELECT $columns FROM clock_activity WHERE pid = $pid"); }

# Starts a statement, which calls pause(). Calls the function $during while it waits.
sub while_pausing
{
	my ($sql, $during) = @_;

	$holder->query('SELECT pg_advisory_lock(1)');
	$session->send($sql);
	wait_for("SELECT count(*) > 0 FROM pg_locks WHERE pid = $pid AND locktype = 'advisory' AND objid = 2 AND granted");
	$during->();
	$holder->query('SELECT pg_advisory_unlock(1)');
	return $session->result;
}

# Starts a statement, and waits until its row fulfils the condition. Then calls $during, and cancels
# the statement.
sub while_running
{
	my ($sql, $condition, $during) = @_;

	$session->send($sql);
	wait_for("SELECT count(*) > 0 FROM clock_activity WHERE pid = $pid AND ($condition)");
	$during->();
	query("SELECT pg_cancel_backend($pid)");
	return $session->result;
}

# The statement's text, and what a statement waits for
while_pausing("/* comment */ -- it's another\nSELECT   'a--/*c*/' AS x, /* d ** e */ pause(i, 300)\n\tFROM a", sub {
	is(row('query'), q{/* comment */ -- it's anot}, 'the text without line breaks');
	is(row('node'), 'Seq Scan on a', 'the node');
	is(row('elapsed = date_trunc($$second$$, elapsed), share_percent = 100'), 't|t', 'elapsed time, and the share of a single node');
	is(query('SET ROLE regress_other; SELECT count(*) FROM clock_activity'), 0, 'another user sees nothing');
	is(query("SET ROLE regress_monitor; SELECT count(*) FROM clock_activity WHERE pid = $pid AND node IS NOT NULL"), 1, 'members of pg_read_all_stats see everything');
	is(query('CREATE SCHEMA bad; CREATE FUNCTION bad.date_trunc(text, interval) RETURNS interval LANGUAGE sql AS $$SELECT $2$$; CREATE VIEW bad.clock_running AS SELECT 1 AS pid; '
			. "SET search_path = bad, public, pg_catalog; SELECT node FROM clock_activity WHERE pid = $pid; SET client_min_messages = warning; DROP SCHEMA bad CASCADE"),
		'Seq Scan on a', 'under any search_path');
});
$cluster->while_waiting('SELECT hold(i, 300) FROM a', sub { is(row('node, ends_in'), 'Seq Scan on a|blocked by ' . $holder->pid, 'a lock'); });
my $join = qr/^(?:Hash Join|Merge Join|Nested Loop)/;
while_running('SELECT count(*) FROM a JOIN b USING (i) WHERE pg_sleep(0.01 + 0 * (a.i + b.i)) IS NOT NULL', q{node ~ 'Join|Loop'}, sub {
	my $inner = query("SELECT relation FROM clock_running WHERE pid = $pid AND relation IS NOT NULL ORDER BY node DESC LIMIT 1");
	like(row('node'), qr/$join with $inner$/, 'a join: the relation of its inner side');
});
$session->query('SET enable_hashjoin = off; SET enable_mergejoin = off');
while_running('SELECT count(*) FROM a LEFT JOIN (b JOIN b c USING (i)) ON pg_sleep(0.01 + 0 * (a.i + b.i + c.i)) IS NOT NULL', q{node ~ 'Left Join'}, sub {
	is(row('node'), 'Nested Loop Left Join with b, ...', 'a join of a join: the first relation of its inner side');
});
while_running('SELECT count(*) FROM a LEFT JOIN b ON pg_sleep(0.01 + 0 * (SELECT a.i + b.i + c.i FROM b c LIMIT 1)) IS NOT NULL', q{node ~ 'Left Join'}, sub {
	is(row('node'), 'Nested Loop Left Join', 'a join with a SubPlan: its inner side is not known');
});
$session->query('RESET enable_hashjoin; RESET enable_mergejoin');
$holder->query('BEGIN; LOCK TABLE a');
while_running('SELECT count(*) FROM a', q{ends_in ~ '^blocked by [0-9]+$'}, sub { is(row('node'), '', 'a lock before the plan is executed'); });
$holder->query('ROLLBACK');

# One row for each process
while_pausing('SELECT pausing()', sub {
	cmp_ok(query("SELECT count(DISTINCT level) FROM clock_running WHERE pid = $pid"), '>', 1, 'a statement in a function');
	like(row('node, done_percent, ends_in'), qr/^(?:Seq Scan on a|Aggregate)\|\|unknown in a function$/, 'a statement in a function: its node, in one row');
});
while_pausing('SELECT pause(i, 300), i FROM big WHERE (SELECT pausing()) IS NOT NULL', sub { is(row('count(*)'), 1, 'an InitPlan'); });
while_pausing("DO \$\$BEGIN PERFORM pause(i, 300) FROM a; END\$\$", sub { is(row('node, done_percent, ends_in'), 'Seq Scan on a||unknown in a procedure', 'DO'); });
$session->query('BEGIN; DECLARE c CURSOR FOR SELECT pg_sleep(0.002), i FROM b; MOVE 100 IN c');
is(query("SELECT count(*) FROM clock_running WHERE pid = $pid") . '|' . row('count(*)'), '1|0', 'idle in transaction');
while_pausing('SELECT pause(i, 300) FROM a', sub {
	is(query("SELECT count(DISTINCT started_at) FROM clock_running WHERE pid = $pid AND level = 0"), 2, 'a cursor and a statement');
	is(row('node'), 'Seq Scan on a', 'one row: the statement');
});
$holder->query('BEGIN; LOCK TABLE big');
while_running('LOCK TABLE big', q{ends_in ~ '^blocked by [0-9]+$'}, sub { is(row('node, done_percent'), '|', 'a statement without a plan: the plan of the cursor is not shown'); });
$holder->query('ROLLBACK');
$session->query('COMMIT');
is(query('SELECT count(*) FROM clock_activity'), 0, 'no rows without running statements; its own statement is omitted');

# The time of the end
while_running('SELECT pg_sleep(0.02), i FROM a \g /dev/null', 'done_percent IS NOT NULL', sub {
	like(row('ends_in'), qr/^(?:\d+ \w+ \((?:\d+|up) to \d+ (?:s|min|h|d)\)|within \d+ \w+)$/, 'a range');
	is(row('done_percent BETWEEN 0 AND 99.9'), 't', 'progress is between 0 and 99.9 %');
});

# The progress of a statement in a function or a DO block is not that of the client's statement.
$node->safe_psql('postgres', q{CREATE PROCEDURE slowly() LANGUAGE plpgsql AS $$BEGIN PERFORM pg_sleep(0.02), i FROM a; END$$;
	CREATE FUNCTION slow() RETURNS void LANGUAGE plpgsql AS $$BEGIN PERFORM pg_sleep(0.02), i FROM a; END$$});
foreach my $statement ("-- nightly\nDO \$\$BEGIN PERFORM pg_sleep(0.02), i FROM a; END\$\$", 'CALL slowly()', 'SELECT slow()')
{
	while_running($statement, "EXISTS (SELECT FROM clock_running r WHERE r.pid = $pid AND r.progress_percent IS NOT NULL)", sub {
		is(row('done_percent, ends_in'), '|unknown in a ' . ($statement =~ /^SELECT/ ? 'function' : 'procedure'), "$statement: no progress");
	});
}
# As by default, SELECT slow() is not published, because its only node is not called again.
$session->query('SET clocktiming.live_late_only = on; SET clocktiming.live_after = 100');
while_running('SELECT slow()', "EXISTS (SELECT FROM clock_running r WHERE r.pid = $pid AND r.progress_percent IS NOT NULL)", sub {
	is(query("SELECT min(level) FROM clock_running WHERE pid = $pid"), 1, 'only the statement in the function is published');
	is(row('done_percent, ends_in'), '|unknown in a function', 'its progress is not that of the client');
});
$session->query('RESET clocktiming.live_late_only; RESET clocktiming.live_after');

# Reasons why the time of the end is unknown
while_pausing('SELECT pause(i, 300) FROM unnest((SELECT array_agg(i) FROM a)) i', sub { like(row('ends_in'), qr/^(?:\d|within)/, 'more rows than planned'); });
while_pausing('WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT pause(i + 1, 3)::integer FROM r WHERE i < 9) SELECT count(*) FROM r', sub {
	is(row('ends_in'), 'recursive query', 'a recursive query');
});
while_running('SET vacuum_cost_delay = 100; SET vacuum_cost_limit = 1; VACUUM (FREEZE) big', q{query ~ '^VACUUM'}, sub {
	wait_for("SELECT ends_in = 'no plan is shown' FROM clock_activity WHERE pid = $pid");
	pass('VACUUM');
});

# Statements are shown after live_after, if live is on.
$node->append_conf('postgresql.conf', "clocktiming.live_after = 10min\nclocktiming.live_interval = 50");
$node->reload;
wait_for(q{SELECT current_setting('clocktiming.live_after') = '10min'});
$cluster->new_session;
($session, $pid) = @$cluster{qw(session pid)};
while_pausing('SELECT pause(i, 300) FROM a', sub { is(row('node, ends_in'), '|too early', 'too early'); });
$node->append_conf('postgresql.conf', 'clocktiming.live = off');
$node->reload;
wait_for(q{SELECT current_setting('clocktiming.live') = 'off'});
while_pausing('SELECT pause(i, 300) FROM a', sub { is(row('node, ends_in'), '|clocktiming.live is off', 'off'); });
my $off = qr/NOTICE:  nothing is recorded, because clocktiming\.live is off\nHINT:  Execute ALTER SYSTEM SET clocktiming\.live = on, and SELECT pg_reload_conf\(\)\./;
my $track_off = qr/NOTICE:  nothing is recorded, because clocktiming\.track is off\n/;
foreach my $view ([ clock_activity => $off ], [ clock_running => $off ], [ clock_plan_stats => $track_off ], [ clock_node_stats => $track_off ])
{
	my ($name, $notice) = @$view;
	my (undef, $out, $err) = $node->psql('postgres', "SELECT count(*) FROM $name");

	is($out, 0, "$name: no rows");
	like($err, $notice, "$name: a notice says why");
}
my (undef, undef, $notices) = $node->psql('postgres', 'SELECT count(*) FROM clock_time_spent()');
is(scalar(() = $notices =~ /nothing is recorded/g), 1, 'clock_time_spent: one notice, although it reads two views');
$node->safe_psql('postgres', q{ALTER SYSTEM SET clocktiming.live = on; ALTER SYSTEM SET clocktiming.track = on; SELECT pg_reload_conf()});
wait_for(q{SELECT current_setting('clocktiming.live') = 'on'});
foreach my $name (qw(clock_activity clock_running clock_plan_stats clock_node_stats))
{
	my (undef, undef, $err) = $node->psql('postgres', "SELECT count(*) FROM $name");

	is($err, '', "$name: no notice while the setting is on");
}
$session->quit;
$holder->quit;

# Without the library at the server's start, the views say so, also if no client executes anything.
$node->append_conf('postgresql.conf', q{shared_preload_libraries = ''});
$node->restart;
foreach my $name (qw(clock_activity clock_running clock_plan_stats clock_node_stats))
{
	my (undef, undef, $err) = $node->psql('postgres', "SELECT count(*) FROM $name");

	like($err, qr/^(?:psql:<stdin>:1: )?ERROR:  clocktiming must be loaded via shared_preload_libraries\nHINT:/, "$name: an error with a hint");
}

done_testing();
