#pragma once
// The frame of every app: `generate train --depth 4` finds the verb, reads its options, runs it, and turns whatever
// goes wrong into one line on stderr and an exit status: 2 where the command line is wrong, 1 for everything else.
//
//     int main(int argc, char** argv) {
//       return run_program({"generate", "A model that learns to write.",
//                           {make_verb("train", "learn from a text", declare_train, train),
//                            make_verb("sample", "write", declare_sample, sample)}}, argc, argv);
//     }

#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "apps/common/options.h"

namespace reel::apps {

/// One of the things that a program does.
struct Verb {
  /// Reads the command line into the options; false when that was a request for help, and there is nothing to run.
  using Parse = std::function<bool(Options&)>;

  std::string name;
  std::string summary;
  std::function<void(const Parse&)> run;
};

/// A verb with options of its own: `declare` binds them to a Config, and `run` gets it filled.
template <class Config>
Verb make_verb(std::string name, std::string summary, void (*declare)(Options&, Config&),
               void (*run)(Options&, Config&)) {
  return {std::move(name), std::move(summary), [declare, run](const Verb::Parse& parse) {
            Config config;
            Options options;
            declare(options, config);
            if (parse(options)) run(options, config);
          }};
}

struct Program {
  std::string name;
  std::string summary;
  /// A single verb without a name gets the whole command line.
  std::vector<Verb> verbs;
};

/// Runs the verb that the arguments begin with and returns the exit status. What is written to `out` must arrive: a
/// full disk is an error, and so is a reader that went away, though not one to speak about. Where a verb ended early
/// because of a signal (interrupt.h), the status is 128 plus the signal's number.
int run_program(const Program& program, std::span<const std::string> arguments, std::ostream& out, std::ostream& err);

/// The same with the process's arguments, stdout and stderr.
int run_program(const Program& program, int argc, const char* const* argv);

}  // namespace reel::apps
