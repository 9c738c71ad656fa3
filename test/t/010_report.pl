# clock_report() has the output format of pg_test_timing of PostgreSQL 19, so that a parser of that
# format also reads clock_report()'s output. Before PostgreSQL 19, the two outputs are not compared,
# because pg_test_timing has another format.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Returns the kind of a line of output. If the line is a row of a table, stores its four numbers in
# @$row.
sub kind
{
	my ($line, $row) = @_;
	return 'empty' if $line eq '';
	return 'title' if $line =~ /^Testing timing overhead for [0-9.]+ seconds?\.$/;
	return 'system' if $line =~ /^System clock source: clock_gettime \(\w+\)$/;
	return 'rdtscp' if $line eq 'Clock source: RDTSCP';
	return 'rdtsc' if $line eq 'Fast clock source: RDTSC';
	return 'loop' if $line =~ /^Average loop time including overhead: \d+\.\d\d ns$/;
	return 'histogram' if $line eq 'Histogram of timing durations:';
	return 'durations' if $line =~ /^Observed timing durations up to \d+\.\d{4}%:$/;
	return 'header' if $line =~ /^ {14}<= ns {3}% of total  running % {6}count$/;
	return 'header' if $line =~ /^ {17}ns {3}% of total  running % {6}count$/;
	return 'dots' if $line eq '...';
	return 'frequency source' if $line =~ /^TSC frequency source: x86/;
	return 'in use' if $line =~ /^TSC frequency in use: \d+ kHz$/;
	return 'calibration' if $line =~ /^TSC frequency from calibration: \d+ kHz$/;
	return 'default' if $line =~ /^TSC clock source will (not )?be used by default, unless timing_clock_source is set to '\w+'\.$/;
	return 'unusable' if $line =~ /^TSC clock source is not usable\./;

	if ($line =~ /^( *\d+) {3}( *\d+\.\d{4}) ( *\d+\.\d{4}) ( *\d+)$/
		&& length $1 == 19 && length $2 == 10 && length $3 == 10 && length $4 >= 10)
	{
		@$row = ($1, $2, $3, $4);
		return 'row';
	}
	return "unknown: \"$line\"";
}

# Parses a report. Returns the kinds of its lines, where successive rows count as one, and the rows
# of each table.
sub read_report
{
	my ($text) = @_;
	my (@kinds, @tables);

	for my $line (split /\n/, $text)
	{
		my @row;
		my $kind = kind($line, \@row);
		push @tables, [] if $kind eq 'header';
		push @{ $tables[-1] }, [@row] if $kind eq 'row';
		push @kinds, $kind unless @kinds && $kind eq 'row' && $kinds[-1] eq 'row';
	}
	return (\@kinds, \@tables);
}

my $node = PostgreSQL::Test::Cluster->new('report');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');

if ($node->pg_version->major < 19)
{
	my ($kinds) = read_report($node->safe_psql('postgres', 'SELECT clock_report(0.1)'));

	is_deeply([ grep { /unknown/ && !/used by default: PostgreSQL/ } @$kinds ], [],
		'every line but the last has a format of pg_test_timing');
	$node->stop;
	done_testing();
	exit;
}

# Returns a pair for each histogram: the upper limit of the most frequent bucket in the output of
# clock_report(), and in that of pg_test_timing. The tables with even indexes are the histograms.
sub commonest
{
	my ($tool_tables, $our_tables) = @_;

	return map {
		my $t = $_;
		[ map { (sort { $b->[3] <=> $a->[3] } @{ $_->[$t] || [ [ 0, 0, 0, 0 ] ] })[0][0] } ($our_tables, $tool_tables) ]
	} grep { $_ % 2 == 0 } 0 .. $#$tool_tables;
}

sub alike { my ($ours, $theirs) = @{ $_[0] }; return $ours <= 2 * $theirs + 1 && $theirs <= 2 * $ours + 1; }

# The two programs measure one after the other, and other processes may disturb one of them. Their
# results must agree in one of five attempts.
my ($tool_kinds, $tool_tables, $our_kinds, $our_tables);
foreach (1 .. 5)
{
	my ($tool) = run_command([ 'pg_test_timing', '-d', '1' ]);
	($tool_kinds, $tool_tables) = read_report("$tool\n");
	($our_kinds, $our_tables) = read_report($node->safe_psql('postgres', 'SELECT clock_report(1)'));
	last unless grep { !alike($_) } commonest($tool_tables, $our_tables);
}

is_deeply([ grep { /unknown/ } @$tool_kinds ], [], 'every line of pg_test_timing is of a known kind');
# Ignores lines with "...", because whether rows are omitted differs between runs.
is_deeply([ grep { $_ ne 'dots' } map { $_ } @$our_kinds ],
	[ grep { $_ ne 'dots' } @$tool_kinds ], 'the lines of clock_report() are of the same kinds in the same order')
  or diag("ours:\n@$our_kinds\ntool:\n@$tool_kinds");
is(scalar(@$our_tables), scalar(@$tool_tables), 'the same number of tables');

# The most frequent durations are in the same bucket or in adjacent ones.
for my $pair (commonest($tool_tables, $our_tables))
{
	ok(alike($pair), 'the commonest duration is in the same bucket, or next to it')
	  or diag("ours: $pair->[0], the tool's: $pair->[1]");
}

$node->stop;
done_testing();
