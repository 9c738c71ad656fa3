
# clock_running shows the correct counters of running queries. A query waits for an advisory lock at
# a certain row, so the counters that must be shown are known. When a query has ended, in whatever
# way, clock_running no longer shows the query.

use strict;
use warnings;

use IO::Socket::UNIX;
use POSIX qw(setsid);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use ClockSession;
use LiveCluster;

my $cluster = LiveCluster->new;
my ($node, $holder, $session, $pid, $rows) = @$cluster{qw(node holder session pid rows)};
$node->safe_psql('postgres', q{
	CREATE ROLE regress_other;
	CREATE ROLE regress_monitor IN ROLE pg_read_all_stats;
	CREATE ROLE regress_owner SUPERUSER LOGIN});

sub query { return $cluster->query(@_); }
sub while_waiting { return $cluster->while_waiting(@_); }
sub shows { return $cluster->shows(@_); }

shows('a scan', 'SELECT hold(i, 300) FROM a', ['0|Seq Scan|1|299|running']);
shows('a hash join', 'SELECT hold(a.i, 300) FROM a JOIN b USING (i)',
	[ '0|Hash Join|1|299|running', '0|  Seq Scan|1|300|running', '0|  Hash|1|1000|finished', '0|    Seq Scan|1|1000|finished' ],
	'enable_mergejoin enable_nestloop');
shows('a nested loop', 'SELECT hold(a.i, 300) FROM a JOIN b USING (i)',
	[ '0|Nested Loop|1|299|running', '0|  Seq Scan|1|300|running', '0|  Index Only Scan|300|300|running' ],
	'enable_mergejoin enable_hashjoin enable_bitmapscan');
shows('a subplan', 'SELECT (SELECT count(*) FROM b WHERE b.i <= hold(a.i, 5)) FROM a',
	[ '0|Seq Scan|1|4|running', '0|  Aggregate|5|4|running', '0|    Seq Scan|5|10|running' ], 'enable_indexscan enable_indexonlyscan enable_bitmapscan');
shows('an InitPlan', 'SELECT i FROM a WHERE i > (SELECT count(*) FROM (SELECT hold(i, 100) FROM b OFFSET 0) s)',
	[ '0|Seq Scan|1|0|running', '0|  Aggregate|1|0|running', '0|    Seq Scan|1|99|running' ], 'enable_indexonlyscan');
shows('a CTE', 'WITH c AS MATERIALIZED (SELECT i FROM a) SELECT hold(i, 50) FROM c',
	[ '0|CTE Scan|1|49|running', '0|  Seq Scan|1|50|running' ]);
shows('a statement in a function', 'SELECT caller()', [ '1|Aggregate|1|0|running', '1|  Seq Scan|1|299|running' ]);
shows('a statement that modifies rows', 'BEGIN; UPDATE a SET k = hold(i, 20); ROLLBACK', [ '0|Update|1|0|running', '0|  Seq Scan|1|19|running' ]);
$session->query('BEGIN; DECLARE c CURSOR FOR SELECT hold(i, 300) FROM a; MOVE 100 IN c');
shows('a cursor', 'FETCH 250 FROM c', ['0|Seq Scan|1|299|running']);
is(query("SELECT state || rows $rows"), 'suspended350', 'a cursor between two fetches');
$session->query('COMMIT');
is(query("SELECT count(*) $rows"), 0, 'no rows after the cursor is closed');

# Condition: either progress is shown or the reason why it is unknown, for example because the
# planner expected fewer rows.
my $known = q{bool_and(CASE WHEN reason IS NULL THEN progress_percent BETWEEN 0 AND 99.9 AND remaining_ms >= 0 ELSE progress_percent IS NULL AND remaining_ms IS NULL END)};
while_waiting('SELECT hold(a.i, 300) FROM a JOIN b USING (i)', sub { is(query("SELECT $known $rows"), 't', 'progress'); });
while_waiting('SELECT hold(i, 300) FROM unnest((SELECT array_agg(i) FROM a)) i', sub {
	is(query("SELECT $known, bool_and(reason IS NULL) $rows AND level = 0"), 't|t', 'progress where the planner expected fewer rows');
});

