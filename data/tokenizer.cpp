#include "data/tokenizer.h"

#include <algorithm>
#include <functional>
#include <iomanip>

#include "autograd/error.h"
#include "autograd/utf8.h"
#include "data/printable.h"

namespace reel::data {
namespace {

/// 'é' (U+00E9); a control character has no picture.
std::string described(char32_t character) {
  std::ostringstream code;
  code << "U+" << std::hex << std::uppercase << std::setfill('0') << std::setw(4)
       << static_cast<std::uint32_t>(character);
  return is_control(character) ? code.str() : text("'", encode_utf8(character), "' (", code.str(), ")");
}

[[noreturn]] void fail_unknown_name(std::string_view name) {
  fail("there is no tokenizer '", name, "'; need char or byte");
}

}  // namespace

void Tokenizer::fail_unseen(std::span<const std::string> unseen, const char* units) const {
  constexpr std::size_t most_shown = 8;
  std::string list;
  for (const std::string& one : unseen.first(std::min(unseen.size(), most_shown))) {
    list += (list.empty() ? "" : ", ") + one;
  }
  if (unseen.size() > most_shown) list += text(" and ", unseen.size() - most_shown, " more");
  fail("not in the tokenizer's vocabulary of ", vocabulary_size(), " ", units, ": ", list,
       "; leave them out, or train on a text that has them");
}

void Tokenizer::check_id(std::int32_t id) const {
  if (id < 0 || id >= vocabulary_size()) {
    fail("decode: there is no token ", id, "; the vocabulary's ids are 0 to ", vocabulary_size() - 1);
  }
}

CharTokenizer CharTokenizer::train(std::string_view text, Unseen unseen) {
  std::u32string characters = decode_utf8(text);
  if (characters.empty()) fail("CharTokenizer: there are no characters in an empty text; need at least one");
  if (unseen == Unseen::replace) characters += replacement_character;
  std::sort(characters.begin(), characters.end());
  characters.erase(std::unique(characters.begin(), characters.end()), characters.end());
  return CharTokenizer(encode_utf8(characters));
}

CharTokenizer::CharTokenizer(std::string_view vocabulary) : characters_(decode_utf8(vocabulary, "vocabulary")) {
  if (characters_.empty()) fail("CharTokenizer: the vocabulary is empty");
  auto out_of_order = std::adjacent_find(characters_.begin(), characters_.end(), std::greater_equal<>());
  if (out_of_order != characters_.end()) {
    fail("CharTokenizer: the vocabulary is damaged: ", described(out_of_order[1]), " follows ",
         described(out_of_order[0]), "; need each character once, in the order of their code points");
  }
}

std::string CharTokenizer::vocabulary() const { return encode_utf8(characters_); }

std::int64_t CharTokenizer::vocabulary_size() const { return static_cast<std::int64_t>(characters_.size()); }

Tokens CharTokenizer::encode(std::string_view text, Unseen unseen) const {
  auto find = [&](char32_t character) {
    auto at = std::lower_bound(characters_.begin(), characters_.end(), character);
    return at != characters_.end() && *at == character ? static_cast<std::int32_t>(at - characters_.begin()) : -1;
  };
  std::int32_t unseen_id = unseen == Unseen::replace ? find(replacement_character) : -1;
  std::u32string characters = decode_utf8(text), refused;
  Tokens ids;
  ids.reserve(characters.size());
  for (char32_t character : characters) {
    std::int32_t id = find(character);
    if (id < 0) id = unseen_id;
    if (id < 0 && refused.find(character) == refused.npos) refused += character;
    ids.push_back(id);
  }
  if (!refused.empty()) {
    std::vector<std::string> names;
    for (char32_t character : refused) names.push_back(described(character));
    fail_unseen(names, "characters");
  }
  return ids;
}

std::string CharTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  text.reserve(ids.size());
  for (std::int32_t id : ids) {
    check_id(id);
    text += encode_utf8(characters_[static_cast<std::size_t>(id)]);
  }
  return text;
}

Tokens ByteTokenizer::encode(std::string_view text, Unseen) const {
  Tokens ids;
  ids.reserve(text.size());
  for (char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

std::string ByteTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  text.reserve(ids.size());
  for (std::int32_t id : ids) {
    check_id(id);
    text += static_cast<char>(static_cast<unsigned char>(id));
  }
  return text;
}

std::unique_ptr<Tokenizer> train_tokenizer(std::string_view name, std::string_view text, Unseen unseen) {
  if (name == "char") return std::make_unique<CharTokenizer>(CharTokenizer::train(text, unseen));
  if (name == "byte") return std::make_unique<ByteTokenizer>();
  fail_unknown_name(name);
}

std::unique_ptr<Tokenizer> restore_tokenizer(std::string_view name, std::string_view vocabulary) {
  if (name == "char") return std::make_unique<CharTokenizer>(vocabulary);
  if (name == "byte") {
    if (!vocabulary.empty()) fail("ByteTokenizer: the vocabulary is damaged: need an empty one");
    return std::make_unique<ByteTokenizer>();
  }
  fail_unknown_name(name);
}

}  // namespace reel::data
