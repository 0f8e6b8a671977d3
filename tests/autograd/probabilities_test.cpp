#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::tests;

namespace {

/// The composed form, which is the oracle of the fused ones; for inputs that do not overflow.
Tensor composed_softmax(const Tensor& x, int axis) { return exp(x) / sum(exp(x), {axis}, KeepDim::yes); }

double loss_of(const Tensor& logits, const Ids& targets, const LossOptions& options = {}) {
  return cross_entropy(logits, targets, options).item();
}

}  // namespace

TEST_CASE("softmax and log_softmax agree with their composed form along every axis") {
  const Tensor x = away_from_zero({3, 5, 4}, 1);
  for (const int axis : {0, 1, 2, -1, -2}) {
    check_close(softmax(x, axis), composed_softmax(x, axis));
    check_close(log_softmax(x, axis), log(composed_softmax(x, axis)));
    check_close(softmax(x.transpose(0, 2), axis), composed_softmax(x.transpose(0, 2), axis));
    const auto with = [axis](auto function) { return [=](const Tensor& v) { return function(v, axis) * sin(v); }; };
    const Values fused = gradient_of(with(softmax), x), composed = gradient_of(with(composed_softmax), x);
    for (std::size_t i = 0; i < fused.size(); ++i) CHECK(fused[i] == Approx(composed[i]).margin(1e-12));
  }
}

TEST_CASE("softmax of large, single and missing numbers") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor large = tensor({2, 3}, {1e4, 1e4, -1e4, -1e4, -1e4, -1e4 - 1e3}, dtype);
    CHECK(softmax(large, 1).to_vector() == Values{0.5, 0.5, 0, 0.5, 0.5, 0});
    check_close(log_softmax(large, 1).slice(1, 0, 2), full({2, 2}, -std::log(2), dtype), 1e-7);
    CHECK(log_softmax(large, 1).to_vector()[2] == Approx(-2e4 - std::log(2)).epsilon(1e-7));
    CHECK(softmax(ones({4, 1}, dtype), 1).to_vector() == Values(4, 1));
    CHECK(log_softmax(ones({4, 1}, dtype), 1).to_vector() == Values(4, 0));
    CHECK(softmax(scalar(3, dtype).view({1}), 0).item() == 1);
    CHECK(softmax(zeros({0, 3}, dtype), 1).shape() == Shape{0, 3});
    CHECK(softmax(zeros({3, 0}, dtype), 1).shape() == Shape{3, 0});
    CHECK(log_softmax(zeros({3, 0, 2}, dtype), 0).shape() == Shape{3, 0, 2});
  }
  CHECK_THROWS_WITH(softmax(ones({2}), 1), ContainsSubstring("softmax: there is no axis 1"));
  CHECK_THROWS_WITH(log_softmax(scalar(1), 0), ContainsSubstring("log_softmax: there is no axis 0"));
}

TEST_CASE("rows add up to one at every length") {
  for (int64_t n = 1; n < 70; ++n) {
    const Tensor y = softmax(away_from_zero({3, n}, 5, DType::f32), 1);
    for (const double total : sum(y, {1}).to_vector()) CHECK(total == Approx(1).epsilon(1e-6));
  }
}

TEST_CASE("masked places get nothing, and a fully masked row is zero with zero gradients") {
  const Tensor x = f64({3, 3}, {1, 2, -infinity, -infinity, -infinity, -infinity, -infinity, 5, -infinity});
  const Tensor y = softmax(x, 1);
  check_close(y, f64({3, 3}, {1 / (1 + std::exp(1.0)), 1 / (1 + std::exp(-1.0)), 0, 0, 0, 0, 0, 1, 0}));
  const auto weighed = [](const Tensor& v) { return softmax(v, 1) * f64({3}, {1, 2, 3}); };
  const Values dx = gradient_of(weighed, x);
  CHECK(dx[0] == Approx(-dx[1]));
  CHECK(dx[0] != 0);
  for (const std::size_t i : {2u, 3u, 4u, 5u, 6u, 7u, 8u}) CHECK(dx[i] == 0);

  // Second derivatives stay finite as well.
  const Tensor leaf = clone(x).set_requires_grad();
  Tape tape;
  const Tensor z = softmax(leaf, 1);
  const Tensor first = tape.gradients(sum(z * z), {leaf}, CreateGraph::yes)[0];
  CHECK(all_finite(tape.gradients(sum(first * first), {leaf})[0]));
}

