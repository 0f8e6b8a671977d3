#pragma once
// Attention maps on the report's page.

#include <span>
#include <string>
#include <vector>

#include "apps/report/report.h"
#include "autograd/tensor.h"
#include "data/tokenizer.h"

namespace reel::apps {

/// The tokens one by one, for the axes of a map.
std::vector<std::string> token_names(const data::Tokenizer& tokenizer, std::span<const std::int32_t> tokens);

/// A map for each head of a layer, called `layer` and the head's number: maps (1, H, rows, columns).
void add_head_maps(Report& report, const std::string& layer, const Tensor& maps,
                   std::span<const std::string> row_tokens, std::span<const std::string> column_tokens);

}  // namespace reel::apps
