
# Functions that measure queries. The state of the session is the same afterwards, however the
# measurement ends. No user can read or change more than by executing the query.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE ROLE regress_ordinary LOGIN;
	CREATE ROLE regress_watcher LOGIN IN ROLE pg_monitor;
	CREATE TABLE secret (a int);
	INSERT INTO secret SELECT generate_series(1, 100);
	CREATE TABLE shared (owner text, a int);
	INSERT INTO shared SELECT CASE WHEN i <= 10 THEN 'regress_watcher' ELSE 'other' END, i FROM generate_series(1, 100) AS i;
	ALTER TABLE shared ENABLE ROW LEVEL SECURITY;
	CREATE POLICY own ON shared USING (owner = current_user);
	GRANT SELECT ON shared TO regress_watcher;
	CREATE TABLE log (a int);
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN INSERT INTO log VALUES (1); RETURN NULL; END';
	CREATE TRIGGER note AFTER INSERT ON secret FOR EACH ROW EXECUTE FUNCTION note();
});

# Queries for all state that a measurement changes temporarily.
my $state = $ClockSession::state . q{
	SELECT to_regclass('pg_temp.clock_overhead_rows') IS NULL;
	SELECT count(*) FROM secret};
my $session = ClockSession->new($node);
my $killer = ClockSession->new($node);
# Loads the libraries before the state is stored, because the state includes settings that the
# libraries define.
$session->query('SELECT count(*) FROM clock_sources; DO $$BEGIN END$$');
my $before = $session->query($state)->{out};
like($before, qr/\noff\nt\n0\nt\n100$/, 'the state before');

my $slow = 'SELECT count(*) FROM generate_series(1, 3000000)';
my %long = (
	'CALL clock_executor_overhead(duration => 60)' => 'the procedure',
	"CALL clock_executor_overhead(1000000, 'table', duration => 60)" => 'the procedure with a table',
	'SELECT clock_executor_overhead_runs(duration => 60)' => 'runs',
	q{SELECT clock_executor_overhead_runs(duration => 60, path => 'statement')} => 'runs of statements',
	"SELECT clock_query_overhead('$slow', 60)" => 'a query',
	q{SELECT clock_query_overhead('INSERT INTO secret SELECT generate_series(1, 1000)', 60, true)} => 'a write');

foreach my $statement (sort keys %long)
{
	my $what = $long{$statement};
	my $result = $session->query_with_timeout(150, $statement);

	is($result->{state}, '57014', "$what: times out");
	cmp_ok($result->{seconds}, '<', 30, "$what: long before its own end");
	$session->gives($state, $before, "$what: nothing is left behind");

	$session->send($statement);
	$session->wait_until_running('clock_', 0.1);
	is($session->interrupted($killer, 'pg_cancel_backend')->{state}, '57014', "$what: is cancelled");
	$session->gives($state, $before, "$what: nothing is left behind after a cancellation");

	# An error in a subtransaction, after which the transaction continues
	$session->query('BEGIN');
	$session->query('INSERT INTO log VALUES (7)');
	$session->query('SAVEPOINT s');
	$session->query("SET LOCAL statement_timeout = '150ms'");
	is($session->query($statement)->{state}, '57014', "$what: times out in a subtransaction");
	$session->query('ROLLBACK TO s');
	is($session->query('SELECT count(*) FROM log')->{out}, '1', "$what: the transaction goes on");
	is($session->query('SHOW transaction_read_only')->{out}, 'off', "$what: the transaction is not read-only");
	is($session->query('INSERT INTO log VALUES (8)')->{state}, '00000', "$what: the transaction can write");
	$session->query('ROLLBACK');
	$session->gives($state, $before, "$what: nothing is left behind after the subtransaction");
}

