#!/usr/bin/env perl
# Checks that make indent would change nothing, and that typedefs.list, which pgindent reads, has the types of src/.
# The former needs PostgreSQL 19's pgindent, and is skipped without.

use strict;
use warnings;
use File::Basename;
use Test::More;

chdir(dirname($0) . '/../..') or die "$0: $!\n";

sub read_file
{
	my ($name) = @_;

	open(my $in, '<', $name) or die "$name: $!\n";
	local $/;
	return scalar <$in>;
}

# Types that src/ defines and uses.  A struct's or enum's name follows its braces, a function pointer's is the one in
# (*name), any other's is the last word.
my %defined;
my %seen;
foreach my $file (glob('src/*.[ch] src/*/*.[ch]'))
{
	my $text = read_file($file);

	$text =~ s{/\*.*?\*/}{}gs;
	$seen{$_}++ foreach $text =~ /\w+/g;
	while ($text =~ /^\s*typedef\b([^;{]*)(\{(?:[^{}]|\{[^{}]*\})*\})?([^;]*);/mg)
	{
		my $declarator = defined $2 ? $3 : $1;

		$defined{$1} = $file if $declarator =~ /\(\s*\*\s*(\w+)\s*\)/ || $declarator =~ /(\w+)\s*(?:\[.*\])?\s*$/;
	}
}
delete @defined{ grep { $seen{$_} == 1 } keys %defined };
my @listed = split /\n/, read_file('typedefs.list');
my %listed = map { $_ => 1 } @listed;

my @missing = map { "$_, of $defined{$_}" } grep { !$listed{$_} } sort keys %defined;
my @superfluous = grep { !$defined{$_} } @listed;
my @unsorted = grep { $listed[ $_ - 1 ] ge $listed[$_] } 1 .. $#listed;
is("@missing", '', 'typedefs.list lacks no type of src/');
is("@superfluous", '', 'typedefs.list has no other types');
is("@listed[@unsorted]", '', 'typedefs.list is sorted, each type once');

my $says = `tools/indent --check --diff 2>&1`;
my $status = $? >> 8;
SKIP:
{
	skip 'there is no pgindent of PostgreSQL 19', 1 if $status == 127;
	is($status, 0, 'make indent changes nothing') or diag $says;
}
done_testing();
