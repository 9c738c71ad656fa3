
# The background worker that watches the clock, while test/shim makes the clock faulty. Each fault
# must cause exactly one event. The event must state the right values before and after the fault,
# and end when the fault ends. History and events must survive the end of the worker, a restart, a
# full disk and a damaged file.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

use ClockShim;

# Positions of words in the control file of drift_clock.c, as far as this test uses them. BURST
# follows SLOW.
use constant { PID => 0, RATE => 1, AHEAD => 2, EVERY => 4, STILL => 6, SLOW => 7 };
use constant S => 1_000_000_000;

my $shim = ClockShim->new('drift_clock', 9);
my $skewed = ClockShim->new('cpu_offset', 4);
my $kernel = ClockShim->new('kernel_clock');
my $directory = PostgreSQL::Test::Utils::tempdir();

sub write_file { my ($name, $text) = @_; return ClockShim::put_file("$directory/$name", $text); }
write_file('current_clocksource', 'tsc');
write_file('available_clocksource', 'tsc hpet acpi_pm');
write_file('synchronised', 1);

# Replaces the numbers of /proc/stat for the whole test, because the hypervisor may really steal
# time. Until tick() changes them, no CPU time passes, so nothing is known of stolen time.
my @ticks = (1000, 0, 0, 1000, 0, 0, 0, 0);
sub write_ticks { return write_file('stat', join(' ', 'cpu ', @ticks, 0, 0)); }
write_ticks();

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1);
$node->append_conf(
	'postgresql.conf', q{
shared_preload_libraries = 'clocktiming'
clocktiming.watch = on
clocktiming.watch_interval = 500ms
restart_after_crash = on
});
my %environment = ($skewed->environment, $shim->environment, KERNEL_CLOCK_DIR => $directory,
	LD_PRELOAD => join(':', map { $_->{library} } $shim, $skewed, $kernel));
sub start { local %ENV = (%ENV, %environment); $node->start; return; }
$node->append_conf('postgresql.conf', 'timing_clock_source = system') if $node->pg_version->major >= 19;
start();
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming; CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor; CREATE ROLE regress_other LOGIN');

sub query { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }
sub worker { return ClockShim::watcher($node); }
sub wait_for { my ($sql, $what) = @_; return ok($node->poll_query_until('postgres', $sql), $what); }

# Waits until the worker has finished n more intervals. The first of them may have begun before the
# call.
sub intervals
{
	my ($n) = @_;
	my $sum = q{SELECT coalesce(sum(intervals), 0) FROM clock_history WHERE per = 'minute'};
	my $now = query($sum);
	return $node->poll_query_until('postgres', "SELECT ($sum) >= $now + $n");
}

sub events { my ($what) = @_; return query("SELECT count(*) FROM clock_events WHERE what = '$what'"); }

# Condition for events that this test has caused. Load of the machine can also cause a resume, and
# a higher cost of a reading, but this test raises the cost further, above 1000 ns. Stolen time has
# its own checks.
my $ours = q{what NOT IN ('stolen time', 'resume') AND CASE WHEN what = 'cost' THEN greatest(split_part(before, ' ', 1)::float, split_part(after, ' ', 1)::float) > 1000 ELSE true END};
my $told = 0;

# Checks that, two whole intervals after a fault, there is exactly one new event, that its kind is
# $what, and that its values fulfil $condition.
sub is_one_event
{
	my ($fault, $what, $condition) = @_;

	intervals(3);
	is(query("SELECT string_agg(what, ' ') FROM (SELECT what FROM clock_events WHERE $ours OFFSET $told) e"), $what, "$fault: one event, within two intervals");
	is(query("SELECT $condition FROM clock_events WHERE what = '$what' ORDER BY at DESC LIMIT 1"), 't', "$fault: values before and after the fault")
	  or diag(query("SELECT * FROM clock_events"));
	$told = query("SELECT count(*) FROM clock_events WHERE $ours");
	return;
}

