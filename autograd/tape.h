#pragma once
// The tape: reverse-mode differentiation over a Wengert list.
//
// While a Tape lives, every operation of its thread on something that needs a gradient appends an entry: its inputs,
// and a function that turns the gradient of its result into those of its inputs. Appended in the order of computing,
// the list is topologically sorted; so backward() is one loop from the last entry to the first:
//
//     Tape tape;
//     Tensor loss = nll_loss(model(x), y);
//     tape.backward(loss);                       // gradients add up in the parameters
//
// See R. E. Wengert, "A simple automatic derivative evaluation program" (1964), and A. Karpathy's micrograd.

#include <cstddef>
#include <deque>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autograd/ids.h"
#include "autograd/tensor.h"

namespace reel {

class Grads;

/// Adds to the gradients of an operation's inputs what follows from dy, that of its result. If it passes dy on, by
/// std::move, a leaf need not copy it.
using Backward = std::function<void(Tensor dy, Grads& grads)>;

/// The inputs of an operation, in the order in which its derivative names them. An undefined tensor stands for one that
/// was not given: nobody wants its gradient. Lives as long as the call.
class Inputs {
 public:
  Inputs(std::initializer_list<Tensor> tensors) : tensors_(tensors.begin(), tensors.size()) {}
  Inputs(const std::vector<Tensor>& tensors) : tensors_(tensors) {}
  auto begin() const { return tensors_.begin(); }
  auto end() const { return tensors_.end(); }

 private:
  std::span<const Tensor> tensors_;
};

/// While one lives, nothing is recorded on its thread: what is computed is constant (torch.no_grad()). For an update of
/// parameters, or a look at a model, while a tape lives; without a tape nothing is recorded anyway.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool was_paused_;
};

/// Whether the gradients are themselves to be differentiated.
enum class CreateGraph { no, yes };

class Tape {
 public:
  /// Starts to record on this thread, on which it must also die. Throws if another tape already records here. What was
  /// computed before, without a tape or on an earlier one, is constant for this one, even a view of a parameter: no
  /// gradient goes through it. Several threads may each have a tape, but must not run backward into the same leaves at
  /// once.
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Adds d loss / d leaf to the grad() of every leaf that needs one. Throws unless `loss` has one element and was
  /// recorded here; also, with some gradients already added, if a derivative reads what was written over since its
  /// operation was recorded (Tensor::mark_written). Each entry is dropped as soon as it has run; afterwards the tape is
  /// used up: until it is destroyed, to record anything on this thread throws, as does a second backward(). Compute the
  /// loss in a statement of its own: within backward(...), the temporary tensors that led to it would live on.
  void backward(const Tensor& loss);

  /// d y / d x for every x: leaves or recorded results; zeros where y does not depend on x. Throws as backward() does,
  /// and unless every x needs a gradient. Nothing is accumulated and no entry is dropped. With CreateGraph::yes the
  /// backward pass is recorded too, for second derivatives; not under NoGrad, where that throws. Results may share
  /// memory, and repeat a number (stride 0): copy what is to be written to (copy_of).
  std::vector<Tensor> gradients(const Tensor& y, const std::vector<Tensor>& xs, CreateGraph create = CreateGraph::no);

  /// How many entries it has; none are left after backward().
  std::size_t size() const { return entries_.size(); }
  /// The leaves among these entries' inputs, each once.
  std::vector<Tensor> leaves() const;

  /// One line per entry: "3  mul  (2, 3)  <- 1, leaf (2, 3)".
  std::string to_string() const;

  /// The tape that records on this thread now, or would refuse to, having run backward; null if there is none, under
  /// NoGrad, and in a backward pass, unless that is recorded too (CreateGraph::yes).
  static Tape* recording();

 private:
  friend class Grads;
  template <class F>
  friend Tensor record(const char* operation, Inputs inputs, Tensor result, F&& backward);
  friend bool needs_gradient(const Tensor& x);
  friend bool is_recorded(const Tensor& x);

