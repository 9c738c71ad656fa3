
# clocktiming together with other extensions, which are loaded before or after clocktiming. The rows
# of explained plans must be correct. The other extensions must count and log the executed
# statements. Errors and cancellations must leave nothing behind in the session.

use strict;
use warnings;

use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
jit = off
autovacuum = off
compute_query_id = on
max_worker_processes = 24
max_parallel_workers = 8
});
$node->start;

my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
my $library_dir = $node->config_data('--pkglibdir');
my %available = map { $_ => -f "$library_dir/$_.so" }
  qw(auto_explain pg_stat_statements postgres_fdw pg_stat_kcache pg_wait_sampling pg_hint_plan pg_cron plprofiler);

# Settings that the other extensions need.
my %conf = (
	auto_explain => "auto_explain.log_min_duration = 0\nauto_explain.log_nested_statements = on",
	pg_stat_statements => 'pg_stat_statements.track = all',
	pg_stat_kcache => 'pg_stat_kcache.track = all',
	pg_wait_sampling => "pg_wait_sampling.profile_period = 5\npg_wait_sampling.profile_queries = true",
	pg_cron => "cron.database_name = 'postgres'");

$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE a AS SELECT i, i % 100 AS k FROM generate_series(1, 20000) AS i;
	CREATE TABLE w AS SELECT i FROM generate_series(1, 100) AS i;
	CREATE FUNCTION pause(seconds float8) RETURNS integer LANGUAGE plpgsql PARALLEL SAFE AS
		$$BEGIN PERFORM pg_sleep(seconds); RETURN 1; END$$;
	CREATE FUNCTION inner_count(n integer) RETURNS bigint LANGUAGE plpgsql AS
		$$BEGIN RETURN (SELECT count(*) FROM a WHERE a.k < n); END$$;
	ANALYZE;
});
if ($available{postgres_fdw})
{
	my ($host, $port) = ($node->host, $node->port);

	$node->safe_psql(
		'postgres', qq{
		CREATE EXTENSION postgres_fdw;
		CREATE SERVER loopback FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
		CREATE USER MAPPING FOR CURRENT_USER SERVER loopback;
		CREATE VIEW failing AS SELECT i, 1 / (i - 15000) AS x FROM a;
		CREATE VIEW sleeping AS SELECT i, pause(0.01) AS x FROM a;
		CREATE FOREIGN TABLE f (i integer, k integer) SERVER loopback OPTIONS (table_name 'a');
		CREATE FOREIGN TABLE f_failing (i integer, x integer) SERVER loopback OPTIONS (table_name 'failing');
		CREATE FOREIGN TABLE f_sleeping (i integer, x integer) SERVER loopback OPTIONS (table_name 'sleeping');
	});
}

# Queries: text, whether the plan is parallel, and the expected rows of its nodes.
my @queries = (
	[ 'SELECT * FROM a WHERE k < 25', 0, 'Seq Scan 5000' ],
	[ 'SELECT * FROM a WHERE k < 25', 1, 'Gather 5000, Seq Scan 5000' ],
	[ 'SELECT inner_count(i) FROM w WHERE i <= 3', 0, 'Seq Scan 3' ]);
push @queries, [ 'SELECT count(*) FROM f WHERE i + random() * 0 <= 5000', 0, 'Aggregate 1, Foreign Scan 5000' ] if $available{postgres_fdw};
my $in_parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;'
  . ' SET max_parallel_workers_per_gather = 2';

# Queries for the state of the session, which no call may change.
my $state = $ClockSession::state . q{
	SELECT count(*) FROM w};
my ($session, $killer);
my $before;

sub begin_session
{
	my ($what) = @_;

	$session = ClockSession->new($node);
	$killer = ClockSession->new($node);
	$session->query("SELECT count(*) FROM clock_sources; $in_parallel");
	rows_are_right($what);
	# Stores the state only after all libraries have been loaded, because the state includes their
	# settings.
	$before = $session->query($state)->{out};
	return;
}

# Calls clock_explain(). Returns the SQLSTATE, the types and rows of the nodes, and messages.
sub rows_of
{
	my ($query, $method) = @_;
	my $arguments = "\$query\$$query\$query\$, method => '$method'";
	my $result = $session->query(qq{SELECT string_agg(node_type || ' ' || rows, ', ' ORDER BY node) FROM clock_explain($arguments)});

	return "$result->{state} $result->{out}$result->{err}";
}

