
# clock_metrics and clock_metrics_text() return what the worker has observed, in formats for
# monitoring systems. They do not measure.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockShim;

# Positions of words in the control file of drift_clock.c.
use constant { PID => 0, RATE => 1, AHEAD => 2 };

my $shim = ClockShim->new('drift_clock', 7);
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'max_connections = 250');
$node->start;
$node->append_conf('postgresql.conf', 'timing_clock_source = system')
  if $node->safe_psql('postgres', q{SELECT current_setting('server_version_num')::int >= 190000}) eq 't';

sub query { my ($sql, @more) = @_; return $node->safe_psql('postgres', $sql, @more); }
sub wait_for { my ($sql, $what) = @_; return ok($node->poll_query_until('postgres', $sql), $what); }

# Returns an SQL expression for the value of a metric; NULL if there is no such metric.
sub value
{
	my ($name, %labels) = @_;
	my $labels = join(', ', map { "'$_', '$labels{$_}'" } sort keys %labels);
	return "(SELECT value FROM clock_metrics WHERE name = 'pg_clock_$name' AND labels \@> jsonb_build_object($labels))";
}

# Without a worker
query('CREATE EXTENSION clocktiming; CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor; CREATE ROLE regress_other LOGIN');
is(query('SELECT string_agg(name, $$,$$ ORDER BY name) FROM clock_metrics'), 'pg_clock_source_info,pg_clock_watched', 'without the worker, only metrics that need no measurement exist');
is(query('SELECT ' . value('watched')), '0', 'without the worker, the clock is not watched');
like(query('SELECT clock_metrics_text()'), qr/^pg_clock_watched 0\n/m, 'the text says that the clock is not watched');
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'clocktiming'\nclocktiming.max_overhead = 100");
$node->restart;
is(query('SELECT ' . value('watched')), '0', 'preloaded, but not watched');

# No slot for a background worker is free.
$node->append_conf('postgresql.conf', "clocktiming.watch = on\nclocktiming.watch_interval = 500ms\nmax_worker_processes = 0");
$node->restart;
is(query('SELECT ' . value('watched')), '0', 'without a slot for the worker nobody watches');
like(slurp_file($node->logfile), qr/WARNING:  clocktiming does not watch the clocks.*\n.*HINT:  Raise max_worker_processes/, 'the log reports the missing slot');
foreach my $sql ('SELECT * FROM clock_history', 'SELECT * FROM clock_events', 'SELECT * FROM clock_trust(now())')
{
	my (undef, undef, $err) = $node->psql('postgres', $sql);
	like($err, qr/the clocks are not watched\nHINT:  Raise max_worker_processes/, "and so does $sql");
}

# With the worker
$node->append_conf('postgresql.conf', 'max_worker_processes = 8');
$node->stop;
$shim->start($node);
wait_for('SELECT ' . value('watched') . ' = 1', 'the clock is watched');
is(query(q{SELECT string_agg(DISTINCT name, E'\n' ORDER BY name) FROM clock_metrics WHERE name !~ 'sync|stolen|node_self'}), join("\n", sort map { "pg_clock_$_" }
	  qw(watched source_info reading_seconds cold_reading_seconds rate_error_ratio off_cpu_ratio backward_steps_total warps_total lags_total gaps_total events_total event_active advice kept_plans evicted_plans_total plans_reset_timestamp_seconds)), 'metrics');
is(query(q{SELECT count(*) FROM (SELECT name FROM clock_metrics GROUP BY name HAVING count(DISTINCT (type, help)) > 1 OR count(DISTINCT labels) < count(*)) m}), '0', 'each metric has one type and one help text, and no two of its samples have the same labels');
is(query(q{SELECT count(*) FROM clock_metrics WHERE (type = 'counter') <> (name LIKE '%\_total') OR type NOT IN ('counter', 'gauge') OR value IS NULL}), '0', 'names of counters end in _total, and no metric is NULL');
is(query('SELECT ' . value('reading_seconds', source => 'system') . q{ * 1e9 / h.warm_ns BETWEEN 0.01 AND 100 FROM clock_history h ORDER BY at DESC LIMIT 1}), 't', 'the cost is in seconds');
is(query(q{SELECT count(*), sum(value) FROM clock_metrics WHERE name = 'pg_clock_advice'}), '24|8', 'each check has one severity');
is(query(q{SELECT count(*) FROM clock_metrics m WHERE name = 'pg_clock_events_total' AND value <> (SELECT count(*) FROM clock_events e WHERE e.what = m.labels ->> 'what')}), '0', 'events are those of clock_events');

