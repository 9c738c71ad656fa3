
# Nodes of long executions in the statistics of plans: an execution that turns out to be long is
# observed from then on, although it was not drawn. So the times of the nodes add up to the time of the
# executions, of which few are long.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'clocktiming'
clocktiming.track = on
compute_query_id = on
max_parallel_workers_per_gather = 0
jit = off
autovacuum = off
});
$node->start;
sub query { return $node->safe_psql('postgres', $_[0]); }

query(q{
	CREATE EXTENSION clocktiming;
	-- 200000 rows have c = 1, each of the others has a value of its own
	CREATE TABLE cust AS SELECT CASE WHEN i <= 200000 THEN 1 ELSE i END AS c, i AS x FROM generate_series(1, 210000) AS i;
	CREATE INDEX ON cust (c);
	CREATE TABLE few AS SELECT i FROM generate_series(1, 10) AS i;
	CREATE TABLE filled (i integer);
	-- A long execution of a function, in which short ones are executed
	CREATE FUNCTION outer_query(n integer) RETURNS bigint LANGUAGE plpgsql AS $$
	BEGIN
		FOR k IN 1 .. n LOOP PERFORM i FROM few WHERE i = k % 10; END LOOP;
		RETURN n;
	END $$;
	ANALYZE});

# Executes statements in a new session after a reset of the statistics. Returns a plan's total time, the
# sum of the times of its nodes, and the percentages of nodes and of their waits.
sub times_of
{
	my ($pattern, @statements) = @_;
	my (%times, @rows);

	query('SELECT clock_stats_reset()');
	$node->safe_psql('postgres', join(";\n", @statements));
	# A session adds its latest executions when it ends, which may be after the end of psql.
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'});
	@times{qw(executions total failed)} = split /\|/, query("SELECT sum(executions), sum(total_ms), sum(failed_executions) FROM clock_plan_stats WHERE plan LIKE '%$pattern%'");
	foreach (split /\n/, query(qq{
		SELECT n.node_type, sum(n.self_ms), sum(n.cpu_wait_ms), sum(n.wait_ms), sum(n.share_percent), sum(n.self_margin_ms), max(n.waits)
		FROM clock_node_stats n JOIN clock_plan_stats p USING (dbid, userid, queryid, planid) WHERE p.plan LIKE '%$pattern%' GROUP BY 1}))
	{
		my ($type, $self, $cpu_wait, $wait, $share, $margin, $waits) = split /\|/;

		$times{sum} += ($self || 0) + ($cpu_wait || 0);
		$times{wait} += $wait || 0;
		$times{shares} += $share || 0;
		$times{margin} += $margin || 0;
		$times{$type} = { self => $self, share => $share, waits => $waits };
	}
	return \%times;
}

