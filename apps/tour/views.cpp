#include <ostream>

#include "apps/tour/page.h"
#include "apps/tour/steps.h"
#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/ops.h"

namespace reel::apps {

void show_views(std::ostream& out) {
  out << R"(  A tensor is a row of numbers in memory, seen through a shape and strides: how far to step in
  memory to reach the next element along each axis. Many operations change how it is seen and leave
  the numbers where they are. A tensor is contiguous if reading it row by row walks through memory
  one by one; transposed, it no longer is.

      x[i, j] lies at memory[i * strides[0] + j * strides[1]]
)";
  const Tensor x = arange(6, DType::f64).view({2, 3});
  const Tensor turned = x.transpose(0, 1);
  std::vector<Words> rows{{"", "shape", "strides", "elements, row by row", "contiguous", "memory"}};
  auto show = [&](const std::string& expression, const Tensor& result) {
    rows.push_back({expression, text(result.shape()), text(result.strides()), list(result, 0),
                    result.is_contiguous() ? "yes" : "no", result.shares_storage(x) ? "shared" : "a copy"});
  };
  show("x", x);
  show("x.view({3, 2})", x.view({3, 2}));
  show("x.view({6})", x.view({6}));
  show("x.slice(1, 0, 2)", x.slice(1, 0, 2));
  show("x.reshape({3, 2})", x.reshape({3, 2}));
  show("x.contiguous()", x.contiguous());
  rows.emplace_back();
  show("xᵀ = x.transpose(0, 1)", turned);
  show("xᵀ.contiguous()", turned.contiguous());
  show("xᵀ.reshape({6})", turned.reshape({6}));
  print(out, align(rows, 6));

  out << R"(
  x.view({3, 2}) and xᵀ have one shape and different elements: view cuts the same row of numbers in
  another way, transpose reads it in another order. view never copies, and throws where it would
  have to; reshape copies there, and only there; contiguous copies what is not contiguous.
)";
  try {
    turned.view({6});
  } catch (const Error& error) {
    const std::string message = error.what();
    const std::size_t advice = message.find(';') + 1;
    print(out, {"xᵀ.view({6}) throws:", "  " + message.substr(0, advice), " " + message.substr(advice)});
  }

  out << "\n  Whoever shares memory sees what is written there. Now x[0, 0] = 100:\n";
  const Tensor view = x.view({6}), copy = turned.reshape({6});
  *x.data<double>() = 100;
  print(out, align({{"x.view({6}), made before", list(view, 0)}, {"xᵀ.reshape({6}), made before", list(copy, 0)}}, 2));
}

}  // namespace reel::apps
