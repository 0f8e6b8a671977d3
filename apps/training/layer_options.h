#pragma once
// Options of a transformer's layers that several models have.

#include <string>

#include "apps/common/options.h"
#include "nn/feed_forward.h"
#include "nn/residual.h"

namespace reel::apps {

/// Adds --norm, whose variable holds "post" or "pre"; and what it then stands for.
Options& add_norm(Options& options, std::string& norm);
nn::Norm norm_of(const std::string& norm);

/// Adds --activation, whose variable holds "relu" or "gelu"; and what it then stands for.
Options& add_activation(Options& options, std::string& activation);
nn::Activation activation_of(const std::string& activation);

}  // namespace reel::apps