# Rows of parallel workers are included: of workers that are running, of workers that have ended,
# and of the workers of all earlier rescans of Gather.
$session->query('SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off');
while_waiting('SELECT hold(count(*), 100000) FROM big', sub {
	is(query("SELECT rows, loops = (SELECT loops $rows AND node_type LIKE '%Partial%'), workers $rows AND relation = 'big'"), '100000|t|0', 'workers that have ended');
});
$session->query('SET enable_material = off');
while_waiting('SELECT hold(g, 3), s.* FROM generate_series(1, 5) g, LATERAL (SELECT count(*) FROM big WHERE i > g OFFSET 0) s', sub {
	is(query("SELECT rows $rows AND relation = 'big'"), 100000 * 3 - 6, 'rows of the workers of each rescan');
});
while_waiting('SELECT count(*) FROM big WHERE hold(i, 5000) > 0', sub {
	like(query("SELECT bool_and(rows < 100000), max(workers) > 0, bool_and(calls >= rows) $rows AND relation = 'big'"), qr/^t\|t\|t$/, 'workers that are running');
	like(query("SELECT node_type, state $rows AND busiest"), qr/^ +(?:Parallel Seq Scan|Partial Aggregate)\|running$/, 'the busiest node is not Gather');
	is(query("SELECT bool_or(share_percent IS NOT NULL) FILTER (WHERE node_type ~ 'Gather'), round(sum(share_percent)) $rows"), 'f|100', 'shares without that of Gather');
});
# Each scan is executed by one of two workers. Shares are in percent of the time of both workers.
$session->query(q{SET min_parallel_table_scan_size = '1GB'});
while_waiting('SELECT count(*) FROM (SELECT i FROM big WHERE hold(i, 50000) > 0 UNION ALL SELECT i FROM big WHERE hold(i, 50000) > 0) s', sub {
	is(query("SELECT count(*), max(abs(share - self)) < 0.01 FROM (SELECT share_percent / sum(share_percent) OVER () AS share, self_ms / sum(self_ms) OVER () AS self $rows AND depth >= 2) s"),
		'6|t', 'shares of nodes that only one worker executes') or diag query("SELECT string_agg(concat_ws(' ', node_type, loops, self_ms, share_percent), E'\n' ORDER BY node) $rows");
});
is(query("SELECT count(*) $rows"), 0, 'no rows of parallel queries remain');
$session->query("RESET $_") foreach qw(max_parallel_workers_per_gather parallel_setup_cost parallel_tuple_cost min_parallel_table_scan_size parallel_leader_participation enable_material);

