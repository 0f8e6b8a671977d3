#include "nn/recurrent.h"

#include "tests/nn/training.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

/// check(layer) for an RNN and a GRU that read 3 numbers and remember 4.
template <class Check>
void for_both(const Check& check) {
  manual_seed(80);
  check(RNN(3, 4, DType::f64));
  check(GRU(3, 4, DType::f64));
}

}  // namespace

TEST_CASE("recurrent: names, shapes and PyTorch's initial values") {
  for_both([](const Recurrent& layer) {
    CHECK(names(layer) == std::vector<std::string>{"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"});
    const States states = layer(normal({2, 5, 3}, 1));
    CHECK(states.all.shape() == Shape{2, 5, 4});
    CHECK(states.last.shape() == Shape{2, 4});
    CHECK(same_bits(states.all.select(1, 4), states.last));
    for (const auto& [name, weight] : layer.state_dict()) {
      for (double value : weight.to_vector()) CHECK(std::abs(value) <= 0.5);  // 1/√4
    }
  });
  CHECK(RNN(3, 4).weight_ih.shape() == Shape{4, 3});
  CHECK(GRU(3, 4).weight_ih.shape() == Shape{12, 3});
  CHECK(GRU(3, 4).weight_hh.shape() == Shape{12, 4});
}

TEST_CASE("recurrent: the formulas, for one step from a state") {
  manual_seed(81);
  const Tensor x = normal({2, 3}, 2), h = normal({2, 4}, 3);
  const RNN rnn(3, 4, DType::f64);
  const Tensor by_hand = tanh(linear(x, rnn.weight_ih, rnn.bias_ih) + linear(h, rnn.weight_hh, rnn.bias_hh));
  CHECK(close(rnn(x.unsqueeze(1), h).last, by_hand));

  const GRU gru(3, 4, DType::f64);
  auto gate = [](int64_t i, const Tensor& all) { return all.slice(1, 4 * i, 4 * (i + 1)); };
  const Tensor in = linear(x, gru.weight_ih, gru.bias_ih), own = linear(h, gru.weight_hh, gru.bias_hh);
  const Tensor r = sigmoid(gate(0, in) + gate(0, own)), z = sigmoid(gate(1, in) + gate(1, own));
  const Tensor n = tanh(gate(2, in) + r * gate(2, own));
  CHECK(close(gru(x.unsqueeze(1), h).last, (1.0 - z) * n + z * h));
}

TEST_CASE("recurrent: reads on from where it stopped") {
  for_both([](const Recurrent& layer) {
    const Tensor x = normal({2, 5, 3}, 4);
    const States whole = layer(x), first = layer(x.slice(1, 0, 2)), second = layer(x.slice(1, 2, 5), first.last);
    CHECK(close(cat({first.all, second.all}, 1), whole.all));
    CHECK(close(second.last, whole.last));
  });
}

TEST_CASE("recurrent: who reads nothing knows what it knew") {
  for_both([](const Recurrent& layer) {
    const Tensor nothing = zeros({2, 0, 3}, DType::f64), h = normal({2, 4}, 7);
    CHECK(layer(nothing).all.shape() == Shape{2, 0, 4});
    CHECK(layer(nothing).last.to_vector() == Values(8, 0));
    CHECK(same_bits(layer(nothing, h).last, h));
    CHECK(layer(zeros({0, 5, 3}, DType::f64)).all.shape() == Shape{0, 5, 4});
  });
}

TEST_CASE("recurrent: the future changes no bit of earlier states") {
  for_both([](const Recurrent& layer) {
    const Tensor x = normal({2, 5, 3}, 5), changed = clone(x);
    overwrite_row(changed.select(0, 0), 3);
    const Tensor y = layer(x).all, z = layer(changed).all;
    CHECK(same_bits(y.slice(1, 0, 3), z.slice(1, 0, 3)));
    CHECK_FALSE(same_bits(y.slice(1, 3, 5), z.slice(1, 3, 5)));
    CHECK(same_bits(y.select(0, 1), z.select(0, 1)));
  });
}

