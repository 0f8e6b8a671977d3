#include "apps/common/atomic_file.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autograd/error.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using reel::apps::ensure_folder;
using reel::apps::link_or_copy;
using reel::apps::remove_left_over;
using reel::apps::write_file_atomically;

namespace {

std::size_t files_in(const std::filesystem::path& folder) {
  std::filesystem::directory_iterator files(folder);
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

/// While it lives, no file may grow beyond `bytes`: what a full disk looks like from here.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace

TEST_CASE("an atomic write makes and replaces a file", "[atomic_file]") {
  TemporaryFolder folder;
  std::string bytes("a\0b\nc", 5);
  write_file_atomically(folder / "file", bytes);
  CHECK(read_file(folder / "file") == bytes);
  write_file_atomically(folder / "file", "");
  CHECK(read_file(folder / "file").empty());
  std::string large(5'000'000, 'x');
  write_file_atomically(folder / "file", large);
  CHECK(read_file(folder / "file") == large);
  CHECK(files_in(folder.path()) == 1);

  struct stat status {};
  REQUIRE(stat((folder / "file").c_str(), &status) == 0);
  mode_t mask = umask(0);
  umask(mask);
  CHECK((status.st_mode & 0777) == (0666 & ~mask));
}

TEST_CASE("an atomic write that fails leaves the old file and nothing else", "[atomic_file]") {
  TemporaryFolder folder;
  write_file(folder / "file", "old");
  FileSizeLimit limit(1000);
  CHECK_THROWS_WITH(write_file_atomically(folder / "file", std::string(100'000, 'x')),
                    "cannot write " + (folder / "file").string() + ": File too large");
  CHECK(read_file(folder / "file") == "old");
  CHECK_THROWS_AS(write_file_atomically(folder / "new", std::string(100'000, 'x')), reel::Error);
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("an atomic write names the path and the reason", "[atomic_file]") {
  TemporaryFolder folder;
  write_file(folder / "file", "old");
  std::filesystem::create_directory(folder / "dir");
  CHECK_THROWS_WITH(write_file_atomically(folder / "none/file", "x"), ContainsSubstring("none/file: No such file"));
  CHECK_THROWS_WITH(write_file_atomically(folder / "file/file", "x"), ContainsSubstring("Not a directory"));
  CHECK_THROWS_WITH(write_file_atomically(folder / "dir", "x"), ContainsSubstring("directory"));
  CHECK_THROWS_AS(write_file_atomically("", "x"), reel::Error);
  CHECK(files_in(folder.path()) == 2);
  CHECK(files_in(folder / "dir") == 0);
}

TEST_CASE("a left-over temporary file is no obstacle", "[atomic_file]") {
  TemporaryFolder folder;
  std::string left_over = "file." + std::to_string(getpid()) + "-0.tmp";
  write_file(folder / left_over, "of a process that was killed");
  write_file_atomically(folder / "file", "new");
  CHECK(read_file(folder / "file") == "new");
  CHECK(read_file(folder / left_over) == "of a process that was killed");
}

TEST_CASE("left-over temporary files of a path are removed, and nothing else", "[atomic_file]") {
  TemporaryFolder folder;
  for (const char* gone : {"file.12-0.tmp", "file.12-13.tmp"}) write_file(folder / gone, "");
  for (const char* stays : {"file", "file.tmp.12-0", "file.x12-0.tmp", "other.12-0.tmp", "12-0.tmp"}) {
    write_file(folder / stays, "");
  }
  remove_left_over(folder / "file");
  CHECK(files_in(folder.path()) == 5);
  CHECK_FALSE(std::filesystem::exists(folder / "file.12-0.tmp"));
  CHECK_NOTHROW(remove_left_over(folder / "none/file"));
}

TEST_CASE("an atomic write keeps permissions, and links", "[atomic_file]") {
  namespace fs = std::filesystem;
  TemporaryFolder folder;
  folder.write("far/file", "old");
  const auto mode = fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read;  // as no umask leaves it
  fs::permissions(folder / "far/file", mode);
  fs::create_symlink("far/file", folder / "link");
  write_file_atomically(folder / "link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(read_file(folder / "far/file") == "new");
  CHECK(fs::status(folder / "far/file").permissions() == mode);
  fs::permissions(folder / "far/file", fs::perms::owner_read);
  write_file_atomically(folder / "link", "newer");
  CHECK(fs::status(folder / "far/file").permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  write_file(folder / "far/file.12-0.tmp", "half");
  remove_left_over(folder / "link");
  CHECK(files_in(folder / "far") == 1);
  fs::create_symlink("nowhere", folder / "broken");
  write_file_atomically(folder / "broken", "whole");
  CHECK(read_file(folder / "broken") == "whole");
  CHECK_FALSE(fs::is_symlink(folder / "broken"));
}

TEST_CASE("ensure_folder makes folders, and says why it cannot", "[atomic_file]") {
  TemporaryFolder folder;
  ensure_folder(folder / "a/b/c");
  ensure_folder(folder / "a/b/c");
  ensure_folder(folder / "a/b/d/");
  CHECK(std::filesystem::is_directory(folder / "a/b/d"));
  write_file(folder / "file", "");
  CHECK_THROWS_WITH(ensure_folder(folder / "file"),
                    ContainsSubstring("cannot make the folder") && ContainsSubstring("file: Not a directory"));
  CHECK_THROWS_WITH(ensure_folder(folder / "file/a"), ContainsSubstring("Not a directory"));
  CHECK_THROWS_AS(ensure_folder(""), reel::Error);
  if (geteuid() != 0) {  // root may write anywhere
    ensure_folder(folder / "closed");
    std::filesystem::permissions(folder / "closed", std::filesystem::perms::owner_read);
    CHECK_THROWS_WITH(ensure_folder(folder / "closed"), ContainsSubstring("Permission denied"));
    CHECK_THROWS_WITH(ensure_folder(folder / "closed/a"), ContainsSubstring("Permission denied"));
  }
}

TEST_CASE("a second name keeps what a file was", "[atomic_file]") {
  TemporaryFolder folder;
  write_file_atomically(folder / "file", "first");
  write_file_atomically(folder / "name", "of another");
  link_or_copy(folder / "file", folder / "name");
  link_or_copy(folder / "file", folder / "name");  // again
  CHECK(read_file(folder / "name") == "first");
  write_file_atomically(folder / "file", "second");
  CHECK(read_file(folder / "name") == "first");

  std::filesystem::create_symlink("file", folder / "link");
  link_or_copy(folder / "link", folder / "name");
  CHECK_FALSE(std::filesystem::is_symlink(folder / "name"));
  CHECK(read_file(folder / "name") == "second");
  CHECK(files_in(folder.path()) == 3);

  std::filesystem::create_directory(folder / "folder");
  write_file_atomically(folder / "folder/full", "");
  CHECK_THROWS_WITH(link_or_copy(folder / "file", folder / "folder"),
                    ContainsSubstring("cannot write ") && ContainsSubstring("folder"));
  CHECK(files_in(folder.path()) == 4);
}

TEST_CASE("where files cannot have two names, they are copied", "[atomic_file]") {
  TemporaryFolder here;
  const char* other_file_system = "/dev/shm";
  if (access(other_file_system, W_OK) != 0) {
    WARN("not tried: " << other_file_system << " cannot be written to");
    return;
  }
  TemporaryFolder there(other_file_system);
  write_file_atomically(here / "file", "first");
  link_or_copy(here / "file", there / "name");
  if (std::filesystem::hard_link_count(here / "file") > 1) WARN("linked, not copied: it is the same file system");
  write_file_atomically(here / "file", "second");
  CHECK(read_file(there / "name") == "first");
  link_or_copy(here / "file", there / "name");
  CHECK(read_file(there / "name") == "second");
  CHECK(files_in(there.path()) == 1);
}
