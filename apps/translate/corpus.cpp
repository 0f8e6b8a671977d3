#include "apps/translate/corpus.h"

#include "autograd/error.h"
#include "data/batch_sampler.h"
#include "data/grammars.h"

namespace reel::apps {

TokenizerPair train_tokenizers(const data::ParallelText& text, const TranslateConfig& config) {
  const data::VocabularyLimits limits{.maximum_size = config.vocabulary, .minimum_count = config.minimum_count};
  auto train = [&](const std::vector<std::string>& sentences, const std::string& ending) {
    try {
      return data::WordTokenizer::train(sentences, limits, {.lower_case = !config.cased});
    } catch (const Error& error) {
      fail("the training part in .", ending, ": ", error.what());
    }
  };
  return {train(text.sources, config.source), train(text.targets, config.target)};
}

std::map<std::string, data::ParallelText> read_tests(const TranslateConfig& config, const std::string& folder) {
  if (folder.empty() && config.data.empty()) return data::sentence_corpus().tests;
  return data::read_parallel_tests(folder.empty() ? config.data : folder, config.source, config.target);
}

data::ParallelData read_pairs(const TranslateConfig& config) {
  if (config.data.empty()) return data::sentence_corpus();
  data::ParallelData pairs = data::read_parallel_folder(config.data, config.source, config.target);
  if (config.final_run) pairs.tests = read_tests(config, "");
  return pairs;
}

data::CutTokens encode_sentence(const std::string& text, const data::WordTokenizer& tokenizer, std::int64_t length) {
  const data::CutTokens words = data::cut_to(tokenizer.encode(text, data::Unseen::replace), length, data::Keep::start);
  return {data::enclosed(words.tokens), words.is_cut};
}

EncodedPairs encode_pairs(const data::ParallelText& text, const TokenizerPair& tokenizers, std::int64_t length) {
  EncodedPairs pairs;
  for (std::size_t i = 0; i < text.sources.size(); ++i) {
    data::CutTokens from = encode_sentence(text.sources[i], tokenizers.source, length);
    data::CutTokens to = encode_sentence(text.targets[i], tokenizers.target, length);
    if (to.is_cut) to.tokens.pop_back();
    pairs.cut += from.is_cut || to.is_cut;
    pairs.sources.push_back(std::move(from.tokens));
    pairs.targets.push_back(std::move(to.tokens));
  }
  return pairs;
}

PairBatch make_batch(const EncodedPairs& pairs, std::span<const std::int64_t> rows) {
  std::vector<data::Tokens> inputs;
  data::Tokens outputs;
  data::Indices places;
  for (std::int64_t row : rows) {
    const data::Tokens& target = pairs.targets[static_cast<std::size_t>(row)];
    inputs.emplace_back(target.begin(), target.end() - 1);
    outputs.insert(outputs.end(), target.begin() + 1, target.end());
    places.push_back(std::ssize(places));
  }
  return {data::pad(pairs.sources, rows).ids, data::pad(inputs, places).ids, Ids(std::move(outputs))};
}

}  // namespace reel::apps
