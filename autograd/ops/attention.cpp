#include "autograd/kernels/attention.h"

#include <algorithm>
#include <type_traits>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/ops/dropout.h"
#include "autograd/ops/elementwise.h"
#include "autograd/tape.h"

namespace reel {
namespace {

/// A new tensor (..., rows, width) for x (..., rows, _), whose last two leading axes lie in memory in the order of x's:
/// what a view has cut into heads, a view can put together again. Heads that share rows get rows of their own, head by
/// head.
Tensor laid_out_as(const Tensor& x, int64_t width) {
  Shape shape = x.shape();
  shape[x.rank() - 1] = width;
  if (x.rank() < 3 || x.stride(-3) == 0 || x.stride(-3) >= x.stride(-2)) return Tensor(shape, x.dtype());
  std::swap(shape[x.rank() - 3], shape[x.rank() - 2]);
  return detach(transpose(Tensor(shape, x.dtype()), -3, -2));
}

kernels::Sizes leading(const Dims& dims) { return kernels::Sizes(dims.begin(), dims.end() - 2); }

/// The matrices of all heads, from a row on.
template <class T>
kernels::Heads<T> heads(const Tensor& x, int64_t row) {
  const kernels::Matrix<T> first{x.data<std::remove_const_t<T>>(), x.stride(-2), x.stride(-1)};
  return {first.at(row, 0), leading(x.strides())};
}

/// Throws unless the last axes fit; of the leading ones, expand() and the mask see to it.
void check(const char* operation, const Tensor& q, const Tensor& k, const Tensor& v, double scale, double drop) {
  if (q.rank() < 2 || k.rank() < 2 || v.rank() < 2 || q.size(-1) != k.size(-1) || k.size(-2) != v.size(-2)) {
    fail(operation, ": q is ", q.shape(), ", k is ", k.shape(), ", v is ", v.shape(),
         "; need (..., T, D), (..., S, D) and (..., S, E)");
  }
  check_same_dtype(operation, q, k);
  check_same_dtype(operation, q, v);
  if (!(scale > 0)) fail(operation, ": the scale is ", scale, "; need more than 0");
  if (!(drop >= 0 && drop < 1)) fail(operation, ": drop is ", drop, "; need 0 <= drop < 1");
}

/// x with the leading axes of `like`, repeated where it has fewer.
Tensor with_leading_of(const Tensor& like, const Tensor& x) {
  Shape shape = like.shape();
  shape[like.rank() - 2] = x.size(-2);
  shape[like.rank() - 1] = x.size(-1);
  return shape == x.shape() ? x : expand(x, shape);
}

/// Where something begins among the numbers that are kept, and among the blocks of random words.
struct Offsets {
  int64_t log_sums = 0, weights = 0, random_blocks = 0;
};

/// Rows of q, and those of k and v that they see.
struct Part {
  int64_t first_query = 0, queries = 0, first_key = 0, keys = 0;
  Offsets own{};
};

/// What there is to attend to, and how: all texts of a padded batch at once, or each text of a packed one.
struct Problem {
  Tensor q, k, v;  // of the same leading axes
  Mask mask;
  double scale, drop;
  std::vector<Part> parts;
  Generator::State random{};  // where the words start that weights are dropped by
  // What the way back needs, too; weights only where they are kept.
  Tensor out{}, log_sums{}, weights{};

  kernels::AttentionShape shape(const Part& part) const {
    kernels::AttentionShape shape{.batch = leading(q.shape()),
                                  .queries = part.queries,
                                  .keys = part.keys,
                                  .width = q.size(-1),
                                  .value_width = v.size(-1),
                                  .scale = scale,
                                  .reach = mask.reach(part.queries, part.keys),
                                  .hidden = mask.padding() ? mask.padding()->data() : nullptr};
    if (drop > 0) shape.dropout = dropout_mask(drop, random_of(part));
    return shape;
  }

  Generator::State random_of(const Part& part) const {
    return {random.seed, random.position + 4 * static_cast<std::uint64_t>(part.own.random_blocks)};
  }

  /// Multiplications in the forward products.
  int64_t work() const {
    int64_t work = 0;
    for (const Part& part : parts) work += shape(part).work();
    return work;
  }

  /// Says where the numbers of each part begin, and makes room for them.
  void lay_out(Generator& generator) {
    Offsets next;
    for (Part& part : parts) {
      part.own = next;
      const kernels::AttentionShape sizes = shape(part);
      next.log_sums += kernels::product(sizes.batch) * part.queries;
      next.random_blocks += kernels::dropout_blocks(sizes);
      with_type(q.dtype(), [&]<class T>(T) { next.weights += kernels::weights_size<T>(sizes); });
    }
    out = laid_out_as(q, v.size(-1));
    log_sums = Tensor({next.log_sums}, q.dtype());
    // The weights are kept where they are no more than the queries' numbers.
    const bool few = work() <= q.numel() * (q.size(-1) + v.size(-1));
    if (few && Tape::recording()) weights = Tensor({next.weights}, q.dtype());
    if (drop > 0) random = generator.reserve(4 * static_cast<std::uint64_t>(next.random_blocks));
  }

