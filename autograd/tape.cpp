#include "autograd/tape.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/row_gradient.h"

namespace reel {
namespace {

thread_local Tape* current = nullptr;
thread_local bool is_paused = false;

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> count{0};
  return ++count;
}

}  // namespace

NoGrad::NoGrad() : was_paused_(std::exchange(is_paused, true)) {}
NoGrad::~NoGrad() { is_paused = was_paused_; }

/// The state of one backward pass.
struct Tape::Pass {
  std::vector<Tensor> entry_gradients;  // the gradient of each entry's result, as far as it is known
  std::vector<bool> wanted_entries{};   // which results depend on what gradients() was asked for
  std::vector<std::pair<Tensor, Tensor>> leaf_gradients{};  // leaf and gradient: only what gradients() was asked for
  bool accumulate = false;  // backward(): into the leaves' own grad(); derivatives run for the last time

  /// Where the gradients of this input add up; null if nobody asked for them.
  Tensor* gradient_of(const Edge& edge) {
    if (edge.kind == Edge::entry) {
      const bool wanted = edge.index < entry_gradients.size() && (accumulate || wanted_entries[edge.index]);
      return wanted ? &entry_gradients[edge.index] : nullptr;
    }
    if (edge.kind != Edge::leaf) return nullptr;
    if (accumulate) return &edge.tensor.impl().grad;
    auto is_leaf = [&](const auto& asked) { return asked.first.same(edge.tensor); };
    const auto found = std::find_if(leaf_gradients.begin(), leaf_gradients.end(), is_leaf);
    return found == leaf_gradients.end() ? nullptr : &found->second;
  }

  /// Whether anybody asked for the gradient of one of its inputs.
  bool wants_inputs_of(const Entry& entry) {
    return std::ranges::any_of(entry.inputs, [&](const Edge& input) { return gradient_of(input) != nullptr; });
  }
};

Tape::Tape() : serial_(next_serial()) {
  if (current) fail("Tape: another tape records on this thread; let it die first (gradient checks begin one, too)");
  current = this;
}

Tape::~Tape() {
  if (current == this) current = nullptr;
}

Tape* Tape::recording() { return is_paused ? nullptr : current; }

bool Tape::has_recorded(const Tensor& x) const { return x.impl().tape == serial_; }

bool Tape::needs_any(Inputs inputs) const {
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const Tensor& x) { return x.defined() && (has_recorded(x) || x.requires_grad()); });
}

bool needs_gradient(const Tensor& x) {
  const Tape* tape = Tape::recording();
  return tape && !tape->used_up_ && tape->needs_any({x});
}

bool is_recorded(const Tensor& x) { return current && !current->used_up_ && current->has_recorded(x); }

Tape::Edge Tape::edge_of(const Tensor& x) const {
  if (!x.defined()) return {};
  if (has_recorded(x)) return {Edge::entry, x.impl().entry, {}};
  if (x.requires_grad()) return {Edge::leaf, 0, x};
  return {};
}

Tape::Form Tape::form_of(const Edge& edge) const {
  if (edge.kind == Edge::leaf) return {edge.tensor.shape(), edge.tensor.dtype()};
  return {entries_[edge.index].shape, entries_[edge.index].dtype};
}

void Tape::append(const char* operation, Inputs inputs, Tensor& result, Backward backward) {
  if (used_up_) {
    fail(operation,
         ": recorded on a tape that has run backward already; let it go out of scope and make a new one for the next "
         "step, or compute under NoGrad what needs no gradient");
  }
  Entry entry{operation, {}, result.shape(), result.dtype(), std::move(backward)};
  for (const Tensor& x : inputs) entry.inputs.push_back(edge_of(x));
  // An operation may return an input: a new handle for the result lets the input stay what it is.
  auto is_result = [&](const Tensor& x) { return x.same(result); };
  if (has_recorded(result) || std::any_of(inputs.begin(), inputs.end(), is_result)) result = detach(result);
  result.impl().tape = serial_;
  result.impl().entry = entries_.size();
  entries_.push_back(std::move(entry));
}

