#include "data/table.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "autograd/error.h"
#include "data/file.h"

namespace reel::data {
namespace {

/// Takes a table apart, one column after another.
class Reader {
 public:
  Reader(std::string_view text, std::string source, bool csv) : rest_(text), source_(std::move(source)), csv_(csv) {}

  bool at_end() const { return rest_.empty(); }

  TableRow row() {
    TableRow row{line_, {}};
    do row.columns.push_back(csv_ && rest_.starts_with('"') ? quoted() : plain());
    while (take(csv_ ? ',' : '\t'));
    if (take('\n')) ++line_;
    return row;
  }

 private:
  bool take(char expected) {
    bool found = rest_.starts_with(expected);
    if (found) rest_.remove_prefix(1);
    return found;
  }

  std::string plain() {
    const char separator = csv_ ? ',' : '\t';
    auto end = std::find_if(rest_.begin(), rest_.end(), [separator](char c) { return c == separator || c == '\n'; });
    std::string column(rest_.begin(), end);
    rest_.remove_prefix(column.size());
    return column;
  }

  std::string quoted() {
    std::int64_t first_line = line_;
    std::string column;
    take('"');
    for (bool closed = false; !closed;) {
      std::size_t size = rest_.find('"');
      if (size == rest_.npos) fail(source_, ", line ", first_line, ": a quote is opened and never closed");
      column += rest_.substr(0, size);
      rest_.remove_prefix(size + 1);
      closed = !take('"');
      if (!closed) column += '"';  // two of them stand for one
    }
    line_ += std::count(column.begin(), column.end(), '\n');
    if (!rest_.empty() && rest_[0] != ',' && rest_[0] != '\n') {
      fail(source_, ", line ", line_, ": text follows a closing quote; need a comma or the end of the line, ",
           "and quotes within quotes doubled");
    }
    return column;
  }

  std::string_view rest_;
  std::string source_;
  bool csv_;
  std::int64_t line_ = 1;
};

}  // namespace

std::vector<TableRow> read_table(const std::filesystem::path& path) {
  std::string text = read_text(path);
  std::vector<TableRow> rows;
  for (Reader reader(text, path.string(), has_extension(path, ".csv")); !reader.at_end();) {
    TableRow row = reader.row();
    if (row.columns.size() == 1 && row.columns[0].empty()) continue;
    if (!rows.empty() && row.columns.size() != rows[0].columns.size()) {
      fail(path.string(), ", line ", row.line, ": ", row.columns.size(), " columns; need ", rows[0].columns.size(),
           ", as on line ", rows[0].line);
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) fail(path.string(), ": has no rows");
  return rows;
}

}  // namespace reel::data
