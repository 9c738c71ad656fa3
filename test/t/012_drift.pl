
# clock_drift() and clock_monitor() on a clock that runs at a wrong rate, steps, or stands still
# (test/shim/drift_clock.c). The functions must find the injected drift.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ClockSession;

my $shim = ($ENV{CLOCKTIMING_SHIM_DIR} || '') . '/drift_clock.so';
plan skip_all => "no $shim: say by CLOCKTIMING_SHIM_DIR where it is"
  unless -f $shim;

# Maximum time in seconds, and maximum CPU time in seconds, between the interruption of a statement
# and its end. On an idle machine, a statement ends after 10 ms, but on a loaded machine its process
# may wait long for the CPU. Uninterrupted, no tested statement ends within this time.
my $allowed = 30;
my $allowed_cpu = 1;

my $control = PostgreSQL::Test::Utils::tempdir() . '/drift_clock';

# Makes CLOCK_MONOTONIC of a process faulty. Arguments:
#   $ppm    error of the clock's rate in ppm
#   $ahead  offset of the clock in ns
#   $delay  delay of some readings in ns
#   $every  length of a period in ns, for $step and $still
#   $step   size in ns of the clock's step ahead in each period
#   $still  time in ns for which the clock stands still in each period
sub inject
{
	my ($pid, $ppm, $ahead, $delay, $every, $step, $still) = @_;

	open(my $fh, '+<', $control) or die "$control: $!";
	# Adds 1 s, because a clock that equals the reference clock would be taken for it.
	syswrite($fh, pack('q7', $pid, $ppm * 1000, 1_000_000_000 + ($ahead || 0), map { $_ || 0 } $delay, $every, $step, $still)) == 56
	  or die "$control: $!";
	close($fh);
	return;
}

open(my $fh, '>', $control) or die "$control: $!";
print $fh pack('q7', (0) x 7);
close($fh);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
{
	# Only the server loads the library, so only its clock is faulty.
	local $ENV{LD_PRELOAD} = $shim;
	local $ENV{DRIFT_CLOCK_CONTROL} = $control;
	$node->start;
}
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');

my $session = ClockSession->new($node);
my $killer = ClockSession->new($node);
my $pid = $session->pid;
my $tsc = $node->safe_psql('postgres',
	q{SELECT available FROM clock_sources WHERE source = 'rdtsc'}) eq 't';

# Calibrates the TSC before the tests.
$session->query('SELECT count(*) FROM clock_sources');

# Number of confidence intervals that were measured at a first attempt, and number of those
# intervals that is_right() accepts.
my ($intervals, $containing) = (0, 0);

# Returns whether the confidence interval of a drift contains the true drift. If the true drift is
# not 0, the interval must not contain 0, unless $wide is true.
sub is_right
{
	my ($row, $truth, $wide) = @_;

	return 0 if $row->{drift_ppm} eq '' || abs($row->{drift_ppm} - $truth) > $row->{drift_margin_ppm};
	return $truth == 0 || $wide || abs($row->{drift_ppm}) > $row->{drift_margin_ppm};
}

# Calls $measure, which returns a list that begins with a row of clock_drift(). Repeats the call up
# to four times, until is_right() accepts the row and $also, if given, returns true for the list.
# Repetition is necessary: a 95 % interval misses the true drift in one of 20 cases, and a process
# that waits for the CPU may see two steps as one.
sub measured
{
	my ($truth, $measure, $also, $wide) = @_;
	my @values;

	foreach my $try (1 .. 5)
	{
		@values = $measure->();
		my $right = is_right($values[0], $truth, $wide);
		$intervals++ if $try == 1;
		$containing++ if $try == 1 && $right;
		last if $right && (!$also || $also->(@values));
	}
	return wantarray ? @values : $values[0];
}

# Checks that the confidence interval of a row contains the true drift, by the criteria of
# is_right().
sub contains
{
	my ($row, $truth, $what, $wide) = @_;
	my ($drift, $error) = @$row{qw(drift_ppm drift_margin_ppm)};

	diag "$what: $drift +- $error ppm, residuals up to $row->{residual_max_ns} ns";
	cmp_ok($error, '>', 0, "$what: there is an interval");
	cmp_ok(abs($drift - $truth),
		'<=', $error, "$what: $drift +- $error contains $truth");
	cmp_ok(abs($drift), '>', $error, "$what: the interval does not contain 0") if $truth != 0 && !$wide;
	return;
}