# Checks that an event ends when its fault has ended, and that this causes no other event. If
# another event is reported later, the check of the next fault finds it.
sub is_ended
{
	my ($fault, $what) = @_;

	wait_for("SELECT bool_and(ended_at >= at) FROM clock_events WHERE what = '$what' AND $ours", "$fault: ends");
	intervals(1);
	is(query("SELECT count(*) FROM clock_events WHERE $ours"), $told, 'the end of a fault is no event')
	  or diag(query("SELECT * FROM clock_events"));
	return;
}

wait_for(q{SELECT count(*) > 0 FROM clock_history WHERE warm_ns > 0 AND cold_ns > 0 AND source = 'system'}, 'the clock is watched');
intervals(12);
is(query("SELECT count(*) FROM clock_events WHERE $ours"), '0', 'no event of a correct clock') or diag(query("SELECT * FROM clock_events"));
is(query(q{SELECT bool_and(abs(rate_ppm) < 600 AND (sample -> 'readings')::bigint > 0) FROM (SELECT rate_ppm, sample::jsonb AS sample FROM clock_history) h}), 't', 'the history has a rate and a sample');
is(query(q{SELECT count(*) FROM (SELECT (clock_summary(sample)).* FROM clock_history) s WHERE readings > 0}) > 0, 1, 'clock_summary() accepts samples of the history');
is(query(q{SELECT readings > 0 FROM (SELECT (clock_summary(clock_merge(sample))).* FROM clock_history WHERE per = 'minute') s}), 't', 'clock_merge() accepts samples of the history');
# On a busy machine, the worker may write its latest interval late. Until then, more than 10 % of the
# period were not watched.
wait_for(q{SELECT trusted AND verdict = 'to be believed' FROM clock_trust(clock_timestamp() - interval '3 s')}, 'timings can be believed');

# Reloads of the configuration do not shorten intervals.
my ($judged, $since) = (query(q{SELECT sum(intervals) FROM clock_history WHERE per = 'hour'}), time);
query('SELECT pg_reload_conf(), pg_sleep(0.01) FROM generate_series(1, 100)');
$judged = query(q{SELECT sum(intervals) FROM clock_history WHERE per = 'hour'}) - $judged;
cmp_ok($judged, '<=', (time - $since) / 0.5 + 2, 'reloads do not make intervals shorter');

# From now on, drift_clock.c replaces the worker's clock. The faulty clock has the same offset to
# CLOCK_MONOTONIC_RAW as the true one, so the replacement causes no event.
sub raw { return ClockShim::raw_ns(); }
my $ahead = ClockShim::ahead_ns();
$shim->write(PID, worker(), 0, $ahead);
intervals(5);
is(query("SELECT count(*) FROM clock_events WHERE $ours"), '0', 'no event when drift_clock.c replaces the clock') or diag(query("SELECT * FROM clock_events"));

# A reading takes ten times longer. Besides, the system calls that read the reference clock are often
# slow for a while, as on some virtual machines, which must not change the cost. If load of the
# machine has disturbed the intervals before, the worker needs more than two intervals to detect the
# event, so the test first waits for it.
$shim->write(SLOW, 3000, 4000);
wait_for("SELECT count(*) > $told FROM clock_events WHERE $ours", '10 times slower: an event');
is_one_event('10 times slower', 'cost', q{split_part(before, ' ', 1)::float < 1000 AND split_part(after, ' ', 1)::float BETWEEN 2900 AND 4500});
is(query(q{SELECT trusted, spoilt_by FROM clock_trust(clock_timestamp() - interval '0.2 s')}), 'f|{cost}', 'timings are spoilt while a reading costs more');
is(query(q{SELECT spoilt_by, verdict FROM clock_trust('infinity', 'infinity')}), '{}|not known: the period is empty', 'nothing spoils a period that is empty');
$shim->write(SLOW, 0, 0);
is_ended('10 times slower', 'cost');

