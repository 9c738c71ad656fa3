
# CPU time and waits in the statistics of plans. Waits of known length must have their true share of
# the time of the same executions. The times of nodes and their parts must add up, also in parallel
# plans, and survive a restart.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use ClockSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'clocktiming'\ncompute_query_id = on\nautovacuum = off\njit = off");
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE s AS SELECT i FROM generate_series(1, 5) AS i;
	CREATE TABLE r AS SELECT 1 AS i, 0 AS n;
	CREATE TABLE big AS SELECT i FROM generate_series(1, 200000) AS i;
	ANALYZE s, r, big});

# Settings that make clocktiming observe every execution.
my $on = 'SET clocktiming.track_everything = on; SET clocktiming.track = on; ';

sub query { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }

# Returns the percentage of a wait event in the column waits of a row; 0 if it is missing.
sub percent
{
	my ($event, $sql) = @_;
	return query($sql) =~ /\Q$event\E (\d+) %/ ? $1 : 0;
}

# Checks a percentage. A process may lose the CPU between a reading of the clock and the event that
# the reading times. So there are some attempts.
sub is_near
{
	my ($what, $attempt) = @_;
	my ($found, $truth);

	for (1 .. 5)
	{
		query('SELECT clock_stats_reset()');
		($found, $truth) = $attempt->();
		last if abs($found - $truth) <= 5;
		diag sprintf '%s: %.1f %%, truth %.1f %%', $what, $found, $truth;
	}
	return ok(abs($found - $truth) <= 5, sprintf '%s: %.1f %%, truth %.1f %%', $what, $found, $truth);
}

# Each execution reads the clock at its start and end, and before and after each sleep.
my $clock = 'extract(epoch FROM clock_timestamp()) * 1000';
my $sleep = q{(SELECT sum(extract(epoch FROM b - a)) * 1000 FROM (SELECT clock_timestamp() AS a, pg_sleep(0.04), clock_timestamp() AS b FROM s OFFSET 0) AS c)};
my $work = '(SELECT sum(i % 7) FROM generate_series(1, 800000) AS i)';

is_near(
	'a sleep beside other work',
	sub {
		my ($slept, $took) = (0, 0);

		foreach (split /\n/, query("SET work_mem = '64MB'; $on" . "SELECT $clock, $sleep, $work, $clock;" x 3))
		{
			my @times = split /\|/;

			$slept += $times[1];
			$took += $times[3] - $times[0];
		}
		my ($waited_for_cpu) = query('SELECT cpu_wait_ms FROM clock_plan_stats');
		return (percent('Timeout:PgSleep', 'SELECT waits FROM clock_plan_stats'), 100 * $slept / ($took - $waited_for_cpu));
	});
is(percent('Timeout:PgSleep', q{SELECT waits FROM clock_node_stats WHERE relation = 's'}) > 90 ? 'most' : 'less', 'most', 'the node sleeps for most of its time');
is(query(q{SELECT count(*) FROM clock_node_stats WHERE waits ~ 'PgSleep' AND relation IS DISTINCT FROM 's' AND node_type <> 'Subquery Scan'}), '0', 'other nodes do not sleep');
is(query(q{SELECT string_agg(labels::text, ' ') FROM clock_metrics WHERE name = 'pg_clock_node_wait_seconds_total' AND labels ->> 'wait_event' = 'PgSleep' AND labels ->> 'node_type' = 'Seq Scan'}),
	'{"node_type": "Seq Scan", "wait_event": "PgSleep", "wait_event_type": "Timeout"}', 'the metric has the type of the node and the event');
is(query(q{SELECT abs(m.value * 1000 / n.wait_ms - 1) < 0.05 FROM clock_metrics m, clock_node_stats n
	WHERE m.name = 'pg_clock_node_wait_seconds_total' AND m.labels ->> 'wait_event' = 'PgSleep' AND m.labels ->> 'node_type' = 'Seq Scan' AND n.relation = 's'}),
	't', 'the metric has the time of the event');
