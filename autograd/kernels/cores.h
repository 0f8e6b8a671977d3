#pragma once
// The cores of the processor, and threads that are tied to them. Where the system offers nothing of that, these
// functions do nothing.

#include <filesystem>
#include <thread>
#include <vector>

namespace reel::kernels {

/// The numbers of the cores that the calling thread may use: those of its process, unless it is tied to one. Empty
/// where the system does not say.
std::vector<int> usable_cores();

/// How many cores' worth of time this process gets, where one of its control groups limits that, as those of containers
/// may; infinity where none does, or the system does not say. `root` is where its files begin.
double granted_cores(const std::filesystem::path& root = "/");

/// The core that this thread runs on now; -1 where the system does not say.
int current_core();

/// Keeps a thread on this core from now on, if the system lets it.
void pin(std::thread& thread, int core);

}  // namespace reel::kernels