# The clock becomes faulty, and the metrics show it. Counters must never decrease.
my %counters;
sub counters_only_grow
{
	my ($what) = @_;
	my @fallen;

	foreach (split /\n/, query(q{SELECT name || labels || '=' || value FROM clock_metrics WHERE type = 'counter' AND name !~ 'node_self'}))
	{
		my ($name, $value) = /(.*)=(.*)/;
		push @fallen, "$name: $value after $counters{$name}" if $value < ($counters{$name} // 0);
		$counters{$name} = $value;
	}
	return is(join(', ', @fallen), '', "counters have only grown: $what");
}
counters_only_grow('at first');
my $ahead = ClockShim::ahead_ns();
my $fast = 1_000_000;
sub gained { return int(ClockShim::raw_ns() * ($fast / 1e9)); }
$ahead -= gained();
$shim->write(PID, ClockShim::watcher($node), $fast, $ahead);
my $rate = value('event_active', what => 'rate');
my $drift = value('advice', check => 'drift', severity => 'warning');
wait_for("SELECT $rate = 1 AND $drift = 1 AND " . value('advice', check => 'drift', severity => 'ok') . ' = 0', 'a clock that is 0.1 % fast');
# In the interval in which the clock became fast, it was fast only for a part of the time. So the
# test waits for the next interval.
wait_for('SELECT round(' . value('rate_error_ratio') . '::numeric * 1000, 1) = 1.0', 'the rate error is 0.001');
is(query('SELECT ' . value('advice', check => 'lags', severity => 'ok')), '1', 'another check is still ok');
$ahead += gained();
$shim->write(RATE, 0, $ahead);
wait_for("SELECT $rate = 0 AND $drift = 0 AND " . value('events_total', what => 'rate') . ' = 1', 'the clock has the right rate again');
counters_only_grow('after an event');
$shim->write(AHEAD, $ahead - 1_000_000_000);
wait_for('SELECT ' . value('lags_total') . ' + ' . value('backward_steps_total') . q{ > 0
	AND (SELECT sum(value) FROM clock_metrics WHERE name = 'pg_clock_advice' AND labels ->> 'severity' = 'warning' AND labels ->> 'check' IN ('lags', 'backward_steps')) > 0}, 'a step back');
wait_for(q{SELECT bool_and(m.value = CASE m.name WHEN 'pg_clock_lags_total' THEN h.lags WHEN 'pg_clock_warps_total' THEN h.warps WHEN 'pg_clock_gaps_total' THEN h.gaps ELSE h.backward_steps END)
	FROM clock_metrics m, (SELECT sum(lags) AS lags, sum(warps) AS warps, sum(gaps) AS gaps, sum(backward_steps) AS backward_steps FROM clock_history WHERE per = 'minute') h
	WHERE m.labels ? 'source' AND m.type = 'counter'}, 'counters are sums of the history');
counters_only_grow('after a step');
my $intervals = query(q{SELECT sum(intervals) FROM clock_history WHERE per = 'minute'});
$node->poll_query_until('postgres', "SELECT sum(intervals) > $intervals + 2 FROM clock_history WHERE per = 'minute'");
counters_only_grow('some intervals later');
$shim->write(PID, 0);

# The plan nodes with the longest self times: at most ten, with the values of clock_node_stats. These
# contain the time of executions without samples, too, so all statements take at least some 50 ms.
# Users who are not members of pg_read_all_stats see only nodes of their own plans.
query(q{SET clocktiming.track = on; CREATE TABLE "a\""b
c" (a int); INSERT INTO "a\""b
c" SELECT generate_series(1, 200000); SELECT count(*) FROM "a\""b
c" x JOIN "a\""b
c" y USING (a) WHERE a <> 4711; SELECT max(relname) FROM pg_class, generate_series(1, 1000) WHERE relname <> 'literal'; SELECT 1 FROM pg_attribute, generate_series(1, 50) ORDER BY attname LIMIT 1; SELECT count(*) FROM pg_proc, generate_series(1, 200)});
query('ALTER ROLE regress_other SET clocktiming.track = on');
query(q{SELECT count(*) FROM generate_series(1, 1000000)}, extra_params => [ '-U', 'regress_other' ]);
is(query(q{SELECT count(*), count(*) FILTER (WHERE s.self_ms >= (SELECT min(self_ms) FROM (SELECT self_ms FROM clock_node_stats ORDER BY self_ms DESC NULLS LAST LIMIT 10) AS longest))
	FROM (SELECT labels ->> 'queryid' AS queryid, labels ->> 'planid' AS planid, labels ->> 'node' AS node, value FROM clock_metrics WHERE name ~ 'node_self') m
	LEFT JOIN clock_node_stats s ON s.queryid::text = m.queryid AND s.planid::text = m.planid AND s.node::text = m.node AND abs(s.self_ms - m.value * 1e3) < 1e-5}),
	'10|10', 'the ten nodes with the longest self times');
is(query(q{SELECT count(*) FROM clock_metrics WHERE labels::text ~ '4711|literal'}), '0', 'without literals');
query('GRANT SELECT ON clock_metrics TO regress_other; GRANT EXECUTE ON FUNCTION clock_metrics(text) TO regress_other');
is(query(q{SELECT string_agg(DISTINCT labels ->> 'usename', ',') FROM clock_metrics WHERE name ~ 'node_self'}, extra_params => [ '-U', 'regress_other' ]), 'regress_other', 'an ordinary role sees only its own plans');
query('REVOKE SELECT ON clock_metrics FROM regress_other; REVOKE EXECUTE ON FUNCTION clock_metrics(text) FROM regress_other');
is(query(q{SELECT bool_or(labels ->> 'usename' NOT LIKE 'regress%') FROM clock_metrics WHERE name ~ 'node_self'}, extra_params => [ '-U', 'regress_monitor' ]), 't', 'a member of pg_monitor sees all plans');

# Each line of the text corresponds to a row of the view. Names that users have chosen are escaped.
foreach my $format (qw(prometheus openmetrics))
{
	my $open = $format eq 'openmetrics';
	my ($family, %types, @samples, @wrong);
	my @lines = split /\n/, query("SELECT clock_metrics_text('$format')");
	is(pop @lines, '# EOF', 'the text ends with the EOF line') if $open;
	foreach my $line (@lines)
	{
		if ($line =~ /^# TYPE (\w+) (gauge|counter)$/) { push @wrong, $line if $types{$1}; $types{ $family = $1 } = $2; }
		elsif ($open && $line =~ /^# UNIT (\w+) (\w+)$/) { push @wrong, $line if $1 ne $family || $family !~ /_$2$/; }
		elsif ($line =~ /^# HELP (\w+) [^\\"]+$/) { push @wrong, $line if $1 ne $family; }
		elsif ($line =~ /^(\w+)((?:\{(?:\w+="(?:[^"\\]|\\[\\"n])*",?)+\})?) (\S+)$/)
		{
			my ($name, $labels, $value) = ($1, $2, $3);
			push @wrong, $line if $name ne $family . ($open && $types{$family} eq 'counter' ? '_total' : '') || $value !~ /^-?[0-9.]+(e-?\d+)?$/;
			push @samples, $name;
		}
		else { push @wrong, $line; }
	}
	is(join("\n", @wrong), '', "each line conforms to $format");
	is(scalar(@samples), query('SELECT count(*) FROM clock_metrics'), 'and there are as many samples as in the view');
	like(join("\n", @lines), qr/relation="a\\\\\\"b\\nc"/, 'a name with a backslash, a quote and a new line');
}
my (undef, undef, $refused) = $node->psql('postgres', q{SELECT clock_metrics_text('json')});
like($refused, qr/unknown format "json"\nHINT:  Known formats are prometheus and openmetrics\./, 'no other format');

# Checks a database's metrics by promtool.
sub lint
{
	my ($database, $what) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . '/clocks.prom';

	SKIP:
	{
		skip('promtool is not installed, so nothing has checked the text', 1) if !grep { -x "$_/promtool" } split /:/, $ENV{PATH};
		unlink($file);
		append_to_file($file, $node->safe_psql($database, 'SELECT clock_metrics_text()', extra_params => [ '-U', 'regress_monitor' ]) . "\n");
		is(`promtool check metrics <'$file' 2>&1`, '', "$what: promtool has nothing to say");
	}
	return;
}
lint('postgres', 'the text');

# Privileges, and many calls at the same time
isnt($node->psql('postgres', $_, extra_params => [ '-U', 'regress_other' ]), 0, "not for everybody: $_") foreach ('SELECT * FROM clock_metrics', 'SELECT clock_metrics_text()', q{SELECT * FROM clock_metrics('prometheus')});
is($node->psql('postgres', 'SELECT clock_metrics_text()', extra_params => [ '-U', 'regress_monitor' ]), 0, 'a member of pg_monitor may call clock_metrics_text()');
my $script = PostgreSQL::Test::Utils::tempdir() . '/scrape.sql';
append_to_file($script, "SELECT clock_metrics_text();\n");
my ($out, $err) = run_command([ 'pgbench', '-n', '-c', 200, '-t', 2, '-f', $script, '-h', $node->host, '-p', $node->port, '-U', 'regress_monitor', 'postgres' ]);
like($out, qr{transactions actually processed: 400/400\b}, '200 scrapes in parallel') or diag($err);

# Names in databases with other encodings, and with an unknown encoding. The text is in UTF-8, and
# different names remain different.
query("CREATE DATABASE $_ TEMPLATE template0 ENCODING $_ LOCALE 'C'") foreach qw(latin1 win1252 utf8 sql_ascii);
{
	local $ENV{PGCLIENTENCODING} = 'SQL_ASCII';
	$node->safe_psql('sql_ascii', "CREATE DATABASE $_ TEMPLATE template0 ENCODING SQL_ASCII LOCALE 'C'") foreach "\"d\xe4\"", "\"d\xf6\"", q{"d\xE4"};
	foreach my $database ("d\xe4", "d\xf6", 'd\xE4')
	{
		$node->safe_psql($database, "CREATE TABLE \"t\xe4\" AS SELECT generate_series(1, 10000) AS i; SET clocktiming.track = on; SELECT count(*) FROM \"t\xe4\" a, generate_series(1, 500)");
	}
	$node->safe_psql('latin1', qq{CREATE ROLE "regress_\xe9"; SET clocktiming.track = on; SET ROLE "regress_\xe9"; SELECT count(*) FROM generate_series(1, 6000000)});
	$node->safe_psql('win1252', qq{CREATE ROLE "regress_\x81"; SET clocktiming.track = on; SET ROLE "regress_\x81"; SELECT count(*) FROM generate_series(1, 6000000)});
}
$ENV{PGCLIENTENCODING} = 'UTF8';
foreach my $database (qw(utf8 sql_ascii latin1 win1252))
{
	$node->safe_psql($database, 'CREATE EXTENSION clocktiming');
	my $text = $node->safe_psql($database, 'SELECT clock_metrics_text()', extra_params => [ '-U', 'regress_monitor' ]);
	ok(utf8::decode(my $copy = $text), "$database: the text is UTF-8");
	is(scalar(() = $text =~ /datname="d[^"]/g) > 0, 1, 'with names in an unknown encoding');
	my %labels;
	$labels{$_}++ foreach $text =~ /^(\w+\{.*\}) /mg;
	is(join("\n", grep { $labels{$_} > 1 } keys %labels), '', 'and no two samples have the same labels');
	is(scalar(keys %{ { map { $_ => 1 } $text =~ /datname="(d[^"a-c]*)"/g } }), 3, 'three databases have three names');
	lint($database, $database);
}
like($node->safe_psql('utf8', 'SELECT clock_metrics_text()'), qr/datname="latin1".*usename="regress_\\\\xE9"/, 'an invalid byte is shown in hexadecimal');
$node->stop;

done_testing();
