#pragma once
// The cores of the processor, and threads that are tied to them. Where the system offers nothing of that, these
// functions do nothing: left alone, some systems let two busy threads share a core for milliseconds while another one
// idles.

#include <string>
#include <thread>
#include <vector>

namespace reel::kernels {

/// The numbers of the cores that this process may use, in the order in which threads should take them; empty where the
/// system does not say.
std::vector<int> usable_cores();

/// Some systems count a core twice that can run two threads, though these share its multipliers. One number of each
/// core comes first, then the others. <folder>/cpu3/topology/thread_siblings_list says what else cpu3 is; a number
/// without such a file is a core of its own.
std::vector<int> distinct_first(const std::vector<int>& numbers, const std::string& folder);

/// The core that this thread runs on now; -1 where the system does not say.
int current_core();

/// Keeps a thread on this core from now on, if the system lets it.
void pin(std::thread& thread, int core);

}  // namespace reel::kernels
