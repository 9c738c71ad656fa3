
# The metric pg_clock_advice of the check gaps on idle and on busy machines, whose load average a
# library of test/shim replaces.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockShim;

my $shim = ClockShim->new('load_average');
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'clocktiming'\nclocktiming.watch = on\nclocktiming.watch_interval = 300ms");

foreach my $case ([ 100000, 'notice' ], [ 0.1, '(ok|notice)' ])
{
	my ($load, $severity) = @$case;

	$shim->start($node, LOAD_AVERAGE => $load);
	$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS clocktiming');
	$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM clock_metrics WHERE name = 'pg_clock_advice'}) or die 'no metrics';
	# an idle load can still be a notice, on a machine that loses the CPU during observations
	like($node->safe_psql('postgres', q{SELECT labels ->> 'severity' FROM clock_metrics WHERE name = 'pg_clock_advice' AND labels ->> 'check' = 'gaps' AND value = 1}),
		qr/^$severity$/, "load average $load");
	$node->stop;
}
done_testing();
