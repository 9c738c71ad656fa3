
# A server whose processes have one of the libraries in test/shim before the C
# library, and the control file by which a test tells that library what to do.

package ClockShim;

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC CLOCK_MONOTONIC_RAW);

# ClockShim->new('fake_clock', 17): a control file of so many 64-bit integers,
# all 0, if there is to be one.  Skips the whole test where that library is not
# built.
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

# What is to be in the environment of a program that loads the library.
sub environment
{
	my ($self) = @_;
	my %environment = (LD_PRELOAD => $self->{library});

	$environment{ uc "$self->{name}_control" } = $self->{control} if $self->{control};
	return %environment;
}

# Starts a server with the library, and with more in its environment.  Nothing
# but the server loads it.
sub start
{
	my ($self, $node, %more) = @_;
	my %environment = ($self->environment, %more);
	local @ENV{ keys %environment } = values %environment;

	$node->start;
	return;
}

# Writes words of the control file, from that one on.
sub write
{
	my ($self, $first, @words) = @_;

	open(my $fh, '+<:raw', $self->{control}) or die "$self->{control}: $!";
	sysseek($fh, 8 * $first, 0);
	syswrite($fh, pack('q*', @words)) == 8 * @words or die "$self->{control}: $!";
	close($fh);
	return;
}

# All words of the control file.
sub read
{
	my ($self) = @_;

	return unpack('q*', slurp_file($self->{control}));
}

# The clock on which drift_clock's is based.
sub raw_ns { return int(clock_gettime(CLOCK_MONOTONIC_RAW) * 1e9); }

# By how much CLOCK_MONOTONIC is ahead of it: with that, drift_clock's has no
# step when a process begins to have it.
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

# The process id of the worker that watches the clock: as it is connected to no
# database, pg_stat_activity does not have it, and there may be no ps.
sub watcher
{
	my ($node) = @_;
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;

	for my $dir (glob '/proc/[0-9]*')
	{
		# The process may end meanwhile.
		my ($stat, $args) = map { my $in; open($in, '<', "$dir/$_") ? join('', <$in>) : '' } qw(stat cmdline);

		# pid (name) state parent ...
		return $1 if $args =~ /clocktiming watch/ && $stat =~ /^(\d+) .*\) \S $postmaster /;
	}
	return 0;
}

1;
