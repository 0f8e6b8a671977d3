#include "apps/training/run_folder.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/common/atomic_file.h"
#include "apps/training/checkpoint.h"
#include "autograd/error.h"

namespace reel::apps {
namespace fs = std::filesystem;

RunFolder::RunFolder(fs::path path) : path_(std::move(path)) {
  ensure_folder(path_);
  lock_.emplace(path_);
  for (const fs::path& file : files()) {
    if (fs::is_directory(file)) fail(file.string(), " is a folder; a run keeps a file of that name");
    remove_left_over(file);
  }
}

fs::path RunFolder::checkpoint() const { return checkpoint_path(path_); }

std::vector<fs::path> RunFolder::files() const { return {checkpoint(), best(), metrics(), report()}; }

std::optional<fs::path> RunFolder::take_over(const std::function<void()>& save) const {
  std::string name = "previous";
  auto kept = [&](const fs::path& file) {
    return path_ / (name + (file == best() ? "-best" : "") + file.extension().string());
  };
  auto is_taken = [&] {
    return std::ranges::any_of(files(), [&](const fs::path& file) { return fs::exists(kept(file)); });
  };
  for (int i = 2; is_taken(); ++i) name = text("previous-", i);
  for (const fs::path& file : files()) remove_left_over(kept(file));

  // The old files get second names and never give the first ones up: the new run replaces what has these. So there
  // always is a checkpoint, and what is kept of a run is kept under one name.
  const bool occupied = fs::exists(checkpoint());
  std::vector<fs::path> second_names;
  try {
    for (const fs::path& file : files()) {
      if (!fs::exists(file)) continue;
      link_or_copy(file, kept(file));
      second_names.push_back(kept(file));
    }
    save();
  } catch (...) {
    std::error_code ignored;
    for (const fs::path& file : second_names) fs::remove(file, ignored);
    throw;
  }
  if (!occupied) return std::nullopt;
  return kept(checkpoint());
}

}  // namespace reel::apps
