
# clock_advice() and clock_check() report each fault of a faulty clock, and none of a correct clock.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

my $dir = $ENV{CLOCKTIMING_SHIM_DIR} || '';
plan skip_all => "no $dir/slow_clock.so: say by CLOCKTIMING_SHIM_DIR where it is"
  unless -f "$dir/slow_clock.so";

my $checks = 'cost,backward_steps,warps,lags,drift,skew,gaps,tsc_frequency,invariant_tsc';
my @checks = sort(split(/,/, $checks), 'explain_clock', 'migration', 'overall');

# Starts a server, with environment variables that make it load libraries of test/shim.
sub start
{
	my ($name, $config, %environment) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init;
	$node->append_conf('postgresql.conf', $config);
	{
		local %ENV = (%ENV, %environment);
		$node->start;
	}
	$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');
	return $node;
}

# Calls clock_check(), and returns the names of the checks that fail, separated by commas. To find
# injected faults, callers pass a duration of 0.5 s: such a run contains some 50 faults, even if
# other processes use most of the CPU.
sub failed
{
	my ($session, $arguments) = @_;
	my $result = $session->query(
		qq{SELECT string_agg(check_name, ','), string_agg(check_name, ',') FILTER (WHERE NOT ok)
			FROM clock_check($arguments)});
	my ($all, $failed) = split /\|/, $result->{out};

	is($all, $checks, "clock_check($arguments): all checks in their order");
	return $failed // '';
}

# Returns the figure in the text of a finding, in the unit that clock_check() uses.
sub figure
{
	my ($check, $finding) = @_;
	my ($figure, $bound);

	return $1 if $check eq 'cost' && $finding =~ /takes ([\d.]+) ns/;
	return $1 if $check =~ /^(backward_steps|warps|lags)$/ && $finding =~ /: (\d+) times /;
	return abs($1) - $2 if $check eq 'drift' && $finding =~ /error of \w+ ([-+][\d.]+) ppm, uncertainty at most ([\d.]+)/;
	return $1 if $check eq 'tsc_frequency' && $finding =~ /wrong by (\d+) parts per million/;
	return undef;
}

