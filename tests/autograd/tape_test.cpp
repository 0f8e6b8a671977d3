#include "autograd/tape.h"

#include <pthread.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "autograd/ops/elementwise.h"
#include "tests/autograd/values.h"
#include "tests/threads.h"

using namespace reel;
using namespace reel::tests;

namespace {

Tensor leaf(const Shape& shape, const Values& values) { return f64(shape, values).set_requires_grad(); }

/// The identity, whose derivative calls `visit` on its way.
Tensor visited(const Tensor& x, std::function<void()> visit) {
  return record("visited", {x}, clone(x), [visit](const Tensor& dy, Grads& grads) {
    visit();
    grads.add(0, dy);
  });
}

void on_thread_with_stack(std::size_t bytes, void (*body)()) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, bytes) == 0);
  pthread_t thread;
  auto run = [](void* function) -> void* {
    reinterpret_cast<void (*)()>(function)();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, run, reinterpret_cast<void*>(body)) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int many = 100'000;  // sanitizers keep freed memory back
#else
constexpr int many = 1'000'000;
#endif

/// x times one, many times: every entry holds a tensor of its own.
Tensor long_product(const Tensor& x, int count) {
  const Tensor one = scalar(1, x.dtype());
  Tensor y = x;
  for (int i = 0; i < count; ++i) y = y * one;
  return y;
}

}  // namespace

TEST_CASE("nothing is recorded without a tape, or from constants") {
  const Tensor x = leaf({2}, {1, 2});
  CHECK(Tape::recording() == nullptr);
  const Tensor before = x * x;
  Tape tape;
  CHECK(Tape::recording() == &tape);
  const Tensor constant = before * f64({2}, {1, 2});
  CHECK(tape.size() == 0);
  const Tensor y = sum(x * constant);
  CHECK(tape.size() == 2);
  tape.backward(y);
  CHECK(x.grad().to_vector() == constant.to_vector());
}

TEST_CASE("backward adds up the gradients of leaves") {
  const Tensor a = leaf({2}, {1, 2}), b = leaf({2}, {3, 4}), unused = leaf({1}, {1});
  Tape tape;
  tape.backward(sum(a * b * a));
  CHECK(a.grad().to_vector() == Values{6, 16});
  CHECK(b.grad().to_vector() == Values{1, 4});
  CHECK_FALSE(unused.grad().defined());
}

TEST_CASE("a leaf gets the sum over all its uses") {
  const Tensor x = leaf({}, {3});
  Tape tape;
  Tensor y = x;
  for (int i = 0; i < 10; ++i) y = y + x * x;
  tape.backward(y);
  CHECK(x.grad().item() == 1 + 10 * 2 * 3);
}

TEST_CASE("an inner result gets the sum over all its uses") {
  const Tensor x = leaf({2}, {3, 4});
  Tape tape;
  const Tensor inner = x * 2.0;
  tape.backward(sum(inner) + sum(inner * inner) + sum(inner));
  CHECK(x.grad().to_vector() == Values{2 + 2 * 2 * 6 + 2, 2 + 2 * 2 * 8 + 2});
}

TEST_CASE("gradients accumulate over tapes until they are zeroed") {
  Tensor x = leaf({2}, {1, 2});
  const auto step = [&](double factor) {
    Tape tape;
    tape.backward(sum(x * x * factor));
  };
  step(1);
  CHECK(x.grad().to_vector() == Values{2, 4});
  step(10);
  CHECK(x.grad().to_vector() == Values{22, 44});
  x.zero_grad();
  CHECK_FALSE(x.grad().defined());
  step(1);
  CHECK(x.grad().to_vector() == Values{2, 4});
}

TEST_CASE("every leaf owns its gradient") {
  const Tensor a = leaf({2}, {1, 2}), b = leaf({2}, {3, 4}), c = leaf({2}, {5, 6});
  {
    Tape tape;
    tape.backward(sum(a + b) + sum(reshape(c, {2, 1}).transpose(0, 1)));
  }
  for (const Tensor& x : {a, b, c}) {
    CHECK(x.grad().is_contiguous());
    CHECK(x.grad().to_vector() == Values{1, 1});
  }
  a.grad().data<double>()[0] = 100;
  c.grad().data<double>()[1] = 100;
  CHECK(b.grad().to_vector() == Values{1, 1});
  {
    Tape tape;
    tape.backward(sum(a + b));
  }
  CHECK(a.grad().to_vector() == Values{101, 2});
  CHECK(b.grad().to_vector() == Values{2, 2});

  const Tensor d = leaf({2}, {1, 2}), e = leaf({2}, {3, 4});  // the same dense gradient for both
  Tape tape;
  tape.backward(sum((d + e) * f64({2}, {5, 6})));
  CHECK(!d.grad().shares_storage(e.grad()));
  CHECK(d.grad().to_vector() == Values{5, 6});
  CHECK(e.grad().to_vector() == Values{5, 6});
}

