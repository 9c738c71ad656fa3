
# A session of psql that runs in the background, so that a test can send a statement, do something
# else, and read the result later. Replaces PostgreSQL::Test::BackgroundPsql, which early minor
# releases of PostgreSQL 15 lack, and which does not return the SQLSTATE.

package ClockSession;

use strict;
use warnings;

use IPC::Run;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

# Maximum time in seconds, and maximum CPU time in seconds, between the interruption of a statement
# and its end. On an idle machine, a statement ends after 10 ms, but on a loaded machine its process
# may wait long for the CPU. Uninterrupted, no tested statement ends within this time.
my $allowed = 30;
my $allowed_cpu = 1;

# Queries for the state of a session. A statement must not change this state, whether it succeeds,
# fails or is cancelled. Tests add queries.
our $state = q{
	SELECT md5(string_agg(name || setting, ',' ORDER BY name)) FROM pg_settings
		WHERE name NOT IN ('statement_timeout') AND name NOT LIKE 'transaction%';
	SHOW transaction_read_only;
	SELECT current_setting('clocktiming.worker_observation') = '';
	SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker';
};

# ClockSession->new($node, dbname => ..., user => ...)
sub new
{
	my ($class, $node, %args) = @_;
	my $self = bless { node => $node, in => '', out => '', err => '', marks => 0 }, $class;
	my $dbname = $args{dbname} || 'postgres';
	my $connstr = $node->connstr($dbname);

	$connstr .= " user=$args{user}" if defined $args{user};
	$self->{timer} =
	  IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default);
	$self->{psql} = IPC::Run::start(
		[ 'psql', '-X', '-A', '-t', '-q', '-d', $connstr ],
		'<' => \$self->{in},
		'>' => \$self->{out},
		'2>' => \$self->{err},
		$self->{timer});
	$self->{pid} = $self->query('SELECT pg_backend_pid()')->{out};
	die "no session: $self->{err}" unless $self->{pid} =~ /^\d+$/;
	return $self;
}

# Returns the process id of the session's backend.
sub pid
{
	my ($self) = @_;
	return $self->{pid};
}

# Returns the backend's CPU time in seconds, or 0 if there is no /proc. Unlike the elapsed time, the
# CPU time does not depend on other processes.
sub cpu
{
	my ($self) = @_;

	return cpu_of($self->{pid});
}

# The same for any process.
sub cpu_of
{
	my ($pid) = @_;

	open(my $fh, '<', "/proc/$pid/stat") or return 0;
	my @fields = split / /, <$fh> =~ s/^.*\) //sr;
	close($fh);
	return ($fields[11] + $fields[12]) / POSIX::sysconf(&POSIX::_SC_CLK_TCK);
}

# Starts measuring the time and CPU time that result() returns.
sub count_from_here
{
	my ($self) = @_;

	$self->{since} = time;
	$self->{cpu_since} = defined $self->{pid} ? $self->cpu : 0;
	return;
}

# Sends a statement without waiting for it.
sub send
{
	my ($self, $sql) = @_;

	$self->{marks}++;
	$self->{out} = $self->{err} = '';
	$self->count_from_here;

	# Prints a mark on stdout and on stderr, to find the end of the statement's output.
	$self->{in} .=
	  "$sql\n;\n\\echo =$self->{marks}= :SQLSTATE\n\\warn =$self->{marks}=\n";

	# The session may have been idle for longer than the timeout.
	$self->{timer}->start($PostgreSQL::Test::Utils::timeout_default);
	$self->{psql}->pump_nb;
	return;
}

# Waits for the end of the statement that send() has sent, and returns a hash: out, err, state
# (SQLSTATE), seconds (duration), and cpu (CPU time of the backend in seconds).
sub result
{
	my ($self) = @_;
	my $mark = "=$self->{marks}=";
	my $seconds;
	my $state;

	$self->{timer}->start($PostgreSQL::Test::Utils::timeout_default);
	until ($self->{out} =~ /^$mark \w+\n/m && $self->{err} =~ /^$mark\n/m)
	{
		last unless $self->{psql}->pumpable;
		$self->{psql}->pump;
	}
	$seconds = time - $self->{since};
	$state = $1 if $self->{out} =~ s/^$mark (\w+)\n\z//m;
	$self->{err} =~ s/^$mark\n//m;
	my $out = $self->{out};
	chomp $out;
	return {
		out => $out,
		err => $self->{err},
		state => defined $state ? $state : 'session ended',
		seconds => $seconds,
		cpu => defined $self->{pid} ? $self->cpu - $self->{cpu_since} : 0
	};
}

