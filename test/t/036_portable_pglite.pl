
# The portable edition in PGlite, a PostgreSQL in WebAssembly for browsers. Its clock_timestamp()
# advances in steps of a millisecond, EXPLAIN reads another clock, and statement_timeout has no
# effect. "tools/fetch pglite" fetches it, and node executes it.

use strict;
use warnings;

use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

use PortableEdition;

my $pglite = ($ENV{CLOCKTIMING_CACHE} // '/var/cache/clocktiming') . '/pglite';
my ($node) = grep { -x } map { "$_/node" } split /:/, $ENV{PATH};
plan skip_all => 'no PGlite and node: tools/fetch pglite' if !$node || !-r "$pglite/index.cjs";

my $query = q{'SELECT count(*) FROM generate_series(1, 1000)'};
my @calls = (
	'SELECT * FROM clock.clock_advice(0.5)',
	'SELECT * FROM clock.clock_check(0.5)',
	'CALL clock.clock_executor_overhead(duration => 0.5)',
	"SELECT * FROM clock.clock_explain($query)",
	"SELECT * FROM clock.clock_explain_json($query)",
	"SELECT * FROM clock.clock_explain_text($query)",
	'SELECT * FROM clock.clock_histogram(duration => 0.3)',
	'SELECT * FROM clock.clock_impact()',
	'SELECT * FROM clock.clock_impact(NULL, 0.2)',
	'SELECT * FROM clock.clock_measure(duration => 0.3)',
	"SELECT * FROM clock.clock_query_overhead($query, 0.5)",
	'SELECT * FROM clock.clock_report(0.3)',
	'SELECT * FROM clock.clock_summary(duration => 0.3)');
my @sql = (
	'CREATE SCHEMA clock; SET search_path = clock',
	slurp_file($PortableEdition::plain),
	q{SET search_path = public},
	q{SELECT array_agg(DISTINCT proname::text ORDER BY proname::text) AS names FROM pg_proc
		WHERE pronamespace = 'clock'::regnamespace AND starts_with(proname, 'clock_')},
	'SELECT clock.internal_clock_step() AS step',
	@calls,
	q{SELECT granularity_ns, min_ns, p50_ns FROM clock.clock_summary(duration => 0.3)});
my ($in, $out, $err) = (encode_json(\@sql), '', '');
ok(IPC::Run::run([ $node, __FILE__ =~ s/[^\/]*\z/pglite.cjs/r, $pglite ], '<', \$in, '>', \$out, '2>', \$err), 'node executes PGlite')
  or diag substr($err, -1000);
my @results = @{ decode_json($out) };

is(scalar(grep { !ref } @results[ 0 .. 2 ]), 0, 'installed') or diag explain [ @results[ 0 .. 2 ] ];
my %called = map { /clock\.(\w+)/ => 1 } @calls;
is(join(' ', sort keys %called), join(' ', @{ $results[3][0]{names} }), 'all functions are called');
is($results[4][0]{step}, 1000, 'the step of the clock');
foreach my $n (0 .. $#calls)
{
	my $result = $results[ 5 + $n ];

	ok(ref $result && @$result > 0, "a result: $calls[$n]") or diag explain $result;
}
my $summary = $results[-1][0];
is($summary->{granularity_ns}, '1000000.00', 'a summary: granularity');
is($summary->{p50_ns}, undef, 'a summary: quantiles below two steps are NULL');

done_testing();
