#!/usr/bin/env perl
# Checks that src/plan/explain/plan_shape.c has one row for each type of plan node that this PostgreSQL
# executes, except for the types listed below. Reads the types from the server's headers. Prints
# TAP.

use strict;
use warnings;

# Types of nodes without a row in plan_shape.c. clocktiming assumes nothing about them.
my %default = ();

my $pg_config = $ENV{PG_CONFIG} // 'pg_config';
my $headers = `$pg_config --includedir-server 2>/dev/null` // '';
chomp $headers;

sub contents
{
	my ($file) = @_;
	open my $in, '<', $file or return undef;
	local $/;
	return scalar <$in>;
}

my $nodes = contents("$headers/nodes/execnodes.h");
if (!defined $nodes)
{
	print "1..0 # SKIP no server headers\n";
	exit;
}
my $table = contents('src/plan/explain/plan_shape.c') // die "src/plan/explain/plan_shape.c: $!\n";

# First member of each struct. The state struct of a plan node begins with PlanState, or with
# another struct that begins with PlanState.
$nodes =~ s{/\*.*?\*/}{}gs;
my %base = ($nodes =~ /^(?:typedef\s+)?struct\s+(\w+)\s*\{\s*(?:pg_node_attr\([^)]*\)\s*)?(\w+)\s+\w+\s*;/gm);

sub is_plan_state
{
	my ($type) = @_;
	for (my $depth = 0; defined $type && $depth < 10; $depth++)
	{
		return 1 if $type eq 'PlanState';
		$type = $base{$type};
	}
	return 0;
}

my %abstract = map { $_ => 1 } qw(PlanState ScanState JoinState);
my @types = sort grep { !$abstract{$_} && is_plan_state($_) } keys %base;
my (%rows, $n);
$rows{"${_}State"}++ for $table =~ /\{\.plan = T_(\w+), \.name = "/g;

sub ok
{
	my ($ok, $name) = @_;
	printf "%sok %d - %s\n", ($ok ? '' : 'not '), ++$n, $name;
}

printf "1..%d\n", @types + 2;
ok(@types >= 40, 'the headers name ' . @types . ' types of nodes');
for my $type (@types)
{
	my $in_table = $rows{$type} // 0;
	ok($in_table + ($default{$type} ? 1 : 0) == 1, "$type has one row, or the default");
}
my %known = map { $_ => 1 } @types;
my @strange = grep { !$known{$_} } sort keys %rows;
ok(!@strange, "no row for another type: @strange");
