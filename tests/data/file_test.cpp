#include "data/file.h"

#include <chrono>
#include <fstream>

#include "autograd/error.h"
#include "tests/catch.h"

using namespace reel::data;
using namespace std::string_literals;
namespace fs = std::filesystem;

namespace {

/// A folder that goes away with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    path_ = fs::temp_directory_path() / ("reel_file_test_" + std::to_string(now));
    fs::create_directory(path_);
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const fs::path& path() const { return path_; }
  fs::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }

 private:
  fs::path path_;
};

}  // namespace

TEST_CASE("read_file gives the bytes as they are") {
  TemporaryFolder folder;
  for (std::size_t size : {1u, 65535u, 65536u, 65537u, 200000u}) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(i * i % 251);
    CHECK(read_file(folder.write("bytes", bytes)) == bytes);
  }
  std::string odd = "\xEF\xBB\xBF\r\n\0\x1A\xFF"s;
  CHECK(read_file(folder.write("odd", odd)) == odd);
}

TEST_CASE("read_text drops the byte-order mark at the start alone") {
  TemporaryFolder folder;
  CHECK(read_text(folder.write("a", "\xEF\xBB\xBFἀρχή")) == "ἀρχή");
  CHECK(read_text(folder.write("b", "x\xEF\xBB\xBFy")) == "x\xEF\xBB\xBFy");
  CHECK(read_text(folder.write("c", "\xEF\xBB\xBF\xEF\xBB\xBFx")) == "\xEF\xBB\xBFx");
}

TEST_CASE("read_text ends every line with LF") {
  TemporaryFolder folder;
  CHECK(read_text(folder.write("windows", "a\r\nb\r\n\r\nc\r\n")) == "a\nb\n\nc\n");
  CHECK(read_text(folder.write("unix", "a\nb\n\nc")) == "a\nb\n\nc");
  CHECK(read_text(folder.write("old mac", "a\rb\r\rc\r")) == "a\nb\n\nc\n");
  CHECK(read_text(folder.write("mixed", "a\n\rb\r\r\nc")) == "a\n\nb\n\nc");
}

TEST_CASE("read_text says where a file is not UTF-8, counted in the file as it lies") {
  TemporaryFolder folder;
  fs::path path = folder.write("latin1.txt", "\xEF\xBB\xBFone\r\ncaf\xE9\r\n");
  CHECK_THROWS_WITH(read_text(path), ContainsSubstring(path.string() + ": not UTF-8 at byte 11, line 2"));
}

TEST_CASE("what cannot be read is refused in one line that names the file") {
  TemporaryFolder folder;
  for (auto read : {read_file, read_text}) {
    fs::path missing = folder.path() / "missing.txt";
    CHECK_THROWS_WITH(read(missing), missing.string() + ": there is no such file");
    CHECK_THROWS_WITH(read(folder.write("a", "x") / "below"), ContainsSubstring("there is no such file"));
    CHECK_THROWS_WITH(read(folder.path()), ContainsSubstring(folder.path().string() + ": is a folder"));
    CHECK_THROWS_WITH(read(folder.write("empty", "")), ContainsSubstring("is empty"));
  }
  CHECK_THROWS_WITH(read_text(folder.write("mark", "\xEF\xBB\xBF")), ContainsSubstring("byte-order mark"));
}

TEST_CASE("an unreadable file is refused with the system's reason") {
  TemporaryFolder folder;
  fs::path locked = folder.write("locked", "x");
  fs::permissions(locked, fs::perms::none);
  if (!std::ifstream(locked)) CHECK_THROWS_WITH(read_file(locked), ContainsSubstring("locked: cannot be read: "));

  // root may open anything; this one opens and then fails to read, on Linux, for everybody
  fs::path memory = "/proc/self/mem";
  if (std::ifstream(memory)) CHECK_THROWS_WITH(read_file(memory), ContainsSubstring("mem: cannot be read: "));
}
