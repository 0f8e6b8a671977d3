#pragma once
// How operations along an axis see a shape, whatever its rank: three loops, one inside the other.

#include "autograd/shape.h"

namespace reel {

/// A shape seen as (outer, count, inner): what lies before, along and after the axes first .. last.
struct Folded {
  int64_t outer = 1, count = 1, inner = 1;

  Folded(const Shape& shape, int first, int last) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      (axis < first ? outer : axis > last ? inner : count) *= shape[axis];
    }
  }
};

}  // namespace reel
