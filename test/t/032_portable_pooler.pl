
# The portable edition with pgbouncer in transaction mode. The statements of a client may be
# executed in different sessions of the server, and clients share these sessions.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use PortableEdition;

my ($pgbouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
plan skip_all => 'pgbouncer is not installed' unless defined $pgbouncer;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'log_statement = none');
$node->start;
$node->safe_psql(
	'postgres', q{
	REVOKE CREATE ON SCHEMA public FROM PUBLIC;
	CREATE ROLE regress_owner LOGIN;
	CREATE ROLE regress_nobody LOGIN;
	CREATE SCHEMA clock AUTHORIZATION regress_owner;
	GRANT USAGE ON SCHEMA clock TO PUBLIC});

# ClockSession->new() accepts an object of this class as its node. connstr() returns a connection
# string for pgbouncer instead of the server.
package Pool
{
	sub connstr { return "host=$_[0]{dir} port=$_[0]{port} dbname=$_[1]" }
}

my $pool = bless { dir => PostgreSQL::Test::Utils::tempdir_short(), port => PostgreSQL::Test::Cluster::get_free_port() }, 'Pool';
my ($host, $port) = ($node->host, $node->port);
append_to_file("$pool->{dir}/users", qq{"regress_owner" ""\n"regress_nobody" ""\n});
append_to_file("$pool->{dir}/ini", <<"END");
[databases]
postgres = host=$host port=$port
[pgbouncer]
listen_addr =
listen_port = $pool->{port}
unix_socket_dir = $pool->{dir}
auth_type = trust
auth_file = $pool->{dir}/users
pool_mode = transaction
default_pool_size = 2
END
my $log = '';
my $bouncer = IPC::Run::start([ $pgbouncer, "$pool->{dir}/ini" ], '>&' => \$log);
for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
{
	last if -S "$pool->{dir}/.s.PGSQL.$pool->{port}";
	$bouncer->pump_nb;
	select(undef, undef, undef, 0.1);
}

# Query for the state of a session. The function below executes it in each of the two pooled
# sessions: while a client's transaction keeps one of them, another client's statement is executed
# in the other session.
my $is_like = q{SELECT (SELECT count(*) FROM pg_prepared_statements),
	(SELECT count(*) FROM pg_cursors),
	(SELECT md5(string_agg(name || setting, ',' ORDER BY name)) FROM pg_settings WHERE name NOT LIKE 'transaction%'),
	(SELECT count(*) FROM pg_proc WHERE pronamespace = pg_my_temp_schema()),
	(SELECT count(*) FROM pg_class WHERE relnamespace = pg_my_temp_schema())};

sub both
{
	my (@sessions) = @_;
	my @are;

	$sessions[0]->query('BEGIN');
	my @pids = map { $_->query('SELECT pg_backend_pid()')->{out} } @sessions[ 0, 1 ];
	foreach my $s (@sessions[ 0, 1 ])
	{
		$s->query('DO $$BEGIN END$$');
		push @are, $s->query($is_like)->{out};
	}
	$sessions[0]->query('COMMIT');
	isnt($pids[0], $pids[1], 'two pooled sessions');
	return join("\n", sort @are);
}

# Installs the edition in a schema. Each statement of a client may be executed in another session.
my @owners = map { ClockSession->new($pool, user => 'regress_owner') } 1 .. 3;
my $before = both(@owners);
$owners[0]->query('BEGIN');
$owners[0]->query('SET LOCAL search_path = clock');
like(PortableEdition::install($owners[0])->{err}, qr/is installed in schema clock\n/, 'installed in a schema, in a transaction');
is($owners[0]->query('COMMIT')->{state}, '00000', 'COMMIT');
my $n = 0;
foreach my $call (PortableEdition::calls($owners[0], 'clock'))
{
	# While another client's transaction keeps one session, the call is executed in the other one.
	# This is done for every second call, so that the calls use both sessions.
	my ($user, $other) = @owners[ $n % 3, ($n + 1) % 3 ];
	$other->query('BEGIN') if $n++ % 2;
	my $result = $user->query($call);
	is($result->{state}, '00000', $call) or diag $result->{err};
	isnt($result->{out}, '', "$call: a result");
	$other->query('ROLLBACK');
}
is(both(@owners), $before, 'nothing is left in the pooled sessions');

# Calls that fail must also leave the sessions unchanged.
foreach my $call (grep { /\bquery => / } PortableEdition::calls($owners[0], 'clock'))
{
	my $failing = $call =~ s/query => '.*?'/query => 'SELECT 1 \/ (i - 500) FROM generate_series(1, 1000) AS i'/r;
	is($owners[0]->query($failing)->{state}, '22012', "the query's own error: $call");
}
is(both(@owners), $before, 'nothing is left after an error');
$_->quit foreach @owners;

# A role without privileges installs the functions, calls them, and rolls back, all in one
# transaction.
my @nobodies = map { ClockSession->new($pool, user => 'regress_nobody') } 1 .. 2;
$before = both(@nobodies);
foreach my $s (@nobodies, @nobodies)
{
	$s->query('BEGIN');
	like(PortableEdition::install($s)->{err}, qr/is installed in schema pg_temp/, 'installed in pg_temp');
	my $result = $s->query('SELECT cost_ns > 0 FROM pg_temp.clock_summary(duration => 0.2)');
	is($result->{out}, 't', 'and called in the same transaction') or diag $result->{err};
	$s->query('ROLLBACK');
}
is(both(@nobodies), $before, 'nothing is left in the pooled sessions');
$_->quit foreach @nobodies;

$bouncer->kill_kill;
done_testing();
