
# A query waits at a certain row. clock_running must then show the counters that EXPLAIN ANALYZE
# would have at that row. Tests four kinds of executions: observed from the start, observed from some
# moment on while the query is running, and instrumented by the server, with and without timers.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use LiveCluster;

my $cluster = LiveCluster->new;
my $node = $cluster->{node};
my $session = $cluster->{session};
my $rows = $cluster->{rows};
my $dir = PostgreSQL::Test::Utils::tempdir();

$node->safe_psql('postgres', q{
	CREATE FUNCTION hold_where(i bigint, at bigint) RETURNS boolean LANGUAGE sql AS 'SELECT hold(i, at) IS NOT NULL';
	CREATE TABLE fired (i int);
	CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM hold(b.i, 40) FROM b WHERE b.i <= NEW.i;
		RETURN NEW;
	END $$;
	CREATE TRIGGER after AFTER INSERT ON fired FOR EACH ROW EXECUTE FUNCTION fire()});

# Plans:
#   1  name
#   2  statement
#   3  expected lines: node type, loops, rows, state
#   4  settings to turn off
#   5  expected lines if the server counts without timers, if they differ from 3
my @plans = (
	[ 'a scan', 'SELECT hold(i, 300) FROM a', ['Seq Scan|1|299|running'] ],
	[ 'a sort', 'SELECT hold(i, 300) FROM (SELECT i FROM a ORDER BY i DESC OFFSET 0) s',
		[ 'Subquery Scan|1|700|running', '  Sort|1|701|running', '    Seq Scan|1|1000|finished' ] ],
	[ 'a hash join', 'SELECT hold(a.i, 300) FROM a JOIN b USING (i)',
		[ 'Hash Join|1|299|running', '  Seq Scan|1|300|running', '  Hash|1|1000|finished', '    Seq Scan|1|1000|finished' ],
		'enable_mergejoin enable_nestloop' ],
	[ 'a hash that is being built', 'SELECT count(*) FROM (SELECT i + 0 AS i FROM big OFFSET 0) x JOIN (SELECT hold(i, 300) AS i FROM b LIMIT 400) s USING (i)',
		[ 'Aggregate|1|0|running', '  Hash Join|1|0|running', '    Seq Scan|1|1|running', '    Hash|1|0|running', '      Limit|1|299|running', '        Seq Scan|1|299|running' ],
		'enable_mergejoin enable_nestloop enable_indexonlyscan' ],
	[ 'a merge join', 'SELECT hold(a.i, 300) FROM a JOIN b USING (i)',
		[ 'Merge Join|1|299|running', '  Index Only Scan|1|300|running', '  Sort|1|300|running', '    Seq Scan|1|1000|finished' ],
		'enable_hashjoin enable_nestloop' ],
	[ 'a nested loop', 'SELECT hold(a.i, 300) FROM a JOIN b USING (i)',
		[ 'Nested Loop|1|299|running', '  Seq Scan|1|300|running', '  Index Only Scan|300|300|running' ],
		'enable_mergejoin enable_hashjoin enable_bitmapscan enable_memoize' ],
	[ 'an append', 'SELECT hold(i, 1300) FROM (SELECT i FROM a UNION ALL SELECT i + 1000 FROM b) u',
		[ '  Append|1|1300|running', '    Seq Scan|1|1000|finished', '    Seq Scan|1|300|running' ], 'enable_indexonlyscan' ],
	[ 'bitmaps', 'SELECT hold(i, 600) FROM b WHERE i < 200 OR i > 500',
		[ 'Bitmap Heap Scan|1|298|running', '  BitmapOr|1|0|finished', '    Bitmap Index Scan|1|199|finished', '    Bitmap Index Scan|1|500|finished' ],
		'enable_seqscan enable_indexscan enable_indexonlyscan' ],
	[ 'a sorted aggregate', 'SELECT k, sum(hold(i, 305)) FROM (SELECT i, k FROM a ORDER BY k, i OFFSET 0) s GROUP BY k',
		[ 'GroupAggregate|1|5|running', '  Sort|1|531|running', '    Seq Scan|1|1000|finished' ], 'enable_hashagg' ],
	[ 'a materialized inner side', 'SELECT hold(g * 1000 + i, 3300) FROM generate_series(1, 5) g, a',
		[ 'Nested Loop|1|2299|running', '  Function Scan|1|3|running', '  Materialize|3|2300|running', '    Seq Scan|1|1000|finished' ] ],
	[ 'a subplan', 'SELECT (SELECT count(*) FROM b WHERE b.i <= hold(a.i, 5)) FROM a',
		[ 'Seq Scan|1|4|running', '  Aggregate|5|4|running', '    Seq Scan|5|10|running' ],
		'enable_indexscan enable_indexonlyscan enable_bitmapscan',
		[ 'Seq Scan|1|4|running', '  Aggregate|4|4|rescanning', '    Seq Scan|4|10|rescanning' ] ],
	[ 'an InitPlan', 'SELECT i FROM a WHERE i > (SELECT count(*) FROM (SELECT hold(i, 100) FROM b OFFSET 0) s)',
		[ 'Seq Scan|1|0|running', '  Aggregate|1|0|running', '    Seq Scan|1|99|running' ], 'enable_indexonlyscan' ],
	[ 'an InitPlan that has ended', 'SELECT hold(i, 600) FROM a WHERE i > (SELECT count(*) / 2 FROM b)',
		[ 'Seq Scan|1|99|running', '  Aggregate|1|1|finished', '    Seq Scan|1|1000|finished' ], 'enable_indexonlyscan' ],
	[ 'a CTE', 'WITH c AS MATERIALIZED (SELECT i FROM a) SELECT hold(i, 50) FROM c', [ 'CTE Scan|1|49|running', '  Seq Scan|1|50|running' ] ],
	[ 'a limit', 'SELECT hold(i, 30) FROM (SELECT i FROM a LIMIT 40) s', [ 'Subquery Scan|1|29|running', '  Limit|1|30|running', '    Seq Scan|1|30|running' ] ],
	[ 'a recursion', 'WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 100) SELECT hold(n, 20) FROM r',
		[ 'CTE Scan|1|19|running', '  Recursive Union|1|20|running', '    WorkTable Scan|19|19|running' ] ],
);

