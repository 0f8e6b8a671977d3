#include "nn/reader.h"

#include <numeric>

#include "tests/nn/parameters.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

using Tokens = std::vector<std::int32_t>;

/// Notes what it is shown.
class Noting : public Reader {
 public:
  explicit Noting(int64_t context) : Reader(context) {}

  Tokens window;
  std::size_t known = 0;

 private:
  Tensor next(std::span<const std::int32_t> all, std::size_t seen) override {
    known = seen;
    const Tokens before = std::exchange(window, Tokens(all.begin(), all.end()));
    CHECK(seen <= before.size());
    CHECK(std::equal(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(seen), before.begin()));
    return zeros({1});
  }
};

/// The tokens 0 .. length - 1 from the first multiple of half the context on from which they fit in.
Tokens window_of(int64_t length, int64_t context) {
  int64_t start = 0;
  while (length - start > context) start += (context + 1) / 2;
  Tokens window(static_cast<std::size_t>(length - start));
  std::iota(window.begin(), window.end(), static_cast<std::int32_t>(start));
  return window;
}

}  // namespace

TEST_CASE("reader: the window moves on by half, whether a text is read at once or in pieces") {
  Tokens text(100);
  std::iota(text.begin(), text.end(), 0);
  Generator generator(1);
  for (int64_t context : {1, 2, 3, 4, 7, 8, 33}) {
    CAPTURE(context);
    for (int64_t longest_piece : {1, 3, 20, 100}) {
      Noting reader(context);
      for (int64_t length = 0; length < 100;) {
        const int64_t piece = std::min(100 - length, 1 + generator.below(longest_piece));
        const std::size_t before = reader.window.size();
        const std::int32_t start = before == 0 ? 0 : reader.window[0];
        reader.read(std::span(text).subspan(static_cast<std::size_t>(length), static_cast<std::size_t>(piece)));
        length += piece;
        CHECK(reader.window == window_of(length, context));
        CHECK(reader.known == (reader.window[0] == start ? before : 0));
      }
    }
  }
}

TEST_CASE("reader: nothing comes after nothing, nor without looking back") {
  CHECK_THROWS_WITH(Noting(0), ContainsSubstring("the context is 0; need at least 1"));
  Noting reader(4);
  CHECK_THROWS_WITH(reader.read({}), ContainsSubstring("need at least one token"));
  reader.read(Tokens{1});
  CHECK_THROWS_AS(reader.read({}), Error);
  CHECK(reader.window == Tokens{1});
}
