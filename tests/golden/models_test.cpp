// Layers and models against PyTorch: weights that cross over by name, output, loss, every gradient, and the weights
// after three steps of Adam and AdamW with clipping. For a layer the loss is the output times a goal, summed; for a
// language model it is the mean negative log-likelihood.

#include "nn/attention.h"
#include "nn/conv_model.h"
#include "nn/gtransformer.h"
#include "nn/layers.h"
#include "nn/naive_transformer.h"
#include "nn/positions.h"
#include "nn/transformer_block.h"
#include "optim/clip.h"
#include "optim/optimizer.h"
#include "tests/golden/golden.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

// As in models.py.
constexpr int64_t vocabulary = 11, context = 6, width = 8, heads = 2, depth = 2;
constexpr double max_norm = 0.1;

const std::vector<std::pair<std::string, Mask>> masks = {
    {"none", Mask::none()}, {"causal", Mask::causal()}, {"first", Mask::first()}};

Tensor loss_of(const Tensor& y, const Tensor& goal) { return sum(y * goal); }
Tensor loss_of(const Tensor& log_probs, const Ids& goal) { return nll_loss(log_probs, goal); }

/// Compares modules with the cases of a file, all in one dtype.
class Comparison {
 public:
  Comparison(const std::string& file, DType dtype)
      : golden_(file), dtype_(dtype), tolerance_(dtype == DType::f32 ? 1e-5 : 1e-9) {}

  /// What reads numbers.
  template <class Layer, class Forward>
  void layer(const std::string& name, Layer layer, const Forward& forward) {
    Tensor x = golden_.get(name + ".input", dtype_).requires_grad();
    const Tensor goal = golden_.get(name + ".goal", dtype_);
    first_pass(
        name, layer, [&] { return forward(layer, x); }, goal);
    golden_.check(name + ".grad_input", x.grad(), tolerance_);
    train(name, layer, [&] { return loss_of(forward(layer, x), goal); });
  }
  template <class Layer>
  void layer(const std::string& name, Layer of) {
    layer(name, of, [](const Layer& f, const Tensor& x) { return f(x); });
  }

  /// What reads tokens and yields log-probabilities.
  template <class Model, class Forward>
  void model(const std::string& name, Model model, const Forward& forward) {
    const Ids tokens = golden_.ids(name + ".input"), goal = golden_.ids(name + ".goal");
    first_pass(
        name, model, [&] { return forward(model, tokens); }, goal);
    train(name, model, [&] { return loss_of(forward(model, tokens), goal); });
  }
  template <class Model>
  void model(const std::string& name, Model of) {
    model(name, of, [](const Model& f, const Ids& tokens) { return f(tokens); });
  }

  void check_all_read() const { golden_.check_all_read(); }

 private:
  template <class Forward, class Goal>
  void first_pass(const std::string& name, Module& module, const Forward& forward, const Goal& goal) {
    module.load_state_dict(golden_.group(name + ".weight.", dtype_));
    Tape tape;
    const Tensor y = forward();
    const Tensor loss = loss_of(y, goal);
    tape.backward(loss);
    CHECK(y.dtype() == dtype_);
    golden_.check(name + ".output", y, tolerance_);
    golden_.check(name + ".loss", loss, tolerance_);
    for (const auto& [key, parameter] : module.state_dict()) {
      golden_.check(name + ".grad." + key, parameter.grad(), tolerance_);
    }
  }

  template <class Loss>
  void train(const std::string& name, Module& module, const Loss& loss) {
    const optim::AdamOptions options{.learn_rate = 1e-2, .beta1 = 0.9, .beta2 = 0.98};
    optim::Adam adam({{module.parameters()}}, options);
    optim::AdamW adamw({{module.parameters(), 0.1}}, options);
    train(name + ".adam.", module, loss, name, adam);
    train(name + ".adamw.", module, loss, name, adamw);
  }

  template <class Loss>
  void train(const std::string& expected, Module& module, const Loss& loss, const std::string& name,
             optim::Optimizer& optimizer) {
    module.load_state_dict(golden_.group(name + ".weight.", dtype_));
    std::vector<double> norms;
    for (int step = 0; step < 3; ++step) {
      optimizer.zero_grad();
      Tape tape;
      tape.backward(loss());
      norms.push_back(optim::clip_grad_norm(module.parameters(), max_norm));
      optimizer.step();
    }
    golden_.check(expected + "norms", tensor({3}, norms, dtype_), tolerance_);
    for (const auto& [key, parameter] : module.state_dict()) golden_.check(expected + key, parameter, tolerance_);
  }

  Golden golden_;
  DType dtype_;
  double tolerance_;
};

void check_layers(DType dtype) {
  Comparison compare("layers.safetensors", dtype);
  compare.layer("linear", Linear(5, 7, Bias::yes, dtype));
  compare.layer("linear_without_bias", Linear(5, 7, Bias::no, dtype));
  compare.layer("layer_norm", LayerNorm(9, 1e-5, dtype));
  compare.layer("conv1d", Conv1d(3, 4, 3, {.stride = 2, .padding = 2, .dilation = 2}, Bias::yes, dtype));
  for (const auto& [name, mask] : masks) {
    const auto masked = [mask = mask](const auto& attention, const Tensor& x) { return attention(x, mask); };
    compare.layer("single_head_attention." + name, SingleHeadAttention(width, dtype), masked);
    compare.layer("wide_attention." + name, WideAttention(width, heads, dtype), masked);
  }
  compare.layer("transformer_block", TransformerBlock(width, heads, 0, dtype),
                [](const auto& block, const Tensor& x) { return block(x, Mask::causal()); });
  compare.check_all_read();
}

void check_models(DType dtype) {
  Comparison compare("models.safetensors", dtype);
  compare.model("embedding", Embedding(vocabulary, vocabulary, dtype),
                [](const auto& table, const Ids& tokens) { return log_softmax(table(tokens), -1); });
  compare.model(
      "naive_transformer",
      NaiveTransformer(
          {.vocabulary = vocabulary, .context = context, .embedding = width, .depth = depth, .dtype = dtype}));
  compare.model("gtransformer", GTransformer({.vocabulary = vocabulary,
                                              .context = context,
                                              .embedding = width,
                                              .heads = heads,
                                              .depth = depth,
                                              .dtype = dtype}));
  compare.model("conv_model", ConvModel({.vocabulary = vocabulary,
                                         .context = context,
                                         .embedding = width,
                                         .kernel = 3,
                                         .depth = depth,
                                         .dtype = dtype}));
  compare.check_all_read();
}

/// What has no parameters.
void check_functions_of_nn(DType dtype) {
  Functions all;
  all["basic_self_attention"] = [](const Given& in) { return basic_self_attention(in.x[0]); };
  const auto attend = [](const Mask& mask) {
    return [mask](const Given& in) {
      const double scale = 1 / std::sqrt(static_cast<double>(in.x[0].size(-1)));
      return dot_product_attention(in.x[0], in.x[1], in.x[2], mask, scale);
    };
  };
  for (const auto& [name, mask] : masks) all["dot_product_attention." + name] = attend(mask);
  all["dot_product_attention.more_keys"] = attend(Mask::causal());
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
TEST_CASE("golden: models agree with PyTorch in f64") { check_models(DType::f64); }
TEST_CASE("golden: models agree with PyTorch in f32") { check_models(DType::f32); }
TEST_CASE("golden: attention and positions agree with PyTorch in f64") { check_functions_of_nn(DType::f64); }
TEST_CASE("golden: attention and positions agree with PyTorch in f32") { check_functions_of_nn(DType::f32); }
