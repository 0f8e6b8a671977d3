#include "data/grammars.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "autograd/error.h"
#include "data/word_tokenizer.h"
#include "tests/catch.h"

using namespace reel;
using namespace reel::data;

namespace {

std::string joined_words(const std::string& text) {
  std::string line;
  for (const std::string& word : split_words(text)) line += (line.empty() ? "" : " ") + word;
  return line;
}

/// The share of `data` that a logistic regression on word counts, trained on `train`, gets right.
double word_count_accuracy(const LabelledText& train, const LabelledText& data) {
  std::map<std::string, double> weights;
  double bias = 0;
  auto score = [&](const std::vector<std::string>& words) {
    double sum = bias;
    for (const std::string& word : words) sum += weights[word];
    return sum;
  };
  for (int epoch = 0; epoch < 20; ++epoch) {
    for (std::size_t i = 0; i < train.texts.size(); ++i) {
      auto words = split_words(train.texts[i]);
      double step = 0.05 / (1 + epoch) * (train.labels[i] - 1 / (1 + std::exp(-score(words))));
      bias += step;
      for (const std::string& word : words) weights[word] += step;
    }
  }
  int right = 0;
  for (std::size_t i = 0; i < data.texts.size(); ++i) {
    right += (score(split_words(data.texts[i])) > 0) == (data.labels[i] == 1);
  }
  return right / static_cast<double>(data.texts.size());
}

}  // namespace

