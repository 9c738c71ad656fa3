
# Makes CLOCK_MONOTONIC of a backend faulty, by the library test/shim/fake_clock.c. clock_summary()
# and clock_survey() must find each injected fault exactly once, and nothing else.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

use ClockSession;
use ClockShim;

# Fields of the control file of fake_clock.c: the schedule of faults, and counts of the injected
# faults and of their effects.
my @schedule = qw(generation pid kind first every times size unused);
my @counts = qw(seen calls faults repeats true_repeats backward_steps
  backward_max gaps hidden);
my %kinds = (
	nothing => 0,
	back => 1,
	back_once => 2,
	still => 3,
	still_for_good => 4,
	jump => 5,
	fast => 6,
	random => 7);

my $shim = ClockShim->new('fake_clock', @schedule + @counts);
my $generation = 0;

sub read_counts
{
	my %words;

	@words{ @schedule, @counts } = $shim->read;
	return \%words;
}

# Makes fake_clock.c inject faults into a process. The schedule starts at the next reading.
sub arm
{
	my ($pid, $kind, %fault) = @_;
	$shim->write(1, $pid, $kinds{$kind}, map { $fault{$_} || 0 }
		  qw(first every times size));
	$shim->write(0, ++$generation);
	return;
}

# Stops injecting faults.
sub disarm
{
	arm(0, 'nothing');
	return;
}

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$shim->start($node);
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');

my $session = ClockSession->new($node);
my %available = map { split /\|/ } split /\n/,
  $session->query('SELECT source, available FROM clock_sources')->{out};
my $tsc = $available{rdtsc} eq 't' && $available{rdtscp} eq 't';
diag 'the time-stamp counter cannot be read here: not tested against faults'
  unless $tsc;

sub summary_of
{
	my ($source, $duration) = @_;
	return "SELECT * FROM clock_summary('$source', $duration)";
}

# Executes clock_summary() while faults are injected. Returns its row, its warnings, and the counts
# of fake_clock.c.
sub measure
{
	my ($source, $duration, $kind, %fault) = @_;

	my ($row, $warnings, $done);

	# Doubles the duration until all faults of the schedule have been injected. On a busy machine a
	# run makes fewer calls.
	for (; $duration < 60; $duration *= 2)
	{
		arm($session->pid, $kind, %fault);
		($row, $warnings) = $session->row(summary_of($source, $duration));
		$done = read_counts();
		disarm();
		last if $done->{faults} >= ($fault{times} || 0);
	}
	is($done->{seen}, $generation - 1, 'fake_clock.c has read the schedule')
	  if $source eq 'system';
	is($done->{faults}, $fault{times}, "all $fault{times} faults were injected")
	  if $source eq 'system' && $fault{times};
	return ($row, $warnings, $done);
}

# Checks that a row of clock_summary() for a correct clock reports no fault, however busy the
# machine is.
sub no_finding
{
	my ($row, $warnings, $what) = @_;

	is_deeply(
		{ map { $_ => $row->{$_} } qw(backward_steps warps lags stalls) },
		{ map { $_ => 0 } qw(backward_steps warps lags stalls) },
		"$what: no finding");
	is($warnings, '', "$what: no warning");
	return;
}

# No fault is injected.
{
	my ($row, $warnings) = $session->row(summary_of('system', 0.5));
	no_finding($row, $warnings, 'shim loaded, but disarmed');

	my $done;
	($row, $warnings, $done) = measure('system', 0.5, 'nothing');
	no_finding($row, $warnings, 'shim armed, without a fault');
	cmp_ok($done->{calls}, '>=', $row->{readings},
		'the shim counts all readings');
}