TEST_CASE("a leaf shares its gradient with nothing that a derivative keeps") {
  const Tensor a = leaf({2}, {1, 2}), kept = f64({2}, {5, 6});
  Tape tape;
  const Tensor y = record("keeps", {a}, clone(a), [kept](const Tensor&, Grads& grads) { grads.add(0, kept); });
  tape.backward(sum(y));
  CHECK(a.grad().to_vector() == Values{5, 6});
  CHECK(!a.grad().shares_storage(kept));
}

TEST_CASE("a gradient that a derivative passes on is not copied") {
  const Tensor x = leaf({2}, {1, 2}), w = f64({2}, {5, 6});
  const void* given = nullptr;
  Tape tape;
  const Tensor y = record("passes", {x}, clone(x), [&](Tensor dy, Grads& grads) {
    given = dy.data<double>();
    grads.add(0, std::move(dy));
  });
  const Tensor loss = sum(y * w);
  CHECK(tape.gradients(loss, {x, y})[1].to_vector() == Values{5, 6});  // for which it stays where it is
  tape.backward(loss);
  CHECK(x.grad().data<double>() == given);
  CHECK(x.grad().to_vector() == Values{5, 6});
}

TEST_CASE("the chain rule writes over a gradient, which a leaf then need not copy") {
  for (const bool is_relu : {false, true}) {
    const Tensor x = leaf({2}, {1, 2});
    const void* given = nullptr;
    Tape tape;
    const Tensor y = record("chained", {x}, clone(x), [&](Tensor dy, Grads& grads) {
      given = dy.data<double>();
      auto slope = [](const auto& v) { return v * 2.0; };
      grads.add(0, is_relu ? through_relu(grads, std::move(dy), x) : chain(grads, std::move(dy), slope, x));
    });
    tape.backward(sum(y * f64({2}, {5, 6})));
    CHECK(x.grad().data<double>() == given);
    CHECK(x.grad().to_vector() == (is_relu ? Values{5, 6} : Values{10, 24}));
  }
}

TEST_CASE("what nobody asked for is not summed up either") {
  const Tensor x = leaf({2, 3}, {1, 2, 3, 4, 5, 6}), row = leaf({3}, {1, 2, 3}), table = leaf({4, 3}, Values(12, 1));
  Tape tape;
  const Tensor y = sum((x + row) * embedding(table, Ids({1, 3})) * x);
  const std::size_t before = tape.to_string().size();
  tape.gradients(y, {x}, CreateGraph::yes);
  const std::string recorded = tape.to_string().substr(before);
  CHECK_THAT(recorded, ContainsSubstring("  mul  "));
  CHECK_THAT(recorded, !ContainsSubstring("  sum  ") && !ContainsSubstring("  embedding_sum  "));
}

TEST_CASE("a gradient that somebody holds is not written into") {
  const Tensor x = leaf({2}, {1, 2});
  Tensor seen;
  Tape tape;
  const Tensor inner = x * 1.0;
  const Tensor kept = record("keeps", {inner}, clone(inner), [&seen](const Tensor& dy, Grads& grads) {
    seen = dy * 5.0;
    grads.add(0, seen);
  });
  tape.backward(sum(inner) + sum(kept));
  CHECK(seen.to_vector() == Values{5, 5});
  CHECK(x.grad().to_vector() == Values{6, 6});
}

TEST_CASE("a tape is refused where it would not mean anything") {
  const Tensor x = leaf({2}, {1, 2});
  {
    Tape tape;
    CHECK_THROWS_WITH(Tape(), ContainsSubstring("another tape records on this thread"));
    CHECK(Tape::recording() == &tape);
    CHECK_THROWS_WITH(tape.backward(x * x), ContainsSubstring("backward") && ContainsSubstring("(2,)"));
    CHECK_THROWS_WITH(tape.backward(scalar(1)), ContainsSubstring("not recorded on this tape"));
    CHECK_THROWS_WITH(tape.backward(leaf({}, {1})), ContainsSubstring("the loss is a leaf, no result"));
    CHECK_THROWS_WITH(tape.gradients(scalar(1), {x}), ContainsSubstring("gradients: y was not recorded"));
    CHECK_THROWS_WITH(tape.gradients(sum(x), {scalar(1)}), ContainsSubstring("needs no gradient"));
    CHECK_THROWS_AS(tape.backward(Tensor()), Error);
    tape.backward(sum(x));  // none of these has used the tape up
  }
  Tensor loss;
  {
    Tape tape;
    loss = sum(x);
    tape.backward(loss);
    CHECK_THROWS_WITH(tape.backward(loss), ContainsSubstring("has run backward already"));
    CHECK_THROWS_WITH(tape.gradients(loss, {x}), ContainsSubstring("has run backward already"));
    CHECK_THROWS_WITH(mul(x, x), ContainsSubstring("mul") && ContainsSubstring("has run backward already"));
  }
  Tape other;
  CHECK_THROWS_WITH(other.backward(loss), ContainsSubstring("not recorded on this tape"));
}

TEST_CASE("a result of another tape is a constant") {
  const Tensor x = leaf({}, {3});
  Tensor old;
  {
    Tape tape;
    old = x * x;
  }
  Tape tape;
  tape.backward(old * x);
  CHECK(x.grad().item() == 9);
}

