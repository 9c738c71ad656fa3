
# clock_explain() leaves nothing behind in the session, however a call ends. Its rows of parallel
# plans are correct, privileges are respected, and it works beside other extensions.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
jit = off
max_worker_processes = 16
max_parallel_workers = 12
autovacuum = off
});
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE ROLE regress_ordinary LOGIN;
	CREATE ROLE regress_watcher LOGIN IN ROLE pg_monitor;
	CREATE TABLE a AS SELECT i, i % 100 AS k, md5(i::text) AS s FROM generate_series(1, 20000) AS i;
	CREATE TABLE b AS SELECT i, i % 50 AS k FROM generate_series(1, 5000) AS i;
	CREATE INDEX a_i ON a (i);
	CREATE TABLE secret AS SELECT generate_series(1, 100) AS i;
	CREATE TABLE own (owner text, i integer);
	INSERT INTO own SELECT CASE WHEN i <= 10 THEN 'regress_watcher' ELSE 'other' END, i FROM generate_series(1, 100) AS i;
	ALTER TABLE own ENABLE ROW LEVEL SECURITY;
	CREATE POLICY own ON own USING (owner = current_user);
	CREATE TABLE log (what text);
	CREATE TABLE w (i integer PRIMARY KEY, k integer);
	INSERT INTO w SELECT i, 0 FROM generate_series(1, 100) AS i;
	GRANT SELECT ON a, b, own TO regress_watcher;
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
		$$BEGIN INSERT INTO log VALUES (TG_NAME); RETURN NEW; END$$;
	CREATE TRIGGER before BEFORE INSERT OR UPDATE ON w FOR EACH ROW EXECUTE FUNCTION note();
	CREATE TRIGGER after AFTER INSERT OR UPDATE ON w FOR EACH ROW EXECUTE FUNCTION note();
	CREATE TRIGGER statement AFTER INSERT OR UPDATE ON w FOR EACH STATEMENT EXECUTE FUNCTION note();
	CREATE CONSTRAINT TRIGGER deferred AFTER INSERT ON w DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION note();
	CREATE FUNCTION pause(seconds float8) RETURNS integer LANGUAGE plpgsql PARALLEL SAFE AS
		$$BEGIN PERFORM pg_sleep(seconds); RETURN 1; END$$;
	CREATE FUNCTION counts() RETURNS bigint LANGUAGE plpgsql AS
		$$BEGIN RETURN (SELECT count(*) FROM b); END$$;
	VACUUM ANALYZE;
});

my @methods = ('sampling', 'full');
my $parallel = q{
	SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
	SET min_parallel_index_scan_size = 0; SET max_parallel_workers_per_gather = 2};

# Queries for the state of the session, which no call may change.
my $state = $ClockSession::state . q{
	SELECT count(*) FROM w;
	SELECT count(*) FROM log};
my $session = ClockSession->new($node);
my $killer = ClockSession->new($node);
$session->query('SELECT count(*) FROM clock_sources; DO $$BEGIN END$$');
$session->query($parallel);
my $before = $session->query($state)->{out};
like($before, qr/\noff\nt\n0\n100\n0$/, 'the state before');

sub as_before
{
	my ($what) = @_;

	$session->gives($state, $before, "$what: nothing is left behind");
	my $result = $session->query(q{SELECT sum(rows) FROM clock_explain('SELECT * FROM generate_series(1, 1000)')});
	is("$result->{state} $result->{out}", '00000 1000', "$what: the session can explain again");
	return;
}

# Calls that are cancelled, time out or fail, with and without workers
my %long = (
	'SELECT count(*) FROM generate_series(1, 100000000)' => 'a scan',
	'SELECT pause(0.01) FROM b' => 'a parallel scan',
	'SELECT (SELECT max(pause(0.01)) FROM b AS c WHERE c.i < a.i) FROM a' => 'a subplan');