sub drift_of
{
	my ($source, $reference, $duration) = @_;
	return $session->row(
		"SELECT * FROM clock_drift('$source', $duration, '$reference')");
}

# Calls drift_of() until is_right() accepts the drift, at most five times.
sub right_drift_of
{
	my ($truth, @arguments) = @_;
	return measured($truth, sub { return drift_of(@arguments); });
}

# Constant rates
foreach my $ppm (200, -200, 50, 1.5, 0, 1000, 500000)
{
	my $duration = abs($ppm) == 1.5 ? 0.5 : 0.2;

	inject($pid, $ppm);
	foreach my $source ('system', 'monotonic')
	{
		my ($row, $said) = right_drift_of($ppm, $source, 'kernel', $duration);

		contains($row, $ppm, "$source at $ppm ppm");
		is($said, '', "$source at $ppm ppm: no warning");
		is(join(' ', @$row{qw(backward_steps backward_max_ns warps warp_max_ns lags lag_max_ns)}),
			'0 0 0 0 0 0', "$source at $ppm ppm: no steps are found");
	}
	contains(scalar right_drift_of(0, 'monotonic_raw', 'kernel', $duration),
		0, "a correct clock compared with one at $ppm ppm");

	# Correct clocks seem to drift by this rate if the faulty clock is the reference.
	my $seen = (1 / (1 + $ppm / 1e6) - 1) * 1e6;
	contains(scalar right_drift_of($seen, 'monotonic_raw', 'system', $duration),
		$seen, "monotonic_raw against a reference at $ppm ppm");
}

# The longer the run, the narrower the interval
{
	inject($pid, 200);
	my $short = right_drift_of(200, 'system', 'kernel', 0.02);
	my ($long) = measured(200,
		sub { return drift_of('system', 'kernel', 1); },
		sub { return $_[0]->{drift_margin_ppm} < $short->{drift_margin_ppm}; });

	contains($short, 200, '200 ppm in 0.02 s');
	contains($long, 200, '200 ppm in 1 s');
	cmp_ok($long->{drift_margin_ppm},
		'<', $short->{drift_margin_ppm}, 'the interval is narrower after a longer time');
}

# Readings that are delayed are rejected. Each reading is taken between two readings of the
# reference clock (the bracket), and its time is assumed to be in the middle. If the reading is
# delayed, the bracket is wide, and the assumed time is wrong by half of the delay.
{
	my $delay = 20_000;

	inject($pid, 200, 0, $delay);
	my ($row) = measured(200,
		sub { return drift_of('system', 'kernel', 1); },
		sub { return $_[0]->{rejected} >= 10 && $_[0]->{pairs} > $_[0]->{rejected} && $_[0]->{residual_max_ns} < $delay / 4; });

	contains($row, 200, '200 ppm, readings that take long');
	diag "$row->{rejected} rejected, $row->{pairs} not";
	cmp_ok($row->{rejected}, '>=', 10, 'pairs with a wide bracket are rejected');
	cmp_ok($row->{pairs}, '>', $row->{rejected}, 'more pairs are used than rejected');
	cmp_ok($row->{residual_max_ns}, '<', $delay / 4, 'the residuals do not contain the delay');
	cmp_ok($row->{bracket_ns}, '<', $delay, 'the median bracket does not contain the delay');
}

# A drift is relative to a reference. Two clocks with the same rate do not drift, even if both are
# wrong.
if ($tsc)
{
	contains(scalar right_drift_of(0, 'rdtsc', 'rdtscp', 0.3), 0, 'rdtsc and rdtscp');
}
contains(scalar right_drift_of(0, 'system', 'monotonic', 0.3),
	0, 'two names of the faulty clock');