TEST_CASE("operations after the loss do not matter") {
  const Tensor x = leaf({}, {3});
  Tape tape;
  const Tensor loss = x * x;
  const Tensor later = loss * x;
  tape.backward(loss);
  CHECK(x.grad().item() == 6);
  CHECK(tape.size() == 0);
}

TEST_CASE("each thread has a tape of its own") {
  const Tensor x = leaf({}, {3});
  Tape tape;
  const Tensor y = x * x;
  double elsewhere = 0;
  std::thread([&] {
    const Tensor z = scalar(5, DType::f64).set_requires_grad();
    Tape second;
    second.backward(z * z);
    elsewhere = z.grad().item();
  }).join();
  CHECK(elsewhere == 10);
  CHECK(tape.size() == 1);
  tape.backward(y);
  CHECK(x.grad().item() == 6);
}

TEST_CASE("gradients returns, and accumulates nothing") {
  const Tensor a = leaf({2}, {1, 2}), b = leaf({2}, {3, 4}), unreached = leaf({3}, {1, 1, 1});
  Tape tape;
  const Tensor product = a * b, y = sum(product * product), later = a * 2.0;
  const auto dxs = tape.gradients(y, {b, product, unreached, later, y, b});
  CHECK(dxs[0].to_vector() == Values{6, 32});
  CHECK(dxs[1].to_vector() == Values{6, 16});
  CHECK(dxs[2].to_vector() == Values{0, 0, 0});
  CHECK(dxs[3].to_vector() == Values{0, 0});
  CHECK(dxs[4].item() == 1);
  CHECK(dxs[5].to_vector() == Values{6, 32});
  CHECK_FALSE(a.grad().defined());
  CHECK_FALSE(b.grad().defined());
  CHECK(tape.size() == 4);  // nothing dropped, nothing recorded

  tape.backward(y);  // which is still possible
  CHECK(a.grad().to_vector() == Values{18, 64});
}

TEST_CASE("CreateGraph::yes yields derivatives of any order") {
  const Tensor x = leaf({}, {2});
  Tape tape;
  const Tensor y = pow(x, 4);
  const Tensor first = tape.gradients(y, {x}, CreateGraph::yes)[0];
  const Tensor second = tape.gradients(first, {x}, CreateGraph::yes)[0];
  const Tensor third = tape.gradients(second, {x}, CreateGraph::yes)[0];
  CHECK(first.item() == 4 * 8);
  CHECK(second.item() == 12 * 4);
  CHECK(third.item() == 24 * 2);
  tape.backward(first * second);  // 48 x⁵, so 240 x⁴
  CHECK(x.grad().item() == 240 * 16);
}

TEST_CASE("a mixed second derivative") {
  const Tensor x = leaf({}, {2}), y = leaf({}, {3});
  Tape tape;
  const Tensor z = x * x * x * y + sin(y);
  const auto first = tape.gradients(z, {x, y}, CreateGraph::yes);
  CHECK(tape.gradients(first[0], {y})[0].item() == 12);
  CHECK(tape.gradients(first[1], {x})[0].item() == 12);
  CHECK(tape.gradients(first[1], {y})[0].item() == Approx(-std::sin(3.0)));
}

TEST_CASE("a penalty on a gradient trains") {
  const Tensor x = leaf({3}, {1, 2, 3}), w = leaf({3}, {0.5, -1, 2});
  Tape tape;
  const Tensor y = sum(w * x * x);  // dy/dx = 2 w x
  const Tensor dx = tape.gradients(y, {x}, CreateGraph::yes)[0];
  tape.backward(sum(dx * dx));                         // Σ 4 w² x²
  CHECK(w.grad().to_vector() == Values{4, -32, 144});  // 8 w x²
  CHECK(x.grad().to_vector() == Values{2, 16, 96});    // 8 w² x
}

TEST_CASE("a derivative sees which gradients are wanted") {
  const Tensor x = leaf({2}, {1, 2}), constant = f64({2}, {1, 1});
  bool first = false, second = true;
  Tape tape;
  const Tensor y = record("asks", {x, constant}, clone(x), [&](const Tensor& dy, Grads& grads) {
    first = grads.needs(0);
    second = grads.needs(1);
    CHECK_THROWS_WITH(grads.needs(2), "backward of asks: a gradient of input 2; there are 2 inputs, counted from 0");
    grads.add(0, dy);
    grads.add(1, dy);  // nobody wants it: ignored
  });
  tape.backward(sum(y));
  CHECK(first);
  CHECK_FALSE(second);
  CHECK_FALSE(constant.grad().defined());
}

TEST_CASE("nobody wants the gradient of an input that was not given") {
  const Tensor x = leaf({2}, {1, 2}), missing;
  bool second = true;
  Tape tape;
  const Tensor y = record("asks", {x, missing}, x * 2.0, [&](const Tensor& dy, Grads& grads) {
    second = grads.needs(1);
    grads.add(0, dy);
    grads.add(1, dy);
  });
  CHECK_FALSE(needs_gradient(missing));
  CHECK_FALSE(record("asks", {missing}, missing, nullptr).defined());
  tape.backward(sum(y));
  CHECK_FALSE(second);
  CHECK(x.grad().to_vector() == Values{1, 1});
}

