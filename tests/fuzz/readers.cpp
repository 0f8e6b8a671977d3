// Whatever reads files and command lines: bad input is refused, good input comes back as it was written.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "apps/common/options.h"
#include "apps/generate/config.h"
#include "apps/training/checkpoint.h"
#include "apps/training/metrics_reader.h"
#include "autograd/creation.h"
#include "autograd/json.h"
#include "autograd/safetensors.h"
#include "autograd/utf8.h"
#include "data/labelled_text.h"
#include "data/parallel_text.h"
#include "data/table.h"
#include "data/tokenizer.h"
#include "data/word_tokenizer.h"
#include "tests/fuzz/target.h"
#include "tests/temporary_folder.h"

namespace reel::fuzz {
namespace {

namespace fs = std::filesystem;

/// A file with these bytes, until the next one of this name.
fs::path file_of(const std::string& name, std::string_view bytes) {
  static const TemporaryFolder folder;
  return folder.write(name, std::string(bytes));
}

void read_json(std::string_view input) {
  const Json value = Json::parse(input);
  must([&] {
    const std::string written = value.write();
    require(Json::parse(written) == value, "JSON is read as it was written");
    require(Json::parse(written).write() == written, "JSON that was read is written in the same way");
  });
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return with_type(a.dtype(), [&]<class T>(T) {
    return std::memcmp(a.data<T>(), b.data<T>(), static_cast<std::size_t>(a.numel()) * sizeof(T)) == 0;
  });
}

bool same_tensors(const NamedTensors& a, const NamedTensors& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && same_bits(x.second, y.second); });
}

void read_tensors(std::string_view input) {
  const Safetensors content = read_safetensors(input);
  const Safetensors again = must([&] { return read_safetensors(write_safetensors(content)); });
  require(same_tensors(content.tensors, again.tensors), "tensors are read as they were written");
  require(content.metadata == again.metadata, "metadata are read as they were written");
}

void read_checkpoint(std::string_view input) {
  const apps::Checkpoint checkpoint = apps::load_checkpoint(file_of("checkpoint.safetensors", input), "generate");
  apps::string_pairs_from(apps::note(checkpoint, "options"));
  apps::generator_state_from(apps::note(checkpoint, "batches"));
  apps::sampler_state_from(apps::note(checkpoint, "order"));
}

std::string checkpoint_bytes() {
  const apps::Checkpoint checkpoint{{{"weight", tensor({2, 2}, {1, 2, 3, 4})}},
                                    {{"step", scalar(7)}},
                                    {{"app", "generate"},
                                     {"options", apps::to_json({{"model", "conv"}, {"depth", "2"}})},
                                     {"batches", apps::to_json(Generator::State{3, 8})},
                                     {"order", apps::to_json(data::BatchSampler::State{})}}};
  const fs::path path = file_of("seed.safetensors", "");
  apps::save_checkpoint(path, checkpoint);
  return read_file(path);
}

void read_rows(const char* name, std::string_view input) {
  std::int64_t line = 0;
  const std::vector<data::TableRow> rows = data::read_table(file_of(name, input));
  require(!rows.empty(), "a table has rows");
  for (const data::TableRow& row : rows) {
    require(row.columns.size() == rows[0].columns.size(), "rows have as many columns as each other");
    require(row.line > line, "rows follow each other");
    line = row.line;
  }
}

void read_labels(std::string_view input) {
  const data::LabelledText read = data::read_labelled_table(file_of("labels.csv", input));
  require(read.classes.size() >= 2 && std::is_sorted(read.classes.begin(), read.classes.end()), "classes are sorted");
  require(read.labels.size() == read.texts.size(), "each text has a label");
  for (std::int32_t label : read.labels) {
    require(label >= 0 && label < std::ssize(read.classes), "a label is one of the classes");
  }
}

void read_pairs(std::string_view input) {
  const std::size_t half = input.size() / 2;
  const data::ParallelText read =
      data::read_parallel_files(file_of("pairs.de", input.substr(0, half)), file_of("pairs.en", input.substr(half)));
  require(read.sources.size() == read.targets.size(), "each sentence has a translation");
}

void read_utf8(std::string_view input) {
  const std::string shown = replace_invalid_utf8(input);
  must([&] { require(encode_utf8(decode_utf8(shown)) == shown, "what was replaced is UTF-8"); });
  require(replace_invalid_utf8(shown) == shown, "what is UTF-8 stays as it is");
  const std::u32string characters = decode_utf8(input);
  require(shown == input && encode_utf8(characters) == input, "what can be decoded was UTF-8");
}

