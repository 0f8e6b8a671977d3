#include "autograd/kernels/cores.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace reel::kernels;

TEST_CASE("the cores that may be used are those of this process, each once", "[cores]") {
  std::vector<int> cores = usable_cores();
  const std::size_t count = cores.size();
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  CHECK(cores.size() == count);
#ifdef __linux__
  REQUIRE(count > 0);
  CHECK(std::find(cores.begin(), cores.end(), current_core()) != cores.end());
#endif
}

TEST_CASE("control groups limit how many cores' worth of time there is", "[cores]") {
  constexpr double no_limit = std::numeric_limits<double>::infinity();
  const TemporaryFolder root;
  CHECK(granted_cores(root.path()) == no_limit);  // nothing is said

  SECTION("version 2: the least of what the group and those around it grant") {
    root.write("proc/self/cgroup", "0::/outer/inner\n");
    CHECK(granted_cores(root.path()) == no_limit);
    root.write("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
    CHECK(granted_cores(root.path()) == no_limit);
    root.write("sys/fs/cgroup/outer/cpu.max", "250000 100000\n");
    CHECK(granted_cores(root.path()) == 2.5);
    root.write("sys/fs/cgroup/outer/inner/cpu.max", "800000 200000\n");
    CHECK(granted_cores(root.path()) == 2.5);
    root.write("sys/fs/cgroup/cpu.max", "50000 100000\n");
    CHECK(granted_cores(root.path()) == 0.5);
  }
  SECTION("version 1: the group of the controller that is named cpu") {
    root.write("proc/self/cgroup", "4:cpuset:/set\n3:cpuacct,cpu:/docker/1\n2:memory:/big\n1:name=systemd:/\n");
    root.write("sys/fs/cgroup/cpu/set/cpu.cfs_quota_us", "100000\n");  // not its group
    root.write("sys/fs/cgroup/cpu/set/cpu.cfs_period_us", "100000\n");
    CHECK(granted_cores(root.path()) == no_limit);
    root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    CHECK(granted_cores(root.path()) == no_limit);
    root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");  // as a container sees it, its path is not there
    CHECK(granted_cores(root.path()) == 3);
  }
  SECTION("what cannot be read is no limit") {
    root.write("proc/self/cgroup", "\n0\n0:\n0::\n0::/../..\n:cpu:\n");
    for (const char* text : {"", "max", "x y", "100000", "100000 0", "-1 100000", "nan nan"}) {
      root.write("sys/fs/cgroup/cpu.max", text);
      CHECK(granted_cores(root.path()) == no_limit);
    }
  }
}

TEST_CASE("a thread runs on the core that it is tied to", "[cores]") {
  if (usable_cores().empty()) WARN("not tested: the system does not say which cores there are");
  for (const int core : usable_cores()) {
    std::atomic<bool> tied = false;
    int runs_on = -1;
    std::thread thread([&] {
      while (!tied) std::this_thread::yield();
      runs_on = current_core();
    });
    pin(thread, core);
    tied = true;
    thread.join();
    CHECK(runs_on == core);
  }
}
