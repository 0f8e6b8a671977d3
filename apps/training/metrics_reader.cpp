#include "apps/training/metrics_reader.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>

#include "autograd/error.h"
#include "data/pieces.h"

namespace reel::apps {

std::map<std::string, std::vector<Point>> read_metrics(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("cannot read ", path.string(), ": ", std::strerror(errno));
  std::string line;
  auto next_line = [&] {
    const bool is_whole = std::getline(file, line) && !file.eof();
    if (line.ends_with('\r')) line.pop_back();  // of a program that has opened and saved the file
    return is_whole;
  };
  next_line();
  const std::string header = line;
  const std::vector<std::string_view> names = data::split_at(header, ",");

  std::vector<std::vector<Point>> curves(names.size());
  for (std::int64_t number = 2; next_line(); ++number) {
    const std::vector<std::string_view> cells = data::split_at(line, ",");
    auto parse = [&](std::string_view cell) {
      double value = 0;
      const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
      if (error != std::errc() || end != cell.data() + cell.size()) {
        fail(path.string(), ", line ", number, ": not a number: \"", cell, "\"");
      }
      return value;
    };
    if (cells.size() != names.size()) {
      fail(path.string(), ", line ", number, ": ", cells.size(), " cells; the header has ", names.size());
    }
    const double x = parse(cells[0]);
    for (std::size_t i = 1; i < cells.size(); ++i) {
      if (!cells[i].empty()) curves[i].push_back({x, parse(cells[i])});
    }
  }

  std::map<std::string, std::vector<Point>> out;
  for (std::size_t i = 1; i < names.size(); ++i) out.emplace(names[i], std::move(curves[i]));
  return out;
}

}  // namespace reel::apps
