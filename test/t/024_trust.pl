
# The advice about the clock of EXPLAIN ANALYZE, with timing_clock_source and a kernel that has given
# up the time-stamp counter (TSC).

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

	ClockShim::put_file("$dir/current_clocksource", $current);
	ClockShim::put_file("$dir/available_clocksource", $available);
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

my $adjust = fact('tsc_adjust') eq 'yes';

is(fact('kernel_clock_source'), 'tsc', 'the server reads the files of the test');
kernel_clock('hpet', 'hpet acpi_pm');
is(fact('kernel_clock_source'), 'hpet', 'the clock source of the kernel changes');
kernel_clock();
is(fact('kernel_clock_source'), '', 'the kernel says nothing');

SKIP:
{
	skip 'PostgreSQL 19 and later have timing_clock_source', 1 unless $has_setting;
	skip 'the TSC cannot be used here', 1 if fact('rdtscp') ne 'yes' || fact('invariant_tsc') ne 'yes';

	my $report = sub {
		$session->query('SELECT * FROM clock_report(0.05)')->{out} =~
		  /^(TSC clock source will .*)$/m;
		return $1;
	};

	kernel_clock('tsc', 'tsc hpet acpi_pm');
	$session->query('SET timing_clock_source = system');
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
	($severity, $finding, $now) = advice();
	is($severity, 'notice', "set to tsc, given up: $finding");
	like($finding, qr/the kernel has given up the TSC: its clock source is hpet/,
		'set to tsc, given up: why');
	like($now, qr/^now: SET timing_clock_source = 'system' for good: /, 'set to tsc, given up: what to do');

	# With the setting "auto", the server chooses the clock by its own rule.
	$session->query('SET timing_clock_source = auto');
	is(fact('explain_analyze_source'), $adjust ? 'rdtsc' : 'system', 'auto, given up: the server');
}

$session->quit;
$node->stop;
done_testing();
