#pragma once
// What a README shows as code, to compare with what is tested.

#include <string>
#include <string_view>

#include "data/file.h"
#include "data/pieces.h"
#include "tests/catch.h"

namespace reel::tests {

/// The part of `file`, a path in the project, from `begin` to `end`, the latter included.
inline std::string part_of(const std::string& file, const std::string& begin, const std::string& end) {
  const std::string whole = data::read_file(std::string(REEL_SOURCE_DIR) + "/" + file);
  const std::size_t from = whole.find(begin), to = whole.find(end, from);
  REQUIRE(to != std::string::npos);
  return whole.substr(from, to + end.size() - from);
}

/// Whether a README shows, indented, what stands in `test` between these two.
inline bool shows(const std::string& readme, const std::string& test, const std::string& begin,
                  const std::string& end) {
  const std::string code = part_of(test, begin, end);
  std::string indented;
  for (const std::string_view line : data::split_at(code, "\n")) {
    indented.append(line.empty() ? "" : "    ").append(line).append("\n");
  }
  indented.pop_back();
  return data::read_file(std::string(REEL_SOURCE_DIR) + "/" + readme).find(indented) != std::string::npos;
}

}  // namespace reel::tests
