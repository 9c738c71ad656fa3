
# Runs that are cancelled or time out, or whose backend is terminated.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');
my $tsc = $node->safe_psql('postgres',
	q{SELECT available FROM clock_sources WHERE source = 'rdtsc'}) eq 't';

my $killer = ClockSession->new($node);
my $session = ClockSession->new($node);

my @sources = ('system', 'instr_time', $tsc ? ('rdtsc', 'rdtscp') : ());
my @calls = (
	(map { "clock_measure('$_', 60)" } @sources),
	"clock_histogram('system', 60)",
	"clock_histogram('system', 60, 99)",
	"clock_summary('system', 60)",
	"clock_compare('{system, getrusage}', 60)",
	'clock_report(60)');

foreach my $call (@calls)
{
	my $sql = "SELECT count(*) FROM $call";
	my $what = "statement_timeout of $call";
	my $result = $session->query_with_timeout(200, $sql);

	is($result->{state}, '57014', $what);
	like($result->{err},
		qr/^ERROR:  canceling statement due to statement timeout/,
		"$what: message");
	cmp_ok($result->{seconds}, '>=', 0.2, "$what: not too early");
	ClockSession::ended_in_time($result, $what, 0.2);
	$session->can_measure($what);
}

foreach my $call (@calls)
{
	my $what = "pg_cancel_backend of $call";
	my $result;

	$session->send("SELECT count(*) FROM $call");
	$session->wait_until_running(substr($call, 0, index($call, '(')), 0.1);
	$result = $session->interrupted($killer, 'pg_cancel_backend');
	is($result->{state}, '57014', $what);
	ClockSession::ended_in_time($result, $what);
	$session->can_measure($what);
}

# Interrupts the calibration of the TSC. A session calibrates the TSC when it first needs it. The
# calibration takes 50 ms.
SKIP:
{
	skip 'no time-stamp counter here', 1 unless $tsc;

	foreach my $call (
		q{clock_sources},
		q{clock_platform},
		q{clock_measure('rdtsc', 60)})
	{
		my $fresh = ClockSession->new($node);
		my $what = "statement_timeout while calibrating for $call";
		my $result = $fresh->query_with_timeout(20, "SELECT count(*) FROM $call");
		is($result->{state}, '57014', $what);
		ClockSession::ended_in_time($result, $what, 0.02);

		# Checks that the timeout interrupted the calibration, not a later step: the next statement
		# must calibrate again, and therefore takes about 50 ms.
		$result = $fresh->query('SELECT count(*) > 0 FROM clock_sources');
		is($result->{out}, 't', "$what: the session can calibrate again");
		cmp_ok($result->{seconds}, '>=', 0.045, "$what: the session must calibrate again");
		is( $fresh->query(
				q{SELECT backward_steps, warps, lags FROM clock_summary('rdtsc', 0.05)}
			)->{out},
			'0|0|0',
			"$what: the session can measure with the TSC");
		$fresh->quit;
	}
}

foreach my $call (@calls)
{
	my $what = "pg_terminate_backend of $call";
	my $fresh = ClockSession->new($node);
	my $result;

	$fresh->send("SELECT count(*) FROM $call");
	$fresh->wait_until_running(substr($call, 0, index($call, '(')), 0.1);
	$result = $fresh->interrupted($killer, 'pg_terminate_backend');
	is($result->{state}, 'session ended', $what);
	like(
		$result->{err},
		qr/FATAL:  terminating connection due to administrator command/,
		"$what: message");
	ClockSession::ended_in_time($result, $what);
	$fresh->quit;
}

$session->can_measure('in the end');
$session->quit;
$killer->quit;
$node->stop;
unlike(slurp_file($node->logfile),
	qr/terminated by signal/, 'no process has been killed');

done_testing();
