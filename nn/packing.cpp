#include "nn/packing.h"

#include "autograd/error.h"
#include "autograd/ops.h"

namespace reel::nn {

Packing::Packing(const Ids& dropped) : shape_(dropped.shape()) {
  if (dropped.rank() != 2) fail("Packing: tokens are ", dropped.shape(), "; need (batch, time)");
  std::vector<std::int32_t> places, times;
  for (int64_t place = 0; place < dropped.numel(); ++place) {
    if (dropped.data()[place] != 0) continue;
    places.push_back(static_cast<std::int32_t>(place));
    times.push_back(static_cast<std::int32_t>(place % dropped.size(1)));
  }
  places_ = Ids(std::move(places));
  times_ = Ids(std::move(times));
}

Ids Packing::pack(const Ids& table) const {
  if (table.shape() != shape_) fail("Packing: a table ", table.shape(), " of texts ", shape_);
  std::vector<std::int32_t> packed;
  for (std::int32_t place : places_.values()) packed.push_back(table.data()[place]);
  return Ids(std::move(packed));
}

Tensor Packing::pack(const Tensor& padded) const {
  if (padded.rank() != 3 || padded.size(0) != shape_[0] || padded.size(1) != shape_[1]) {
    fail("Packing: vectors ", padded.shape(), " of texts ", shape_);
  }
  const Tensor rows = padded.reshape({numel(shape_), padded.size(2)});
  return places_.numel() == numel(shape_) ? rows : embedding(rows, places_);
}

Tensor Packing::unpack(const Tensor& packed) const {
  if (packed.rank() != 2 || packed.size(0) != places_.numel()) {
    fail("Packing: vectors ", packed.shape(), " of ", places_.numel(), " tokens");
  }
  const Tensor rows = places_.numel() == numel(shape_) ? packed : embedding_sum(packed, places_, numel(shape_));
  return rows.view({shape_[0], shape_[1], packed.size(1)});
}

}  // namespace reel::nn
