#include "autograd/kernels/attention.h"

#include <algorithm>
#include <vector>

#include "autograd/kernels/pack.h"
#include "autograd/kernels/parallel.h"
#include "autograd/kernels/prefetch.h"
#include "autograd/kernels/rows.h"
#include "autograd/kernels/simd.h"

namespace reel::kernels {
namespace {

// What is worked on at once. Forward: few enough queries that their scores of all keys stay in the second cache, and
// enough of them that a pass over keys and values pays. On the way back: the weights of some keys and many queries,
// with all that is made of them.
constexpr int64_t query_block = 64;
constexpr int64_t key_block = 128;
constexpr int64_t queries_of_key_block = 256;

// Queries of a forward and keys of a backward block where some see less than others: the smaller a block, the more of
// what nobody sees is left out.
constexpr int64_t causal_block = 32;
static_assert(causal_block % panel_width<float> == 0 && query_block % causal_block == 0);

/// Buffers of one thread, which it keeps from one head to the next.
template <class T>
struct Workspace {
  std::vector<T> q, dout, q_columns, dout_columns, weights, dropped, dweights, k, v, dq, dq_parts, dots;
  std::vector<std::uint32_t> words;

  static Workspace& of_this_thread() {
    thread_local Workspace workspace;
    return workspace;
  }
};

int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

/// The queries of a block are padded to whole vectors with copies of the last one; what these yield is not used.
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

/// a (m, width) times those columns: (m, padded(count)).
template <class T>
void multiply_columns(int64_t m, int64_t width, Matrix<const T> a, const T* columns, int64_t count, Matrix<T> out) {
  for (int64_t i = 0; i < count; i += panel_width<T>) {
    matmul<T>(m, std::min(panel_width<T>, padded<T>(count - i)), width, a, {columns + i * width, panel_width<T>, 1},
              out.data + i, out.row_stride);
  }
}

/// x itself, or a copy whose rows do not compete for the same places in the first cache.
template <class T>
Matrix<const T> staged(Matrix<const T> x, int64_t rows, int64_t width, std::vector<T>& buffer) {
  if (x.col_stride == 1 && !collides<T>(x.row_stride)) return x;
  return compact(x, rows, width, room(buffer, compact_size<T>(rows, width)));
}

/// The size of blocks, unless some queries see less than others.
int64_t block_size(const AttentionShape& shape, int64_t largest) {
  return shape.reach < shape.keys - 1 ? causal_block : largest;
}

/// How many keys the queries of a block that ends here may see: none beyond these, if whole blocks of keys meet whole
/// panels of queries.
int64_t keys_seen(const AttentionShape& shape, int64_t end) {
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

/// Scores (S, T) -> e^(scale (score - the query's largest)), their sums' inverses, and log sums.
template <class T>
void exp_columns(int64_t keys, int64_t count, T scale, Matrix<T> scores, T* inverses, T* log_sums) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const Vec<T> zero(T(0)), factor(scale);
  for (int64_t j = 0; j < count; j += lanes<T>) {
    T* const column = scores.data + j;
    Vec<T> largest(-infinity), sum(T(0));
    for (int64_t s = 0; s < keys; ++s) largest = max(load(column + s * scores.row_stride), largest);
    const Mask<T> sees_nothing = largest == splat(-infinity);
    largest = select(sees_nothing, zero, largest);
    for (int64_t s = 0; s < keys; ++s) {
      const Vec<T> e = exp(Vec<T>((load(column + s * scores.row_stride) - largest) * factor));
      store(column + s * scores.row_stride, e);
      sum += e;
    }
    store(inverses + j, select(sees_nothing, zero, Vec<T>(splat(T(1)) / sum)));
    store(log_sums + j, select(sees_nothing, splat(infinity), Vec<T>(fma(largest, factor, log(sum)))));
  }
}

/// Exponentials (S, T) -> weights
template <class T>
void normalize_columns(int64_t keys, int64_t count, const T* inverses, Matrix<T> exponentials) {
  for (int64_t s = 0; s < keys; ++s) {
    T* const row = exponentials.at(s, 0).data;
    for (int64_t j = 0; j < count; j += lanes<T>) store(row + j, Vec<T>(load(row + j) * load(inverses + j)));
  }
}

/// Scores (S, T) -> weights, by the queries' log sums
template <class T>
void weigh_again(int64_t keys, int64_t count, T scale, const T* log_sums, Matrix<T> scores) {
  const Vec<T> factor(scale);
  for (int64_t j = 0; j < count; j += lanes<T>) {
    const Vec<T> log_sum = load_n(log_sums + j, std::min(count - j, lanes<T>));
    for (int64_t s = 0; s < keys; ++s) {
      T* const score = scores.at(s, j).data;
      store(score, exp(Vec<T>(load(score) * factor - log_sum)));
    }
  }
}

/// Gradients of weights P (S, T) -> scale dS
template <class T>
void differentiate_scores(int64_t keys, int64_t count, T scale, const T* dots, Matrix<const T> weights,
                          Matrix<T> dweights) {
  const Vec<T> factor(scale);
  for (int64_t j = 0; j < count; j += lanes<T>) {
    const Vec<T> dot = load_n(dots + j, std::min(count - j, lanes<T>));
    for (int64_t s = 0; s < keys; ++s) {
      T* const dweight = dweights.at(s, j).data;
      store(dweight, Vec<T>(load(weights.at(s, j).data) * factor * (load(dweight) - dot)));
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

/// to = from (S, T), dropped by these words; they may be the same.
template <class T>
void drop_weights(const DropoutMask& mask, const std::uint32_t* words, int64_t keys, int64_t count,
                  std::type_identity_t<Matrix<const T>> from, Matrix<T> to) {
  for (int64_t s = 0; s < keys; ++s) {
    drop(mask, count, words + s * blocks_for(count) * 4, from.at(s, 0).data, to.at(s, 0).data);
  }
}

template <class T>
void scale_rows(const T* factors, int64_t rows, int64_t width, Matrix<T> x) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < width; ++j) x.data[i * x.row_stride + j] *= factors[i];
  }
}

/// The block of a head's weights (S, T) that starts here, if they are kept.
template <class T>
Matrix<T> weights_at(const AttentionShape& shape, T* kept, int64_t key, int64_t query) {
  return Matrix<T>{kept, padded<std::remove_const_t<T>>(shape.queries), 1}.at(key, query);
}

template <class T>
void attend(const AttentionShape& shape, Head<T> head, Range queries, Matrix<T> out, T* log_sums, T* kept) {
  Workspace<T>& workspace = Workspace<T>::of_this_thread();
  const auto [k, v] = std::pair(staged(head.k, shape.keys, shape.width, workspace.k),
                                staged(head.v, shape.keys, shape.value_width, workspace.v));
  const int64_t block = block_size(shape, query_block);
  for (int64_t first = queries.begin; first < queries.end; first += block) {
    const int64_t count = std::min(block, queries.end - first), stride = padded<T>(count);
    const int64_t seen = keys_seen(shape, first + count);
    Matrix<T> weights{room(workspace.weights, shape.keys * stride), stride, 1};
    if (kept) weights = weights_at(shape, kept, 0, first);
    T inverses[query_block], logs[query_block];

    const T* columns = as_columns(head.q.at(first, 0), count, shape.width, workspace.q_columns);
    multiply_columns(seen, shape.width, k, columns, count, weights);  // (S, T)
    hide(shape, head.hidden, 0, seen, first, stride, weights);
    exp_columns(seen, count, static_cast<T>(shape.scale), weights, inverses, logs);
    std::copy_n(logs, count, log_sums + first);
    if (kept) normalize_columns(seen, count, inverses, weights);

    if (shape.dropout.threshold > 0) {
      const std::uint32_t* words = draw_words(shape, head.index, 0, seen, first, count, workspace.words);
      const Matrix<T> dropped{room(workspace.dropped, shape.keys * stride), stride, 1};
      drop_weights(shape.dropout, words, seen, count, weights, dropped);
      weights = dropped;
    }
    Matrix<T> rows = out.at(first, 0);
    matmul<T>(count, shape.value_width, seen, weights.transposed(), v, rows.data, rows.row_stride);
    if (!kept) scale_rows(inverses, count, shape.value_width, rows);
  }
}

/// A matrix of zeros whose rows do not compete for the same places in the first cache.
template <class T>
Matrix<T> zeros(int64_t rows, int64_t width, std::vector<T>& buffer) {
  const int64_t stride = compact_stride<T>(width);
  T* to = room(buffer, rows * stride);
  std::fill_n(to, rows * stride, T(0));
  return {to, stride, 1};
}

template <class T>
void copy_rows(Matrix<T> from, int64_t rows, int64_t width, Matrix<T> to) {
  for (int64_t i = 0; i < rows; ++i) std::copy_n(from.at(i, 0).data, width, to.at(i, 0).data);
}

template <class T>
void add_rows(Matrix<T> from, int64_t rows, int64_t width, Matrix<T> to) {
  for_each_row(rows, width, [&](int64_t i) {
    for (int64_t j = 0; j < width; ++j) to.at(i, 0).data[j] += from.at(i, 0).data[j];
  });
}

/// Some queries of a head, on the way back.
template <class T>
struct QueryBlock {
  int64_t first, count;
  Matrix<const T> q, dout;
  const T *q_columns, *dout_columns;  // the same transposed, in panels; q only for weights that were not kept
  const T *log_sums, *dots;           // dots: Σ dO O of each query
  Matrix<T> dq;