# Privileges, the plan as text, metrics, and the other columns
while_waiting('SELECT hold(a.i, 300) FROM a JOIN b USING (i) WHERE k < 10', sub {
	is(query("SET ROLE regress_other; SELECT count(*) $rows"), 0, 'another user sees nothing');
	isnt(query("SET ROLE regress_monitor; SELECT count(*) $rows"), 0, 'members of pg_read_all_stats see everything');
	like(query("SELECT clock_running_text($pid)"), qr/^\S.* Join  \(cost=[\d.]+ rows=\d+ width=\d+\) \(actual time=[\d.]+ rows=299 loops=1\)\n  State: running.*\n  ->  /, 'text');
	is(query("SELECT count(*) FILTER (WHERE busiest), max(share_percent) = max(share_percent) FILTER (WHERE busiest) $rows AND level = 0 AND state = 'running'"), '1|t', 'the busiest node');
	my ($statement) = slurp_file('README.md') =~ /^(SELECT .* FROM clock_activity);/m;
	like(query($statement), qr/^$pid\|[\d:]+\|[\d.]*\|[^|]+\|Lock:advisory in Hash Join\|SELECT hold\(a\.i, 300$/m, "the README's statement");
	is(query("SELECT count(*) FROM regexp_matches(clock_running_text($pid), ', innermost', 'g')"), 1, 'one node is the innermost');
	is($node->safe_psql('postgres', q{SELECT string_agg(name || labels || (value > 0), ' ' ORDER BY name) FROM clock_metrics WHERE name ~ 'running' AND labels ->> 'node_type' IS DISTINCT FROM ''}),
		'pg_clock_longest_running_seconds{"node_type": "Hash Join"}true pg_clock_running_statements{}true', 'metrics');
	is(query("SELECT clock_running_text($pid, 5)"), '', 'no statement of that level');
	is(query("SELECT bool_and(as_of >= since AND since >= started_at AND elapsed_ms >= 0 AND wait_event_type = 'Lock' AND self_ms >= 0 AND total_ms >= self_ms AND dbname = 'postgres') $rows AND state <> 'not started'"),
		't', 'columns that describe the execution');
});

# A reader, whose own statements are published, too, is not part of what it reads.
my $of_running = q{FROM clock_metrics WHERE name IN ('pg_clock_running_statements', 'pg_clock_longest_running_seconds')};
my $force_parallel = $node->pg_version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
foreach my $settings ('', "SET max_parallel_workers_per_gather = 1; SET $force_parallel = on; ")
{
	is($node->safe_psql('postgres', "${settings}SELECT string_agg(name || ' ' || value, ', ') $of_running"),
		'pg_clock_running_statements 0', 'metrics without the reader' . ($settings eq '' ? '' : ', in a parallel worker'));
}
is($node->safe_psql('postgres', "SELECT (SELECT count(*) FROM clock_running), (SELECT count(*) FROM clock_activity), (SELECT count(*) > 0 FROM clock_running() WHERE pid = pg_backend_pid())"),
	'0|0|t', 'only the function clock_running() shows the reader');

# A cursor between two fetches is suspended. It does not count as a running statement, and its time
# does not go on. When it is fetched again, it runs again.
sub running { return $node->safe_psql('postgres', "SELECT string_agg(name || CASE WHEN name ~ 'statements' THEN ' ' || value ELSE '' END, ', ' ORDER BY name) $of_running"); }
my $one = 'pg_clock_longest_running_seconds, pg_clock_running_statements 1';
my $columns = 'node_type, state, rows, suspended_at IS NOT NULL, innermost, busiest';
while_waiting('SELECT hold(i, 300) FROM a', sub { is(running(), $one, 'metrics: a running statement'); });
$session->query('BEGIN; DECLARE c CURSOR FOR SELECT hold(i, 300) FROM a; FETCH 100 FROM c');
is(query("SELECT $columns $rows"), 'Seq Scan|suspended|100|t|f|t', 'a cursor between two fetches');
is(running(), 'pg_clock_running_statements 0', 'metrics: a suspended cursor');
my $elapsed = query("SELECT elapsed_ms $rows");
query('SELECT pg_sleep(0.1)');
is(query("SELECT elapsed_ms $rows"), $elapsed, 'its time does not go on');
like(query("SELECT clock_running_text($pid)"), qr/State: suspended$/, 'as text');
while_waiting('FETCH 300 FROM c', sub {
	is(query("SELECT $columns $rows AND relation = 'a'"), 'Seq Scan|running|299|f|t|t', 'a cursor that is fetched again');
	is(query("SELECT elapsed_ms <= 1000 * extract(epoch FROM clock_timestamp() - started_at) - 100 $rows AND relation = 'a'"), 't', 'its time is without that between the fetches');
	is(running(), $one, 'metrics: a cursor that is fetched again');
	like(query("SELECT clock_running_text($pid)"), qr/State: running, innermost; now: Lock:advisory; waits so far: Lock:advisory \d+ %$/, 'as text');
});
is(query("SELECT state, rows $rows"), 'suspended|400', 'a cursor after the second fetch');
$session->query('FETCH ALL FROM c');
is(query("SELECT rows, suspended_at IS NOT NULL $rows"), '1000|t', 'a cursor that has returned all rows');
is(running(), 'pg_clock_running_statements 0', 'metrics: such a cursor');
$session->query('COMMIT');
is(query("SELECT count(*) $rows"), 0, 'a closed cursor is not shown');

# A portal of the extended query protocol is suspended after the requested number of rows.
my $portal = Portal->new($node, 'SELECT i FROM a');
my $of_portal = "FROM clock_running WHERE pid = $portal->{pid}";
foreach my $n (1, 2)
{
	is($portal->execute(10), 's', "execution $n of a portal: suspended after 10 rows");
	is(query("SELECT $columns $of_portal"), "Seq Scan|suspended|${n}0|t|f|t", 'it is shown as suspended');
	is(running(), 'pg_clock_running_statements 0', 'metrics: a suspended portal');
}
is($portal->execute(0), 'C', 'the last execution of the portal');
$portal->end;
$node->poll_query_until('postgres', "SELECT count(*) = 0 $of_portal") or die 'it is still shown';

# The statistics and clock_running show an execution to the same users: to those with whose rights
# it is executed, and to members of pg_read_all_stats. The caller of a SECURITY DEFINER function sees
# no relations that the function reads, because he may have no rights on them.
$node->safe_psql('postgres', q{
	CREATE ROLE regress_caller LOGIN;
	CREATE ROLE regress_definer;
	GRANT regress_definer TO regress_caller;
	GRANT SELECT ON a TO regress_definer;
	CREATE FUNCTION definer() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
	BEGIN
		RETURN (SELECT count(*) FROM (SELECT hold(i, 300) FROM a OFFSET 0) s);
	END $$;
	ALTER FUNCTION definer() OWNER TO regress_definer;
	ALTER ROLE regress_caller SET clocktiming.track = on;
	ALTER ROLE regress_caller SET clocktiming.track_everything = on});
my %running;
sub relations { my ($view, $user) = @_; return query("SET SESSION AUTHORIZATION $user; SELECT string_agg(DISTINCT coalesce(relation, '-') || ' ' || username, ', ') FROM $view"); }
my @users = qw(regress_caller regress_definer regress_other regress_monitor);
$cluster->{session} = ClockSession->new($node, user => 'regress_caller');
$rows = $cluster->{rows} = "FROM clock_running WHERE pid = ${\ $cluster->{session}->pid}";
while_waiting('SELECT k FROM generate_series(1, 3) k, definer() d WHERE d > 0', sub { %running = map { $_ => relations('clock_running', $_) } @users; });
$cluster->{session}->quit;
is($running{regress_caller}, '- regress_caller', 'the caller of a SECURITY DEFINER function');
is($running{regress_definer}, '- regress_definer, a regress_definer', 'its owner');
is($running{regress_other}, '', 'another user');
is($running{regress_monitor}, '- regress_caller, - regress_definer, a regress_definer', 'a member of pg_read_all_stats');
is(relations('clock_node_stats', $_), $running{$_}, "the statistics show the same: $_") foreach @users;
$cluster->{session} = $session;
$rows = $cluster->{rows} = "FROM clock_running WHERE pid = $pid";

# Executions that have failed, or were cancelled or killed, are no longer shown, and their slots are
# used again.
is(query('SELECT count(*) FROM clock_running'), 0, 'nothing is shown where nothing runs');
$session->query('SELECT 1 / (i - 500) FROM a') foreach 1 .. 300;
while_waiting('SELECT hold(i, 300) FROM a', sub {
	is(query("SELECT count(*) $rows AND level = 0"), 1, 'slots of failed executions are free');
	query("SELECT pg_cancel_backend($pid)");
	$node->poll_query_until('postgres', "SELECT count(*) = 0 $rows") or die 'it is still shown';
	pass('a cancelled one is not shown');
});
my $killed = ClockSession->new($node);
$holder->query('SELECT pg_advisory_lock(1)');
$killed->send('SELECT hold(i, 300) FROM a');
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted});
query("SELECT pg_terminate_backend(${\ $killed->pid})");
$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM clock_running WHERE pid = ${\ $killed->pid}") or die 'it is still shown';
pass('a terminated one is not shown');
$killed = ClockSession->new($node);
$killed->send('SELECT hold(i, 300) FROM a');
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted});
kill 'KILL', $killed->pid;
usleep(100_000);
$node->poll_query_until('postgres', 'SELECT true') or die 'the server does not come back';
is(query('SELECT count(*) FROM clock_running'), 0, 'a killed one is not shown');

