#include "autograd/row_gradient.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "autograd/gradcheck.h"
#include "tests/autograd/values.h"
#include "tests/threads.h"

using namespace reel;
using namespace reel::tests;

namespace {

constexpr int64_t vocabulary = 150, width = 5;

Tensor table_of(DType dtype, std::uint64_t seed = 1) {
  return away_from_zero({vocabulary, width}, seed, dtype).set_requires_grad();
}

/// Ids below `bound`, so that a small one makes many duplicates.
Ids some_ids(const Shape& shape, std::uint64_t seed, int64_t bound = vocabulary) {
  Generator generator(seed);
  Ids ids = Ids::zeros(shape);
  for (std::int32_t& id : ids.values()) id = static_cast<std::int32_t>(generator.below(bound));
  return ids;
}

std::vector<Ids> ids_of_all_ranks() {
  return {Ids(Shape{}, {7}),    Ids({149, 0, 63, 64, 63}),  Ids::zeros({0}),        some_ids({40}, 1, 9),
          some_ids({6, 50}, 2), some_ids({2, 3, 4}, 3, 12), Ids::arange(vocabulary)};
}

/// Σ of what embedding reads, each number of it weighed by another.
Tensor weighed(const Tensor& table, const Ids& ids, std::uint64_t seed = 9) {
  const Tensor rows = embedding(table, ids);
  return sum(rows * away_from_zero(rows.shape(), seed, table.dtype()) * 1.0);
}

/// What Tape::gradients, which knows no rows, says of the same loss.
template <class Loss>
Tensor dense_gradient(const Tensor& table, const Loss& loss) {
  Tape tape;
  return tape.gradients(loss(), {table})[0];
}

template <class Loss>
void backward(const Loss& loss) {
  Tape tape;
  tape.backward(loss());
}

/// The rows written out, without a word to the table that has them.
Tensor written_out(const Tensor& table) {
  REQUIRE(table.row_grad());
  Tensor whole = zeros(table.shape(), table.dtype());
  add_in_place(whole, *table.row_grad());
  return whole;
}

void check_rows(const Ids& rows) {
  for (int64_t i = 1; i < rows.numel(); ++i) {
    CHECK(rows.values()[static_cast<std::size_t>(i - 1)] < rows.values()[static_cast<std::size_t>(i)]);
  }
}

}  // namespace

TEST_CASE("row gradient: coalesce is embedding_sum without rows of zeros, bit for bit") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Ids& ids : ids_of_all_ranks()) {
      INFO(dtype << ", ids " << ids.shape());
      Shape shape = ids.shape();
      shape.append(width);
      const Tensor dy = away_from_zero(shape, 4, dtype);
      const RowGradient gradient = coalesce(dy, ids, vocabulary);
      check_rows(gradient.rows);
      CHECK(gradient.values.shape() == Shape{gradient.rows.numel(), width});
      for (std::int32_t id : ids.values()) {
        const auto rows = gradient.rows.values();
        CHECK(std::binary_search(rows.begin(), rows.end(), id));
      }
      Tensor whole = zeros({vocabulary, width}, dtype);
      add_in_place(whole, gradient);
      CHECK(same_bits(whole, embedding_sum(dy, ids, vocabulary)));
    }
  }
}

TEST_CASE("row gradient: by hand") {
  const RowGradient a = coalesce(f64({3, 2}, {1, 2, 30, 40, 500, 600}), Ids({4, 1, 4}), 5);
  CHECK(to_vector(a.rows) == std::vector<std::int32_t>{1, 4});
  CHECK(a.values.to_vector() == Values{30, 40, 501, 602});
  RowGradient sum = a;
  add_in_place(sum, coalesce(f64({2, 2}, {1, 1, 2, 2}), Ids({0, 1}), 5));
  CHECK(to_vector(sum.rows) == std::vector<std::int32_t>{0, 1, 4});
  CHECK(sum.values.to_vector() == Values{1, 1, 32, 42, 501, 602});
  Tensor table = ones({5, 2}, DType::f64);
  add_in_place(table, sum);
  CHECK(table.to_vector() == Values{2, 2, 33, 43, 1, 1, 1, 1, 502, 603});
  CHECK(a.values.to_vector() == Values{30, 40, 501, 602});

  const Tensor values = sum.values;
  add_in_place(sum, a);  // rows that it has already: nothing moves
  CHECK(to_vector(sum.rows) == std::vector<std::int32_t>{0, 1, 4});
  CHECK(sum.values.same(values));
  CHECK(values.to_vector() == Values{1, 1, 62, 82, 1002, 1204});
}

