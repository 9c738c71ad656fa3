
# On a busy server, clock_explain() must report that other processes used the CPU. Unknown values
# must be NULL, not 0.

use strict;
use warnings;

use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockShim;

my ($busy_cpu, $no_tsc) = map { ClockShim->new($_) } 'busy_cpu', 'no_tsc';

my $node = PostgreSQL::Test::Cluster->new('main');
my $query = 'SELECT count(*) FROM a CROSS JOIN b';

$node->init;
$node->append_conf('postgresql.conf', "jit = off\nmax_parallel_workers_per_gather = 0\nautovacuum = off\n");
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

like($text, qr/^Time: .*, others had the processor for \d+\.\d{3} ms$/m, 'text: for how long');
like($text, qr/^Clock Disturbed: \d+\.\d of \d+\.\d ms waiting for a CPU; run it again when the server is calmer$/m,
	'text: how much of the run, and what to do') or diag $text;
my ($waited_ms, $run_ms) = $text =~ /^Clock Disturbed: ([\d.]+) of ([\d.]+) ms/m;
cmp_ok($waited_ms / $run_ms, '>=', 0.75, 'text: most of the run') or diag $text;
cmp_ok(max_length($text), '<=', 120, 'text: the summary fits');
cmp_ok($json->{'Preempted Percent'}, '>=', 75, 'JSON: how much of the run');
cmp_ok($json->{'Preempted Time'}, '>', 0, 'JSON: for how long');
foreach my $method ('full', 'isolate')
{
	like(explained('clock_explain_text', "method => '$method'"), qr/^Time: .*, $method/m, "$method: there is a summary");
}
$node->stop;

# Without the TSC, a reading of the clock takes as long as a hundred calls of the Materialize node.
# So the self time of this node is unknown.
SKIP:
{
	skip 'PostgreSQL 19 reads the time-stamp counter itself', 7 if $node->pg_version->major >= 19;
	skip 'this is not an x86 processor', 7 unless `uname -m` =~ /^(x86_64|i.86)$/;

	$no_tsc->start($node, NO_TSC_PROGRAM => 'postgres', OPENSSL_ia32cap => '~0x10');
	my @lines = split /\n/, explained('clock_explain_text');
	my ($inner) = grep { $lines[ $_ - 1 ] =~ /->  Materialize/ } 1 .. $#lines;

	like($lines[$inner], qr/^ +Clock: total \d+\.\d{3} \+\/- \d+\.\d{3} ms, self unknown \(\d+\.\d{3} \+\/- \d+\.\d{3} ms\), \d+ of 30\d+ calls timed/,
		'text: a self time that is not known') or diag join "\n", @lines;
	my ($plan) = decode_json(explained('clock_explain_json'))->[0]{Plan}{Plans}[0];
	($inner) = grep { $_->{'Node Type'} eq 'Materialize' } @{ $plan->{Plans} };
	ok(!exists $inner->{'Clock Self Percent'}, 'JSON: it has no share');
	like($inner->{'Clock Note'}, qr/\bself time unknown$/, 'JSON: and a note says why');
	cmp_ok($inner->{'Clock Self Margin'}, '>', $inner->{'Clock Self Time'}, 'JSON: its margin is larger than itself');
	is( $node->safe_psql('postgres', "SELECT share_percent IS NULL, note ~ 'self time unknown\$', self_margin_ms > self_ms"
			  . " FROM clock_explain('$query') WHERE node_type = 'Materialize'"),
		't|t|t', 'rows: the same');
	is( $node->safe_psql('postgres', "SELECT count(*) FROM clock_explain('$query') WHERE (share_percent IS NULL) <> coalesce(note ~ 'self time unknown\$', false)"),
		'0', 'rows: no share is missing without a note');
	is( $node->safe_psql('postgres', "SELECT count(*) FROM clock_explain('$query') WHERE self_margin_ms < self_ms AND share_percent IS NULL"),
		'0', 'rows: what is known to within itself has a share');
	$node->stop;
}

sub max_length
{
	my ($max) = sort { $b <=> $a } map { length } grep { /^Clock/ } split /\n/, $_[0];
	return $max;
}

done_testing();
