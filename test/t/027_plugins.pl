
# Every user may load a library from the directory plugins. A symbolic link there refers to
# clocktiming's library. An ordinary role that loads it must not be able to measure clocks, nor to
# set internal settings.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE a AS SELECT i FROM generate_series(1, 100000) AS i;
	CREATE TABLE secret AS SELECT 1 AS i;
	ANALYZE;
	CREATE ROLE regress_ordinary LOGIN;
	GRANT SELECT ON a TO regress_ordinary;
	ALTER SYSTEM SET parallel_setup_cost = 0;
	ALTER SYSTEM SET min_parallel_table_scan_size = 0;
	SELECT pg_reload_conf();
});

my $plugin = q{$libdir/plugins/clocktiming};
my $settings = q{SELECT string_agg(name, ',' ORDER BY name) FROM pg_settings WHERE name LIKE 'clocktiming.%'};
my $known = join ',', map { "clocktiming.$_" } qw(live live_after max_overhead progress_interval sampled_timing show_margins track track_max watch watch_interval);

# The settings that the manual recommends for postgresql.conf are accepted if the library is loaded
# later.
$node->append_conf('postgresql.conf', "clocktiming.watch = on\nclocktiming.watch_interval = 5s\nclocktiming.track_max = 500\nclocktiming.track = off");
$node->reload;
foreach my $role ($node->safe_psql('postgres', 'SELECT current_user'), 'regress_ordinary')
{
	my ($status, $out, $err) = $node->psql('postgres', "LOAD '$plugin'; SHOW clocktiming.track_max", extra_params => [ '-U', $role ]);
	is("$out $err", '500 ', "settings of postgresql.conf are accepted: $role");
}

# Returns the number of inodes, and of names, of the clocktiming libraries that the backend has
# mapped. Returns '1 1' if there is no /proc.
sub mapped
{
	my ($session) = @_;
	my (%inodes, %names);

	open(my $maps, '<', '/proc/' . $session->pid . '/maps') or return '1 1';
	while (<$maps>)
	{
		my (undef, undef, undef, undef, $inode, $name) = split;

		$inodes{$inode} = $names{$name} = 1 if defined $name && $name =~ /clocktiming\.so$/;
	}
	close($maps);
	return scalar(keys %inodes) . ' ' . scalar(keys %names);
}

# The library is loaded only once, even if it is loaded by both names, in either order, and also in
# parallel workers.
my $measure = q{SELECT readings > 0 FROM clock_summary('system', 0.001)};
my $parallel = q{SELECT count(*) > 5 FROM clock_explain_text('SELECT count(*) FROM a')};
foreach my $order (
	[ "LOAD '$plugin'", $measure, "LOAD 'clocktiming'", $parallel ],
	[ $measure, "LOAD '$plugin'", "LOAD 'clocktiming'", $parallel ],
	[ "LOAD 'clocktiming'", "LOAD '$plugin'", $parallel, $measure ])
{
	my $session = ClockSession->new($node);

	foreach my $sql (@$order)
	{
		my $result = $session->query($sql);

		is($result->{state}, '00000', "$sql, of " . join('; ', @$order)) or diag $result->{err};
		unlike($result->{err}, qr/clocktiming/, 'no message of clocktiming');
		is($result->{out}, 't', 'its result') if $sql =~ /^SELECT/;
	}
	is(mapped($session), '1 1', 'loaded once');
	is($session->query($settings)->{out}, $known, 'settings are seen');
	$session->quit;
}

# An ordinary role
my $session = ClockSession->new($node, user => 'regress_ordinary');
is($session->query($settings)->{out}, '', 'before: no settings');
is($session->query("LOAD 'clocktiming'")->{state}, '42501', 'it may not load the library by its own name');
is($session->query('SET clocktiming.worker_observation = 1')->{state}, '00000', 'it may set an undefined internal setting');
my $result = $session->query("LOAD '$plugin'");
is($result->{state}, '00000', 'it may load the library from plugins');
like($result->{err}, qr/permission denied to set parameter "clocktiming.worker_observation"/, 'loading removes its internal setting');
is($session->query('SHOW clocktiming.worker_observation')->{out}, '', 'the internal setting has no value');
is($session->query('SET clocktiming.worker_observation = 1')->{state}, '42501', 'it may not set the internal setting later');
is($session->query($settings)->{out}, $known, 'settings are seen');
is($session->query('SET clocktiming.progress_interval = 0')->{state}, '00000', 'an ordinary role may set clocktiming.progress_interval');
is($session->query($measure)->{state}, '42501', 'it may not measure');
is($session->query('TABLE secret')->{state}, '42501', 'it may not read a table without privileges');
$session->quit;

# Loading the library for all sessions of a role or of a database, as the manual describes
$node->safe_psql('postgres', 'ALTER ROLE regress_ordinary SET local_preload_libraries = clocktiming', extra_params => [ '-U', 'regress_ordinary' ]);
$session = ClockSession->new($node, user => 'regress_ordinary');
is($session->query($settings)->{out}, $known, 'ALTER ROLE by the role itself: settings are seen in a new session');
is(mapped($session), '1 1', 'loaded once');
SKIP:
{
	skip 'extensions cannot add options to EXPLAIN before PostgreSQL 18', 2 if $version < 180000;
	$result = $session->query('EXPLAIN (ANALYZE, CLOCK_SAMPLING) SELECT count(*) FROM a');
	like($result->{out}, qr/^Time: /m, 'and EXPLAIN has the option');
	is($session->query('EXPLAIN (ANALYZE, CLOCK_SAMPLING) TABLE secret')->{state}, '42501', 'the option grants no privileges');
}
$session->quit;
is($node->safe_psql('postgres', $settings), '', 'other roles do not load the library');
$node->safe_psql('postgres', 'ALTER DATABASE postgres SET session_preload_libraries = clocktiming');
is($node->safe_psql('postgres', $settings), $known, 'ALTER DATABASE by a superuser: settings are seen in a new session');
$session = ClockSession->new($node, user => 'regress_ordinary');
is($session->query($settings)->{out}, $known, 'settings are seen with both preload settings');
is(mapped($session), '1 1', 'it is loaded once');
$session->quit;

$node->stop;
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|terminated by signal|TRAP|redefine/, 'nothing has crashed');
done_testing();