TEST_CASE("row gradient: rows that lie in memory in another way, and a negative zero") {
  const Tensor dy = f64({2, 3}, {1, 2, 3, 4, 5, 6}).transpose(0, 1);
  CHECK(coalesce(dy, Ids({2, 0, 2}), 3).values.to_vector() == Values{2, 5, 4, 10});
  CHECK_FALSE(std::signbit(coalesce(f64({1, 1}, {-0.0}), Ids({0}), 1).values.item()));  // 0 + -0
}

TEST_CASE("row gradient: refuses what does not fit") {
  CHECK_THROWS_WITH(coalesce(ones({2, 3}), Ids({0, 5}), 5),
                    ContainsSubstring("coalesce: the index 5 is outside 0 .. 4"));
  CHECK_THROWS_WITH(coalesce(ones({2, 3}), Ids({-1, 0}), 5), ContainsSubstring("coalesce: the index -1"));
  CHECK_THROWS_WITH(coalesce(ones({2, 3}), Ids({1}), 5), ContainsSubstring("coalesce: dy is (2, 3), ids are (1,)"));
  CHECK_THROWS_AS(coalesce(scalar(1), Ids(Shape{}, {0}), 5), Error);
  CHECK_THROWS_WITH(coalesce(ones({0, 3}), Ids(Shape{0}, {}), -1000),
                    ContainsSubstring("coalesce: a table of -1000 rows"));

  const RowGradient rows{Ids({0, 3}), ones({2, 3})};
  auto refused = [&](Tensor table, const std::string& reason) {
    const std::vector<double> before = table.to_vector();
    CHECK_THROWS_WITH(add_in_place(table, rows), ContainsSubstring("add_in_place: ") && ContainsSubstring(reason));
    CHECK(table.to_vector() == before);
  };
  refused(zeros({4, 200}), "2 rows (2, 3) of f32 for a table of f32; need (rows, 200)");
  refused(zeros({4, 2}), "need (rows, 2)");
  refused(zeros({3, 3}), "the rows 0 to 3 of a table (3, 3)");
  const RowGradient wide{Ids({5}), ones({1, 3})};
  for (const std::vector<std::int32_t>& order :
       std::vector<std::vector<std::int32_t>>{{3, 0}, {500000000, 1}, {2, 2}, {-1, 2}}) {
    const RowGradient wrong{Ids(order), ones({2, 3})};
    Tensor table = zeros({4, 3});
    CHECK_THROWS_WITH(add_in_place(table, wrong), ContainsSubstring("add_in_place: "));
    RowGradient sum = wide;
    CHECK_THROWS_WITH(add_in_place(sum, wrong), ContainsSubstring("need rows from 0 on, ascending, each once"));
    sum = wrong;
    CHECK_THROWS_WITH(add_in_place(sum, wide), ContainsSubstring("need rows from 0 on, ascending, each once"));
  }
  refused(zeros({4, 3}, DType::f64), "of f64");
  refused(zeros({3, 4}).transpose(0, 1), "is not contiguous");
  RowGradient wider{Ids({1}), ones({1, 4})};
  CHECK_THROWS_WITH(add_in_place(wider, rows), ContainsSubstring("add_in_place: ") && ContainsSubstring("(2, 3)"));
  RowGradient of_f64{Ids({1}), ones({1, 3}, DType::f64)};
  CHECK_THROWS_WITH(add_in_place(of_f64, rows), ContainsSubstring("f64"));
  Tensor table = zeros({4, 3});
  CHECK_THROWS_WITH(add_in_place(table, RowGradient{Ids({0, 1, 3}), ones({2, 3})}), ContainsSubstring("3 rows (2, 3)"));
}

TEST_CASE("an embedding's table keeps the rows of its gradient, until somebody asks for all of it") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Ids& ids : ids_of_all_ranks()) {
      INFO(dtype << ", ids " << ids.shape());
      Tensor table = table_of(dtype);
      CHECK_FALSE(table.has_grad());
      CHECK(table.row_grad() == nullptr);
      const auto loss = [&] { return weighed(table, ids); };
      const Tensor expected = dense_gradient(table, loss);
      CHECK_FALSE(table.has_grad());
      backward(loss);
      CHECK(table.has_grad());
      check_rows(table.row_grad()->rows);
      CHECK(same_bits(written_out(table), expected));
      CHECK(table.row_grad() != nullptr);
      CHECK(same_bits(table.grad(), expected));
      CHECK(table.row_grad() == nullptr);
      CHECK(table.has_grad());
      CHECK(table.grad().same(table.grad()));
      table.zero_grad();
      CHECK_FALSE(table.has_grad());
      CHECK_FALSE(table.grad().defined());
    }
  }
}

