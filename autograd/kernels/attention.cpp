#include "autograd/kernels/attention.h"

#include <algorithm>

#include "autograd/kernels/attention_blocks.h"
#include "autograd/kernels/prefetch.h"

namespace reel::kernels {
namespace {

using namespace attention_blocks;

/// Scores (S, T) -> e^(scale (score - the query's largest)), their sums' inverses, and log sums.
template <class T>
void exp_columns(const AttentionShape& shape, const Block& block, Matrix<T> scores, T* inverses, T* log_sums) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const Vec<T> zero(T(0)), factor(static_cast<T>(shape.scale));
  for (int64_t j = 0; j < block.queries.size(); j += lanes<T>) {
    T* const column = scores.data + j;
    Vec<T> largest(-infinity), sum(T(0));
    const int64_t seen = keys_seen(shape, block.keys, block.queries.begin + j + lanes<T>);
    for (int64_t s = 0; s < seen; ++s) largest = max(load(column + s * scores.row_stride), largest);
    const Mask<T> sees_nothing = largest == splat(-infinity);
    largest = select(sees_nothing, zero, largest);
    set_seen(shape, block, j, scores, [&](int64_t s) {
      const Vec<T> e = exp(Vec<T>((load(column + s * scores.row_stride) - largest) * factor));
      sum += e;
      return e;
    });
    store(inverses + j, select(sees_nothing, zero, divide(splat(T(1)), sum)));
    store(log_sums + j, select(sees_nothing, splat(infinity), Vec<T>(fma(largest, factor, log(sum)))));
  }
}

/// Exponentials (S, T) -> weights
template <class T>
void normalize_columns(const Block& block, const T* inverses, Matrix<T> exponentials) {
  for (int64_t s = 0; s < block.keys.size(); ++s) {
    T* const row = exponentials.at(s, 0).data;
    for (int64_t j = 0; j < block.queries.size(); j += lanes<T>) {
      store(row + j, Vec<T>(load(row + j) * load(inverses + j)));
    }
  }
}

template <class T>
void scale_rows(const T* factors, int64_t rows, int64_t width, Matrix<T> x) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < width; ++j) x.data[i * x.row_stride + j] *= factors[i];
  }
}

/// Some queries of a head: weights and what they yield, a block of queries at a time.
template <class T>
void attend(const AttentionShape& shape, Head<T> head, Range queries, Matrix<T> out, T* log_sums, T* kept) {
  Workspace<T>& workspace = Workspace<T>::of_this_thread();
  const Matrix<const T> k = staged(head.k, shape.keys, shape.width, workspace.k);
  const Matrix<const T> v = staged(head.v, shape.keys, shape.value_width, workspace.v);
  for (int64_t first = queries.begin; first < queries.end; first += query_block) {
    const int64_t count = std::min(query_block, queries.end - first), stride = weights_stride<T>(count);
    const int64_t seen = keys_seen(shape, {0, shape.keys}, first + count);
    const Block block{{0, seen}, {first, first + count}};
    Matrix<T> weights{workspace.weights.room(shape.keys * stride), stride, 1};
    if (kept) weights = weights_at(shape, kept, 0, first);
    T inverses[query_block], logs[query_block];

    T* const columns = workspace.q_columns.room(columns_size<T>(count, shape.width));
    as_columns(head.q.at(first, 0), count, shape.width, columns);
    multiply_columns(shape, block, shape.width, k, columns, weights);  // (S, T)
    hide(shape, head.hidden, block, weights);
    exp_columns(shape, block, weights, inverses, logs);
    std::copy_n(logs, count, log_sums + first);
    if (kept) {
      normalize_columns(block, inverses, weights);
      // The backward pass reads these keys' weights, too, together with those of keys that some of the queries see.
      const int64_t read_end = std::min(shape.keys, round_up(seen, keys_read_at_once(shape)));
      clear_rows(read_end - seen, padded<T>(count), weights.at(seen, 0));
    }

    if (shape.dropout.threshold > 0) {
      const std::uint32_t* words = draw_words(shape, head.index, block, workspace.words);
      const Matrix<T> dropped{workspace.dropped.room(shape.keys * stride), stride, 1};
      drop_weights(shape.dropout, words, block, weights, dropped);
      weights = dropped;
    }
    Matrix<T> rows = out.at(first, 0);
    matmul<T>(count, shape.value_width, seen, weights.transposed(), v, rows.data, rows.row_stride, {},
              band_of(shape, block).transposed());
    if (!kept) scale_rows(inverses, count, shape.value_width, rows);
  }
}

}  // namespace

int64_t AttentionShape::work() const { return product(batch) * queries * keys * (width + value_width); }

int64_t attention_grain(int64_t work, int64_t parts) {
  // `work` is that of the two forward products alone. With these come exponentials; the backward pass has four or five.
  constexpr int64_t worth_a_thread = multiplications_per_chunk / 2;
  return worth_a_thread / std::max<int64_t>(work / std::max<int64_t>(parts, 1), 1) + 1;
}

int64_t dropout_blocks(const AttentionShape& shape) {
  return product(shape.batch) * shape.keys * blocks_for(shape.queries);
}

template <class T>
int64_t weights_size(const AttentionShape& shape) {
  return shape.keys * weights_stride<T>(shape.queries);
}

template <class T>
void attention(const AttentionShape& shape, const Heads<const T>& q, const Heads<const T>& k, const Heads<const T>& v,
               const Heads<T>& out, T* log_sums, T* weights) {
  // Threads share the heads or, if these are few, stripes of their queries.
  constexpr int64_t most_stripes = 16;
  const int64_t heads = product(shape.batch);
  const int64_t length =
      heads >= enough_heads ? shape.queries : round_up(divide_up(shape.queries, most_stripes), part_of_head);
  const int64_t stripes = divide_up(shape.queries, std::max<int64_t>(length, 1)), parts = heads * stripes;
  parallel_for(parts, attention_grain(shape.work(), parts), [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t i = part / stripes, stripe = halves_alike(part % stripes, stripes);
      const Range queries{stripe * length, std::min(shape.queries, (stripe + 1) * length)};
      const Head<T> head{i, q.at(shape.batch, i), k.at(shape.batch, i), v.at(shape.batch, i), hidden_keys(shape, i)};
      const Fetching fetching(i, heads, [&](int64_t next, Upcoming& upcoming) {
        upcoming.add(k.at(shape.batch, next), shape.keys, shape.width);
        upcoming.add(q.at(shape.batch, next), shape.queries, shape.width);
        upcoming.add(v.at(shape.batch, next), shape.keys, shape.value_width);
      });
      attend(shape, head, queries, out.at(shape.batch, i), log_sums + i * shape.queries, weights_of(shape, weights, i));
    }
  });
}

template int64_t weights_size<float>(const AttentionShape&);
template int64_t weights_size<double>(const AttentionShape&);
template void attention(const AttentionShape&, const Heads<const float>&, const Heads<const float>&,
                        const Heads<const float>&, const Heads<float>&, float*, float*);
template void attention(const AttentionShape&, const Heads<const double>&, const Heads<const double>&,
                        const Heads<const double>&, const Heads<double>&, double*, double*);

}  // namespace reel::kernels
