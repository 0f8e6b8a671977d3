#include "apps/classify/corpus.h"

#include <utility>

#include "apps/report/spread.h"
#include "apps/training/fingerprint.h"
#include "autograd/error.h"
#include "autograd/kernels/parallel.h"
#include "data/grammars.h"
#include "data/joined.h"
#include "data/printable.h"

namespace reel::apps {
namespace {

std::string name_of(const ClassifyConfig& config) { return config.data.empty() ? "built-in reviews" : config.data; }

/// The texts of config.data to learn from, or those of the built-in reviews. Throws unless they have the classes of the
/// checkpoint, if there is one.
data::LabelledText read_classify_train(const ClassifyConfig& config, const std::vector<std::string>& classes) {
  data::LabelledText train =
      config.data.empty() ? data::review_corpus().train : data::read_labelled_train(config.data, config.columns);
  if (!classes.empty() && train.classes != classes) {
    fail(name_of(config), ": the classes are others than the model's, which has learnt ",
         data::brief(data::joined(classes, ", ")), "; name texts of these with --data, or train anew");
  }
  return train;
}

/// What a final run learns from, and is scored by: all texts to learn from, and the test part.
data::Split<data::LabelledText> train_and_test(const ClassifyConfig& config, data::LabelledText train) {
  auto test = read_classify_test(config, train.classes);
  if (!test) fail("--final: ", config.data, " has no test part; give a folder with train and test");
  return {std::move(train), std::move(*test)};
}

/// The training part cut in two by config.split, in the same way for the same seed: what trains, and what validates.
data::Split<data::LabelledText> train_and_validation(const ClassifyConfig& config, const data::LabelledText& train) {
  Generator generator = random_stream(config.training.seed, Stream::samples_and_splits);
  auto parts = data::split(train, config.split, generator);
  if (parts.first.texts.empty()) {
    fail<UsageError>("--split: ", config.split, " of ", train.texts.size(), " texts leaves none to train on");
  }
  return parts;
}

}  // namespace

data::CutTokens encode(const std::string& text, const data::WordTokenizer& tokenizer, const ClassifyConfig& config) {
  const data::Keep keep = config.keep == "end" ? data::Keep::end : data::Keep::start;
  return data::cut_to(data::encode(tokenizer, text), config.length, keep);
}

EncodedTexts encode(const data::LabelledText& data, const data::WordTokenizer& tokenizer,
                    const ClassifyConfig& config) {
  std::vector<data::CutTokens> cut(data.texts.size());
  kernels::parallel_for(std::ssize(cut), 64, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      cut[i] = encode(data.texts[i], tokenizer, config);
    }
  });
  EncodedTexts encoded;
  for (data::CutTokens& one : cut) {
    encoded.tokens.push_back(std::move(one.tokens));
    encoded.cut += one.is_cut;
  }
  encoded.labels = data.labels;
  return encoded;
}

std::optional<data::LabelledText> read_classify_test(const ClassifyConfig& config,
                                                     const std::vector<std::string>& classes) {
  return config.data.empty() ? data::review_corpus().test
                             : data::read_labelled_test(config.data, config.columns, classes);
}

std::uint32_t fingerprint(const LabelledCorpus& corpus) {
  Fingerprint sum;
  for (const EncodedTexts* part : {&corpus.train, &corpus.scored}) sum.add(part->labels).add(part->tokens);
  return sum.value();
}

LabelledCorpus read_labelled_corpus(const ClassifyConfig& c, const std::vector<std::string>& classes,
                                    std::optional<data::WordTokenizer> tokenizer) {
  data::LabelledText all = read_classify_train(c, classes);
  const auto [train, scored] = c.final_run ? train_and_test(c, std::move(all)) : train_and_validation(c, all);
  if (!tokenizer) {
    const data::VocabularyLimits limits{.maximum_size = c.vocabulary, .minimum_count = c.minimum_count};
    tokenizer = data::WordTokenizer::train(train.texts, limits, {.lower_case = !c.cased, .punctuation = c.punctuation});
  }
  LabelledCorpus corpus{.name = name_of(c),
                        .tokenizer = *tokenizer,
                        .classes = train.classes,
                        .train = encode(train, *tokenizer, c),
                        .scored = encode(scored, *tokenizer, c),
                        .examples = {}};
  for (std::size_t place : spread(scored.texts.size(), 8)) corpus.examples.push_back({place, scored.texts[place]});
  return corpus;
}

}  // namespace reel::apps
