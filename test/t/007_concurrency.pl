
# Many sessions that measure at the same time, and parallel queries over samples.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

my $sessions = 8;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'max_parallel_workers = 8');
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE samples (session int, s clock_sample)});
my @sources = split /\n/,
  $node->safe_psql('postgres',
	'SELECT source FROM clock_sources WHERE available ORDER BY 1');

# If there are fewer CPUs than sessions, the sessions share them.
my @sessions = map { ClockSession->new($node) } 1 .. $sessions;
foreach my $source (@sources)
{
	my @results;

	for my $i (1 .. $sessions)
	{
		$sessions[ $i - 1 ]->send(
			"INSERT INTO samples SELECT $i, s FROM clock_measure('$source', 0.2) AS s"
		);
	}
	@results = map { $_->result } @sessions;
	is_deeply(
		[ map { "$_->{state} $_->{err}" } @results ],
		[ ('00000 ') x $sessions ],
		"$source: all $sessions sessions succeed without a warning");

	is( $node->safe_psql(
			'postgres', qq{
			SELECT count(*), sum(v.backward_steps), sum(v.warps), sum(v.lags),
				min(v.readings) > 0, min(v.duration_s) >= 0.2
				FROM samples, clock_summary(s) AS v WHERE v.source = '$source'}),
		"$sessions|0|0|0|t|t",
		"$source: no finding");
	is( $node->safe_psql(
			'postgres', qq{
			SELECT (clock_summary(m)).readings = (SELECT sum(v.readings) FROM samples, clock_summary(s) AS v WHERE v.source = '$source')
				FROM (SELECT clock_merge(s) AS m FROM samples, clock_summary(s) AS v WHERE v.source = '$source') AS x}
		),
		't',
		"$source: the samples of all sessions are merged");
}

$_->quit foreach @sessions;

# Functions with sample arguments return the same results in parallel workers as in the leader.
my $force = $node->safe_psql('postgres',
	q{SELECT name FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')}
);
my $session = ClockSession->new($node);
my $workers = qq{
	SET $force = on; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 4};
my $no_workers = qq{SET $force = off; SET max_parallel_workers_per_gather = 0};

foreach my $sql (
	q{SELECT session, (clock_summary(s)).* FROM samples ORDER BY s::jsonb ->> 'source', session},
	q{SELECT session, v.* FROM samples, clock_histogram(s) AS v ORDER BY s::jsonb ->> 'source', session, le_ns},
	q{SELECT session, v.* FROM samples, clock_histogram(s, 99) AS v ORDER BY s::jsonb ->> 'source', session, le_ns},
	q{SELECT s::jsonb ->> 'source', (clock_summary(clock_merge(s))).readings FROM samples GROUP BY 1 ORDER BY 1})
{
	my $serial;
	my $parallel;

	$session->query($no_workers);
	$serial = $session->query($sql);
	$session->query($workers);
	$parallel = $session->query($sql);
	is($serial->{state}, '00000', "serial: $sql");
	is($parallel->{state}, '00000', "parallel: $sql");
	is($parallel->{out}, $serial->{out}, "the same: $sql");
	like(
		$session->query("EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF) $sql")
		  ->{out},
		qr/Workers Launched: [1-9]/,
		"in a worker: $sql");
}

# Functions that measure are executed only by the leader of a parallel query.
{
	my $sql =
	  q{SELECT (clock_measure('system', 0.01)::jsonb -> 'readings')::bigint > 0 FROM samples};
	my $result = $session->query($sql);

	is($result->{state}, '00000', 'measuring in a query that could be parallel');
	is($result->{out}, join("\n", ('t') x ($sessions * @sources)),
		'a query that measures returns a row for each sample');
}

$session->quit;
is($node->safe_psql('postgres', 'SELECT 1'), 1, 'the server lives');
$node->stop;
unlike(slurp_file($node->logfile),
	qr/terminated by signal/, 'no process has been killed');

done_testing();
