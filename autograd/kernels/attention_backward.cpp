// The backward pass of attention.h.

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

/// What threads share: heads, if there are enough. Otherwise they work on one block of one head at a time, and share
/// first its keys, in parts, then its queries. Blocks are larger then, so that threads wait for each other less often.
struct Sharing {
  int64_t key_block, keys_of_part, queries_of_part;
};
constexpr Sharing by_heads{key_block, key_block, queries_of_key_block};
constexpr Sharing by_parts{4 * key_block, part_of_head, part_of_head};

/// A head's blocks, in the order in which they are worked through: queries meet one block of keys after another. There
/// always is one, even if it is empty, so that all gradients are set.
struct Blocks {
  int64_t keys, queries, key_block;

  int64_t in_row() const { return std::max<int64_t>(1, divide_up(keys, key_block)); }
  int64_t count() const { return in_row() * std::max<int64_t>(1, divide_up(queries, queries_of_key_block)); }
  Block operator[](int64_t i) const {
    const int64_t key = i % in_row() * key_block, query = i / in_row() * queries_of_key_block;
    return {{key, std::min(key + key_block, keys)}, {query, std::min(query + queries_of_key_block, queries)}};
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

/// body(range) for all parts of a block's keys or queries, on several threads.
template <class Body>
void for_each_part(const AttentionShape& shape, const Block& block, Range all, int64_t size, const Body& body) {
  const int64_t parts = divide_up(all.size(), size);
  const int64_t work = block.keys.size() * block.queries.size() * (shape.width + shape.value_width);
  parallel_for(parts, attention_grain(work, parts), [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t i = halves_alike(part, parts) * size;
      body(Range{all.begin + i, std::min(all.begin + i + size, all.end)});
    }
  });
}

/// Some queries of a head, in the backward pass.
template <class T>
struct QueryBlock {
  Matrix<const T> q, dout;
  const T *q_columns, *dout_columns;  // the same transposed, in panels; q only for weights that were not kept
  const T *log_sums, *dots;           // dots: Σ dO O of each query

