
# clock_cpu_skew() on a server whose clock has an offset on one CPU (test/shim/cpu_offset.c). The
# offset must be within the bounds that the function returns. The function starts a worker process
# to read the clock on another CPU. The worker must end with the call, however the call ends.

use strict;
use warnings;

use Cwd qw(abs_path);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(clock_gettime usleep CLOCK_MONOTONIC);

use ClockSession;

my $shim = ($ENV{CLOCKTIMING_SHIM_DIR} || '') . '/cpu_offset.so';
plan skip_all => "no $shim: say by CLOCKTIMING_SHIM_DIR where it is"
  unless -f $shim;
plan skip_all => 'processes cannot be pinned to CPUs here' unless -d '/proc/self';
plan skip_all => 'there is no taskset' unless `taskset -V` =~ /taskset/;

# Returns the members of /proc/PID/status, or nothing if the process does not exist or is a zombie.
sub status_of
{
	my ($pid) = @_;
	my %status;

	open(my $fh, '<', "/proc/$pid/status") or return;
	while (<$fh>)
	{
		$status{$1} = $2 if /^(\w+):\s+(.*)$/;
	}
	close($fh);
	return if ($status{State} || 'Z') =~ /^Z/;
	return \%status;
}

sub affinity
{
	my ($pid) = @_;
	return status_of($pid)->{Cpus_allowed_list};
}

sub cpus_of
{
	my ($list) = @_;
	return map { /(\d+)-(\d+)/ ? $1 .. $2 : $_ } split /,/, $list;
}

# Uses at most four CPUs.
my @cpus = cpus_of(affinity($$));
plan skip_all => 'there is only one CPU' unless @cpus > 1;
splice(@cpus, 4) if @cpus > 4;

# Sets the CPUs on which this process may run. Servers that are started later inherit this setting.
sub run_on
{
	system_log('taskset', '-c', '-p', join(',', @_), $$) == 0
	  or die 'taskset failed';
	return;
}
run_on(@cpus);

my $control = PostgreSQL::Test::Utils::tempdir() . '/cpu_offset';

# Writes words to the control file, which cpu_offset.c describes.
sub write_control
{
	my ($offset, @words) = @_;
	open(my $fh, '+<', $control) or die "$control: $!";
	sysseek($fh, 8 * $offset, 0);
	syswrite($fh, pack('q*', @words)) == 8 * @words or die "$control: $!";
	close($fh);
	return;
}

sub set_offset
{
	my ($cpu, $ns) = @_;
	write_control(0, $cpu, $ns);
	return;
}

# Makes the clock stand still on all CPUs, at the given reading in ns.
sub freeze
{
	my ($at) = @_;
	write_control(3, $at);
	write_control(2, 1);
	return;
}

sub unfreeze
{
	write_control(2, 0);
	return;
}
open(my $fh, '>', $control) or die "$control: $!";
print $fh pack('q4', (0) x 4);
close($fh);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'clocktiming.progress_interval = 0');
{
	# Only the server loads the library, so only its clock is faulty.
	local $ENV{LD_PRELOAD} = $shim;
	local $ENV{CPU_OFFSET_CONTROL} = $control;
	$node->start;
}
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');

my $session = ClockSession->new($node);
my $killer = ClockSession->new($node);
my $allowed = affinity($session->pid);
my $duration = 0.1 * $#cpus;

