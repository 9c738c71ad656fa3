#!/usr/bin/env perl
# Checks the layout of src/: which files a file may include, and that includes do not form a circle.

use strict;
use warnings;
use File::Basename;
use File::Find;
use File::Spec::Functions qw(abs2rel canonpath);
use Test::More;

# Floors, from the bottom to the top, and the directories or files on each. A file may include files of its own directory and of
# lower floors. clock and plan are two wings: no file of one wing includes a file of the other.
my @floors = (
	['core'],
	['compat.h', 'clock/sampling', 'plan/estimate'],
	['server'],
	['clock/measure', 'plan/sampler'],
	['clock/watch', 'clock/verdict', 'plan/explain'],
	['plan/stats'],
	['plan/live'],
	['clock/functions', 'plan/functions'],
	['monitor'],
	['clocktiming.c'],
);
my %height;
foreach my $floor (0 .. $#floors) { $height{$_} = $floor foreach @{ $floors[$floor] }; }

# Directories that include nothing of PostgreSQL.
my $pure = qr{^(?:core|clock/sampling|plan/estimate)$};

# System headers that these directories may include. These are headers of C and POSIX, of kernels, and of
# compilers for one architecture.
my $system_header = qr{^(?:
	(?:assert|complex|ctype|errno|fenv|float|inttypes|limits|locale|math|setjmp|signal|stdalign|stdarg|stdatomic|stdbool
		|stddef|stdint|stdio|stdlib|stdnoreturn|string|tgmath|threads|time|uchar|wchar|wctype)\.h
	|(?:dirent|dlfcn|fcntl|poll|pthread|sched|semaphore|spawn|strings|termios|unistd)\.h
	|(?:sys|linux|asm|mach)/\w+\.h
	|(?:cpuid|x86intrin|immintrin|intrin|arm_acle|arm_neon)\.h
)$}x;

chdir(dirname($0) . '/../..') or die "$0: $!\n";

my @files;
find({ no_chdir => 1, wanted => sub { push @files, abs2rel($_, 'src') if -f && !/\.(?:o|bc|so|gcda|gcno)$/ } }, 'src');
@files = sort @files;
my %is_file = map { $_ => 1 } @files;

sub room { my ($path) = @_; return $path =~ m{^(.+)/[^/]+$} ? $1 : $path; }
sub wing { my ($path) = @_; return $path =~ m{^(clock|plan)/} ? $1 : ''; }
sub stem { my ($path) = @_; $path =~ s/\.[ch]$//; return $path; }

# Returns the file of src/ that an #include names. Searches as the compiler does: first in the
# directory of the including file, then in src/.
sub resolve
{
	my ($file, $included) = @_;
	my @candidates = map { canonpath($_) } (dirname($file) . "/$included", $included);

	# Removes "a/..", which canonpath() keeps.
	foreach (@candidates) { 1 while s{[^/]+/\.\./}{}; }
	my ($found) = grep { $is_file{$_} } @candidates;
	return $found;
}

my (@stray, @upward, @across, @foreign, %includes);
foreach my $file (@files)
{
	my $height = $height{ room($file) };

	push @stray, $file if !defined $height || $file !~ /\.[ch]$/;
	open(my $in, '<', "src/$file") or die "src/$file: $!\n";
	while (<$in>)
	{
		next unless /^\s*#\s*include\b\s*(.*)/;
		my ($kind, $included) = $1 =~ /^(["<])([^">]+)/;
		my $at = "src/$file:$.: " . ($included // $1);
		my $found = defined $included ? resolve($file, $included) : undef;

		if (defined $found)
		{
			my $above = ($height{ room($found) } // @floors) - ($height // @floors);

			push @upward, $at if $above > 0 || ($above == 0 && room($file) ne room($found));
			push @across, $at if wing($file) && wing($found) && wing($file) ne wing($found);
			$includes{ stem($file) }{ stem($found) } = 1 if stem($found) ne stem($file);
		}
		elsif (room($file) =~ $pure)
		{
			push @foreign, $at if ($kind // '') ne '<' || $included !~ $system_header;
		}
	}
	close($in);
}

# Depth-first search for circles. A file is grey while the search is below it. So an include of a
# grey file closes a circle.
my (%colour, @circles);

sub visit
{
	my ($file, @path) = @_;

	if (($colour{$file} // '') eq 'grey')
	{
		shift @path while $path[0] ne $file;
		push @circles, join(' -> ', @path, $file);
	}
	return if $colour{$file};
	$colour{$file} = 'grey';
	visit($_, @path, $file) foreach sort keys %{ $includes{$file} };
	$colour{$file} = 'black';
	return;
}
visit($_) foreach sort keys %includes;

my @empty = grep { my $room = $_; !grep { room($_) eq $room } @files } map { @$_ } @floors;
is("@empty", '', 'every directory has sources');
is("@stray", '', 'all files are C, and in one of these directories');
is("@upward", '', 'no file includes a file of a higher floor, or of another directory of its own floor');
is("@across", '', 'no file of one wing includes a file of the other');
is("@foreign", '', 'core, clock/sampling and plan/estimate include nothing of PostgreSQL');
is("@circles", '', 'no circle of includes');
done_testing();
