#include "nn/packing.h"

#include "autograd/error.h"
#include "autograd/ops.h"

namespace reel::nn {

Packing::Packing(const Ids& padding) : padding_(padding) {
  if (padding.rank() != 2) fail("Packing: tokens are ", padding.shape(), "; need (batch, time)");
  std::vector<std::int32_t> places, times, starts{0};
  for (std::int32_t text = 0; text < padding.size(0); ++text) {
    for (std::int32_t time = 0; time < padding.size(1); ++time) {
      const std::int64_t place = text * padding.size(1) + time;
      if (padding.data()[place] != 0) continue;
      places.push_back(static_cast<std::int32_t>(place));
      times.push_back(time);
    }
    starts.push_back(static_cast<std::int32_t>(places.size()));
  }
  places_ = Ids(std::move(places));
  times_ = Ids(std::move(times));
  starts_ = Ids(std::move(starts));
}

Ids Packing::pack(const Ids& table) const {
  if (table.shape() != padding_.shape()) fail("Packing: a table ", table.shape(), " of texts ", padding_.shape());
  std::vector<std::int32_t> packed;
  for (std::int32_t place : places_.values()) packed.push_back(table.data()[place]);
  return Ids(std::move(packed));
}

Tensor Packing::pack(const Tensor& padded) const {
  if (padded.rank() != 3 || padded.size(0) != padding_.size(0) || padded.size(1) != padding_.size(1)) {
    fail("Packing: vectors ", padded.shape(), " of texts ", padding_.shape());
  }
  const Tensor rows = padded.reshape({padding_.numel(), padded.size(2)});
  return has_padding() ? embedding(rows, places_) : rows;
}

Tensor Packing::unpack(const Tensor& packed) const {
  if (packed.rank() != 2 || packed.size(0) != places_.numel()) {
    fail("Packing: vectors ", packed.shape(), " of ", places_.numel(), " tokens");
  }
  const Tensor rows = has_padding() ? embedding_sum(packed, places_, padding_.numel()) : packed;
  return rows.view({padding_.size(0), padding_.size(1), packed.size(1)});
}

}  // namespace reel::nn