std::size_t Tape::entry_of(const char* caller, const char* name, const Tensor& y) const {
  if (used_up_) fail(caller, ": this tape has run backward already; make a new Tape and compute ", name, " again");
  if (!has_recorded(y)) {
    fail(caller, ": ", name, y.requires_grad() ? " is a leaf, no result" : " was not recorded on this tape",
         "; compute it from tensors that require a gradient while the tape lives, not under NoGrad");
  }
  if (y.numel() != 1) {
    fail(caller, ": ", name, " has the shape ", y.shape(),
         "; need one element, such as its mean or, for v times the Jacobian, sum(y * v)");
  }
  return y.impl().entry;
}

/// While one lives, its thread runs this derivative: what it reads must be as old as that (Tensor::check_unchanged).
class Tape::Running {
 public:
  explicit Running(const Tensor::Derivative* derivative) : before_(std::exchange(Tensor::running_, derivative)) {}
  ~Running() { Tensor::running_ = before_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  const Tensor::Derivative* before_;
};

void Tape::run(std::size_t last, Pass& pass) {
  const bool drop = pass.accumulate;
  if (drop) entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(last) + 1, entries_.end());
  pass.entry_gradients[last] = ones(entries_[last].shape, entries_[last].dtype);
  for (std::size_t i = last + 1; i-- > 0;) {
    const Entry& entry = entries_[i];
    Tensor dy = drop ? std::exchange(pass.entry_gradients[i], {}) : pass.entry_gradients[i];
    if (dy.defined() && pass.wants_inputs_of(entry)) {
      const Tensor::Derivative derivative{entry.operation, entry.recorded};
      const Running running(&derivative);
      Grads grads(entry, *this, pass);
      entry.backward(std::move(dy), grads);
    }
    if (drop) entries_.pop_back();
  }
}

void Tape::backward(const Tensor& loss) {
  const std::size_t last = entry_of("backward", "the loss", loss);
  used_up_ = true;
  const NoGrad no_grad;
  Pass pass{std::vector<Tensor>(last + 1)};
  pass.accumulate = true;
  run(last, pass);
}

std::vector<Tensor> Tape::gradients(const Tensor& y, const std::vector<Tensor>& xs, CreateGraph create) {
  const std::size_t last = entry_of("gradients", "y", y);
  if (create == CreateGraph::yes && is_paused) fail("gradients: CreateGraph::yes would record, which NoGrad forbids");
  std::optional<NoGrad> no_grad;
  if (create == CreateGraph::no) no_grad.emplace();
  Pass pass{std::vector<Tensor>(last + 1)};
  pass.wanted_entries.resize(last + 1);
  for (const Tensor& x : xs) {
    const Edge edge = edge_of(x);
    if (edge.kind == Edge::constant) {
      fail("gradients: an x of the shape ", x.shape(),
           " needs no gradient on this tape; call set_requires_grad() on it before y is computed, or on its detach() "
           "where another tape computed it");
    }
    if (edge.kind == Edge::leaf) pass.leaf_gradients.emplace_back(x, Tensor());
    if (edge.kind == Edge::entry && edge.index <= last) pass.wanted_entries[edge.index] = true;
  }
  for (std::size_t i = 0; i <= last; ++i) {
    if (pass.wants_inputs_of(entries_[i])) pass.wanted_entries[i] = true;
  }
  run(last, pass);

  std::vector<Tensor> result;
  for (const Tensor& x : xs) {
    const Tensor* dx = pass.gradient_of(edge_of(x));
    result.push_back(dx && dx->defined() ? *dx : zeros(x.shape(), x.dtype()));
  }
  return result;
}

std::vector<Tensor> Tape::leaves() const {
  std::vector<Tensor> leaves;
  for (const Entry& entry : entries_) {
    for (const Edge& input : entry.inputs) {
      auto is_input = [&](const Tensor& leaf) { return leaf.same(input.tensor); };
      if (input.kind == Edge::leaf && std::ranges::none_of(leaves, is_input)) leaves.push_back(input.tensor);
    }
  }
  return leaves;
}