sub rows_of_json
{
	my ($statement) = @_;
	my $result = $session->query($statement);
	my $plan = eval { decode_json($result->{out})->[0]{Plan} };
	my @rows;

	while ($plan)
	{
		push @rows, "$plan->{'Node Type'} " . sprintf('%.0f', $plan->{'Actual Rows'} * $plan->{'Actual Loops'});
		$plan = $plan->{Plans} ? $plan->{Plans}[0] : undef;
	}
	return "$result->{state} " . join(', ', @rows) . $result->{err};
}

# Returns a pattern for expected rows. It allows for EXPLAIN's rounding of the rows per loop in
# parallel scans.
sub about
{
	my ($rows) = @_;
	return qr/\A00000 \Q$rows\E\z/ if $rows !~ /Gather/;
	return qr/\A00000 Gather 5000, Seq Scan (4999|500[01])\z/;
}

sub rows_are_right
{
	my ($what) = @_;

	for my $case (@queries)
	{
		my ($query, $parallel, $rows) = @$case;

		$session->query('SET max_parallel_workers_per_gather = ' . ($parallel ? 2 : 0));
		is(rows_of($query, $_), "00000 $rows", "$what: rows of $query by $_") for qw(sampling full);
		like(rows_of_json("SELECT clock_explain_json('$query')"), about($rows), "$what: rows of $query in JSON");
		like(rows_of_json("EXPLAIN (ANALYZE, CLOCK_SAMPLING, FORMAT JSON) $query"), about($rows), "$what: rows of $query by EXPLAIN itself")
		  if $version >= 180000;
	}
	my $result = $session->query(q{SELECT sum(rows) FROM clock_explain('INSERT INTO w SELECT i FROM a WHERE k < 2', allow_writes => true)});
	is("$result->{state} $result->{out}", '00000 400', "$what: rows of a write");
	$session->query('SET max_parallel_workers_per_gather = 2');
	return;
}

sub as_before
{
	my ($what) = @_;

	$session->gives($state, $before, "$what: nothing is left behind");
	is(rows_of('SELECT * FROM generate_series(1, 1000)', 'sampling'), '00000 Function Scan 1000', "$what: the session can explain again");
	return;
}

# Checks that errors and cancellations in the leader, in workers, and in functions leave nothing
# behind.
sub ends_well
{
	my ($what) = @_;
	my @failing = ('SELECT 1 / (i - 15000) FROM generate_series(1, 20000) AS i', 'SELECT 1 / (i - 15000) FROM a',
		'SELECT count(inner_count(1 / (i - 3))) FROM w');
	my @sleeping = ('SELECT pause(0.01) FROM generate_series(1, 10000)', 'SELECT pause(0.01) FROM a');

	push @failing, 'SELECT i, x FROM f_failing' if $available{postgres_fdw};
	push @sleeping, 'SELECT i, x FROM f_sleeping' if $available{postgres_fdw};
	for my $method ('sampling', 'full', $version >= 180000 ? 'option' : ())
	{
		my $explain = sub {
			return "EXPLAIN (ANALYZE, CLOCK_SAMPLING) $_[0]" if $method eq 'option';
			return "SELECT count(*) FROM clock_explain('$_[0]', method => '$method')";
		};
		for my $query (@failing)
		{
			is($session->query($explain->($query))->{state}, '22012', "$what, $method: error in $query");
			as_before("$what, $method: error in $query");
		}
		for my $query (@sleeping)
		{
			$session->send($explain->($query));
			$session->wait_until_running('FROM', 0);
			$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
			  or die 'nothing sleeps';
			is($session->interrupted($killer, 'pg_cancel_backend')->{state}, '57014', "$what, $method: cancel of $query");
			as_before("$what, $method: cancel of $query");
		}
	}
	return;
}

# Restarts the server with libraries in the setting $how (by default shared_preload_libraries).
# Returns false if the server does not start.
sub restart_with
{
	my ($libraries, $how) = @_;
	my $settings = $how // 'shared_preload_libraries';

	$node->append_conf('postgresql.conf', "$_ = '" . ($_ eq $settings ? $libraries : '') . "'") for qw(shared_preload_libraries session_preload_libraries);
	$node->stop;
	return 1 if $node->start(fail_ok => 1);
	diag slurp_file($node->logfile);
	fail("$libraries: the server starts");
	return 0;
}

