#include "data/padding.h"

#include <algorithm>

#include "autograd/error.h"
#include "data/word_tokenizer.h"

namespace reel::data {
namespace {

std::size_t checked_row(const char* who, int64_t row, int64_t count) {
  if (row < 0 || row >= count) fail(who, ": there is no row ", row, "; the rows are 0 to ", count - 1);
  return static_cast<std::size_t>(row);
}

}  // namespace

std::vector<Tokens> encode_all(const Tokenizer& tokenizer, std::span<const std::string> texts) {
  std::vector<Tokens> sequences;
  sequences.reserve(texts.size());
  for (const std::string& text : texts) sequences.push_back(tokenizer.encode(text, Unseen::replace));
  return sequences;
}

std::vector<int64_t> lengths_of(std::span<const Tokens> sequences) {
  std::vector<int64_t> lengths;
  lengths.reserve(sequences.size());
  for (const Tokens& tokens : sequences) lengths.push_back(std::ssize(tokens));
  return lengths;
}

Tokens cut_to(Tokens tokens, int64_t length, Cut cut) {
  if (length <= 0) fail("cut_to: the length is ", length, "; need length > 0");
  int64_t surplus = std::ssize(tokens) - length;
  if (surplus <= 0) return tokens;
  auto first = cut == Cut::start ? tokens.begin() : tokens.begin() + length;
  tokens.erase(first, first + surplus);
  return tokens;
}

Tokens enclosed(std::span<const std::int32_t> tokens) {
  Tokens sentence{start_id};
  sentence.insert(sentence.end(), tokens.begin(), tokens.end());
  sentence.push_back(end_id);
  return sentence;
}

PaddedIds pad(std::span<const Tokens> sequences, std::span<const int64_t> rows) {
  int64_t longest = 1;
  for (int64_t row : rows)
    longest = std::max(longest, std::ssize(sequences[checked_row("pad", row, std::ssize(sequences))]));
  return pad(sequences, rows, longest);
}

PaddedIds pad(std::span<const Tokens> sequences, std::span<const int64_t> rows, int64_t width) {
  if (rows.empty()) fail("pad: there are no rows; need one or more");
  if (width <= 0) fail("pad: the width is ", width, "; need width > 0");
  PaddedIds batch{Ids(Shape{std::ssize(rows), width}, Tokens(rows.size() * static_cast<std::size_t>(width), pad_id)),
                  Ids::zeros({std::ssize(rows)})};
  std::int32_t* place = batch.ids.data();
  std::int32_t* length = batch.lengths.data();
  for (int64_t row : rows) {
    const Tokens& tokens = sequences[checked_row("pad", row, std::ssize(sequences))];
    if (tokens.empty()) fail("pad: sequence ", row, " has no tokens; need one or more");
    if (std::ssize(tokens) > width) {
      fail("pad: sequence ", row, " has ", tokens.size(), " tokens; need at most the width of ", width, "; use cut_to");
    }
    std::copy(tokens.begin(), tokens.end(), place);
    place += width;
    *length++ = static_cast<std::int32_t>(tokens.size());
  }
  return batch;
}

Ids pick(std::span<const std::int32_t> values, std::span<const int64_t> rows) {
  std::vector<std::int32_t> picked;
  picked.reserve(rows.size());
  for (int64_t row : rows) picked.push_back(values[checked_row("pick", row, std::ssize(values))]);
  return Ids(std::move(picked));
}

std::string decode_row(const PaddedIds& batch, int64_t row, const Tokenizer& tokenizer) {
  std::size_t at = checked_row("decode_row", row, batch.ids.size(0));
  std::size_t width = static_cast<std::size_t>(batch.ids.size(1));
  return tokenizer.decode(batch.ids.values().subspan(at * width, static_cast<std::size_t>(batch.lengths.values()[at])));
}

}  // namespace reel::data