# clock_monitor(): the difference between the clock and the reference clock must grow at the
# injected rate.
foreach my $ppm (200, -200)
{
	inject($pid, $ppm);
	my (@rows, $edges);

	# Repeats the call if a difference is wrong. The process may lose the CPU in the first
	# comparison of the clocks. clock_monitor() does not return the bracket of this comparison, so
	# the test does not know its error.
	foreach (1 .. 5)
	{
		my $result = $session->query("SELECT * FROM clock_monitor('{system,monotonic_raw}', 0.6, 0.2)");

		@rows = ();
		$edges = 0;
		foreach (split /\n/, $result->{out})
		{
			my ($elapsed, $source, $advance, $against, $bracket) = split /\|/;
			my $truth = $source eq 'system' ? $advance * $ppm / 1e6 / (1 + $ppm / 1e6) * 1000 : 0;

			# The allowed error is the width of this row's bracket, plus 1 us: half of the bracket
			# of the first comparison, which is assumed to be at most 2 us wide.
			push @rows, { off => abs($against - $truth), allowed => 0.001 + $bracket / 1000 + 1,
				what => "monitor at $ppm ppm: $source after $elapsed s leads by $against us" };
			$edges++ if $source eq 'system';
		}
		last unless grep { $_->{off} > $_->{allowed} } @rows;
	}
	cmp_ok($_->{off}, '<=', $_->{allowed}, $_->{what}) foreach @rows;
	cmp_ok($edges, '>=', 1, 'clock_monitor returns rows');
	cmp_ok($edges, '<=', 3, 'clock_monitor returns at most one row per interval');
}

# Returns whether the session is executing a statement.
sub is_active
{
	return $killer->query("SELECT state FROM pg_stat_activity WHERE pid = $pid")->{out} eq 'active';
}

# A single step within a run is reported, and is not part of the rate. To be seen as a backward
# step, a step back must be longer than the time between two observations of the clock. Therefore
# the shortest step back of this test is 0.3 s. After a step of -3 s, the clock is earlier than at
# the start of the run.
foreach my $case (
	[ 2_000_000, 'system', 'kernel' ],
	[ 10_000_000_000, 'system', 'kernel' ],
	[ -300_000_000, 'system', 'kernel' ],
	[ -3_000_000_000, 'system', 'kernel' ],
	[ 3_000_000_000, 'monotonic_raw', 'system' ],
	[ -3_000_000_000, 'monotonic_raw', 'system' ])
{
	my ($step, $source, $reference) = @$case;
	my $what = $reference eq 'system' ? "a reference's step of $step ns" : "a step of $step ns";

	# If the faulty clock is the reference, the sign changes.
	my $seen = $reference eq 'system' ? -$step : $step;
	my $kind = $seen > 0 ? 'warp' : $reference eq 'system' ? 'lag' : 'backward';
	my %counts = (backward => 'backward_steps', warp => 'warps', lag => 'lags');
	my $duration = 0.5;

	my ($row, $said) = measured(
		0,
		sub {
			my (%row, $result, $in_time);

			# Doubles the duration until the step occurs within the run.
			for (; !$in_time && $duration < 60; $duration *= 2)
			{
				inject($pid, 0);
				$session->query('\pset tuples_only off');
				$session->send("SELECT * FROM clock_drift('$source', $duration, '$reference')");
				usleep(10_000) until is_active();
				usleep($duration * 0.4e6);
				inject($pid, 0, $step);
				$in_time = is_active();
				$result = $session->result;
				$session->query('\pset tuples_only on');
			}
			my ($names, $values) = split /\n/, $result->{out};
			@row{ split /\|/, $names } = split /\|/, $values, -1;
			return (\%row, $result->{err});
		},
		sub { my ($row) = @_; return !grep { $row->{ $counts{$_} } != ($_ eq $kind ? 1 : 0) } keys %counts; });

	contains($row, 0, $what);
	cmp_ok($row->{residual_max_ns}, '<', abs($step) * 0.49, "$what: residual");
	is_deeply(
		{ map { $_ => $row->{ $counts{$_} } } keys %counts },
		{ map { $_ => $_ eq $kind ? 1 : 0 } keys %counts },
		"$what: counted as $kind");
	cmp_ok(abs($row->{"${kind}_max_ns"} - abs($step)), '<=', abs($step) * 0.01 + 20_000, "$what: size");
	my %warnings = (
		backward => qr/WARNING:  clock source "$source" went backwards\nDETAIL:  Backward steps: 1, the largest of \d+ ns\.\n/,
		warp => qr/WARNING:  clock source "$source" jumped ahead of the reference clock\nDETAIL:  Warps: 1, the largest of \d+ ns\.\n/,
		lag => qr/WARNING:  clock source "$source" fell behind the reference clock\nDETAIL:  Lags: 1, the largest of \d+ ns\.\n/);
	my $hint = $reference eq 'system' ? qr/HINT:  The reference may be wrong: compare "system" with kernel\.\n/ : qr//;
	like($said, qr/^$warnings{$kind}$hint\z/, "$what: warning");
}

