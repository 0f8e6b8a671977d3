#pragma once
// Runs the programs `classify` and `translate` as a person would, in a folder of the test's own with tiny texts.

#include <algorithm>
#include <utility>
#include <vector>

#include "apps/common/checkpoint.h"
#include "tests/apps/generate_program.h"

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

inline int count_lines(const std::string& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

/// A folder with the folders reviews (train.tsv, test.tsv) and pairs (train.de, train.en, val.*, test_a.*, test_b.*),
/// and both programs.
class TextWorkplace : public Workplace {
 public:
  TextWorkplace() {
    write("reviews/train.tsv", tiny_reviews(60, 1));
    write("reviews/test.tsv", tiny_reviews(20, 2));
    write_pairs("train", 60, 1);
    write_pairs("val", 12, 2);
    write_pairs("test_a", 9, 3);
    write_pairs("test_b", 5, 4);
  }

  /// `arguments` are for the shell; its stdin may be redirected in there.
  Outcome run(const std::string& program, const std::string& arguments) const {
    return shell("'" REEL_BIN_DIR "/" + program + "' " + arguments);
  }
  /// Trains a tiny model of `program`; `arguments` add to its options, or replace them.
  Outcome train(const std::string& program, const std::string& arguments) const {
    const std::string data = program == "classify" ? "--data reviews" : "--data pairs --hidden 16 --min-count 1";
    return run(program, "train -E 16 -H 2 -d 1 -M 8 -e 2 -b 8 -l 1e-2 --lr-warmup 32 " + data + " " + arguments);
  }
  /// The same where nothing but success will do.
  Outcome must_train(const std::string& program, const std::string& arguments) const {
    Outcome outcome = train(program, arguments);
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    return outcome;
  }

 private:
  void write_pairs(const std::string& part, int lines, std::uint64_t seed) {
    const auto [german, english] = tiny_pairs(lines, seed);
    write("pairs/" + part + ".de", german);
    write("pairs/" + part + ".en", english);
  }
};

/// Refused before anything is done: one line on stderr, nothing on stdout.
inline void check_refused(const std::string& program, const Outcome& outcome, int status, const std::string& reason) {
  CHECK(outcome.status == status);
  CHECK(outcome.out.empty());
  CHECK(count_lines(outcome.err) == 1);
  CHECK(outcome.err.starts_with(program));
  CHECK_THAT(outcome.err, ContainsSubstring(reason));
}

inline void replace_note(reel::apps::Checkpoint& checkpoint, const std::string& key, const reel::Json& value) {
  for (auto& [name, note] : checkpoint.notes) {
    if (name == key) note = value;
  }
}

/// Sets one of the options that the checkpoint keeps.
inline void replace_option(reel::apps::Checkpoint& checkpoint, const std::string& key, const std::string& value) {
  auto options = reel::apps::options_from(note(checkpoint, "options"));
  for (auto& [name, kept] : options) {
    if (name == key) kept = value;
  }
  replace_note(checkpoint, "options", reel::apps::to_json(options));
}

/// What the checkpoint keeps of that option.
inline std::string option_of(const reel::apps::Checkpoint& checkpoint, const std::string& key) {
  for (const auto& [name, value] : reel::apps::options_from(note(checkpoint, "options"))) {
    if (name == key) return value;
  }
  return "";
}