TEST_CASE("gradients of leaves that nobody asked for are not wanted") {
  const Tensor x = leaf({2}, {1, 2}), y = leaf({2}, {3, 4});
  bool first = true, second = false;
  Tape tape;
  const Tensor z = record("asks", {x, y}, x * 2.0, [&](const Tensor& dz, Grads& grads) {
    first = grads.needs(0);
    second = grads.needs(1);
    grads.add(0, dz);
    grads.add(1, dz);
  });
  CHECK(tape.gradients(sum(z), {y})[0].to_vector() == Values{1, 1});
  CHECK_FALSE(first);
  CHECK(second);
}

TEST_CASE("an operation may give back its input: only what passes through it changes") {
  const Tensor x = leaf({2}, {1, 2});
  auto reversed = [](const Tensor& y) {
    return record("reverse", {y}, y, [](const Tensor& dy, Grads& grads) { grads.add(0, -dy); });
  };
  {
    Tape tape;
    const Tensor y = x * 2;
    tape.backward(sum(reversed(y) * 3 + y));
    CHECK(x.grad().to_vector() == Values{-4, -4});
  }
  Tape tape;
  Tensor same = x;
  tape.backward(sum(reversed(same)));
  CHECK(x.grad().to_vector() == Values{-5, -5});
  CHECK_NOTHROW(same.set_requires_grad());  // still a leaf
}

TEST_CASE("an operation may give back a constant, which stays one") {
  const Tensor w = leaf({2}, {1, 2});
  Tensor c = f64({2}, {3, 4});
  Tape tape;
  const Tensor kept = record("keep", {c, w}, c, [](const Tensor& dy, Grads& grads) { grads.add(1, dy * 10.0); });
  tape.backward(sum(kept) + sum(c * 5.0));
  CHECK(w.grad().to_vector() == Values{10, 10});
  CHECK_NOTHROW(c.set_requires_grad());
}

TEST_CASE("gradients() computes only what leads to what was asked for") {
  const Tensor a = leaf({2}, {1, 2}), b = leaf({2}, {3, 4});
  int calls = 0;
  auto counted = [&](const Tensor& x) {
    return record("counted", {x}, x * 2.0, [&calls](const Tensor& dy, Grads& grads) {
      calls += grads.needs(0) ? 100 : 1;
      grads.add(0, dy * 2.0);
    });
  };
  Tape tape;
  const Tensor other = counted(counted(b)), loss = sum(a * a + other);
  CHECK(tape.gradients(loss, {a}, CreateGraph::yes)[0].to_vector() == Values{2, 4});
  CHECK(calls == 0);
  CHECK(tape.gradients(loss, {other})[0].to_vector() == Values{1, 1});
  CHECK(tape.gradients(loss, {a, b})[1].to_vector() == Values{4, 4});
  CHECK(calls >= 200);
}

TEST_CASE("a result that a gradient flows to is not written over") {
  const Tensor x = leaf({2}, {1, 2});
  Tape tape;
  const Tensor y = exp(x), constant = f64({2}, {5, 6});
  CHECK_THROWS_WITH(copy(constant, y), ContainsSubstring("copy: a gradient flows to the numbers (2,)"));
}