void read_words(std::string_view input) {
  const data::WordRules rules{.lower_case = input.size() % 2 == 0, .punctuation = input.size() % 3 != 0};
  const std::string text(input);
  const std::vector<std::string> words = data::split_words(text, rules);
  if (words.empty()) return;
  must([&] {
    for (const std::string& word : words) {
      require(data::split_words(word, rules) == std::vector<std::string>{word}, "a word is one word");
    }
    const data::WordTokenizer trained = data::WordTokenizer::train(std::span(&text, 1), {}, rules);
    const data::WordTokenizer restored(trained.vocabulary());
    require(restored.vocabulary() == trained.vocabulary(), "a vocabulary is read as it was written");
    const std::vector<std::int32_t> ids = trained.encode(text);
    require(restored.encode(text) == ids, "a tokenizer that was restored has the same ids");
    require(trained.encode(trained.decode(ids)) == ids, "words that were decoded are the same words");
  });
}

void read_vocabulary(std::string_view input) {
  const auto tokenizer = data::restore_tokenizer("char", input);
  require(tokenizer->vocabulary() == input, "a vocabulary is written as it was read");
  must([&] { require(tokenizer->decode(tokenizer->encode(input)) == input, "decoded characters are the same"); });
}

void read_word_vocabulary(std::string_view input) {
  const data::WordTokenizer tokenizer(input);
  require(tokenizer.vocabulary() == input, "a vocabulary is written as it was read");
  must([&] {
    for (std::int32_t id = data::end_id + 1; id < tokenizer.vocabulary_size(); ++id) {
      require(tokenizer.encode(tokenizer.decode(std::span(&id, 1))) == std::vector{id}, "each word has its own id");
    }
  });
}

void read_metrics(std::string_view input) {
  for (const auto& [column, points] : apps::read_metrics(file_of("metrics.csv", input))) {
    const std::vector<apps::Bucket> buckets = apps::thin(apps::drawable(points), 4);
    for (const apps::Point& point : apps::smooth(buckets)) {
      require(std::isfinite(point.x) && std::isfinite(point.y), "what is drawn has a place");
    }
  }
}

/// Arguments are the input's lines.
void read_options(std::string_view input) {
  std::vector<std::string> arguments;
  std::istringstream lines{std::string(input)};
  for (std::string line; std::getline(lines, line);) arguments.push_back(line);
  apps::GenerateConfig config, again;
  apps::Options options, restored;
  declare_train(options, config);
  declare_train(restored, again);
  options.parse(arguments);
  must([&] { restored.restore(options.values()); });
  require(restored.values() == options.values(), "options are restored as they were kept");
  options.refuse_idle();
}

}  // namespace

std::vector<Target> reader_targets() {
  const std::string tensors = write_safetensors(
      {{{"a", tensor({2, 3}, {1, 2, 3, 4, 5, 6})}, {"b", scalar(7, DType::f64)}, {"none", zeros({0, 4})}},
       {{"format", "pt"}}});
  return {
      {"json",
       read_json,
       {R"({"a": [1, -2.5e3, true, null], "é": {"\u00fc\n": "\ud83d\ude00"}})", "[[],{},\"\"]", "0"}},
      {"safetensors", read_tensors, {tensors, write_safetensors({})}},
      {"checkpoint", read_checkpoint, {checkpoint_bytes()}},
      {"csv", [](std::string_view input) { read_rows("table.csv", input); }, {"a,b\n1,\"x, \"\"y\"\"\nz\"\r\n2,\n"}},
      {"tsv", [](std::string_view input) { read_rows("table.tsv", input); }, {"a\tb\n1\tx \"y\n\n2\t\r\n"}},
      {"labels", read_labels, {"text,label\nfine,pos\n\"so, so\",neg\n"}},
      {"pairs", read_pairs, {"ein Hund\nzwei\none hound\ntwo\n"}},
      {"utf8", read_utf8, {"aé€😀\r\n", "\xEF\xBB\xBFx"}},
      {"words", read_words, {"Don't stop... it's <br />a t-shirt, ÄÖ’s 3.5 %!!\n", "a b a"}},
      {"characters", read_vocabulary, {"\n abcé€😀"}},
      {"vocabulary",
       read_word_vocabulary,
       {data::WordTokenizer::train(std::vector<std::string>{"the cat's mat, the end ..."}).vocabulary()}},
      {"metrics", read_metrics, {"step,loss,validation_loss\n1,0.5,\n2,1e-3,7\n"}},
      {"options", read_options, {"--model\ngtransformer\n-b12\n--learn-rate=1e-3\n-f\n--no-lazy-adam", "-C\n8\n-E=16"}},
  };
}

}  // namespace reel::fuzz
