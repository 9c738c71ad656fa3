
# The cost of timing is returned as two figures, undisturbed and typical. A library makes 7 of 10
# readings of the clock slower by 3 us.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use ClockShim;

my $slow_ns = 3000;
my $shim = ClockShim->new('slow_clock', 1);
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$shim->start($node);
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');

my $session = ClockSession->new($node);
$session->query('SET timing_clock_source = system') if $node->safe_psql('postgres', 'SHOW server_version_num') >= 190000;
$shim->write(0, $slow_ns);

sub row
{
	my ($statement) = @_;
	my ($row, $said) = $session->row($statement);

	# Removes the warning that the duration was used up: the process may have waited for the CPU.
	$said =~ s/^WARNING:  the duration was used up .*\n(?:(?:DETAIL|HINT): .*\n)*//;
	is($said, '', "$statement: no other message");
	return $row;
}

# Checks two figures of a function: the undisturbed one must be that of the fast readings, the
# typical one that of the slow readings. Makes several attempts, because a process that waits for
# the CPU may have too few readings of one kind.
sub both
{
	my ($statement, $undisturbed, $typical, $readings) = @_;
	my $limit = $readings * $slow_ns / 3;
	my $row;

	foreach (1 .. 5)
	{
		$row = row($statement);
		last if (!defined $undisturbed || $row->{$undisturbed} < $limit) && $row->{$typical} > $limit;
	}
	cmp_ok($row->{$undisturbed}, '<', $limit, "$statement: $undisturbed is of the fast clock") if defined $undisturbed;
	cmp_ok($row->{$typical}, '>', $limit, "$statement: $typical is of the slow clock");
	return $row;
}

both(q{SELECT * FROM clock_survey('{system}')}, 'cost_ns', 'typical_cost_ns', 1);
my $row = both('CALL clock_executor_overhead(100)', 'overhead_ns', 'typical_overhead_ns', 2);
cmp_ok($row->{reading_ns}, '<', $slow_ns / 3, 'clock_executor_overhead: reading_ns is of the fast clock');
both(q{SELECT * FROM clock_executor_overhead_runs(100) WHERE mode = 'timing on'}, 'overhead_ns', 'typical_overhead_ns', 2);
both(q{SELECT * FROM clock_query_overhead('SELECT count(*) FROM generate_series(1, 100)') WHERE mode = 'timing on'}, undef, 'overhead_ns_per_call', 2);
both(q{SELECT * FROM clock_impact(setting => NULL) WHERE setting = 'track_io_timing' LIMIT 1}, undef, 'reading_ns', 1);

$session->quit;
$node->stop;
done_testing();
