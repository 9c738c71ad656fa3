
# Starts a server with LD_PRELOAD of a library in test/shim, and writes the library's control file.

package ClockShim;

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC CLOCK_MONOTONIC_RAW);

# ClockShim->new('fake_clock', 17) creates a control file of 17 64-bit integers, all 0. Without a
# number, it creates no control file. Skips the whole test file if the library is not built.
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

# Returns the environment of a program that loads the library.
sub environment
{
	my ($self) = @_;
	my %environment = (LD_PRELOAD => $self->{library});

	$environment{ uc "$self->{name}_control" } = $self->{control} if $self->{control};
	return %environment;
}

# Starts a server with the library and additional environment variables. Only the server loads the
# library, not the test's other programs.
sub start
{
	my ($self, $node, %more) = @_;
	my %environment = ($self->environment, %more);
	local @ENV{ keys %environment } = values %environment;

	$node->start;
	return;
}

# Writes words of the control file from a position on.
sub write
{
	my ($self, $first, @words) = @_;

	open(my $fh, '+<:raw', $self->{control}) or die "$self->{control}: $!";
	sysseek($fh, 8 * $first, 0);
	syswrite($fh, pack('q*', @words)) == 8 * @words or die "$self->{control}: $!";
	close($fh);
	return;
}

# Returns all words of the control file.
sub read
{
	my ($self) = @_;

	return unpack('q*', slurp_file($self->{control}));
}

# Returns the time of CLOCK_MONOTONIC_RAW, on which drift_clock is based.
sub raw_ns { return int(clock_gettime(CLOCK_MONOTONIC_RAW) * 1e9); }

# Returns the offset of CLOCK_MONOTONIC to CLOCK_MONOTONIC_RAW. With this offset, the clock does not
# step when drift_clock starts to replace it in a process.
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

# Returns the process id of the worker that watches the clock, from /proc. pg_stat_activity does not
# list the worker, because it is connected to no database, and ps may be missing.
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
