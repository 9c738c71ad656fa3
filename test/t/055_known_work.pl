# Compares clock_explain's times with those of functions that work for a known time in the same
# execution (test/module/known_work.c). Times off the CPU are excluded from both. Checks the median
# errors over several executions, and how many margins contain the true time.
# bench/truth prints the errors.

use strict;
use warnings;

use List::Util qw(max min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use KnownWork;

my $module = ($ENV{CLOCKTIMING_SHIM_DIR} || '') . '/../module/known_work.so';
plan skip_all => "no $module: say by CLOCKTIMING_SHIM_DIR where the shims are" unless -f $module;

my $executions = 5;
my $ns = 2000;    # duration of a call, much longer than the executor's own time

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_parallel_workers = 2\n");
$node->start;
my $has_file_fdw = $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'file_fdw'");
my @places = grep { $has_file_fdw || $_->{name} ne 'foreign scan' } known_places();
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming;' . known_schema($module, $has_file_fdw ? $node->basedir . '/known.csv' : undef));

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	return ($sorted[ $#sorted / 2 ] + $sorted[ @sorted / 2 ]) / 2;
}

my @kinds = known_kinds();
my (%errors, %beyond, @errors, @holds);
foreach my $i (0 .. $#places)
{
	my $place = $places[$i];
	# Executions in which the functions do no work measure the executor's own time. They come before
	# those with work. The first of them only fills caches.
	my @asked = (([ 'constant', 0, 'sampling' ]) x 4, map { [ $kinds[ ($i + $_) % @kinds ], $ns, 'sampling' ] } 1 .. $executions);
	my @runs = known_runs(split /\n/, $node->safe_psql('postgres', known_script($module, $place, @asked)));
	my (%own, %counted);

	is(scalar @runs, scalar @asked, "$place->{name}: executions") or next;
	push @{ $own{ $_->{name} } }, $_->{self} - $_->{work} foreach map { known_nodes($place, $_) } @runs[ 1 .. 3 ];
	foreach my $known (map { known_nodes($place, $_) } @runs[ 4 .. $#runs ])
	{
		# The executor's own time differs between the executions without work. Half of its range is
		# not counted as an error.
		my @own = @{ $own{ $known->{name} } };
		my $true = $known->{work} + max(median(@own), 0);
		# At most "waits" of the time is not work.
		my $self = min(max($true, $known->{self} - ($known->{waits} // 0)), $known->{self});
		my $error = max(abs($self - $true) - (max(@own) - min(@own)) / 2, 0);

		$counted{ $known->{name} }{ $known->{calls} } = 1;
		push @{ $errors{ $known->{name} } }, $error / $true;
		push @{ $beyond{ $known->{name} } }, max($error - ($known->{margin} // 0), 0) / $true;
		# Allows for an error of 2 % of the true time, in addition to the margin. After another
		# process has run on the CPU, the caches are cold, and the executor's own time is longer.
		# The executions without work take only 3 ms, so other processes hardly interrupt them.
		push @holds, $error <= $known->{margin} + 0.02 * $true if defined $known->{margin};
	}
	is(join(', ', map { scalar keys %$_ } values %counted), join(', ', (1) x keys %counted), "$place->{name}: calls are the same each time") if !$place->{gather};
}

foreach my $name (sort keys %errors)
{
	my $error = median(@{ $errors{$name} });

	push @errors, $error;
	# Beside much other work, a node may have few samples, and its margin says so.
	cmp_ok(median(@{ $beyond{$name} }), '<', 0.25, "$name: the median error is less than 25 % beyond the margin")
	  or diag join ' ', map { sprintf '%.3f', $_ } @{ $errors{$name} };
}
cmp_ok(median(@errors), '<', 0.04, 'the median error of all nodes is below 4 %');
cmp_ok(scalar(grep { $_ } @holds), '>=', 0.7 * @holds, 'at least 70 % of the margins hold');
note sprintf 'error in the median %.2f %%, at most %.2f %%; %.1f %% of margins hold', 100 * median(@errors), 100 * max(@errors), 100 * (grep { $_ } @holds) / @holds;

done_testing();
