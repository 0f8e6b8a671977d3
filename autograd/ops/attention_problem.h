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

/// Each sequence of a packed batch is a text of its own; a padded batch is one text, its sequences side by side in the
/// leading axes.
struct AttentionProblem {
  /// Where a text's part begins in log_sums and weights, in numbers, and in the random words, in blocks of them.
  struct Offsets {
    int64_t log_sums = 0, weights = 0, random_blocks = 0;
  };
  /// Rows of q, a sequence's queries, and those of k and v that they attend to.
  struct Text {
    int64_t first_query = 0, queries = 0, first_key = 0, keys = 0;
    Offsets own{};
    int64_t heads_kept = 0;
  };

  Tensor q, k, v;  // (..., T, D), (..., S, D), (..., S, E): leading axes of k and v are repeated to those of q
  Mask mask;
  double scale, drop;
  std::vector<Text> texts;
  Generator::State random{};  // where the words start that weights are dropped by
  Shape batch{};              // one head for each index: q's leading axes, the last one cut into groups of heads
  int64_t together = 1;       // how many heads a group has
  // What the backward pass needs, too; weights of those heads that keep them.
  Tensor out{}, log_sums{}, weights{};

  /// Forms the groups, says where the numbers of each text begin, and makes room for them.
  void lay_out(Generator& generator);

  kernels::AttentionShape shape(const Text& text) const;
  Generator::State random_of(const Text& text) const;

  HeadsOf heads_of(const Tensor& x) const;
  /// For a gradient that the heads of a group share: (..., H / together, S, _).
  HeadsOf groups_of(const Tensor& dx) const;
  /// Room for such a gradient, of k or v (..., S, _).
  Tensor room_for_groups(const Tensor& x) const;

  /// body(text, shape, its weights) for every text, several of them in parallel.
  template <class T, class Body>
  void for_each_text(const Body& body) const {
    const auto count = std::ssize(texts);
    kernels::parallel_for(count, kernels::attention_grain(work(), count), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Text& text = texts[static_cast<std::size_t>(i)];
        prefetch_text<T>(text);
        body(text, shape(text), weights.data<T>() + text.own.weights);
      }
    });
  }

 private:
  /// Multiplications in the forward products.
  int64_t work() const;
  /// Gets a text's q, k and v into the cache, where that pays.
  template <class T>
  void prefetch_text(const Text& text) const;
};

}  // namespace reel