# Backward steps, one or many, permanent ("back") or for a single reading ("back_once"). "first" is
# the number of the call with the first fault. This number decides in which phase of a run faults
# occur: when the granularity is determined ("probe"), when the clock is compared with the reference
# clock ("brackets", from about call 1026 on), or in the measuring loop.
foreach my $fault (
	[ 'one', first => 50000, every => 1, times => 1, size => 10000 ],
	[ 'in the probe', first => 50, every => 10, times => 50, size => 10000 ],
	[ 'in the brackets', first => 1018, every => 4, times => 6, size => 20000 ],
	[ 'every 333', first => 2000, every => 333, times => 300, size => 10000 ],
	[ 'every 1000', first => 500, every => 1000, times => 200, size => 3000 ],
	[ 'rare', first => 20000, every => 20000, times => 10, size => 1000000 ])
{
	my ($name, %fault) = @$fault;
	my ($row, $warnings, $done);

	foreach my $kind ('back', 'back_once')
	{
		my $what = "$kind, $name";

		($row, $warnings, $done) = measure('system', 0.1, $kind, %fault);
		is($done->{backward_steps}, $fault{times},
			"$what: each fault was a step back");
		is($row->{backward_steps}, $done->{backward_steps},
			"$what: each step back was found");
		cmp_ok(abs($row->{backward_max_ns} - $done->{backward_max}),
			'<', 1, "$what: the largest step back was found");
		cmp_ok(
			abs($row->{backward_max_ns} - $fault{size}),
			'<',
			0.5 * $fault{size},
			"$what: size of the largest step back");
		is($row->{stalls}, $done->{repeats}, "$what: no stalls except those that the shim counted");
		is($row->{lags}, 0, "$what: a step back is no lag");
		is($row->{warps}, 0, "$what: the step ahead after a step back is no warp");
		cmp_ok($row->{gaps}, '<=', $done->{gaps},
			"$what: a step back is no time off the CPU");
		like(
			$warnings,
			qr/WARNING:  clock source "system" went backwards\nDETAIL:  Backward steps: $fault{times}, the largest of \d+ ns, in $row->{readings} readings\./,
			"$what: warning");
		unlike($warnings, qr/runs too|stood still|jumped|fell behind/,
			"$what: no other warning");
	}
}

# The clock stands still for some calls.
foreach my $fault (
	[ 'once', first => 50000, every => 1, times => 1, size => 5 ],
	[ 'in the probe', first => 50, every => 10, times => 50, size => 2 ],
	[ 'from the start', first => 2, every => 11, times => 300, size => 3 ],
	[ 'single', first => 500, every => 100, times => 1000, size => 1 ],
	[ 'rare', first => 20000, every => 20000, times => 10, size => 10 ])
{
	my ($name, %fault) = @$fault;
	my $what = "still, $name";
	my ($row, $warnings, $done) = measure('system', 0.1, 'still', %fault);

	is($done->{repeats} - $done->{true_repeats},
		$fault{times} * $fault{size}, "$what: readings repeated");
	is($row->{stalls}, $done->{repeats}, "$what: each stall was found");
	is($row->{longest_stall}, $fault{size}, "$what: the longest stall was found");
	is($row->{backward_steps}, 0, "$what: no step back");
	unlike($warnings, qr/backwards|runs too/, "$what: no false warning");
}

# The clock stands still for ever, from the given call on. The run must end nevertheless.
foreach my $first (2, 100, 50000)
{
	my $what = "still for good from call $first";
	my $start = time;
	my ($row, $warnings, $done) = measure('system', 0.1, 'still_for_good',
		first => $first, times => 1);
	my $elapsed = time - $start;

	cmp_ok($elapsed, '<', 60, "$what: the run ends");
	cmp_ok($row->{duration_s}, '>=', 0.1, "$what: not too early");
	is($row->{stalls}, $row->{longest_stall}, "$what: all stalls are successive");
	cmp_ok($row->{longest_stall}, '<=', $done->{repeats},
		"$what: the stall has no more than the repeated readings");
	cmp_ok($row->{longest_stall}, '>', $row->{readings} / 2,
		"$what: nearly all readings are in the stall");
	like(
		$warnings,
		qr/WARNING:  clock source "system" stood still\nDETAIL:  Up to $row->{longest_stall} readings in a row were equal to the previous reading\./,
		"$what: warning");
	unlike($warnings, qr/runs too/, "$what: no warning of a slow clock");
	is($row->{backward_steps}, 0, "$what: no step back");
	is($row->{warps}, 0, "$what: no warp");
}