sub query
{
	my ($self, $sql) = @_;

	$self->send($sql);
	return $self->result;
}

# Returns the only row of a query as a hash of its columns, whose values may not contain "|". In
# list context, also returns the text on stderr.
sub row
{
	my ($self, $sql) = @_;

	$self->query('\pset tuples_only off');
	my $result = $self->query($sql);
	my ($names, $values) = split /\n/, $result->{out};
	my %row;

	$self->query('\pset tuples_only on');
	die "no row: $result->{err}" unless defined $values;
	@row{ split /\|/, $names } = split /\|/, $values, -1;
	return wantarray ? (\%row, $result->{err}) : \%row;
}

# Executes a query with a statement_timeout of $ms milliseconds. Returns the same hash as result().
sub query_with_timeout
{
	my ($self, $ms, $sql) = @_;

	$self->query("SET statement_timeout = $ms");
	my $result = $self->query($sql);

	# On a busy machine, the timeout may also cancel RESET.
	1 while $self->query('RESET statement_timeout')->{state} eq '57014';
	return $result;
}

# Waits until the backend executes a statement that contains the text $what, and then $seconds
# longer.
sub wait_until_running
{
	my ($self, $what, $seconds) = @_;

	$self->{node}->poll_query_until('postgres',
		"SELECT state = 'active' AND query LIKE '%$what%' FROM pg_stat_activity WHERE pid = $self->{pid}")
	  or die "$what does not run";
	usleep(1e6 * $seconds);
	return;
}

# Interrupts the running statement: calls $function (pg_cancel_backend or pg_terminate_backend) in
# the session $by. Returns the statement's result, with its times measured from the interruption.
sub interrupted
{
	my ($self, $by, $function) = @_;

	$self->count_from_here;
	is($by->query("SELECT $function($self->{pid})")->{out}, 't', "$function is sent");
	return $self->result;
}

# Checks that a statement has ended within $allowed seconds after its interruption. $after is the
# time in seconds between the start of result()'s measurement and the interruption, by default 0.
sub ended_in_time
{
	my ($result, $what, $after) = @_;
	my $late = $result->{seconds} - ($after || 0);

	cmp_ok($late, '<', $allowed, "$what: in time");
	cmp_ok($result->{cpu} - ($after || 0), '<', $allowed_cpu, "$what: with little CPU time")
	  if $result->{state} ne 'session ended';
	diag sprintf('%s: after %.1f ms', $what, $late * 1000);
	return;
}

# Checks that the session can still measure.
sub can_measure
{
	my ($self, $what) = @_;

	is($self->query(q{SELECT readings > 0, backward_steps FROM clock_summary('system', 0.05)})->{out},
		't|0', "$what: the session can measure again");
	return;
}

# Repeats a query until it returns the expected result, and checks that it does. Needed for counts
# of processes: parallel workers take some time to end, especially on a busy machine.
sub gives
{
	my ($self, $sql, $expected, $what) = @_;
	my $until = time + $PostgreSQL::Test::Utils::timeout_default;
	my $out = $self->query($sql)->{out};

	while ($out ne $expected && time < $until)
	{
		usleep(50_000);
		$out = $self->query($sql)->{out};
	}
	is($out, $expected, $what);
	return;
}

# Returns the number of bytes that the backend has in use between two statements.
sub memory
{
	my ($self) = @_;

	return $self->query('SELECT sum(used_bytes) FROM pg_backend_memory_contexts')->{out};
}

sub quit
{
	my ($self) = @_;

	$self->{in} .= "\\q\n";
	$self->{timer}->start($PostgreSQL::Test::Utils::timeout_default);
	return $self->{psql}->finish;
}

# Returns the width of the longest line that psql prints for a query's result.
sub widest
{
	my ($self, $sql) = @_;
	my $widest = 0;

	$self->query("\\pset format aligned\n\\pset tuples_only off");
	my $result = $self->query($sql);
	$self->query("\\pset format unaligned\n\\pset tuples_only on");
	die $result->{err} unless $result->{state} eq '00000';
	foreach (split /\n/, $result->{out})
	{
		$widest = length if length > $widest;
	}
	return $widest;
}

1;
