
# Tests the files of monitoring/ with Prometheus and exporters. Prometheus reads the metrics of a
# server by each of Debian's exporters, and from clock_metrics_text(). Their values must be those of
# clock_metrics. An alert must fire while the clock is faulty.
#
# If burningalchemist's sql_exporter is in PATH, it is tested, too. Debian has no package of it. To
# install it: go install github.com/burningalchemist/sql_exporter/cmd/sql_exporter@latest

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename;
use HTTP::Tiny;
use IO::Socket::INET;
use JSON::PP;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

use ClockShim;

# Position of the process id in the control file of test/shim/drift_clock.c
use constant PID => 0;

my %packages = (
	prometheus => 'prometheus',
	promtool => 'prometheus',
	'prometheus-sql-exporter' => 'prometheus-sql-exporter',
	'prometheus-postgres-exporter' => 'prometheus-postgres-exporter');
sub is_there { my ($program) = @_; return scalar grep { -x "$_/$program" } split /:/, $ENV{PATH}; }
my %missing = map { $packages{$_} => 1 } grep { !is_there($_) } keys %packages;
if (%missing)
{
	diag('SKIPPED: monitoring/ is not tested, because these are not installed: ' . join(' ', sort keys %missing));
	plan(skip_all => 'not installed: ' . join(' ', sort keys %missing));
}

my $monitoring = abs_path(dirname(__FILE__) . '/../../monitoring');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $http = HTTP::Tiny->new(timeout => 10);
my $test_pid = $$;
my @pids;