# Returns the process ids of clock_cpu_skew()'s workers on a server.
sub workers
{
	my ($server) = @_;
	my $postmaster = slurp_file($server->data_dir . '/postmaster.pid');
	my @pids;

	$postmaster =~ s/\n.*//s;
	foreach my $pid (map { m{(\d+)} } glob('/proc/[0-9]*'))
	{
		my $status = status_of($pid);
		next unless $status && $status->{PPid} eq $postmaster;
		open(my $cmdline, '<', "/proc/$pid/cmdline") or next;
		push @pids, $pid if (<$cmdline> // '') =~ /clock_cpu_skew/;
		close($cmdline);
	}
	return @pids;
}

# Calls a function repeatedly until it returns true.
sub wait_for
{
	my ($what, $condition) = @_;

	foreach my $i (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if $condition->();
		usleep(10_000);
	}
	diag "timed out waiting for $what";
	return 0;
}

# Executes a long call, and waits until its worker runs on a CPU other than the first one. Returns
# the worker's process id.
sub send_and_wait
{
	my ($from, $seconds) = @_;
	my $pid;

	$from->send("SELECT count(*) FROM clock_cpu_skew('system', $seconds)");
	wait_for(
		'a worker',
		sub {
			($pid) = workers($node);
			my $status = $pid && status_of($pid);
			return $status && grep { $status->{Cpus_allowed_list} eq $_ } @cpus[ 1 .. $#cpus ];
		}) or die 'no worker';
	is(affinity($from->pid), $cpus[0], 'the backend is on the first CPU meanwhile');
	return $pid;
}

# Checks that no worker is left, and that the backend may run on the same CPUs as before.
sub all_is_well
{
	my ($what) = @_;

	is_deeply([ workers($node) ], [], "$what: no worker is left");
	is(affinity($session->pid), $allowed, "$what: the backend may run on the same CPUs as before");
	return;
}

my @columns = qw(cpu clock reading_ns offset_ns offset_min_ns offset_max_ns
  round_trip_ns exchanges warps warp_max_ns stalls longest_stall);

# Calls clock_cpu_skew(). Returns its warnings and its rows.
sub skew
{
	my (@arguments) = @_;
	my $result = $session->query(
		'SELECT * FROM clock_cpu_skew(' . join(', ', @arguments) . ')');
	my @rows;

	is($result->{state}, '00000', 'clock_cpu_skew(' . join(', ', @arguments) . ')');
	foreach (split /\n/, $result->{out})
	{
		my %row;
		@row{@columns} = split /\|/, $_, -1;
		push @rows, \%row;
	}
	is_deeply([ map { $_->{cpu} } @rows ], \@cpus, 'a row for each CPU');
	return ($result->{err}, @rows);
}

# No injected offset
{
	my ($warnings, @rows) = skew("'system'", $duration);

	is($warnings, '', 'no offset: no warning');
	foreach my $row (@rows)
	{
		my $what = "no offset, CPU $row->{cpu}";

		cmp_ok($row->{offset_min_ns}, '<=', 0, "$what: lower bound");
		cmp_ok($row->{offset_max_ns}, '>=', 0, "$what: upper bound");
		is($row->{warps}, 0, "$what: no warp");
	}
	all_is_well('after a run');
}

# An offset of one CPU
foreach my $cpu ($cpus[0], $cpus[-1])
{
	foreach my $ns (map { ($_, -$_) } 30, 100, 1000, 10000, 1000000, 1000000000)
	{
		set_offset($cpu, $ns);
		my ($warnings, @rows) = skew("'system'", $duration);
		my $found = 0;

		set_offset(0, 0);
		shift @rows;
		foreach my $row (@rows)
		{
			my $what = "$ns ns on CPU $cpu, CPU $row->{cpu}";
			my $truth =
			  $cpu == $cpus[0] ? -$ns : $row->{cpu} == $cpu ? $ns : 0;

			cmp_ok($row->{offset_min_ns}, '<=', $truth, "$what: lower bound");
			cmp_ok($row->{offset_max_ns}, '>=', $truth, "$what: upper bound");
			cmp_ok($row->{offset_max_ns} - $row->{offset_min_ns},
				'<=', $row->{round_trip_ns},
				"$what: the round trip bounds the offset");
			cmp_ok($row->{warp_max_ns}, '<=', abs($truth),
				"$what: no warp is larger than the offset");
			diag "$what: $row->{offset_min_ns} to $row->{offset_max_ns}";

			# The offset is found for certain only if it is longer than the round trip, which is the
			# time that a reading takes to the other CPU and back.
			next if $row->{round_trip_ns} >= abs($truth);
			$found = 1;
			ok( $row->{offset_min_ns} > 0 || $row->{offset_max_ns} < 0,
				"$what: 0 is excluded");
			cmp_ok($row->{warps}, '>', 0, "$what: warps");
			cmp_ok($row->{warp_max_ns}, '>=',
				abs($truth) - $row->{round_trip_ns},
				"$what: size of the largest warp");
		}
		like(
			$warnings,
			qr/^WARNING:  clock source "system" went backwards between CPUs\nDETAIL:  Warps: \d+, the largest of \d+ ns, between CPU $cpus[0] and \d+ of the $#cpus other CPUs\.\n\z/,
			"$ns ns on CPU $cpu: warning") if $found;
		# Smaller offsets may not be found: other processes may use a CPU, so that round trips take
		# long.
		is($found, 1, "$ns ns on CPU $cpu: found") if abs($ns) >= 1000000000;
	}
}

# An offset that changes during the run
{
	$session->send('SELECT * FROM clock_cpu_skew(duration => ' . 10 * $duration . ", source => 'system')");
	wait_for('a worker', sub { workers($node) });

	# Switches the offset on and off every 40 ms until the run has ended, because it is not known
	# when the run compares this CPU.
	for (my $i = 1;
		$killer->query('SELECT state FROM pg_stat_activity WHERE pid = ' . $session->pid)->{out} eq 'active';
		$i++)
	{
		set_offset($cpus[1], 1000000000 * ($i % 2));
		usleep(40_000);
	}
	set_offset(0, 0);
	my $result = $session->result;
	my ($row) = $result->{out} =~ /^($cpus[1]\|.*)$/m;

	like(
		$result->{err},
		qr/^WARNING:  the offset of clock source "system" on CPU $cpus[1] changed$/m,
		'an offset that changes: warning');
	my @values = split /\|/, $row;
	cmp_ok($values[4], '<=', 0, 'an offset that changes: the lower bound includes its smallest value');
	cmp_ok($values[5], '>=', 1000000000, 'an offset that changes: the upper bound includes its largest value');
	all_is_well('an offset that changes');
}

# The clock stands still twice, for a while. Readings during that time tell nothing about the
# offset, and must not look like a change of the offset. On a busy machine the backend and the worker
# may wait for a CPU, so the clock stands still until both have used some CPU time.
foreach my $ns (0, 1000000)
{
	my $what = "$ns ns, still for a while";

	set_offset($cpus[-1], $ns);
	$session->send('SELECT * FROM clock_cpu_skew(duration => ' . 30 * $duration . ", source => 'system')");
	wait_for('a worker', sub { workers($node) });
	foreach my $i (1 .. 2)
	{
		usleep(300_000 * $#cpus);
		my @processes = ($session->pid, workers($node));
		my %before = map { $_ => ClockSession::cpu_of($_) } @processes;
		freeze(int(clock_gettime(CLOCK_MONOTONIC) * 1e9));
		usleep(100_000 * $#cpus);
		for (1 .. 10)
		{
			last unless grep { ClockSession::cpu_of($_) < $before{$_} + 0.04 } @processes;
			usleep(100_000);
		}
		unfreeze();
	}
	my $result = $session->result;
	set_offset(0, 0);

	like(
		$result->{err},
		qr/^WARNING:  clock source "system" stood still\nDETAIL:  Up to \d+ readings in a row were equal to the previous reading\.$/m,
		"$what: warning");
	unlike($result->{err}, qr/changed|not known/, "$what: no other warning");
	my $stalls = 0;
	foreach my $line ((split /\n/, $result->{out})[ 1 .. $#cpus ])
	{
		my %row;
		@row{@columns} = split /\|/, $line, -1;
		my $truth = $row{cpu} == $cpus[-1] ? $ns : 0;

		cmp_ok($row{offset_min_ns}, '<=', $truth, "$what, CPU $row{cpu}: lower bound");
		cmp_ok($row{offset_max_ns}, '>=', $truth, "$what, CPU $row{cpu}: upper bound");
		cmp_ok($row{offset_min_ns}, '<', $row{offset_max_ns}, "$what, CPU $row{cpu}: the bounds differ");
		$stalls += $row{stalls};
	}
	cmp_ok($stalls, '>', 0, "$what: stalls are counted");
	all_is_well($what);
}

# The clock stands still all the time, at the reading 0 or another. The offset is NULL then, and no
# error occurs.
foreach my $at (0, 1000000007)
{
	my $what = "still at $at ns";

	freeze($at);
	my ($warnings, @rows) = skew("'system'", $duration);
	unfreeze();
	is( $warnings,
		qq{WARNING:  clock source "system" stood still\n}
		  . "DETAIL:  It did not advance during the comparison of CPU $cpus[0] with $#cpus of the $#cpus other CPUs, so their offsets are not known.\n",
		"$what: warning");
	shift @rows;
	foreach my $row (@rows)
	{
		is( join('|', @$row{qw(offset_ns offset_min_ns offset_max_ns round_trip_ns)}),
			'|||', "$what, CPU $row->{cpu}: the offset is NULL");
		is($row->{warps}, 0, "$what, CPU $row->{cpu}: no warp");
		cmp_ok($row->{longest_stall}, '>=', 500, "$what, CPU $row->{cpu}: stalls are counted");
	}
	all_is_well($what);

	# clock_check() also works with such a clock.
	freeze($at);
	is( $session->query(
			q{SELECT ok FROM clock_check(0.2, max_cost_ns => 'infinity') WHERE check_name = 'skew'})->{state},
		'00000', "$what: clock_check() works");
	unfreeze();
}

# Timeouts at several times, from the start to the middle of the run, and a cancel
foreach my $ms (1 .. 10, 15, 20, 30, 50, 100)
{
	my $what = "statement_timeout of $ms ms";

	$session->query("SET statement_timeout = $ms");
	my $result = $session->query(q{SELECT count(*) FROM clock_cpu_skew('system', 600)});
	# On a busy machine, the timeout may also cancel RESET.
	1 while $session->query('RESET statement_timeout')->{state} eq '57014';
	is($result->{state}, '57014', $what);
	is($result->{err}, "ERROR:  canceling statement due to statement timeout\n",
		"$what: no other message");
	diag sprintf('%s: after %.1f ms', $what, $result->{seconds} * 1000);
	all_is_well($what);
}
foreach my $i (1 .. 5)
{
	my $result;

	send_and_wait($session, 600);
	$killer->query('SELECT pg_cancel_backend(' . $session->pid . ')');
	$result = $session->result;
	is($result->{state}, '57014', 'cancel');
	is($result->{err}, "ERROR:  canceling statement due to user request\n",
		'cancel: no other message');
	all_is_well('cancel');
}

# The worker is stopped by SIGSTOP, and the call is cancelled. The call must wait until the worker
# continues and ends.
{
	my $pid = send_and_wait($session, 600);

	kill('STOP', $pid);
	$killer->query('SELECT pg_cancel_backend(' . $session->pid . ')');
	usleep(300_000);
	is( $killer->query(
			'SELECT state FROM pg_stat_activity WHERE pid = ' . $session->pid)->{out},
		'active',
		'the call waits for its worker');
	kill('CONT', $pid);
	is($session->result->{state}, '57014', 'the call ends after its worker has continued');
	ok(!status_of($pid), 'the worker has ended');
	all_is_well('a worker that is stopped for a while');
}

# An error in a subtransaction, after which the transaction continues
{
	$session->query('BEGIN; SAVEPOINT s; SET LOCAL statement_timeout = 50');
	is($session->query(q{SELECT count(*) FROM clock_cpu_skew('system', 600)})->{state},
		'57014', 'in a subtransaction');
	$session->query('ROLLBACK TO s');
	all_is_well('in a subtransaction');
	is($session->query(q{SELECT count(*) FROM clock_cpu_skew('system', 0.01)})->{out},
		scalar(@cpus), 'the function works after the subtransaction');
	$session->query('COMMIT');
}

# Another process terminates the worker.
{
	my $pid = send_and_wait($session, 600);
	my $result;

	kill('TERM', $pid);
	$result = $session->result;
	is($result->{state}, '57000',
		'the worker is terminated');
	like(
		$result->{err},
		qr/^ERROR:  background worker of clock_cpu_skew\(\) could not start or ended early\nHINT:/,
		'the worker is terminated: message');
	all_is_well('the worker is terminated');
}

# The backend is stopped for a while.
{
	send_and_wait($session, 3);
	kill('STOP', $session->pid);
	usleep(500_000);
	kill('CONT', $session->pid);
	is($session->result->{state}, '00000', 'the backend is stopped for a while');
	all_is_well('the backend is stopped for a while');
}

# Progress reports
{
	$session->query(q{SET clocktiming.progress_interval = '100ms'});
	like(
		$session->query(q{SELECT count(*) FROM clock_cpu_skew('system', 0.5)})->{err},
		qr/^(NOTICE:  progress: clock_cpu_skew: 0\.\d s elapsed, 0\.\d s remaining, CPU \d+, \d of \d\n)+\z/,
		'progress is reported');
	$session->query('RESET clocktiming.progress_interval');
}

# Two calls at the same time
{
	$killer->send(q{SELECT count(*) FROM clock_cpu_skew('system', 0.5)});
	is($session->query(q{SELECT count(*) FROM clock_cpu_skew('system', 0.5)})->{out},
		scalar(@cpus), 'two calls at the same time: the first');
	is($killer->result->{out}, scalar(@cpus), 'two calls at the same time: the second');
	all_is_well('two at once');
}

# The backend is terminated.
{
	my $fresh = ClockSession->new($node);
	my $pid = send_and_wait($fresh, 600);

	$killer->query('SELECT pg_terminate_backend(' . $fresh->pid . ')');
	is($fresh->result->{state}, 'session ended', 'the backend is terminated');
	wait_for('the backend to end', sub { !status_of($fresh->pid) });
	ok(!status_of($pid), 'its worker ended before it');
	all_is_well('the backend is terminated');
	$fresh->quit;
}

# The server is stopped.
{
	my $pid = send_and_wait($session, 600);

	$node->stop('fast');
	# The server also terminates the worker, possibly before the session.
	like($session->result->{state}, qr/^(?:session ended|57000)\z/, 'the server is stopped');
	ok(!status_of($pid), 'the server is stopped: no worker is left');
	$session->quit;
	$killer->quit;
	unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC/,
		'no process has died');
}

# The backend is killed. Then the server ends all other processes and restarts.
{
	my $pid;

	$node->start;
	$session = ClockSession->new($node);
	$pid = send_and_wait($session, 600);
	kill('KILL', $session->pid);
	is($session->result->{state}, 'session ended', 'the backend is killed');
	ok(wait_for('the worker to end', sub { !status_of($pid) }),
		'the backend is killed: no worker is left');
	$session->quit;
	$node->stop('immediate', fail_ok => 1);
	$node->{_pid} = undef;
}

# The postmaster is killed.
{
	my $pid;

	$node->start;
	$session = ClockSession->new($node);
	$pid = send_and_wait($session, 600);
	my $directory = abs_path($node->data_dir);
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	$node->kill9;
	ok(wait_for('the worker to end', sub { !status_of($pid) }),
		'the postmaster is killed: no worker is left');
	ok( wait_for('the backend to end', sub { !status_of($session->pid) }),
		'the postmaster is killed: the backend ends');
	$session->result;

	# psql has lost its connection and has ended.
	eval { $session->quit };

	# The server can be started again only after all its processes have ended.
	wait_for(
		'the server to end',
		sub {
			return !-d "/proc/$postmaster"
			  && !grep { (readlink($_) || '') eq $directory } glob('/proc/[0-9]*/cwd');
		});
}

# No worker slot is free.
{
	$node->append_conf('postgresql.conf', 'max_worker_processes = 0');
	$node->start;
	$session = ClockSession->new($node);
	my $result = $session->query('SELECT count(*) FROM clock_cpu_skew(duration => 0.1)');
	is($result->{state}, '53400', 'no slot for a worker');
	is( $result->{err},
		"ERROR:  out of background worker slots\n"
		  . "DETAIL:  Comparing the clocks of CPUs takes one background worker.\n"
		  . "HINT:  You might need to increase max_worker_processes, or try again later.\n",
		'no slot for a worker: message');
	all_is_well('no slot for a worker');
	$session->quit;
	$node->stop;
}

# On a server that may use only one CPU, the function starts no worker.
{
	run_on($cpus[1]);
	$node->start;
	$session = ClockSession->new($node);
	is( $session->query(
			q{SELECT cpu, clock <> '', reading_ns > 0, offset_ns = 0, offset_min_ns = 0,
				offset_max_ns = 0, round_trip_ns, exchanges, warps, warp_max_ns = 0,
				stalls, longest_stall
				FROM clock_cpu_skew('system', 0.1)})->{out},
		"$cpus[1]|t|t|t|t|t||0|0|t|0|0",
		'one CPU: one row');
	is(affinity($session->pid), $cpus[1], 'one CPU: the backend may run on it as before');
	$session->quit;
	$node->stop;
}

done_testing();
