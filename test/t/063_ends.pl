
# The estimated end of running executions: from the rows that nodes have, and from earlier executions
# of the plan, and how often the estimates came true.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use LiveCluster;

my $cluster = LiveCluster->new;
my ($node, $session, $pid, $rows) = @$cluster{qw(node session pid rows)};

sub query { return $cluster->query(@_); }
sub while_waiting { return $cluster->while_waiting(@_); }

# A nested loop over an aggregate that returns 401 rows, where the planner expects many more. Each row
# of the aggregate takes the same time. When half of them are done, as much time remains as has passed.
$node->safe_psql('postgres', q{
	CREATE TABLE s10 AS SELECT i FROM generate_series(1, 10000) i;
	CREATE TABLE big2 AS SELECT i FROM generate_series(1, 100) i;
	ANALYZE s10, big2;
	CREATE FUNCTION nap(g integer) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
	BEGIN
		PERFORM pg_sleep(0.005);
		RETURN true;
	END $$});
$session->query('SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_sort = off');
my $aggregate = 'SELECT i / 25 AS g, count(*) AS n FROM s10 GROUP BY 1 OFFSET 0';
my $state = q{round((remaining_ms / elapsed_ms)::numeric, 2)};
while_waiting("SELECT count(*) FROM ($aggregate) c CROSS JOIN LATERAL (SELECT hold(CASE WHEN i = 1 AND row_number() OVER () = 1 THEN c.n ELSE 0 END, -1) FROM big2 LIMIT 3) b WHERE nap(c.g::integer) AND hold(c.g, 200) >= 0",
	sub {
		my $expected = query("SELECT estimated_rows $rows AND level = 0 AND node_type ~ 'HashAggregate'");
		cmp_ok($expected, '>', 4000, "the planner expects too many groups: $expected");
		my $ratio = query("SELECT $state $rows AND level = 0 AND node = 1");
		my $done = query("SELECT sum(rows) $rows AND level = 0 AND node_type ~ 'HashAggregate'");
		cmp_ok($done, '<=', 401, "$done groups are done");
		cmp_ok($ratio, '<', (402 - $done) / $done * 2, "remaining time / elapsed time: $ratio");
	});
$session->query('RESET ALL');

# An aggregate that sorts the rows of each group for DISTINCT. In the second of two groups, the input
# has been read to its end, but the group's work is not done.
$node->safe_psql('postgres', q{
	CREATE FUNCTION held(state bigint, i bigint) RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT hold(i, 9999)';
	CREATE AGGREGATE last_held(bigint) (SFUNC = held, STYPE = bigint)});
$session->query('SET enable_hashagg = off');
$session->query('SET enable_presorted_aggregate = off') if $node->pg_version >= 16;
while_waiting('SELECT i % 2, last_held(DISTINCT i) FROM s10 GROUP BY 1', sub {
	is(query("SELECT state $rows AND level = 0 AND node_type ~ 'Scan'"), 'finished', 'the input has been read');
	is(query("SELECT node_type, rows $rows AND level = 0 AND node = 1"), 'GroupAggregate|1', 'one of two groups is done');
	cmp_ok(query("SELECT progress_percent $rows AND level = 0 AND node = 1"), '<', 90, 'the progress does not state that the end is near');
});

# An aggregate with two grouping sets sorts and reads its rows a second time. One set has two groups,
# the other one three, so the fourth group is in the second pass.
$node->safe_psql('postgres', 'CREATE SEQUENCE groups');
while_waiting(q{SELECT i % 2, i % 3, count(*) FROM s10 GROUP BY GROUPING SETS ((1), (2)) HAVING hold(nextval('groups'), 4) >= 0}, sub {
	is(query("SELECT state $rows AND level = 0 AND node_type ~ 'Scan'"), 'finished', 'grouping sets: the input has been read');
	cmp_ok(query("SELECT progress_percent $rows AND level = 0 AND node = 1"), '<', 90, 'the progress of the second of two passes');
});
$session->query('RESET ALL');

# A recursive query has no estimate from its rows, so an estimate is that of earlier executions.
# Returns such a query, which waits in while_waiting().
sub recursive { my ($n) = @_; return "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT hold(i + 1, 5)::integer FROM r WHERE i < 9) SELECT count(*) + $n FROM r"; }

# Executes a query in the session. Returns the columns of clock_running while it waits.
sub seen
{
	my ($sql, $columns) = @_;
	my $result;

	while_waiting($sql, sub { $result = query("SELECT $columns $rows AND level = 0 AND node = 1"); });
	return $result;
}
my $unknown = 'recursive query';
my $columns = q{coalesce(reason, 'known')};
my $known = 'reason IS NULL AND progress_percent BETWEEN 0 AND 99.9 AND remaining_low_ms BETWEEN 0 AND remaining_ms AND remaining_high_ms > remaining_ms';
is(seen(recursive(1), $columns), $unknown, 'no earlier execution');
$session->query(recursive(1)) for 1 .. 2;
is(seen(recursive(1), $known), 't', 'three earlier executions');
is(seen(recursive(2), $columns), $unknown, 'another query');

