
# pg_log_query_plan(), which is proposed for PostgreSQL 20, replaces the functions of all nodes of a
# running plan by ExecProcNodeFirst(). test/module/plan_logger.c does the same. Results, rows, loops
# and the division of the time must not change, and nothing may crash, while EXPLAIN is sampled and
# clocktiming.track and clocktiming.live are on.

use strict;
use warnings;

use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use LiveCluster;

my $module = ($ENV{CLOCKTIMING_SHIM_DIR} || '') . '/../module/plan_logger.so';
plan skip_all => "no $module: say by CLOCKTIMING_SHIM_DIR where the shims are" unless -f $module;

# log_at(i, n) logs the plan when i is a multiple of n.
my $cluster = LiveCluster->new("shared_preload_libraries = 'clocktiming,$module'\nclocktiming.track = on\nclocktiming.track_everything = on\n");
my $node = $cluster->{node};
$node->safe_psql(
	'postgres', qq{
	CREATE FUNCTION log_plan(n integer) RETURNS integer LANGUAGE c STABLE PARALLEL SAFE COST 1 AS '$module', 'plan_logger_log';
	CREATE FUNCTION wraps() RETURNS bigint LANGUAGE c AS '$module', 'plan_logger_wraps';
	CREATE FUNCTION log_at(i integer, n integer) RETURNS integer LANGUAGE sql STABLE PARALLEL SAFE COST 1
		AS 'SELECT CASE WHEN \$1 % \$2 = 0 THEN log_plan(\$1) ELSE \$1 END';
	CREATE FUNCTION inner_count(n integer) RETURNS bigint LANGUAGE plpgsql AS
		\$\$BEGIN RETURN (SELECT count(*) FROM a AS x JOIN a AS y USING (i) WHERE log_at(x.i, 37) % 100 < n); END\$\$;
	CREATE INDEX ON a (i);
	ANALYZE;
});
my $started = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');

my @queries = (
	'SELECT count(*) FROM a WHERE f(i, n) > 0',
	'SELECT f(i, n) FROM a WHERE k > 5',
	'SELECT f(i, n) FROM a ORDER BY k LIMIT 400',
	'SELECT sum(f(s.i, n)) FROM (SELECT i FROM a ORDER BY k OFFSET 0) s',
	'SELECT x.i FROM a AS x JOIN a AS y USING (i) WHERE f(y.k, n) + f(x.k, n) >= 0',
	'SELECT x.i FROM a AS x, LATERAL (SELECT k FROM a AS y WHERE y.i = x.i AND f(y.i, n) > 0 OFFSET 0) AS y WHERE f(x.i, n) > 0',
	'SELECT i FROM a WHERE f(i, n) > 0 AND (SELECT count(*) FROM a AS b WHERE b.i IN (a.i, a.i + 1) AND f(b.i, n) > 0) > 0',
	'SELECT k, sum(f(i, n)) FROM a GROUP BY k HAVING f(k, n) >= 0 ORDER BY k',
	'WITH c AS MATERIALIZED (SELECT f(i, n) AS i FROM a) SELECT count(*) FROM c JOIN (SELECT i FROM c LIMIT 100) AS d USING (i) WHERE f(i, n) > 0',
	'SELECT i FROM a WHERE k = 1 UNION ALL SELECT f(i, n) FROM a WHERE k < 5',
	'SELECT inner_count(k) FROM a WHERE f(i, n) <= 3',
	'SELECT i FROM a WHERE i IN (SELECT f(i, n) FROM b) AND i > (SELECT min(f(i, n)) FROM b)');

