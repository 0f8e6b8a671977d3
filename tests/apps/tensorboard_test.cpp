#include "apps/training/tensorboard.h"

#include <barrier>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "apps/training/crc32c.h"
#include "autograd/error.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace reel::apps;

namespace {

std::string hex(std::string_view bytes) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (char c : bytes) {
    auto byte = static_cast<unsigned char>(c);
    out.push_back(digits[byte >> 4]);
    out.push_back(digits[byte & 15]);
  }
  return out;
}

std::uint64_t integer(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// The events of a file whose every length and checksum is right.
std::vector<std::string> events_in(const std::filesystem::path& path) {
  auto masked = [](std::string_view bytes) {
    std::uint32_t crc = crc32c(bytes);
    return static_cast<std::uint32_t>(((crc >> 15) | (crc << 17)) + 0xA282EAD8);
  };
  std::vector<std::string> events;
  std::string content = read_file(path);
  for (std::string_view rest = content; !rest.empty();) {
    REQUIRE(rest.size() >= 16);
    std::size_t size = integer(rest.substr(0, 8));
    REQUIRE(rest.size() >= 16 + size);
    REQUIRE(integer(rest.substr(8, 4)) == masked(rest.substr(0, 8)));
    REQUIRE(integer(rest.substr(12 + size, 4)) == masked(rest.substr(12, size)));
    events.emplace_back(rest.substr(12, size));
    rest.remove_prefix(16 + size);
  }
  return events;
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

}  // namespace

TEST_CASE("an event is encoded field by field", "[tensorboard]") {
  CHECK(hex(scalar_event(1.5, 300, "a", 2.5f)) ==
        "09"
        "000000000000f83f"  // field 1, eight bytes: wall_time = 1.5
        "10"
        "ac02"  // field 2, varint: step = 300
        "2a"
        "0a"  // field 5, ten bytes: summary
        "0a"
        "08"  //   field 1, eight bytes: value
        "0a"
        "01"
        "61"  //     field 1, one byte: tag = "a"
        "15"
        "00002040");  //     field 2, four bytes: simple_value = 2.5
  CHECK(hex(scalar_event(0, -1, "", 0)).find("10ffffffffffffffffff01") != std::string::npos);  // a step below 0
}

// The bytes that TensorBoard 2.21 itself writes for these events.
TEST_CASE("records are those of TensorBoard, byte for byte", "[tensorboard]") {
  CHECK(hex(tensorboard_record(version_event(1.5))) ==
        "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c");
  CHECK(hex(tensorboard_record(scalar_event(1700000000.25, 300, "train/loss", 2.5f))) ==
        "2100000000000000017becf60900001040fc54d94110ac022a130a110a0a747261696e2f6c6f737315000020408dabcc7d");
  CHECK(hex(tensorboard_record(start_event(2, 7))) == "0f000000000000006d532b0909000000000000004010073a020801d1715dcb");
}

TEST_CASE("an event file holds what was added, and each scalar at once", "[tensorboard]") {
  TemporaryFolder folder;
  EventFile file(folder / "runs/a");
  auto files = files_in(folder / "runs/a");
  REQUIRE(files.size() == 1);
  CHECK(files[0].filename().string().starts_with("events.out.tfevents."));
  std::vector<std::string> events = events_in(files[0]);
  REQUIRE(events.size() == 1);
  CHECK_THAT(events[0], ContainsSubstring("brain.Event:2"));

  file.begin(12);
  file.add_scalar("train/loss", 2.5, 12);
  file.add_scalar("train/loss", std::nan(""), 13);
  file.add_scalar(std::string(1000, 't'), -std::numeric_limits<double>::infinity(), 1'000'000'000'000);
  events = events_in(files[0]);
  REQUIRE(events.size() == 5);
  CHECK(events[1].substr(9) == start_event(0, 12).substr(9));  // but for the time
  CHECK(events[2].substr(9) == scalar_event(0, 12, "train/loss", 2.5f).substr(9));
}

TEST_CASE("two event files of one second do not overwrite each other", "[tensorboard]") {
  TemporaryFolder folder;
  EventFile first(folder.path()), second(folder.path()), third(folder.path());
  first.add_scalar("a", 1, 1);
  CHECK(files_in(folder.path()).size() == 3);
}

TEST_CASE("event files that are begun at once are files of their own", "[tensorboard]") {
  TemporaryFolder folder;
  constexpr int runs = 4, rounds = 50;
  std::barrier together(runs);
  std::vector<std::thread> threads;
  for (int i = 0; i < runs; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < rounds; ++round) {
        together.arrive_and_wait();
        EventFile(folder.path()).add_scalar("a", 1, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto files = files_in(folder.path());
  CHECK(files.size() == runs * rounds);
  for (const auto& file : files) CHECK(events_in(file).size() == 2);
}

TEST_CASE("an event file that cannot be written is an error", "[tensorboard]") {
  TemporaryFolder folder;
  write_file(folder / "file", "");
  CHECK_THROWS_WITH(EventFile(folder / "file"), ContainsSubstring("Not a directory"));
}
