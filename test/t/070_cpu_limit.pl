
# The server loses the CPU because of the CPU limit of its container, which cpu.stat of the control
# group shows. clock_advice() must name the limit, and not blame other processes. Without a limit,
# it must blame them. The portable edition must do the same, if its role may read files of the server.

use strict;
use warnings;

use File::Basename;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

use ClockShim;

plan(skip_all => 'taskset is not installed') if system('taskset -p $$ >/dev/null 2>&1') != 0;

my $kernel = ClockShim->new('kernel_clock');
my $directory = PostgreSQL::Test::Utils::tempdir();
sub write_file { my ($name, $text) = @_; return ClockShim::put_file("$directory/$name", $text); }
write_file('cpu.stat', 'throttled_usec 0');
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$kernel->start($node, KERNEL_CLOCK_DIR => $directory);
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');
$node->safe_psql('postgres', 'CREATE SCHEMA portable; GRANT USAGE ON SCHEMA portable TO PUBLIC; CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor');
$node->safe_psql('postgres', 'SET search_path = portable; ' . slurp_file(dirname(__FILE__) . '/../../portable/clocktiming.sql'));

my @children;
END { kill('KILL', @children) if @children; }

# Calls a function again and again in a child.
sub repeat
{
	my ($function) = @_;
	my $parent = $$;
	my $pid = fork() // die $!;

	if ($pid == 0) { @children = (); $function->() while getppid() == $parent; POSIX::_exit(0); }
	push(@children, $pid);
	return $pid;
}

# All processes use the same CPU, so the backend loses it.
my ($cpu) = `taskset -cp $$` =~ /: (\d+)/;
system("taskset -cp $cpu $$ >/dev/null");
my $advice = "SET clocktiming.progress_interval = 0; SELECT severity, finding FROM internal_clock_findings(1) WHERE check_name = 'gaps'";
system('taskset -acp ' . $cpu . ' ' . $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'") . ' >/dev/null');
my $postmaster = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
system("taskset -cp $cpu $postmaster >/dev/null");
repeat(sub { 1 for 1 .. 100000; }) for 1 .. 3;

my $others = $node->safe_psql('postgres', $advice);
like($others, qr/^notice\|other processes interrupted the run/, 'busy processes: other processes are the cause');
unlike($others, qr/limit/, 'no limit is named');
my $portable_advice = q{SELECT severity, replace(finding, E'\n', ' ') FROM portable.clock_advice(1) WHERE check_name = 'gaps'};
my $portable_note = q{SELECT replace(note, E'\n', '') FROM portable.clock_explain('SELECT 1', runs => 5) WHERE node = 0};
$others = $node->safe_psql('postgres', $portable_advice);
like($others, qr/^notice\|/, 'portable edition: other causes');
unlike($others, qr/limit of the server's container/, 'portable edition: no limit is named');
unlike($node->safe_psql('postgres', $portable_note), qr/limit/, 'nor by clock_explain()');

foreach my $version ('throttled_usec', 'throttled_time')
{
	my ($since, $unit) = (time, $version eq 'throttled_usec' ? 1e6 : 1e9);
	my $writer = repeat(sub { write_file('cpu.stat', sprintf("nr_throttled 5\n$version %.0f", (time - $since) * 10 * $unit)); sleep(0.02); });

	sleep(0.5);
	like($node->safe_psql('postgres', $advice), qr/^notice\|the CPU limit of the server's container interrupted the run.*stopped its processes for \d+\.\d ms/, "$version: the limit is the cause");
	like($node->safe_psql('postgres', $portable_advice), qr/^notice\|the CPU limit of the server's container interrupted the run.*stopped its processes for \d+\.\d ms/,
		"$version: portable edition");
	like($node->safe_psql('postgres', $portable_note), qr/in \d+\.\d s of executions, the CPU limit of the container stopped its processes for \d+\.\d s/,
		"$version: clock_explain() of the portable edition");
	unlike($node->safe_psql('postgres', $portable_advice, extra_params => [ '-U', 'regress_monitor' ]), qr/cpu\.stat/, "$version: a role that may not read files");
	kill('KILL', $writer);
	waitpid($writer, 0);
}
kill('KILL', @children);
@children = ();
$node->stop;
done_testing();
