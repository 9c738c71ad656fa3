
# clock_survey() measures the step of a coarse clock. If a process misses ticks of the clock,
# because it does not get the CPU in time, the step must not appear longer than it is.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use ClockShim;

my $shim = ClockShim->new('tick_clock', 3);

# inject(pid, ns, n) makes CLOCK_MONOTONIC_COARSE of a process advance by ticks of ns nanoseconds
# (test/shim/tick_clock.c). Of the first n of each 32 ticks, the process misses every second one.
sub inject
{
	my (@words) = @_;

	$shim->write(0, @words);
	return;
}

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$shim->start($node);
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');

my $session = ClockSession->new($node);
plan skip_all => 'there is no coarse clock'
  unless $session->query(
	q{SELECT available FROM clock_sources WHERE source = 'monotonic_coarse'})->{out} eq 't';

sub observed
{
	my ($duration) = @_;
	my ($row, $said) = $session->row(
		"SELECT * FROM clock_survey('{monotonic_coarse}', duration => $duration)");

	is($said, '', 'no message');
	return $row;
}

foreach my $hz (250, 100, 1000)
{
	# If the process waits for the CPU, the step may be unknown (NULL), but must not be wrong. It
	# must be known in at least two of 20 attempts.
	foreach my $missing (0, 24)
	{
		my $what = "$hz Hz, $missing of 32 ticks at risk";
		my $known = 0;

		inject($session->pid, 1e9 / $hz, $missing);
		foreach my $i (1 .. 20)
		{
			my $row = observed(0.5);

			if ($row->{observed_hz} ne '')
			{
				is($row->{observed_hz}, $hz, $what);
				is($row->{observed_ns} * $hz, 1e9, "$what: a step");
				$known++;
			}
			else
			{
				is($row->{observed_ns}, '', "$what: not known");
			}
			last if $known >= 2;
		}
		cmp_ok($known, '>=', 2, "$what: found");
	}

	# If every second tick is missed, no single step is visible.
	inject($session->pid, 1e9 / $hz, 32);
	my $row = observed(0.2);
	is($row->{observed_hz}, '', "$hz Hz, every second tick missed: not known");
	is($row->{observed_ns}, '', "$hz Hz, every second tick missed: the step is not known");
	cmp_ok($row->{stalls}, '>', 0, "$hz Hz, every second tick missed: stalls are found");
}
inject(0, 0, 0);

$session->quit;
$node->stop;
done_testing();
