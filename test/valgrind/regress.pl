# Runs the scripts of test/sql on a server under Valgrind, except for the script of the portable
# edition. Valgrind must report no error that has a function of clocktiming on its stack. The
# environment variable TESTS="explain measure" selects scripts.

use strict;
use warnings;

use Cwd qw(cwd);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use PgRegress;

my $suppressions = `pg_config --sharedir` =~ s/\n//r . '/valgrind.supp';
plan skip_all => 'there is no Valgrind, or no valgrind.supp of PostgreSQL; run this test by tools/in-tree assert'
  if system('valgrind --version >/dev/null 2>&1') != 0 || !-f $suppressions;

my $dir = PostgreSQL::Test::Utils::tempdir();
my ($postgres) = grep { -x } map { "$_/postgres" } split /:/, $ENV{PATH};
my $node = PostgreSQL::Test::Cluster->new('valgrind');
my @scripts = split ' ', $ENV{TESTS} || join ' ', grep { $_ ne 'portable' } map { m{(\w+)\.sql$} } glob('test/sql/*.sql');

# Script that starts the server under Valgrind. Each process has a log of its own. --fullpath-after
# makes Valgrind print paths of source files, because a stack frame with a line number does not name
# its library.
append_to_file("$dir/postgres", <<"END");
#!/bin/sh
exec valgrind --quiet --trace-children=yes --leak-check=no --error-limit=no --num-callers=40 --fullpath-after= \\
	--suppressions='$suppressions' --log-file='$dir/%p.log' '$postgres' "\$@"
END
chmod 0755, "$dir/postgres" or die "$dir/postgres: $!\n";
$node->init;
{
	local $ENV{PGCTLTIMEOUT} = 300;
	system_or_bail('pg_ctl', '-w', '-p', "$dir/postgres", '-D', $node->data_dir, '-l', $node->logfile, 'start');
	$node->_update_pid(1);

	# If CLOCKTIMING_EMULATED is set, the scripts use longer timeouts.
	local @ENV{qw(CLOCKTIMING_EMULATED PGHOST PGPORT)} = ('valgrind', $node->host, $node->port);
	PgRegress::scripts_pass('', 'regression.diffs', \@scripts, 'make', '-s', 'installcheck', "REGRESS=@scripts");
	ok($node->stop('fast', fail_ok => 1), 'the server stops');
}

# Errors that Valgrind has reported. Each error is a paragraph of a log.
my %errors = (ours => [], others => []);
my $sources = cwd() . '/src/';
my @logs = glob "$dir/*.log";
cmp_ok(scalar @logs, '>', @scripts, 'processes of the server run under Valgrind');
foreach my $log (@logs)
{
	my $text = slurp_file($log) =~ s/^(?:==|\*\*)\d+(?:==|\*\*) ?//mgr;

	push @{ $errors{ /\Q$sources\E|\/clocktiming\.so/ ? 'ours' : 'others' } }, $_ foreach grep { /^ +(?:at|by) 0x/m } split /\n\n+/, $text;
}
is(join("\n\n", @{ $errors{ours} }), '', 'Valgrind reports no error with a function of clocktiming on the stack');
diag(scalar @{ $errors{others} }, ' errors without a function of clocktiming on the stack') if @{ $errors{others} };
done_testing();
