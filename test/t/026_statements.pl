
# Measuring a statement must not let a user read, execute or change more than executing the
# statement does.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE ROLE regress_ordinary LOGIN;
	CREATE ROLE regress_owner LOGIN;
	CREATE SCHEMA own AUTHORIZATION regress_owner;
	GRANT USAGE ON SCHEMA own TO PUBLIC;
	CREATE TABLE secret (a int);
	INSERT INTO secret SELECT generate_series(1, 100);
	CREATE TABLE shared (owner text, a int);
	INSERT INTO shared SELECT CASE WHEN i <= 10 THEN 'regress_ordinary' ELSE 'other' END, i FROM generate_series(1, 100) AS i;
	ALTER TABLE shared ENABLE ROW LEVEL SECURITY;
	CREATE POLICY own ON shared USING (owner = current_user);
	GRANT SELECT ON shared TO regress_ordinary;
	CREATE VIEW barrier WITH (security_barrier) AS SELECT a FROM secret WHERE a <= 3;
	GRANT SELECT ON barrier TO regress_ordinary;
	CREATE FUNCTION seen(a int) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS
		'BEGIN RAISE NOTICE ''seen %'', a; RETURN true; END';
	CREATE FUNCTION count_secret() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM public.secret';
	SET ROLE regress_owner;
	CREATE FUNCTION own.who() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
		RAISE NOTICE 'executed by %', current_user; RETURN current_user; END $$;
	CREATE FUNCTION own.tries(statement text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
		IF current_setting('own.harmless', true) = 'on' THEN RETURN 0; END IF;
		EXECUTE statement; RETURN 1; END $$;
	SET own.harmless = on;
	CREATE MATERIALIZED VIEW own.view AS SELECT own.who() AS who, generate_series(1, 10) AS i;
	CREATE MATERIALIZED VIEW own.reads AS SELECT own.tries('SELECT FROM public.secret');
	CREATE MATERIALIZED VIEW own.rises AS SELECT own.tries('RESET ROLE');
	CREATE MATERIALIZED VIEW own.sets AS SELECT own.tries('SELECT set_config(''work_mem'', ''77MB'', false)');
	CREATE MATERIALIZED VIEW own.writes AS SELECT own.tries('CREATE TABLE own.made (a int)');
	CREATE MATERIALIZED VIEW own.fails AS SELECT own.tries('SELECT 1 / 0')});

my $super = ClockSession->new($node);
my $owner = ClockSession->new($node, user => 'regress_owner');
my $ordinary = ClockSession->new($node, user => 'regress_ordinary');
my $state = q{SELECT current_user, current_setting('search_path'), current_setting('work_mem'), current_setting('transaction_read_only')};
my $before = $super->query($state)->{out};
my @ways = map { my $m = $_; sub { "SELECT count(*) FROM clock_explain('$_[0]', method => '$m'$_[1])" } } 'sampling', 'full';
push @ways, sub { "SELECT count(*) FROM clock_query_overhead('$_[0]', 0.05$_[1])" };

