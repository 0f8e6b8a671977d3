#include "optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "autograd/row_gradient.h"
#include "optim/clip.h"
#include "tests/autograd/values.h"
#include "tests/readme_code.h"
#include "tests/threads.h"

using namespace reel;
using namespace reel::optim;
using namespace reel::tests;

namespace {

struct SignDescent : optim::Optimizer {
  SignDescent(const optim::ParameterGroups& groups, double rate) : Optimizer(groups, rate, {}) {}
  void update(const Slot& slot, double) override {
    const Tensor &x = slot.parameter, g = x.grad();
    copy(x - learning_rate() * g / (abs(g) + 1e-12), x);
  }
};

/// Sets the gradient and makes one step.
void step(Optimizer& optimizer, Tensor parameter, const Values& gradient) {
  parameter.set_grad(tensor(parameter.shape(), gradient, parameter.dtype()));
  optimizer.step();
}

NamedTensors snapshot(const Optimizer& optimizer) {
  NamedTensors copies;
  for (const auto& [name, value] : optimizer.state_dict()) copies.emplace_back(name, clone(value));
  return copies;
}

Tensor random(const Shape& shape, std::uint64_t seed) {
  Generator generator(seed);
  return randn(shape, DType::f32, generator);
}

using Make = std::function<std::unique_ptr<Optimizer>(const ParameterGroups&)>;

/// Every kind that keeps something between steps.
const std::vector<std::pair<const char*, Make>> kinds{
    {"SGD",
     [](const auto& groups) {
       return std::make_unique<SGD>(groups, SGDOptions{0.1, 0.9});
     }},
    {"Adam", [](const auto& groups) { return std::make_unique<Adam>(groups); }},
    {"AdamW", [](const auto& groups) { return std::make_unique<AdamW>(groups); }},
    {"lazy Adam", [](const auto& groups) { return std::make_unique<Adam>(groups, AdamOptions{.lazy = true}); }},
};

/// The tables' rows that a step reads: none, few, with duplicates, all.
std::vector<Ids> steps_of_ids(int64_t rows) {
  Ids all = Ids::arange(rows);
  const auto last = static_cast<std::int32_t>(rows - 1);
  return {Ids({0, 3, 3}), Ids({last, 0, 4, 5, 6, 4}), Ids::zeros({0}), all, Ids({1}), Ids({0, 3}), Ids({2, 1, 2, 2})};
}

/// Gives `table` the gradient of reading these rows, each number weighed by a random one.
void read_rows(const Tensor& table, const Ids& ids, std::uint64_t seed) {
  Tape tape;
  const Tensor rows = embedding(table, ids);
  Generator generator(seed);
  tape.backward(sum(rows * randn(rows.shape(), table.dtype(), generator)));
}

/// The rows `ids` of x, or else all others.
Tensor rows_of(const Tensor& x, const Ids& ids) { return embedding(detach(x), ids); }
Ids rows_but(const Ids& ids, int64_t rows) {
  std::vector<std::int32_t> others;
  for (std::int32_t row = 0; row < rows; ++row) {
    if (std::find(ids.values().begin(), ids.values().end(), row) == ids.values().end()) others.push_back(row);
  }
  return Ids(others);
}

bool same_state(const Optimizer& a, const Optimizer& b) {
  const NamedTensors left = a.state_dict(), right = b.state_dict();
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!same_bits(left[i].second, right[i].second)) return false;
  }
  return left.size() == right.size();
}

}  // namespace

TEST_CASE("what is infinite stays so where nothing decays") {
  std::vector<std::pair<const char*, Make>> all = kinds;
  all.push_back({"plain SGD", [](const auto& groups) { return std::make_unique<SGD>(groups); }});
  for (const auto& [name, make] : all) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      INFO(name << " in " << dtype);
      const Tensor x = tensor({2}, {-infinity, 1}, dtype);
      const auto optimizer = make({x});
      for (int i = 0; i < 3; ++i) step(*optimizer, x, {0, 1});
      CHECK(x.to_vector()[0] == -infinity);
      CHECK(x.to_vector()[1] < 1);
    }
  }
}

TEST_CASE("Adam: a square that is too large by itself, but not the share of it that counts") {
  const Tensor x = ones({4});
  Adam optimizer({x}, {.learning_rate = 0.1});
  step(optimizer, x, {1e18, 2e19, 1e20, 5e20});
  check_close(x.to_vector(), Values(4, 0.9), 1e-6);
}

