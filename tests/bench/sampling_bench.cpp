// Times writing text with kept keys and values against the same models without, in turn on the same cores.
//
//     sampling_bench [PAIRS [THREADS]]
//
// Prints for each task the medians of tokens a second, and the median of the ratios, pair by pair: the clock of a
// shared machine drifts, a ratio does not. What is timed is what the models compute. Tokens are not drawn but given, so
// that both sides do the same; of a beam, other rows go on with every step.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "autograd/kernels/parallel.h"
#include "autograd/random.h"
#include "nn/gtransformer.h"
#include "nn/transformer.h"
#include "tests/bench/ceilings.h"

using namespace reel;

namespace {

Ids random_ids(const Shape& shape, int64_t below) {
  Ids ids = Ids::zeros(shape);
  for (std::int32_t& id : ids.values()) id = static_cast<std::int32_t>(default_generator().below(below));
  return ids;
}

/// Reads the tokens of `text` from `first` on, one by one, having read those before.
double seconds_to_read(nn::Reader& reader, const Ids& text, int64_t first) {
  if (first > 0) reader.read(text.values().first(static_cast<std::size_t>(first)));
  const auto start = std::chrono::steady_clock::now();
  for (const std::int32_t& token : text.values().subspan(static_cast<std::size_t>(first))) reader.read({&token, 1});
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Lets translations of sources (B, S) grow by `length` tokens. In a beam of more than one, rows change places.
double seconds_to_translate(const std::function<std::unique_ptr<nn::Translation>()>& begin, int64_t B, int64_t beam,
                            int64_t length) {
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<nn::Translation> translation = begin();
  Ids rows = Ids::arange(B);
  for (int64_t t = 0; t < length; ++t) {
    translation->extend(rows, Ids::zeros({rows.numel()}));
    if (beam > 1) rows = random_ids({beam}, rows.numel());
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// One line for a task of so many tokens.
void compare(const char* task, int pairs, double tokens, const std::function<double()>& kept,
             const std::function<double()>& plain) {
  std::vector<double> with, without, ratios;
  for (int pair = 0; pair < pairs; ++pair) {
    with.push_back(tokens / kept());
    without.push_back(tokens / plain());
    ratios.push_back(with.back() / without.back());
  }
  std::printf("%-60s %10.0f %10.1f %8.1f\n", task, bench::median(with), bench::median(without), bench::median(ratios));
  std::fflush(stdout);
}

void compare_readers(int pairs) {
  constexpr int64_t context = 256, V = 65;
  nn::GTransformer model({.vocabulary = V, .context = context, .embedding = 128, .heads = 8, .depth = 6});
  model.eval();
  const Ids text = random_ids({2 * context}, V);
  auto task = [&](const char* name, int64_t first, int64_t last) {
    const Ids part({last}, {text.data(), text.data() + last});
    compare(
        name, pairs, static_cast<double>(last - first), [&] { return seconds_to_read(*model.reader(), part, first); },
        [&] { return seconds_to_read(*model.LanguageModel::reader(), part, first); });
  };
  std::printf("GTransformer, 128 wide, 8 heads, depth 6, context %d\n", static_cast<int>(context));
  task("  the first 256 tokens of a text", 0, context);
  task("  the last 32 of them, the context nearly full", context - 32, context);
  task("  256 tokens beyond the context", context, 2 * context);
}

void compare_translations(int pairs) {
  nn::Transformer model(
      {.source_vocabulary = 7800, .target_vocabulary = 5900, .width = 256, .heads = 8, .hidden = 512, .depth = 3});
  model.eval();
  auto task = [&](const char* name, int64_t B, int64_t beam, int64_t length) {
    const Ids source = random_ids({B, length}, 7800);
    compare(
        name, pairs, static_cast<double>(B * length),
        [&] { return seconds_to_translate([&] { return model.start(source); }, B, beam, length); },
        [&] { return seconds_to_translate([&] { return model.Translator::start(source); }, B, beam, length); });
  };
  std::printf("Transformer, 256 wide, 8 heads, feed-forward 512, 3 + 3 layers\n");
  task("  a source of 24 tokens into as many, with a beam of 5", 1, 5, 24);
  task("  a source of 100 tokens into as many, with a beam of 5", 1, 5, 100);
  task("  64 sources of 24 tokens into as many, greedily", 64, 1, 24);
}

}  // namespace

int main(int argc, char** argv) {
  const int pairs = argc > 1 ? std::max(1, std::atoi(argv[1])) : 7;
  kernels::set_threads(argc > 2 ? std::atoi(argv[2]) : 1);
  manual_seed(1);
  std::printf("%-60s %10s %10s %8s\n", "tokens a second", "kept", "plain", "ratio");
  compare_readers(pairs);
  compare_translations(pairs);
}
