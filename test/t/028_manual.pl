
# Executes all statements of README.md and doc/*.md, each page in a database of its own. Their
# output must have the shape that the page shows. ManualPages.pm describes how statements are found
# and compared. Also checks the links of all pages.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename;
use File::Find;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ManualPages;

my $top = abs_path(dirname(__FILE__) . '/../..');

# Minimum number of statements on a page. Pages that are not listed may have none.
my %least = (
	'README.md' => 8,
	'doc/tutorial.md' => 8,
	'doc/howto.md' => 12,
	'doc/managed.md' => 8,
	'doc/reference.md' => 1,
	'doc/troubleshooting.md' => 4);

# Tests the functions of ManualPages.pm that read pages, by a page with every kind of block.
sub reader
{
	my ($text) = @_;
	my $file = "$PostgreSQL::Test::Utils::tmp_check/page.md";

	open(my $fh, '>', $file) or die "$file: $!\n";
	print $fh $text;
	close($fh);
	return ManualPages::statements($file);
}

my @read = reader(<<'END');
```sh
SELECT 0;
```
```sql
-- a comment; and more
SELECT 'a;
b' AS "x;", $$;
$$;
\set y 1
SELECT 2 \gx
```

```
-[ RECORD 1 ]
?column? | 2
```
<!-- needs PostgreSQL 18, rows vary -->
```
=# SELECT 3
   FROM t;
 ?column?
----------
 ...
=> SELECT 4;
```
Text.
```
no statement
```
<!-- not run: because -->
```sql
SELECT 5;
```
END
is_deeply([ map { $_->{line} } @read ], [ 6, 9, 10, 19, 24, 32 ], 'statements are found, with their lines');
is_deeply([ map { scalar(@{ $_->{shown} || [] }) } @read ], [ 0, 0, 2, 3, 0, 0 ], 'the output of statements is found');
is($read[3]{sql}, "SELECT 3\n   FROM t;", 'the text of a statement does not contain the prompt');
is_deeply($read[4]{needs}, ['PostgreSQL 18'], 'the condition of a block is found');
is($read[5]{not_run}, 'because', 'a block that is not run is found');
@read = reader(<<'END');
<!-- portable edition, rows vary -->
```sql
SELECT 1;
```
```sql
SELECT 2;
```
<!-- page: portable edition -->
```sql
SELECT 3;
```
<!-- C extension -->
```sql
SELECT 4;
```
END
is_deeply([ map { $_->{edition} } @read ], [ 'portable', 'extension', 'portable', 'extension' ], 'which edition a block is for');

