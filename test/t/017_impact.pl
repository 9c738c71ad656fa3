
# clock_impact() multiplies the number of operations by the number of clock readings per operation.
# Compares the product with the actual number of readings (test/shim/count_clock.c). Also tests
# clock_impact() with and without pg_stat_statements.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use ClockSession;
use ClockShim;

my $shim = ClockShim->new('count_clock', 2);

# Returns the number of clock readings that were counted since the last call of this function. Then
# starts counting the readings of the process $pid, or none if $pid is 0.
sub readings
{
	my ($pid) = @_;
	my (undef, $n) = $shim->read;

	$shim->write(0, $pid, 0);
	return $n;
}

# Settings without background work, so that the session itself reads and writes most blocks.
my $quiet = q{
autovacuum = off
fsync = on
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1h
wal_writer_delay = 10s
max_parallel_workers_per_gather = 0
shared_buffers = 8MB
};

sub node
{
	my ($name, $conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init;
	$node->append_conf('postgresql.conf', $quiet . $conf);
	$shim->start($node);
	return $node;
}

# Returns clock_impact's kinds of work: name => [ number of operations, lower and upper bound of the
# number of readings for an operation ].
sub work
{
	my ($session) = @_;
	my %work;

	$session->query('SELECT pg_stat_force_next_flush()');
	my $rows = $session->query(
		q{SELECT work, operations, readings_per_operation, coalesce(reason, '')
		FROM clock_impact(setting => NULL) WHERE setting LIKE 'track%'}
	)->{out};
	foreach (split(/\n/, $rows))
	{
		my ($name, $operations, $most, $reason) = split(/\|/, $_, -1);
		my $least =
		    $reason =~ /up to (\d+) blocks/ ? $most / $1
		  : $reason =~ /timed twice/ ? $most / 2
		  : $reason =~ /contains blocks/ ? 0
		  : $most;

		$work{$name} = [ $operations, $least, $most ];
	}
	return %work;
}

# Executes statements with a setting off and on. The readings that the setting adds must be within
# the bounds that clock_impact() states for the work of these statements.
sub compare
{
	my ($session, $setting, $what, $prepare, $statements) = @_;
	my %readings;
	my (%before, %after);
	my ($least, $most) = (0, 0);

	foreach my $value ('off', 'on')
	{
		$session->query($_) foreach @$prepare;
		$session->query("SET $setting = $value");
		%before = work($session);
		readings($session->pid);
		foreach (@$statements)
		{
			my $result = $session->query($_);

			is($result->{state}, '00000', "$what: $_") or diag $result->{err};
		}
		$readings{$value} = readings(0);
		$session->query("RESET $setting");
		%after = work($session);
	}
	foreach my $name (keys %after)
	{
		my $n = $after{$name}[0] - $before{$name}[0];

		# Skips work that this setting does not time: track_wal_io_timing times WAL, track_io_timing
		# all other work.
		next if ($name =~ /^WAL/) != ($setting =~ /wal/);
		$least += $n * $after{$name}[1];
		$most += $n * $after{$name}[2];
	}
	my $added = $readings{on} - $readings{off};

	note "$what: $added readings, $least to $most";
	cmp_ok($most, '>', 100, "$what: there was work");
	# Allows for 20 readings that the session makes for other purposes. Their number may differ
	# between the executions with the setting off and on.
	cmp_ok($added, '>=', 0.97 * $least - 20,
		"$what: no fewer readings than clock_impact states");
	# The upper limit assumes that each block of a temporary file is written and read 12 times.
	$most *= 12 if $what eq 'temporary files';
	cmp_ok($added, '<=', 1.03 * $most + 20,
		"$what: no more readings than clock_impact states");
	return;
}

my $version =
  PostgreSQL::Test::Cluster->new('probe')->pg_version;
my @methods = "$version" =~ /^(1[5-7])/ ? ('') : ('sync', 'worker');

foreach my $method (@methods)
{
	my $name = $method || 'plain';
	my $node = node($name, $method ? "io_method = $method\n" : '');

	$node->safe_psql(
		'postgres', q{
		CREATE EXTENSION clocktiming;
		CREATE TABLE cold AS SELECT i, repeat('x', 900) AS filler FROM generate_series(1, 20000) AS i;
		CREATE TABLE filled (i int, filler text);
		CREATE TABLE commits (i int);
		CHECKPOINT});
	$node->safe_psql('postgres', 'VACUUM cold');

	my $session = ClockSession->new($node);

	# Makes the server read the clock whose readings the library counts.
	$session->query(
		q{SELECT set_config('timing_clock_source', 'system', false)
			FROM pg_settings WHERE name = 'timing_clock_source'});
	compare($session, 'track_io_timing', "$name: reads",
		[], [ ('SELECT count(*) FROM cold WHERE filler IS NULL') x 3 ]);
	compare(
		$session, 'track_io_timing', "$name: writes",
		['TRUNCATE filled'],
		['INSERT INTO filled SELECT i, filler FROM cold']);
	compare($session, 'track_wal_io_timing', "$name: WAL",
		[],
		[ q{DO 'BEGIN FOR n IN 1..200 LOOP INSERT INTO commits VALUES (n); COMMIT; END LOOP; END'} ]);
	$session->query(q{SET work_mem = '64kB'});
	compare($session, 'track_io_timing', 'temporary files',
		[], ['SELECT count(*) FROM (SELECT filler FROM cold ORDER BY filler, i OFFSET 0) AS s']);
	$session->quit;
	$node->stop;
}

# clock_impact() observes for some seconds, while another session does a known amount of work. The
# work begins after the function has begun to wait, and ends before the function ends. So the
# difference of the function's two snapshots of the statistics contains the work.
{
	my $node = node('observed', '');

	$node->safe_psql('postgres', q{
		CREATE EXTENSION clocktiming;
		CREATE TABLE rows_to_scan AS SELECT i FROM generate_series(1, 50000) AS i;
		CREATE TABLE commits (i int)});
	$node->safe_psql('postgres', 'VACUUM rows_to_scan');

	# This work is done before the call, and must not be counted.
	$node->safe_psql('postgres', 'SELECT count(*) FROM rows_to_scan') foreach 1 .. 4;

	my $session = ClockSession->new($node);
	my $worker = ClockSession->new($node);
	my $work = q{
		SELECT count(*) FROM rows_to_scan;
		SELECT count(*) FROM rows_to_scan;
		DO 'BEGIN FOR n IN 1..300 LOOP INSERT INTO commits VALUES (n); COMMIT; END LOOP; END'};
	my %seen;
	my $seconds = 4;

	# If the work has taken too long, which happens on a busy machine, repeats the observation with
	# more seconds.
	for (1 .. 4)
	{
		my $start = time;

		$session->send(
			qq{SELECT work, operations, period, period_s BETWEEN $seconds AND 2 * $seconds,
				abs(operations_per_s - operations / period_s) <= 0.001 + operations_per_s / 100
			FROM clock_impact(NULL, $seconds)
			WHERE work = 'WAL writes' OR setting = 'auto_explain.log_analyze'});
		$node->poll_query_until('postgres',
			'SELECT wait_event = $$Extension$$ FROM pg_stat_activity WHERE pid = ' . $session->pid)
		  or die 'it does not wait';
		foreach my $statement (split /;\n/, $work)
		{
			is($worker->query($statement)->{state}, '00000', 'work is done');
		}
		$worker->query('SELECT pg_stat_force_next_flush()');
		$worker->query('SELECT 1');
		my $in_time = time - $start < $seconds - 1;
		%seen = map { my ($name, @rest) = split /\|/; $name => \@rest } split /\n/, $session->result->{out};
		last if $in_time;
		$seconds *= 3;
	}
	foreach my $name ('WAL writes', 'calls of plan nodes')
	{
		my ($operations, @rest) = @{ $seen{$name} };

		is("@rest", 'observed t t', "observed: $name, the period and the rate");
	}
	# Allows for more calls, because the function's own statements and those of poll_query_until()
	# also read rows.
	cmp_ok($seen{'calls of plan nodes'}[0], '>=', 100000, 'observed: the scanned rows are counted');
	cmp_ok($seen{'calls of plan nodes'}[0], '<', 150000, 'observed: few other rows are counted');
	cmp_ok($seen{'WAL writes'}[0], '>=', 290, 'observed: the WAL writes are counted');
	cmp_ok($seen{'WAL writes'}[0], '<=', 320, 'observed: few other WAL writes are counted');
	# The call can be cancelled.
	$session->query('SET statement_timeout = 500');
	is($session->query('SELECT * FROM clock_impact(600)')->{state}, '57014', 'observed: a timeout');
	$session->query('RESET statement_timeout');
	# If the statistics are reset during the call, the result must be NULL. Repeats the call with
	# more seconds if the function ended before the reset.
	my $reset;
	for ($seconds = 1; $seconds < 100; $seconds *= 3)
	{
		my $waits = 'SELECT wait_event = $$Extension$$ FROM pg_stat_activity WHERE pid = ' . $session->pid;

		$session->send(qq{SELECT operations_per_s IS NULL, reason FROM clock_impact(NULL, $seconds) WHERE work = 'WAL writes'});
		usleep(10_000) until $worker->query($waits)->{out} eq 't';
		$worker->query(q{SELECT pg_stat_reset_shared('wal')});
		$worker->query(q{SELECT pg_stat_reset_shared('io')}) if $node->pg_version->major >= 16;
		my $in_time = $worker->query($waits)->{out} eq 't';
		$reset = $session->result;
		last if $in_time;
	}
	like($reset->{out}, qr/^t\|pg_stat_\w+ was reset meanwhile$/, 'observed: a reset');
	$session->quit;
	$worker->quit;
	$node->stop;
}

# Statistics of pg_stat_statements: not installed, not loaded, without the privilege, and used
{
	my $node = PostgreSQL::Test::Cluster->new('statements');
	my $calls = q{SELECT statistics, bound, operations, least_cpu_percent > 0, reason
		FROM clock_impact(setting => NULL) WHERE setting = 'auto_explain.log_analyze'};
	my $row;

	$node->init;
	$node->start;
	if ($node->safe_psql('postgres',
			q{SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_stat_statements'}))
	{
		$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');
		like($node->safe_psql('postgres', $calls), qr/pg_stat_statements is not installed in this database/,
			'not installed');
		$node->safe_psql('postgres',
			'CREATE SCHEMA "Odd schema"; CREATE EXTENSION pg_stat_statements SCHEMA "Odd schema"');
		like($node->safe_psql('postgres', $calls), qr/\|estimate\|.*pg_stat_statements cannot be read: .*shared_preload_libraries/,
			'not loaded');

		$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_stat_statements'\n");
		$node->restart;
		$node->safe_psql('postgres', 'SELECT i FROM generate_series(1, 300000) AS i');
		$row = $node->safe_psql('postgres', $calls);
		like($row, qr/^pg_stat_statements\|at least\|30\d\d\d\d\|t\|/, 'rows that were returned');
		unlike($row, qr/cannot/, 'no reason for missing statistics');
		my $statements = q{SELECT operations FROM clock_impact(setting => NULL) WHERE work = 'statements'};
		my $before = $node->safe_psql('postgres', "LOAD 'clocktiming'; $statements");
		$node->safe_psql('postgres', "SELECT 1;\n" x 50);
		my $counted = $node->safe_psql('postgres', "LOAD 'clocktiming'; $statements") - $before;
		cmp_ok(abs($counted - 55), '<=', 5, 'statements are counted: 50, and those of the connections');
		$node->safe_psql('postgres', 'COPY (SELECT i FROM generate_series(1, 300000) AS i) TO STDOUT');
		like($node->safe_psql('postgres', $calls), qr/^pg_stat_statements\|at least\|30\d\d\d\d\|t\|/,
			'rows of COPY are not counted, because they need not be rows of a node');
		$node->safe_psql('postgres',
			q{SET work_mem = '64kB'; SELECT count(*) FROM (SELECT i FROM generate_series(1, 100000) AS i ORDER BY -i OFFSET 0) AS s});
		like($node->safe_psql('postgres',
				q{SELECT statistics, operations FROM clock_impact(setting => NULL) WHERE work = 'temporary files'}),
			qr/^pg_stat_statements\|[1-9]\d{2,}$/, 'operations on temporary files');

		$node->safe_psql('postgres', q{
			CREATE ROLE regress_watcher LOGIN IN ROLE pg_monitor;
			REVOKE SELECT ON "Odd schema".pg_stat_statements FROM PUBLIC});
		like($node->safe_psql('postgres', "SET ROLE regress_watcher; $calls"),
			qr/pg_stat_statements cannot be read: permission denied/, 'without the privilege');
		like($node->safe_psql('postgres', "BEGIN; SET LOCAL ROLE regress_watcher; $calls; RESET ROLE; SELECT 1; COMMIT"),
			qr/^1$/m, 'lack of the privilege does not abort the transaction');
	}
	$node->stop;
}

# With clocktiming.track, the calls of plan nodes are those of the executed statements. The rows of
# generate_series() are no rows of a table, so PostgreSQL's statistics do not contain them.
{
	my $node = PostgreSQL::Test::Cluster->new('counted');
	my $query = 'SELECT count(*) FROM generate_series(1, 20000) AS a, generate_series(1, 5) AS b';
	my $calls = q{SELECT operations, statistics, most_cpu_percent >= cpu_percent, bound
		FROM clock_impact(setting => NULL) WHERE setting = 'auto_explain.log_analyze'};

	$node->init;
	$node->append_conf('postgresql.conf', q{
		shared_preload_libraries = 'clocktiming'
		clocktiming.track = on
		clocktiming.track_everything = on
		max_parallel_workers_per_gather = 0
		autovacuum = off});
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');

	# If the time allows no execution that counts calls, their number is NULL. Then repeats with more
	# time.
	my $expected = '';
	for (my $seconds = 0.01; $expected eq '' && $seconds < 100; $seconds *= 3)
	{
		$expected = $node->safe_psql('postgres',
			"SELECT 10 * max(node_calls) FROM clock_query_overhead('$query', $seconds)");
	}
	# clocktiming's own statements are not counted, and without counted statements calls are guessed.
	$node->safe_psql('postgres', 'SELECT pg_sleep(0.1)');
	my ($before) = split /\|/, $node->safe_psql('postgres', $calls);
	$node->safe_psql('postgres', $query) foreach 1 .. 10;
	my ($after, @rest) = split /\|/, $node->safe_psql('postgres', $calls);
	cmp_ok($expected, '>', 1_000_000, 'counted: the query has calls');
	cmp_ok($after - $before, '>=', $expected, 'counted: the calls of all executions');
	cmp_ok($after - $before, '<', 1.1 * $expected, 'counted: few other calls');
	is("@rest", 'clock_node_stats t estimate', 'counted: the other columns');
	# If the observation's own wait were counted as an execution, the upper limit would be too low.
	is($node->safe_psql('postgres', q{
			SELECT counts -> 'counted calls' ? 'total', (counts -> 'counted ms' ->> 'total')::float8 < 500
			FROM internal_clock_counts(1, 'public.internal_clock_wait', 'SELECT public.internal_clock_counted_calls()') AS counts}),
		't|t', 'counted: not the wait between the two snapshots');
	# The nested loop makes more calls per ms of a process than all counted statements together.
	is($node->safe_psql('postgres', q{
			SELECT (c ->> 'most_per_process_ms')::float8 > (c ->> 'total')::float8 / (counts -> 'counted process ms' ->> 'total')::float8
			FROM internal_clock_counted_calls() AS counts, jsonb(counts -> 'counted calls') AS c}),
		't', 'counted: the plan with the most calls per ms');

	# A statement sleeps during the whole period.  Its calls are not counted, because it has not ended,
	# and no upper limit follows from rows, because it reads none.
	my ($running, $observer) = map { ClockSession->new($node) } 1 .. 2;
	$observer->query('SET clocktiming.track = off');
	$running->send('SELECT pg_sleep(1000)');
	$node->poll_query_until('postgres', "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = " . $running->pid)
	  or die 'it does not sleep';
	is($observer->query(
			q{SELECT most_slowdown_percent IS NULL, verdict, reason FROM clock_impact(1) WHERE setting = 'auto_explain.log_analyze'})->{out},
		't|unknown|no_upper_limit', 'a statement that has not ended: the upper limit is unknown');
	$node->safe_psql('postgres', 'SELECT pg_cancel_backend(' . $running->pid . ')');
	is($running->result->{state}, '57014', 'the statement was cancelled');
	$_->quit foreach $running, $observer;
	$node->stop;
}

done_testing();
