#pragma once
// Optimizers: what turns gradients into better parameters.
//
//     Adam optimizer(model.parameters(), {.learning_rate = 1e-3});
//     ...
//     tape.backward(loss);
//     clip_grad_norm(model.parameters(), 1.0);
//     optimizer.step();
//     optimizer.zero_grad();
//
// An optimizer's constructor throws if there is no parameter, or one is given twice or is not contiguous. Rates, decays
// and epsilon must be finite and not negative, momentum and betas at least 0 and below 1.
//
// A parameter without a gradient is left alone. The updates are PyTorch's, number for number. They are the same, bit
// for bit, whether an embedding's gradient is dense or the few rows that were read (row_gradient.h). Neither holds for
// lazy Adam, below.

#include <initializer_list>
#include <string>
#include <vector>

#include "autograd/tensor.h"

namespace reel::optim {

/// Parameters that share a weight decay.
struct ParameterGroup {
  std::vector<Tensor> parameters;
  double weight_decay = 0;
};

/// What an optimizer trains: groups, {{weights, 0.1}, {biases, 0}}, or parameters that do not decay, {w, b} or a
/// std::vector of them.
struct ParameterGroups : std::vector<ParameterGroup> {
  using vector::vector;
  ParameterGroups(const std::vector<Tensor>& parameters) : vector{{parameters, 0}} {}
  ParameterGroups(std::initializer_list<Tensor> parameters) : ParameterGroups(std::vector<Tensor>(parameters)) {}
};

/// Two groups: matrices (two axes or more), tables of embeddings among them, decay; biases and scales of norms do not.
ParameterGroups decay_matrices_only(const std::vector<Tensor>& parameters, double weight_decay);

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// One update of every parameter that has a gradient.
  void step();
  /// Drops all gradients.
  void zero_grad();

  double learning_rate() const { return learning_rate_; }
  /// Throws unless it is finite and not negative.
  void set_learning_rate(double rate);

  /// What has to be kept to go on later: "7.step", "7.exp_avg", ... for parameter 7 in the order of the groups. The
  /// tensors themselves, not copies: the next step changes them. Rates, betas and the like are not among them.
  NamedTensors state_dict() const;
  /// Throws, and changes nothing, unless it is the state of such an optimizer over such parameters.
  void load_state_dict(const NamedTensors& state);

 protected:
  /// One parameter and what an optimizer keeps beside it, one tensor of its shape for each of moment_names.
  struct Slot {
    Tensor parameter;
    double weight_decay;
    std::vector<Tensor> moments;
  };

  Optimizer(const ParameterGroups& groups, double learning_rate, std::vector<std::string> moment_names);
  /// Changes the numbers of slot.parameter, which has a gradient, and of its moments. t counts steps from 1.
  virtual void update(const Slot& slot, double t) = 0;

 private:
  double learning_rate_ = 0;
  std::vector<std::string> moment_names_;
  std::vector<Slot> slots_;
  std::vector<Tensor> steps_;  // how many each slot has taken: f64, 0-d
};

struct SGDOptions {
  double learning_rate = 1e-3;
  double momentum = 0;
};

/// Stochastic gradient descent with momentum: v = momentum v + g, x = x - rate v, where v starts as 0. Decay is added
/// to the gradient. Sutskever et al.: "On the importance of initialization and momentum in deep learning" (2013).
/// Without momentum and decay, a step only touches the rows of a table that were read.
class SGD : public Optimizer {
 public:
  explicit SGD(const ParameterGroups& groups, const SGDOptions& options = {});

 private:
  void update(const Slot& slot, double t) override;
  SGDOptions options_;
};

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  /// Updates only the rows of a table that were read since the last step, as TensorFlow's LazyAdam and PyTorch's
  /// SparseAdam do (which adds epsilon before the bias correction). Plain Adam also moves the other rows, by momentum
  /// and decay, so a step costs as much as the whole table; a lazy one costs as much as the rows read. Worth it where
  /// these are few and the table is much of the model. It is another algorithm: the moments of a row do not decay while
  /// it is not read, but the bias correction counts all steps. A dense gradient reads every row: that of a table tied
  /// to an output layer, and one that grad() has been asked for (tensor.h).
  bool lazy = false;
};

/// Each number x moves by about the rate, however large its gradient g is:
///     m = β₁ m + (1 - β₁) g,   v = β₂ v + (1 - β₂) g²,   x = x - rate m̂ / (√v̂ + ε),
/// where m̂ = m / (1 - β₁ᵗ) and v̂ = v / (1 - β₂ᵗ) make up for m and v starting as 0; t counts steps from 1. Decay is
/// added to the gradient. Kingma, Ba: "Adam: a method for stochastic optimization" (2014).
class Adam : public Optimizer {
 public:
  explicit Adam(const ParameterGroups& groups, const AdamOptions& options = {});

 protected:
  enum class Decay { in_gradient, decoupled };
  Adam(const ParameterGroups& groups, const AdamOptions& options, Decay decay);

 private:
  void update(const Slot& slot, double t) override;
  AdamOptions options_;
  Decay decay_;
};

/// Adam whose decay shrinks the parameters themselves: first x = x - rate decay x, then as above, of the gradient
/// alone. Loshchilov, Hutter: "Decoupled weight decay regularization" (2017). As for all optimizers, it is the groups
/// that say how much they decay: without any, this is Adam (PyTorch's AdamW then decays by 0.01).
class AdamW : public Adam {
 public:
  explicit AdamW(const ParameterGroups& groups, const AdamOptions& options = {})
      : Adam(groups, options, Decay::decoupled) {}
};

}  // namespace reel::optim
