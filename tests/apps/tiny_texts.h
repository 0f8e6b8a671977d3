#pragma once
// The programs that train, with tiny texts that they learn from in a moment.

#include <utility>

#include "apps/training/checkpoint.h"
#include "autograd/random.h"
#include "tests/apps/program.h"

/// Lines of a tiny language, about `size` bytes.
inline std::string tiny_text(std::size_t size) {
  static const std::string words[] = {"the ", "cat ", "sat ", "on ", "a ", "mat. ", "so ", "did ", "dogs,\n", "too.\n"};
  reel::Generator generator(5);
  std::string text;
  while (text.size() < size) text += words[generator.below(std::size(words))];
  return text;
}

/// One of `words`.
template <std::size_t n>
const char* any_of(const char* const (&words)[n], reel::Generator& generator) {
  return words[generator.below(n)];
}

/// "label<tab>text" in each row, after one with these names. The first word tells the label.
inline std::string tiny_reviews(int rows, std::uint64_t seed) {
  static constexpr const char* good[] = {"bright", "warm", "fine"};
  static constexpr const char* bad[] = {"grey", "cold", "dull"};
  static constexpr const char* other[] = {"day", "house", "tea", "and", "so", "."};
  reel::Generator generator(seed);
  std::string table = "label\ttext\n";
  for (int row = 0; row < rows; ++row) {
    table += row % 2 == 0 ? "good\t" : "bad\t";
    table += row % 2 == 0 ? any_of(good, generator) : any_of(bad, generator);
    for (auto more = generator.below(5); more >= 0; --more) table += std::string(" ") + any_of(other, generator);
    table += '\n';
  }
  return table;
}

/// Lines of numbers, and the same numbers in another language, in reverse order.
inline std::pair<std::string, std::string> tiny_pairs(int lines, std::uint64_t seed) {
  static constexpr const char* german[] = {"eins", "zwei", "drei", "vier", "fünf"};
  static constexpr const char* english[] = {"one", "two", "three", "four", "five"};
  reel::Generator generator(seed);
  std::pair<std::string, std::string> texts;
  for (int line = 0; line < lines; ++line) {
    std::string source, target;
    for (auto more = generator.below(2); more >= 0; --more) {
      const auto number = generator.below(std::ssize(german));
      source += (source.empty() ? "" : " ") + std::string(german[number]);
      target = english[number] + (target.empty() ? "" : " " + target);
    }
    texts.first += source + "\n";
    texts.second += target + "\n";
  }
  return texts;
}

/// A folder with text.txt to generate from, reviews (train.tsv, test.tsv) to classify, and pairs (train.de, train.en,
/// val.*, test_a.*, test_b.*) to translate.
class TinyTexts : public Workplace {
 public:
  TinyTexts() {
    write("text.txt", tiny_text(3000));
    write("reviews/train.tsv", tiny_reviews(60, 1));
    write("reviews/test.tsv", tiny_reviews(20, 2));
    write_pairs("train", 60, 1);
    write_pairs("val", 12, 2);
    write_pairs("test_a", 9, 3);
    write_pairs("test_b", 5, 4);
  }

  /// The options of a tiny model; `arguments` may name one to which not all of them mean something.
  static std::string tiny_model(const std::string& program, const std::string& arguments = "") {
    auto is = [&](const std::string& model) { return arguments.find("--model " + model) != std::string::npos; };
    const std::string heads = is("naive") || is("conv") || is("rnn") ? "" : "-H 2 ", depth = is("rnn") ? "" : "-d 1 ";
    if (program == "generate") {
      const std::string learning = "-N 20 -b 4 -E 16 -l 1e-2 --lr-warmup 16 " + heads + depth;
      return "train --data text.txt -C 16 --sample-length 10 " + (is("ngram") ? "" : learning);
    }
    const std::string data = program == "classify" ? "--data reviews " : "--data pairs --min-count 1 ";
    const std::string hidden = program == "translate" && !is("rnn") ? "--hidden 16 " : "";
    return "train -E 16 -M 8 -e 2 -b 8 -l 1e-2 --lr-warmup 32 " + heads + depth + hidden + data;
  }
  /// Trains one; `arguments` add to its options, or replace them.
  Outcome train(const std::string& program, const std::string& arguments) const {
    return run(program, tiny_model(program, arguments) + arguments);
  }
  /// The same where nothing but success will do.
  Outcome must_train(const std::string& program, const std::string& arguments) const {
    Outcome outcome = train(program, arguments);
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    return outcome;
  }

  std::string checkpoint(const std::string& run) const { return read_file(*this / run / "checkpoint.safetensors"); }
  std::string metrics(const std::string& run) const { return read_file(*this / run / "metrics.csv"); }
  std::string report(const std::string& run) const { return read_file(*this / run / "report.html"); }

 private:
  void write_pairs(const std::string& part, int lines, std::uint64_t seed) {
    const auto [german, english] = tiny_pairs(lines, seed);
    write("pairs/" + part + ".de", german);
    write("pairs/" + part + ".en", english);
  }
};

inline void replace_note(reel::apps::Checkpoint& checkpoint, const std::string& key, const reel::Json& value) {
  for (auto& [name, note] : checkpoint.notes) {
    if (name == key) note = value;
  }
}

/// Sets one of the options that the checkpoint keeps.
inline void replace_option(reel::apps::Checkpoint& checkpoint, const std::string& key, const std::string& value) {
  auto options = reel::apps::string_pairs_from(note(checkpoint, "options"));
  for (auto& [name, kept] : options) {
    if (name == key) kept = value;
  }
  replace_note(checkpoint, "options", reel::apps::to_json(options));
}

/// What the checkpoint keeps of that option.
inline std::string option_of(const reel::apps::Checkpoint& checkpoint, const std::string& key) {
  const auto options = reel::apps::string_pairs_from(note(checkpoint, "options"));
  const std::string* value = reel::apps::find(options, key);
  return value ? *value : "";
}
