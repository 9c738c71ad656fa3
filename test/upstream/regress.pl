
# Runs PostgreSQL's own regression tests, unchanged, on a server with clocktiming. The environment
# variable WAYS selects configurations:
#   off       clocktiming is preloaded, and all settings have their defaults
#   track     every execution is timed for the statistics of plans
#   counting  clocktiming also counts rows for EXPLAIN (ANALYZE, TIMING OFF)
#   live      clock_running shows every execution from its start
#   late      clock_running shows every execution, but only from a moment after its start
#   plain     clocktiming is not loaded, for comparison

use strict;
use warnings;

use File::Basename;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use PgRegress;

my %settings = (
	plain => {},
	off => { shared_preload_libraries => 'clocktiming' },
	track => {
		shared_preload_libraries => 'clocktiming',
		compute_query_id => 'regress',
		'clocktiming.track' => 'on',
		'clocktiming.track_everything' => 'on',
		'clocktiming.max_overhead' => 100,
	},
	live => { shared_preload_libraries => 'clocktiming', 'clocktiming.live' => 'on', 'clocktiming.live_after' => 0, 'clocktiming.live_interval' => '1ms' },
	late => {
		shared_preload_libraries => 'clocktiming',
		'clocktiming.live' => 'on',
		'clocktiming.live_late_only' => 'on',
		'clocktiming.live_after' => '1ms',
		'clocktiming.live_interval' => '1ms',
	},
	counting => { shared_preload_libraries => 'clocktiming', 'clocktiming.sampled_counting' => 'on' });

my $regress = dirname($ENV{PG_REGRESS});
my $schedule = "$regress/parallel_schedule";
plan skip_all => "PostgreSQL's own tests are not in $regress; run this test by tools/in-tree assert" if !-f $schedule;
my @scripts = map { split } slurp_file($schedule) =~ /^test:(.*)/mg;

foreach my $way (split ' ', $ENV{WAYS} || 'off track counting live late')
{
	my $settings = $settings{$way} or die "WAYS contains the unknown configuration $way\n";
	my $node = PostgreSQL::Test::Cluster->new("upstream_$way");
	my $output = "$PostgreSQL::Test::Utils::tmp_check/$way";

	# These settings are those of the server that pg_regress itself would start.
	$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
	$node->append_conf('postgresql.conf', "max_prepared_transactions = 2\nlog_statement = none\nwal_level = replica\n");
	$node->append_conf('postgresql.conf', join '', map { "$_ = $settings->{$_}\n" } sort keys %$settings);
	$node->start;
	# Checks the settings, because the server ignores an unknown setting with a warning.
	is(($node->psql('postgres', "SHOW $_"))[1], $settings->{$_}, "$way: $_ is in force") foreach sort keys %$settings;

	# pg_regress writes its results to this directory.
	mkdir $output;
	PgRegress::scripts_pass("$way: ", "$output/regression.diffs", \@scripts, $ENV{PG_REGRESS}, "--inputdir=$regress", "--outputdir=$output",
		"--dlpath=$regress", '--bindir=', '--host=' . $node->host, '--port=' . $node->port, '--max-concurrent-tests=20',
		"--schedule=$schedule");

	if ($way eq 'track')
	{
		my (undef, $nodes) = $node->psql('regression', q{
			CREATE SCHEMA clocktiming_upstream;
			CREATE EXTENSION clocktiming SCHEMA clocktiming_upstream;
			SELECT count(*) FROM clocktiming_upstream.clock_node_stats;});
		like($nodes, qr/^[1-9]/, "$way: there are statistics of nodes");
	}
	ok($node->stop('fast', fail_ok => 1), "$way: the server stops");
	my @crashes = slurp_file($node->logfile) =~ /.*(?:PANIC:|TRAP:|was terminated by signal).*/g;
	is("@crashes", '', "$way: the server has not crashed");
}
done_testing();
