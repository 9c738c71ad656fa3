
# The progress of running executions in clock_running. Publishing it must not affect the executions.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'clocktiming'
clocktiming.live = on
clocktiming.live_after = 0
jit = off
restart_after_crash = off
});
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE big AS SELECT i, md5(i::text) AS p FROM generate_series(1, 100000) AS i;
	ANALYZE});

# When a Limit above Gather has all of its rows, Gather frees its shared memory, possibly before the
# execution ends. Publishing must not read this memory afterwards.
my $parallel = 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;';
foreach my $interval (1, 100)
{
	is($node->safe_psql('postgres', "$parallel SET clocktiming.live_interval = $interval; SELECT count(*) FROM (SELECT i FROM big WHERE i % 10 = 0 LIMIT 8000) s, generate_series(1, 3)"),
		24000, "LIMIT above Gather, published every $interval ms");
}

# Executions that are expected to be long are published from their start. Each row of the query says
# whether its own execution is shown.
$node->safe_psql('postgres', q{
	CREATE FUNCTION shown() RETURNS integer LANGUAGE sql VOLATILE COST 1000000 AS
		'SELECT count(*)::integer FROM clock_running() WHERE pid = pg_backend_pid() AND level = 0';
	CREATE FUNCTION many() RETURNS SETOF integer LANGUAGE sql ROWS 100000000 AS 'VALUES (1)';
	CREATE FUNCTION few() RETURNS SETOF integer LANGUAGE sql VOLATILE ROWS 1000 AS 'VALUES (1)';
	CREATE FUNCTION cheap() RETURNS integer LANGUAGE plpgsql VOLATILE COST 1 AS 'BEGIN RETURN shown(); END'});
my $after = 'SET clocktiming.live_after = 10000;';
is($node->safe_psql('postgres', "$after SELECT shown() > 0 FROM few()"), 't', 'expected to be long, with expensive rows: from the start');
is($node->safe_psql('postgres', "$after SELECT shown() > 0 FROM few() LIMIT 1"), 'f', 'the same with LIMIT 1: not from the start');
is($node->safe_psql('postgres', "$after SELECT cheap() > 0 FROM many()"), 'f', 'expected to be long, with cheap rows: not from the start');
is($node->safe_psql('postgres', "$after SET clocktiming.max_overhead = 100; SELECT cheap() > 0 FROM many()"), 't', 'the same with a larger max_overhead: from the start');
is($node->safe_psql('postgres', "$after SET clocktiming.live_late_only = on; SELECT shown() > 0 FROM few()"), 'f', 'live_late_only');
my $first = 'SELECT cheap() > 0 FROM (SELECT pg_sleep(0.2) FROM generate_series(1, 2) OFFSET 0) s, pg_sleep(0);';
is($node->safe_psql('postgres', "SET compute_query_id = on; SET clocktiming.live_after = 100; $first SET clocktiming.live_after = 10000; $first"),
	"f\nt\nt\nt", 'was long before: from the start');

# If the counters begin during the execution, progress is derived from the position of a scan. In
# this test, counting begins at half of the table. progress() is called when a tenth of the table
# has been counted, and four tenths remain. A second query calls progress() when a thousandth has been
# counted, from which no time is extrapolated. progress() waits until the counters are published.
$node->safe_psql('postgres', q{
	CREATE FUNCTION progress() RETURNS text LANGUAGE sql VOLATILE AS $$
		SELECT pg_sleep(0.2);
		SELECT concat_ws(', ', (remaining_ms / 1000 + extract(epoch FROM clock_timestamp() - as_of)) / extract(epoch FROM as_of - since) BETWEEN 1.2 AND 8, reason)
		FROM clock_running() WHERE pid = pg_backend_pid() AND level = 0 AND node = 1$$});
my $late = 'SET max_parallel_workers_per_gather = 0; SET clocktiming.live_interval = 1; SET clocktiming.live_after = 200; SET clocktiming.live_late_only = on;';
my $at = q{CASE WHEN i = 50000 THEN pg_sleep(0.3)::text WHEN i = 55000 THEN pg_sleep(0.6)::text WHEN i = 60000 THEN progress() END};
is($node->safe_psql('postgres', "$late SELECT max($at) FROM big"), 't', 'remaining time of a scan');
(my $soon = $at) =~ s/60000/50100/;
is($node->safe_psql('postgres', "$late SELECT max($soon) FROM big"), 'too early', 'remaining time just after the counters began');
is($node->safe_psql('postgres', "$late SELECT max($at) FROM generate_series(1, 100000) i"), 'began late',
	'a node whose position is unknown');

