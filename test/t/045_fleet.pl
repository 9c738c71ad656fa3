
# clock_fleet with many servers. A server that is down or does not answer is a row with the reason,
# and delays the result only by its connect_timeout. No query keeps running on any server. Outliers
# are found. clock_fleet grants a user no more rights than dblink does.

use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--locale=C', '--encoding=UTF8' ]);
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
plan(skip_all => 'dblink is not installed')
  if $node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'dblink'}) eq '0';

sub query { my ($sql, $database) = @_; return $node->safe_psql($database // 'postgres', $sql); }
sub fails { my ($sql, $pattern, $what, @parameters) = @_; my (undef, undef, $stderr) = $node->psql('postgres', $sql, @parameters); return like($stderr, $pattern, $what); }

my $host = $node->host;
my $port = $node->port;
my @servers = map { "s$_" } 1 .. 8;

query('CREATE EXTENSION clocktiming');
is(query('SELECT count(*) FROM clock_fleet'), '0', 'a fleet without servers');
fails(q{SELECT clock_fleet_add('s1', '{}')}, qr/extension dblink is not installed.*HINT:.*CREATE EXTENSION dblink/s, 'dblink is needed to add one ...');
query(q{CREATE FOREIGN DATA WRAPPER other; CREATE SERVER one TYPE 'clocktiming' FOREIGN DATA WRAPPER other});
fails('SELECT * FROM clock_fleet', qr/extension dblink is not installed.*HINT:.*CREATE EXTENSION dblink/s, '... and to query one');
query('DROP FOREIGN DATA WRAPPER other CASCADE; CREATE EXTENSION dblink');
foreach my $server (@servers)
{
	query("CREATE DATABASE $server");
	query('CREATE EXTENSION clocktiming', $server);
	query("SELECT clock_fleet_add('$server', jsonb_build_object('host', '$host', 'port', $port, 'dbname', '$server'))");
}
ok($node->poll_query_until('postgres', q{SELECT count(*) = 8 AND bool_and(error IS NULL AND warm_ns > 0 AND at > now() - interval '1 hour' AND source IN (SELECT source FROM clock_sources) AND server_version = current_setting('server_version') AND answer_ms > 0) FROM clock_fleet}),
	'all servers, with their latest state');
is(query(q{SELECT jsonb_typeof(internal_clock_state()) || ' ' || (internal_clock_state() ? 'warm_ns') || ' ' || (internal_clock_state() ? 'verdict') || ' ' || (internal_clock_state() ? 'sample')}, 's1'), 'object true true false', 'a state is one value');

# clock_fleet_ask() with other queries
my $history = q{SELECT to_jsonb(h) FROM clock_history h WHERE per = 'minute' AND warm_ns IS NOT NULL};
is(query(qq{SELECT string_agg(DISTINCT server, ' ' ORDER BY server) FROM clock_fleet_ask(\$\$$history\$\$) a, jsonb_populate_record(NULL::clock_history, a.answer) h WHERE (clock_summary(h.sample)).readings > 0}), "@servers", 'histories have their samples');
is(query(q{SELECT count(*), count(answer), count(error) FROM clock_fleet_ask('SELECT 1 WHERE false')}), '8|0|0', 'a server without an answer is a row');
is(query(q{SELECT count(*), sum(answer::integer) FROM clock_fleet_ask('SELECT generate_series(1, 100)')}), '800|40400', 'each answer of a server is a row');
is(query(q{SELECT DISTINCT error FROM clock_fleet_ask('SELECT 1, 2') UNION ALL SELECT DISTINCT error FROM clock_fleet_ask('SELECT no_such') UNION ALL SELECT DISTINCT error FROM clock_fleet_ask($$SELECT 'no JSON'$$)}),
	qq{remote query result rowtype does not match the specified FROM clause rowtype\ncolumn "no_such" does not exist\ninvalid input syntax for type json}, 'errors are rows');
fails("SELECT clock_fleet_ask($_->[0])", qr/$_->[1]/, "$_->[0] is refused") foreach [ 'NULL', 'query must not be null' ], map { [ "'SELECT 1', $_", 'seconds must be between 0.001 and 3600' ] } 'NULL', 0, -1, 3601, "'NaN'", "'Infinity'";

# Names and options of servers are not executed as SQL.
my $weird = q{x'; DROP TABLE "y" --\\};
my $text = $weird =~ s/'/''/gr;
query("SELECT clock_fleet_add('$text', jsonb_build_object('host', '$host', 'port', $port, 'dbname', 's1', 'user', 'it''s \\\"me\\\"'))");
is(query(q{SELECT count(*) || ' ' || max(error) FROM clock_fleet WHERE server LIKE 'x%'}), qq{1 connection to server on socket "$host/.s.PGSQL.$port" failed: FATAL:  role "it's \\"me\\"" does not exist}, 'names are quoted');
is(query(q{SELECT srvname FROM pg_foreign_server WHERE srvname LIKE 'x%'}), $weird, 'names are stored unchanged');
(my $quoted = $weird) =~ s/"/""/g;
query(qq{DROP SERVER "$quoted" CASCADE});
is(query('SELECT count(*) FROM clock_fleet'), '8', 'a server that is dropped is gone');
fails(q{SELECT clock_fleet_add('z', '{"no_such": 1}')}, qr/invalid option "no_such"/, 'options are checked');
fails(q{SELECT clock_fleet_add('z', '{"host": null}')}, qr/option "host" must not be null/, 'options must not be null');
fails("SELECT clock_fleet_add($_, '{}')", qr/between 1 and 63 bytes/, 'names are not cut') foreach "repeat('z', 64)", q{''}, 'NULL';
fails("SELECT clock_fleet_add('z', $_)", qr/must not be null/, 'nothing is null') foreach 'NULL', q{'{}', NULL};
foreach my $case ([ 'nobody_there', qr/role "nobody_there" does not exist/ ], [ 'none', qr/role name "none" is reserved/ ])
{
	my ($status, undef, $stderr) = $node->psql('postgres', qq{SELECT clock_fleet_add('z', '{"password": "hush"}', '$case->[0]')});
	like($stderr, $case->[1], "no user mapping for $case->[0] ...");
	unlike($stderr, qr/hush/, '... and the error does not have the password');
}
is(query(q{SELECT count(*) FROM pg_foreign_server WHERE srvname LIKE 'z%'}), '0', 'failed calls leave no servers');

# Three servers are outliers. The figures of the others differ as much as those of real servers. All
# histories have an hour without observations.
my @columns = split /,/, query(q{SELECT string_agg(attname || ' ' || format_type(atttypid, NULL), ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'clock_history'::regclass});
sub pretend
{
	my ($server, $warm_ns, $rate_ppm, $event) = @_;
	my %values = (per => q{'minute'}, at => q{now() - i * interval '1 minute'}, watched_s => '60', warm_ns => $warm_ns, rate_ppm => $rate_ppm);
	query('CREATE OR REPLACE VIEW clock_history AS SELECT '
		  . join(', ', map { my ($name, $type) = split / /, $_, 2; "CAST(" . ($values{$name} // 'NULL') . " AS $type) AS $name" } @columns)
		  . ' FROM generate_series(1, 61) AS i;'
		  . q{CREATE OR REPLACE VIEW clock_events AS SELECT now() - interval '5 minutes' AS at, 'warp'::text AS what, ''::text AS before, ''::text AS after, ''::text AS evidence, NULL::timestamptz AS ended_at, 0::bigint AS repetitions WHERE }
		  . ($event ? 'true' : 'false'), $server);
	return;
}
my $odd = q{SELECT string_agg(server || ' ' || what, ', ') FROM clock_fleet_outliers()};
foreach my $n (1 .. 8) { pretend("s$n", 25 + $n % 4 * 0.2, $n * 3, 0); }
is(query($odd), '', 'no server is an outlier');
pretend('s3', 250, 9, 0);
pretend('s5', 25, 1009, 0);
pretend('s8', 25, 24, 1);
is(query($odd), 's3 cost, s5 rate, s8 trust', 'exactly the outliers are named');
is(query(q{SELECT figure || ' ' || (median BETWEEN 25 AND 26) || ' ' || (high BETWEEN 30 AND 100) FROM clock_fleet_outliers() WHERE what = 'cost'}), '250 true true', 'outliers have their figures and limits');
pretend("s$_", 25, 24, 1) foreach 1 .. 7;
is(query($odd), '', 'a value that all servers share is no outlier');
fails("SELECT * FROM clock_fleet_outliers($_)", qr/confidence must be/, "confidence $_ is refused") foreach (100, "'NaN'", 49, 'NULL');
is(query(q{SELECT count(*) FROM internal_clock_outlier_limits(NULL) WHERE median IS NULL AND low IS NULL}), '1', 'without values, there are no limits');

# A server that returns invalid values, and one without data
query(q{CREATE OR REPLACE FUNCTION internal_clock_state() RETURNS jsonb LANGUAGE sql AS $$SELECT '{"warm_ns": "cheap", "source": "s"}'::jsonb$$}, 's1');
query(q{DROP EXTENSION clocktiming CASCADE}, 's2');
is(query(q{SELECT string_agg(server || ': ' || error, '; ' ORDER BY server) FROM clock_fleet WHERE source IS NULL}),
	's1: unexpected answer: invalid input syntax for type double precision: "cheap"; s2: function internal_clock_state() does not exist', 'a server with an invalid answer, and one without clocktiming');
query(q{CREATE FUNCTION internal_clock_state() RETURNS jsonb LANGUAGE sql AS $$SELECT '{"source": "other"}'::jsonb$$}, 's2');
is(query(q{SELECT error FROM clock_fleet WHERE server = 's2'}), 'function internal_clock_state() does not exist', 'a function of that name that is not clocktiming\'s is not called');
query('DROP SERVER s2 CASCADE');

# A query that does not end is cancelled on the asked server, also if clock_fleet itself is
# cancelled. No connection remains.
query(q{CREATE OR REPLACE FUNCTION internal_clock_state() RETURNS jsonb LANGUAGE sql AS $$SELECT '{}'::jsonb FROM pg_sleep(600)$$}, 's1');
sub nothing_at_work { my ($what) = @_; return ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE datname ~ '^s\d$'}), $what); }
is(query(q{SELECT DISTINCT coalesce(error, 'answers') FROM clock_fleet ORDER BY 1}), "answers\ncanceling statement due to statement timeout", 'a query that does not end is a row with an error');
nothing_at_work('the query no longer runs');
fails(q{SET statement_timeout = '500ms'; SELECT * FROM clock_fleet}, qr/ERROR:  canceling statement due to statement timeout/, 'the reader\'s own timeout is an error');
nothing_at_work('the query on the asked server ends, too');
my (undef, $remain) = $node->psql('postgres', q{SELECT dblink_connect('mine', 's3'); SET statement_timeout = '500ms'; SELECT clock_fleet_ask('SELECT 1 FROM pg_sleep(600)', 600); RESET statement_timeout; SELECT dblink_get_connections()}, on_error_stop => 0);
is($remain, "OK\n{mine}", 'of the connections only the session\'s own remain');
my $waits = IPC::Run::start([ 'psql', '-X', '-d', $node->connstr('postgres'), '-c', q{SELECT * FROM clock_fleet_ask('SELECT 1 FROM pg_sleep(600)', 600)} ], \my $no_input, \my $waits_out, \my $waits_err);
ok($node->poll_query_until('postgres', q{SELECT count(*) = 7 FROM pg_stat_activity WHERE datname ~ '^s\d$' AND query ~ 'pg_sleep' AND state = 'active'}), 'seven servers are at work at once');
query(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = 'postgres' AND query ~ 'clock_fleet_ask' AND pid <> pg_backend_pid()});
$waits->finish;
like($waits_err, qr/canceling statement due to user request/, 'the reader can cancel');
nothing_at_work('the query runs on no server any more');
query('DROP SERVER s1 CASCADE');

# Servers that are not available: one refuses connections, two accept them but never answer, and one
# answers with an error message in another encoding.
my @mute = map { IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1') } 1 .. 2;
my $closed = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1');
my $closed_port = $closed->sockport;
close($closed);
my $other = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1');
sub add { my ($name, $to, $seconds) = @_; return query("SELECT clock_fleet_add('$name', '{\"host\": \"127.0.0.1\", \"port\": $to, \"connect_timeout\": $seconds, \"sslmode\": \"disable\", \"gssencmode\": \"disable\"}')"); }
add('down', $closed_port, 600);
add("mute$_", $mute[ $_ - 1 ]->sockport, 2) foreach 1, 2;
add('other', $other->sockport, 600);
my $answering = fork // die $!;
if ($answering == 0)
{
	# Answers each connection with an error message in LATIN1.
	while (my $connection = $other->accept)
	{
		my $fields = "SFATAL\0C57P03\0Mgeht noch nicht: \xe4\0\0";

		$connection->sysread(my $startup, 10000);
		$connection->syswrite('E' . pack('N', 4 + length $fields) . $fields);
	}
	POSIX::_exit(0);
}
close($other);
my $all = q{SELECT string_agg(server || ': ' || regexp_replace(coalesce(error, 'answers'), '^.* failed: ', ''), ', ' ORDER BY server) FROM clock_fleet};
is(query($all), 'down: Connection refused, mute1: timeout expired, mute2: timeout expired, other: SQLSTATE 08001, and a message in another encoding, '
	  . join(', ', map { "s$_: answers" } 3 .. 8), 'a server that is down is a row with an error');
query('ALTER SERVER other OPTIONS (DROP connect_timeout)');
query(qq{ALTER SERVER down OPTIONS (SET connect_timeout '0')});
is(query(q{SELECT string_agg(server || ': ' || error || coalesce(answer_ms, -1), ', ' ORDER BY server) FROM clock_fleet WHERE error ~ '^no connect'}),
	q{down: no connect_timeout: ALTER SERVER down OPTIONS (ADD connect_timeout '3')-1, other: no connect_timeout: ALTER SERVER other OPTIONS (ADD connect_timeout '3')-1}, 'a server without connect_timeout is not asked');
query("DROP SERVER $_ CASCADE") foreach qw(down other);
kill 'KILL', $answering;
waitpid($answering, 0);

# Programs for all databases do not connect to these servers.
$node->command_ok([ 'vacuumdb', '-Z', $node->connstr('postgres') ], 'ANALYZE of the database');
my @accepted;
sub accept_all { foreach my $listener (@mute) { push @accepted, scalar $listener->accept while IO::Select->new($listener)->can_read(0); } return scalar(my @connections = splice @accepted); }
accept_all();
$node->command_ok([ 'vacuumdb', '-z', $node->connstr('postgres') ], 'VACUUM and ANALYZE');
is(accept_all(), 0, 'do not connect to any server');

# A cancellation while a server does not answer. The total time of waiting for such servers is
# limited.
my ($in, $out, $err) = ('', '', '');
my $session = IPC::Run::start([ 'psql', '-X', '-d', $node->connstr('postgres'), '-c', q{SET application_name = 'reads the fleet'; SELECT * FROM clock_fleet} ], \$in, \$out, \$err);
ok(IO::Select->new(@mute)->can_read($PostgreSQL::Test::Utils::timeout_default), 'a mute server is asked');
query(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'reads the fleet'});
$session->finish;
like($err, qr/canceling statement due to user request/, 'waiting for a mute server can be cancelled');
accept_all();
query(q{DO $$BEGIN EXECUTE replace(pg_get_functiondef('clock_fleet_ask'::regproc), '30 s', '1 s'); END$$});
like(query($all), qr/^(?=.*mute\d: timeout expired)(?=.*not asked, because failed servers have taken 1 s)/, 'servers that fail have cost enough');
cmp_ok(accept_all(), '==', 1, 'so other servers are not asked');
query(q{DO $$BEGIN EXECUTE replace(pg_get_functiondef('clock_fleet_ask'::regproc), '1 s', '30 s'); END$$});
query("DROP SERVER $_ CASCADE") foreach qw(mute1 mute2);

# Privileges
query(q{SET password_encryption = 'scram-sha-256'; CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor; CREATE ROLE regress_asked LOGIN PASSWORD 'secret' IN ROLE pg_monitor; CREATE ROLE regress_other LOGIN});
my @monitor = (extra_params => [ '-U', 'regress_monitor' ]);
fails(q{SELECT clock_fleet_add('z', '{}')}, qr/permission denied for function clock_fleet_add/, 'a member of pg_monitor may not add servers', @monitor);
fails($_, qr/permission denied/, "an ordinary role may not execute: $_", extra_params => [ '-U', 'regress_other' ]) foreach 'SELECT * FROM clock_fleet', q{SELECT clock_fleet_ask('SELECT 1')}, q{SELECT internal_clock_fleet_connect('SELECT 1', '', '', 1)};
sub seen { my ($server) = @_; my ($status, $stdout, $stderr) = $node->psql('postgres', "SELECT coalesce(error, 'answers') FROM clock_fleet WHERE server = '$server'", @monitor); return $stdout . $stderr; }
like(seen('s3'), qr/^user mapping not found for/, 'a member of pg_monitor needs a user mapping');
query('CREATE USER MAPPING FOR regress_monitor SERVER s3');
like(seen('s3'), qr/^permission denied for foreign server s3/, 'a member of pg_monitor needs USAGE');
query('GRANT USAGE ON FOREIGN SERVER s3 TO regress_monitor');
like(seen('s3'), qr/^password.* required: Non-superuser/, 'a member of pg_monitor needs a password');
query("DROP SERVER $_ CASCADE") foreach qw(s4 s5 s6 s7 s8);
query(q{ALTER USER MAPPING FOR regress_monitor SERVER s3 OPTIONS (ADD user 'regress_other', ADD password 'secret')});
like(seen('s3'), qr/^password.* required: Non-superuser/, 'and the server must request the password');
query(q{ALTER USER MAPPING FOR regress_monitor SERVER s3 OPTIONS (SET user 'regress_asked')});
is(seen('s3'), 'answers', 'with a password that the server requests, it answers');
query(q{ALTER USER MAPPING FOR regress_monitor SERVER s3 OPTIONS (SET password 'wrong')});
like(seen('s3'), qr/password authentication failed/, 'the password counts');
query(q{SELECT clock_fleet_add('s4', jsonb_build_object('host', '} . $host . q{', 'port', } . $port . q{, 'dbname', 's4', 'user', 'regress_asked', 'password', 'secret'), role => 'public')});
is(seen('s4'), 'answers', 'a user mapping for all who monitor');
is(query(q{SELECT has_server_privilege('regress_other', 's4', 'USAGE')}), 'f', 'an ordinary role gets no USAGE on the server');
query(q{ALTER SERVER s4 OPTIONS (SET dbname 's5')});
is(seen('s4'), 'answers', 'options are dblink_fdw\'s');

# A user cannot make other users' calls connect to a server of his choice.
query(q{GRANT USAGE ON FOREIGN DATA WRAPPER dblink_fdw TO regress_other, regress_monitor});
query(qq{SET ROLE $_->[0]; CREATE SERVER $_->[1] TYPE 'clocktiming' FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '$host', port '$port', dbname 's6', connect_timeout '9'); CREATE USER MAPPING FOR public SERVER $_->[1] OPTIONS (user 'regress_asked', password 'secret')})
  foreach [ 'regress_other', 'trap' ], [ 'regress_monitor', 'mine' ];
is(query(q{SELECT string_agg(server, ' ' ORDER BY server) FROM clock_fleet}), 's3 s4', 'servers of others are not asked');
is(seen('trap'), '', 'a server of another user is not shown');
is(seen('mine'), 'answers', 'the reader\'s own server is asked');
query("DROP SERVER $_ CASCADE") foreach qw(trap mine);

# Names in queries mean the same objects here and on the asked servers, whatever the session's
# settings are.
my $evil = q{CREATE SCHEMA evil; CREATE FUNCTION evil.set_config(text, text, boolean) RETURNS text LANGUAGE plpgsql AS $$BEGIN RAISE 'trapped'; END$$;
	CREATE FUNCTION evil.internal_clock_state() RETURNS jsonb LANGUAGE plpgsql AS $$BEGIN RAISE 'trapped'; END$$; CREATE FUNCTION evil.dblink_connect(text, text) RETURNS text LANGUAGE plpgsql AS $$BEGIN RAISE 'trapped'; END$$;
	CREATE FUNCTION evil.clock_fleet_ask(text) RETURNS SETOF record LANGUAGE plpgsql AS $$BEGIN RAISE 'trapped'; END$$; CREATE FUNCTION evil.format(text, name) RETURNS text LANGUAGE plpgsql AS $$BEGIN RAISE 'trapped'; END$$};
query($evil, $_) foreach 'postgres', 's3';
query('ALTER DATABASE s3 SET search_path = evil, pg_catalog');
my $strings = query('SHOW server_version_num') < 190000 ? 'SET standard_conforming_strings = off; SET escape_string_warning = off;' : '';
is(query($strings . q{SET search_path = evil, pg_catalog; SET backslash_quote = off; SET extra_float_digits = -15; SET DateStyle = 'German'; SET IntervalStyle = 'sql_standard'; SET plpgsql.variable_conflict = use_column;
	SELECT count(*) FROM public.clock_fleet WHERE error IS NULL AND warm_ns > 0; SELECT count(*) FROM public.clock_fleet_ask('SELECT 1', 3599) WHERE answer = '1'}), "2\n2", 'under a malicious search_path and odd settings');
query('DROP SCHEMA evil CASCADE');

# A dump contains the servers of the fleet.
query(qq{CREATE SERVER there TYPE 'clocktiming' FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '$host', port '$port', dbname 's6', connect_timeout '9'); CREATE USER MAPPING FOR CURRENT_USER SERVER there});
my $list = q{SELECT string_agg(server || ' ' || coalesce(error, 'answers'), ', ' ORDER BY server) FROM clock_fleet};
my $before = query($list);
is($before, 's3 answers, s4 answers, there answers', 'a server that clock_fleet_add() has not made');
my $file = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $file, $node->connstr('postgres') ], 'pg_dump');
query('CREATE DATABASE restored TEMPLATE template0');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file, $node->connstr('restored') ], 'psql');
is(query($list, 'restored'), $before, 'restore the fleet');