  /// Without the first n queries, whole panels of them.
  QueryBlock without(const AttentionShape& shape, int64_t n) const {
    return {first + n,
            count - n,
            q.at(n, 0),
            dout.at(n, 0),
            q_columns ? q_columns + n * shape.width : nullptr,
            dout_columns + n * shape.value_width,
            log_sums + n,
            dots + n,
            dq.at(n, 0)};
  }
};

/// What some keys and some queries contribute. dq is added to, and dk and dv are from the second block of queries on.
template <class T>
void add_gradients(const AttentionShape& shape, Head<T> head, Range some_keys, const QueryBlock<T>& queries,
                   const T* kept, Matrix<T> dk, Matrix<T> dv, bool accumulate) {
  Workspace<T>& workspace = Workspace<T>::of_this_thread();
  const int64_t D = shape.width, E = shape.value_width, key = some_keys.begin, keys = some_keys.end - key;
  const int64_t count = queries.count, stride = padded<T>(count);
  const T scale = static_cast<T>(shape.scale);
  const Matrix<const T> k = staged(head.k.at(key, 0), keys, D, workspace.k);
  const Matrix<const T> v = staged(head.v.at(key, 0), keys, E, workspace.v);

  Matrix<const T> weights;  // (S, T)
  if (kept) {
    weights = weights_at(shape, kept, key, queries.first);
  } else {
    const Matrix<T> again{room(workspace.weights, keys * stride), stride, 1};
    multiply_columns(keys, D, k, queries.q_columns, count, again);
    hide(shape, head.hidden, key, keys, queries.first, stride, again);
    weigh_again(keys, count, scale, queries.log_sums, again);
    weights = again;
  }
  const Matrix<T> dweights{room(workspace.dweights, keys * stride), stride, 1};
  multiply_columns(keys, E, v, queries.dout_columns, count, dweights);

  Matrix<const T> used = weights;
  if (shape.dropout.threshold > 0) {
    const std::uint32_t* words = draw_words(shape, head.index, key, keys, queries.first, count, workspace.words);
    const Matrix<T> dropped{room(workspace.dropped, keys * stride), stride, 1};
    drop_weights(shape.dropout, words, keys, count, weights, dropped);
    drop_weights(shape.dropout, words, keys, count, dweights, dweights);
    used = dropped;
  }
  matmul<T>(keys, E, count, used, queries.dout, dv.data, dv.row_stride, {.accumulate = accumulate});
  differentiate_scores(keys, count, scale, queries.dots, weights, dweights);
  matmul<T>(keys, D, count, dweights, queries.q, dk.data, dk.row_stride, {.accumulate = accumulate});
  matmul<T>(count, D, keys, dweights.transposed(), k, queries.dq.data, queries.dq.row_stride, {.accumulate = true});
}

/// What some keys contribute: their dk and dv, and their part of dq.
template <class T>
void attend_backward(const AttentionShape& shape, Head<T> head, Range some_keys, Matrix<const T> out, const T* log_sums,
                     const T* kept, Matrix<const T> dout, Matrix<T> dq, Matrix<T> dk, Matrix<T> dv) {
  Workspace<T>& workspace = Workspace<T>::of_this_thread();
  const int64_t D = shape.width, E = shape.value_width, block = block_size(shape, key_block);
  for (int64_t first = 0; first == 0 || first < shape.queries; first += queries_of_key_block) {
    const int64_t count = std::min(queries_of_key_block, shape.queries - first);
    const Matrix<const T> q_rows = staged(head.q.at(first, 0), count, D, workspace.q);
    const Matrix<const T> dout_rows = staged(dout.at(first, 0), count, E, workspace.dout);
    const T* q_columns = kept ? nullptr : as_columns(q_rows, count, D, workspace.q_columns);
    const T* dout_columns = as_columns(dout_rows, count, E, workspace.dout_columns);
    T* dots = room(workspace.dots, count);
    for (int64_t i = 0; i < count; ++i) dots[i] = dot(E, dout_rows.at(i, 0).data, out.at(first + i, 0).data);
    const Matrix<T> dq_sum = zeros(count, D, workspace.dq);
    const QueryBlock<T> queries{first, count, q_rows, dout_rows, q_columns, dout_columns, log_sums + first,
                                dots,  dq_sum};

    for (int64_t key = some_keys.begin; key < some_keys.end; key += block) {
      // Queries that see none of these keys are left out, as far as they are whole panels.
      const int64_t blind = std::clamp<int64_t>(key - shape.reach - first, 0, count) / panel_width<T> * panel_width<T>;
      if (blind == count && first > 0) continue;
      add_gradients(shape, head, {key, std::min(key + block, some_keys.end)}, queries.without(shape, blind), kept,
                    dk.at(key, 0), dv.at(key, 0), first > 0);
    }
    copy_rows(dq_sum, count, D, dq.at(first, 0));
  }
}

/// Into how many stripes the `count` queries or keys of a head are cut: heads are what threads share, if there are
/// enough.
int64_t stripes_of(const AttentionShape& shape, int64_t count) {
  constexpr int64_t enough_heads = 4, most_stripes = 4;
  return product(shape.batch) < enough_heads ? std::clamp<int64_t>(count / query_block, 1, most_stripes) : 1;
}

/// Under a causal mask the last queries see most, and the first keys are seen by most. The most work goes first.
enum class Order { first_to_last, last_to_first };

/// body(head, stripe, range) for all stripes of `count` queries or keys of all heads, on several threads.
template <class Body>
void for_each_stripe(const AttentionShape& shape, int64_t count, Order order, const Body& body) {
  const int64_t stripes = stripes_of(shape, count), parts = product(shape.batch) * stripes;
  const int64_t length = round_up(count / stripes, query_block);
  parallel_for(parts, attention_grain(shape.work(), parts), [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t stripe = order == Order::first_to_last ? part % stripes : stripes - 1 - part % stripes;
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
  for_each_stripe(shape, shape.queries, Order::last_to_first, [&](int64_t i, int64_t, Range queries) {
    const Head<T> head{i, q.at(shape.batch, i), k.at(shape.batch, i), v.at(shape.batch, i), hidden_keys(shape, i)};
    Upcoming& upcoming = Upcoming::of_this_thread();
    if (const int64_t next = i + threads(); next < product(shape.batch)) {
      upcoming.add(k.at(shape.batch, next), shape.keys, shape.width);
      upcoming.add(q.at(shape.batch, next), shape.queries, shape.width);
      upcoming.add(v.at(shape.batch, next), shape.keys, shape.value_width);
    }
    attend(shape, head, queries, out.at(shape.batch, i), log_sums + i * shape.queries, weights_of(shape, weights, i));
    upcoming.clear();
  });
}

template <class T>
void attention_backward(const AttentionShape& shape, const Heads<const T>& q, const Heads<const T>& k,
                        const Heads<const T>& v, const Heads<const T>& out, const T* log_sums, const T* weights,
                        const Heads<const T>& dout, const Heads<T>& dq, const Heads<T>& dk, const Heads<T>& dv) {
  // The first stripe's dq goes where it belongs, those of the others wait in a buffer, to be added in their order.
  const int64_t stripes = stripes_of(shape, shape.keys), size = shape.queries * shape.width;
  T* others = room(Workspace<T>::of_this_thread().dq_parts, product(shape.batch) * (stripes - 1) * size);
  auto part_of_dq = [&](int64_t i, int64_t stripe) {
    if (stripe == 0) return dq.at(shape.batch, i);
    return Matrix<T>{others + (i * (stripes - 1) + stripe - 1) * size, shape.width, 1};
  };
  for_each_stripe(shape, shape.keys, Order::first_to_last, [&](int64_t i, int64_t stripe, Range keys) {
    const Head<T> head{i, q.at(shape.batch, i), k.at(shape.batch, i), v.at(shape.batch, i), hidden_keys(shape, i)};
    const Matrix<T> part = part_of_dq(i, stripe);
    Upcoming& upcoming = Upcoming::of_this_thread();
    if (const int64_t next = i + threads(); next < product(shape.batch)) {
      upcoming.add(dout.at(shape.batch, next), shape.queries, shape.value_width);
      upcoming.add(out.at(shape.batch, next), shape.queries, shape.value_width);
      upcoming.add(q.at(shape.batch, next), shape.queries, shape.width);
      upcoming.add(v.at(shape.batch, next), shape.keys, shape.value_width);
      upcoming.add(k.at(shape.batch, next), shape.keys, shape.width);
      if (weights) upcoming.add(weights_at(shape, weights_of(shape, weights, next), 0, 0), shape.keys, shape.queries);
    }
    attend_backward(shape, head, keys, out.at(shape.batch, i), log_sums + i * shape.queries,
                    weights_of(shape, weights, i), dout.at(shape.batch, i), part, dk.at(shape.batch, i),
                    dv.at(shape.batch, i));
    upcoming.clear();
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
