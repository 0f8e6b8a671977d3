// Weights that leave Reel. They are read back here bit for bit; exchange.py has this test leave its files in a folder,
// loads them in PyTorch, and compares the outputs.

#include <cstdlib>
#include <filesystem>

#include "autograd/safetensors.h"
#include "tests/golden/models.h"
#include "tests/nn/parameters.h"
#include "tests/temporary_folder.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

/// A model, the texts that it reads, and what it makes of them.
struct Exchanged {
  std::string name;
  Module model;
  std::vector<Ids> texts;
  Tensor output;
};

std::vector<Exchanged> all_models(std::uint64_t seed) {
  manual_seed(seed);
  const Ids source({2, 5}, {1, 2, 3, 4, 5, 6, 7, 0, 0, 0}), target({2, 4}, {8, 1, 2, 3, 4, 5, 0, 0});
  std::vector<Exchanged> all;
  auto reads_one = [&](const char* name, const auto& model) { all.push_back({name, model, {source}, model(source)}); };
  auto reads_two = [&](const char* name, const auto& model) {
    all.push_back({name, model, {source, target}, model(source, target)});
  };
  reads_one("naive_transformer", NaiveTransformer(golden::naive_transformer(DType::f32)));
  reads_one("gtransformer", GTransformer(golden::gtransformer(DType::f32)));
  reads_one("conv_model", ConvModel(golden::conv_model(DType::f32)));
  reads_one("ctransformer.max", CTransformer(golden::classifier(DType::f32)));
  reads_one("ctransformer.mean.padded", CTransformer(golden::padded_mean_classifier(DType::f32)));
  reads_one("ctransformer.max.padded", CTransformer(golden::padded_max_classifier(DType::f32)));
  reads_one("text_classification_transformer", TextClassificationTransformer(golden::classifier(DType::f32)));
  reads_two("transformer.post", Transformer(golden::post_norm_transformer(DType::f32)));
  reads_two("transformer.pre", Transformer(golden::pre_norm_transformer(DType::f32)));
  reads_two("recurrent_translator", RecurrentTranslator(golden::recurrent_translator(DType::f32)));
  return all;
}

/// Ids as f32, the type that safetensors files of Reel hold.
Tensor as_numbers(const Ids& ids) { return tensor(ids.shape(), {ids.values().begin(), ids.values().end()}); }

}  // namespace

TEST_CASE("exchange: every model's weights go through a file and back") {
  const TemporaryFolder temporary;
  const char* kept = std::getenv("REEL_EXCHANGE");  // where exchange.py wants the files
  const std::filesystem::path folder = kept ? kept : temporary.path();
  const std::vector<Exchanged> from = all_models(1);
  std::vector<Exchanged> to = all_models(2);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto& [name, model, texts, output] = from[i];
    INFO(name);
    write_file(folder / (name + ".safetensors"), write_safetensors({model.state_dict(), {}}));
    CHECK_FALSE(same_bits(to[i].model.state_dict(), model.state_dict()));
    to[i].model.load_state_dict(read_safetensors(read_file(folder / (name + ".safetensors"))).tensors);
    CHECK(same_bits(to[i].model.state_dict(), model.state_dict()));

    NamedTensors expected{{"output", output}};
    for (std::size_t j = 0; j < texts.size(); ++j) expected.emplace_back(text("ids.", j), as_numbers(texts[j]));
    write_file(folder / (name + ".expected.safetensors"), write_safetensors({expected, {}}));
  }
}
