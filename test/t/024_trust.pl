
# Tests which clock clock_explain() uses. If timing_clock_source names no clock, clocktiming uses
# the time-stamp counter (TSC) only if it is reliable according to processor and kernel.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use ClockShim;

my $shim = ClockShim->new('kernel_clock');
plan skip_all => 'this is not Linux' unless $^O eq 'linux';

# Directory of files that replace those of the kernel. test/shim/kernel_clock.c makes the server
# read them.
my $dir = PostgreSQL::Test::Utils::tempdir() . '/clocksource';
mkdir $dir or die "$dir: $!";
chmod 0755, $dir;

sub kernel_clock
{
	my ($current, $available) = @_;

	unlink "$dir/current_clocksource", "$dir/available_clocksource";
	append_to_file("$dir/current_clocksource", "$current\n")
	  if defined $current;
	append_to_file("$dir/available_clocksource", "$available\n")
	  if defined $available;
	return;
}

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
kernel_clock('tsc', 'tsc hpet acpi_pm');
$shim->start($node, KERNEL_CLOCK_DIR => $dir);
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');
my $session = ClockSession->new($node);
my $has_setting = $node->pg_version->major >= 19;

sub fact
{
	my ($name, $column) = @_;

	$column ||= 'value';
	return $session->query("SELECT $column FROM clock_platform WHERE name = '$name'")->{out};
}

# Checks that clock_explain() uses the clock $source, and that the stated reason is $reason, by the
# output of clock_explain_text() and clock_platform.
sub timed_by
{
	my ($source, $reason, $what) = @_;
	my $clock = $source eq 'rdtsc' ? 'RDTSC' : 'clock_gettime (CLOCK_MONOTONIC)';
	my $text = $session->query(
		q{SELECT * FROM clock_explain_text('SELECT count(*) FROM generate_series(1, 1000)')})->{out};

	like($text, qr/^ *Time: \Q$clock\E, sampling/m, "$what: clock_explain_text");
	is(fact('clock_explain_source'), $source, "$what: clock_platform");
	is(fact('clock_explain_source', 'note'), $reason, "$what: the reason");
	return;
}

# Returns the severity, finding and action of clock_advice() about the clock of EXPLAIN ANALYZE,
# each as one line.
sub advice
{
	my $out = $session->query(
		q{SELECT severity, translate(finding, E'\n', ' '), coalesce(translate(action, E'\n', ' '), '') FROM clock_advice()
			WHERE check_name = 'explain_clock'})->{out};

	cmp_ok($session->widest('SELECT * FROM clock_advice(0.1)'), '<=', 120, 'fits a page');
	return split /\|/, $out, -1;
}

if (   fact('rdtscp') ne 'yes'
	|| fact('invariant_tsc') ne 'yes')
{
	like(fact('clock_explain_source', 'note'), qr/./, 'no usable TSC: the reason is stated');
	timed_by('system', fact('clock_explain_source', 'note'), 'no usable TSC');
	$session->quit;
	$node->stop;
	done_testing();
	exit;
}
my $adjust = fact('tsc_adjust') eq 'yes';

is(fact('kernel_clock_source'), 'tsc', 'the server reads the files of the test');
timed_by('rdtsc', '', 'the kernel uses the TSC');

kernel_clock('hpet', 'hpet acpi_pm');
is(fact('kernel_clock_source'), 'hpet', 'the clock source of the kernel changes');
timed_by('system', 'the kernel has given up the TSC: its clock source is hpet', 'given up');

kernel_clock('acpi_pm', 'tsc hpet acpi_pm');
timed_by('system', 'the kernel does not keep time by the TSC: its clock source is acpi_pm',
	'not used');

kernel_clock('kvm-clock', 'kvm-clock acpi_pm');
timed_by('system', 'the kernel has given up the TSC: its clock source is kvm-clock',
	'given up by a guest');

kernel_clock('kvm-clock', 'kvm-clock tsc acpi_pm');
timed_by(
	$adjust
	? ('rdtsc', '')
	: ( 'system', "the processor has no TSC_ADJUST, and the kernel's clock source is kvm-clock"),
	'a guest with a clock of its own');

kernel_clock();
is(fact('kernel_clock_source'), '', 'the kernel says nothing');
timed_by(
	$adjust
	? ('rdtsc', '')
	: ('system', "the processor has no TSC_ADJUST, and the kernel's clock source is not known"),
	'nothing is known');

SKIP:
{
	skip 'PostgreSQL 19 and later have timing_clock_source', 1 unless $has_setting;

	my $report = sub {
		$session->query('SELECT * FROM clock_report(0.05)')->{out} =~
		  /^(TSC clock source will .*)$/m;
		return $1;
	};

	# If timing_clock_source names a clock, clocktiming uses this clock, whatever the kernel's files
	# contain.
	kernel_clock('tsc', 'tsc hpet acpi_pm');
	$session->query('SET timing_clock_source = system');
	timed_by('system', 'timing_clock_source is system', 'set to system');
	is(fact('explain_analyze_source'), 'system', 'set to system: the server reads the same clock');

	skip 'the server could not calibrate the TSC', 1
	  if fact('tsc_frequency_server_khz') eq '';
	like($report->(), qr/will be used by default/, 'clock_report states the default of the server');
	is($session->query('SHOW timing_clock_source')->{out}, 'system', 'clock_report does not change the setting');
	my ($severity, $finding, $now) = advice();
	isnt($severity, 'warning', "set to system: $finding");
	unlike($finding, qr/unreliable/, 'set to system: the TSC is reliable');

	kernel_clock('hpet', 'hpet acpi_pm');
	like(
		$report->(),
		$adjust ? qr/will be used by default/ : qr/will not be used by default/,
		'default of the server if the kernel has given up the TSC');
	($severity, $finding, $now) = advice();
	is($severity, 'ok', "set to system, given up: $finding");
	is($now, '', 'set to system, given up: nothing to do');

	$session->query('SET timing_clock_source = tsc');
	timed_by('rdtsc', '', 'set to tsc: the setting overrides the kernel');
	($severity, $finding, $now) = advice();
	is($severity, 'notice', "set to tsc, given up: $finding");
	like($finding, qr/the kernel has given up the TSC: its clock source is hpet/,
		'set to tsc, given up: why');
	like($now, qr/^now: SET timing_clock_source = 'system' for good: /, 'set to tsc, given up: what to do');

	# With the setting "auto", the server chooses the clock by its own rule.
	$session->query('SET timing_clock_source = auto');
	is(fact('explain_analyze_source'), $adjust ? 'rdtsc' : 'system', 'auto, given up: the server');
	timed_by('system', 'the kernel has given up the TSC: its clock source is hpet', 'auto, given up');

	# If a timed query changes the setting, the rest of the query is timed by the former clock.
	kernel_clock('tsc', 'tsc hpet acpi_pm');
	$session->query(
		q{CREATE FUNCTION pg_temp.other_clock() RETURNS text LANGUAGE sql SET timing_clock_source = system
			AS $$ SELECT count(*)::text FROM clock_explain('SELECT 1') $$});
	my $out = $session->query(
		q{SELECT * FROM clock_explain_text('SELECT pg_temp.other_clock(), sum(i) FROM generate_series(1, 100000) AS i')}
	)->{out};
	like($out, qr/Time: RDTSC, sampling/, 'a setting that changes within a query does not affect its timing');
}

$session->quit;
$node->stop;
done_testing();
