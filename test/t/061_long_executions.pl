
# Statistics of plans whose executions differ much in length: rare long executions are measured,
# though only some of the short ones are. All executions are counted. The reference is
# pg_stat_statements, which times the same executions.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
plan skip_all => 'pg_stat_statements is not there' unless -f $node->config_data('--sharedir') . '/extension/pg_stat_statements.control';
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'clocktiming, pg_stat_statements'
clocktiming.track = on
pg_stat_statements.track = all
max_parallel_workers_per_gather = 0
jit = off
autovacuum = off
});
$node->start;
sub query { return $node->safe_psql('postgres', $_[0]); }

query(q{
	CREATE EXTENSION clocktiming;
	CREATE EXTENSION pg_stat_statements;
	-- 200000 rows have c = 1, each of the others has a value of its own
	CREATE TABLE cust AS SELECT CASE WHEN i <= 200000 THEN 1 ELSE i END AS c, i AS x FROM generate_series(1, 210000) AS i;
	CREATE INDEX ON cust (c);
	CREATE TABLE filled (i integer);
	CREATE TABLE few AS SELECT i FROM generate_series(1, 10) AS i;
	CREATE TABLE fired (i integer);
	CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.05); RETURN NEW; END $$;
	CREATE TRIGGER t AFTER INSERT ON fired FOR EACH ROW WHEN (NEW.i < 0) EXECUTE FUNCTION slow();
	ANALYZE});

# Executes statements in a new session, and waits for its end: a session adds its latest executions
# to the statistics when it ends, which may be after the end of psql.
sub execute
{
	my (@statements) = @_;

	$node->safe_psql('postgres', join(";\n", @statements));
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'});
	return;
}

# Executes statements in a new session after a reset of the statistics. Compares the statistics of
# the plans that match a pattern with pg_stat_statements.
sub compare
{
	my ($what, $pattern, $n, @statements) = @_;
	my ($executions, $margin, $total, $total_margin, $timed, $calls, $true);

	query('SELECT clock_stats_reset(), pg_stat_statements_reset()');
	execute(@statements);
	($executions, $margin, $timed, $total, $total_margin, $calls, $true) = split /\|/, query(qq{
		SELECT sum(p.executions), max(p.executions_margin), sum(p.timed_executions), sum(p.total_ms), sqrt(sum(p.total_margin_ms ^ 2)),
			max(s.calls), max(s.total_exec_time)
		FROM clock_plan_stats p JOIN pg_stat_statements s USING (queryid) WHERE p.plan LIKE '%$pattern%' GROUP BY queryid});
	is("$executions +/- $margin", "$calls +/- 0", "$what: all $n executions are counted");
	is($calls, $n, "$what: pg_stat_statements, too");
	cmp_ok($timed, '<', $n / 2, "$what: few executions are timed");
	cmp_ok(abs($total - $true), '<=', 0.1 * $true + 2 * $total_margin, "$what: their time ($true ms by pg_stat_statements, $total +/- $total_margin)");
	cmp_ok($total_margin, '<', $true / 2, "$what: the margin is small");
	return;
}

my $generic = 'SET plan_cache_mode = force_generic_plan';
compare('one of 250 reads many rows', ' on cust', 3000, $generic, 'PREPARE p(integer) AS SELECT count(x) FROM cust WHERE c = $1',
	map { 'EXECUTE p(' . ($_ % 250 == 0 ? 1 : 200000 + $_) . ')' } 1 .. 3000);
compare('a table is filled', 'Seq Scan on filled', 3020, 'TRUNCATE filled', $generic, 'PREPARE p AS SELECT count(*) FROM filled', ('EXECUTE p') x 3000,
	'INSERT INTO filled SELECT generate_series(1, 200000)', ('EXECUTE p') x 20);
compare('one of 100 takes less than a tick', 'Seq Scan on few', 10000,
	q{DO $$ BEGIN FOR k IN 1 .. 10000 LOOP PERFORM pg_sleep(CASE WHEN k % 100 = 0 THEN 0.003 ELSE 0 END) FROM few LIMIT 1; END LOOP; END $$});
# auto_explain has all executions timed, of which the statistics choose a sample.
my @explained = map { "SET $_" } 'auto_explain.log_analyze = on', "auto_explain.log_min_duration = '1h'", 'auto_explain.log_nested_statements = on',
  'clocktiming.sampled_timing = auto_explain';