TEST_CASE("optimizer: plain SGD moves against the gradient") {
  Tensor x = f64({2}, {3, 2});
  SGD sgd({x}, {.learning_rate = 0.1});
  step(sgd, x, {10, -20});
  check_close(x.to_vector(), {2, 4});
  CHECK(sgd.state_dict().size() == 1);  // only the count of steps
}

TEST_CASE("optimizer: one without parameters would train nothing") {
  CHECK_THROWS_WITH(SGD(std::vector<Tensor>{}), ContainsSubstring("there is no parameter to train"));
  CHECK_THROWS_WITH(Adam(decay_matrices_only({}, 0.1)), ContainsSubstring("there is no parameter to train"));
  CHECK_NOTHROW(Adam(decay_matrices_only({f64({1}, {1})}, 0.1)));  // one empty group among others is none
}

TEST_CASE("optimizer: SGD with momentum and decay, by hand") {
  Tensor x = f64({1}, {1});
  SGD sgd({{{x}, 0.5}}, {.learning_rate = 0.1, .momentum = 0.9});
  step(sgd, x, {2});  // g = 2 + 0.5, v = 2.5
  check_close(x.to_vector(), {0.75});
  step(sgd, x, {1});  // g = 1 + 0.375, v = 2.25 + 1.375
  check_close(x.to_vector(), {0.75 - 0.3625});
}

TEST_CASE("optimizer: Adam, two steps by hand") {
  Tensor x = f64({1}, {1});
  Adam adam({x}, {.learning_rate = 0.1, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8});
  step(adam, x, {2});  // m / (1 - 0.9) = 2, v / (1 - 0.99) = 4
  const double first = 1 - 0.1 * 2 / (2 + 1e-8);
  check_close(x.to_vector(), {first});
  step(adam, x, {-1});
  const double m = (0.9 * 0.2 - 0.1) / (1 - 0.81), v = (0.99 * 0.04 + 0.01) / (1 - 0.9801);
  check_close(x.to_vector(), {first - 0.1 * m / (std::sqrt(v) + 1e-8)});
}

TEST_CASE("optimizer: Adam adds decay to the gradient, AdamW shrinks the parameter") {
  Tensor x = f64({1}, {4}), y = f64({1}, {4});
  Adam adam({{{x}, 0.5}}, {.learning_rate = 0.1});
  step(adam, x, {-2});  // the gradient becomes 0
  check_close(x.to_vector(), {4});
  AdamW adamw({{{y}, 0.5}}, {.learning_rate = 0.1});
  step(adamw, y, {-2});
  check_close(y.to_vector(), {4 * (1 - 0.1 * 0.5) + 0.1 * 2 / (2 + 1e-8)});
}

TEST_CASE("optimizer: each group has its own decay") {
  Tensor x = f64({1}, {1}), y = f64({1}, {1});
  SGD sgd({{{x}, 0.5}, {{y}, 0}}, {.learning_rate = 1});
  x.set_grad(f64({1}, {0}));
  y.set_grad(f64({1}, {0}));
  sgd.step();
  check_close(x.to_vector(), {0.5});
  check_close(y.to_vector(), {1});
}

TEST_CASE("optimizer: parameters can be listed") {
  Tensor x = tensor({1}, {1}).set_requires_grad(), y = tensor({1}, {2}).set_requires_grad();
  SGD one({x}), two({x, y}, {.learning_rate = 0.5});
  CHECK(one.state_dict().size() == 1);
  x.set_grad(x);
  y.set_grad(y);
  two.step();
  CHECK(x.item() == 0.5);
  CHECK(y.item() == 1);
}

TEST_CASE("optimizer: decay_matrices_only spares vectors") {
  const Tensor matrix = zeros({2, 2}), vector = zeros({2}), cube = zeros({1, 2, 3}), number = zeros({});
  const auto groups = decay_matrices_only({vector, matrix, number, cube}, 0.1);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].weight_decay == 0.1);
  REQUIRE(groups[0].parameters.size() == 2);
  CHECK(groups[0].parameters[0].same(matrix));
  CHECK(groups[0].parameters[1].same(cube));
  CHECK(groups[1].weight_decay == 0);
  REQUIRE(groups[1].parameters.size() == 2);
  CHECK(groups[1].parameters[0].same(vector));
  CHECK(groups[1].parameters[1].same(number));
}

