#pragma once
// Tables as text files: rows of columns.
//
//   .csv, .CSV   RFC 4180: columns end with a comma; a column in quotes may hold commas, line ends and, doubled, quotes
//   otherwise    columns end with a tab, rows with a line end, and quotes mean nothing
//
// Lines end as read_text says, and nowhere else: real texts hold U+0085 and U+2028 in the middle of a sentence.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace reel::data {

struct TableRow {
  std::int64_t line;  // that it begins on, counted from 1
  std::vector<std::string> columns;
};

/// Leaves out empty lines. Throws as read_text does, if the file has no row, if a row has not as many columns as the
/// first, or if a quote is not closed or followed by anything but a comma or a line end, saying on which line.
std::vector<TableRow> read_table(const std::filesystem::path& path);

}  // namespace reel::data
