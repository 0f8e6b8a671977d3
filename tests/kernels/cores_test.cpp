#include "autograd/kernels/cores.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/catch.h"

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
