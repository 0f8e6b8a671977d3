#include "apps/tour/page.h"

#include <algorithm>
#include <ostream>

#include "apps/common/numbers.h"
#include "apps/common/terminal.h"
#include "autograd/error.h"
#include "autograd/ops.h"

namespace reel::apps {
namespace {

std::string spaces(int count) { return std::string(static_cast<std::size_t>(std::max(count, 0)), ' '); }

}  // namespace

std::string list(const Tensor& x, int decimals) {
  std::string out;
  for (const double value : x.to_vector()) out += (out.empty() ? "(" : ", ") + fixed(value, decimals);
  return out + ")";
}

Lines align(const std::vector<Words>& rows, std::size_t left) {
  std::vector<int> widths;
  for (const Words& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  Lines lines;
  for (const Words& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding = spaces(widths[i] - display_width(row[i]));
      line += (i > 0 ? "  " : "") + (i < left ? row[i] + padding : padding + row[i]);
    }
    lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  return lines;
}

Lines table(const Tensor& matrix, const Words& rows, const Words& columns, int decimals) {
  std::vector<Words> cells{{""}};
  cells[0].insert(cells[0].end(), columns.begin(), columns.end());
  for (int64_t i = 0; i < matrix.size(0); ++i) {
    Words row{rows[static_cast<std::size_t>(i)]};
    for (const double value : matrix.select(0, i).to_vector()) row.push_back(fixed(value, decimals));
    cells.push_back(row);
  }
  return align(cells, 1);
}

Words indices(int64_t count) {
  Words names;
  for (int64_t i = 0; i < count; ++i) names.push_back(text("[", i, "]"));
  return names;
}

Lines titled(const std::string& title, Lines lines) {
  lines.insert(lines.begin(), title);
  return lines;
}

Lines beside(const std::vector<Lines>& blocks) {
  Lines lines;
  int column = 0;  // where the next block begins
  for (const Lines& block : blocks) {
    lines.resize(std::max(lines.size(), block.size()));
    int end = column;
    for (std::size_t i = 0; i < block.size(); ++i) {
      lines[i] += spaces(column - display_width(lines[i])) + block[i];
      end = std::max(end, display_width(lines[i]));
    }
    column = end + 6;
  }
  return lines;
}

void print(std::ostream& out, const Lines& lines) {
  out << '\n';
  for (const std::string& line : lines) out << (line.empty() ? "" : spaces(6)) << line << '\n';
}

Tensor Shapes::show(const std::string& expression, const Tensor& value, const std::string& meaning) {
  rows_.push_back({expression, text(value.shape()), meaning});
  return value;
}

Lines difference(const Tensor& a, const Tensor& b) {
  return {"largest difference between the two: " + fixed(max(reshape(abs(a - b), {-1}), 0).values.item(), 10)};
}

}  // namespace reel::apps