TEST_CASE("optimizer: a parameter without a gradient is left alone") {
  for (const auto& [name, make] : kinds) {
    INFO(name);
    Tensor x = f64({1}, {1}), y = f64({1}, {1});
    const auto optimizer = make({{{x, y}, 0.5}});
    step(*optimizer, y, {1});
    CHECK(x.to_vector() == Values{1});
    CHECK(y.to_vector() != Values{1});
    CHECK(optimizer->state_dict()[0].first == "0.step");
    CHECK(optimizer->state_dict()[0].second.item() == 0);
  }
}

TEST_CASE("optimizer: zero_grad drops gradients, the learning rate can change") {
  Tensor x = f64({1}, {1});
  SGD sgd({x}, {.learning_rate = 0.1});
  CHECK(sgd.learning_rate() == 0.1);
  sgd.set_learning_rate(0.5);
  step(sgd, x, {1});
  check_close(x.to_vector(), {0.5});
  sgd.zero_grad();
  CHECK_FALSE(x.grad().defined());
  sgd.step();
  check_close(x.to_vector(), {0.5});
}

TEST_CASE("optimizer: goes on from its state bit for bit") {
  for (const auto& [name, make] : kinds) {
    INFO(name);
    const std::vector<Tensor> parameters{random({5, 7}, 1), random({7}, 2)};
    auto take_steps = [](Optimizer& optimizer, const std::vector<Tensor>& xs, std::uint64_t seed) {
      for (std::uint64_t n = 0; n < 3; ++n) {
        for (Tensor x : xs) x.set_grad(random(x.shape(), seed + n));
        optimizer.step();
      }
    };
    const auto optimizer = make({{parameters, 0.1}});
    take_steps(*optimizer, parameters, 10);

    const std::vector<Tensor> others{clone(parameters[0]), clone(parameters[1])};
    const auto resumed = make({{others, 0.1}});
    resumed->load_state_dict(snapshot(*optimizer));
    take_steps(*optimizer, parameters, 20);
    take_steps(*resumed, others, 20);
    for (std::size_t i = 0; i < 2; ++i) CHECK(same_bits(parameters[i], others[i]));
  }
}

TEST_CASE("optimizer: rows of a gradient make the step that the dense gradient makes, bit for bit") {
  const auto plain = [](const auto& groups) { return std::make_unique<SGD>(groups, SGDOptions{.learning_rate = 0.1}); };
  std::vector<std::pair<const char*, Make>> exact(kinds.begin(), kinds.end() - 1);
  exact.emplace_back("plain SGD", plain);
  for (const auto& [name, make] : exact) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const int64_t width : {1, 15, 16, 70}) {
        for (const double decay : {0.0, 0.1}) {
          INFO(name << ", " << dtype << ", width " << width << ", decay " << decay);
          Generator generator(1);
          const Tensor table = randn({40, width}, dtype, generator).set_requires_grad(),
                       twin = clone(table).set_requires_grad();
          const auto optimizer = make({{{table}, decay}}), dense = make({{{twin}, decay}});
          std::uint64_t seed = 0;
          for (const Ids& ids : steps_of_ids(40)) {
            read_rows(table, ids, ++seed);
            read_rows(twin, ids, seed);
            REQUIRE(table.row_grad());
            CHECK(twin.grad().defined());  // now it is dense
            CHECK(twin.row_grad() == nullptr);
            optimizer->step();
            dense->step();
            CHECK(same_bits(table, twin));
            CHECK(same_state(*optimizer, *dense));
            optimizer->zero_grad();
            CHECK_FALSE(table.has_grad());
            dense->zero_grad();
          }
        }
      }
    }
  }
}

