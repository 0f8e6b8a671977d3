#include "nn/recurrent_translator.h"

#include "tests/nn/training.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

RecurrentTranslator make(int64_t width) {
  return RecurrentTranslator(
      {.source_vocabulary = 7, .target_vocabulary = 6, .width = width, .dropout = 0, .dtype = DType::f64});
}

}  // namespace

TEST_CASE("recurrent translator: names") {
  manual_seed(130);
  CHECK(names(make(4)) == std::vector<std::string>{"src_word_emb.weight", "trg_word_emb.weight", "encoder.weight_ih_l0",
                                                   "encoder.weight_hh_l0", "encoder.bias_ih_l0", "encoder.bias_hh_l0",
                                                   "decoder.weight_ih_l0", "decoder.weight_hh_l0", "decoder.bias_ih_l0",
                                                   "decoder.bias_hh_l0", "trg_word_prj.weight", "trg_word_prj.bias"});
}

TEST_CASE("recurrent translator: the encoder's last state is all that the decoder starts from") {
  manual_seed(131);
  const RecurrentTranslator model = make(4);
  const Ids source({2, 3}, {1, 2, 3, 4, 5, 0}), target({2, 2}, {1, 2, 3, 4});
  const Tensor memory = model.encode(source);
  CHECK(memory.shape() == Shape{2, 4});
  const Tensor last = model.encoder(model.src_word_emb(Ids({1, 2}, {4, 5}))).last;  // without the padding
  CHECK(close(memory.select(0, 1), last.select(0, 0)));
  const Tensor states = model.decoder(model.trg_word_emb(target), memory).all;
  CHECK(same_bits(model.decode(memory, source, target), model.trg_word_prj(states)));
}

TEST_CASE("recurrent translator: drops of what it reads and of what it says") {
  manual_seed(133);
  const RecurrentTranslator model(
      {.source_vocabulary = 7, .target_vocabulary = 6, .width = 4, .dropout = 1, .dtype = DType::f64});
  const Ids source({1, 2}, {1, 2}), target({1, 2}, {3, 4});
  const Tensor nothing = zeros({1, 2, 4}, DType::f64);
  CHECK(same_bits(model.encode(source), model.encoder(nothing).last));
  CHECK(close(model(source, target), model.trg_word_prj(nothing)));
}

TEST_CASE("recurrent translator: gradients of every parameter") {
  manual_seed(132);
  const RecurrentTranslator model = make(2);
  const Ids source({2, 3}, {1, 2, 3, 4, 5, 0}), target({2, 2}, {1, 2, 3, 0});
  CHECK(check_parameters(model, [&] { return model(source, target); }).problem == "");
}
