
# Samples and privileges survive a dump and its restoration.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
my $tempdir = PostgreSQL::Test::Utils::tempdir();

$node->safe_psql(
	'postgres', q{
	CREATE ROLE regress_alice;
	CREATE DATABASE source});
$node->safe_psql(
	'source', q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE one (id int, s clock_sample);
	CREATE TABLE many (id int, s clock_sample[]);
	INSERT INTO one
		SELECT row_number() OVER (), s
		FROM (SELECT source FROM clock_sources WHERE available ORDER BY 1) AS c,
			clock_measure(c.source, 0.1) AS s;
	INSERT INTO one VALUES (99, NULL);
	-- one with values that runs rarely have
	INSERT INTO one
		SELECT 100, ROW(s.source, 'a "clock", \ and a {brace}', 'infinity', s.duration_s, s.frequency_hz,
			1e-7, 0, 4 + 3, 'NaN', -0.1, 1.5, 2, 3, 1234567890123, 5, 6.5, 7.5, 8, 9.5, 10.5, 11, 12.5, 13.5,
			ARRAY[0, 5, 4095], 14, 12, ARRAY[0, 25, 4000000000], ARRAY[2, 1, 1])::clock_sample
		FROM clock_measure('system', 0.01) AS s;
	INSERT INTO many SELECT id, ARRAY[s, s] FROM one;
	INSERT INTO many SELECT 101, array_agg(s ORDER BY id) FROM one;
	GRANT EXECUTE ON FUNCTION clock_measure(text, double precision, double precision) TO regress_alice;
	REVOKE EXECUTE ON FUNCTION clock_report(double precision, double precision) FROM pg_monitor;
	REVOKE EXECUTE ON FUNCTION clock_summary(clock_sample) FROM PUBLIC;
	GRANT SELECT ON clock_sources TO regress_alice});

my @facts = (
	[ 'samples', q{SELECT id, md5(s::text) FROM one ORDER BY id} ],
	[ 'arrays of samples', q{SELECT id, md5(s::text) FROM many ORDER BY id} ],
	[
		'summaries', q{
		SELECT id, v.* FROM one, clock_summary(s) AS v WHERE s IS DISTINCT FROM NULL ORDER BY id}
	],
	[
		'summaries from arrays', q{
		SELECT id, v.* FROM many, unnest(s) AS u, clock_summary(u) AS v
			WHERE (u).source IS NOT NULL ORDER BY id, v.source, v.readings}
	],
	[
		'histograms', q{
		SELECT id, md5(string_agg(v::text, ',' ORDER BY v)) FROM one, clock_histogram(s) AS v
			WHERE (s).source IS NOT NULL GROUP BY id ORDER BY id}
	],
	[
		'privileges', q{
		SELECT proname, pg_get_function_identity_arguments(oid), g.grantee::regrole, g.privilege_type
			FROM pg_proc, aclexplode(proacl) AS g WHERE proname LIKE 'clock\_%'
			UNION ALL
			SELECT relname, '', g.grantee::regrole, g.privilege_type
			FROM pg_class, aclexplode(relacl) AS g WHERE relname LIKE 'clock\_%'
			ORDER BY 1, 2, 3, 4}
	],
	[ 'extension', q{SELECT extname, extversion FROM pg_extension ORDER BY 1} ]);

my %before = map { $_->[0] => $node->safe_psql('source', $_->[1]) } @facts;
cmp_ok(length $before{$_}, '>', 20, "$_: there is something to compare")
  foreach map { $_->[0] } @facts;
like($before{privileges}, qr/^clock_measure\|.*\|regress_alice\|EXECUTE$/m,
	'privileges: one granted');
unlike($before{privileges}, qr/^clock_report\|.*\|pg_monitor\|/m,
	'privileges: one revoked');

sub same
{
	my ($database, $what) = @_;

	is($node->safe_psql($database, $_->[1]), $before{ $_->[0] },
		"$what: $_->[0]")
	  foreach @facts;

	# what has come back can be worked with
	is( $node->safe_psql(
			$database,
			q{SELECT (clock_merge(s)).readings = sum((s).readings)::bigint FROM one WHERE (s).source = 'system' AND id < 99}
		),
		't',
		"$what: merged");
	return;
}

$node->safe_psql('postgres', "CREATE DATABASE $_") foreach ('plain', 'custom');

$node->command_ok(
	[ 'pg_dump', '-f', "$tempdir/plain.sql", $node->connstr('source') ],
	'pg_dump');
$node->command_ok(
	[
		'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f',
		"$tempdir/plain.sql", $node->connstr('plain')
	],
	'psql');
same('plain', 'pg_dump and psql');

$node->command_ok(
	[ 'pg_dump', '-Fc', '-f', "$tempdir/custom", $node->connstr('source') ],
	'pg_dump -Fc');
$node->command_ok(
	[
		'pg_restore', '--exit-on-error', '-d', $node->connstr('custom'),
		"$tempdir/custom"
	],
	'pg_restore');
same('custom', 'pg_dump -Fc and pg_restore');

# What was dumped is the extension, and not its objects.
unlike(slurp_file("$tempdir/plain.sql"),
	qr/CREATE (FUNCTION|TYPE|VIEW|AGGREGATE)/,
	'no member of the extension in the dump');

$node->stop;
done_testing();
