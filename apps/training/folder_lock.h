#pragma once
// One run a folder: two that write into the same one would each take the other's files for their own.

#include <filesystem>

namespace reel::apps {

/// While it lives, or until the process ends in whatever way, there is no other one of the same folder.
class FolderLock {
 public:
  /// Throws, naming the folder, if there is another one. Where a file system knows no locks, there is none.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace reel::apps