sub put { my ($name, $text) = @_; append_to_file("$directory/$name", $text); return "$directory/$name"; }
sub run_in_background
{
	my ($name, @command) = @_;
	my $pid = fork() // die "fork: $!\n";

	if ($pid == 0)
	{
		open(STDOUT, '>', "$PostgreSQL::Test::Utils::log_path/$name.log") && open(STDERR, '>&', \*STDOUT) or POSIX::_exit(1);
		ref $command[0] ? $command[0]->() : exec(@command);
		POSIX::_exit(1);
	}
	push @pids, $pid;
	return;
}
END
{
	my $status = $?;

	if ($$ == ($test_pid // 0))
	{
		kill('TERM', @pids);
		waitpid($_, 0) foreach @pids;
	}
	$? = $status;
}

command_ok([ 'promtool', 'check', 'config', "$monitoring/prometheus.yml" ], 'promtool accepts the configuration and the alert rules');
command_ok([ 'promtool', 'test', 'rules', "$monitoring/alerts.test.yml" ], 'the alert rules pass the tests of alerts.test.yml');
my $rules = slurp_file("$monitoring/alerts.yml");
my $tests = slurp_file("$monitoring/alerts.test.yml");
is(join(' ', grep { $tests !~ /alertname: $_\n/ } $rules =~ /alert: (\w+)/g), '', 'each alert has a test');

# A server
my $shim = ClockShim->new('drift_clock', 7);
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
# Listens on TCP for burningalchemist's sql_exporter. Its version 0.24 takes the path of a URL without
# a host for the directory of the Unix socket.
$node->append_conf('pg_hba.conf', 'host all all 127.0.0.1/32 trust');
$node->append_conf('postgresql.conf', "listen_addresses = '127.0.0.1'\nshared_preload_libraries = 'clocktiming'\nclocktiming.watch = on\nclocktiming.watch_interval = 500ms\nclocktiming.max_overhead = 100");
$shim->start($node);
if ($node->safe_psql('postgres', q{SELECT current_setting('server_version_num')::int >= 190000}) eq 't')
{
	$node->append_conf('postgresql.conf', 'timing_clock_source = system');
	$node->stop;
	$shim->start($node);
}
sub query { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }
query('CREATE EXTENSION clocktiming; CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor; CREATE TABLE "a""b" (a int); SET clocktiming.track = on; INSERT INTO "a""b" VALUES (1)');
$node->poll_query_until('postgres', q{SELECT value = 1 FROM clock_metrics WHERE name = 'pg_clock_watched'}) or die 'the clock is not watched';

# Exporters, each on a port of its own
my @jobs = (is_there('sql_exporter') ? 'burningalchemist' : (), qw(openmetrics postgres_exporter sql_exporter));
my %port = map { $_ => PostgreSQL::Test::Cluster::get_free_port() } ('prometheus', @jobs);
my ($host, $pg_port) = ($node->host, $node->port);
my $url = "postgres://regress_monitor\@/postgres?host=$host&port=$pg_port&sslmode=disable";
$ENV{DATA_SOURCE_NAME} = "host=$host port=$pg_port user=regress_monitor dbname=postgres sslmode=disable";
run_in_background('postgres_exporter', 'prometheus-postgres-exporter', '--disable-default-metrics', '--disable-settings-metrics',
	"--extend.query-path=$monitoring/postgres_exporter.yaml", "--web.listen-address=127.0.0.1:$port{postgres_exporter}");
my $config = slurp_file("$monitoring/sql_exporter-debian.yml");
$config =~ s{postgres://\S+}{$url};
$config =~ s/interval: 15s/interval: 1s/;
run_in_background('sql_exporter', 'prometheus-sql-exporter', '-config.file', put('sql_exporter.yml', $config), '-web.listen-address', "127.0.0.1:$port{sql_exporter}");
run_in_background('burningalchemist', 'sql_exporter', "-web.listen-address=127.0.0.1:$port{burningalchemist}", '-config.file',
	put('burningalchemist.yml', "target:\n  data_source_name: postgres://regress_monitor\@127.0.0.1:$pg_port/postgres?sslmode=disable\n  collectors: [clocktiming]\ncollector_files: [$monitoring/clocktiming.collector.yml]\n"))
  if $port{burningalchemist};
my $listen = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port{openmetrics}, Listen => 5, ReuseAddr => 1) or die "$port{openmetrics}: $!\n";
run_in_background('openmetrics', sub {
	$SIG{TERM} = sub { POSIX::_exit(0) };
	while (my $client = $listen->accept)
	{
		while (<$client>) { last if /^\r?$/; }
		my $text = `psql -XAtq -h '$host' -p $pg_port -U regress_monitor -d postgres -c "SELECT clock_metrics_text('openmetrics')"`;
		chomp $text;
		print $client "HTTP/1.0 200 OK\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\nConnection: close\r\n\r\n$text";
		close($client);
	}
});
close($listen);

# Starts Prometheus with copies of the files of monitoring/. The copies have other ports and shorter
# intervals, and alerts without delay ("for").
put('alerts.yml', $rules =~ s/^ +for: .*\n//gmr);
$config = slurp_file("$monitoring/prometheus.yml");
my ($head, @all) = split /^(?=  (?:#.*\n  )*- job_name)/m, $config;
@all = grep { my ($name) = /job_name: (\w+)/; $port{$name} && s/localhost:\d+/127.0.0.1:$port{$name}/ } @all;
is(scalar(@all), scalar(@jobs), 'prometheus.yml has a job for each tested exporter');
put('prometheus.yml', join('', $head =~ s/scrape_interval: 15s/scrape_interval: 1s\n  evaluation_interval: 1s/r, @all));
run_in_background('prometheus', 'prometheus', "--config.file=$directory/prometheus.yml", "--storage.tsdb.path=$directory/data",
	"--web.listen-address=127.0.0.1:$port{prometheus}", '--storage.tsdb.retention.time=1h');

# Executes a query of Prometheus. Returns a hash of labels for each result, with its value as
# "value".
sub ask
{
	my ($promql) = @_;
	my $answer = $http->get("http://127.0.0.1:$port{prometheus}/api/v1/query?" . $http->www_form_urlencode({ query => $promql }));

	return () unless $answer->{success};
	return map { $_->{metric}{value} = $_->{value}[1]; $_->{metric} } @{ decode_json($answer->{content})->{data}{result} };
}
sub values_of { my ($promql) = @_; return join(' ', sort map { ($_->{job} // '') . "=$_->{value}" } ask($promql)); }
sub wait_for
{
	my ($promql, $expected, $what) = @_;
	my $until = time + $PostgreSQL::Test::Utils::timeout_default;

	sleep(0.5) while values_of($promql) ne $expected && time < $until;
	return is(values_of($promql), $expected, $what);
}
sub in_all { my ($value) = @_; return join(' ', map { "$_=$value" } @jobs); }

wait_for('up', in_all(1), 'Prometheus scrapes all exporters');
wait_for('pg_clock_watched', in_all(1), 'all exporters export that the clock is watched');
my $names = query('SELECT count(DISTINCT name) FROM clock_metrics');
wait_for('count by (job) (count by (job, __name__) ({__name__=~"pg_clock_.*"}))', in_all($names), 'all exporters export all metrics');
my $rows = query('SELECT count(*) FROM clock_metrics');
wait_for('count by (job) ({__name__=~"pg_clock_.*"})', in_all($rows), 'all exporters export all rows of clock_metrics');
foreach my $name ('source_info', 'node_self_seconds_total')
{
	my %labels = map { %$_ } grep { $_ } map { decode_json($_) } split /\n/, query("SELECT jsonb_build_object(label, (SELECT labels ->> label FROM clock_metrics WHERE name = 'pg_clock_$name' ORDER BY labels LIMIT 1)) FROM clock_metrics, jsonb_object_keys(labels) label WHERE name = 'pg_clock_$name'");
	my $selector = join(', ', map { my $value = $labels{$_} =~ s/([\\"])/\\$1/gr; "$_=\"$value\"" } sort keys %labels);

	wait_for("count by (job) (pg_clock_$name\{$selector\})", in_all(1), "labels of $name are those of clock_metrics");
}
is(join(' ', sort map { $_->{job} } grep { $_->{value} > 1e-9 && $_->{value} < 1e-5 } ask('pg_clock_reading_seconds')), "@jobs", 'all exporters export a cost of a reading between 1 ns and 10 us');
my $metadata = decode_json($http->get("http://127.0.0.1:$port{prometheus}/api/v1/targets/metadata?" . $http->www_form_urlencode({ match_target => '{job="openmetrics"}' }))->{content})->{data};
is(join(' ', sort grep { defined } map { $_->{type} eq 'counter' ? $_->{metric} : undef } @$metadata), join(' ', sort split(/\n/, query(q{SELECT DISTINCT replace(name, '_total', '') FROM clock_metrics WHERE type = 'counter'}))), 'Prometheus knows which metrics are counters');

# All metrics that alerts and the dashboard use must exist. Prometheus must accept the queries of
# the dashboard.
my %known = map { $_ => 1 } slurp_file("$monitoring/clocktiming.collector.yml") =~ /metric_name: (\w+)/g;
my @exprs = map { $_->{expr} } map { @{ $_->{targets} } } @{ decode_json(slurp_file("$monitoring/dashboard.json"))->{panels} };
s/\$(?:instance|server)/.*/g foreach @exprs;
is(join(' ', grep { !$known{$_} } map { /pg_clock_\w+/g } @exprs, $rules =~ /expr: (.*)/g), '', 'all metrics of the alerts and of the dashboard exist');
is(join("\n", grep { !$http->get("http://127.0.0.1:$port{prometheus}/api/v1/query?" . $http->www_form_urlencode({ query => $_ }))->{success} } @exprs), '', 'Prometheus accepts the queries of the dashboard');
is(join(' ', grep { !ask($_) } grep { !/increase|rate\(|== 1|assumed|sync|stolen/ } @exprs), '', 'the queries of the dashboard return values');

# The clock is faulty for a while.
my $firing = 'ALERTS{alertname="ClockRateWrong", alertstate="firing"}';
is(values_of($firing), '', 'no alert ClockRateWrong for a correct clock');
$shim->write(PID, ClockShim::watcher($node), 1_000_000, ClockShim::ahead_ns() - int(ClockShim::raw_ns() / 1000));
wait_for($firing, in_all(1), 'an alert ClockRateWrong for a clock that is 0.1 % fast');
is(values_of('ALERTS{alertname=~"ClockWentBackward|ClockNotWatched|ClockMachineChanged"}'), '', 'no other alert of clocks for a clock that is 0.1 % fast');
$shim->write(PID, 0);
wait_for($firing, '', 'the alert ClockRateWrong ends when the clock is correct again');

# clocktiming.watch is turned off. An alert must fire, and old values must no longer be exported.
$node->append_conf('postgresql.conf', 'clocktiming.watch = off');
$node->restart;
wait_for('ALERTS{alertname="ClockNotWatched", alertstate="firing"}', in_all(1), 'an alert ClockNotWatched if clocktiming.watch is off');
wait_for('pg_clock_reading_seconds', '', 'no cost of a reading is exported if clocktiming.watch is off');
$node->stop;

done_testing();
