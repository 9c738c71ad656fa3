
# Executions that fail where others go on: within EXCEPTION blocks, in cursors, and while the live view
# begins to publish them. Nothing of them may remain: neither pointers to memory that is freed, nor
# rows in clock_running.

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
clocktiming.track = on
clocktiming.live = on
clocktiming.live_after = 100ms
compute_query_id = on
jit = off
autovacuum = off
});
$node->start;
sub query { return $node->safe_psql('postgres', $_[0]); }

query(q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE closed (i integer);
	CREATE FUNCTION shut(c refcursor) RETURNS integer LANGUAGE plpgsql AS $$BEGIN CLOSE c; RETURN 1; END$$;
	CREATE FUNCTION deep(n integer) RETURNS void LANGUAGE plpgsql AS
		$$BEGIN IF n > 0 THEN PERFORM deep(n - 1); ELSE PERFORM pg_sleep(2); END IF; END$$;
	CREATE TABLE parts (k integer) PARTITION BY LIST (k);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
	CREATE TABLE parts_32 PARTITION OF parts FOR VALUES IN (32);
	INSERT INTO parts VALUES (1), (32)});

# The first execution of a cursor lasts long and fails. Later, a function closes the cursor within
# another statement, and then one lasts long.
my $fails = q{DO $do$ DECLARE c refcursor; r record; BEGIN
	OPEN c FOR SELECT sum(1 / (3000000 - i)) FROM generate_series(1, 3000000) AS i;
	BEGIN FETCH c INTO r; EXCEPTION WHEN division_by_zero THEN NULL; END;
	INSERT INTO closed SELECT shut(c);
	PERFORM deep(4);
END $do$};
my $session = ClockSession->new($node);
my ($pid) = $session->query('SELECT pg_backend_pid()')->{out};
# The sampler is running, and executions are published late only.
$session->query('SELECT pg_sleep(0.3)');
$session->query('SET clocktiming.live_late_only = on; SET clocktiming.track = off');
foreach my $time (1 .. 2)
{
	$session->send($fails);
	ok($node->poll_query_until('postgres', "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $pid"), "after an execution that has failed, others go on, time $time");
	is(query("SELECT count(*) FROM clock_running WHERE pid = $pid AND node_type ~ 'Aggregate'"), 0, 'the failed one is not shown');
	is($session->result->{err} // '', '', 'no error');
}
is(query('SELECT count(*) FROM closed'), 2, 'the statements were executed');
$session->query('RESET clocktiming.live_late_only; RESET clocktiming.track');

# A statement is cancelled while the live view begins to publish it: its start takes long, as it
# chooses partitions by an expression that cannot be interrupted, and is not evaluated before.
$session->query('SET plan_cache_mode = force_generic_plan; PREPARE slow(numeric) AS SELECT count(*) FROM parts WHERE k = length((' . join(' + ', ('$1 * $1') x 16) . ')::text)');
foreach my $time (1 .. 2)
{
	like($session->query(q{SET clocktiming.live_after = 0; SET statement_timeout = '200ms'; EXECUTE slow(repeat('9', 65000)::numeric)})->{err} // '', qr/statement timeout/, "cancelled at its start, time $time");
	$session->query('RESET statement_timeout; RESET clocktiming.live_after');
}
$session->send('SELECT pg_sleep(0.1), i FROM generate_series(1, 60) AS i');
ok($node->poll_query_until('postgres', "SELECT min(level) = 0 AND max(level) = 0 FROM clock_running WHERE pid = $pid"), 'a later statement is the outermost one');
$session->result;
$session->quit;

$node->stop;
done_testing();
