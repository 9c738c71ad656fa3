#!/usr/bin/env perl
# Checks that the sources compile with headers as two patches that are proposed for PostgreSQL 20 would change them:
# - "Stack-based tracking of per-node WAL/buffer usage" removes pgBufferUsage, BufferUsageAccumDiff() and InstrAlloc(), makes
#   QueryDesc.query_instr and EState.es_instrument pointers to a new struct QueryInstrumentation, and changes
#   InstrAllocNode() and InstrInitNode();
# - pg_log_query_plan() adds no declaration that the sources use (072_log_plan tests what it does).
# The headers are a copy of those of the newest supported PostgreSQL, which this test changes. Prints TAP.

use strict;
use warnings;
use File::Find;
use File::Temp qw(tempdir);
use Test::More;

my $pg_config = $ENV{PG_CONFIG} // 'pg_config';
my $headers = `$pg_config --includedir-server 2>/dev/null` // '';
chomp $headers;
my ($version) = (`$pg_config --version 2>/dev/null` // '') =~ /PostgreSQL (\d+)/;
plan skip_all => 'these are not the headers of PostgreSQL 19' unless ($version // 0) == 19 && -f "$headers/executor/instrument.h";

my $dir = tempdir(CLEANUP => 1);
system('cp', '-rL', $headers, "$dir/server") == 0 or die "cp: $?\n";
system('chmod', '-R', 'u+w', "$dir/server") == 0 or die "chmod: $?\n";

# Replaces text in a header. Each replacement must be found, or the test no longer shows anything.
sub change
{
	my ($name, @replacements) = @_;
	my $file = "$dir/server/$name";
	local $/;

	open my $in, '<', $file or die "$file: $!\n";
	my $text = <$in>;
	while (my ($pattern, $replacement) = splice @replacements, 0, 2)
	{
		ok($text =~ s/$pattern/$replacement/, "$name has " . ($pattern =~ s/\s+/ /gr));
	}
	open my $out, '>', $file or die "$file: $!\n";
	print $out $text;
	close $out or die "$file: $!\n";
	return;
}

change('pg_config.h', qr/#define PG_VERSION_NUM \d+/, '#define PG_VERSION_NUM 200000') if -s "$dir/server/pg_config.h" > 2000;
change(
	'executor/instrument.h',
	qr/extern PGDLLIMPORT BufferUsage pgBufferUsage;\n/, '',
	qr/extern void BufferUsageAccumDiff\(.*?\);\n/s, '',
	qr/bool\s+need_bufusage;.*\n\s*bool\s+need_walusage;.*\n/, "bool need_stack;\n",
	qr/BufferUsage bufusage_start;.*\n\s*WalUsage\s+walusage_start;.*\n/, '',
	qr/(?=\/\*\n \* Specialized instrumentation for per-node)/,
	"typedef struct QueryInstrumentation\n{\n\tInstrumentation instr;\n\tint instrument_options;\n\tMemoryContext instr_cxt;\n} QueryInstrumentation;\n\n",
	qr/extern Instrumentation \*InstrAlloc\(int instrument_options\);\n/,
	"extern QueryInstrumentation *InstrQueryAlloc(int instrument_options);\n",
	qr/InstrAllocNode\(int instrument_options,/, 'InstrAllocNode(QueryInstrumentation *query,',
	qr/InstrInitNode\(NodeInstrumentation \*instr, int instrument_options,\s*bool async_mode\);/,
	'InstrInitNode(NodeInstrumentation *instr, int instrument_options);');
change('executor/execdesc.h', qr/struct Instrumentation \*query_instr;/, 'struct QueryInstrumentation *query_instr;');
change('nodes/execnodes.h', qr/\bint\s+es_instrument;/, 'struct QueryInstrumentation *es_instrument;');

my @files;
find({ no_chdir => 1, wanted => sub { push @files, $_ if /\.c$/ && contents($_) =~ /#include "postgres\.h"/ } }, 'src');

sub contents
{
	my ($file) = @_;
	local $/;
	open my $in, '<', $file or die "$file: $!\n";
	return scalar <$in>;
}

my $compile = ($ENV{CC} // 'cc') . " -fsyntax-only -Wall -Wextra -Werror -D_GNU_SOURCE -DCLOCKTIMING_VERSION='\"1\"' -Isrc -isystem $dir/server -isystem "
  . (`$pg_config --includedir` =~ s/\n//r);
foreach my $file (sort @files)
{
	my $errors = `$compile $file 2>&1`;
	ok($? == 0, "$file compiles") or diag $errors;
}

# The test can fail: a program that uses what the patches remove does not compile.
open my $out, '>', "$dir/old.c" or die $!;
print $out qq{#include "postgres.h"\n#include "executor/instrument.h"\nBufferUsage copy(void) { return pgBufferUsage; }\n};
close $out;
like(`$compile -Wno-missing-prototypes $dir/old.c 2>&1`, qr/pgBufferUsage.* undeclared/, 'pgBufferUsage does not exist');
done_testing();
