
# Statistics of plans: clock_plan_stats, clock_node_stats, clock_time_spent(), snapshots, and
# clock_node_changes(). They
# must be correct, survive restarts and crashes, and stay within the limits of shared memory. Plans
# of other users must be visible only to members of pg_read_all_stats.

use strict;
use warnings;

use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf(
	'postgresql.conf', q{
shared_preload_libraries = 'clocktiming'
compute_query_id = on
restart_after_crash = on
max_connections = 50
autovacuum = off
});
my $has_statements = -f $node->config_data('--sharedir') . '/extension/pg_stat_statements.control';
$node->append_conf('postgresql.conf', q{shared_preload_libraries = 'clocktiming, pg_stat_statements'}) if $has_statements;
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE ROLE regress_other LOGIN;
	CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor;
	CREATE TABLE t AS SELECT i, i % 10 AS k, 'x' || i AS name FROM generate_series(1, 1000) AS i;
	CREATE INDEX t_i ON t (i);
	ANALYZE t;
	GRANT SELECT ON t TO regress_other;
});

# Settings that make clocktiming time every execution, whatever the overhead.
my $on = q{SET clocktiming.track = on; SET clocktiming.track_everything = on; };

sub query { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }
sub reset_all { query('SELECT clock_stats_reset()'); return; }

# Returns the estimated number of executions, and its margin, of plans that match a LIKE pattern.
sub executions
{
	my ($like) = @_;
	return split /\|/,
	  query(qq{SELECT coalesce(sum(executions), 0), coalesce(sqrt(sum(executions_margin ^ 2)), 0)
		FROM clock_plan_stats WHERE plan LIKE '$like'});
}

# Checks an estimate. In one of 20 cases the error exceeds the margin, but practically never three
# times the margin.
sub is_about
{
	my ($n, $what, $estimate, $margin) = @_;
	return ok(abs($estimate - $n) <= 3 * $margin, "$what: $estimate of $n executions");
}

