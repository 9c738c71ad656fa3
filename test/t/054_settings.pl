
# Settings that change how SQL is parsed, or how values are printed, must not change any result.
# Calls each function and each view with these settings and without them. Also executes CREATE
# EXTENSION with them.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
my $statements = $node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_stat_statements'});
$node->append_conf('postgresql.conf', "shared_preload_libraries = '" . ($statements ? 'pg_stat_statements, ' : '') . "clocktiming'\nclocktiming.watch = on\nclocktiming.watch_interval = 300ms\nclocktiming.max_overhead = 100\nautovacuum = off");
$node->restart;
sub query { my ($sql, $database) = @_; return $node->safe_psql($database // 'postgres', $sql); }

# The settings, except for those that this server or this machine does not support
my %settings = (standard_conforming_strings => 'off', backslash_quote => 'off', escape_string_warning => 'off', datestyle => 'German', intervalstyle => 'sql_standard',
	extra_float_digits => -15, bytea_output => 'escape', array_nulls => 'off', transform_null_equals => 'on');
my ($locale) = grep { /^de_DE/ } split /\n/, `locale -a 2>/dev/null`;
@settings{qw(lc_numeric lc_time lc_monetary)} = ($locale) x 3 if defined $locale;
foreach my $name (sort keys %settings)
{
	next if $node->psql('postgres', "SET $name = '$settings{$name}'") == 0;
	note("$name cannot be $settings{$name} on this server");
	delete $settings{$name};
}
my $hostile = join('', map { "SET $_ = '$settings{$_}';\n" } sort keys %settings);

# CREATE EXTENSION creates the same definitions with these settings.
query('CREATE DATABASE other');
query('CREATE EXTENSION clocktiming' . ($statements ? '; CREATE EXTENSION pg_stat_statements' : ''));
query("$hostile CREATE EXTENSION clocktiming", 'other');
my $stored = q{SELECT i.identity, CASE d.classid WHEN 'pg_proc'::regclass THEN (SELECT pg_get_functiondef(p.oid) FROM pg_proc p WHERE p.oid = d.objid AND p.prokind <> 'a')
	WHEN 'pg_class'::regclass THEN pg_get_viewdef(d.objid) END, obj_description(d.objid, d.classid::regclass::name)
	FROM pg_depend d, LATERAL pg_identify_object(d.classid, d.objid, d.objsubid) i
	WHERE d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'clocktiming') AND d.deptype = 'e' ORDER BY 1};
is(query($stored, 'other'), query($stored), 'CREATE EXTENSION creates the same definitions');

# Creates data for the views.
query(q{SET clocktiming.track = on; CREATE TABLE t AS SELECT i FROM generate_series(1, 1000) i; SELECT count(*) FROM t a JOIN t b USING (i)});
query('SELECT i FROM generate_series(1, 300000) i');
query('SELECT clock_stats_snapshot()');
my $dblink = $node->psql('postgres', 'CREATE EXTENSION dblink') == 0;
if ($dblink)
{
	query(sprintf(q{SELECT clock_fleet_add('self', '{"host": "%s", "port": %d, "dbname": "postgres"}')}, $node->host, $node->port));
}
else { note('no dblink'); }
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM clock_history});

# From now on, the watched clock is observed every 12 s, so that history and metrics rarely change during three calls, also on a busy machine.
query($_) foreach q{ALTER SYSTEM SET clocktiming.watch_interval = '1min'}, 'SELECT pg_reload_conf()';
query('CREATE TABLE samples AS SELECT clock_measure($$system$$, 0.01) AS s FROM generate_series(1, 3)');
my $figures = q{'{1.234567890123,2.5,3.25,4.125,5.0625}'::float8[], '{2.234567890123,3.5,4.25,5.125,6.0625}'::float8[]};

