#include "apps/training/run_folder.h"

#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/common/atomic_file.h"
#include "apps/training/checkpoint.h"
#include "autograd/error.h"

namespace reel::apps {
namespace {

namespace fs = std::filesystem;

/// Gives the file that `path` names, or leads to, a second name; where the file system knows none, to a copy of it.
void link_or_copy(const fs::path& path, const fs::path& name) {
  std::error_code unable;
  fs::create_hard_link(fs::canonical(path), name, unable);
  if (!unable) return;
  const fs::path unfinished = name.string() + ".tmp";
  fs::copy_file(path, unfinished, fs::copy_options::overwrite_existing);  // its permissions, too
  fs::rename(unfinished, name);
}

}  // namespace

RunFolder::RunFolder(fs::path path) : path_(std::move(path)) {
  ensure_folder(path_);
  lock_.emplace(path_);
  for (const fs::path& file : {checkpoint(), metrics(), report()}) {
    if (fs::is_directory(file)) fail(file.string(), " is a folder; a run keeps a file of that name");
    remove_left_over(file);
  }
}

fs::path RunFolder::checkpoint() const { return checkpoint_path(path_); }

std::optional<fs::path> RunFolder::take_over(const std::function<void()>& save) const {
  std::string name = "previous";
  auto kept = [&](const fs::path& file) { return path_ / (name + file.extension().string()); };
  auto is_taken = [&] {
    return fs::exists(kept(checkpoint())) || fs::exists(kept(metrics())) || fs::exists(kept(report()));
  };
  for (int i = 2; is_taken(); ++i) name = text("previous-", i);

  // The old files get second names and never give the first ones up: the new run replaces what has these. So there
  // always is a checkpoint, and what is kept of a run is kept under one name.
  const bool occupied = fs::exists(checkpoint());
  std::vector<fs::path> second_names;
  try {
    for (const fs::path& file : {checkpoint(), metrics(), report()}) {
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
