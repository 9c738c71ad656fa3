
# The scripts of the how-to "In your extension's CI", extracted from the manual: pg_regress and
# pgTAP must accept them as they are printed.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename;
use File::Path qw(make_path);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use PgRegress;

my $page = slurp_file(abs_path(dirname(__FILE__) . '/../..') . '/doc/howto.md');
my ($section) = $page =~ /^(## In your extension's CI\n.*?)^## /ms or die 'the how-to is missing';
my %script;
while ($section =~ /`((?:sql|test)\/\w+\.sql)`((?:(?!```).)*?)^```psql\n(.*?)^```$/msg) { $script{$1} = $3; }
is(join(' ', sort keys %script), 'sql/clocks.sql sql/timing.sql test/clocks.sql', 'the how-to has three scripts');

# Writes the files, and executes the commands that write the expected output.
my $dir = PostgreSQL::Test::Utils::tempdir();
make_path("$dir/sql", "$dir/test", "$dir/expected");
foreach my $name (keys %script)
{
	open(my $file, '>', "$dir/$name") or die "$name: $!";
	print $file $script{$name};
	close($file);
}
my @commands = $section =~ /`([^`]*(?:cp|cat) sql\/[^`]*expected\/\w+\.out)`/g;
is(scalar @commands, 2, 'it has a command for each expected output');
system("cd '$dir' && $_") == 0 or die $_ foreach @commands;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
my @connection = ('--host=' . $node->host, '--port=' . $node->port);

# Runs the scripts, with options of pg_regress, as its PGXS rule does.
sub run_scripts
{
	my ($what, @options) = @_;

	PgRegress::scripts_pass("$what: ", "$dir/regression.diffs", [ 'clocks', 'timing' ],
		$ENV{PG_REGRESS}, @connection, '--bindir=' . $node->config_data('--bindir'), "--inputdir=$dir", "--outputdir=$dir",
		'--dbname=regression_ci', @options, qw(clocks timing));
	return;
}
my ($options) = $section =~ /^REGRESS_OPTS \+= (.*)$/m;
run_scripts('extension', split / /, $options);

# The test fails on a bad clock, here one that takes longer than a threshold of 0.
my $bad = $script{'sql/clocks.sql'} =~ s/clock_check\(/clock_check(max_cost_ns => 0,/r;
like($node->safe_psql('regression_ci', $bad), qr/^cost: [\d.]+ ns, threshold 0\.00\|/m, 'clocks.sql prints a failed check and its threshold');

# The portable edition, in a database without the extension
$node->safe_psql('postgres', 'CREATE DATABASE portable_ci');
$node->psql('portable_ci', slurp_file(dirname(__FILE__) . '/../../portable/clocktiming.sql'));
foreach my $name (qw(clocks timing))
{
	my ($status, $out) = $node->psql('portable_ci', $script{"sql/$name.sql"}, extra_params => [ '-q', '-X' ]);
	is("$status $out", $name eq 'clocks' ? '0 ' : '0 t', "portable edition: $name.sql");
}
# A check that fails, with figures that do not depend on the machine
$node->safe_psql('portable_ci', q{CREATE OR REPLACE FUNCTION internal_clock_criteria(facts jsonb, OUT check_name text, OUT figure float8, OUT threshold float8,
	OUT unit text, OUT detail text) RETURNS SETOF record LANGUAGE sql AS $$VALUES ('cost', 250::float8, 200::float8, 'ns', 'as tested'), ('gaps', 3, 'infinity', '%', '')$$});
is($node->safe_psql('portable_ci', $script{'sql/clocks.sql'}), 'cost: 250.00 ns, threshold 200.00|as tested', 'portable edition: a failed check and its threshold');

SKIP:
{
	skip 'there is no pgtap', 1 if $node->psql('regression_ci', 'CREATE EXTENSION pgtap') != 0;
	my $out = $node->safe_psql('regression_ci', $script{'test/clocks.sql'});

	like($out, qr/^ok 1 - clock: cost, [\d.]+ ns, threshold [\d.]+\n.*: gaps, [\d.]+ percent, threshold none\n.*^1\.\.\d+$/ms, 'pgTAP: the checks');
	unlike($out, qr/^not ok/m, 'pgTAP: all checks pass');
}
$node->stop;
done_testing();
