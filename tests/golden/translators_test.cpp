// The models that translate against PyTorch: padded sources and targets, smoothed labels, and all attention maps.

#include "nn/translator.h"

#include "tests/golden/comparison.h"
#include "tests/golden/models.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

template <class Model>
void compare_translator(Comparison& compare, const std::string& name, const Model& model) {
  compare.model(
      name, model, [](const Model& f, const Given& in) { return f(in.ids[0], in.ids[1]); },
      [](const Tensor& logits, const Ids& goal) {
        return cross_entropy(logits, goal, {.ignore_index = 0, .label_smoothing = 0.1});
      });
}

void compare_transformer(Comparison& compare, const std::string& name, const Transformer::Config& config) {
  Transformer model(config);
  compare_translator(compare, name, model);
  using Maps = Transformer::Maps;
  for (const auto& [kind, maps] : {std::pair{".maps.encoder.", &Maps::encoder},
                                   {".maps.decoder.", &Maps::decoder},
                                   {".maps.cross.", &Maps::cross}}) {
    for (std::size_t layer = 0; layer < static_cast<std::size_t>(config.depth); ++layer) {
      compare.further(name, text(kind, layer), model, [&, maps = maps](const Given& in) {
        return (model.attention_maps(in.ids[0], in.ids[1]).*maps)[layer];
      });
    }
  }
}

void check_translators(DType dtype) {
  Comparison compare("translators.safetensors", dtype);
  compare_transformer(compare, "transformer.post", golden::post_norm_transformer(dtype));
  compare_transformer(compare, "transformer.pre", golden::pre_norm_transformer(dtype));
  compare_translator(compare, "recurrent_translator", RecurrentTranslator(golden::recurrent_translator(dtype)));
  compare.check_all_read();
}

}  // namespace

TEST_CASE("golden: translators agree with PyTorch in f64") { check_translators(DType::f64); }
TEST_CASE("golden: translators agree with PyTorch in f32") { check_translators(DType::f32); }
