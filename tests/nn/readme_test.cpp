// What nn/README.md shows to whoever trains a model is what works.

#include "autograd/ops.h"
#include "autograd/tape.h"
#include "data/window_sampler.h"
#include "nn/gtransformer.h"
#include "optim/clip.h"
#include "optim/optimizer.h"
#include "tests/readme_code.h"

using namespace reel;

namespace {

/// Learns to write such a text, in steps of 12 windows.
void train(nn::GTransformer& model, const data::TextDataset& text, int steps, Generator& generator) {
  optim::Adam optimizer(model.parameters(), {.learning_rate = 1e-3});
  for (int step = 0; step < steps; ++step) {
    const data::Batch batch = data::random_batch(text, 12, generator);  // inputs and targets, (B, T)
    Tape tape;
    const Tensor loss = nll_loss(model(batch.inputs), batch.targets);  // of log-probabilities (B, T, V)
    tape.backward(loss);
    optim::clip_grad_norm(model.parameters(), 1);
    optimizer.step();
    optimizer.zero_grad();
  }
  model.eval();  // no dropout from here on
}

}  // namespace

TEST_CASE("the training loop of nn/README.md learns") {
  manual_seed(1);
  std::vector<std::int32_t> tokens(200);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(i % 5);
  const data::TextDataset text(tokens, 8);
  nn::GTransformer model({.vocabulary = 5, .context = 8, .embedding = 16, .heads = 2, .depth = 1, .dropout = 0.1});
  Generator generator(1);
  train(model, text, 100, generator);
  CHECK_FALSE(model.training());
  const data::Batch batch = data::random_batch(text, 12, generator);
  CHECK(nll_loss(model(batch.inputs), batch.targets).item() < 0.2);  // log 5 is 1.6
}

TEST_CASE("nn/README.md shows that loop as it is tested") {
  CHECK(tests::shows("nn/README.md", "tests/nn/readme_test.cpp", "/// Learns to write", "from here on\n}"));
}
