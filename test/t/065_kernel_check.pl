
# Whether the kernel checks the TSC, by which it keeps time, and kernels that reject a good TSC.
# test/shim/kernel_clock.c replaces the kernel's files and its release.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockShim;

my $shim = ClockShim->new('kernel_clock');
my $slow = ClockShim->new('slow_clock');
plan skip_all => 'this is not Linux' unless $^O eq 'linux';

my $directory = PostgreSQL::Test::Utils::tempdir();
my $exempt = 'fpu tsc constant_tsc nonstop_tsc tsc_adjust';

# Writes the files of a kernel. Arguments replace the defaults.
sub kernel
{
	my (%set) = @_;
	my %file = (current_clocksource => 'tsc', available_clocksource => 'tsc hpet acpi_pm', cmdline => 'quiet',
		cpuinfo => "processor\t: 0\nflags\t\t: fpu tsc constant_tsc nonstop_tsc\nbugs\t\t:", release => '6.12.5-amd64', %set);

	foreach my $name (keys %file)
	{
		open(my $fh, '>', "$directory/$name") or die $!;
		print $fh "$file{$name}\n";
		close($fh);
	}
	return;
}
sub cpuinfo { my ($flags) = @_; return "processor\t: 0\nflags\t\t: $flags\nbugs\t\t:"; }

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
kernel();
$shim->start($node, KERNEL_CLOCK_DIR => $directory, LD_PRELOAD => join(':', map { $_->{library} } $shim, $slow));
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');

sub query { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }
sub fact { return query(q{SELECT coalesce(value, 'unknown') || ': ' || note FROM clock_platform WHERE name = 'kernel_checks_tsc'}); }
sub advice
{
	my ($check) = @_;

	# The system clock is slow here. Makes the server read it; on 19, this prints a line.
	return (split /\n/, query(qq{SELECT set_config('timing_clock_source', 'system', false) FROM pg_settings WHERE name = 'timing_clock_source';
		SELECT severity || ': ' || translate(finding, E'\\n', ' ') || coalesce(' / ' || translate(action, E'\\n', ' '), '') FROM clock_advice(0.1) WHERE check_name = '$check'}))[-1];
}

like(query(q{SELECT value FROM clock_platform WHERE name = 'operating_system'}), qr/^Linux 6\.12\.5-amd64 /, 'the server reads the files of the test');
SKIP:
{
	skip 'the TSC cannot be read here', 12 if query(q{SELECT available FROM clock_sources WHERE source = 'rdtsc'}) ne 't';

	is(fact(), 'yes: the kernel compares the TSC with another timer', 'an ordinary machine');
	unlike(advice('explain_clock'), qr/does not check/, 'an ordinary machine: advice');
	foreach my $case (
		[ 'unknown: the kernel does not keep time by the TSC', current_clocksource => 'hpet' ],
		[ 'no: the kernel was started with tsc=nowatchdog', cmdline => 'ro tsc=nowatchdog' ],
		[ 'no: the hypervisor or the platform declares the TSC to be reliable', cpuinfo => cpuinfo("$exempt tsc_reliable") ],
		[ 'no: the kernel has no timer that is independent of the TSC', available_clocksource => 'tsc kvm-clock' ],
		[ 'yes: the kernel compares the TSC with another timer', cpuinfo => cpuinfo($exempt), release => '5.10.0' ])
	{
		my ($expected, %set) = @$case;

		kernel(%set);
		is(fact(), $expected, $expected);
	}

	# The number of packages is that of this machine.
	kernel(cpuinfo => cpuinfo($exempt));
	like(fact(), qr/^(?:no: Linux does not check the TSC of a processor with TSC_ADJUST|unknown: .*depends|yes: )/, 'TSC_ADJUST');
	kernel(cmdline => 'tsc=reliable');
	is(fact(), 'no: the kernel was started with tsc=reliable', 'tsc=reliable');
	like(advice('explain_clock'), qr/the kernel does not check the TSC: the kernel was started with tsc=reliable/, 'tsc=reliable: advice');

	# The kernel has given up the TSC.
	my %given_up = (current_clocksource => 'hpet', available_clocksource => 'hpet acpi_pm');
	kernel(%given_up);
	unlike(advice('cost'), qr/update the kernel/, 'given up by Linux 6.12');
	kernel(%given_up, release => '7.2.3-arch1');
	skip 'the TSC is not invariant here', 1 if query(q{SELECT value FROM clock_platform WHERE name = 'invariant_tsc'}) ne 'yes';
	like(advice('cost'), qr/^warning: .* for good: update the kernel: Linux 7\.1 to 7\.3 \(here 7\.2\.3-arch1\) reject a good TSC .* f322d7f7ae56/, 'given up by Linux 7.2');
}
SKIP:
{
	skip 'PostgreSQL 19 and later have timing_clock_source', 1 if $node->pg_version->major < 19;
	skip 'the TSC cannot be used here', 1 if query(q{SELECT count(*) FROM clock_platform WHERE name IN ('rdtscp', 'invariant_tsc') AND value = 'yes'}) ne '2';
	like(advice('explain_clock'), qr/^notice: the TSC seems to be unreliable, perhaps wrongly: the kernel has given up the TSC: its clock source is hpet.* for good: update the kernel/, 'advice about the clock of EXPLAIN ANALYZE');
}
$node->stop;

done_testing();
