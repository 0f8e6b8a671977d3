#include "autograd/kernels/cores.h"

#include <algorithm>
#include <fstream>

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

namespace reel::kernels {

std::vector<int> distinct_first(const std::vector<int>& numbers, const std::string& folder) {
  std::vector<int> first, others;
  std::vector<std::string> seen;
  for (const int number : numbers) {
    const std::string name = "cpu" + std::to_string(number);
    std::string siblings;
    std::getline(std::ifstream(folder + '/' + name + "/topology/thread_siblings_list"), siblings);
    if (siblings.empty()) siblings = name;
    const bool is_new = std::find(seen.begin(), seen.end(), siblings) == seen.end();
    if (is_new) seen.push_back(siblings);
    (is_new ? first : others).push_back(number);
  }
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

#ifdef __linux__

std::vector<int> usable_cores() {
  std::vector<int> cores;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) cores.push_back(static_cast<int>(core));
    }
  }
  return distinct_first(cores, "/sys/devices/system/cpu");
}

int current_core() { return sched_getcpu(); }

void pin(std::thread& thread, int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(core), &set);
  pthread_setaffinity_np(thread.native_handle(), sizeof set, &set);  // if refused, threads are slower, not wrong
}

#else

std::vector<int> usable_cores() { return {}; }
int current_core() { return -1; }
void pin(std::thread&, int) {}

#endif

}  // namespace reel::kernels
