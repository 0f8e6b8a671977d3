// Layers, and functions without parameters, against PyTorch.

#include "nn/layers.h"

#include "nn/attention.h"
#include "nn/feed_forward.h"
#include "nn/multi_head_attention.h"
#include "nn/pooling.h"
#include "nn/positions.h"
#include "nn/recurrent.h"
#include "nn/transformer_block.h"
#include "tests/golden/comparison.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

// As in layers.py.
constexpr int64_t width = 8, heads = 2, hidden_width = 12;

const std::vector<std::pair<std::string, Mask>> masks = {
    {"none", Mask::none()}, {"causal", Mask::causal()}, {"first", Mask::first()}};
const std::vector<std::pair<std::string, Norm>> norms = {
    {"post", Norm::post}, {"pre", Norm::pre}, {"none", Norm::none}};

/// forward(layer, given) of what takes x and a mask.
auto under(const Mask& mask) {
  return [mask](const auto& layer, const Given& in) { return layer(in.x[0], mask); };
}

void check_attention(Comparison& compare) {
  for (const auto& [name, mask] : masks) {
    compare.layer("single_head_attention." + name, SingleHeadAttention(width, compare.dtype), under(mask));
    compare.layer("wide_attention." + name, WideAttention(width, heads, compare.dtype), under(mask));
  }
  const auto self = [](const MultiHeadAttention& attention, const Given& in) {
    const Attended y = attention(in.x[0], Mask::padding(in.ids[0]) & Mask::causal(), KeepMaps::yes);
    return flat({y.output, y.maps});
  };
  const auto cross = [](const MultiHeadAttention& attention, const Given& in) {
    const Attended y = attention(in.x[0], in.x[1], Mask::padding(in.ids[0]), KeepMaps::yes);
    return flat({y.output, y.maps});
  };
  for (const auto& [name, norm] : norms) {
    const MultiHeadAttention::Config config{.width = width, .heads = heads, .norm = norm, .dtype = compare.dtype};
    compare.layer("multi_head_attention.self." + name, MultiHeadAttention(config), self);
    compare.layer("multi_head_attention.cross." + name, MultiHeadAttention(config), cross);
  }
}

void check_blocks(Comparison& compare) {
  const auto block = [&](TransformerBlock::Options options) {
    options.dtype = compare.dtype;
    return TransformerBlock(width, heads, options);
  };
  compare.layer("transformer_block.post", block({}), under(Mask::causal()));
  compare.layer("transformer_block.pre", block({.norm = Norm::pre}), under(Mask::causal()));
  compare.layer("transformer_block.gelu", block({.hidden = hidden_width, .activation = Activation::gelu}),
                under(Mask::causal()));
  compare.layer("transformer_block.padded", block({}), [](const TransformerBlock& f, const Given& in) {
    return f(in.x[0], Mask::padding(in.ids[0]) & Mask::causal());
  });
  for (const auto& [name, norm] : norms) {
    compare.layer("conv_feed_forward." + name, ConvFeedForward(width, hidden_width, 0, norm, compare.dtype));
  }
}

void check_recurrent(Comparison& compare) {
  const auto from_state = [](const Recurrent& f, const Given& in) {
    const States states = f(in.x[0], in.x[1]);
    return flat({states.all, states.last});
  };
  const auto padded = [](const Recurrent& f, const Given& in) {
    const States states = f(in.x[0], {}, in.ids[0]);
    return flat({states.all, states.last});
  };
  compare.layer("rnn", RNN(5, width, compare.dtype), from_state);
  compare.layer("rnn.padded", RNN(5, width, compare.dtype), padded);
  compare.layer("gru", GRU(5, width, compare.dtype), from_state);
  compare.layer("gru.padded", GRU(5, width, compare.dtype), padded);
}

void check_layers(DType dtype) {
  Comparison compare("layers.safetensors", dtype);
  compare.layer("linear", Linear(5, 7, Bias::yes, dtype));
  compare.layer("linear_without_bias", Linear(5, 7, Bias::no, dtype));
  compare.layer("layer_norm", LayerNorm(9, 1e-5, dtype));
  compare.layer("conv1d", Conv1d(3, 4, 3, {.stride = 2, .padding = 2, .dilation = 2}, Bias::yes, dtype));
  check_attention(compare);
  check_blocks(compare);
  check_recurrent(compare);
  compare.check_all_read();
}

/// What has no parameters.
void check_functions_of_nn(DType dtype) {
  Functions all;
  all["basic_self_attention"] = [](const Given& in) { return basic_self_attention(in.x[0]); };
  const auto attend = [](const Mask& mask) {
    return [mask](const Given& in) { return dot_product_attention(in.x[0], in.x[1], in.x[2], mask); };
  };
  for (const auto& [name, mask] : masks) all["dot_product_attention." + name] = attend(mask);
  all["dot_product_attention.more_keys"] = attend(Mask::causal());
  all["dot_product_attention.padded"] = [](const Given& in) {
    return dot_product_attention(in.x[0], in.x[1], in.x[2], Mask::causal() & Mask::padding(in.ids[0]));
  };
  for (const auto& [name, pooling] : {std::pair{"mean", Pooling::mean}, {"max", Pooling::max}}) {
    all[text("pool.", name)] = [pooling = pooling](const Given& in) {
      return pool(pooling, in.x[0], Ids::zeros({in.x[0].size(0), in.x[0].size(1)}));
    };
    all[text("pool.", name, ".padded")] = [pooling = pooling](const Given& in) {
      return pool(pooling, in.x[0], in.ids[0]);
    };
  }
  for (int64_t columns : {8, 5}) {
    all[text("sinusoidal_positions.width_", columns)] = [=](const Given&) {
      return sinusoidal_positions(7, columns, dtype);
    };
  }
  check_functions("functions.safetensors", all, dtype, dtype == DType::f32 ? 1e-5 : 1e-10);
}

}  // namespace

TEST_CASE("golden: layers agree with PyTorch in f64") { check_layers(DType::f64); }
TEST_CASE("golden: layers agree with PyTorch in f32") { check_layers(DType::f32); }
TEST_CASE("golden: functions of nn agree with PyTorch in f64") { check_functions_of_nn(DType::f64); }
TEST_CASE("golden: functions of nn agree with PyTorch in f32") { check_functions_of_nn(DType::f32); }
