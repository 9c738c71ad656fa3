
# Clocks that are watched: each fault is one event, with what was before and after, and ends when it ends; what was
# seen survives the worker's end, a restart and a file that is broken.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

use ClockShim;

# Words of the control file of drift_clock: see there.
use constant { PID => 0, RATE => 1, AHEAD => 2 };

my $shim = ClockShim->new('drift_clock', 7);
my $kernel = ClockShim->new('kernel_clock');
my $directory = PostgreSQL::Test::Utils::tempdir();
sub kernel_source { my ($name) = @_; open(my $fh, '>', "$directory/current_clocksource") or die $!; print $fh "$name\n"; close($fh); return; }
kernel_source('tsc');
append_to_file("$directory/available_clocksource", "tsc hpet acpi_pm\n");

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1);
$node->append_conf(
	'postgresql.conf', q{
shared_preload_libraries = 'clocktiming'
clocktiming.watch = on
clocktiming.watch_interval = 500ms
restart_after_crash = on
});
my @environment = ($shim->environment, KERNEL_CLOCK_DIR => $directory, LD_PRELOAD => "$shim->{library}:$kernel->{library}");
sub start { local %ENV = (%ENV, @environment); $node->start; return; }
start();
if ($node->safe_psql('postgres', q{SELECT current_setting('server_version_num')::int >= 190000}) eq 't')
{
	$node->append_conf('postgresql.conf', 'timing_clock_source = system');
	$node->restart;
	$node->stop;
	start();
}
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming; CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor; CREATE ROLE regress_other LOGIN');

sub query { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }

# The worker's process id: as it is connected to no database, pg_stat_activity does not have it.
sub worker
{
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	my ($pid) = `ps -o pid=,args= --ppid $postmaster` =~ /^\s*(\d+) .*clocktiming watch/m;
	return $pid // 0;
}
sub wait_for { my ($sql, $what) = @_; return ok($node->poll_query_until('postgres', $sql), $what); }

# Until so many intervals more have been judged.
sub intervals
{
	my ($n) = @_;
	my $sum = q{SELECT coalesce(sum(intervals), 0) FROM clock_history WHERE per = 'minute'};
	my $now = query($sum);
	return $node->poll_query_until('postgres', "SELECT ($sum) >= $now + $n");
}

sub lie { my ($word, $value) = @_; $shim->write($word, $value); return; }
sub events { my ($what) = @_; return query("SELECT count(*) FROM clock_events WHERE what = '$what'"); }

wait_for(q{SELECT count(*) > 0 FROM clock_history WHERE warm_ns > 0 AND cold_ns > 0 AND source = 'system'}, 'the clock is watched');
intervals(12);
is(query(q{SELECT count(*) FROM clock_events WHERE what IN ('rate', 'backward step', 'warp', 'lag', 'kernel clock source', 'machine')}), '0', 'no event of a clock that is honest');
is(query(q{SELECT bool_and(abs(rate_ppm) < 600 AND (sample -> 'readings')::bigint > 0) FROM (SELECT rate_ppm, sample::jsonb AS sample FROM clock_history) h}), 't', 'its rate, and a sample');
is(query(q{SELECT count(*) FROM (SELECT (clock_summary(sample)).* FROM clock_history) s WHERE readings > 0}) > 0, 1, 'which functions take');
is(query(q{SELECT readings > 0 FROM (SELECT (clock_summary(clock_merge(sample))).* FROM clock_history WHERE per = 'minute') s}), 't', 'and which can be merged');

