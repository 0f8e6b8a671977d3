#include "autograd/tape.h"

#include <atomic>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/row_gradient.h"

namespace reel {
namespace {

thread_local Tape* current = nullptr;
thread_local bool paused = false;

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> count{0};
  return ++count;
}

/// Stops recording while it lives.
class Pause {
 public:
  explicit Pause(bool pause) : before_(paused) { paused = paused || pause; }
  ~Pause() { paused = before_; }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  bool before_;
};

}  // namespace

/// The state of one backward pass.
struct Tape::Pass {
  std::vector<Tensor> of_entry;                      // the gradient of each entry's result, as far as it is known
  std::vector<std::pair<Tensor, Tensor>> of_leaf{};  // leaf and gradient: only what gradients() was asked for
  bool accumulate = false;                           // into the leaves' own grad()

  /// Where the gradient of this leaf is collected; null if nobody asked for it.
  Tensor* slot(const Tensor& leaf) {
    for (auto& [asked, gradient] : of_leaf) {
      if (asked.same(leaf)) return &gradient;
    }
    return nullptr;
  }
};

Tape::Tape() : serial_(next_serial()) {
  if (current) fail("Tape: another tape already records on this thread; let it go out of scope first");
  current = this;
}

Tape::~Tape() {
  if (current == this) current = nullptr;
}

Tape* Tape::recording() { return paused ? nullptr : current; }

Tape::Source Tape::source_of(const Tensor& x) const {
  if (x.impl().tape == serial_) return {Source::entry, x.impl().entry, {}};
  if (x.impl().requires_grad) return {Source::leaf, 0, x};
  return {};
}

bool Tape::needs_any(Inputs inputs) const {
  for (const Tensor& x : inputs) {
    if (x.impl().tape == serial_ || x.impl().requires_grad) return true;
  }
  return false;
}

Tensor keep_for(const Tensor& input, const Tensor& x) {
  const Tape* tape = Tape::recording();
  return tape && tape->needs_any({input}) ? x : Tensor();
}

void Tape::append(const char* operation, Inputs inputs, Tensor& result, Backward backward) {
  if (used_up_) {
    fail(operation, ": recorded on a tape that has run backward already; make a new Tape for the next step");
  }
  Entry entry{operation, {}, result.shape(), result.dtype(), std::move(backward)};
  for (const Tensor& x : inputs) entry.inputs.push_back(source_of(x));
  // An operation may return its input: a new handle for the result lets the input keep its own entry.
  if (result.impl().tape == serial_ || result.requires_grad()) result = detach(result);
  result.impl().tape = serial_;
  result.impl().entry = entries_.size();
  entries_.push_back(std::move(entry));
}

std::size_t Tape::entry_of(const char* caller, const Tensor& y) const {
  if (used_up_) fail(caller, ": this tape has run backward already; make a new Tape and compute the loss again");
  if (y.impl().tape != serial_) {
    fail(caller,
         ": the loss was not recorded on this tape; compute it from tensors that require a gradient while the "
         "tape lives");
  }
  if (y.numel() != 1)
    fail(caller, ": the loss has the shape ", y.shape(), "; need one element, such as its sum or mean");
  return y.impl().entry;
}

void Tape::run(std::size_t last, Pass& pass) {
  const bool drop = pass.accumulate;
  if (drop) entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(last) + 1, entries_.end());
  pass.of_entry[last] = ones(entries_[last].shape, entries_[last].dtype);
  for (std::size_t i = last + 1; i-- > 0;) {
    const Entry& entry = entries_[i];
    if (Tensor& dy = pass.of_entry[i]; dy.defined()) {
      Grads grads(entry, *this, pass);
      entry.backward(dy, grads);
      if (drop) dy = Tensor();
    }
    if (drop) entries_.pop_back();
  }
}

void Tape::backward(const Tensor& loss) {
  const std::size_t last = entry_of("backward", loss);
  used_up_ = true;
  Pause pause(true);
  Pass pass{std::vector<Tensor>(last + 1)};
  pass.accumulate = true;
  run(last, pass);
}

std::vector<Tensor> Tape::gradients(const Tensor& y, const std::vector<Tensor>& xs, CreateGraph create) {
  const std::size_t last = entry_of("gradients", y);
  Pause pause(create == CreateGraph::no);
  Pass pass{std::vector<Tensor>(last + 1)};
  for (const Tensor& x : xs) {
    const Source source = source_of(x);
    if (source.kind == Source::constant) {
      fail("gradients: an x of the shape ", x.shape(),
           " needs no gradient; call set_requires_grad() on it before y is computed");
    }
    if (source.kind == Source::leaf) pass.of_leaf.emplace_back(x, Tensor());
  }
  run(last, pass);

  std::vector<Tensor> result;
  for (const Tensor& x : xs) {
    const Source source = source_of(x);
    Tensor dx;
    if (source.kind == Source::leaf) {
      dx = *pass.slot(x);
    } else if (source.index <= last) {
      dx = pass.of_entry[source.index];
    }
    result.push_back(dx.defined() ? dx : zeros(x.shape(), x.dtype()));
  }
  return result;
}

std::string Tape::to_string() const {
  std::string lines;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    lines += text(i, "  ", entries_[i].operation, "  ", entries_[i].shape, "  <-");
    const char* separator = " ";
    for (const Source& input : entries_[i].inputs) {
      lines += separator;
      lines += input.kind == Source::entry  ? std::to_string(input.index)
               : input.kind == Source::leaf ? text("leaf ", input.tensor.shape())
                                            : "constant";
      separator = ", ";
    }
    lines += '\n';
  }
  return lines;
}

