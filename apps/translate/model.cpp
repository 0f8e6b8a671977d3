#include "apps/translate/model.h"

#include <cstdio>

#include "apps/common/eval_mode.h"
#include "apps/common/words.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "data/batch_order.h"
#include "nn/recurrent_translator.h"
#include "nn/transformer.h"

namespace reel::apps {

std::unique_ptr<nn::Translator> make_translator(const TranslateConfig& c, std::int64_t source_vocabulary,
                                                std::int64_t target_vocabulary) {
  if (c.model == "rnn") {
    return std::make_unique<nn::RecurrentTranslator>(
        nn::RecurrentTranslator::Config{.source_vocabulary = source_vocabulary,
                                        .target_vocabulary = target_vocabulary,
                                        .width = c.embedding,
                                        .dropout = c.dropout,
                                        .padding = data::pad_id});
  }
  return std::make_unique<nn::Transformer>(
      nn::Transformer::Config{.source_vocabulary = source_vocabulary,
                              .target_vocabulary = target_vocabulary,
                              .length = c.length + 2,  // <start> and <end>
                              .width = c.embedding,
                              .heads = c.heads,
                              .hidden = c.hidden,
                              .depth = c.depth,
                              .dropout = c.dropout,
                              .padding = data::pad_id,
                              .positions = c.positions == "learned" ? nn::Transformer::Positions::learned
                                                                    : nn::Transformer::Positions::sinusoidal,
                              .norm = c.norm == "pre" ? nn::Norm::pre : nn::Norm::post,
                              .norm_embeddings = c.norm_embeddings,
                              .tie_projection = c.tie});
}

TrainedTranslator restore_translator(const Checkpoint& checkpoint, const std::filesystem::path& path) {
  try {
    TrainedTranslator trained;
    Options options;
    declare_translate(options, trained.config);
    options.restore(string_pairs_from(note(checkpoint, "options")));
    trained.source.emplace(note(checkpoint, "source vocabulary").get<std::string>());
    trained.target.emplace(note(checkpoint, "target vocabulary").get<std::string>());
    trained.model =
        make_translator(trained.config, trained.source->vocabulary_size(), trained.target->vocabulary_size());
    trained.model->load_state_dict(checkpoint.weights);
    return trained;
  } catch (const Error& error) {
    fail(path.string(), " does not fit: ", error.what());
  }
}

EncodedSentence encode_sentence(const std::string& text, const data::WordTokenizer& tokenizer, std::int64_t length) {
  const data::Tokens words = tokenizer.encode(text, data::Unseen::replace);
  return {data::enclosed(data::cut_to(words, length, data::Cut::end)), std::ssize(words) > length};
}

EncodedPairs encode_pairs(const data::ParallelText& text, const data::WordTokenizer& source,
                          const data::WordTokenizer& target, std::int64_t length) {
  EncodedPairs pairs;
  for (std::size_t i = 0; i < text.sources.size(); ++i) {
    EncodedSentence from = encode_sentence(text.sources[i], source, length);
    EncodedSentence to = encode_sentence(text.targets[i], target, length);
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
  data::Rows places;
  for (std::int64_t row : rows) {
    const data::Tokens& target = pairs.targets[static_cast<std::size_t>(row)];
    inputs.emplace_back(target.begin(), target.end() - 1);
    outputs.insert(outputs.end(), target.begin() + 1, target.end());
    places.push_back(std::ssize(places));
  }
  return {data::pad(pairs.sources, rows).ids, data::pad(inputs, places).ids, Ids(std::move(outputs))};
}

std::string note_of_cuts(const EncodedPairs& pairs, std::int64_t length) {
  return pairs.cut > 0 ? text("  ", pairs.cut, " cut at --max ", length) : "";
}

Score evaluate(nn::Translator& model, const EncodedPairs& pairs, std::int64_t batch_size) {
  const EvalMode mode(model);
  ScoreSum sum;
  for (const data::Rows& rows : data::sorted_batches(data::lengths_of(pairs.sources), batch_size)) {
    const PairBatch batch = make_batch(pairs, rows);
    const Tensor logits = model.packed(batch.sources, batch.inputs);  // (N, V)
    sum.add(cross_entropy(logits, batch.outputs).item(), count_hits(logits, batch.outputs));
  }
  return sum.score();
}

std::vector<data::Tokens> find_translations(nn::Translator& model, std::span<const data::Tokens> sources,
                                            std::int64_t longest, const SearchConfig& search) {
  const EvalMode mode(model);
  const SearchLimits limits{.start = data::start_id, .end = data::end_id, .longest = longest};
  std::vector<data::Tokens> translations(sources.size());
  for (const data::Rows& rows : data::sorted_batches(data::lengths_of(sources), search.beam == 1 ? 64 : 1)) {
    const Ids batch = data::pad(sources, rows).ids;
    auto found = search.beam == 1
                     ? greedy_search(model, batch, limits)
                     : std::vector<data::Tokens>{beam_search(model, batch, search.beam, search.alpha, limits)};
    for (std::size_t i = 0; i < rows.size(); ++i) translations[static_cast<std::size_t>(rows[i])] = std::move(found[i]);
  }
  return translations;
}

std::vector<std::string> translate_all(nn::Translator& model, std::span<const data::Tokens> sources,
                                       const data::WordTokenizer& target, std::int64_t longest,
                                       const SearchConfig& search) {
  std::vector<std::string> texts;
  for (const data::Tokens& words : find_translations(model, sources, longest, search)) {
    texts.push_back(target.decode(words));
  }
  return texts;
}

TranslationScore compare(const std::vector<std::string>& translations, const data::ParallelText& text,
                         const data::WordTokenizer& target) {
  std::vector<std::string> references;
  Hits exact;
  for (std::size_t i = 0; i < translations.size(); ++i) {
    references.push_back(joined(data::split_words(text.targets[i], target.rules()), " "));
    exact += {translations[i] == references[i] ? 1 : 0, 1};
  }
  return {data::corpus_bleu(translations, references).score, exact.share(), translations.size()};
}

std::string to_string(const TranslationScore& score, const data::WordRules& rules, const SearchConfig& search) {
  char line[160];
  std::snprintf(line, sizeof line, "BLEU %.2f (of words as split here, %s; %s)  exact %.4f  sentences %zu", score.bleu,
                rules.lower_case ? "lower case" : "cased",
                search.beam == 1 ? "greedy" : ("beam " + std::to_string(search.beam)).c_str(), score.exact,
                score.sentences);
  return line;
}

}  // namespace reel::apps
