
# Tests which roles may call which functions. Other users may create objects with the names that
# clocktiming uses. Such objects must not change the behavior of clocktiming's functions.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

# Installs the extension in a schema of its own, so that the results depend on search_path.
$node->safe_psql(
	'postgres', q{
	CREATE SCHEMA timing;
	CREATE EXTENSION clocktiming SCHEMA timing;
	CREATE ROLE regress_alice LOGIN;
	CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor;
	GRANT USAGE ON SCHEMA timing TO regress_alice, regress_monitor;
	GRANT CREATE ON SCHEMA public TO regress_alice;
	SET search_path = timing, public;
	CREATE TABLE shown (s clock_sample);
	CREATE TABLE hidden (s clock_sample);
	INSERT INTO shown SELECT s FROM clock_measure('system', 0.05) AS s;
	INSERT INTO shown SELECT s FROM clock_measure('system', 0.05) AS s;
	INSERT INTO hidden SELECT * FROM shown;
	GRANT SELECT ON shown TO regress_alice, regress_monitor;
	ALTER ROLE ALL SET search_path = timing, public;
	ALTER ROLE ALL SET clocktiming.progress_interval = 0});

my $alice = ClockSession->new($node, user => 'regress_alice');
my $monitor = ClockSession->new($node, user => 'regress_monitor');

my @measuring = (
	'clock_measure()',
	q{clock_measure('system', 0.01)},
	q{clock_histogram('system', 0.01)},
	q{clock_histogram('system', 0.01, 99)},
	q{clock_summary('system', 0.01)},
	'clock_report(0.01)',
	q{clock_survey('{system}', 0.01, 'kernel')},
	q{clock_drift('system', 0.01, 'kernel')},
	q{clock_monitor('{system}', 0.01, 0.01)},
	'clock_cpu_skew(duration => 0.01)',
	q{clock_check(max_skew_ns => 'infinity', duration => 0.01)},
	'clock_advice(0.1)',
	'clock_impact()',
	'clock_impact(0.1)',
	'clock_impact(setting => NULL)',
	'clock_sources()',
	'clock_platform()',
	'clock_sources',
	'clock_platform');
my @free = (
	q{clock_explain('SELECT 1') WHERE node > 0},
	q{clock_explain_text('SELECT 1')},
	q{clock_explain_json('SELECT 1')},
	q{clock_query_overhead('SELECT 1', 0.1)},
	'shown, clock_histogram(s) AS v',
	'shown, clock_histogram(s, 99.99) AS v',
	'shown, clock_histogram(s, 50) AS v',
	'shown, clock_summary(s) AS v',
	'(SELECT (clock_summary(clock_merge(s))).* FROM shown) AS v',
	'(SELECT clock_merge(s) AS s FROM shown) AS m, clock_histogram(s) AS v');

