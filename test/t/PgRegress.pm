
# Runs pg_regress, and reports each of its scripts as a test of TAP.

package PgRegress;

use strict;
use warnings;

use Test::More;

# Runs a command that calls pg_regress, and reports each script as a test. $prefix is put before
# each script's name. $diffs is the file to which pg_regress writes differences.
sub scripts_pass
{
	my ($prefix, $diffs, $scripts, @command) = @_;
	my (%passed, @output);

	open(my $log, '-|', @command) or die "$command[0]: $!\n";
	while (my $line = <$log>)
	{
		# Lines of pg_regress before PostgreSQL 16: "test x ... ok", in a parallel group "x ... ok".
		# From 16 on: "ok 1 - x", in a parallel group "ok 1 + x".
		$passed{$2} = !$1 if $line =~ /^(not )?ok +\d+ +[-+] (\S+)/;
		$passed{$1} = $2 eq 'ok' if $line =~ /^(?:test)? +(\S+) +\.\.\. (\w+)/;
		push @output, $line;
	}
	ok($passed{$_}, "$prefix$_") foreach @$scripts;
	ok(close($log), "${prefix}pg_regress succeeds") or diag(@output);
	if (open(my $differences, '<', $diffs))
	{
		diag(<$differences>);
	}
	return;
}

1;
