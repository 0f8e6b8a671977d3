#pragma once
// The two types of number a tensor can hold, and the one place that goes from the value to the type.

#include <cstddef>
#include <ostream>

namespace reel {

/// f32 trains; f64 makes gradient checks tight.
enum class DType { f32, f64 };

inline std::ostream& operator<<(std::ostream& out, DType dtype) { return out << (dtype == DType::f32 ? "f32" : "f64"); }

constexpr DType dtype_for(float) { return DType::f32; }
constexpr DType dtype_for(double) { return DType::f64; }

/// Of float and double alone: for any other type of number the call is ambiguous.
template <class T>
inline constexpr DType dtype_of = dtype_for(T{});

/// Calls body(T{}) with T = float or double: with_type(x.dtype(), [&]<class T>(T) { ... x.data<T>() ... })
template <class Body>
decltype(auto) with_type(DType dtype, Body&& body) {
  return dtype == DType::f32 ? body(float{}) : body(double{});
}

inline std::size_t size_in_bytes(DType dtype) {
  return with_type(dtype, []<class T>(T) { return sizeof(T); });
}

}  // namespace reel
