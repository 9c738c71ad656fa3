#!/usr/bin/env perl
# Checks that the sources and the manual do not use certain metaphors, but the terms of the field.

use strict;
use warnings;
use File::Basename;
use File::Find;
use Test::More;

chdir(dirname($0) . '/../..') or die "$0: $!\n";

# Patterns, and the terms to use instead. Some words also have an ordinary meaning: a virtual
# machine may be a guest, and a test passes. Their patterns match only the metaphor.
my @words = (
	[ qr/\byardsticks?\b/i, 'reference, fixed work' ],
	[ qr/\bin[ _]passing\b/i, 'name the action' ],
	[ qr/\brooms?\b/i, 'memory, capacity, space' ],
	[ qr/\bhous(?:e|es|ed)\b/i, 'name the owner or the place' ],
	[ qr/\bguest_\w|\w_guests?\b|\bour guests?\b/i, 'other extension' ],
	[ qr/\blook_(?!up)\w|\w_looks?\b|\b(?:an?|each|every|two|four|latest|last|next|between) looks?\b/i, 'observation, check' ],
	[ qr/\b(?:un)?dear(?:er|est|ly)?\b/i, 'expensive' ],
	[ qr/\bmoods?\b/i, 'state' ],
	[ qr/\b(?:each|this) trust\b|\btrust (?:row|column)s?\b/i, 'whether timings can be trusted' ],
	[ qr/(?:honest|lying) clocks?/i, 'correct, faulty' ]);

sub text
{
	my ($file) = @_;

	# Another test may have removed its temporary file since the search.
	open(my $in, '<', $file) or $!{ENOENT} ? return '' : die "$file: $!\n";
	local $/;
	return scalar <$in>;
}

# All files of the repository, except for files that a build makes, and for the German translation.
my @files;
find({ no_chdir => 1, wanted => sub {
			$File::Find::prune = 1 if -d && m{^\./(?:build|tmp_check|po|\.git|results)$};
			push @files, substr($_, 2) if -f && -T && !/\.(?:o|bc|so|diffs)$/ && $_ ne "./test/unit/language.pl";
		} }, '.');
cmp_ok(scalar(@files), '>', 300, 'there are sources');

foreach my $word (@words)
{
	my ($pattern, $instead) = @$word;
	my @found;

	foreach my $file (sort @files)
	{
		my $text = text($file);

		while ($text =~ /$pattern/g)
		{
			my $line = 1 + (substr($text, 0, $-[0]) =~ tr/\n//);
			push @found, "$file:$line: $&";
		}
	}
	is("@found", '', "no $pattern (use instead: $instead)");
}
done_testing();
