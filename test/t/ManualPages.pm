
# Runs the statements of the manual's pages with psql.  The test 028_manual.pl compares their output
# with the output on the page.  tools/refresh-manual replaces the output on the page.
#
# Fenced blocks of a page:
#
#   ```sql      contains statements and psql's commands.  All are run and must succeed.  If the next
#               block has no language, or "text", it is the output of the last statement.
#   ```         contains statements with their output, if its first line begins with a prompt ("=# "
#               or "=> ").
# All other blocks are ignored.
#
# The output must have the same shape as on the page.  The shape is:
#   - of a table, the names of its columns and the number of its rows;
#   - of a plan, its nodes and the kinds of its other lines;
#   - of other text and of messages, the text without its numbers.
# On the page, " ..." stands for omitted rows, fields or lines.  "(7 rows)" and "Time: ..." are
# ignored.
#
# A comment in the line before a block sets conditions for the block and for the output after it:
#
#   <!-- needs PostgreSQL 18 -->     the server has this version or a later one
#   <!-- needs auto_explain -->      the server can load this library
#   <!-- needs source rdtscp -->     the server can read this clock source
#   <!-- needs Linux -->             the server runs on Linux
#   <!-- rows vary -->               the number of rows differs between servers, and is not compared
#   <!-- portable edition -->        the block is for the portable edition (portable/)
#   <!-- C extension -->             the block is for the extension; this is the default
#   <!-- not run: reason -->         the block is not run
#
# "<!-- page: portable edition -->" makes the portable edition the default for all blocks after it.
#
# The blocks for the portable edition run first, in a session of an ordinary role, in a database that
# this role owns and that does not have the extension.  The blocks for the extension run in a session
# of a superuser, in another database.  Each edition is installed before its first block, unless the
# page installs it (by CREATE EXTENSION clocktiming, or \i portable/clocktiming.sql).  psql's
# working directory contains only portable/.

package ManualPages;

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename;
use File::Temp qw(tempdir);

my $top = abs_path(dirname(__FILE__) . '/../..');
my $directory = tempdir(CLEANUP => 1);
symlink("$top/portable", "$directory/portable") or die "$directory: $!\n";

# Returns the pages of the manual below a directory.
sub pages
{
	my ($top) = @_;

	return map { substr($_, length($top) + 1) } ("$top/README.md", sort glob("$top/doc/*.md"));
}

sub read_lines
{
	my ($file) = @_;

	open(my $fh, '<', $file) or die "$file: $!\n";
	my @lines = <$fh>;
	close($fh);
	chomp @lines;
	return @lines;
}

