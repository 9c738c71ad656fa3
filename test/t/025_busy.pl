
# On a busy server, clock_explain() must report that other processes used the CPU. Times that cannot
# be measured must have wide margins.

use strict;
use warnings;

use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockShim;

my ($busy_cpu, $no_tsc) = map { ClockShim->new($_) } 'busy_cpu', 'no_tsc';
my $slow_usage = ClockShim->new('slow_usage', 2);

my $node = PostgreSQL::Test::Cluster->new('main');
my $query = 'SELECT count(*) FROM a CROSS JOIN b';

$node->init;
$node->append_conf('postgresql.conf', "jit = off\nmax_parallel_workers_per_gather = 0\nmax_worker_processes = 512\nmax_parallel_workers = 512\nautovacuum = off\n");
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE a AS SELECT generate_series(1, 300) AS i;
	CREATE TABLE b AS SELECT generate_series(1, 1000) AS i;
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
my $json = decode_json(explained('clock_explain_json'))->[0]{Clock};

like($text, qr/^Time: .*, \d+\.\d{3} ms waiting for a CPU$/m, 'text: the time waiting for a CPU');
my $disturbed = qr/(\d+\.?\d*) ms:\s+(\d+\.?\d*) ms executing,\s+(\d+\.?\d*) ms waiting: CPUs used by other processes/;
like($text, qr/^Clock Disturbed: $disturbed; shares exclude waits$/m, 'text: the parts of the run, and a statement on shares') or diag $text;
my ($run_ms, $own_ms, $waited_ms) = $text =~ /^Clock Disturbed: $disturbed/m;
cmp_ok($waited_ms / $run_ms, '>=', 0.75, 'text: most of the run is waiting') or diag $text;
cmp_ok(abs($own_ms + $waited_ms - $run_ms), '<', 0.01, 'text: the parts add up') or diag $text;
like($node->safe_psql('postgres', "SELECT note FROM clock_explain('$query') WHERE node = 0"),
	qr/^\d+\.?\d* ms:\n  \d+\.?\d* ms executing,\n  \d+\.?\d* ms timing,\n  \d+\.?\d* ms waiting: CPUs used by other processes$/, 'rows: the same parts, one per line');
# a parallel plan with more processes than CPUs
chomp(my $cpus = `nproc`);
my $start = qq{
	ALTER TABLE a SET (parallel_workers = $cpus);
	SET max_parallel_workers_per_gather = $cpus;
	SET min_parallel_table_scan_size = 0;
	SET parallel_setup_cost = 0;
	SET parallel_tuple_cost = 0;
	SELECT max(note) FILTER (WHERE node = 0), sum(self_ms) FROM clock_explain('SELECT count(*) FROM a, generate_series(1, 20000)')};
