
# Runs each program for which monitoring/ has a file, if it is in PATH, with two servers that differ.
# One server has the extension in the schema public, the other one in the schema clock, both in two
# databases. Prometheus reads the programs with the jobs of prometheus.yml. For each program, it must
# have all rows of clock_metrics of each server, nothing else, and the values of that server.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename;
use HTTP::Tiny;
use JSON::PP;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $monitoring = abs_path(dirname(__FILE__) . '/../../monitoring');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $http = HTTP::Tiny->new(timeout => 10);
my $test_pid = $$;
my @pids;

sub is_there { my ($program) = @_; return scalar grep { -x "$_/$program" } split /:/, $ENV{PATH}; }
plan(skip_all => 'not installed: prometheus') unless is_there('prometheus');

sub put { my ($name, $text) = @_; append_to_file("$directory/$name", $text); return "$directory/$name"; }
sub run_in_background
{
	my ($name, @command) = @_;
	my $pid = fork() // die "fork: $!\n";

	if ($pid == 0)
	{
		open(STDOUT, '>', "$PostgreSQL::Test::Utils::log_path/programs_$name.log") && open(STDERR, '>&', \*STDOUT) or POSIX::_exit(1);
		exec { $command[0] } @command or POSIX::_exit(1);
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

# The servers. The second one has the statistics of one plan more.
my @schema = ('public', 'clock');
my (@nodes, @server, @url);
foreach my $i (0, 1)
{
	my $node = PostgreSQL::Test::Cluster->new("server$i");

	$node->init;
	$node->append_conf('postgresql.conf', "listen_addresses = '127.0.0.1'\nshared_preload_libraries = 'clocktiming'\nclocktiming.watch = on\nclocktiming.watch_interval = 500ms\nclocktiming.max_overhead = 100");
	$node->append_conf('pg_hba.conf', 'host all all 127.0.0.1/32 trust');
	$node->start;
	$node->safe_psql('postgres', 'CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor; CREATE DATABASE other');
	$node->safe_psql($_, "CREATE SCHEMA IF NOT EXISTS $schema[$i]; GRANT USAGE ON SCHEMA $schema[$i] TO regress_monitor; CREATE EXTENSION clocktiming SCHEMA $schema[$i]")
	  foreach 'postgres', 'other';
	$node->safe_psql('postgres', "CREATE TABLE table$i (a int); SET clocktiming.track = on; INSERT INTO table$i SELECT generate_series(1, 1000)" . '; SELECT count(*) FROM table1' x $i);
	push @nodes, $node;
	push @server, '127.0.0.1:' . $node->port;
	push @url, "postgresql://regress_monitor\@$server[$i]/postgres?sslmode=disable";
}

# Fewer figures change during the test if the clock is judged once a minute.
foreach my $i (0, 1)
{
	$nodes[$i]->poll_query_until('postgres', "SELECT value = 1 FROM $schema[$i].clock_metrics WHERE name = 'pg_clock_watched'") or die 'the clock is not watched';
	$nodes[$i]->append_conf('postgresql.conf', 'clocktiming.watch_interval = 1min');
	$nodes[$i]->reload;
}

# Returns a file of monitoring/ with the name of the schema of a server.
sub file_for
{
	my ($i, $name) = @_;
	return slurp_file("$monitoring/$name") =~ s/\bpublic\.clock_metrics\b/$schema[$i].clock_metrics/gr;
}
sub free { return PostgreSQL::Test::Cluster::get_free_port(); }

# Starts two processes, one for each server, and returns their ports.
sub start_two
{
	my ($name, $file, @command) = @_;
	my @ports;

	foreach my $i (0, 1)
	{
		my ($path, $port) = (put("$name$i.yaml", file_for($i, $file)), free());

		run_in_background("$name$i", map { s/%file/$path/r =~ s/%port/$port/r =~ s/%url/$url[$i]/r } @command);
		push @ports, $port;
	}
	return @ports;
}

# Starts one of the programs, whose sub returns the ports of its targets. If there are two, each has
# the metrics of one server. Otherwise the label server tells them apart.
sub start_postgres_exporter
{
	my ($program) = @_;
	return start_two($program, 'postgres_exporter.yaml', 'env', 'DATA_SOURCE_NAME=%url', $program, '--disable-default-metrics', '--auto-discover-databases',
		'--extend.query-path=%file', '--web.listen-address=127.0.0.1:%port');
}
sub start_pg_exporter
{
	my ($program) = @_;
	return start_two($program, 'postgres_exporter.yaml', $program, '--config=%file', '--url=%url', '--exclude-database=template0,template1', '--web.listen-address=127.0.0.1:%port');
}
sub start_debian
{
	my ($program) = @_;
	my $port = free();
	my @job = map {
		my $i = $_;
		file_for($i, 'sql_exporter-debian.yml') =~ s/.*^jobs:\n//smr =~ s{postgres://\S+}{$url[$i] =~ s/^postgresql/postgres/r}er =~ s/interval: 15s/interval: 1s/r =~ s/- name: clocktiming\n/- name: clocktiming$i\n/r
	} (0, 1);

	run_in_background($program, $program, '-config.file', put('debian.yml', "jobs:\n" . join('', @job)), '-web.listen-address', "127.0.0.1:$port");
	return $port;
}
sub start_burningalchemist
{
	my ($program) = @_;
	my $port = free();
	my @file = map { put("clocktiming$_.collector.yml", file_for($_, 'clocktiming.collector.yml') =~ s/collector_name: clocktiming/collector_name: clocktiming$_/r) } (0, 1);
	my $jobs = join('', map { "  - job_name: job$_\n    collectors: [clocktiming$_]\n    static_configs:\n      - targets:\n          '$server[$_]': '$url[$_]'\n" } (0, 1));

	run_in_background($program, $program, "-web.listen-address=127.0.0.1:$port", '-config.file', put('burningalchemist.yml', "jobs:\n${jobs}collector_files: [$file[0], $file[1]]\n"));
	return $port;
}
sub start_pgwatch
{
	my ($program) = @_;
	my $port = free();
	my ($metrics, $presets) = slurp_file("$monitoring/pgwatch.yaml") =~ /^metrics:\n(.*)^presets:\n(.*)/ms;
	my $second = $metrics =~ s/^  clock_metrics:/  second:/mr =~ s/\bpublic\.clock_metrics/clock.clock_metrics/r;

	run_in_background($program, $program, '-s',
		put('sources.yaml', join('', map { "- name: '$server[$_]'\n  conn_str: $url[$_]\n  kind: postgres\n  is_enabled: true\n  " . ('preset_metrics: clocktiming', 'custom_metrics: {second: 1}')[$_] . "\n" } (0, 1))),
		'-m', put('metrics.yaml', "metrics:\n$metrics${second}presets:\n" . $presets =~ s/: 60$/: 1/mr),
		"--sink=prometheus://127.0.0.1:$port", '--web-disable=all', '--instance-level-cache-max-seconds=1');
	return $port;
}
sub start_collector
{
	my ($program) = @_;
	my $port = free();
	my @file = map {
		my ($i, $p) = ($_, $nodes[$_]->port);
		put("collector$i.yaml", file_for($i, 'opentelemetry.yaml') =~ s/host=localhost user=\w+/host=127.0.0.1 port=$p user=regress_monitor/r =~ s/15s/1s/r =~ s/server: localhost/server: '$server[$i]'/gr =~ s{sqlquery/clocktiming}{sqlquery/clocktiming$i}r)
	} (0, 1);

	run_in_background($program, $program, map { "--config=$_" } @file, put('collector.yaml', <<"YAML"));
exporters:
  prometheus:
    endpoint: 127.0.0.1:$port
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    metrics:
      receivers: [sqlquery/clocktiming0, sqlquery/clocktiming1]
      exporters: [prometheus]
YAML
	return $port;
}

# Programs, with the job of prometheus.yml
my @programs = (
	[ 'prometheus-postgres-exporter', 'postgres_exporter', \&start_postgres_exporter ],
	[ 'postgres_exporter', 'postgres_exporter', \&start_postgres_exporter ],
	[ 'pg_exporter', 'postgres_exporter', \&start_pg_exporter ],
	[ 'prometheus-sql-exporter', 'sql_exporter', \&start_debian ],
	[ 'sql_exporter', 'burningalchemist', \&start_burningalchemist ],
	[ 'pgwatch', 'pgwatch', \&start_pgwatch ],
	[ 'otelcol-contrib', 'postgres_exporter', \&start_collector ]);

my ($head, @all) = split /^(?=  (?:#.*\n  )*- job_name)/m, slurp_file("$monitoring/prometheus.yml");
my %text = map { /job_name: (\w+)/; $1 => $_ } @all;
my $config = "global:\n  scrape_interval: 2s\nscrape_configs:\n";
my (%server_of, $started);
foreach (grep { is_there($_->[0]) } @programs)
{
	my ($program, $job, $start) = @$_;
	my @ports = $start->($program);

	$started++;
	%server_of = (%server_of, "127.0.0.1:$ports[0]" => 0, "127.0.0.1:$ports[1]" => 1) if @ports == 2;
	$config .= $text{$job} =~ s/job_name: \w+/job_name: $program/r =~ s/targets: .*/'targets: [' . join(', ', map { "'127.0.0.1:$_'" } @ports) . ']'/er;
}
my $prometheus = '127.0.0.1:' . free();
run_in_background('prometheus', 'prometheus', '--config.file=' . put('prometheus.yml', $config), "--storage.tsdb.path=$directory/data", "--web.listen-address=$prometheus")
  if $started;

# Returns a hash of a server's rows of clock_metrics: name and labels => value
sub key { my ($name, $labels) = @_; return join(' ', $name, map { "$_=$labels->{$_}" } sort grep { $labels->{$_} ne '' } keys %$labels); }
sub rows_of
{
	my ($i) = @_;
	my $rows = $nodes[$i]->safe_psql('postgres', "SELECT json_agg(json_build_array(name, labels, value::text)) FROM $schema[$i].clock_metrics");
	return { map { key($_->[0], $_->[1]) => $_->[2] } @{ decode_json($rows) } };
}

# Compares the series that Prometheus has of a program with the rows of both servers. Returns what
# differs. A value must be that of the server if it did not change from a reading before to a reading
# after. Debian's sql_exporter adds the labels database and user.
sub differences
{
	my ($program) = @_;
	my @before = map { rows_of($_) } (0, 1);
	my $answer = $http->get("http://$prometheus/api/v1/query?" . $http->www_form_urlencode({ query => qq({__name__=~"pg_clock_.*", job="$program"}) }));
	my @after = map { rows_of($_) } (0, 1);
	my %number = map { $server[$_] => $_ } (0, 1);
	my (@got, @bad) = ({}, {});

	return 'no answer' unless $answer->{success};
	foreach (@{ decode_json($answer->{content})->{data}{result} })
	{
		my %labels = %{ $_->{metric} };
		my ($name, $instance, $server) = delete @labels{qw(__name__ instance server job database user)};
		my $i = $server_of{$instance} // $number{ $server // '' };

		push @bad, "server $server of target $instance" if defined $server && ($number{$server} // -1) != ($i // -2);
		push @bad, key($name, \%labels) . ': of no server' and next unless defined $i;
		push @bad, key($name, \%labels) . ': twice' if exists $got[$i]{ key($name, \%labels) };
		$got[$i]{ key($name, \%labels) } = $_->{value}[1];
	}
	foreach my $i (0, 1)
	{
		push @bad, map { "server $i: missing: $_" } grep { !exists $got[$i]{$_} } keys %{ $before[$i] };
		push @bad, map { "server $i: too many: $_" } grep { !exists $after[$i]{$_} } keys %{ $got[$i] };
		push @bad, map { "server $i: $_ is $got[$i]{$_} instead of $after[$i]{$_}" }
		  grep { exists $got[$i]{$_} && exists $after[$i]{$_} && $before[$i]{$_} == $after[$i]{$_} && $got[$i]{$_} != $after[$i]{$_} } keys %{ $before[$i] };
	}
	@bad = sort @bad;
	return join("\n", @bad > 10 ? (@bad[ 0 .. 9 ], scalar(@bad) . ' differences') : @bad);
}

my @rows = map { rows_of($_) } (0, 1);
cmp_ok(scalar(grep { !exists $rows[1]{$_} || $rows[0]{$_} != $rows[1]{$_} } keys %{ $rows[0] }), '>=', 5, 'the servers differ');
foreach (@programs)
{
	my ($program) = @$_;

  SKIP:
	{
		skip("not installed: $program", 1) unless is_there($program);
		my $until = time + $PostgreSQL::Test::Utils::timeout_default;

		sleep(1) while differences($program) ne '' && time < $until;
		is(differences($program), '', "$program: all rows of both servers, with their values");
	}
}
$_->stop foreach @nodes;

done_testing();
