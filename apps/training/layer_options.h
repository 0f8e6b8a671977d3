#pragma once
// Options of a transformer's layers that several models have.

#include <string>

#include "apps/common/options.h"
#include "nn/feed_forward.h"
#include "nn/residual.h"

namespace reel::apps {

/// Adds --norm, whose variable holds "post" or "pre".
Options& add_norm(Options& options, std::string& norm);
/// What such a variable stands for.
nn::Norm norm_of(const std::string& norm);

/// Adds --activation, whose variable holds "relu" or "gelu".
Options& add_activation(Options& options, std::string& activation);
/// What such a variable stands for.
nn::Activation activation_of(const std::string& activation);

}  // namespace reel::apps
