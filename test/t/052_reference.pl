
# doc/reference.md must describe exactly the functions and views that psql's \df and \dv list,
# except for internal ones, and all settings with their defaults and contexts.

use strict;
use warnings;
use File::Basename;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $reference = slurp_file(dirname(__FILE__) . '/../../doc/reference.md');

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{shared_preload_libraries = 'clocktiming'});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');
sub rows { my ($sql) = @_; return split /\n/, $node->safe_psql('postgres', $sql); }
my $members = q{FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'clocktiming' AND d.deptype = 'e'};

# The page must contain the names of all functions, procedures and aggregates, and of their
# arguments, as code. Each view must have a section that names its columns. This section describes
# the function of the same name, too.
my @functions = rows(qq{SELECT p.proname, (SELECT string_agg(name, ',') FROM unnest(p.proargnames, p.proargmodes) a(name, mode) WHERE coalesce(mode, 'i') IN ('i', 'b', 'v'))
	$members JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
	WHERE p.proname LIKE 'clock\_%' AND NOT EXISTS (SELECT FROM pg_class v WHERE v.relkind = 'v' AND v.relname = p.proname) ORDER BY 1, 2});
my @relations = rows(qq{SELECT r.relname, string_agg(a.attname, ',' ORDER BY a.attnum)
	$members JOIN pg_class r ON d.classid = 'pg_class'::regclass AND r.oid = d.objid JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0
	WHERE r.relkind = 'v' GROUP BY 1 ORDER BY 1});
cmp_ok(scalar @functions, '>', 30, 'functions were found');
cmp_ok(scalar @relations, '>', 7, 'views were found');

my (%function, %missing);
foreach (@functions)
{
	my ($name, $arguments) = split /\|/, $_, -1;

	$function{$name} = 1;
	$missing{$name} = 1 if $reference !~ /`(?:CALL |SELECT \* FROM )?$name\(/;
	$missing{"$name: $_"} = 1 foreach grep { $reference !~ /`(?:[^`\n]*\b)?$_\b/ } split /,/, $arguments;
}
foreach (@relations)
{
	my ($name, $columns) = split /\|/;
	my $section = ($reference =~ /^### Views? [^\n]*\b$name\b(.*?)^##/ms)[0] // '';

	$missing{$name} = 1 if $section eq '';
	# A section may refer to the columns of another view.
	$section .= join '', map { $reference =~ /^### View $_\n(.*?)^##/ms } $section =~ /`(clock_\w+)`/g;
	$missing{"$name: $_"} = 1 foreach grep { $section !~ /`$_`/ } split /,/, $columns;
}
is(join(', ', sort keys %missing), '', 'the manual describes all functions, views, arguments and columns');
$function{$_} = 1 foreach rows("SELECT proname $members JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid");
is(join(', ', grep { !$function{$_} } sort keys %{ { map { $_ => 1 } $reference =~ /\b(clock_\w+)\(/g } }), '', 'the manual describes no function that does not exist');
my %relation = map { (split /\|/)[0] => 1 } @relations;
is(join(', ', grep { !$relation{$_} } map { split /, /, $_ } $reference =~ /^### Views? (.*)$/mg), '', 'the manual describes no view that does not exist');

# Settings, and the words of the manual for their contexts
my %who = (postmaster => 'at server start', sighup => 'reload', superuser => 'superusers may', user => 'anybody may');
my %setting;
foreach (rows(q{SELECT name, current_setting(name), context FROM pg_settings WHERE name LIKE 'clocktiming.%'}))
{
	my ($name, $default, $context) = split /\|/;

	$setting{$name} = 1;
	my ($said) = $reference =~ /`\Q$name\E`\s+\(([^)]*)\)/;
	$said //= 'nothing';
	like($said, qr/default `?\Q$default\E`?(?![.\w])/, "$name: default $default");
	like($said, qr/\Q$who{$context}\E/, "$name: who may set it");
}
is(join(', ', grep { !$setting{$_} && (rows("SELECT current_setting('$_', true) IS NULL"))[0] eq 't' } sort keys %{ { map { $_ => 1 } $reference =~ /`(clocktiming\.\w+)/g } }), '', 'the manual describes no setting that does not exist');

$node->stop;
done_testing();