# The clock jumps ahead. All jumps are in the measuring loop, which looks for them: it reads the clock
# in blocks, and compares it with the reference clock between blocks.
foreach my $fault (
	[ 'one', first => 50000, every => 1, times => 1, size => 5000 ],
	[ 'one per block', first => 30000, every => 20000, times => 30, size => 5000 ],
	[ 'large', first => 30000, every => 20000, times => 10, size => 10000000 ])
{
	my ($name, %fault) = @$fault;
	my $what = "jump, $name";
	my ($row, $warnings, $done);

	# A jump of 5 us cannot be proven if the process loses the CPU while the clocks are compared. So
	# the measurement is repeated.
	foreach (1 .. 10)
	{
		($row, $warnings, $done) = measure('system', 0.1, 'jump', %fault);
		last if $row->{warps} >= $fault{times};
	}
	cmp_ok($row->{warps}, '>=', $fault{times}, "$what: each jump was found");

	# After a long interruption, the comparison of the clocks may show a jump that does not exist,
	# of up to 1 us.
	cmp_ok($row->{warps}, '<=', $fault{times} + $done->{gaps},
		"$what: no other jump was found");
	cmp_ok(abs($row->{warp_max_ns} - $fault{size}),
		'<', 1500 + $fault{size} / 1000, "$what: size of the largest jump");
	cmp_ok(abs($row->{warp_total_ns} - $fault{times} * $fault{size}),
		'<', $fault{times} * (1500 + $fault{size} / 1000),
		"$what: sum of the jumps");
	is($row->{backward_steps}, 0, "$what: no step back");
	is($row->{lags}, 0, "$what: no lag");
	cmp_ok($row->{gaps}, '<=', $done->{gaps}, "$what: no gaps except those that the shim counted");
	like(
		$warnings,
		qr/WARNING:  clock source "system" jumped ahead of the reference clock\nDETAIL:  Warps: $row->{warps}, the largest of \d+ ns\./,
		"$what: warning");
	unlike($warnings, qr/went backwards|stood still|runs too/,
		"$what: no other warning");
}

# Several jumps within one block of readings. The clock is compared with the reference clock only
# between blocks. This comparison shows the sum of the jumps, which the run must find. The run must
# also find most of them as separate jumps, unless the process loses the CPU in many blocks.
{
	my $what = 'jump, several in a block';
	my ($row, $warnings, $done);

	# In at least one of ten attempts, the process must keep the CPU in most blocks.
	foreach (1 .. 10)
	{
		($row, $warnings, $done) = measure('system', 0.1, 'jump',
			first => 30000, every => 1500, times => 200, size => 5000);
		cmp_ok($row->{warps}, '<=', 200, "$what: no more jumps than were injected");
		last if $row->{warps} > 150;
	}
	cmp_ok($row->{warps}, '>', 150, "$what: most jumps are found separately");
	cmp_ok(abs($row->{warp_total_ns} - 200 * 5000),
		'<', 200 * 1500, "$what: sum of the jumps");
	diag "$row->{warps} of 200 jumps told apart, the largest of"
	  . " $row->{warp_max_ns} ns";
}

# The clock runs 0.1 % fast. Its rate is compared with the rate that was measured without the fault,
# and not with 0, because NTP changes the rate of the system clock.
{
	my $correct = $session->row(summary_of('system', 0.5));
	my ($row, $warnings, $done) =
	  measure('system', 0.5, 'fast', first => 2, times => 1, size => 1000);

	cmp_ok(
		abs($row->{rate_ppm} - $correct->{rate_ppm} - 1000),
		'<',
		$row->{rate_bound_ppm} + $correct->{rate_bound_ppm} + 30,
		"fast: rate_ppm, now $row->{rate_ppm}, before $correct->{rate_ppm}");
	is($row->{warps}, 0, 'fast: no warp');
	is($row->{backward_steps}, 0, 'fast: no step back');
	like(
		$warnings,
		qr/WARNING:  clock source "system" runs too fast\nDETAIL:  Its rate differs from the reference clock's by \d+ parts per million/,
		'fast: warning');
	unlike($warnings, qr/jumped|backwards|still|behind/,
		'fast: no other warning');
}

# The source instr_time is the clock that the server reads. If the server reads the system clock,
# the faults of the system clock are also found in instr_time.
$session->query(
	q{SELECT set_config('timing_clock_source', 'system', false)
		FROM pg_settings WHERE name = 'timing_clock_source'});
foreach my $kind ('back', 'back_once')
{
	my ($row, $warnings, $done) = measure('instr_time', 0.1, $kind,
		first => 2000, every => 1000, times => 100, size => 10000);

	is($row->{backward_steps}, 100, "$kind: each step back was found in instr_time");
	like($warnings, qr/clock source "instr_time" went backwards/,
		"$kind: warning of instr_time");
}

