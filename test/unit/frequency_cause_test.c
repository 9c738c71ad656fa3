/* The possible causes of a stated frequency of the TSC that differs from the calibrated one. */
#include "core/frequency_cause.h"
#include "tap.h"

int
main(void)
{
	FrequencyEvidence e = {.stated_hz = 2.6e9, .calibrated_hz = 2.6e9, .limit_ppm = 300};

	ok(frequency_cause(&e) == FREQUENCY_AGREES, "the frequencies agree");
	e.stated_hz = 2.6e9 * (1 + 299e-6);
	ok(frequency_cause(&e) == FREQUENCY_AGREES, "they differ by less than the limit");
	e.stated_hz = 2.6e9 * (1 + 400e-6);
	ok(frequency_cause(&e) == FREQUENCY_OF_PROCESSOR, "they differ on a machine without a hypervisor");
	e.hypervisor = true;
	ok(frequency_cause(&e) == FREQUENCY_OF_HYPERVISOR, "they differ in a virtual machine");
	e.amd = true;
	ok(frequency_cause(&e) == FREQUENCY_SECURE_TSC, "they differ in a virtual machine on a processor of AMD");
	e.sync = (SystemSync) {.known = true, .synchronised = true, .frequency_ppm = -390};
	ok(frequency_cause(&e) == FREQUENCY_OF_KERNEL, "the time service corrects the same difference");
	e.sync.frequency_ppm = 390;
	ok(frequency_cause(&e) == FREQUENCY_SECURE_TSC, "it corrects the opposite difference");
	e.sync.frequency_ppm = -20;
	ok(frequency_cause(&e) == FREQUENCY_SECURE_TSC, "it corrects hardly anything");
	e.sync.frequency_ppm = -390;
	e.sync.synchronised = false;
	ok(frequency_cause(&e) == FREQUENCY_SECURE_TSC, "the clock is not synchronised");
	e.sync.synchronised = true;
	e.sync.known = false;
	ok(frequency_cause(&e) == FREQUENCY_SECURE_TSC, "it is not known whether the clock is synchronised");
	e.sync.known = true;
	e.stated_hz = 2.6e9 * (1 - 400e-6);
	e.sync.frequency_ppm = 410;
	ok(frequency_cause(&e) == FREQUENCY_OF_KERNEL, "the same with the other sign");
	e.stated_hz = 0;
	ok(frequency_cause(&e) == FREQUENCY_AGREES, "no frequency is stated");
	e.stated_hz = 2.6e9;
	e.calibrated_hz = 0;
	ok(frequency_cause(&e) == FREQUENCY_AGREES, "calibration failed");
	return done();
}
