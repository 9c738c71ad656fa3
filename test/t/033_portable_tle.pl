
# The portable edition as an extension of pg_tle. A role that is not a superuser installs, creates,
# replaces, updates, dumps, restores and removes it.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use PortableEdition;

my $node = PostgreSQL::Test::Cluster->new('main');
my ($library_dir, $share_dir) = map { $node->config_data($_) } '--pkglibdir', '--sharedir';
plan skip_all => 'pg_tle is not installed' unless -f "$library_dir/pg_tle.so";

$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_tle'\nlog_statement = none");
$node->start;

# pg_tle rejects the name of an extension that has files on the server. If the C extension is
# installed, the test uses another name.
my $name = -f "$share_dir/extension/clocktiming.control" ? 'clocktiming_portable' : 'clocktiming';
my $dir = PostgreSQL::Test::Utils::tempdir();
my $text = slurp_file($PortableEdition::tle) =~ s/(?<=')clocktiming(?=')|(?<=EXTENSION )clocktiming/$name/gr;
my ($version) = $text =~ /version constant text := '(.*?)'/;
append_to_file("$dir/this", $text);
append_to_file("$dir/next", $text =~ s/'\Q$version\E'/'$version.1'/gr);

my $admin = ClockSession->new($node);
my $refused = PortableEdition::install($admin, "$dir/this");
is($refused->{state}, '55000', 'without pg_tle: refused');
like($refused->{err}, qr/pg_tle is not installed in this database/, 'the message says that pg_tle is not installed');
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION pg_tle;
	CREATE ROLE regress_admin LOGIN IN ROLE pgtle_admin;
	GRANT CREATE ON DATABASE postgres TO regress_admin;
	CREATE ROLE regress_nobody LOGIN});
$admin->quit;
$admin = ClockSession->new($node, user => 'regress_admin');

sub said
{
	my ($file, $expected, $what) = @_;
	my $result = PortableEdition::install($admin, "$dir/$file");

	is($result->{state}, '00000', "$what: done");
	like($result->{err}, qr/^NOTICE:  clocktiming \Q$version\E $expected/, "$what: with a notice");
	return;
}

sub created
{
	my ($expected, $what) = @_;

	is($admin->query("SELECT extversion, extnamespace::regnamespace FROM pg_extension WHERE extname = '$name'")->{out}, "$expected|clock", $what);
	is($admin->query(q{SELECT count(*) > 10 FROM pg_proc WHERE pronamespace = 'clock'::regnamespace})->{out}, 't', "$what: the functions are there");
	return;
}

said('this', 'can be installed', 'made available');
said('this', 'can be installed', 'made available again');
$admin->query('CREATE SCHEMA clock');
$admin->query('GRANT USAGE ON SCHEMA clock TO PUBLIC');
is($admin->query("CREATE EXTENSION $name SCHEMA clock")->{state}, '00000', 'created by a role that is no superuser');
created($version, 'created');
my $nobody = ClockSession->new($node, user => 'regress_nobody');
PortableEdition::all_work($nobody, 'clock', 'with pg_tle');
$nobody->quit;
$admin->query('SET search_path = clock');
$refused = PortableEdition::install($admin);
is($refused->{state}, $name eq 'clocktiming' ? '42710' : '42723', 'the plain file is refused beside the extension');
$admin->query('RESET search_path');

said('this', 'has been replaced in schema clock', 'the same version');
created($version, 'replaced');
said('next', "can be updated to \Q$version\E.1", 'a newer version');
said('next', "can be updated to \Q$version\E.1", 'a newer version again');
is($admin->query("ALTER EXTENSION $name UPDATE")->{state}, '00000', 'updated');
created("$version.1", 'updated');

my $dump = "$dir/dump";
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], 'dump');
$node->safe_psql('postgres', 'CREATE DATABASE copy');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $node->connstr('copy') ], 'restore');
is($node->safe_psql('copy', 'SELECT count(*) FROM clock.clock_summary(duration => 0.2)'), '1', 'restored: the functions work');

is($admin->query("DROP EXTENSION $name")->{state}, '00000', 'dropped');
is($admin->query("SELECT pgtle.uninstall_extension('$name')")->{state}, '00000', 'uninstalled');
is($admin->query(q{SELECT count(*) FROM pg_proc WHERE proname LIKE '%clock%' AND pronamespace IN ('clock'::regnamespace, 'pgtle'::regnamespace)})->{out},
	'0', 'nothing is left');
$admin->quit;

done_testing();