# An estimate agrees with the earlier durations.
my $nap = 'WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT CASE WHEN nap(i) THEN hold(i + 1, 3) END::integer FROM r WHERE i < 200) SELECT count(*) FROM r';
my @past;
for (1 .. 3)
{
	my $start = $session->query('SELECT extract(epoch FROM clock_timestamp()) * 1000')->{out};
	$session->query($nap);
	push @past, $session->query('SELECT extract(epoch FROM clock_timestamp()) * 1000')->{out} - $start;
}
@past = sort { $a <=> $b } @past;
my ($total, $low, $high, $elapsed) = split /\|/, seen($nap, 'elapsed_ms + remaining_ms, elapsed_ms + remaining_low_ms, elapsed_ms + remaining_high_ms, elapsed_ms');
SKIP:
{
	skip 'the machine is too slow', 2 if $elapsed > 900;
	cmp_ok($total, '>', 900, "an estimate of $total ms is at least the shortest possible duration");
	cmp_ok($low, '<=', $past[-1], "its range, from $low to $high ms, contains earlier durations: " . join(', ', map { int } @past));
}

# Executions that did not reach their end leave no history.
$session->send(recursive(3) . ' WHERE 1 / (i - 9) < 1');
$session->result;
is(seen(recursive(3) . ' WHERE 1 / (i - 9) < 1', $columns), $unknown, 'after an error');
while_waiting(recursive(4), sub { query("SELECT pg_cancel_backend($pid)"); });
is(seen(recursive(4), $columns), $unknown, 'after a cancel');
(my $all = recursive(5)) =~ s/count\(\*\) \+ 5/i/;
$session->query("BEGIN; DECLARE c CURSOR FOR $all; FETCH 3 FROM c; COMMIT");
$session->query("BEGIN; DECLARE c CURSOR FOR $all");
is(seen('FETCH ALL FROM c', $columns), $unknown, 'after a cursor that was not read to its end');
$session->query('COMMIT');
$session->query("BEGIN; DECLARE c CURSOR FOR $all");
is(seen('FETCH ALL FROM c', $columns), 'known', 'after a cursor that was read to its end');
$session->query('COMMIT');

# A reset forgets the history.
query('SELECT clock_stats_reset(queryid => 1)');
is(seen(recursive(1), $columns), 'known', 'a reset of another query');
query('SELECT clock_stats_reset()');
is(seen(recursive(1), $columns), $unknown, 'a reset');
is(seen(recursive(1), $columns), 'known', 'an execution after the reset');

# The history of another user is not used, and other users do not see estimates.
$node->safe_psql('postgres', 'CREATE ROLE regress_other; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO regress_other');
$session->query('SET ROLE regress_other');
while_waiting(recursive(1), sub {
	is(query("SELECT $columns $rows AND level = 0 AND node = 1"), $unknown, "another user's history is not used");
});
$session->query('RESET ROLE');
while_waiting(recursive(1), sub {
	is(query("SET ROLE regress_other; SELECT count(*) $rows"), 0, "another user does not see the estimate");
});

# How often ends were within the estimated range. Executions that nobody has observed do not count.
sub ends { return { map { split /\|/ } split /\n/, $node->safe_psql('postgres', q{SELECT labels ->> 'ended', value FROM clock_metrics WHERE name = 'pg_clock_estimated_ends_total'}) }; }
sub change { my ($before, $after) = @_; return join ' ', map { $after->{$_} - $before->{$_} } qw(before within after); }
my $before = ends();
$session->query(recursive(1));
is(change($before, ends()), '0 0 0', 'an execution that was not observed');
$session->query(recursive(6)) for 1 .. 3;
$before = ends();
while_waiting(recursive(6), sub {
	my $end = query("SELECT elapsed_ms + remaining_high_ms $rows AND level = 0 AND node = 1");
	$cluster->wait_for("SELECT extract(epoch FROM clock_timestamp() - query_start) * 1000 > 2 * $end FROM pg_stat_activity WHERE pid = $pid");
});
is(change($before, ends()), '0 0 1', 'an execution that lasts longer than the range');
while_waiting(recursive(7), sub { $cluster->wait_for("SELECT clock_timestamp() - query_start > '8 s' FROM pg_stat_activity WHERE pid = $pid"); });
$before = ends();
my $least;
while_waiting(recursive(7), sub { $least = query("SELECT min(remaining_low_ms) $rows AND level = 0"); });
SKIP:
{
	skip 'the machine is too slow', 1 if $least < 2000;
	is(change($before, ends()), '1 0 0', 'an execution that ends before the range');
}

done_testing();