# A clock that steps repeatedly. The reported rate must be the rate between the steps. A step back
# may be reported as a backward step or as a lag, depending on the time between two observations. If
# the process waits for the CPU, two steps may be reported as one.
foreach my $case (
	[ 1, -1_000_000, 0 ], [ 1, 1_000_000, 200 ], [ 3, -1_000_000, 200 ],
	[ 1, -200_000, 0 ], [ 1, 200_000, 0 ])
{
	my ($duration, $step, $ppm) = @$case;
	my $what = "$step ns every 100 ms at $ppm ppm for $duration s";

	inject($pid, $ppm, 0, 0, 100_000_000, $step);
	my ($row, $said) = measured($ppm,
		sub { return drift_of('system', 'kernel', $duration); },
		sub {
			my ($row) = @_;
			my $back = $row->{backward_steps} + $row->{lags};
			return $step > 0 ? $row->{warps} && !$back : $back && !$row->{warps};
		},
		1);
	my $back = $row->{backward_steps} + $row->{lags};

	contains($row, $ppm, $what, 1);
	cmp_ok(abs($row->{drift_ppm} - $ppm), '<', abs($step) / 0.1 / 1000 / 2, "$what: the steps are not part of the rate");
	cmp_ok($step > 0 ? $row->{warps} : $back, '>', 0, "$what: found");
	cmp_ok($step > 0 ? $row->{warps} : $back, '<=', $row->{duration_s} / 0.1 + 2, "$what: no more steps than were injected");
	is($step > 0 ? $back : $row->{warps}, 0, "$what: no step in the other direction");
	cmp_ok($row->{warp_max_ns} + $row->{lag_max_ns} + $row->{backward_max_ns}, '>=', abs($step) * 0.95,
		"$what: size");
	like(
		$said,
		$step > 0
		? qr/^WARNING:  clock source "system" jumped ahead of the reference clock\nDETAIL:  Warps: $row->{warps}, the largest of $row->{warp_max_ns} ns\.\n\z/
		: qr/^WARNING:  clock source "system" (?:went backwards\nDETAIL:  Backward steps: $row->{backward_steps}|fell behind the reference clock\nDETAIL:  Lags: $row->{lags}), the largest of \d+ ns\.\n/,
		"$what: warning");
	diag "$what: $row->{backward_steps} back, $row->{warps} warps, $row->{lags} lags";
}

# A clock that stands still at intervals, and so falls behind
foreach my $still (3_000_000, 100_000_000)
{
	my $what = "still for $still ns in each 300 ms";

	inject($pid, 200, 0, 0, 300_000_000, 0, $still);
	my ($row, $said) = measured(200,
		sub { return drift_of('system', 'kernel', 1); },
		sub { return $_[0]->{lags} && $_[0]->{lag_max_ns} >= $still * 0.9 && !$_[0]->{backward_steps} && !$_[0]->{warps}; },
		1);

	contains($row, 200, $what, 1);
	cmp_ok($row->{lags}, '>', 0, "$what: found");
	cmp_ok($row->{lag_max_ns}, '>=', $still * 0.9, "$what: size");
	is("$row->{backward_steps} $row->{warps}", '0 0', "$what: nothing else");
	like($said, qr/^WARNING:  clock source "system" fell behind the reference clock\nDETAIL:  Lags: $row->{lags}, /, "$what: warning");
}

