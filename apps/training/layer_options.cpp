#include "apps/training/layer_options.h"

namespace reel::apps {

Options& add_norm(Options& options, std::string& norm) {
  return options.add_choice(&norm, "norm", {"post", "pre"}, "layer norm after the residuals, or before");
}

nn::Norm norm_of(const std::string& norm) { return norm == "pre" ? nn::Norm::pre : nn::Norm::post; }

Options& add_activation(Options& options, std::string& activation) {
  return options.add_choice(&activation, "activation", {"relu", "gelu"}, "of the feed-forward networks");
}

nn::Activation activation_of(const std::string& activation) {
  return activation == "gelu" ? nn::Activation::gelu : nn::Activation::relu;
}

}  // namespace reel::apps