TEST_CASE("optimizer: rows of a gradient stay rows, and a large table takes no memory for others") {
  const Tensor table = zeros({50'000, 64}).set_requires_grad();  // 12.8 MB
  for (const auto& [name, make] : kinds) {
    INFO(name);
    const auto optimizer = make({{{table}, 0.1}});
    reset_peak_memory();
    const std::size_t before = memory_stats().current;
    read_rows(table, Ids({7, 40'000, 7}), 1);
    clip_grad_norm({table}, 1e-3);
    optimizer->step();
    CHECK(table.row_grad());
    optimizer->zero_grad();
    CHECK(memory_stats().peak - before < 100'000);
  }
}

TEST_CASE("optimizer: steps of rows have the same bits on any number of threads") {
  for (const auto& [name, make] : kinds) {
    INFO(name);
    std::vector<Tensor> tables;
    for (const int threads : {1, 2, 3}) {
      const WithThreads with(threads);
      const Tensor table = clone(random({3000, 40}, 1)).set_requires_grad();
      const auto optimizer = make({{{table}, 0.1}});
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        Generator generator(seed);
        Ids ids = Ids::zeros({2000});
        for (std::int32_t& id : ids.values()) id = static_cast<std::int32_t>(generator.below(3000));
        read_rows(table, ids, seed);
        clip_grad_norm({table}, 1);
        optimizer->step();
        optimizer->zero_grad();
      }
      tables.push_back(table);
    }
    CHECK(same_bits(tables[1], tables[0]));
    CHECK(same_bits(tables[2], tables[0]));
  }
}

TEST_CASE("optimizer: lazy Adam leaves rows alone that were not read, moments and decay included") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const int64_t width : {1, 15, 16, 70}) {
      INFO(dtype << ", width " << width);
      Generator generator(1);
      const Tensor table = randn({40, width}, dtype, generator).set_requires_grad();
      AdamW lazy({{{table}, 0.1}}, {.learning_rate = 0.1, .lazy = true});
      std::uint64_t seed = 0;
      for (const Ids& ids : steps_of_ids(40)) {
        const Ids others = rows_but(ids, 40);
        const NamedTensors state = snapshot(lazy);
        const Tensor parameter = clone(table);
        read_rows(table, ids, ++seed);
        lazy.step();
        lazy.zero_grad();
        CHECK(lazy.state_dict()[0].second.item() == static_cast<double>(seed));  // steps count for all rows
        CHECK(same_bits(rows_of(table, others), rows_of(parameter, others)));
        for (std::size_t i = 1; i <= 2; ++i) {
          CHECK(same_bits(rows_of(lazy.state_dict()[i].second, others), rows_of(state[i].second, others)));
        }
        for (std::int32_t id : ids.values()) {
          CHECK_FALSE(same_bits(rows_of(table, Ids({id})), rows_of(parameter, Ids({id}))));
        }
      }
    }
  }
}

TEST_CASE("optimizer: lazy Adam agrees with its naive twin") {
  constexpr double rate = 0.1, beta1 = 0.8, beta2 = 0.95, epsilon = 1e-3, decay = 0.3;
  for (const bool decoupled : {false, true}) {
    Generator generator(1);
    const Tensor table = randn({40, 3}, DType::f64, generator).set_requires_grad();
    Values x = table.to_vector(), m(x.size()), v(x.size());
    const AdamOptions options{.learning_rate = rate, .beta1 = beta1, .beta2 = beta2, .epsilon = epsilon, .lazy = true};
    const auto optimizer = decoupled ? std::make_unique<AdamW>(ParameterGroups{{{table}, decay}}, options)
                                     : std::make_unique<Adam>(ParameterGroups{{{table}, decay}}, options);
    int step = 0;
    for (const Ids& ids : steps_of_ids(40)) {
      read_rows(table, ids, static_cast<std::uint64_t>(++step));
      const Ids rows = table.row_grad()->rows;
      const Values gradient = table.row_grad()->values.to_vector();
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        const std::size_t at = static_cast<std::size_t>(rows.values()[i / 3]) * 3 + i % 3;
        const double g = gradient[i] + (decoupled ? 0 : decay * x[at]);
        if (decoupled) x[at] -= rate * decay * x[at];
        m[at] = beta1 * m[at] + (1 - beta1) * g;
        v[at] = beta2 * v[at] + (1 - beta2) * g * g;
        const double m_hat = m[at] / (1 - std::pow(beta1, step)), v_hat = v[at] / (1 - std::pow(beta2, step));
        x[at] -= rate * m_hat / (std::sqrt(v_hat) + epsilon);
      }
      optimizer->step();
      optimizer->zero_grad();
      check_close(table.to_vector(), x);
    }
  }
}

TEST_CASE("optimizer: lazy Adam is Adam where every row is read, or the gradient is dense") {
  for (const bool dense : {false, true}) {
    const Tensor table = random({40, 20}, 1).set_requires_grad(), twin = clone(table).set_requires_grad();
    Adam lazy({{{table}, 0.1}}, {.lazy = true}), exact({{{twin}, 0.1}});
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      for (const Tensor& x : {table, twin}) read_rows(x, dense ? Ids({1, 2}) : Ids::arange(40), seed);
      if (dense) CHECK(table.grad().defined());
      lazy.step();
      exact.step();
      lazy.zero_grad();
      exact.zero_grad();
      CHECK(same_bits(table, twin));
      CHECK(same_state(lazy, exact));
    }
  }
}

