
# clock_timeline() returns each row during its run, when an interval has ended. The runs of this
# test, also throttled ones, are cancelled, time out, or end before the caller has read all rows.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ClockSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');

my $session = ClockSession->new($node);
my $killer = ClockSession->new($node);

my @calls = (
	q{SELECT * FROM clock_timeline('system', 60, 1, 1)},
	q{SELECT * FROM clock_timeline('system', 60, 60, 0.001)},
	q{SELECT * FROM clock_timeline('system', 60, 0.001)},
	q{SELECT clock_timeline('system', 60, 60)},
	q{SELECT clock_timeline('system', 60, 1, 1000000)},
	q{SELECT clock_throttled('system', 60, 1)},
	q{SELECT clock_throttled('system', 86400, 0.001)},
	q{SELECT clock_throttled('system', 60, 200)},
	q{SELECT count(*) FROM clock_measure('system', 60, 1)});

foreach my $call (@calls)
{
	my $result = $session->query_with_timeout(200, $call);

	is($result->{state}, '57014', "statement_timeout of $call");
	cmp_ok($result->{seconds}, '>=', 0.2, "statement_timeout of $call: not too early");
	ClockSession::ended_in_time($result, "statement_timeout of $call", 0.2);

	$session->send($call);
	$session->wait_until_running('clock_', 0.1);
	$result = $session->interrupted($killer, 'pg_cancel_backend');
	is($result->{state}, '57014', "pg_cancel_backend of $call");
	ClockSession::ended_in_time($result, "pg_cancel_backend of $call");
	$session->can_measure($call);
}

foreach my $call (@calls[ 0, 3, 6 ])
{
	my $fresh = ClockSession->new($node);
	my $result;

	$fresh->send($call);
	$fresh->wait_until_running('clock_', 0.1);
	$result = $fresh->interrupted($killer, 'pg_terminate_backend');
	is($result->{state}, 'session ended', "pg_terminate_backend of $call");
	like($result->{err},
		qr/FATAL:  terminating connection due to administrator command/,
		"pg_terminate_backend of $call: message");
	ClockSession::ended_in_time($result, "pg_terminate_backend of $call");
	$fresh->quit;
}

# A cursor gets each row when its interval ends. The whole run would take a day.
$session->query('SET clocktiming.progress_interval = 0');
$session->query('BEGIN');
foreach my $rate ('NULL', 200)
{
	my $start;
	my $result;

	$session->query(
		"DECLARE c CURSOR FOR SELECT (t).elapsed_s, (t).readings > 0, (t).sampled_s FROM (SELECT clock_timeline('system', 86400, 0.2, $rate) AS t) AS s"
	);
	$start = time;
	foreach my $n (1 .. 3)
	{
		$result = $session->query('FETCH FROM c');
		like($result->{out}, qr/^@{[sprintf '%.3f', $n * 0.2]}\|/, "rate $rate: row $n");
		# A row is returned after its interval has ended, and long before the end of the run.
		cmp_ok(time - $start, '>=', $n * 0.2, "rate $rate: row $n is not early");
		cmp_ok(time - $start, '<', $n * 0.2 + 60, "rate $rate: row $n is returned at the end of its interval");
	}

	# The client fetches no row for a while. The intervals that pass meanwhile are not sampled: their
	# rows have no readings.
	usleep(500_000);
	$result = $session->query('FETCH 2 FROM c');
	is($result->{out}, "0.800|f|0.000000\n1.000|f|0.000000", "rate $rate: intervals that were missed");

	# When the client has fetched the missed rows, intervals are sampled again, the first of these
	# intervals only in part.
	foreach (1 .. 100)
	{
		$result = $session->query('FETCH FROM c');
		last if (split /\|/, $result->{out})[-1] > 0;
	}
	cmp_ok((split /\|/, $result->{out})[-1], '>', 0, "rate $rate: intervals are sampled again");
	is($session->query('CLOSE c')->{state}, '00000', "rate $rate: an early end");
	$session->can_measure("rate $rate: after an early end");
}

