#include "nn/module.h"

#include <algorithm>

#include "autograd/error.h"

namespace reel::nn {
namespace {

const Tensor* find(const StateDict& state, const std::string& name) {
  for (const auto& [key, value] : state) {
    if (key == name) return &value;
  }
  return nullptr;
}

}  // namespace

void Module::load_state_dict(const StateDict& state) {
  std::string problems;
  auto complain = [&](const std::string& problem) { problems += (problems.empty() ? "" : "; ") + problem; };
  for (const auto& [name, parameter] : parameters_) {
    const Tensor* value = find(state, name);
    if (!value) {
      complain(name + " is missing");
    } else if (value->shape() != parameter.shape()) {
      complain(text(name, " is ", value->shape(), ", the model's is ", parameter.shape()));
    }
  }
  for (const auto& [name, value] : state) {
    if (!find(parameters_, name)) complain(name + " is not in the model");
    if (find(state, name) != &value) complain(name + " is there twice");
  }
  if (!problems.empty()) fail("load_state_dict: the weights are of another model: ", problems);

  for (const auto& [name, parameter] : parameters_) copy(*find(state, name), parameter);
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> trained;
  for (const auto& named : parameters_) {
    const Tensor& parameter = named.second;
    const bool seen = std::any_of(trained.begin(), trained.end(), [&](const Tensor& t) { return t.same(parameter); });
    if (parameter.requires_grad() && !seen) trained.push_back(parameter);
  }
  return trained;
}

int64_t Module::parameter_count() const {
  int64_t count = 0;
  for (const Tensor& parameter : parameters()) count += parameter.numel();
  return count;
}

void Module::zero_grad() const {
  for (Tensor parameter : parameters()) parameter.zero_grad();
}

void Module::train(bool on) {
  *mode_ = on;
  for (const auto& mode : modes_of_parts_) *mode = on;
}

Tensor Module::parameter(const std::string& name, Tensor initial) {
  initial.set_requires_grad();
  return state(name, std::move(initial));
}

Tensor Module::state(const std::string& name, Tensor value) {
  add(name, value);
  return value;
}

void Module::add(const std::string& name, const Tensor& value) {
  if (find(parameters_, name)) fail("Module: there are two tensors named ", name, "; need a name of its own for each");
  parameters_.emplace_back(name, value);
}

void Module::adopt(const std::string& prefix, const Module& part) {
  for (const auto& [key, parameter] : part.parameters_) add(prefix + key, parameter);
  modes_of_parts_.push_back(part.mode_);
  modes_of_parts_.insert(modes_of_parts_.end(), part.modes_of_parts_.begin(), part.modes_of_parts_.end());
}

}  // namespace reel::nn
