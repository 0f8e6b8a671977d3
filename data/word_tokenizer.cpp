#include "data/word_tokenizer.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "autograd/error.h"
#include "autograd/kernels/parallel.h"
#include "autograd/utf8.h"
#include "data/characters.h"
#include "data/lower_case.h"
#include "data/pieces.h"

namespace reel::data {
namespace {

constexpr std::string_view special_words[] = {"<pad>", "<unk>", "<start>", "<end>"};

/// How many characters of `rest` are an HTML line break: <br>, <br/>, <br />, <BR>. 0 if it begins with none.
std::size_t line_break_size(std::u32string_view rest) {
  if (rest.size() < 4 || rest[0] != U'<' || to_lower(rest[1]) != U'b' || to_lower(rest[2]) != U'r') return 0;
  std::size_t at = rest.find_first_not_of(U' ', 3);
  if (at < rest.size() && rest[at] == U'/') ++at;
  return at < rest.size() && rest[at] == U'>' ? at + 1 : 0;
}

constexpr char32_t soft_hyphen = U'\u00AD', non_joiner = U'\u200C', joiner = U'\u200D';

bool in_word(std::u32string_view text, std::size_t at) {
  return at < text.size() && kind_of(text[at]) == CharacterKind::word;
}

/// Belongs to a word that goes on after it.
bool holds_together(char32_t character) { return character == U'\'' || character == non_joiner || character == joiner; }

/// Calls visit(word) for each word of `text`, a view that is valid during the call.
template <class Visit>
void for_each_word(std::string_view text, const WordRules& rules, Visit visit) {
  std::u32string characters = decode_utf8(text);
  std::erase(characters, soft_hyphen);
  for (char32_t& character : characters) {
    if (rules.lower_case) character = to_lower(character);
    if (character == U'’') character = U'\'';
  }
  std::u32string_view rest = characters;
  while (!rest.empty()) {
    std::size_t size = 1;
    switch (kind_of(rest[0])) {
      case CharacterKind::separator:
        break;
      case CharacterKind::word:
        while (in_word(rest, size) || (in_word(rest, size + 1) && holds_together(rest[size]))) ++size;
        visit(rest.substr(0, size));
        break;
      case CharacterKind::punctuation:
        if (std::size_t line_break = line_break_size(rest)) {
          size = line_break;
          break;
        }
        size = std::min(rest.find_first_not_of(rest[0]), rest.size());
        if (rules.punctuation) visit(rest.substr(0, size));
    }
    rest.remove_prefix(size);
  }
}

using WordCounts = WordMap<std::int64_t>;

/// How often each word occurs in `texts`, counted by the calling thread.
WordCounts count_here(std::span<const std::string> texts, const WordRules& rules) {
  WordCounts counts;
  counts.max_load_factor(0.25F);  // what comes early comes often, and would stand last in its bucket
  for (const std::string& text : texts) {
    for_each_word(text, rules, [&](std::u32string_view word) {
      if (auto known = counts.find(word); known != counts.end()) {
        ++known->second;
      } else {
        counts.emplace(word, 1);
      }
    });
  }
  return counts;
}

/// The same, where each thread counts a part of the texts. What the parts are depends on how many threads there are,
/// but not their sum.
WordCounts count_words(std::span<const std::string> texts, const WordRules& rules) {
  std::vector<WordCounts> parts(static_cast<std::size_t>(kernels::threads()));
  const int64_t part = kernels::divide_up(std::ssize(texts), std::ssize(parts));
  kernels::parallel_for(std::ssize(texts), part, [&](int64_t begin, int64_t end) {
    const auto first = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
    parts[static_cast<std::size_t>(begin / part)] = count_here(texts.subspan(first, count), rules);
  });
  WordCounts counts = std::move(parts[0]);
  for (const WordCounts& others : std::span(parts).subspan(1)) {
    for (const auto& [word, count] : others) counts[word] += count;
  }
  return counts;
}

std::string rules_line(const WordRules& rules) {
  return text(rules.lower_case ? "lower case" : "case kept", ", ",
              rules.punctuation ? "punctuation kept" : "punctuation dropped");
}

WordRules parsed_rules(std::string_view line) {
  for (bool lower_case : {true, false}) {
    for (bool punctuation : {true, false}) {
      WordRules rules{lower_case, punctuation};
      if (line == rules_line(rules)) return rules;
    }
  }
  fail("WordTokenizer: the vocabulary is damaged: it begins with '", replace_invalid_utf8(line.substr(0, 40)),
       "'; need a line with the rules, such as '", rules_line({}), "'");
}

}  // namespace

std::vector<std::string> split_words(std::string_view text, const WordRules& rules) {
  std::vector<std::string> words;
  for_each_word(text, rules, [&](std::u32string_view word) { words.push_back(encode_utf8(word)); });
  return words;
}

WordTokenizer::WordTokenizer(const WordRules& rules)
    : rules_(rules), words_(std::begin(special_words), std::end(special_words)) {}

bool WordTokenizer::add(std::u32string_view word) {
  if (!ids_.emplace(word, static_cast<std::int32_t>(words_.size())).second) return false;
  words_.push_back(encode_utf8(word));
  return true;
}

WordTokenizer WordTokenizer::train(std::span<const std::string> texts, const VocabularyLimits& limits,
                                   const WordRules& rules) {
  constexpr std::int64_t special_count = std::ssize(special_words);
  if (limits.maximum_size <= special_count) {
    fail("WordTokenizer: the vocabulary's maximum size is ", limits.maximum_size, "; need more than the ",
         special_count, " special tokens");
  }
  const WordCounts counts = count_words(texts, rules);
  std::vector<std::pair<std::int64_t, std::u32string_view>> ranking;  // (-count, word), so that sorting is enough
  for (const auto& [word, count] : counts) {
    if (count >= limits.minimum_count) ranking.emplace_back(-count, word);
  }
  if (ranking.empty()) {
    fail("WordTokenizer: no word occurs ", limits.minimum_count, " times or more in ", texts.size(),
         " texts; give more text or a smaller minimum count");
  }
  std::sort(ranking.begin(), ranking.end());
  ranking.resize(std::min(ranking.size(), static_cast<std::size_t>(limits.maximum_size - special_count)));

  WordTokenizer tokenizer(rules);
  for (const auto& [count, word] : ranking) tokenizer.add(word);
  return tokenizer;
}

WordTokenizer::WordTokenizer(std::string_view vocabulary)
    : WordTokenizer(parsed_rules(vocabulary.substr(0, vocabulary.find('\n')))) {
  const std::vector<std::string_view> lines = split_at(vocabulary, "\n");
  for (std::size_t i = 1; i < lines.size(); ++i) {  // after the rules
    const std::string word(lines[i]);
    const std::u32string characters = decode_utf8(word, "vocabulary");
    if (split_words(word, rules_) != std::vector{word}) {  // no text would ever have it
      fail("WordTokenizer: the vocabulary is damaged: token ", words_.size(), " is not one word");
    }
    if (!add(characters)) {
      fail("WordTokenizer: the vocabulary is damaged: '", word, "' is there twice");
    }
  }
  if (ids_.empty()) fail("WordTokenizer: the vocabulary has no words");
}

std::string WordTokenizer::vocabulary() const {
  std::string lines = rules_line(rules_);
  for (std::size_t id = std::size(special_words); id < words_.size(); ++id) lines += "\n" + words_[id];
  return lines;
}

Tokens WordTokenizer::encode(std::string_view text, Unseen unseen) const {
  Tokens ids;
  std::vector<std::string> refused;
  for_each_word(text, rules_, [&](std::u32string_view word) {
    auto known = ids_.find(word);
    ids.push_back(known == ids_.end() ? unknown_id : known->second);
    if (known != ids_.end() || unseen == Unseen::replace) return;
    std::string name = "'" + encode_utf8(word) + "'";
    if (std::find(refused.begin(), refused.end(), name) == refused.end()) refused.push_back(std::move(name));
  });
  if (!refused.empty()) fail_unseen(refused, "words");
  return ids;
}

std::string WordTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (std::int32_t id : ids) {
    check_id(id);
    if (!text.empty()) text += ' ';
    text += words_[static_cast<std::size_t>(id)];
  }
  return text;
}

}  // namespace reel::data