TEST_CASE("rows of several embeddings of one table, and of several passes, add up") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Tensor table = table_of(dtype), twin = clone(table).set_requires_grad();
    const auto loss = [](const Tensor& t) {
      return weighed(t, some_ids({40}, 1, 9), 2) * 3.0 + weighed(t, some_ids({2, 30}, 2, 50), 3) +
             weighed(t, some_ids({}, 3), 4);
    };
    Tensor expected = dense_gradient(table, [&] { return loss(table); });
    backward([&] { return loss(table); });
    CHECK(same_bits(written_out(table), expected));

    const auto more = [](const Tensor& t) { return weighed(t, some_ids({70}, 5), 6); };
    expected = expected + dense_gradient(table, [&] { return more(table); });
    backward([&] { return more(table); });
    CHECK(same_bits(written_out(table), expected));

    backward([&] { return loss(twin); });
    CHECK(twin.grad().defined());  // asked for between the passes
    backward([&] { return more(twin); });
    CHECK(twin.row_grad() == nullptr);
    CHECK(same_bits(twin.grad(), expected));

    table.zero_grad();
    CHECK(table.row_grad() == nullptr);
    backward([&] { return more(table); });
    CHECK(same_bits(written_out(table), dense_gradient(table, [&] { return more(table); })));
  }
}

TEST_CASE("rows and a dense gradient of one table add up in any order") {
  const Ids first = some_ids({40}, 1, 9), second = some_ids({2, 30}, 2);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = away_from_zero({7, width}, 3, dtype);
    const auto project = [&](const Tensor& t) { return sum(matmul(x, t.transpose(0, 1)) * 0.3); };
    const auto read = [&](const Tensor& t) { return weighed(t, first); };
    const auto read_more = [&](const Tensor& t) { return weighed(t, second); };
    using Loss = std::function<Tensor(const Tensor&)>;
    for (const std::vector<Loss>& losses : std::vector<std::vector<Loss>>{{read, project},
                                                                          {project, read},
                                                                          {read, project, read_more},
                                                                          {project, read, read_more},
                                                                          {read, read_more, project}}) {
      // In one pass: the last one comes first.
      const auto all = [&](const Tensor& t) {
        Tensor loss = losses[0](t);
        for (std::size_t i = 1; i < losses.size(); ++i) loss = loss + losses[i](t);
        return loss;
      };
      const Tensor table = table_of(dtype);
      const Tensor expected = dense_gradient(table, [&] { return all(table); });
      backward([&] { return all(table); });
      CHECK(table.row_grad() == nullptr);
      CHECK(same_bits(table.grad(), expected));

      // And in as many passes.
      const Tensor other = table_of(dtype);
      Tensor total;
      for (const Loss& loss : losses) {
        const Tensor part = dense_gradient(other, [&] { return loss(other); });
        total = total.defined() ? total + part : part;
        backward([&] { return loss(other); });
      }
      CHECK(other.row_grad() == nullptr);
      CHECK(same_bits(other.grad(), total));
    }
  }
}

TEST_CASE("a layer's output tied to its embedding gets both gradients") {
  const Tensor table = table_of(DType::f64);
  const auto loss = [&] {
    const Tensor hidden = tanh(embedding(table, some_ids({3, 4}, 1)));
    return cross_entropy(matmul(hidden, table.transpose(0, 1)), some_ids({3, 4}, 2));
  };
  const Tensor expected = dense_gradient(table, loss);
  backward(loss);
  CHECK(same_bits(table.grad(), expected));
}

TEST_CASE("rows do not write into a gradient that somebody holds") {
  Tensor table = table_of(DType::f64);
  const Tensor mine = ones({vocabulary, width}, DType::f64);
  const auto loss = [&] { return weighed(table, Ids({3, 3})); };
  const Tensor rows = dense_gradient(table, loss);
  table.set_grad(mine);
  backward(loss);
  CHECK(mine.to_vector() == Values(vocabulary * width, 1));
  CHECK(same_bits(table.grad(), mine + rows));

  const Tensor held = table.grad(), before = clone(held);
  backward(loss);
  CHECK(same_bits(held, before));
  CHECK(same_bits(table.grad(), before + rows));

  table.zero_grad();
  backward(loss);
  const Tensor values = table.row_grad()->values, values_before = clone(values);
  backward(loss);
  CHECK(same_bits(values, values_before));
  CHECK(same_bits(table.grad(), rows + rows));

  table.zero_grad();
  backward(loss);
  table.set_grad(mine);  // in place of the rows
  CHECK(table.row_grad() == nullptr);
  CHECK(same_bits(table.grad(), mine));
}

