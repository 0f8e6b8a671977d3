#include "apps/common/interrupt.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>

#include "apps/common/command.h"
#include "tests/catch.h"

using namespace reel::apps;

namespace {

/// What becomes of a child process that runs `body`: its wait status. The flag is for good, so that this process must
/// not set its own.
template <class Body>
int status_of(Body body) {
  pid_t child = fork();
  if (child == 0) {
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    body();
    _exit(interrupted() ? 100 + interrupt_obeyed() : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("the first signal is noted", "[interrupt]") {
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    int status = status_of([number] {
      watch_interrupts();
      if (interrupted()) _exit(50);
      raise(number);
    });
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 100 + number);
  }
}

TEST_CASE("a run under nohup outlives its terminal", "[interrupt]") {
  int status = status_of([] {
    signal(SIGHUP, SIG_IGN);
    watch_interrupts();
    raise(SIGHUP);
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a terminal that closes says so twice, and is heard once", "[interrupt]") {
  int status = status_of([] {
    watch_interrupts();
    raise(SIGHUP);
    raise(SIGHUP);
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 100 + SIGHUP);
}

TEST_CASE("the second signal ends the process, also one of another kind", "[interrupt]") {
  for (int second : {SIGINT, SIGTERM}) {
    int status = status_of([second] {
      watch_interrupts();
      raise(SIGINT);
      raise(second);
    });
    REQUIRE(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == second);
  }
}

TEST_CASE("nothing is noted that nobody asked for", "[interrupt]") {
  CHECK(WIFSIGNALED(status_of([] { raise(SIGINT); })));
  CHECK_FALSE(interrupted());
  CHECK(interrupt_obeyed() == 0);
}

TEST_CASE("a program that an interrupt ended early says so, and no other", "[interrupt]") {
  for (const bool obeys : {false, true}) {
    const int status = status_of([obeys] {
      const Program program{"counts", "", {{"", "", [obeys](const Verb::Parse&) {
                                              watch_interrupts();
                                              raise(SIGTERM);
                                              if (obeys) (void)interrupted();
                                            }}}};
      std::ostringstream out;
      _exit(run_program(program, {}, out, out));
    });
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == (obeys ? 128 + SIGTERM : 0));
  }
}
