
# The sampler: wait events of nodes, its end during an execution, servers without a worker slot for
# it, and a single CPU. In each case the times of all nodes must add up to the duration.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

my $setup = q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE a AS SELECT i, i % 100 AS k FROM generate_series(1, 200000) AS i;
	ANALYZE a};

sub new_node
{
	my ($name, $conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init;
	$node->append_conf('postgresql.conf', "jit = off\nautovacuum = off\nmax_parallel_workers_per_gather = 0\n$conf");
	$node->start;
	$node->safe_psql('postgres', $setup);
	return $node;
}

# Returns the process ID of the sampler, which is not in pg_stat_activity without a connection to a
# database.
sub sampler
{
	my ($node) = @_;

	foreach my $file (glob '/proc/[0-9]*/cmdline')
	{
		my ($pid) = $file =~ /(\d+)/;
		my $name = eval { slurp_file($file) } // '';
		my $status = eval { slurp_file("/proc/$pid/status") } // '';

		return $pid if $name =~ /clocktiming sampler/ && $status =~ /^PPid:\s*$node->{_pid}$/m;
	}
	return;
}

# Returns a query with three results:
# - The times of all nodes, the time outside of them and the time waiting for a CPU add up to the
#   duration.
# - The node's share plus its margin is at least $least, and the share at least 60. The margin counts,
#   because a timer of 10 ms takes only some 20 samples beside other work.
# - No share is above 100.
sub sums
{
	my ($query, $node_type, $least) = @_;

	return qq{SELECT abs(sum(self_ms) + sum(cpu_wait_ms) - max(run_ms)) <= max(run_ms) / 1000,
		max(share_percent + share_margin_percent) FILTER (WHERE node_type = '$node_type') >= $least
			AND max(share_percent) FILTER (WHERE node_type = '$node_type') >= 60,
		max(share_percent) <= 100
		FROM clock_explain(\$\$$query\$\$)};
}

# Work of the filter of a scan, which takes a second or so.
my $slow = 'SELECT count(*) FROM a WHERE sqrt(abs(sin(i::float8) + cos(k::float8))) + length(repeat(md5(i::text), 4)) >= 0';

my $node = new_node('main', '');
my $session = ClockSession->new($node);
my $other = ClockSession->new($node);

# Wait events
is($session->query(q{SELECT string_agg(concat_ws(' ', node_type, waits ~ '^Timeout:PgSleep (9[5-9]|100) %$', wait_ms BETWEEN 475 AND self_ms), ', ' ORDER BY node)
	FROM clock_explain('SELECT count(*) FROM a WHERE i <= 5 AND pg_sleep(0.1) IS NOT NULL') WHERE node_type = 'Seq Scan'})->{out},
	'Seq Scan t t', 'a sleep in a filter');
# An execution that fails within a function. Its time belongs to the node that has called the function.
$session->query(q{CREATE FUNCTION fails() RETURNS integer LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM clock_explain('SELECT 1 / (pg_sleep(0.5) IS NULL)::integer');
		RETURN 1;
	EXCEPTION WHEN division_by_zero THEN
		RETURN 0;
	END $$});
is($session->query(q{SELECT string_agg(node_type, ' ' ORDER BY wait_ms DESC)
	FROM clock_explain('SELECT pg_sleep(0.05 + f) FROM (SELECT fails() AS f FROM a WHERE i = 7 OFFSET 0) AS x') WHERE node IN (1, 2)})->{out},
	'Seq Scan Subquery Scan', 'an execution that fails within a function');

is($session->query(qq{SELECT sum(wait_ms) <= max(run_ms) / 100 FROM clock_explain('$slow')})->{out}, 't', 'a plan without waits');
$other->query('BEGIN; UPDATE a SET k = k WHERE i = 7');
$session->send(q{SELECT string_agg(concat_ws(' ', node_type, waits ~ '^Lock:transactionid (9\d|100) %', wait_ms >= 1900), ', ' ORDER BY node)
	FROM clock_explain('SELECT * FROM a WHERE i = 7 FOR UPDATE', allow_writes => true) WHERE node_type = 'LockRows'});
$session->wait_until_running('string_agg', 0);
sleep(2);
$other->query('ROLLBACK');
is($session->result->{out}, 'LockRows t t', "another session's row lock");

# The sampler ends during the execution: the process continues, and the next execution has a new one.
my $pid = sampler($node);
ok(defined $pid, 'there is a sampler');
$session->send(sums($slow, 'Seq Scan', 90));
$session->wait_until_running('sum\(self_ms', 0.1);
kill('TERM', $pid);
is($session->result->{out}, 't|t|t', 'the sampler is terminated');
$node->poll_query_until('postgres', 'SELECT 1', '1');
is($session->query(sums($slow, 'Seq Scan', 90))->{out}, 't|t|t', 'after that');
isnt(sampler($node) // 0, $pid, 'another sampler runs');
$_->quit foreach $session, $other;

# auto_explain: the root's time is at most the duration of the statement.
SKIP:
{
	my $offset = -s $node->logfile;
	my ($plans, @longer, @nothing) = (0);

	skip 'there is no auto_explain', 3 if ($node->psql('postgres', q{LOAD 'auto_explain'}))[0] != 0;
	$node->safe_psql('postgres', q{LOAD '$libdir/plugins/clocktiming'; LOAD 'auto_explain'; SET auto_explain.log_analyze = on; SET auto_explain.log_min_duration = 0;
		SET clocktiming.sampled_timing = on; SET enable_seqscan = on; } . 'SELECT count(*) FROM a WHERE i < 50; SELECT 1; SELECT k, count(*) FROM a WHERE i < 2000 GROUP BY 1; ' x 50);
	my $log = slurp_file($node->logfile, $offset);
	while ($log =~ /duration: ([\d.]+) ms  plan:\n.*?\n\t\w[^\n]*actual time=[\d.]+\.\.([\d.]+) /gs)
	{
		$plans++;
		push @longer, "$2 of $1" if $2 > $1 + 0.0011;
		push @nothing, $1 if $2 == 0 && $1 > 1;
	}
	is($plans, 150, 'auto_explain: all plans');
	is("@longer", '', 'auto_explain: no root takes longer than the statement');
	is("@nothing", '', 'auto_explain: no root takes no time');
}

# All processes of the server on one CPU
SKIP:
{
	skip 'there is no taskset', 1 if system('taskset -V >/dev/null 2>&1') != 0;
	my ($cpu) = `taskset -cp $$` =~ /: (\d+)/;

	system('taskset', '-cp', $cpu, $node->{_pid});
	kill('TERM', $_) foreach sampler($node) // ();
	is($node->safe_psql('postgres', sums($slow, 'Seq Scan', 90)), 't|t|t', 'a single CPU');
}
$node->stop;

# No slot for a worker: the process samples itself, and EXPLAIN says so.
$node = new_node('none', 'max_worker_processes = 0');
is($node->safe_psql('postgres', sums($slow, 'Seq Scan', 90)), 't|t|t', 'no slot for a worker');
like($node->safe_psql('postgres', "SELECT * FROM clock_explain_text(\$\$$slow\$\$)"), qr/^Time: sampling, \d+ samples by a timer, without a sampler/m, 'EXPLAIN says so');
is(sampler($node), undef, 'there is no sampler');
$node->stop;
done_testing();