# 0.1 % fast, from the moment that the worker is the process that lies
lie(RATE, 1_000_000);
lie(PID, worker());
wait_for(q{SELECT count(*) > 0 FROM clock_events WHERE what = 'rate'}, 'a clock that is 0.1 % fast');
is(query(q{SELECT count(*), bool_and(after::text ~ '^\+(9[5-9]|10[0-4])[0-9]\.' OR after ~ '^\+(9[5-9][0-9]|10[0-4][0-9])') , bool_and(ended_at IS NULL) FROM clock_events WHERE what = 'rate'}), '1|t|t', 'is one event');
query('SELECT 1');
lie(RATE, 0);
wait_for(q{SELECT count(*) = 1 FROM clock_events WHERE what = 'rate' AND ended_at > at}, 'which ends when it ends');
intervals(4);
lie(AHEAD, 5_000_000);
wait_for(q{SELECT count(*) FILTER (WHERE ended_at IS NOT NULL) > 0 FROM clock_events WHERE what = 'warp' AND after LIKE '50_____ ns' OR what = 'warp' AND after LIKE '499____ ns'}, 'a jump ahead');
lie(AHEAD, -2_000_000_000);
wait_for(q{SELECT count(*) > 0 FROM clock_events WHERE what IN ('lag', 'backward step')}, 'a step back');
intervals(5);
is(events('rate'), '1', 'steps are no change of the rate');
lie(PID, 0);
intervals(6);

kernel_source('hpet');
wait_for(q{SELECT count(*) > 0 FROM clock_events WHERE what = 'kernel clock source' AND before = 'tsc' AND after = 'hpet' AND ended_at IS NULL}, 'the kernel takes another clock source');
kernel_source('tsc');
wait_for(q{SELECT count(*) > 0 FROM clock_events WHERE what = 'kernel clock source' AND before = 'tsc' AND ended_at > at}, 'and the one before');
is(events('kernel clock source'), '1', 'which is one event');
like(slurp_file($node->logfile), qr/LOG:  clock event: kernel clock source, from tsc to hpet\n.*DETAIL:.*\n.*HINT:/, 'and one message in the log');

# trust
is(query(q{SELECT trusted, spoilt_by @> '{rate,warp}' FROM clock_trust(now() - interval '1 hour')}), 'f|t', 'timings of that time are spoilt');
is(query(q{SELECT trusted IS NULL, watched_percent FROM clock_trust(now() - interval '3 days', now() - interval '2 days')}), 't|0', 'nothing is known of a time when nobody watched');

# Who sees it.
is($node->psql('postgres', 'SELECT count(*) FROM clock_events', extra_params => [ '-U', 'regress_monitor' ]), 0, 'who monitors sees events');
isnt($node->psql('postgres', 'SELECT count(*) FROM clock_history', extra_params => [ '-U', 'regress_other' ]), 0, 'others do not');

# kill -9
# (events that others have at the same time come in between)
my $list = q{SELECT what || ' ' || at FROM clock_events WHERE ended_at IS NOT NULL};
my @before = split /\n/, query($list);
sub lost { my %there = map { $_ => 1 } split /\n/, query($list); return join(', ', grep { !$there{$_} } @before); }
ok(@before >= 3, 'there are events');
# what has ended in the last interval is in the file
intervals(2);
my $pid = worker();
kill('KILL', $pid);
wait_for_restart($pid);
is(lost(), '', 'events survive the end of the worker');

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

# a restart
$node->stop;
start();
is(lost(), '', 'and a restart');
intervals(2);

# a standby
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
ok($standby->poll_query_until('postgres', q{SELECT pg_is_in_recovery() AND count(*) > 0 FROM clock_history WHERE at >= date_trunc('minute', pg_postmaster_start_time())}), 'a standby is watched');
$standby->stop;

# a file that is broken
$node->stop;
my $file = $node->data_dir . '/pg_stat/clocktiming.watch';
ok(-s $file, 'there is a file');
open(my $fh, '+<:raw', $file) or die "$file: $!";
sysseek($fh, 5000, 0);
syswrite($fh, 'x' x 100);
close($fh);
start();
is(events('rate'), '0', 'a file that is broken is not read');
like(slurp_file($node->logfile), qr/ignoring invalid data in file "pg_stat\/clocktiming\.watch"/, 'and reported');
wait_for(q{SELECT count(*) > 0 FROM clock_history}, 'the history begins anew');
$node->stop;

done_testing();
