
# Extensions that instrument executions chosen at random: auto_explain with a sample rate, and
# pg_qualstats, which chooses statements of the client. The functions that execute a query must
# work nevertheless, and their executions must not be instrumented.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use PortableEdition;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
my %available = map { $_ => -f $node->config_data('--pkglibdir') . "/$_.so" } qw(auto_explain pg_qualstats);
$node->append_conf('postgresql.conf', "jit = off\nautovacuum = off");
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_qualstats'") if $available{pg_qualstats};
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE a AS SELECT i, i % 100 AS k FROM generate_series(1, 1000) AS i;
	ANALYZE;
});
my $session = ClockSession->new($node);
my @measuring = (
	'CALL clock_executor_overhead(100, duration => 0.2)',
	'SELECT * FROM clock_executor_overhead_runs(100, duration => 0.2)',
	q{SELECT * FROM clock_query_overhead('SELECT * FROM a WHERE k < 25', 0.2)},
	q{SELECT * FROM clock_explain('SELECT * FROM a WHERE k < 25')},
	q{SELECT * FROM clock_explain('SELECT * FROM a WHERE k < 25', method => 'full')},
	q{SELECT * FROM clock_explain('SELECT * FROM a WHERE k < 25', runs => 5)});

SKIP:
{
	skip 'there is no auto_explain', 1 if !$available{auto_explain};
	$session->query("LOAD 'auto_explain'; SET auto_explain.log_min_duration = '1d'; SET auto_explain.log_analyze = on");
	# chooses every second execution within CALL, because its statements are not nested
	$session->query('SET auto_explain.sample_rate = 0.5');
	is($session->query($measuring[0])->{state}, '00000', 'auto_explain.sample_rate: executions are repeated');
	$session->query('SET auto_explain.sample_rate = 1');
	my $refused = $session->query($measuring[0]);
	is($refused->{state}, '55000', 'auto_explain, all executions: an error');
	like($refused->{err}, qr/HINT: .*SET auto_explain\.log_analyze = off/, '... whose hint names the setting');
	$session->query('SET auto_explain.log_analyze = off');
}

SKIP:
{
	skip 'there is no pg_qualstats', 1 if !$available{pg_qualstats};
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_qualstats');
	$session->query('CREATE SCHEMA portable; SET search_path = portable');
	PortableEdition::install($session);
	$session->query('RESET search_path');
	$session->query('SET pg_qualstats.sample_rate = 1');
	my $counted = q{SELECT count(*) FROM pg_qualstats WHERE lrelid = 'a'::regclass};
	my $enabled = 'SHOW pg_qualstats.enabled';

	for my $edition ('', 'portable')
	{
		for my $statement (@measuring)
		{
			my $called = $edition ? $statement =~ s/clock_/portable.clock_/r : $statement;

			next if $edition && $statement =~ /method|_runs/;
			is($session->query($called)->{state}, '00000', "pg_qualstats: $called");
			is($session->query($enabled)->{out}, 'on', '... leaves it on');
		}
		is($session->query($counted)->{out}, '0', '... counted no execution');
	}
	$session->query('SELECT count(*) FROM a WHERE k < 25');
	isnt($session->query($counted)->{out}, '0', 'pg_qualstats counts other statements');
}
$session->quit;
$node->stop;
done_testing();