sub lines { return [ map { "0|$_" } @{ $_[0] } ]; }

foreach my $plan (@plans)
{
	my ($name, $sql, $lines, $settings, $counts) = @$plan;

	$cluster->shows("$name: observed", $sql, lines($lines), $settings);
	$cluster->shows("$name: EXPLAIN ANALYZE", "EXPLAIN (ANALYZE) $sql", lines($lines), $settings);
	$cluster->shows("$name: without timers", "EXPLAIN (ANALYZE, TIMING OFF) $sql", lines($counts // $lines), $settings);
	$session->query('SET clocktiming.sampled_timing = on');
	$cluster->shows("$name: sampled EXPLAIN ANALYZE", "EXPLAIN (ANALYZE) $sql", lines($lines), $settings);
	$session->query('RESET clocktiming.sampled_timing');
}

# The view multiplies the planner's estimate, which is for one loop, by the number of loops.
$cluster->while_waiting('SELECT hold(g * 1000 + i, 3300) FROM generate_series(1, 5) g, a', sub {
	is($cluster->query("SELECT loops, estimated_rows $rows AND level = 0 AND node_type LIKE '%Materialize'"), '3|3000', 'estimated rows of the loops that have begun');
});

# If the server counts, its counters begin at the start of the execution. Its times have no margins,
# and are NULL without timers.
$cluster->while_waiting('EXPLAIN ANALYZE SELECT hold(a.i, 300) FROM a JOIN b USING (i)', sub {
	is($cluster->query("SELECT bool_and(since = started_at AND calls IS NULL AND self_ms >= 0 AND total_ms >= self_ms AND total_margin_ms = 0 AND self_margin_ms = 0), count(*) FILTER (WHERE innermost) $rows AND level = 0"),
		't|1', 'times of the server');
	is($cluster->query("SELECT bool_and(share_percent BETWEEN 0 AND 100.01), round(sum(share_percent)) $rows AND level = 0"), 't|100', 'shares of the whole');
});
$cluster->while_waiting('EXPLAIN (ANALYZE, TIMING OFF) SELECT hold(i, 300) FROM a', sub {
	is($cluster->query("SELECT bool_and(self_ms IS NULL AND total_ms IS NULL AND share_percent IS NULL) $rows AND level = 0"), 't', 'no times without timers');
});
# If the sampler estimates the times, those of a wait belong to the node that waits. The wait in a
# function also belongs to the node that has called the function. Without a sampler, the process looks
# at itself.
foreach my $how ('', 'EXPLAIN ANALYZE ')
{
	foreach my $off ('off', 'on')
	{
		$session->query("SET clocktiming.sampled_timing = on; SET clocktiming.sampler_off = $off");
		$cluster->while_waiting("${how}SELECT i FROM a WHERE i > (SELECT hold(count(*), 1000) FROM b)", sub {
			$cluster->wait_for("SELECT self_ms > 50 $rows AND level = 0 AND node_type LIKE '%Aggregate'");
			is($cluster->query("SELECT trim(node_type), share_percent > 50, innermost, self_ms <= total_ms, total_ms > 50, total_margin_ms >= 0 $rows AND level = 0 AND node_type NOT LIKE '%b' ORDER BY share_percent DESC NULLS LAST LIMIT 1"),
				'Aggregate|t|t|t|t|t', "${how}the node that waits, sampler_off = $off");
			is($cluster->query("SELECT total_ms > 50, self_ms < total_ms / 2, innermost $rows AND level = 0 AND relation = 'a'"), 't|t|f', "${how}the node above, sampler_off = $off");
		});
		$cluster->while_waiting("${how}SELECT caller()", sub {
			$cluster->wait_for("SELECT bool_and(self_ms > 50) $rows AND (level = 0 OR relation = 'a')");
			pass("${how}a wait in a function, sampler_off = $off");
		});
	}
}
$session->query('RESET clocktiming.sampled_timing; RESET clocktiming.sampler_off');
like($cluster->while_waiting('EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF, SUMMARY OFF) SELECT hold(i, 300) FROM a', sub { })->{out},
	qr/^Seq Scan on a \(actual rows=1000(?:\.00)? loops=1\)/, 'the output of EXPLAIN is unchanged');
is($cluster->query("SELECT count(*) $rows"), 0, 'no rows of EXPLAIN statements remain');

# auto_explain, also with a cursor and with statements in functions
SKIP:
{
	skip 'no auto_explain here', 6 if $session->query(q{LOAD 'auto_explain'})->{state} ne '00000';
	$session->query("SET auto_explain.$_") foreach 'log_min_duration = 0', 'log_analyze = on', 'log_nested_statements = on';
	$cluster->shows('auto_explain', 'SELECT hold(i, 300) FROM a', ['0|Seq Scan|1|299|running']);
	$cluster->shows('auto_explain of a statement in a function', 'SELECT caller()', [ '1|Aggregate|1|0|running', '1|  Seq Scan|1|299|running' ]);
	$session->query('BEGIN; DECLARE c CURSOR FOR SELECT hold(i, 300) FROM a; MOVE 100 IN c');
	$cluster->shows('auto_explain of a cursor', 'FETCH 250 FROM c', ['0|Seq Scan|1|299|running']);
	is($cluster->query("SELECT state || rows $rows"), 'suspended350', 'a cursor of auto_explain between two fetches');
	$session->query('COMMIT');
	is($cluster->query("SELECT count(*) $rows"), 0, 'no rows after the cursor is closed');
	$session->query('SET auto_explain.log_analyze = off');
	$cluster->shows('auto_explain without counters', 'SELECT hold(i, 300) FROM a', ['0|Seq Scan|1|299|running']);
	$session->query('SET auto_explain.log_min_duration = -1');
}

# Statements in functions and triggers have a level above 0.
$cluster->shows('EXPLAIN ANALYZE of a function', 'EXPLAIN ANALYZE SELECT caller()', [ '1|Aggregate|1|0|running', '1|  Seq Scan|1|299|running' ]);
foreach my $how ('', 'EXPLAIN ANALYZE ')
{
	$cluster->shows($how . 'a trigger', "BEGIN; ${how}INSERT INTO fired SELECT i FROM a WHERE i < 50; ROLLBACK",
		[ '0|Insert|1|0|finished', '0|  Seq Scan|1|49|finished', '1|Index Only Scan|1|39|running' ], 'enable_seqscan enable_bitmapscan');
}
# Parallel workers. clock_running adds their counters to those of the leader. Under EXPLAIN ANALYZE,
# the server adds them as well, at the end of the parallel plan. No counter may be added twice.
$session->query("SET $_") foreach 'max_parallel_workers_per_gather = 2', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0', 'parallel_leader_participation = off';
my $of_big = 'AND level = 0 AND relation = \'big\'';
foreach my $how ('', 'EXPLAIN ANALYZE ', 'EXPLAIN (ANALYZE, TIMING OFF) ')
{
	$cluster->while_waiting("${how}SELECT hold(count(*), 100000) FROM big", sub {
		is($cluster->query("SELECT rows, loops = (SELECT loops $rows AND node_type LIKE '%Partial%'), state $rows $of_big"),
			'100000|t|finished', "${how}workers that have ended");
	});
	$cluster->while_waiting("${how}SELECT hold(g, 300) FROM generate_series(1, 1000) g WHERE g > (SELECT count(*) - 100000 FROM big LIMIT 1)", sub {
		is($cluster->query("SELECT rows $rows $of_big"), '100000', "${how}workers below a limit, which have ended");
		is($cluster->query("SELECT rows $rows AND level = 0 AND node_type = 'Function Scan'"), '299', "${how}while the leader goes on");
	});
	$cluster->while_waiting("${how}SELECT count(*) FROM big WHERE hold(i, 5000) > 0", sub {
		like($cluster->query("SELECT rows BETWEEN 4999 AND 99999, state, loops >= workers, workers > 0 $rows $of_big"),
			qr/^t\|running\|t\|t$/, "${how}workers that are at work");
	});
	is($cluster->query("SELECT count(*) $rows"), 0, "${how}no rows of parallel queries remain");
}
# The server adds the rows of ended workers to the leader's, but not the sampler's times.
$session->query('SET clocktiming.sampled_timing = on');
$cluster->while_waiting('EXPLAIN ANALYZE SELECT hold(count(*), 100000) FROM big', sub {
	is($cluster->query("SELECT rows, self_ms > 0, total_ms >= self_ms $rows $of_big"), '100000|t|t', 'times of workers that have ended');
});
$session->query('RESET clocktiming.sampled_timing; RESET parallel_leader_participation');
like($session->query('EXPLAIN SELECT i FROM big WHERE i > 0 LIMIT 10')->{out}, qr/Gather/, 'a parallel scan below a limit');
is(scalar(() = $session->query('SELECT i FROM big WHERE i > 0 LIMIT 10')->{out} =~ /\d+/g), 10, 'the parallel scan below a limit returns its rows');
$session->query("RESET $_") foreach 'max_parallel_workers_per_gather', 'parallel_setup_cost', 'parallel_tuple_cost', 'min_parallel_table_scan_size';

# Foreign tables
SKIP:
{
	skip 'no postgres_fdw here', 4 if !-f $node->config_data('--pkglibdir') . '/postgres_fdw.so';
	my ($host, $port) = ($node->host, $node->port);

	$node->safe_psql('postgres', qq{
		CREATE EXTENSION postgres_fdw;
		CREATE SERVER one FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres', fetch_size '70');
		CREATE USER MAPPING FOR CURRENT_USER SERVER one;
		CREATE FOREIGN TABLE far (i int, k int) SERVER one OPTIONS (table_name 'a')});
	foreach my $how ('', 'EXPLAIN ANALYZE ')
	{
		$cluster->shows($how . 'a foreign scan', "${how}SELECT hold(i, 300) FROM far", ['0|Foreign Scan|1|299|running']);
		$cluster->shows($how . 'a foreign scan on an outer side', "${how}SELECT hold(far.i, 300) FROM far JOIN b USING (i)",
			[ '0|Hash Join|1|299|running', '0|  Foreign Scan|1|300|running', '0|  Hash|1|1000|finished', '0|    Seq Scan|1|1000|finished' ],
			'enable_mergejoin enable_nestloop enable_indexonlyscan');
	}
}

# Observations that begin while the query is running, in the call that returns row 101. They count
# from this call on, also in loops that began before it. The states of most nodes that were only
# called before are known, too. pause() lowers live_after, so counting begins after its sleep,
# however long the query has been running: the timeout fires at least once during the sleep.
$node->safe_psql('postgres', q{
	CREATE FUNCTION pause(i bigint, at bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
	BEGIN
		IF i = at THEN
			PERFORM set_config('clocktiming.live_after', '1', false);
			PERFORM pg_sleep(0.3);
		END IF;
		RETURN i;
	END $$});
$session->query('SET clocktiming.live_late_only = on');
my @late = (
	[ 'a scan', 'SELECT hold(pause(i, 100), 300) FROM a', ['Seq Scan|1|199|running'] ],
	[ 'a hash join', 'SELECT hold(pause(a.i, 100), 300) FROM a JOIN b USING (i)',
		[ 'Hash Join|1|199|running', '  Seq Scan|1|200|running', '  Hash|finished', '    Seq Scan|finished' ],
		'enable_mergejoin enable_nestloop enable_indexonlyscan' ],
	[ 'a hash of a nested loop', 'SELECT hold(pause(a.i, 100), 300) FROM a JOIN (SELECT b.i FROM b JOIN generate_series(1, 1) g ON b.i > g OFFSET 0) s USING (i)',
		[ 'Hash Join|1|199|running', '  Seq Scan|1|200|running', '  Hash|finished', '    Nested Loop|finished', '      Function Scan|finished', '      Seq Scan|finished' ],
		'enable_mergejoin enable_material enable_indexscan enable_indexonlyscan enable_bitmapscan' ],
	[ 'a hash that is being built', 'SELECT count(*) FROM (SELECT i + 0 AS i FROM big OFFSET 0) x JOIN (SELECT hold(pause(i, 100), 300) AS i FROM b LIMIT 400) s USING (i)',
		[ 'Aggregate|1|0|running', '  Hash Join|1|0|running', '    Seq Scan|running', '    Hash|1|0|running', '      Limit|1|199|running', '        Seq Scan|1|199|running' ],
		'enable_mergejoin enable_nestloop enable_indexonlyscan' ],
	[ 'an InitPlan', 'SELECT hold(pause(a.i, 100), 300) FROM a WHERE i <> (SELECT max(i) FROM big)',
		[ 'Seq Scan|1|199|running', '  Aggregate|finished', '    Seq Scan|finished' ] ],
	[ 'a hash that ends later', 'SELECT hold(s.i, 300) FROM (SELECT pause(i, 100) AS i FROM a LIMIT 500) s JOIN (SELECT i + 0 AS i FROM big OFFSET 0) x USING (i)',
		[ 'Hash Join|1|298|running', '  Seq Scan|1|299|running', '  Hash|1|500|finished', '    Limit|1|400|finished', '      Seq Scan|1|400|running' ],
		'enable_mergejoin enable_nestloop' ],
	[ 'bitmaps', 'SELECT hold(pause(i, 100), 600) FROM b WHERE i < 200 OR i > 500',
		[ 'Bitmap Heap Scan|1|198|running', '  BitmapOr|finished', '    Bitmap Index Scan|finished', '    Bitmap Index Scan|finished' ],
		'enable_seqscan enable_indexscan enable_indexonlyscan' ],
	[ 'bitmaps that are not yet needed', 'SELECT hold(pause(i, 100), 300) FROM a UNION ALL SELECT i FROM b WHERE i < 20',
		[ 'Append|1|199|running', '  Seq Scan|1|199|running', '  Subquery Scan|0|0|not started', '    Bitmap Heap Scan|0|0|not started', '      Bitmap Index Scan|0|0|not started' ],
		'enable_indexscan enable_indexonlyscan' ],
	[ 'a sort', 'SELECT hold(pause(i, 100), 300) FROM (SELECT i FROM a ORDER BY i OFFSET 0) s',
		[ 'Subquery Scan|1|199|running', '  Sort|1|200|running', '    Seq Scan|finished' ] ],
	[ 'a nested loop', 'SELECT hold(pause(a.i, 100), 300) FROM a JOIN b USING (i)',
		[ 'Nested Loop|1|199|running', '  Seq Scan|1|200|running', '  Index Only Scan|201|200|running' ],
		'enable_mergejoin enable_hashjoin enable_bitmapscan enable_memoize' ],
);
foreach my $plan (@late)
{
	my ($name, $sql, $lines, $settings) = @$plan;

	$session->query(q{SET clocktiming.live_after = '1h'});
	$cluster->shows("$name: late", $sql, lines($lines), $settings);
}
my $log_at = -s $node->logfile;
$session->query(q{SET log_min_messages = debug1; SET clocktiming.live_after = '1h'});
$cluster->shows('EXPLAIN ANALYZE: late', 'EXPLAIN ANALYZE SELECT hold(pause(i, 100), 300) FROM a', ['0|Seq Scan|1|299|running']);
like(slurp_file($node->logfile, $log_at), qr/published from now on/, 'counting began while the query was running');

done_testing();
