#include "apps/training/score.h"

#include <cmath>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/random.h"
#include "tests/catch.h"

using namespace reel;
using namespace reel::apps;

TEST_CASE("hits are counted where the largest score is the target's", "[score]") {
  const Tensor scores = tensor({2, 2, 3}, {.1, .7, .2, 5, -1, 0, -3, -2, -1, 0, 0, 1});
  const Hits hits = count_hits(scores, Ids({2, 2}, {1, 0, 2, 1}));
  CHECK(hits.right == 3);
  CHECK(hits.all == 4);
  CHECK(hits.share() == 0.75);
}

TEST_CASE("hits of several batches add up", "[score]") {
  Hits hits{1, 4};
  hits += {3, 4};
  CHECK(hits.right == 4);
  CHECK(hits.share() == 0.5);
}

TEST_CASE("hits are those of argmax, which takes the first of equals", "[score]") {
  Generator generator(1);
  for (const DType dtype : {DType::f32, DType::f64}) {
    std::vector<double> values;
    for (int i = 0; i < 200 * 37; ++i) values.push_back(static_cast<double>(generator.below(9)));
    std::vector<std::int32_t> targets;
    for (int i = 0; i < 200; ++i) targets.push_back(static_cast<std::int32_t>(generator.below(37)));
    const Tensor scores = tensor({200, 37}, values, dtype);
    const Ids largest = argmax(scores, -1);
    CHECK(count_hits(scores, largest).right == 200);
    std::int64_t right = 0;
    for (std::size_t i = 0; i < 200; ++i) right += largest.values()[i] == targets[i] ? 1 : 0;
    CHECK(count_hits(scores, Ids({200}, targets)).right == right);
    CHECK(count_hits(scores.transpose(0, 1), argmax(scores, 0)).right == 37);
  }
}

TEST_CASE("what is not a number is never right", "[score]") {
  const Tensor scores = tensor({2, 2}, {NAN, NAN, 1, NAN});
  for (std::int32_t target : {0, 1}) CHECK(count_hits(scores, Ids({2}, {target, target})).right == 0);
}

TEST_CASE("a target for each place, and a logit for each target", "[score]") {
  CHECK_THROWS_WITH(count_hits(zeros({2, 3}), Ids({3}, {0, 0, 0})),
                    ContainsSubstring("logits (2, 3) need a target for every 3 of them; there are 3"));
  CHECK_THROWS_WITH(count_hits(zeros({1, 3}), Ids({1}, {3})), ContainsSubstring("the target 3 is none of 3 logits"));
  CHECK_THROWS_WITH(count_hits(zeros({1, 3}), Ids({1}, {-2})), ContainsSubstring("the target -2"));
}

TEST_CASE("a score is the mean over what all batches predict", "[score]") {
  ScoreSum sum;
  sum.add(2.5, {1, 4});
  sum.add(0.25, {12, 12});
  const Score score = sum.score();
  CHECK(score.predictions == 16);
  CHECK(score.loss == Approx((4 * 2.5 + 12 * 0.25) / 16));
  CHECK(score.accuracy == Approx(13.0 / 16));
}

TEST_CASE("a score is one line", "[score]") {
  const Score score{.loss = 1.7741, .accuracy = 0.47114, .predictions = 111539};
  CHECK(score.bits() == Approx(1.7741 / std::log(2.0)));
  CHECK(score.perplexity() == Approx(std::exp(1.7741)));
  CHECK(line_of_tokens(score) == "loss 1.7741 nats  bits 2.5595  perplexity 5.895  accuracy 0.4711  tokens 111539");
  for (const double loss : {13.0, 14.0, 700.0, 1e30}) {  // of a model that diverges
    const std::string line = line_of_tokens({.loss = loss, .accuracy = 0.5, .predictions = 7});
    CHECK_THAT(line, EndsWith("  accuracy 0.5000  tokens 7"));
    CHECK_THAT(line, ContainsSubstring(loss < 13.5   ? "perplexity 442413.392 "
                                       : loss < 15   ? "perplexity 1.203e6 "
                                       : loss < 1000 ? "perplexity 1.014e304 "
                                                     : "perplexity ∞ "));
  }
  CHECK(line_of_texts(score) == "accuracy 0.4711  loss 1.7741 nats  texts 111539");
}

TEST_CASE("texts that are cut are noted, if there are any", "[score]") {
  CHECK(note_of_cuts(2, 5) == "  2 cut at --max 5");
  CHECK(note_of_cuts(0, 5).empty());
}
