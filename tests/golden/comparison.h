#pragma once
// Layers and models against PyTorch: weights that cross over by name, output, loss, every gradient, and the weights
// after three steps of Adam and AdamW with clipping. The cases are those that training.py records.

#include <string>
#include <vector>

#include "nn/module.h"
#include "optim/clip.h"
#include "optim/optimizer.h"
#include "tests/golden/golden.h"

namespace reel::tests {

/// Several outputs as one.
inline Tensor flat(const std::vector<Tensor>& outputs) {
  std::vector<Tensor> rows;
  for (const Tensor& y : outputs) rows.push_back(y.reshape({y.numel()}));
  return cat(rows, 0);
}

/// Compares modules with the cases of a file, all in one dtype.
class Comparison {
 public:
  Comparison(const std::string& file, DType of)
      : dtype(of), golden_(file), tolerance_(of == DType::f32 ? 1e-5 : 1e-9) {}

  /// A layer: forward(layer, given) is its output; the loss is that times a goal, summed.
  template <class Layer, class Forward>
  void layer(const std::string& name, Layer layer, const Forward& forward) {
    const Tensor goal = golden_.get(name + ".goal", dtype);
    compare(
        name, layer, [&](const Given& given) { return forward(layer, given); },
        [&](const Tensor& y) { return sum(y * goal); });
  }
  template <class Layer>
  void layer(const std::string& name, Layer of) {
    layer(name, of, [](const Layer& f, const Given& given) { return f(given.x[0]); });
  }

  /// A model: loss(forward(model, given), the goal's ids) is its loss.
  template <class Model, class Forward, class Loss>
  void model(const std::string& name, Model model, const Forward& forward, const Loss& loss) {
    const Ids goal = golden_.ids(name + ".goal");
    compare(
        name, model, [&](const Given& given) { return forward(model, given); },
        [&](const Tensor& y) { return loss(y, goal); });
  }
  /// One that reads tokens and yields log-probabilities.
  template <class Model>
  void model(const std::string& name, Model of) {
    model(
        name, of, [](const Model& f, const Given& given) { return f(given.ids[0]); },
        [](const Tensor& log_probs, const Ids& goal) { return nll_loss(log_probs, goal); });
  }

  /// What else a module computes, with the weights and from the inputs of a case: compute(given) against name + key.
  template <class Compute>
  void further(const std::string& name, const std::string& key, nn::Module& module, const Compute& compute) {
    module.load_state_dict(golden_.group(name + ".weight.", dtype));
    golden_.check(name + key, compute(golden_.given(name, dtype)), tolerance_);
  }

  /// Nothing in the file may be left over.
  void check_all_read() const { golden_.check_all_read(); }

  const DType dtype;

 private:
  template <class Forward, class Loss>
  void compare(const std::string& name, nn::Module& module, const Forward& forward, const Loss& loss) {
    const Given in = golden_.given(name, dtype);
    module.load_state_dict(golden_.group(name + ".weight.", dtype));
    Tensor y, value;
    {
      Tape tape;
      y = forward(in);
      value = loss(y);
      tape.backward(value);
    }
    CHECK(y.dtype() == dtype);
    golden_.check(name + ".output", y, tolerance_);
    golden_.check(name + ".loss", value, tolerance_);
    for (std::size_t i = 0; i < in.x.size(); ++i) {
      golden_.check(text(name, ".grad_input.", i), in.x[i].grad(), tolerance_);
    }
    for (const auto& [key, parameter] : module.state_dict()) {
      if (parameter.requires_grad()) golden_.check(name + ".grad." + key, parameter.grad(), tolerance_);
    }

    const auto loss_now = [&] { return loss(forward(in)); };
    const optim::AdamOptions options{.learning_rate = 1e-2, .beta1 = 0.9, .beta2 = 0.98};
    optim::Adam adam(module.parameters(), options);
    optim::AdamW adamw({{module.parameters(), 0.1}}, options);
    train(name, ".adam.", module, loss_now, adam);
    train(name, ".adamw.", module, loss_now, adamw);
  }

  template <class Loss>
  void train(const std::string& name, const std::string& kind, nn::Module& module, const Loss& loss,
             optim::Optimizer& optimizer) {
    constexpr double max_norm = 0.1;  // as in training.py
    module.load_state_dict(golden_.group(name + ".weight.", dtype));
    std::vector<double> norms;
    for (int step = 0; step < 3; ++step) {
      optimizer.zero_grad();
      Tape tape;
      tape.backward(loss());
      norms.push_back(optim::clip_grad_norm(module.parameters(), max_norm));
      optimizer.step();
    }
    golden_.check(name + kind + "norms", tensor({3}, norms, dtype), tolerance_);
    for (const auto& [key, parameter] : module.state_dict()) golden_.check(name + kind + key, parameter, tolerance_);
  }

  Golden golden_;
  double tolerance_;
};

}  // namespace reel::tests
