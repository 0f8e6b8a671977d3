#pragma once
// Words as tokens: what the classifier and the translator read.
//
// A text is cut from left to right into
//
//   words         runs of letters, digits and combining marks. An apostrophe between two of them belongs to the word
//                 (don't, man's); ’ is written '. So does a joiner or non-joiner, U+200D or U+200C. A hyphen does not
//                 (t-shirt is t - shirt), nor does a decimal point; a soft hyphen, U+00AD, is as if it were not there.
//   punctuation   each mark or symbol a token, where the same one repeated is one token (..., !!, --)
//
// White space, control and formatting characters separate and are dropped, and so is HTML's line break (<br />), which
// film reviews are full of. Then an id stands for each of the most frequent words of the training texts, and <unk> for
// all others. Scripts that put no space between words, such as Chinese, come out as one word a phrase: use
// CharTokenizer.

#include <functional>
#include <limits>
#include <string>
#include <unordered_map>

#include "data/tokenizer.h"

namespace reel::data {

constexpr std::int32_t pad_id = 0;      // <pad>    fills a batch's shorter rows
constexpr std::int32_t unknown_id = 1;  // <unk>    any word that is not in the vocabulary
constexpr std::int32_t start_id = 2;    // <start>  before a sentence that is written
constexpr std::int32_t end_id = 3;      // <end>    after it

struct WordRules {
  bool lower_case = true;   // as data/lower_case.h
  bool punctuation = true;  // tokens of their own; otherwise marks only separate
};

struct VocabularyLimits {
  std::int64_t maximum_size = std::numeric_limits<std::int32_t>::max();  // with the four special tokens
  std::int64_t minimum_count = 1;                                        // of times that a word occurs
};

/// The words of `text`, in order. Throws if it is not UTF-8.
std::vector<std::string> split_words(std::string_view text, const WordRules& rules = {});

/// For a WordMap, in which a view of a word is looked up without a copy of it.
struct WordHash {
  using is_transparent = void;
  std::size_t operator()(std::u32string_view word) const { return std::hash<std::u32string_view>()(word); }
};
template <class T>
using WordMap = std::unordered_map<std::u32string, T, WordHash, std::equal_to<>>;

/// No text ever encodes to a special token other than <unk>: "<pad>" is cut into three.
///
/// train_tokenizer and restore_tokenizer do not offer it, because decode(encode(text)) is not the text: white space,
/// rare words and, by default, capitals are gone.
class WordTokenizer : public Tokenizer {
 public:
  /// The vocabulary of `texts`, which should be those of the training part alone: the most frequent words first, and
  /// among equals in the order of their code points. Throws if they hold no word that occurs often enough, if a limit
  /// leaves no room for one, or if a text is not UTF-8.
  static WordTokenizer train(std::span<const std::string> texts, const VocabularyLimits& limits = {},
                             const WordRules& rules = {});
  /// From what vocabulary() returned. Throws if it is damaged.
  explicit WordTokenizer(std::string_view vocabulary);

  const WordRules& rules() const { return rules_; }
  /// A line with the rules, then a line for each word from id 4 on.
  std::string vocabulary() const override;
  std::int64_t vocabulary_size() const override { return static_cast<std::int64_t>(words_.size()); }

  /// Unseen::replace gives <unk> to words without an id; Unseen::refuse throws, naming them. Adds neither <start> nor
  /// <end>.
  Tokens encode(std::string_view text, Unseen unseen = Unseen::refuse) const override;
  /// The words with a space between any two; special tokens as <pad>, <unk>, <start>, <end>.
  std::string decode(std::span<const std::int32_t> ids) const override;

 private:
  explicit WordTokenizer(const WordRules& rules);
  /// False if the word has an id already.
  bool add(std::u32string_view word);

  WordRules rules_;
  std::vector<std::string> words_;  // by id, in UTF-8
  WordMap<std::int32_t> ids_;
};

}  // namespace reel::data
