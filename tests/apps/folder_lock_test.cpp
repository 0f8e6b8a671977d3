#include "apps/training/folder_lock.h"

#include <optional>

#include "tests/catch.h"
#include "tests/temporary_folder.h"

using reel::apps::FolderLock;

TEST_CASE("a folder has one lock at a time, and leaves nothing in it", "[folder_lock]") {
  TemporaryFolder folder, other;
  std::optional<FolderLock> first(std::in_place, folder.path());
  CHECK_THROWS_WITH(FolderLock(folder.path()), "another run is writing into " + folder.path().string() +
                                                   "; wait for its end, or choose another folder");
  CHECK_NOTHROW(FolderLock(other.path()));
  first.reset();
  CHECK_NOTHROW(FolderLock(folder.path()));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("what cannot be locked is not", "[folder_lock]") {
  TemporaryFolder folder;
  CHECK_NOTHROW(FolderLock(folder / "missing"));
}
