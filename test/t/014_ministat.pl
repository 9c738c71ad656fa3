# clock_compare() and its plot agree with the program ministat for the same numbers. They may differ
# by ministat's rounding: its table of Student's t has three decimals and ends at 100 degrees of
# freedom, and it prints few digits.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $probe = `ministat -n /dev/null 2>&1`;
plan skip_all => 'ministat is not installed' if !defined $probe || $probe eq '' || $? == -1;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $seed = 20240229;

# Returns a random number between 0 and 1, by Lehmer's generator. The sequence is the same in every
# run.
sub uniform
{
	$seed = $seed * 48271 % 2147483647;
	return $seed / 2147483647;
}

sub normal
{
	my $sum = -6;
	$sum += uniform() for 1 .. 12;
	return $sum;
}

# Returns a data set of the given shape, size, centre and spread.
sub data_set
{
	my ($shape, $n, $center, $spread) = @_;
	my @x;

	for (1 .. $n)
	{
		my $x = $shape == 0 ? normal() : $shape == 1 ? uniform() * 4 - 2
		  : $shape == 2 ? -log(uniform()) : int(uniform() * 5);
		# an outlier
		$x += 20 if $shape == 4 && uniform() < 0.1;
		push @x, sprintf($shape == 3 ? '%.0f' : '%.10g', $center + $spread * $x);
	}
	# Makes sure that not all values are equal. Other tests test equal values.
	$x[0] += $spread if !grep { $_ != $x[0] } @x;
	return \@x;
}

sub write_file
{
	my ($name, $x) = @_;

	open(my $file, '>', "$directory/$name") or die $!;
	print $file "$_\n" for @$x;
	close($file);
}

sub ministat
{
	my (@arguments) = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run([ 'sh', '-c', 'cd "$0" && exec ministat "$@"', $directory, @arguments ], '>', \$out, '2>', \$err)
	  or die "ministat @arguments: $err";
	return $out;
}

sub sql_array
{
	my ($x) = @_;
	return "'{" . join(',', @$x) . "}'::float8[]";
}

# Returns whether two figures agree, one of which ministat has rounded to some digits. $slack is an
# additional tolerance.
sub same_digits
{
	my ($ours, $printed, $digits, $slack) = @_;

	return 1 if sprintf("%.${digits}g", $ours) eq $printed || $ours == $printed;
	my ($exponent) = sprintf('%.0e', $printed) =~ /e(.*)$/;
	return abs($ours - $printed) < 0.5001 * 10**($exponent - $digits + 1) + ($slack || 0);
}

sub near
{
	my ($ours, $theirs, $share) = @_;
	return abs($ours - $theirs) <= $share * abs($theirs);
}

# Detects the version of ministat: Debian has the versions of 2015 and of 2025. The older one loses
# digits of standard deviations. For an even number of values, its median is the larger of the two
# values in the middle. Its margin in percent does not include the error of the first mean.
write_file('even', [ 1, 2, 3, 5 ]);
my $old = ministat('-n', 'even') =~ /^x +4 +1 +5 +3 /m;
note($old ? 'ministat of 2015' : 'ministat of 2025');

my @levels = (80, 90, 95, 98, 99, 99.5);
# The column of ministat's table for 99.5 % contains the values for 99.8 % (for z, 3.090 instead of
# 2.807).
my %true = map { $_ => $_ == 99.5 ? 99.8 : $_ } @levels;
my @cases;
for my $i (0 .. 251)
{
	my $n = $i % 6 == 0 ? 3 + $i % 8 : 3 + int(uniform() * 48);
	my $m = $i % 7 == 0 ? $n : 3 + int(uniform() * 48);
	my $center = ($i % 4 == 3 ? -1 : 1) * (10**($i % 8) + uniform());
	my $spread = abs($center) * (0.001, 0.03, 0.3, 2)[ $i % 4 ];
	my $shift = (0, 0.2, 0.6, 1, 1.5, 4)[ int($i / 6) % 6 ];

	# Every sixth case is also plotted below. Its data sets have odd numbers of values, for which
	# both versions of ministat compute the same median.
	($n, $m) = ($n - 1 + $n % 2, $m - 1 + $m % 2) if $i % 6 == 1;
	# Whole numbers need a larger spread, or most of them would be equal.
	$spread = 3 if $i % 5 == 3 && $spread < 1;
	push @cases, [
		data_set($i % 5, $n, $center, $spread),
		data_set($i % 5, $m, $center + $shift * $spread, $spread * (1, 1, 2)[ $i % 3 ]),
		$levels[ $i % 6 ]
	];
}