# If file descriptors suffice only for some connections, the other servers are asked later.
$node->append_conf('postgresql.conf', 'max_files_per_process = 80');
$node->restart;
query("SELECT clock_fleet_add('t' || i, jsonb_build_object('host', '$host', 'port', $port, 'dbname', 's7')) FROM generate_series(1, 40) i");
is(query(q{SELECT count(*), string_agg(DISTINCT error, ', ') FROM clock_fleet WHERE server ~ '^t\d'}), '40|', 'more servers than there are descriptors for');
query(join q{;}, map { "DROP SERVER t$_ CASCADE" } 1 .. 40);

# The extensions are in other schemas.
query('CREATE SCHEMA elsewhere; CREATE SCHEMA "And there"; ALTER EXTENSION clocktiming SET SCHEMA elsewhere; ALTER EXTENSION dblink SET SCHEMA "And there"', 'restored');
is(query(q{SELECT count(*) FROM elsewhere.clock_fleet WHERE error IS NULL}, 'restored'), '3', 'in other schemas, too');
query('CREATE SCHEMA "And there"; ALTER EXTENSION clocktiming SET SCHEMA "And there"', 's7');
query(qq{SELECT elsewhere.clock_fleet_add('s7', jsonb_build_object('host', '$host', 'port', $port, 'dbname', 's7'))}, 'restored');
is(query(q{SELECT error IS NULL FROM elsewhere.clock_fleet WHERE server = 's7'}, 'restored'), 't', 'a server whose clocktiming is in another schema');
$node->stop;

done_testing();