TEST_CASE("NaN in a row stays in the row") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const int64_t place : {0, 1, 18}) {
      Tensor x = zeros({3, 19}, dtype);
      copy(full({1}, not_a_number), x.select(0, 1).slice(0, place, place + 1));
      const Tensor y = softmax(x, 1), logs = log_softmax(x, 1);
      CHECK(same_values(y.select(0, 1).to_vector(), Values(19, not_a_number)));
      CHECK(same_values(logs.select(0, 1).to_vector(), Values(19, not_a_number)));
      CHECK(all_finite(y.select(0, 0)));
      CHECK(all_finite(y.select(0, 2)));
    }
    CHECK(same_values(softmax(full({5}, not_a_number, dtype), 0).to_vector(), Values(5, not_a_number)));
    const Tensor hidden = tensor({1, 3}, {-infinity, not_a_number, -infinity}, dtype).set_requires_grad();
    CHECK(same_values(softmax(hidden, 1).to_vector(), Values(3, not_a_number)));
    CHECK(same_values(log_softmax(hidden, 1).to_vector(), Values(3, not_a_number)));
    Tape tape;
    tape.backward(cross_entropy(hidden, Ids({0})));
    CHECK(same_values(hidden.grad().to_vector(), Values(3, not_a_number)));
  }
}

TEST_CASE("cross_entropy is the mean over counted targets") {
  const Tensor logits = away_from_zero({4, 3}, 1), rows = log_softmax(logits, 1);
  const Values y = rows.to_vector();
  CHECK(loss_of(logits, Ids({0, 1, 2, 0})) == Approx(-(y[0] + y[4] + y[8] + y[9]) / 4));
  CHECK(nll_loss(rows, Ids({0, 1, 2, 0})).item() == Approx(-(y[0] + y[4] + y[8] + y[9]) / 4));
  CHECK(loss_of(logits, Ids({0, -100, 2, -100})) == Approx(-(y[0] + y[8]) / 2));
  CHECK(loss_of(logits, Ids({0, 1, 1, 0}), {.ignore_index = 1}) == Approx(-(y[0] + y[9]) / 2));
  CHECK(loss_of(logits.view({2, 2, 3}), Ids({2, 2}, {0, 1, 2, 0})) == Approx(loss_of(logits, Ids({0, 1, 2, 0}))));
  CHECK(loss_of(f64({2}, {0, 0}), Ids(Shape{}, {1})) == Approx(std::log(2.0)));
}

TEST_CASE("label smoothing spreads a share of the target evenly") {
  const Tensor logits = away_from_zero({3, 4}, 1);
  const Ids targets({3, -100, 1});
  const Values y = log_softmax(logits, 1).to_vector();
  const double all = (y[0] + y[1] + y[2] + y[3] + y[8] + y[9] + y[10] + y[11]) / 4, hit = y[3] + y[9];
  CHECK(loss_of(logits, targets, {.label_smoothing = 0.3}) == Approx(-(0.7 * hit + 0.3 * all) / 2));
  CHECK(loss_of(logits, targets, {.label_smoothing = 1}) == Approx(-all / 2));
}

