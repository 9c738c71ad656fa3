
# The time of day is set back and ahead while the clock is watched. The worker must continue, and
# each change must be one event. The history must not have a minute twice, nor a minute in the
# future. Only times in which the worker has observed the clock count as watched.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

use ClockShim;

my $kernel = ClockShim->new('kernel_clock');
my $directory = PostgreSQL::Test::Utils::tempdir();

sub write_file { my ($name, $text) = @_; return ClockShim::put_file("$directory/$name", $text); }
write_file('synchronised', 1);
# No time is stolen, although the hypervisor may really do it.
write_file('stat', 'cpu 1000 0 0 1000 0 0 0 0 0 0');
write_file('boot_id', '11111111-2222-3333-4444-555555555555');

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'clocktiming'\nclocktiming.watch = on\nclocktiming.watch_interval = 100ms\nautovacuum = off");
sub start { return $kernel->start($node, KERNEL_CLOCK_DIR => $directory); }
sub query { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }
start();
query('CREATE EXTENSION clocktiming');

my $rows = q{SELECT coalesce(sum(intervals), 0) FROM clock_history WHERE per = 'minute' AND at >= date_trunc('minute', now()) - interval '1 minute'};
my $events = q{SELECT count(*) FROM clock_events WHERE what = 'time of day'};
my ($set, $told) = (0, 0);

# Waits until the worker has added n more intervals to the history.
sub intervals { my ($n) = @_; my $now = query($rows); return ok($node->poll_query_until('postgres', "SELECT ($rows) >= $now + $n"), 'the worker looks at the clock'); }

# Checks that there is one more event, which says by how much the time of day was changed, and that
# history, state and metrics are consistent. This must hold after every change.
sub is_sound
{
	my ($what, $by, $evidence) = @_;

	intervals(2);
	is(query($events), ++$told, "$what: one event");
	is(query(q{SELECT abs(substring(evidence FROM 'by ([0-9.]+) s')::float - } . abs($by) . q{) < 60, substring(evidence FROM 'set (\w+) by'), ended_at = at, at <= clock_timestamp(),
		abs(extract(epoch FROM after::timestamptz - before::timestamptz) - } . "($by)) < 60 FROM clock_events WHERE what = 'time of day' OFFSET " . ($told - 1)), join('|', 't', $by < 0 ? 'back' : 'ahead', 't', 't', 't'), 'the event says by how much the time was set')
	  or diag(query('SELECT * FROM clock_events'));
	is(query('SELECT per, at FROM clock_history GROUP BY 1, 2 HAVING count(*) > 1'), '', 'no minute and no hour is there twice');
	is(query('SELECT count(*) FROM clock_history WHERE at > clock_timestamp()'), '0', 'no minute or hour in the future is shown');
	is(query(q{SELECT (internal_clock_state() ->> 'at')::timestamptz <= clock_timestamp()}), 't', 'the latest state is not in the future');
	is(query(q{SELECT count(*) FROM clock_history WHERE watched_s > least(CASE per WHEN 'minute' THEN 60 ELSE 3600 END, extract(epoch FROM clock_timestamp() - at)) + 1}), '0', 'no minute or hour was watched for longer than it has lasted')
	  or diag(query('SELECT per, at, watched_s FROM clock_history ORDER BY 1, 2'));
	is(query(q{SELECT value FROM clock_metrics WHERE name = 'pg_clock_watched'}), '1', 'and the clock is watched');
	return;
}

sub set_by { my ($by) = @_; write_file('set', $set += $by); return; }

sub restart_worker
{
	my $old = ClockShim::watcher($node);

	kill('TERM', $old);
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default) { my $new = ClockShim::watcher($node); last if $new && $new != $old; sleep(0.1); }
	return;
}

intervals(3);
is(query($events), '0', 'no event at first');

