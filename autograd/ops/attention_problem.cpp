#include "autograd/ops/attention_problem.h"

#include <algorithm>
#include <span>

#include "autograd/kernels/philox.h"
#include "autograd/kernels/prefetch.h"
#include "autograd/ops/dropout.h"
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

/// How many neighbouring heads with the same keys and values form a group, which sums their gradients in one place: as
/// many as leave work for 16 threads.
int64_t group_size(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  constexpr int64_t enough = 16;
  auto shared = [](const Tensor& x) { return x.rank() < 3 || x.size(-3) == 1; };
  if (q.rank() < (mask.padding() ? 4 : 3) || !shared(k) || !shared(v)) return 1;
  const int64_t heads = q.size(-3), all = numel(leading(q.shape(), 2));
  int64_t together = heads;
  while (together > 1 && (heads % together != 0 || all / together < enough)) --together;
  return std::max<int64_t>(together, 1);
}

/// Gets rows of x (H, T, D) into the cache where heads lie side by side: each head alone would read pieces of them.
/// But only if they fit in with all that the backward pass of their text needs: q, k, v, O and four gradients.
template <class T>
void prefetch_rows(const Tensor& x, int64_t first, int64_t count) {
  if (x.rank() != 3 || x.stride(2) != 1 || x.stride(0) != x.size(2)) return;
  const int64_t width = x.size(0) * x.size(2), numbers = count * width;
  constexpr int64_t matrices = 8;
  if (x.stride(1) != width || !kernels::stays_near<T>(matrices * numbers)) return;
  kernels::read_through(std::span<const T>(x.data<T>() + first * width, static_cast<std::size_t>(numbers)));
}

}  // namespace

void AttentionProblem::lay_out(Generator& generator) {
  together = group_size(q, k, v, mask);
  batch = leading(q.shape(), 2);
  if (const int last = batch.rank() - 1; last >= 0) {
    batch[last] /= together;
    batch.append(together);
  }
  // Kept weights may take 25/8 times the memory of q: enough for 24 of 32 heads with 512 keys, 128 wide, and still
  // growing with the length of a text, not with its square.
  const bool comes_back = needs_gradient(q) || needs_gradient(k) || needs_gradient(v);
  const int64_t room = comes_back ? q.numel() * 25 / 8 : 0;
  Offsets next;
  for (Text& text : texts) {
    const kernels::AttentionShape sizes = shape(text);
    const int64_t heads = kernels::product(sizes.batch);
    const int64_t size = with_type(q.dtype(), [&]<class T>(T) { return kernels::weights_size<T>(sizes); });
    text.own = next;
    text.heads_kept = std::min(heads, (room - next.weights) / std::max<int64_t>(size, 1));
    next.log_sums += heads * text.queries;
    next.random_blocks += kernels::dropout_blocks(sizes);
    next.weights += text.heads_kept * size;
  }
  out = laid_out_as(q, with_matrices(q, q.size(-2), v.size(-1)));
  log_sums = Tensor({next.log_sums}, q.dtype());
  weights = Tensor({next.weights}, q.dtype());
  if (drop > 0) random = generator.reserve(static_cast<std::uint64_t>(kernels::words_per_block * next.random_blocks));
}

kernels::AttentionShape AttentionProblem::shape(const Text& text) const {
  kernels::AttentionShape shape{.batch = batch,
                                .queries = text.queries,
                                .keys = text.keys,
                                .width = q.size(-1),
                                .value_width = v.size(-1),
                                .scale = scale,
                                .reach = mask.reach(text.queries, text.keys),
                                .hidden = mask.padding() ? mask.padding()->data() : nullptr,
                                .heads_kept = text.heads_kept};
  if (drop > 0) shape.dropout = dropout_mask(drop, random_of(text));
  return shape;
}

Generator::State AttentionProblem::random_of(const Text& text) const {
  const int64_t words = kernels::words_per_block * text.own.random_blocks;
  return {random.seed, random.position + static_cast<std::uint64_t>(words)};
}

HeadsOf AttentionProblem::heads_of(const Tensor& x) const {
  x.check_unchanged();  // here, for it is read by several threads
  Strides strides = broadcast_strides(leading(x.shape(), 2), leading(x.strides(), 2), leading(q.shape(), 2));
  if (const int last = strides.rank() - 1; last >= 0) {
    strides.append(strides[last]);
    strides[last] *= together;
  }
  return {x, strides};
}

HeadsOf AttentionProblem::groups_of(const Tensor& dx) const {
  Strides strides = leading(dx.strides(), 2);
  if (strides.rank() > 0) strides.append(0);
  return {dx, strides};
}

Tensor AttentionProblem::room_for_groups(const Tensor& x) const {
  Shape shape = with_matrices(q, x.size(-2), x.size(-1));
  if (q.rank() > 2) shape[q.rank() - 3] /= together;
  return laid_out_as(x, shape);
}

int64_t AttentionProblem::work() const {
  int64_t work = 0;
  for (const Text& text : texts) work += shape(text).work();
  return work;
}

template <class T>
void AttentionProblem::prefetch_text(const Text& text) const {
  prefetch_rows<T>(q, text.first_query, text.queries);
  for (const Tensor& x : {k, v}) prefetch_rows<T>(x, text.first_key, text.keys);
}

template void AttentionProblem::prefetch_text<float>(const Text&) const;
template void AttentionProblem::prefetch_text<double>(const Text&) const;

}  // namespace reel