# Queries of functions and views. Each query returns only values that are the same in each call.
my %calls = (
	clock_activity => 'SELECT pid, node, query FROM clock_activity',
	clock_advice => 'SELECT check_name FROM clock_advice(0.1)',
	clock_check => 'SELECT check_name, unit FROM clock_check(0.1)',
	clock_compare => "SELECT * FROM clock_compare($figures, plot_width => 74)",
	internal_clock_compare_sums => q{SELECT * FROM internal_clock_compare_sums('{1,2,3,4,5,6,7,8}', '{2,3,4,5,6,7,8,9}', false, 0.95)},
	clock_cpu_skew => 'SELECT cpu, clock FROM clock_cpu_skew(duration => 0.05)',
	clock_drift => q{SELECT source, reference, clock FROM clock_drift('realtime', 0.05)},
	internal_clock_ends_in => q{SELECT internal_clock_ends_in(ms, ms / 2, ms * 2) FROM unnest('{0,1234.5,123456.789,1e9}'::float8[]) ms},
	clock_events => 'SELECT * FROM clock_events',
	clock_executor_overhead_runs => 'SELECT count(*) > 0 FROM clock_executor_overhead_runs(duration => 0.1)',
	clock_explain => q{SELECT node, line, loops, rows FROM clock_explain('SELECT count(*) FROM t WHERE i::text <> ''a''')},
	clock_explain_json => q{SELECT jsonb_path_query_array(clock_explain_json('SELECT count(*) FROM t')::jsonb, '$.**."Node Type"')},
	clock_explain_text => q{SELECT count(*) FROM clock_explain_text('SELECT count(*) FROM t')},
	clock_fleet => 'SELECT server, error, at, source, warm_ns, rate_ppm, trusted, processor FROM clock_fleet',
	clock_fleet_ask => q{SELECT server, error, answer FROM clock_fleet_ask('SELECT to_jsonb(1.23456789012345::float8)')},
	clock_fleet_outliers => 'SELECT * FROM clock_fleet_outliers()',
	clock_histogram => 'SELECT h.* FROM samples, clock_histogram(s) h',
	clock_history => 'SELECT per, at, intervals, watched_s, warm_ns, rate_ppm, sample::text FROM clock_history',
	clock_impact => q{SELECT setting, work, bound, statistics, operations > 5000, in_effect, value FROM clock_impact(setting => NULL) JOIN clock_impact() AS i (setting, verdict, max_sample_rate, most, slowdown, in_effect, value) USING (setting) WHERE work = 'calls of plan nodes'},
	internal_clock_setting => q{SELECT internal_clock_setting('track_io_timing')},
	internal_clock_impact => q{SELECT setting, work, bound, statistics, operations > 5000, reading_ns FROM internal_clock_impact(NULL, 23.456789)},
	internal_clock_counted_calls => 'SELECT jsonb_object_keys(internal_clock_counted_calls())',
	internal_clock_counts => q{SELECT jsonb_object_agg(c.key, NULL) FROM jsonb_each(internal_clock_counts(0.01, 'pg_sleep')) c},
	internal_clock_works => q{SELECT * FROM internal_clock_works('{"temporary files": {"total": 2, "per_s": 1.2345678, "period_s": 1}}', true, '{"reading_ns": 23.456789}')},
	internal_clock_verdict => q{SELECT * FROM internal_clock_verdict(jsonb_build_object('setting', 'auto_explain.log_analyze', 'cpu_percent', 0.2345678, 'most_cpu_percent', 23.456789, 'slowdown_percent', 2.345678, 'most_slowdown_percent', 234.56789, 'bound', 'estimate', 'period', 'since the last reset', 'period_s', 1234.5678), NULL)},
	internal_clock_lines => q{SELECT internal_clock_lines('say `SELECT 1, 2, 3`, or nothing at all', 10)},
	internal_clock_overall => q{SELECT internal_clock_overall(ARRAY['{"severity": "notice", "check_name": "a"}'::jsonb], 'all right')},
	internal_clock_report_block => q{SELECT internal_clock_report_block('t', s::jsonb, 99.99) FROM samples},
	clock_measure => q{SELECT clock_measure('system', 0.01)::jsonb -> 'source'},
	clock_merge => 'SELECT clock_merge(s)::text FROM samples',
	clock_metrics => 'SELECT * FROM clock_metrics',
	clock_metrics_text => 'SELECT clock_metrics_text()',
	clock_monitor => q{SELECT source FROM clock_monitor('{system}', 0.05, 0.05) LIMIT 1},
	clock_node_changes => 'SELECT * FROM clock_node_changes()',
	clock_node_stats => 'SELECT * FROM clock_node_stats',
	internal_clock_outlier_limits => q{SELECT * FROM internal_clock_outlier_limits('{1.23456789,2.5,3.25,4.125}')},
	clock_page => q{SELECT regexp_replace(clock_page(), 'Cost of timing.*The worst plan nodes', '')},
	internal_clock_page_escape => q{SELECT internal_clock_page_escape('a<x01f7>&"' || chr(1) || chr(31))},
	internal_clock_page_sources => 'SELECT * FROM internal_clock_page_sources()',
	clock_plan_stats => 'SELECT * FROM clock_plan_stats',
	clock_platform => q{SELECT name FROM clock_platform},
	clock_query_overhead => q{SELECT count(*) FROM clock_query_overhead('SELECT 1', 0.05)},
	clock_report => q{SELECT regexp_replace(r::text, '[0-9].*', '') FROM clock_report(0.01) r LIMIT 1},
	clock_running => 'SELECT pid, node, node_type, estimated_rows FROM clock_running',
	clock_running_text => 'SELECT clock_running_text(pg_backend_pid()) IS NULL',
	clock_sources => 'SELECT source, description, available, resolution_ns FROM clock_sources',
	internal_clock_statements => 'SELECT count(*) > 0 FROM internal_clock_statements()',
	internal_clock_stats_period => 'SELECT * FROM internal_clock_stats_period(1)',
	internal_clock_state => 'SELECT internal_clock_state()',
	clock_summary => 'SELECT c.* FROM samples, clock_summary(s) c',
	clock_survey => q{SELECT source FROM clock_survey(duration => 0.05) ORDER BY 1},
	clock_throttled => q{SELECT count(*) FROM clock_throttled('system', 0.05)},
	clock_time_spent => 'SELECT percent, node, query FROM clock_time_spent(0.5)',
	clock_timeline => q{SELECT count(*) FROM clock_timeline('system', 0.04, 0.02)},
	clock_trust => q{SELECT * FROM clock_trust(date_trunc('day', now()) - interval '12.5 hours', date_trunc('day', now()) + interval '36 hours')});

