#pragma once
// The cores of the processor, and threads that are tied to them. Where the system offers nothing of that, these
// functions do nothing.

#include <thread>
#include <vector>

namespace reel::kernels {

/// The numbers of the cores that the calling thread may use: those of its process, unless it is tied to one. Empty
/// where the system does not say.
std::vector<int> usable_cores();

/// The core that this thread runs on now; -1 where the system does not say.
int current_core();

/// Keeps a thread on this core from now on, if the system lets it.
void pin(std::thread& thread, int core);

}  // namespace reel::kernels
