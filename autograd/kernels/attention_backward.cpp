// The way back of attention.h.

#include <algorithm>

#include "autograd/kernels/attention.h"
#include "autograd/kernels/attention_blocks.h"
#include "autograd/kernels/prefetch.h"
#include "autograd/kernels/rows.h"

namespace reel::kernels {
namespace {

using namespace attention_blocks;

/// How many queries a block of keys meets at once.
constexpr int64_t queries_of_key_block = 256;
static_assert(queries_of_key_block % panel_width<float> == 0);

/// A head's blocks, in the order in which they are worked off: queries meet one block of keys after another.
struct Blocks {
  Range keys;
  int64_t queries;

  int64_t in_row() const { return divide_up(keys.size(), key_block); }
  int64_t count() const { return in_row() * divide_up(queries, queries_of_key_block); }
  Block operator[](int64_t i) const {
    const int64_t key = keys.begin + i % in_row() * key_block, query = i / in_row() * queries_of_key_block;
    return {{key, std::min(key + key_block, keys.end)}, {query, std::min(query + queries_of_key_block, queries)}};
  }
};

/// Scores (S, T) -> weights, by the queries' log sums
template <class T>
void weigh_again(const AttentionShape& shape, const Block& block, const T* log_sums, Matrix<T> scores) {
  const Vec<T> factor(static_cast<T>(shape.scale));
  for (int64_t j = 0; j < block.queries.size(); j += lanes<T>) {
    const Vec<T> log_sum = load_n(log_sums + j, std::min(block.queries.size() - j, lanes<T>));
    set_seen(shape, block, j, scores,
             [&](int64_t s) { return exp(Vec<T>(load(scores.at(s, j).data) * factor - log_sum)); });
  }
}

/// Gradients of weights P (S, T) -> scale dS
template <class T>
void differentiate_scores(const AttentionShape& shape, const Block& block, const T* dots, Matrix<const T> weights,
                          Matrix<T> dweights) {
  const Vec<T> factor(static_cast<T>(shape.scale));
  for (int64_t j = 0; j < block.queries.size(); j += lanes<T>) {
    const Vec<T> dot = load_n(dots + j, std::min(block.queries.size() - j, lanes<T>));
    set_seen(shape, block, j, dweights, [&](int64_t s) {
      return Vec<T>(load(weights.at(s, j).data) * factor * (load(dweights.at(s, j).data) - dot));
    });
  }
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
  Range range;
  Matrix<const T> q, dout;
  const T *q_columns, *dout_columns;  // the same transposed, in panels; q only for weights that were not kept
  const T *log_sums, *dots;           // dots: Σ dO O of each query
  Matrix<T> dq;

  /// Without the first n queries, whole panels of them.
  QueryBlock without(const AttentionShape& shape, int64_t n) const {
    return {{range.begin + n, range.end},
            q.at(n, 0),
            dout.at(n, 0),
            q_columns ? q_columns + n * shape.width : nullptr,
            dout_columns + n * shape.value_width,
            log_sums + n,
            dots + n,
            dq.at(n, 0)};
  }
};

/// Which gradients are added to, because others have contributed.
struct Begun {
  bool dq, dkv;
};

/// What some keys and some queries contribute.
template <class T>
void add_gradients(const AttentionShape& shape, Head<T> head, Range some_keys, const QueryBlock<T>& queries,
                   const T* kept, Matrix<T> dk, Matrix<T> dv, Begun begun) {
  Workspace<T>& workspace = Workspace<T>::of_this_thread();
  const int64_t D = shape.width, E = shape.value_width, key = some_keys.begin, keys = some_keys.end - key;
  const int64_t count = queries.range.size(), stride = weights_stride<T>(count);
  const Block block{some_keys, queries.range};
  const Band band = band_of(shape, block);
  const Matrix<const T> k = staged(head.k.at(key, 0), keys, D, workspace.k);
  const Matrix<const T> v = staged(head.v.at(key, 0), keys, E, workspace.v);

  Matrix<const T> weights;  // (S, T)
  if (kept) {
    weights = weights_at(shape, kept, key, queries.range.begin);
  } else {
    const Matrix<T> again{workspace.weights.room(keys * stride), stride, 1};
    multiply_columns(shape, block, D, k, queries.q_columns, again);
    hide(shape, head.hidden, block, again);
    weigh_again(shape, block, queries.log_sums, again);
    weights = again;
  }
  const Matrix<T> dweights{workspace.dweights.room(keys * stride), stride, 1};
  multiply_columns(shape, block, E, v, queries.dout_columns, dweights);

  Matrix<const T> used = weights;
  if (shape.dropout.threshold > 0) {
    const std::uint32_t* words = draw_words(shape, head.index, block, workspace.words);
    const Matrix<T> dropped{workspace.dropped.room(keys * stride), stride, 1};
    drop_weights(shape.dropout, words, block, weights, dropped);
    drop_weights(shape.dropout, words, block, dweights, dweights);
    used = dropped;
  }
  matmul<T>(keys, E, count, used, queries.dout, dv.data, dv.row_stride, {.accumulate = begun.dkv}, band);
  differentiate_scores(shape, block, queries.dots, weights, dweights);
  matmul<T>(keys, D, count, dweights, queries.q, dk.data, dk.row_stride, {.accumulate = begun.dkv}, band);
  matmul<T>(count, D, keys, dweights.transposed(), k, queries.dq.data, queries.dq.row_stride, {.accumulate = begun.dq},
            band.transposed());
}

/// Where the gradients of a head go. To dk and dv, heads before it may have contributed.
template <class T>
struct HeadGradients {
  Matrix<T> dq, dk, dv;
  bool dkv_begun;
};

/// What some keys contribute: their dk and dv, and their part of dq. While a block is worked on, fetch_ahead(block)
/// lives.
template <class T, class FetchAhead>
void attend_backward(const AttentionShape& shape, Head<T> head, Range some_keys, Matrix<const T> out, const T* log_sums,
                     const T* kept, Matrix<const T> dout, const HeadGradients<T>& gradients,
                     const FetchAhead& fetch_ahead) {
  Workspace<T>& workspace = Workspace<T>::of_this_thread();
  const int64_t D = shape.width, E = shape.value_width;
  int64_t next_block = 0;
  for (int64_t first = 0; first == 0 || first < shape.queries; first += queries_of_key_block) {
    Range range{first, std::min(first + queries_of_key_block, shape.queries)};
    // Queries that see none of the keys from here on are left out: all, or as many panels as there are.
    auto blind_to = [&](int64_t key) {
      const int64_t blind = std::clamp<int64_t>(key - shape.reach - range.begin, 0, range.size());
      return blind == range.size() ? blind : blind / panel_width<T> * panel_width<T>;
    };
    const int64_t blind = some_keys.size() > 0 ? blind_to(some_keys.begin) : range.size();
    clear_rows(blind, D, gradients.dq.at(first, 0));
    range.begin += blind;

    const int64_t begin = range.begin, count = range.size();
    const Matrix<const T> q_rows = staged(head.q.at(begin, 0), count, D, workspace.q);
    const Matrix<const T> dout_rows = staged(dout.at(begin, 0), count, E, workspace.dout);
    const T* q_columns = kept ? nullptr : as_columns(q_rows, count, D, workspace.q_columns);
    const T* dout_columns = as_columns(dout_rows, count, E, workspace.dout_columns);
    T* dots = workspace.dots.room(count);
    for (int64_t i = 0; i < count; ++i) dots[i] = dot(E, dout_rows.at(i, 0).data, out.at(begin + i, 0).data);
    const QueryBlock<T> queries{range,        q_rows,           dout_rows, q_columns,
                                dout_columns, log_sums + begin, dots,      gradients.dq.at(begin, 0)};

    const bool dkv_begun = gradients.dkv_begun || first > 0;
    for (int64_t key = some_keys.begin; key < some_keys.end; key += key_block) {
      const Fetching fetching = fetch_ahead(next_block++);
      const int64_t blind_here = blind_to(key);
      if (blind_here == count && dkv_begun) continue;
      add_gradients(shape, head, {key, std::min(key + key_block, some_keys.end)}, queries.without(shape, blind_here),
                    kept, gradients.dk.at(key, 0), gradients.dv.at(key, 0),
                    {.dq = key > some_keys.begin, .dkv = dkv_begun});
    }
  }
}

/// How many heads in a row have the same dk and dv.
template <class T>
int64_t heads_together(const AttentionShape& shape, const Heads<T>& dk, const Heads<T>& dv) {
  return !shape.batch.empty() && dk.strides.back() == 0 && dv.strides.back() == 0 ? shape.batch.back() : 1;
}

}  // namespace

template <class T>
void attention_backward(const AttentionShape& shape, const Heads<const T>& q, const Heads<const T>& k,
                        const Heads<const T>& v, const Heads<const T>& out, const T* log_sums, const T* weights,
                        const Heads<const T>& dout, const Heads<T>& dq, const Heads<T>& dk, const Heads<T>& dv) {
  // The first stripe's dq goes where it belongs, those of the others wait in a buffer, to be added in their order.
  const int64_t together = heads_together(shape, dk, dv);
  const int64_t stripes = stripes_of(shape, shape.keys), size = shape.queries * shape.width;
  T* others = Workspace<T>::of_this_thread().dq_parts.room(product(shape.batch) * (stripes - 1) * size);
  auto part_of_dq = [&](int64_t i, int64_t stripe) {
    if (stripe == 0) return dq.at(shape.batch, i);
    return Matrix<T>{others + (i * (stripes - 1) + stripe - 1) * size, shape.width, 1};
  };
  for_each_stripe(shape, shape.keys, together, [&](int64_t i, int64_t stripe, Range keys) {
    const Head<T> head{i, q.at(shape.batch, i), k.at(shape.batch, i), v.at(shape.batch, i), hidden_keys(shape, i)};
    const HeadGradients<T> gradients{part_of_dq(i, stripe), dk.at(shape.batch, i), dv.at(shape.batch, i),
                                     i % together > 0};
    const Blocks blocks{keys, shape.queries};
    auto announce = [&](int64_t next, Upcoming& upcoming) {
      const int64_t its_head = next / blocks.count();
      const Block block = blocks[next % blocks.count()];
      const int64_t key = block.keys.begin, query = block.queries.begin;
      if (key == keys.begin) {  // new queries
        upcoming.add(dout.at(shape.batch, its_head).at(query, 0), block.queries.size(), shape.value_width);
        upcoming.add(out.at(shape.batch, its_head).at(query, 0), block.queries.size(), shape.value_width);
        upcoming.add(q.at(shape.batch, its_head).at(query, 0), block.queries.size(), shape.width);
      }
      if (query == 0) {  // new keys
        upcoming.add(v.at(shape.batch, its_head).at(key, 0), block.keys.size(), shape.value_width);
        upcoming.add(k.at(shape.batch, its_head).at(key, 0), block.keys.size(), shape.width);
      }
      if (const T* kept = weights_of(shape, weights, its_head)) {
        const int64_t seen = keys_seen(shape, block.keys, block.queries.end);
        upcoming.add(weights_at(shape, kept, key, query), seen, block.queries.size());
      }
    };
    auto fetch_ahead = [&](int64_t block) {
      return Fetching(i * blocks.count() + block, product(shape.batch) * blocks.count(), announce);
    };
    attend_backward(shape, head, keys, out.at(shape.batch, i), log_sums + i * shape.queries,
                    weights_of(shape, weights, i), dout.at(shape.batch, i), gradients, fetch_ahead);
  });
  for (int64_t i = 0; i < product(shape.batch); ++i) {
    for (int64_t stripe = 1; stripe < stripes; ++stripe) {
      add_rows(part_of_dq(i, stripe), shape.queries, shape.width, dq.at(shape.batch, i));
    }
  }
}

template void attention_backward(const AttentionShape&, const Heads<const float>&, const Heads<const float>&,
                                 const Heads<const float>&, const Heads<const float>&, const float*, const float*,
                                 const Heads<const float>&, const Heads<float>&, const Heads<float>&,
                                 const Heads<float>&);
template void attention_backward(const AttentionShape&, const Heads<const double>&, const Heads<const double>&,
                                 const Heads<const double>&, const Heads<const double>&, const double*, const double*,
                                 const Heads<const double>&, const Heads<double>&, const Heads<double>&,
                                 const Heads<double>&);

}  // namespace reel::kernels
