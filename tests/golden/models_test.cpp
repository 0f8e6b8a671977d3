// Language models and classifiers against PyTorch.

#include "tests/golden/models.h"

#include "tests/golden/comparison.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

void check_models(DType dtype) {
  Comparison compare("models.safetensors", dtype);
  compare.model(
      "embedding", Embedding(golden::vocabulary, golden::vocabulary, 1, dtype),
      [](const auto& table, const Given& in) { return log_softmax(table(in.ids[0]), -1); },
      [](const Tensor& log_probs, const Ids& goal) { return nll_loss(log_probs, goal); });
  compare.model("naive_transformer", NaiveTransformer(golden::naive_transformer(dtype)));
  compare.model("gtransformer", GTransformer(golden::gtransformer(dtype)));
  compare.model("conv_model", ConvModel(golden::conv_model(dtype)));
  compare.model("ctransformer.max", CTransformer(golden::classifier(dtype)));
  compare.model("ctransformer.mean.padded", CTransformer(golden::padded_mean_classifier(dtype)));
  compare.model("ctransformer.max.padded", CTransformer(golden::padded_max_classifier(dtype)));
  compare.model(
      "text_classification_transformer", TextClassificationTransformer(golden::classifier(dtype)),
      [](const auto& model, const Given& in) { return model(in.ids[0]); },
      [](const Tensor& logits, const Ids& goal) { return cross_entropy(logits, goal); });
  compare.check_all_read();
}

}  // namespace

TEST_CASE("golden: models agree with PyTorch in f64") { check_models(DType::f64); }
TEST_CASE("golden: models agree with PyTorch in f32") { check_models(DType::f32); }
