
# The install script of the portable edition: the schema of its functions, errors, installation over
# an older version, functions of other owners, removal, dump and restore.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use PortableEdition;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'log_statement = none');
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE ROLE regress_nobody LOGIN;
	CREATE DATABASE shut;
	REVOKE TEMP ON DATABASE shut FROM PUBLIC;
	CREATE SCHEMA shared;
	CREATE SCHEMA "My Schema";
	CREATE SCHEMA "o'clock"});

$node->safe_psql('shut', 'REVOKE CREATE ON SCHEMA public FROM PUBLIC');

my $session = ClockSession->new($node);
my $text = slurp_file($PortableEdition::plain);

sub installed
{
	my ($schema, $what) = @_;
	my $result = PortableEdition::install($session);

	is($result->{state}, '00000', "$what: installed");
	like($result->{err}, qr/^NOTICE:  clocktiming \S+ is installed in schema \Q$schema\E\n/m, "$what: a notice names the schema");
	return;
}

sub refused
{
	my ($by, $state, $message, $what) = @_;
	my $result = PortableEdition::install($by);

	is($result->{state}, $state, "$what: refused");
	like($result->{err}, qr/^ERROR:  $message/m, "$what: with the expected message");
	cmp_ok(length $result->{err}, '<', 1000, "$what: with a short message");
	return;
}

# SQLAlchemy's text(), and others, take a colon before a word for a parameter, also in strings.
foreach my $file ($PortableEdition::plain, $PortableEdition::tle)
{
	is(join(' ', slurp_file($file) =~ /(?<![:\w\\])(:\w+)(?!:)/g), '', "$file: no colon before a word");
}

my $state = "$PortableEdition::state; SHOW standard_conforming_strings; SHOW check_function_bodies";
$session->query('DO $$BEGIN END$$');

# The script installs into the first schema of search_path. It does not change settings, even if it
# runs within a transaction.
$session->query(q{SET search_path = "My Schema", public});
$session->query('SET standard_conforming_strings = off');
$session->query('SET check_function_bodies = on');
$session->query('SET quote_all_identifiers = on');
$session->query('BEGIN');
my $before = $session->query($state)->{out};
installed('"My Schema"', 'within a transaction');
is($session->query($state)->{out}, $before, 'within a transaction: installation changes no settings');
$session->query('COMMIT');
is($session->query(q{SELECT count(*) FROM clock_summary(duration => 0.2)})->{out}, '1', 'the functions are found by search_path');
is($session->query($state)->{out}, $before, 'after the transaction, settings are unchanged');
$session->query('RESET ALL');

$session->query(q{SET search_path = "o'clock"});
refused($session, '42602', q{clocktiming cannot be installed in schema "o'clock"}, 'a quote in the name');
$session->query(q{SET search_path = ''});
installed('pg_temp, for this session only', 'no schema in search_path');
$session->query('DISCARD TEMP');
$session->query('SET search_path = shared');
$session->query('BEGIN READ ONLY');
refused($session, '25006', 'clocktiming cannot be installed in a read-only transaction', 'read only');
$session->query('ROLLBACK');
my $nobody = ClockSession->new($node, user => 'regress_nobody', dbname => 'shut');
refused($nobody, '42501', 'clocktiming cannot be installed', 'neither CREATE nor TEMP');
$nobody->quit;
SKIP:
{
	skip 'the C extension is not here', 3 if $node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'clocktiming'}) eq '0';
	$session->query('CREATE EXTENSION clocktiming');
	refused($session, '42710', 'schema shared has the extension clocktiming', 'beside the C extension');
	$session->query('DROP EXTENSION clocktiming');
}

# Installs over an older version, in a schema that also has other objects.
my $ours = q{SELECT count(*) FROM pg_proc WHERE pronamespace = 'shared'::regnamespace
	AND obj_description(oid, 'pg_proc') LIKE '%[clocktiming %]'};
$session->query(q{CREATE FUNCTION clock_mine() RETURNS integer LANGUAGE sql AS 'SELECT 1'});
$session->query(q{COMMENT ON FUNCTION clock_mine() IS 'like [clocktiming 1.0], but mine'});
installed('shared', 'a first time');
my $count = $session->query($ours)->{out};
is($session->query(q{SELECT count(*) FROM pg_proc WHERE pronamespace = 'shared'::regnamespace})->{out}, $count + 1, 'the comments of all functions have the mark');
$session->query(q{CREATE FUNCTION clock_gone() RETURNS integer LANGUAGE sql AS 'SELECT 1'});
$session->query(q{COMMENT ON FUNCTION clock_gone() IS 'of an older version [clocktiming 0.9]'});
$session->query('CREATE VIEW summary AS SELECT * FROM clock_summary()');
refused($session, '2BP01', "clocktiming in schema shared cannot be replaced.*\nDETAIL:  view shared.summary depends on ", 'a view depends on a function');
$session->query('DROP VIEW summary');
installed('shared', 'a second time');
is($session->query($ours)->{out}, $count, 'a second time: the same functions');
is($session->query('SELECT clock_mine()')->{out}, '1', q{a second time: a function of another owner remains});

# Dump and restore into an empty database.
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
$node->command_ok([ 'pg_dump', '-n', 'shared', '-f', $dump, $node->connstr('postgres') ], 'dump');
$node->safe_psql('postgres', 'CREATE DATABASE copy');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $node->connstr('copy') ], 'restore');
my $copy = ClockSession->new($node, dbname => 'copy');
is($copy->query($ours)->{out}, $count, 'restored: all functions exist');
is($copy->query('SELECT count(*) FROM shared.clock_summary(duration => 0.2)')->{out}, '1', 'restored: the functions work');
$copy->query('SET search_path = shared');
is(PortableEdition::install($copy)->{state}, '00000', 'restored: the functions can be replaced');
$copy->quit;

# Removes the functions by the statement in the script's comment.
my ($remove) = $text =~ /^-- +(DO .*?END \$\$;)$/ms;
$remove =~ s/^-- +//mg;
$remove =~ s/'public'/'shared'/;
$remove =~ s/;\z//;
is($session->query($remove)->{state}, '00000', 'removed');
is($session->query(q{SELECT string_agg(proname, ' ') FROM pg_proc WHERE pronamespace = 'shared'::regnamespace})->{out},
	'clock_mine', q{removed: functions of other owners remain});

# A function of the same name that another role owns is not replaced.
$session->query(q{CREATE FUNCTION clock_summary(source text, duration double precision) RETURNS integer LANGUAGE sql AS 'SELECT 1'});
refused($session, '42723', qr/function "clock_summary" already exists.*\nDETAIL:  In schema shared, and it is none of clocktiming's/, 'a function of the same name');
$session->query('DROP FUNCTION clock_summary');

# The schema can also be named in the script, for consoles that keep no settings between statements.
my $named = PostgreSQL::Test::Utils::tempdir() . '/named.sql';
append_to_file($named, $text =~ s/wanted text := NULL;/wanted text := 'shared';/r);
$session->query('RESET search_path');
like(PortableEdition::install($session, $named)->{err}, qr/installed in schema shared\n/, 'a schema named in the file');
append_to_file("$named.2", $text =~ s/wanted text := NULL;/wanted text := 'nowhere';/r);
is(PortableEdition::install($session, "$named.2")->{state}, '3F000', 'a schema that does not exist');
$session->quit;

done_testing();
