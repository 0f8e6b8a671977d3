#include "autograd/row_gradient.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/kernels/gather.h"

namespace reel {
namespace {

/// Numbers below `bound`, each once, which can tell how many of them come before one: a bit for each number below the
/// bound, and a count for every 64 of these. To sort the numbers instead would take longer than to add up their rows.
/// G. Jacobson, "Space-efficient static trees and graphs" (1989).
class RankedSet {
 public:
  RankedSet(int64_t bound, std::initializer_list<Ids> parts) : words_(static_cast<std::size_t>((bound + 63) / 64)) {
    for (const Ids& ids : parts) {
      for (std::int32_t id : ids.values()) words_[static_cast<std::size_t>(id) / 64].bits |= bit_of(id);
    }
    std::vector<std::int32_t> members;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      words_[i].before = static_cast<std::int32_t>(members.size());
      for (std::uint64_t bits = words_[i].bits; bits != 0; bits &= bits - 1) {
        members.push_back(static_cast<std::int32_t>(i) * 64 + std::countr_zero(bits));
      }
    }
    members_ = Ids(std::move(members));
  }

  /// In ascending order.
  const Ids& members() const { return members_; }

  /// Where each id stands among the members.
  Ids ranks(const Ids& ids) const {
    Ids ranks = Ids::zeros(ids.shape());
    std::transform(ids.values().begin(), ids.values().end(), ranks.data(), [this](std::int32_t id) {
      const Word& word = words_[static_cast<std::size_t>(id) / 64];
      return word.before + std::popcount(word.bits & (bit_of(id) - 1));
    });
    return ranks;
  }

 private:
  struct Word {
    std::uint64_t bits = 0;
    std::int32_t before = 0;  // members in earlier words
  };

  static std::uint64_t bit_of(std::int32_t id) { return std::uint64_t{1} << (id % 64); }

  std::vector<Word> words_;
  Ids members_;
};

/// table[places[n], :] += values[n, :]
void add_to_rows(const Tensor& values, const Ids& places, const Tensor& table) {
  with_type(table.dtype(), [&]<class T>(T) {
    kernels::scatter_add_rows(places.numel(), table.size(1), values.data<T>(), places.data(), table.data<T>());
  });
}

}  // namespace

RowGradient coalesce(const Tensor& dy, const Ids& ids, int64_t table_rows) {
  Shape shape = ids.shape();
  shape.append(dy.rank() > 0 ? dy.size(-1) : 0);
  if (dy.shape() != shape) {
    fail("coalesce: dy is ", dy.shape(), ", ids are ", ids.shape(), "; need one row of dy for each id");
  }
  if (table_rows < 0) fail("coalesce: a table of ", table_rows, " rows; need 0 or more");
  check_indices("coalesce", ids, table_rows);
  const RankedSet set(table_rows, {ids});
  // Added to zeros, as the dense gradient is: 0 + -0 is 0.
  RowGradient gradient{set.members(), zeros({set.members().numel(), dy.size(-1)}, dy.dtype())};
  add_to_rows(contiguous_values(dy), set.ranks(ids), gradient.values);
  return gradient;
}

namespace {

constexpr const char* rule_of_rows = "need rows from 0 on, ascending, each once";

/// Throws unless the gradient has values (R, width) of this dtype for its R rows, in order. `whole` is what it is for.
void check_rows(const RowGradient& gradient, int64_t width, DType dtype, const char* whole) {
  const Tensor& values = gradient.values;
  if (values.shape() != Shape{gradient.rows.numel(), width} || values.dtype() != dtype || !values.is_contiguous()) {
    fail("add_in_place: ", gradient.rows.numel(), " rows ", values.shape(), " of ", values.dtype(), " for ", whole,
         " of ", dtype, "; need (rows, ", width, "), contiguous, of that dtype");
  }
  const auto rows = gradient.rows.values();
  const auto wrong = std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>());
  if (wrong != rows.end()) fail("add_in_place: the row ", wrong[1], " follows ", wrong[0], "; ", rule_of_rows);
  if (!rows.empty() && rows.front() < 0) fail("add_in_place: the row ", rows.front(), "; ", rule_of_rows);
}

}  // namespace

void add_in_place(RowGradient& sum, const RowGradient& more) {
  const int64_t width = sum.values.rank() == 2 ? sum.values.size(1) : 0;
  for (const RowGradient* rows : {&std::as_const(sum), &more}) check_rows(*rows, width, sum.values.dtype(), "a sum");
  const auto end_of = [](const Ids& rows) { return rows.numel() == 0 ? 0 : int64_t{rows.values().back()} + 1; };
  const RankedSet set(std::max(end_of(sum.rows), end_of(more.rows)), {sum.rows, more.rows});
  const int64_t count = set.members().numel();
  if (count > sum.rows.numel()) {
    RowGradient wider{set.members(), zeros({count, sum.values.size(1)}, sum.values.dtype())};
    add_to_rows(sum.values, set.ranks(sum.rows), wider.values);
    sum = std::move(wider);
  }
  add_to_rows(more.values, set.ranks(more.rows), sum.values);
}

void add_in_place(const Tensor& dtable, const RowGradient& gradient) {
  if (dtable.rank() != 2 || !dtable.is_contiguous()) {
    fail("add_in_place: the table ", dtable.shape(),
         " is not contiguous or does not have two axes; add into a copy of it");
  }
  check_rows(gradient, dtable.size(1), dtable.dtype(), "a table");
  if (const auto rows = gradient.rows.values(); !rows.empty() && rows.back() >= dtable.size(0)) {
    fail("add_in_place: the rows ", rows.front(), " to ", rows.back(), " of a table ", dtable.shape());
  }
  add_to_rows(gradient.values, gradient.rows, dtable);
  dtable.mark_written();
}

}  // namespace reel
