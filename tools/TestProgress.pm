# Formatter for prove (prove --formatter TestProgress). Prints the time and the number of finished files before the line of each
# test file. Writes the counts "passed failed skipped" to the file $TEST_COUNTS. A test file counts as one failed test if it
# dies, breaks its plan, or runs no test and does not state why. After all tests, prints the last lines of failed files' server logs.

package TestProgress::Session;

use strict;
use warnings;
use base 'TAP::Formatter::File::Session';

# Whether a test file has failed. One that calls BAIL_OUT ends all tests at once: its parser has no end, and knows no problem.
sub failed
{
	my ($parser) = @_;

	return $parser->has_problems || !defined $parser->end_time;
}

# Shows the diagnostics of a test file only if it has failed.
sub close_test
{
	my ($self) = @_;

	delete $self->{results} if !failed($self->parser);
	return $self->SUPER::close_test;
}

sub _make_ok_line
{
	my ($self, @suffix) = @_;

	return defined $self->parser->end_time ? $self->SUPER::_make_ok_line(@suffix) : "BAIL_OUT: no further test is run\n";
}

sub time_report
{
	my ($self, $formatter, $parser) = @_;

	return '' if !defined $parser->end_time;
	return sprintf(', %.0f s', $parser->end_time - $parser->start_time);
}

package TestProgress;

use strict;
use warnings;
use base 'TAP::Formatter::File';
use File::Basename;

my ($began, $ended, $files) = ($ENV{CLOCKTIMING_SINCE} || $^T, 0, 0);

sub prepare
{
	my ($self, @tests) = @_;

	$files = @tests;
	return $self->SUPER::prepare(@tests);
}

sub open_test
{
	my ($self, $test, $parser) = @_;

	return TestProgress::Session->new({ name => $test, formatter => $self, parser => $parser });
}

sub _format_name
{
	my ($self, $name) = @_;

	return sprintf('%4d s  %*d/%d  %s', time - $began, length $files, ++$ended, $files, $self->SUPER::_format_name($name));
}

sub summary
{
	my ($self, $all, @interrupted) = @_;
	my ($passed, $failed, $skipped, @failed) = (0, 0, 0);

	$self->SUPER::summary($all, @interrupted);
	foreach my $program ($all->descriptions)
	{
		my ($p) = $all->parsers($program);

		# TAP::Parser counts skipped and TODO tests as passed.
		my %left_out = map { $_ => 1 } $p->skipped, $p->todo;
		my $bad = $p->failed;

		$bad ||= 1 if TestProgress::Session::failed($p) || (!$p->tests_run && !$p->skip_all);
		$passed += grep { !$left_out{$_} } $p->passed;
		$failed += $bad;
		$skipped += keys(%left_out) + ($p->skip_all ? 1 : 0);
		push @failed, (fileparse($program, qr/\.\w+/))[0] if $bad;
	}
	foreach my $log (map { glob "$ENV{TESTLOGDIR}/*$_*" } @failed)
	{
		print "-- the end of ", basename($log), ":\n", `tail -n 40 '$log'`;
	}
	open(my $counts, '>', $ENV{TEST_COUNTS}) or die "$ENV{TEST_COUNTS}: $!\n";
	print $counts "$passed $failed $skipped\n";
	return;
}

1;