# Calls clock_trust() with the earliest and the latest possible time, and with infinity.
foreach my $from ('-infinity', '4714-11-24 BC', 'now', '294276-12-31', 'infinity')
{
	my @verdicts = map { query("SELECT regexp_replace(verdict, '[0-9.]+ %', '%') FROM clock_trust('$from', '$_')") } '-infinity', '4714-11-24 BC', 'tomorrow', '294276-12-31', 'infinity';
	my %later = ('-infinity' => 1, '4714-11-24 BC' => 2, now => 2, '294276-12-31' => 4, infinity => 5);
	is(join(' ', @verdicts), join(' ', map { $_ < $later{$from} ? 'not known: the period is empty' : 'not known: the clock was watched for % of the period' } 0 .. 4), "clock_trust() from $from");
}
unlike(($node->psql('postgres', "SELECT * FROM clock_node_changes('$_')"))[2], qr/ERROR:  (?!there is no snapshot)/, "clock_node_changes() since $_")
  foreach '-infinity', '4714-11-24 BC', '294276-12-31', 'infinity';

foreach my $by (120, 3600, 86400)
{
	set_by(-$by);
	is_sound("set back by $by s", -$by);
	set_by($by);
	is_sound("and ahead again", $by);
	$node->stop;
	set_by(-$by);
	start();
	is_sound("set back by $by s while the server was down", -$by);
	$node->stop;
	set_by($by);
	start();
	is_sound("and ahead again", $by);
}

# The worker ends before it has noticed the change.
foreach my $by (-3600, 3600)
{
	set_by($by);
	restart_worker();
	is_sound("set by $by s, and the worker restarted", $by);
}

# An ongoing event must not begin in the future when the time of day is set back.
write_file('synchronised', 0);
my $begun = q{SELECT at <= clock_timestamp() FROM clock_events WHERE what = 'synchronisation' AND ended_at IS NULL};
$node->poll_query_until('postgres', $begun);
set_by(-3600);
is_sound('set back while an event goes on', -3600);
is(query($begun), 't', 'the ongoing event has not begun in the future');

# The worker is stopped, and the time of day is set ahead. The worker must not be reported as late
# at once.
my $worker = ClockShim::watcher($node);
kill('STOP', $worker);
set_by(86400);
is(query(q{SELECT value FROM clock_metrics WHERE name = 'pg_clock_watched'}), '1', 'how late the worker is does not depend on the time of day');
kill('CONT', $worker);
is_sound('set ahead by a day', 86400);

# The time in which the worker was stopped does not count as watched.
my $sum = q{SELECT sum(watched_s) FROM clock_history WHERE per = 'minute'};
my ($sum_before, $since) = (query($sum), time);
kill('STOP', $worker);
sleep(3);
kill('CONT', $worker);
intervals(2);
cmp_ok(query($sum) - $sum_before, '<', time - $since - 1, 'the time in which the worker was stopped was not watched');

# Some minutes were watched while the time of day was a day ahead. After it is set back, these
# minutes are in the future. Then the machine is restarted, and the time of day passes these minutes
# while no worker runs. They must not count as watched.
my ($from, $to) = split /\|/, query(q{SELECT date_trunc('minute', now()) - interval '2 minutes', date_trunc('minute', now()) + interval '2 minutes'});
set_by(-86400);
is_sound('set back by a day', -86400);
my $watched = qq{SELECT watched_percent FROM clock_trust('$from', '$to')};
is(query($watched), '0', 'a day that is yet to come was not watched');
$node->stop;
write_file('boot_id', '22222222-2222-3333-4444-555555555555');
set_by(90000);
start();
intervals(2);
is(query($watched), '0', 'that day was not watched when it has come, either');
is(query($events), $told, 'the normal passage of time is no event');
$node->stop;
write_file('boot_id', '33333333-2222-3333-4444-555555555555');
set_by(-600);
start();
is_sound('set back while the machine was down', -600);
$node->stop;
done_testing();
