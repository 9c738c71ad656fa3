
# Which executions the statistics of plans time: a random sample, from which the number and the time
# of all executions must be estimated correctly. Also tests what happens if settings change during a
# statement.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

my $node = PostgreSQL::Test::Cluster->new('main');
my $statements = -f $node->config_data('--sharedir') . '/extension/pg_stat_statements.control';
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'clocktiming" . ($statements ? ', pg_stat_statements' : '') . "'\n" . q{
clocktiming.track = on
clocktiming.max_overhead = 20
max_parallel_workers_per_gather = 0
jit = off
});
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE a AS SELECT i FROM generate_series(1, 20) AS i;
	CREATE TABLE b AS SELECT i FROM generate_series(1, 100000) AS i;
	ANALYZE;
	-- Executes a statement n times. Returns how many of the executions failed.
	CREATE FUNCTION repeats(statement text, n integer) RETURNS integer LANGUAGE plpgsql AS $$
	DECLARE
		failed integer := 0;
	BEGIN
		FOR i IN 1 .. n LOOP
			BEGIN
				EXECUTE statement;
			EXCEPTION WHEN division_by_zero THEN
				failed := failed + 1;
			END;
		END LOOP;
		RETURN failed;
	END;
	$$});

sub query { return $node->safe_psql('postgres', $_[0]); }

# Returns statistics of the plans that scan a table: number of executions and its margin, timed
# executions, and failed executions.
sub known
{
	my ($table) = @_;
	my $found = query(qq{SELECT sum(executions), sum(executions_margin), sum(timed_executions), sum(failed_executions)
		FROM clock_plan_stats WHERE plan LIKE '%Scan on $table' AND plan NOT LIKE '%Append%'});
	my %known;

	@known{qw(executions margin timed failed)} = map { $_ eq '' ? 0 : $_ } split /\|/, $found;
	return %known;
}

# A short statement, of which only few executions are timed
my $n = 20000;
query("SELECT repeats('SELECT count(*) FROM a', $n)");
my %short = known('a');
cmp_ok($short{timed}, '>', 1, 'some of many short executions are timed');
cmp_ok($short{timed}, '<', $n / 4, 'and only few short executions are timed');
is("$short{executions} +/- $short{margin}", "$n +/- 0", 'all executions are counted');
is($short{failed}, 0, 'no execution has failed');

# A new session begins with the sampling rate that earlier sessions have determined for the query.
query("SELECT repeats('SELECT count(*) FROM a', 10)") for 1 .. 20;
my %again = known('a');
cmp_ok($again{timed} - $short{timed}, '<', 100, 'not each new session times them at once');

# A long statement is timed at each execution if max_overhead is so large that timing may double its
# duration.
$node->append_conf('postgresql.conf', 'clocktiming.max_overhead = 100');
$node->reload;
query("SELECT repeats('SELECT pg_sleep(0.1) FROM b LIMIT 1', 8)");
my %long = known('b');
is($long{executions}, 8, 'long executions are counted') or diag explain \%long;
is($long{timed}, 8, 'all long executions are timed');
is($long{margin}, 0, 'so their number has no margin');

# The mean duration of short executions must not include the cost of timing, and no cost may be
# subtracted twice. Hence it is between the shortest and the longest duration in pg_stat_statements.
SKIP:
{
	skip 'pg_stat_statements is not there', 1 unless $statements;
	query('CREATE EXTENSION pg_stat_statements; CREATE TABLE rows AS SELECT i, i % 10 AS k FROM generate_series(1, 600) AS i; ANALYZE rows');
	query(q{SET pg_stat_statements.track = 'all'; SET clocktiming.max_overhead = 50; SELECT repeats('SELECT count(*) FROM rows WHERE k > 2', 5000)});
	is( query(q{SELECT mean_ms >= min_exec_time, mean_ms <= max_exec_time FROM clock_plan_stats JOIN pg_stat_statements USING (dbid, userid, queryid)
			WHERE plan LIKE '%Seq Scan on rows'}),
		't|t', 'the mean of short executions')
	  or diag query(q{SELECT mean_ms, timed_executions, min_exec_time, mean_exec_time FROM clock_plan_stats JOIN pg_stat_statements USING (dbid, userid, queryid)
			WHERE plan LIKE '%Seq Scan on rows'});
}

# Executions that fail
query('SELECT clock_stats_reset()');
is(query("SELECT repeats('SELECT 1 / (i - 20) FROM a', 3000)"), 3000, 'a statement that fails each time');
my $failed = query(q{SELECT sum(failed_executions) FROM clock_plan_stats});
cmp_ok($failed, '>', 1000, 'the number of failed executions is estimated');
cmp_ok($failed, '<', 9000, 'and the estimate is less than three times the true number');

# Cursors, whose executions may be continued, end early, or never begin
query('SELECT clock_stats_reset()');
my $s = ClockSession->new($node);
foreach my $statements (
	'DECLARE c CURSOR FOR SELECT * FROM b; FETCH 10 FROM c; ROLLBACK',
	'DECLARE c CURSOR FOR SELECT * FROM b; FETCH 0 FROM c; FETCH 10 FROM c; ROLLBACK',
	'DECLARE c CURSOR FOR SELECT * FROM b; FETCH 0 FROM c; ROLLBACK',
	'DECLARE c CURSOR FOR SELECT * FROM b; ROLLBACK')
{
	is($s->query("BEGIN; $statements")->{state}, '00000', $statements);
}
is(query('SELECT coalesce(sum(failed_executions), 0) FROM clock_plan_stats'), 0, 'a cursor that is closed early has not failed');

