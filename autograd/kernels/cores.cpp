#include "autograd/kernels/cores.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

namespace reel::kernels {

namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();

/// The limit that a control group has itself: the time it gets in each period, over the period.
double limit_of(const std::filesystem::path& group) {
  double time = 0, period = 0;  // what is no number, as "max", is no limit either
  std::ifstream of_version_2(group / "cpu.max");
  if (of_version_2.is_open()) {
    of_version_2 >> time >> period;
  } else {
    std::ifstream(group / "cpu.cfs_quota_us") >> time;
    std::ifstream(group / "cpu.cfs_period_us") >> period;
  }
  return time > 0 && period > 0 ? time / period : no_limit;
}

}  // namespace

double granted_cores(const std::filesystem::path& root) {
  double granted = no_limit;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:path; version 2 names no controllers
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    const bool is_version_2 = controllers == ",,";
    if (!is_version_2 && controllers.find(",cpu,") == std::string::npos) continue;
    const std::filesystem::path top = root / (is_version_2 ? "sys/fs/cgroup" : "sys/fs/cgroup/cpu");
    // The groups around it limit it, too. Within a container the outermost one is its own, whatever its path outside.
    std::filesystem::path group = std::filesystem::path(line.substr(second + 1)).relative_path();
    for (; !group.empty(); group = group.parent_path()) granted = std::min(granted, limit_of(top / group));
    granted = std::min(granted, limit_of(top));
  }
  return granted;
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
  return cores;
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