TEST_CASE("cross_entropy of NaN is NaN, of nothing but -inf inf") {
  const Ids target({0});
  for (const DType dtype : {DType::f32, DType::f64}) {
    CHECK(std::isnan(cross_entropy(full({1, 21}, not_a_number, dtype), target).item()));
    CHECK(std::isnan(cross_entropy(tensor({1, 3}, {-infinity, not_a_number, -infinity}, dtype), target).item()));
    CHECK(std::isnan(cross_entropy(tensor({1, 3}, {1, not_a_number, 2}, dtype), target).item()));
    CHECK(cross_entropy(full({1, 21}, -infinity, dtype), target).item() == infinity);
  }
}

TEST_CASE("cross_entropy: what an ignored row holds reaches no derivative") {
  const Tensor x = f64({2, 3}, {1, 2, 3, infinity, 0, not_a_number}).set_requires_grad();
  Tape tape;
  const Tensor loss = cross_entropy(x, Ids({2, -100}), {.ignore_index = -100});
  const Tensor first = tape.gradients(loss, {x}, CreateGraph::yes)[0];
  CHECK(all_finite(first));
  CHECK(all_finite(tape.gradients(sum(first.select(0, 0) * first.select(0, 0)), {x})[0].select(0, 0)));
}

TEST_CASE("cross_entropy is nll_loss of log_softmax") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const int64_t classes : {1, 2, 7, 8, 9, 16, 17, 100}) {
      const Tensor logits = away_from_zero({5, 2, classes}, 1, dtype) * 4.0;
      Ids targets = Ids::zeros({5, 2});
      for (int64_t i = 0; i < 10; ++i) {
        targets.data()[i] = i % 4 == 1 ? -100 : static_cast<std::int32_t>(i * 5 % classes);
      }
      for (const double smoothing : {0.0, 0.1, 1.0}) {
        const LossOptions options{.label_smoothing = smoothing};
        auto fused = [&](const Tensor& x) { return cross_entropy(x, targets, options); };
        auto composed = [&](const Tensor& x) { return nll_loss(log_softmax(x, -1), targets, options); };
        const double tolerance = dtype == DType::f64 ? 1e-13 : 1e-6;
        CHECK(fused(logits).item() == Approx(composed(logits).item()).epsilon(0).margin(40 * tolerance));
        const Values got = gradient_of(fused, logits), want = gradient_of(composed, logits);
        for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]).epsilon(0).margin(tolerance));
      }
    }
  }
}

TEST_CASE("a batch in which nothing counts has loss 0 and zero gradients") {
  const Tensor logits = away_from_zero({2, 3}, 1);
  for (const double smoothing : {0.0, 0.2}) {
    const auto f = [=](const Tensor& x) { return cross_entropy(x, Ids({-100, -100}), {.label_smoothing = smoothing}); };
    CHECK(f(logits).item() == 0);
    CHECK(gradient_of(f, logits) == Values(6, 0));
    CHECK(!std::signbit(nll_loss(logits, Ids({-100, -100}), {.label_smoothing = smoothing}).item()));
  }
  CHECK(cross_entropy(zeros({0, 3}), Ids::zeros({0})).item() == 0);
  CHECK(gradients_of([](const auto& x) { return cross_entropy(x[0], Ids::zeros({0})); }, {zeros({0, 3}, DType::f64)})[0]
            .shape() == Shape{0, 3});
}

TEST_CASE("an impossible class that is no target does no harm") {
  const Tensor logits = f64({2, 3}, {1, -infinity, 2, -infinity, 0.5, 0.25});
  const auto f = [](const Tensor& x) { return cross_entropy(x, Ids({0, 1})); };
  CHECK(f(logits).item() == Approx((std::log(1 + std::exp(1.0)) + std::log(1 + std::exp(-0.25))) / 2));
  const Values dx = gradient_of(f, logits);
  for (const double value : dx) CHECK(std::isfinite(value));
  CHECK(dx[1] == 0);
  CHECK(dx[3] == 0);
  // Nor does one in a row that is not counted, where class 0 may be the impossible one.
  const auto ignoring = [](const Tensor& x) { return cross_entropy(x, Ids({0, -100})); };
  CHECK(std::isfinite(ignoring(logits).item()));
  for (const double value : gradient_of(ignoring, logits)) CHECK(std::isfinite(value));
}

