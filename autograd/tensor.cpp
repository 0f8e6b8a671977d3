#include "autograd/tensor.h"

#include <algorithm>
#include <ostream>
#include <span>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/kernels/copy.h"
#include "autograd/row_gradient.h"
#include "autograd/tape.h"

namespace reel {
namespace {

/// Whether elements from `offset` on, with these strides, all lie within the first `count`.
bool lie_within(int64_t count, const Shape& shape, const Strides& strides, int64_t offset) {
  if (numel(shape) == 0) return true;
  int64_t first = offset, last = offset;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    int64_t distance;
    int64_t& end = strides[axis] < 0 ? first : last;
    if (__builtin_mul_overflow(shape[axis] - 1, strides[axis], &distance)) return false;
    if (__builtin_add_overflow(end, distance, &end)) return false;
  }
  return first >= 0 && last < count;
}

}  // namespace

Tensor::Tensor(const Tensor&) noexcept = default;
Tensor& Tensor::operator=(const Tensor&) noexcept = default;
Tensor& Tensor::operator=(Tensor&&) noexcept = default;
Tensor::~Tensor() = default;

Tensor::Tensor(Shape shape, DType dtype) : impl_(std::make_shared<Impl>()) {
  check_size("Tensor", shape);
  auto bytes = static_cast<std::size_t>(reel::numel(shape)) * size_in_bytes(dtype);
  impl_->storage = std::make_shared<Storage>(bytes);
  impl_->shape = shape;
  impl_->strides = contiguous_strides(shape);
  impl_->dtype = dtype;
}

Tensor::Tensor(const Tensor& base, Shape shape, Strides strides, int64_t offset) : impl_(std::make_shared<Impl>()) {
  check_size("Tensor", shape);
  impl_->storage = base.impl().storage;
  const auto room = static_cast<int64_t>(impl_->storage->size() / size_in_bytes(base.dtype()));
  const int64_t distance = reel::numel(shape) == 0 ? 0 : offset;  // not even the address of nothing leaves the memory
  if (strides.rank() != shape.rank() || __builtin_add_overflow(base.impl().offset, distance, &impl_->offset) ||
      !lie_within(room, shape, strides, impl_->offset)) {
    fail("Tensor: a view ", shape, " with strides ", strides, " from element ", offset, " of ", base.shape(),
         " on; need as many strides as sizes, and every element within the memory of that");
  }
  impl_->shape = shape;
  impl_->strides = strides;
  impl_->dtype = base.dtype();
}

double Tensor::item() const {
  if (numel() != 1) fail("item: a tensor of the shape ", shape(), " holds ", numel(), " values; need exactly one");
  return with_type(dtype(), [&]<class T>(T) { return static_cast<double>(*data<T>()); });
}

std::vector<double> Tensor::to_vector() const {
  Tensor values(shape(), DType::f64);
  copy(*this, values);
  const double* first = values.data<double>();
  return {first, first + numel()};
}

void Tensor::mark_written() const { impl().storage->mark_written(); }

void Tensor::check_unchanged(const Derivative& derivative) const {
  if (!impl().storage->changed_since(derivative.recorded)) return;
  fail("backward of ", derivative.operation, ": it reads numbers ", shape(), " that were written over since ",
       derivative.operation,
       " was recorded, and the gradient would be wrong; write to them after the backward pass, or to a copy_of() them");
}

Tensor Tensor::set_requires_grad(bool on) const {
  if (impl().tape != 0) {
    fail("set_requires_grad: only a leaf can ask for it, this ", shape(),
         " is the result of an operation; detach() makes a leaf");
  }
  impl().requires_grad = on;
  return *this;
}

bool Tensor::has_grad() const { return impl().grad.defined() || impl().row_grad; }

const Tensor& Tensor::grad() const {
  if (const RowGradient* rows = row_grad()) {
    impl().grad = zeros(shape(), dtype());
    add_in_place(impl().grad, *rows);
    impl().row_grad.reset();
  }
  return impl().grad;
}

