#include "apps/translate/evaluate.h"

#include <iostream>

#include "apps/common/numbers.h"
#include "apps/training/eval_mode.h"
#include "autograd/ops.h"
#include "data/batch_sampler.h"
#include "data/bleu.h"
#include "data/joined.h"

namespace reel::apps {

Score evaluate(nn::Translator& model, const EncodedPairs& pairs, std::int64_t batch_size) {
  const EvalMode mode(model);
  ScoreSum sum;
  for (const data::Indices& rows : data::sorted_batches(data::lengths_of(pairs.sources), batch_size)) {
    const PairBatch batch = make_batch(pairs, rows);
    const Tensor logits = model.packed(batch.sources, batch.inputs);  // (N, V)
    sum.add(cross_entropy(logits, batch.outputs).item(), count_hits(logits, batch.outputs));
  }
  return sum.score();
}

TranslationScore compare(const std::vector<std::string>& translations, const data::ParallelText& text,
                         const data::WordTokenizer& target) {
  std::vector<std::string> references;
  Hits exact;
  for (std::size_t i = 0; i < translations.size(); ++i) {
    references.push_back(data::joined(data::split_words(text.targets[i], target.rules()), " "));
    exact += {translations[i] == references[i] ? 1 : 0, 1};
  }
  return {data::corpus_bleu(translations, references).score, exact.share(), translations.size()};
}

std::string to_string(const TranslationScore& score, const data::WordRules& rules, const SearchConfig& search) {
  return text("BLEU ", fixed(score.bleu, 2), " (of words as split here, ", rules.lower_case ? "lower case" : "cased",
              "; ", search.beam == 1 ? "greedy" : text("beam ", search.beam), ")  exact ", fixed(score.exact, 4),
              "  sentences ", score.sentences);
}

PartScore score_part(const TrainedTranslator& trained, const std::string& name, const data::ParallelText& text,
                     const SearchConfig& search, const std::string& folder) {
  const data::WordTokenizer& target = trained.tokenizers->target;
  const std::int64_t length = trained.config.length;
  const EncodedPairs pairs = encode_pairs(text, *trained.tokenizers, length);
  const Score likelihood = evaluate(*trained.model, pairs);
  check_finite(likelihood, folder);
  std::cout << name << ' ' << line_of_tokens(likelihood) << note_of_cuts(pairs.cut, length) << std::endl;
  const TranslationScore translation =
      compare(translate_all(*trained.model, pairs.sources, target, length, search), text, target);
  std::cout << name << ' ' << to_string(translation, target.rules(), search) << std::endl;
  return {likelihood, translation};
}

}  // namespace reel::apps