# Clocks that stand still or go backwards all the time, as source and as reference
foreach my $ppm (-1e6, -3e6)
{
	my $what = $ppm == -1e6 ? 'stands still' : 'goes backwards';
	inject($pid, $ppm);
	my $start = time;
	my ($row, $said) = right_drift_of($ppm, 'system', 'kernel', 0.2);
	my $unknown =
	  qr/^WARNING:  could not determine the drift of clock source "monotonic_raw"\nDETAIL:  The reference "system" did not advance\.\n/;

	contains($row, $ppm, "a clock that $what");
	like($said, qr/^WARNING:  clock source "system" went backwards\n/,
		"a clock that $what: warning")
	  if $ppm < -1e6;

	# Several attempts, because the fault may look like a jump if the process hardly gets the CPU.
	foreach (1 .. 5)
	{
		($row, $said) = drift_of('monotonic_raw', 'system', 0.2);
		last if $said =~ $unknown;
	}
	like($said, $unknown, "a reference that $what: warning");
	is($row->{drift_ppm}, '', "a reference that $what: no drift");
	is($row->{drift_margin_ppm}, '', "a reference that $what: no interval");
	my $result = $session->query(
		q{SELECT count(*) FROM clock_monitor('{monotonic_raw,system}', 0.2, 0.1)});
	is($result->{state}, '00000', "a clock that $what: the monitor ends");
	$result = $session->query(
		q{SELECT count(*) FROM clock_monitor('{monotonic_raw}', 0.2, 0.1, 'system')});
	is($result->{state}, '00000', "a reference that $what: the monitor ends");
	cmp_ok(time - $start, '<', 60, "a clock that $what: all calls end");
}

# There are more than 40 first attempts. 95 % of their intervals should contain the true drift.
# Requires only 80 %, because chance may lower the share.
cmp_ok($containing, '>=', 0.8 * $intervals, "$containing of $intervals intervals contain the true drift at the first attempt");
inject(0, 0);

# Progress reports
$session->query(q{SET clocktiming.progress_interval = '200ms'});
foreach my $call (
	[ q{clock_drift('system', 0.9, 'kernel')}, 'system', qr/drift so far -?\d+\.\d{3} ppm/ ],
	[ q{clock_monitor('{system}', 0.9, 0.3)}, 'clock_monitor', qr/\d of 3 intervals/ ])
{
	my ($from, $label, $detail) = @$call;
	my $notice =
	  qr/NOTICE:  progress: $label: \d\.\d s elapsed, \d\.\d s remaining, $detail\n/;
	my $result = $session->query("SELECT count(*) FROM $from");

	like($result->{err}, qr/^(?:$notice){1,4}\z/, "$from: reports");
}
$session->query('SET clocktiming.progress_interval = 0');

# Cancel, timeout and termination
my @calls = (
	q{clock_drift('system', 60, 'kernel')},
	q{clock_drift('system', 86400, 'kernel')},
	q{clock_monitor('{all}', 86400, 86400)},
	q{clock_monitor('{all}', 60, 0.001)});

foreach my $call (@calls)
{
	my $result;
	my $start;
	my $cpu;

	$session->query(q{SET statement_timeout = '200ms'});
	$cpu = $session->cpu;
	$result = $session->query("SELECT count(*) FROM $call");
	$cpu = $session->cpu - $cpu;
	is($result->{state}, '57014', "statement_timeout of $call");
	cmp_ok($result->{seconds}, '<', 0.2 + $allowed, "statement_timeout of $call: in time");
	cmp_ok($cpu, '<', 0.2 + $allowed_cpu, "statement_timeout of $call: and in little CPU time");
	diag sprintf('statement_timeout of %s: after %.1f ms', $call, ($result->{seconds} - 0.2) * 1000);
	$session->query('RESET statement_timeout');

	$session->send("SELECT count(*) FROM $call");
	usleep(10_000) until is_active();
	usleep(100_000);
	$start = time;
	$cpu = $session->cpu;
	$killer->query("SELECT pg_cancel_backend($pid)");
	$result = $session->result;
	$cpu = $session->cpu - $cpu;
	is($result->{state}, '57014', "pg_cancel_backend of $call");
	cmp_ok(time - $start, '<', $allowed, "pg_cancel_backend of $call: in time");
	cmp_ok($cpu, '<', $allowed_cpu, "pg_cancel_backend of $call: and in little CPU time");
	diag sprintf('pg_cancel_backend of %s: after %.1f ms', $call, (time - $start) * 1000);
	contains(scalar right_drift_of(0, 'monotonic_raw', 'kernel', 0.05),
		0, "after $call the session goes on");
}

$_->quit foreach ($session, $killer);
$node->stop;
unlike(slurp_file($node->logfile),
	qr/terminated by signal/, 'no process has been killed');

done_testing();
