#include "autograd/kernels/control_groups.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace reel::kernels {
namespace {

namespace fs = std::filesystem;

constexpr double no_limit = std::numeric_limits<double>::infinity();

/// The least of limit_of(group) for the groups of this process that `controller` limits, and those around them.
template <class Limit>
double least_of_groups(const fs::path& root, const std::string& controller, Limit limit_of) {
  double least = no_limit;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:path; version 2 names no controllers
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    const bool is_version_2 = controllers == ",,";
    if (!is_version_2 && controllers.find(',' + controller + ',') == std::string::npos) continue;
    const fs::path top = root / "sys/fs/cgroup" / (is_version_2 ? "" : controller);
    // Within a container the outermost group is its own, whatever its path outside.
    fs::path group = fs::path(line.substr(second + 1)).relative_path();
    for (; !group.empty(); group = group.parent_path()) least = std::min(least, limit_of(top / group));
    least = std::min(least, limit_of(top));
  }
  return least;
}

}  // namespace

double granted_cores(const fs::path& root) {
  return least_of_groups(root, "cpu", [](const fs::path& group) {
    double time = 0, period = 0;  // what is no number, as "max", is no limit either
    std::ifstream of_version_2(group / "cpu.max");
    if (of_version_2.is_open()) {
      of_version_2 >> time >> period;
    } else {
      std::ifstream(group / "cpu.cfs_quota_us") >> time;
      std::ifstream(group / "cpu.cfs_period_us") >> period;
    }
    return time > 0 && period > 0 ? time / period : no_limit;
  });
}

double granted_memory(const fs::path& root) {
  return least_of_groups(root, "memory", [](const fs::path& group) {
    double bytes = 0;
    std::ifstream of_version_2(group / "memory.max");
    if (of_version_2.is_open()) {
      of_version_2 >> bytes;
    } else {
      std::ifstream(group / "memory.limit_in_bytes") >> bytes;
    }
    return bytes > 0 ? bytes : no_limit;
  });
}

}  // namespace reel::kernels
