
# Progress of running executions in clock_running, and that publishing them does no harm.

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

# A Limit frees what Gather shares with its workers, in the middle of the execution or at its end.
my $parallel = 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;';
foreach my $interval (0, 100)
{
	is($node->safe_psql('postgres', "$parallel SET clocktiming.live_interval = $interval; SELECT count(*) FROM (SELECT i FROM big WHERE i % 10 = 0 LIMIT 8000) s, generate_series(1, 3)"),
		24000, "LIMIT above Gather, published every $interval ms");
}

# Calls that become long all at once: they are published although few of them are timed.
$node->safe_psql('postgres', q{CREATE FUNCTION slow(i integer) RETURNS integer LANGUAGE plpgsql AS $$
	BEGIN
		IF i > 200000 THEN
			PERFORM pg_sleep(5);
		END IF;
		RETURN i;
	END $$});
my $session = ClockSession->new($node);
$session->send("SELECT slow(i) FROM generate_series(1, 300000) i\n\\g /dev/null");
ok($node->poll_query_until('postgres', "SELECT max(rows) > 200000 FROM clock_running WHERE pid = ${\ $session->pid} AND level = 0"),
	'a call that follows a long one is seen');
$node->safe_psql('postgres', "SELECT pg_cancel_backend(${\ $session->pid})");
$session->result;

done_testing();
