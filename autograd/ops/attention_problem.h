#pragma once
// What attention has to compute and how it is laid out: texts, groups of heads, the random words that weights are
// dropped by, and the numbers that the backward pass gets from the forward pass. attention.cpp computes.
//
// T queries, S keys, D their width, E the width of values.

#include <cstdint>
#include <type_traits>
#include <vector>

#include "autograd/kernels/attention.h"
#include "autograd/kernels/parallel.h"
#include "autograd/mask.h"
#include "autograd/random.h"
#include "autograd/tensor.h"

namespace reel {

/// The matrices of x (..., rows, width), one for each head, as kernels want them.
struct HeadsOf {
  Tensor x;
  Strides strides;

  /// Those from a row on.
  template <class T>
  kernels::Heads<T> from(int64_t row) const {
    const kernels::Matrix<T> first{x.data<std::remove_const_t<T>>(), x.stride(-2), x.stride(-1)};
    return {first.at(row, 0), strides};
  }
};

/// All texts of a padded batch at once, or each text of a packed one.
struct AttentionProblem {
  /// How many numbers, and blocks of random words, earlier parts have.
  struct Offsets {
    int64_t log_sums = 0, weights = 0, random_blocks = 0;
  };
  /// Rows of q, and those of k and v that they see.
  struct Part {
    int64_t first_query = 0, queries = 0, first_key = 0, keys = 0;
    Offsets own{};
    int64_t heads_kept = 0;
  };

  Tensor q, k, v;  // (..., T, D), (..., S, D), (..., S, E): leading axes of k and v are repeated to those of q
  Mask mask;
  double scale, drop;
  std::vector<Part> parts;
  Generator::State random{};  // where the words start that weights are dropped by
  Shape batch{};              // one head for each index: q's leading axes, the last one cut into groups of heads
  int64_t together = 1;       // how many heads a group has
  // What the backward pass needs, too; weights of those heads that keep them.
  Tensor out{}, log_sums{}, weights{};

  /// Forms the groups, says where the numbers of each part begin, and makes room for them.
  void lay_out(Generator& generator);

  kernels::AttentionShape shape(const Part& part) const;
  Generator::State random_of(const Part& part) const;

  HeadsOf heads_of(const Tensor& x) const;
  /// For a gradient that the heads of a group share: (..., H / together, S, _).
  HeadsOf groups_of(const Tensor& dx) const;
  /// Room for such a gradient, of k or v (..., S, _).
  Tensor room_for_groups(const Tensor& x) const;

  /// body(part, shape, its weights) for every part, several of them in parallel.
  template <class T, class Body>
  void for_each_part(const Body& body) const {
    const auto count = std::ssize(parts);
    kernels::parallel_for(count, kernels::attention_grain(work(), count), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Part& part = parts[static_cast<std::size_t>(i)];
        bring_near<T>(part);
        body(part, shape(part), weights.data<T>() + part.own.weights);
      }
    });
  }

 private:
  /// Multiplications in the forward products.
  int64_t work() const;
  /// Reads a part of q, k and v into the cache.
  template <class T>
  void bring_near(const Part& part) const;
};

}  // namespace reel
