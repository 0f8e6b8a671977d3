#include "apps/common/interrupt.h"

#include <signal.h>

#include <atomic>

namespace reel::apps {

namespace {

std::atomic<int> noted = 0, obeyed = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may touch nothing else");

}  // namespace

void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int number) {
    if (noted == 0) {
      noted = number;
    } else if (number != SIGHUP) {  // what it does by default, as soon as this returns
      signal(number, SIG_DFL);
      raise(number);
    }
  };
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction before {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

bool interrupted() {
  obeyed = noted.load();
  return obeyed != 0;
}

int interrupt_obeyed() { return obeyed; }

}  // namespace reel::apps
