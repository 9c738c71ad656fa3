
# Tests pg_upgrade to a newer PostgreSQL. Afterwards, all data of the databases must be as before:
# samples, snapshots, servers of the fleet, views and privileges. The extension must be identical to
# one that CREATE EXTENSION creates in the new version.
#
# The server also keeps data in two files, which the test copies. The new server must read the
# history of the clock. It must reject the statistics of plans, which depend on the major version.

use strict;
use warnings;

use File::Basename;
use File::Copy;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $settings = q{
shared_preload_libraries = 'clocktiming'
clocktiming.watch = on
clocktiming.watch_interval = 200ms
clocktiming.track = on
clocktiming.track_everything = on
compute_query_id = on
autovacuum = off
};
my $catalog = slurp_file(dirname(__FILE__) . '/catalog.sql');
my @like = ('--encoding=UTF8', '--locale=C');

my $old = PostgreSQL::Test::Cluster->new('old', install_path => $ENV{OLD_INSTALL});
my $new = PostgreSQL::Test::Cluster->new('new');
foreach ($old, $new)
{
	$_->init(extra => [ @like, $_->pg_version >= 18 ? '--no-data-checksums' : () ]);
	$_->append_conf('postgresql.conf', $settings);
}
# With a long interval, the new server's own observations cannot be mistaken for the old history.
$new->append_conf('postgresql.conf', q{clocktiming.watch_interval = 1min});
my $from = $old->pg_version->major;
my $to = $new->pg_version->major;
my $host = $old->host;

$old->start;
$old->safe_psql('postgres', 'CREATE ROLE regress_alice; CREATE DATABASE source');
$old->safe_psql('source', "CREATE EXTENSION dblink; CREATE SCHEMA clocks; CREATE EXTENSION clocktiming SCHEMA clocks; ALTER DATABASE source SET search_path = clocks, public");
$old->safe_psql(
	'source', qq{
	CREATE DOMAIN good_sample AS clock_sample CHECK ((clock_summary(VALUE)).readings > 0);
	CREATE TYPE named_sample AS (name text, s clock_sample);
	CREATE TABLE one (id int, s clock_sample DEFAULT clock_measure('system', 0.01));
	CREATE TABLE many (id int, s clock_sample[], d good_sample, c named_sample);
	INSERT INTO one SELECT row_number() OVER (), s
		FROM (SELECT source FROM clock_sources WHERE available ORDER BY 1) c, clock_measure(c.source, 0.05) s;
	INSERT INTO one VALUES (99, NULL);
	INSERT INTO many SELECT id, ARRAY[s, NULL, s], s, (id::text, s)::named_sample FROM one WHERE id < 99;
	CREATE VIEW summaries AS SELECT id, v.* FROM one, clock_summary(s) v WHERE s IS NOT NULL;
	CREATE MATERIALIZED VIEW merged AS SELECT clock_merge(s) AS s FROM one WHERE CASE WHEN id < 99 THEN (clock_summary(s)).source = 'system' END;
	CREATE VIEW looks AS SELECT per, at, warm_ns FROM clock_history;
	CREATE FUNCTION mean(s clock_sample) RETURNS double precision LANGUAGE SQL STRICT BEGIN ATOMIC SELECT (clock_summary(s)).mean_ns; END;
	SELECT clock_fleet_add('self', '{"host": "$host", "port": @{[ $old->port ]}, "dbname": "source"}');
	GRANT SELECT ON clock_sources TO regress_alice;
	REVOKE EXECUTE ON FUNCTION clock_report(double precision, double precision) FROM pg_monitor;
	SELECT count(*) FROM one WHERE id > 0;
	SELECT clock_stats_snapshot()});
ok($old->poll_query_until('source', q{SELECT count(*) > 0 FROM clock_history WHERE warm_ns IS NOT NULL}), 'the old server has a history of its clock');
is($old->safe_psql('source', 'SELECT error IS NULL FROM clock_fleet'), 't', 'the old server reads the servers of its fleet');