# $short_ms: total time of the short executions among them
sub adds_up
{
	my ($what, $n, $times, $short_ms) = @_;

	is($times->{executions}, $n, "$what: executions");
	# The nodes' times of short executions are estimated from a sample of these executions. On a busy
	# machine, an execution in the sample may have been delayed. Then the sum is too large, but so are
	# the margins. If none was delayed, the sum may lack the delays of all others: at most $short_ms.
	cmp_ok($times->{sum}, '>=', 0.9 * $times->{total} - ($short_ms // 0), "$what: the nodes' times are not below the total ($times->{total})")
	  or diag explain $times;
	cmp_ok($times->{sum}, '<=', 1.1 * $times->{total} + $times->{margin}, "$what: the nodes' times are not above the total ($times->{total})")
	  or diag explain $times;
	cmp_ok(abs($times->{shares} - 100), '<', 0.5, "$what: shares add up to 100 %");
	return;
}

my $generic = 'SET plan_cache_mode = force_generic_plan';
adds_up('one of 250 reads many rows', 3000, times_of(' on cust', $generic, 'PREPARE p(integer) AS SELECT count(x) FROM cust WHERE c = $1',
	map { 'EXECUTE p(' . ($_ % 250 == 0 ? 1 : 200000 + $_) . ')' } 1 .. 3000));
my @short = ($generic, 'PREPARE p AS SELECT count(*) FROM filled', ('EXECUTE p') x 3000);
my $short_ms = times_of('Seq Scan on filled', @short)->{total};
adds_up('a table is filled', 3020, times_of('Seq Scan on filled', @short, 'INSERT INTO filled SELECT generate_series(1, 200000)', ('EXECUTE p') x 20), $short_ms);

# A single call of a node, which no call of another node follows until it ends
my $times = times_of('Aggregate%on few', q{DO $$ BEGIN FOR k IN 1 .. 2000 LOOP
	PERFORM count(pg_sleep(CASE WHEN k % 200 = 0 THEN 0.1 ELSE 0 END)) FROM few WHERE i = 1; END LOOP; END $$});
adds_up('a node sleeps', 2000, $times);
cmp_ok($times->{wait}, '>', 0.9 * $times->{total}, 'a node sleeps: waits') or diag explain $times;
like(join('', map { $times->{$_}{waits} // '' } 'Aggregate', 'Seq Scan'), qr/Timeout:PgSleep/, 'a node sleeps: the event');
$times = times_of('Seq Scan on filled', $generic, q{DO $$ BEGIN FOR k IN 1 .. 2000 LOOP
	PERFORM i FROM filled WHERE CASE WHEN k % 200 = 0 THEN i < 0 ELSE i > 0 END LIMIT 1; END LOOP; END $$});
adds_up('a scan finds nothing', 2000, $times);
# Beside other work, delayed short executions in the sample lower the share, and enlarge the margin.
cmp_ok($times->{'Seq Scan'}{share} + 100 * $times->{margin} / $times->{sum}, '>', 90, 'a scan finds nothing: its share') or diag explain $times;
cmp_ok($times->{'Seq Scan'}{share}, '>', 60, 'a scan finds nothing: its share is by far the largest') or diag explain $times;

# An execution that is long because it executes short ones
adds_up('a function executes others', 3, times_of('Result', ('SELECT outer_query(30000) WHERE random() < 2') x 3));

# Executions that fail after they began to be observed, and cursors, which are not observed from a part on
$times = times_of('Seq Scan on cust', q{DO $$ BEGIN FOR k IN 1 .. 20 LOOP
	BEGIN
		PERFORM sum(1 / (CASE WHEN k % 2 = 0 THEN 150000 ELSE 0 END - x)) FROM cust WHERE x > 0;
	EXCEPTION WHEN division_by_zero THEN
		PERFORM count(*) FROM few;
	END;
END LOOP; END $$});
cmp_ok($times->{failed}, '>', 0, 'executions of which some fail');
my $s = ClockSession->new($node);
is($s->query('BEGIN; DECLARE c SCROLL CURSOR FOR SELECT x FROM cust ORDER BY x; FETCH 10 FROM c; FETCH ALL FROM c; FETCH BACKWARD 5 FROM c; COMMIT')->{state}, '00000', 'a cursor');
foreach my $live (qw(off on))
{
	$s->query("SET clocktiming.live = $live; SET clocktiming.live_after = 20");
	is($s->query('SELECT count(*) FROM cust a JOIN cust b USING (x)')->{out}, 210000, "a join with live $live");
	is($s->query('SELECT count(*) FROM cust a JOIN cust b USING (x), outer_query(1000)')->{out}, 210000, "and one that executes others");
	is($s->query('SELECT sum(1 / (100000 - x)) FROM cust WHERE x > 1 AND random() < 2')->{state}, '22012', 'an error');
	is($s->query('SET statement_timeout = 50; SELECT count(*) FROM cust a, cust b')->{state}, '57014', 'a timeout');
	is($s->query('RESET statement_timeout; SELECT count(*) FROM cust')->{out}, 210000, 'and the session goes on');
}
$s->quit;

# The sampler's question is a signal, for which another extension has installed a handler before or
# after clocktiming. Both handlers, and the server's, are called.
my $module = ($ENV{CLOCKTIMING_SHIM_DIR} || '') . '/../module/signal_counter.so';
SKIP:
{
	skip "no $module: say by CLOCKTIMING_SHIM_DIR where the shims are", 16 unless -f $module;
	query("CREATE FUNCTION install(boolean) RETURNS void LANGUAGE c AS '$module', 'signal_counter_install';
		CREATE FUNCTION signals() RETURNS bigint LANGUAGE c AS '$module', 'signal_counter'");
	query('ALTER DATABASE postgres SET clocktiming.track = off');
	foreach my $when (qw(before after))
	{
		foreach my $info (0, 1)
		{
			my $what = "a handler that was installed $when clocktiming's" . ($info ? ', with SA_SIGINFO' : '');
			my $result;

			$s = ClockSession->new($node);
			$s->query('SET clocktiming.live_late_only = on; SET clocktiming.live_after = 20');
			# The first execution that may be published installs clocktiming's handler.
			$s->query('SET clocktiming.live = on; SELECT i FROM few; SELECT i FROM few') if $when eq 'after';
			is($s->query("SELECT install('$info')")->{state}, '00000', $what);
			$s->query('SET clocktiming.live = on; SET client_min_messages = debug1');
			foreach (1 .. 100)
			{
				$result = $s->query('SELECT count(*) FROM cust a JOIN cust b USING (x)');
				last if $result->{err} =~ /counters published from now on/;
			}
			like($result->{err}, qr/counters published from now on/, "$what: clocktiming's is called");
			cmp_ok($s->query('SELECT signals()')->{out}, '>', 0, "$what: is called");
			# Processes acknowledge a barrier in the server's handler.
			is($s->query('CREATE DATABASE d')->{state} . $s->query('DROP DATABASE d')->{state}, '0000000000', "$what: the server's is called");
			$s->quit;
		}
	}
}
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal|TRAP/, 'nothing has crashed');
done_testing();