TEST_CASE("optimizer: goes on with rows from its state bit for bit, lazy with what exact Adam has kept") {
  for (const auto& [name, make] : kinds) {
    INFO(name);
    const Tensor table = random({40, 20}, 1).set_requires_grad();
    auto take_steps = [](Optimizer& optimizer, const Tensor& x) {
      std::uint64_t seed = 0;
      for (const Ids& ids : steps_of_ids(40)) {
        read_rows(x, ids, ++seed);
        optimizer.step();
        optimizer.zero_grad();
      }
    };
    const auto optimizer = make({{{table}, 0.1}});
    take_steps(*optimizer, table);
    const Tensor other = clone(table).set_requires_grad();
    const auto resumed = make({{{other}, 0.1}});
    resumed->load_state_dict(snapshot(*optimizer));
    take_steps(*optimizer, table);
    take_steps(*resumed, other);
    CHECK(same_bits(table, other));
  }
  const Tensor table = zeros({4, 2}).set_requires_grad();
  Adam exact({table}), lazy({table}, {.lazy = true});
  const NamedTensors kept = exact.state_dict(), wanted = lazy.state_dict();
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK(kept[i].first == wanted[i].first);
  lazy.load_state_dict(kept);
}

TEST_CASE("optimizer: a state of something else throws and changes nothing") {
  const std::vector<Tensor> parameters{zeros({2, 3}), zeros({3})};
  Adam adam(parameters);
  const NamedTensors good = snapshot(adam);
  REQUIRE(good.size() == 6);
  auto refused = [&](NamedTensors state, const std::string& reason) {
    for (auto& [name, value] : state) value = full(value.shape(), 7, value.dtype());
    CHECK_THROWS_WITH(adam.load_state_dict(state), ContainsSubstring(reason));
    for (const auto& [name, value] : adam.state_dict())
      CHECK(value.to_vector() == Values(static_cast<std::size_t>(value.numel()), 0));
  };
  NamedTensors state = good;
  state.pop_back();
  refused(state, "has 5 tensors, this one has 6");
  state = good;
  state.back().second = zeros({4});
  refused(state, "1.exp_avg_sq");
  state = good;
  state[1].first = "0.momentum_buffer";
  refused(state, "lacks 0.exp_avg;");
  refused(snapshot(SGD({{parameters}}, {.momentum = 0.9})), "another optimizer");
}

TEST_CASE("optimizer: a state may have its tensors in any order") {
  const std::vector<Tensor> parameters{zeros({2, 3}), zeros({3})};
  Adam adam(parameters);
  NamedTensors state = snapshot(adam);
  for (std::size_t i = 0; i < state.size(); ++i) {
    state[i].second = full(state[i].second.shape(), static_cast<double>(i), state[i].second.dtype());
  }
  NamedTensors turned(state.rbegin(), state.rend());
  adam.load_state_dict(turned);
  for (std::size_t i = 0; i < state.size(); ++i) {
    CHECK(adam.state_dict()[i].second.to_vector() == state[i].second.to_vector());
  }
}

TEST_CASE("optimizer: a state that no number of steps leads to throws and changes nothing") {
  const std::vector<Tensor> parameters{zeros({2, 3}), zeros({3})};
  for (const auto& [name, make] : kinds) {
    for (double steps : {-1.0, 0.5, std::nan(""), infinity}) {
      CAPTURE(name, steps);
      const auto optimizer = make({{parameters}});
      NamedTensors state = snapshot(*optimizer);
      for (auto& [key, value] : state) value = full(value.shape(), 7, value.dtype());
      const auto last =
          std::find_if(state.begin(), state.end(), [](const auto& entry) { return entry.first == "1.step"; });
      REQUIRE(last != state.end());
      last->second = full({}, steps, DType::f64);
      CHECK_THROWS_WITH(optimizer->load_state_dict(state), ContainsSubstring(text("1.step is ", steps)));
      for (const auto& [key, value] : optimizer->state_dict()) CHECK(sum(abs(value)).item() == 0);
    }
  }
}

