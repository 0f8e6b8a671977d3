#include "apps/translate/train.h"

#include <algorithm>
#include <iostream>

#include "apps/common/numbers.h"
#include "apps/common/words.h"
#include "apps/report/head_maps.h"
#include "apps/report/spread.h"
#include "apps/training/begin_run.h"
#include "apps/training/eval_mode.h"
#include "apps/training/fingerprint.h"
#include "apps/training/score.h"
#include "apps/training/trainer.h"
#include "apps/translate/corpus.h"
#include "apps/translate/evaluate.h"
#include "apps/translate/model.h"
#include "apps/translate/search.h"
#include "autograd/ops.h"
#include "data/batch_sampler.h"
#include "nn/transformer.h"

namespace reel::apps {
namespace {

class TranslateTask : public Task {
 public:
  TranslateTask(TrainedTranslator trained, const data::ParallelText& train, data::ParallelText validation,
                std::map<std::string, data::ParallelText> tests)
      : trained_(std::move(trained)),
        train_(encode_pairs(train, *trained_.tokenizers, config_.length)),
        validation_(encode_pairs(validation, *trained_.tokenizers, config_.length)),
        validation_text_(std::move(validation)),
        tests_(std::move(tests)),
        sampler_(lengths(train_), config_.training.batch_size,
                 config_.batches == "random" ? data::BatchSampler::Kind::random : data::BatchSampler::Kind::bucketed,
                 random_stream(config_.training.seed, Stream::batches)) {}

  const nn::Module& model() const override { return model_; }
  bool is_post_norm() const override { return config_.model == "transformer" && config_.norm == "post"; }

  std::string introduction() const override {
    const std::int64_t cut = train_.cut + validation_.cut;
    return text(name_of_data(), ": ", train_.sources.size(), " pairs to train on, ", validation_.sources.size(),
                " to validate, ", cut > 0 ? text(cut, " of all cut at --max ", config_.length, ", ") : "",
                "vocabularies of ", words_.source.vocabulary_size(), " and ", words_.target.vocabulary_size(), "\n",
                config_.model, ": ", model_.parameter_count(), " parameters, seed ", config_.training.seed);
  }
  std::string topic() const override { return "translation"; }
  std::string title() const override {
    return text(config_.model, " on ", name_of_data(), ", ", config_.source, " to ", config_.target, ", ",
                model_.parameter_count(), " parameters");
  }

  BatchLoss next_loss() override {
    const PairBatch batch = make_batch(train_, sampler_.next());
    const Tensor logits = model_.packed(batch.sources, batch.inputs);  // (N, V)
    return {cross_entropy(logits, batch.outputs, {.label_smoothing = config_.label_smoothing}), batch.outputs.numel(),
            count_hits(logits, batch.outputs)};
  }

  std::optional<Score> score() override { return evaluate(model_, validation_); }

  void show(const std::string& when, const std::optional<Score>& score) override {
    if (!score) return;
    std::cout << when << "  validation " << line_of_tokens(*score) << '\n';
    for (const auto& [source, reference, translation] : examples(2)) {
      std::cout << "  source     " << source << "\n  reference  " << reference << "\n  model      " << translation
                << '\n';
    }
    std::cout << std::flush;
  }

  StringPairs finish(const std::optional<Score>&) override {
    if (!config_.final_run) return finish_part("validation", validation_text_);
    StringPairs results;
    for (const auto& [name, text] : tests_) {
      for (auto& result : finish_part(name, text)) results.push_back(std::move(result));
    }
    return results;
  }

  void report(Report& report) override {
    report.section("Translations", "Sentences that the model did not learn from, by greedy search.");
    std::vector<std::vector<std::string>> rows;
    for (const auto& [source, reference, translation] : examples(8)) rows.push_back({source, reference, translation});
    report.table("Examples", {"source", "reference", "model"}, rows);
    if (auto* transformer = dynamic_cast<nn::Transformer*>(&model_)) show_attention(report, *transformer);
  }

  std::uint32_t fingerprint() const override {
    Fingerprint sum;
    for (const EncodedPairs* part : {&train_, &validation_}) sum.add(part->sources).add(part->targets);
    return sum.value();
  }

  Json::Object notes() const override {
    return {{"source vocabulary", words_.source.vocabulary()},
            {"target vocabulary", words_.target.vocabulary()},
            {"order", to_json(sampler_.state())}};
  }
  void restore(const Checkpoint& saved) override { sampler_.set_state(sampler_state_from(note(saved, "order"))); }

 private:
  std::string name_of_data() const { return config_.data.empty() ? "built-in sentences" : config_.data; }

  static std::vector<std::int64_t> lengths(const EncodedPairs& pairs) {
    std::vector<std::int64_t> lengths;
    for (std::size_t i = 0; i < pairs.sources.size(); ++i) {
      lengths.push_back(std::ssize(pairs.sources[i]) + std::ssize(pairs.targets[i]));
    }
    return lengths;
  }

