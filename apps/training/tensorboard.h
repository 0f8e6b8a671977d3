#pragma once
// Event files that TensorBoard reads: a sequence of records, each a protocol buffer `Event` with a time, a step and
// named scalars.
//
// The record is TensorFlow's TFRecord: length (8 bytes, little-endian), masked CRC-32C of those, the bytes, masked
// CRC-32C of them. The messages are few and small enough to be encoded by hand:
//
//     Event      { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5;
//                  SessionLog session_log = 7; }
//     Summary    { repeated Value value = 1; }         Value { string tag = 1; float simple_value = 2; }
//     SessionLog { Status status = 1; }                START = 1

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "autograd/shape.h"

namespace reel::apps {

/// The first event of a file. `wall_time` in seconds since 1970, here and below.
std::string version_event(double wall_time);
/// A run begins, perhaps again: TensorBoard forgets what other files of the folder say of `step` and later ones.
std::string start_event(double wall_time, int64_t step);
std::string scalar_event(double wall_time, int64_t step, std::string_view tag, float value);

/// `event` as a record of the file.
std::string tensorboard_record(std::string_view event);

class EventFile {
 public:
  /// Makes the folder and, in it, a new file events.out.tfevents.TIME.HOST.
  explicit EventFile(const std::filesystem::path& folder);

  /// From `step` on, the run is in this file: what other files of the folder say of such steps is forgotten.
  void begin(int64_t step);

  /// Appends one scalar, flushed at once. Throws where it cannot be written.
  void add_scalar(std::string_view tag, double value, int64_t step);

 private:
  void write(std::string_view event);

  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace reel::apps