# clock_survey() finds the same faults. It first measures the cost of a reading, in up to 400
# batches of 40 us or more, and does not look for faults meanwhile. So the faults begin only at call
# 3,000,000, after this measurement.
foreach my $fault (
	[ 'back', times => 40, size => 5000, backward_steps => 40 ],
	[ 'back_once', times => 40, size => 5000, backward_steps => 40 ],
	[ 'jump', times => 12, size => 2000000, warps => 12 ],
	[ 'still', times => 20, size => 500, fails => 40 ])
{
	my ($kind, %fault) = @$fault;
	my $what = "survey, $kind";
	my %expected = map { $_ => $fault{$_} || 0 } qw(backward_steps warps fails);
	my ($row, $done, $found);

	# Repeats the survey until all faults of the schedule are within it, and until all jumps were
	# proven.
	for (my ($duration, $tries) = (0.5, 0); $duration < 60 && $tries < 10;)
	{
		arm($session->pid, $kind, first => 3000000, every => 20000, %fault);
		$row = $session->row("SELECT * FROM clock_survey('{system}', duration => $duration)");
		$done = read_counts();
		disarm();

		# If the process loses the CPU while the clock stands still, the end of the stall looks like
		# a jump. fake_clock.c counts such interruptions ("hidden"). Ignores up to this number of
		# jumps.
		$row->{warps} = 0
		  if $kind eq 'still' && $row->{warps} <= $done->{hidden};
		$found = { map { $_ => $row->{$_} } keys %expected };
		if ($done->{faults} < $fault{times}) { $duration *= 2; next; }
		last if $kind ne 'jump' || $row->{warps} == $fault{times};
		$tries++;
	}
	is($done->{faults}, $fault{times}, "$what: all $fault{times} faults were injected");
	is_deeply($found, \%expected, "$what: each fault was found, and no other");
	is($row->{stalls}, $done->{repeats}, "$what: stalls") if $kind eq 'still';
	is($row->{strictly_monotonic}, 'f', "$what: not strictly monotonic");
}
{
	my ($row) = $session->row(
		q{SELECT * FROM clock_survey('{system}', duration => 0.3)});

	is(join(' ', @$row{qw(backward_steps warps fails stalls strictly_monotonic)}),
		'0 0 0 0 t', 'survey: no finding without a fault');
}

# Faults of CLOCK_MONOTONIC do not affect runs of the TSC, nor its calibration. Each run has its own
# session, because a session calibrates only once.
SKIP:
{
	skip 'no time-stamp counter here', 1 unless $tsc;

	foreach my $kind ('back', 'back_once', 'still_for_good', 'jump', 'fast')
	{
		foreach my $source ('rdtsc', 'rdtscp')
		{
			my %fault = (
				first => 2,
				every => 1000,
				times => 100,
				size => $kind eq 'fast' ? 100000 : 1000000);

			$session->quit;
			$session = ClockSession->new($node);
			arm($session->pid, $kind, %fault);
			my ($row, $warnings) = $session->row(summary_of($source, 0.1));
			no_finding($row, $warnings, "$source, $kind");

			# Checks that faults are injected in this session.
			$warnings = $session->query(
				"SELECT count(*) FROM clock_summary('system', 0.1)")->{err};
			like($warnings, qr/^WARNING:  clock source "system"/,
				"$source, $kind: the system clock is faulty");
			disarm();
		}
	}
}

# A clock that returns random times. No loop may wait for the clock to advance by a certain step,
# because that may never happen. Every call must end, and must be cancellable.
foreach my $size (1e6, 1e9, 1e15, 4e18)
{
	foreach my $call (
		q{clock_measure('system', 0.1)},
		q{clock_histogram('system', 0.1)},
		q{clock_histogram('system', 0.1, 99.99)},
		q{clock_summary('system', 0.1)},
		q{clock_timeline('system', 0.2, 0.1)},
		q{clock_throttled('system', 0.1, 1000)},
		q{clock_survey('{system}', duration => 0.2)})
	{
		my $what = sprintf('random times below %g ns, %s', $size, $call);
		my $result;

		$session->query(q{SET statement_timeout = '60s'});
		arm($session->pid, 'random', first => 2, times => 1, size => $size);
		$result = $session->query("SELECT count(*) > 0 FROM $call");
		is($result->{state}, '00000', $what);
		is($result->{out}, 't', "$what: a result");

		my $long = $call;
		$long =~ s/0\.[12]/600/;
		$session->query(q{SET statement_timeout = '100ms'});
		$result = $session->query("SELECT count(*) FROM $long");
		is($result->{state}, '57014', "$what: cancelled");
		disarm();
		$session->query('RESET statement_timeout');
	}
}
{
	arm($session->pid, 'random', first => 2, times => 1, size => 1e6);
	my ($row, $warnings) = $session->row(summary_of('system', 0.3));
	disarm();
	is($row->{granularity_ns}, '1.00', 'random times: the granularity is 1 ns');
	like($warnings, qr/went backwards/, 'random times: warning');
}

# Without faults, the clock is correct again.
no_finding($session->row(summary_of('system', 0.3)), 'after all faults');
$session->quit;
$node->stop;
done_testing();
