#include "data/sequences.h"

#include <algorithm>
#include <utility>

#include "autograd/error.h"

namespace reel::data {
namespace {

std::size_t checked_row(const char* who, int64_t row, int64_t count) {
  if (row < 0 || row >= count) fail(who, ": there is no row ", row, "; the rows are 0 to ", count - 1);
  return static_cast<std::size_t>(row);
}

}  // namespace

Tokens encode(const WordTokenizer& tokenizer, std::string_view text) {
  Tokens tokens = tokenizer.encode(text, Unseen::replace);
  if (tokens.empty()) tokens.push_back(unknown_id);
  return tokens;
}

bool all_unknown(std::span<const std::int32_t> tokens) {
  return std::ranges::all_of(tokens, [](std::int32_t id) { return id <= end_id; });
}

std::vector<int64_t> lengths_of(std::span<const Tokens> sequences) {
  std::vector<int64_t> lengths;
  lengths.reserve(sequences.size());
  for (const Tokens& tokens : sequences) lengths.push_back(std::ssize(tokens));
  return lengths;
}

CutTokens cut_to(Tokens tokens, int64_t length, Keep keep) {
  if (length <= 0) fail("cut_to: the length is ", length, "; need length > 0");
  int64_t surplus = std::ssize(tokens) - length;
  if (surplus <= 0) return {std::move(tokens)};
  auto first = keep == Keep::end ? tokens.begin() : tokens.begin() + length;
  tokens.erase(first, first + surplus);
  return {std::move(tokens), true};
}

Tokens enclosed(std::span<const std::int32_t> tokens) {
  Tokens sentence{start_id};
  sentence.insert(sentence.end(), tokens.begin(), tokens.end());
  sentence.push_back(end_id);
  return sentence;
}

PaddedIds pad(std::span<const Tokens> sequences, std::span<const int64_t> rows) {
  if (rows.empty()) fail("pad: there are no rows; need one or more");
  int64_t width = 0;
  for (int64_t row : rows) {
    const Tokens& tokens = sequences[checked_row("pad", row, std::ssize(sequences))];
    if (tokens.empty()) fail("pad: sequence ", row, " has no tokens; need one or more");
    width = std::max(width, std::ssize(tokens));
  }
  PaddedIds batch{Ids(Shape{std::ssize(rows), width}, Tokens(rows.size() * static_cast<std::size_t>(width), pad_id)),
                  Ids::zeros({std::ssize(rows)})};
  std::int32_t* place = batch.ids.data();
  std::int32_t* length = batch.lengths.data();
  for (int64_t row : rows) {
    const Tokens& tokens = sequences[static_cast<std::size_t>(row)];
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

}  // namespace reel::data
