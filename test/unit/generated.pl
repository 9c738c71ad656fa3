#!/usr/bin/env perl
# Checks that generated files are up to date: the install scripts, the tables of columns in
# doc/reference.md, the files of monitoring/, two pictures of the manual, and the
# files of debian/ that pg_buildext makes from *.in. Also checks that the sources of the portable
# edition create only functions and procedures, without OR REPLACE, and that portable/clocktiming.sql,
# which is made from them, is a single DO statement.

use strict;
use warnings;
use File::Basename;
use File::Temp;
use Test::More;

chdir(dirname($0) . '/../..') or die "$0: $!\n";

# Returns the text of a file, or an empty string if there is none.
sub text
{
	my ($file) = @_;

	open(my $in, '<', $file) or return '';
	local $/;
	return scalar <$in>;
}

# Runs a generator, which writes to a temporary directory. Returns the generated files that differ
# from the files of the same names in the directory $below.
sub stale
{
	my ($generator, $below) = @_;
	my $made = File::Temp->newdir;

	system($generator, $made) == 0 or die "$0: $generator has failed\n";
	my @files = map { substr($_, length("$made/")) } sort glob("$made/*.* $made/*/*.*");
	ok(scalar @files, "$generator writes files");
	return grep { text("$below/$_") ne text("$made/$_") } @files;
}

is(join(" ", stale('sql/generate', '.')), '', 'the install scripts and tables of doc/reference.md are as generated (if not: make generate)');
is(join(" ", stale('monitoring/generate', 'monitoring')), '', 'the files for exporters are as generated (if not: make generate)');

# Two of the manual's pictures do not depend on a server.
my $pictures = File::Temp->newdir;
system("doc/pictures/make --to=$pictures clock sampler >$pictures/log") == 0 or die "$0: doc/pictures/make has failed\n";
is(join(' ', grep { text("doc/pictures/$_") ne text("$pictures/$_") } 'clock.svg', 'sampler.svg'), '', 'pictures are as generated (if not: doc/pictures/make clock sampler)');

my ($major) = text('debian/control') =~ /^Package: postgresql-(\d+)-/m or die "$0: debian/control has no package for a version of PostgreSQL\n";
my @stale_debian = grep { text("debian/$_") ne text("debian/$_.in") =~ s/PGVERSION/$major/gr } qw(control tests/control);
is("@stale_debian", '', 'the files of debian/ are as generated for one version (if not: pg_buildext updatecontrol)');

my (@or_replace, @foreign, @tag);
foreach my $file (sort glob('portable/src/*.sql'))
{
	my $source = text($file);

	# Removes comments, but not their line breaks.
	$source =~ s{--.*|/\*.*?\*/}{$& =~ tr/\n//cdr}egs;
	my $line = sub { return "$file:" . (1 + (substr($source, 0, $_[0]) =~ tr/\n//)) };

	push @or_replace, $line->($-[0]) while $source =~ /\bOR\s+REPLACE\b/gi;
	push @tag, $line->($-[0]) while $source =~ /\$(?:clocktiming_|_pgtle_)/g;
	push @foreign, $line->($-[0]) . " $&"
	  while $source =~ /^CREATE\s+(?!(?:FUNCTION|PROCEDURE)\s+\@extschema\@\.(?:internal_)?clock_)[^(\n]*/gim;
}
is("@foreign", '', 'the portable edition creates only functions and procedures named clock_ or internal_clock_');
is("@or_replace", '', 'the sources of the portable edition have no OR REPLACE');
is("@tag", '', 'the sources of the portable edition have no dollar quotes with the tags of portable/frame/ or of pg_tle');

my $plain = text('portable/clocktiming.sql');
ok($plain =~ /\A(?:--.*\n)*DO LANGUAGE plpgsql (\$\w+\$)(?:(?!\1).|\n)*\1;\n\z/, 'the plain file is one statement');
ok($plain !~ /^\s*\\/m, 'the plain file has no psql commands');
done_testing();
