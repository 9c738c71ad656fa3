
# The server is started in another time namespace, whose CLOCK_BOOTTIME differs from the machine's,
# and it is restored from a checkpoint, after which CLOCK_BOOTTIME goes on from the checkpoint. Each
# is one event of its own, and neither a change of the time of day nor a suspension. Then the time of
# day changes again and again: events that repeat are counted, and the log does not fill.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockShim;

plan(skip_all => 'this kernel has no time namespaces') unless -e '/proc/self/ns/time';

my $kernel = ClockShim->new('kernel_clock');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $changes = 45;				# of the time of day; more than WATCH_BURST
my $stored = 30;				# WATCH_BURST

sub write_file { my ($name, $text) = @_; return ClockShim::put_file("$directory/$name", $text); }

# Sets the offset in s of CLOCK_BOOTTIME in the namespace. The worker must see neither the clock
# without the offset nor the offset without the clock, so it is stopped meanwhile.
sub set_namespace
{
	my ($node, $offset) = @_;
	my $worker = $node && ClockShim::watcher($node);

	kill('STOP', $worker) if $worker;
	write_file('namespace', $offset);
	write_file('timens_offsets', "monotonic           0         0\nboottime   $offset         0");
	kill('CONT', $worker) if $worker;
	return;
}

write_file('synchronised', 1);
set_namespace(undef, 0);
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'clocktiming'\nclocktiming.watch = on\nclocktiming.watch_interval = 100ms\nautovacuum = off");
sub start { return $kernel->start($node, KERNEL_CLOCK_DIR => $directory); }
sub query { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }

my $rows = q{SELECT coalesce(sum(intervals), 0) FROM clock_history WHERE per = 'hour'};
sub intervals { my $now = query($rows); return ok($node->poll_query_until('postgres', "SELECT ($rows) >= $now + 3"), 'the worker looks at the clock'); }

my $kinds = q{SELECT coalesce(string_agg(what, ' ' ORDER BY at), '') FROM clock_events WHERE what IN ('time of day', 'container', 'resume', 'machine')};
start();
query('CREATE EXTENSION clocktiming');
intervals();
is(query($kinds), '', 'no event at first');
$node->restart;
intervals();
is(query($kinds), '', 'no event after a restart in the same namespace');

$node->stop;
set_namespace(undef, 86400);
start();
intervals();
is(query($kinds), 'container', 'a restart in another time namespace: one event');
like(query(q{SELECT after || ': ' || evidence FROM clock_events WHERE what = 'container'}), qr/^time namespace \d+, offset 86400.0 s: the server was started in another container/, 'the event says so');

set_namespace($node, 86300);
intervals();
is(query($kinds), 'container container', 'restored 100 s after the checkpoint: one event');
like(query(q{SELECT after || ': ' || evidence FROM clock_events WHERE what = 'container' OFFSET 1}), qr/^time namespace \d+, offset 86300.0 s: the server was restored while it ran/, 'the event says so');
is(query(q{SELECT trusted FROM clock_trust(now() - interval '1 minute')}), 'f', 'times that include the restore are not trusted');

# A library such as libfaketime lets the time of day run away from CLOCK_BOOTTIME.
my $total = q{SELECT value FROM clock_metrics WHERE name = 'pg_clock_events_total' AND labels ->> 'what' = 'time of day'};
foreach my $i (1 .. $changes)
{
	write_file('set', $i);
	$node->poll_query_until('postgres', "SELECT ($total) = $i") or last;
}
is(query($total), $changes, "all $changes changes of the time of day are in the metric");
is(query(q{SELECT count(*), sum(1 + repetitions), count(*) FILTER (WHERE repetitions > 0) FROM clock_events WHERE what = 'time of day'}), "$stored|$changes|1", "$stored are stored, the others are counted");
is(query(q{SELECT count(*) FROM clock_events WHERE what = 'time of day' AND ended_at IS NULL}), '0', 'the counted event has ended');
my $logged = () = slurp_file($node->logfile) =~ /LOG:  clock event: time of day/g;
is($logged, $stored + 2, 'the log has the stored events, the first and the tenth repetition');
$node->restart;
intervals();
write_file('set', $changes + 1);
$node->poll_query_until('postgres', "SELECT ($total) = $changes + 1");
is(query(q{SELECT sum(repetitions) FROM clock_events WHERE what = 'time of day'}), $changes - $stored + 1, 'the numbers survive a restart');
$node->stop;
done_testing();
