
# A parallel query is timed while no slot for a segment of dynamic shared memory is free. The query
# must be executed, but its workers cannot be observed.

use strict;
use warnings;

use Errno qw(ENOMEM ENOSPC);

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use ClockShim;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;

# The server has 64 slots, and 5 more for each possible backend. With few backends, a query can use
# all of them.
$node->append_conf(
	'postgresql.conf', q{
max_connections = 10
max_worker_processes = 4
max_wal_senders = 0
autovacuum = off
autovacuum_max_workers = 1
jit = off
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
enable_parallel_append = off
max_parallel_workers_per_gather = 2});
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE rows AS SELECT i FROM generate_series(1, 100000) AS i;
	ANALYZE rows;
	-- Called by the timed query: ends the session of take_slots(), so that slots become free.
	CREATE FUNCTION free_slots() RETURNS integer LANGUAGE plpgsql PARALLEL RESTRICTED AS $$
	BEGIN
		PERFORM pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = 'slots';
		RETURN 0;
	END;
	$$});

# A query that uses all slots: each Gather node holds a slot until the query ends.
my $gathers = join ' UNION ALL ',
  ('(SELECT count(*) FROM rows WHERE i < 0)') x 400;

sub take_slots
{
	my $session = ClockSession->new($node);

	$session->query(q{SET application_name = 'slots'});
	$session->query('SET max_parallel_workers = 0');
	$session->send("$gathers UNION ALL SELECT length(pg_sleep(1000)::text)");
	$node->poll_query_until('postgres',
		q{SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE application_name = 'slots'}
	) or die "the slots are not taken\n";
	return $session;
}

# Checks that the plan of the query is parallel.
my $query = 'SELECT count(*) FROM rows WHERE i %% 10 > %s';
my $slow = sprintf $query, '(SELECT free_slots())';
my $plan = qr/Gather.*Workers Planned: 2.*Seq Scan on rows/s;
like($node->safe_psql('postgres', "EXPLAIN $slow"), $plan, 'the plan is parallel');

foreach my $leader ('on', 'off')
{
	my $holder = take_slots();
	my $session = ClockSession->new($node);
	my $result;
	my @nodes;

	# Checks that no slot is free: a parallel query without clocktiming starts no workers.
	$session->query("SET parallel_leader_participation = $leader");
	$result = $session->query('EXPLAIN (ANALYZE, COSTS OFF) '
		  . sprintf $query, 0);
	like($result->{out}, qr/Workers Launched: 0/, 'no slot is free');

	$result = $session->query("SELECT * FROM clock_explain_text(\$\$$slow\$\$)");
	is($result->{state}, '00000', "leader participates $leader: the query is executed");
	like($result->{out}, qr/Workers Launched: 2/, 'the workers are launched');
	if ($leader eq 'on')
	{
		like($result->{out}, qr/Seq Scan on rows[^\n]*loops=3.*Clock: [^\n]*workers not timed/s,
			'the output says that workers are not timed');
	}
	else
	{
		like($result->{out}, qr/Seq Scan on rows[^\n]*loops=2.*Clock: not timed/s,
			'the output says that nodes of workers are not timed');
	}

	# Rows and loops are counted although workers cannot be timed.
	$holder = take_slots();
	$result = $session->query(
		"SELECT rows, loops, total_ms IS NULL FROM clock_explain(\$\$$slow\$\$) WHERE relation = 'rows'");
	is( $result->{out},
		$leader eq 'on' ? '90000|3|f' : '90000|2|t',
		'its rows and loops are counted');

	# When slots are free again, all processes are timed.
	unlike($session->query("SELECT * FROM clock_explain_text(\$\$$slow\$\$)")->{out},
		qr/not timed/, 'with a slot the workers are timed');
	$session->quit;
}

$node->stop;

# /dev/shm is full at the start of an execution that is sampled for clock_plan_stats.
SKIP:
{
	skip 'no full_shm.so', 9 unless -f "$ENV{CLOCKTIMING_SHIM_DIR}/full_shm.so";
	my $shim = ClockShim->new('full_shm', 1);

	$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'clocktiming'
clocktiming.track = on});
	$shim->start($node);
	$node->safe_psql('postgres', 'SELECT clock_stats_reset()');
	my $times = 0;
	foreach my $full (ENOSPC, ENOMEM, 0)
	{
		$times++;
		$shim->write(0, $full);
		my ($status, $out, $err) = $node->psql('postgres', sprintf "SET clocktiming.track_everything = on; $query", 0);
		is("$out$err", '90000', "a parallel query is executed, error: $full");
		is( $node->safe_psql('postgres', q{SELECT sum(executions) FROM clock_plan_stats WHERE plan LIKE '%Seq Scan on rows'}), $times, 'and is in the statistics');
		is( $node->safe_psql('postgres', q{SELECT loops FROM clock_node_stats WHERE relation = 'rows'}), 3 * $times, 'loops of all processes');
	}
	$node->stop;
}
done_testing();
