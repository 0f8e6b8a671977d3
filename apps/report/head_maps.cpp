#include "apps/report/head_maps.h"

#include "autograd/error.h"
#include "autograd/ops.h"

namespace reel::apps {

std::vector<std::string> token_names(const data::Tokenizer& tokenizer, std::span<const std::int32_t> tokens) {
  std::vector<std::string> names;
  for (const std::int32_t& token : tokens) names.push_back(tokenizer.decode({&token, 1}));
  return names;
}

void add_head_maps(Report& report, const std::string& layer, const Tensor& maps,
                   std::span<const std::string> row_tokens, std::span<const std::string> column_tokens) {
  for (std::int64_t head = 0; head < maps.size(1); ++head) {
    report.attention(text(layer, ", head ", head + 1), row_tokens, column_tokens, maps.select(1, head).to_vector());
  }
}

}  // namespace reel::apps