TEST_CASE("optimizer: refuses options and parameters that make no sense") {
  const Tensor x = zeros({2, 3});
  CHECK_THROWS_WITH(SGD({x}, {.momentum = 1}), ContainsSubstring("momentum is 1"));
  CHECK_THROWS_WITH(Adam({x}, {.beta1 = -0.1}), ContainsSubstring("beta1 is -0.1"));
  CHECK_THROWS_WITH(AdamW({x}, {.beta2 = 1}), ContainsSubstring("beta2 is 1"));
  CHECK_THROWS_WITH(Adam({x.transpose(0, 1)}), ContainsSubstring("not contiguous"));
  CHECK_THROWS_WITH(Adam({x}, {.epsilon = -1e-8}), ContainsSubstring("epsilon is -1e-08"));
  CHECK_THROWS_WITH(Adam({x}, {.epsilon = std::nan("")}), ContainsSubstring("epsilon is nan"));
  const std::vector<std::pair<double, const char*>> bad{
      {-1, "is -1; "}, {std::nan(""), "is nan; "}, {infinity, "is inf; "}, {-infinity, "is -inf; "}};
  for (const auto& [value, said] : bad) {
    CHECK_THROWS_WITH(SGD({x}, {.learning_rate = value}), ContainsSubstring(text("learning rate ", said)));
    CHECK_THROWS_WITH(AdamW({x}, {.learning_rate = value}), ContainsSubstring(text("learning rate ", said)));
    CHECK_THROWS_WITH(SGD({{{x}, value}}, {}), ContainsSubstring(text("weight decay ", said)));
    CHECK_THROWS_WITH(Adam({{{}, 0}, {{x}, value}}), ContainsSubstring(text("weight decay ", said)));
    SGD sgd({x}, {.learning_rate = 0.5});
    CHECK_THROWS_WITH(sgd.set_learning_rate(value), ContainsSubstring(text("learning rate ", said)));
    CHECK(sgd.learning_rate() == 0.5);
  }
  CHECK_NOTHROW(Adam({{{x}, 0}}, {.learning_rate = 0, .epsilon = 0}));
}

TEST_CASE("optimizer: a parameter that is given twice is refused, equal ones are not") {
  const Tensor x = zeros({2, 3}), y = zeros({2, 3});
  for (const auto& [name, make] : kinds) {
    INFO(name);
    CHECK_THROWS_WITH(make({x, y, x}), ContainsSubstring("(2, 3) is given twice"));
    CHECK_THROWS_WITH(make({{{x}, 0.1}, {{y, x}, 0}}), ContainsSubstring("(2, 3) is given twice"));
    CHECK_NOTHROW(make({{{x}, 0.1}, {{y}, 0}}));
  }
}

TEST_CASE("optimizer: an update of one's own may be written with operations, while the tape lives") {
  const Tensor x = tensor({2}, {1, -2}).set_requires_grad();
  SignDescent optimizer({x}, 0.5);
  Tape tape;
  tape.backward(sum(x * x));
  optimizer.step();
  check_close(x.to_vector(), Values{0.5, -1.5}, 1e-6);
}

TEST_CASE("optimizer: the one of optim/README.md is the one that is tested") {
  CHECK(shows("optim/README.md", "tests/optim/optimizer_test.cpp", "struct SignDescent", "\n};\n"));
}

TEST_CASE("optimizer: an update that throws is no step") {
  struct Refusing : Optimizer {
    explicit Refusing(const std::vector<Tensor>& parameters) : Optimizer(parameters, 0.5, {}) {}
    void update(const Slot&, double step) override { fail("step ", step); }
  };
  Tensor x = tensor({2}, {1, 2}).set_requires_grad();
  x.set_grad(x);
  Refusing optimizer({x});
  for (int i = 0; i < 2; ++i) CHECK_THROWS_WITH(optimizer.step(), "step 1");
  CHECK(optimizer.state_dict()[0].second.item() == 0);
}

TEST_CASE("optimizer: a step between the loss and backward is refused there") {
  Tensor x = tensor({2}, {1, 2}).set_requires_grad();
  x.set_grad(x);
  SGD optimizer({x});
  Tape tape;
  const Tensor loss = sum(x * x);  // its derivative reads x again
  optimizer.step();
  CHECK_THROWS_WITH(tape.backward(loss),
                    ContainsSubstring("backward of mul: it reads numbers (2,) that were written over"));
}
