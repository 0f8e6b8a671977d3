#include "apps/training/metrics.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>

#include "apps/common/atomic_file.h"
#include "apps/training/metrics_reader.h"
#include "autograd/error.h"
#include "data/file.h"

namespace reel::apps {

namespace {

namespace fs = std::filesystem;

struct Kept {
  std::string rows;  // and their header
  std::optional<int64_t> last_step;
};

/// The rows of the file at `path` up to a step. Its header must be `header`. The report will read all.
Kept rows_until(const fs::path& path, const std::string& header, int64_t last_step) {
  const std::string content = data::with_line_feeds(data::read_file(path));
  if (!content.starts_with(header)) {
    fail(path.string(), " has other columns than this run; move it away");
  }
  read_metrics(path);  // throws where a row is damaged
  Kept kept{header, {}};
  std::string_view rest = std::string_view(content).substr(header.size());
  for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
    int64_t step = 0;
    auto [after, error] = std::from_chars(rest.data(), rest.data() + end, step);
    if (error != std::errc()) fail(path.string(), " has a row that does not begin with a step: ", rest.substr(0, end));
    if (step > last_step) continue;
    kept.rows.append(rest, 0, end + 1);
    kept.last_step = step;
  }
  return kept;
}

}  // namespace

std::string csv_number(double value) {
  static constexpr double exact = 9007199254740992;  // 2^53: from here on not every whole number is a double
  std::array<char, 32> buffer;
  char* first = buffer.data();
  char* last = first + buffer.size();
  bool whole = std::abs(value) < exact && value == std::trunc(value);
  auto end = whole ? std::to_chars(first, last, static_cast<int64_t>(value)).ptr
                   : std::to_chars(first, last, value, std::chars_format::general, 9).ptr;
  return {first, end};
}

MetricsFile::MetricsFile(fs::path path, std::vector<std::string> columns, std::optional<int64_t> resumed_step)
    : path_(std::move(path)), columns_(std::move(columns)) {
  std::string header = "step";
  for (const std::string& column : columns_) header.append(",").append(column);
  header += "\n";
  const bool goes_on = resumed_step && fs::exists(path_);
  const Kept kept = goes_on ? rows_until(path_, header, *resumed_step) : Kept{header, {}};
  write_file_atomically(path_, kept.rows);
  last_step_ = kept.last_step;
  file_.open(path_, std::ios::app);
  if (!file_) fail("cannot write ", path_.string(), ": ", std::strerror(errno));
}

void MetricsFile::write(int64_t step, std::span<const std::pair<std::string_view, double>> values) {
  std::vector<std::string> cells(columns_.size());
  for (const auto& [name, value] : values) {
    auto column = std::find(columns_.begin(), columns_.end(), name);
    if (column == columns_.end()) fail("metrics: there is no column ", name);
    cells[static_cast<std::size_t>(column - columns_.begin())] = csv_number(value);
  }
  file_ << step;
  for (const std::string& cell : cells) file_ << ',' << cell;
  file_ << std::endl;
  if (!file_) fail("cannot write ", path_.string(), ": ", std::strerror(errno));
}

}  // namespace reel::apps