my @facts = (
	[ 'samples', q{SELECT id, md5(s::text) FROM one ORDER BY id} ],
	[ 'samples in arrays, domains and rows', q{SELECT id, md5(s::text), md5(d::text), md5(c::text) FROM many ORDER BY id} ],
	[ 'samples in binary form', q{SELECT id, md5(internal_clock_sample_send(s)) FROM one ORDER BY id} ],
	[ 'rows of a view', q{SELECT * FROM summaries ORDER BY id} ],
	[ 'rows of a materialized view', q{SELECT md5(s::text) FROM merged} ],
	[ 'results of a function', q{SELECT id, mean(s) FROM one ORDER BY id} ],
	[ 'histograms', q{SELECT id, md5(string_agg(v::text, ',' ORDER BY v)) FROM one, clock_histogram(s) v WHERE s IS NOT NULL GROUP BY id ORDER BY id} ],
	[ 'snapshots', q{SELECT * FROM clock_node_snapshots ORDER BY 1, 2, 3, 4, 5, 6} ],
	[ 'servers of the fleet', q{SELECT srvname, srvtype, o, usename FROM pg_foreign_server JOIN pg_user_mappings USING (srvname), unnest(srvoptions) o ORDER BY 1, 2, 3} ],
	[ 'privileges', q{
		SELECT proname, pg_get_function_identity_arguments(oid), g.grantee::regrole, g.privilege_type
			FROM pg_proc, aclexplode(proacl) AS g WHERE proname LIKE 'clock\_%'
			UNION ALL
			SELECT relname, '', g.grantee::regrole, g.privilege_type
			FROM pg_class, aclexplode(relacl) AS g WHERE relname LIKE 'clock\_%' AND g.privilege_type <> 'MAINTAIN'
			ORDER BY 1, 2, 3, 4} ],
	[ 'version and schema of the extension', q{SELECT extname, extversion, extnamespace::regnamespace FROM pg_extension WHERE extname = 'clocktiming'} ]);
my %before = map { $_->[0] => $old->safe_psql('source', $_->[1]) } @facts;
cmp_ok(length $before{$_}, '>', 20, "$_: there is something to compare") foreach map { $_->[0] } @facts;
like($before{snapshots}, qr/\|Seq Scan\|one\|/, 'the snapshots contain the plan of a query');
like($before{privileges}, qr/^clock_sources\|\|regress_alice\|SELECT$/m, 'a granted privilege is among the privileges of the old server');
unlike($before{privileges}, qr/^clock_report\|.*\|pg_monitor\|/m, 'a revoked privilege is not among the privileges of the old server');
my $intervals = q{SELECT sum(intervals) FROM clock_history WHERE per = 'minute'};
my $judged = $old->safe_psql('source', $intervals);
$old->stop;

sub kept { my ($node, $file) = @_; return $node->data_dir . "/pg_stat/clocktiming.$file"; }
my %kept = map { $_ => slurp_file(kept($old, $_)) } 'stat', 'watch';

chdir(PostgreSQL::Test::Utils::tempdir()) or die $!;
my @upgrade = ('pg_upgrade', '--no-sync', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $old->config_data('--bindir'),
	'-B', $new->config_data('--bindir'), '-s', $new->host, '-p', $old->port, '-P', $new->port);
command_ok([ @upgrade, '--check' ], "pg_upgrade --check from $from to $to");
command_ok(\@upgrade, "pg_upgrade from $from to $to") or do {
	my $output = $new->data_dir . '/pg_upgrade_output.d';
	diag(slurp_file($_)) foreach glob("$output/*/log/*.log *.log");
};

# pg_upgrade neither changes the two files of the old server nor creates them in the new server.
is(slurp_file(kept($old, $_)), $kept{$_}, "pg_upgrade does not change clocktiming.$_ of the old server") foreach sort keys %kept;
ok(!-e kept($new, $_), "pg_upgrade creates no clocktiming.$_ in the new server") foreach sort keys %kept;

