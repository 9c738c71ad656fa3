#!/usr/bin/env perl
# Checks that the version of clocktiming in META.json agrees with all other files that contain the
# version, and that all files that META.json names exist.

use strict;
use warnings;
use File::Basename;
use JSON::PP;
use Test::More;

chdir(dirname($0) . '/../..') or die "$0: $!\n";

sub read_file
{
	my ($name) = @_;

	open(my $in, '<', $name) or die "$name: $!\n";
	local $/;
	return scalar <$in>;
}

# Returns the first group of a pattern's first match in a file, or an empty string.
sub first { my ($file, $pattern) = @_; return read_file($file) =~ /$pattern/m ? $1 : ''; }

my $meta = decode_json(read_file('META.json'));
my $version = $meta->{version};
my $provides = $meta->{provides}{clocktiming};
my $control = first('clocktiming.control', "^default_version = '(.*)'");
my $spec = 'rpm/clocktiming.spec';

like($version, qr/^\Q$control\E(?:\.|$)/, 'default_version in clocktiming.control');
is($provides->{version}, $version, 'the version that META.json provides');
is(first($spec, '^Version:\s*(\S+)'), $version, "the version of $spec");
is(first($spec, '^\* .* - ([^-]*)-'), $version, "the first entry of the changelog in $spec");
is(first('debian/changelog', '^clocktiming \(([^)]*)-[^-)]*\)'), $version, 'the first entry of debian/changelog');
is(first('CHANGELOG.md', '^## (\S+)'), $version, 'the first heading of CHANGELOG.md');

# If the version is released, its heading has a date.
my $heading = first('CHANGELOG.md', '^## \S+ \((.*)\)');
my $released = $heading =~ /^20\d\d-\d\d-\d\d$/;
ok($released || $heading eq 'not released yet', 'CHANGELOG.md says when the version was released') or diag $heading;
is($meta->{release_status}, $released ? 'stable' : 'unstable', 'the release_status of META.json');
is(first('debian/changelog', '^clocktiming .*\) ([^;]*);') ne 'UNRELEASED', $released, 'the distribution of debian/changelog');

ok(-f $_, "$_ exists")
  foreach @$provides{qw(file docfile)}, "sql/clocktiming--$control.sql", "portable/clocktiming--$control-tle.sql";
foreach my $older (grep { $_ ne $control } map { m{^sql/clocktiming--([^-]*)\.sql$} } glob('sql/clocktiming--*.sql'))
{
	my @updates = glob("sql/clocktiming--$older--*.sql");
	ok(scalar(@updates), "a script updates version $older");
}
done_testing();
