
# Runs report their progress, and do not use more memory than expected.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use ClockSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');

my $session = ClockSession->new($node);
my $killer = ClockSession->new($node);
my @sources = split /\n/,
  $session->query(
	q{SELECT source FROM clock_sources WHERE available
		AND source IN ('system', 'rdtscp', 'rdtsc', 'instr_time', 'gettimeofday', 'realtime_coarse')})->{out};

# With a report every 100 ms, a run of half a second has at least two reports. The run is repeated
# if there are fewer, because other processes may use the CPU nearly all of that time.
foreach my $source (@sources)
{
	my $notice =
	  qr/NOTICE:  progress: $source: (\d+\.\d) s elapsed, (\d+\.\d) s remaining, mean (\d+\.\d\d) ns, stddev \d+\.\d\d ns\n/;
	my $result;
	my @elapsed;

	$session->query(q{SET clocktiming.progress_interval = '100ms'});
	for (1 .. 10)
	{
		$result =
		  $session->query("SELECT count(*) FROM clock_summary('$source', 0.5)");
		@elapsed = $result->{err} =~ /NOTICE:  progress: \w+: (\S+) s elapsed/g;
		last if @elapsed >= 2;
	}
	cmp_ok(scalar @elapsed, '>=', 2, "$source: reports");
	# The reported times are rounded to 0.1 s.
	cmp_ok(scalar @elapsed, '<=', ($elapsed[-1] + 0.05) / 0.1, "$source: at most one report per interval");
	is_deeply(
		\@elapsed,
		[ sort { $a <=> $b } @elapsed ],
		"$source: in order");
	while ($result->{err} =~ /$notice/g)
	{
		cmp_ok(abs($1 + $2 - 0.5), '<', 0.11,
			"$source: $1 s and $2 s add up to the duration")
		  if $1 <= 0.5;
		cmp_ok($3, '>', 0, "$source: mean");
	}
	like($result->{err}, qr/^(?:$notice)+\z/, "$source: no other messages");

	$session->query('SET clocktiming.progress_interval = 0');
	$result =
	  $session->query("SELECT count(*) FROM clock_summary('$source', 0.2)");
	is($result->{err}, '', "$source: no reports with progress_interval = 0");
	$session->query('RESET clocktiming.progress_interval');
	$result =
	  $session->query("SELECT count(*) FROM clock_summary('$source', 0.2)");
	is($result->{err}, '', "$source: no reports of a short run by default");
}

# clock_report() executes several runs, each with its own reports. The call is repeated if reports
# are missing, because a process that waits for the CPU may miss all reports of a run.
$session->query(q{SET clocktiming.progress_interval = '100ms'});
my @reported = grep { /^(?:system|rdtscp?)\z/ } @sources;
my $reports = '';
for (1 .. 10)
{
	$reports .= $session->query('SELECT count(*) FROM clock_report(0.5)')->{err};
	last unless grep { $reports !~ /progress: $_: / } @reported;
}
like($reports, qr/NOTICE:  progress: $_: /, "clock_report: $_") foreach @reported;
$session->query('SET clocktiming.progress_interval = 0');

# Memory of the session between statements, and during a statement
my $megabyte = 1024 * 1024;

# Number of runs per source (a run takes 20 ms), and number of bytes that may remain allocated after
# these runs (half a kilobyte per run).
my $per_source = 25;
my $allowed = 512 * $per_source;
foreach my $source (@sources)
{
	my $calls = qq{
		SELECT sum((clock_summary(clock_measure('$source', 0.0001))).readings) > 0,
			sum((SELECT count(*) FROM clock_histogram('$source', 0.0001) WHERE i > 0)) > 0
			FROM generate_series(1, %d) AS i};
	my $before;
	my $grown;

	# The first runs fill caches.
	$session->query(sprintf $calls, 3) foreach 1 .. 3;
	$before = $session->memory;
	is($session->query(sprintf $calls, $per_source)->{state},
		'00000', "$source: many runs in a statement");
	$grown = $session->memory - $before;
	cmp_ok($grown, '<', $allowed, "$source: memory after many runs in a statement");

	# Executes each run in a statement of its own. Before that, runs in a DO statement fill the
	# caches.
	$session->query("DO \$\$ BEGIN FOR i IN 1 .. 3 LOOP
		PERFORM clock_measure('$source', 0.0001); END LOOP; END \$\$");
	$before = $session->memory;
	$session->query(
		join ';',
		("SELECT count(*) FROM clock_measure('$source', 0.0001)")
		  x $per_source);
	$grown = $session->memory - $before;
	cmp_ok($grown, '<', $allowed, "$source: memory after many statements");
}

# Returns the total size of the backend's memory contexts in bytes. Reads the size from the log, to
# which the backend writes it on request, even in the middle of a statement.
sub logged_total
{
	my $pid = $session->pid;
	my $offset = -s $node->logfile;
	my $log;

	$node->safe_psql('postgres', "SELECT pg_log_backend_memory_contexts($pid)");
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$log = substr slurp_file($node->logfile), $offset;
		return $1 if $log =~ /Grand total: (\d+) bytes/;
		usleep(100_000);
	}
	die 'no memory contexts in the log';
}

# Starts a statement that does not end before it is cancelled. Returns the increase of the backend's
# memory, in bytes, after $seconds.
sub grown_while
{
	my ($sql, $seconds) = @_;
	my $idle = logged_total();
	my $running;

	$session->send($sql);
	$session->wait_until_running('clock_measure', $seconds);
	$running = logged_total();
	is($session->interrupted($killer, 'pg_cancel_backend')->{state}, '57014', "it was still running: $sql");
	return $running - $idle;
}

{
	my $grown = grown_while(q{SELECT count(*) FROM clock_measure('system', 600)}, 0.1);

	cmp_ok($grown, '<', 2 * $megabyte, 'memory during a run');
	cmp_ok($grown, '>', 100_000, 'memory during a run includes its counts of durations');
	diag sprintf 'memory during a run: %.0f kB', $grown / 1024;
}

{
	my $grown = grown_while(
		q{SELECT count((clock_summary(clock_measure('system', 0.0005))).readings) FROM generate_series(1, 1000) AS i, generate_series(1, 1000) AS j}, 1);

	cmp_ok($grown, '<', 2 * $megabyte,
		'memory after many runs of a statement that is still running');
	diag sprintf 'memory in a statement of many runs: %.0f kB', $grown / 1024;
}

$_->quit foreach ($session, $killer);
$node->stop;

done_testing();