# Copies both files while no server runs, as the manual describes. The new server will reject one of
# them.
copy(kept($old, $_), kept($new, $_)) or die $! foreach keys %kept;
$new->start;
is($new->safe_psql('source', $_->[1]), $before{ $_->[0] }, "after pg_upgrade from $from to $to, unchanged: $_->[0]") foreach @facts;
cmp_ok($new->safe_psql('source', $intervals), '>=', $judged, 'the new server has at least as many intervals of the history of the clock as the old one');
my $log = slurp_file($new->logfile);
like($log, qr/ignoring invalid data in file "pg_stat\/clocktiming\.stat"/, 'the new server rejects the statistics of plans of another major version');
unlike($log, qr/clocktiming\.watch/, 'the new server does not reject the history of the clock');

$new->safe_psql('source', "ALTER SERVER self OPTIONS (SET port '@{[ $new->port ]}')");
is($new->safe_psql('source', q{SELECT server_version = current_setting('server_version') FROM clock_fleet}), 't', 'the new server reads the servers of the fleet');
is($new->safe_psql('source', q{REFRESH MATERIALIZED VIEW merged; SELECT count(*) FROM clock_node_changes() WHERE before_ms IS NOT NULL}), '0', 'clock_node_changes() accepts the old snapshots');
is($new->safe_psql('source', q{SELECT clock_stats_snapshot() IS NOT NULL}), 't', 'a new snapshot can be stored');
is($new->safe_psql('source', q{INSERT INTO one (id) VALUES (100); SELECT mean(s) > 0 FROM one WHERE id = 100}), 't', 'new samples can be measured and stored');
$new->safe_psql('postgres', "ALTER SYSTEM SET clocktiming.watch_interval = '200ms'");
$new->reload;
ok($new->poll_query_until('source', "SELECT ($intervals) > $judged + 5"), 'the new server continues the history of the clock');

# The catalogs must be those of a new database. In that database, all functions and views are first
# printed and created again from the printed text, because pg_upgrade does so, too.
$new->safe_psql('postgres', 'CREATE DATABASE fresh');
$new->safe_psql('fresh', 'CREATE SCHEMA clocks; CREATE EXTENSION clocktiming SCHEMA clocks; ALTER DATABASE fresh SET search_path = clocks, public');
$new->safe_psql('source', 'REVOKE SELECT ON clock_sources FROM regress_alice; GRANT EXECUTE ON FUNCTION clock_report(double precision, double precision) TO pg_monitor');
$new->safe_psql(
	'fresh', q{DO $$
	DECLARE
		printed text;
	BEGIN
		FOR printed IN
			SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'clocks'::regnamespace AND prosqlbody IS NOT NULL
			UNION ALL
			SELECT format('CREATE OR REPLACE VIEW %s%s AS %s', oid::regclass, ' WITH (' || array_to_string(reloptions, ', ') || ')', pg_get_viewdef(oid)) FROM pg_class WHERE relnamespace = 'clocks'::regnamespace AND relkind = 'v'
		LOOP
			EXECUTE printed;
		END LOOP;
	END $$});
my %fact;
foreach my $database ('source', 'fresh')
{
	$fact{$_} .= "$database " foreach split /\n/, $new->safe_psql($database, $catalog);
}
cmp_ok(scalar keys %fact, '>', 500, 'the catalogs contain more than 500 facts about the extension');
is(join("\n", map { "$_ ($fact{$_})" } grep { $fact{$_} ne 'source fresh ' } sort keys %fact), '', 'the upgraded extension is identical to one that CREATE EXTENSION creates');
like($new->safe_psql('source', "ALTER EXTENSION clocktiming UPDATE; SELECT 'done'"), qr/done/, 'ALTER EXTENSION UPDATE succeeds after pg_upgrade');

command_ok([ 'pg_dump', '-f', 'dump.sql', $new->connstr('source') ], 'pg_dump succeeds after pg_upgrade');
$new->stop;
done_testing();