# With FETCH_COUNT, psql reads the rows by a cursor, too.
$session->query('COMMIT');
$session->query('\set FETCH_COUNT 1');
is($session->query(q{SELECT (clock_timeline('system', 0.3, 0.1)).elapsed_s})->{out},
	"0.100\n0.200\n0.300", 'FETCH_COUNT');
$session->query('\unset FETCH_COUNT');

# Runs that end before the caller has read all rows leave no memory allocated.
my $early = q{DO $$ BEGIN FOR i IN 1 .. 100 LOOP
	PERFORM clock_timeline('system', 60, 0.001, %s) LIMIT 2; END LOOP; END $$};
foreach my $rate ('NULL', 1000)
{
	my $before;

	$session->query(sprintf $early, $rate) foreach 1 .. 2;
	$before = $session->memory;
	is($session->query(sprintf $early, $rate)->{state}, '00000', "rate $rate: many early ends");
	cmp_ok($session->memory - $before, '<', 100_000, "rate $rate: memory after many early ends");
}

# The memory of a statement does not grow with the number of its rows.
{
	my $idle = $session->memory;
	my $most;

	$session->query('BEGIN');
	$session->query(
		q{DECLARE c CURSOR FOR SELECT clock_timeline('system', 86400, 0.001, 1000)});
	$session->query('MOVE 10 FROM c');
	$most = $session->memory;
	$session->query('MOVE 500 FROM c');
	cmp_ok($session->memory - $most, '<', 100_000, 'rows take no memory');
	$session->query('COMMIT');
}

# Reports of progress. If the caller receives all rows only at the end, the reports contain the
# figures of each interval. Throttled runs also report.
$session->query(q{SET clocktiming.progress_interval = '100ms'});
my $notice =
  qr/NOTICE:  progress: system: \d\.\d s elapsed, \d\.\d s remaining, (?:no readings|(?:\d+ readings, )?mean \d+\.\d\d ns, stddev \d+\.\d\d ns(?:, p50 \S+ ns, p99 \S+ ns, max \S+ ns, \d+ gaps, \S+ ms lost, 0 backward steps)?)\n/;
foreach my $call (
	q{clock_timeline('system', 0.5, 0.1)},
	q{clock_timeline('system', 0.5, 0.5)},
	q{clock_timeline('system', 0.5, 0.1, 200)},
	q{clock_throttled('system', 0.5, 200)},
	q{clock_throttled('system', 0.5, 1)})
{
	my $result = $session->query("SELECT count(*) FROM $call");

	# ignore the warning for an interval without readings
	$result->{err} =~ s/WARNING:  no reading of .*\nDETAIL:.*\nHINT:.*\n//;
	like($result->{err}, qr/^(?:$notice){1,6}\z/, "$call: reports");
}
like($session->query(q{SELECT count(*) FROM clock_timeline('system', 0.5, 0.1)})->{err},
	qr/ \d+ readings, mean .* backward steps\n/, 'a report at the end of an interval has the figures of the interval');
$session->query('SET clocktiming.progress_interval = 0');

# The server's clock changes while a cursor is open.
if ($node->pg_version >= 19
	&& $node->safe_psql('postgres',
		q{SELECT available FROM clock_sources WHERE source = 'rdtsc'}) eq 't')
{
	my $result;

	$session->query('BEGIN');
	$session->query('SET timing_clock_source = system');
	$session->query(q{DECLARE c CURSOR FOR SELECT clock_timeline('instr_time', 60, 0.1)});
	is($session->query('MOVE 1 FROM c')->{state}, '00000', 'instr_time reads the system clock');
	$session->query('SET timing_clock_source = tsc');
	$result = $session->query('MOVE 1 FROM c');
	is($result->{state}, '55000', 'the run cannot continue with another clock');
	like($result->{err}, qr/clock source "instr_time" was changed while it was measured/, 'message');
	$session->query('ROLLBACK');
}

$session->can_measure('in the end');
$_->quit foreach ($session, $killer);
$node->stop;
unlike(slurp_file($node->logfile),
	qr/terminated by signal/, 'no process has been killed');

done_testing();
