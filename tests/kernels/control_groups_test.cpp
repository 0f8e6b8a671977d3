#include "autograd/kernels/control_groups.h"

#include <limits>

#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace reel::kernels;

namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("control groups limit how many cores' worth of time there is", "[control_groups]") {
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

TEST_CASE("control groups limit how much memory there is", "[control_groups]") {
  const TemporaryFolder root;
  CHECK(granted_memory(root.path()) == no_limit);

  SECTION("version 2") {
    root.write("proc/self/cgroup", "0::/outer/inner\n");
    root.write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
    CHECK(granted_memory(root.path()) == no_limit);
    root.write("sys/fs/cgroup/outer/memory.max", "2147483648\n");
    CHECK(granted_memory(root.path()) == 2147483648.0);
    root.write("sys/fs/cgroup/memory.max", "1073741824\n");
    CHECK(granted_memory(root.path()) == 1073741824.0);
    CHECK(granted_cores(root.path()) == no_limit);
  }
  SECTION("version 1: the group of the controller that is named memory") {
    root.write("proc/self/cgroup", "3:cpuacct,cpu:/small\n2:memory:/docker/1\n");
    root.write("sys/fs/cgroup/memory/small/memory.limit_in_bytes", "4096\n");  // not its group
    root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    CHECK(granted_memory(root.path()) == 9223372036854771712.0);
    root.write("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "536870912\n");
    CHECK(granted_memory(root.path()) == 536870912.0);
  }
}