# REFRESH MATERIALIZED VIEW executes the view's query as the owner of the view.
foreach my $way (@ways)
{
	my $statement = $way->('REFRESH MATERIALIZED VIEW own.view', '');
	my $result = $super->query($statement);

	is($result->{state}, '00000', "a superuser: $statement");
	like($result->{err}, qr/executed by regress_owner/, 'functions of the view are executed as the owner of the view');
	unlike($result->{err}, qr/executed by (?!regress_owner)/, 'functions of the view are executed as no other role');
	$super->gives($state, $before, 'the session is as it was');
	is($ordinary->query($statement)->{state}, '42501', 'a role that may not refresh the view may not measure the refresh');
	is($owner->query($statement)->{state}, '00000', 'the owner of the view may measure the refresh');

	my %ends = (reads => '42501', rises => '42501', sets => '00000', writes => '25006', fails => '22012');
	foreach my $view (sort keys %ends)
	{
		is($super->query($way->("REFRESH MATERIALIZED VIEW own.$view", ''))->{state}, $ends{$view}, "own.$view");
		$super->gives($state, $before, "own.$view: the session is as it was");
	}
}
is($super->query('SELECT count(*) FROM own.view')->{out}, '10', 'the view has its rows');
is($super->query(q{SELECT to_regclass('own.made') IS NULL})->{out}, 't', 'no table was created');
SKIP:
{
	skip 'MAINTAIN came with 17', 2 if $super->query('SHOW server_version_num')->{out} < 170000;
	$super->query('GRANT MAINTAIN ON own.view TO regress_ordinary');
	is($ordinary->query('REFRESH MATERIALIZED VIEW own.view')->{state}, '00000', 'a role with MAINTAIN may refresh the view');
	# A role with MAINTAIN may not measure the refresh, because the result discloses numbers of rows
	# in the owner's tables.
	is($ordinary->query($ways[0]->('REFRESH MATERIALIZED VIEW own.view', ''))->{state}, '42501', 'a role with MAINTAIN may not measure the refresh');
}

# Privileges of an ordinary role
foreach my $way (@ways)
{
	is($ordinary->query($way->(@$_))->{state}, '42501', $way->(@$_))
	  foreach ([ 'SELECT * FROM secret', '' ], [ 'DELETE FROM secret', ', allow_writes => true' ],
		[ 'SELECT * FROM secret WHERE a = $1', ", params => '{1}'" ], [ 'DECLARE c CURSOR FOR SELECT * FROM secret', '' ],
		[ 'CREATE TABLE own.x AS SELECT 1', ', allow_writes => true' ], [ 'CREATE TEMP TABLE x AS TABLE secret', ', allow_writes => true' ],
		[ 'INSERT INTO shared VALUES (1)', ', allow_writes => true' ]);
	my $result = $ordinary->query($way->('SELECT * FROM barrier WHERE seen(a)', ''));
	is($result->{state}, '00000', 'a security barrier');
	like($result->{err}, qr/seen 3$/m, 'rows of the security barrier view are seen');
	unlike($result->{err}, qr/seen (?![123]$)/m, 'no other rows are seen');
	is($ordinary->query($way->('SELECT count_secret()', ''))->{state}, '00000', 'a SECURITY DEFINER function');
}
is($ordinary->query(q{SELECT rows FROM clock_explain('SELECT * FROM shared') WHERE node = 1})->{out}, '10', 'row-level security');
$ordinary->query('PREPARE p AS SELECT * FROM shared');
is($ordinary->query(q{SELECT rows FROM clock_explain('EXECUTE p') WHERE node = 1})->{out}, '10', 'row-level security of a prepared statement');
$ordinary->query('PREPARE s AS SELECT 1');
is($ordinary->query('DEALLOCATE s')->{state}, '00000', 'the session goes on');

# Writes are undone, however the measurement ends.
$node->safe_psql('postgres', 'CREATE TABLE kept (a int); INSERT INTO kept VALUES (1)');
$super->query('PREPARE d AS DELETE FROM kept');
foreach my $way (@ways)
{
	is($super->query($way->('EXECUTE d', ', allow_writes => true'))->{state}, '00000', 'a prepared statement that writes');
	is($super->query($way->('EXECUTE d', ''))->{state}, '0A000', 'a prepared statement that writes is refused without allow_writes');
	is($super->query($way->('CREATE TABLE made AS SELECT 1 / (a - 1) FROM kept', ', allow_writes => true'))->{state}, '22012', 'creating a table fails');
	is($super->query($way->('SELECT * INTO made FROM kept', ', allow_writes => true'))->{state}, '00000', 'creating a table succeeds');
	is($super->query(q{SELECT count(*), to_regclass('made') IS NULL FROM kept})->{out}, '1|t', 'no write is kept');
}
$_->quit foreach ($super, $owner, $ordinary);

$node->stop;
done_testing();
