#include "autograd/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/kernels/philox.h"
#include "autograd/kernels/prefetch.h"
#include "autograd/ops.h"
#include "autograd/ops/dropout.h"
#include "autograd/ops/elementwise.h"
#include "autograd/ops/layout.h"
#include "autograd/tape.h"

namespace reel {
namespace {

/// The shape (..., rows, width) for x (..., _, _).
Shape with_matrices(const Tensor& x, int64_t rows, int64_t width) {
  Shape shape = leading(x.shape(), 2);
  shape.append(rows);
  shape.append(width);
  return shape;
}

/// Throws unless k and v fit q.
void check(const char* operation, const Tensor& q, const Tensor& k, const Tensor& v, double scale, double drop) {
  if (q.rank() < 2 || k.rank() < 2 || v.rank() < 2 || q.size(-1) != k.size(-1) || k.size(-2) != v.size(-2)) {
    fail(operation, ": q is ", q.shape(), ", k is ", k.shape(), ", v is ", v.shape(),
         "; need (..., T, D), (..., S, D) and (..., S, E)");
  }
  for (const Tensor& x : {k, v}) {
    if (!broadcasts_to(leading(x.shape(), 2), leading(q.shape(), 2))) {
      fail(operation, ": q is ", q.shape(), ", k is ", k.shape(), ", v is ", v.shape(),
           "; need the leading axes of q in k and v, or 1 where its heads share them");
    }
  }
  check_same_dtype(operation, q, k);
  check_same_dtype(operation, q, v);
  if (!(scale > 0 && std::isfinite(scale))) fail(operation, ": the scale is ", scale, "; need a finite number > 0");
  if (!(drop >= 0 && drop < 1)) fail(operation, ": drop is ", drop, "; need 0 <= drop < 1");
}

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

/// How many neighbouring heads with the same keys and values form a group, which sums their gradients in one place: as
/// many as leave work for 16 threads.
int64_t heads_together(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  constexpr int64_t enough = 16;
  auto shared = [](const Tensor& x) { return x.rank() < 3 || x.size(-3) == 1; };
  if (q.rank() < (mask.padding() ? 4 : 3) || !shared(k) || !shared(v)) return 1;
  const int64_t heads = q.size(-3), all = numel(leading(q.shape(), 2));
  int64_t together = heads;
  while (together > 1 && (heads % together != 0 || all / together < enough)) --together;
  return std::max<int64_t>(together, 1);
}

/// Where the kernels find the matrix of each head of x (..., rows, width).
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

/// Reads rows of x (H, T, D) into the cache where heads lie side by side: each head alone would read pieces of them.
/// But only if they fit in with all that the backward pass of their text needs: q, k, v, O and four gradients.
template <class T>
void read_rows(const Tensor& x, int64_t first, int64_t count) {
  if (x.rank() != 3 || x.stride(2) != 1 || x.stride(0) != x.size(2)) return;
  const int64_t width = x.size(0) * x.size(2), numbers = count * width;
  constexpr int64_t matrices = 8;
  if (x.stride(1) != width || !kernels::stays_near<T>(matrices * numbers)) return;
  kernels::read_through(std::span<const T>(x.data<T>() + first * width, static_cast<std::size_t>(numbers)));
}

/// What there is to attend to, and how: all texts of a padded batch at once, or each text of a packed one.
struct Problem {
  Tensor q, k, v;  // the leading axes of k and v are repeated to those of q
  Mask mask;
  double scale, drop;
  std::vector<Part> parts;
  Generator::State random{};  // where the words start that weights are dropped by
  Shape batch{};              // one head for each index: q's leading axes, the last one cut into groups of heads
  int64_t together = 1;       // how many heads a group has
  // What the backward pass needs, too; weights of those heads that keep them.
  Tensor out{}, log_sums{}, weights{};

  kernels::AttentionShape shape(const Part& part) const {
    kernels::AttentionShape shape{.batch = batch,
                                  .queries = part.queries,
                                  .keys = part.keys,
                                  .width = q.size(-1),
                                  .value_width = v.size(-1),
                                  .scale = scale,
                                  .reach = mask.reach(part.queries, part.keys),
                                  .hidden = mask.padding() ? mask.padding()->data() : nullptr,
                                  .heads_kept = part.heads_kept};
    if (drop > 0) shape.dropout = dropout_mask(drop, random_of(part));
    return shape;
  }

  Generator::State random_of(const Part& part) const {
    const int64_t words = kernels::words_per_block * part.own.random_blocks;
    return {random.seed, random.position + static_cast<std::uint64_t>(words)};
  }

  HeadsOf heads_of(const Tensor& x) const {
    Strides strides = broadcast_strides(leading(x.shape(), 2), leading(x.strides(), 2), leading(q.shape(), 2));
    if (const int last = strides.rank() - 1; last >= 0) {
      strides.append(strides[last]);
      strides[last] *= together;
    }
    return {x, strides};
  }

