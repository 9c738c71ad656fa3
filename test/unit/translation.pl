#!/usr/bin/env perl
# Checks that messages can be translated: each file with messages uses clocktiming's text domain,
# and no macro splits a message. Checks that the translations are valid and complete. Prints TAP.

use strict;
use warnings;
use File::Basename;
use File::Temp;

chdir(dirname($0) . '/../..') or die "$0: $!\n";

sub slurp { my ($file) = @_; open(my $in, '<', $file) or die "$file: $!\n"; local $/; return scalar <$in>; }

my $n = 0;
sub check { my ($what, @wrong) = @_; printf "%sok %d - %s\n", @wrong ? 'not ' : '', ++$n, $what; print map { "# $_\n" } @wrong; return !@wrong; }
sub skip { my ($what, $why) = @_; printf "ok %d - %s # SKIP %s\n", ++$n, $what, $why; return; }

my $ok = 1;
my @files = glob('src/*.c src/*/*.c src/*/*/*.c');
my %text = map { $_ => slurp($_) } @files;
$ok &= check('files that call ereport() include compat.h, which defines the text domain',
	grep { $text{$_} =~ /\bereport\(/ && $text{$_} !~ /#include "compat\.h"/ } @files);
$ok &= check('messages use %lld, because gettext does not expand INT64_FORMAT',
	grep { $text{$_} =~ /\b(?:err(?:msg|detail|hint)|progress_report)\((?:[^;](?!\berr(?:msg|detail|hint)\())*?"\s*U?INT64_FORMAT|\bprogress_report\([^;]*INT64_FORMAT/ } @files);

# Keywords by which xgettext finds messages: those of nls.mk, and those of PGXS.
my $nls = slurp('nls.mk');
my ($triggers) = $nls =~ /^GETTEXT_TRIGGERS\s*=\s*((?:.*\\\n)*.*)/m;
my @keywords = map { "-k$_" } grep { !/[\$\\]/ } split ' ', $triggers;
push @keywords, map { "-k$_" } ('_', 'errmsg', 'errmsg_plural:1,2', 'errdetail', 'errdetail_log', 'errdetail_plural:1,2', 'errhint', 'errhint_plural:1,2', 'errcontext');
my $dir = File::Temp->newdir;
my @languages = map { basename($_, '.po') } glob('po/*.po');
$ok &= check('the languages of nls.mk are those of po/', grep { $nls !~ /^AVAIL_LANGUAGES\s*=.*\b$_\b/m } @languages);
foreach my $language (@languages)
{
	my $right = "po/$language.po is valid and translates each of its messages";
	my $complete = "po/$language.po has every message of src/ (to mend it: CONTRIBUTING.md, Translations)";

	if (!grep { -x "$_/msgfmt" && -x "$_/xgettext" && -x "$_/msgcmp" } split /:/, $ENV{PATH})
	{
		print STDERR "** SKIPPED: translations are not checked, because gettext is not installed\n" if $language eq $languages[0];
		skip($_, 'gettext is not installed') for $right, $complete;
		next;
	}
	my $said = `msgfmt --check --statistics -o /dev/null po/$language.po 2>&1`;
	$ok &= check($right, $? == 0 && $said !~ /fuzzy|untranslated|warning/ ? () : split /\n/, $said);
	$said = `xgettext --from-code=UTF-8 @keywords -o $dir/all.pot @files 2>&1 && msgcmp po/$language.po $dir/all.pot 2>&1`;
	$ok &= check($complete, $? == 0 ? () : split /\n/, $said);
}
print "1..$n\n";
exit($ok ? 0 : 1);
