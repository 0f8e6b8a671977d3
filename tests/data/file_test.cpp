#include "data/file.h"

#include <fstream>

#include "autograd/error.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using reel::data::read_text;  // read_file stays qualified: the tests have one of their own
using namespace std::string_literals;
namespace fs = std::filesystem;

TEST_CASE("read_file gives the bytes as they are") {
  TemporaryFolder folder;
  for (std::size_t size : {1u, 65535u, 65536u, 65537u, 200000u}) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(i * i % 251);
    CHECK(reel::data::read_file(folder.write("bytes", bytes)) == bytes);
  }
  std::string odd = "\xEF\xBB\xBF\r\n\0\x1A\xFF"s;
  CHECK(reel::data::read_file(folder.write("odd", odd)) == odd);
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
  CHECK(read_text(folder.write("old, and a line of today", "a\rb\rc\n")) == "a\nb\nc\n");
  CHECK(read_text(folder.write("windows, twice", "a\r\r\nb\r\r\n")) == "a\nb\n");
}

TEST_CASE("a lone CR among lines that end with LF ends none") {
  TemporaryFolder folder;
  CHECK(read_text(folder.write("unix", "a\rb\nc\n")) == "a b\nc\n");
  CHECK(read_text(folder.write("mixed", "a\n\rb\r\r\nc\r")) == "a\n b\nc ");
}

TEST_CASE("read_text says where a file is not UTF-8, counted in the file as it lies") {
  TemporaryFolder folder;
  fs::path path = folder.write("latin1.txt", "\xEF\xBB\xBFone\r\ncaf\xE9\r\n");
  const std::string message = path.string() + ": not UTF-8 at byte 11, line 2: a character cut short; ";
  CHECK_THROWS_WITH(read_text(path), message + "save it as UTF-8");
  CHECK_THROWS_WITH(read_text(path, "do something else"), message + "do something else");
}

TEST_CASE("what cannot be read is refused in one line that names the file") {
  TemporaryFolder folder;
  for (std::string (*read)(const fs::path&) : {+[](const fs::path& path) { return reel::data::read_file(path); },
                                               +[](const fs::path& path) { return read_text(path); }}) {
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
  if (!std::ifstream(locked))
    CHECK_THROWS_WITH(reel::data::read_file(locked), ContainsSubstring("locked: cannot be read: Permission denied"));

  // root may open anything; this one opens and then fails to read, on Linux, for everybody
  fs::path memory = "/proc/self/mem";
  if (std::ifstream(memory))
    CHECK_THROWS_WITH(reel::data::read_file(memory), ContainsSubstring("mem: cannot be read: "));
}

TEST_CASE("is_same_file sees through ways of writing a path") {
  TemporaryFolder folder;
  const auto path = folder.write("a.txt", "a");
  folder.write("b.txt", "a");
  CHECK(reel::data::is_same_file(path, folder.path() / "." / "a.txt"));
  CHECK_FALSE(reel::data::is_same_file(path, folder / "b.txt"));
  CHECK_FALSE(reel::data::is_same_file(path, folder / "missing"));
  CHECK_FALSE(reel::data::is_same_file("", ""));
}

TEST_CASE("entries_of lists a folder by name") {
  TemporaryFolder folder;
  for (const char* name : {"b", "a", ".hidden", "c"}) folder.write(name, "x");
  fs::create_directory(folder.path() / "aa");
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : reel::data::entries_of(folder.path())) {
    names.push_back(entry.path().filename().string());
  }
  CHECK(names == std::vector<std::string>{".hidden", "a", "aa", "b", "c"});
  const fs::path file = folder.path() / "a";
  CHECK_THROWS_WITH(reel::data::entries_of(file), file.string() + ": cannot be read: Not a directory");
}