  /// For a gradient that the heads of a group share.
  HeadsOf groups_of(const Tensor& dx) const {
    Strides strides = leading(dx.strides(), 2);
    if (strides.rank() > 0) strides.append(0);
    return {dx, strides};
  }

  /// Room for such a gradient: of k or v (..., S, _) -> (..., H / together, S, _).
  Tensor room_for_groups(const Tensor& x) const {
    Shape shape = with_matrices(q, x.size(-2), x.size(-1));
    if (q.rank() > 2) shape[q.rank() - 3] /= together;
    return laid_out_as(x, shape);
  }

  /// Multiplications in the forward products.
  int64_t work() const {
    int64_t work = 0;
    for (const Part& part : parts) work += shape(part).work();
    return work;
  }

  /// Says where the numbers of each part begin, and makes room for them.
  void lay_out(Generator& generator) {
    together = heads_together(q, k, v, mask);
    batch = leading(q.shape(), 2);
    if (const int last = batch.rank() - 1; last >= 0) {
      batch[last] /= together;
      batch.append(together);
    }
    // Kept weights may take 25/8 times the memory of q: enough for 24 of 32 heads with 512 keys, 128 wide, and still
    // growing with the length of a text, not with its square.
    const int64_t room = Tape::recording() ? q.numel() * 25 / 8 : 0;
    Offsets next;
    for (Part& part : parts) {
      const kernels::AttentionShape sizes = shape(part);
      const int64_t heads = kernels::product(sizes.batch);
      const int64_t size = with_type(q.dtype(), [&]<class T>(T) { return kernels::weights_size<T>(sizes); });
      part.own = next;
      part.heads_kept = std::min(heads, (room - next.weights) / std::max<int64_t>(size, 1));
      next.log_sums += heads * part.queries;
      next.random_blocks += kernels::dropout_blocks(sizes);
      next.weights += part.heads_kept * size;
    }
    out = laid_out_as(q, with_matrices(q, q.size(-2), v.size(-1)));
    log_sums = Tensor({next.log_sums}, q.dtype());
    weights = Tensor({next.weights}, q.dtype());
    if (drop > 0) random = generator.reserve(static_cast<std::uint64_t>(kernels::words_per_block * next.random_blocks));
  }

  /// body(part, shape, its weights) for every part, several of them in parallel.
  template <class T, class Body>
  void for_each_part(const Body& body) const {
    const auto count = std::ssize(parts);
    kernels::parallel_for(count, kernels::attention_grain(work(), count), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Part& part = parts[static_cast<std::size_t>(i)];
        read_rows<T>(q, part.first_query, part.queries);
        for (const Tensor& x : {k, v}) read_rows<T>(x, part.first_key, part.keys);
        body(part, shape(part), weights.data<T>() + part.own.weights);
      }
    });
  }
};

void compute(const Problem& problem) {
  const HeadsOf q = problem.heads_of(problem.q), k = problem.heads_of(problem.k), v = problem.heads_of(problem.v);
  const HeadsOf out = problem.heads_of(problem.out);
  with_type(problem.q.dtype(), [&]<class T>(T) {
    problem.for_each_part<T>([&](const Part& part, const kernels::AttentionShape& shape, T* weights) {
      const int64_t query = part.first_query, key = part.first_key;
      kernels::attention<T>(shape, q.from<const T>(query), k.from<const T>(key), v.from<const T>(key),
                            out.from<T>(query), problem.log_sums.data<T>() + part.own.log_sums, weights);
    });
  });
}

void differentiate(const Problem& problem, const Tensor& some_dout, Grads& grads) {
  const HeadsOf q = problem.heads_of(problem.q), k = problem.heads_of(problem.k), v = problem.heads_of(problem.v);
  const HeadsOf out = problem.heads_of(problem.out);
  const HeadsOf dout = problem.heads_of(some_dout.stride(-1) == 1 ? some_dout : dense(some_dout));
  const HeadsOf dq = problem.heads_of(laid_out_as(problem.q, problem.q.shape()));
  const HeadsOf dk = problem.groups_of(problem.room_for_groups(problem.k));
  const HeadsOf dv = problem.groups_of(problem.room_for_groups(problem.v));
  with_type(problem.q.dtype(), [&]<class T>(T) {
    problem.for_each_part<T>([&](const Part& part, const kernels::AttentionShape& shape, const T* weights) {
      const int64_t query = part.first_query, key = part.first_key;
      kernels::attention_backward<T>(shape, q.from<const T>(query), k.from<const T>(key), v.from<const T>(key),
                                     out.from<const T>(query), problem.log_sums.data<T>() + part.own.log_sums, weights,
                                     dout.from<const T>(query), dq.from<T>(query), dk.from<T>(key), dv.from<T>(key));
    });
  });
  grads.add(0, dq.x);
  grads.add(1, dk.x);
  grads.add(2, dv.x);
}