  struct Example {
    std::string source, reference, translation;
  };
  /// Some pairs of the validation part, each sentence on one line, and what the model makes of them.
  std::vector<Example> examples(std::size_t most) {
    std::vector<Example> examples;
    std::vector<data::Tokens> sources;
    for (std::size_t place : spread(validation_.sources.size(), most)) {
      examples.push_back(
          {on_one_line(validation_text_.sources[place]), on_one_line(validation_text_.targets[place]), ""});
      sources.push_back(validation_.sources[place]);
    }
    const std::vector<std::string> found = translate_all(model_, sources, words_.target, config_.length);
    for (std::size_t i = 0; i < found.size(); ++i) examples[i].translation = found[i];
    return examples;
  }

  /// Where each head of the last layers looks while the first example is translated.
  void show_attention(Report& report, nn::Transformer& model) {
    const std::int64_t longest = std::min<std::int64_t>(config_.length, 34);
    const std::vector<data::Tokens> source{encode_sentence(validation_text_.sources[0], words_.source, longest).tokens};
    data::Tokens whole = data::enclosed(find_translations(model, source, longest)[0]);
    if (std::ssize(whole) - 2 == longest) whole.pop_back();  // it was cut: the model has written no end
    const data::Tokens read(whole.begin(), whole.end() - 1), written(whole.begin() + 1, whole.end());
    const EvalMode mode(model);
    const nn::Transformer::Maps maps =
        model.attention_maps(Ids({1, std::ssize(source[0])}, source[0]), Ids({1, std::ssize(read)}, read));
    const auto source_names = token_names(words_.source, source[0]), read_names = token_names(words_.target, read);

    report.section(
        "Attention in the encoder",
        "The first of these sentences, and the last layer. Each row is a word of the source, and shows where "
        "in the source the encoder looks from there.");
    add_head_maps(report, "Encoder", maps.encoder.back(), source_names, source_names);
    report.section("Attention in the decoder",
                   "Each row is a word that is written already, and shows where in the translation so far the decoder "
                   "looks from there.");
    add_head_maps(report, "Decoder", maps.decoder.back(), read_names, read_names);
    report.section("Attention from the translation to the source",
                   "Each row is a word as it is written, and shows where in the source the decoder looks for it.");
    add_head_maps(report, "Cross", maps.cross.back(), token_names(words_.target, written), source_names);
  }

  /// The last lines on one part, perplexity and BLEU.
  StringPairs finish_part(const std::string& name, const data::ParallelText& text) {
    const auto [likelihood, translation] = score_part(trained_, name, text, {}, config_.training.out);
    return {{name + " perplexity", short_number(likelihood.perplexity(), 4)},
            {name + " BLEU", short_number(translation.bleu, 4)}};
  }

  TrainedTranslator trained_;  // first, for these are parts of it
  const TranslateConfig& config_ = trained_.config;
  const TokenizerPair& words_ = *trained_.tokenizers;
  nn::Translator& model_ = *trained_.model;
  EncodedPairs train_, validation_;
  data::ParallelText validation_text_;
  std::map<std::string, data::ParallelText> tests_;
  data::BatchSampler sampler_;
};

/// Throws UsageError for other languages than those of the built-in sentences, and for one language twice.
void check_languages(const TranslateConfig& config) {
  if (config.data.empty() && (config.source != "en" || config.target != "de")) {
    throw UsageError("--source and --target: the built-in sentences are English to German; name others with --data");
  }
  if (config.source == config.target) fail<UsageError>("--source and --target: both are ", config.source);
}

/// Throws UsageError if the heads cannot share out the width.
void check_heads(const TranslateConfig& config) {
  if (config.model == "transformer" && config.embedding % config.heads != 0) {
    fail<UsageError>("--heads: ", config.heads, " cannot share out the --embedding of ", config.embedding,
                     "; need a number that divides it");
  }
}

}  // namespace

void train(Options& options, TranslateConfig& config) {
  TrainingConfig& training = config.training;
  std::optional<Checkpoint> saved =
      begin_run("translate", options, training, config.data.empty() ? sentence_defaults() : StringPairs{});
  check_run(options, training);
  check_languages(config);
  check_heads(config);
  TrainedTranslator trained{.config = config};
  if (saved) trained = restore_translator(*saved, config);
  data::ParallelData pairs = read_pairs(config);
  const Plan plan = plan_epochs(training, config.epochs, std::ssize(pairs.train.sources));
  if (!saved) {
    trained.tokenizers = train_tokenizers(pairs.train, config);
    trained.model = make_translator(config, *trained.tokenizers);
  }

  TranslateTask task(std::move(trained), pairs.train, std::move(pairs.validation), std::move(pairs.tests));
  Trainer trainer("translate", options, training, task, plan);
  trainer.run(std::move(saved));
}

}  // namespace reel::apps