  /// body(part, shape, its weights) for every part, several of them in parallel.
  template <class T, class Body>
  void for_each_part(const Body& body) const {
    const auto count = std::ssize(parts);
    kernels::parallel_for(count, kernels::attention_grain(work(), count), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Part& part = parts[static_cast<std::size_t>(i)];
        body(part, shape(part), weights.defined() ? weights.data<T>() + part.own.weights : nullptr);
      }
    });
  }
};

void compute(const Problem& problem) {
  with_type(problem.q.dtype(), [&]<class T>(T) {
    problem.for_each_part<T>([&](const Part& part, const kernels::AttentionShape& shape, T* weights) {
      kernels::attention<T>(shape, heads<const T>(problem.q, part.first_query),
                            heads<const T>(problem.k, part.first_key), heads<const T>(problem.v, part.first_key),
                            heads<T>(problem.out, part.first_query), problem.log_sums.data<T>() + part.own.log_sums,
                            weights);
    });
  });
}

void differentiate(const Problem& problem, const Tensor& some_dout, Grads& grads) {
  const Tensor &q = problem.q, &k = problem.k, &v = problem.v, &out = problem.out;
  const Tensor dout = some_dout.stride(-1) == 1 ? some_dout : dense(some_dout);
  const Tensor dq = laid_out_as(q, q.size(-1)), dk = laid_out_as(k, k.size(-1)), dv = laid_out_as(v, v.size(-1));
  with_type(q.dtype(), [&]<class T>(T) {
    problem.for_each_part<T>([&](const Part& part, const kernels::AttentionShape& shape, const T* weights) {
      const int64_t query = part.first_query, key = part.first_key;
      kernels::attention_backward<T>(shape, heads<const T>(q, query), heads<const T>(k, key), heads<const T>(v, key),
                                     heads<const T>(out, query), problem.log_sums.data<T>() + part.own.log_sums,
                                     weights, heads<const T>(dout, query), heads<T>(dq, query), heads<T>(dk, key),
                                     heads<T>(dv, key));
    });
  });
  grads.add(0, dq);
  grads.add(1, dk);
  grads.add(2, dv);
}

/// 1 / (1 - drop) where the weights (..., T, S) of a part are kept, 0 where they are dropped.
Tensor dropped_ones(const Problem& problem, const Part& part) {
  Shape shape = problem.q.shape();  // (..., S, T), as the kernel has them, each row of whole blocks of random words
  shape[shape.rank() - 2] = part.keys;
  shape[shape.rank() - 1] = (part.queries + 3) / 4 * 4;
  Generator generator;
  generator.set_state(problem.random_of(part));
  return transpose(slice(dropout(ones(shape, problem.q.dtype()), problem.drop, generator), -1, 0, part.queries), -1,
                   -2);
}

/// The way back in small steps, for second derivatives.
void composed_backward(const Problem& problem, const Tensor& dout, Grads& grads) {
  std::vector<Tensor> dq, dk, dv;
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
  const Tensor out = std::exchange(problem.out, detach(problem.out));
  return record(operation, {problem.q, problem.k, problem.v}, out, [problem](const Tensor& dout, Grads& grads) {
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
  return attend("attention", Problem{q, with_leading_of(q, k), with_leading_of(q, v), mask, scale, drop, all},
                generator);
}

Tensor packed_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Ids& q_starts, const Ids& k_starts,
                        const Mask& mask, double scale, double drop, Generator& generator) {
  check("packed_attention", q, k, v, scale, drop);
  check_starts("q_starts", q_starts, q.size(-2));
  check_starts("k_starts", k_starts, k.size(-2));
  if (q_starts.numel() != k_starts.numel()) {
    fail("packed_attention: q_starts are ", q_starts.numel(), ", k_starts ", k_starts.numel(),
         "; need one a text and the end, of both");
  }
  if (mask.padding()) fail("packed_attention: the mask hides padding; packed texts have none");
  std::vector<Part> texts;
  for (int64_t b = 0; b + 1 < q_starts.numel(); ++b) {
    const std::int32_t *query = q_starts.data() + b, *key = k_starts.data() + b;
    texts.push_back(
        {.first_query = query[0], .queries = query[1] - query[0], .first_key = key[0], .keys = key[1] - key[0]});
  }
  return attend("packed_attention", Problem{q, with_leading_of(q, k), with_leading_of(q, v), mask, scale, drop, texts},
                generator);
}

}  // namespace reel
