#pragma once
// What attention's two directions share: how heads are cut into blocks of queries and keys, what a block's scores are,
// and who works on which.

#include <algorithm>

#include "autograd/kernels/attention.h"
#include "autograd/kernels/pack.h"
#include "autograd/kernels/parallel.h"
#include "autograd/kernels/philox.h"
#include "autograd/kernels/simd.h"

namespace reel::kernels::attention_blocks {

// What is worked on at once. Forward, a block of queries meets all keys: few enough queries that their scores stay in
// the second cache, and enough of them that a pass over keys and values pays. Scores are computed a block of keys at a
// time, even so. Backward, a block of keys meets a larger block of queries (attention_backward.cpp). Within a block,
// products leave out what nobody sees: those that compute scores stop at the last key that a panel of queries sees, the
// others leave out what lies outside the band of the weights.
inline constexpr int64_t query_block = 64;
inline constexpr int64_t key_block = 128;
static_assert(query_block % panel_width<float> == 0);

/// Buffers of one thread, which it keeps from one head to the next.
template <class T>
struct Workspace {
  Buffer<T> q, dout, q_columns, dout_columns, weights, dropped, dscores, k, v, dots;
  Buffer<std::uint32_t> words;

  static Workspace& of_this_thread() {
    thread_local Workspace workspace;
    return workspace;
  }
};

/// Rows of scores have room for whole vectors. What stands behind the last query takes part in computations, but no
/// result of it is used.
template <class T>
int64_t padded(int64_t queries) {
  return round_up(queries, lanes<T>);
}

/// How far apart the rows of weights (S, T) lie: whole vectors, but never a multiple of 1 KiB: the numbers of a column
/// would then compete for a few places in the caches.
template <class T>
int64_t weights_stride(int64_t queries) {
  const int64_t stride = padded<T>(queries);
  const bool competes = stride > 0 && stride * static_cast<int64_t>(sizeof(T)) % 1024 == 0;
  return competes ? stride + lanes<T> : stride;
}

/// Some keys and some queries of a head: their scores and weights are a matrix (S, T).
struct Block {
  Range keys, queries;
};

/// How many of the keys, from the first one on, queries before `end` may see.
inline int64_t keys_seen(const AttentionShape& shape, Range keys, int64_t end) {
  return std::clamp<int64_t>(end + shape.reach - keys.begin, 0, keys.size());
}

/// Where a block's weights may differ from zero.
inline Band band_of(const AttentionShape& shape, const Block& block) {
  return {.begin = block.keys.begin - block.queries.begin - shape.reach};
}

/// Rows of x as the right operand of a product: transposed, in panels.
template <class T>
void as_columns(Matrix<const T> x, int64_t rows, int64_t width, T* to) {
  for (int64_t i = 0; i < rows; i += panel_width<T>) {
    pack_panel(x.at(i, 0).transposed(), width, std::min(rows - i, panel_width<T>), to + i * width);
  }
}

/// How much room as_columns() needs, in elements.
template <class T>
int64_t columns_size(int64_t rows, int64_t width) {
  return round_up(rows, panel_width<T>) * width;
}

/// a (S, width) times what as_columns() has made: (S, T). Keys that no query of a panel sees are left out, and keys
/// that only its later queries see are multiplied with these alone: set_seen() fills in the rest. Without masks it is
/// (S, padded(T)), for whole vectors are faster then; the last columns mean nothing.
template <class T>
void multiply_columns(const AttentionShape& shape, const Block& block, int64_t width, Matrix<const T> a,
                      const T* columns, Matrix<T> out) {
  constexpr int64_t queries_at_once = std::min<int64_t>(panel_width<T>, 16);  // steps of 8 cost more than they save
  const int64_t count = has_masks ? block.queries.size() : padded<T>(block.queries.size());
  // Every panel reads all keys: these are so few at a time that they stay in the second cache until the last one has.
  for (int64_t first = 0; first < block.keys.size(); first += key_block) {
    const int64_t last = std::min(first + key_block, block.keys.size());
    for (int64_t i = 0; i < count; i += panel_width<T>) {
      const T* const panel = columns + i * width;
      const int64_t end = std::min(count, i + panel_width<T>);
      int64_t begun = first;  // keys
      for (int64_t j = i; j < end; j += queries_at_once) {
        const int64_t seen = keys_seen(shape, block.keys, block.queries.begin + j + queries_at_once);
        const Range keys{begun, std::clamp(seen, begun, last)};
        matmul<T>(keys.size(), end - j, width, a.at(keys.begin, 0), {panel + j - i, panel_width<T>, 1},
                  out.at(keys.begin, j).data, out.row_stride);
        begun = keys.end;
      }
    }
  }
}

/// For the vector of queries from j on: to(s, j) = value(s) for every key s that one of them may see, 0 for the others.
template <class T, class Value>
void set_seen(const AttentionShape& shape, const Block& block, int64_t j, Matrix<T> to, const Value& value) {
  const int64_t seen = keys_seen(shape, block.keys, block.queries.begin + j + lanes<T>);
  for (int64_t s = 0; s < seen; ++s) store(to.at(s, j).data, value(s));
  for (int64_t s = seen; s < block.keys.size(); ++s) store(to.at(s, j).data, splat(T(0)));
}

/// x itself, or a copy whose rows lie close together. Where they are nearer than pages, that costs more than it gains,
/// even for low tiles.
template <class T>
Matrix<const T> staged(Matrix<const T> x, int64_t rows, int64_t width, Buffer<T>& buffer, bool must_copy = false) {
  if (!must_copy && x.col_stride == 1 && !far_apart<T>(x.row_stride)) return x;
  return compact(x, rows, width, buffer.room(compact_size<T>(rows, width)));
}

template <class T>
void clear_rows(int64_t rows, int64_t width, Matrix<T> x) {
  for (int64_t i = 0; i < rows; ++i) std::fill_n(x.at(i, 0).data, width, T(0));
}

/// Sets scores (S, T) to -inf where the query does not see the key.
template <class T>
void hide(const AttentionShape& shape, const std::int32_t* hidden, const Block& block, Matrix<T> scores) {
  constexpr T nothing = -std::numeric_limits<T>::infinity();
  const int64_t count = padded<T>(block.queries.size());
  const int64_t seen_by_all = hidden ? 0 : keys_seen(shape, block.keys, block.queries.begin);
  for (int64_t key = block.keys.begin + seen_by_all; key < block.keys.end; ++key) {
    const bool from_all = hidden && hidden[key] != 0;
    const int64_t blind = std::clamp<int64_t>(key - shape.reach - block.queries.begin, 0, count);
    std::fill_n(scores.at(key - block.keys.begin, 0).data, from_all ? count : blind, nothing);
  }
}

/// The matrices of one head.
template <class T>
struct Head {
  int64_t index;
  Matrix<const T> q, k, v;
  const std::int32_t* hidden;
};

/// How many blocks of random words a row of weights takes.
inline int64_t blocks_for(int64_t queries) { return divide_up(queries, words_per_block); }

/// The random words that drop the weights of a block: a row for each key, of whole blocks of words.
inline const std::uint32_t* draw_words(const AttentionShape& shape, int64_t head, const Block& block,
                                       Buffer<std::uint32_t>& buffer) {
  const int64_t row = blocks_for(shape.queries), part = blocks_for(block.queries.size()), keys = block.keys.size();
  const int64_t start = (head * shape.keys + block.keys.begin) * row + block.queries.begin / words_per_block;
  std::uint32_t* words = buffer.room(keys * part * words_per_block);
  const int64_t keys_at_once = part == row ? keys : 1;
  for (int64_t s = 0; s < keys; s += keys_at_once) {
    philox4x32_words(keys_at_once * part, shape.dropout.first_block + static_cast<std::uint64_t>(start + s * row),
                     shape.dropout.key, words + s * part * words_per_block);
  }
  return words;
}

/// to = from (S, T), dropped by these words; `to` may be `from`.
template <class T>
void drop_weights(const DropoutMask& mask, const std::uint32_t* words, const Block& block,
                  std::type_identity_t<Matrix<const T>> from, Matrix<T> to) {
  const int64_t count = block.queries.size();
  for (int64_t s = 0; s < block.keys.size(); ++s) {
    drop(mask, count, words + s * blocks_for(count) * words_per_block, from.at(s, 0).data, to.at(s, 0).data);
  }
}

/// The kept weights (S, T) of a head, from this key and query on.
template <class T>
Matrix<T> weights_at(const AttentionShape& shape, T* kept, int64_t key, int64_t query) {
  return Matrix<T>{kept, weights_stride<std::remove_const_t<T>>(shape.queries), 1}.at(key, query);
}

/// From this many heads on, each thread takes whole ones. Fewer are cut into parts, though then threads read the same
/// keys and values or, in the backward pass, wait for each other.
inline constexpr int64_t enough_heads = 4;

/// How many queries, or keys, such a part has: few, so that many threads get one, but a whole panel.
inline constexpr int64_t part_of_head = 32;
static_assert(part_of_head % panel_width<float> == 0);

/// The backward pass reads the kept weights of this many keys together, or of a number that divides it, from a multiple
/// of that on. It leaves out queries that see none of these keys, in whole panels: of a whole block of such queries it
/// reads nothing.
inline int64_t keys_read_at_once(const AttentionShape& shape) {
  static_assert(key_block % part_of_head == 0);
  return product(shape.batch) >= enough_heads ? key_block : part_of_head;
}

/// Which of `count` parts stands at `place` in this order: the first, the last, the second, the last but one, and so
/// on. Under a causal mask the last queries see most keys, and the first keys are seen by most queries: in this order,
/// both halves of the parts are equally much work.
constexpr int64_t halves_alike(int64_t place, int64_t count) {
  return place % 2 == 0 ? place / 2 : count - 1 - place / 2;
}

/// Head i's part of the kept weights; null if it keeps none. Heads that keep them are less work for the backward pass:
/// they are spread evenly among the others, so that threads have equally much to do.
template <class T>
T* weights_of(const AttentionShape& shape, T* weights, int64_t i) {
  const int64_t heads = product(shape.batch), before = i * shape.heads_kept / heads;
  if ((i + 1) * shape.heads_kept / heads == before) return nullptr;
  return weights + before * weights_size<std::remove_const_t<T>>(shape);
}

/// Which keys are hidden from a head.
inline const std::int32_t* hidden_keys(const AttentionShape& shape, int64_t head) {
  if (!shape.hidden) return nullptr;
  return shape.hidden + head / product(shape.batch.subspan(1)) * shape.keys;
}

}  // namespace reel::kernels::attention_blocks