TEST_CASE("cross_entropy: the gradient takes the place of logits that nobody else sees") {
  const Tensor x = away_from_zero({64, 1000}, 5, DType::f32);
  const Ids targets = Ids::zeros({64});
  const std::size_t size = 64 * 1000 * sizeof(float);
  auto gradient_and_peak = [&](bool keep) {
    const Tensor leaf = detach(x).set_requires_grad();
    const std::size_t before = memory_stats().current;
    Tape tape;
    Tensor logits = leaf * 2.0;
    const Tensor loss = cross_entropy(logits, targets), kept = keep ? logits : Tensor();
    logits = Tensor();
    reset_peak_memory();
    tape.backward(loss);
    if (keep) CHECK(same_bits(detach(kept), x * 2.0));
    return std::pair(leaf.grad(), memory_stats().peak - before);
  };
  const auto [alone, peak_alone] = gradient_and_peak(false);
  const auto [seen, peak_seen] = gradient_and_peak(true);
  CHECK(same_bits(alone, seen));
  CHECK(peak_alone + size / 2 < peak_seen);

  const Tensor leaf = detach(x).set_requires_grad();  // gradients() may be asked for twice
  Tape tape;
  const Tensor loss = cross_entropy(leaf * 2.0, targets);
  const Tensor first = tape.gradients(loss, {leaf})[0];
  CHECK(same_bits(first, tape.gradients(loss, {leaf})[0]));
  CHECK(same_bits(first, alone));
}

TEST_CASE("cross_entropy of large logits") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor logits = tensor({1, 2}, {1e4, -1e4}, dtype);
    CHECK(loss_of(logits, Ids({0})) == 0);
    CHECK(loss_of(logits, Ids({1})) == 2e4);
    CHECK(gradient_of([](const Tensor& x) { return cross_entropy(x, Ids({1})); }, logits) == Values{1, -1});
  }
}

TEST_CASE("losses refuse what does not fit") {
  const Tensor x = ones({2, 3});
  CHECK_THROWS_WITH(nll_loss(x, Ids({0, 3})), ContainsSubstring("nll_loss: the target 3 is none of 3 classes"));
  CHECK_THROWS_WITH(nll_loss(x, Ids({0, -1})), ContainsSubstring("nll_loss: the target -1"));
  CHECK_THROWS_WITH(nll_loss(x, Ids({0})), ContainsSubstring("nll_loss: log_probs is (2, 3), targets are (1,)"));
  CHECK_THROWS_WITH(nll_loss(scalar(1), Ids({0})), ContainsSubstring("nll_loss: log_probs is ()"));
  CHECK_THROWS_WITH(nll_loss(x, Ids({0, 1}), {.label_smoothing = 1.5}), ContainsSubstring("label_smoothing is 1.5"));
  CHECK_THROWS_WITH(nll_loss(x, Ids({0, 1}), {.label_smoothing = -0.1}), ContainsSubstring("label_smoothing is -0.1"));
  CHECK_THROWS_AS(cross_entropy(x, Ids({0, 3})), Error);
  CHECK_THROWS_AS(cross_entropy(scalar(1), Ids({0})), Error);
}

TEST_CASE("losses of no classes are 0 where no target counts") {
  for (const auto loss : {nll_loss, cross_entropy}) {
    const Tensor x = zeros({2, 0}).set_requires_grad();
    Tape tape;
    const Tensor y = loss(x, Ids({-100, -100}), {});
    CHECK(y.item() == 0);
    CHECK(tape.gradients(y, {x})[0].shape() == Shape{2, 0});
    CHECK(tape.gradients(y, {x}, CreateGraph::yes)[0].shape() == Shape{2, 0});
    CHECK_THROWS_AS(loss(x, Ids({0, -100}), {}), Error);
  }
}
