
# On a busy server, the time in which a query waits for a CPU must not count as time of its nodes.
# Without a free background worker, the process looks at itself.

use strict;
use warnings;

use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockShim;

my $busy_cpu = ClockShim->new('busy_cpu');
my $node = PostgreSQL::Test::Cluster->new('main');
my $query = 'SELECT count(*) FROM a CROSS JOIN b';

$node->init;
$node->append_conf('postgresql.conf', "jit = off\nmax_parallel_workers_per_gather = 0\nautovacuum = off\n");
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE a AS SELECT generate_series(1, 300) AS i;
	CREATE TABLE b AS SELECT generate_series(1, 2000) AS i;
	VACUUM ANALYZE;
});
$node->stop;

sub explained
{
	my ($function, @arguments) = @_;
	return $node->safe_psql('postgres', "SELECT * FROM $function(" . join(', ', "'$query'", @arguments) . ')');
}

# test/shim/busy_cpu.c divides the CPU time that the process sees, so that other processes seem to
# use the CPU four fifths of the time.
$busy_cpu->start($node);
my $text = explained('clock_explain_text');
my $json = decode_json(explained('clock_explain_json'))->[0];

like($text, qr/^Time: sampling, \d+ samples[^\n]* of the sampler\nWaiting for a CPU: \d+\.\d{3} ms, in no node's time(: the container's limit)?$/m, 'text: a line for the time waiting for a CPU')
  or diag $text;
cmp_ok($json->{Clock}{'CPU Wait Time'} / $json->{'Execution Time'}, '>=', 0.75, 'JSON: most of the run is waiting');
# Returning rows takes a Sort much of its time.
my $sort = decode_json($node->safe_psql('postgres', q{SELECT * FROM clock_explain_json('SELECT a.i FROM a CROSS JOIN b ORDER BY 1')}))->[0]{Plan};
is($sort->{'Node Type'}, 'Sort', 'a Sort');
cmp_ok($sort->{'Actual Startup Time'}, '<', 0.999 * $sort->{'Actual Total Time'}, 'its startup time has no time waiting for a CPU, like its total time');
like($node->safe_psql('postgres', "SELECT note FROM clock_explain('$query') WHERE node = 0"),
	qr/^\d+\.\d ms,\n  waited \d+\.\d ms for a CPU(:\n  the container's limit|,\n  which other processes used)$/, 'rows: the note states it, too');
is($node->safe_psql('postgres', "SELECT abs(sum(self_ms) + sum(cpu_wait_ms) - max(run_ms)) < 0.01, abs(sum(share_percent) - 100) < 0.01 FROM clock_explain('$query')"),
	't|t', 'rows: all times add up to the run, and shares to 100 %');
like(explained('clock_explain_text', "method => 'full'"), qr/^Time: full$/m, 'full: there is a summary');
$node->stop;

# Without a background worker, the process looks at itself every 10 ms.
$node->append_conf('postgresql.conf', 'max_worker_processes = 0');
$node->start;
my $rows = $node->safe_psql('postgres', q{
	SELECT bool_and(self_ms >= 0), abs(sum(self_ms) + sum(cpu_wait_ms) - max(run_ms)) < 0.01, max(samples) BETWEEN 10 AND 200,
		sum(share_percent) FILTER (WHERE relation IS NULL AND line ~ 'pg_sleep') BETWEEN 50 AND 80, string_agg(waits, '') ~ 'PgSleep'
	FROM clock_explain('SELECT count(pg_sleep(0.3 + i)) FROM generate_series(0, 0) AS i, pg_sleep(0.6)')});
is($rows, 't|t|t|t|t', 'by a timer: times add up, and the node that sleeps has most of them')
  or diag $node->safe_psql('postgres', q{SELECT line, self_ms, waits, samples FROM clock_explain('SELECT count(pg_sleep(0.3 + i)) FROM generate_series(0, 0) AS i, pg_sleep(0.6)')});
like(explained('clock_explain_text'), qr/^Time: sampling, \d+ samples by a timer, without a sampler/m, 'by a timer: the summary says so');
$node->stop;

done_testing();