# An error in the middle of the query, which a handler catches
is( $session->query(
		q{DO $$BEGIN
			PERFORM clock_query_overhead('SELECT 1 / (50 - a) FROM secret', 0.1);
		EXCEPTION WHEN division_by_zero THEN
			INSERT INTO log VALUES (9);
		END$$})->{state}, '00000', 'an error that is caught');
is($session->query('SELECT count(*) FROM log')->{out}, '1', 'the handler could write');
$session->gives($state, $before, 'nothing is left behind after an error');
$session->query('TRUNCATE log');

# Writes are rolled back, including those of triggers.
my $rows = $session->query(
	q{SELECT count(*) FROM clock_query_overhead('INSERT INTO secret VALUES (-1)', 0.1, allow_writes => true)});
is($rows->{out}, '4', 'a write is measured');
is($session->query('SELECT count(*) FROM log')->{out}, '0', 'the write of its trigger is rolled back');
$session->gives($state, $before, 'the write itself is rolled back');

# Memory does not grow with the number of runs.
$session->query(q{SELECT count(*) FROM clock_query_overhead('SELECT 1', 0.2)});
my $first = $session->memory;
$session->query(q{SELECT count(*) FROM clock_query_overhead('SELECT 1', 0.2)}) for 1 .. 5;
cmp_ok($session->memory - $first, '<', 100_000, 'memory does not grow');

# Reports of progress
$session->query("SET clocktiming.progress_interval = '200ms'");
my $reports;
for (1 .. 10)
{
	my $progress = $session->query("SELECT count(*) FROM clock_query_overhead('SELECT pg_sleep(0.001)', 1)")->{err};

	$reports = () = $progress =~ /^NOTICE:  progress: clock_query_overhead: \d+\.\d s elapsed, \d+\.\d s remaining, \d+ rounds/mg;
	last if $reports >= 2;
}
cmp_ok($reports, '>=', 2, 'progress is reported');
$session->quit;

# The functions raise an error if another extension instruments the query, because the executions
# that should be neither counted nor timed would then be instrumented.
$session = ClockSession->new($node);
SKIP:
{
	skip 'no auto_explain here', 2 if $session->query(q{LOAD 'auto_explain'})->{state} ne '00000';
	$session->query('SET auto_explain.log_min_duration = 0');
	$session->query('SET auto_explain.log_analyze = on');
	is($session->query('CALL clock_executor_overhead(100, duration => 0.05)')->{state}, '55000',
		'auto_explain.log_analyze raises an error');
	$session->query('SET auto_explain.log_analyze = off');
	is($session->query('CALL clock_executor_overhead(100, duration => 0.05)')->{state}, '00000',
		'auto_explain without log_analyze raises no error');
}
$session->quit;

# Privileges
foreach my $statement (grep { !/clock_query_overhead/ } sort keys %long)
{
	my ($status, $stdout, $stderr) = $node->psql('postgres', $statement, extra_params => [ '-U', 'regress_ordinary' ]);
	like($stderr, qr/permission denied for (function|procedure) clock_/, "$long{$statement}: not for an ordinary role");
}
my $watcher = ClockSession->new($node, user => 'regress_watcher');
is($watcher->query('CALL clock_executor_overhead(100, duration => 0.05)')->{state}, '00000',
	'a member of pg_monitor may measure');
is($watcher->query(q{SELECT clock_query_overhead('SELECT * FROM secret', 0.05)})->{state}, '42501',
	'a member of pg_monitor may not read a table without privileges');
is($watcher->query(q{SELECT clock_query_overhead('INSERT INTO shared VALUES (1)', 0.05, true)})->{state}, '42501',
	'a member of pg_monitor may not write to a table without privileges');
# Of 100 rows, row-level security shows 10 to this user. So the node is called 11 times: once per
# row, and once at the end.
is($watcher->query(q{SELECT DISTINCT node_calls FROM clock_query_overhead('SELECT * FROM shared', 0.05)})->{out}, '11',
	'row-level security applies to the caller');
$_->quit foreach ($watcher, $killer);

$node->stop;
done_testing();