query('CREATE ROLE regress_other LOGIN; GRANT SELECT ON clock_metrics TO regress_other; GRANT EXECUTE ON FUNCTION clock_metrics(text) TO regress_other');
is($node->safe_psql('postgres', q{SELECT count(*) FROM clock_metrics WHERE name ~ 'node_wait'}, extra_params => [ '-U', 'regress_other' ]), '0', 'an ordinary role does not see waits of other users');

# A filter that sleeps, in a plan without other work
is_near(
	'a filter that sleeps',
	sub {
		query("$on SELECT count(*) FROM s WHERE pg_sleep(0.02) IS NOT NULL");
		return (percent('Timeout:PgSleep', q{SELECT waits FROM clock_node_stats WHERE relation = 's'}), 100);
	});

# One statement waits for the transaction that holds the row's lock, another one for the first.
is_near(
	'locks',
	sub {
		my ($holder, $first, $second) = map { ClockSession->new($node) } 1 .. 3;
		my $update = "$on UPDATE r SET n = n + 1 WHERE i = 1";
		my @took;

		$holder->query('BEGIN; UPDATE r SET n = n + 1 WHERE i = 1');
		foreach my $waiter ([ $first, 'transactionid' ], [ $second, 'tuple' ])
		{
			$waiter->[0]->send($update);
			$node->poll_query_until('postgres', "SELECT wait_event = '$waiter->[1]' FROM pg_stat_activity WHERE pid = " . $waiter->[0]->pid)
			  or die 'does not wait';
			usleep(300_000);
		}
		$holder->query('COMMIT');
		foreach my $waiter ($first, $second)
		{
			push @took, $waiter->result->{seconds};
		}
		$_->quit foreach $holder, $first, $second;
		my $waits = q{SELECT waits FROM clock_node_stats WHERE node_type = 'Update' AND relation = 'r'};
		is(percent('Lock:transactionid', $waits) + percent('Lock:tuple', $waits) > 90 ? 'most' : 'less', 'most', 'the node waits for locks for most of its time');
		return (percent('Lock:tuple', $waits), 100 * $took[1] / ($took[0] + $took[1]));
	});

# clock_time_spent() has the same events, in percent of the time that includes waits for a CPU.
like(query(q{SELECT waits FROM clock_time_spent() WHERE node = 'Update on r'}), qr/^Lock:transactionid \d+ %\nLock:tuple \d+ %$/m, 'where the time went');

# Samples do not find a Bitmap Index Scan at work, but the node above. It has the events of this node
# in proportion to its time.
query(q{
	CREATE FUNCTION slow_key() RETURNS int LANGUAGE plpgsql STABLE AS $$ BEGIN PERFORM pg_sleep(0.1); RETURN 5; END $$;
	CREATE INDEX big_i ON big (i)});
query("$on SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off; SELECT count(*) FROM big WHERE i = slow_key()");
is(query(q{SELECT node_type || ' ' || (waits ~ '^Timeout:PgSleep') FROM clock_node_stats WHERE index_name = 'big_i'}), 'Bitmap Index Scan true', 'waits of a node in which no sample falls');

# Work without waits
query('SELECT clock_stats_reset()');
query("SET work_mem = '64MB'; $on" . 'SELECT sum(i % 7) FROM generate_series(1, 400000) AS i;' x 3);
is(query('SELECT wait_ms < 0.05 * cpu_ms, cpu_ms > 0 FROM clock_plan_stats'), 't|t', 'a plan that computes has hardly any waits');

# Sums, also of a parallel plan and of triggers, which work outside of the nodes
query(q{
	CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.1); RETURN NULL; END $$;
	CREATE TRIGGER pause AFTER INSERT ON r FOR EACH ROW EXECUTE FUNCTION pause()});
query($on . 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;'
	  . 'SELECT count(*) FROM big;' x 3 . 'INSERT INTO r VALUES (2, 2);' . 'SELECT 1 FROM s WHERE i < 0;');