my $end = '; ALTER TABLE a RESET (parallel_workers)';
my $parallel = $node->safe_psql('postgres', $start . $end);
my ($processes, $workers) = ($cpus + 1, $cpus - 1);
my @parts = $parallel =~ /^([\d.]+) ms:\n  ([\d.]+) ms executing \((?:leader|mean of $processes processes)\),\n  ([\d.]+) ms timing,\n  about ([\d.]+) ms waiting: $processes processes on $cpus CPUs,\n  about ([\d.]+) ms waiting: CPUs used by other processes(?:,\n  ([\d.]+) ms waiting for workers)?(?:;\n  self times add up to ([\d.]+) ms \(mean of processes\))?\|([\d.]+)$/;
is(scalar @parts, 8, 'rows: more processes than CPUs') or diag $parallel;
my ($stated_ms, $self_ms) = splice(@parts, 6, 2);
cmp_ok($self_ms / ($stated_ms // $parts[1]), '>=', 0.95, 'rows: the note states the sum of self_ms') or diag $parallel;
cmp_ok($self_ms / ($stated_ms // $parts[1]), '<=', 1.01, 'rows: the note states no less than the sum of self_ms') or diag $parallel;
cmp_ok(abs($parts[1] + $parts[2] + $parts[3] + $parts[4] + ($parts[5] // 0) - $parts[0]), '<', 0.01, 'rows: the parts of a parallel plan add up') or diag $parallel;
cmp_ok(abs($parts[3] - ($parts[1] + $parts[2]) / $cpus), '<=', 0.15, 'rows: with one process more than CPUs, the leader waits 1 / CPUs of the time of executing and timing') or diag $parallel;
# The leader only waits, so its executing time differs much from the mean of the processes.
my $workers_only = $node->safe_psql('postgres', "SET parallel_leader_participation = off; $start$end");
like($workers_only, qr/;\n  self times add up to (\d+)(\.\d)? ms \(mean of processes\)\|\1\./, 'rows: the sum of self_ms is stated if it is not the executing time');
cmp_ok(max_length($text), '<=', 120, 'text: the summary fits');
cmp_ok($json->{'Preempted Percent'}, '>=', 75, 'JSON: percentage of the run');
cmp_ok($json->{'Preempted Time'}, '>', 0, 'JSON: time');
foreach my $method ('full', 'isolate')
{
	like(explained('clock_explain_text', "method => '$method'"), qr/^Time: .*, $method/m, "$method: there is a summary");
}
$node->stop;

# The 20th request to the kernel for the CPU usage takes 0.4 s, as if the process had been stopped.
# The note must state this time, because it may be contained in the self time of any node.
$slow_usage->start($node);
$slow_usage->write(0, 20, 400e6);
my $stopped = $node->safe_psql('postgres', q{SELECT note FROM clock_explain('SELECT count(*) FROM a, generate_series(1, 60000)') WHERE node = 0});
like($stopped, qr/;\n  [1-4]\d\d\.\d ms of the run in a few long calls, or in gaps between timed calls\z/, 'stopped for 0.4 s while asking for the CPU usage');
$node->stop;

# Without the TSC, a reading of the clock takes as long as a hundred calls of the Materialize node.
# So the self time of this node cannot be measured.
SKIP:
{
	skip 'PostgreSQL 19 reads the time-stamp counter itself', 5 if $node->pg_version->major >= 19;
	skip 'this is not an x86 processor', 5 unless `uname -m` =~ /^(x86_64|i.86)$/;

	$no_tsc->start($node, NO_TSC_PROGRAM => 'postgres', OPENSSL_ia32cap => '~0x10');
	my ($plan) = decode_json(explained('clock_explain_json'))->[0]{Plan}{Plans}[0];
	my ($inner) = grep { $_->{'Node Type'} eq 'Materialize' } @{ $plan->{Plans} };

	cmp_ok($inner->{'Clock Self Margin'}, '>', $inner->{'Clock Self Time'}, 'JSON: the margin is larger than the self time');
	cmp_ok($inner->{'Clock Self Percent Margin'}, '>', $inner->{'Clock Self Percent'}, 'JSON: the margin of the share is larger than the share');
	my $rows = $node->safe_psql('postgres', "SELECT node_type, self_margin_ms > self_ms, share_margin_percent > share_percent, note FROM clock_explain('$query')");
	like($rows, qr/^Materialize\|t\|t\|may have taken the most time/m, 'rows: the margins are larger, and Materialize may have taken the most time') or diag $rows;
	unlike($rows, qr/\|took the most time/, 'rows: no node certainly took the most time') or diag $rows;
	like(explained('clock_explain_text'), qr/->  Materialize[^\n]*\n(?: +Storage: [^\n]*\n)? +Clock: total \d+\.\d{3} \+\/- \d+\.\d{3} ms, self \d+\.\d{3} \+\/- \d+\.\d{3} ms \(\d+\.\d \+\/- \d+\.\d %\), /,
		'text: the same figures');
	$node->stop;
}

sub max_length
{
	my ($max) = sort { $b <=> $a } map { length } grep { /^Clock/ } split /\n/, $_[0];
	return $max;
}

done_testing();
