
# The extension on a standby: functions that measure work, and errors of what needs the primary
# server have hints. 031_portable_calls.pl tests the portable edition on a standby.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use PortableEdition;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1);
$node->start;
my $owner = ClockSession->new($node);
$owner->query('CREATE EXTENSION clocktiming');
$owner->query('CREATE SEQUENCE s; CREATE TABLE t (i integer)');
$owner->query('CREATE SCHEMA portable; SET search_path = portable');
PortableEdition::install($owner);
$owner->quit;
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
my $session = ClockSession->new($standby);

is($session->query($_)->{state}, '00000', $_)
  foreach q{SELECT clock_measure('system', 0.1)}, q{SELECT * FROM clock_explain('SELECT 1')}, 'SELECT * FROM clock_impact()',
  q{SELECT * FROM clock_query_overhead('SELECT 1', 0.1)}, 'CALL clock_executor_overhead(duration => 0.1)';
foreach my $schema (qw(public portable))
{
	foreach my $arguments (q{'SELECT nextval($$s$$)'}, q{'SELECT nextval($$s$$)', allow_writes => true}, q{'INSERT INTO t VALUES (1)', allow_writes => true})
	{
		my $refused = $session->query("SELECT * FROM $schema.clock_explain($arguments)");

		is($refused->{state}, '25006', "$schema: $arguments is refused");
		like($refused->{err}, qr/HINT:  This server is a standby\./, '... with a hint');
	}
}
my $table = $session->query(q{CALL clock_executor_overhead(workload => 'table')});
is($table->{state}, '25006', 'workload table is refused');
like($table->{err}, qr/HINT:  .*generate_series/, '... with a hint');
$session->quit;
$_->stop foreach $standby, $node;
done_testing();