namespace {

using Change = std::function<void(const Tensor& x, const Tensor& c, const Tensor& y)>;

/// What backward() throws if this is done between y = f(x, c) and it; nothing if it leaves the gradient as it was.
std::string refusal(const std::function<Tensor(const Tensor& x, const Tensor& c)>& f, const Change& change) {
  auto gradient = [&](const Change& some_change) {
    const Tensor x = leaf({2}, {1, 2}), c = f64({2}, {3, 4});
    Tape tape;
    const Tensor y = f(x, c), loss = sum(y);
    some_change(x, c, y);
    tape.backward(loss);
    return x.grad().to_vector();
  };
  try {
    const Values found = gradient(change);
    CHECK(found == gradient([](const Tensor&, const Tensor&, const Tensor&) {}));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a derivative that would read what was written over since is refused") {
  const Tensor other = f64({2}, {5, 6});
  auto product = [](const Tensor& x, const Tensor& c) { return x * c; };
  auto square = [](const Tensor& x, const Tensor&) { return x * x; };
  const auto of_mul = ContainsSubstring("backward of mul: it reads numbers (2,) that were written over since");
  CHECK_THAT(refusal(square, [&](auto& x, auto&, auto&) { copy(other, x); }), of_mul);
  CHECK_THAT(refusal(square, [&](auto& x, auto&, auto&) { copy(x, x); }), of_mul);
  CHECK_THAT(refusal(square, [&](auto& x, auto&, auto&) { copy(scalar(5), detach(x).select(0, 1)); }), of_mul);
  CHECK_THAT(refusal(square, [&](auto& x, auto&, auto&) { x.mark_written(); }), of_mul);
  CHECK_THAT(refusal(product, [&](auto&, auto& c, auto&) { copy(other, c); }), of_mul);
  CHECK_THAT(refusal(product, [&](auto&, Tensor c, auto&) { add_in_place(c, other); }), of_mul);
  // Its result, too.
  auto over_result = [&](auto&, auto&, auto& y) { copy(other, detach(y)); };
  CHECK_THAT(refusal([](auto& x, auto&) { return exp(x); }, over_result), ContainsSubstring("backward of exp: "));
  CHECK_THAT(refusal([](auto& x, auto&) { return softmax(x, 0); }, over_result), ContainsSubstring("of softmax: "));
  CHECK_THAT(refusal([](auto& x, auto&) { return relu(x); }, over_result), ContainsSubstring("backward of relu: "));
}

TEST_CASE("what no derivative reads may be written over") {
  const Tensor other = f64({2}, {5, 6});
  auto product = [](const Tensor& x, const Tensor& c) { return x * c; };
  CHECK(refusal(product, [&](auto& x, auto&, auto&) { copy(other, x); }) == "");  // c needs no gradient
  CHECK(refusal(product, [&](auto&, auto&, auto& y) { copy(other, detach(y)); }) == "");
  CHECK(refusal([](auto& x, auto& c) { return x - c; }, [&](auto&, auto& c, auto&) { copy(other, c); }) == "");
  // What a gradient is not asked for is not differentiated.
  const Tensor w = leaf({2}, {1, 2}), x = leaf({2}, {3, 4});
  Tape tape;
  const Tensor h = w * x, loss = sum(h * h);
  copy(other, w);
  CHECK(tape.gradients(loss, {h})[0].to_vector() == Values{6, 16});
  CHECK(tape.gradients(loss, {w})[0].to_vector() == Values{18, 64});
  CHECK_THROWS_WITH(tape.gradients(loss, {x}), ContainsSubstring("backward of mul: "));
}

TEST_CASE("attention refuses what was written over on any number of threads") {
  for (int threads : {1, 3}) {
    const WithThreads with(threads);
    for (int written = 0; written < 3; ++written) {
      std::vector<Tensor> qkv;
      for (std::uint64_t seed = 1; seed <= 3; ++seed)
        qkv.push_back(away_from_zero({8, 64, 16}, seed).set_requires_grad());
      Tape tape;
      const Tensor loss = sum(attention(qkv[0], qkv[1], qkv[2], Mask::none(), 0.25));
      qkv[static_cast<std::size_t>(written)].mark_written();
      CHECK_THROWS_WITH(tape.backward(loss), ContainsSubstring("backward of attention: it reads numbers (8, 64, 16)"));
    }
  }
}

TEST_CASE("what the backward pass itself writes is not refused") {
  Tensor x = leaf({2, 3}, {1, 2, 3, 4, 5, 6});
  {
    // Cross entropy's gradient takes the place of the logits, and those of their other readers are added to it.
    Tape tape;
    Tensor loss;
    {
      const Tensor y = x * 1.0, some = sum(y), more = sum(y * y);
      loss = some + more + cross_entropy(y, Ids({0, 1})) + sum(y);
    }
    const std::vector<Tensor> stated = tape.gradients(loss, {x});
    tape.backward(loss);
    check_close(x.grad(), stated[0]);
  }
  for (const bool of_attention : {false, true}) {
    // What was written over before it was read: the gradient that takes its place is not.
    x.zero_grad();
    Tape tape;
    Tensor y = x * 2.0;
    copy(f64({2, 3}, {1, 0, 2, 0, 3, 1}), detach(y));
    const Tensor loss = of_attention ? sum(attention(y, detach(x), detach(x), Mask::none(), 1) * detach(x))
                                     : cross_entropy(y, Ids({0, 1}));
    const std::vector<Tensor> stated = tape.gradients(loss, {x});
    y = Tensor();
    tape.backward(loss);
    check_close(x.grad(), stated[0]);
  }
  // A gradient that is there already takes part in the loss, and in the sum of the next one.
  x.set_grad(ones({2, 3}, DType::f64));
  Tape tape;
  const Tensor loss = sum(x - x.grad()) + sum(x * x.grad()) + sum(matmul(x, x.grad().transpose(0, 1)));
  const std::vector<Tensor> stated = tape.gradients(loss, {x});
  tape.backward(loss);
  check_close(x.grad(), stated[0] + 1.0);
}

TEST_CASE("a gradient may be changed between the loss and the backward pass that adds to it") {
  Tensor w = leaf({2, 2}, {1, 2, 3, 4}), table = leaf({2, 2}, {1, 2, 3, 4});
  const Tensor x = f64({1, 2}, {1, 1});
  for (int step = 0; step < 2; ++step) {
    Tape tape;
    const Tensor loss = sum(linear(x, w)) + sum(embedding(table, Ids({1})));
    if (step == 1) {
      for (const Tensor& leaf : {w, table}) copy(f64({2, 2}, {10, 10, 10, 10}), leaf.grad());
    }
    tape.backward(loss);
  }
  CHECK(w.grad().to_vector() == Values{11, 11, 11, 11});
  CHECK(table.grad().to_vector() == Values{10, 10, 11, 11});
}

TEST_CASE("a gradient of an input that is not there is refused") {
  const Tensor x = leaf({2}, {1, 2});
  Tape tape;
  const Tensor y = record("asks", {x}, clone(x), [](const Tensor& dy, Grads& grads) { grads.add(1, dy); });
  CHECK_THROWS_WITH(tape.backward(sum(y)),
                    "backward of asks: a gradient of input 1; there are 1 inputs, counted from 0");
}

TEST_CASE("a derivative of the wrong shape or type is refused") {
  const Tensor x = leaf({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto loss_with = [&](const Tensor& wrong) {
    return sum(record("careless", {x}, clone(x), [wrong](const Tensor&, Grads& grads) { grads.add(0, wrong); }));
  };
  {
    Tape tape;
    CHECK_THROWS_WITH(tape.backward(loss_with(ones({3, 2}, DType::f64))),
                      ContainsSubstring("careless") && ContainsSubstring("(3, 2)") && ContainsSubstring("(2, 3)"));
  }
  Tape tape;
  CHECK_THROWS_WITH(tape.backward(loss_with(ones({2, 3}))),
                    ContainsSubstring("careless") && ContainsSubstring("f32") && ContainsSubstring("f64"));
}

TEST_CASE("a gradient is summed over the axes that its input was repeated along") {
  const Tensor x = leaf({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  Tape tape;
  tape.backward(
      sum(record("repeats", {x}, x.expand({5, 2, 4, 3}), [](const Tensor& dy, Grads& grads) { grads.add(0, dy); })));
  CHECK(x.grad().shape() == Shape{2, 1, 3});
  CHECK(x.grad().to_vector() == Values(6, 20));
}

TEST_CASE("an exception in the backward pass leaves the thread ready for the next tape") {
  const Tensor x = leaf({}, {3});
  {
    Tape tape;
    const Tensor loss = visited(x * x, [] { fail("a derivative that fails"); }) * 2.0;
    CHECK_THROWS_WITH(tape.gradients(loss, {x}, CreateGraph::yes), ContainsSubstring("a derivative that fails"));
    CHECK(Tape::recording() == &tape);
    CHECK_THROWS_WITH(tape.backward(loss), ContainsSubstring("a derivative that fails"));
    CHECK(Tape::recording() == &tape);
  }
  CHECK(Tape::recording() == nullptr);
  Tape tape;
  tape.backward(x * x);
  CHECK(x.grad().item() == 6);
}

TEST_CASE("nothing is recorded while a tape runs backward") {
  const Tensor x = leaf({}, {3});
  Tape* within = nullptr;
  Tape tape;
  tape.backward(visited(x, [&] { within = Tape::recording(); }));
  CHECK(within == nullptr);
  CHECK(Tape::recording() == &tape);
}

TEST_CASE("nothing is recorded under NoGrad, within a tape and after its backward pass") {
  const Tensor x = leaf({2}, {1, 2});
  Tape tape;
  const Tensor y = x * x;
  {
    const NoGrad no_grad;
    CHECK(Tape::recording() == nullptr);
    { const NoGrad nested; }
    CHECK_THROWS_WITH(tape.backward(sum(x)), ContainsSubstring("was not recorded on this tape"));
    CHECK_THROWS_WITH(tape.gradients(sum(y), {x}, CreateGraph::yes), ContainsSubstring("gradients: "));
    // What is to be differentiated is protected here, too.
    CHECK_THROWS_WITH(copy(x, y), ContainsSubstring("copy: a gradient flows"));
    Tensor same = y;
    CHECK_THROWS_WITH(add_in_place(same, x), ContainsSubstring("add_in_place: a gradient flows"));
  }
  CHECK(tape.size() == 1);
  tape.backward(sum(y));
  CHECK(x.grad().to_vector() == Values{2, 4});

  CHECK_THROWS_WITH(x * 2.0, ContainsSubstring("compute under NoGrad what needs no gradient"));
  const NoGrad no_grad;
  CHECK((x * 2.0).to_vector() == Values{2, 4});
  copy(x - x.grad(), x);
  CHECK(x.to_vector() == Values{-1, -2});
}

TEST_CASE("a leaf's gradient is no result of a tape, even where it has taken the place of one") {
  auto is_free = [](const Tensor& leaf, auto&& loss_of) {
    Tape tape;
    const Tensor loss = loss_of(leaf + 1.0);  // a sum, whose derivative hands on what it is given
    tape.backward(loss);
    CHECK_NOTHROW(leaf.grad() * 2.0);
    CHECK_NOTHROW(leaf.grad().set_requires_grad());
  };
  const Tensor k = f64({1, 2}, {3, 4});
  is_free(leaf({2, 2}, {1, 2, 3, 4}), [&](const Tensor& q) { return sum(attention(q, k, k, Mask::none(), 1)); });
  is_free(leaf({1, 2}, {1, 2}), [](const Tensor& logits) { return cross_entropy(logits, Ids({0})); });
}

TEST_CASE("an entry and what it holds is dropped as soon as it has run") {
  const Tensor x = leaf({}, {3});
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  bool gone = false;
  Tape tape;
  const Tensor inner = visited(x, [&] { gone = watched.expired(); });
  const Tensor loss = visited(inner, [held] {});
  held.reset();
  CHECK_FALSE(watched.expired());
  tape.backward(loss);
  CHECK(gone);
  CHECK(tape.size() == 0);
}

TEST_CASE("a tape that is thrown away gives back what it holds") {
  const std::size_t before = memory_stats().current;
  {
    const Tensor x = leaf({1000}, Values(1000, 1));
    Tape tape;
    Tensor y = x;
    for (int i = 0; i < 10; ++i) y = tanh(y);
    CHECK(memory_stats().current > before + 10 * 8000);
  }
  CHECK(memory_stats().current == before);
}

TEST_CASE("an operand lives on only for a gradient that is wanted") {
  constexpr std::size_t bytes = 80'000;
  const Tensor x = leaf({100, 100}, Values(10'000, 0.5)), constant = f64({100, 100}, Values(10'000, 0.5));
  using Operation = Tensor (*)(const Tensor&, const Tensor&);
  // Of a chain of ten, all of whose results are of x's size.
  const auto held = [&](Operation operation, const Tensor& other) {
    const std::size_t before = memory_stats().current;
    Tape tape;
    Tensor y = x;
    for (int i = 0; i < 10; ++i) y = operation(y, other);
    return memory_stats().current - before;
  };
  const Tensor wanted = f64({100, 100}, Values(10'000, 0.5)).set_requires_grad();
  const Operation map = [](const Tensor& y, const Tensor& weight) { return linear(y, weight); };
  for (Operation operation : {Operation(mul), Operation(div), Operation(matmul), map}) {
    CHECK(held(operation, constant) < 2 * bytes);
    CHECK(held(operation, wanted) > 9 * bytes);
  }
}

TEST_CASE("a gradient does not depend on whether the other operand wants one, too") {
  using Operation = Tensor (*)(const Tensor&, const Tensor&);
  const Tensor a = positive({3, 3}, 1), b = positive({3, 3}, 2);
  for (Operation operation :
       {Operation(add), Operation(sub), Operation(mul), Operation(div), Operation(pow), Operation(maximum),
        Operation(matmul), Operation([](const Tensor&x, const Tensor&weight) { return linear(x, weight); })}) {
    const auto both = gradients_of([&](const auto& v) { return operation(v[0], v[1]); }, {a, b});
    CHECK(gradient_of([&](const Tensor& x) { return operation(x, b); }, a) == both[0].to_vector());
    CHECK(gradient_of([&](const Tensor& x) { return operation(a, x); }, b) == both[1].to_vector());
  }
}

TEST_CASE("a derivative that reads what it did not keep is told which one it is, and why") {
  const Tensor x = leaf({2}, {1, 2}), constant = f64({2}, {3, 4});
  Tape tape;
  const Tensor kept = keep_for(constant, x);  // for the gradient of a constant, which nobody wants
  const Tensor y =
      record("scale", {x, constant}, copy_of(x * constant), [kept, constant](const Tensor& dy, Grads& grads) {
        grads.add(0, dy * constant);
        grads.add(1, dy * kept);
      });
  CHECK_THROWS_WITH(tape.backward(sum(y)),
                    ContainsSubstring("backward of scale: an undefined tensor was used; what keep_for() keeps"));
}

TEST_CASE("backward frees on its way") {
  constexpr std::int64_t bytes = 80'000;
  const Tensor x = leaf({10'000}, Values(10'000, 0.5));
  const auto peak_and_end = [&](Tensor (*operation)(const Tensor&)) {
    Tape tape;
    Tensor y = x;
    for (int i = 0; i < 50; ++i) y = operation(y);
    const Tensor loss = sum(y);
    y = Tensor();
    reset_peak_memory();
    const auto before = static_cast<std::int64_t>(memory_stats().current);
    tape.backward(loss);
    return std::pair(static_cast<std::int64_t>(memory_stats().peak) - before,
                     static_cast<std::int64_t>(memory_stats().current) - before);
  };
  const auto values = peak_and_end(tanh);  // which keeps its result
  CHECK(values.second < -48 * bytes);
  const auto gradients = peak_and_end(neg);  // which keeps nothing: what is left are the gradients themselves
  CHECK(gradients.first < 8 * bytes);
}

TEST_CASE("a derivative writes over the gradient that it is given, if nobody else sees that") {
  const Shape shape{100, 100};
  constexpr std::size_t bytes = 100 * 100 * 8;
  const Tensor factor = away_from_zero(shape, 2), weight = ones({100}, DType::f64);
  const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&)>>> operations{
      {"exp", [](const Tensor& x) { return exp(x); }},
      {"gelu", [](const Tensor& x) { return gelu(x); }},
      {"abs", [](const Tensor& x) { return abs(x); }},
      {"relu", [](const Tensor& x) { return relu(x); }},
      {"layer_norm", [&](const Tensor& x) { return layer_norm(x, weight, weight); }},
      {"dropout", [](const Tensor& x) {
         Generator generator(1);
         return dropout(x, 0.5, generator);
       }}};
  for (const auto& named : operations) {
    CAPTURE(named.first);
    auto gradient_and_growth = [&](bool keep) {
      const Tensor x = away_from_zero(shape, 1).set_requires_grad();
      Tensor seen;
      std::size_t before = 0, growth = 0;
      auto look = [&](const Tensor& dx, Grads& grads) {
        growth = memory_stats().peak - before;
        grads.add(0, dx);
      };
      auto give = [&](const Tensor& dz, Grads& grads) {
        Tensor dy = dz * factor;
        if (keep) seen = dy;
        grads.add(0, std::move(dy));
        reset_peak_memory();
        before = memory_stats().current;
      };
      Tape tape;
      const Tensor y = named.second(record("looks", {x}, clone(x), look));
      tape.backward(sum(record("gives", {y}, clone(y), give)));
      if (keep) CHECK(same_bits(seen, factor));
      return std::pair(x.grad(), growth);
    };
    const auto [alone, growth_alone] = gradient_and_growth(false);
    const auto [shared, growth_shared] = gradient_and_growth(true);
    CHECK(same_bits(alone, shared));
    CHECK(growth_alone < bytes / 2);
    CHECK(growth_shared >= bytes);
  }
}

TEST_CASE("training steps neither grow memory nor ask the system again") {
  const Tensor w = away_from_zero({8, 8}, 1, DType::f32).set_requires_grad(), x = away_from_zero({4, 8}, 2, DType::f32);
  const auto step = [&] {
    Tape tape;
    tape.backward(mean(tanh(matmul(x, w)) * 2.0));
  };
  step();
  step();
  const MemoryStats after_two = memory_stats();
  for (int i = 0; i < 1000; ++i) step();
  const MemoryStats after_all = memory_stats();
  CHECK(after_all.current == after_two.current);
  CHECK(after_all.peak == after_two.peak);
  CHECK(after_all.system_allocations == after_two.system_allocations);
}

TEST_CASE("a tape of a million entries runs, and is freed, on a small stack") {
  static double gradient;
  static std::size_t entries;
  on_thread_with_stack(256 << 10, [] {
    const Tensor x = scalar(1).set_requires_grad();
    {
      Tape tape;
      const Tensor y = long_product(x, many);
      entries = tape.size();
      tape.backward(y);
    }
    {
      Tape tape;  // never runs
      long_product(x, many / 10);
    }
    gradient = x.grad().item();
  });
  CHECK(entries == many);
  CHECK(gradient == 1);
}

TEST_CASE("a tape names the leaves that it has read, each once") {
  const Tensor x = leaf({2}, {1, 2}), y = leaf({2}, {3, 4}), constant = f64({2}, {5, 6});
  Tape tape;
  CHECK(tape.leaves().empty());
  const Tensor z = x * y * x + constant;
  REQUIRE(tape.leaves().size() == 2);
  CHECK((tape.leaves()[0].same(x) && tape.leaves()[1].same(y)));
}

TEST_CASE("a tape shows its entries") {
  const Tensor x = leaf({2, 3}, {1, 2, 3, 4, 5, 6});
  Tape tape;
  CHECK(tape.to_string() == "");
  const Tensor y = x * f64({3}, {1, 2, 3});
  sum(y + y);
  CHECK(tape.to_string() ==
        "0  mul  (2, 3)  <- leaf (2, 3), constant\n"
        "1  add  (2, 3)  <- 0, 0\n"
        "2  sum  ()  <- 1\n");
}

TEST_CASE("what a tape records may not be changed in place") {
  Tensor x = f64({2}, {1, 2});
  x.set_requires_grad();
  {
    Tape tape;
    Tensor y = x * x, constant = f64({2}, {1, 1});
    CHECK_THROWS_WITH(add_in_place(x, constant), ContainsSubstring("add_in_place: a gradient flows to x (2,)"));
    CHECK_THROWS_WITH(add_in_place(y, constant), ContainsSubstring("use x + y"));
    CHECK_NOTHROW(add_in_place(constant, constant));
    CHECK_THROWS_WITH(add_in_place(constant, y), ContainsSubstring("y (2,) needs a gradient, which does not flow"));
    CHECK_THROWS_WITH(add_in_place(constant, x), ContainsSubstring("use x + y, or detach(y)"));
    CHECK_NOTHROW(add_in_place(constant, detach(y)));
    tape.backward(sum(y));
    CHECK(x.grad().to_vector() == Values{2, 4});
    CHECK_FALSE(needs_gradient(x));  // none is still to come
    add_in_place(x, x.grad() * -0.5);
    CHECK(x.to_vector() == Values{0, 0});
  }
  CHECK_NOTHROW(add_in_place(x, x));
}

TEST_CASE("a tape that dies on another thread leaves that thread's own alone") {
  std::unique_ptr<Tape> foreign;
  std::thread([&] { foreign = std::make_unique<Tape>(); }).join();
  const Tape own;
  foreign.reset();
  CHECK(Tape::recording() == &own);
}
