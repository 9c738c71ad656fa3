
# clock_platform shows what surrounds the clocks: time namespace, restored checkpoint, limit of CPU
# time, kinds of CPUs, CPUs without timer interrupts, and idle states. The server reads files of this
# test instead of those of /proc and /sys (test/shim/kernel_clock.c), except for the time namespace,
# which is a real one.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockShim;

plan skip_all => 'this is not Linux' unless $^O eq 'linux';
my $shim = ClockShim->new('kernel_clock');
my $dir = PostgreSQL::Test::Utils::tempdir() . '/kernel';
mkdir $dir or die "$dir: $!";
chmod 0755, $dir;

sub put { my ($name, $text) = @_; return ClockShim::put_file("$dir/$name", $text); }

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
put('current_clocksource', 'tsc');
$shim->start($node, KERNEL_CLOCK_DIR => $dir);
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');

sub fact
{
	my ($name) = @_;
	return $node->safe_psql('postgres', "SELECT value, note FROM clock_platform WHERE name = '$name'");
}

# A limit of CPU time, of this process's control group
put('proc/self/cgroup', '0::/a.slice/b.service');
put('sys/fs/cgroup/a.slice/b.service/cpu.max', '25000 100000');
put('sys/fs/cgroup/a.slice/b.service/cpu.stat', "usage_usec 1\nthrottled_usec 1234567");
is(fact('cpu_limit_cpus'),
	'0.25|after 25000 us of CPU time, its processes wait for the rest of each 100000 us; so far for 1.235 s', 'a limit of CPU time');
put('sys/fs/cgroup/a.slice/b.service/cpu.max', 'max 100000');
like(fact('cpu_limit_cpus'), qr/^(?:none|[\d.]+)\|/, 'no limit of this control group');

# Kinds of CPUs
put('sys/devices/cpu_core/cpus', '0-7');
put('sys/devices/cpu_atom/cpus', '8-15');
is(fact('cpu_types'), 'cpu_core 0-7, cpu_atom 8-15|times, and the cost of a reading, depend on the CPU that executes a process', 'two kinds of CPUs');
put('sys/devices/cpu_atom/cpus', '');
is(fact('cpu_types'), 'one|', 'one kind of CPUs');

# CPUs without timer interrupts
put('sys/devices/system/cpu/nohz_full', '2-7');
is(fact('nohz_full_cpus'), '2-7|no timer interrupts interrupt a single process there, but system calls cost more', 'nohz_full');
put('sys/devices/system/cpu/nohz_full', '');
is(fact('nohz_full_cpus'), 'none|', 'no nohz_full');

# Idle states
put('sys/devices/system/cpu/cpuidle/current_driver', 'intel_idle');
put('sys/module/intel_idle/parameters/max_cstate', '9');
put("sys/devices/system/cpu/cpu0/cpuidle/state0/$_->[0]", $_->[1]) foreach [ name => 'POLL' ], [ latency => 0 ];
put("sys/devices/system/cpu/cpu0/cpuidle/state1/$_->[0]", $_->[1]) foreach [ name => 'C6' ], [ latency => 133 ];
is(fact('idle_driver'), 'intel_idle|waking up from the deepest state, C6, takes 133 us; max_cstate 9', 'idle states');
put('sys/devices/system/cpu/cpuidle/current_driver', 'none');
like(fact('idle_driver'), qr/^none\|/, 'no driver');

# A restored checkpoint: the time of day went on while the process, as the kernel sees it, did not.
# The same happens if the time of day is set.
is(fact('checkpoint_restore'), 'no|', 'neither restored nor set');
put('set', '3600');
like(
	fact('checkpoint_restore'),
	qr/^possible\|the server's age is 36\d\d s by the time of day, and that of its process \d+ s: it was restored from a checkpoint, or the time of day was set ahead$/,
	'the server is older than its process');
put('set', '-3600');
like(fact('checkpoint_restore'), qr/^no\|the server's age is -3\d\d\d s .*: the time of day was set back$/, 'the time of day was set back');
put('set');
put('suspended', '3600');
is(fact('checkpoint_restore'), 'no|', 'the machine was suspended');
put('suspended');
$node->stop;

# A time namespace, in which the clocks are a day ahead of the machine's
SKIP:
{
	my @unshare = ($> == 0 ? () : qw(--user --map-current-user), qw(--time --monotonic 86400 --boottime 3600));
	my $inside = qx(unshare @unshare cat /proc/self/timens_offsets 2>/dev/null);

	unless ($inside =~ /^boottime +3600 /m)
	{
		diag 'SKIPPED: no time namespace can be created';
		skip 'no time namespace can be created', 1;
	}
	like(fact_in_namespace([]), qr/^initial\|$/, 'the initial time namespace');
	is(fact_in_namespace([ 'unshare', @unshare ]), 'own|CLOCK_MONOTONIC is 86400.000 s ahead of the machine\'s, CLOCK_BOOTTIME 3600.000 s',
		'a time namespace of its own');
}

# Starts a server by a command, and returns value and note of time_namespace.
sub fact_in_namespace
{
	my ($command) = @_;
	my $fact;

	system_or_bail(@$command, 'pg_ctl', '-w', '-D', $node->data_dir, '-l', $node->logfile, '-o', '--cluster-name=main', 'start');
	$fact = fact('time_namespace') . (fact('checkpoint_restore') eq 'no|' ? '' : ' restored');
	system_or_bail('pg_ctl', '-w', '-D', $node->data_dir, '-m', 'fast', 'stop');
	return $fact;
}

done_testing();