my $fast = 1_000_000;
$ahead -= int(raw() * ($fast / S));
$shim->write(RATE, $fast, $ahead);
is_one_event('0.1 % fast', 'rate', q{abs(split_part(before, ' ', 1)::float) < 100 AND abs(split_part(after, ' ', 1)::float - 1000) < 20 AND ended_at IS NULL});
$ahead += int(raw() * ($fast / S));
$shim->write(RATE, 0, $ahead);
is_ended('0.1 % fast', 'rate');

$shim->write(AHEAD, $ahead += 5_000_000);
is_one_event('a jump', 'warp', q{before = 'none' AND abs(split_part(after, ' ', 1)::float - 5e6) < 5e4});
is_ended('a jump', 'warp');

$shim->write(AHEAD, $ahead -= 2 * S);
is_one_event('a step back', 'backward step', q{before = 'none' AND abs(split_part(after, ' ', 1)::float - 2e9) < 1e6});
is_ended('a step back', 'backward step');

# The clock stands still for $looks tenths of a second and then remains behind. The worker observes
# the clock every 0.1 s or less often. A standstill of fewer than four observations is an event of
# the kind "lag", one of more than five is of the kind "rate". In between, either kind is possible,
# but not both.
foreach my $looks (2.5, 4.5, 5.5, 6.5, 7.5, 20)
{
	my $ns = $looks * S / 10;
	my $fault = "stands still for $looks tenths of a second";

	$shim->write(AHEAD, $ahead + $ns, 0, raw() + S / 2, 0, $ns);
	wait_for("SELECT count(*) > $told FROM clock_events WHERE $ours", "$fault: an event");
	my $what = query("SELECT what FROM clock_events WHERE $ours ORDER BY at DESC LIMIT 1");
	like($what, $looks < 4 ? qr/^lag$/ : $looks > 10 ? qr/^rate$/ : qr/^(?:lag|rate)$/, 'the kind of the event');
	is_one_event($fault, $what, $what eq 'rate' ? q{after = '-1000000.0 ppm'} : "abs(split_part(after, ' ', 1)::float - $ns) < 1e7");
	is_ended($fault, $what);
	$shim->write(AHEAD, $ahead -= $ns, 0, 0, 0, 0);
}

write_file('current_clocksource', 'hpet');
is_one_event('another clock source of the kernel', 'kernel clock source', q{before = 'tsc' AND after = 'hpet' AND ended_at IS NULL});
write_file('current_clocksource', 'tsc');
is_ended('another clock source of the kernel', 'kernel clock source');
like(slurp_file($node->logfile), qr/LOG:  clock event: kernel clock source, from tsc to hpet\n.*DETAIL:.*\n.*HINT:/, 'the event is logged');

unlink("$directory/current_clocksource") or die $!;
intervals(2);
is(query("SELECT count(*) FROM clock_events WHERE $ours"), $told, 'a clock source that cannot be read causes no event') or diag(query("SELECT * FROM clock_events"));
write_file('current_clocksource', 'tsc');

write_file('synchronised', 0);
is_one_event('lost synchronisation', 'synchronisation', q{before = 'synchronised' AND after = 'not synchronised' AND ended_at IS NULL});
is(query(q{SELECT synchronised OR sync_error_us <> 16e6 FROM clock_history WHERE per = 'minute' ORDER BY at DESC LIMIT 1}), 'f', 'lost synchronisation is in the history');
write_file('synchronised', 1);
is_ended('lost synchronisation', 'synchronisation');

my $resumed = q{SELECT count(*) FILTER (WHERE after = 'suspended for 100 s' AND ended_at = at) || ' of ' || count(*) FROM clock_events WHERE what = 'resume'};
write_file('suspended', 100);
wait_for("SELECT ($resumed) = '1 of 1'", 'a machine that was suspended: one event, which has ended');
intervals(2);
is(query($resumed), '1 of 1', 'a suspension causes no second event');

write_file('boot_id', '11111111-2222-3333-4444-555555555555');
is_one_event('another start of the machine', 'machine', q{after = 'boot 11111111-2222-3333-4444-555555555555' AND ended_at = at});

