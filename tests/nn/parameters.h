#pragma once
// What the tests of layers and models share: random inputs, and comparisons of states.

#include <string>
#include <vector>

#include "nn/gradcheck.h"
#include "tests/autograd/values.h"

namespace reel::tests {

inline Tensor normal(const Shape& shape, std::uint64_t seed, DType dtype = DType::f64) {
  Generator generator(seed);
  return randn(shape, dtype, generator);
}

inline Ids random_ids(const Shape& shape, int64_t vocabulary, std::uint64_t seed) {
  Generator generator(seed);
  Ids ids = Ids::zeros(shape);
  for (std::int32_t& id : ids.values()) id = static_cast<std::int32_t>(generator.below(vocabulary));
  return ids;
}

inline std::vector<std::string> names(const nn::Module& module) {
  std::vector<std::string> result;
  for (const auto& [name, value] : module.state_dict()) result.push_back(name);
  return result;
}

/// Equal but for rounding: at most `margin` apart in every element.
inline bool close(const Tensor& a, const Tensor& b, double margin = 1e-12) {
  if (a.shape() != b.shape()) return false;
  for (double difference : (a - b).to_vector()) {
    if (!(std::abs(difference) <= margin)) return false;
  }
  return true;
}

/// The rows `order` of an axis of x, in this order.
inline Tensor rows(const Tensor& x, int axis, const std::vector<int64_t>& order) {
  std::vector<Tensor> picked;
  for (int64_t index : order) picked.push_back(x.select(axis, index));
  return stack(picked, axis);
}

/// Writes other numbers over row `row` of a table.
inline void overwrite_row(const Tensor& table, int64_t row) {
  copy(normal(table.select(0, row).shape(), 77, table.dtype()), table.select(0, row));
}

/// Copies of what the state holds now.
inline NamedTensors snapshot(const NamedTensors& state) {
  NamedTensors result;
  for (const auto& [name, value] : state) result.emplace_back(name, clone(value));
  return result;
}

inline bool same_bits(const NamedTensors& a, const NamedTensors& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].first != b[i].first || !same_bits(a[i].second, b[i].second)) return false;
  }
  return true;
}

using nn::check_parameters;

}  // namespace reel::tests