foreach my $method (@methods)
{
	foreach my $query (sort keys %long)
	{
		foreach my $function ('clock_explain', 'clock_explain_json')
		{
			my $statement = "SELECT count(*) FROM $function('$query', method => '$method')";
			my $what = "$function, $method, $long{$query}";
			my $result;

			# Repeats a call with a longer timeout if it ended before the query began, which happens
			# on a busy machine.
			for (my $ms = 100; $ms < 10_000; $ms *= 2)
			{
				$result = $session->query_with_timeout($ms, $statement);
				last if $result->{err} =~ /query being measured/;
			}
			is($result->{state}, '57014', "$what: times out");
			like($result->{err}, qr/CONTEXT: .*query being measured: "\Q$query\E"/s, "$what: the context names the query");
			as_before($what);

			$session->send($statement);
			$session->wait_until_running('clock_explain', 0.05);
			is($session->interrupted($killer, 'pg_cancel_backend')->{state}, '57014', "$what: is cancelled");
			as_before($what);

			# The call fails in a subtransaction, and the transaction continues.
			$session->query("BEGIN; INSERT INTO log VALUES ('kept'); SAVEPOINT s");
			$session->query("SET LOCAL statement_timeout = '100ms'");
			is($session->query($statement)->{state}, '57014', "$what: times out in a subtransaction");
			$session->query('ROLLBACK TO s');
			is($session->query(q{SELECT count(*), current_setting('clocktiming.worker_observation'), current_setting('transaction_read_only') FROM log})->{out},
				'1||off', "$what: the transaction goes on");
			is($session->query(q{INSERT INTO log VALUES ('written')})->{state}, '00000', "$what: the transaction may write");
			$session->query('ROLLBACK');
			as_before("$what, in a subtransaction");
		}
	}

	# Errors of the query in the leader or in a worker. Each query is executed without a handler,
	# and then with a handler that catches the error.
	foreach my $query (
		'SELECT 1 / (i - 4000) FROM generate_series(1, 5000) AS i',
		'SELECT count(1 / (i - 4999)) FROM b',
		'SELECT 1 / (i - 4999) FROM b')
	{
		my $what = "$method, error in $query";

		is($session->query("SELECT count(*) FROM clock_explain('$query', method => '$method')")->{state}, '22012', $what);
		as_before($what);
		is( $session->query(qq{DO \$\$
			DECLARE n bigint;
			BEGIN
				FOR i IN 1 .. 3 LOOP
					BEGIN
						PERFORM clock_explain('$query', method => '$method');
						RAISE EXCEPTION 'no error';
					EXCEPTION WHEN division_by_zero THEN
						SELECT sum(rows) INTO n FROM clock_explain('SELECT * FROM generate_series(1, 10)', method => '$method');
						IF n IS DISTINCT FROM 10 OR current_setting('clocktiming.worker_observation') <> ''
							OR current_setting('transaction_read_only') <> 'off' THEN
							RAISE EXCEPTION 'n is %', n;
						END IF;
					END;
				END LOOP;
			END\$\$})->{state}, '00000', "$what: caught, and the statement continues");
		as_before("$what, caught");
	}
}

# The client disconnects during a call.
SKIP:
{
	foreach my $method (@methods)
	{
		my $fresh = ClockSession->new($node);
		my $pid = $fresh->pid;

		$fresh->query($parallel . q{; SET client_connection_check_interval = '100ms'});
		$fresh->send("SELECT count(*) FROM clock_explain('SELECT pause(0.01) FROM b', method => '$method')");
		$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE leader_pid = $pid")
		  or die 'no workers';
		$fresh->{psql}->kill_kill;
		ok( $node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid OR leader_pid = $pid"),
			"$method: the call ends if its client disconnects");
	}
}

