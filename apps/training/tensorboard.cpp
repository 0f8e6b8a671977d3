#include "apps/training/tensorboard.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "apps/common/atomic_file.h"
#include "apps/training/crc32c.h"
#include "autograd/error.h"

namespace reel::apps {

namespace {

namespace fs = std::filesystem;

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
  return out;
}

// ---- protocol buffers: a field is its number and its wire type in one varint, then the value

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}

std::string field_header(std::uint64_t number, std::uint64_t wire_type) { return varint(number << 3 | wire_type); }

std::string integer_field(std::uint64_t number, int64_t value) {
  return field_header(number, 0) + varint(static_cast<std::uint64_t>(value));
}

std::string double_field(std::uint64_t number, double value) {
  return field_header(number, 1) + little_endian(std::bit_cast<std::uint64_t>(value), 8);
}

std::string bytes_field(std::uint64_t number, std::string_view value) {
  return field_header(number, 2) + varint(value.size()) + std::string(value);
}

std::string float_field(std::uint64_t number, float value) {
  return field_header(number, 5) + little_endian(std::bit_cast<std::uint32_t>(value), 4);
}

std::string event(double wall_time, int64_t step, const std::string& what) {
  return double_field(1, wall_time) + integer_field(2, step) + what;
}

std::string masked_crc(std::string_view bytes) {
  std::uint32_t crc = crc32c(bytes);
  return little_endian(((crc >> 15) | (crc << 17)) + 0xA282EAD8, 4);
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

/// Makes a file of a name that none in the folder has; TensorBoard reads them in the order of their names. O_EXCL: runs
/// that begin at once may all find the same name free.
fs::path new_file(const fs::path& folder, double wall_time) {
  const std::string name = text("events.out.tfevents.", static_cast<int64_t>(wall_time), ".", host_name());
  fs::path path = folder / name;
  for (int i = 1;; ++i) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) {
      close(file);
      return path;
    }
    if (errno != EEXIST) fail("cannot write ", path.string(), ": ", std::strerror(errno));
    path = folder / text(name, ".", i);
  }
}

}  // namespace

std::string version_event(double wall_time) { return double_field(1, wall_time) + bytes_field(3, "brain.Event:2"); }

std::string start_event(double wall_time, int64_t step) {
  return event(wall_time, step, bytes_field(7, integer_field(1, 1)));
}

std::string scalar_event(double wall_time, int64_t step, std::string_view tag, float value) {
  return event(wall_time, step, bytes_field(5, bytes_field(1, bytes_field(1, tag) + float_field(2, value))));
}

std::string tensorboard_record(std::string_view event) {
  std::string length = little_endian(event.size(), 8);
  return length + masked_crc(length) + std::string(event) + masked_crc(event);
}

EventFile::EventFile(const fs::path& folder) {
  ensure_folder(folder);
  double now = seconds_since_1970();
  path_ = new_file(folder, now);
  file_.open(path_, std::ios::binary | std::ios::app);
  write(version_event(now));
}

void EventFile::begin(int64_t step) { write(start_event(seconds_since_1970(), step)); }

void EventFile::add_scalar(std::string_view tag, double value, int64_t step) {
  write(scalar_event(seconds_since_1970(), step, tag, static_cast<float>(value)));
}

void EventFile::write(std::string_view event) {
  file_ << tensorboard_record(event) << std::flush;
  if (!file_) fail("cannot write ", path_.string(), ": ", std::strerror(errno));
}

}  // namespace reel::apps
