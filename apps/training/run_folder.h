#pragma once
// The folder that a run writes into, and what an earlier run has left there.

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "apps/training/folder_lock.h"

namespace reel::apps {

class RunFolder {
 public:
  /// Makes it where it is missing, and keeps other runs out of it while this object lives. Throws if another one is
  /// writing into it, or if its files cannot be made in it.
  explicit RunFolder(std::filesystem::path path);

  std::filesystem::path checkpoint() const;
  /// The one among its checkpoints that scored best.
  std::filesystem::path best() const { return path_ / "best.safetensors"; }
  std::filesystem::path metrics() const { return path_ / "metrics.csv"; }
  std::filesystem::path report() const { return path_ / "report.html"; }

  /// For the first save of a new run. What an earlier one has left is kept as previous.safetensors,
  /// previous-best.safetensors, previous.csv and previous.html, or previous-2 and so on where one of these names is
  /// taken; `save` replaces its checkpoint. If that throws, all is as it was. Returns where the earlier checkpoint is,
  /// if there was one.
  std::optional<std::filesystem::path> take_over(const std::function<void()>& save) const;

 private:
  std::vector<std::filesystem::path> files() const;

  std::filesystem::path path_;
  std::optional<FolderLock> lock_;
};

}  // namespace reel::apps
