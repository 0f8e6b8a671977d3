#include "autograd/kernels/attention.h"

#include <algorithm>
#include <vector>

#include "autograd/kernels/pack.h"
#include "autograd/kernels/parallel.h"
#include "autograd/kernels/rows.h"
#include "autograd/kernels/simd.h"

namespace reel::kernels {
namespace {

// What is worked on at once: few enough queries that their scores fit the second cache, enough of them that a pass over
// keys and values pays. The way back has four matrices of the keys' length in hand, and takes these in blocks, too.
constexpr int64_t query_block = 64;
constexpr int64_t key_block = 256;

/// Buffers of one thread, which it keeps from one head to the next.
template <class T>
struct Workspace {
  std::vector<T> q, dout, weights, dropped, dweights, k, v, dq, dk, dv, dots;
  std::vector<std::uint32_t> words;

  static Workspace& of_this_thread() {
    thread_local Workspace workspace;
    return workspace;
  }
};

/// The queries of a block are padded to whole panels with copies of the last one; what these yield is not used.
template <class T>
int64_t padded(int64_t queries) {
  return (queries + panel_width<T> - 1) / panel_width<T> * panel_width<T>;
}

/// Rows of x as the right operand of a product: transposed, in panels.
template <class T>
const T* as_columns(Matrix<const T> x, int64_t rows, int64_t width, std::vector<T>& buffer) {
  T* to = room(buffer, padded<T>(rows) * width);
  for (int64_t i = 0; i < rows; i += panel_width<T>) {
    pack_panel(x.at(i, 0).transposed(), width, std::min(rows - i, panel_width<T>), to + i * width);
  }
  return to;
}

/// a (m, width) times those columns: (m, padded(count)).
template <class T>
void multiply_columns(int64_t m, int64_t width, Matrix<const T> a, const T* columns, int64_t count, T* out) {
  const int64_t stride = padded<T>(count);
  for (int64_t i = 0; i < stride; i += panel_width<T>) {
    matmul<T>(m, panel_width<T>, width, a, {columns + i * width, panel_width<T>, 1}, out + i, stride);
  }
}

/// x itself, or a copy whose rows do not compete for the same places in the first cache.
template <class T>
Matrix<const T> staged(Matrix<const T> x, int64_t rows, int64_t width, std::vector<T>& buffer) {
  if (x.col_stride == 1 && !collides<T>(x.row_stride)) return x;
  return compact(x, rows, width, room(buffer, compact_size<T>(rows, width)));
}

/// Keys that some query before `end` sees, if they are not hidden.
int64_t keys_seen(const AttentionShape& shape, int64_t end) {
  return std::clamp<int64_t>(end + shape.reach, 0, shape.keys);
}

/// Sets the scores (keys, stride) of the keys from `first_key` on to -inf where the queries from `first` on see
/// nothing.
template <class T>
void hide(const AttentionShape& shape, const std::int32_t* hidden, int64_t first_key, int64_t keys, int64_t first,
          T* scores, int64_t stride) {
  constexpr T nothing = -std::numeric_limits<T>::infinity();
  for (int64_t s = 0; s < keys; ++s) {
    const int64_t key = first_key + s;
    const bool from_all = hidden && hidden[key] != 0;
    std::fill_n(scores + s * stride, from_all ? stride : std::clamp<int64_t>(key - shape.reach - first, 0, stride),
                nothing);
  }
}

/// Scores (keys, stride) -> e^(scale (score - the query's largest)), their sums' inverses, and log sums.
template <class T>
void exp_columns(int64_t keys, int64_t stride, T scale, T* scores, T* inverses, T* log_sums) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const Vec<T> zero(T(0)), factor(scale);
  for (int64_t j = 0; j < stride; j += lanes<T>) {
    Vec<T> largest(-infinity), sum(T(0));
    for (int64_t s = 0; s < keys; ++s) largest = max(load(scores + s * stride + j), largest);
    const Mask<T> sees_nothing = largest == splat(-infinity);
    largest = select(sees_nothing, zero, largest);
    for (int64_t s = 0; s < keys; ++s) {
      const Vec<T> e = exp(Vec<T>((load(scores + s * stride + j) - largest) * factor));
      store(scores + s * stride + j, e);
      sum += e;
    }
    store(inverses + j, select(sees_nothing, zero, Vec<T>(splat(T(1)) / sum)));
    store(log_sums + j, select(sees_nothing, splat(infinity), Vec<T>(fma(largest, factor, log(sum)))));
  }
}

/// Exponentials (keys, stride) -> weights
template <class T>
void normalize_columns(int64_t keys, int64_t stride, const T* inverses, T* exponentials) {
  for (int64_t i = 0; i < keys * stride; i += stride) {
    for (int64_t j = 0; j < stride; j += lanes<T>) {
      store(exponentials + i + j, Vec<T>(load(exponentials + i + j) * load(inverses + j)));
    }
  }
}

/// Scores (keys, stride) -> weights, by the log sums of `count` queries
template <class T>
void weigh_again(int64_t keys, int64_t count, int64_t stride, T scale, const T* log_sums, T* scores) {
  const Vec<T> factor(scale);
  for (int64_t j = 0; j < count; j += lanes<T>) {
    const Vec<T> log_sum = load_n(log_sums + j, std::min(count - j, lanes<T>));
    for (int64_t i = j; i < keys * stride; i += stride) {
      store(scores + i, exp(Vec<T>(load(scores + i) * factor - log_sum)));
    }
  }
}

/// Gradients of weights P (keys, stride) -> scale dS
template <class T>
void differentiate_scores(int64_t keys, int64_t count, int64_t stride, T scale, const T* dots, const T* weights,
                          T* dweights) {
  const Vec<T> factor(scale);
  for (int64_t j = 0; j < count; j += lanes<T>) {
    const Vec<T> dot = load_n(dots + j, std::min(count - j, lanes<T>));
    for (int64_t i = j; i < keys * stride; i += stride) {
      store(dweights + i, Vec<T>(load(weights + i) * factor * (load(dweights + i) - dot)));
    }
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
int64_t blocks_for(int64_t queries) { return (queries + 3) / 4; }

/// The random words for weights of these keys and queries: rows of whole blocks.
const std::uint32_t* draw_words(const AttentionShape& shape, int64_t head, int64_t first_key, int64_t keys,
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

/// to = from (keys, stride), dropped by these words; they may be the same.
template <class T>
void drop_weights(const DropoutMask& mask, const std::uint32_t* words, int64_t keys, int64_t count, int64_t stride,
                  const T* from, T* to) {
  for (int64_t s = 0; s < keys; ++s) {
    drop(mask, count, words + s * blocks_for(count) * 4, from + s * stride, to + s * stride);
  }
}

template <class T>
void scale_rows(const T* factors, int64_t rows, int64_t width, Matrix<T> x) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < width; ++j) x.data[i * x.row_stride + j] *= factors[i];
  }
}

template <class T>
void attend(const AttentionShape& shape, Head<T> head, Range queries, Matrix<T> out, T* log_sums, T* kept) {
  Workspace<T>& workspace = Workspace<T>::of_this_thread();
  const auto [k, v] = std::pair(staged(head.k, shape.keys, shape.width, workspace.k),
                                staged(head.v, shape.keys, shape.value_width, workspace.v));
  for (int64_t first = queries.begin; first < queries.end; first += query_block) {
    const int64_t count = std::min(query_block, queries.end - first), stride = padded<T>(count);
    const int64_t seen = keys_seen(shape, first + count);
    T* weights = kept ? kept + first * shape.keys : room(workspace.weights, shape.keys * stride);
    T inverses[query_block], logs[query_block];

    const T* columns = as_columns(head.q.at(first, 0), count, shape.width, workspace.q);
    multiply_columns(seen, shape.width, k, columns, count, weights);  // (S, T)
    hide(shape, head.hidden, 0, seen, first, weights, stride);
    exp_columns(seen, stride, static_cast<T>(shape.scale), weights, inverses, logs);
    std::copy_n(logs, count, log_sums + first);
    if (kept) normalize_columns(seen, stride, inverses, weights);

    if (shape.dropout.threshold > 0) {
      const std::uint32_t* words = draw_words(shape, head.index, 0, seen, first, count, workspace.words);
      T* dropped = kept ? room(workspace.dropped, shape.keys * stride) : weights;
      drop_weights(shape.dropout, words, seen, count, stride, weights, dropped);
      weights = dropped;
    }
    Matrix<T> rows = out.at(first, 0);
    matmul<T>(count, shape.value_width, seen, {weights, 1, stride}, v, rows.data, rows.row_stride);
    if (!kept) scale_rows(inverses, count, shape.value_width, rows);
  }
}

template <class T>
void copy_rows(const T* from, int64_t rows, int64_t width, Matrix<T> to) {
  for (int64_t i = 0; i < rows; ++i) std::copy_n(from + i * width, width, to.data + i * to.row_stride);
}

template <class T>
void add_rows(Matrix<T> from, int64_t rows, int64_t width, Matrix<T> to) {
  for_each_row(rows, width, [&](int64_t i) {
    for (int64_t j = 0; j < width; ++j) to.at(i, 0).data[j] += from.at(i, 0).data[j];
  });
}

/// What some keys contribute. dq, the sum over them, is added to unless they are the first.
template <class T>
void attend_backward(const AttentionShape& shape, Head<T> head, Range some_keys, Matrix<const T> out, const T* log_sums,
                     const T* kept, Matrix<const T> dout, Matrix<T> dq, Matrix<T> dk, Matrix<T> dv) {
  Workspace<T>& workspace = Workspace<T>::of_this_thread();
  const int64_t D = shape.width, E = shape.value_width;
  T* dots = room(workspace.dots, shape.queries);
  for (int64_t i = 0; i < shape.queries; ++i) dots[i] = dot(E, dout.at(i, 0).data, out.at(i, 0).data);

  for (int64_t key = some_keys.begin; key == 0 || key < some_keys.end; key += key_block) {
    const int64_t keys = std::min(key_block, some_keys.end - key);
    const Matrix<const T> k = staged(head.k.at(key, 0), keys, D, workspace.k);
    const Matrix<const T> v = staged(head.v.at(key, 0), keys, E, workspace.v);
    T* dk_sum = room(workspace.dk, keys * D);
    T* dv_sum = room(workspace.dv, keys * E);
    std::fill_n(dk_sum, keys * D, T(0));
    std::fill_n(dv_sum, keys * E, T(0));
    for (int64_t first = 0; first < shape.queries; first += query_block) {
      const int64_t count = std::min(query_block, shape.queries - first), stride = padded<T>(count);
      const int64_t seen = std::clamp<int64_t>(keys_seen(shape, first + count) - key, 0, keys);
      if (seen == 0 && key > 0) continue;
      const Matrix<const T> q_rows = head.q.at(first, 0), dout_rows = dout.at(first, 0);
      const Matrix<T> dq_rows = dq.at(first, 0);
      const T scale = static_cast<T>(shape.scale);
      const T* weights = kept ? kept + first * shape.keys + key * stride : nullptr;  // (S, T)
      if (!kept) {
        T* again = room(workspace.weights, key_block * stride);
        multiply_columns(seen, D, k, as_columns(q_rows, count, D, workspace.q), count, again);
        hide(shape, head.hidden, key, seen, first, again, stride);
        weigh_again(seen, count, stride, scale, log_sums + first, again);
        weights = again;
      }
      T* dweights = room(workspace.dweights, key_block * stride);
      multiply_columns(seen, E, v, as_columns(dout_rows, count, E, workspace.dout), count, dweights);
      const T* used = weights;
      if (shape.dropout.threshold > 0) {
        const std::uint32_t* words = draw_words(shape, head.index, key, seen, first, count, workspace.words);
        T* dropped = room(workspace.dropped, key_block * stride);
        drop_weights(shape.dropout, words, seen, count, stride, weights, dropped);
        drop_weights(shape.dropout, words, seen, count, stride, dweights, dweights);
        used = dropped;
      }
      matmul<T>(seen, E, count, {used, stride, 1}, dout_rows, dv_sum, E, {.accumulate = true});
      differentiate_scores(seen, count, stride, scale, dots + first, weights, dweights);
      matmul<T>(seen, D, count, {dweights, stride, 1}, q_rows, dk_sum, D, {.accumulate = true});
      matmul<T>(count, D, seen, {dweights, 1, stride}, k, dq_rows.data, dq_rows.row_stride, {.accumulate = key > 0});
    }
    copy_rows(dk_sum, keys, D, dk.at(key, 0));
    copy_rows(dv_sum, keys, E, dv.at(key, 0));
  }
}

/// Into how many stripes the `count` queries or keys of a head are cut: heads are what threads share, if there are
/// enough.
int64_t stripes_of(const AttentionShape& shape, int64_t count) {
  constexpr int64_t enough_heads = 4, most_stripes = 4;
  return product(shape.batch) < enough_heads ? std::clamp<int64_t>(count / query_block, 1, most_stripes) : 1;
}

/// body(head, stripe, range) for all stripes of `count` queries or keys of all heads, on several threads.
template <class Body>
void for_each_stripe(const AttentionShape& shape, int64_t count, const Body& body) {
  const int64_t stripes = stripes_of(shape, count), parts = product(shape.batch) * stripes;
  const int64_t length = (count / stripes + query_block - 1) / query_block * query_block;  // of whole blocks
  parallel_for(parts, attention_grain(shape.work(), parts), [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t stripe = part % stripes;
      const int64_t last = stripe + 1 == stripes ? count : std::min(count, (stripe + 1) * length);
      body(part / stripes, stripe, Range{std::min(count, stripe * length), last});
    }
  });
}

