#pragma once
// What the tour's steps are printed with: numbers, tables, and tables beside each other.
//
// A step writes its words as they stand, two columns from the left; what it computes stands six columns from the left.

#include <iosfwd>
#include <string>
#include <vector>

#include "autograd/tensor.h"

namespace reel::apps {

using Words = std::vector<std::string>;
using Lines = std::vector<std::string>;

/// (0.84, -1.20): all elements in row-major order.
std::string list(const Tensor& x, int decimals = 4);

/// Rows of cells as lines, each column as wide as its widest cell and two more. The first `left` columns are aligned to
/// the left, the others to the right.
Lines align(const std::vector<Words>& rows, std::size_t left);

/// A matrix under the names of its columns, each row after its own name.
Lines table(const Tensor& matrix, const Words& rows, const Words& columns, int decimals = 4);

/// [0], [1], ...: names for rows or columns that have no other.
Words indices(int64_t count);

Lines titled(const std::string& title, Lines lines);

/// Side by side, the tops aligned.
Lines beside(const std::vector<Lines>& blocks);

/// Writes the lines six columns from the left, after an empty one.
void print(std::ostream& out, const Lines& lines);

/// What an expression comes to, step by step: a row of a table for each, with the shape of its value.
class Shapes {
 public:
  /// Adds the row, and returns `value`.
  Tensor show(const std::string& expression, const Tensor& value, const std::string& meaning);
  Lines table() const { return align(rows_, 3); }

 private:
  std::vector<Words> rows_;
};

/// How far apart two ways to compute the same are, at most: one line to print().
Lines difference(const Tensor& a, const Tensor& b);

}  // namespace reel::apps