std::string Tape::to_string() const {
  std::string lines;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    lines += text(i, "  ", entries_[i].operation, "  ", entries_[i].shape, "  <-");
    const char* separator = " ";
    for (const Edge& input : entries_[i].inputs) {
      lines += separator;
      lines += input.kind == Edge::entry  ? std::to_string(input.index)
               : input.kind == Edge::leaf ? text("leaf ", input.tensor.shape())
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

const Tape::Edge& Grads::edge_of(std::size_t input) const {
  if (input >= entry_.inputs.size()) {
    fail("backward of ", entry_.operation, ": a gradient of input ", input, "; there are ", entry_.inputs.size(),
         " inputs, counted from 0");
  }
  return entry_.inputs[input];
}

bool Grads::needs(std::size_t input) const { return pass_.gradient_of(edge_of(input)) != nullptr; }

void Grads::add(std::size_t input, Tensor dx) {
  const Tape::Edge& edge = edge_of(input);
  if (edge.kind == Tape::Edge::constant) return;
  const auto [shape, dtype] = tape_.form_of(edge);
  if (dx.dtype() != dtype || !broadcasts_to(shape, dx.shape())) {
    fail("backward of ", entry_.operation, ": the gradient of input ", input, " is ", dx.dtype(), ' ', dx.shape(),
         ", the input ", dtype, ' ', shape);
  }
  Tensor* const sum = pass_.gradient_of(edge);
  if (!sum) return;
  // Nothing is checked from here on: a leaf's gradient of earlier passes may have been clipped or scaled since this was
  // recorded, and may be, for it is only added to.
  const Tape::Running none(nullptr);
  if (dx.shape() != shape) dx = sum_to(dx, shape);
  if (edge.kind == Tape::Edge::leaf && pass_.accumulate) {
    accumulate_in(edge.tensor, std::move(dx));
  } else {
    accumulate(*sum, std::move(dx));
  }
}

void Grads::add_rows(std::size_t input, const Ids& ids, const Tensor& dy) {
  const Tape::Edge& edge = edge_of(input);
  if (edge.kind == Tape::Edge::constant) return;
  const auto [shape, dtype] = tape_.form_of(edge);
  if (dy.dtype() != dtype || shape.rank() != 2 || dy.rank() == 0 || dy.size(-1) != shape[1]) {
    fail("backward of ", entry_.operation, ": the rows for input ", input, " are ", dy.dtype(), ' ', dy.shape(),
         ", the input ", dtype, ' ', shape);
  }
  const Tape::Running none(nullptr);
  if (edge.kind == Tape::Edge::leaf && pass_.accumulate) {
    accumulate_in(edge.tensor, coalesce(dy, ids, shape[0]));
  } else if (pass_.gradient_of(edge)) {
    add(input, embedding_sum(dy, ids, shape[0]));
  }
}

Tensor Grads::claim_sum(std::size_t input) {
  const Tensor* const sum = pass_.gradient_of(edge_of(input));
  if (!sum || !may_add_to(*sum)) return {};
  sum->impl().storage->renew();  // it is exclusive: no derivative has captured it
  return *sum;
}

bool Grads::claim(const Tensor& x) {
  if (!pass_.accumulate || !x.exclusive() || !strides_nest(x.shape(), x.strides())) return false;
  x.check_unchanged();  // now: after renew() nothing shows that it was written over
  x.impl().storage->renew();
  return true;
}

Tensor Grads::in_place_of(const Tensor& x) { return x.is_contiguous() && claim(x) ? x : Tensor(x.shape(), x.dtype()); }

// A leaf owns its gradient, whole or rows: optimizers and clipping write into it. And it is detached: where a
// derivative has written dx over a result that it captured (claim), dx still carries that result's entry on the tape.

void Grads::accumulate_in(const Tensor& leaf, Tensor dx) {
  auto& impl = leaf.impl();
  if (!impl.grad.defined()) dx = dx.exclusive() && dx.is_contiguous() ? detach(dx) : copy_of(dx);
  accumulate(impl.grad, std::move(dx));
  if (impl.row_grad) add_in_place(impl.grad, *std::exchange(impl.row_grad, nullptr));
}

void Grads::accumulate_in(const Tensor& leaf, RowGradient rows) {
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
    sum.impl().storage->renew();
  } else {
    sum = sum + dx;
  }
}

}  // namespace reel
