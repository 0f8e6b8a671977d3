#pragma once
// What the golden tests share: the files that PyTorch made (see make_golden.py), and how Reel is compared with them.
//
// A difference is measured against the largest magnitude of the whole expected tensor: max |actual - expected| /
// max |expected|. NaN and infinities must stand in the same places. Both ways of comparing nothing fail: what a test
// asks for must be in the file, and what is in the file must have been asked for.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/safetensors.h"
#include "autograd/tape.h"
#include "data/file.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

namespace reel::tests {

inline double difference(const Tensor& actual, const Tensor& expected) {
  if (actual.shape() != expected.shape()) return infinity;
  const std::vector<double> a = actual.to_vector(), e = expected.to_vector();
  double error = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i]))) {
      if (std::isfinite(e[i])) largest = std::max(largest, std::abs(e[i]));
      continue;
    }
    if (!std::isfinite(a[i]) || !std::isfinite(e[i])) return infinity;
    error = std::max(error, std::abs(a[i] - e[i]));
    largest = std::max(largest, std::abs(e[i]));
  }
  return error == 0 ? 0 : error / largest;
}

inline Tensor to(DType dtype, const Tensor& x) {
  Tensor result(x.shape(), dtype);
  copy(x, result);
  return result;
}

/// What a case starts from: numbers, and ids.
struct Given {
  std::vector<Tensor> x;
  std::vector<Ids> ids;
};

/// A golden file, which knows what of it has been looked at.
class Golden {
 public:
  explicit Golden(const std::string& file) {
    for (auto& [name, tensor] : read_safetensors(data::read_file(REEL_SOURCE_DIR "/tests/golden/" + file)).tensors) {
      tensors_[name] = tensor;
      unread_.insert(name);
    }
  }

  bool has(const std::string& name) const { return tensors_.contains(name); }

  Tensor get(const std::string& name, DType dtype) {
    if (!has(name)) fail("the golden file has no ", name);
    unread_.erase(name);
    return to(dtype, tensors_[name]);
  }

  Ids ids(const std::string& name) {
    std::vector<std::int32_t> values;
    const Tensor numbers = get(name, DType::f64);
    for (double value : numbers.to_vector()) values.push_back(static_cast<std::int32_t>(value));
    return Ids(numbers.shape(), values);
  }

  /// All tensors that are named prefix + something, by that something.
  NamedTensors group(const std::string& prefix, DType dtype) {
    NamedTensors result;
    for (auto at = tensors_.lower_bound(prefix); at != tensors_.end() && at->first.starts_with(prefix); ++at) {
      result.emplace_back(at->first.substr(prefix.size()), get(at->first, dtype));
    }
    return result;
  }

  /// The inputs of a case; those of numbers ask for gradients.
  Given given(const std::string& name, DType dtype) {
    Given result;
    for (auto& [i, x] : group(name + ".input.", dtype)) result.x.push_back(x.set_requires_grad());
    for (const auto& [i, index] : group(name + ".ids.", dtype)) result.ids.push_back(ids(name + ".ids." + i));
    return result;
  }

  void check(const std::string& name, const Tensor& actual, double tolerance) {
    INFO(name << " in " << actual.dtype());
    CHECK(difference(actual, get(name, DType::f64)) <= tolerance);
  }

  /// Nothing in the file may be left over.
  void check_all_read() const { CHECK(unread_ == std::set<std::string>{}); }

 private:
  std::map<std::string, Tensor> tensors_;
  std::set<std::string> unread_;
};

using Functions = std::map<std::string, std::function<Tensor(const Given&)>>;

/// Compares every function's value, and its gradients where there are any, with the case of the same name in the file.
inline void check_functions(const std::string& file, const Functions& functions, DType dtype, double tolerance) {
  Golden golden(file);
  for (const auto& [name, f] : functions) {
    INFO(name << " in " << dtype);
    REQUIRE(golden.has(name + ".output"));
    const Given given = golden.given(name, dtype);
    Tape tape;
    const Tensor y = f(given);
    CHECK(y.dtype() == dtype);
    golden.check(name + ".output", y, tolerance);
    if (!golden.has(name + ".cotangent")) continue;
    tape.backward(sum(y * golden.get(name + ".cotangent", dtype)));
    for (std::size_t i = 0; i < given.x.size(); ++i) {
      const Tensor& x = given.x[i];
      const Tensor dx = x.grad().defined() ? x.grad() : zeros(x.shape(), dtype);  // x has no part in y
      golden.check(name + ".grad." + std::to_string(i), dx, tolerance);
    }
  }
  golden.check_all_read();
}

}  // namespace reel::tests