/// Head i's part of all weights, if they are kept.
template <class T>
T* weights_of(const AttentionShape& shape, T* weights, int64_t i) {
  return weights ? weights + i * shape.keys * padded<std::remove_const_t<T>>(shape.queries) : nullptr;
}

/// Which keys are hidden from a head.
const std::int32_t* hidden_keys(const AttentionShape& shape, int64_t head) {
  if (!shape.hidden) return nullptr;
  return shape.hidden + head / product(shape.batch.subspan(1)) * shape.keys;
}

}  // namespace

int64_t AttentionShape::work() const { return product(batch) * queries * keys * (width + value_width); }

int64_t attention_grain(int64_t work, int64_t parts) {
  constexpr int64_t worth_a_thread = 125'000;
  return worth_a_thread / std::max<int64_t>(work / std::max<int64_t>(parts, 1), 1) + 1;
}

int64_t dropout_blocks(const AttentionShape& shape) {
  return product(shape.batch) * shape.keys * blocks_for(shape.queries);
}

template <class T>
int64_t weights_size(const AttentionShape& shape) {
  return product(shape.batch) * shape.keys * padded<T>(shape.queries);
}

template <class T>
void attention(const AttentionShape& shape, const Heads<const T>& q, const Heads<const T>& k, const Heads<const T>& v,
               const Heads<T>& out, T* log_sums, T* weights) {
  for_each_stripe(shape, shape.queries, [&](int64_t i, int64_t, Range queries) {
    const Head<T> head{i, q.at(shape.batch, i), k.at(shape.batch, i), v.at(shape.batch, i), hidden_keys(shape, i)};
    attend(shape, head, queries, out.at(shape.batch, i), log_sums + i * shape.queries, weights_of(shape, weights, i));
  });
}