const RowGradient* Tensor::row_grad() const { return impl().row_grad.get(); }

void Tensor::set_grad(const Tensor& grad) const {
  if (grad.defined() && grad.shape() != shape()) {
    fail("set_grad: the gradient is ", grad.shape(), ", the tensor is ", shape(), "; they must be equal");
  }
  if (grad.defined() && grad.dtype() != dtype()) {
    fail("set_grad: the gradient is ", grad.dtype(), ", the tensor is ", dtype(), "; they must be equal");
  }
  impl().grad = grad.defined() ? copy_of(grad) : grad;  // its own: optimizers and clipping write into it
  impl().row_grad.reset();
}

void Tensor::fail_undefined() {
  if (running_) {
    fail("backward of ", running_->operation,
         ": an undefined tensor was used; what keep_for() keeps is undefined where its gradient is not wanted: ask "
         "grads.needs() before it is read. So is a dy that has been passed on by std::move");
  }
  fail("an undefined tensor was used; assign a value to it first (a grad() is undefined until backward() reaches it)");
}

void Tensor::check_dtype(DType wanted) const {
  if (dtype() != wanted) fail("data: asked for ", wanted, " of a tensor of ", dtype());
}

bool Tensor::exclusive() const { return impl_.use_count() == 1 && impl_->storage.use_count() == 1; }

namespace {

/// An axis of the numbers and those behind it: "[1, 2, 3]".
void print(std::ostream& out, const Shape& shape, int axis, const double* numbers) {
  if (axis == shape.rank()) {
    out << *numbers;
    return;
  }
  const int64_t size = shape[axis], step = numel(Dims(std::span(shape.begin() + axis + 1, shape.end())));
  constexpr int64_t at_ends = 3;
  out << '[';
  for (int64_t i = 0; i < size; ++i) {
    if (i > 0) out << ", ";
    if (size > 2 * at_ends && i == at_ends) {
      out << "..., ";
      i = size - at_ends;
    }
    print(out, shape, axis + 1, numbers + i * step);
  }
  out << ']';
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Tensor& x) {
  if (!x.defined()) return out << "undefined";
  out << x.dtype() << ' ' << x.shape() << ": ";
  print(out, x.shape(), 0, x.to_vector().data());
  return out;
}

void check_same_dtype(const char* operation, const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) {
    fail(operation, ": operands are ", a.dtype(), " and ", b.dtype(), ", of the shapes ", a.shape(), " and ", b.shape(),
         "; they must have one dtype");
  }
}

Tensor copy_of(const Tensor& x) {
  Tensor result(x.shape(), x.dtype());
  copy(x, result);
  return result;
}

Tensor detach(const Tensor& x) { return Tensor(x, x.shape(), x.strides()); }

Tensor contiguous_values(const Tensor& x) { return x.is_contiguous() ? detach(x) : copy_of(x); }

void copy(const Tensor& from, const Tensor& to) {
  if (from.shape() != to.shape()) fail("copy: from ", from.shape(), " to ", to.shape(), "; shapes must be equal");
  if (!strides_nest(to.shape(), to.strides())) {
    fail("copy: to ", to.shape(), " with the strides ", to.strides(),
         ", by which elements may share places; need strides that nest, as views but those of expand() have");
  }
  if (is_recorded(to)) {
    fail("copy: a gradient flows to the numbers ", to.shape(),
         " that it writes over, on the tape that records, and would be wrong; use a new tensor");
  }
  if (from.shares_storage(to)) return copy(copy_of(from), to);  // what is written may be read again
  with_type(from.dtype(), [&]<class From>(From) {
    with_type(to.dtype(), [&]<class To>(To) {
      kernels::copy(from.shape(), from.data<From>(), from.strides(), to.data<To>(), to.strides());
    });
  });
  to.mark_written();
}

const Tensor* find(const NamedTensors& tensors, const std::string& name) {
  for (const auto& [key, tensor] : tensors) {
    if (key == name) return &tensor;
  }
  return nullptr;
}

}  // namespace reel
