
# Stops a backend for some seconds in the middle of a run. The run must report this time as time off
# the CPU, not as a fault of the clock.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

use ClockSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');
my %available = map { split /\|/ } split /\n/,
  $node->safe_psql('postgres', 'SELECT source, available FROM clock_sources');

# Executes all runs at the same time, which saves time. They hardly disturb each other, because they
# are stopped most of the time.
my @runs;
foreach my $source ('system', 'rdtsc')
{
  SKIP:
	{
		skip "$source is not available", 1 unless $available{$source} eq 't';

		my $session = ClockSession->new($node);

		# Switches off reports of progress, so that each message is a warning.
		$session->query('SET clocktiming.progress_interval = 0');

		# Calibrates the clock before the run, so that the backend is not stopped in the
		# calibration.
		$session->query("SELECT count(*) FROM clock_measure('$source', 0.01)");
		push @runs, { source => $source, session => $session };
	}
}

# Repeats a run with a longer duration if it ended before its backend was stopped.
my $duration = 2;
my $active;
for (;;)
{
	my $pids = join(', ', map { $_->{session}->pid } @runs);
	my $count = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid IN ($pids)";

	$_->{session}->query('DROP TABLE IF EXISTS run') foreach @runs;
	$_->{session}->send("CREATE TEMP TABLE run AS SELECT s FROM clock_measure('$_->{source}', $duration) AS s") foreach @runs;
	$node->poll_query_until('postgres', "SELECT ($count) = " . @runs) or die 'no runs';
	sleep 0.3;
	$_->{stopped} = kill('STOP', $_->{session}->pid) foreach @runs;
	sleep 1.2;
	$active = $node->safe_psql('postgres', $count);
	$_->{continued} = kill('CONT', $_->{session}->pid) foreach @runs;
	$_->{result} = $_->{session}->result foreach @runs;
	last if $active == @runs || ($duration *= 2) > 60;
}
is($_->{stopped}, 1, "$_->{source}: stopped") foreach @runs;
is($active, scalar(@runs), 'the backends are stopped during their runs');
is($_->{continued}, 1, "$_->{source}: continued") foreach @runs;

foreach my $run (@runs)
{
	my ($what, $session, $result) = @$run{qw(source session result)};
	my $row;

	is($result->{state}, '00000', "$what: the run ends well");
	is($result->{err}, '', "$what: no warning");

	$row = $session->row('SELECT (clock_summary(s)).* FROM run');
	cmp_ok($row->{gap_max_ns}, '>', 1.1e9, "$what: the pause is a gap");
	cmp_ok($row->{gap_max_ns}, '<', 60e9, "$what: the gap is not too long");
	# max_ns is the longest single duration. gap_max_ns is measured over a whole block of readings,
	# and may therefore include another interruption in this block.
	cmp_ok(abs($row->{max_ns} - $row->{gap_max_ns}),
		'<', 0.5e9, "$what: the gap is the longest duration");
	cmp_ok($row->{lost_ms}, '>', 1100, "$what: time lost");
	cmp_ok($row->{lost_ms}, '<=', $row->{duration_s} * 1000,
		"$what: no more time lost than the run took");
	cmp_ok($row->{duration_s}, '>=', $duration, "$what: duration");
	is($row->{$_}, 0, "$what: $_") foreach qw(backward_steps warps lags);

	is( $session->query(
			q{SELECT count(*) > 30, min(le_ns) >= 0, min(percent) >= 0,
				min(running_percent) >= 0, max(running_percent), min(count) >= 0,
				sum(count) = (SELECT (clock_summary(s)).readings FROM run)
				FROM run, clock_histogram(s)}
		)->{out},
		't|t|t|t|100.0000|t|t',
		"$what: histogram");
	is( $session->query(
			q{SELECT min(le_ns) >= 0, max(le_ns) > 1100000000, min(percent) >= 0,
				min(count) > 0, sum(count) = (SELECT (clock_summary(s)).readings FROM run)
				FROM run, clock_histogram(s, 100)}
		)->{out},
		't|t|t|t|t',
		"$what: durations");
	$session->quit;
}
$node->stop;

done_testing();
