#pragma once
// What attention's two directions share: how heads are cut into blocks of queries and keys, what a block's scores are,
// and who works on which.

#include <algorithm>
#include <vector>

#include "autograd/kernels/attention.h"
#include "autograd/kernels/pack.h"
#include "autograd/kernels/parallel.h"
#include "autograd/kernels/simd.h"

namespace reel::kernels::attention_blocks {

// What is worked on at once. Forward: few enough queries that their scores of all keys stay in the second cache, and
// enough of them that a pass over keys and values pays. On the way back: the weights of some keys and many queries
// (attention_backward.cpp), with all that is made of them.
inline constexpr int64_t query_block = 64;
inline constexpr int64_t key_block = 128;

// Queries of a forward and keys of a backward block where some see less than others: the smaller a block, the more of
// what nobody sees is left out.
inline constexpr int64_t causal_block = 32;
static_assert(causal_block % panel_width<float> == 0 && query_block % causal_block == 0);

/// Buffers of one thread, which it keeps from one head to the next.
template <class T>
struct Workspace {
  std::vector<T> q, dout, q_columns, dout_columns, weights, dropped, dweights, k, v, dq_parts, dots;
  std::vector<std::uint32_t> words;

  static Workspace& of_this_thread() {
    thread_local Workspace workspace;
    return workspace;
  }
};

/// Rows of scores have room for whole vectors. What stands behind the last query is computed with, but never used.
template <class T>
int64_t padded(int64_t queries) {
  return round_up(queries, lanes<T>);
}

/// Rows of x as the right operand of a product: transposed, in panels.
template <class T>
const T* as_columns(Matrix<const T> x, int64_t rows, int64_t width, std::vector<T>& buffer) {
  T* to = room(buffer, (rows + panel_width<T>)*width);
  for (int64_t i = 0; i < rows; i += panel_width<T>) {
    pack_panel(x.at(i, 0).transposed(), width, std::min(rows - i, panel_width<T>), to + i * width);
  }
  return to;
}

/// a (m, width) times those columns: (m, count). Without masks (m, padded(count)), whose last columns mean nothing:
/// whole vectors are faster.
template <class T>
void multiply_columns(int64_t m, int64_t width, Matrix<const T> a, const T* columns, int64_t count, Matrix<T> out) {
  for (int64_t i = 0; i < count; i += panel_width<T>) {
    matmul<T>(m, std::min(panel_width<T>, has_masks ? count - i : padded<T>(count - i)), width, a,
              {columns + i * width, panel_width<T>, 1}, out.data + i, out.row_stride);
  }
}

/// x itself, or a copy whose rows lie close together.
template <class T>
Matrix<const T> staged(Matrix<const T> x, int64_t rows, int64_t width, std::vector<T>& buffer) {
  if (x.col_stride == 1 && !far_apart<T>(x.row_stride)) return x;
  return compact(x, rows, width, room(buffer, compact_size<T>(rows, width)));
}

/// The size of blocks, unless some queries see less than others.
inline int64_t block_size(const AttentionShape& shape, int64_t largest) {
  return shape.reach < shape.keys - 1 ? causal_block : largest;
}

/// How many keys the queries of a block that ends here may see: none beyond these, if whole blocks of keys meet whole
/// panels of queries.
inline int64_t keys_seen(const AttentionShape& shape, int64_t end) {
  const int64_t block = block_size(shape, key_block);
  const int64_t seen = std::clamp<int64_t>(round_up(end, block) + shape.reach, 0, shape.keys);
  return std::min(round_up(seen, block), shape.keys);
}

/// Sets the scores (S, T) of the keys from `first_key` on to -inf where the queries from `first` on see nothing.
template <class T>
void hide(const AttentionShape& shape, const std::int32_t* hidden, int64_t first_key, int64_t keys, int64_t first,
          int64_t count, Matrix<T> scores) {
  constexpr T nothing = -std::numeric_limits<T>::infinity();
  for (int64_t s = 0; s < keys; ++s) {
    const int64_t key = first_key + s;
    const bool from_all = hidden && hidden[key] != 0;
    std::fill_n(scores.at(s, 0).data, from_all ? count : std::clamp<int64_t>(key - shape.reach - first, 0, count),
                nothing);
  }
}

/// Some of a head's queries or keys.
struct Range {
  int64_t begin, end;
};

/// The matrices of one head.
template <class T>
struct Head {
  int64_t index;
  Matrix<const T> q, k, v;
  const std::int32_t* hidden;
};

/// Blocks of four random words for a row of weights.
inline int64_t blocks_for(int64_t queries) { return (queries + 3) / 4; }

/// The random words for weights of these keys and queries: rows of whole blocks.
inline const std::uint32_t* draw_words(const AttentionShape& shape, int64_t head, int64_t first_key, int64_t keys,
                                       int64_t first, int64_t count, std::vector<std::uint32_t>& buffer) {
  const int64_t row = blocks_for(shape.queries), part = blocks_for(count);
  const int64_t start = (head * shape.keys + first_key) * row + first / 4;
  std::uint32_t* words = room(buffer, keys * part * 4);
  const int64_t rows_at_once = part == row ? keys : 1;
  for (int64_t s = 0; s < keys; s += rows_at_once) {
    philox4x32_words(rows_at_once * part, shape.dropout.first_block + static_cast<std::uint64_t>(start + s * row),
                     shape.dropout.key, words + s * part * 4);
  }
  return words;
}

/// to = from (S, T), dropped by these words; they may be the same.
template <class T>
void drop_weights(const DropoutMask& mask, const std::uint32_t* words, int64_t keys, int64_t count,
                  std::type_identity_t<Matrix<const T>> from, Matrix<T> to) {
  for (int64_t s = 0; s < keys; ++s) {
    drop(mask, count, words + s * blocks_for(count) * 4, from.at(s, 0).data, to.at(s, 0).data);
  }
}

/// The block of a head's weights (S, T) that starts here, if they are kept.
template <class T>
Matrix<T> weights_at(const AttentionShape& shape, T* kept, int64_t key, int64_t query) {
  return Matrix<T>{kept, padded<std::remove_const_t<T>>(shape.queries), 1}.at(key, query);
}

/// Into how many stripes the `count` queries or keys of a head are cut: heads are what threads share, if there are
/// enough.
inline int64_t stripes_of(const AttentionShape& shape, int64_t count) {
  constexpr int64_t enough_heads = 4, most_stripes = 4;
  return product(shape.batch) < enough_heads ? std::clamp<int64_t>(count / query_block, 1, most_stripes) : 1;
}

/// Under a causal mask the last queries see most, and the first keys are seen by most. The most work goes first.
enum class Order { first_to_last, last_to_first };

/// body(head, stripe, range) for all stripes of `count` queries or keys of all heads, on several threads; `together` of
/// the heads, in a row, on the same.
template <class Body>
void for_each_stripe(const AttentionShape& shape, int64_t count, Order order, int64_t together, const Body& body) {
  const int64_t stripes = stripes_of(shape, count), parts = product(shape.batch) / together * stripes;
  const int64_t length = round_up(count / stripes, query_block);
  parallel_for(parts, attention_grain(shape.work(), parts), [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t stripe = order == Order::first_to_last ? part % stripes : stripes - 1 - part % stripes;
      const int64_t last = stripe + 1 == stripes ? count : std::min(count, (stripe + 1) * length);
      const Range range{std::min(count, stripe * length), last};
      for (int64_t i = 0; i < together; ++i) body(part / stripes * together + i, stripe, range);
    }
  });
}

/// Head i's part of the weights that are kept, null where its own are not.
template <class T>
T* weights_of(const AttentionShape& shape, T* weights, int64_t i) {
  return i < shape.heads_kept ? weights + i * weights_size<std::remove_const_t<T>>(shape) : nullptr;
}

/// Which keys are hidden from a head.
inline const std::int32_t* hidden_keys(const AttentionShape& shape, int64_t head) {
  if (!shape.hidden) return nullptr;
  return shape.hidden + head / product(shape.batch.subspan(1)) * shape.keys;
}

}  // namespace reel::kernels::attention_blocks
