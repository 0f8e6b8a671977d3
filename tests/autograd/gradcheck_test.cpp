#include "autograd/gradcheck.h"

#include <utility>

#include "autograd/ops/elementwise.h"
#include "tests/autograd/values.h"

using namespace reel;
using namespace reel::tests;

namespace {

using Xs = std::vector<Tensor>;

/// The square, and a derivative of our choice.
Tensor square(const Tensor& x, std::function<Tensor(const Tensor& x)> derivative) {
  return record("square", {x}, mul(x, x),
                [x, derivative](const Tensor& dy, Grads& grads) { grads.add(0, dy * derivative(x)); });
}

}  // namespace

TEST_CASE("a right derivative passes, with every element compared") {
  const auto f = [](const Xs& x) { return square(x[0], [](const Tensor& v) { return v * 2.0; }); };
  const GradcheckResult result = gradcheck(f, {away_from_zero({3, 4}, 1)});
  CHECK(result);
  CHECK(result.problem.empty());
  CHECK(result.worst > 0);
  CHECK(result.worst < 1);
}

TEST_CASE("a wrong derivative is reported with place and both values") {
  const auto f = [](const Xs& x) { return square(x[1], [](const Tensor& v) { return v * 2.1; }) + x[0]; };
  const GradcheckResult result = gradcheck(f, {away_from_zero({2}, 1), away_from_zero({2}, 2)});
  CHECK_FALSE(result);
  CHECK(result.worst > 1000);
  CHECK_THAT(result.problem, ContainsSubstring("input 1 (2,), element 0: the derivative says "));
}

TEST_CASE("a gradient that is zero everywhere is reported, although differences agree") {
  const auto f = [](const Xs& x) { return x[0] * 0.0 + x[1]; };
  const GradcheckResult result = gradcheck(f, {away_from_zero({2}, 1), away_from_zero({2}, 2)});
  CHECK_THAT(result.problem, ContainsSubstring("input 0 (2,): the whole gradient is zero"));
}

TEST_CASE("a result that does not depend on the input has no gradient to check") {
  const Tensor x = away_from_zero({2}, 1);
  const auto constant = [](const Xs&) { return f64({1}, {3}); };
  CHECK_THAT(gradcheck(constant, {x}).problem, ContainsSubstring("input 0 (2,): the whole gradient is zero"));
  const auto straight = [](const Xs& in) { return in[0] * 2.0; };
  CHECK_THAT(gradgradcheck(straight, {x}).problem,
             ContainsSubstring("input 0 (2,): the whole gradient is zero") && ContainsSubstring("is f linear"));
}

TEST_CASE("NaN never passes") {
  const auto nowhere = [](const Xs& x) { return square(x[0], [](const Tensor& v) { return v * not_a_number; }); };
  CHECK_FALSE(gradcheck(nowhere, {away_from_zero({2}, 1)}));
  const auto outside = [](const Xs& x) { return log(x[0]); };
  CHECK_THAT(gradcheck(outside, {f64({2}, {1, -1})}).problem, ContainsSubstring("has no derivative"));
  const auto endless = [](const Xs& x) { return exp(x[0] * 1e4); };
  CHECK_THAT(gradcheck(endless, {f64({1}, {1})}).problem, ContainsSubstring("inf here, and has no derivative"));
  const auto first = [](const Xs& x) {
    return square(x[0], [](const Tensor& v) { return v * f64({2}, {not_a_number, 3}); });
  };
  CHECK(std::isnan(gradcheck(first, {away_from_zero({2}, 1)}).worst));
}

TEST_CASE("values that differ are shown with the digits in which they do") {
  const auto nearly = [](const std::vector<Tensor>& in) {
    return record("square", {in[0]}, detach(in[0] * in[0]),
                  [x = in[0]](const Tensor& dy, Grads& grads) { grads.add(0, dy * x * 2.00001); });
  };
  const std::string problem = gradcheck(nearly, {f64({1}, {1.5})}).problem;
  const auto from = problem.find("says "), to = problem.find("say ");
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  CHECK(problem.substr(from + 5, problem.find(',', from) - from - 5) != problem.substr(to + 4));
}

TEST_CASE("a gradient that goes missing is reported") {
  const auto f = [](const Xs& x) { return detach(x[0]) * x[1]; };
  CHECK_THAT(gradcheck(f, {f64({1}, {2}), f64({1}, {3})}).problem,
             ContainsSubstring("input 0 (1,), element 0: the derivative says 0, differences say "));
}

TEST_CASE("inputs keep their values") {
  const Tensor x = away_from_zero({5}, 1);
  const Values before = x.to_vector();
  gradcheck([](const Xs& in) { return sin(in[0]); }, {x});
  CHECK(x.to_vector() == before);
  CHECK_FALSE(x.requires_grad());
}

TEST_CASE("a function that is another one each time is reported") {
  int calls = 0;
  const auto f = [&](const Xs& x) { return x[0] * static_cast<double>(++calls); };
  const GradcheckResult result = gradcheck(f, {away_from_zero({2}, 1)});
  CHECK_THAT(result.problem, ContainsSubstring("f is not the same function each time"));
  CHECK_FALSE(result);
}

