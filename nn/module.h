#pragma once
// Module: the base of every layer and model. It has named parameters, and a mode: training or evaluation.
//
// A layer names its parameters and its parts where it initialises them, and that is all it does for the base:
//
//     struct TwoLayers : Module {
//       TwoLayers(int64_t width) : hidden(child("hidden", Linear(width, 4 * width))), ... {}
//       Tensor operator()(const Tensor& x) const { return out(relu(hidden(x))); }
//       Linear hidden, out;
//     };
//
// The dotted names (hidden.weight) are those of the PyTorch models that Reel follows, so that weights cross over in
// both directions. Parameters are handles: a copy of a module shares them, as in PyTorch, and its mode, too. What is
// not named is not trained, saved or set to evaluation. To give a parameter other numbers, copy() them into it:
// assigned, a tensor takes the place of the named one in the layer alone.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/error.h"
#include "autograd/tensor.h"

namespace reel::nn {

/// Parameters by their dotted names, in the order of declaration.
using StateDict = NamedTensors;

class Module {
 public:
  Module(const Module& other);
  Module& operator=(const Module& other);
  virtual ~Module();

  /// All parameters and those of all parts, frozen ones too. The tensors are the parameters themselves, not copies.
  const StateDict& state_dict() const { return parameters_; }
  /// Overwrites the parameters by those of the same names; of a tensor with several, tied weights, one is enough.
  /// Throws, and changes nothing, if a name is missing or unknown, a shape differs, or tied weights do; the message
  /// lists the first of each kind.
  virtual void load_state_dict(const StateDict& state);
  /// What an optimizer trains: every parameter that needs a gradient, each once.
  std::vector<Tensor> parameters() const;
  /// How many numbers those are.
  int64_t parameter_count() const;
  void zero_grad() const;

  /// In training, dropout drops; in evaluation it does nothing. Modules start in training.
  void train(bool on = true);
  void eval() { train(false); }
  bool training() const { return *mode_; }

 protected:
  Module();
  // Each of these throws if there is a tensor of that name already.

  /// Names a parameter; it will be trained.
  Tensor parameter(const std::string& name, Tensor initial);
  /// Registers a tensor as part of the state; it is trained only if it already requires a gradient.
  Tensor state(const std::string& name, Tensor value);
  /// Names a part, whose parameters become "name.parameter" of this module.
  template <class Part>
  Part child(const std::string& name, Part part) {
    adopt(name + ".", part);
    return part;
  }
  /// A part whose parameters keep their names here.
  template <class Part>
  Part merged(Part part) {
    adopt("", part);
    return part;
  }
  /// `count` parts, each from make(), named "name.0", "name.1", ...
  template <class Make>
  auto children(const std::string& name, int64_t count, Make make) {
    if (count < 0) fail("Module: ", count, " parts called ", name, "; need at least 0");
    std::vector<decltype(make())> parts;
    for (int64_t i = 0; i < count; ++i) parts.push_back(child(name + "." + std::to_string(i), make()));
    return parts;
  }

 private:
  void adopt(const std::string& prefix, const Module& part);

  StateDict parameters_;
  std::shared_ptr<bool> mode_ = std::make_shared<bool>(true);
  std::vector<std::shared_ptr<bool>> modes_of_parts_;
};

}  // namespace reel::nn
