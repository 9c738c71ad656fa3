#!/usr/bin/env perl
# Checks the format of the sources: make indent would change nothing; typedefs.list, which pgindent
# reads, lists the types of src/; each file of src/ and each long function has a comment; and lines
# of C, Markdown and the SQL sources have at most 100 columns. The first check needs pgindent of
# PostgreSQL 19, and is skipped without it.

use strict;
use warnings;
use File::Basename;
use File::Find;
use Test::More;

chdir(dirname($0) . '/../..') or die "$0: $!\n";

sub read_file
{
	my ($name) = @_;

	open(my $in, '<', $name) or die "$name: $!\n";
	local $/;
	return scalar <$in>;
}

my @sources = glob('src/*.[ch] src/*/*.[ch] src/*/*/*.[ch]');

# Types that src/ both defines and uses. In a typedef, the name of a struct or an enum is after the
# braces. The name of a function pointer is in (*name). All other names are the last word.
my %defined;
my %seen;
foreach my $file (@sources)
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

# Number of lines between the braces from which on a function must have a comment.
my $long = 20;

# Returns the long functions without a comment of their own. In pgindent's format, a definition's
# name begins a line, one or two lines with its type precede it, and its braces are lines of their
# own. The comment ends directly before the type.
sub uncommented
{
	my ($file) = @_;
	my $text = read_file($file);
	my @functions;

	while ($text =~ /^(\w+)\([^;{}]*\)\n\{\n(.*?)^\}$/msg)
	{
		my ($name, $body, $before) = ($1, $2, substr($text, 0, $-[0]));

		push @functions, "$file: $name()"
			if ($body =~ tr/\n//) >= $long && $before !~ m{\*/\n(?:[^\n;\}\#]+\n){1,2}\z};
	}
	return @functions;
}

is(join(' ', grep { read_file($_) !~ m{\A/\*} } @sources), '', 'each file of src/ begins with a comment');
is(join(' ', map { uncommented($_) } @sources), '', "each function of $long lines or more has a comment");

# Maximum width of a line in columns, where tabs have four columns.
my $most_columns = 100;

sub columns
{
	my ($line) = @_;

	utf8::decode($line);
	while ($line =~ /\t/) { my $width = 4 - $-[0] % 4; $line =~ s/\t/' ' x $width/e; }
	return length $line;
}

# Returns the lines of a file that are too long. In C, does not count strings, because a message
# must be on one line. In Markdown, does not count tables, blocks of code or output, and targets of
# links. In SQL, does not count psql's commands, which must be on one line, but counts strings,
# because a string can be continued on the next line.
sub wide_lines
{
	my ($file) = @_;
	my ($n, $in_block, @wide) = (0, 0);

	foreach my $line (split /\n/, read_file($file))
	{
		$n++;
		if ($file =~ /\.md$/)
		{
			$in_block = !$in_block if $line =~ /^\s*```/;
			next if $in_block || $line =~ /^\s*\||^    |^<!--|^\s*(?:[-*] )?`[^`]+`\S*$/;
			$line =~ s/\]\([^)]*\)/]/g;
		}
		elsif ($file =~ /\.sql$/) { next if $line =~ /^\\/; }
		elsif ($file =~ /\.[ch]$/) { $line =~ s/"(?:\\.|[^"\\])*"/""/g; }
		push @wide, "$file:$n" if columns($line) > $most_columns;
	}
	return @wide;
}

# File that test/unit/rank_reference.R writes.
my $generated = qr{^\./test/unit/rank_reference\.h$};
my @wrapped;
find({ no_chdir => 1, wanted => sub {
			$File::Find::prune = 1 if -d && m{^\./(?:build|tmp_check|results|\.git)$};
			push @wrapped, substr($_, 2) if /\.(?:[ch]|md)$/ && !m{$generated};
		} }, '.');
push @wrapped, glob('sql/src/*.sql portable/src/*.sql portable/frame/*.sql test/*/*.sql tools/*.sql bench/*.sql');
is(join(' ', map { wide_lines($_) } sort @wrapped), '',
	"no line of C, SQL or Markdown exceeds $most_columns columns");

# Tests of a server are named by a number and what they test.
my %numbers;
push @{ $numbers{ (basename($_) =~ /^(\d+)_/)[0] // $_ } }, basename($_) foreach glob('test/t/*.pl');
is(join(' ', map { @{ $numbers{$_} } > 1 ? @{ $numbers{$_} } : () } sort keys %numbers), '', 'no two tests have the same number');

my $says = `tools/indent --check --diff 2>&1`;
my $status = $? >> 8;
SKIP:
{
	skip 'there is no pgindent of PostgreSQL 19', 1 if $status == 127;
	is($status, 0, 'make indent changes nothing') or diag $says;
}
done_testing();