TEST_CASE("inputs without a finite number to check are refused") {
  const auto f = [](const Xs& x) { return sin(x[0]); };
  CHECK_THROWS_WITH(gradcheck(f, {}), ContainsSubstring("gradcheck: there are no inputs"));
  CHECK_THROWS_WITH(gradgradcheck(f, {}), ContainsSubstring("gradgradcheck: there are no inputs"));
  CHECK_THROWS_WITH(gradcheck(f, {f64({0, 2}, {})}), ContainsSubstring("input 0 is (0, 2), without an element"));
  CHECK_THROWS_WITH(gradcheck(f, {f64({1}, {1}), f64({2}, {1, not_a_number})}),
                    ContainsSubstring("input 1 (2,) holds nan; need finite numbers"));
}

TEST_CASE("f32 is refused") {
  const auto f = [](const Xs& x) { return sin(x[0]); };
  CHECK_THROWS_WITH(gradcheck(f, {f64({1}, {1}), ones({2})}),
                    ContainsSubstring("input 1 is f32; differences need f64"));
}

TEST_CASE("a check within a tape is refused") {
  const Tape tape;
  const auto f = [](const Xs& x) { return sin(x[0]); };
  CHECK_THROWS_WITH(gradcheck(f, {f64({1}, {1})}), ContainsSubstring("gradient checks begin one, too"));
}

TEST_CASE("a first derivative that is right with a second one that is not") {
  const auto opaque = [](const Xs& x) { return square(x[0], [](const Tensor& v) { return detach(v) * 2.0; }) * x[0]; };
  const Tensor x = away_from_zero({3}, 1);
  CHECK(gradcheck(opaque, {x}));
  CHECK_FALSE(gradgradcheck(opaque, {x}));
  const auto open = [](const Xs& in) { return square(in[0], [](const Tensor& v) { return v * 2.0; }) * in[0]; };
  CHECK(gradgradcheck(open, {x}));
}

TEST_CASE("tolerances are those asked for") {
  const auto f = [](const Xs& x) { return square(x[0], [](const Tensor& v) { return v * 2.0002; }); };
  CHECK_FALSE(gradcheck(f, {f64({1}, {1})}));
  CHECK(gradcheck(f, {f64({1}, {1})}, {.relative = 1e-3}));
}

TEST_CASE("a derivative that reads what it has written over is caught, as backward() alone would show") {
  auto spoils = [](const Xs& in) {
    return record("spoils", {in[0], in[1]}, in[0] * 2.0 + in[1], [](const Tensor& dy, Grads& grads) {
      const Tensor twice = dy * 2.0, dx = grads.in_place_of(dy);
      copy(twice, dx);
      grads.add(0, dx);
      grads.add(1, dy);
    });
  };
  const Tensor x = away_from_zero({2, 3}, 1), y = away_from_zero({2, 3}, 2);
  CHECK_THAT(gradcheck(spoils, {x, y}).problem, ContainsSubstring("input 1 (2, 3): backward() finds another gradient"));

  auto slope = [](const auto& v) { return v * 2.0; };
  auto chains_twice = [slope](const Xs& in) {
    return record("chains_twice", {in[0], in[1]}, in[0] * in[0] + in[1] * in[1],
                  [slope, a = in[0], b = in[1]](Tensor dy, Grads& grads) {
                    grads.add(0, chain(grads, dy, slope, a));
                    grads.add(1, chain(grads, std::move(dy), slope, b));
                  });
  };
  CHECK(gradcheck(chains_twice, {x, y}).problem == "");

  auto adds_what_it_passed_on = [slope](const Xs& in) {
    return record("adds_what_it_passed_on", {in[0], in[1]}, in[0] * in[0] + in[1],
                  [slope, a = in[0]](Tensor dy, Grads& grads) {
                    grads.add(0, chain(grads, std::move(dy), slope, a));
                    grads.add(1, dy);
                  });
  };
  CHECK_THROWS_WITH(gradcheck(adds_what_it_passed_on, {x, y}),
                    ContainsSubstring("backward of adds_what_it_passed_on: an undefined tensor was used; ") &&
                        ContainsSubstring("passed on by std::move"));
}

TEST_CASE("a check leaves the gradients of other leaves as they were, even if a derivative throws") {
  const Tensor fresh = away_from_zero({2}, 1).set_requires_grad(), x = away_from_zero({2}, 2);
  Tensor trained = away_from_zero({2}, 3).set_requires_grad();
  trained.set_grad(f64({2}, {5, 6}));
  auto throws = [](const Tensor& y) {
    return record("throws", {y}, clone(y), [threw = false](const Tensor& dy, Grads& grads) mutable {
      if (std::exchange(threw, true)) fail("a derivative that fails the second time");
      grads.add(0, dy);
    });
  };
  const auto f = [&](const Xs& in) { return in[0] * fresh * trained; };
  CHECK(gradcheck(f, {x}).problem == "");
  CHECK(gradgradcheck([&](const Xs& in) { return f(in) * in[0]; }, {x}).problem == "");
  CHECK_THROWS_WITH(gradcheck([&](const Xs& in) { return throws(in[0]) * fresh * trained; }, {x}),
                    ContainsSubstring("fails the second time"));
  CHECK(!fresh.has_grad());
  CHECK(trained.grad().to_vector() == Values{5, 6});
}