# Remaining time of a hash aggregate that has read 0.6 of its input, as a multiple of the time so
# far. With few groups, the multiple is 0.4 / 0.6. If the aggregate writes rows to disk, it must
# process them after its input. The query calls remains() for a group that is in memory. remains()
# waits until the counters are published.
$node->safe_psql('postgres', q{
	CREATE TABLE grouped AS SELECT i, i % 10 AS few FROM generate_series(1, 100000) i;
	ANALYZE grouped;
	CREATE FUNCTION remains() RETURNS numeric LANGUAGE sql VOLATILE AS $$
		SELECT pg_sleep(0.2);
		SELECT round((remaining_ms / 1000 + extract(epoch FROM clock_timestamp() - as_of))::numeric / extract(epoch FROM as_of - since)::numeric, 2)
		FROM clock_running() WHERE pid = pg_backend_pid() AND level = 0 AND node = 1$$});
sub remains
{
	my ($settings, $by, $limit) = (@_, '');

	my $remains = q{max(CASE WHEN i = 59990 THEN pg_sleep(0.6)::text WHEN i = 60000 THEN remains()::text END)};
	return $node->safe_psql('postgres', "SET enable_sort = off; $settings SELECT $remains FROM grouped GROUP BY $by HAVING $remains <> ''$limit");
}
my ($few, $all, $spilled) = (remains('', 'few'), remains(q{SET work_mem = '64MB';}, 'i'), remains(q{SET work_mem = '64kB';}, 'i % 59900'));
cmp_ok(abs($few - 0.67), '<', 0.1, "few groups: $few");
cmp_ok(abs($all - 1.08), '<', 0.15, "as many groups as rows: $all");
cmp_ok(abs($spilled - 2), '<', 0.3, "groups on disk: $spilled");
# For count(DISTINCT ...), an Agg node sorts its input. Without GROUP BY, it does so after it has
# read all rows. With GROUP BY, it sorts each group. When these queries call remains(), no sort has
# begun, so its time is computed from the cost.
my $rows = '(SELECT i, few, CASE WHEN i = 59990 THEN pg_sleep(0.6)::text WHEN i = 60000 THEN remains()::text END AS r FROM grouped OFFSET 0) AS s';
my $inside = $node->pg_version >= 16 ? 'SET enable_presorted_aggregate = off;' : '';
my ($unsorted, $whole, $plain, $distinct) = map { $node->safe_psql('postgres', "SET enable_hashagg = off; $inside SELECT r FROM (SELECT max(r) AS r, $_) AS s WHERE r IS NOT NULL AND n > 0") }
	"count(i) AS n FROM $rows", "count(DISTINCT i) AS n FROM $rows", "count(i) AS n FROM $rows GROUP BY few", "count(DISTINCT i) + count(DISTINCT -i) + count(DISTINCT i % 7) AS n FROM $rows GROUP BY few";
cmp_ok($whole, '>', $unsorted + 0.05, "remaining time / elapsed time, count(DISTINCT ...) without groups: $whole; count(...): $unsorted");
cmp_ok($distinct, '>', $plain + 0.4, "remaining time / elapsed time, count(DISTINCT ...) of groups: $distinct; count(...): $plain");
# The Limit computes its number of rows for 0.3 s, before it returns a row. This time must not be
# extrapolated.
$node->safe_psql('postgres', 'CREATE FUNCTION slow_limit() RETURNS bigint LANGUAGE sql VOLATILE AS $$SELECT 7 FROM pg_sleep(0.3)$$');
my $above = remains('SET clocktiming.max_overhead = 100;', 'few', ' LIMIT slow_limit()');
cmp_ok($above, '<', 1, "a node that has done no work yet: $above");
cmp_ok($above, '>', 0.3, 'a node that has done no work yet: the others count');

# The time of a node with a tiny part of the plan's cost is not extrapolated to the whole plan.
$node->safe_psql('postgres', q{CREATE FUNCTION slow_start() RETURNS SETOF integer LANGUAGE sql VOLATILE ROWS 1 COST 1 AS 'SELECT 1 FROM pg_sleep(0.2)'});
is($node->safe_psql('postgres', 'SET clocktiming.live_interval = 1; SET max_parallel_workers_per_gather = 0; SELECT max(CASE WHEN i = 500 THEN progress() END) FROM slow_start(), big'),
	'too early', 'only a cheap node has been executed');

# Counters are published during a long call.
$node->safe_psql('postgres', q{CREATE FUNCTION slow(i integer) RETURNS integer LANGUAGE plpgsql AS $$
	BEGIN
		IF i > 200000 THEN
			PERFORM pg_sleep(5);
		END IF;
		RETURN i;
	END $$});
my $session = ClockSession->new($node);
$session->send("SELECT slow(i) FROM generate_series(1, 300000) i\n\\g /dev/null");
ok($node->poll_query_until('postgres', "SELECT max(rows) = 200000 FROM clock_running WHERE pid = ${\ $session->pid} AND level = 0"),
	'the counters during a long call');
$node->safe_psql('postgres', "SELECT pg_cancel_backend(${\ $session->pid})");
$session->result;

done_testing();