# Parallel plans. Their rows and loops must equal those of EXPLAIN ANALYZE. Members of each plan:
# query, settings, and a pattern that the list of the node types must match.
my @shapes = (
	[ 'SELECT count(*) FROM a', '', 'Gather .*Seq Scan' ],
	[ 'SELECT * FROM a WHERE i % 3 = 0', '', '^Gather Seq Scan' ],
	[ 'SELECT * FROM a ORDER BY s', '', 'Gather Merge .*Sort' ],
	[ 'SELECT k, count(*) FROM a GROUP BY k ORDER BY k', 'enable_hashagg=off', 'Gather Merge' ],
	[ 'SELECT a.i, b.k FROM a JOIN b USING (i)', 'enable_mergejoin=off,enable_nestloop=off', '^Gather Hash Join .*Hash' ],
	[ 'SELECT count(*) FROM a JOIN b USING (i)', 'enable_mergejoin=off,enable_nestloop=off', 'Gather .*Hash Join' ],
	[ 'SELECT a.i, b.k FROM a JOIN b USING (i)', 'enable_mergejoin=off,enable_nestloop=off,enable_parallel_hash=off', '^Gather Hash Join' ],
	[ 'SELECT a.i, b.k FROM a JOIN b USING (i)', 'enable_mergejoin=off,enable_nestloop=off,parallel_leader_participation=off', '^Gather Hash Join' ],
	[ 'SELECT count(*) FROM a JOIN b USING (k)', 'enable_mergejoin=off,enable_nestloop=off,work_mem=64', 'Hash Join' ],
	[ 'SELECT count(*) FROM a', 'parallel_leader_participation=off', 'Gather' ],
	[ 'SELECT count(*) FROM b JOIN a ON a.i = b.i', 'enable_hashjoin=off,enable_mergejoin=off', 'Gather .*Nested Loop' ],
	[ 'SELECT count(*) FROM a WHERE i BETWEEN 100 AND 9000', 'enable_seqscan=off,enable_indexscan=off,enable_indexonlyscan=off', 'Gather .*Bitmap Heap Scan Bitmap Index Scan' ],
	[ 'SELECT count(s) FROM a WHERE i BETWEEN 100 AND 9000', 'enable_seqscan=off,enable_bitmapscan=off', 'Gather .*Index Scan' ],
	[ 'SELECT i FROM a UNION ALL SELECT i FROM b', '', 'Gather Append' ],
	[ 'SELECT count(*) FROM a WHERE k = (SELECT max(k) FROM b)', '', 'Gather' ],
	[ 'SELECT count(*) FROM a WHERE k IN (SELECT k FROM b) OR k = 99', '', 'Gather' ],
	[ 'SELECT * FROM (VALUES (1), (2), (3)) AS v(x) LEFT JOIN (SELECT k, count(*) FROM a GROUP BY k OFFSET 0) AS c ON c.k >= v.x',
		'enable_hashjoin=off,enable_mergejoin=off,enable_material=off', 'Nested Loop .*Gather' ],
	[ 'SELECT x, (SELECT count(*) FROM a WHERE a.k + x > 50) FROM generate_series(1, 3) AS x', '', '' ],
	[ 'SELECT * FROM a LIMIT 10', '', 'Limit Gather' ],
	[ 'SELECT * FROM a WHERE s < \'8\' ORDER BY s LIMIT 10', '', 'Limit Gather Merge' ],
	[ 'SELECT counts(), count(*) FROM a', '', '' ],
	[ 'SELECT count(*) FROM a WHERE k < 0', '', 'Gather' ],
	[ 'WITH c AS MATERIALIZED (SELECT k, count(*) AS n FROM a GROUP BY k) SELECT * FROM c JOIN b ON b.i = c.n', '', 'Gather' ]);
