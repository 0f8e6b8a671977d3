#include "apps/report/spread.h"

#include <algorithm>

namespace reel::apps {

std::vector<std::size_t> spread(std::size_t count, std::size_t most) {
  const std::size_t shown = std::min(count, most);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < shown; ++i) places.push_back(i * count / shown);
  return places;
}

}  // namespace reel::apps