foreach my $from (@measuring)
{
	my $result = $alice->query("SELECT count(*) FROM $from");

	is($result->{state}, '42501', "an ordinary role is refused: $from");
	like($result->{err}, qr/^ERROR:  permission denied for /,
		"message: $from");

	# With its default duration, this call would take 3 seconds.
	next if $from eq 'clock_measure()';
	$result = $monitor->query("SELECT count(*) > 0 FROM $from");
	is("$result->{state} $result->{out}",
		'00000 t', "a member of pg_monitor may: $from");
}
foreach my $from (@free)
{
	foreach my $role ([ 'regress_alice', $alice ], [ 'regress_monitor', $monitor ])
	{
		my $result = $role->[1]->query("SELECT count(*) > 0 FROM $from");

		is("$result->{state} $result->{out}",
			'00000 t', "$role->[0] may: $from");
	}
}
# A single function can be granted to a role, together with the functions that it calls.
foreach my $grant ([ 'clock_advice(0.1)', 'internal_clock_findings' ], [ 'clock_report(0.1)', 'clock_measure', 'internal_clock_report_parts' ],
	[ 'clock_impact(0.1)', 'internal_clock_impact', 'internal_clock_timing_costs' ])
{
	my ($from, @called) = @$grant;
	my $name = $from =~ s/\(.*//r;
	my $functions = join ', ', $name eq 'clock_impact' ? "$name(double precision)" : $name, @called;

	$node->safe_psql('postgres', "GRANT EXECUTE ON FUNCTION $functions TO regress_alice");
	my $result = $alice->query("SELECT count(*) > 0 FROM $from");
	is("$result->{state} $result->{out}", '00000 t', "a role to which these are granted may: $functions");
	$node->safe_psql('postgres', "REVOKE EXECUTE ON FUNCTION $functions FROM regress_alice");
}
is($alice->query('SELECT (clock_summary(s)).readings FROM hidden')->{state},
	'42501', 'a sample in a table without SELECT privilege cannot be summarized');
is($alice->query('SELECT clock_merge(s) FROM hidden')->{state},
	'42501', 'a sample in a table without SELECT privilege cannot be merged');
is( $alice->query(
		'CREATE VIEW public.through AS SELECT * FROM timing.clock_sources;
		SELECT * FROM public.through')->{state},
	'42501',
	'an ordinary role cannot read clock_sources through its own view');

# Creates objects in the schema "evil". They have names that clocktiming's function bodies and views
# use. The functions and operators among them raise an error when they are called. The queries below
# are executed with a search_path in which "evil" precedes all other schemas, even pg_catalog.
$node->safe_psql(
	'postgres', q{
	CREATE SCHEMA evil AUTHORIZATION regress_alice;
	GRANT USAGE ON SCHEMA evil TO PUBLIC;
	SET ROLE regress_alice;
	CREATE TABLE evil.clock_sample (evil int);
	CREATE TABLE evil.clock_summary_row (evil int);
	CREATE FUNCTION evil.trap() RETURNS pg_catalog.text LANGUAGE plpgsql
		AS $$BEGIN RAISE EXCEPTION 'trapped'; END$$;
	CREATE FUNCTION evil.clock_sources(OUT source text, OUT description text,
		OUT available boolean, OUT reason text, OUT clock text,
		OUT frequency_hz double precision, OUT frequency_from text,
		OUT resolution_ns double precision, OUT used_for text)
		RETURNS SETOF record LANGUAGE plpgsql
		AS $$BEGIN RAISE EXCEPTION 'trapped'; END$$;
	CREATE FUNCTION evil.clock_platform(OUT name text, OUT value text, OUT note text)
		RETURNS SETOF record LANGUAGE plpgsql
		AS $$BEGIN RAISE EXCEPTION 'trapped'; END$$;
	CREATE FUNCTION evil.internal_clock_merge_add(timing.clock_sample, timing.clock_sample) RETURNS timing.clock_sample
		LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'trapped'; END$$;
	CREATE FUNCTION evil.traps(double precision, double precision) RETURNS boolean
		LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'trapped'; END$$;
	CREATE FUNCTION evil.traps(text, text) RETURNS boolean
		LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'trapped'; END$$;
	CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.traps);
	CREATE OPERATOR evil.> (LEFTARG = double precision, RIGHTARG = double precision,
		FUNCTION = evil.traps);
	CREATE DOMAIN evil.text AS int;
	CREATE DOMAIN evil.numeric AS int});

# The results must be the same with "evil" in search_path. The queries of the test qualify all
# names, so only names in function bodies and views could refer to the objects in "evil".
my @stable = (
	'SELECT source, available, clock, description FROM timing.clock_sources',
	q{SELECT name, value FROM timing.clock_platform WHERE name OPERATOR(pg_catalog.~) '^(processor|hypervisor|tsc|rdtscp|invariant_tsc|tsc_adjust|server_version)$'},
	'SELECT s, timing.clock_summary(s) FROM timing.shown',
	'SELECT v.* FROM timing.shown, timing.clock_histogram(s) AS v',
	'SELECT v.* FROM timing.shown, timing.clock_histogram(s, 99) AS v',
	'SELECT timing.clock_merge(s) FROM timing.shown');
my $ordinary = 'pg_catalog, timing, public';
my $malicious = 'evil, pg_catalog, timing, public';

foreach my $sql (@stable)
{
	my @results = map {
		$monitor->query("SET search_path = $_");
		$monitor->query($sql)
	} ($ordinary, $malicious);

	is($results[0]{state}, '00000', "with an ordinary search_path: $sql");
	is_deeply(
		[ @{ $results[1] }{ 'state', 'out', 'err' } ],
		[ @{ $results[0] }{ 'state', 'out', 'err' } ],
		"the same with a malicious search_path: $sql");
}
foreach my $call (
	q{timing.clock_measure('system', 0.02)},
	q{timing.clock_histogram('system', 0.02)},
	q{timing.clock_histogram('system', 0.02, 99.99)},
	q{timing.clock_summary('system', 0.02)},
	q{timing.clock_explain('SELECT 1') WHERE node OPERATOR(pg_catalog.>) 0},
	q{timing.clock_explain_text('SELECT 1', method => 'full')},
	q{timing.clock_explain_json('SELECT 1', method => 'full')},
	'timing.clock_report(0.02)')
{
	my $result =
	  $monitor->query("SELECT pg_catalog.count(*) OPERATOR(pg_catalog.>=) 1 FROM $call");

	is("$result->{state} $result->{out}",
		'00000 t', "under a malicious search_path: $call");
}

# Checks that the objects in "evil" do raise errors. Otherwise the test could not fail.
is($monitor->query(q{SELECT 'a'::pg_catalog.text = 'b'::pg_catalog.text})->{state},
	'P0001', 'the operator in "evil" raises an error');
is($monitor->query('SELECT * FROM clock_sources()')->{state},
	'P0001', 'the function in "evil" raises an error');

# Before CREATE EXTENSION, a user may have created objects in the extension's schema. The test
# creates operators for many pairs of types, and functions with clocktiming's names that lack
# some of the optional arguments. clocktiming must use none of these objects.
$node->safe_psql('postgres', 'CREATE DATABASE crowded');
$node->safe_psql(
	'crowded', q{
	CREATE SCHEMA home;
	CREATE EXTENSION clocktiming SCHEMA home;
	CREATE TABLE shorter AS
		SELECT p.proname, (SELECT coalesce(string_agg(format_type(a.type, NULL), ', ' ORDER BY a.n), '')
		                   FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS a(type, n) WHERE a.n <= given) AS arguments
		FROM pg_proc p, generate_series(p.pronargs - p.pronargdefaults, p.pronargs - 1) AS given
		WHERE p.pronamespace = 'home'::regnamespace AND p.prokind = 'f' AND NOT p.proargtypes::oid[] && '{home.clock_sample,home.clock_sample[]}'::regtype[]::oid[];
	DROP EXTENSION clocktiming;
	DO $$
	DECLARE
		types text[] := '{smallint,integer,bigint,real,double precision,numeric,text,name,interval,timestamptz,jsonb,text[],double precision[]}';
		f record;
		l text;
		r text;
		operator text;
	BEGIN
		FOR f IN SELECT * FROM shorter LOOP
			EXECUTE format('CREATE FUNCTION home.%I(%s) RETURNS boolean LANGUAGE sql RETURN false', f.proname, f.arguments);
		END LOOP;
		FOREACH l IN ARRAY types LOOP
			FOREACH r IN ARRAY types LOOP
				EXECUTE format('CREATE FUNCTION home.compares(%s, %s) RETURNS boolean LANGUAGE sql RETURN false', l, r);
				EXECUTE CASE r WHEN 'interval' THEN format('CREATE FUNCTION home.counts(%s, %s) RETURNS %2$s LANGUAGE sql RETURN $2', l, r)
					ELSE format('CREATE FUNCTION home.counts(%s, %s) RETURNS %1$s LANGUAGE sql RETURN $1', l, r) END;
				FOREACH operator IN ARRAY '{=,<>,<,<=,>,>=}'::text[] LOOP
					EXECUTE format('CREATE OPERATOR home.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = home.compares)', operator, l, r);
				END LOOP;
				FOREACH operator IN ARRAY '{+,-,*,/,%,||}'::text[] LOOP
					EXECUTE format('CREATE OPERATOR home.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = home.counts)', operator, l, r);
				END LOOP;
			END LOOP;
		END LOOP;
	END$$;
	CREATE EXTENSION clocktiming SCHEMA home});
my $taken = q{
	SELECT string_agg(DISTINCT pg_describe_object(d.classid, d.objid, d.objsubid) || ' takes ' || pg_describe_object(d.refclassid, d.refobjid, 0), E'\n')
	FROM pg_depend d
	WHERE d.classid NOT IN ('pg_operator'::regclass, 'pg_type'::regclass)
	  AND (SELECT schema FROM pg_identify_object(d.refclassid, d.refobjid, 0)) = 'home'
	  AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
	  AND NOT EXISTS (SELECT 1 FROM pg_depend e WHERE e.classid = d.refclassid AND e.objid = d.refobjid AND e.deptype = 'e')};
is($node->safe_psql('crowded', $taken), '', 'no object of clocktiming uses objects that users have created in its schema');
like($node->safe_psql('crowded', "CREATE VIEW home.shown AS SELECT 1 OPERATOR(home.<) 2::bigint; $taken"),
	qr/shown takes operator home\.</, 'a view that uses such an object is found');

# In the extension's schema, a user can create a function whose argument types match a call exactly.
# Such a function would take precedence over a polymorphic function of pg_catalog. So the install
# script must qualify all calls of polymorphic functions.
my $script = $node->safe_psql('crowded', q{
	SELECT pg_read_file(setting || '/extension/clocktiming--' || default_version || '.sql')
	FROM pg_config c, pg_available_extensions e WHERE c.name = 'SHAREDIR' AND e.name = 'clocktiming'});
# Removes from the script the functions whose body is a string, because they set a search_path of
# their own.
$script =~ s/^LANGUAGE (?:plpg)?sql [^;\$]*SET search_path = pg_catalog, pg_temp\b[^;\$]*AS (\$\w*\$).*?^\g{-1};//gms;
unlike($script, qr/^LANGUAGE plpgsql/m, 'all functions in PL/pgSQL set this search_path');
$script =~ s/--.*$|E?'(?:[^']|'')*'|COMMENT ON [^']*//gm;
my $any = join('|', split /\n/, $node->safe_psql('crowded', q{
	SELECT DISTINCT proname FROM pg_proc p
	WHERE pronamespace = 'pg_catalog'::regnamespace AND proname ~ '^[a-z_]+$' AND proname NOT IN ('min', 'max')
	  AND EXISTS (SELECT 1 FROM unnest(proargtypes::oid[]) a WHERE a::regtype::text ~ '^"?any')}));
is_deeply([ $script =~ /(?<![.\w])((?:$any)\((?!\*).*)/g ], [], 'all calls of polymorphic functions are qualified');

$_->quit foreach ($alice, $monitor);
$node->stop;

done_testing();