template <class T>
void attention_backward(const AttentionShape& shape, const Heads<const T>& q, const Heads<const T>& k,
                        const Heads<const T>& v, const Heads<const T>& out, const T* log_sums, const T* weights,
                        const Heads<const T>& dout, const Heads<T>& dq, const Heads<T>& dk, const Heads<T>& dv) {
  // The first stripe's dq goes where it belongs, those of the others wait in a buffer, to be added in their order.
  const int64_t stripes = stripes_of(shape, shape.keys), size = shape.queries * shape.width;
  T* others = room(Workspace<T>::of_this_thread().dq, product(shape.batch) * (stripes - 1) * size);
  auto part_of_dq = [&](int64_t i, int64_t stripe) {
    if (stripe == 0) return dq.at(shape.batch, i);
    return Matrix<T>{others + (i * (stripes - 1) + stripe - 1) * size, shape.width, 1};
  };
  for_each_stripe(shape, shape.keys, [&](int64_t i, int64_t stripe, Range keys) {
    const Head<T> head{i, q.at(shape.batch, i), k.at(shape.batch, i), v.at(shape.batch, i), hidden_keys(shape, i)};
    const Matrix<T> part = part_of_dq(i, stripe);
    if (stripe > 0) std::fill_n(part.data, size, T(0));
    attend_backward(shape, head, keys, out.at(shape.batch, i), log_sums + i * shape.queries,
                    weights_of(shape, weights, i), dout.at(shape.batch, i), part, dk.at(shape.batch, i),
                    dv.at(shape.batch, i));
  });
  for (int64_t i = 0; i < product(shape.batch); ++i) {
    for (int64_t stripe = 1; stripe < stripes; ++stripe) {
      add_rows(part_of_dq(i, stripe), shape.queries, shape.width, dq.at(shape.batch, i));
    }
  }
}

template int64_t weights_size<float>(const AttentionShape&);
template int64_t weights_size<double>(const AttentionShape&);
template void attention(const AttentionShape&, const Heads<const float>&, const Heads<const float>&,
                        const Heads<const float>&, const Heads<float>&, float*, float*);
template void attention(const AttentionShape&, const Heads<const double>&, const Heads<const double>&,
                        const Heads<const double>&, const Heads<double>&, double*, double*);
template void attention_backward(const AttentionShape&, const Heads<const float>&, const Heads<const float>&,
                                 const Heads<const float>&, const Heads<const float>&, const float*, const float*,
                                 const Heads<const float>&, const Heads<float>&, const Heads<float>&,
                                 const Heads<float>&);
template void attention_backward(const AttentionShape&, const Heads<const double>&, const Heads<const double>&,
                                 const Heads<const double>&, const Heads<const double>&, const double*, const double*,
                                 const Heads<const double>&, const Heads<double>&, const Heads<double>&,
                                 const Heads<double>&);

}  // namespace reel::kernels
