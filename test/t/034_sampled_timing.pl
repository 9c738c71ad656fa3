
# clocktiming.sampled_timing: if EXPLAIN or another extension requests timers from the executor,
# clocktiming times a sample of the calls instead. The results must be the same as without the
# setting, except for the times, whichever library is loaded first.

use strict;
use warnings;

use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use ClockShim;

my $shim = ClockShim->new('count_clock', 2);
my ($node, $version, $s, $killer, $libraries);

# Settings at the start of each test
my $settings = q{
SET client_min_messages = warning;
SET auto_explain.log_min_duration = -1;
SET auto_explain.log_analyze = off;
};

# Settings that make auto_explain log each plan as JSON, and send the log to the client
my $logged = q{
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_analyze = on;
SET auto_explain.log_buffers = on;
SET auto_explain.log_wal = on;
SET auto_explain.log_triggers = on;
SET auto_explain.log_nested_statements = on;
SET auto_explain.log_format = json;
SET auto_explain.log_level = log;
SET client_min_messages = log;
};

sub sampled
{
	my ($value) = @_;

	$s->query("SET clocktiming.sampled_timing = $value");
	return;
}

# Returns the plans that auto_explain has logged, decoded.
sub logged_plans
{
	my ($err) = @_;

	return map { decode_json($_) } $err =~ /^(?:psql:\S+ )?LOG:  duration: [0-9.]+ ms  plan:\n(\{.*?^\})/msg;
}

sub explained
{
	my ($options, $query) = @_;
	my $result = $s->query("EXPLAIN ($options) $query");

	diag "$query: $result->{state} $result->{err}" if $result->{state} ne '00000';
	return $result->{out};
}

# Executes a statement, and returns how often the session's process has read the clock meanwhile.
sub readings
{
	my ($sql) = @_;
	my $result;

	$shim->write(0, $s->pid, 0);
	$result = $s->query($sql);
	my (undef, $n) = $shim->read;
	$shim->write(0, 0, 0);
	diag "$sql: $result->{state} $result->{err}" if $result->{state} ne '00000';
	return $n;
}

# Returns a copy of a plan without times, and without other members that may differ between
# executions.
sub figures
{
	my ($plan) = @_;

	return [ map { figures($_) } @$plan ] if ref $plan eq 'ARRAY';
	return $plan if ref $plan ne 'HASH';
	return { map { $_ => figures($plan->{$_}) } grep { !/Time$|^Clock|^Waits$|^Query Identifier$|^JIT$/ } keys %$plan };
}

# Returns the parts of a parallel plan that depend neither on how the work is divided among the
# processes nor on how many workers have started in time.
sub parallel_figures
{
	my ($plan) = @_;

	return join "\n", $plan->{'Node Type'},
	  $plan->{'Node Type'} =~ /Scan/ ? 'buffers ' . ($plan->{'Shared Hit Blocks'} + $plan->{'Shared Read Blocks'}) : (),
	  map { parallel_figures($_) } @{ $plan->{Plans} || [] };
}

# Returns the total number of rows of each node, over all processes. Omits aggregates and their
# parents, because their number of rows depends on the number of processes.
sub parallel_rows
{
	my ($plan) = @_;
	my @children = @{ $plan->{Plans} || [] };
	my $of_each = grep { $_->{'Node Type'} eq 'Aggregate' } $plan, @children;

	return (($of_each ? () : { rows => $plan->{'Actual Rows'} * $plan->{'Actual Loops'}, loops => $plan->{'Actual Loops'} }),
		map { parallel_rows($_) } @children);
}