# Calls of an execution that lasts longer than expected are counted only from clocktiming.live_after
# on. live_late_only treats all executions in this way.
$cluster->new_session;
($session, $pid, $rows) = @$cluster{qw(session pid rows)};
$session->query('SET clocktiming.live_late_only = on; SET clocktiming.live_after = 10; SET clocktiming.live_interval = 1');
my $long = 'SELECT count(*), sum(x.i) FROM big x JOIN big y USING (p), generate_series(1, 100) g';
$session->send($long);
$node->poll_query_until('postgres', "SELECT count(*) > 0 AND bool_or(rows > 1000) $rows") or die 'it is not shown';
is(query("SELECT bool_and(since > started_at AND progress_percent IS NULL AND reason IS NOT NULL) $rows"), 't', 'a late one');
is($session->result->{out}, '10000000|500005000000', 'its result');

# The first counters are published at once. They have no times yet.
$long = q{SELECT g % 7, count(*) FROM big, generate_series(1, 10000) AS g WHERE md5(p || g) < 'zz' GROUP BY 1 ORDER BY 2};
$session->query('SET clocktiming.live_interval = 10000');
$session->send($long);
$node->poll_query_until('postgres', "SELECT count(*) > 0 AND count(self_ms) = 0 AND count(share_percent) = 0 $rows") or die 'there is a time';
is(query("SELECT node IS NULL AND share_percent IS NULL FROM clock_activity WHERE pid = $pid"), 't', 'clock_activity shows no node without times');
query("SELECT pg_cancel_backend($pid)");
is($session->result->{state}, '57014', 'the first counters of a late one: no times');

