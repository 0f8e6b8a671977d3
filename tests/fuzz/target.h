#pragma once
// What is fuzzed: functions that take any bytes. They may refuse them with an Error; whatever else comes out of them,
// or a promise that turns out not to hold, is a bug.
//
// fuzz_test.cpp tries some hundred inputs of each target with every run of the tests; libfuzzer.cpp looks for more of
// them as long as you like.

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/error.h"

namespace reel::fuzz {

struct Target {
  std::string name;
  std::function<void(std::string_view input)> run;
  std::vector<std::string> seeds;  // inputs to start from
};

std::vector<Target> reader_targets();   // what reads files and command lines
std::vector<Target> program_targets();  // operations, one after another
std::vector<Target> kernel_targets();   // kernels, beside their naive twins

inline std::vector<Target> all_targets() {
  std::vector<Target> all;
  for (auto targets : {reader_targets, program_targets, kernel_targets}) {
    for (Target& target : targets()) all.push_back(std::move(target));
  }
  return all;
}

/// Throws where a promise does not hold.
inline void require(bool holds, const std::string& promise) {
  if (!holds) throw std::logic_error(promise);
}

/// f(), which has no reason any longer to refuse: what Reel wrote itself, and what has the right shape.
template <class F>
auto must(const F& f) {
  try {
    return f();
  } catch (const Error& error) {
    throw std::logic_error(std::string("refused what is right: ") + error.what());
  }
}

/// Runs a target, which may refuse.
inline void try_input(const Target& target, std::string_view input) {
  try {
    target.run(input);
  } catch (const Error&) {
  }
}

/// An input, read as numbers; zeros follow its end.
class Numbers {
 public:
  explicit Numbers(std::string_view bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  /// 0 .. bound - 1, bound <= 256
  std::int64_t below(std::int64_t bound) {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return byte % bound;
  }

 private:
  std::string_view rest_;
};

}  // namespace reel::fuzz
