# Runs the scripts of test/sql by "make installcheck". The environment variable TESTS="explain
# measure" selects scripts.
#
# On a server that has only the portable edition (CLOCKTIMING_SERVER is set), runs only the script
# "portable". On an emulated server (CLOCKTIMING_EMULATED is set), runs all scripts but this one:
# PL/pgSQL does not depend on the architecture, and is slow there.

use strict;
use warnings;

use Test::More;

use PgRegress;

my @all = map { m{(\w+)\.sql$} } glob('test/sql/*.sql');
my @scripts = grep {
	!($ENV{CLOCKTIMING_SERVER} && $_ ne 'portable' || $ENV{CLOCKTIMING_EMULATED} && $_ eq 'portable')
	  && (!$ENV{TESTS} || " $ENV{TESTS} " =~ / $_ /)
} @all;
plan skip_all => 'no script has such a name' if !@scripts;

PgRegress::scripts_pass('', 'regression.diffs', \@scripts, 'make', '-s', 'installcheck', @scripts < @all ? "REGRESS=@scripts" : (),
	$ENV{CLOCKTIMING_SERVER} ? 'REGRESS_OPTS=--inputdir=test' : ());
done_testing();