namespace {

/// Sums a gradient over the axes along which its input was repeated.
Tensor sum_to(const Tensor& dx, const Shape& shape) {
  const int extra = dx.rank() - shape.rank();
  std::vector<int> repeated;
  for (int axis = 0; axis < dx.rank(); ++axis) {
    if (axis < extra || (shape[axis - extra] == 1 && dx.shape()[axis] != 1)) repeated.push_back(axis);
  }
  return reshape(sum(dx, repeated, KeepDim::yes), shape);
}

}  // namespace

/// The shape of an input whose gradient is wanted. Throws if that gradient has another dtype than it.
const Shape& Grads::shape_for(std::size_t input, const Tensor& gradient) const {
  const Tape::Source& source = entry_.inputs[input];
  const bool is_leaf = source.kind == Tape::Source::leaf;
  const DType dtype = is_leaf ? source.tensor.dtype() : tape_.entries_[source.index].dtype;
  if (gradient.dtype() != dtype) {
    fail("backward of ", entry_.operation, ": the gradient of input ", input, " is ", gradient.dtype(), ", the input ",
         dtype);
  }
  return is_leaf ? source.tensor.shape() : tape_.entries_[source.index].shape;
}

const Tape::Source& Grads::source_of(std::size_t input) const {
  if (input >= entry_.inputs.size()) {
    fail("backward of ", entry_.operation, ": a gradient of input ", input, "; there are ", entry_.inputs.size(),
         " inputs, counted from 0");
  }
  return entry_.inputs[input];
}

void Grads::add(std::size_t input, Tensor dx) {
  const Tape::Source& source = source_of(input);
  if (source.kind == Tape::Source::constant) return;
  const Shape& shape = shape_for(input, dx);
  if (dx.shape() != shape) {
    if (!broadcasts_to(shape, dx.shape())) {
      fail("backward of ", entry_.operation, ": the gradient of input ", input, " is ", dx.shape(), ", the input ",
           shape);
    }
    dx = sum_to(dx, shape);
  }

  if (source.kind == Tape::Source::entry) {
    accumulate(pass_.of_entry[source.index], std::move(dx));
  } else if (pass_.accumulate) {
    accumulate_in(source.tensor, std::move(dx));
  } else if (Tensor* slot = pass_.slot(source.tensor)) {
    accumulate(*slot, std::move(dx));
  }
}

void Grads::add_rows(std::size_t input, const Ids& ids, const Tensor& dy) {
  const Tape::Source& source = source_of(input);
  if (source.kind == Tape::Source::constant) return;
  const Shape& shape = shape_for(input, dy);
  if (shape.rank() != 2 || dy.rank() == 0 || dy.size(-1) != shape[1]) {
    fail("backward of ", entry_.operation, ": the rows for input ", input, " are ", dy.shape(), ", the input ", shape);
  }
  if (source.kind == Tape::Source::leaf && pass_.accumulate) {
    accumulate_in(source.tensor, coalesce(dy, ids, shape[0]));
  } else {
    add(input, embedding_sum(dy, ids, shape[0]));
  }
}

Tensor Grads::sum_so_far(std::size_t input) const {
  const Tape::Source& source = source_of(input);
  const Tensor* sum = nullptr;
  if (source.kind == Tape::Source::entry) sum = &pass_.of_entry[source.index];
  if (source.kind == Tape::Source::leaf) {
    sum = pass_.accumulate ? &source.tensor.impl().grad : pass_.slot(source.tensor);
  }
  return sum && may_add_to(*sum) ? *sum : Tensor();
}

bool Grads::may_overwrite(const Tensor& x) const { return pass_.accumulate && x.exclusive() && x.is_contiguous(); }

// A leaf owns its gradient, whole or rows: optimizers and clipping write into it.

void Grads::accumulate_in(Tensor leaf, Tensor dx) {
  auto& impl = leaf.impl();
  if (!impl.grad.defined() && !(dx.exclusive() && dx.is_contiguous())) dx = copy_of(dx);
  accumulate(impl.grad, std::move(dx));
  if (impl.row_grad) add_in_place(impl.grad, *std::exchange(impl.row_grad, nullptr));
}

void Grads::accumulate_in(Tensor leaf, RowGradient rows) {
  auto& impl = leaf.impl();
  auto add_rows_to = [&](auto& sum, Tensor& values) {
    if (!values.exclusive()) values = copy_of(values);
    add_in_place(sum, rows);
  };
  if (impl.grad.defined()) {
    add_rows_to(impl.grad, impl.grad);
  } else if (impl.row_grad) {
    add_rows_to(*impl.row_grad, impl.row_grad->values);
  } else {
    impl.row_grad = std::make_unique<RowGradient>(std::move(rows));
  }
}

/// Not if somebody else sees this memory: another input's gradient, or the user.
bool Grads::may_add_to(const Tensor& sum) {
  return sum.defined() && !Tape::recording() && sum.exclusive() && sum.is_contiguous();
}

void Grads::accumulate(Tensor& sum, Tensor dx) {
  if (!sum.defined()) {
    sum = std::move(dx);
  } else if (may_add_to(sum)) {
    add_in_place(sum, dx);
  } else {
    sum = sum + dx;
  }
}

}  // namespace reel
