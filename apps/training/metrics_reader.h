#pragma once
// metrics.csv read back as curves: a run that was resumed, in another process perhaps, reports on all of it.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "apps/report/thinning.h"

namespace reel::apps {

/// For each column but the first, the points (first column, this one), in the order of the rows. Empty cells are left
/// out, and so is a last row that was cut off. Reads what MetricsFile writes; the names as the header has them. Throws
/// where a cell is not a number or a row not as long as the header, naming the file and the line.
std::map<std::string, std::vector<Point>> read_metrics(const std::filesystem::path& path);

}  // namespace reel::apps
