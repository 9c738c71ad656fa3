
# Cancel, timeout and termination of a run.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ClockSession;

# A loaded machine may let a process wait for long, but none of these would end
# by itself in so many seconds, nor needs so many of CPU time to end.  On a quiet
# one it should be 10 ms.
my $allowed = 30;
my $allowed_cpu = 1;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');
my $tsc = $node->safe_psql('postgres',
	q{SELECT available FROM clock_sources WHERE source = 'rdtsc'}) eq 't';

my $killer = ClockSession->new($node);
my $session = ClockSession->new($node);
my $latency = 0;

sub timely
{
	my ($what, $seconds, $cpu) = @_;

	cmp_ok($seconds, '<', $allowed, "$what in time");
	cmp_ok($cpu, '<', $allowed_cpu, "$what: and in little CPU time") if defined $cpu;
	$latency = $seconds if $seconds > $latency;
	diag sprintf('%s: after %.1f ms', $what, $seconds * 1000);
	return;
}

# Until that backend is in the course of its statement.
sub wait_until_running
{
	my ($pid, $what) = @_;

	$node->poll_query_until('postgres',
		"SELECT state = 'active' AND query LIKE '%$what%' FROM pg_stat_activity WHERE pid = $pid"
	) or die "$what does not run";
	usleep(100_000);
	return;
}

# The session goes on after an error, and can measure.
sub goes_on
{
	my ($what) = @_;
	my $result = $session->query(
		q{SELECT readings > 0, backward_steps FROM clock_summary('system', 0.05)}
	);

	is($result->{out}, 't|0', "$what: the session can measure again");
	return;
}

my @sources = ('system', 'instr_time', $tsc ? ('rdtsc', 'rdtscp') : ());
my @calls = (
	(map { "clock_measure('$_', 60)" } @sources),
	"clock_histogram('system', 60)",
	"clock_durations('system', 60, 99)",
	"clock_summary('system', 60)",
	# samples of seconds each
	"clock_compare('{system, getrusage}', 10, 1000000000)",
	'clock_report(60)');

foreach my $call (@calls)
{
	my $sql = "SELECT count(*) FROM $call";
	my $what = "statement_timeout of $call";
	my $result;
	my $cpu;

	$session->query(q{SET statement_timeout = '200ms'});
	$cpu = $session->cpu;
	$result = $session->query($sql);
	$cpu = $session->cpu - $cpu;
	is($result->{state}, '57014', $what);
	like($result->{err},
		qr/^ERROR:  canceling statement due to statement timeout/,
		"$what: message");
	cmp_ok($result->{seconds}, '>=', 0.2, "$what: not too early");
	timely($what, $result->{seconds} - 0.2, $cpu - 0.2);
	$session->query('RESET statement_timeout');
	goes_on($what);
}

foreach my $call (@calls)
{
	my $what = "pg_cancel_backend of $call";
	my $result;
	my $start;
	my $cpu;

	$session->send("SELECT count(*) FROM $call");
	wait_until_running($session->pid, substr($call, 0, index($call, '(')));
	$start = time;
	$cpu = $session->cpu;
	is($killer->query('SELECT pg_cancel_backend(' . $session->pid . ')')->{out},
		't', "$what: sent");
	$result = $session->result;
	is($result->{state}, '57014', $what);
	timely($what, time - $start, $session->cpu - $cpu);
	goes_on($what);
}

# Calibration of the TSC: the first thing in a new session that needs it, 50 ms
# long.
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
		$fresh->query(q{SET statement_timeout = '20ms'});
		my $result = $fresh->query("SELECT count(*) FROM $call");
		is($result->{state}, '57014', $what);
		timely($what, $result->{seconds} - 0.02);
		$fresh->query('RESET statement_timeout');

		# It was the calibration that was interrupted, and not what follows it:
		# it has still to be done, and takes at least 50 ms.
		$result = $fresh->query('SELECT count(*) > 0 FROM clock_sources');
		is($result->{out}, 't', "$what: the session can calibrate again");
		cmp_ok($result->{seconds}, '>=', 0.045, "$what: and has to");
		is( $fresh->query(
				q{SELECT backward_steps, warps, lags FROM clock_summary('rdtsc', 0.05)}
			)->{out},
			'0|0|0',
			"$what: and measure");
		$fresh->quit;
	}
}

foreach my $call (@calls)
{
	my $what = "pg_terminate_backend of $call";
	my $fresh = ClockSession->new($node);
	my $result;
	my $start;

	$fresh->send("SELECT count(*) FROM $call");
	wait_until_running($fresh->pid, substr($call, 0, index($call, '(')));
	$start = time;
	is( $killer->query('SELECT pg_terminate_backend(' . $fresh->pid . ')')
		  ->{out},
		't',
		"$what: sent");
	$result = $fresh->result;
	is($result->{state}, 'session ended', $what);
	like(
		$result->{err},
		qr/FATAL:  terminating connection due to administrator command/,
		"$what: message");
	timely($what, time - $start);
	$fresh->quit;
}

diag sprintf('the longest of all: %.1f ms', $latency * 1000);
goes_on('in the end');
$session->quit;
$killer->quit;
$node->stop;
unlike(slurp_file($node->logfile),
	qr/terminated by signal/, 'no process has been killed');

done_testing();
