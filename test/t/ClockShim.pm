
# Starts a server that loads a library of test/shim by LD_PRELOAD. The library replaces functions of
# the C library, for example to make a clock faulty. The test sets the library's parameters in a
# control file, and the library may write results to it.

package ClockShim;

use strict;
use warnings;

use File::Basename;
use File::Path qw(make_path);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC CLOCK_MONOTONIC_RAW);

# ClockShim->new('fake_clock', 17) creates a control file of 17 integers of 64 bits, all 0. Without
# a number, creates no control file. Skips the whole test file if the library is not built.
sub new
{
	my ($class, $name, $words) = @_;
	my $self = bless { name => $name }, $class;

	$self->{library} = ($ENV{CLOCKTIMING_SHIM_DIR} || '') . "/$name.so";
	plan(skip_all => "no $self->{library}: say by CLOCKTIMING_SHIM_DIR where it is")
	  unless -f $self->{library};
	if ($words)
	{
		$self->{control} = PostgreSQL::Test::Utils::tempdir() . "/$name";
		append_to_file($self->{control}, pack('q*', (0) x $words));
	}
	return $self;
}

# Returns the environment variables with which a program loads the library.
sub environment
{
	my ($self) = @_;
	my %environment = (LD_PRELOAD => $self->{library});

	$environment{ uc "$self->{name}_control" } = $self->{control} if $self->{control};
	return %environment;
}

# Starts a server with the library and with additional environment variables. The other programs of
# the test do not load the library.
sub start
{
	my ($self, $node, %more) = @_;
	my %environment = ($self->environment, %more);
	local @ENV{ keys %environment } = values %environment;

	$node->start;
	return;
}

# Writes integers to the control file, from a position on.
sub write
{
	my ($self, $first, @words) = @_;

	open(my $fh, '+<:raw', $self->{control}) or die "$self->{control}: $!";
	sysseek($fh, 8 * $first, 0);
	syswrite($fh, pack('q*', @words)) == 8 * @words or die "$self->{control}: $!";
	close($fh);
	return;
}

# Returns all integers of the control file.
sub read
{
	my ($self) = @_;

	return unpack('q*', slurp_file($self->{control}));
}

# Returns CLOCK_MONOTONIC_RAW in ns. drift_clock.c computes its faulty clock from this clock.
sub raw_ns { return int(clock_gettime(CLOCK_MONOTONIC_RAW) * 1e9); }

# Returns CLOCK_MONOTONIC minus CLOCK_MONOTONIC_RAW in ns. With this difference as its offset, the
# clock of drift_clock.c does not step when it becomes faulty.
sub ahead_ns
{
	my ($ahead, $width) = (0, 1e9);

	for (1 .. 100)
	{
		my ($before, $there, $after) = (raw_ns(), int(clock_gettime(CLOCK_MONOTONIC) * 1e9), raw_ns());
		($ahead, $width) = ($there - int(($before + $after) / 2), $after - $before) if $after - $before < $width;
	}
	return $ahead;
}

# Writes a line to a file that a server with kernel_clock.c reads, or removes the file if there is no
# line. The server, whose postmaster may read it at any time, never sees an incomplete file.
sub put_file
{
	my ($file, $line) = @_;

	if (!defined $line)
	{
		unlink $file;
		return;
	}
	make_path(dirname($file));
	unlink "$file.new";
	append_to_file("$file.new", "$line\n");
	rename("$file.new", $file) or die "$file: $!";
	return;
}

# Returns the process id of the background worker that watches the clock. Searches /proc for it:
# pg_stat_activity does not list the worker, because it is connected to no database, and the program
# ps may be missing.
sub watcher
{
	my ($node) = @_;
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;

	for my $dir (glob '/proc/[0-9]*')
	{
		# The process may end before its files are opened.
		my ($stat, $args) = map { my $in; open($in, '<', "$dir/$_") ? join('', <$in>) : '' } qw(stat cmdline);

		# Format of stat: pid (name) state parent ...
		return $1 if $args =~ /clocktiming watch/ && $stat =~ /^(\d+) .*\) \S $postmaster /;
	}
	return 0;
}

1;
