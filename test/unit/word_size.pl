
# On a 32-bit processor, "make unit" must fail with an error that says so, as the build of the
# extension does.

use strict;
use warnings;

use Test::More;

my $cc = $ENV{CC} || 'cc';
my $command = "$cc -Isrc -include core/word_size.h -E -x c /dev/null 2>&1 >/dev/null";
is(`$command`, '', 'a 64-bit processor is accepted');

SKIP:
{
	my $is_x86 = `$cc -dumpmachine` =~ /^x86_64/ && system("$cc -m32 -E -x c /dev/null >/dev/null 2>&1") == 0;

	skip('the compiler has no option for 32-bit code', 1) unless $is_x86;
	like(`${\ ($command =~ s/ -E / -m32 -E /r)}`, qr/clocktiming needs a 64-bit processor/, 'a 32-bit processor is refused');
}
done_testing();
