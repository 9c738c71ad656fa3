
# Programs that are often used with clocktiming, all at the same time: pgbouncer in front of a
# server with pg_stat_statements, auto_explain, postgres_fdw, pg_cron and pgTAP. 022_beside.pl tests
# each library separately, and 032_portable_pooler.pl the portable edition.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

sub new_server
{
	my ($name, @settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init;
	$node->append_conf('postgresql.conf', join "\n", "log_statement = none\nautovacuum = off\njit = off\nmax_parallel_workers_per_gather = 0", @settings);
	return $node;
}

my $node = new_server('main');
my ($library_dir, $extension_dir) = ($node->config_data('--pkglibdir'), $node->config_data('--sharedir') . '/extension');
my %there = map { $_ => -f "$library_dir/$_.so" } qw(pg_stat_statements auto_explain postgres_fdw pg_cron);
$there{pgtap} = -f "$extension_dir/pgtap.control";
my ($pgbouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
$there{pgbouncer} = defined $pgbouncer;
diag "SKIPPED: what is for $_, which is not there" for grep { !$there{$_} } sort keys %there;

# pg_cron executes its jobs in sessions or in background workers. Tests each way on a server of its
# own.
my %cron = $there{pg_cron} ? (sessions => $node, workers => new_server('workers')) : ();
my $libraries = join ', ', grep { $there{$_} } qw(pg_cron pg_stat_statements auto_explain);
foreach my $server ($node, $cron{workers} // ())
{
	$server->append_conf('postgresql.conf', "shared_preload_libraries = '$libraries" . ($libraries ? ', ' : '') . "clocktiming'");
	next if !$there{pg_cron};
	$server->append_conf('postgresql.conf', "cron.database_name = 'postgres'\ncron.host = '" . $server->host . "'\ncron.use_background_workers = " . ($server == $node ? 'off' : 'on'));
}
$_->start for $node, $cron{workers} // ();
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
my $tables = q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE a AS SELECT i, i % 100 AS k FROM generate_series(1, 20000) AS i;
	VACUUM ANALYZE a;
};
$node->safe_psql('postgres', "$tables CREATE ROLE regress_app LOGIN; GRANT SELECT ON a TO regress_app");

# Jobs of pg_cron are scheduled now, and their results are checked at the end, because the shortest
# interval is a minute. They are scheduled in one transaction: pg_cron does not run a job that is
# committed while its scheduler reads the table of jobs (findings/pg_cron_lost_job.sh).

foreach my $server (values %cron)
{
	$server->safe_psql('postgres', $tables) if $server != $node;
	$server->safe_psql('postgres', q{
		SET clocktiming.track = on;
		SET clocktiming.max_overhead = 100;
		SELECT count(*) FROM a;
		SET clocktiming.track = off;
		CREATE TABLE runs (at timestamptz DEFAULT now(), run clock_sample);
		BEGIN;
		CREATE EXTENSION pg_cron;
		SELECT cron.schedule('* * * * *', $$INSERT INTO runs (run) SELECT clock_measure('system', 0.05)$$);
		SELECT cron.schedule('* * * * *', 'SELECT clock_stats_snapshot()');
		SELECT cron.schedule('* * * * *', $$DO 'BEGIN PERFORM clock_explain(''SELECT 1 / (i - 15000) FROM a''); END'$$);
		COMMIT});
}

#
# pgbouncer
#

# ClockSession->new() accepts an object of this class as its node. connstr() returns a connection
# string for pgbouncer instead of the server.
package Pool
{
	sub connstr { return "host=$_[0]{dir} port=$_[0]{port} dbname=$_[1]" }
}

my $query = 'SELECT count(*) FROM a WHERE k < 25';
my $sampled = qr/^ *->  Seq Scan on a .*rows=5000(\.00)? loops=1\).*^Time: sampling, \d+ samples/ms;

# Connects the next client after a client has ended. This client must get the same server
# connection, without the settings and prepared statements of the previous client.
sub next_client
{
	my ($pool, $mode, $pid, $what) = @_;
	my $s = ClockSession->new($pool, dbname => $mode);
	my $text;

	is($s->pid, $pid, "$mode pooling, $what: the next client has the same server process");
	is($s->query('SELECT current_setting(n) FROM unnest(ARRAY[$$clocktiming.sampled_timing$$, $$clocktiming.show_margins$$]) AS n; SELECT count(*) FROM pg_prepared_statements')->{out},
		"off\noff\n0", "$mode pooling, $what: no settings or prepared statements of the previous client");
	$text = $s->query("EXPLAIN ANALYZE $query")->{out};
	like($text, qr/Seq Scan on a .*actual time=.*rows=5000(\.00)? loops=1\)/, "$mode pooling, $what: its plans");
	unlike($text, qr/Time: [^,]+, sampling|Clock/, "$mode pooling, $what: are not sampled");
	is($s->query("SELECT clock_explain_text('EXECUTE p(25)')")->{state}, '26000', "$mode pooling, $what: no prepared statement");
	return $s;
}