  /// Where an input's gradient goes: an earlier entry, or a leaf; neither if nobody wants it.
  struct Edge {
    enum Kind { constant, entry, leaf } kind = constant;
    std::size_t index = 0;  // of the entry
    Tensor tensor;          // the leaf
  };
  struct Entry {
    const char* operation;
    std::vector<Edge> inputs;
    Shape shape;  // of the result
    DType dtype;
    Backward backward;
    std::uint64_t recorded = next_moment();
  };
  /// Shape and dtype of an input, which its gradient must have.
  struct Form {
    const Shape& shape;
    DType dtype;
  };
  struct Pass;
  class Running;

  bool has_recorded(const Tensor& x) const;
  Edge edge_of(const Tensor& x) const;
  bool needs_any(Inputs inputs) const;
  Form form_of(const Edge& edge) const;
  void append(const char* operation, Inputs inputs, Tensor& result, Backward backward);
  std::size_t entry_of(const char* caller, const char* name, const Tensor& y) const;
  void run(std::size_t last, Pass& pass);

  std::uint64_t serial_;
  std::deque<Entry> entries_;  // its entries stay in place while backward appends more
  bool used_up_ = false;
};

/// Collects the gradients of one operation's inputs, on behalf of its derivative.
class Grads {
 public:
  /// Whether anybody wants the gradient of this input. Throws where there is no such input, as all below do.
  bool needs(std::size_t input) const;

  /// Adds dx to the gradient of this input, which may be dx from then on: do not write over it. If the input was
  /// broadcast, dx may have the broadcast shape: it is summed over the repeated axes here, and nowhere else.
  void add(std::size_t input, Tensor dx);

  /// Adds dy (..., D) to the rows `ids` (...) of the gradient of this input (V, D): add(input, embedding_sum(dy, ids,
  /// V)). A leaf that accumulates keeps the rows alone (row_gradient.h), and its step costs what they cost.
  void add_rows(std::size_t input, const Ids& ids, const Tensor& dy);

  // Memory that a derivative claims counts as new (Storage::renew): nothing tells any more whether what it held was
  // written over since the forward pass. Claim it only to write to it.

  /// What this input's gradient is so far, for the derivative to add to in place instead of by add(); undefined if it
  /// must not. It is contiguous.
  Tensor claim_sum(std::size_t input);

  /// Whether the derivative gets the memory of x, which it has captured or was given, to write its result over it: it
  /// will not run again, nobody else sees x, and its strides nest, whatever they are.
  bool claim(const Tensor& x);

  /// Where it may write a result of x's shape, element by element after it has read x there: x itself if that is
  /// contiguous and it can claim it; otherwise new memory. To be asked before there is another handle of x.
  Tensor in_place_of(const Tensor& x);

 private:
  friend class Tape;
  Grads(const Tape::Entry& entry, const Tape& tape, Tape::Pass& pass) : entry_(entry), tape_(tape), pass_(pass) {}
  const Tape::Edge& edge_of(std::size_t input) const;
  static bool may_add_to(const Tensor& sum);
  static void accumulate(Tensor& sum, Tensor dx);
  static void accumulate_in(const Tensor& leaf, Tensor dx);
  static void accumulate_in(const Tensor& leaf, RowGradient rows);

  const Tape::Entry& entry_;
  const Tape& tape_;
  Tape::Pass& pass_;
};

/// Makes an operation differentiable: appends it to the recording tape, if there is one and an input needs a gradient,
/// and returns `result`. `backward(dy, grads)` uses the public operations. It may call kernels instead only where
/// Tape::recording() is null, or for a factor that is constant, as the slope of abs: kernels are not recorded, and
/// second derivatives would be lost. Capture by name, the result rather than an input where that is enough, and through
/// keep_for() what only some gradients need. `operation` must be a literal.
template <class F>
Tensor record(const char* operation, Inputs inputs, Tensor result, F&& backward) {
  Tape* tape = Tape::recording();
  if (tape && tape->needs_any(inputs)) tape->append(operation, inputs, result, std::forward<F>(backward));
  return result;
}

/// Whether a tape records, and its backward pass, still to come, will compute the gradient of x.
bool needs_gradient(const Tensor& x);
/// Whether x is a result on this thread's tape, whose backward pass is still to come: what writes over it spoils that.
bool is_recorded(const Tensor& x);
/// x if `input` needs a gradient, otherwise an undefined tensor, so that x can be freed.
inline Tensor keep_for(const Tensor& input, const Tensor& x) { return needs_gradient(input) ? x : Tensor(); }

}  // namespace reel
