#pragma once
// Tensor: a cheap handle to numbers in memory, seen through a shape and strides.
//
// Element (i, j, ...) lies at data()[i * strides[0] + j * strides[1] + ...]. Views (transpose, slice, expand, ...) are
// other handles to the same storage; copying a Tensor copies the handle, never the numbers. const applies to the handle
// only: numbers and gradient may be written through it. A tensor that a Tape has recorded also knows its entry there; a
// tensor that requires a gradient owns it.

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/dtype.h"
#include "autograd/shape.h"
#include "autograd/storage.h"

namespace reel {

struct RowGradient;

class Tensor {
 public:
  /// An undefined tensor, which only waits to be assigned to.
  Tensor() = default;
  // Those that let go of a handle, or make one more, are in tensor.cpp: compiled wherever a tensor is copied or
  // dropped, they were a tenth of the time to build.
  Tensor(const Tensor& other) noexcept;
  Tensor(Tensor&& other) noexcept = default;
  Tensor& operator=(const Tensor& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor();
  /// Contiguous, its content undefined at first.
  Tensor(Shape shape, DType dtype);
  /// A view: the same storage, `offset` elements after the start of `base`. Throws if an element would lie outside of
  /// that storage. Not recorded.
  Tensor(const Tensor& base, Shape shape, Strides strides, int64_t offset = 0);

  bool defined() const { return impl_ != nullptr; }
  const Shape& shape() const;
  const Strides& strides() const;
  DType dtype() const;
  int rank() const { return shape().rank(); }
  int64_t size(int axis) const { return shape()[normal_axis("size", axis, rank())]; }
  int64_t stride(int axis) const { return strides()[normal_axis("stride", axis, rank())]; }
  int64_t numel() const { return reel::numel(shape()); }
  bool is_contiguous() const { return reel::is_contiguous(shape(), strides()); }
  /// Whether both lie in one Storage, if not in the same places of it.
  bool shares_storage(const Tensor& other) const;
  /// Whether both are handles to one tensor: the same parameter, say, under two names.
  bool same(const Tensor& other) const { return impl_ == other.impl_; }

  /// The first element. Throws unless T is the dtype, and as check_unchanged(). Writing through it is not recorded;
  /// call mark_written() where a derivative may want to read what was there.
  template <class T>
  T* data() const;
  /// Says that its numbers, or those of a view, were written over. copy(), add_in_place() and optimizers do so.
  void mark_written() const;
  /// Throws if a derivative runs on this thread, and these numbers were written over since its operation was recorded:
  /// it would read others than it was meant to. data() asks this, but in a derivative's parallel loops nobody does.
  void check_unchanged() const {
    if (running_) check_unchanged(*running_);
  }
  /// The only element, as a double. Throws if there is not exactly one.
  double item() const;
  /// All elements in row-major order.
  std::vector<double> to_vector() const;

  /// Asks for gradients with respect to this tensor (a leaf). Returns a handle of it.
  Tensor set_requires_grad(bool on = true) const;
  /// Whether somebody did. False for results; needs_gradient() (tape.h) is true for these, too.
  bool requires_grad() const;
  /// Whether backward passes have accumulated a gradient since the last zero_grad().
  bool has_grad() const;
  /// That gradient, contiguous; undefined if there is none. A row_grad() is made dense first, for good: what is written
  /// to grad() must last.
  const Tensor& grad() const;
  /// The gradient of a table that embedding() read some rows of, and that had no other part in the loss: those rows
  /// (row_gradient.h). Null if there is none, or if it is dense. For optimizers and clipping, which may write into it.
  const RowGradient* row_grad() const;
  /// Replaces it by a copy of `grad`; none if that is undefined. Throws if shape or dtype differ from this tensor's.
  void set_grad(const Tensor& grad) const;
  void zero_grad() const { set_grad(Tensor()); }

  // The views of ops.h, as methods.
  Tensor view(const Shape& shape) const;
  Tensor reshape(const Shape& shape) const;
  Tensor transpose(int axis, int other) const;
  Tensor permute(const std::vector<int>& axes) const;
  Tensor slice(int axis, int64_t start, int64_t end, int64_t step = 1) const;
  Tensor select(int axis, int64_t index) const;
  Tensor expand(const Shape& shape) const;
  Tensor squeeze(int axis) const;
  Tensor unsqueeze(int axis) const;
  Tensor contiguous() const;

 private:
  friend class Tape;
  friend class Grads;
  struct Impl;

  Impl& impl() const {
    if (!impl_) fail_undefined();
    return *impl_;
  }
  /// The derivative that runs on this thread, if one does: of which operation, and when that was recorded.
  struct Derivative {
    const char* operation;
    std::uint64_t recorded;
  };
  static inline constinit thread_local const Derivative* running_ = nullptr;

  [[noreturn]] static void fail_undefined();
  void check_unchanged(const Derivative& derivative) const;
  void check_dtype(DType wanted) const;
  /// Whether no other handle and no view can see this memory.
  bool exclusive() const;

  std::shared_ptr<Impl> impl_;
};

/// Tensors by name, in order: a model's weights, an optimizer's moments, what a file holds.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
/// The one of that name, while `tensors` lives; null if there is none.
const Tensor* find(const NamedTensors& tensors, const std::string& name);

struct Tensor::Impl {
  std::shared_ptr<Storage> storage;
  int64_t offset = 0;
  Shape shape;
  Strides strides;
  DType dtype = DType::f32;

  bool requires_grad = false;             // a leaf whose gradient is wanted
  Tensor grad;                            // of such a leaf,
  std::unique_ptr<RowGradient> row_grad;  // or, in its place, the rows of it that are not 0
  std::uint64_t tape = 0;                 // the serial number of the tape that recorded this result; 0 for none
  std::size_t entry = 0;                  // its entry there
};

inline const Shape& Tensor::shape() const { return impl().shape; }
inline const Strides& Tensor::strides() const { return impl().strides; }
inline DType Tensor::dtype() const { return impl().dtype; }
inline bool Tensor::requires_grad() const { return impl().requires_grad; }
inline bool Tensor::shares_storage(const Tensor& other) const { return impl().storage == other.impl().storage; }

template <class T>
T* Tensor::data() const {
  check_dtype(dtype_of<T>);
  check_unchanged();
  return reinterpret_cast<T*>(impl().storage->data()) + impl().offset;
}

/// Throws, naming `operation`, unless both have one dtype.
void check_same_dtype(const char* operation, const Tensor& a, const Tensor& b);

/// To look at it: "f32 (2, 3): [[1, 2, 3], [4, 5, 6]]". Of axes longer than 6, the first and last three.
std::ostream& operator<<(std::ostream& out, const Tensor& x);

/// Same numbers (and type) in new contiguous memory. Not recorded.
Tensor copy_of(const Tensor& x);
/// The same numbers as a constant: shares memory, knows no tape. No gradient flows through it.
Tensor detach(const Tensor& x);
/// detach(x) if its elements lie in row-major order, else a constant copy that does: for kernels that need it.
Tensor contiguous_values(const Tensor& x);
/// Writes the numbers of `from` over those of `to`, converting the dtype; they may share memory. Not recorded. Throws
/// if shapes differ, if the strides of `to` do not nest (shape.h), or if it is a result of which a tape has yet to
/// compute the gradient. Where a derivative needs what `to` held before, the backward pass will throw.
void copy(const Tensor& from, const Tensor& to);

}  // namespace reel
