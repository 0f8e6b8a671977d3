#pragma once
// MarkovModel: an n-gram model, a baseline for neural ones. It learns by counting, not by gradients.
//
// The next token depends on the last `order` tokens alone. How probable w is after the context h mixes how often it
// followed h with how probable it is after h', which is h without its oldest token:
//
//   p(w | h) = (c(h w) - d(c(h w)) + D(h) p'(w | h')) / c(h),    D(h) = Σ_w d(c(h w))
//
// d takes a little away from what was counted, D gives it to what was not; below the empty context all tokens are
// equally probable. In the whole context c counts occurrences. In the shorter ones of p' it counts the different
// tokens that occur before h' w: "Francisco" may be frequent, but after anything else than "San" it is not probable.
//
// This is interpolated Kneser-Ney smoothing with three discounts: Kneser, Ney: "Improved backing-off for m-gram
// language modeling" (1995); Chen, Goodman: "An empirical study of smoothing techniques for language modeling" (1998).

#include <cstdint>
#include <memory>
#include <span>

#include "nn/language_model.h"

namespace reel::nn {

class MarkovModel : public LanguageModel {
 public:
  /// Each further token costs another table of counts.
  static constexpr int64_t max_order = 64;

  struct Config {
    int64_t vocabulary = 0;
    int64_t context = 256;  // the longest text it is asked about
    int64_t order = 6;      // how many tokens it looks back on
  };

  /// Counts what follows what in `tokens`, the training text. Throws if an id is not in 0 .. vocabulary - 1, or the
  /// order not in 0 .. max_order.
  MarkovModel(std::span<const std::int32_t> tokens, const Config& config);
  /// The model whose state_dict() this is: nothing but "tokens", the training text, in f32. Throws if `state` is of
  /// something else.
  static MarkovModel from_state(const StateDict& state, const Config& config);
  /// Throws: nothing would be counted again.
  void load_state_dict(const StateDict& state) override;

  Tensor operator()(const Ids& tokens) const override;
  int64_t context() const override { return config_.context; }

 private:
  class Counts;

  Config config_;
  std::shared_ptr<const Counts> counts_;
};

}  // namespace reel::nn
