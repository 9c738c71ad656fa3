# The wings of src/, clock and plan, do not call each other: no object of one refers to a symbol of the other.  test/unit/layout.pl
# checks only includes, but a declaration can also be repeated without an include.

use strict;
use warnings FATAL => 'all';

use File::Basename;
use Test::More;

my $src = dirname(__FILE__) . '/../../src';

# Returns references to the symbols that the objects of a wing define, and to those that they lack, by name.
sub symbols
{
	my ($wing) = @_;
	my @objects = glob("$src/$wing/*/*.o");
	my (%defined, %lacking);

	foreach my $line (@objects ? split(/\n/, qx(nm -g -A @objects)) : ())
	{
		my ($object, $type, $name) = $line =~ m{([^/]+\.o):\S*\s+(\w) (\S+)$} or next;
		($type eq 'U' ? \%lacking : \%defined)->{$name} = $object;
	}
	return (\%defined, \%lacking);
}

my ($clock, $clock_lacks) = symbols('clock');
my ($plan, $plan_lacks) = symbols('plan');

ok($clock->{clock_run}, 'a function of the wing clock is found');
ok($plan->{observe_attach}, 'a function of the wing plan is found');
ok($clock_lacks->{wait_briefly} && $plan_lacks->{row_put_text}, 'calls of functions in src/server are found');
is(join(' ', map { "$clock_lacks->{$_}:$_" } sort grep { $plan->{$_} } keys %$clock_lacks), '', 'clock refers to nothing in plan');
is(join(' ', map { "$plan_lacks->{$_}:$_" } sort grep { $clock->{$_} } keys %$plan_lacks), '', 'plan refers to nothing in clock');
done_testing();