compare('beside auto_explain', 'Seq Scan on few', 10000, q{LOAD 'auto_explain'}, @explained,
	q{DO $$ BEGIN FOR k IN 1 .. 10000 LOOP PERFORM pg_sleep(CASE WHEN k % 100 = 0 THEN 0.003 ELSE 0 END) FROM few LIMIT 1; END LOOP; END $$})
  if ($node->psql('postgres', q{LOAD 'auto_explain'}))[0] == 0;
# The nodes of long executions that auto_explain has observed are added, although the statistics did
# not draw them.
if (($node->psql('postgres', q{LOAD 'auto_explain'}))[0] == 0)
{
	query('CREATE TABLE many AS SELECT i FROM generate_series(1, 6000) AS i; ANALYZE many; SELECT clock_stats_reset()');
	execute(q{LOAD 'auto_explain'}, @explained, q{DO $$ BEGIN
		FOR k IN 1 .. 1500 LOOP PERFORM count(CASE WHEN k % 150 = 0 AND i = 1 THEN pg_sleep(0.2) END) FROM many; END LOOP; END $$});
	my ($wait, $margin) = split /\|/, query(q{SELECT wait_ms, wait_margin_ms FROM clock_node_stats
		WHERE node_type = 'Aggregate' AND planid IN (SELECT planid FROM clock_plan_stats WHERE plan LIKE '%on many%')});
	# The end of an execution is unknown if the sampler has seen less than half of it. This is rare.
	cmp_ok($wait, '>', 1500, 'beside auto_explain: ten executions that sleep for 200 ms each');
	cmp_ok($margin, '<', 500, 'the margin of their waits is small');
}
compare('in a function', 'Seq Scan on few', 2000,
	q{DO $$ BEGIN FOR k IN 1 .. 2000 LOOP PERFORM pg_sleep(CASE WHEN k % 200 = 0 THEN 0.05 ELSE 0 END) FROM few LIMIT 1; END LOOP; END $$});
# Errors end nested statements, whose memory the next statement may use.
query(q{CREATE FUNCTION fails(k integer) RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 / (k % 3) FROM cust LIMIT 1; END $$});
compare('beside statements that fail', 'Seq Scan on few', 4000, 'SET clocktiming.live = on', q{DO $$ BEGIN
	FOR k IN 1 .. 4000 LOOP
		BEGIN
			PERFORM fails(k);
		EXCEPTION WHEN division_by_zero THEN NULL;
		END;
		PERFORM pg_sleep(CASE WHEN k % 400 = 0 THEN 0.03 ELSE 0 END) FROM few LIMIT 1;
	END LOOP;
END $$});
compare('triggers belong to the execution', 'Insert on fired', 2000, 'TRUNCATE fired', $generic, 'PREPARE p(integer) AS INSERT INTO fired SELECT $1 FROM (SELECT pg_sleep(CASE WHEN $1 < 0 THEN 0.05 ELSE 0 END)) s',
	map { 'EXECUTE p(' . ($_ % 200 == 0 ? -$_ : $_) . ')' } 1 .. 2000);

# A wait of the node that writes does not belong to the nodes that it calls, although the next call
# is one of theirs
query(q{
	CREATE TABLE slow_before (i integer);
	CREATE TRIGGER t BEFORE INSERT ON slow_before FOR EACH ROW WHEN (NEW.i < 0) EXECUTE FUNCTION slow();
	SELECT clock_stats_reset()});
execute($generic, 'PREPARE p(integer) AS INSERT INTO slow_before SELECT $1 * max(i) FROM few', ('EXECUTE p(1)') x 500, ('EXECUTE p(-1)') x 10);
is(query(q{SELECT count(*), max(wait_ms) < 50 FROM clock_node_stats WHERE relation = 'few' AND node_type = 'Seq Scan'}), '1|t', 'a wait of Insert is not one of the scan below it')
  or diag query('SELECT node_type, self_ms, wait_ms, waits FROM clock_node_stats');

# The time between the execution of a cursor's query and its end is not part of it
query('SELECT clock_stats_reset()');
execute('BEGIN', (q{DECLARE c CURSOR FOR SELECT pg_sleep(0.000) FROM few}, 'FETCH ALL FROM c', 'CLOSE c') x 300,
	q{DECLARE c CURSOR FOR SELECT pg_sleep(0.006) FROM few}, 'FETCH ALL FROM c', '\! sleep 2', 'COMMIT');
is(query(q{SELECT max(total_ms) BETWEEN 50 AND 1500 FROM clock_plan_stats WHERE plan LIKE '%on few%'}), 't', 'a cursor that stays open')
  or diag query(q{SELECT total_ms, plan FROM clock_plan_stats});