is(query(q{SELECT bool_or(plan LIKE '%Gather%Seq Scan on big') FROM clock_plan_stats}), 't', 'a parallel plan');
is(query('SELECT count(*) FROM clock_node_stats WHERE abs(cpu_ms + wait_ms - self_ms) > 1e-3 OR self_ms IS NULL'), '0', 'CPU time and waits add up to the self time');
is(query('SELECT count(*) FROM clock_node_stats WHERE NOT cpu_margin_ms >= 0 OR NOT wait_margin_ms >= 0 OR NOT cpu_wait_ms >= 0'), '0', 'margins');
is(query('SELECT count(*) FROM (SELECT sum(share_percent) AS sum FROM clock_node_stats GROUP BY queryid, planid) AS p WHERE abs(sum - 100) > 0.1'), '0', 'shares of each plan add up to 100 %');
is( query(
		q{SELECT count(*) FROM clock_plan_stats p JOIN (SELECT planid, queryid, sum(cpu_ms) AS cpu_ms, sum(wait_ms) AS wait_ms, sum(cpu_wait_ms) AS cpu_wait_ms, sum(self_ms) AS self_ms,
			min(total_ms) FILTER (WHERE node = 0) AS total_ms FROM clock_node_stats GROUP BY queryid, planid) AS n USING (queryid, planid)
		WHERE abs(p.cpu_ms - n.cpu_ms) > 1e-3 OR abs(p.wait_ms - n.wait_ms) > 1e-3 OR abs(p.cpu_wait_ms - n.cpu_wait_ms) > 1e-3 OR abs(n.total_ms - n.self_ms) > 1e-3}),
	'0', 'times of plans are the sums of the times of nodes and outside of them');
is(query(q{SELECT node, depth, loops, calls, share_percent > 90, n.waits ~ 'PgSleep' FROM clock_node_stats n JOIN clock_plan_stats p USING (queryid, planid)
	WHERE plan LIKE 'Insert on r%' AND node_type = 'Query'}),
	'0||||t|t', 'triggers work outside of the nodes');

# Waits of extensions. The server assigns their numbers anew at each start.
my $has_fdw = -f $node->config_data('--sharedir') . '/extension/postgres_fdw.control';
if ($has_fdw)
{
	my ($host, $port) = ($node->host, $node->port);

	query(qq{
		CREATE EXTENSION postgres_fdw;
		CREATE SERVER own FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
		CREATE USER MAPPING FOR CURRENT_USER SERVER own;
		CREATE VIEW slow AS SELECT pg_sleep(0.2)::text AS x;
		CREATE FOREIGN TABLE foreign_slow (x text) SERVER own OPTIONS (table_name 'slow')});
	query("$on SELECT * FROM foreign_slow");
	like(query(q{SELECT waits FROM clock_node_stats WHERE relation = 'foreign_slow'}), qr/^Extension:\w+ \d+ %/, 'an event of an extension has a name');
}

# A restart
my $nodes = q{SELECT * FROM clock_node_stats WHERE relation IS DISTINCT FROM 'foreign_slow' AND waits !~ 'Extension' ORDER BY queryid, planid, node};
my $plans = q{SELECT queryid, planid, cpu_ms, wait_ms, waits, cpu_wait_ms FROM clock_plan_stats WHERE waits !~ 'Extension' ORDER BY queryid, planid};
my ($nodes_before, $plans_before) = (query($nodes), query($plans));
isnt($nodes_before, '', 'nodes wait');
$node->restart;
is(query($nodes), $nodes_before, 'waits of nodes survive a restart');
is(query($plans), $plans_before, 'waits of plans survive a restart');
if ($has_fdw)
{
	my $named = query(q{SELECT current_setting('server_version_num')::int < 170000}) eq 't' ? ':Extension' : '';

	like(query(q{SELECT waits FROM clock_node_stats WHERE relation = 'foreign_slow'}), qr/^Extension$named \d+ %/, 'of an event of an extension, the known part is shown');
	is(query(q{SELECT labels ->> 'wait_event_type' FROM clock_metrics WHERE name ~ 'node_wait' AND labels ->> 'node_type' = 'Foreign Scan'}), 'Extension', 'and its metric is there');
}

$node->stop;
done_testing();
