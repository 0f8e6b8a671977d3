#pragma once
// metrics.csv: the numbers of a training run, one row per step, for spreadsheets, pandas, cut and awk. The first column
// is the step. Commas separate, and nothing is quoted.

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/shape.h"

namespace reel::apps {

class MetricsFile {
 public:
  /// Starts the file anew with a header: "step", then `columns`, in whose names there is no comma. With `resumed_step`,
  /// goes on in the file that is there, after dropping the rows of later steps and a last row that was cut off: the run
  /// writes those again. Throws where that file has other columns or a row is damaged.
  MetricsFile(std::filesystem::path path, std::vector<std::string> columns,
              std::optional<int64_t> resumed_step = std::nullopt);

  /// The step of the last row that was kept; none in a new file.
  std::optional<int64_t> last_step() const { return last_step_; }

  /// Appends a row, flushed at once. A column that is not named stays empty. Throws at a name that is no column, and
  /// where the row cannot be written.
  void write(int64_t step, std::span<const std::pair<std::string_view, double>> values);
  void write(int64_t step, std::initializer_list<std::pair<std::string_view, double>> values) {
    write(step, std::span(values.begin(), values.size()));
  }

 private:
  std::filesystem::path path_;
  std::vector<std::string> columns_;
  std::optional<int64_t> last_step_;
  std::ofstream file_;
};

/// Whole numbers in full, others with nine significant digits: all that a float has.
std::string csv_number(double value);

}  // namespace reel::apps