# nodes() returns the nodes of a plan in JSON, expected() returns the nodes of EXPLAIN ANALYZE for a
# query, and differences() compares the nodes of EXPLAIN ANALYZE with those of clock_explain().
my $nodes = q{
	CREATE FUNCTION pg_temp.nodes(plan jsonb, depth integer DEFAULT 0)
	RETURNS TABLE (node_type text, loops numeric, rows numeric) LANGUAGE plpgsql AS $$
	DECLARE child jsonb;
	BEGIN
		RETURN QUERY SELECT plan ->> 'Node Type', (plan ->> 'Actual Loops')::numeric, (plan ->> 'Actual Rows')::numeric;
		FOR child IN SELECT c FROM jsonb_array_elements(plan -> 'Plans') AS c LOOP
			RETURN QUERY SELECT * FROM pg_temp.nodes(child, depth + 1);
		END LOOP;
	END $$;
	CREATE FUNCTION pg_temp.expected(query text)
	RETURNS TABLE (node bigint, node_type text, loops numeric, rows numeric) LANGUAGE plpgsql AS $$
	DECLARE plan json;
	BEGIN
		EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
		RETURN QUERY SELECT row_number() OVER (), n.* FROM pg_temp.nodes(plan::jsonb -> 0 -> 'Plan') AS n;
	END $$;
	-- Allows for a difference of 0.5 rows per loop, because the server rounds rows per loop.
	CREATE FUNCTION pg_temp.differences(query text, method text) RETURNS TABLE (plan text, difference text) LANGUAGE sql AS $$
		SELECT string_agg(c.node_type, ' ' ORDER BY node),
			string_agg(format('%s %s: loops %s not %s, rows %s not %s', node, c.node_type, c.loops, e.loops, c.rows, e.rows * e.loops), '; ')
				FILTER (WHERE c.node_type IS DISTINCT FROM e.node_type OR c.loops IS DISTINCT FROM e.loops
					OR c.loops > 0 AND abs(c.rows::numeric / c.loops - e.rows) > 0.5)
		FROM (SELECT * FROM clock_explain(query, method => method) WHERE node > 0) AS c FULL JOIN pg_temp.expected(query) AS e USING (node) $$};

# Compares rows and loops with those of EXPLAIN ANALYZE. Repeats the comparison if they differ: a
# worker that starts late finds no rows left, and then does not execute all nodes.
sub compare
{
	my ($s, $quoted, $method) = @_;
	my ($row, $plan, $difference);

	for (1 .. 100)
	{
		$row = $s->query("SELECT plan, difference FROM pg_temp.differences('$quoted', '$method')");
		($plan, $difference) = split /\|/, $row->{out}, 2;
		last if defined $difference && $difference eq '';
	}
	return ($row, $plan, $difference);
}

sub with_settings
{
	my ($s, $settings) = @_;

	foreach my $setting (split /,/, $settings)
	{
		my $result = $s->query("SET $setting");
		die $result->{err} if $result->{state} ne '00000';
	}
	return;
}

sub reset_settings
{
	my ($s, $settings) = @_;

	foreach my $setting (split /,/, $settings)
	{
		$s->query('RESET ' . (split /=/, $setting)[0]);
	}
	return;
}

$session->query($nodes);
foreach my $shape (@shapes)
{
	my ($query, $settings, $pattern) = @$shape;
	(my $quoted = $query) =~ s/'/''/g;

	with_settings($session, $settings);
	foreach my $method (@methods)
	{
		my ($row, $plan, $difference) = compare($session, $quoted, $method);

		is($row->{state}, '00000', "$method: $query") or diag $row->{err};
		is($difference, '', "$method: rows and loops of $query ($settings)");
		like($plan, qr/$pattern/, "plan of $query ($settings)");
	}
	reset_settings($session, $settings);
}
as_before('parallel plans');

# Workers are observed.
my $marks = $session->query(
	q{SELECT string_agg(note, ' ' ORDER BY node) FROM clock_explain('SELECT count(pause(0.0001)) FROM b') WHERE note LIKE '%sum of%'});
like($marks->{out}, qr/sum of 3 processes/, 'workers are observed');
# All processes sleep. The total time of Gather must be at least half of the time that a process
# sleeps.
is( $session->query(
		q{SELECT count(*) FROM clock_explain('SELECT pause(0.002) FROM b WHERE i <= 60') AS c
			WHERE total_ms > 0 AND total_ms * loops / least(loops, 1) >= 30 AND node_type = 'Gather'})->{out},
	'1', 'total time of Gather in a sleeping plan') ;

# Fewer workers can be started than were planned.
$session->query('SET max_parallel_workers = 0');
is($session->query(q{SELECT difference IS NULL FROM pg_temp.differences('SELECT count(*) FROM a', 'sampling')})->{out},
	't', 'rows and loops if no worker can be started');