# Executes a query with the settings $set, and returns its result as JSON. Stores the result in a
# table first, so that it is converted to JSON without the settings.
sub result { my ($set, $sql) = @_; return query("$set CREATE TEMP TABLE r AS $sql; RESET ALL; SELECT to_jsonb(r) FROM r") =~ s/\d\d:\d\d:\d\d(?:\.\d+)?//gr; }
foreach my $name (sort keys %calls)
{
	my ($before, $with, $after);

	next if $name eq 'clock_fleet_ask' && !$dblink;
	# Retries, because statistics may change between the three calls.
	for (1 .. 5)
	{
		($before, $with, $after) = map { result($_, $calls{$name}) } '', $hostile, '';
		last if $with eq $before || $with eq $after;
	}
	is($with, $with eq $before ? $before : $after, "$name: the same under other settings");
}

# Names of the functions and views that %calls must contain. Omits functions that change data, those
# of the type clock_sample, and the internal functions that are listed here.
my $surface = query(q{SELECT DISTINCT coalesce(p.proname, c.relname) FROM pg_depend d
	LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid AND p.prokind <> 'p'
	LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid AND c.relkind = 'v'
	WHERE d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'clocktiming') AND d.deptype = 'e' AND coalesce(p.proname, c.relname) !~ '^(clock_(sample|fleet_add|stats_reset|stats_snapshot)|internal_clock_(sample|merge_add|fleet_connect|node_sums|check_changes|wait|timing_costs|findings|report_parts))' ORDER BY 1});
is(join("\n", grep { !exists $calls{$_} } split /\n/, $surface), '', 'the calls include all public functions and views');
$node->stop;
done_testing();