# The hypervisor takes a fifth of the CPU time, and later none.
sub tick
{
	my ($stolen) = @_;
	$ticks[3] += 8000;
	$ticks[7] += $stolen;
	write_ticks();
	intervals(1);
	return;
}
is(query('SELECT count(stolen_percent) FROM clock_history'), '0', 'no stolen time is known of a machine whose CPUs have not run');
tick(0) for 1 .. 3;
is(events('stolen time'), '0', 'no event before time is stolen');
tick(2000) for 1 .. 6;
is(events('stolen time'), '1', 'stolen time is one event');
is(query(q{SELECT split_part(after, ' ', 1)::float >= 10 AND ended_at IS NULL FROM clock_events WHERE what = 'stolen time' ORDER BY at DESC LIMIT 1}), 't', 'the event of stolen time has not ended');
for (1 .. 60)
{
	tick(0);
	last if query(q{SELECT ended_at IS NOT NULL FROM clock_events WHERE what = 'stolen time' ORDER BY at DESC LIMIT 1}) eq 't';
}
is(query(q{SELECT bool_and(ended_at IS NOT NULL) FROM clock_events WHERE what = 'stolen time'}), 't', 'the event of stolen time ends');

# The clock of one CPU is ahead. For a process that moves to this CPU or from it, the clock steps.
SKIP:
{
	my ($cpu) = slurp_file('/proc/self/status') =~ /^Cpus_allowed_list:.*?(\d+)$/m;
	skip('one CPU', 4) if $cpu == 0;
	$shim->write(PID, 0);
	$skewed->write(0, $cpu, 300_000_000);
	intervals(3);
	is(query(q{SELECT count(*), bool_and(substring(after from 'at least (\d+) ns')::bigint BETWEEN 100000000 AND 300000000) FROM clock_events WHERE what = 'CPU skew'}), '1|t', 'a CPU whose clock is ahead: one event');
	is(query(q{SELECT max(cpu_skew_ns) BETWEEN 100000000 AND 300000000 FROM clock_history}), 't', 'the skew is in the history');
	$skewed->write(1, 0);
	wait_for(q{SELECT bool_and(ended_at IS NOT NULL) FROM clock_events WHERE what = 'CPU skew'}, 'the event of the skew ends');
	my $allowed = qr/^Cpus_allowed_list:.*$/m;
	is((slurp_file('/proc/' . worker() . '/status') =~ /($allowed)/)[0], (slurp_file('/proc/self/status') =~ /($allowed)/)[0], 'the worker may still run on all CPUs');
}

is(query('SELECT count(*) FROM clock_history WHERE sample::text::clock_sample::text <> sample::text'), '0', 'all samples can be read again');

# clock_trust()
is(query(q{SELECT trusted, spoilt_by @> '{rate,warp}' FROM clock_trust(now() - interval '1 hour')}), 'f|t', 'timings of the last hour are spoilt by the faults of this test');
is(query(q{SELECT trusted IS NULL, watched_percent FROM clock_trust(now() - interval '3 days', now() - interval '2 days')}), 't|0', 'nothing is known of a time when nobody watched');
is(query(q{SELECT trusted IS NULL, verdict FROM clock_trust(now(), now() - interval '1 day')}), 't|not known: the period is empty', 'nothing is known of an empty period');

# Privileges to see events
is($node->psql('postgres', 'SELECT count(*) FROM clock_events', extra_params => [ '-U', 'regress_monitor' ]), 0, 'a member of pg_monitor sees events');
isnt($node->psql('postgres', 'SELECT count(*) FROM clock_history', extra_params => [ '-U', 'regress_other' ]), 0, 'an ordinary role does not see the history');

my $file = $node->data_dir . '/pg_stat/clocktiming.watch';
my $list = q{SELECT what || ' ' || at FROM clock_events WHERE ended_at IS NOT NULL};
my @before;