$session->query('RESET max_parallel_workers');

# The setting by which the server's own regression tests force parallel plans
my $debug = $node->safe_psql('postgres', q{SELECT name FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')});
foreach my $mode ('on', 'regress')
{
	$session->query("SET $debug = $mode");
	foreach my $method (@methods)
	{
		is($session->query("SELECT sum(rows) FROM clock_explain('SELECT * FROM generate_series(1, 1000)', method => '$method') WHERE node_type = 'Function Scan'")->{out},
			'1000', "$debug = $mode, $method");
	}
	is($session->query("SELECT difference IS NULL FROM pg_temp.differences('SELECT i FROM w ORDER BY i', 'sampling')")->{out},
		't', "$debug = $mode: rows and loops");
	$session->query("RESET $debug");
}
as_before('forced parallel plans');

# Privileges
foreach my $function ('clock_explain', 'clock_explain_text', 'clock_explain_json')
{
	my ($status, $stdout, $stderr) =
	  $node->psql('postgres', "SELECT $function('SELECT 1')", extra_params => [ '-U', 'regress_ordinary' ]);
	is($status, 0, "$function is for an ordinary role");
}
my $watcher = ClockSession->new($node, user => 'regress_watcher');
$watcher->query($parallel);
$watcher->query($nodes);
is($watcher->query(q{SELECT string_agg(line, ' ' ORDER BY node) FROM clock_explain('SELECT 1')})->{out}, 'Query Result', 'a member of pg_monitor may measure queries');
foreach my $method (@methods)
{
	is($watcher->query("SELECT count(*) FROM clock_explain('SELECT * FROM secret', method => '$method')")->{state}, '42501',
		"$method: a member of pg_monitor may not read a table without privileges");
	is($watcher->query("SELECT clock_explain('INSERT INTO own VALUES (1)', method => '$method', allow_writes => true)")->{state}, '42501',
		"$method: a member of pg_monitor may not write to a table without privileges");
	is($watcher->query("SELECT max(rows) FROM clock_explain('SELECT * FROM own', method => '$method')")->{out}, '10',
		"$method: row-level security applies to the caller");
	my ($row) = compare($watcher, 'SELECT count(*) FROM a JOIN b USING (i)', $method);
	like($row->{out}, qr/^.*Gather.*\|$/, "$method: a parallel plan of a role that is no superuser");
}
like(
	$watcher->query(q{SELECT string_agg(note, ' ') FROM clock_explain('SELECT * FROM a WHERE i % 3 = 0')})->{out},
	qr/sum of 3 processes/, 'workers of a role that is no superuser are observed');
is($watcher->query(q{SET clocktiming.worker_observation = '1'})->{state}, '42501', 'a member of pg_monitor may not set clocktiming.worker_observation');
$watcher->quit;
# clocktiming.worker_observation contains the handle of a segment of shared memory, by which workers find
# the leader. An invalid handle, or that of another segment, does no harm.
$session->query(q{SET clocktiming.worker_observation = '4711'});
is($session->query('SELECT count(*) FROM a')->{out}, '20000', 'a handle of no segment does no harm');
$session->query(q{SET clocktiming.worker_observation = 'nonsense'});
is($session->query('SELECT count(*) FROM a')->{out}, '20000', 'a setting that is no number does no harm');
is($session->query(q{SELECT difference IS NULL FROM pg_temp.differences('SELECT count(*) FROM a', 'sampling')})->{out}, 't',
	'clock_explain overrides the setting');
is($session->query('SHOW clocktiming.worker_observation')->{out}, 'nonsense', 'clock_explain restores the setting');
$session->query(q{SET clocktiming.worker_observation = ''});
as_before('the setting');

# Writes, with triggers
foreach my $method (@methods)
{
	foreach my $statement (
		'INSERT INTO w SELECT i, 1 FROM generate_series(101, 200) AS i',
		'UPDATE w SET k = 1',
		'DELETE FROM w',
		'INSERT INTO w SELECT i, 1 FROM generate_series(51, 150) AS i ON CONFLICT (i) DO UPDATE SET k = 2',
		'WITH x AS (UPDATE w SET k = 1 RETURNING i) SELECT count(*) FROM x',
		'SELECT * FROM w FOR UPDATE')
	{
		my $result = $session->query("SELECT count(*) > 0, bool_and(total_ms >= 0) FROM clock_explain('$statement', method => '$method', allow_writes => true) WHERE node > 0");
		is("$result->{state} $result->{out}", '00000 t|t', "$method: $statement");
	}
	as_before("$method, writes");
	my $result = $session->query("SELECT clock_explain('INSERT INTO w VALUES (1, 1)', method => '$method', allow_writes => true)");
	is($result->{state}, '23505', "$method: a write that fails");
	as_before("$method, a write that fails");
}
like($session->query(q{SELECT * FROM clock_explain_text('INSERT INTO w VALUES (0, 1)', allow_writes => true)})->{out},
	qr/^Trigger before: time=\d+\.\d+ calls=1$/m, 'triggers are shown');
is($session->query('SELECT count(*) FROM w WHERE k <> 0')->{out}, '0', 'nothing was written');

# The query itself calls clock_explain(), for a query with a parallel plan.
is( $session->query(q{SELECT sum(c.rows) FROM clock_explain(
		'SELECT sum(d.rows) FROM b, clock_explain(''SELECT count(*) FROM a'') AS d WHERE b.i < 3') AS c WHERE node = 1})->{out},
	'1', 'nested');
as_before('nested');

# Memory does not grow
my $twenty = q{SELECT count(*) FROM generate_series(1, 20) AS i, LATERAL clock_explain('SELECT count(*) FROM a WHERE i > ' || i)};
$session->query($twenty);
my $first = $session->memory;
$session->query($twenty) for 1 .. 5;
cmp_ok($session->memory - $first, '<', 100_000, 'memory does not grow');
$_->quit for $session, $killer;

# The backend is stopped during the execution, as if its virtual machine were frozen. The output must
# report the lost time, which belongs to no node.
{
	my $s = ClockSession->new($node);
	$s->send(q{SELECT string_agg(concat_ws('|', node_type, total_ms, total_margin_ms, self_ms, self_margin_ms, run_ms, note), E'\n' ORDER BY node)
		FROM clock_explain('SELECT count(*) FROM a CROSS JOIN (SELECT FROM b LIMIT 1000) AS c')});
	$s->wait_until_running('string_agg', 0.3);
	kill('STOP', $s->pid);
	sleep(2);
	kill('CONT', $s->pid);
	my $out = $s->result->{out};
	like($out, qr/\A[^\n]*,\n  waited [1-9]\d{3,}\.\d ms for a CPU,\n/, "stopped for 2 s: $out");
	$s->quit;
}

# A leader that reads slowly: its workers wait to send rows, which is outside of their nodes.
{
	my $s = ClockSession->new($node);
	my $slow = 'SELECT count(pg_sleep(0.01 * (x.i % 200 = 0)::integer)) FROM (SELECT i, s FROM a OFFSET 0) AS x';

	$s->query("$parallel; SET parallel_leader_participation = off");
	my $text = $s->query("SELECT * FROM clock_explain_text('$slow')")->{out};
	like($text, qr/^Outside of the nodes: \d+\.\d{3} ms, IPC:MessageQueueSend \d+ %/m, 'text: time in which workers wait for the leader, with the wait event') or diag $text;
	my $rows = $s->query("SELECT node, line, self_ms, waits FROM clock_explain('$slow')")->{out};
	like($rows, qr/^0\|Query\|[^|]+\|IPC:MessageQueueSend/m, 'rows: it is that of the row Query') or diag $rows;
	unlike($rows, qr/^[1-9][^\n]*MessageQueueSend/m, 'and of no node') or diag $rows;
	$s->quit;
}

$node->stop;
my $log = slurp_file($node->logfile);
unlike($log, qr/^.*WARNING.*$/m, 'no warnings in the log');
unlike($log, qr/PANIC|terminated by signal|TRAP/, 'nothing has crashed');

# auto_explain and pg_stat_statements, loaded before and after clocktiming
foreach my $libraries ('clocktiming, auto_explain', 'auto_explain, clocktiming')
{
	my $loads = $libraries;
	my $other = PostgreSQL::Test::Cluster->new($libraries =~ /^auto/ ? 'first' : 'last');
	my $statements = -f $node->config_data('--sharedir') . '/extension/pg_stat_statements.control';

	$loads .= ', pg_stat_statements' if $statements;
	$other->init;
	$other->append_conf('postgresql.conf', qq{
shared_preload_libraries = '$loads'
compute_query_id = on
auto_explain.log_min_duration = 0
auto_explain.log_nested_statements = on
});
	if (!$other->start(fail_ok => 1))
	{
		diag slurp_file($other->logfile);
		fail("$libraries: the server starts");
		next;
	}
	$other->safe_psql('postgres', 'CREATE EXTENSION clocktiming; CREATE TABLE a AS SELECT i FROM generate_series(1, 20000) AS i; ANALYZE a');
	my $s = ClockSession->new($other);
	$s->query($parallel);
	foreach my $method (@methods)
	{
		my $call = "SELECT string_agg(rows::text, ' ' ORDER BY node) FROM clock_explain('SELECT * FROM a OFFSET 19000', method => '$method')";

		is($s->query($call)->{out}, '1000 20000 20000', "$libraries, $method: log_analyze off");
		$s->query('SET auto_explain.log_analyze = on');
		foreach my $timing ('on', 'off')
		{
			$s->query("SET auto_explain.log_timing = $timing");
			my $result = $s->query($call);

			# If auto_explain requests no timers, the method sampling raises no error: clocktiming
			# then counts the rows itself, and auto_explain prints these counts.
			if ($method eq 'sampling' && $timing eq 'off')
			{
				is($result->{out}, '1000 20000 20000', "$libraries: rows are counted for both");
				next;
			}
			is($result->{state}, '55000', "$libraries, $method: log_analyze on, log_timing $timing");
			like($result->{err}, qr/HINT: .*auto_explain\.log_analyze/, "$libraries, $method: the hint names the setting");
		}
		$s->query('RESET auto_explain.log_timing; RESET auto_explain.log_analyze');
		is($s->query($call)->{out}, '1000 20000 20000', "$libraries, $method: log_analyze off again");
	}
	# With this setting, auto_explain does not instrument clock_explain's execution, because it is
	# nested.
	$s->query('SET auto_explain.log_nested_statements = off; SET auto_explain.log_analyze = on');
	is($s->query(q{SELECT max(rows) FROM clock_explain('SELECT * FROM a')})->{out}, '20000',
		"$libraries: log_analyze on, log_nested_statements off");
	is($s->query('SHOW clocktiming.worker_observation')->{out}, '', "$libraries: nothing is left behind");
	if ($statements)
	{
		$other->safe_psql('postgres', 'CREATE EXTENSION pg_stat_statements');
		$s->query(q{RESET auto_explain.log_analyze; SET pg_stat_statements.track = 'all'});
		is($s->query(q{SELECT max(rows) FROM clock_explain('SELECT * FROM a')})->{out}, '20000',
			"$libraries: pg_stat_statements");
	}
	$s->quit;
	$other->stop;
	my $its_log = slurp_file($other->logfile);
	unlike($its_log, qr/PANIC|terminated by signal|TRAP/, "$libraries: nothing has crashed");
	like($its_log, qr/Limit .*\(actual rows=1000(\.00)? loops=1\)\n.*Gather .*\(actual rows=20000(\.00)? loops=1\)\n(.*\n)*?.*Seq Scan on a .*\(actual rows=\d+(\.\d\d)? loops=3\)/,
		"$libraries: auto_explain logs the correct numbers of rows");
}

done_testing();