# The time for which other processes use the CPU is not part of the call that was in progress when
# the counters began. With two busy loops per CPU, it is more than half of the elapsed time. Each
# loop has a session of its own, like each backend, because Linux shares the CPUs among sessions. The
# aggregate itself takes a few percent.
$session->query('SET clocktiming.live_interval = 1; SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0');
chomp(my $cpus = `nproc`);
my $test = $$;
my @loops = map { my $loop = fork // die "fork: $!"; if (!$loop) { setsid(); 1 while getppid() == $test; POSIX::_exit(0) } $loop } 1 .. 2 * $cpus;
$session->send($long);
my $shown = $node->poll_query_until('postgres', "SELECT count(*) > 0 AND bool_or(as_of > since + interval '1 s') $rows");
my $percent = query("SELECT share_percent $rows AND node_type LIKE '%Partial HashAggregate'");
kill 'KILL', @loops;
waitpid $_, 0 foreach @loops;
ok($shown, 'a parallel one beside busy loops is shown');
cmp_ok($percent, '<', 30, 'its aggregate: the share does not include waits for a CPU');
query("SELECT pg_cancel_backend($pid)");
is($session->result->{state}, '57014', 'it is cancelled');

# clocktiming counts calls by functions that replace those of the nodes (stubs). The results of
# statements do not change, at whatever moment the stubs are installed.
my @statements = grep { /\S/ } split /\n/, q{
SELECT count(*), sum(a.i), sum(b.i) FROM big a JOIN big b ON b.i = a.i + 1 WHERE a.i < 20000
SELECT md5(string_agg(p, '')) FROM (SELECT p FROM big WHERE i < 20000 ORDER BY p) s
SELECT i % 7, count(*), max(p) FROM big WHERE i < 30000 GROUP BY 1 ORDER BY 1
SELECT sum((SELECT max(b.i) FROM b WHERE b.i < a.i)) FROM a WHERE k < 3
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 20000) SELECT sum(n) FROM r
WITH c AS MATERIALIZED (SELECT * FROM big WHERE i < 10000) SELECT (SELECT count(*) FROM c), count(*) FROM c x JOIN c y USING (p)
SELECT sum(s) FROM (SELECT sum(i) OVER (PARTITION BY i % 10 ORDER BY i) AS s FROM big WHERE i < 20000) s
SELECT count(*) FROM (SELECT i FROM big WHERE i < 20000 EXCEPT SELECT i FROM b) s
SELECT count(*) FROM a WHERE i NOT IN (SELECT i FROM big WHERE i % 3 = 0)
SET enable_hashjoin = off; SET enable_mergejoin = off; SELECT count(*) FROM a JOIN b USING (i); RESET enable_hashjoin; RESET enable_mergejoin
SET max_parallel_workers_per_gather = 2; SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SELECT count(*), max(p) FROM big WHERE i < 20000; RESET max_parallel_workers_per_gather
BEGIN; DECLARE c SCROLL CURSOR FOR SELECT i FROM big ORDER BY p LIMIT 20000; MOVE 15000 IN c; FETCH 2 FROM c; MOVE BACKWARD 9000 IN c; FETCH 2 FROM c; COMMIT
BEGIN; CREATE TEMP TABLE w AS SELECT i FROM big WHERE i < 10000; UPDATE w SET i = i + 1; WITH d AS (DELETE FROM w WHERE i % 2 = 0 RETURNING i) SELECT sum(i) FROM d; ROLLBACK
};
my $all = join ";\n", @statements;
my $expected = $node->safe_psql('postgres', "SET clocktiming.live = off; $all");
my $log_at = -s $node->logfile;
my $differ = 0;
foreach (1 .. 10)
{
	$differ++ if $node->safe_psql('postgres', "SET clocktiming.live_late_only = on; SET clocktiming.live_after = 1; SET clocktiming.live_interval = 1; SET log_min_messages = debug1; $all") ne $expected;
}
is($differ, 0, 'results with stubs installed at random moments');
cmp_ok(scalar(() = slurp_file($node->logfile, $log_at) =~ /published from now on/g), '>', 20, 'stubs were installed during executions');

