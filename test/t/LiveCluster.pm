
# A server on which clock_running shows each execution from its start. The function hold() makes a
# query wait at a given row until the test lets the query continue. So the test knows the counters
# that clock_running must show.

package LiveCluster;

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use Test::More;

use ClockSession;

# LiveCluster->new("settings of postgresql.conf, in addition to those below")
sub new
{
	my ($class, $settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new('main');

	$node->init;
	$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'clocktiming'
clocktiming.live = on
clocktiming.live_after = 0
clocktiming.live_interval = 1
max_parallel_workers_per_gather = 0
jit = off
restart_after_crash = on
} . ($settings // ''));
	$node->start;
	$node->safe_psql('postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE a AS SELECT i, i % 10 AS k FROM generate_series(1, 1000) AS i;
	CREATE TABLE b AS SELECT i FROM generate_series(1, 1000) AS i;
	CREATE TABLE big AS SELECT i, md5(i::text) AS p FROM generate_series(1, 100000) AS i;
	CREATE INDEX b_i ON b (i);
	ANALYZE;
	CREATE FUNCTION hold(i bigint, at bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
	BEGIN
		IF i = at THEN
			PERFORM pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1);
		END IF;
		RETURN i;
	END $$;
	CREATE FUNCTION caller() RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
		n bigint;
	BEGIN
		SELECT count(*) INTO n FROM (SELECT hold(i, 300) FROM a OFFSET 0) s;
		RETURN n;
	END $$});
	my $self = bless { node => $node, holder => ClockSession->new($node) }, $class;
	$self->new_session;
	return $self;
}

# Replaces the session that executes the observed statements. $self->{rows} is a FROM clause that
# selects the session's rows of clock_running.
sub new_session
{
	my ($self) = @_;

	$self->{session}->quit if $self->{session};
	$self->{session} = ClockSession->new($self->{node});
	$self->{pid} = $self->{session}->pid;
	$self->{rows} = "FROM clock_running WHERE pid = $self->{pid}";
	return;
}

# Executes a query in another session, which clock_running does not show, and returns its result.
sub query { my ($self, $sql) = @_; return $self->{node}->safe_psql('postgres', "SET clocktiming.live = off; $sql"); }

# Waits until a query returns true.
sub wait_for
{
	my ($self, $sql) = @_;

	$self->{node}->poll_query_until('postgres', $sql) or die "not true: $sql";
	return;
}

my $waits = q{SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted};

# Starts a statement that calls hold(). When the statement waits, calls the function $during. Then
# lets the statement continue, and returns its result.
sub while_waiting
{
	my ($self, $sql, $during) = @_;

	$self->{holder}->query('SELECT pg_advisory_lock(1)');
	$self->{session}->send($sql);
	$self->wait_for($waits);
	# A timeout publishes the counters. Waits until it has published those of all levels after $now.
	my $now = $self->query('SELECT clock_timestamp()');
	$self->wait_for("SELECT coalesce(bool_and(fresh), true) FROM (SELECT max(as_of) > '$now' AS fresh $self->{rows} GROUP BY level) s");
	$during->();
	$self->{holder}->query('SELECT pg_advisory_unlock(1)');
	my $result = $self->{session}->result;
	# If the statement was cancelled in hold(), the session still has the lock.
	$self->{session}->query('SELECT pg_advisory_unlock_all()');
	return $result;
}

# Executes a query that calls hold(), and checks the rows of clock_running while the query waits.
# Each expected line consists of level, node type, loops, rows and state. $settings is a list of
# settings that are off during the query.
sub shows
{
	my ($self, $name, $sql, $expected, $settings) = @_;
	my @settings = split ' ', $settings // '';

	$self->{session}->query("SET $_ = off") foreach @settings;
	my $result = $self->while_waiting($sql, sub {
		is($self->query("SELECT concat_ws('|', level, node_type, loops, rows, coalesce(state, 'unknown')) $self->{rows} AND node_type NOT LIKE '%Result' ORDER BY level, node"),
			join("\n", @$expected), $name);
	});
	$self->{session}->query("RESET $_") foreach @settings;
	return $result;
}

1;
