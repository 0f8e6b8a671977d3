// reel_fuzz TARGET [libFuzzer's options] [FOLDER of inputs]: looks for inputs that break a target, as LLVM's libFuzzer
// does, by what code they reach. Built by `cmake --preset fuzz && cmake --build --preset fuzz`; the seeds of a target
// are written to FOLDER, if that is empty.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/target.h"

namespace fs = std::filesystem;
using reel::fuzz::Target;

namespace {

Target target;

void write_seeds(const fs::path& folder) {
  if (fs::is_regular_file(folder)) return;  // an input, to be tried again
  fs::create_directories(folder);
  if (!fs::is_empty(folder)) return;
  for (std::size_t i = 0; i < target.seeds.size(); ++i) {
    std::ofstream(folder / ("seed" + std::to_string(i)), std::ios::binary) << target.seeds[i];
  }
}

}  // namespace

/// Takes the first argument, and leaves the others to libFuzzer. That may start itself again, without the target, which
/// is then found in the environment.
extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  const std::vector<Target> targets = reel::fuzz::all_targets();
  auto find = [&](const char* name) {
    return std::find_if(targets.begin(), targets.end(), [&](const Target& t) { return name && t.name == name; });
  };
  constexpr const char* variable = "REEL_FUZZ_TARGET";
  if (const auto known = find(std::getenv(variable)); known != targets.end()) {
    target = *known;
    return 0;
  }
  const auto found = find(*count > 1 ? (*arguments)[1] : nullptr);
  if (found == targets.end()) {
    std::fprintf(stderr, "usage: reel_fuzz TARGET [libFuzzer's options] [FOLDER]\ntargets:");
    for (const Target& t : targets) std::fprintf(stderr, " %s", t.name.c_str());
    std::fprintf(stderr, "\n");
    std::exit(2);
  }
  target = *found;
  setenv(variable, target.name.c_str(), 1);
  std::rotate(*arguments + 1, *arguments + 2, *arguments + *count);
  --*count;
  for (int i = 1; i < *count; ++i) {
    if ((*arguments)[i][0] != '-') write_seeds((*arguments)[i]);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  reel::fuzz::try_input(target, {reinterpret_cast<const char*>(data), size});
  return 0;
}