# The time of an execution is that of pg_stat_statements
query('SELECT clock_stats_reset(), pg_stat_statements_reset()');
execute(q{SET clocktiming.track_everything = on; DO $$ BEGIN FOR k IN 1 .. 300 LOOP PERFORM count(*) FROM few; END LOOP; END $$});
is(query(q{
	SELECT p.executions, p.timed_executions, p.total_margin_ms, s.calls, abs(p.total_ms / s.total_exec_time - 1) < 1e-5
	FROM clock_plan_stats p JOIN pg_stat_statements s USING (queryid) WHERE p.plan LIKE '%on few%' AND p.executions > 1}),
	'300|300|0|300|t', 'if all executions are timed, their time is that of pg_stat_statements');

# Of short executions, only a few have timed nodes, whose times are those of all executions. Those of
# long executions remain what they are.
my $sums = q{
	SELECT abs(sum(n.self_ms + n.cpu_wait_ms) / max(p.total_ms) - 1) < 0.01, abs(max(p.cpu_ms + p.wait_ms + p.cpu_wait_ms) / max(p.total_ms) - 1) < 0.01,
		abs(sum(n.share_percent) - 100) < 0.1, max(p.timed_executions) < 15000, max(n.wait_ms) > 1500
	FROM clock_node_stats n JOIN clock_plan_stats p USING (queryid, planid) WHERE p.plan LIKE '%on few%'};
foreach my $case ([ 0, 'f', 'short executions' ], [ 0.2, 't', 'short and long executions' ])
{
	my ($sleep, $waits, $what) = @$case;

	query('SELECT clock_stats_reset()');
	execute("DO \$\$ BEGIN FOR k IN 1 .. 20000 LOOP PERFORM count(CASE WHEN k % 2000 = 0 AND i = 1 THEN pg_sleep($sleep) END) FROM few; END LOOP; END \$\$");
	is(query($sums), "t|t|t|t|$waits", "$what: times of nodes add up to the plan's")
	  or diag query(q{SELECT n.node, n.self_ms, n.wait_ms, n.cpu_wait_ms, p.total_ms, p.cpu_ms, p.wait_ms, p.cpu_wait_ms, p.timed_executions
		FROM clock_node_stats n JOIN clock_plan_stats p USING (queryid, planid)});
}

# Long executions that fail are no executions, and do not become part of the next one
query('SELECT clock_stats_reset()');
execute(q{DO $$ BEGIN
	FOR k IN 1 .. 1000 LOOP
		BEGIN
			PERFORM 1 / (k % 100), pg_sleep(CASE WHEN k % 50 = 0 THEN 0.03 ELSE 0 END) FROM few LIMIT 1;
		EXCEPTION WHEN division_by_zero THEN NULL;
		END;
	END LOOP;
END $$});
is(query(q{SELECT executions + failed_executions FROM clock_plan_stats WHERE plan LIKE '%Seq Scan on few'}), 1000, 'executions of which some fail');

# A reset also ends the sampling rate that a query had in sessions and in shared memory
my $busy = $node->background_psql('postgres') if $node->can('background_psql');
sub busy { return $busy ? $busy->query_safe($_[0]) : query($_[0]); }
busy(q{DO $$ BEGIN FOR k IN 1 .. 20000 LOOP PERFORM i FROM few; END LOOP; END $$});
query('SELECT clock_stats_reset()');
busy('SELECT pg_sleep(0.2)');
busy('SELECT 1');
busy(q{DO $$ BEGIN FOR k IN 1 .. 40 LOOP PERFORM i FROM few; END LOOP; END $$});
busy('SELECT pg_sleep(0.2)');
is(query(q{SELECT executions, timed_executions > 0 FROM clock_plan_stats WHERE plan LIKE 'Seq Scan on few'}), '40|t', 'executions after a reset are timed');
$busy->quit if $busy;

# Many new queries. On a busy machine, timing 40 of them may cost more than the default permits.
query('SELECT clock_stats_reset()');
execute('SET clocktiming.max_overhead = 100', map { my $q = 'SELECT ' . join(', ', ('i') x $_) . ' FROM few'; ($q) x 40 } 1 .. 40);
is(query(q{SELECT count(*), sum(executions), min(executions), max(executions), bool_and(total_ms > 0) FROM clock_plan_stats
		WHERE plan LIKE 'Seq Scan on few' AND executions > 1}), '40|1600|40|40|t', 'each of 40 queries has a row')
	or diag query(q{SELECT executions, timed_executions, plan FROM clock_plan_stats});
$node->stop;
done_testing();
