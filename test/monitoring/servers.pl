
# Tests the files of monitoring/ with two servers behind one exporter, of which only one is watched,
# and with the extension in two schemas. The queries of all exporters' files must not depend on
# search_path. The text for Prometheus must be valid as psql prints it.

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
my @pids;
my $test_pid = $$;
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

# The servers listen on TCP, because Debian's sql_exporter names a server by its host and port.
my @nodes;
foreach my $i (0, 1)
{
	my $node = PostgreSQL::Test::Cluster->new("server$i");

	$node->init;
	$node->append_conf('postgresql.conf',
		"listen_addresses = '127.0.0.1'\nshared_preload_libraries = 'clocktiming'\nclocktiming.watch = " . ($i == 0 ? 'on' : 'off'));
	$node->append_conf('pg_hba.conf', 'host all all 127.0.0.1/32 trust');
	$node->start;
	$node->safe_psql('postgres', q{CREATE EXTENSION clocktiming; CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor;
		CREATE DATABASE other});
	push @nodes, $node;
}
$nodes[0]->poll_query_until('postgres', q{SELECT value = 1 FROM clock_metrics WHERE name = 'pg_clock_watched'}) or die 'the clock is not watched';

# The extension in another schema, in another database
$nodes[0]->safe_psql('other', 'CREATE SCHEMA clock; CREATE EXTENSION clocktiming SCHEMA clock; GRANT USAGE ON SCHEMA clock TO regress_monitor');
foreach my $file (glob "$monitoring/*.y*ml")
{
	my $text = slurp_file($file);
	my @queries = $text =~ /(?:query|sql): "(SELECT .*)"$/mg;

	push @queries, $1 if $text =~ /^        (SELECT .*?)^presets:/ms;
	next unless @queries;
	foreach my $database ('postgres', 'other')
	{
		# search_path as CloudNativePG sets it, or without public
		foreach my $path ('pg_catalog, public, pg_temp', 'pg_catalog')
		{
			my $all = join(';', "SET search_path = $path", @queries);

			$all =~ s/\bpublic\.clock_metrics\b/clock.clock_metrics/g if $database eq 'other';
			command_ok([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-d', $nodes[0]->connstr($database) . ' user=regress_monitor', '-c', $all ],
				basename($file) . ": all queries, database $database, search_path = $path");
		}
	}
}

# psql appends a line feed to the text. OpenMetrics allows no line after "# EOF".
foreach my $format ('prometheus', 'openmetrics')
{
	my $raw = `psql -XAt -d "@{[$nodes[0]->connstr('postgres')]}" -c "SELECT clock_metrics_text('$format')"`;

	like($raw, qr/\n[^\n]+ [-+.e0-9]+\n\n\z/, 'prometheus: the text ends with a value') if $format eq 'prometheus';
	like($raw, qr/# EOF\n\z/, "$format: nothing follows # EOF") if $format eq 'openmetrics';
}

sub is_there { my ($program) = @_; return scalar grep { -x "$_/$program" } split /:/, $ENV{PATH}; }
my @missing = grep { !is_there($_) } qw(prometheus prometheus-sql-exporter prometheus-postgres-exporter);
SKIP:
{
	skip("not installed: @missing", 1) if @missing;

	sub run_in_background
	{
		my ($name, @command) = @_;
		my $pid = fork() // die "fork: $!\n";

		if ($pid == 0)
		{
			open(STDOUT, '>', "$PostgreSQL::Test::Utils::log_path/$name.log") && open(STDERR, '>&', \*STDOUT) or POSIX::_exit(1);
			exec { $command[0] } @command or POSIX::_exit(1);
		}
		push @pids, $pid;
		return;
	}
	sub put { my ($name, $text) = @_; append_to_file("$directory/$name", $text); return "$directory/$name"; }

	my @jobs = qw(postgres_exporter sql_exporter);
	my %port = map { $_ => PostgreSQL::Test::Cluster::get_free_port() } ('prometheus', @jobs);
	my @urls = map { 'postgres://regress_monitor@127.0.0.1:' . $_->port . '/postgres?sslmode=disable' } @nodes;
	$ENV{DATA_SOURCE_NAME} = join(',', @urls);
	# With two servers, two collectors of postgres_exporter 0.11 export metrics twice, which is an error.
	run_in_background('two_postgres_exporter', 'prometheus-postgres-exporter', '--disable-default-metrics', '--disable-settings-metrics',
		'--no-collector.database', '--no-collector.bgwriter',
		"--extend.query-path=$monitoring/postgres_exporter.yaml", "--web.listen-address=127.0.0.1:$port{postgres_exporter}");
	my $config = slurp_file("$monitoring/sql_exporter-debian.yml");
	$config =~ s{( +- )postgres://\S+}{join("\n", map { "$1$_" } @urls)}e;
	$config =~ s/interval: 15s/interval: 1s/;
	run_in_background('two_sql_exporter', 'prometheus-sql-exporter', '-config.file', put('two.yml', $config), '-web.listen-address',
		"127.0.0.1:$port{sql_exporter}");
	put('alerts.yml', slurp_file("$monitoring/alerts.yml") =~ s/^ +for: .*\n//gmr);
	my ($head, @all) = split /^(?=  (?:#.*\n  )*- job_name)/m, slurp_file("$monitoring/prometheus.yml");
	@all = grep { my ($name) = /job_name: (\w+)/; $port{ $name // '' } && s/localhost:\d+/127.0.0.1:$port{$name}/ } @all;
	put('prometheus.yml', join('', $head =~ s/scrape_interval: 15s/scrape_interval: 5s\n  evaluation_interval: 1s/r, @all));
	run_in_background('two_prometheus', 'prometheus', "--config.file=$directory/prometheus.yml", "--storage.tsdb.path=$directory/data",
		"--web.listen-address=127.0.0.1:$port{prometheus}", '--storage.tsdb.retention.time=1h');

	# Executes a query of Prometheus. Returns "job number=value" of each result, where the number is
	# that of the server in the label "server".
	my $http = HTTP::Tiny->new(timeout => 10);
	my %number = map { ('127.0.0.1:' . $nodes[$_]->port) => $_ } 0 .. $#nodes;
	sub values_of
	{
		my ($promql) = @_;
		my $answer = $http->get("http://127.0.0.1:$port{prometheus}/api/v1/query?" . $http->www_form_urlencode({ query => $promql }));

		return '' unless $answer->{success};
		return join(' ', sort map { my $m = $_->{metric}; "$m->{job} " . ($number{ $m->{server} // '' } // '?') . "=$_->{value}[1]" }
			@{ decode_json($answer->{content})->{data}{result} });
	}
	sub wait_for
	{
		my ($promql, $expected, $what) = @_;
		my $until = time + $PostgreSQL::Test::Utils::timeout_default;

		sleep(0.5) while values_of($promql) ne $expected && time < $until;
		return is(values_of($promql), $expected, $what);
	}
	sub of { my (%value) = @_; return join(' ', map { my $job = $_; map { "$job $_=$value{$_}" } sort keys %value } @jobs); }

	wait_for('pg_clock_watched', of(0 => 1, 1 => 0), 'two servers behind each exporter are told apart');
	my $dashboard = decode_json(slurp_file("$monitoring/dashboard.json"));
	my %panel = map { $_->{title} => $_ } @{ $dashboard->{panels} };
	my @variables = map { $_->{name} } @{ $dashboard->{templating}{list} };
	is(join(' ', grep { !/\$/ } map { $_->{expr} } map { @{ $_->{targets} } } values %panel), '', 'each panel selects by variables');
	foreach my $server (0, 1)
	{
		my $selected = sub {
			my ($expr) = @_;
			my $name = '127.0.0.1:' . $nodes[$server]->port;

			$expr =~ s/\$server/$name/g;
			return $expr =~ s/\$\w+/.*/gr;
		};
		wait_for($selected->($panel{Watched}{targets}[0]{expr}), of($server => 1 - $server), "dashboard: the panel Watched of server $server");
	}
	is(join(' ', grep { !grep { $_ eq 'server' } @variables } 'server'), '', 'the dashboard has a variable for the server');
	my @ambiguous = grep { /\bby *\(instance\)|\bon *\(instance\)/ } map { $_->{expr} } map { @{ $_->{targets} } } values %panel;
	is("@ambiguous", '', 'no panel aggregates or joins by instance alone');
	is(join(' ', grep { /instance/ && !/server/ } map { $_->{legendFormat} } map { @{ $_->{targets} } } values %panel), '', 'no legend has the instance alone');
	wait_for('ALERTS{alertname="ClockNotWatched", alertstate="firing"}', of(1 => 1), 'an alert for the server that is not watched');

	# The extension is dropped from one server, which postgres_exporter notices. sql_exporter repeats
	# the latest values.
	is(values_of('ALERTS{alertname="ClockMetricsMissing"}'), '', 'no alert while all metrics are there');
	$nodes[0]->safe_psql('postgres', 'DROP EXTENSION clocktiming');
	wait_for('ALERTS{alertname="ClockMetricsMissing", alertstate="firing", job="postgres_exporter"}', 'postgres_exporter 0=1',
		'an alert for the server whose metrics are missing');
}
$_->stop foreach @nodes;

done_testing();
