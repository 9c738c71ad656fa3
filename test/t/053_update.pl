
# ALTER EXTENSION UPDATE: an updated extension must be identical to one that CREATE EXTENSION
# creates in the newer version, and stored values must remain. Tests all update scripts, and a
# script to a made-up version. The latter is also executed with parts omitted, which the test must
# notice.

use strict;
use warnings;
use File::Basename;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = dirname(__FILE__) . '/../..';
my ($base) = slurp_file("$top/clocktiming.control") =~ /^default_version = '(.*)'/m;
my $catalog = slurp_file("$top/test/upgrade/catalog.sql");

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
chomp(my $directory = $node->config_data('--sharedir') . '/extension');

sub query { my ($database, $sql) = @_; return $node->safe_psql($database, $sql); }

sub facts { my ($database) = @_; return map { $_ => 1 } split /\n/, query($database, $catalog); }

# Creates a database with a version of the extension.
sub make
{
	my ($database, $version) = @_;

	query('postgres', "DROP DATABASE IF EXISTS $database");
	query('postgres', "CREATE DATABASE $database");
	query($database, "CREATE EXTENSION clocktiming VERSION '$version'");
	return;
}

# Queries for the values that make_older() stores in the older version.
my $values = 'SELECT s::text FROM t; SELECT v FROM v; SELECT * FROM clock_node_snapshots';

sub make_older
{
	my ($version) = @_;

	make('older', $version);
	query('older', q{CREATE TABLE t AS SELECT clock_measure('system', 0.01) AS s; CREATE VIEW v AS SELECT * FROM t, clock_summary(s);
		INSERT INTO clock_node_snapshots SELECT '2026-01-01', 1, 2, 3, 4, 5, 0, 'Result', 't', NULL, '2026-01-01', z, z FROM array_fill(0::double precision, '{8}') z});
	return;
}

# Returns the differences between an updated extension and the newer version in the database
# "newer". "-" marks missing objects, "+" superfluous ones.
sub differences
{
	my ($to) = @_;
	my %newer = facts('newer');

	query('postgres', 'DROP DATABASE IF EXISTS updated');
	query('postgres', 'CREATE DATABASE updated TEMPLATE older');
	query('updated', "ALTER EXTENSION clocktiming UPDATE TO '$to'");
	my %updated = facts('updated');
	return (sort map { "- $_" } grep { !$updated{$_} } keys %newer), (sort map { "+ $_" } grep { !$newer{$_} } keys %updated);
}

sub update_is_right
{
	my ($from, $to) = @_;

	make('newer', $to);
	make_older($from);
	is(join("\n", differences($to)), '', "$from to $to: identical to a new $to");
	is(query('updated', $values), query('older', $values), "$from to $to: stored values");
	return;
}

foreach my $script (sort glob("$top/sql/clocktiming--*--*.sql"))
{
	my ($from, $to) = $script =~ /--(.*)--(.*)\.sql$/;
	update_is_right($from, $to);
}

# Parts of a made-up version. Each part has a name, the statements of the update script, and
# omissions from them, with the difference that each omission must cause.
my @parts = (
	[
		'a function',
		q{CREATE FUNCTION clock_made_up(a int DEFAULT 1) RETURNS int LANGUAGE SQL IMMUTABLE PARALLEL SAFE BEGIN ATOMIC SELECT a; END;
COMMENT ON FUNCTION clock_made_up(int) IS 'made up';
REVOKE ALL ON FUNCTION clock_made_up(int) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION clock_made_up(int) TO pg_monitor;},
		[ qr/COMMENT.*\n/, '- function .*clock_made_up\(integer\): comment : made up' ],
		[ qr/REVOKE.*\n/, '\+ function .*clock_made_up\(integer\): PUBLIC may EXECUTE' ],
		[ qr/GRANT.*/, '- function .*clock_made_up\(integer\): pg_monitor may EXECUTE' ],
		[ qr/ DEFAULT 1/, '- function .*clock_made_up\(integer\): CREATE .*DEFAULT 1' ],
		[ qr/ IMMUTABLE/, '- function .*clock_made_up\(integer\): CREATE .*IMMUTABLE' ] ],
	[
		'a table',
		q{CREATE TABLE clock_made_up_table (a int NOT NULL CHECK (a > 0), b text DEFAULT 'x', PRIMARY KEY (a));
SELECT pg_catalog.pg_extension_config_dump('clock_made_up_table', '');
COMMENT ON COLUMN clock_made_up_table.b IS 'made up';},
		[ qr/ CHECK \(a > 0\)/, '- table .*clock_made_up_table: CHECK \(\(a > 0\)\)' ],
		[ qr/ DEFAULT 'x'/, q{- table .*clock_made_up_table: column 2 b text default 'x'} ],
		[ qr/, PRIMARY KEY \(a\)/, '- .*PRIMARY KEY \(a\)' ],
		[ qr/SELECT.*\n/, '- table .*clock_made_up_table: dumped where' ],
		[ qr/COMMENT.*/, '- table .*clock_made_up_table: comment b: made up' ] ],
	[
		'a view',
		q{CREATE VIEW clock_made_up_view AS SELECT source FROM clock_sources WHERE available;},
		[ qr/ WHERE available/, '- view .*clock_made_up_view: .*WHERE' ],
		[ qr/CREATE.*/, '- view .*clock_made_up_view: member' ] ],
	[
		'a comment',
		q{COMMENT ON TYPE clock_sample IS 'made up';},
		[ qr/COMMENT.*/, '\+ type .*clock_sample: comment : ' ] ],
	[
		'a cast',
		q{CREATE FUNCTION clock_made_up_cast(clock_sample) RETURNS bytea LANGUAGE SQL BEGIN ATOMIC SELECT ''::bytea; END;
CREATE CAST (clock_sample AS bytea) WITH FUNCTION clock_made_up_cast(clock_sample) AS ASSIGNMENT;},
		[ qr/ AS ASSIGNMENT/, '- cast \(.*clock_sample AS (?:pg_catalog\.)?bytea\): ' ] ]);

my $script = slurp_file("$top/sql/clocktiming--$base.sql");
my $made_up = "$base.0madeup";
my @written = ("$directory/clocktiming--$made_up.sql", "$directory/clocktiming--$base--$made_up.sql");
END { unlink @written; }

sub write_file { my ($file, $text) = @_; open(my $fh, '>', $file) or die "$file: $!"; print $fh $text; close($fh) or die $!; return; }

my $update = join("\n", map { $_->[1] } @parts);
write_file($written[0], "$script\n$update\n");
write_file($written[1], "$update\n");
update_is_right($base, $made_up);
cmp_ok(scalar(() = facts('newer')), '>', 1000, 'there is something to compare');

foreach my $part (@parts)
{
	my ($what, $statements, @faults) = @$part;

	foreach (@faults)
	{
		my ($left_out, $found) = @$_;

		(my $faulty = $statements) =~ s/$left_out// or die "$left_out";
		(my $text = $update) =~ s/\Q$statements/$faulty/ or die $what;
		write_file($written[1], "$text\n");
		my @differences = differences($made_up);
		ok((grep { /^$found/ } @differences), "$what, but not $left_out: found")
		  or diag(join "\n", @differences);
	}
}

$node->stop;
done_testing();
