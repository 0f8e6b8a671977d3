#pragma once
// Optimizers: what turns gradients into better parameters.
//
//     AdamW optimizer({{model.parameters(), 0.1}}, {.learn_rate = 1e-3});
//     ...
//     tape.backward(loss);
//     clip_grad_norm(model.parameters(), 1.0);
//     optimizer.step();
//     optimizer.zero_grad();
//
// An optimizer's constructor throws if a parameter is given twice or is not contiguous, and unless rates, decays and
// epsilon are finite and not negative, momentum and betas from 0 to below 1.
//
// A parameter without a gradient is left alone. The updates are PyTorch's, number for number. They are the same, bit
// for bit, whether an embedding's gradient is dense or the few rows that were read (row_gradient.h).

#include <string>
#include <vector>

#include "autograd/tensor.h"

namespace reel::optim {

/// Parameters that share a weight decay.
struct ParameterGroup {
  std::vector<Tensor> parameters;
  double weight_decay = 0;
};

/// Two groups: matrices (two axes or more) decay, biases and the scales of norms do not.
std::vector<ParameterGroup> decay_matrices_only(const std::vector<Tensor>& parameters, double weight_decay);

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// One update of every parameter that has a gradient.
  void step();
  /// Drops all gradients.
  void zero_grad();

  double learn_rate() const { return learn_rate_; }
  /// Throws unless it is finite and not negative.
  void set_learn_rate(double rate);

  /// What has to be kept to go on later: "7.step", "7.exp_avg", ... for parameter 7 in the order of the groups. The
  /// tensors themselves, not copies: the next step changes them.
  NamedTensors state() const;
  /// Throws, and changes nothing, unless it is the state of such an optimizer over such parameters.
  void load_state(const NamedTensors& state);

 protected:
  /// One parameter and what an optimizer keeps beside it, one tensor of its shape for each of moment_names.
  struct Slot {
    Tensor parameter;
    double weight_decay;
    std::vector<Tensor> moments;
    Tensor steps;  // f64, 0-d
  };

  Optimizer(const std::vector<ParameterGroup>& groups, double learn_rate, std::vector<std::string> moment_names);
  /// Changes slot.parameter, which has a gradient, and its moments. `steps` counts from 1.
  virtual void update(Slot& slot, double steps) = 0;

 private:
  double learn_rate_ = 0;
  std::vector<std::string> moment_names_;
  std::vector<Slot> slots_;
};

/// Stochastic gradient descent with momentum: v = momentum v + g, x = x - rate v. Decay is added to the gradient.
/// Without momentum and decay, the step of a table costs what the rows cost that were read.
class SGD : public Optimizer {
 public:
  struct Options {
    double learn_rate = 1e-3;
    double momentum = 0;
  };
  explicit SGD(const std::vector<ParameterGroup>& groups, const Options& options);

 private:
  void update(Slot& slot, double steps) override;
  Options options_;
};

struct AdamOptions {
  double learn_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  /// Leaves the rows of a table alone that were not read since the last step, as TensorFlow's LazyAdam and PyTorch's
  /// SparseAdam do (which adds epsilon before it corrects the bias). Adam itself moves them on by their momentum and
  /// decays moments and weights, so that each step costs what the table costs; lazy, it costs what the rows cost that
  /// were read. Worth it where these are few of a table that is a large part of the model. It is another algorithm: a
  /// row that is seldom read forgets nothing between, while the bias is corrected by the steps of the whole table. A
  /// gradient that is dense, as that of a table tied to an output layer, reads every row.
  bool lazy = false;
};

/// Kingma, Ba: "Adam: a method for stochastic optimization" (2014). Decay is added to the gradient.
class Adam : public Optimizer {
 public:
  explicit Adam(const std::vector<ParameterGroup>& groups, const AdamOptions& options = {});

 protected:
  enum class Decay { in_gradient, decoupled };
  Adam(const std::vector<ParameterGroup>& groups, const AdamOptions& options, Decay decay);

 private:
  void update(Slot& slot, double steps) override;
  AdamOptions options_;
  Decay decay_;
};

/// Adam whose decay shrinks the parameters themselves. Loshchilov, Hutter: "Decoupled weight decay regularization"
/// (2017).
class AdamW : public Adam {
 public:
  explicit AdamW(const std::vector<ParameterGroup>& groups, const AdamOptions& options = {})
      : Adam(groups, options, Decay::decoupled) {}
};

}  // namespace reel::optim