# Compares two executions of a parallel plan. Allows for rounding, because before PostgreSQL 18
# EXPLAIN rounds rows per loop.
sub same_parallel
{
	my ($on, $off, $what) = @_;
	my @on = parallel_rows($on);
	my @off = parallel_rows($off);

	is(parallel_figures($on), parallel_figures($off), $what);
	is(scalar(grep { abs($on[$_]{rows} - $off[$_]{rows}) > ($on[$_]{loops} + $off[$_]{loops}) / 2 } 0 .. $#on), 0, "$what: rows");
	return;
}

# Checks that no node takes longer than its parent, and that no node's startup time exceeds its
# total time. Allows for rounding.
sub check_times
{
	my ($plan, $what) = @_;
	my $bad = nodes_too_long($plan);

	is($bad, '', "$what: no node takes longer than its parent") or diag(JSON::PP->new->canonical->pretty->encode($plan));
	return;
}

sub nodes_too_long
{
	my ($plan) = @_;
	my $total = $plan->{'Actual Total Time'} * $plan->{'Actual Loops'};
	my $bad = $plan->{'Actual Startup Time'} > $plan->{'Actual Total Time'} ? "$plan->{'Node Type'} ends before it starts\n" : '';

	foreach my $child (@{ $plan->{Plans} || [] })
	{
		my $allowed = 0.00051 * ($plan->{'Actual Loops'} + $child->{'Actual Loops'});

		# Two kinds of nodes are not compared with their parent. The times of a node below Gather
		# are means over several processes. An asynchronous scan is timed by the server at all
		# calls, but its Append only at some calls, and only some of these wait for the scan.
		$bad .= "$child->{'Node Type'} in $plan->{'Node Type'}: $child->{'Actual Total Time'} x $child->{'Actual Loops'}\n"
		  if $plan->{'Node Type'} !~ /^Gather/ && !$child->{'Async Capable'} && $child->{'Actual Total Time'} * $child->{'Actual Loops'} > $total + $allowed;
		$bad .= nodes_too_long($child);
	}
	return $bad;
}

# State of the session, which no statement may change.
my $untouched;

sub as_before
{
	my ($what) = @_;
	my $text;

	$s->gives($ClockSession::state, $untouched, "$libraries: $what: nothing is left behind");
	$text = explained('ANALYZE', 'SELECT count(*) FROM a');
	like($text, qr/rows=20000(\.00)? loops=1/, "$libraries: $what: rows are right");
	is(scalar(() = $text =~ /^Time: /mg), 1, "$libraries: $what: the session can sample again") or diag $text;
	return;
}

my $tables = q{
	CREATE TABLE a AS SELECT i, i % 100 AS k, md5(i::text) AS s FROM generate_series(1, 20000) AS i;
	CREATE TABLE b AS SELECT i, i % 50 AS k FROM generate_series(1, 5000) AS i;
	CREATE INDEX a_i ON a (i);
	CREATE INDEX b_k ON b (k);
	CREATE TABLE parts (k integer, v integer) PARTITION BY LIST (k);
	CREATE TABLE parts_0 PARTITION OF parts FOR VALUES IN (0);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
	CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2);
	INSERT INTO parts SELECT i % 3, i FROM generate_series(1, 3000) AS i;
	CREATE FUNCTION sql_count(n integer) RETURNS bigint LANGUAGE sql VOLATILE STRICT AS
		'SELECT count(*) FROM b WHERE k < n; SELECT count(*) FROM a WHERE a.k < n';
	CREATE FUNCTION sql_rows(n integer) RETURNS SETOF integer LANGUAGE sql VOLATILE STRICT AS 'SELECT i FROM b WHERE k = n';
	CREATE FUNCTION loops(n integer) RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
		r record;
		total bigint := 0;
	BEGIN
		FOR r IN SELECT k, count(*) AS n FROM b GROUP BY k ORDER BY k LOOP
			EXIT WHEN r.k >= n;
			total := total + r.n + (SELECT count(*) FROM a WHERE a.i < r.k);
		END LOOP;
		RETURN total;
	END $$;
	CREATE FUNCTION caught(n integer) RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
		total bigint := 0;
	BEGIN
		FOR round IN 1 .. n LOOP
			BEGIN
				total := total + (SELECT count(1 / (i - 1000 * round)) FROM b);
			EXCEPTION WHEN division_by_zero THEN
				total := total + (SELECT count(*) FROM b WHERE k < round);
			END;
		END LOOP;
		RETURN total;
	END $$;
	CREATE FUNCTION inner_explain(options text, query text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		line text;
		result text := '';
	BEGIN
		FOR line IN EXECUTE 'EXPLAIN (' || options || ') ' || query LOOP
			result := result || line || E'\n';
		END LOOP;
		RETURN result;
	END $$;
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM count(*) FROM b WHERE k = NEW.i; RETURN NEW; END';
	CREATE FUNCTION pause(seconds float8) RETURNS integer LANGUAGE plpgsql PARALLEL SAFE AS
		'BEGIN PERFORM pg_sleep(seconds); RETURN 1; END';
	CREATE FUNCTION never(i integer) RETURNS integer LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN RETURN 1 / (i - 4000); END';
	CREATE FUNCTION copies_of(name text) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		FOREACH name IN ARRAY ARRAY[name || '_0', name || '_1', name || '_2'] LOOP
			EXECUTE format('CREATE TABLE %1$s (i integer PRIMARY KEY, k integer); INSERT INTO %1$s SELECT i, i FROM generate_series(1, 500) AS i;
				CREATE TRIGGER note AFTER INSERT OR UPDATE ON %1$s FOR EACH ROW EXECUTE FUNCTION note()', name);
		END LOOP;
	END $$;
};

# Serial plans of many kinds, with the settings that they need
my $serial = 'SET max_parallel_workers_per_gather = 0; ';
my $parallel = 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; ';
my $nested = 'SET enable_hashjoin = off; SET enable_mergejoin = off; ';
my @reading = (
	[ 'SELECT * FROM a WHERE k < 25' ],
	[ 'SELECT b.k, count(*) FROM a JOIN b USING (i) WHERE a.k < 50 GROUP BY b.k ORDER BY b.k' ],
	[ 'SELECT count(*) FROM a JOIN b USING (i)', 'SET enable_hashjoin = off; SET enable_nestloop = off; ' ],
	[ 'SELECT count(*) FROM a JOIN b ON a.i = b.i', $nested ],
	[ 'SELECT count(*) FROM b JOIN a ON a.i = b.k', $nested . 'SET enable_seqscan = off; ' ],
	[ 'SELECT count(*) FROM a LEFT JOIN b ON a.i = b.i AND b.k < 3 WHERE b.i IS NULL' ],
	[ 'SELECT k, i % 2, count(*), sum(i) FROM a GROUP BY GROUPING SETS ((k), (i % 2), ())' ],
	[ 'WITH c AS MATERIALIZED (SELECT k, count(*) FROM a GROUP BY k) SELECT * FROM c AS x JOIN c AS y USING (k)' ],
	[ 'WITH c AS MATERIALIZED (SELECT * FROM a) SELECT * FROM c LIMIT 10' ],
	[ 'WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 100) SELECT count(*) FROM r' ],
	[ 'SELECT i, (SELECT count(*) FROM b WHERE b.i < a.k) FROM a WHERE i < 20' ],
	[ 'SELECT count(*) FROM a WHERE k > (SELECT avg(k) FROM b)' ],
	[ 'SELECT count(*) FROM a WHERE i NOT IN (SELECT i FROM b)' ],
	[ 'SELECT count(*) FROM a WHERE EXISTS (SELECT FROM b WHERE b.i = a.i)' ],
	[ 'SELECT count(*) FROM a WHERE k < 3 AND EXISTS (SELECT FROM b WHERE b.k = a.k)', $nested ],
	[ 'SELECT * FROM a ORDER BY s LIMIT 10' ],
	[ 'SELECT * FROM a LIMIT 10 OFFSET 5' ],
	[ 'SELECT i, rank() OVER (PARTITION BY k ORDER BY s) FROM a' ],
	[ 'SELECT i FROM a UNION SELECT i FROM b' ],
	[ 'SELECT count(s) FROM a WHERE i < 5000', 'SET enable_seqscan = off; SET enable_indexscan = off; ' ],
	[ 'SELECT k, count(*) FROM parts GROUP BY k' ],
	[ 'SELECT * FROM parts WHERE k = (SELECT 1)' ],
	[ 'SELECT sql_count(i) FROM generate_series(1, 4) AS i' ],
	[ 'SELECT count(*) FROM generate_series(1, 4) AS i, sql_rows(i)' ],
	[ 'SELECT loops(10)' ],
	[ 'SELECT caught(7)' ],
	[ 'SELECT i, generate_series(1, 3) FROM b' ],
	[ 'SELECT * FROM a WHERE false' ],
	[ 'SELECT CASE WHEN i < 0 THEN (SELECT max(k) FROM b) END FROM a WHERE i < 5' ],
	[ 'SELECT count(*) FROM b AS x JOIN b AS y ON x.k = y.i AND y.i < 30', $nested ]);
my @parallel = ('SELECT count(*) FROM a', 'SELECT a.i, b.k FROM a JOIN b USING (i)', 'SELECT k, count(*) FROM a GROUP BY k', 'SELECT * FROM a ORDER BY s');

# Statements that write. %s stands for a table that only one execution uses.
my @writing = (
	'INSERT INTO %s SELECT i, i FROM generate_series(1001, 1100) AS i',
	'INSERT INTO %s SELECT i, i FROM generate_series(401, 600) AS i ON CONFLICT DO NOTHING',
	'UPDATE %s SET k = k + 1 WHERE i < 100 RETURNING i',
	'DELETE FROM %s WHERE i BETWEEN 100 AND 200',
	'MERGE INTO %s AS t USING (SELECT i FROM a WHERE i BETWEEN 480 AND 520) AS a ON a.i = t.i WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (a.i)',
	'WITH d AS (DELETE FROM %s WHERE i < 50 RETURNING i) SELECT count(*) FROM d');

# Statements that execute queries by cursors
my @cursors = (
	'BEGIN; DECLARE c CURSOR FOR SELECT * FROM b; FETCH 0 FROM c; FETCH 3 FROM c; FETCH 0 FROM c; FETCH ALL FROM c; COMMIT',
	'BEGIN; DECLARE c CURSOR FOR SELECT * FROM a; FETCH 10 FROM c; MOVE 20 FROM c; FETCH 0 FROM c; CLOSE c; COMMIT',
	'BEGIN; DECLARE c CURSOR FOR SELECT * FROM b WHERE k < 5; FETCH ALL FROM c; COMMIT',
	'BEGIN; DECLARE c CURSOR FOR SELECT * FROM b ORDER BY k, i; MOVE 3 FROM c; MOVE ALL FROM c; COMMIT',
	'BEGIN; DECLARE c SCROLL CURSOR FOR SELECT * FROM b WHERE k < 5; FETCH 10 FROM c; FETCH BACKWARD 5 FROM c; MOVE FORWARD ALL FROM c; MOVE BACKWARD ALL FROM c; FETCH 3 FROM c; COMMIT',
	'BEGIN; DECLARE c SCROLL CURSOR FOR SELECT * FROM b; MOVE ALL FROM c; MOVE BACKWARD ALL FROM c; MOVE ALL FROM c; FETCH PRIOR FROM c; COMMIT',
	'BEGIN; DECLARE c SCROLL CURSOR FOR SELECT * FROM b WHERE i % 5000 < 10; FETCH LAST FROM c; FETCH FIRST FROM c; FETCH ABSOLUTE 8 FROM c; FETCH RELATIVE -3 FROM c; COMMIT',
	'BEGIN; DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT * FROM b; MOVE ALL FROM c; COMMIT; FETCH PRIOR FROM c; CLOSE c',
	'BEGIN; DECLARE c SCROLL CURSOR FOR SELECT * FROM b ORDER BY k, i; FETCH LAST FROM c; FETCH FIRST FROM c; FETCH ABSOLUTE 20 FROM c; FETCH RELATIVE -3 FROM c; COMMIT',
	'BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT * FROM b WHERE k < 2; FETCH 5 FROM c; COMMIT; FETCH 2 FROM c; CLOSE c',
	'BEGIN; DECLARE c CURSOR FOR SELECT * FROM b; DECLARE d CURSOR FOR SELECT * FROM a; FETCH 2 FROM c; FETCH 3 FROM d; FETCH 4 FROM c; CLOSE c; FETCH 5 FROM d; COMMIT',
	'BEGIN; DECLARE c CURSOR FOR SELECT * FROM b; COMMIT',
	'BEGIN; DECLARE c CURSOR FOR SELECT * FROM b FOR UPDATE; FETCH 3 FROM c; DELETE FROM b WHERE CURRENT OF c; FETCH 1 FROM c; ROLLBACK',
	'BEGIN; DECLARE c CURSOR FOR SELECT * FROM b; FETCH 3 FROM c; SAVEPOINT s; FETCH 2 FROM c; DECLARE d CURSOR FOR SELECT * FROM a; FETCH 1 FROM d; ROLLBACK TO s; FETCH 2 FROM c; COMMIT');

sub start
{
	$node = PostgreSQL::Test::Cluster->new($libraries =~ /^auto/ ? 'first' : 'last');
	$node->init;
	$node->append_conf('postgresql.conf', qq{
shared_preload_libraries = '$libraries'
jit = off
autovacuum = off
full_page_writes = off
checkpoint_timeout = 1h
bgwriter_lru_maxpages = 0
max_worker_processes = 16
max_parallel_workers = 8
auto_explain.log_min_duration = -1
});
	$shim->start($node);
	$version = $node->safe_psql('postgres', 'SHOW server_version_num');
	if ($version >= 190000)
	{
		# Makes the server read the system clock, because only its readings are counted.
		$node->append_conf('postgresql.conf', 'timing_clock_source = system');
		$node->reload;
	}
	$node->safe_psql('postgres', "CREATE EXTENSION clocktiming; $tables");
	$node->safe_psql('postgres', 'VACUUM ANALYZE');
	$s = ClockSession->new($node);
	$killer = ClockSession->new($node);
	$s->query($settings);
	return;
}

# Checks the effect of each value of the setting on EXPLAIN and on auto_explain.
sub values_are_obeyed
{
	my $query = 'SELECT count(*) FROM a';
	my $rows = 20000;

	$s->query($query);
	foreach my $value ('off', 'auto_explain', 'on', 'off')
	{
		my $text;
		my ($by_explain, $by_auto_explain);

		sampled($value);
		$s->query($settings);
		$text = explained('ANALYZE', $query);
		is(scalar(() = $text =~ /^Time: sampling, \d+ samples/mg), $value eq 'on' ? 1 : 0, "$libraries: $value: EXPLAIN prints the sampling interval") or diag $text;
		unlike($text, qr/^ +Clock:/m, "$libraries: $value: and no margins");
		is(scalar(() = $text =~ /actual time=\d+\.\d{3}\.\.\d+\.\d{3} rows=\d+(?:\.00)? loops=1\)/g), 2, "$libraries: $value: times in EXPLAIN");
		$by_explain = readings("EXPLAIN ANALYZE $query");
		$s->query($logged);
		$s->query($query);
		$by_auto_explain = readings($query);
		# The server's timers read the clock twice per call of a node. Each row needs a call of two
		# nodes, hence four readings.
		$value eq 'on' ? cmp_ok($by_explain, '<', $rows, "$libraries: $value: the clock is read seldom by EXPLAIN")
		  : cmp_ok($by_explain, '>', 2 * $rows, "$libraries: $value: the clock is read at each call by EXPLAIN");
		$value eq 'off' ? cmp_ok($by_auto_explain, '>', 2 * $rows, "$libraries: $value: the clock is read at each call by auto_explain")
		  : cmp_ok($by_auto_explain, '<', $rows, "$libraries: $value: the clock is read seldom by auto_explain");
		my ($plan) = logged_plans($s->query($query)->{err});
		is($plan->{Plan}{Plans}[0]{'Actual Rows'}, $rows, "$libraries: $value: rows in the log");
		cmp_ok($plan->{Plan}{'Actual Total Time'}, '>', 0, "$libraries: $value: times in the log");
		check_times($plan->{Plan}, "$libraries: $value: log") if $value ne 'off';
		# TIMING OFF and auto_explain.log_timing = off still turn off all timing.
		$s->query($settings);
		unlike(explained('ANALYZE, TIMING OFF', $query), qr/actual time|Clock/, "$libraries: $value: no times with TIMING OFF");
		unlike(explained('COSTS', $query), qr/actual|Clock/, "$libraries: $value: EXPLAIN alone");
	}

	# EXPLAIN and auto_explain request timers for the same execution.
	sampled('auto_explain');
	$s->query($logged);
	my $result = $s->query("EXPLAIN ANALYZE $query");
	unlike($result->{out}, qr/Clock/, "$libraries: EXPLAIN beside auto_explain is not sampled if sampled_timing = auto_explain");
	my @plans = logged_plans($result->{err});
	is(scalar(@plans), 1, "$libraries: and its plan is logged");
	sampled('on');
	$result = $s->query("EXPLAIN ANALYZE $query");
	like($result->{out}, qr/^Time: /m, "$libraries: EXPLAIN beside auto_explain is sampled");
	my ($in_log) = map { $_->{Plan}{'Actual Total Time'} } logged_plans($result->{err});
	my ($in_output) = $result->{out} =~ /actual time=[0-9.]+\.\.([0-9.]+)/;
	is(sprintf('%.3f', $in_log), $in_output, "$libraries: EXPLAIN and auto_explain print the same time");

	# Executions that are expected to be short are timed by the server's timers, until one of them
	# has taken long.
	is($s->query(q{CREATE FUNCTION more(n integer) RETURNS SETOF integer LANGUAGE plpgsql ROWS 1 AS 'BEGIN RETURN QUERY SELECT generate_series(1, n); END'})->{state}, '00000', "$libraries: a function that returns more rows than the planner expects");
	my $misjudged = 'SELECT count(*) FROM more(200000)';
	foreach my $time ('first', 'second')
	{
		my $n = readings($misjudged);

		$time eq 'first' ? cmp_ok($n, '>', 400_000, "$libraries: its $time execution is timed by the server")
		  : cmp_ok($n, '<', 200_000, "$libraries: its $time execution is sampled");
	}
	my $short = readings('SELECT i FROM a LIMIT 3');
	is(readings('SELECT i FROM a LIMIT 3'), $short, "$libraries: each execution of a short query is timed by the server");
	$s->query('DROP FUNCTION more');
	$s->query($settings);

	# Other spellings of the setting's values, and invalid values
	foreach my $word ([ 'true', 'on' ], [ 'yes', 'on' ], [ '1', 'on' ], [ 'false', 'off' ], [ 'no', 'off' ], [ '0', 'off' ])
	{
		is($s->query("SET clocktiming.sampled_timing = $word->[0]; SHOW clocktiming.sampled_timing")->{out}, $word->[1], "$libraries: $word->[0]");
	}
	$result = $s->query('SET clocktiming.sampled_timing = maybe');
	is($result->{state}, '22023', "$libraries: an invalid value");
	like($result->{err}, qr/^HINT:  Available values: off, auto_explain, on\./m, "$libraries: an invalid value: hint");
	is($s->query('RESET clocktiming.sampled_timing; SHOW clocktiming.sampled_timing')->{out}, 'off', "$libraries: off by default");
	return;
}

# Checks that the results of EXPLAIN and auto_explain are the same with and without the setting,
# except for the times.
sub figures_are_exact
{
	foreach my $case (@reading)
	{
		my ($query, $set) = @$case;
		my (%explained, %logged);

		$s->query("RESET ALL; $settings $serial" . ($set // ''));
		# Sets hint bits and fills caches.
		$s->query($query) for 1, 2;
		$s->query("EXPLAIN ANALYZE $query");
		foreach my $value ('off', 'on')
		{
			sampled($value);
			$explained{$value} = decode_json(explained('ANALYZE, BUFFERS, WAL, FORMAT JSON', $query))->[0];
		}
		is_deeply(figures($explained{on}), figures($explained{off}), "$libraries: EXPLAIN: $query") or diag explain [ figures($explained{on}), figures($explained{off}) ];
		check_times($explained{on}{Plan}, "$libraries: EXPLAIN: $query");
		$s->query($logged);
		foreach my $value ('off', 'auto_explain', 'on')
		{
			sampled($value);
			$logged{$value} = [ logged_plans($s->query($query)->{err}) ];
		}
		cmp_ok(scalar(@{ $logged{off} }), '>=', 1, "$libraries: auto_explain: $query");
		foreach my $value ('auto_explain', 'on')
		{
			is_deeply(figures($logged{$value}), figures($logged{off}), "$libraries: auto_explain, $value: $query");
			check_times($_->{Plan}, "$libraries: auto_explain, $value: $query") for @{ $logged{$value} };
		}
	}
	$s->query("RESET ALL; $settings $parallel");
	foreach my $query (@parallel)
	{
		my (%explained, %logged);

		foreach my $value ('off', 'on')
		{
			sampled($value);
			$explained{$value} = decode_json(explained('ANALYZE, BUFFERS, WAL, VERBOSE, FORMAT JSON', $query))->[0]{Plan};
			$s->query($logged);
			($logged{$value}) = map { $_->{Plan} } logged_plans($s->query("EXPLAIN (ANALYZE) $query")->{err});
			$s->query($settings);
		}
		same_parallel($explained{on}, $explained{off}, "$libraries: parallel: $query");
		same_parallel($logged{on}, $logged{off}, "$libraries: parallel, auto_explain: $query");
		is($s->query('SHOW clocktiming.worker_observation')->{out}, '', "$libraries: parallel: worker_timing is reset: $query");
	}
	$s->query("RESET ALL; $settings");
	return;
}

sub writes_are_exact
{
	my $n = 0;

	$s->query("RESET ALL; $settings $serial");
	foreach my $query (@writing)
	{
		my $tables = 'w_' . $n++;
		my (%explained, %logged);

		# Creates the tables in another session, so that this session has cached no data about them.
		$node->safe_psql('postgres', "SELECT copies_of('${tables}_explained'), copies_of('${tables}_logged')");
		$node->safe_psql('postgres', 'VACUUM ANALYZE ' . join ', ', map { ("${tables}_explained_$_", "${tables}_logged_$_") } 0 .. 2);
		sampled('off');
		explained('ANALYZE', sprintf($query, "${tables}_explained_0"));
		foreach my $value ('off', 'on')
		{
			my $statement = sprintf($query, "${tables}_explained_" . ($value eq 'off' ? 1 : 2));

			# The statements that are compared use different tables, and therefore different pages
			# of the catalogs. Reads these pages first.
			$s->query("EXPLAIN $statement");
			sampled($value);
			my $json = explained('ANALYZE, BUFFERS, WAL, FORMAT JSON', $statement);
			$json =~ s/(${tables}_explained)_\d/$1/g;
			$explained{$value} = decode_json($json)->[0];
			# Planning may still read different numbers of catalog pages for different tables.
			delete $explained{$value}{Planning};
		}
		is_deeply(figures($explained{on}), figures($explained{off}), "$libraries: EXPLAIN: $query") or diag explain [ figures($explained{on}), figures($explained{off}) ];
		check_times($explained{on}{Plan}, "$libraries: EXPLAIN: $query");
		$s->query($logged);
		foreach my $value ('off', 'auto_explain')
		{
			my $statement = sprintf($query, "${tables}_logged_" . ($value eq 'off' ? 1 : 2));

			$s->query("EXPLAIN $statement");
			sampled($value);
			my $err = $s->query($statement)->{err};
			$err =~ s/(${tables}_logged)_\d/$1/g;
			$logged{$value} = [ logged_plans($err) ];
		}
		is_deeply(figures($logged{auto_explain}), figures($logged{off}), "$libraries: auto_explain: $query");
		if ($query =~ /^(INSERT|UPDATE)/)
		{
			is(scalar(@{ $explained{on}{Triggers} }), 1, "$libraries: EXPLAIN: $query: the trigger");
			cmp_ok($explained{on}{Triggers}[0]{Time}, '>', 0, "$libraries: EXPLAIN: $query: the trigger is timed");
			cmp_ok($logged{auto_explain}[-1]{Triggers}[0]{Time}, '>', 0, "$libraries: auto_explain: $query: its trigger is timed");
		}
		$s->query($settings);
	}
	return;
}

sub cursors_are_exact
{
	$s->query("RESET ALL; $settings $serial $logged");
	foreach my $statements (@cursors)
	{
		my %came_of;

		sampled('off');
		$s->query($statements);
		foreach my $value ('off', 'auto_explain', 'on')
		{
			my $result;

			sampled($value);
			$result = $s->query($statements);
			is($result->{state}, '00000', "$libraries: cursors, $value: $statements") or diag $result->{err};
			$came_of{$value} = { out => $result->{out}, plans => [ map { figures($_) } logged_plans($result->{err}) ] };
		}
		is_deeply($came_of{$_}, $came_of{off}, "$libraries: cursors, $_: $statements")
		  or diag explain [ $came_of{$_}, $came_of{off} ] for 'auto_explain', 'on';
	}
	$s->query($settings);
	sampled('off');
	return;
}


# Checks that errors and cancellations in the leader, in workers and in nested statements leave
# nothing behind.
sub ends_well
{
	my @failing = (
		[ $serial, 'SELECT 1 / (i - 4000) FROM b' ],
		[ $serial, 'SELECT count(never(i)) FROM b' ],
		[ $serial, 'INSERT INTO w_0_explained_0 SELECT 100000 + i + 0 / (i - 4000), 1 FROM b' ],
		[ $serial, 'SELECT loops(never(4000))' ],
		[ $parallel, 'SELECT count(never(i)) FROM a' ],
		[ $parallel, 'SELECT i, never(i) FROM a' ]);
	my @sleeping = (
		[ $serial, 'SELECT pause(0.01) FROM a' ],
		[ $serial, 'SELECT count(inner_explain($$ANALYZE$$, $$SELECT pause(0.01) FROM b$$)) FROM a' ],
		[ $parallel, 'SELECT count(pause(0.01)) FROM a' ]);

	foreach my $value ('auto_explain', 'on')
	{
		$s->query("RESET ALL; $settings $serial");
		sampled('on');
		explained('ANALYZE', 'SELECT count(*) FROM a');
		$untouched = $s->query($ClockSession::state)->{out};
		foreach my $case (@failing, @sleeping)
		{
			my ($set, $query) = @$case;

			foreach my $how ($value eq 'on' ? "EXPLAIN ANALYZE $query" : (), $query)
			{
				my $what = "$value: $how";
				my $result;

				$s->query("$set $logged");
				sampled($value);
				if ($query !~ /pause/)
				{
					is($s->query($how)->{state}, '22012', "$libraries: error: $what");

					# The error is caught, which ends a subtransaction, and the statement continues.
					$result = $s->query(qq{DO \$do\$
						DECLARE
							rows bigint;
						BEGIN
							FOR round IN 1 .. 3 LOOP
								BEGIN
									EXECUTE \$q\$$how\$q\$;
									RAISE EXCEPTION 'no error';
								EXCEPTION WHEN division_by_zero THEN
									SELECT count(*) FROM a INTO rows;
									IF rows <> 20000 THEN
										RAISE EXCEPTION 'not as it was';
									END IF;
								END;
							END LOOP;
						END\$do\$});
					is($result->{state}, '00000', "$libraries: caught error: $what") or diag $result->{err};
					is(scalar(grep { $_->{'Query Text'} =~ /^SELECT count\(\*\) FROM a *$/ && $_->{Plan}{'Actual Rows'} == 1 } logged_plans($result->{err})),
						3, "$libraries: caught error: $what: the statements of the handler are logged") or diag $result->{err};
				}
				else
				{
					$s->send($how);
					$s->wait_until_running('pause', 0);
					$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
					  or die 'nothing sleeps';
					is($s->interrupted($killer, 'pg_cancel_backend')->{state}, '57014', "$libraries: cancel: $what");
				}
				$s->query("RESET ALL; $settings $serial");
				sampled('on');
				as_before($what);
			}
		}
	}

	# A cursor fails, and the transaction continues.
	$s->query("$logged BEGIN; DECLARE c CURSOR FOR SELECT * FROM b; DECLARE d CURSOR FOR SELECT 1 / (i - 3) FROM b; FETCH 3 FROM c; SAVEPOINT s");
	is($s->query('FETCH 5 FROM d')->{state}, '22012', "$libraries: a cursor fails");
	my $result = $s->query('ROLLBACK TO s; FETCH 2 FROM c; CLOSE c; COMMIT');
	is($result->{out}, "4|4\n5|5", "$libraries: and another cursor continues");
	my ($plan) = logged_plans($result->{err});
	is($plan->{Plan}{'Actual Rows'}, 5, "$libraries: and its rows are logged");
	$s->query("RESET ALL; $settings $serial");
	sampled('on');
	as_before('cursors that fail');

	# Memory does not grow with the number of executions, however they end.
	my $many = q{DO $$BEGIN FOR n IN 1 .. 300 LOOP
		BEGIN PERFORM inner_explain('ANALYZE', 'SELECT 1 / (i - ' || n || ') FROM b WHERE i <= ' || n + n % 2 - 1); EXCEPTION WHEN division_by_zero THEN NULL; END;
	END LOOP; END$$};
	is($s->query($many)->{state}, '00000', "$libraries: many plans");
	my $first = $s->memory;
	$s->query($many) for 1 .. 3;
	cmp_ok($s->memory - $first, '<', 100_000, "$libraries: memory does not grow");
	return;
}

# Checks the output of several kinds of EXPLAIN statements.
sub statements_and_formats
{
	my $query = 'SELECT b.k, count(*) FROM a JOIN b USING (i) WHERE a.k < 50 GROUP BY b.k ORDER BY b.k';
	my $margins_everywhere = $version >= 180000;
	my $has_xml = $s->query(q{SELECT xmlparse(document '<a/>')})->{state} eq '00000';
	my $result;

	$s->query("RESET ALL; $settings $serial");
	sampled('on');
	foreach my $margins ('off', 'on')
	{
		$s->query("SET clocktiming.show_margins = $margins");
		foreach my $extra ('', ', VERBOSE', ', BUFFERS', ', WAL', ', COSTS OFF', ', SETTINGS', ', SUMMARY OFF')
		{
			my $what = "$libraries: show_margins = $margins$extra";
			my $printed = $margins eq 'on' && ($margins_everywhere || $extra !~ /WAL/);
			my $text = explained("ANALYZE$extra", $query);
			my $nodes = () = $text =~ /actual time=\d+\.\d{3}\.\.\d+\.\d{3} rows/g;
			my $json = explained("ANALYZE, FORMAT JSON$extra", $query);
			my $xml = explained("ANALYZE, FORMAT XML$extra", $query);
			my $yaml = explained("ANALYZE, FORMAT YAML$extra", $query);
			my ($plain, $decoded);

			cmp_ok($nodes, '>=', 4, "$what: text: nodes");
			is(scalar(() = $text =~ /^ +Clock: total \d+\.\d{3} \+\/- \d+\.\d{3} ms, self .*/mg), $printed ? $nodes : 0, "$what: text: margins") or diag $text;
			is(scalar(() = $text =~ /^Time: sampling, \d+ samples/mg), 1, "$what: text: the sampling interval") or diag $text;
			unlike($text, qr/WAL:/, "$what: text: nothing of WAL");

			$decoded = eval { decode_json($json)->[0] };
			ok($decoded, "$what: JSON") or diag $json;
			is($decoded->{Clock}{Method}, 'sampling', "$what: JSON: the method");
			is(scalar(() = $json =~ /"Clock Total Margin": \d+\.\d{3},/g), $printed ? $nodes : 0, "$what: JSON: margins");
			sampled('off');
			$plain = decode_json(explained("ANALYZE, FORMAT JSON$extra", $query))->[0];
			sampled('on');
			is_deeply(figures($decoded), figures($plain), "$what: JSON: all other members are the same") or diag $json;

			$printed = $margins eq 'on' && $margins_everywhere;
			# A server may have been built without libxml.
			is($s->query(q{SELECT count(xmlparse(document $$} . $xml . q{$$))})->{out}, '1', "$what: XML") if $has_xml;
			is(scalar(() = $xml =~ /<Clock-Total-Margin>\d+\.\d{3}<\/Clock-Total-Margin>/g), $printed ? $nodes : 0, "$what: XML: margins");
			like($xml, qr/<Clock>\s*<Method>sampling<\/Method>/, "$what: XML: the method");

			like($yaml, qr/\A(?:(?:  )*(?:- )?\w[\w\/ -]*: .*(?:\n|\z)|(?:  )*(?:- )"?[^:\n]*"?\n)+\z/, "$what: YAML") or diag $yaml;
			is(scalar(() = $yaml =~ /^ +Clock Total Margin: \d+\.\d{3} *$/mg), $printed ? $nodes : 0, "$what: YAML: margins");
			like($yaml, qr/^  Clock: *\n    Method: "sampling"\n/m, "$what: YAML: the method");
		}
	}

	# A parallel plan, and the plan that auto_explain logs for the same execution. Before PostgreSQL
	# 18, margins replace markers, which are numbers of WAL records. No marker must remain.
	$s->query($parallel);
	my $json = explained('ANALYZE, VERBOSE, FORMAT JSON', 'SELECT * FROM a WHERE i % 2 = 0');
	ok(eval { decode_json($json) }, "$libraries: margins of a parallel plan") or diag $json;
	like($json, qr/"Clock Note": "sum of 3 processes/, "$libraries: margins of a parallel plan: of all processes");
	like($json, qr/"Worker Number": 0/, "$libraries: margins of a parallel plan: the times of each worker are printed, too");
	unlike($json, qr/"WAL/, "$libraries: margins of a parallel plan: nothing of WAL");
	$s->query("$serial $logged");
	$result = $s->query('EXPLAIN ANALYZE SELECT count(*) FROM a');
	my ($plan) = logged_plans($result->{err});
	is($plan->{Plan}{'WAL Records'}, 0, "$libraries: the log has no marker as number of WAL records") or diag $result->{err};
	unlike($s->query('EXPLAIN (ANALYZE, TIMING OFF) SELECT count(*) FROM a')->{out}, qr/Clock|WAL/, "$libraries: no margins where no times are printed");
	$s->query("RESET ALL; $settings $serial SET clocktiming.show_margins = on");
	sampled('on');

	# Statements of many kinds
	foreach my $explained ('CREATE TABLE made AS SELECT * FROM b', 'CREATE MATERIALIZED VIEW made_view AS SELECT * FROM b',
		'DECLARE c CURSOR FOR SELECT * FROM b', 'VALUES (1), (2)', 'SELECT 1 WHERE false')
	{
		my $text = explained('ANALYZE', $explained);

		is(scalar(() = $text =~ /^Time: /mg), 1, "$libraries: $explained") or diag $text;
		is(scalar(() = $text =~ /^ +Clock: total/mg), 1, "$libraries: $explained: margins");
	}
	is($s->query('SELECT count(*) FROM made; SELECT count(*) FROM made_view; DROP TABLE made; DROP MATERIALIZED VIEW made_view')->{out}, "5000\n5000", "$libraries: the explained statements have created their rows");
	$s->query(q{
		CREATE TABLE ruled (i integer);
		INSERT INTO ruled VALUES (1), (2);
		CREATE VIEW v AS SELECT i FROM ruled;
		CREATE RULE r AS ON DELETE TO v DO INSTEAD (DELETE FROM ruled WHERE i = OLD.i; SELECT count(*) FROM a);
		CREATE RULE nothing AS ON INSERT TO v DO INSTEAD NOTHING;
		BEGIN});
	my $text = explained('ANALYZE', 'DELETE FROM v');
	is(scalar(() = $text =~ /^Time: /mg), 2, "$libraries: rules: a line for each plan") or diag $text;
	is(scalar(() = explained('ANALYZE, FORMAT JSON', 'DELETE FROM v') =~ /"Clock": \{/g), 2, "$libraries: rules: in JSON, too");
	$s->query('ROLLBACK; DROP TABLE ruled CASCADE');

	$s->query('PREPARE p(integer) AS SELECT count(*) FROM a WHERE i < $1; SET client_min_messages = notice');
	foreach my $execute ('EXECUTE p(500)', 'EXECUTE p(loops(3)::integer)', 'CREATE TABLE made AS EXECUTE p(5)')
	{
		$result = $s->query("EXPLAIN ANALYZE $execute");
		is($result->{state}, '00000', "$libraries: $execute");
		if ($version >= 180000)
		{
			is(scalar(() = $result->{out} =~ /^Time: /mg), 1, "$libraries: $execute") or diag $result->{out};
			is($result->{err}, '', "$libraries: $execute: no notice");
		}
		else
		{
			unlike($result->{out}, qr/Clock/, "$libraries: $execute") or diag $result->{out};
			is(scalar(() = $result->{err} =~ /^NOTICE:  times of plan nodes are estimated by sampling$/mg), 1, "$libraries: $execute: a notice");
		}
		like($result->{out}, qr/actual time=\d/, "$libraries: $execute: has times");
		is($s->query("EXPLAIN (ANALYZE, TIMING OFF) $execute")->{err}, '', "$libraries: $execute: no notice with TIMING OFF") if $execute !~ /TABLE/;
	}
	$s->query('DROP TABLE made; SET client_min_messages = warning');

	# EXPLAIN in functions, and nested
	foreach my $outer ('', 'EXPLAIN ANALYZE ')
	{
		foreach my $inner ('ANALYZE', 'ANALYZE, TIMING OFF', 'COSTS')
		{
			$result = $s->query("${outer}SELECT inner_explain('$inner', 'SELECT count(*) FROM b') FROM a WHERE i < 3");
			is(scalar(() = $result->{out} =~ /^Time: /mg), $outer ne '' ? 1 : $inner eq 'ANALYZE' ? 2 : 0, "$libraries: $outer($inner) in a function: lines") or diag $result->{out};
			like($result->{out}, qr/rows=2(\.00)? loops=1/, "$libraries: $outer($inner) in a function: rows") if $outer ne '';
		}
	}
	$result = $s->query(q{DO $$BEGIN EXECUTE 'EXPLAIN ANALYZE SELECT 1; SELECT count(*) FROM b; EXPLAIN (ANALYZE, TIMING OFF) SELECT 3; EXPLAIN ANALYZE SELECT 2'; END$$});
	is($result->{state}, '00000', "$libraries: several statements in a string");
	like(explained('ANALYZE, SERIALIZE', $query), qr/^Serialization: time=\d.*^Time: /ms, "$libraries: SERIALIZE") if $version >= 170000;

	# EXPLAIN's option CLOCK_SAMPLING together with the setting
	if ($version >= 180000)
	{
		foreach my $value ('auto_explain', 'on')
		{
			$s->query("$logged SET client_min_messages = warning");
			sampled($value);
			$result = $s->query('EXPLAIN (ANALYZE, CLOCK_SAMPLING) SELECT count(*) FROM a');
			is($result->{err}, '', "$libraries: CLOCK_SAMPLING beside auto_explain, sampled_timing = $value: no warning");
			is(scalar(() = $result->{out} =~ /^Time: sampling, \d+ samples/mg), 1, "$libraries: CLOCK_SAMPLING beside auto_explain, sampled_timing = $value: its sampling interval is used") or diag $result->{out};
			is(scalar(() = $result->{out} =~ /^ +Clock: total/mg), 2, "$libraries: CLOCK_SAMPLING beside auto_explain, sampled_timing = $value: and margins");
			$s->query('SET client_min_messages = log');
			is(scalar(logged_plans($s->query('EXPLAIN (ANALYZE, CLOCK_SAMPLING) SELECT count(*) FROM a')->{err})), 1, "$libraries: and the plan is logged");
		}
		sampled('off');
		$result = $s->query('EXPLAIN (ANALYZE, CLOCK_SAMPLING) SELECT count(*) FROM a');
		like($result->{err}, qr/^WARNING:  EXPLAIN option CLOCK_SAMPLING has no effect$/m, "$libraries: CLOCK_SAMPLING beside auto_explain, sampled_timing = off: a warning");
		like($result->{err}, qr/^HINT:  If it is auto_explain, set clocktiming\.sampled_timing to auto_explain\.$/m, "$libraries: with a hint that names the setting");
	}
	$s->query("RESET ALL; $settings");
	return;
}

# Checks that functions that measure the server's own timers are not affected by the setting.
sub measures_are_not_replaced
{
	my $rows = 20000;

	$s->query("RESET ALL; $settings $serial");
	sampled('on');
	is($s->query(q{SELECT bool_and(self_ms >= 0), count(*) FROM clock_explain('SELECT count(*) FROM a', method => 'full') WHERE node > 0})->{out}, 't|2', "$libraries: clock_explain, full");
	cmp_ok(readings(q{SELECT clock_explain('SELECT count(*) FROM a', method => 'full')}), '>', 2 * $rows, "$libraries: clock_explain, full: by the server");
	cmp_ok(readings(q{SELECT clock_explain('SELECT count(*) FROM a')}), '<', $rows, "$libraries: clock_explain by sampling: few readings of the clock");
	cmp_ok(readings('CALL clock_executor_overhead(20000, duration => 0.5)'), '>', 2 * $rows, "$libraries: clock_executor_overhead: the server times all calls");
	cmp_ok(readings(q{SELECT clock_query_overhead('SELECT count(*) FROM a', 0.5)}), '>', 2 * $rows, "$libraries: clock_query_overhead: the server times all calls");
	return;
}

# Checks foreign tables. Their scans may be asynchronous.
sub foreign_tables
{
	my ($host, $port) = ($node->host, $node->port);

	$node->safe_psql('postgres', qq{
		CREATE EXTENSION postgres_fdw;
		CREATE SERVER one FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres', async_capable 'true');
		CREATE SERVER two FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres', async_capable 'true');
		CREATE USER MAPPING FOR CURRENT_USER SERVER one;
		CREATE USER MAPPING FOR CURRENT_USER SERVER two;
		CREATE TABLE far (i integer, k integer) PARTITION BY LIST (k);
		CREATE TABLE near_1 AS SELECT i, 1 AS k FROM generate_series(1, 1000) AS i;
		CREATE TABLE near_2 AS SELECT i, 2 AS k FROM generate_series(1, 1000) AS i;
		CREATE FOREIGN TABLE far_1 PARTITION OF far FOR VALUES IN (1) SERVER one OPTIONS (table_name 'near_1');
		CREATE FOREIGN TABLE far_2 PARTITION OF far FOR VALUES IN (2) SERVER two OPTIONS (table_name 'near_2');
	});
	$s->query("RESET ALL; $settings $serial");
	$s->query('SELECT sum(x.i) FROM far AS x JOIN b USING (i)');
	foreach my $query ('SELECT * FROM far WHERE i + random() * 0 <= 500', 'SELECT count(*) FROM far', 'SELECT * FROM far_1 LIMIT 10', 'SELECT * FROM far_1',
		'UPDATE far_1 SET i = -i WHERE i % 10 = 0 AND random() >= 0', 'DELETE FROM far_2 WHERE i < 0 RETURNING i', 'SELECT sum(x.i) FROM far AS x JOIN b USING (i)')
	{
		my %figures;

		foreach my $value ('off', 'on')
		{
			sampled($value);
			$s->query('BEGIN');
			my $json = decode_json(explained('ANALYZE, VERBOSE, BUFFERS OFF, FORMAT JSON', $query))->[0];
			$figures{$value} = figures($json);
			check_times($json->{Plan}, "$libraries: $query") if $value eq 'on' && $query !~ /LIMIT/;
			like(explained('ANALYZE', $query), qr/Async Foreign Scan/, "$libraries: $query: asynchronous") if $query =~ /random\(\) \* 0/;
			$s->query('ROLLBACK');
		}
		is_deeply($figures{on}, $figures{off}, "$libraries: $query") or diag explain [ $figures{on}, $figures{off} ];
	}
	return;
}

# Checks the setting in the session of an ordinary role, which loads the library from plugins.
sub for_everybody
{
	my $own = PostgreSQL::Test::Cluster->new('own');
	my $t;

	$own->init;
	$own->start;
	$own->safe_psql('postgres', 'CREATE TABLE a AS SELECT i FROM generate_series(1, 20000) AS i; CREATE TABLE secret AS TABLE a; CREATE ROLE regress_ordinary LOGIN; GRANT SELECT ON a TO regress_ordinary');
	$t = ClockSession->new($own, user => 'regress_ordinary');
	is($t->query('SET clocktiming.sampled_timing = on')->{state}, '00000', 'the setting can be set before the library is loaded');
	unlike($t->query('EXPLAIN ANALYZE SELECT count(*) FROM a')->{out}, qr/Clock/, 'and has no effect until then');
	is($t->query(q{LOAD '$libdir/plugins/clocktiming'})->{state}, '00000', 'any role may load the library');
	is($t->query('SHOW clocktiming.sampled_timing')->{out}, 'on', 'the library keeps the value of the setting');
	like($t->query('EXPLAIN ANALYZE SELECT count(*) FROM a')->{out}, qr/^Time: /m, 'the setting has an effect after LOAD');
	is($t->query('EXPLAIN ANALYZE SELECT count(*) FROM secret')->{state}, '42501', 'but the setting grants no privilege');
	$t->quit;

	# The executor evaluates the function at its start, to prune partitions.
	$t = ClockSession->new($own);
	$t->query(q{
		LOAD 'clocktiming';
		SET clocktiming.sampled_timing = on;
		CREATE TABLE parts (i integer) PARTITION BY LIST (i);
		CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1);
		CREATE TABLE part_2 PARTITION OF parts FOR VALUES IN (2);
		CREATE FUNCTION slow() RETURNS integer STABLE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.2); RETURN 3; END'});
	my $out = $t->query('EXPLAIN ANALYZE SELECT * FROM parts WHERE i = slow()')->{out};
	my ($outside) = $out =~ /^Outside of the nodes: ([0-9.]+) ms/m;
	cmp_ok($outside || 0, '>=', 200, 'EXPLAIN states that the start of the executor is in no node') or diag $out;
	my ($json) = $t->query('EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM parts WHERE i = slow()')->{out} =~ /"Time Outside of Nodes": ([0-9.]+)/;
	cmp_ok($json || 0, '>=', 200, 'also in JSON');
	$t->quit;
	$own->stop;
	return;
}

foreach my $order ('clocktiming, auto_explain', 'auto_explain, clocktiming')
{
	$libraries = $order;
	start();
	values_are_obeyed();
	figures_are_exact();
	writes_are_exact();
	cursors_are_exact();
	ends_well();
	statements_and_formats();
	measures_are_not_replaced();
	foreign_tables() if -f $node->config_data('--pkglibdir') . '/postgres_fdw.so';
	$_->quit for $s, $killer;
	$node->stop;
	unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal|TRAP/, "$libraries: nothing has crashed");
}

for_everybody();

done_testing();