TEST_CASE("a table that is itself a result, or a constant, keeps no rows") {
  const Tensor table = table_of(DType::f64), constant = clone(table);
  const auto loss = [&] {
    return weighed(table * 2.0, some_ids({40}, 1)) + sum(table * embedding(constant, Ids::arange(vocabulary)));
  };
  const Tensor expected = dense_gradient(table, loss);
  backward(loss);
  CHECK(table.row_grad() == nullptr);
  CHECK(same_bits(table.grad(), expected));
  CHECK_FALSE(constant.has_grad());
}

TEST_CASE("an embedding has second derivatives, and a penalty on its first ones trains") {
  const Ids ids({2, 0, 2});
  const auto cube = [&](const std::vector<Tensor>& xs) {
    const Tensor rows = embedding(xs[0], ids);
    return rows * rows * rows;
  };
  CHECK(gradgradcheck(cube, {away_from_zero({4, 3}, 1)}).problem == "");

  const Tensor table = f64({4, 1}, {1, 2, 3, 4}).set_requires_grad();
  Tape tape;
  const Tensor dtable = tape.gradients(sum(cube({table})), {table}, CreateGraph::yes)[0];  // 3 t² n
  CHECK(dtable.to_vector() == Values{3, 0, 54, 0});
  tape.backward(sum(dtable));  // 6 t n
  CHECK(table.grad().to_vector() == Values{6, 0, 36, 0});
}

TEST_CASE("rows of a derivative that do not fit its input are refused") {
  const Tensor table = table_of(DType::f64), vector = ones({5}, DType::f64).set_requires_grad();
  const auto error_of = [](const Tensor& input, const Ids& ids, const Tensor& dy) -> std::string {
    Tape tape;
    try {
      tape.backward(sum(
          record("careless", {input}, clone(input), [&](const Tensor&, Grads& grads) { grads.add_rows(0, ids, dy); })));
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const Ids ids({0, 1});
  CHECK(error_of(table, ids, ones({2, width}, DType::f64)) == "no error");
  CHECK(error_of(table, ids, ones({2, 3}, DType::f64)) ==
        "backward of careless: the rows for input 0 are f64 (2, 3), the input f64 (150, 5)");
  CHECK_THAT(error_of(table, ids, ones({2, width})), ContainsSubstring("are f32 (2, 5), the input f64 (150, 5)"));
  CHECK_THAT(error_of(vector, ids, ones({2, 5}, DType::f64)), ContainsSubstring("the input f64 (5,)"));
  CHECK_THAT(error_of(table, ids, ones({3, width}, DType::f64)), ContainsSubstring("ids are (2,)"));
  CHECK_THAT(error_of(table, Ids({0, 150}), ones({2, width}, DType::f64)), ContainsSubstring("the index 150"));
  CHECK_THAT(error_of(table, ids, {}), ContainsSubstring("backward of careless: an undefined tensor was used"));
}

TEST_CASE("rows have the same bits on any number of threads") {
  const Ids ids = some_ids({3000}, 1, 400), more = some_ids({2000}, 2, 900);
  std::vector<Tensor> gradients;
  for (const int threads : {1, 2, 3}) {
    const WithThreads with(threads);
    const Tensor table = away_from_zero({1000, 96}, 1, DType::f32).set_requires_grad();
    backward([&] { return weighed(table, ids) + weighed(table, more); });
    gradients.push_back(table.row_grad()->values);
  }
  CHECK(same_bits(gradients[1], gradients[0]));
  CHECK(same_bits(gradients[2], gradients[0]));
}

TEST_CASE("the gradient of a large table takes the memory of its rows") {
  const Tensor table = zeros({100'000, 64}).set_requires_grad();  // 25.6 MB
  const Ids ids = some_ids({200}, 1, 100'000);
  reset_peak_memory();
  const std::size_t before = memory_stats().current;
  backward([&] { return weighed(table, ids); });
  CHECK(memory_stats().peak - before < 1'000'000);
  CHECK(memory_stats().current - before < 100'000);
}
