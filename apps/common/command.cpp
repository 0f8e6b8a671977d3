#include "apps/common/command.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <new>

#include "apps/common/interrupt.h"
#include "apps/common/nearest.h"
#include "apps/common/terminal.h"
#include "apps/common/words.h"
#include "data/printable.h"

namespace reel::apps {

namespace {

constexpr int failed = 1;
constexpr int misused = 2;

/// While it lives, a failed write throws. It must be gone before the failure is reported: std::cerr is tied to
/// std::cout and flushes it first, which would throw again.
class ThrowAtFailure {
 public:
  explicit ThrowAtFailure(std::ostream& stream) : stream_(stream), before_(stream.exceptions()) {
    stream_.exceptions(std::ios::badbit | std::ios::failbit);
  }
  ~ThrowAtFailure() { stream_.exceptions(before_); }
  ThrowAtFailure(const ThrowAtFailure&) = delete;
  ThrowAtFailure& operator=(const ThrowAtFailure&) = delete;

 private:
  std::ostream& stream_;
  std::ios::iostate before_;
};

/// The next file that is opened would take the place of a stream that is closed, and get what is written there. A
/// closed stdout becomes one that cannot be written, so that it stays an error to lose what goes there.
void fill_closed_streams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
}

int help_width() { return std::clamp(terminal_width(STDOUT_FILENO), 40, 100); }

std::string verb_list(const Program& program) {
  std::size_t widest = 0;
  for (const Verb& verb : program.verbs) widest = std::max(widest, verb.name.size());
  std::string out = text("usage: ", program.name, " VERB [options]\n\n", program.summary, "\n\n");
  for (const Verb& verb : program.verbs) {
    out += text("  ", verb.name, std::string(widest - verb.name.size() + 2, ' '), verb.summary, "\n");
  }
  return out + text("\n", program.name, " VERB -h lists the options of a verb.\n");
}

const Verb& find_verb(const Program& program, const std::string& name) {
  std::vector<std::string> names;
  for (const Verb& verb : program.verbs) {
    if (verb.name == name) return verb;
    names.push_back(verb.name);
  }
  std::string nearest = nearest_name(name, names);
  fail<UsageError>("there is no verb ", in_quotes(name), "; ",
                   nearest.empty() ? "-h lists the verbs" : text("did you mean ", nearest, "?"));
}

/// `command` grows by the verb as soon as that is known, so that errors can say it.
void dispatch(const Program& program, std::span<const std::string> arguments, std::ostream& out, std::string& command) {
  bool has_verbs = program.verbs.size() != 1 || !program.verbs[0].name.empty();
  if (has_verbs) {
    if (arguments.empty()) throw UsageError("a verb is missing; -h lists the verbs");
    if (arguments[0] == "-h" || arguments[0] == "--help") {
      out << verb_list(program);
      return;
    }
  }
  const Verb& verb = has_verbs ? find_verb(program, arguments[0]) : program.verbs[0];
  if (has_verbs) {
    command += " " + verb.name;
    arguments = arguments.subspan(1);
  }
  verb.run([&](Options& options) {
    options.parse(arguments);
    if (options.help_wanted()) out << options.help(command, verb.summary, help_width());
    return !options.help_wanted();
  });
}

}  // namespace

int run_program(const Program& program, std::span<const std::string> arguments, std::ostream& out, std::ostream& err) {
  std::string command = program.name;
  auto report = [&](const auto&... parts) { err << data::printable(text(command, ": ", parts...)) << std::endl; };
  try {
    ThrowAtFailure guard(out);
    dispatch(program, arguments, out, command);
    out.flush();
    return interrupt_obeyed() ? 128 + interrupt_obeyed() : 0;
  } catch (const UsageError& error) {
    report(error.what());
    return misused;
  } catch (const std::bad_alloc&) {
    report("out of memory; a smaller model, batch or context needs less");
  } catch (const std::ios_base::failure&) {
    int reason = errno;
    if (reason != EPIPE) report("cannot write to standard output: ", std::strerror(reason));
  } catch (const std::exception& error) {
    report(error.what());
  }
  return failed;
}

int run_program(const Program& program, int argc, const char* const* argv) {
  fill_closed_streams();
  signal(SIGPIPE, SIG_IGN);  // a reader that went away then shows as a failed write,
  signal(SIGXFSZ, SIG_IGN);  // and so does a limit on the size of files
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  return run_program(program, arguments, std::cout, std::cerr);
}

}  // namespace reel::apps