TEST_CASE("recurrent: passes over padding, wherever it stands") {
  for_both([](const Recurrent& layer) {
    const Tensor x = normal({3, 4, 3}, 6), h = normal({3, 4}, 7);
    const Ids hidden({3, 4}, {0, 0, 1, 1,  //
                              1, 0, 1, 0,  //
                              1, 1, 1, 1});
    const States padded = layer(x, h, hidden);
    auto alone = [&](int64_t b, const std::vector<int64_t>& times) {
      return layer(rows(x.slice(0, b, b + 1), 1, times), h.slice(0, b, b + 1)).last.select(0, 0);
    };
    CHECK(close(padded.last.select(0, 0), alone(0, {0, 1})));
    CHECK(close(padded.last.select(0, 1), alone(1, {1, 3})));
    CHECK(same_bits(padded.last.select(0, 2), h.select(0, 2)));
    CHECK(same_bits(padded.all.select(0, 0).select(0, 3), padded.last.select(0, 0)));

    const Tensor changed = clone(x);
    overwrite_row(changed.select(0, 0), 2);
    overwrite_row(changed.select(0, 1), 0);
    CHECK(same_bits(layer(changed, h, hidden).all, padded.all));
  });
}

TEST_CASE("recurrent: gradients of parameters, input and state, padded or not") {
  for_both([](const Recurrent& layer) {
    const Tensor x = normal({2, 3, 3}, 8), h = normal({2, 4}, 9);
    const Ids hidden({2, 3}, {0, 0, 0, 0, 1, 1});
    CHECK(check_parameters(layer, [&] { return layer(x).all; }).problem == "");
    CHECK(check_parameters(layer, [&] { return layer(x, h, hidden).last; }).problem == "");
    CHECK(gradcheck([&](const auto& in) { return layer(in[0], in[1]).all; }, {x, h}).problem == "");
    CHECK(gradcheck([&](const auto& in) { return layer(in[0], in[1], hidden).last; }, {x, h}).problem == "");
  });
}

namespace {

/// Says which of two classes a text is of by the last state.
template <class Layer>
struct Reader : Module {
  Reader() : layer(child("layer", Layer(1, 8))), to_classes(child("to_classes", Linear(8, 2))) {}
  Layer layer;
  Linear to_classes;
};

template <class Layer>
void check_remembers_the_first_number() {
  manual_seed(82);
  const Tensor x = normal({32, 6, 1}, 10, DType::f32);
  Ids positive = Ids::zeros({32});
  for (int64_t b = 0; b < 32; ++b) positive.data()[b] = x.select(0, b).select(0, 0).item() > 0;
  const Reader<Layer> model;
  auto loss = [&] { return cross_entropy(model.to_classes(model.layer(x).last), positive); };
  CHECK(learn(model, loss, 400) <= 0.05);
}

}  // namespace

TEST_CASE("recurrent: learns to remember how a text began") {
  check_remembers_the_first_number<RNN>();
  check_remembers_the_first_number<GRU>();
}

TEST_CASE("recurrent: what does not fit is an error") {
  for_both([](const Recurrent& layer) {
    CHECK_THROWS_WITH(layer(normal({5, 3}, 11)), ContainsSubstring("Recurrent: x is (5, 3)"));
    const Tensor x = normal({2, 5, 3}, 12);
    CHECK_THROWS_WITH(layer(x, normal({2, 3}, 13)), ContainsSubstring("the initial state is (2, 3); need (2, 4)"));
    CHECK_THROWS_WITH(layer(x, {}, Ids::zeros({2, 4})), ContainsSubstring("padding is (2, 4); need (2, 5)"));
    CHECK_THROWS_AS(layer(normal({2, 5, 2}, 14)), Error);
  });
  CHECK_THROWS_WITH(RNN(3, 0), ContainsSubstring("Recurrent: the width is 0; need at least 1"));
  CHECK_THROWS_WITH(GRU(3, -1), ContainsSubstring("Recurrent: the width is -1"));
}
