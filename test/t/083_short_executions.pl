
# Short executions whose nodes work one after the other, on a server whose sampler is busy with another
# query and sleeps between samples. Each node must get its share, wherever in the execution it works.

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
clocktiming.max_overhead = 100
compute_query_id = on
max_parallel_workers_per_gather = 0
jit = off
autovacuum = off
});
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE first AS SELECT i FROM generate_series(1, 10000) AS i;
	CREATE TABLE middle AS TABLE first;
	CREATE TABLE last AS TABLE first;
	VACUUM ANALYZE});

# The same work at each table
my $query = 'SELECT count(*) FROM first UNION ALL SELECT count(*) FROM middle UNION ALL SELECT count(*) FROM last';

# The other query, and two loops so that no CPU is idle
my $other = ClockSession->new($node);
$other->send("SET clocktiming.track = on; SELECT count(*) FROM generate_series(1, 300000000)");
my @loops = map { my $pid = fork; if ($pid == 0) { 1 while getppid != 1 } $pid } 1 .. 2;

$node->safe_psql('postgres', "SET clocktiming.track = on;\n" . "$query;\n" x 1000);
kill 'KILL', @loops;
waitpid $_, 0 foreach @loops;
$node->safe_psql("postgres", "SELECT pg_cancel_backend(" . $other->pid . ")");
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> } . $other->pid);

my %share = split /[|\n]/, $node->safe_psql('postgres', q{
	SELECT coalesce(n.relation, n.node_type), sum(n.share_percent)
	FROM clock_node_stats AS n JOIN clock_plan_stats AS p USING (dbid, userid, queryid, planid)
	WHERE p.plan LIKE '%Append%' GROUP BY 1});
my $shares = join ', ', map { "$_ $share{$_} %" } sort keys %share;

# The true shares of the scans are equal. If the first sample stood only for the time before it, the
# first scan would have a fifth of the others' time.
my $mean = ($share{first} + $share{middle} + $share{last}) / 3;
cmp_ok($share{$_}, '>', 0.6 * $mean, "the scan of $_ has its share") or diag $shares foreach qw(first middle last);
cmp_ok($share{$_}, '<', 1.4 * $mean, "and not more, $_") or diag $shares foreach qw(first middle last);

# Some executions end before a sample
cmp_ok($share{Append}, '<', 8, 'time without samples is not the root\'s') or diag $shares;
is($node->safe_psql('postgres', q{SELECT bool_and(executions = 1000) FROM clock_plan_stats WHERE plan LIKE '%Append%'}), 't', 'all executions are counted');
note $shares;

# An execution without a sample: its time is the root's, and the margin is as large. Only the time of
# ExecutorFinish() is certainly outside of the nodes. Again if the process lost its CPU for so long
# that it has sampled itself.
my $known;
for (1 .. 5)
{
	$node->safe_psql('postgres', 'SELECT clock_stats_reset()');
	$node->safe_psql('postgres', 'SET clocktiming.sampler_off = on; SET clocktiming.track = on; SELECT FROM first LIMIT 1');
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM clock_plan_stats WHERE plan LIKE '%Limit%'});
	$known = $node->safe_psql('postgres', q{SELECT bool_and(CASE WHEN n.node_type = 'Limit' THEN n.share_percent > 60 AND n.self_margin_ms >= 0.9 * n.self_ms ELSE n.share_percent < 40 END)
		FROM clock_node_stats AS n JOIN clock_plan_stats AS p USING (dbid, userid, queryid, planid) WHERE p.plan LIKE '%Limit%'});
	last if $known eq 't';
}
is($known, 't', 'without samples, the time is the root\'s, and not known') or diag $node->safe_psql('postgres', 'SELECT node_type, self_ms, self_margin_ms, share_percent FROM clock_node_stats');

$other->quit;
$node->stop;
done_testing();
