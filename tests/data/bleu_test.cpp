#include "data/bleu.h"

#include <vector>

#include "autograd/error.h"
#include "tests/catch.h"

using namespace reel::data;
using Lines = std::vector<std::string>;

namespace {

struct Golden {
  std::string name;
  Lines hypotheses, references;
  double score, brevity_penalty;
  std::array<double, 4> precisions;
};

// From sacreBLEU 2.6.0: sacrebleu.corpus_bleu(hypotheses, [references], tokenize="none")
const std::vector<Golden> golden{
    {"a perfect match",
     {"the cat sat on the mat .", "a b c d e"},
     {"the cat sat on the mat .", "a b c d e"},
     100.0000,
     1.0000,
     {100.0000, 100.0000, 100.0000, 100.0000}},
    {"clipping",
     {"the the the the the the the"},
     {"the cat is on the mat"},
     7.8098,
     1.0000,
     {28.5714, 8.3333, 5.0000, 3.1250}},
    {"several sentences",
     {"a man in a blue shirt is standing on a ladder cleaning a window .", "two dogs are playing in the snow",
      "a girl in red jumps over a fence ."},
     {"a man in a blue shirt is standing on a ladder cleaning the window .", "two dogs play in the snow .",
      "a little girl in a red dress is jumping over a fence ."},
     53.7349,
     0.8789,
     {87.0968, 67.8571, 52.0000, 45.4545}},
    {"short hypothesis",
     {"a man is standing"},
     {"a man is standing on a ladder cleaning a window ."},
     17.3774,
     0.1738,
     {100.0000, 100.0000, 100.0000, 100.0000}},
    {"longer than its reference",
     {"a man is standing on a ladder and on a roof and on a car"},
     {"a man is standing on a ladder ."},
     40.0160,
     1.0000,
     {46.6667, 42.8571, 38.4615, 33.3333}},
    {"no 4-grams match",
     {"the small dog runs home fast", "we saw it here"},
     {"the small dog walks slowly home", "we can see it from here"},
     20.1183,
     0.8187,
     {70.0000, 25.0000, 16.6667, 12.5000}},
    {"no 2-grams match",
     {"dog the home runs", "x y z w"},
     {"the dog runs home", "w z y x"},
     13.4321,
     1.0000,
     {100.0000, 8.3333, 6.2500, 6.2500}},
    {"no token matches", {"a b c d e"}, {"v w x y z"}, 0.0000, 1.0000, {0.0000, 0.0000, 0.0000, 0.0000}},
    {"an empty hypothesis line",
     {"", "two dogs are playing in the snow ."},
     {"a man sleeps .", "two dogs are playing in the deep snow ."},
     40.9585,
     0.5353,
     {100.0000, 85.7143, 66.6667, 60.0000}},
    {"only empty hypotheses", {"", ""}, {"a b", "c"}, 0.0000, 0.0000, {0.0000, 0.0000, 0.0000, 0.0000}},
    {"an empty reference line",
     {"a b c d e f", "g h"},
     {"a b c d e g", ""},
     67.5600,
     1.0000,
     {62.5000, 66.6667, 75.0000, 66.6667}},
    {"too short for 4-grams", {"a b c"}, {"a b c"}, 0.0000, 1.0000, {100.0000, 100.0000, 100.0000, 0.0000}},
    {"white space of all kinds",
     {"  ein\tmann \u00a0 steht\u3000auf der\u2003leiter ", "ein hund\u0085läuft über gras ."},
     {"ein mann steht auf einer leiter", "ein hund läuft über das gras ."},
     52.6136,
     0.9200,
     {91.6667, 70.0000, 50.0000, 33.3333}},
    {"case and punctuation count",
     {"Ein Mann, der singt.", "Das ist gut ! ja ja ja"},
     {"ein Mann , der singt .", "Das ist gut ! ja ja nein"},
     49.1953,
     0.8338,
     {63.6364, 55.5556, 57.1429, 60.0000}},
};

}  // namespace

TEST_CASE("BLEU is sacreBLEU's without tokenization") {
  for (const Golden& expected : golden) {
    INFO(expected.name);
    Bleu bleu = corpus_bleu(expected.hypotheses, expected.references);
    CHECK(bleu.score == Approx(expected.score).margin(1e-4));
    CHECK(bleu.brevity_penalty == Approx(expected.brevity_penalty).margin(1e-4));
    for (std::size_t n = 0; n < 4; ++n) CHECK(bleu.precisions[n] == Approx(expected.precisions[n]).margin(1e-4));
  }
}

TEST_CASE("BLEU counts tokens over the corpus") {
  Bleu bleu = corpus_bleu(Lines{"a b  c", "", "d"}, Lines{"a b", "x", "d e f g"});
  CHECK(bleu.hypothesis_length == 4);
  CHECK(bleu.reference_length == 7);
}

TEST_CASE("BLEU of a corpus does not depend on the order of its sentences") {
  Lines hypotheses{"a man is here", "two dogs run in the snow", "c"},
      references{"a man was here", "two dogs run", "c d"};
  Bleu bleu = corpus_bleu(hypotheses, references);
  std::swap(hypotheses[0], hypotheses[2]);
  std::swap(references[0], references[2]);
  CHECK(corpus_bleu(hypotheses, references).score == bleu.score);
}

TEST_CASE("BLEU needs a reference for every hypothesis") {
  CHECK_THROWS_WITH(corpus_bleu(Lines{"a"}, Lines{"a", "b"}), ContainsSubstring("1 hypotheses and 2 references"));
  CHECK_THROWS_WITH(corpus_bleu(Lines{}, Lines{}), ContainsSubstring("one at least"));
  CHECK_THROWS_WITH(corpus_bleu(Lines{"\xFF"}, Lines{"a"}), ContainsSubstring("not UTF-8"));
}
