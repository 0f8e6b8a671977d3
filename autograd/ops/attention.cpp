#include <algorithm>
#include <cmath>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/kernels/philox.h"
#include "autograd/ops.h"
#include "autograd/ops/attention_problem.h"
#include "autograd/ops/attention_shapes.h"
#include "autograd/ops/layout.h"
#include "autograd/tape.h"

namespace reel {
namespace {

using Text = AttentionProblem::Text;

/// Throws unless attention can be computed so.
void check(const char* operation, const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask, double scale,
           double drop) {
  check_attention_shapes(operation, q, k, v, mask);
  check_same_dtype(operation, q, k);
  check_same_dtype(operation, q, v);
  with_type(q.dtype(), [&]<class T>(T) {
    if (!(scale > 0 && std::isnormal(static_cast<T>(scale)))) {
      fail(operation, ": the scale is ", scale, "; need a number > 0 that is neither infinite nor denormal in ",
           q.dtype());
    }
  });
  if (!(drop >= 0 && drop < 1)) fail(operation, ": drop is ", drop, "; need 0 <= drop < 1");
}

void compute(const AttentionProblem& problem) {
  const HeadsOf q = problem.heads_of(problem.q), k = problem.heads_of(problem.k), v = problem.heads_of(problem.v);
  const HeadsOf out = problem.heads_of(problem.out);
  with_type(problem.q.dtype(), [&]<class T>(T) {
    problem.for_each_text<T>([&](const Text& text, const kernels::AttentionShape& shape, T* weights) {
      const int64_t query = text.first_query, key = text.first_key;
      kernels::attention<T>(shape, q.from<const T>(query), k.from<const T>(key), v.from<const T>(key),
                            out.from<T>(query), problem.log_sums.data<T>() + text.own.log_sums, weights);
    });
  });
}

/// Two large tensors are spared: dq takes the place of a q of dense rows that nobody else sees, and where the values
/// are the keys, as in merged projections, dk and dv are one sum.
void differentiate(const AttentionProblem& problem, const Tensor& some_dout, Grads& grads) {
  const bool dq_takes_place = problem.q.stride(-1) == 1 && grads.claim(problem.q);
  const bool are_one = problem.k.same(problem.v);
  const HeadsOf q = problem.heads_of(problem.q), k = problem.heads_of(problem.k), v = problem.heads_of(problem.v);
  const HeadsOf out = problem.heads_of(problem.out);
  const HeadsOf dout = problem.heads_of(some_dout.stride(-1) == 1 ? some_dout : contiguous_values(some_dout));
  const HeadsOf dq = dq_takes_place ? q : problem.heads_of(laid_out_as(problem.q, problem.q.shape()));
  const HeadsOf dk = problem.groups_of(problem.room_for_groups(problem.k));
  const HeadsOf dv = are_one ? dk : problem.groups_of(problem.room_for_groups(problem.v));
  with_type(problem.q.dtype(), [&]<class T>(T) {
    problem.for_each_text<T>([&](const Text& text, const kernels::AttentionShape& shape, const T* weights) {
      const int64_t query = text.first_query, key = text.first_key;
      kernels::attention_backward<T>(shape, q.from<const T>(query), k.from<const T>(key), v.from<const T>(key),
                                     out.from<const T>(query), problem.log_sums.data<T>() + text.own.log_sums, weights,
                                     dout.from<const T>(query), dq.from<T>(query), dk.from<T>(key), dv.from<T>(key));
    });
  });
  grads.add(0, dq.x);
  grads.add(1, dk.x);
  if (!are_one) grads.add(2, dv.x);
}

/// 1 / (1 - drop) where the weights (..., T, S) of a text are kept, 0 where they are dropped.
Tensor dropped_ones(const AttentionProblem& problem, const Text& text) {
  Shape shape = problem.q.shape();  // (..., S, T), as the kernel has them, each row of whole blocks of random words
  shape[shape.rank() - 2] = text.keys;
  shape[shape.rank() - 1] = kernels::round_up(text.queries, kernels::words_per_block);
  Generator generator;
  generator.set_state(problem.random_of(text));
  return transpose(slice(dropout(ones(shape, problem.q.dtype()), problem.drop, generator), -1, 0, text.queries), -1,
                   -2);
}

/// The backward pass in small steps, for second derivatives. Where the kernels have Σ dO O, it has Σ dP P, which is
/// equal as O = P V and dP = dO Vᵀ.
void composed_backward(const AttentionProblem& problem, const Tensor& dout, Grads& grads) {
  std::vector<Tensor> dq, dk, dv;
  if (problem.texts.empty()) {  // no texts: no numbers, but a backward pass for them
    dq.push_back(problem.q * 0.0);
    dk.push_back(problem.k * 0.0);
    dv.push_back(problem.v * 0.0);
  }
  for (const Text& text : problem.texts) {
    const int64_t queries_end = text.first_query + text.queries, keys_end = text.first_key + text.keys;
    const Tensor q = slice(problem.q, -2, text.first_query, queries_end);
    const Tensor k = slice(problem.k, -2, text.first_key, keys_end);
    const Tensor v = slice(problem.v, -2, text.first_key, keys_end);
    const Tensor dy = slice(dout, -2, text.first_query, queries_end);
    const Tensor weights = softmax(problem.mask.apply(matmul(q, transpose(k, -1, -2)) * problem.scale), -1);
    Tensor used = weights, dweights = matmul(dy, transpose(v, -1, -2));  // (..., T, S)
    if (problem.drop > 0) {
      const Tensor kept = dropped_ones(problem, text);
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
Tensor attend(const char* operation, AttentionProblem problem, Generator& generator) {
  problem.lay_out(generator);
  compute(problem);
  return record(operation, {problem.q, problem.k, problem.v}, problem.out, [problem](const Tensor& dout, Grads& grads) {
    return Tape::recording() ? composed_backward(problem, dout, grads) : differentiate(problem, dout, grads);
  });
}

/// The mask with a row of padding for each of B texts, where it has one for all of them.
Mask padding_of_each(const Mask& mask, int64_t B) {
  const auto& hidden = mask.padding();
  if (!hidden || hidden->size(0) == B) return mask;
  const int64_t S = hidden->size(1);
  Ids repeated = Ids::zeros({B, S});
  for (int64_t b = 0; b < B; ++b) std::ranges::copy(hidden->values(), repeated.data() + b * S);
  return mask.in_time() & Mask::padding(repeated);
}

/// Throws unless `starts` are those of texts in this many rows.
void check_starts(const char* name, const Ids& starts, int64_t rows) {
  const auto& values = starts.values();
  const auto falls = std::is_sorted_until(values.begin(), values.end());
  if (starts.rank() == 1 && !values.empty() && values.front() == 0 && values.back() == rows && falls == values.end()) {
    return;
  }
  std::string found;
  if (!values.empty()) found = text(" from ", values.front(), " to ", values.back());
  if (falls != values.end()) found += text(", with ", *falls, " after ", *(falls - 1));
  fail("packed_attention: ", name, " is ", starts.shape(), found, "; need ascending numbers from 0 to ", rows,
       ", the number of rows");
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask, double scale, double drop,
                 Generator& generator) {
  check("attention", q, k, v, mask, scale, drop);
  const std::vector<Text> all{{.queries = q.size(-2), .keys = k.size(-2)}};
  const Mask of_each = padding_of_each(mask, q.size(0));
  return attend("attention", AttentionProblem{q, k, v, of_each, scale, drop, all}, generator);
}

Tensor packed_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Ids& q_starts, const Ids& k_starts,
                        const Mask& mask, double scale, double drop, Generator& generator) {
  if (mask.padding()) fail("packed_attention: the mask hides padding; packed texts have none");
  check("packed_attention", q, k, v, mask, scale, drop);
  check_starts("q_starts", q_starts, q.size(-2));
  check_starts("k_starts", k_starts, k.size(-2));
  if (q_starts.numel() != k_starts.numel()) {
    fail("packed_attention: q_starts are ", q_starts.numel(), ", k_starts ", k_starts.numel(),
         "; need one per text and the end, of both");
  }
  std::vector<Text> texts;
  for (int64_t b = 0; b + 1 < q_starts.numel(); ++b) {
    const std::int32_t *query = q_starts.data() + b, *key = k_starts.data() + b;
    texts.push_back(
        {.first_query = query[0], .queries = query[1] - query[0], .first_key = key[0], .keys = key[1] - key[0]});
  }
  return attend("packed_attention", AttentionProblem{q, k, v, mask, scale, drop, texts}, generator);
}

}  // namespace reel
