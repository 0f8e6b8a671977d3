#include "autograd/kernels/cores.h"

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

namespace reel::kernels {

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