# Position in the log file from which new_log() reads.
my $log_offset = 0;

sub forget_log { $log_offset = -s $node->logfile; return; }

sub new_log
{
	my $log = slurp_file($node->logfile, $log_offset);
	return $log;
}

# Returns the logged plans of queries whose text begins with $marker. A logged plan ends before the
# next line that does not begin with a tab.
sub logged_plans
{
	my ($marker) = @_;
	my $log = new_log();
	my @plans;

	while ($log =~ /^[^\t\n]*duration: \S+ ms  plan:\n((?:\t.*\n)+)/mg)
	{
		my $plan = $1;
		push @plans, $plan if $plan =~ /\A\tQuery Text: \Q$marker\E/ || $plan =~ /"Query Text": "\Q$marker\E/;
	}
	return @plans;
}

sub all_there
{
	my (@libraries) = @_;
	return !grep { $_ ne 'clocktiming' && !$available{$_} } @libraries;
}

sub orders_of
{
	my (@others) = @_;
	return ([ 'clocktiming', @others ], [ @others, 'clocktiming' ]);
}

$node->append_conf('postgresql.conf', $conf{$_}) for grep { $available{$_} && $conf{$_} } sort keys %available;

#
# auto_explain, and pg_stat_statements
#

for my $how (
	(map { [ 'shared_preload_libraries', @$_ ] } orders_of('auto_explain', 'pg_stat_statements')),
	[ 'shared_preload_libraries', 'auto_explain', 'clocktiming', 'pg_stat_statements' ],
	(map { [ 'session_preload_libraries', @$_ ] } orders_of('auto_explain')))
{
	my ($setting, @libraries) = @$how;
	my $libraries = join ', ', @libraries;
	my $what = $setting =~ /^session/ ? "$libraries, in each session" : $libraries;
	my $query = 'SELECT i AS marker FROM a WHERE k < 25';

  SKIP:
	{
		skip "$libraries: not installed" if !all_there(@libraries);
		restart_with($libraries, $setting) or next;
		begin_session($what);
		ends_well($what);

		# auto_explain logs the plan, with counts of rows and without them.
		for my $options ([], ['log_analyze = on', 'log_timing = off'], ['log_analyze = on', 'log_timing = off', 'log_format = json'])
		{
			my $with = "$what, " . (@$options ? join ', ', @$options : 'log_analyze = off');

			$session->query("SET auto_explain.$_") for @$options;
			for my $parallel (0, 1)
			{
				forget_log();
				$session->query('SET max_parallel_workers_per_gather = ' . ($parallel ? 2 : 0));
				is(rows_of($query, 'sampling'), '00000 ' . ($parallel ? 'Gather 5000, ' : '') . 'Seq Scan 5000', "$with: rows");
				my @plans = logged_plans($query);
				is(scalar(@plans), 1, "$with: the query's plan is logged once") or diag new_log();
				my $plan = $plans[0] // '';
				like($plan, qr/Seq Scan/, "$with: the logged plan has its nodes");
				if (grep { /json/ } @$options)
				{
					my $decoded = eval { decode_json($plan) };

					is($decoded && $decoded->{Plan}{'Actual Rows'} + 0, 5000, "$with: rows that are logged");
				}
				elsif (@$options)
				{
					my $loops = $parallel ? 3 : 1;

					like($plan, qr/^\tGather .*\(actual rows=5000(\.00)? loops=1\)\n/m, "$with: rows of Gather that are logged") if $parallel;
					like($plan, qr/Seq Scan on a .*\(actual rows=(5000|166[67])(\.\d\d)? loops=$loops\)\n/, "$with: rows that are logged");
				}
				else
				{
					unlike($plan, qr/actual/, "$with: no rows are logged");
				}
			}
			$session->query('SET max_parallel_workers_per_gather = 2');
			$session->query('RESET auto_explain.' . (split / /, $_)[0]) for @$options;
		}

		# If auto_explain times the nodes, clock_explain() raises an error, because the additional
		# timers would change the times.
		$session->query('SET auto_explain.log_analyze = on');
		for my $method (qw(sampling full))
		{
			like(rows_of($query, $method), qr/\A55000 .*HINT: .*auto_explain\.log_analyze/s, "$what, log_timing = on: $method is refused");
		}
		forget_log();
		$session->query('SET auto_explain.log_nested_statements = off');
		is(rows_of($query, 'sampling'), '00000 Gather 5000, Seq Scan 5000', "$what, log_timing = on, but not of nested statements");
		is(scalar(logged_plans($query)), 0, "$what: nested statements are not logged");

		# After an error, auto_explain must still know which statements are nested.
		is($session->query(q{SELECT clock_explain('SELECT 1 / (i - 15000) FROM a')})->{state}, '22012', "$what: clock_explain() reports the query's error");
		forget_log();
		is($session->query($query)->{out} =~ tr/\n//, 4999, "$what: after an error: a top-level query returns all rows");
		like((logged_plans($query))[0] // '', qr/actual time=\d+\.\d+\.\.\d+\.\d+ rows=5000(\.00)? loops=1/, "$what: after an error: the query is logged with times");
		$session->query('RESET auto_explain.log_nested_statements; RESET auto_explain.log_analyze');

		if ($version >= 180000)
		{
			$session->query('SET max_parallel_workers_per_gather = 0');
			forget_log();
			like(rows_of_json("EXPLAIN (ANALYZE, CLOCK_SAMPLING, FORMAT JSON) $query"), about('Seq Scan 5000'), "$what: rows by EXPLAIN itself");
			is(scalar(() = new_log() =~ /duration: .*plan:/g), 1, "$what: EXPLAIN itself is logged once");
			$session->query('SET max_parallel_workers_per_gather = 2');
		}
		if (grep { $_ eq 'pg_stat_statements' } @libraries)
		{
			statements_are_counted($what);
		}
		as_before($what);
		$_->quit for $session, $killer;
	}
}

# Returns calls and rows of pg_stat_statements for queries that match $pattern, and whether their
# execution time is above 0.
sub counted
{
	my ($pattern) = @_;
	return $session->query(qq{SELECT sum(calls), sum(rows), bool_and(total_exec_time > 0) FROM pg_stat_statements
		WHERE query LIKE '$pattern' AND query NOT LIKE '%clock_explain%'})->{out};
}

sub statements_are_counted
{
	my ($what) = @_;
	my $query = 'SELECT i AS counted FROM a WHERE k < 25';
	my %executions = (sampling => 1, full => 4);

	$session->query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
	for my $method (sort keys %executions)
	{
		my $n = $executions{$method};

		$session->query('SELECT pg_stat_statements_reset()');
		is(rows_of($query, $method), '00000 Gather 5000, Seq Scan 5000', "$what, $method: rows");
		is(counted('SELECT i AS counted%'), $n . '|' . 5000 * $n . '|t', "$what, $method: executions that pg_stat_statements has seen");
	}
	$session->query('SELECT pg_stat_statements_reset()');
	$session->query("SELECT count(*) FROM clock_explain('$query', verify => true)");
	is(counted('SELECT i AS counted%'), '3|15000|t', "$what, verify: two more executions");

	# With track = top, pg_stat_statements counts only the user's statement, not the execution by
	# clock_explain().
	$session->query('SELECT pg_stat_statements_reset(); SET pg_stat_statements.track = top');
	$session->query("SELECT count(*) AS outer_one FROM clock_explain('$query')");
	is(counted('SELECT i AS counted%'), '||', "$what, track = top: nested executions are not counted");
	is($session->query(q{SELECT sum(calls), sum(rows) FROM pg_stat_statements WHERE query LIKE 'SELECT count(*) AS outer_one%'})->{out},
		'1|1', "$what: the outer statement is counted");
	is($session->query(q{SELECT clock_explain('SELECT 1 / (i - 15000) FROM a')})->{state}, '22012', "$what: clock_explain() reports the query's error");
	$session->query($query) for 1 .. 3;
	is(counted('SELECT i AS counted%'), '3|15000|t', "$what: statements after an error are not counted as nested");
	$session->query('RESET pg_stat_statements.track');

	if ($version >= 180000)
	{
		my %seen;

		for my $options ('ANALYZE', 'ANALYZE, CLOCK_SAMPLING')
		{
			$session->query('SELECT pg_stat_statements_reset()');
			$session->query("EXPLAIN ($options) $query");
			$seen{$options} = counted('%AS counted%');
		}
		is($seen{'ANALYZE, CLOCK_SAMPLING'}, $seen{ANALYZE}, "$what: EXPLAIN is counted equally with and without CLOCK_SAMPLING");
	}
	return;
}

# Libraries that are loaded within a session, in both orders: clocktiming by a call of its function,
# auto_explain by LOAD

SKIP:
{
	skip 'auto_explain: not installed' if !$available{auto_explain};
	restart_with('') or last;
	for my $first ('clocktiming', 'auto_explain')
	{
		my @loads = ('SELECT count(*) FROM clock_sources', q{LOAD 'auto_explain'});

		$session = ClockSession->new($node);
		$session->query($_) for $first eq 'clocktiming' ? @loads : reverse @loads;
		$session->query('SET auto_explain.log_analyze = on; SET auto_explain.log_timing = off; SET max_parallel_workers_per_gather = 0');
		forget_log();
		is(rows_of('SELECT i AS marker FROM a WHERE k < 25', 'sampling'), '00000 Seq Scan 5000', "loaded within the session, $first first: rows");
		my @plans = logged_plans('SELECT i AS marker FROM a WHERE k < 25');
		is(scalar(@plans), 1, "loaded within the session, $first first: logged once");
		like($plans[0] // '', qr/actual rows=5000(\.00)? loops=1/, "loaded within the session, $first first: rows that are logged");
		$session->quit;
	}
}

# Other extensions

my %others = (
	pg_stat_kcache => [ 'pg_stat_statements', 'pg_stat_kcache' ],
	pg_wait_sampling => ['pg_wait_sampling'],
	pg_hint_plan => ['pg_hint_plan'],
	pg_cron => ['pg_cron'],
	'all of them' => [ grep { $available{$_} } qw(pg_stat_statements auto_explain pg_stat_kcache pg_wait_sampling pg_hint_plan pg_cron) ]);

for my $other (sort keys %others)
{
	for my $order (orders_of(@{ $others{$other} }))
	{
		my $libraries = join ', ', @$order;

	  SKIP:
		{
			skip "$libraries: not installed" if !all_there(@$order);
			restart_with($libraries) or next;
			$node->safe_psql('postgres', "CREATE EXTENSION IF NOT EXISTS $_") for grep { $_ !~ /^(clocktiming|auto_explain)$/ } @$order;
			begin_session($libraries);
			ends_well($libraries);
			statements_are_counted($libraries) if $libraries =~ /pg_stat_statements/;
			if ($other eq 'pg_stat_kcache')
			{
				is($session->query(q{SELECT count(*) > 0 FROM pg_stat_kcache_detail WHERE query LIKE 'SELECT i AS counted%'})->{out}, 't',
					"$libraries: pg_stat_kcache has the query");
			}
			if ($other eq 'pg_wait_sampling')
			{
				my $pid = $session->pid;

				$session->query('SET max_parallel_workers_per_gather = 0; SELECT pg_wait_sampling_reset_profile()');
				$session->query(q{SELECT clock_explain('SELECT pause(0.02) FROM w')});
				ok($node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_wait_sampling_profile WHERE pid = $pid AND event = 'PgSleep'"),
					"$libraries: pg_wait_sampling has seen the wait event of the query");
			}
			is($session->query('SELECT count(*) FROM cron.job')->{out}, '0', "$libraries: pg_cron is there") if $other eq 'pg_cron';
			$_->quit for $session, $killer;
		}
	}
}

# plprofiler is before libraries that request locks, as the manual says.
SKIP:
{
	skip 'plprofiler: not installed' if !$available{plprofiler};
	restart_with('plprofiler, clocktiming') or last SKIP;
	$node->safe_psql('postgres', 'CREATE EXTENSION plprofiler');
	begin_session('plprofiler, clocktiming');
	is($session->query(q{SELECT pl_profiler_set_enabled_local(true), count(*) FROM clock_explain('SELECT inner_count(i) FROM w')})->{state}, '00000',
		'plprofiler, clocktiming: a profiled function');
	$_->quit for $session, $killer;
}

$node->stop;
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|terminated by signal|TRAP/, 'nothing has crashed');

done_testing();
