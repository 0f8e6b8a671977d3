#include "nn/key_value_cache.h"

#include <algorithm>

#include "autograd/error.h"
#include "autograd/tape.h"
#include "nn/rows.h"

namespace reel::nn {
namespace {

/// The first `length` times of (B, H, room, D).
Tensor filled(const Tensor& room, int64_t length) { return room.slice(2, 0, length); }

/// Throws unless `fresh` differs from what is there in time alone.
void check_goes_on(const char* name, const Tensor& room, int64_t length, const Tensor& fresh) {
  if (length == 0) return;
  Shape shape = fresh.shape();
  shape[2] = room.size(2);
  if (shape != room.shape()) {
    fail("KeyValueCache: ", name, " ", fresh.shape(), " do not go on from ", filled(room, length).shape(),
         "; need as many texts and heads, of the same width");
  }
}

/// Writes `fresh` behind the first `length` times of `room`.
void append_to(Tensor& room, int64_t length, const Tensor& fresh) {
  const int64_t had = length > 0 ? room.size(2) : 0, need = length + fresh.size(2);
  if (length == 0 || need > had) {  // what was forgotten may have been of another batch
    Shape shape = fresh.shape();
    shape[2] = std::max(need, 2 * had);  // doubled, so that a token is moved about once
    const Tensor larger(shape, fresh.dtype());
    if (length > 0) copy(filled(room, length), filled(larger, length));
    room = larger;
  }
  copy(fresh, room.slice(2, length, need));
}

}  // namespace

void KeyValueCache::check_no_tape() {
  if (Tape::recording()) {
    fail("KeyValueCache: a tape is recording, but no gradient flows through what is kept; go on under NoGrad, or run ",
         "the model over the whole text");
  }
}

KeysAndValues KeyValueCache::append(const KeysAndValues& fresh) {
  check_no_tape();
  if (fresh.keys.dtype() != fresh.values.dtype() || (length_ > 0 && fresh.keys.dtype() != room_.keys.dtype())) {
    fail("KeyValueCache: keys are ", fresh.keys.dtype(), ", values are ", fresh.values.dtype(),
         "; need one dtype for all", length_ > 0 ? text(", ", room_.keys.dtype()) : "");
  }
  if (fresh.keys.rank() != 4 || fresh.values.rank() != 4 ||
      leading(fresh.keys.shape(), 1) != leading(fresh.values.shape(), 1)) {
    fail("KeyValueCache: keys are ", fresh.keys.shape(), ", values are ", fresh.values.shape(),
         "; need (B, H, T, D) and (B, H, T, E)");
  }
  check_goes_on("keys", room_.keys, length_, fresh.keys);
  check_goes_on("values", room_.values, length_, fresh.values);
  const bool stays_one = fresh.keys.same(fresh.values) && (length_ == 0 || is_one());
  if (!stays_one && is_one()) room_.values = copy_of(room_.keys);
  append_to(room_.keys, length_, fresh.keys);
  if (stays_one) {
    room_.values = room_.keys;
  } else {
    append_to(room_.values, length_, fresh.values);
  }
  length_ += fresh.keys.size(2);
  return {filled(room_.keys, length_), filled(room_.values, length_)};
}

void KeyValueCache::truncate(int64_t length) {
  if (length < 0 || length > length_) {
    fail("KeyValueCache: it holds ", length_, " tokens, not ", length, "; need at most as many to keep");
  }
  length_ = length;
}

void KeyValueCache::reorder(const Ids& rows) {
  check_no_tape();
  if (length_ == 0) return;
  const Tensor keys = pick_rows(room_.keys, rows);
  room_ = {keys, is_one() ? keys : pick_rows(room_.values, rows)};
}

}  // namespace reel::nn
