
# Installs the portable edition in tests, and calls each of its functions. Reads the list of
# functions from pg_proc, so that new functions are also called.

package PortableEdition;

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

our $plain = 'portable/clocktiming.sql';
our $tle = (glob 'portable/clocktiming--*-tle.sql')[0];

# Values of arguments, by name. A jsonb argument is not listed: its value is the result of a new
# call of clock_measure().
my %value = (
	duration => '0.2',
	seconds => '0.2',
	setting => q{'track_io_timing'},
	query => q{'SELECT count(*) FROM generate_series(1, 1000)'});

# Queries for the state of a session, which no call may change.
our $state = q{
	SELECT md5(string_agg(name || setting, ',' ORDER BY name)) FROM pg_settings
		WHERE name NOT IN ('statement_timeout', 'default_transaction_read_only', 'in_hot_standby')
			AND name NOT LIKE 'transaction%';
	SELECT count(*) FROM pg_prepared_statements;
	SELECT count(*) FROM pg_cursors;
	SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
	SELECT count(*) FROM pg_class WHERE relnamespace = pg_my_temp_schema();
};

# Returns the texts of calls of all public functions and procedures of a schema. If $by_default is
# true, the calls have only mandatory arguments.
sub calls
{
	my ($session, $schema, $by_default) = @_;
	my $namespace = $schema eq 'pg_temp' ? 'pg_my_temp_schema()' : "'$schema'::regnamespace";
	my $list = $session->query(qq{
		SELECT p.oid::text, p.prokind, p.proname, a.name, a.type = 'jsonb'::regtype, a.n > p.pronargs - p.pronargdefaults
		FROM pg_proc AS p
		LEFT JOIN LATERAL (
			SELECT name, type, row_number() OVER (ORDER BY ord) AS n
			FROM unnest(proargnames, proargmodes, coalesce(proallargtypes, proargtypes::oid[]))
				WITH ORDINALITY AS u(name, mode, type, ord)
			WHERE coalesce(mode, 'i') IN ('i', 'b')) AS a ON true
		WHERE p.pronamespace = $namespace AND starts_with(p.proname, 'clock_')
		ORDER BY p.proname, p.oid, a.n});
	my (@calls, %call);

	die $list->{err} unless $list->{state} eq '00000';
	foreach (split /\n/, $list->{out})
	{
		my ($oid, $kind, $function, $name, $is_sample, $has_default) = split /\|/, $_, -1;
		my $call = $call{$oid} //= { kind => $kind, name => $function, args => [] };

		push @calls, $call unless @{ $call->{args} } || grep { $_ == $call } @calls;
		next if $name eq '' || ($has_default eq 't' && ($by_default || !defined $value{$name}));
		my $value = $is_sample eq 't' ? "(SELECT $schema.clock_measure(duration => 0.1))" : $value{$name};
		die "no value for the argument $name of $function: please add one to PortableEdition.pm" unless defined $value;
		push @{ $call->{args} }, "$name => $value";
	}
	foreach my $call (@calls)
	{
		my $text = "$schema.$call->{name}(" . join(', ', @{ $call->{args} }) . ')';
		$call = $call->{kind} eq 'p' ? "CALL $text" : "SELECT * FROM $text";
	}
	return @calls;
}

# Executes calls, and checks that each returns a result and does not change the state of the
# session.
sub all_work
{
	my ($session, $schema, $what) = @_;

	$session->query('DO $$BEGIN END$$');		# loads PL/pgSQL, whose settings would otherwise count as a change
	my $before = $session->query($state)->{out};
	my @calls = calls($session, $schema);

	cmp_ok(scalar @calls, '>', 10, "$what: there are functions to call");
	foreach my $call (@calls)
	{
		my $result = $session->query($call);

		is($result->{state}, '00000', "$what: $call") or diag $result->{err};
		isnt($result->{out}, '', "$what: $call returns a result");
	}
	is($session->query($state)->{out}, $before, "$what: the state of the session is unchanged");
	return;
}

# Executes an installation script in a session, by default portable/clocktiming.sql. Returns the
# result as ClockSession's result() does.
sub install
{
	my ($session, $file) = @_;
	my $text = slurp_file($file || $plain) =~ s/;\s*\z//r;

	return $session->query($text);
}

1;