SKIP:
{
	skip 'there is no pgbouncer', 1 if !$there{pgbouncer};
	my ($host, $port) = ($node->host, $node->port);
	my $pool = bless { dir => PostgreSQL::Test::Utils::tempdir_short(), port => PostgreSQL::Test::Cluster::get_free_port() }, 'Pool';
	my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
	my $log = '';

	append_to_file("$pool->{dir}/users", qq{"$superuser" ""\n"regress_app" ""\n});
	append_to_file("$pool->{dir}/ini", <<"END");
[databases]
session = host=$host port=$port dbname=postgres pool_mode=session pool_size=1
transaction = host=$host port=$port dbname=postgres pool_mode=transaction pool_size=1
[pgbouncer]
listen_addr =
listen_port = $pool->{port}
unix_socket_dir = $pool->{dir}
auth_type = trust
auth_file = $pool->{dir}/users
END
	my $bouncer = IPC::Run::start([ $pgbouncer, "$pool->{dir}/ini" ], '>&' => \$log);
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		last if -S "$pool->{dir}/.s.PGSQL.$pool->{port}";
		$bouncer->pump_nb;
		select(undef, undef, undef, 0.1);
	}

	# In session mode, a client has a session for itself. Settings and prepared statements persist
	# in it.
	my $s = ClockSession->new($pool, dbname => 'session');
	is($s->query('SET clocktiming.sampled_timing = on; SET clocktiming.show_margins = on; PREPARE p(integer) AS SELECT count(*) FROM a WHERE k < $1')->{state}, '00000', 'session pooling: SET and PREPARE');
	foreach my $explained ($query, $version >= 180000 ? 'EXECUTE p(25)' : ())
	{
		like($s->query("EXPLAIN ANALYZE $explained")->{out}, $sampled, "session pooling: EXPLAIN ANALYZE $explained is sampled");
	}
	like($s->query("SELECT clock_explain_text('EXECUTE p(25)')")->{out}, $sampled, 'session pooling: clock_explain_text of a prepared statement');
	$s->quit;
	$s = next_client($pool, 'session', $s->pid, 'after SET and PREPARE');
	$s->quit;

	# In transaction mode, a client has a session for a transaction only. SET LOCAL ends with the
	# transaction.
	my @clients = map { ClockSession->new($pool, dbname => 'transaction') } 1 .. 2;
	foreach my $end ('COMMIT', 'ROLLBACK', 'an error')
	{
		$clients[0]->query('BEGIN; SET LOCAL clocktiming.sampled_timing = on; SET LOCAL clocktiming.show_margins = on');
		like($clients[0]->query("EXPLAIN ANALYZE $query")->{out}, $sampled, "transaction pooling, $end: EXPLAIN ANALYZE is sampled");
		$clients[0]->query('PREPARE p(integer) AS SELECT count(*) FROM a WHERE k < $1');
		like($clients[0]->query("SELECT clock_explain_text('EXECUTE p(25)')")->{out}, $sampled, "transaction pooling, $end: clock_explain_text of a prepared statement");
		$clients[0]->query('DEALLOCATE p');
		is($clients[0]->query('EXPLAIN ANALYZE SELECT 1 / (i - 15000) FROM a')->{state}, '22012', 'transaction pooling: an error') if $end eq 'an error';
		is($clients[0]->query($end eq 'COMMIT' ? $end : 'ROLLBACK')->{state}, '00000', "transaction pooling, $end: the end");
		next_client($pool, 'transaction', $clients[0]->pid, $end)->quit;
	}

	# Statements of two clients, alternately in the same session of the server
	foreach my $n (0 .. 3)
	{
		is($clients[ $n % 2 ]->query("SELECT string_agg(node_type || ' ' || rows, ', ' ORDER BY node) FROM clock_explain('$query')")->{out}, 'Aggregate 1, Seq Scan 5000', "transaction pooling: clock_explain, $n");
		is($clients[ $n % 2 ]->query(q{SELECT readings > 0, backward_steps FROM clock_summary('system', 0.02)})->{out}, 't|0', "transaction pooling: clock_summary, $n");
	}
	$_->quit for @clients;

	# Statements that are prepared by the protocol, with settings of the role. Their plans are
	# logged and counted.
  SKIP:
	{
		skip 'there are not both of auto_explain and pg_stat_statements', 1 if !$there{auto_explain} || !$there{pg_stat_statements};
		$node->safe_psql('postgres', q{
			CREATE EXTENSION pg_stat_statements;
			ALTER ROLE regress_app SET clocktiming.sampled_timing = auto_explain;
			ALTER ROLE regress_app SET auto_explain.log_min_duration = 0;
			ALTER ROLE regress_app SET auto_explain.log_analyze = on});
		my ($bouncer_version) = `$pgbouncer --version` =~ /PgBouncer (\d+\.\d+)/;
		my $keeps_prepared = defined $bouncer_version && ($bouncer_version =~ s/.*\.//r) >= 21;
		my $script = "$pool->{dir}/script";
		append_to_file($script, "\\set n 25\nSELECT count(*) AS by_app FROM a WHERE k < :n;\n");
		foreach my $how ([ 'session', 'prepared' ], [ 'transaction', 'extended' ], $keeps_prepared ? [ 'transaction', 'prepared' ] : ())
		{
			my ($mode, $protocol) = @$how;
			my $what = "$mode pooling, pgbench -M $protocol";
			my $offset = -s $node->logfile;
			my ($out, $err) = ('', '');

			$node->safe_psql('postgres', 'SELECT pg_stat_statements_reset()');
			ok(IPC::Run::run([ 'pgbench', '-n', '-M', $protocol, '-t', 7, '-f', $script, '-h', $pool->{dir}, '-p', $pool->{port}, '-U', 'regress_app', $mode ], '>', \$out, '2>', \$err), $what) or diag $err;
			is($node->safe_psql('postgres', q{SELECT sum(calls), sum(rows), bool_and(total_exec_time > 0) FROM pg_stat_statements WHERE query LIKE '%by_app%'}), '7|7|t', "$what: as counted by pg_stat_statements");
			my $logged = slurp_file($node->logfile, $offset);
			is(scalar(() = $logged =~ /plan:\n\tQuery Text: SELECT count\(\*\) AS by_app .*\n\tAggregate .*actual time=\S+ rows=1(?:\.00)? loops=1\)\n\t  ->  Seq Scan on a .*actual time=\S+ rows=5000(?:\.00)? loops=1\)\n/g),
				7, "$what: as logged by auto_explain") or diag $logged;
		}
	}
	$bouncer->kill_kill;
}