# Cursors that fail between two fetches, and cursors that end without an error
$s->query('SET clocktiming.track_everything = on');
$s->query('CREATE TABLE e AS SELECT i FROM a');
foreach my $case (
	[ 1, q{DO $$ DECLARE r record; BEGIN FOR r IN SELECT i FROM e LOOP PERFORM 1 / 0; END LOOP; END $$} ],
	[ 1, q{DO $$ DECLARE r record; BEGIN FOR r IN SELECT i FROM e LOOP PERFORM 1 / 0; END LOOP; EXCEPTION WHEN division_by_zero THEN END $$} ],
	[ 1, 'BEGIN; DECLARE c CURSOR FOR SELECT * FROM e; FETCH 10 FROM c; SELECT 1 / 0; ROLLBACK' ],
	[ 1, 'BEGIN; SAVEPOINT s; DECLARE c CURSOR FOR SELECT * FROM e; FETCH 10 FROM c; SELECT 1 / 0; ROLLBACK TO s; COMMIT' ],
	[ 0, 'BEGIN; DECLARE c CURSOR FOR SELECT * FROM e; FETCH 10 FROM c; ROLLBACK' ],
	[ 0, 'BEGIN; SAVEPOINT s; DECLARE c CURSOR FOR SELECT * FROM e; FETCH 10 FROM c; ROLLBACK TO s; COMMIT' ],
	[ 0, 'BEGIN; SAVEPOINT s; SAVEPOINT t; DECLARE c CURSOR FOR SELECT * FROM e; FETCH 10 FROM c; ROLLBACK TO s; COMMIT' ],
	[ 0, 'BEGIN; DECLARE c CURSOR FOR SELECT * FROM e; FETCH 10 FROM c; COMMIT' ])
{
	my ($failed, $statements) = @$case;

	query('SELECT clock_stats_reset()');
	$s->query($statements);
	is(query('SELECT coalesce(sum(failed_executions), 0) FROM clock_plan_stats'), $failed, "$failed failed: $statements");
}

# Executions without a query id
$s->query("CREATE TABLE q_$_ AS SELECT i FROM a") foreach qw(cursor ctas into view atomic off);
$s->query('CREATE FUNCTION atomic() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM q_atomic; SELECT max(i) FROM q_atomic; END');
$s->query($_) foreach (
	'BEGIN; DECLARE c CURSOR FOR SELECT * FROM q_cursor; FETCH 10 FROM c; FETCH ALL FROM c; COMMIT',
	'CREATE TABLE q_2 AS SELECT i + 1 FROM q_ctas',
	'SELECT i INTO q_3 FROM q_into',
	'CREATE MATERIALIZED VIEW v AS SELECT i + 1 FROM q_view',
	'REFRESH MATERIALIZED VIEW v',
	'SELECT atomic()',
	'SET compute_query_id = off; SELECT i FROM q_off; RESET compute_query_id');
is( query(q{SELECT string_agg(plan || ' ' || executions, ',' ORDER BY plan COLLATE "C")
		FROM (SELECT regexp_replace(plan, '.* on q_', '') AS plan, sum(executions) AS executions FROM clock_plan_stats WHERE plan LIKE '%Scan on q!_%' ESCAPE '!' GROUP BY 1) AS p}),
	'atomic 2,ctas 1,cursor 1,into 1,off 1,view 2',
	'executions without a query id are counted');
is(query('SELECT count(*) FROM clock_plan_stats WHERE queryid = 0'), '0', 'an execution without a query id has an id derived from its plan');
$s->query('RESET clocktiming.track_everything');

# The settings change within statements that may be timed.
$s->query(q{
	DO $$
	BEGIN
		FOR i IN 1 .. 6000 LOOP
			-- In the first half, the setting does not change, so that the statement becomes known
			-- as short.
			PERFORM set_config('test.track', CASE WHEN i < 3000 THEN 'on' ELSE 'off' END, false);
			EXECUTE 'SELECT set_config(''clocktiming.track'', current_setting(''test.track''), false)';
			PERFORM set_config('clocktiming.track', 'on', false);
		END LOOP;
	END
	$$});
is($s->query('SELECT 1')->{out}, 1, 'switched on and off within statements');
$s->query(q{BEGIN; DECLARE c CURSOR FOR SELECT * FROM b; FETCH 10 FROM c; SET clocktiming.track = off; FETCH ALL FROM c; COMMIT});
$s->query(q{BEGIN; DECLARE c CURSOR FOR SELECT * FROM b; FETCH 10 FROM c; SET LOCAL clocktiming.track = on; FETCH 10 FROM c; ROLLBACK});
is($s->query('SELECT 2')->{out}, 2, 'and between two fetches of a cursor');
$s->quit;
unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal|TRAP/, 'nothing has crashed');

done_testing();