# Tests the functions of ManualPages.pm that compare outputs: they must find differences.
sub told
{
	my ($shown, $got, $messages, $failed) = @_;

	return scalar(ManualPages::differences({ shown => [ split /\n/, $shown ], got => [ split /\n/, $got ],
				messages => $messages || [], failed => $failed }));
}
my $table = " a | b\n---+---\n 1 | 2\n 3 | 4\n";
my $plan = " QUERY PLAN\n------------\n Sort  (cost=1) (actual time=1)\n   Sort Key: a\n   ->  Seq Scan on t  (cost=1) (actual time=1)\n Execution Time: 2 ms\n";
is(told($table, $table =~ s/4/5/r), 0, 'a figure may differ');
is(told($table, $table =~ s/b/c/r), 1, 'the name of a column may not differ');
is(told($table, "$table 5 | 6\n"), 1, 'the number of rows may not differ');
is(told($table . " ...\n", "$table 5 | 6\n"), 0, 'the number of rows may differ if the page omits rows');
is(told($plan, $plan =~ s/2 ms/3 ms/r), 0, "a plan's time may differ");
is(told($plan, $plan =~ s/Seq Scan on t/Seq Scan on u/r), 1, "a plan's node may not");
is(told($plan, $plan =~ s/   Sort Key: a\n//r), 1, 'a line of a plan may not be missing');
is(told("-[ RECORD 1 ]\na | 1\nb | 2\n", "-[ RECORD 1 ]\na | 1\nc | 2\n"), 1, "a record's field may not differ");
is(told("-[ RECORD 1 ]\na | 1\n ...\nc | 2\n", "-[ RECORD 1 ]\na | 1\nb | 3\nc | 2\n"), 0, 'fields may differ if the page omits fields');
is(told('CREATE TABLE', 'CREATE VIEW'), 1, 'a command tag may not differ');
is(told('ERROR:  no 1', '', ['ERROR:  no 2'], 'ERROR:  no 2'), 0, 'an error that the page shows may occur');
is(told('ERROR:  no 1', '', ['ERROR:  yes 2'], 'ERROR:  yes 2'), 1, 'another error than the page shows may not occur');
is(told($table, $table, ['ERROR:  no'], 'ERROR:  no'), 1, 'an error that the page does not show is a failure');

# Checks links in all Markdown files.
my @markdown;
find({ no_chdir => 1, wanted => sub {
			$File::Find::prune = 1 if -d && m{/(?:tmp_check|build|\.git)$};
			push @markdown, substr($_, length($top) + 1) if /\.md$/;
		} }, $top);
cmp_ok(scalar(@markdown), '>=', 8, 'there are pages');
foreach my $page (sort @markdown)
{
	is_deeply([ ManualPages::broken_links($top, $page) ], [], "$page: its links lead somewhere");
	is_deeply([ grep { m{/(?:home|root|tmp|work)/} } ManualPages::read_lines("$top/$page") ], [], "$page: names no directory of a machine");
}

# Checks that pages to which the sources refer exist.
my @stray;
find({ no_chdir => 1, wanted => sub {
			return unless -f && /\.(?:[chm]|pl|pm|sql|sh|json|control)$|Makefile$|\/(?:tools|bench)\/[\w-]+$/;
			my $file = $_;
			my $n = 0;
			foreach my $line (ManualPages::read_lines($file))
			{
				$n++;
				while ($line =~ m{\b(doc/\w+\.md)\b}g) { push @stray, "$file:$n: $1" unless -e "$top/$1"; }
			}
		} }, grep { -e } map { "$top/$_" } ('src', 'sql', 'tools', 'bench', 'test', 'META.json', 'Makefile'));
is_deeply([ grep { !/028_manual\.pl/ } @stray ], [], 'the sources name pages that exist');

# Executes the statements.
my $node = PostgreSQL::Test::Cluster->new('manual');
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->start;
foreach my $page (ManualPages::pages($top))
{
	my @statements = ManualPages::statements("$top/$page");
	my $database = 'page_' . basename($page, '.md') =~ tr/A-Z-/a-z_/r;
	my $began = time;

	cmp_ok(scalar(@statements), '>=', $least{$page} // 0, "$page: has statements");
	next unless @statements;

	# On a page, only lines of plans may be longer than 120 characters, because EXPLAIN does not
	# break them.
	my @wide = grep { length > 120 } map { @{ $_->{shown} } } grep { $_->{shown} && ManualPages::shape(@{ $_->{shown} })->{kind} ne 'plan' } @statements;
	is_deeply(\@wide, [], "$page: output fits 120 columns");
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	ManualPages::run_page($node->connstr($database), @statements);
	foreach my $s (grep { !defined $_->{skipped} } @statements)
	{
		my @wrong = ManualPages::differences($s);
		my ($first) = split /\n/, $s->{sql};

		ok(!@wrong, "$page:$s->{line}: $first") or diag join("\n", "$page, line $s->{line}:", $s->{sql}, @wrong);
	}
	my @skipped = grep { defined $_->{skipped} } @statements;
	note sprintf('%s: %d statements run, %d skipped, %d s', $page, @statements - @skipped, scalar(@skipped), time - $began);
	note "$page:$_->{line}: $_->{skipped}" foreach @skipped;
}
$node->stop;
done_testing();
