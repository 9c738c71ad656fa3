
# When an execution has ended, in whatever way, clock_running no longer shows it. If a plan does
# not fit into shared memory, the reason is shown. While many sessions publish and many read, no
# reader may see counters of different moments. The environment variable LIVE_LOAD="200 20 60" sets
# the numbers of sessions, of readers, and of seconds.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ClockSession;
use LiveCluster;

my ($nsessions, $nreaders, $seconds) = split ' ', $ENV{LIVE_LOAD} || '8 3 6';
my $cluster = LiveCluster->new('max_connections = ' . (3 * $nsessions + $nreaders + 20));
my ($node, $session, $rows) = @$cluster{qw(node session rows)};

sub nothing_remains
{
	my ($what) = @_;

	$cluster->wait_for('SELECT count(*) = 0 FROM clock_running() WHERE pid <> pg_backend_pid()');
	pass("$what: nothing remains");
	return;
}

# Executions that fail, catch an error, are cancelled or terminated, while they are observed and while
# the server counts. There are more executions than shared memory has slots for: slots that were not
# freed would be missing.
$node->safe_psql('postgres', q{
	CREATE FUNCTION catches(n int) RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
		m bigint;
	BEGIN
		FOR i IN 1 .. n LOOP
			BEGIN
				SELECT sum(1 / (b.i - 20)) INTO m FROM b;
			EXCEPTION WHEN division_by_zero THEN
				NULL;
			END;
		END LOOP;
		SELECT count(*) INTO m FROM (SELECT hold(i, 300) FROM a OFFSET 0) s;
		RETURN m;
	END $$});
foreach my $how ('', 'EXPLAIN ANALYZE ')
{
	my $name = $how || 'a query ';

	$session->query("${how}SELECT 1 / (i - 500) FROM a") foreach 1 .. 200;
	nothing_remains($name . 'that fails');
	$cluster->while_waiting("${how}SELECT catches(200)", sub {
		is($cluster->query("SELECT string_agg(concat_ws(' ', level, trim(node_type), rows), ', ' ORDER BY level, node) $rows AND node_type NOT LIKE '%Result'"),
			'1 Aggregate 0, 1 Seq Scan 299', $name . 'after errors that were caught');
	});
	$cluster->while_waiting("${how}SELECT hold(i, 300) FROM a", sub {
		$cluster->query("SELECT pg_cancel_backend($cluster->{pid})");
		nothing_remains($name . 'that is cancelled');
	});
	$cluster->while_waiting("${how}SELECT hold(i, 300), set_config('clocktiming.live', 'off', false) FROM a", sub {
		is($cluster->query("SELECT min(rows) $rows AND level = 0 AND relation = 'a'"), '299', $name . 'that turns clocktiming.live off is shown to its end');
	});
	nothing_remains($name . 'that has turned clocktiming.live off');
	$session->query('RESET clocktiming.live');
	$cluster->shows($name . 'after clocktiming.live is on again', "${how}SELECT hold(i, 300) FROM a", ['0|Seq Scan|1|299|running']);
	foreach my $signal ('TERM', 'KILL')
	{
		my $killed = ClockSession->new($node);

		$cluster->{holder}->query('SELECT pg_advisory_lock(1)');
		$killed->send("${how}SELECT hold(i, 300) FROM a");
		$cluster->wait_for("SELECT count(*) > 0 FROM clock_running() WHERE pid = ${\ $killed->pid} AND rows = 299");
		my $log_at = -s $node->logfile;
		kill $signal, $killed->pid;
		usleep(10_000) until $signal eq 'TERM' || slurp_file($node->logfile, $log_at) =~ /reinitializing/;
		$node->poll_query_until('postgres', 'SELECT true') or die 'the server does not come back';
		nothing_remains("${name}ended by SIG$signal");
		if ($signal eq 'TERM')
		{
			$cluster->{holder}->query('SELECT pg_advisory_unlock(1)');
		}
		else
		{
			$_->{psql}->kill_kill foreach $session, $cluster->{holder}, $killed;
			$cluster->{holder} = ClockSession->new($node);
			delete $cluster->{session};
			$cluster->new_session;
			($session, $rows) = @$cluster{qw(session rows)};
		}
	}
}
$cluster->shows('after a crash', 'SELECT hold(i, 300) FROM a', ['0|Seq Scan|1|299|running']);

# A cursor that was published before clocktiming.live is turned off is published to its end. Later
# executions have times of their own.
$session->query('BEGIN; DECLARE c CURSOR FOR SELECT i FROM a; MOVE 10 IN c; SET clocktiming.live = off; MOVE 10 IN c');
is($cluster->query("SELECT rows, state $rows"), '20|suspended', 'a cursor after clocktiming.live is off');
$session->query('SELECT count(*) FROM b; COMMIT; SET clocktiming.live = on');
nothing_remains('a cursor');
$cluster->while_waiting('SELECT hold(i, 300) FROM a', sub {
	$cluster->wait_for("SELECT self_ms BETWEEN 50 AND elapsed_ms $rows AND relation = 'a'");
	pass('times after clocktiming.live is on again');
});