# Many readers, while counters are written: all shown counters of an execution must be of the same
# moment. At one moment, the numbers of rows of Limit and of Seq Scan differ by at most one, for the
# call that is being executed.
$node->append_conf('postgresql.conf', 'clocktiming.live_interval = 1');
$node->reload;
my @writers = map { ClockSession->new($node) } 1 .. 8;
$_->send(q{SELECT i FROM big WHERE i > 0 LIMIT 100000 \g /dev/null}) foreach @writers;
my ($looks, $bad) = (0, 0);
while ($looks < 200)
{
	$bad += query("SELECT count(*) FROM (SELECT pid, max(rows) - min(rows) AS d FROM clock_running WHERE depth < 2 GROUP BY pid HAVING count(*) = 2) s WHERE d NOT IN (0, 1)");
	$looks++;
	$_->send(q{SELECT i FROM big WHERE i > 0 LIMIT 100000 \g /dev/null}) foreach $looks % 20 == 0 ? @writers : ();
}
is($bad, 0, 'no row is torn');
$_->quit foreach @writers;

# clocktiming.live is turned off.
$node->append_conf('postgresql.conf', 'clocktiming.live = off');
$node->reload;
$node->poll_query_until('postgres', q{SELECT current_setting('clocktiming.live') = 'off'});
my $off = ClockSession->new($node);
$off->send('SELECT hold(i, 300), pg_sleep(0.001) FROM a LIMIT 200');
usleep(50_000);
is(query("SELECT count(*) FROM clock_running WHERE pid = ${\ $off->pid}"), 0, 'off');
$off->result;
$off->quit;

done_testing();

# A session that executes a statement in a transaction block by messages of the extended query
# protocol, as drivers do. psql cannot limit the number of rows of an execution.
package Portal;

sub new
{
	my ($class, $node, $sql) = @_;
	my $socket = IO::Socket::UNIX->new($node->host . '/.s.PGSQL.' . $node->port) or die "connect: $!";
	my $self = bless { socket => $socket }, $class;
	my $startup = pack('N(Z*)5', 196608, 'user', (getpwuid($<))[0], 'database', 'postgres', '');

	$socket->print(pack('N', 4 + length $startup) . $startup);
	$self->until_ready;
	$self->message('Q', pack('Z*', 'BEGIN'));
	$self->until_ready;
	$self->message('P', pack('Z*Z*n', '', $sql, 0));
	$self->message('B', pack('Z*Z*nnn', '', '', 0, 0, 0));
	return $self;
}

sub message
{
	my ($self, $type, $content) = @_;

	$self->{socket}->print($type . pack('N', 4 + length $content) . $content);
	$self->{socket}->flush;
	return;
}

# Reads messages up to ReadyForQuery. Returns the type of the message before.
sub until_ready
{
	my ($self) = @_;
	my ($type, $before) = ('', '');

	while ($type ne 'Z')
	{
		$before = $type;
		read($self->{socket}, my $header, 5) == 5 or die 'the session has ended';
		($type, my $length) = unpack('aN', $header);
		read($self->{socket}, my $content, $length - 4) if $length > 4;
		die "error: $content" if $type eq 'E';
		$self->{pid} = unpack('N', $content) if $type eq 'K';
	}
	return $before;
}

# Requests n rows, all remaining ones if n is 0. Returns the type of the last message: s
# (PortalSuspended) or C (CommandComplete).
sub execute
{
	my ($self, $n) = @_;

	$self->message('E', pack('Z*N', '', $n));
	$self->message('S', '');
	return $self->until_ready;
}

sub end { my ($self) = @_; $self->message('X', ''); return; }
