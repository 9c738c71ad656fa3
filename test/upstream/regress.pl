
# Runs PostgreSQL's own regression and isolation tests, unchanged, on a server with clocktiming. The
# environment variable PARTS selects "regression" or "isolation", and WAYS selects configurations:
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
my $isolation = "$regress/../isolation";
my %parts = map { $_ => 1 } split ' ', $ENV{PARTS} || 'regression isolation';
# The isolation tests take more than a minute, so by default they run only with the two features that act on all executions.
my %isolated = map { $_ => 1 } split ' ', $ENV{WAYS} || 'track live';

# Runs the scripts of a schedule. From PostgreSQL 16 on, pg_regress reads expected files also from
# the current directory, where those of clocktiming are.
sub schedule_passes
{
	my ($node, $prefix, $directory, $program, $schedule, $output, @arguments) = @_;
	my @scripts = map { split } slurp_file($schedule) =~ /^test:(.*)/mg;

	mkdir $output;
	push @arguments, "--expecteddir=$directory" if `$program --help` =~ /--expecteddir/;
	PgRegress::scripts_pass($prefix, "$output/regression.diffs", \@scripts, $program,
		"--inputdir=$directory", "--outputdir=$output", '--bindir=', '--host=' . $node->host, '--port=' . $node->port, "--schedule=$schedule", @arguments);
	return;
}

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

	schedule_passes($node, "$way: ", $regress, $ENV{PG_REGRESS}, $schedule, $output, "--dlpath=$regress", '--max-concurrent-tests=20') if $parts{regression};
	if ($parts{isolation} && $isolated{$way})
	{
	  SKIP:
		{
			skip "PostgreSQL's isolation tests are not in $isolation", 1 if !-f "$isolation/isolation_schedule";
			schedule_passes($node, "$way, isolation: ", $isolation, "$isolation/pg_isolation_regress", "$isolation/isolation_schedule", "${output}_isolation");
		}
	}

	if ($way eq 'track' && $parts{regression})
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