# Plans with more nodes than fit into one slot, and with too many nodes. Each Limit node passes
# on a row at once, so all nodes have the same number of rows.
sub limits { my ($n, $of) = @_; return 'SELECT * FROM (' x $n . $of . ') s LIMIT 1000000' x $n; }

$cluster->while_waiting(limits(40, 'SELECT hold(i, 30) FROM a'), sub {
	is($cluster->query("SELECT count(*), min(rows), max(rows), max(depth) $rows AND level = 0"), '41|29|29|40', 'a plan in several slots');
	$cluster->query("SELECT pg_cancel_backend($cluster->{pid})");
});
foreach my $how ('', 'EXPLAIN ANALYZE ')
{
	$cluster->while_waiting($how . 'SELECT hold(i, 30) FROM (' . join(' UNION ALL ', ('SELECT i FROM a') x 300) . ') s', sub {
		is($cluster->query("SELECT count(*), count(node), min(reason) $rows AND level = 0"), '1|0|too many nodes', "${how}a plan that is too large");
		$cluster->query("SELECT pg_cancel_backend($cluster->{pid})");
	});
}
nothing_remains('large plans');

# Many sessions and readers. In counters of one moment, the numbers of rows of the Limit nodes
# differ by at most one, for the call that is being executed. The plan is large, so that writing and
# reading its counters take long.
my $nodes = 120;
my $dir = PostgreSQL::Test::Utils::tempdir();
append_to_file("$dir/work.sql", limits($nodes - 1, 'SELECT i FROM big WHERE i > 0') . ";\n");
append_to_file("$dir/read.sql", qq{
DO \$\$ DECLARE
	torn text;
BEGIN
	FOR i IN 1 .. 100 LOOP
		SELECT format('pid %s, %s nodes, rows %s to %s', pid, count(*), min(rows), max(rows)) INTO torn
		FROM clock_running() WHERE level = 0 GROUP BY pid HAVING count(*) <> $nodes OR max(rows) - min(rows) > 1;
		IF torn IS NOT NULL THEN
			RAISE 'torn: %', torn;
		END IF;
	END LOOP;
END \$\$;
});
$node->append_conf('postgresql.conf', "clocktiming.live_interval = 1\nlog_statement = none");
$node->reload;
# Starts this session before the readers. Until clocktiming.live is off in it, clock_running shows
# its statements, and a reader would mistake their rows for incomplete counters.
my $monitor = ClockSession->new($node);
$monitor->query('SET clocktiming.live = off');
my @pgbench = ('pgbench', '-n', '-T', $seconds);
my %pgbench = map { my $h = $_; $h->{out} = ''; ($h->{name} => $h) } { name => 'work', n => $nsessions }, { name => 'read', n => $nreaders, set => 'off' };
foreach my $h (values %pgbench)
{
	local $ENV{PGOPTIONS} = '-c clocktiming.live=' . ($h->{set} // 'on');
	local $ENV{PGAPPNAME} = $h->{name};
	$h->{run} = IPC::Run::start([ @pgbench, '-c', $h->{n}, '-f', "$dir/$h->{name}.sql", $node->connstr('postgres') ], '>&' => \$h->{out});
}
my ($looks, $waits, $most) = (0, 0, 0);
while ((grep { $_->{run}->pumpable } values %pgbench) && $looks < 100 * $seconds)
{
	my ($waiting, $shown) = split /\|/, $monitor->query(q{SELECT count(*), (SELECT count(*) FROM clock_running() WHERE node = 1) FROM pg_stat_activity
		WHERE application_name = 'read' AND wait_event_type = 'Lock'})->{out};
	$waits += $waiting;
	$most = $shown if $shown > $most;
	$looks++;
	usleep(20_000);
	$_->{run}->pump_nb foreach grep { $_->{run}->pumpable } values %pgbench;
}
$_->{run}->finish foreach values %pgbench;
# A reader that sees counters of different moments raises an error, and then pgbench fails.
is($pgbench{$_}{run}->result || 0, 0, "no session fails: $_") or diag $pgbench{$_}{out} foreach sort keys %pgbench;
cmp_ok($most, '>=', $nsessions / 2, 'sessions are shown');
is($waits, 0, 'no reader waits for a lock');
diag "$1 times 100 reads beside $nsessions sessions, $looks observations of waits" if $pgbench{read}{out} =~ /transactions actually processed: (\d+)/;
nothing_remains('all of them');

done_testing();
