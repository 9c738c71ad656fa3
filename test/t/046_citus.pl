
# clocktiming in a cluster of Citus. A query on the coordinator returns the verdict of each node,
# and the aggregate clock_merge() is executed partly on the shards.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
if ($node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'citus'}) eq '0')
{
	$node->stop;
	diag('SKIPPED: Citus is not installed, so nothing is known of clocktiming on its nodes');
	plan(skip_all => 'Citus is not installed');
}

# A worker, and a coordinator that also has shards
my $worker = PostgreSQL::Test::Cluster->new('worker');
$worker->init;
$worker->start;
foreach my $n ($node, $worker)
{
	$n->append_conf(
		'postgresql.conf', q{
shared_preload_libraries = 'citus, clocktiming'
clocktiming.watch = on
clocktiming.watch_interval = 200ms
listen_addresses = '127.0.0.1'
wal_level = logical
});
	$n->restart;
	$n->safe_psql('postgres', 'CREATE EXTENSION citus; CREATE EXTENSION clocktiming');
}
sub query { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }
query(q{SELECT citus_set_coordinator_host('127.0.0.1', } . $node->port . q{); SELECT citus_add_node('127.0.0.1', } . $worker->port . q{); SELECT citus_set_node_property('127.0.0.1', } . $node->port . q{, 'shouldhaveshards', true)});
ok($_->poll_query_until('postgres', 'SELECT count(*) > 0 FROM clock_history WHERE warm_ns > 0'), 'the clock is watched') foreach $node, $worker;

is(query(q{SELECT count(*) || ' ' || bool_and(success) || ' ' || bool_and(result::jsonb ? 'verdict') FROM run_command_on_all_nodes($$SELECT to_jsonb(t) FROM clock_trust(now() - interval '1 hour') t$$)}), '2 true true', 'the verdict of a node is one value');
is(query(q{SELECT bool_and(success) || ' ' || bool_and((result::jsonb ->> 'readings')::bigint > 0) FROM run_command_on_all_nodes($$SELECT clock_measure('system', 0.01)$$)}), 'true true', 'a run of clock_measure() is one value');

query(q{CREATE TABLE samples (id integer, sample clock_sample); SELECT create_distributed_table('samples', 'id', shard_count => 4)});
query(q{INSERT INTO samples SELECT i, s FROM clock_measure('system', 0.01) AS s, generate_series(1, 40) AS i});
is(query("SELECT (clock_merge(sample)::jsonb ->> 'readings')::bigint FROM samples"), query("SELECT sum((sample::jsonb ->> 'readings')::bigint) FROM samples"), 'samples on shards are merged, all of them');

like(query("SET citus.explain_all_tasks = off; EXPLAIN (VERBOSE, COSTS OFF) SELECT clock_merge(sample) FROM samples"), qr/Query: SELECT [^\n]*worker_partial_agg\([^\n]*clock_merge/, 'the shards execute a part of clock_merge()');
$_->stop foreach $node, $worker;

done_testing();