TEST_CASE("reviews are balanced, distinct and ready to be split at spaces") {
  ReviewCorpus data = review_corpus();
  CHECK(data.train.texts.size() == 10'000);
  CHECK(data.test.texts.size() == 1'000);
  std::set<std::string> all;
  for (const LabelledText* part : {&data.train, &data.test}) {
    CHECK(part->classes == std::vector<std::string>{"negative", "positive"});
    CHECK(2 * std::count(part->labels.begin(), part->labels.end(), 1) == std::ssize(part->texts));
    all.insert(part->texts.begin(), part->texts.end());
  }
  CHECK(all.size() == 11'000);
  for (std::size_t i = 0; i < 200; ++i) CHECK(joined_words(data.train.texts[i]) == data.train.texts[i]);
  CHECK(WordTokenizer::train(data.train.texts).vocabulary_size() < 120);
}

TEST_CASE("a review's label follows from the clause that counts") {
  // read again by hand-written rules: the clause that counts, its judgement, its negation
  const std::set<std::string> praise{"good",     "brilliant", "moving", "funny",     "clever",     "wonderful",
                                     "charming", "fresh",     "superb", "thrilling", "believable", "gripping"};
  const std::set<std::string> blame{"bad",   "dull",    "boring", "silly",    "clumsy",     "awful",
                                    "stale", "painful", "weak",   "tiresome", "ridiculous", "tedious"};
  const std::set<std::string> negations{"not", "never", "hardly", "far"};
  ReviewCorpus data = review_corpus(2'000, 1);
  for (std::size_t i = 0; i < data.train.texts.size(); ++i) {
    std::vector<bool> judgements;
    bool negated = false, last_counts = false, begun_with_although = false;
    for (const std::string& word : split_words(data.train.texts[i])) {
      if (negations.contains(word)) negated = true;
      if (word == "but" || word == "still") last_counts = true;
      if (word == "although" && judgements.empty()) begun_with_although = true;
      if (praise.contains(word) || blame.contains(word)) {
        judgements.push_back(praise.contains(word) != negated);
        negated = false;
      }
    }
    INFO(data.train.texts[i]);
    REQUIRE((judgements.size() == 1 || judgements.size() == 2));
    bool positive = last_counts || begun_with_although ? judgements.back() : judgements.front();
    CHECK(positive == (data.train.labels[i] == 1));
  }
}

TEST_CASE("counting words does not tell good reviews from bad") {
  ReviewCorpus data = review_corpus(3'000, 1'000);
  CHECK(word_count_accuracy(data.train, data.test) < 0.7);
}

TEST_CASE("sentences are distinct and ready to be split at spaces") {
  ParallelData data = sentence_corpus();
  CHECK(data.train.sources.size() == 10'000);
  CHECK(data.validation.targets.size() == 1'000);
  REQUIRE(data.tests.size() == 1);
  std::set<std::string> all;
  for (const ParallelText* part : {&data.train, &data.validation, &data.tests.at("test")}) {
    CHECK(part->sources.size() == part->targets.size());
    all.insert(part->sources.begin(), part->sources.end());
  }
  CHECK(all.size() == 12'000);
  for (std::size_t i = 0; i < 200; ++i) {
    CHECK(joined_words(data.train.sources[i]) == data.train.sources[i]);
    CHECK(joined_words(data.train.targets[i]) == data.train.targets[i]);
  }
  auto english = WordTokenizer::train(data.train.sources), german = WordTokenizer::train(data.train.targets);
  CHECK(english.vocabulary_size() < 150);
  CHECK(german.vocabulary_size() < 200);
  for (const std::string& text : data.tests.at("test").sources) CHECK_NOTHROW(english.encode(text));
  for (const std::string& text : data.tests.at("test").targets) CHECK_NOTHROW(german.encode(text));
}

TEST_CASE("the German is right") {
  ParallelData data = sentence_corpus();
  std::map<std::string, std::string> german;
  for (std::size_t i = 0; i < data.train.sources.size(); ++i) german[data.train.sources[i]] = data.train.targets[i];
  // of the default corpus, read one by one
  const std::vector<std::pair<std::string, std::string>> checked{
      {"these brothers have not drawn the strange sisters although a child wants to need a strange book .",
       "diese brüder haben die seltsamen schwestern nicht gezeichnet , obwohl ein kind ein seltsames buch brauchen "
       "will ."},
      {"she can not love a brother .", "sie kann keinen bruder lieben ."},
      {"these children can love a cat if this beautiful sister does not want to draw my dog .",
       "diese kinder können eine katze lieben , wenn diese schöne schwester meinen hund nicht zeichnen will ."},
      {"while he can not sing , this old dog does not sing .",
       "während er nicht singen kann , singt dieser alte hund nicht ."},
      {"because the sister does not wait , this new horse can see every strange house .",
       "weil die schwester nicht wartet , kann dieses neue pferd jedes seltsame haus sehen ."},
      {"although the brother has seen a green child , she sings .",
       "obwohl der bruder ein grünes kind gesehen hat , singt sie ."},
      {"although the friend wants to wait , the dogs can not see my picture .",
       "obwohl der freund warten will , können die hunde mein bild nicht sehen ."},
      {"while they want to find a flower , we can see two green sisters .",
       "während sie eine blume finden wollen , können wir zwei grüne schwestern sehen ."},
      {"the friend can see a small chair while the strange child can draw two horses .",
       "der freund kann einen kleinen stuhl sehen , während das seltsame kind zwei pferde zeichnen kann ."},
      {"sometimes two horses can buy my house .", "manchmal können zwei pferde mein haus kaufen ."},
      {"my beautiful aunts can laugh although an old aunt has drawn the brother .",
       "meine schönen tanten können lachen , obwohl eine alte tante den bruder gezeichnet hat ."},
      {"while every sister wants to love some small flowers , a beautiful child has loved this bag .",
       "während jede schwester einige kleine blumen lieben will , hat ein schönes kind diese tasche geliebt ."}};
  for (const auto& [english, translation] : checked) CHECK(german[english] == translation);
}

TEST_CASE("built-in corpora depend on the seed and the sizes alone") {
  ReviewCorpus a = review_corpus(50, 20, 3), b = review_corpus(50, 20, 3), c = review_corpus(50, 20, 4);
  CHECK(a.train.texts == b.train.texts);
  CHECK(a.test.texts == b.test.texts);
  CHECK(a.train.texts != c.train.texts);
  ParallelData d = sentence_corpus(50, 20, 20, 3), e = sentence_corpus(50, 20, 20, 3),
               f = sentence_corpus(50, 20, 20, 4);
  CHECK(d.train.targets == e.train.targets);
  CHECK(d.tests.at("test").sources == e.tests.at("test").sources);
  CHECK(d.train.sources != f.train.sources);
}

TEST_CASE("built-in corpora need sizes that they can fill") {
  CHECK_THROWS_WITH(review_corpus(0, 1), ContainsSubstring("the training part's size is 0"));
  CHECK_THROWS_WITH(review_corpus(1, -1), ContainsSubstring("the test part's size is -1"));
  CHECK_THROWS_WITH(sentence_corpus(1, 0, 1), ContainsSubstring("the validation part's size is 0"));
}
