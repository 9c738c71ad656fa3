
# Advice and checks: what is wrong with a clock is said, and what is right is
# not complained of.

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
my @checks = sort(split(/,/, $checks), 'explain_clock', 'overall');

# A server whose clock_gettime() is that of a shim, if any.
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

# Rows of clock_advice() by check, the lines of each text made one; and what has to
# be so of all of them, together with clock_check().
sub advice
{
	my ($session, $what) = @_;
	my $result = $session->query(
		q{SELECT check_name, severity, translate(finding, E'\n', ' '), coalesce(translate(action, E'\n', ' '), '')
			FROM clock_advice()});
	my %rank = (ok => 0, notice => 1, warning => 2);
	my (%rows, @order, %failed);

	is($result->{state}, '00000', "$what: clock_advice answers");
	foreach my $line (split /\n/, $result->{out})
	{
		my ($check, @rest) = split /\|/, $line, -1;
		push @order, $check;
		@{ $rows{$check} }{qw(severity finding action)} = @rest;
	}
	is_deeply([ sort @order ], \@checks, "$what: each check once");
	is($order[0], 'overall', "$what: the verdict comes first");
	my @ranks = map { $rank{ $rows{$_}{severity} } } @order;
	is($ranks[0], $ranks[1], "$what: which is that of the worst check");
	is_deeply([ @ranks[ 1 .. $#ranks ] ], [ sort { $b <=> $a } @ranks[ 1 .. $#ranks ] ], "$what: worst first");

	# nothing that is warned of is passed
	%failed = map { $_ => 1 } split /,/, failed($session, '');
	foreach my $check (grep { $rows{$_}{severity} eq 'warning' && $_ ne 'overall' } @order)
	{
		ok($failed{$check}, "$what: clock_check does not pass $check");
		like($rows{overall}{finding}, qr/^\d+ warnings?.*: .*\b$check\b/, "$what: the verdict names it");
	}
	foreach my $check (grep { $_ ne 'overall' && $rows{$_}{severity} eq 'ok' } @order)
	{
		is($rows{$check}{action}, '', "$what: nothing to do for $check");
	}
	cmp_ok($session->widest('SELECT * FROM clock_advice()'), '<=', 120, "$what: fits a page");
	return \%rows;
}

# An honest clock.  How much time others take is theirs to know.
{
	my $node = start('honest', '');
	my $session = ClockSession->new($node);
	my $rows = advice($session, 'honest');

	foreach my $check (qw(cost backward_steps warps lags drift skew))
	{
		is($rows->{$check}{severity}, 'ok', "honest: $check")
		  or diag $rows->{$check}{finding};
	}
	is(failed($session, ''), '', 'honest: every check is passed');
	is(failed($session, q{0.1, 0, 'infinity', 'infinity', 'infinity'}),
		'cost', 'no reading is free');
	$session->quit;
	$node->stop;
}

# A system clock that costs a system call, and no worker for the skew; the kernel
# is said to have other sources, where that can be said
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

	# that of the server must be the slow one, too
	$session->query(
		q{SELECT set_config('timing_clock_source', 'system', false)
			FROM pg_settings WHERE name = 'timing_clock_source'});
	$rows = advice($session, 'slow');
	is( $session->query(q{SELECT read_by FROM clock_survey('{system}', duration => 0.2)})->{out},
		'system call', 'slow: how it is read');
	is($rows->{cost}{severity}, 'warning', 'slow: a warning');
	like($rows->{cost}{finding}, qr/costs a system call: .* takes \d+\.\d ns, a system call \d+\.\d ns/,
		'slow: what is wrong, by these figures');
	is($rows->{cost}{action},
		'now: as root, cd /sys/devices/system/clocksource/clocksource0'
		  . ' echo hyperv_clocksource_tsc_page > current_clocksource'
		  . ' for good: add clocksource=hyperv_clocksource_tsc_page to GRUB_CMDLINE_LINUX in /etc/default/grub, then as root'
		  . ' update-grub (Debian, Ubuntu) or grub2-mkconfig -o /boot/grub2/grub.cfg (Red Hat, SUSE), and restart the machine'
		  . q{ ask the provider: to change the kernel's clock source from hpet to hyperv_clocksource_tsc_page},
		'slow: what to do');
	# each command is whole, in a line of its own or with other words
	my $actions = $session->query(q{SELECT action FROM clock_advice(0.1) WHERE check_name = 'cost'})->{out};
	like($actions, qr{^cd /sys/devices/system/clocksource/clocksource0$}m, 'slow: a command in one line');
	like($actions, qr{^echo hyperv_clocksource_tsc_page > current_clocksource$}m, 'slow: and one that is long');
	like($actions, qr{grub2-mkconfig -o /boot/grub2/grub.cfg}, 'slow: and one among others');
	unlink "$kernel/available_clocksource";
	append_to_file("$kernel/available_clocksource", "hpet acpi_pm\n");
	$rows = advice($session, 'no faster one');
	like($rows->{cost}{action}, qr/ask the provider: which instance type/, 'no faster one: what to ask for');
	is(failed($session, q{1, 'infinity', 'infinity', 'infinity', 'infinity'}), '', 'slow: unless any cost is allowed');
	is(failed($session, q{1, 1e9, 'infinity', 'infinity', 'infinity'}), '', 'slow: or this one');

	my $one_cpu = $rows->{skew}{finding} =~ /one CPU/;

	is($rows->{skew}{severity}, 'notice', 'no worker: a notice') unless $one_cpu;
	is(failed($session, q{1, 'infinity', 1e9, 'infinity', 'infinity'}),
		$one_cpu ? '' : 'skew',
		'no worker: what cannot be found is no pass');
	is($session->query('SELECT 1')->{out}, '1', 'the session goes on');

	# the server chose to read the slow clock
	if ($node->pg_version->major >= 19
		&& $session->query(q{SELECT available FROM clock_sources WHERE source = 'rdtsc'})->{out} eq 't')
	{
		unlink "$kernel/current_clocksource", "$kernel/available_clocksource";
		append_to_file("$kernel/current_clocksource", "tsc\n");
		append_to_file("$kernel/available_clocksource", "tsc\n");
		$rows = advice($session, 'TSC');
		is($rows->{explain_clock}{severity}, 'notice', 'the TSC would be faster');
		like($rows->{explain_clock}{action}, qr/for good: ALTER SYSTEM/, 'and how to have it');
	}
	$session->quit;
	$node->stop;
}

# A clock that goes back, and one that jumps: see fake_clock.c for the words
SKIP:
{
	skip 'no fake_clock.so', 1 unless -f "$dir/fake_clock.so";
	my $control = PostgreSQL::Test::Utils::tempdir() . '/fake_clock';
	my $node;
	my $generation = 0;

	my $write = sub {
		# in place: who has it mapped would be killed by reading what was cut off
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
		[ 'fast', 6, 2000, 'drift' ])
	{
		my ($what, $kind, $size, $check) = @$fault;
		my $session = ClockSession->new($node);
		my $rows;

		$session->query(
			q{SELECT set_config('timing_clock_source', 'system', false)
				FROM pg_settings WHERE name = 'timing_clock_source'});
		# a clock that is fast is so from the first fault on
		$write->(++$generation, $session->pid, $kind, 2, 20000,
			$what eq 'fast' ? 1 : 1000000000, $size);
		$rows = advice($session, $what);
		is($rows->{$check}{severity}, 'warning', "$what: a warning");
		like($rows->{$check}{finding}, qr/system|instr_time/, "$what: of the system clock");
		like($rows->{$check}{action}, qr/ask the provider: ./, "$what: what to ask for");
		$write->(++$generation, 0);
		$session->quit;
	}
	$node->stop;
}

done_testing();