# All statements are executed in one session, to save time.
my $sql = '';
my $k = 0;
for my $case (@cases)
{
	my $arrays = sql_array($case->[0]) . ', ' . sql_array($case->[1]);
	# Computes the standard deviation also by numeric, which is exact.
	$sql .= 'SELECT ' . $k++ . ', c.data, c.n, c.min, c.max, c.median, c.mean, c.stddev, c.difference, c.difference_margin,' .
	  ' c.difference_percent, c.difference_margin_percent, c.pooled_stddev, c.p_value, c.verdict,' .
	  " (SELECT stddev_samp(x::numeric(50,20))" .
	  " FROM unnest(CASE data WHEN 'a' THEN " . sql_array($case->[0]) . ' ELSE ' . sql_array($case->[1]) . " END) AS x)" .
	  " FROM clock_compare($arrays, method => 'student', confidence => $true{$case->[2]}) AS c;\n";
}
my @ours;
for my $line (split /\n/, $node->safe_psql('postgres', $sql))
{
	my ($number, @row) = split /\|/, $line, -1;
	push @{ $ours[$number] }, \@row;
}
is(scalar @ours, scalar @cases, scalar(@cases) . ' pairs of data sets');

my %seen;
my (%worst, $undecided);
for my $k (0 .. $#cases)
{
	my ($x, $y, $level) = @{ $cases[$k] };
	my $named = sprintf '%d: %d and %d values, %s %%', $k, scalar @$x, scalar @$y, $level;
	my @wrong;

	write_file('a', $x);
	write_file('b', $y);
	my $text = ministat('-A', '-c', $level, 'a', 'b');
	my @table = map { [ split ' ', $_ ] } grep { /^[x+] +\d/ } split /\n/, $text;
	for my $i (0, 1)
	{
		my @names = qw(n min max median mean stddev);
		for my $j (0 .. 5)
		{
			my ($mine, $printed) = ($ours[$k][$i][ $j + 1 ], $table[$i][ $j + 1 ]);
			$mine = (sort { $a <=> $b } @{ $cases[$k][$i] })[ @{ $cases[$k][$i] } / 2 ] if $names[$j] eq 'median' && $old;
			next if same_digits($mine, $printed, 8);
			# The older version loses digits, because it subtracts squares of large numbers.
			my ($n, $mean) = @{ $ours[$k][$i] }[ 1, 5 ];
			next if $old && $names[$j] eq 'stddev' && same_digits($mine, $printed, 8, 4e-16 * $n * ($mean / $mine)**2 * $mine);
			push @wrong, "$names[$j] of $i: $mine, ministat $printed";
		}
		my ($stddev, $exact) = @{ $ours[$k][$i] }[ 6, 14 ];
		push @wrong, "stddev of $i: $stddev, exactly $exact" if !near($stddev, $exact, 1e-12);
	}

	my ($difference, $error, $percent, $margin_percent, $pooled, $p, $verdict) = @{ $ours[$k][1] }[ 7 .. 13 ];
	my $label = sprintf '%.1f', $level;
	my $different = $verdict eq ($difference < 0 ? 'lower' : 'higher') ? 1 : 0;
	push @wrong, "verdict in words: $verdict" if !$different && $verdict ne 'no difference proven';
	# The p-value of clock_compare() must lead to the same decision.
	push @wrong, "p = $p" if $different != ($p < 1 - $true{$level} / 100 ? 1 : 0);

	# If the difference and its margin are equal within 0.1 %, ministat may decide otherwise,
	# because the values of its table are rounded.
	my $close = near($error, abs($difference), 1e-3);
	$undecided++ if $close;
	push @wrong, "verdict: $verdict, ministat: $text" if !$close && $different != ($text =~ /^Difference at $label% confidence$/m ? 1 : 0);
	$seen{"$level, " . ($different ? 'different' : 'not')}++;

	if (my ($d, $e, $dp, $ep, $s) =
		$text =~ /^\t(\S+) \+\/- (\S+)\n\t(\S+)% \+\/- (\S+)%\n\t\(Student's t, pooled s = (\S+)\)$/m)
	{
		push @wrong, "difference $difference, ministat $d" if !same_digits($difference, $d, 6);
		push @wrong, "pooled $pooled, ministat $s" if !same_digits($pooled, $s, 6);
		push @wrong, "percent $percent, ministat $dp" if !same_digits($percent, $dp, 6);
		push @wrong, "error $error, ministat $e" if !near($error, $e, 1e-3);
		$margin_percent = $error / abs($ours[$k][0][5]) * 100 if $old;
		push @wrong, "error $margin_percent %, ministat $ep" if !near($margin_percent, abs $ep, 1e-3);
		$worst{$level} = abs($error / $e - 1) if !defined $worst{$level} || abs($error / $e - 1) > $worst{$level};
		$seen{figures}++;
	}
	is(join("\n", @wrong), '', $named);
}
cmp_ok($seen{figures}, '>=', 60, "$seen{figures} pairs for which ministat prints a margin");
for my $level (@levels)
{
	cmp_ok($seen{"$level, different"} || 0, '>=', 5, "$level %: some pairs differ");
	cmp_ok($seen{"$level, not"} || 0, '>=', 5, "$level %: some pairs do not differ");
	note(sprintf 'margins at %s %% differ by at most %.4f %%', $level, 100 * $worst{$level});
}
note(($undecided || 0) . ' too close to call for a rounded table');

# Compares the plots symbol by symbol, with all text around them. Some differences are expected:
#   ministat's width does not include the frame, and ministat indents by a tab;
#   ministat's plot has only as many rows as the last data set needs. In the additional rows at the
#     top of clocktiming's plot, only symbols of the first data set are allowed.
#
# Finally checks that clocktiming's plot contains all values.
my @pictures = (
	[ [ 1 .. 9 ], [ 3 .. 10, 5 ] ],
	[ [ 50, 200, 150, 400, 750, 400, 150 ], [ 150, 400, 720, 500, 930 ] ],
	[ [ 1, 1, 1, 1, 1, 2, 2, 3, 3 ], [ 1, 1, 1, 2, 2, 2, 2, 3, 10 ] ],
	[ [ 5, 5, 5 ], [ 6, 7, 8, 8, 12 ] ],
	[ [ -5, -6, -7.5 ], [ 6, 7, 8, 8, 12 ] ],
	[ [ 0.001, 0.002, 0.0035 ], [ 0.0012, 0.0012, 0.003 ] ],
	[ [ (1) x 40, (2) x 30, 3 ], [ (2) x 50, (3) x 20, 4 ] ]);
push @pictures, [ @{ $cases[$_] }[ 0, 1 ] ] for grep { $_ % 6 == 1 } 0 .. $#cases;

for my $i (0 .. $#pictures)
{
	my ($a, $b) = @{ $pictures[$i] };
	write_file('a', $a);
	write_file('b', $b);
	my $width = (76, 77, 102, 150)[ $i % 4 ];
	my $separate = $i % 2;
	my $theirs = ministat('-w', $width - 2, ($separate ? '-s' : ()), 'a', 'b');
	my $picture = $node->safe_psql('postgres',
		'SELECT plot FROM clock_compare(' . sql_array($a) . ', ' . sql_array($b) .
		", method => 'student', plot_width => $width, separate => " . ($separate ? 'true' : 'false') . ') WHERE plot IS NOT NULL');

	my %symbols = map { $_ => 0 } qw(x + *);
	for (grep { /^\|[ x+*]+\|$/ } split /\n/, $picture)
	{
		$symbols{$_}++ for split //;
	}
	$theirs =~ s/^\t/        /mg;
	chomp $theirs;
	# Margins may differ in the last digits, because ministat's table of t is rounded.
	for ($theirs, $picture)
	{
		s/ \+\/- \S+$/ +- .../mg;
	}
	my @rows = split /\n/, $picture;
	my $lost = @rows - (() = $theirs =~ /\n/g) - 1;
	is(scalar(grep { !/^\|[ x]+\|$/ } splice(@rows, 3, $lost)), 0, "picture $i: rows that ministat loses") if $lost > 0;
	is($symbols{x} + $symbols{'*'} . ' ' . ($symbols{'+'} + $symbols{'*'}), @$a . ' ' . @$b, "picture $i: all values");
	$picture = join("\n", @rows);
	is($picture, $theirs, "picture $i, $width columns" . ($separate ? ', bars apart' : ''));
}

# In a plot of 74 columns, the statistics below the plot differ, because those of ministat have 75
# columns. The plots themselves must be equal.
write_file('a', $pictures[0][0]);
write_file('b', $pictures[0][1]);
my @theirs = grep { /^[|+x][ -|]/ && !/^x +\d|^\+ +\d/ } split /\n/, ministat('-w', 72, 'a', 'b');
my @picture = split /\n/, $node->safe_psql('postgres',
	'SELECT plot FROM clock_compare(' . sql_array($pictures[0][0]) . ', ' . sql_array($pictures[0][1]) . ', plot_width => 74) WHERE plot IS NOT NULL');
is_deeply([ grep { /^[|+x][ -|]/ && !/^x +\d|^\+ +\d/ } @picture ], \@theirs, 'the plot in 74 columns');
is(scalar(grep { length > 74 } @picture), 0, 'at most 74 columns');

$node->stop;
done_testing();