# postgres_fdw: both servers estimate times by sampling.

SKIP:
{
	skip 'there are not both of auto_explain and postgres_fdw', 1 if !$there{auto_explain} || !$there{postgres_fdw};
	my ($host, $port) = ($node->host, $node->port);
	my $offset = -s $node->logfile;

	$node->safe_psql('postgres', qq{
		CREATE EXTENSION postgres_fdw;
		CREATE SERVER loopback FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres',
			options '-c clocktiming.sampled_timing=auto_explain -c auto_explain.log_min_duration=0 -c auto_explain.log_analyze=on');
		CREATE USER MAPPING FOR CURRENT_USER SERVER loopback;
		CREATE FOREIGN TABLE f (i integer, k integer) SERVER loopback OPTIONS (table_name 'a', use_remote_estimate 'true')});
	my $text = $node->safe_psql('postgres', q{SET clocktiming.sampled_timing = on; EXPLAIN ANALYZE SELECT * FROM f WHERE k < 25 AND i + random() * 0 > 0});
	like($text, qr/^Foreign Scan on f .*actual time=\S+ rows=5000(\.00)? loops=1\).*^Time: sampling/ms, 'postgres_fdw: the foreign scan');
	like(slurp_file($node->logfile, $offset), qr/plan:\n\tQuery Text: DECLARE .*\n(?:\t.*\n)*?\tSeq Scan on .*a .*actual time=\S+ rows=5000(\.00)? loops=1\)\n/, 'postgres_fdw: the remote query');
}

