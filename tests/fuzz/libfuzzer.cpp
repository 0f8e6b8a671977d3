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
  fs::create_directories(folder);
  if (!fs::is_empty(folder)) return;
  for (std::size_t i = 0; i < target.seeds.size(); ++i) {
    std::ofstream(folder / ("seed" + std::to_string(i)), std::ios::binary) << target.seeds[i];
  }
}

}  // namespace

/// Takes the first argument, and leaves the others to libFuzzer.
extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  const std::vector<Target> targets = reel::fuzz::all_targets();
  const std::string name = *count > 1 ? (*arguments)[1] : "";
  const auto found = std::find_if(targets.begin(), targets.end(), [&](const Target& t) { return t.name == name; });
  if (found == targets.end()) {
    std::fprintf(stderr, "usage: reel_fuzz TARGET [libFuzzer's options] [FOLDER]\ntargets:");
    for (const Target& t : targets) std::fprintf(stderr, " %s", t.name.c_str());
    std::fprintf(stderr, "\n");
    std::exit(2);
  }
  target = *found;
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