# Stores the current events in @before, and waits until the file must contain them.
sub remember { intervals(5); @before = split /\n/, query($list); intervals(4); return; }
sub lost { my %there = map { $_ => 1 } split /\n/, query($list); return join(', ', grep { !$there{$_} } @before); }
sub wait_for_restart
{
	my ($old) = @_;
	my $until = time + $PostgreSQL::Test::Utils::timeout_default;

	while (time < $until)
	{
		my ($status) = $node->psql('postgres', 'SELECT');
		my $new = worker();
		return if $status == 0 && $new && $new != $old;
		sleep(0.2);
	}
	die 'the worker does not come back';
}

remember();
ok(@before >= 6, 'there are events');
my $pid = worker();
kill('KILL', $pid);
wait_for_restart($pid);
is(lost(), '', 'events survive the end of the worker');
$pid = worker();
kill('TERM', $pid);
wait_for_restart($pid);
is(lost(), '', 'events survive SIGTERM of the worker, which is started again');
intervals(2);

# The disk is full.
symlink('/dev/full', "$file.tmp") or die $!;
my $complete = slurp_file($file);
write_file('current_clocksource', 'acpi_pm');
my $offset = $node->wait_for_log(qr/could not write file "pg_stat\/clocktiming\.watch\.tmp": No space left on device/);
is(slurp_file($file) eq $complete, 1, 'a full disk: the file is unchanged');
is(query(q{SELECT count(*) FROM clock_events WHERE after = 'acpi_pm'}), '1', 'a full disk: the worker continues');

# All processes are killed. The server reads the last complete file.
$pid = worker();
$node->kill9;
for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default) { last if !kill(0, $pid); sleep(0.1); }
ok(!kill(0, $pid), 'the worker does not outlive the server');
start();
is(lost(), '', 'kill -9 of the server: events survive');
is(query(q{SELECT count(*) > 1 FROM clock_history}), 't', 'kill -9 of the server: the history survives');

# The server restarts while an event is ongoing.
intervals(2);
$shim->write(PID, worker(), 0, $ahead, 0, 0.3 * S, -5_000_000);
wait_for(q{SELECT count(*) > 0 FROM clock_events WHERE what = 'lag' AND ended_at IS NULL}, 'a lag that has not ended');
my ($intervals, $lagging) = split /\|/, query(q{SELECT sum(intervals), clock_timestamp() FROM clock_history WHERE per = 'hour'});
$node->stop;
start();
is(lost(), '', 'events survive a restart');
is(query(qq{SELECT sum(intervals) >= $intervals FROM clock_history WHERE per = 'hour'}), 't', 'and so do all intervals');
wait_for(q{SELECT count(*) = 0 FROM clock_events WHERE what = 'lag' AND ended_at IS NULL}, 'an event that was ongoing at the restart ends');
is(query(qq{SELECT max(ended_at) > '$lagging' FROM clock_events WHERE what = 'lag'}), 't', 'the event ends after the time at which it was seen to be ongoing');
intervals(2);

# A standby watches its clock, too.
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
ok($standby->poll_query_until('postgres', q{SELECT pg_is_in_recovery() AND count(*) > 0 FROM clock_history WHERE at >= date_trunc('minute', pg_postmaster_start_time())}), 'a standby is watched');
$standby->stop;

# The file is damaged.
$node->stop;
ok(-s $file, 'there is a file');
open(my $fh, '+<:raw', $file) or die "$file: $!";
sysseek($fh, 5000, 0);
syswrite($fh, 'x' x 100);
close($fh);
start();
is(events('rate'), '0', 'a damaged file is not read');
like(slurp_file($node->logfile), qr/ignoring invalid data in file "pg_stat\/clocktiming\.watch"/, 'a damaged file is reported');
like(slurp_file("$file.invalid"), qr/x{100}/, 'a damaged file is kept');
wait_for(q{SELECT count(*) > 0 FROM clock_history}, 'the history begins anew');