# pgTAP, in a session whose plans are sampled

SKIP:
{
	skip 'there is no pgTAP', 1 if !$there{pgtap};
	my $tap = $node->safe_psql('postgres', qq{
		CREATE EXTENSION pgtap;
		SET clocktiming.sampled_timing = on;
		SELECT plan(5);
		SELECT results_eq('$query', 'VALUES (5000::bigint)', 'results_eq');
		SELECT lives_ok('EXPLAIN ANALYZE $query', 'lives_ok');
		SELECT throws_ok('EXPLAIN ANALYZE SELECT 1 / (i - 15000) FROM a', '22012', NULL, 'throws_ok');
		SELECT throws_ok(\$\$SELECT clock_measure('nosuch')\$\$, '22023', NULL, 'throws_ok of a source');
		SELECT cmp_ok(readings, '>', 0::bigint, 'cmp_ok') FROM clock_summary('system', 0.02);
		SELECT * FROM finish()});
	is($tap, join("\n", '1..5', map { 'ok ' . ($_ + 1) . ' - ' . ('results_eq', 'lives_ok', 'throws_ok', 'throws_ok of a source', 'cmp_ok')[$_] } 0 .. 4), 'pgTAP');
}

# Results of pg_cron's jobs

SKIP:
{
	skip 'there is no pg_cron', 1 if !%cron;
	foreach my $how (sort keys %cron)
	{
		my $server = $cron{$how};

		ok($server->poll_query_until('postgres', q{SELECT count(DISTINCT jobid) = 3 FROM cron.job_run_details WHERE status IN ('succeeded', 'failed')}), "pg_cron, $how: the jobs have run");
		$server->safe_psql('postgres', 'SELECT cron.unschedule(jobid) FROM cron.job');
		is($server->safe_psql('postgres', q{SELECT DISTINCT command ~ 'explain', status FROM cron.job_run_details WHERE status IN ('succeeded', 'failed') ORDER BY 1}), "f|succeeded\nt|failed", "pg_cron, $how: and ended as they should")
		  or diag $server->safe_psql('postgres', 'SELECT command, status, return_message FROM cron.job_run_details');
		like($server->safe_psql('postgres', q{SELECT DISTINCT return_message FROM cron.job_run_details WHERE command ~ 'explain' AND status = 'failed'}), qr/division by zero/, "pg_cron, $how: with the error of the query");
		is($server->safe_psql('postgres', 'SELECT count(*) > 0, bool_and(s.readings > 0) FROM runs, clock_summary(run) AS s'), 't|t', "pg_cron, $how: runs of a clock are stored");
		is($server->safe_psql('postgres', q{SELECT count(*) > 0 FROM clock_node_snapshots WHERE relation = 'a'}), 't', "pg_cron, $how: so are statistics of plans");
	}
}

$_->stop for $node, $cron{workers} // ();
unlike(slurp_file($_->logfile), qr/PANIC|terminated by signal|TRAP/, $_->name . ': nothing has crashed') for $node, $cron{workers} // ();

done_testing();
