#include "nn/module.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "autograd/error.h"

namespace reel::nn {
namespace {

/// The first few, so that weights of another model do not fill the screen.
std::string some_of(const std::vector<std::string>& problems) {
  constexpr std::size_t most = 6;
  std::string all;
  for (std::size_t i = 0; i < std::min(problems.size(), most); ++i) all += (i == 0 ? "" : "; ") + problems[i];
  return problems.size() > most ? text(all, "; and ", problems.size() - most, " more like these") : all;
}

/// Bit by bit, so that a NaN is itself.
bool same_numbers(const Tensor& a, const Tensor& b) {
  constexpr auto bits = [](double number) { return std::bit_cast<std::uint64_t>(number); };
  return std::ranges::equal(a.to_vector(), b.to_vector(), {}, bits, bits);
}

}  // namespace

// Here, so that not every file that includes a layer compiles them.
Module::Module() = default;
Module::Module(const Module&) = default;
Module& Module::operator=(const Module&) = default;
Module::~Module() = default;

void Module::load_state_dict(const StateDict& state) {
  std::vector<std::string> here, there;  // what the model lacks, what the state has that it should not
  std::vector<const Tensor*> values;     // for each parameter
  for (const auto& [name, parameter] : parameters_) {
    const Tensor* const own = find(state, name);
    const Tensor* value = own;
    for (const auto& [other_name, other] : parameters_) {
      if (&other == &parameter || !other.same(parameter)) continue;
      const Tensor* const others = find(state, other_name);
      if (!value) value = others;                                                // files may name tied weights once
      if (own && others && name < other_name && !same_numbers(*own, *others)) {  // said once of each two
        here.push_back(text(name, " and ", other_name, " differ, but are one tensor in the model"));
      }
    }
    if (!value) {
      here.push_back(name + " is missing");
    } else if (value->shape() != parameter.shape()) {
      here.push_back(text(name, " is ", value->shape(), ", the model's is ", parameter.shape()));
    }
    values.push_back(value);
  }
  for (const auto& [name, value] : state) {
    if (!find(parameters_, name)) there.push_back(name + " is not in the model");
    if (find(state, name) != &value) there.push_back(name + " is there twice");
  }
  if (!here.empty() || !there.empty()) {
    fail("load_state_dict: the weights are of another model: ", some_of(here),
         here.empty() || there.empty() ? "" : "; ", some_of(there));
  }
  for (std::size_t i = 0; i < values.size(); ++i) copy(*values[i], parameters_[i].second);
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
  for (const Tensor& parameter : parameters()) parameter.zero_grad();
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
  if (find(parameters_, name)) fail("Module: there are two tensors named ", name, "; need a name of its own for each");
  parameters_.emplace_back(name, value);
  return value;
}

void Module::adopt(const std::string& prefix, const Module& part) {
  for (const auto& [key, parameter] : part.parameters_) state(prefix + key, parameter);
  modes_of_parts_.push_back(part.mode_);
  modes_of_parts_.insert(modes_of_parts_.end(), part.modes_of_parts_.begin(), part.modes_of_parts_.end());
}

}  // namespace reel::nn