# Returns the lines of the nodes, with rows and loops, but without times.
sub nodes
{
	my ($text) = @_;
	return join("\n", map { /^( *(?:->  )?[A-Z][^(]*?) +\(actual (?:time=\S+ )?(rows=\S+ loops=\S+)\)/ ? "$1 $2" : /never executed/ ? $_ : () } split(/\n/, $text));
}

sub with
{
	my ($query, $n) = @_;
	$query =~ s/f\(([^()]*?), n\)/$n ? "log_at($1, $n)" : "abs($1)"/ge;
	return $query;
}

my $session = ClockSession->new($node);
$session->query('SET enable_hashagg = on; SET enable_mergejoin = off; SET enable_memoize = off');
foreach my $sampled ('on', 'off')
{
	$session->query("SET clocktiming.sampled_timing = $sampled");
	foreach my $late ('off', 'on')
	{
		$session->query("SET clocktiming.live_late_only = $late");
		foreach my $options ('BUFFERS off', 'BUFFERS on')
		{
			foreach my $query (@queries)
			{
				my $explain = "EXPLAIN (ANALYZE, COSTS off, SUMMARY off, $options)";
				my $undisturbed = with($query, 0);
				my $result = $session->query($undisturbed)->{out};
				my $expected = nodes($session->query("$explain $undisturbed")->{out});

				foreach my $n (1, 7, 997)
				{
					my $logged = with($query, $n);
					my $what = "sampled_timing = $sampled, live_late_only = $late, $options: $logged";
					my $explained = $session->query("$explain $logged");

					is(nodes($explained->{out}), $expected, "$what: rows and loops") or diag("$explained->{state} $explained->{err}");
					is($session->query($logged)->{out}, $result, "$what: result");
				}
			}
		}
	}
}
cmp_ok($session->query('SELECT wraps()')->{out}, '>', 1000, 'the functions of nodes were replaced');

# The division of the time. Each row of a scan takes at least 10 ms, and another node replaces the
# functions of the nodes before the first row (InitPlan), at the first row, or at each row.
my $slow = 'SELECT i FROM a WHERE i <= 20 AND pg_sleep(0.01) IS NOT NULL OFFSET 0';
my %slow = (
	'at the first row, by an aggregate' => "SELECT sum(log_at(i - 1, 1000)) FROM ($slow) s",
	'at each row, by an aggregate' => "SELECT sum(log_at(i, 1)) FROM ($slow) s",
	'at the first row, by the scan itself' => "SELECT count(*) FROM (SELECT i FROM a WHERE i <= 20 AND log_at(i - 1, 1000) >= 0 AND pg_sleep(0.01) IS NOT NULL OFFSET 0) s",
	'at each row, by a join' => "SELECT count(*) FROM ($slow) s JOIN a ON s.i = a.i AND log_at(s.i + a.k, 1) > 0");
$session->query('SET clocktiming.sampled_timing = on; SET enable_indexscan = off; SET enable_bitmapscan = off; RESET clocktiming.live_late_only');

# Returns the self time of the slow scan, and the total time, in ms.
sub slow_scan
{
	my ($plan) = @_;
	my ($self, $total) = (0, $plan->{'Actual Total Time'} * $plan->{'Actual Loops'});
	my @nodes = ($plan);

	while (my $n = shift @nodes)
	{
		push @nodes, @{ $n->{Plans} || [] };
		$self = $n->{'Actual Total Time'} * $n->{'Actual Loops'} if ($n->{Filter} // '') =~ /pg_sleep/;
	}
	return ($self, $total);
}
foreach my $when (sort keys %slow)
{
	my $result = $session->query("EXPLAIN (ANALYZE, FORMAT json) $slow{$when}");
	my ($self, $total) = slow_scan(decode_json($result->{out})->[0]{Plan});

	# The scan waits for at least 200 ms.
	cmp_ok($self, '>', 100, "$when: the scan has its time") or diag $result->{out};
	is($result->{err}, '', "$when: no warning");
}

# clock_running shows the right rows and loops, and which node is at work.
foreach my $late ('off', 'on')
{
	$cluster->{session}->query("SET clocktiming.live_late_only = $late");
	$cluster->shows("live_late_only = $late: logged at each row", 'SELECT hold(log_at(i, 1), 300) FROM a', ['0|Seq Scan|1|299|running']);
	$cluster->shows(
		"live_late_only = $late: a join",
		'SELECT hold(log_at(a.i, 7), 300) FROM a JOIN b USING (i)',
		[ '0|Hash Join|1|299|running', '0|  Seq Scan|1|300|running', '0|  Hash|1|1000|finished', '0|    Seq Scan|1|1000|finished' ],
		'enable_mergejoin enable_nestloop') if $late eq 'off';
}
$cluster->{session}->query('RESET clocktiming.live_late_only');

# Functions are replaced by a signal handler, at any moment, in each process.
$session->query("SET plan_logger.interval = 1");
foreach my $workers (0, 2)
{
	$session->query("SET max_parallel_workers_per_gather = $workers; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0");
	foreach my $query (
		'SELECT count(*) FROM big AS x JOIN big AS y USING (i)',
		'SELECT p FROM big ORDER BY p DESC OFFSET 99990',
		'SELECT count(*) FROM (SELECT i % 100 AS k, count(*) FROM big GROUP BY 1) s',
		'SELECT count(*) FROM big AS x WHERE i <= 1000 AND (SELECT count(*) FROM a WHERE a.i < x.i % 50) >= 0')
	{
		my $expected = do { $session->query('SET plan_logger.interval = 0'); my $r = $session->query($query)->{out}; $session->query('SET plan_logger.interval = 1'); $r };

		for my $time (1 .. 3)
		{
			my $explained = $session->query("EXPLAIN (ANALYZE, COSTS off, SUMMARY off) $query");

			is($explained->{state}, '00000', "$workers workers, each ms: $query") or diag $explained->{err};
			is($session->query($query)->{out}, $expected, "$workers workers, each ms: $query: result");
		}
	}
}
cmp_ok($session->query('SELECT wraps()')->{out}, '>', 100, 'functions were replaced by the signal handler');
is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $started, 'the server has not crashed');
$session->quit;
$node->stop;

done_testing();
