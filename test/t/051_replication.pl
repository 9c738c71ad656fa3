
# Logical replication of samples in a table without a key. The subscriber finds a changed row by
# comparing all columns, so it needs the operator = of clock_sample.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @nodes = map { PostgreSQL::Test::Cluster->new($_) } qw(publisher subscriber);
foreach my $node (@nodes)
{
	$node->init(allows_streaming => 'logical');
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming; CREATE TABLE runs (taken_at timestamptz DEFAULT now(), sample clock_sample); ALTER TABLE runs REPLICA IDENTITY FULL');
}
my ($publisher, $subscriber) = @nodes;
$publisher->safe_psql('postgres', q{CREATE PUBLICATION runs FOR TABLE runs; INSERT INTO runs (sample) SELECT clock_measure('system', 0.001) FROM generate_series(1, 4)});
foreach my $binary ('false', 'true')
{
	$subscriber->safe_psql('postgres', "TRUNCATE runs; CREATE SUBSCRIPTION s_$binary CONNECTION 'host=" . $publisher->host . ' port=' . $publisher->port . " dbname=postgres' PUBLICATION runs WITH (binary = $binary)");
	$subscriber->poll_query_until('postgres', 'SELECT count(*) = 4 FROM runs');
	$publisher->safe_psql('postgres', q{
		INSERT INTO runs (sample) SELECT clock_measure('system', 0.001);
		UPDATE runs SET taken_at = NULL WHERE sample = (SELECT min(sample::text)::clock_sample FROM runs);
		DELETE FROM runs WHERE sample = (SELECT max(sample::text)::clock_sample FROM runs)});
	my $expected = $publisher->safe_psql('postgres', 'SELECT taken_at, sample FROM runs ORDER BY sample');
	ok($subscriber->poll_query_until('postgres', 'SELECT taken_at, sample FROM runs ORDER BY sample', $expected), "a row is changed and another one deleted, binary $binary");
	$subscriber->safe_psql('postgres', "DROP SUBSCRIPTION s_$binary");
}
$_->stop foreach @nodes;
done_testing();
