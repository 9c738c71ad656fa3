
# Many servers: all are asked at once, one that is down is a row that says so, the odd ones are named, and nobody
# gets further by it than postgres_fdw would let him.

use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf(
	'postgresql.conf', q{
shared_preload_libraries = 'clocktiming'
clocktiming.watch = on
clocktiming.watch_interval = 200ms
});
my $hba = slurp_file($node->data_dir . '/pg_hba.conf');
unlink($node->data_dir . '/pg_hba.conf');
append_to_file($node->data_dir . '/pg_hba.conf', "local all regress_asked scram-sha-256\n$hba");
$node->start;
plan(skip_all => 'postgres_fdw is not installed')
  if $node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'}) eq '0';

sub query { my ($sql, $database) = @_; return $node->safe_psql($database // 'postgres', $sql); }
sub fails { my ($sql, $pattern, $what, @parameters) = @_; my (undef, undef, $stderr) = $node->psql('postgres', $sql, @parameters); return like($stderr, $pattern, $what); }

my $host = $node->host;
my $port = $node->port;
my @servers = map { "s$_" } 1 .. 8;

query('CREATE EXTENSION clocktiming');
is(query('SELECT count(*) FROM clock_fleet'), '0', 'a fleet without servers');
fails(q{SELECT clock_fleet_add('s1', '{}')}, qr/extension postgres_fdw is not installed.*HINT:.*CREATE EXTENSION postgres_fdw/s, 'postgres_fdw is needed to add one');
query('CREATE EXTENSION postgres_fdw');
foreach my $server (@servers)
{
	query("CREATE DATABASE $server");
	query('CREATE EXTENSION clocktiming', $server);
	query("SELECT clock_fleet_add('$server', jsonb_build_object('host', '$host', 'port', $port, 'dbname', '$server'))");
}
ok($node->poll_query_until('postgres', q{SELECT count(*) = 8 AND bool_and(error IS NULL AND warm_ns > 0 AND at > now() - interval '1 hour' AND source IN (SELECT source FROM clock_sources) AND server_version = current_setting('server_version') AND answer_ms > 0) FROM clock_fleet}),
	'all servers, with their latest state');
is(query(q{SELECT jsonb_typeof(clock_state()) || ' ' || (clock_state() ? 'warm_ns') || ' ' || (clock_state() ? 'verdict') || ' ' || (clock_state() ? 'sample')}, 's1'), 'object true true false', 'a state is one value');

# the history
like(query(q{EXPLAIN (COSTS OFF) SELECT server, warm_ns FROM clock_fleet_history}), qr/(Async Foreign Scan on clock_remote_history_s\d.*){8}/s, 'histories are read asynchronously');
is(query(q{SELECT string_agg(DISTINCT server, ' ' ORDER BY server) FROM clock_fleet_history WHERE (clock_summary(sample)).readings > 0}), "@servers", 'histories have their samples');
is(query(q{SELECT count(*) FROM clock_fleet_events WHERE server !~ '^s[1-8]$'}), '0', 'events of all servers');

# Names and options are data.
my $weird = q{x'; DROP TABLE "y" --\\};
my $text = $weird =~ s/'/''/gr;
query("SELECT clock_fleet_add('$text', jsonb_build_object('host', '$host', 'port', $port, 'dbname', 's1', 'user', 'it''s \\\"me\\\"'))");
is(query(q{SELECT count(*) || ' ' || max(error) FROM clock_fleet WHERE server LIKE 'x%'}), qq{1 connection to server on socket "$host/.s.PGSQL.$port" failed: FATAL:  role "it's \\"me\\"" does not exist}, 'names are quoted');
is(query(q{SELECT srvname FROM pg_foreign_server WHERE srvname LIKE 'x%'}), $weird, 'as they are');
(my $quoted = $weird) =~ s/"/""/g;
query(qq{DROP SERVER "$quoted" CASCADE});
is(query('SELECT count(*) FROM clock_fleet'), '8', 'a server that is dropped is gone');
fails(q{SELECT clock_fleet_add('z', '{"no_such": 1}')}, qr/invalid option "no_such"/, 'options are checked');
fails(q{SELECT clock_fleet_add('z', '{"host": null}')}, qr/option "host" must not be null/, 'and not null');
fails(qq{SELECT clock_fleet_add('@{[ 'z' x 43 ]}', '{}')}, qr/between 1 and 42 bytes/, 'names are not cut');
foreach my $case ([ 'nobody_there', qr/role "nobody_there" does not exist/ ], [ 'none', qr/role name "none" is reserved/ ])
{
	my ($status, undef, $stderr) = $node->psql('postgres', qq{SELECT clock_fleet_add('z', '{"password": "hush"}', '$case->[0]')});
	like($stderr, $case->[1], "no user mapping for $case->[0] ...");
	unlike($stderr, qr/hush/, '... and the error does not have the password');
}
is(query(q{SELECT count(*) FROM pg_foreign_server WHERE srvname LIKE 'z%'}), '0', 'what fails leaves nothing');

# Three of them are odd; the others differ by as much as servers do.  All have had a quiet hour.
my @columns = split /,/, query(q{SELECT string_agg(attname || ' ' || format_type(atttypid, NULL), ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'clock_history'::regclass});
sub pretend
{
	my ($server, $warm_ns, $rate_ppm, $event) = @_;
	my %values = (per => q{'minute'}, at => q{now() - i * interval '1 minute'}, watched_s => '60', warm_ns => $warm_ns, rate_ppm => $rate_ppm);
	query('CREATE OR REPLACE VIEW clock_history AS SELECT '
		  . join(', ', map { my ($name, $type) = split / /, $_, 2; "CAST(" . ($values{$name} // 'NULL') . " AS $type) AS $name" } @columns)
		  . ' FROM generate_series(1, 61) AS i;'
		  . q{CREATE OR REPLACE VIEW clock_events AS SELECT now() - interval '5 minutes' AS at, 'warp'::text AS what, ''::text AS before, ''::text AS after, ''::text AS evidence, NULL::timestamptz AS ended_at WHERE }
		  . ($event ? 'true' : 'false'), $server);
	return;
}
my $odd = q{SELECT string_agg(server || ' ' || what, ', ') FROM clock_fleet_outliers()};
foreach my $n (1 .. 8) { pretend("s$n", 25 + $n % 4 * 0.2, $n * 3, 0); }
is(query($odd), '', 'none is odd');
pretend('s3', 250, 9, 0);
pretend('s5', 25, 1009, 0);
pretend('s8', 25, 24, 1);
is(query($odd), 's3 cost, s5 rate, s8 trust', 'exactly the odd ones are named');
is(query(q{SELECT figure || ' ' || (median BETWEEN 25 AND 26) || ' ' || (high BETWEEN 30 AND 100) FROM clock_fleet_outliers() WHERE what = 'cost'}), '250 true true', 'with figures');
pretend("s$_", 25, 24, 1) foreach 1 .. 7;
is(query($odd), '', 'what all have in common is not odd');
fails("SELECT * FROM clock_fleet_outliers($_)", qr/confidence must be/, "confidence $_ is refused") foreach (100, "'NaN'", 49, 'NULL');
is(query(q{SELECT count(*) FROM clock_outlier_limits(NULL) WHERE median IS NULL AND low IS NULL}), '1', 'of nothing none is odd');

# One that lies, and one where nothing is known
query(q{CREATE OR REPLACE FUNCTION clock_state() RETURNS jsonb LANGUAGE sql AS $$SELECT '{"warm_ns": "cheap"}'::jsonb$$}, 's1');
query(q{DROP EXTENSION clocktiming CASCADE}, 's2');
is(query(q{SELECT string_agg(server || ': ' || error, '; ' ORDER BY server) FROM clock_fleet}),
	's1: unexpected answer: invalid input syntax for type double precision: "cheap"; s2: function public.clock_state() does not exist', 'one whose answer is wrong, and one without clocktiming');
query("DROP SERVER $_ CASCADE") foreach qw(s1 s2);

# What is down.  Those that hang have their connections at the same time.
my @hanging = map { IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1') } 1 .. 4;
my $closed = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1');
my $closed_port = $closed->sockport;
close($closed);
sub add { my ($name, $to, $seconds) = @_; return query("SELECT clock_fleet_add('$name', '{\"host\": \"127.0.0.1\", \"port\": $to, \"connect_timeout\": $seconds}')"); }
add('down', $closed_port, 600);
add("hangs$_", $hanging[$_]->sockport, $_ == 0 ? 1 : 600) foreach 0 .. 3;
my ($in, $out, $err) = ('', '', '');
my $session = IPC::Run::start([ 'psql', '-X', '-d', $node->connstr('postgres'), '-c', q{SET application_name = 'reads the fleet'; SELECT * FROM clock_fleet} ], \$in, \$out, \$err);
my @accepted;
foreach my $listener (@hanging)
{
	my $ready = IO::Select->new($listener)->can_read($PostgreSQL::Test::Utils::timeout_default);
	push @accepted, scalar $listener->accept if $ready;
}
is(scalar @accepted, 4, 'all that hang are asked ...');
sub received { my ($socket) = @_; my $got = $socket->recv(my $data, 10000); return defined $got ? length $data : -1; }
ok(received($accepted[$_]) > 0, 'by a message ...') foreach 1 .. 3;
my $select = IO::Select->new(@accepted[ 1 .. 3 ]);
is(scalar($select->can_read(0)), undef, 'which is not given up while the others are asked');
query(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'reads the fleet'});
$session->finish;
like($err, qr/canceling statement due to user request/, 'which can be cancelled');
is(received($accepted[$_]), 0, 'and then is') foreach 1 .. 3;
query("DROP SERVER hangs$_ CASCADE") foreach 1 .. 3;
is(query(q{SELECT string_agg(server || ': ' || regexp_replace(coalesce(error, 'answers'), '^.*: ', ''), ', ' ORDER BY server) FROM clock_fleet}),
	'down: Connection refused, hangs0: no answer within 1 s, s3: answers, s4: answers, s5: answers, s6: answers, s7: answers, s8: answers', 'what is down is a row');
query("DROP SERVER $_ CASCADE") foreach ('down', 'hangs0');

# Who may do what
query(q{SET password_encryption = 'scram-sha-256'; CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor; CREATE ROLE regress_asked LOGIN PASSWORD 'secret' IN ROLE pg_monitor; CREATE ROLE regress_other LOGIN});
my @monitor = (extra_params => [ '-U', 'regress_monitor' ]);
fails(q{SELECT clock_fleet_add('z', '{}')}, qr/permission denied for function clock_fleet_add/, 'who monitors adds no server', @monitor);
fails(q{SELECT * FROM clock_fleet}, qr/permission denied/, 'others do not see the fleet', extra_params => [ '-U', 'regress_other' ]);
sub seen { my ($server) = @_; my ($status, $stdout, $stderr) = $node->psql('postgres', "SELECT coalesce(error, 'answers') FROM clock_fleet WHERE server = '$server'", @monitor); return $stdout . $stderr; }
sub seen_by_fdw { my ($server) = @_; my ($status, $stdout, $stderr) = $node->psql('postgres', "SELECT count(*) > 0 FROM clock_fleet_history WHERE server = '$server'", @monitor); return $stdout . $stderr; }
like(seen('s3'), qr/^user mapping not found for/, 'who monitors needs a user mapping');
query('CREATE USER MAPPING FOR regress_monitor SERVER s3');
like(seen('s3'), qr/^password is required/, 'with a password');
query("DROP SERVER $_ CASCADE") foreach qw(s4 s5 s6 s7 s8);
like(seen_by_fdw('s3'), qr/password/, 'for histories, too');
query(q{ALTER USER MAPPING FOR regress_monitor SERVER s3 OPTIONS (ADD user 'regress_other', ADD password 'secret')});
like(seen('s3'), qr/^password is required/, 'which the server has to ask for');
query(q{ALTER USER MAPPING FOR regress_monitor SERVER s3 OPTIONS (SET user 'regress_asked')});
is(seen('s3'), 'answers', 'then it answers');
is(seen_by_fdw('s3'), 't', 'with its history');
query(q{ALTER USER MAPPING FOR regress_monitor SERVER s3 OPTIONS (SET password 'wrong')});
like(seen('s3'), qr/password authentication failed/, 'the password counts');
query(q{ALTER USER MAPPING FOR regress_monitor SERVER s3 OPTIONS (DROP password, DROP user, ADD password_required 'false')});
is(seen('s3'), 'answers', 'unless a superuser has said that none is required');
query(q{SELECT clock_fleet_add('s4', jsonb_build_object('host', '} . $host . q{', 'port', } . $port . q{, 'dbname', 's4', 'user', 'regress_asked', 'password', 'secret'), role => 'public')});
is(seen('s4'), 'answers', 'a user mapping for everybody');
query(q{ALTER SERVER s4 OPTIONS (SET dbname 's5')});
is(seen('s4'), 'answers', 'options are postgres_fdw\'s');

# a server that is there already
query(qq{CREATE SERVER there FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 's6'); CREATE USER MAPPING FOR CURRENT_USER SERVER there; SELECT clock_fleet_add('there')});
is(query(q{SELECT error IS NULL FROM clock_fleet WHERE server = 'there'}), 't', 'a foreign server that was there');

# a dump has it all
my $list = q{SELECT string_agg(server || ' ' || history || ' ' || coalesce(error, 'answers'), ', ' ORDER BY server) FROM clock_fleet};
my $before = query($list);
my $file = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $file, $node->connstr('postgres') ], 'pg_dump');
query('CREATE DATABASE restored TEMPLATE template0');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file, $node->connstr('restored') ], 'and psql');
is(query($list, 'restored'), $before, 'restore the fleet');

# Descriptors for some of them only: the others wait for their turn.
$node->append_conf('postgresql.conf', 'max_files_per_process = 80');
$node->restart;
query("SELECT clock_fleet_add('t' || i, jsonb_build_object('host', '$host', 'port', $port, 'dbname', 's7')) FROM generate_series(1, 40) i");
is(query(q{SELECT count(*), string_agg(DISTINCT error, ', ') FROM clock_fleet WHERE server ~ '^t\d'}), '40|', 'more servers than there are descriptors for');
query('DROP SERVER t' . $_ . ' CASCADE') foreach 1 .. 40;

# elsewhere
query('CREATE SCHEMA elsewhere; ALTER EXTENSION clocktiming SET SCHEMA elsewhere', 'restored');
is(query(q{SELECT count(*) FROM elsewhere.clock_fleet WHERE error IS NULL}, 'restored'), '3', 'in another schema, too');
query('CREATE SCHEMA elsewhere; ALTER EXTENSION clocktiming SET SCHEMA elsewhere', 's7');
query(qq{SET search_path = elsewhere; SELECT clock_fleet_add('s7', jsonb_build_object('host', '$host', 'port', $port, 'dbname', 's7', 'schema', 'elsewhere'))}, 'restored');
is(query(q{SELECT error IS NULL FROM elsewhere.clock_fleet WHERE server = 's7'}, 'restored'), 't', 'and of a server where it is in another schema');
$node->stop;

done_testing();