# A measurement within an observed statement, whose sampler does not run when the measured query
# begins. Nothing may remain of the measurement before, in which another node took the time.
{
	my $session = ClockSession->new($node);
	my $explain = q{SELECT string_agg((share_percent > 50)::text, ' ' ORDER BY node) FROM clock_explain('SELECT pg_sleep(%s) UNION ALL SELECT pg_sleep(%s)') WHERE node > 0};
	my $sampler;

	$session->query($on);
	is($session->query(sprintf $explain, 1.5, 0)->{out}, 'false true false', 'the first node takes the time');
	# Somebody waits for the measurement, so it is sampled as if it were alone.
	is($session->query(q{SELECT max(sampler_ms) > 0, abs(sum(self_ms) + sum(cpu_wait_ms) - max(run_ms)) <= max(run_ms) / 1000
		FROM clock_explain('SELECT count(*) FROM generate_series(1, 2000000)')})->{out},
		't|t', 'the measurement has samples of its own');
	# Without a connection to a database, the sampler is not in pg_stat_activity.
	($sampler) = map { m{^/proc/(\d+)/} } grep { slurp_file("/proc/$1/stat") =~ /\) \S $node->{_pid} / if m{(\d+)} }
	  grep { (eval { slurp_file($_) } // '') =~ /clocktiming sampler/ } glob '/proc/[0-9]*/cmdline';
	kill('STOP', $sampler);
	$session->send(sprintf $explain, 0, 1);
	$session->wait_until_running('string_agg', 0.3);
	kill('CONT', $sampler);
	is($session->result->{out}, 'false false true', 'then the second one');
	$session->quit;
	reset_all();
}

# Statistics of one plan
my $scan = q{SELECT count(*) FROM t WHERE k = 3 AND name <> 'secret-literal';};
query($on . $scan x 20);
is_about(20, 'a query', executions('%Seq Scan on t'));
is( query(
		q{SELECT plan, nodes, failed_executions, total_ms > 0, abs(mean_ms * executions - total_ms) < executions * 1e-6, first_seen < last_seen, dbname, username = current_user
		FROM clock_plan_stats WHERE plan LIKE '%Seq Scan on t'}),
	"Aggregate\n  ->  Seq Scan on t|2|0|t|t|t|postgres|t",
	'its plan');
is( query(
		q{SELECT node, depth, node_type, relation, index_name, n.loops = p.executions, actual_rows, n.total_ms >= n.self_ms, round(worst_rows_factor)
		FROM clock_node_stats n JOIN clock_plan_stats p USING (dbid, userid, queryid, planid) WHERE plan LIKE '%Seq Scan on t' ORDER BY node}),
	"0||Query|||||t|\n1|0|Aggregate|||t|1|t|1\n2|1|Seq Scan|t||t|100|t|1",
	'its nodes');
# A CTE that two nodes scan. The time of producing a row belongs to the node whose call produced it:
# one row to the first node, 39 rows to the second.
query($on . q{WITH c AS MATERIALIZED (SELECT i, pg_sleep(0.002) FROM t LIMIT 40) (SELECT i FROM c LIMIT 1) UNION ALL SELECT count(*) FROM c});
is( query(
		q{SELECT array_agg(self_ms < 0.3 * (SELECT max(total_ms) FROM clock_node_stats WHERE planid = n.planid)) || array_agg(total_ms > 40 ORDER BY total_ms)
		FROM clock_node_stats n WHERE node_type = 'CTE Scan'}),
	'{t,t,f,t}',
	'nodes that scan a CTE');
is( query(q{SELECT count(*) FROM (SELECT sum(share_percent) AS sum FROM clock_node_stats GROUP BY queryid, planid) AS p WHERE abs(sum - 100) > 0.1}),
	'0',
	'the shares of the nodes of a plan and of the time outside of them add up to 100 %');

$node->psql('postgres', $on . q{SELECT 1 / (k - 3) FROM t});
is(query('SELECT executions, failed_executions > 0, mean_ms IS NULL, plan IS NULL FROM clock_plan_stats WHERE failed_executions > 0'),
	'0|t|t|t', 'an execution that fails is counted separately');

# A partition that is pruned at the start of an execution is a node of the plan, too.
query(q{
	CREATE TABLE part (i int) PARTITION BY RANGE (i);
	CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (10);
	CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (10) TO (20);
	CREATE TABLE part_3 PARTITION OF part FOR VALUES FROM (20) TO (30);
	INSERT INTO part SELECT generate_series(0, 29);
	ANALYZE part});
query($on . 'SET plan_cache_mode = force_generic_plan; PREPARE s AS SELECT * FROM part WHERE i = $1 OFFSET 0;' . 'EXECUTE s(5); EXECUTE s(25); EXECUTE s(26);');
my $by_loops = q{SELECT relation, n.loops FROM clock_node_stats n JOIN clock_plan_stats p USING (dbid, userid, queryid, planid)
	WHERE plan LIKE '%part_1%part_2%part_3' AND relation IS NOT NULL ORDER BY node};
is(query($by_loops), "part_1|1\npart_2|0\npart_3|2", 'partitions that are pruned are nodes that were not executed');
query($on . join(' UNION ALL ', map { "SELECT i + $_ FROM one_row" } 1 .. 250)) if query('CREATE TABLE one_row AS SELECT 1 AS i') eq '';
is( query(
		q{SELECT max(nodes), count(*), bool_or(plan LIKE '%... (51 more)') FROM clock_node_stats JOIN clock_plan_stats USING (dbid, userid, queryid, planid) WHERE plan LIKE '%one_row%'}),
	'251|201|t',
	'of a plan with many nodes the first 200 are kept, and the time outside of them');

# The nodes of a subplan follow the node that uses it, as in EXPLAIN.
query($on . 'SELECT i, (SELECT max(u.i) FROM t u WHERE u.i < t.i) FROM t WHERE EXISTS (SELECT FROM part WHERE part.i = 3 OR random() < 2) AND i = 7');
like(query(q{SELECT plan FROM clock_plan_stats WHERE plan LIKE 'Result%'}),
	qr/^Result\n  ->  Append\n(?:        ->  Seq Scan on part_\d\n){3}  ->  Index.* t_i on t\n  ->  (?:Aggregate|Result)\n/,
	'nodes have the order of EXPLAIN');

# Returns depth, type and relation of the nodes, in the order of EXPLAIN.
sub listed_by_explain
{
	my ($plan, $depth) = @_;
	my $self = join '|', $depth, $plan->{'Node Type'}, $plan->{'Relation Name'} // '';

	return ($self, map { listed_by_explain($_, $depth + 1) } @{ $plan->{Plans} // [] });
}
query(q{
	CREATE TABLE nest_a AS SELECT i, i AS x FROM generate_series(1, 5) AS i;
	CREATE TABLE nest_b AS SELECT i, i AS j FROM generate_series(1, 5) AS i;
	CREATE TABLE nest_c AS SELECT i AS j FROM generate_series(1, 5) AS i;
	ANALYZE nest_a, nest_b, nest_c});
foreach my $case (
	[ 'a subplan of a subplan', 'SELECT (SELECT (SELECT max(x) FROM nest_a a WHERE a.i = b.i) FROM nest_b b WHERE b.j = c.j) FROM nest_c c' ],
	[
		'a CTE of a subplan',
		'SELECT (WITH w AS MATERIALIZED (SELECT i FROM nest_a) SELECT count(*) FROM w, nest_b b WHERE b.i = w.i AND b.j = c.j) FROM nest_c c'
	],
	[ 'an InitPlan of a subplan', 'SELECT (SELECT max(b.i) FROM nest_b b WHERE b.j = c.j AND b.i > (SELECT min(x) FROM nest_a)) FROM nest_c c' ],
	[
		'subplans beside each other',
		'SELECT (SELECT count(*) FROM nest_a a WHERE a.i = c.j), (SELECT (SELECT max(x) FROM nest_a a WHERE a.i = b.i) FROM nest_b b WHERE b.j = c.j) FROM nest_c c
			WHERE j > (SELECT min(i) FROM nest_b b WHERE b.j >= c.j) - 1'
	])
{
	my ($what, $sql) = @$case;
	my $settings = 'SET enable_hashjoin = off; SET enable_mergejoin = off;';
	my $explained = decode_json(query("$settings EXPLAIN (FORMAT json) $sql"));

	reset_all();
	query("$on $settings $sql");
	is( query(q{SELECT concat_ws('|', depth, node_type, coalesce(relation, '')) FROM clock_node_stats WHERE node > 0 ORDER BY node}),
		join("\n", listed_by_explain($explained->[0]->{Plan}, 0)),
		"the order of EXPLAIN: $what");
}
reset_all();
query($on . $scan x 2);

# Privileges to see plans of other users.
sub as
{
	my ($user, $sql) = @_;
	my $session = ClockSession->new($node, user => $user);
	my $result = $session->query($sql);

	$session->quit;
	return $result;
}
query('ALTER ROLE regress_other SET clocktiming.track = on; ALTER ROLE regress_other SET clocktiming.track_everything = on');
as('regress_other', 'SELECT i FROM t WHERE i = 8');
foreach my $list (qw(clock_plan_stats clock_node_stats clock_plan_stats() clock_node_stats()))
{
	my $users = "SELECT string_agg(DISTINCT pg_get_userbyid(userid), ',') FROM $list";

	is(as('regress_other', $users)->{out}, 'regress_other', "an ordinary role sees its own plans only: $list");
	like(as('regress_monitor', $users)->{out}, qr/,regress_other$|^regress_other,/, "a role that monitors sees all: $list");
}
query('ALTER ROLE regress_other RESET ALL');
like(as('regress_other', 'SELECT clock_stats_reset()')->{err}, qr/permission denied/, 'only the owner may reset statistics');
like(as('regress_other', 'SELECT clock_stats_snapshot()')->{err}, qr/permission denied/, 'an ordinary role may not take snapshots');

# Where the time went. An execution sleeps for most of it.
my $slow = q{SELECT count(*) FROM nest_a WHERE i = 1 AND pg_sleep(0.3) IS NOT NULL AND x::text <> 'this makes it too long for three lines'};
my $spent = q{SELECT percent > 80, waits ~ '^Timeout:PgSleep \d+ %', replace(query, E'\n', ' ') FROM clock_time_spent() WHERE node = 'Seq Scan on nest_a'};
reset_all();
query($on . $slow);
my ($slow_id) = query(q{SELECT queryid FROM clock_plan_stats WHERE plan LIKE '%Seq Scan on nest_a'});
is(query($spent), "t|t|queryid $slow_id", 'without pg_stat_statements, the time of a statement has its identifier');
like(as('regress_other', 'SELECT count(*), max(time_s) FROM clock_time_spent(0)')->{out}, qr/^\d\|0\.0$/, 'an ordinary role does not see the times of other users');
SKIP:
{
	skip 'pg_stat_statements is not there', 4 if !$has_statements;
	# Other users cannot make the function read a relation of theirs.
	query(q{CREATE SCHEMA "the ""Schema"; CREATE EXTENSION pg_stat_statements SCHEMA "the ""Schema"; CREATE SCHEMA decoy;
		CREATE FUNCTION decoy.trap() RETURNS bigint LANGUAGE plpgsql AS $$BEGIN RAISE WARNING 'trapped'; RETURN 0; END$$;
		CREATE VIEW decoy.pg_stat_statements AS SELECT 0::oid AS userid, 0::oid AS dbid, decoy.trap() AS queryid, 'decoy' AS query;
		GRANT USAGE ON SCHEMA decoy, "the ""Schema" TO PUBLIC; GRANT SELECT ON decoy.pg_stat_statements TO PUBLIC});
	query($on . $slow);
	my $cut = "SELECT count(*) FROM nest_a WHERE i = \$1 AND queryid $slow_id";
	my $result = as('regress_monitor', "SET search_path = decoy, public; $spent");
	is("$result->{out}$result->{err}", "t|t|$cut", 'with pg_stat_statements, it has the beginning of its text');
	query(q{REVOKE SELECT ON "the ""Schema".pg_stat_statements FROM PUBLIC});
	is(as('regress_monitor', $spent)->{out}, "t|t|queryid $slow_id", 'a role that may not read pg_stat_statements sees no text');
	query(q{GRANT SELECT ON "the ""Schema".pg_stat_statements TO PUBLIC});
	query('ALTER ROLE regress_other SET clocktiming.track = on; ALTER ROLE regress_other SET clocktiming.track_everything = on');
	as('regress_other', 'SELECT i AS own FROM t WHERE i = 8 AND pg_sleep(0.02) IS NOT NULL');
	my $texts = q{SELECT string_agg(DISTINCT replace(query, E'\n', ' '), ',') FROM clock_time_spent() WHERE node ~ 'on t'};
	is(as('regress_other', $texts)->{out}, 'SELECT i AS own FROM t WHERE i = $1 AND pg_sleep($2) IS NOT NULL', 'an ordinary role sees the texts of its own statements');
	query('ALTER ROLE regress_other RESET ALL');
	query('CREATE DATABASE apart');
	$node->safe_psql('apart', "$on SELECT 3 AS there, pg_sleep(0.3)");
	is(query(q{SELECT replace(query, E'\n', ' ') FROM clock_time_spent() WHERE node = 'Result' AND waits ~ '^Timeout'}), 'in database apart SELECT $1 AS there, pg_sleep($2)', 'a statement of another database');
	query('DROP DATABASE apart; DROP SCHEMA decoy CASCADE; DROP EXTENSION pg_stat_statements');
}
query($on . q{DO $$BEGIN PERFORM 1 / (i - 1) FROM t; EXCEPTION WHEN division_by_zero THEN END$$});
is(query(q{SELECT node, time_s FROM clock_time_spent(0) WHERE node = 'not known'}), 'not known|0.0', 'a plan whose nodes have no times');
is(query(q{SELECT node, percent FROM clock_time_spent(0) LIMIT 1}), 'all nodes|100.0', 'the first row is the sum');
is(query(q{SELECT abs(sum(percent) - 200) <= 0.05 * count(*) FROM clock_time_spent(0)}), 't', 'the percentages of the others add up to it');
is(query(q{SELECT string_agg(CASE WHEN node IN ('all nodes', 'others') THEN node ELSE 'node' END || coalesce(': ' || substring(query, '\d+ nodes below .*'), ''), ', ') FROM clock_time_spent(100)}) =~ s/\d+/n/r,
	'all nodes, others: n nodes below 100 %', 'nodes with a smaller share are summed up') if $has_statements;
is(query(q{SELECT array_agg(percent) = array_agg(percent ORDER BY percent DESC) FROM clock_time_spent(0)}), 't', 'the most expensive nodes come first');
is(query(q{SELECT substring(query, 'since\n(.*?)( \S+)?\n') = to_char(to_timestamp(value), 'YYYY-MM-DD HH24:MI'), query ~ '\nclocktiming.track is off$'
	FROM clock_time_spent(), clock_metrics WHERE node = 'all nodes' AND name = 'pg_clock_plans_reset_timestamp_seconds'}), 't|t', 'the first row has the time of the reset');
is(query(q{SET clocktiming.track = on; SELECT query ~ 'is off' FROM clock_time_spent() LIMIT 1}), 'f', 'and no warning if statistics are collected');
{
	my ($out) = run_command([ 'psql', '-X', '-h', $node->host, '-p', $node->port, '-c', 'SELECT * FROM clock_time_spent(0)', 'postgres' ]);

	like($out, qr/^ percent \| time_s \|/, 'the output of psql');
	is(join("\n", grep { length > 100 } split /\n/, $out), '', 'fits 100 columns');
}
foreach my $wrong ('NULL', -1, 100.1, "'NaN'")
{
	my (undef, undef, $message) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT * FROM clock_time_spent($wrong)");

	like($message, qr/ERROR:  22(?:023|004): min_percent/, "invalid share: $wrong");
}
reset_all();
is(query('SELECT node, percent, time_s FROM clock_time_spent()'), 'all nodes||0.0', 'without statistics, the sum is 0');
query($on . $scan x 2);

# A restart
my $all = q{SELECT dbid, userid, queryid, planid, executions, timed_executions, failed_executions, total_ms, mean_margin_ms, plan, first_seen, last_seen FROM clock_plan_stats ORDER BY 1, 2, 3, 4};
my $all_nodes = q{SELECT * FROM clock_node_stats ORDER BY queryid, planid, node};
my ($before, $before_nodes) = (query($all), query($all_nodes));
my $file = $node->data_dir . '/pg_stat/clocktiming.stat';
$node->stop;
unlike(slurp_file($file), qr/secret-literal/, 'no literal is stored');
my $good = slurp_file($file);
$node->start;
is(query($all), $before, 'plans come back after a restart');
is(query($all_nodes), $before_nodes, 'nodes come back after a restart');
ok(!-e $file, 'the server has removed the file');

# Damaged files
sub damaged
{
	my ($what, $content) = @_;
	my $offset;

	$node->stop;
	$offset = -s $node->logfile;
	open(my $out, '>:raw', $file) or die $!;
	print $out $content;
	close($out);
	$node->start;
	like(slurp_file($node->logfile, $offset), qr/LOG:  ignoring invalid data in file "pg_stat\/clocktiming\.stat"/, "$what: the log reports invalid data");
	is(query('SELECT count(*) FROM clock_plan_stats'), '0', "$what: statistics start anew");
	return;
}
my $flipped = $good;
substr($flipped, length($good) / 2, 1) ^= "\x10";
damaged('a flipped bit',       $flipped);
damaged('a file cut short',    substr($good, 0, length($good) - 100));
damaged('an empty file',       '');
damaged('a file of other data', 'x' x 10000);

# Crashes
my $session = ClockSession->new($node);
query($on . $scan);
my $offset = -s $node->logfile;
kill 9, $session->pid;
$session->quit;
ok($node->wait_for_log(qr/database system is ready to accept connections/, $offset), 'after kill -9 of a backend the server is there again');
query($on . $scan);
cmp_ok((executions('%Seq Scan on t'))[0], '>', 0, 'and counts executions');

# An immediate shutdown while other sessions add to the statistics
my ($load_out, $load_err) = ('', '');
my $load_script = $node->basedir . '/load.sql';
append_to_file($load_script, "$on\nSELECT count(*) FROM t;\n");
my $load = IPC::Run::start([ 'pgbench', '-n', '-c', 5, '-T', 600, '-f', $load_script, '-h', $node->host, '-p', $node->port, 'postgres' ],
	'>', \$load_out, '2>', \$load_err);
ok($node->poll_query_until('postgres', q{SELECT coalesce(sum(executions) > 100, false) FROM clock_plan_stats}), 'other sessions add to the statistics');
$node->stop('immediate');
$load->finish;
$node->start;
query($on . $scan);
cmp_ok((executions('%Seq Scan on t'))[0], '>', 0, 'executions are counted after an immediate shutdown, too');
# An immediate shutdown while no session adds: nothing is lost.
my $kept = query('SELECT count(*) FROM clock_plan_stats');
$node->stop('immediate');
$node->start;
is(query('SELECT count(*) FROM clock_plan_stats'), $kept, 'an immediate shutdown without concurrent sessions loses nothing');

# Reset of all statistics, and of a part of them
reset_all();
is(query('SELECT count(*) FROM clock_plan_stats'), '0', 'a reset removes all statistics');
is(query('SELECT clock_stats_snapshot() IS NULL'), 't', 'without statistics, there is no snapshot');
is(query('SELECT count(*) FROM clock_node_snapshots'), '0', 'and no snapshot is stored');
query($on . $scan . 'SELECT i FROM t WHERE i = 5;');
query(q{SELECT clock_stats_reset(queryid => (SELECT queryid FROM clock_plan_stats WHERE plan LIKE '%Seq Scan on t'))});
is(query(q{SELECT bool_or(plan LIKE '%Seq Scan on t'), bool_or(plan LIKE 'Index%Scan using t_i on t') FROM clock_plan_stats}), 'f|t', 'a reset of one query removes only its statistics');
query(q{SELECT clock_stats_reset(userid => 4711)});
query(q{SELECT clock_stats_reset(queryid => NULL)});
is(query(q{SELECT count(*) > 0 FROM clock_plan_stats}), 't', 'a reset of a user without plans, or of null, removes nothing');

# A plan that has become slower. The new version sleeps far longer than a busy machine could delay
# the old one.
reset_all();
query('CREATE FUNCTION work(i int) RETURNS void LANGUAGE sql VOLATILE AS $$ SELECT pg_sleep(0.001) $$; CREATE TABLE one AS SELECT 1 AS i');
query($on . 'SELECT work(i) FROM one;' x 10);
like($node->safe_psql('postgres', q{SELECT count(*) FROM (SELECT clock_stats_snapshot()) AS s}), qr/^1$/, 'a snapshot');
is(query(q{SELECT count(*) FROM clock_node_changes()}), '0', 'nothing has changed at once');
query('CREATE OR REPLACE FUNCTION work(i int) RETURNS void LANGUAGE sql VOLATILE AS $$ SELECT pg_sleep(0.2) $$');
query($on . 'SELECT work(i) FROM one;' x 10);
is( query(q{SELECT change, node, node_type, relation, difference_ms > 0, p_value < 0.05 FROM clock_node_changes() ORDER BY node}),
	"slower|0|whole plan||t|t\nslower|1|Seq Scan|one|t|t",
	'a node that sleeps longer is found');
is(query(q{SELECT bool_and(before_timed > 1 AND after_timed > 1) FROM clock_node_changes(confidence => 90)}), 't', 'changes are based on timed executions before and after');
foreach my $wrong (0, 0.95, 100, -1, "'NaN'", 'NULL')
{
	my (undef, undef, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT * FROM clock_node_changes(confidence => $wrong)");
	like($err, qr/22023.*confidence must be/s, "invalid confidence: $wrong");
}
my (undef, undef, $err) = $node->psql('postgres', q{SELECT * FROM clock_node_changes('2000-01-01')});
like($err, qr/no snapshot.*clock_stats_snapshot/s, 'no snapshot so old');

# A query whose plan has changed
reset_all();
query($on . 'SET enable_seqscan = off;' . 'SELECT sum(i) FROM t WHERE i < 20;' x 5);
query('SELECT clock_stats_snapshot()');
query($on . 'SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off;' . 'SELECT sum(i) FROM t WHERE i < 20;' x 5);
is( query(
		q{SELECT c.change, b.plan LIKE '%t_i%', a.plan LIKE '%Seq Scan%' FROM clock_node_changes() c
		JOIN clock_plan_stats a USING (queryid, planid) JOIN clock_plan_stats b ON b.planid = before_planid AND b.queryid = c.queryid
		WHERE change = 'other plan'}),
	'other plan|t|t',
	'a query whose plan has changed is found');
is(as('regress_monitor', q{SELECT count(*) FROM clock_node_changes() WHERE change = 'other plan'})->{out}, '1', 'a member of pg_monitor sees the change, too');
is(as('regress_monitor', q{SELECT clock_stats_snapshot() IS NOT NULL})->{out}, 't', 'a member of pg_monitor may take snapshots');

# The identifier of a plan depends on names of relations and indexes, not on their OIDs.
reset_all();
my $by_index = $on . 'SET enable_seqscan = off; SELECT sum(k) FROM t WHERE i < 20;';
query($by_index);
query('SELECT clock_stats_snapshot()');
query('REINDEX INDEX CONCURRENTLY t_i');
query($by_index);
query('DROP INDEX t_i; CREATE INDEX t_i ON t (i)');
query($by_index);
is(query(q{SELECT count(*), sum(executions) FROM clock_plan_stats WHERE plan LIKE '%t_i%'}), '1|3', 'a rebuilt index does not change the plan identifier');
is(query(q{SELECT count(*) FROM clock_node_changes() WHERE change = 'other plan'}), '0', 'a rebuilt index is not reported as another plan');
query($on . 'CREATE TEMPORARY TABLE temporary (i int); SELECT count(*) FROM temporary') for 1 .. 3;
is(query(q{SELECT count(DISTINCT planid), sum(executions) FROM clock_plan_stats WHERE plan LIKE '%temporary'}), '1|3', 'temporary tables of several sessions have the same plan identifier');

# Only clock_stats_snapshot(), which members of pg_monitor may call, writes snapshots and deletes
# old ones.
foreach my $statement (q{INSERT INTO clock_node_snapshots SELECT 'infinity', dbid, userid, queryid, planid, node, depth, node_type, relation, index_name, first_seen, total_sums, self_sums FROM clock_node_snapshots},
	q{UPDATE clock_node_snapshots SET taken_at = 'infinity'}, 'DELETE FROM clock_node_snapshots', 'TRUNCATE clock_node_snapshots')
{
	like(as('regress_monitor', $statement)->{err}, qr/permission denied for table clock_node_snapshots/, "a member of pg_monitor may not execute: $statement");
}
my $times = 'SELECT count(DISTINCT taken_at) FROM clock_node_snapshots';
cmp_ok(query($times), '>', 1, 'snapshots of some times');
as('regress_monitor', q{SELECT clock_stats_snapshot(keep => '0')});
is(query($times), '1', 'only the latest snapshot is kept');

# Snapshots are never copied. The owner of a database can dump it without them, and no publication
# includes them.
query($_) foreach 'CREATE ROLE regress_owner LOGIN', 'CREATE DATABASE owned OWNER regress_owner', 'CREATE DATABASE restored';
$node->safe_psql('owned', 'CREATE EXTENSION clocktiming; SELECT clock_stats_snapshot()');
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-h', $node->host, '-p', $node->port, '-U', 'regress_owner', '-f', $dump, 'owned' ], 'the owner dumps the database');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-h', $node->host, '-p', $node->port, '-f', $dump, 'restored' ], 'the dump is restored');
is($node->safe_psql($_->[0], $times), $_->[1], "snapshots in the database $_->[0]") foreach [ 'owned', '1' ], [ 'restored', '0' ];
$node->safe_psql('owned', 'SET client_min_messages = error; CREATE PUBLICATION everything FOR ALL TABLES');
is($node->safe_psql('owned', q{SELECT count(*) FROM pg_publication_tables WHERE tablename = 'clock_node_snapshots'}), '0', 'a publication for all tables does not include snapshots');
query("DROP DATABASE $_") foreach qw(owned restored);

# Statements that call clocktiming's functions or read its views are no workload, nor are the
# statements that these functions execute. They are not in the statistics.
query(q{CREATE FUNCTION scrapes() RETURNS text LANGUAGE plpgsql AS $$BEGIN PERFORM count(*) FROM t; RETURN clock_metrics_text(); END$$});
foreach my $statement (
	'SELECT clock_metrics_text()',
	'SELECT * FROM clock_metrics',
	'SELECT m.name, t.i FROM clock_metrics m, t WHERE t.i < 3',
	'SELECT * FROM clock_plan_stats',
	'SELECT * FROM clock_node_stats(20)',
	'SELECT * FROM clock_time_spent()',
	'SELECT * FROM clock_running',
	'SELECT * FROM clock_activity',
	'SELECT * FROM clock_impact(0.1)',
	'SELECT * FROM clock_advice(0.1)',
	'SELECT clock_page()',
	'SELECT clock_stats_snapshot()',
	'SELECT * FROM clock_node_changes()',
	q{SELECT * FROM clock_query_overhead('SELECT count(*) FROM t', 0.05)},
	q{SELECT * FROM clock_explain('SELECT scrapes()')},
	'CALL clock_executor_overhead()',
	'BEGIN; DECLARE c CURSOR FOR SELECT * FROM clock_metrics; FETCH 5 FROM c; FETCH ALL FROM c; COMMIT',
	'CREATE TEMPORARY TABLE metrics AS SELECT * FROM clock_metrics',
	'PREPARE p AS SELECT * FROM clock_metrics; EXECUTE p; EXECUTE p',
	'DO $$BEGIN PERFORM clock_metrics_text(); END$$',
	'DO $$BEGIN PERFORM clock_impact(-1); EXCEPTION WHEN invalid_parameter_value THEN END$$')
{
	# As in a monitored server, the snapshot is not the first one, and the statistics are not empty.
	query("$on SELECT count(*) FROM t");
	query('SELECT clock_stats_snapshot()');
	my $before = query('SELECT sum(executions + failed_executions) FROM clock_plan_stats');
	query("$on $statement");
	is(query('SELECT sum(executions + failed_executions) FROM clock_plan_stats') - $before, 0, "not counted: $statement")
	  or diag query('SELECT executions, plan FROM clock_plan_stats ORDER BY last_seen DESC LIMIT 3');
}

# Other statements of the session are counted, also after an error in clocktiming's function, and
# also if a function calls clocktiming's.
reset_all();
my $own = ClockSession->new($node);
$own->query($on);
is($own->query('SELECT clock_impact(-1)')->{state}, '22023', 'an error');
$own->query('SELECT count(*) FROM t');
$own->query('SELECT scrapes()');
is(query(q{SELECT string_agg(regexp_replace(plan, E'\n *->', ':') || ' ' || executions, ', ' ORDER BY plan) FROM clock_plan_stats}),
	'Aggregate:  Seq Scan on t 2, Result 1', 'counted: statements that only execute others');
$own->quit;

# Many sessions with many plans. All executions are counted as long as shared memory is free. When
# it is full, no session hangs.
query(join ';', map { "CREATE TABLE p$_ AS SELECT 1 AS i" } 1 .. 70);
my $script = $node->basedir . '/many.sql';
append_to_file($script, qq{\\set a random(1, 70)\n\\set b random(1, 70)\n$on\nSELECT count(*) FROM p:a JOIN p:b AS b USING (i);\n});

sub many
{
	my ($sessions, $transactions) = @_;
	$node->command_ok(
		[ 'pgbench', '-n', '-c', $sessions, '-j', 2, '-t', $transactions, '-f', $script, '-h', $node->host, '-p', $node->port, 'postgres' ],
		"$sessions sessions");
	return;
}

foreach my $max (100, 6000)
{
	$node->append_conf('postgresql.conf', "clocktiming.track_max = $max");
	$node->restart;
	reset_all();
	many(30, 50);
	cmp_ok(query('SELECT count(*) FROM clock_plan_stats'), '<=', $max, "no more than $max plans");
	is(query(q{SELECT m ->> 'evicted_plans_total' <> '0', m ->> 'kept_plans' = (SELECT count(*)::text FROM clock_plan_stats),
			extract(epoch FROM now()) - (m ->> 'plans_reset_timestamp_seconds')::float8 BETWEEN 0 AND 86400
			FROM (SELECT jsonb_object_agg(substr(name, 10), value) AS m FROM clock_metrics WHERE name ~ 'plans') AS metrics}),
		($max == 100 ? 't' : 'f') . '|t|t', 'metrics say whether plans were evicted');
	next if $max == 100;
	is_about(1500, 'no execution is lost', executions('%Seq Scan on p%'));
}

# A file with more plans than fit into memory. The server reads those with the longest total time.
my $most = query('SELECT queryid FROM clock_plan_stats ORDER BY total_ms DESC LIMIT 1');
$node->append_conf('postgresql.conf', 'clocktiming.track_max = 100');
$node->restart;
is(query(qq{SELECT count(*) BETWEEN 50 AND 100, bool_or(queryid = $most) FROM clock_plan_stats}), 't|t', 'with less memory, the plans with the longest times are kept');

$node->stop;
done_testing();