  /// All but the first n queries. Unless none is left, n is a number of whole panels.
  QueryBlock without(const AttentionShape& shape, int64_t n) const {
    return {q.at(n, 0),
            dout.at(n, 0),
            q_columns ? q_columns + n * shape.width : nullptr,
            dout_columns + n * shape.value_width,
            log_sums + n,
            dots + n};
  }
};

/// Where the gradients of a head go. If dkv_begun, dk and dv hold other contributions, and its own are added.
template <class T>
struct HeadGradients {
  Matrix<T> dq, dk, dv;
  bool dkv_begun;
};

/// The queries of a block, made ready for all blocks of keys.
template <class T>
QueryBlock<T> prepared(const AttentionShape& shape, const Sharing& sharing, const Head<T>& head, const Block& block,
                       Matrix<const T> out, const T* log_sums, const T* kept, Matrix<const T> dout,
                       const HeadGradients<T>& gradients) {
  Workspace<T>& workspace = Workspace<T>::of_this_thread();
  const int64_t D = shape.width, E = shape.value_width, begin = block.queries.begin, count = block.queries.size();
  const bool is_written_over = gradients.dq.data == head.q.data;  // while other keys still need it
  const Matrix<const T> q_rows = staged(head.q.at(begin, 0), count, D, workspace.q, is_written_over);
  const Matrix<const T> dout_rows = staged(dout.at(begin, 0), count, E, workspace.dout);
  T* const q_columns = kept ? nullptr : workspace.q_columns.room(columns_size<T>(count, D));
  T* const dout_columns = workspace.dout_columns.room(columns_size<T>(count, E));
  T* const dots = workspace.dots.room(count);
  for_each_part(shape, block, {0, count}, sharing.queries_of_part, [&](Range some) {
    if (!kept) as_columns(q_rows.at(some.begin, 0), some.size(), D, q_columns + some.begin * D);
    as_columns(dout_rows.at(some.begin, 0), some.size(), E, dout_columns + some.begin * E);
    for (int64_t i = some.begin; i < some.end; ++i) {
      dots[i] = dot(E, dout_rows.at(i, 0).data, out.at(begin + i, 0).data);
    }
  });
  return {q_rows, dout_rows, q_columns, dout_columns, log_sums + begin, dots};
}

/// How many of a block's first queries are left out because they see none of its keys: all, or else whole panels of
/// them.
template <class T>
int64_t blind_queries(const AttentionShape& shape, const Block& block) {
  const int64_t queries = block.queries.size();
  const int64_t blind = std::clamp<int64_t>(block.keys.begin - shape.reach - block.queries.begin, 0, queries);
  return blind == queries ? blind : blind / panel_width<T> * panel_width<T>;
}

/// Some keys and some queries: scale dS (S, T), and what they contribute to these keys' dk and dv.
template <class T>
void add_key_gradients(const AttentionShape& shape, const Head<T>& head, const Block& block, Matrix<const T> k,
                       Matrix<const T> v, const QueryBlock<T>& queries, const T* kept, Matrix<T> dscores,
                       const HeadGradients<T>& gradients) {
  Workspace<T>& workspace = Workspace<T>::of_this_thread();
  const Matrix<T> dk = gradients.dk.at(block.keys.begin, 0), dv = gradients.dv.at(block.keys.begin, 0);
  const int64_t keys = block.keys.size(), count = block.queries.size(), stride = weights_stride<T>(count);
  Matrix<const T> weights;  // (S, T)
  if (kept) {
    weights = weights_at(shape, kept, block.keys.begin, block.queries.begin);
  } else {
    const Matrix<T> again{workspace.weights.room(keys * stride), stride, 1};
    multiply_columns(shape, block, shape.width, k, queries.q_columns, again);
    hide(shape, head.hidden, block, again);
    weigh_again(shape, block, queries.log_sums, again);
    weights = again;
  }
  multiply_columns(shape, block, shape.value_width, v, queries.dout_columns, dscores);

  Matrix<const T> used = weights;
  if (shape.dropout.threshold > 0) {
    const std::uint32_t* words = draw_words(shape, head.index, block, workspace.words);
    const Matrix<T> dropped{workspace.dropped.room(keys * stride), stride, 1};
    drop_weights(shape.dropout, words, block, weights, dropped);
    drop_weights(shape.dropout, words, block, dscores, dscores);
    used = dropped;
  }
  const Band band = band_of(shape, block);
  const bool begun = gradients.dkv_begun, dk_begun = begun || dk.data == dv.data;  // if they are one, dv comes first
  matmul<T>(keys, shape.value_width, count, used, queries.dout, dv.data, dv.row_stride, {.accumulate = begun}, band);
  differentiate_scores(shape, block, queries.dots, weights, dscores);
  matmul<T>(keys, shape.width, count, dscores, queries.q, dk.data, dk.row_stride, {.accumulate = dk_begun}, band);
}

/// What a block's keys and queries contribute to the gradients of both.
template <class T>
void add_gradients(const AttentionShape& shape, const Sharing& sharing, const Head<T>& head, const Block& block,
                   const QueryBlock<T>& queries, const T* kept, const HeadGradients<T>& gradients) {
  Workspace<T>& workspace = Workspace<T>::of_this_thread();
  const int64_t D = shape.width, first_key = block.keys.begin, first_query = block.queries.begin;
  const int64_t keys = block.keys.size(), stride = weights_stride<T>(block.queries.size());
  const Matrix<const T> k = staged(head.k.at(first_key, 0), keys, D, workspace.k);
  const Matrix<const T> v = staged(head.v.at(first_key, 0), keys, shape.value_width, workspace.v);
  const Matrix<T> dscores{workspace.dscores.room(keys * stride), stride, 1};  // scale dS (S, T)

  for_each_part(shape, block, block.keys, sharing.keys_of_part, [&](Range some) {
    const int64_t key = some.begin - first_key, skipped = blind_queries<T>(shape, {some, block.queries});
    clear_rows(some.size(), skipped, dscores.at(key, 0));
    if (skipped == block.queries.size() && gradients.dkv_begun) return;
    add_key_gradients(shape, head, {some, {first_query + skipped, block.queries.end}}, k.at(key, 0), v.at(key, 0),
                      queries.without(shape, skipped), kept, dscores.at(key, skipped), gradients);
  });
  for_each_part(shape, block, block.queries, sharing.queries_of_part, [&](Range some) {
    const Matrix<T> dq = gradients.dq.at(some.begin, 0);
    matmul<T>(some.size(), D, keys, dscores.at(0, some.begin - first_query).transposed(), k, dq.data, dq.row_stride,
              {.accumulate = first_key > 0}, band_of(shape, {block.keys, some}).transposed());
  });
}

/// The gradients of a head. While a block is worked on, fetch_ahead(block) lives.
template <class T, class FetchAhead>
void attend_backward(const AttentionShape& shape, const Sharing& sharing, const Head<T>& head, Matrix<const T> out,
                     const T* log_sums, const T* kept, Matrix<const T> dout, HeadGradients<T> gradients,
                     const FetchAhead& fetch_ahead) {
  const Blocks blocks{shape.keys, shape.queries, sharing.key_block};
  QueryBlock<T> queries{};
  for (int64_t i = 0; i < blocks.count(); ++i) {
    Block block = blocks[i];
    const Fetching fetching = fetch_ahead(i);
    if (block.keys.begin == 0) queries = prepared(shape, sharing, head, block, out, log_sums, kept, dout, gradients);
    gradients.dkv_begun = gradients.dkv_begun || block.queries.begin > 0;
    const int64_t skipped = blind_queries<T>(shape, block);
    if (block.keys.begin == 0) clear_rows(skipped, shape.width, gradients.dq.at(block.queries.begin, 0));
    block.queries.begin += skipped;
    add_gradients(shape, sharing, head, block, queries.without(shape, skipped), kept, gradients);
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
  const int64_t heads = product(shape.batch), together = heads_together(shape, dk, dv);
  const bool many = heads / together >= enough_heads;
  const Sharing& sharing = many ? by_heads : by_parts;
  const Blocks blocks{shape.keys, shape.queries, sharing.key_block};
  auto announce = [&](int64_t next, Upcoming& upcoming) {
    const int64_t its_head = next / blocks.count();
    const Block block = blocks[next % blocks.count()];
    const int64_t key = block.keys.begin, query = block.queries.begin;
    if (key == 0) {  // new queries
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
  auto work_off = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * together; i < end * together; ++i) {
      const Head<T> head{i, q.at(shape.batch, i), k.at(shape.batch, i), v.at(shape.batch, i), hidden_keys(shape, i)};
      const HeadGradients<T> gradients{dq.at(shape.batch, i), dk.at(shape.batch, i), dv.at(shape.batch, i),
                                       i % together > 0};
      auto fetch_ahead = [&](int64_t block) {
        return Fetching(i * blocks.count() + block, heads * blocks.count(), announce);
      };
      attend_backward(shape, sharing, head, out.at(shape.batch, i), log_sums + i * shape.queries,
                      weights_of(shape, weights, i), dout.at(shape.batch, i), gradients, fetch_ahead);
    }
  };
  const int64_t parts = heads / together;
  if (many) {
    parallel_for(parts, attention_grain(shape.work(), parts), work_off);
  } else {
    work_off(0, parts);
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