# A text in the file has no terminator, although the checksum is correct.
sub crc32c
{
	my ($crc, @table) = (0xffffffff);

	foreach my $byte (0 .. 255)
	{
		$byte = $byte & 1 ? ($byte >> 1) ^ 0x82f63b78 : $byte >> 1 for 1 .. 8;
		push @table, $byte;
	}
	$crc = $table[ ($crc ^ $_) & 255 ] ^ ($crc >> 8) foreach unpack('C*', $_[0]);
	return $crc ^ 0xffffffff;
}
my $boot_id = query('SELECT boot_id FROM clock_history WHERE boot_id IS NOT NULL LIMIT 1');
$node->stop;
my $content = substr(slurp_file($file), 0, -4);
is(unpack('V', substr(slurp_file($file), -4)), crc32c($content), 'the checksum');
substr($content, index($content, $boot_id), 200) = 'x' x 200;
open($fh, '>:raw', $file) or die "$file: $!";
print $fh $content, pack('V', crc32c($content));
close($fh);
start();
is(query(q{SELECT count(*) FROM clock_history WHERE boot_id ~ 'x'}), '0', 'a file with a text that does not end is not read');
like(slurp_file("$file.invalid"), qr/x{200}/, 'a file with a text that does not end is kept');
wait_for(q{SELECT count(*) > 0 FROM clock_history}, 'the history begins anew, again');

# timing_clock_source makes the server read the TSC, and later the system clock again.
SKIP:
{
	skip('the server reads the system clock only', 7) if $node->pg_version->major < 19;
	skip('no TSC', 7) if query(q{SELECT available FROM clock_sources WHERE source = 'rdtsc'}) ne 't';
	intervals(2);
	$node->append_conf('postgresql.conf', 'timing_clock_source = tsc');
	$node->reload;
	wait_for(q{SELECT count(*) > 0 FROM clock_events WHERE what = 'clock source' AND before = 'system' AND after = 'rdtsc' AND ended_at IS NULL}, 'the server reads the TSC: an event');
	intervals(12);
	is(query(q{SELECT bool_and(warm_ns > 0 AND abs(rate_ppm) < 100 AND assumed_rate_ppm IS NOT NULL) FROM clock_history WHERE source = 'rdtsc'}), 't', 'the TSC is watched');
	$node->append_conf('postgresql.conf', 'timing_clock_source = system');
	$node->reload;
	wait_for(q{SELECT count(*) > 0 FROM clock_events WHERE what = 'clock source' AND ended_at > at}, 'the server reads the system clock again: the event ends');
	is(query(q{SELECT string_agg(what, ' ') FROM clock_events WHERE what IN ('clock source', 'cost', 'rate', 'warp', 'lag', 'backward step') AND evidence !~ 'that the server assumes'}), 'clock source', 'switching to the TSC and back is one event') or diag(query('SELECT * FROM clock_events'));

	# A server that assumes a frequency of the TSC that is wrong by 1 %: its times are wrong, although
	# the rate of the TSC is not. PostgreSQL itself is often wrong by 0.1 % on a busy machine.
	my $module = ($ENV{CLOCKTIMING_SHIM_DIR} || '') . '/../module/tsc_frequency.so';
	$node->append_conf('postgresql.conf', "timing_clock_source = tsc\nshared_preload_libraries = '$module, clocktiming'");
	$node->stop;
	start();
	wait_for(q{SELECT count(*) > 0 FROM clock_events WHERE what = 'rate' AND ended_at IS NULL AND split_part(after, ' ', 1)::float BETWEEN -15000 AND -5000 AND evidence ~ 'frequency of the TSC that the server assumes'}, 'a wrong frequency of the TSC: an event') or diag(query('SELECT * FROM clock_events'));
	is(query(q{SELECT trusted, 'rate' = ANY (spoilt_by) FROM clock_trust(now() - interval '1 s', now())}), 'f|t', 'times are not to be believed');
	is(query(q{SELECT count(*) FROM clock_events WHERE what IN ('warp', 'lag', 'backward step')}), '0', 'and nothing else is reported');
}
$node->stop;

done_testing();