# Calls clock_advice(), and checks its rows. Returns the rows by name of the check, with the lines
# of each text joined. $fault is the check that must fail, if a fault was injected.
sub advice
{
	my ($session, $what, $fault) = @_;
	my (%rows, @order, %failed);
	my %rank = (ok => 0, notice => 1, warning => 2);
	my $result = $session->query(
		q{DROP TABLE IF EXISTS advice; CREATE TEMP TABLE advice AS
			SELECT * FROM clock_advice() WITH ORDINALITY AS a(check_name, severity, finding, action, n)});

	is($result->{state}, '00000', "$what: clock_advice answers");
	$result = $session->query(
		q{SELECT check_name, severity, translate(finding, E'\n', ' '), coalesce(translate(action, E'\n', ' '), '')
			FROM advice ORDER BY n});
	foreach my $line (split /\n/, $result->{out})
	{
		my ($check, @rest) = split /\|/, $line, -1;
		push @order, $check;
		@{ $rows{$check} }{qw(severity finding action)} = @rest;
	}
	is_deeply([ sort @order ], \@checks, "$what: each check once");
	is($order[0], 'overall', "$what: the verdict comes first");
	my @ranks = map { $rank{ $rows{$_}{severity} } } @order;
	my ($worst) = grep { $_ ne 'gaps' } @order[ 1 .. $#order ];
	is($ranks[0], $rank{ $rows{$worst}{severity} }, "$what: the verdict is that of the worst check except gaps");
	is_deeply([ @ranks[ 1 .. $#ranks ] ], [ sort { $b <=> $a } @ranks[ 1 .. $#ranks ] ], "$what: worst first");

	# clock_check() measures again. On a busy machine it may find other faults than clock_advice()
	# did, so only the injected fault is required. For each warning of clock_advice(), the figure in
	# its text must exceed the threshold of clock_check(): with this figure, clock_check() would
	# fail, too.
	my %threshold = map { split /\|/ } split /\n/,
	  $session->query(q{SELECT check_name, threshold FROM clock_check(0.1) WHERE threshold IS NOT NULL})->{out};
	%failed = map { $_ => 1 } split /,/, failed($session, '0.5');
	ok($failed{$fault}, "$what: clock_check does not pass $fault") if $fault;
	foreach my $check (grep { $rows{$_}{severity} eq 'warning' && $_ ne 'overall' } @order)
	{
		my $finding = $rows{$check}{finding};

		# The threshold of the cost is 200 ns, or 0.9 times the cost of a system call if this is
		# lower. The measured cost of a system call is in the text of the finding.
		$threshold{$check} = 0.9 * $1
		  if $check eq 'cost' && $finding =~ /a system call ([\d.]+) ns/ && 0.9 * $1 < 200;
		cmp_ok(figure($check, $finding) // -1,
			'>', $threshold{$check} - 0.1, "$what: the figure of $check exceeds the threshold of clock_check");
		like($rows{overall}{finding}, qr/^\d+ warnings?.*: .*\b$check\b/, "$what: the verdict names $check");
	}
	foreach my $check (grep { $_ ne 'overall' && $rows{$_}{severity} eq 'ok' } @order)
	{
		is($rows{$check}{action}, '', "$what: no action for $check");
	}
	cmp_ok($session->widest('SELECT check_name, severity, finding, action FROM advice ORDER BY n'),
		'<=', 120, "$what: fits a page");
	return \%rows;
}

# A correct clock. The severity of "gaps" is not checked, because other processes may use the CPU.
{
	my $node = start('correct', '');
	my $session = ClockSession->new($node);

	# PostgreSQL 19 calibrates the TSC when the server starts. On a busy machine, the result may be
	# wrong by more than clock_advice() accepts. Then restarts the server, to calibrate again.
	for (1 .. 20)
	{
		last
		  if $session->query(q{SELECT figure < 300 FROM clock_check(0.05, max_skew_ns => 'infinity')
			WHERE check_name = 'tsc_frequency'})->{out} eq 't';
		$session->quit;
		$node->restart;
		$session = ClockSession->new($node);
	}
	my $rows = advice($session, 'correct');

	foreach my $check (qw(cost backward_steps warps lags drift skew))
	{
		is($rows->{$check}{severity}, 'ok', "correct: $check")
		  or diag $rows->{$check}{finding};
	}
	is(failed($session, ''), '', 'correct: every check passes');
	is(failed($session, q{0.1, 0, 'infinity', 'infinity', 'infinity'}),
		'cost', 'a maximum cost of 0 fails');
	$session->quit;
	$node->stop;
}

# A system clock that needs a system call (test/shim/slow_clock.c), on a server without a free
# worker to measure the skew. test/shim/kernel_clock.c replaces the kernel's files that name its
# current and its available clock sources.
{
	my $kernel = PostgreSQL::Test::Utils::tempdir() . '/clocksource';
	mkdir $kernel or die "$kernel: $!";
	chmod 0755, $kernel;
	append_to_file("$kernel/current_clocksource", "hpet\n");
	append_to_file("$kernel/available_clocksource", "hpet hyperv_clocksource_tsc_page acpi_pm\n");
	my $node = start('slow', "max_worker_processes = 0\n",
		LD_PRELOAD => "$dir/slow_clock.so $dir/kernel_clock.so",
		KERNEL_CLOCK_DIR => $kernel);
	my $session = ClockSession->new($node);
	my $rows;

	# Makes the server read the slow clock.
	$session->query(
		q{SELECT set_config('timing_clock_source', 'system', false)
			FROM pg_settings WHERE name = 'timing_clock_source'});
	$rows = advice($session, 'slow', 'cost');
	is( $session->query(q{SELECT read_by FROM clock_survey('{system}', duration => 0.2)})->{out},
		'library', 'slow: the clock is read by a library');
	is($rows->{cost}{severity}, 'warning', 'slow: a warning');
	like($rows->{cost}{finding}, qr/costs a system call: .* takes \d+\.\d ns, a system call \d+\.\d ns/,
		'slow: the finding, with its figures');
	is($rows->{cost}{action},
		'now: as root, cd /sys/devices/system/clocksource/clocksource0'
		  . ' echo hyperv_clocksource_tsc_page > current_clocksource'
		  . ' for good: add clocksource=hyperv_clocksource_tsc_page to GRUB_CMDLINE_LINUX in /etc/default/grub, then as root'
		  . ' update-grub (Debian, Ubuntu) or grub2-mkconfig -o /boot/grub2/grub.cfg (Red Hat, SUSE), and restart the machine'
		  . q{ ask the provider: to change the kernel's clock source from hpet to hyperv_clocksource_tsc_page},
		'slow: the action');
	# A command in an action has a line of its own, or is part of a sentence. No line break divides
	# a command.
	my $actions = $session->query(q{SELECT action FROM clock_advice(0.1) WHERE check_name = 'cost'})->{out};
	like($actions, qr{^cd /sys/devices/system/clocksource/clocksource0$}m, 'slow: a command in one line');
	like($actions, qr{^echo hyperv_clocksource_tsc_page > current_clocksource$}m, 'slow: a long command in one line');
	like($actions, qr{grub2-mkconfig -o /boot/grub2/grub.cfg}, 'slow: a command within a sentence');
	unlink "$kernel/available_clocksource";
	append_to_file("$kernel/available_clocksource", "hpet acpi_pm\n");
	$rows = advice($session, 'no faster one', 'cost');
	like($rows->{cost}{action}, qr/ask the provider: which instance type/, 'no faster clock source: the question to the provider');
	is(failed($session, q{0.5, 'infinity', 'infinity', 'infinity', 'infinity'}), '', 'slow: passes if any cost is allowed');
	is(failed($session, q{0.5, 1e9, 'infinity', 'infinity', 'infinity'}), '', 'slow: passes if a cost of 1 s is allowed');

	my $one_cpu = $rows->{skew}{finding} =~ /one CPU/;

	is($rows->{skew}{severity}, 'notice', 'no worker: a notice') unless $one_cpu;
	is(failed($session, q{0.5, 'infinity', 1e9, 'infinity', 'infinity'}),
		$one_cpu ? '' : 'skew',
		'no worker: a check that cannot be made does not pass');
	is($session->query('SELECT 1')->{out}, '1', 'the session goes on');

	# If the server reads the slow clock although the TSC is available, the advice is to change the
	# server's setting.
	if ($node->pg_version->major >= 19
		&& $session->query(q{SELECT available FROM clock_sources WHERE source = 'rdtsc'})->{out} eq 't')
	{
		unlink "$kernel/current_clocksource", "$kernel/available_clocksource";
		append_to_file("$kernel/current_clocksource", "tsc\n");
		append_to_file("$kernel/available_clocksource", "tsc\n");
		$rows = advice($session, 'TSC');
		is($rows->{explain_clock}{severity}, 'notice', 'the TSC would be faster');
		like($rows->{explain_clock}{action}, qr/for good: ALTER SYSTEM/, 'the action selects the TSC');
	}
	$session->quit;
	$node->stop;
}

# Clocks that go backwards, stand still, jump, or run fast (test/shim/fake_clock.c).
SKIP:
{
	skip 'no fake_clock.so', 1 unless -f "$dir/fake_clock.so";
	my $control = PostgreSQL::Test::Utils::tempdir() . '/fake_clock';
	my $node;
	my $generation = 0;

	my $write = sub {
		# Overwrites the file in place, because truncating it would kill the processes that have
		# mapped it.
		open(my $fh, -e $control ? '+<' : '>', $control) or die "$control: $!";
		syswrite($fh, pack('q16', @_, (0) x (16 - @_))) == 128 or die "$control: $!";
		close($fh);
	};
	$write->(0);
	$node = start('liar', '', LD_PRELOAD => "$dir/fake_clock.so", FAKE_CLOCK_CONTROL => $control);
	foreach my $fault (
		[ 'back', 1, 5000, 'backward_steps' ],
		[ 'still', 3, 2000, 'lags' ],
		[ 'jump', 5, 50000, 'warps' ],
		[ 'fast', 6, 100000, 'drift' ])
	{
		my ($what, $kind, $size, $check) = @$fault;
		my $session = ClockSession->new($node);
		my $rows;

		$session->query(
			q{SELECT set_config('timing_clock_source', 'system', false)
				FROM pg_settings WHERE name = 'timing_clock_source'});
		# "fast" is a single fault, from which on the clock runs fast. The other faults are
		# repeated.
		$write->(++$generation, $session->pid, $kind, 2, 20000,
			$what eq 'fast' ? 1 : 1000000000, $size);
		$rows = advice($session, $what, $check);
		is($rows->{$check}{severity}, 'warning', "$what: a warning");
		like($rows->{$check}{finding}, qr/system|instr_time/, "$what: the finding names the clock");
		like($rows->{$check}{action}, $what eq 'back' ? qr/ask the provider: ./ : qr/start the server without this library/, "$what: what to do");
		$write->(++$generation, 0);
		$session->quit;
	}
	$node->stop;
}

done_testing();
