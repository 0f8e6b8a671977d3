#include "autograd/kernels/cores.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace reel::kernels;

namespace {

/// As Linux has it, with the siblings of cpu0, cpu1, ...
void write_topology(const TemporaryFolder& folder, const std::vector<std::string>& siblings) {
  for (std::size_t i = 0; i < siblings.size(); ++i) {
    folder.write("cpu" + std::to_string(i) + "/topology/thread_siblings_list", siblings[i] + '\n');
  }
}

}  // namespace

TEST_CASE("two threads never begin on one core while another core is free", "[cores]") {
  const TemporaryFolder folder;
  SECTION("siblings side by side") {
    write_topology(folder, {"0-1", "0-1", "2-3", "2-3", "4", "5"});
    CHECK(distinct_first({0, 1, 2, 3, 4, 5}, folder.path().string()) == std::vector{0, 2, 4, 5, 1, 3});
    CHECK(distinct_first({1, 2, 3}, folder.path().string()) == std::vector{1, 2, 3});
  }
  SECTION("siblings far apart") {
    write_topology(folder, {"0,2", "1,3", "0,2", "1,3"});
    CHECK(distinct_first({0, 1, 2, 3}, folder.path().string()) == std::vector{0, 1, 2, 3});
  }
  SECTION("a system that does not say") {
    CHECK(distinct_first({0, 1, 7}, folder.path().string()) == std::vector{0, 1, 7});
  }
}

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
