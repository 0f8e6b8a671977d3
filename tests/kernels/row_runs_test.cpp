#include "autograd/kernels/row_runs.h"

#include <mutex>

#include "tests/kernels/twins.h"
#include "tests/threads.h"

using namespace reel::kernels;
using namespace reel::kernels::tests;

namespace {

using Rows = std::vector<std::int32_t>;

struct Run {
  int64_t start, n;
  const float* values;
};

/// Calls walk(body) and returns the runs that it visits, in order of their start.
template <class Walk>
std::vector<Run> runs_of(const Walk& walk) {
  std::vector<Run> runs;
  std::mutex mutex;
  walk([&](int64_t start, int64_t n, const float* values) {
    std::lock_guard lock(mutex);
    runs.push_back({start, n, values});
  });
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.start < b.start; });
  return runs;
}

/// For each number of a table, where the walk says that its value is; null for none, and `values` - 1 where it does not
/// come by. No number is visited twice.
std::vector<const float*> met(const std::vector<Run>& runs, int64_t count, const float* values) {
  std::vector<const float*> met(static_cast<std::size_t>(count), values - 1);
  int64_t end = 0;
  for (const Run& run : runs) {
    CHECK(run.start >= end);
    end = run.start + run.n;
    for (int64_t i = 0; i < run.n; ++i) at(met, run.start + i) = run.values ? run.values + i : nullptr;
  }
  return met;
}

Rows some_rows(int64_t rows, unsigned modulus) {
  std::mt19937 random(7);
  Rows some;
  for (std::int32_t row = 0; row < rows; ++row) {
    if (random() % modulus == 0) some.push_back(row);
  }
  return some;
}

}  // namespace

TEST_CASE("row runs: every number of a table meets its value, on any number of threads", "[row_runs]") {
  for (const int64_t rows : {0, 1, 2, 65, 3000}) {
    for (const int64_t width : {0, 1, 16, 70, 20000}) {
      if (rows * width > 300'000) continue;
      for (const Rows& touched : {Rows{}, some_rows(rows, 1), some_rows(rows, 2), some_rows(rows, 20)}) {
        INFO(touched.size() << " of " << rows << " rows, " << width << " wide");
        const std::vector<float> values(touched.size() * static_cast<std::size_t>(width) + 2);
        const float* first = values.data() + 1;
        std::vector<const float*> want(static_cast<std::size_t>(rows * width)), want_touched(want.size(), first - 1);
        for (std::size_t i = 0; i < touched.size(); ++i) {
          for (int64_t j = 0; j < width; ++j) {
            const auto place = static_cast<std::size_t>(touched[i] * width + j);
            want[place] = want_touched[place] = first + static_cast<int64_t>(i) * width + j;
          }
        }
        const TouchedRows<float> rows_of{touched, first, width};
        for (int count : {1, 2, 3}) {
          const reel::tests::WithThreads with(count);
          const auto all = runs_of([&](const auto& body) { for_each_run(rows, rows_of, body); });
          CHECK(met(all, rows * width, first) == want);
          const auto some = runs_of([&](const auto& body) { for_each_touched_run(rows_of, body); });
          CHECK(met(some, rows * width, first) == want_touched);
        }
      }
    }
  }
}

TEST_CASE("row runs: adjacent rows are one run", "[row_runs]") {
  const Rows touched{0, 1, 4, 7, 8, 9};
  const std::vector<float> values(12);
  const TouchedRows<float> rows{touched, values.data(), 2};
  const auto lengths_of = [](const std::vector<Run>& runs) {
    std::vector<int64_t> lengths;
    for (const Run& run : runs) lengths.push_back(run.n);
    return lengths;
  };
  CHECK(lengths_of(runs_of([&](const auto& body) { for_each_run(12, rows, body); })) ==
        std::vector<int64_t>{4, 4, 2, 4, 6, 4});
  CHECK(lengths_of(runs_of([&](const auto& body) { for_each_touched_run(rows, body); })) ==
        std::vector<int64_t>{4, 2, 6});
}
