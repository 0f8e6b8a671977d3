#include <ostream>

#include "apps/common/numbers.h"
#include "apps/tour/page.h"
#include "apps/tour/steps.h"
#include "autograd/creation.h"
#include "autograd/error.h"
#include "nn/transformer_block.h"

namespace reel::apps {
namespace {

/// Mean and variance of the first word's numbers: x (b, t, k).
Words moments(const std::string& name, const Tensor& x) {
  const Tensor word = x.select(0, 0).select(0, 0);
  return {name, fixed(mean(word).item(), 4), fixed(var(word, {0}, 0).item(), 4)};
}

}  // namespace

void show_block(std::ostream& out) {
  out << R"(  A transformer is a stack of blocks. In each, attention lets words look at each other; then a small
  network works on every word by itself. Both are added to what came in, so that a block learns only
  what to change, and gradients have a short way back. Normalization brings every word's numbers to
  mean 0 and variance 1, which keeps deep stacks in bounds. The shape stays what it was.

      a = norm1(attention(x) + x)     y = norm2(ff(a) + a)     ff(a) = relu(a W₀ᵀ + b₀) W₂ᵀ + b₂
)";
  const int64_t b = 2, t = 4, k = 8, h = 2;
  const nn::TransformerBlock block(k, h, {.dtype = DType::f64});
  const Tensor x = randn({b, t, k}, DType::f64);

  Shapes shapes;
  shapes.show("x", x, text(b, " sentences of ", t, " words of ", k, " numbers"));
  const Tensor attended =
      shapes.show("attention(x)", block.attention(x, Mask::none()), text(h, " heads, as in step 4"));
  const Tensor added = shapes.show("  + x", attended + x, "what the words were, and what they found");
  const Tensor a = shapes.show("a = norm1(...)", block.norm1(added), "");
  const Tensor hidden =
      shapes.show("linear(a, W₀, b₀)", block.ff.up(a), text(block.ff.up.weight.size(0) / k, " times as wide"));
  const Tensor active = shapes.show("relu", relu(hidden), "what is negative becomes 0");
  const Tensor narrow = shapes.show("linear(..., W₂, b₂)", block.ff.down(active), "and back");
  const Tensor changed = shapes.show("  + a", narrow + a, "");
  const Tensor y = shapes.show("y = norm2(...)", block.norm2(changed), "ready for the next block");
  print(out, shapes.table());
  out << "\n  The block in one call comes to the same:\n";
  print(out, difference(block(x, Mask::none()), y));

  out << "\n  What normalization does to the first word:\n";
  print(out, align({{"", "mean", "variance"}, moments("attention(x) + x", added), moments("norm1(...)", a)}, 1));

  out << "\n  The block's parameters, named as in the PyTorch code that Reel follows:\n";
  std::vector<Words> parameters;
  for (const auto& [name, parameter] : block.state_dict()) {
    parameters.push_back({name, text(parameter.shape()), text(parameter.numel())});
  }
  parameters.push_back({"all", "", text(block.parameter_count())});
  print(out, align(parameters, 2));
}

}  // namespace reel::apps
