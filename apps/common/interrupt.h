#pragma once
// Ctrl-C as a request: the first one is noted, so that a loop can finish its step and save; the second one ends the
// process at once, as it would have without this. SIGTERM, which a batch system sends, is taken in the same way. So
// is SIGHUP, unless it was ignored already, as under nohup; but a terminal that closes sends it twice, by its shell and
// by the kernel, so that a second one changes nothing.

namespace reel::apps {

/// From here on the first signal is only noted.
void watch_interrupts();

/// Whether a signal has come since; stays true. Counts as obeying it: ask only where something can end early.
bool interrupted();

/// The number of the signal that interrupted() has told of; 0 if there was none, or all was done before anyone asked. A
/// process that ended early exits with 128 + this.
int interrupt_obeyed();

}  // namespace reel::apps
