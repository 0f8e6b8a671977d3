#include "autograd/ops/attention_shapes.h"

#include "autograd/error.h"

namespace reel {

void check_attention_shapes(const char* operation, const Tensor& q, const Tensor& k, const Tensor& v,
                            const Mask& mask) {
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
  if (const auto& hidden = mask.padding()) {
    const int64_t texts = hidden->size(0);
    if (q.rank() < 3 || (texts != q.size(0) && texts != 1) || hidden->size(1) != k.size(-2)) {
      fail(operation, ": the mask hides padding of ", hidden->shape(), ", q is ", q.shape(), ", k is ", k.shape(),
           "; need (B, S), or (1, S) for all texts, for q (B, ..., T, D)");
    }
  }
}

}  // namespace reel