# Splits lines into statements of SQL and commands of psql. Returns each as [ number of lines, text
# ].
sub split_statements
{
	my (@lines) = @_;
	my (@statements, @current, $quote);

	foreach my $line (@lines)
	{
		next if !@current && $line =~ /^\s*(?:--.*)?$/ && push @statements, [ 1, '' ];
		push @current, $line;

		# Removes complete strings, to find out whether the line ends within a string.
		my $rest = $line;
		while ($rest ne '')
		{
			if (defined $quote) { $rest =~ s/^.*?\Q$quote\E// ? undef $quote : ($rest = ''); }
			elsif ($rest =~ s/^[^'"\$-]+//) { }
			elsif ($rest =~ /^--/) { $rest = ''; }
			elsif ($rest =~ s/^('|"|\$\w*\$)//) { $quote = $1; }
			else { $rest =~ s/^.//; }
		}
		next if defined $quote;
		next unless $line =~ /;\s*(?:--.*)?$/ || $line =~ /\\(?:gx?|gset|gexec|crosstabview)\b[^;]*$/ || (@current == 1 && $line =~ /^\\/);
		push @statements, [ scalar(@current), join("\n", @current) ];
		@current = ();
	}
	push @statements, [ scalar(@current), join("\n", @current) ] if @current;
	return @statements;
}

# Returns the statements of a page in order, each as a hash:
#   line                       line of the file, from 1
#   sql                        text
#   edition                    "extension" or "portable"
#   needs, not_run, rows_vary  conditions from comments
#   shown                      lines of output on the page; undef if the page shows no output
#   from, to                   indexes, from 0, of the first line of this output and of the line
#                              after the output
sub statements
{
	my ($file) = @_;
	my @lines = read_lines($file);
	my (@found, $last, $special, $reset);
	my $edition = 'extension';

	for (my $i = 0; $i < @lines; $i++)
	{
		if ($lines[$i] =~ /^<!-- page: portable edition -->$/) { $edition = 'portable'; next; }
		if ($lines[$i] =~ /^<!-- (.*) -->$/) { $special = $1; $reset = $i + 1; next; }
		if ($lines[$i] !~ /^```+(\w*)/) { undef $last if $lines[$i] =~ /\S/; next; }
		my ($language, $begin) = ($1, $i + 1);
		my %of = (edition => $edition, (defined $special && $reset == $i) ? special($special, $i) : ());

		$i++;
		$i++ until $i >= @lines || $lines[$i] =~ /^```/;
		my $end = $i;

		if ($language eq 'sql')
		{
			my $at = $begin;

			foreach (split_statements(@lines[ $begin .. $end - 1 ]))
			{
				push @found, $last = { %of, line => $at + 1, sql => $_->[1] } if $_->[1] ne '';
				$at += $_->[0];
			}
			next;
		}
		if (($language eq '' || $language eq 'text') && $end > $begin && $lines[$begin] =~ /^=[#>] /)
		{
			while ($begin < $end)
			{
				if ($lines[$begin] !~ s/^=[#>] //) { $begin++; next; }
				my ($first) = split_statements(@lines[ $begin .. $end - 1 ]);
				my $from = $begin + $first->[0];
				my $to = $from;

				$to++ until $to >= $end || $lines[$to] =~ /^=[#>] /;
				my $next = $to;
				$to-- while $to > $from && $lines[ $to - 1 ] eq '';
				push @found, { %of, line => $begin + 1, sql => $first->[1] };
				@{ $found[-1] }{ 'from', 'to', 'shown' } = ($from, $to, [ @lines[ $from .. $to - 1 ] ]) if $to > $from;
				$begin = $next;
			}
		}
		elsif (($language eq '' || $language eq 'text') && $last)
		{
			@$last{ 'from', 'to', 'shown' } = ($begin, $end, [ @lines[ $begin .. $end - 1 ] ]);
			$last->{rows_vary} ||= $of{rows_vary};
		}
		undef $last;
	}
	return @found;
}

sub special
{
	my ($text, $line) = @_;
	my %of;

	foreach (split /, /, $text)
	{
		if (/^needs (.+)$/) { push @{ $of{needs} }, $1; }
		elsif (/^not run: (.+)$/) { $of{not_run} = $1; }
		elsif (/^rows vary$/) { $of{rows_vary} = 1; }
		elsif (/^portable edition$/) { $of{edition} = 'portable'; }
		elsif (/^C extension$/) { $of{edition} = 'extension'; }
		else { die "line $line: unknown comment before a block: $text\n"; }
	}
	return %of;
}

# Executes a script with psql. Returns its output on stdout and on stderr.
sub psql
{
	my ($connstr, $script) = @_;
	my $file = ($ENV{TESTLOGDIR} || $ENV{TMPDIR} || '/tmp') . "/manual.$$";
	my @result;

	open(my $fh, '>', "$file.sql") or die "$file.sql: $!\n";
	print $fh $script;
	close($fh) or die "$file.sql: $!\n";
	local $ENV{PGOPTIONS} = '-c statement_timeout=120s';
	local $ENV{PGCLIENTENCODING} = 'UTF8';
	local $ENV{COLUMNS};
	delete $ENV{COLUMNS};
	system("cd '$directory' && psql -X -P pager=off -d \"$connstr\" <$file.sql >$file.out 2>$file.err");
	foreach ('out', 'err')
	{
		push @result, join('', map { "$_\n" } read_lines("$file.$_"));
	}
	unlink "$file.sql", "$file.out", "$file.err";
	return @result;
}

# Returns whether this server meets the condition of a comment "needs ...".
sub has
{
	my ($connstr, $need) = @_;
	my $script;

	if ($need =~ /^PostgreSQL (\d+)$/) { $script = "SELECT 'yes' WHERE current_setting('server_version_num')::int >= $1 * 10000;"; }
	elsif ($need eq 'Linux') { return $^O eq 'linux'; }
	elsif ($need =~ /^source (\w+)$/) { $script = "SELECT 'yes' FROM clock_sources WHERE source = '$1' AND available;"; }
	elsif ($need =~ /^(\w+)$/) { $script = "LOAD '$1'; SELECT 'yes';"; }
	else { die "unknown: needs $need\n"; }
	my ($out, $err) = psql($connstr, "\\set ON_ERROR_STOP on\n$script\n");
	return $out =~ /yes/;
}

# Runs the statements of a page. Adds to each statement:
#   got       lines of its output
#   messages  lines on stderr
#   failed    error message, if it has failed
#   skipped   reason, if it was not run
sub run_page
{
	my ($connstr, @statements) = @_;
	my %of;

	push @{ $of{ $_->{edition} } }, $_ foreach @statements;
	if ($of{portable})
	{
		my ($database) = $connstr =~ /dbname='?(\w+)/;
		my $owners = "$connstr dbname=${database}_portable user=${database}_owner";

		psql($connstr, "DROP DATABASE IF EXISTS ${database}_portable;\nDROP ROLE IF EXISTS ${database}_owner;\n"
			  . "CREATE ROLE ${database}_owner LOGIN;\nCREATE DATABASE ${database}_portable OWNER ${database}_owner;\n");
		psql($owners, "\\i portable/clocktiming.sql\n")
		  unless grep { $_->{sql} =~ m{\\i portable/clocktiming\.sql} } @{ $of{portable} };
		run_session($connstr, $owners, @{ $of{portable} });
	}
	if ($of{extension})
	{
		psql($connstr, "CREATE EXTENSION clocktiming;\n")
		  unless grep { $_->{sql} =~ /CREATE EXTENSION clocktiming/i } @{ $of{extension} };
		run_session($connstr, $connstr, @{ $of{extension} });
	}
	return;
}

# Runs the statements of one edition in a session of psql, and adds the same members as run_page().
# Checks the conditions in sessions of a superuser.
sub run_session
{
	my ($superuser, $connstr, @statements) = @_;
	my $script = '';
	my %has;

	foreach my $n (0 .. $#statements)
	{
		my $s = $statements[$n];
		my @lacks;

		foreach (@{ $s->{needs} || [] })
		{
			$has{$_} //= has($superuser, $_) ? 1 : 0;
			push @lacks, $_ unless $has{$_};
		}
		$s->{skipped} = defined $s->{not_run} ? "not run: $s->{not_run}" : @lacks ? "needs $lacks[0]" : undef;
		next if defined $s->{skipped};
		$script .= "$s->{sql}\n\\echo =mark= $n :ERROR\n\\warn =mark= $n\n";
	}
	my ($out, $err) = psql($connstr, $script);
	foreach my $n (0 .. $#statements)
	{
		my $s = $statements[$n];

		next if defined $s->{skipped};
		if ($out !~ s/\A(.*?)^=mark= $n (\w+)\n//ms)
		{
			$s->{failed} = 'no answer';
			$s->{got} = $s->{messages} = [];
			next;
		}
		my ($text, $failed) = ($1, $2);
		my $messages = $err =~ s/\A(.*?)^=mark= $n\n//ms ? $1 : '';

		s/[ \t]+$//mg foreach ($text, $messages);
		$messages =~ s/^psql:[^:\n]+:\d+: //mg;
		$s->{messages} = [ split /\n/, $messages ];
		$s->{got} = [ split /\n/, $text ];
		pop @{ $s->{got} } while @{ $s->{got} } && $s->{got}[-1] eq '';
		my $command = $s->{sql} =~ /^\\/;
		my ($error) = grep { /^(?:ERROR|FATAL|PANIC|error|invalid command|\\\w+:)/ } @{ $s->{messages} };
		$s->{failed} = $error // 'psql says ERROR' if $failed eq 'true' && !$command || defined $error;
	}
	return;
}

# Returns the lines that begin a server message, such as "ERROR: ..." and "HINT: ...".
sub message_lines { return grep { /^(?:ERROR|WARNING|NOTICE|INFO|DETAIL|HINT|CONTEXT|LINE \d+):/ } @_; }

sub node_of { my ($line) = @_; return $line =~ /^\s*(?:->\s+)?(\S.*?)\s+\((?:cost|actual)[ =]/ ? $1 : undef; }

# Returns the shape of an output (see the top of this file): its kind (table, plan, record or text),
# and the parts that are compared for this kind.
sub shape
{
	my @lines = grep { !/^(?:Time: |\(\d+ rows?\))/ } @_;
	my %shape = (messages => [ message_lines(@lines) ], cut => 0);
	my ($separator) = grep { $lines[$_] =~ /^-+(?:\+-+)*$/ } 1 .. $#lines;

	if (my @records = grep { /^-\[ RECORD/ } @lines)
	{
		my ($begin) = grep { $lines[$_] =~ /^-\[ RECORD/ } 0 .. $#lines;
		my @fields;

		foreach (@lines[ $begin + 1 .. $#lines ])
		{
			last if /^-\[ RECORD/;
			if (/^ ?\.\.\.$/) { push @fields, '...'; $shape{cut} = 1; }
			push @fields, $1 if /^(\w[^|]*?) *\|/;
		}
		return { %shape, kind => 'record', names => \@fields, rows => scalar(@records) };
	}
	if (defined $separator)
	{
		my @names = map { s/^\s+|\s+$//gr } split /\|/, $lines[ $separator - 1 ];
		my @rows = @lines[ $separator + 1 .. $#lines ];

		pop @rows while @rows && $rows[-1] eq '';
		# psql ends each line of a value but the last one with a plus sign
		@rows = @rows[ grep { !$_ || $rows[ $_ - 1 ] !~ /\+(?:\||$)/ } 0 .. $#rows ];
		$shape{cut} = 1 if grep { /^ ?\.\.\.$/ } @rows;
		$shape{names} = \@names;
		if ("@names" eq 'QUERY PLAN')
		{
			my (%other, @nodes);

			foreach (grep { !/^ ?\.\.\.$/ } @rows)
			{
				my $node = node_of($_);

				if (defined $node) { push @nodes, $node; }
				elsif (/^\s*([^:]+):/) { $other{$1}++; }
			}
			return { %shape, kind => 'plan', nodes => \@nodes, other => \%other };
		}
		return { %shape, kind => 'table', rows => scalar(@rows) };
	}
	return { %shape, kind => 'text', lines => [ grep { $_ ne '' && !/^(?:ERROR|WARNING|NOTICE|INFO|DETAIL|HINT|CONTEXT|LINE \d+):/ } @lines ] };
}

sub without_numbers { return map { s/\d+(?:\.\d+)?/N/gr =~ s/\s+/ /gr } @_; }

# Returns whether lists of names are equal, where "..." in $shown stands for any names.
sub names_agree
{
	my ($shown, $got) = @_;
	my @parts = map { my $n = $_; $n eq '...' ? '(?:[^\n]*\n)*' : quotemeta("$n\n") } @$shown;
	my $pattern = join('', @parts);

	return join('', map { "$_\n" } @$got) =~ /\A$pattern\z/;
}

# Returns texts that describe how the output of a statement differs in shape from the output on the
# page.
sub differences
{
	my ($s) = @_;
	my @messages = @{ $s->{messages} };
	my @wrong;

	if (!$s->{shown})
	{
		return defined $s->{failed} ? ("fails: $s->{failed}") : ();
	}
	my $shown = shape(@{ $s->{shown} });
	my $got = shape(@{ $s->{got} });
	my $error_shown = grep { /^ERROR:/ } @{ $shown->{messages} };

	push @wrong, "fails: $s->{failed}" if defined $s->{failed} && !$error_shown;
	push @wrong, 'an error is shown, but there is none' if $error_shown && !defined $s->{failed};
	my %said = map { $_ => 1 } without_numbers(@messages);
	foreach my $message (@{ $shown->{messages} })
	{
		my ($text) = without_numbers($message);
		push @wrong, "shown: $message\ngot:   " . join("\n       ", @messages) unless $said{$text};
	}
	return @wrong if @wrong || $error_shown;
	return ("shown: $shown->{kind}\ngot:   $got->{kind}: " . join("\n       ", @{ $s->{got} })) if $shown->{kind} ne $got->{kind};

	if ($shown->{names} && !names_agree($shown->{names}, $got->{names}))
	{
		push @wrong, "shown: columns " . join(', ', @{ $shown->{names} }) . "\ngot:   columns " . join(', ', @{ $got->{names} });
	}
	if (defined $shown->{rows} && !$s->{rows_vary})
	{
		my $too_many = $shown->{rows} - ($shown->{cut} && $shown->{kind} eq 'table' ? 1 : 0) > $got->{rows};
		push @wrong, "shown: $shown->{rows} rows\ngot:   $got->{rows} rows"
		  if $shown->{cut} && $shown->{kind} eq 'table' ? $too_many : $shown->{rows} != $got->{rows};
	}
	if ($shown->{kind} eq 'plan')
	{
		my @nodes = $shown->{cut} ? grep { my $n = $_; grep { $_ eq $n } @{ $shown->{nodes} } } @{ $got->{nodes} } : @{ $got->{nodes} };

		push @wrong, "shown: nodes " . join(', ', @{ $shown->{nodes} }) . "\ngot:   nodes " . join(', ', @{ $got->{nodes} })
		  if join("\n", @{ $shown->{nodes} }) ne join("\n", @nodes);
		my @missing = grep { !$got->{other}{$_} } sort keys %{ $shown->{other} };
		push @wrong, 'shown: lines ' . join(', ', @missing) . "\ngot:   lines " . join(', ', sort keys %{ $got->{other} }) if @missing;
		push @wrong, "shown: $shown->{other}{Clock} lines of Clock\ngot:   " . ($got->{other}{Clock} // 0)
		  if !$shown->{cut} && $shown->{other}{Clock} && $shown->{other}{Clock} != ($got->{other}{Clock} // 0);
	}
	if ($shown->{kind} eq 'text')
	{
		my @a = without_numbers(@{ $shown->{lines} });
		my @b = without_numbers(@{ $got->{lines} });

		push @wrong, "shown: @{ $shown->{lines} }\ngot:   @{ $got->{lines} }"
		  if !(grep { /^ ?\.\.\.$/ } @a) && "@a" ne "@b";
	}
	return @wrong;
}

# Returns the part of a new output that the page should show. If the page shows " ...", returns as
# many lines before and after the " ..." as the page has now. Includes messages of a kind (ERROR,
# HINT and so on) if the page shows a message of this kind.
sub to_show
{
	my ($s) = @_;
	my @shown = @{ $s->{shown} };
	my @got = @{ $s->{got} };
	my ($cut) = grep { $shown[$_] =~ /^ ?\.\.\.$/ } 0 .. $#shown;

	@got = grep { !/^\(\d+ rows?\)$/ } @got unless grep { /^\(\d+ rows?\)$/ } @shown;
	pop @got while @got && $got[-1] eq '';
	my %kinds = map { /^([A-Z]+)/; $1 => 1 } message_lines(@shown);
	unshift @got, grep { /^([A-Z]+)/ && $kinds{$1} } @{ $s->{messages} };
	if (defined $cut && @got > @shown)
	{
		my $after = $#shown - $cut;

		@got = (@got[ 0 .. $cut - 1 ], $shown[$cut], $after ? @got[ -$after .. -1 ] : ());
	}
	return @got;
}

# Returns the lines of a page with the new output of its statements. Keeps the old output of
# statements that were skipped or failed, except for errors that the page shows.
sub refreshed
{
	my ($file, @statements) = @_;
	my @lines = read_lines($file);

	foreach my $s (reverse @statements)
	{
		next if !$s->{shown} || defined $s->{skipped};
		next if defined $s->{failed} && !grep { /^ERROR:/ } @{ $s->{shown} };
		splice(@lines, $s->{from}, $s->{to} - $s->{from}, to_show($s));
	}
	return @lines;
}

# Used by tools/refresh-manual. Runs each page in a database of its own, on the server to which psql
# connects. Writes the pages with new output to files in the directory $to. Prints statements that
# failed, and returns their number.
sub refresh
{
	my ($to, @pages) = @_;
	my $failed = 0;

	foreach my $page (@pages)
	{
		my @statements = statements($page);
		next unless grep { $_->{shown} } @statements;
		my $database = 'page_' . basename($page, '.md') =~ tr/A-Z-/a-z_/r;

		psql('dbname=postgres', "DROP DATABASE IF EXISTS $database;\nCREATE DATABASE $database;\n");
		run_page("dbname=$database", @statements);
		foreach my $s (grep { defined $_->{failed} && !grep { /^ERROR:/ } @{ $_->{shown} || [] } } @statements)
		{
			print "$page:$s->{line}: $s->{failed}\n$s->{sql}\n";
			$failed++;
		}
		print "$page:$_->{line}: $_->{skipped}, so its output stays as it is\n" foreach grep { defined $_->{skipped} && $_->{shown} } @statements;
		my $target = "$to/" . $page =~ tr{/}{+}r;
		open(my $fh, '>', $target) or die "$target: $!\n";
		print $fh map { "$_\n" } refreshed($page, @statements);
		close($fh) or die "$target: $!\n";
		printf "%s: %d statements, %d with output\n", $page, scalar(@statements), scalar(grep { $_->{shown} } @statements);
	}
	return $failed;
}

# Returns the anchors of a page's headings, as GitHub makes them, in a hash.
sub anchors
{
	my ($file) = @_;
	my (%anchors, $in_block);

	foreach (read_lines($file))
	{
		$in_block = !$in_block if /^```/;
		next if $in_block || !/^#+\s+(.*?)\s*$/;
		my $anchor = lc $1;
		$anchor =~ s/\[([^\]]*)\]\([^)]*\)/$1/g;
		$anchor =~ s/[^\w\s-]//g;
		$anchor =~ s/\s/-/g;
		my $n = $anchors{$anchor}++;
		$anchors{"$anchor-$n"} = 1 if $n;
	}
	return \%anchors;
}

# Returns the links of a page whose file or heading does not exist.
sub broken_links
{
	my ($top, $page) = @_;
	my (@broken, $in_block);
	my $n = 0;

	foreach my $line (read_lines("$top/$page"))
	{
		$n++;
		$in_block = !$in_block if $line =~ /^```/;
		next if $in_block;
		my $text = $line =~ s/`[^`]*`//gr;
		while ($text =~ /\]\(([^)\s]+)\)/g)
		{
			my $link = $1;
			next if $link =~ /^\w+:/;
			my ($path, $anchor) = $link =~ /^([^#]*)(?:#(.*))?$/;
			my $target = $path eq '' ? "$top/$page" : "$top/" . (dirname($page) eq '.' ? '' : dirname($page) . '/') . $path;

			if (!-e $target) { push @broken, "$page:$n: $link"; }
			elsif (defined $anchor && !anchors($target)->{$anchor}) { push @broken, "$page:$n: $link"; }
		}
	}
	return @broken;
}

1;
