
# A psql session that goes on while the test does something else.
#
# PostgreSQL::Test::BackgroundPsql does that, too, but early minor releases of
# 15 lack it, and it does not tell the SQLSTATE.

package ClockSession;

use strict;
use warnings;

use IPC::Run;
use POSIX ();
use PostgreSQL::Test::Utils;
use Time::HiRes qw(time);

# ClockSession->new($node, dbname => ..., user => ...)
sub new
{
	my ($class, $node, %args) = @_;
	my $self = bless { in => '', out => '', err => '', marks => 0 }, $class;
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

# The process id of the session's backend.
sub pid
{
	my ($self) = @_;
	return $self->{pid};
}

# The CPU time that the backend has had, in seconds; 0 where the system does not
# tell.  Other than the time that passes, it does not depend on what else runs.
sub cpu
{
	my ($self) = @_;

	open(my $fh, '<', "/proc/$self->{pid}/stat") or return 0;
	my @fields = split / /, <$fh> =~ s/^.*\) //sr;
	close($fh);
	return ($fields[11] + $fields[12]) / POSIX::sysconf(&POSIX::_SC_CLK_TCK);
}

# Sends a statement and does not wait for it.
sub send
{
	my ($self, $sql) = @_;

	$self->{marks}++;
	$self->{out} = $self->{err} = '';
	$self->{sent} = time;

	# The marks tell the statement's end, on both streams.
	$self->{in} .=
	  "$sql\n;\n\\echo =$self->{marks}= :SQLSTATE\n\\warn =$self->{marks}=\n";
	$self->{psql}->pump_nb;
	return;
}

# Waits for the statement sent, and returns what came of it: out, err, state
# (SQLSTATE) and seconds.
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
	$seconds = time - $self->{sent};
	$state = $1 if $self->{out} =~ s/^$mark (\w+)\n\z//m;
	$self->{err} =~ s/^$mark\n//m;
	my $out = $self->{out};
	chomp $out;
	return {
		out => $out,
		err => $self->{err},
		state => defined $state ? $state : 'session ended',
		seconds => $seconds
	};
}

sub query
{
	my ($self, $sql) = @_;

	$self->send($sql);
	return $self->result;
}

# A query's only row, as a hash of its columns, which may not contain "|"; in
# list context also what was written to stderr.
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

sub quit
{
	my ($self) = @_;

	$self->{in} .= "\\q\n";
	$self->{timer}->start($PostgreSQL::Test::Utils::timeout_default);
	return $self->{psql}->finish;
}

1;