/// 1 / (1 - drop) where the weights (..., T, S) of a part are kept, 0 where they are dropped.
Tensor dropped_ones(const Problem& problem, const Part& part) {
  Shape shape = problem.q.shape();  // (..., S, T), as the kernel has them, each row of whole blocks of random words
  shape[shape.rank() - 2] = part.keys;
  shape[shape.rank() - 1] = kernels::round_up(part.queries, kernels::words_per_block);
  Generator generator;
  generator.set_state(problem.random_of(part));
  return transpose(slice(dropout(ones(shape, problem.q.dtype()), problem.drop, generator), -1, 0, part.queries), -1,
                   -2);
}

/// The backward pass in small steps, for second derivatives.
void composed_backward(const Problem& problem, const Tensor& dout, Grads& grads) {
  std::vector<Tensor> dq, dk, dv;
  if (problem.parts.empty()) {  // no texts: no numbers, but a backward pass for them
    dq.push_back(problem.q * 0.0);
    dk.push_back(problem.k * 0.0);
    dv.push_back(problem.v * 0.0);
  }
  for (const Part& part : problem.parts) {
    const int64_t queries_end = part.first_query + part.queries, keys_end = part.first_key + part.keys;
    const Tensor q = slice(problem.q, -2, part.first_query, queries_end);
    const Tensor k = slice(problem.k, -2, part.first_key, keys_end);
    const Tensor v = slice(problem.v, -2, part.first_key, keys_end);
    const Tensor dy = slice(dout, -2, part.first_query, queries_end);
    const Tensor weights = softmax(problem.mask.apply(matmul(q, transpose(k, -1, -2)) * problem.scale), -1);
    Tensor used = weights, dweights = matmul(dy, transpose(v, -1, -2));  // (..., T, S)
    if (problem.drop > 0) {
      const Tensor kept = dropped_ones(problem, part);
      used = used * kept;
      dweights = dweights * kept;
    }
    const Tensor dscores = weights * (dweights - sum(dweights * weights, {-1}, KeepDim::yes)) * problem.scale;
    dq.push_back(matmul(dscores, k));
    dk.push_back(matmul(transpose(dscores, -1, -2), q));
    dv.push_back(matmul(transpose(used, -1, -2), dy));
  }
  grads.add(0, cat(dq, -2));
  grads.add(1, cat(dk, -2));
  grads.add(2, cat(dv, -2));
}

/// O = P V, P = softmax(mask(scale Q Kᵀ))          its derivatives stand in kernels/attention.h
Tensor attend(const char* operation, Problem problem, Generator& generator) {
  problem.lay_out(generator);
  compute(problem);
  return record(operation, {problem.q, problem.k, problem.v}, problem.out, [problem](const Tensor& dout, Grads& grads) {
    return Tape::recording() ? composed_backward(problem, dout, grads) : differentiate(problem, dout, grads);
  });
}

/// Throws unless `starts` are those of texts in this many rows.
void check_starts(const char* name, const Ids& starts, int64_t rows) {
  const auto& values = starts.values();
  if (starts.rank() != 1 || values.empty() || values.front() != 0 || values.back() != rows ||
      !std::is_sorted(values.begin(), values.end())) {
    fail("packed_attention: ", name, " is ", starts.shape(), values.empty() ? "" : text(" and ends in ", values.back()),
         "; need ascending numbers from 0 to ", rows, ", the number of rows");
  }
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask, double scale, double drop,
                 Generator& generator) {
  check("attention", q, k, v, scale, drop);
  const auto& hidden = mask.padding();
  if (hidden && (q.rank() < 3 || hidden->shape() != Shape{q.size(0), k.size(-2)})) {
    fail("attention: the mask hides padding of ", hidden->shape(), ", q is ", q.shape(), ", k is ", k.shape(),
         "; need (B, S) for q (B, ..., T, D)");
  }
  const std::vector<Part> all{{.queries = q.size(-2), .keys = k.size(-2)}};
  return attend("attention", Problem{q, k, v, mask, scale, drop, all}, generator);
}

Tensor packed_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Ids& q_starts, const Ids& k_starts,
                        const Mask& mask, double scale, double drop, Generator& generator) {
  check("packed_attention", q, k, v, scale, drop);
  check_starts("q_starts", q_starts, q.size(-2));
  check_starts("k_starts", k_starts, k.size(-2));
  if (q_starts.numel() != k_starts.numel()) {
    fail("packed_attention: q_starts are ", q_starts.numel(), ", k_starts ", k_starts.numel(),
         "; need one per text and the end, of both");
  }
  if (mask.padding()) fail("packed_attention: the mask hides padding; packed texts have none");
  std::vector<Part> texts;
  for (int64_t b = 0; b + 1 < q_starts.numel(); ++b) {
    const std::int32_t *query = q_starts.data() + b, *key = k_starts.data() + b;
    texts.push_back(
        {.first_query = query[0], .queries = query[1] - query[0], .first_key = key[0], .keys = key[1] - key[0]});
  }
  return attend("packed_attention", Problem{q, k, v, mask, scale, drop, texts}, generator);
}

}  // namespace reel
