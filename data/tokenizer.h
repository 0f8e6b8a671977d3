#pragma once
// Tokenizers turn a text into the ids that a model reads, 0 .. vocabulary_size() - 1, and back.
//
//   CharTokenizer   one id for each distinct character (Unicode code point) of the text it was trained on
//   ByteTokenizer   one id for each byte: nothing to train, nothing unseen, any file
//
// From its name and its vocabulary(), two strings, restore_tokenizer makes a tokenizer again.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reel::data {

/// The ids of a text's tokens, in order.
using Tokens = std::vector<std::int32_t>;

/// What becomes of a character that the tokenizer was not trained on.
enum class Unseen {
  refuse,  // an error that lists them
  replace  // one id stands for all of them, that of U+FFFD for characters
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// All that is needed, beside its kind, to make it again; in UTF-8.
  virtual std::string vocabulary() const = 0;
  virtual std::int64_t vocabulary_size() const = 0;

  /// Throws, naming them, if characters or words of `text` have no id and, with Unseen::replace, no id stands for them.
  virtual Tokens encode(std::string_view text, Unseen unseen = Unseen::refuse) const = 0;
  /// The text of `ids`. Throws if one is not in 0 .. vocabulary_size() - 1.
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;

 protected:
  /// Throws, naming up to eight of the `units` ("characters") that have no id, each as an error is to show it.
  [[noreturn]] void fail_unseen(std::span<const std::string> unseen, const char* units) const;
  /// Throws unless `id` is in 0 .. vocabulary_size() - 1.
  void check_id(std::int32_t id) const;
};

/// Its vocabulary is the distinct characters, in the order of their code points; a character's id is its place there.
class CharTokenizer : public Tokenizer {
 public:
  /// The characters of `text`; with Unseen::replace also U+FFFD, so that encode can be asked to replace. Train on the
  /// training part alone and replace in what validates. Throws if `text` is empty or not UTF-8.
  static CharTokenizer train(std::string_view text, Unseen unseen = Unseen::refuse);
  /// From what vocabulary() returned. Throws unless the characters are in order and each is there once.
  explicit CharTokenizer(std::string_view vocabulary);

  std::string vocabulary() const override;
  std::int64_t vocabulary_size() const override;
  Tokens encode(std::string_view text, Unseen unseen = Unseen::refuse) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;

 private:
  std::u32string characters_;
};

/// The ids are the bytes' values. decode gives any bytes back; replace_invalid_utf8 makes them fit to print.
class ByteTokenizer : public Tokenizer {
 public:
  std::string vocabulary() const override { return ""; }
  std::int64_t vocabulary_size() const override { return 256; }
  Tokens encode(std::string_view text, Unseen unseen = Unseen::refuse) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
};

/// The tokenizer called `name` ("char" or "byte"), trained on `text`. Throws as CharTokenizer::train does, or if there
/// is none of that name.
std::unique_ptr<Tokenizer> train_tokenizer(std::string_view name, std::string_view text,
                                           Unseen unseen = Unseen::refuse);

/// The tokenizer of this name that had this vocabulary(). Throws if there is none.
std::unique_ptr<Tokenizer> restore_tokenizer(std::string_view name, std::string_view vocabulary);

}  // namespace reel::data
