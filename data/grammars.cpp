#include "data/grammars.h"

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "autograd/error.h"

namespace reel::data {
namespace {

using Word = std::string_view;

template <class T, std::size_t n>
const T& pick(const T (&items)[n], Generator& generator) {
  return items[generator.below(static_cast<int64_t>(n))];
}

bool chance(double probability, Generator& generator) { return generator.uniform() < probability; }

/// The words that are not empty, with a space between any two.
template <class... Words>
std::string phrase(const Words&... words) {
  std::string line;
  for (Word word : {Word(words)...}) {
    if (!line.empty() && !word.empty()) line += ' ';
    line += word;
  }
  return line;
}

/// Draws until it has something whose text was not drawn before.
class Distinct {
 public:
  template <class Draw, class TextOf>
  auto operator()(Draw draw, TextOf text_of) {
    for (int attempt = 0; attempt < 1000; ++attempt) {
      auto drawn = draw();
      if (seen_.insert(std::invoke(text_of, drawn)).second) return drawn;
    }
    fail("built-in corpus: the grammar has no more than about ", seen_.size(), " texts; ask for fewer");
  }

 private:
  std::unordered_set<std::string> seen_;
};

void check_size(const char* part, int64_t size) {
  if (size <= 0) fail("built-in corpus: the ", part, " part's size is ", size, "; need size > 0");
}

// ---- Reviews --------------------------------------------------------------------------------------------------------

constexpr Word aspects[] = {"plot",    "acting", "music",  "ending",   "dialogue", "script",
                            "editing", "humour", "camera", "lighting", "cast",     "story"};
constexpr Word praise[] = {"good",     "brilliant", "moving", "funny",     "clever",     "wonderful",
                           "charming", "fresh",     "superb", "thrilling", "believable", "gripping"};
constexpr Word blame[] = {"bad",   "dull",    "boring", "silly",    "clumsy",     "awful",
                          "stale", "painful", "weak",   "tiresome", "ridiculous", "tedious"};
constexpr Word negations[] = {"not", "never", "hardly", "far from"};
constexpr Word degrees[] = {"", "", "really", "quite", "very"};
constexpr Word openings[] = {
    "", "", "", "i saw it with my sister .", "we watched it on a rainy sunday .", "a friend gave me the tickets ."};
constexpr Word closings[] = {"", "", "", "it runs for two hours .", "the seats were blue .", "we went home by train ."};

std::string appraisal(Word aspect, bool positive, Generator& generator) {
  // somewhat fewer than half: what is plainly said is a hint to whoever counts words, but a weak one
  bool negated = chance(0.4, generator);
  Word judgement = positive != negated ? pick(praise, generator) : pick(blame, generator);
  return phrase("the", aspect, "was", negated ? pick(negations, generator) : pick(degrees, generator), judgement);
}

std::string review(bool positive, Generator& generator) {
  int64_t count = std::ssize(aspects);
  int64_t first = generator.below(count), second = (first + 1 + generator.below(count - 1)) % count;  // another one
  std::string main = appraisal(aspects[first], positive, generator);
  std::string contrary = appraisal(aspects[second], !positive, generator);
  Word opening = pick(openings, generator);
  Word closing = pick(closings, generator);
  auto framed = [&](const auto&... words) { return phrase(opening, words..., ".", closing); };
  switch (generator.below(7)) {
    case 0:
      return framed(main);
    case 1:
      return framed(main, "and", appraisal(aspects[second], positive, generator));
    case 2:
      return framed(contrary, "but", main);
    case 3:
      return framed("although", contrary, ",", main);
    case 4:
      return framed(main, "although", contrary);
    case 5:
      return framed(main, ", even if", contrary);
    default:
      return framed(contrary, ". still ,", main);
  }
}

LabelledText reviews(int64_t size, Distinct& distinct, Generator& generator) {
  LabelledText data{{}, {}, {"negative", "positive"}};
  for (int64_t i = 0; i < size; ++i) {
    bool positive = i % 2 == 1;
    data.texts.push_back(distinct([&] { return review(positive, generator); }, std::identity()));
    data.labels.push_back(positive);
  }
  return data;
}

// ---- Sentences ------------------------------------------------------------------------------------------------------

/// A German noun's gender, and the plural, in which genders do not differ.
enum Form : std::size_t { masculine, feminine, neuter, plural };
enum Case : std::size_t { nominative, accusative };

struct Noun {
  Form gender;
  Word english, english_plural, german, german_plural;
};
constexpr Noun beings[] = {
    {masculine, "brother", "brothers", "bruder", "brüder"}, {masculine, "dog", "dogs", "hund", "hunde"},
    {masculine, "friend", "friends", "freund", "freunde"},  {feminine, "aunt", "aunts", "tante", "tanten"},
    {feminine, "cat", "cats", "katze", "katzen"},           {feminine, "sister", "sisters", "schwester", "schwestern"},
    {neuter, "child", "children", "kind", "kinder"},        {neuter, "horse", "horses", "pferd", "pferde"}};
constexpr Noun things[] = {
    {masculine, "letter", "letters", "brief", "briefe"}, {masculine, "apple", "apples", "apfel", "äpfel"},
    {masculine, "chair", "chairs", "stuhl", "stühle"},   {feminine, "flower", "flowers", "blume", "blumen"},
    {feminine, "bag", "bags", "tasche", "taschen"},      {neuter, "book", "books", "buch", "bücher"},
    {neuter, "house", "houses", "haus", "häuser"},       {neuter, "picture", "pictures", "bild", "bilder"}};

struct Adjective {
  Word english, german;
};
constexpr Adjective adjectives[] = {{"old", "alt"},         {"small", "klein"},     {"big", "groß"},  {"new", "neu"},
                                    {"strange", "seltsam"}, {"beautiful", "schön"}, {"green", "grün"}};

using Forms = std::array<std::array<Word, 4>, 2>;  // by case and form

// The adjective shows gender and case where the determiner does not: der alte mann, ein alter mann.
constexpr Forms weak{{{"e", "e", "e", "en"}, {"en", "e", "e", "en"}}};
constexpr Forms mixed{{{"er", "e", "es", "en"}, {"en", "e", "es", "en"}}};
constexpr Forms mixed_but_strong_plural{{{"er", "e", "es", "e"}, {"en", "e", "es", "e"}}};
constexpr Forms weak_but_strong_plural{{{"e", "e", "e", "e"}, {"en", "e", "e", "e"}}};

enum class Negation { nicht, kein, none };  // none: it would need another word order in one of the languages

struct Determiner {
  Word english, english_plural;
  Forms german;
  const Forms& adjective_endings;
  Negation negation, plural_negation;
};
constexpr Determiner determiners[] = {
    {"the",
     "the",
     {{{"der", "die", "das", "die"}, {"den", "die", "das", "die"}}},
     weak,
     Negation::nicht,
     Negation::nicht},
    {"a",
     "some",
     {{{"ein", "eine", "ein", "einige"}, {"einen", "eine", "ein", "einige"}}},
     mixed_but_strong_plural,
     Negation::kein,
     Negation::none},
    {"this",
     "these",
     {{{"dieser", "diese", "dieses", "diese"}, {"diesen", "diese", "dieses", "diese"}}},
     weak,
     Negation::nicht,
     Negation::nicht},
    {"my",
     "my",
     {{{"mein", "meine", "mein", "meine"}, {"meinen", "meine", "mein", "meine"}}},
     mixed,
     Negation::nicht,
     Negation::nicht},
    {"every",
     "two",
     {{{"jeder", "jede", "jedes", "zwei"}, {"jeden", "jede", "jedes", "zwei"}}},
     weak_but_strong_plural,
     Negation::none,
     Negation::none}};

struct Verb {
  Word english, english_singular, english_participle;
  Word german, german_singular, german_participle;  // the infinitive is the plural's form
};
constexpr Verb transitive[] = {{"see", "sees", "seen", "sehen", "sieht", "gesehen"},
                               {"find", "finds", "found", "finden", "findet", "gefunden"},
                               {"love", "loves", "loved", "lieben", "liebt", "geliebt"},
                               {"draw", "draws", "drawn", "zeichnen", "zeichnet", "gezeichnet"}};
constexpr Verb transitive_for_things[] = {{"buy", "buys", "bought", "kaufen", "kauft", "gekauft"},
                                          {"need", "needs", "needed", "brauchen", "braucht", "gebraucht"},
                                          {"carry", "carries", "carried", "tragen", "trägt", "getragen"}};
constexpr Verb intransitive[] = {{"sleep", "sleeps", "slept", "schlafen", "schläft", "geschlafen"},
                                 {"laugh", "laughs", "laughed", "lachen", "lacht", "gelacht"},
                                 {"sing", "sings", "sung", "singen", "singt", "gesungen"},
                                 {"wait", "waits", "waited", "warten", "wartet", "gewartet"}};

struct Pronoun {
  Word english, german;
  bool plural;
};
constexpr Pronoun pronouns[] = {{"he", "er", false}, {"she", "sie", false}, {"we", "wir", true}, {"they", "sie", true}};

struct Fixed {
  Word english, german;
};
constexpr Fixed adverbs[] = {
    {"today", "heute"}, {"now", "jetzt"}, {"often", "oft"}, {"sometimes", "manchmal"}, {"here", "hier"}};
constexpr Fixed conjunctions[] = {{"because", "weil"}, {"although", "obwohl"}, {"while", "während"}, {"if", "wenn"}};

struct NounPhrase {
  std::string english, german;
  std::string negated;  // the German of "not" and the phrase; empty where the grammar does not say it
  bool is_plural;
};

template <std::size_t n>
NounPhrase noun_phrase(const Noun (&nouns)[n], Case role, Generator& generator) {
  const Determiner& determiner = pick(determiners, generator);
  const Noun& noun = pick(nouns, generator);
  Adjective adjective = chance(0.4, generator) ? pick(adjectives, generator) : Adjective{};
  bool is_plural = chance(0.35, generator);
  Form form = is_plural ? plural : noun.gender;

  std::string ending = adjective.german.empty() ? "" : std::string(determiner.adjective_endings[role][form]);
  std::string german_rest =
      phrase(std::string(adjective.german) + ending, is_plural ? noun.german_plural : noun.german);
  Word article = determiner.german[role][form];
  std::string english_rest = phrase(adjective.english, is_plural ? noun.english_plural : noun.english);
  Word english_article = is_plural ? determiner.english_plural : determiner.english;
  if (english_article == "a" && Word("aeiou").find(english_rest[0]) != Word::npos) english_article = "an";
  NounPhrase result{phrase(english_article, english_rest), phrase(article, german_rest), "", is_plural};
  switch (is_plural ? determiner.plural_negation : determiner.negation) {
    case Negation::nicht:
      result.negated = phrase(result.german, "nicht");
      break;
    case Negation::kein:
      result.negated = phrase("k" + std::string(article), german_rest);
      break;
    case Negation::none:
      break;
  }
  return result;
}

NounPhrase subject(Generator& generator) {
  if (chance(0.7, generator)) return noun_phrase(beings, nominative, generator);
  const Pronoun& pronoun = pick(pronouns, generator);
  return {std::string(pronoun.english), std::string(pronoun.german), "", pronoun.plural};
}

/// The parts of a German clause, whose order is not yet fixed.
struct Clause {
  std::string english;
  std::string subject;
  Word finite;         // the verb that agrees with the subject
  std::string middle;  // object and negation
  Word nonfinite;      // infinitive or participle; empty if the finite verb is the only one

  std::string verb_second() const { return phrase(subject, finite, middle, nonfinite); }
  std::string verb_second_after(Word first) const { return phrase(first, finite, subject, middle, nonfinite); }
  std::string verb_last() const { return phrase(subject, middle, nonfinite, finite); }
};

Clause clause(Generator& generator) {
  NounPhrase who = subject(generator);
  NounPhrase what{"", "", "nicht", false};
  const Verb* verb = &pick(intransitive, generator);
  if (chance(0.75, generator)) {
    bool is_thing = chance(0.6, generator);
    what = is_thing ? noun_phrase(things, accusative, generator) : noun_phrase(beings, accusative, generator);
    verb = is_thing && chance(0.4, generator) ? &pick(transitive_for_things, generator) : &pick(transitive, generator);
  }
  bool negated = !what.negated.empty() && chance(0.3, generator);

  Clause result{"", who.german, "", negated ? what.negated : what.german, ""};
  Word negation = negated ? "not" : "";
  Word does = !negated ? "" : who.is_plural ? "do" : "does";
  auto agree = [&](Word singular, Word plural_form) { return who.is_plural ? plural_form : singular; };
  std::string english_verb;
  switch (generator.below(4)) {
    case 0:
      english_verb = phrase(does, negation, negated ? verb->english : agree(verb->english_singular, verb->english));
      result.finite = agree(verb->german_singular, verb->german);
      break;
    case 1:
      english_verb = phrase("can", negation, verb->english);
      result.finite = agree("kann", "können");
      result.nonfinite = verb->german;
      break;
    case 2:
      english_verb = phrase(does, negation, negated ? "want" : agree("wants", "want"), "to", verb->english);
      result.finite = agree("will", "wollen");
      result.nonfinite = verb->german;
      break;
    default:
      english_verb = phrase(agree("has", "have"), negation, verb->english_participle);
      result.finite = agree("hat", "haben");
      result.nonfinite = verb->german_participle;
  }
  result.english = phrase(who.english, english_verb, what.english);
  return result;
}

struct SentencePair {
  std::string english, german;
};

SentencePair sentence(Generator& generator) {
  Clause main = clause(generator);
  switch (generator.below(4)) {
    case 0:
      return {phrase(main.english, "."), phrase(main.verb_second(), ".")};
    case 1: {
      const Fixed& adverb = pick(adverbs, generator);
      return {phrase(adverb.english, main.english, "."), phrase(main.verb_second_after(adverb.german), ".")};
    }
    case 2: {
      const Fixed& conjunction = pick(conjunctions, generator);
      Clause side = clause(generator);
      return {phrase(main.english, conjunction.english, side.english, "."),
              phrase(main.verb_second(), ",", conjunction.german, side.verb_last(), ".")};
    }
    default: {
      const Fixed& conjunction = pick(conjunctions, generator);
      Clause side = clause(generator);
      return {phrase(conjunction.english, side.english, ",", main.english, "."),
              phrase(main.verb_second_after(phrase(conjunction.german, side.verb_last(), ",")), ".")};
    }
  }
}

ParallelText sentences(int64_t size, Distinct& distinct, Generator& generator) {
  ParallelText text;
  for (int64_t i = 0; i < size; ++i) {
    SentencePair pair = distinct([&] { return sentence(generator); }, &SentencePair::english);
    text.sources.push_back(std::move(pair.english));
    text.targets.push_back(std::move(pair.german));
  }
  return text;
}

}  // namespace

ReviewCorpus review_corpus(int64_t train_size, int64_t test_size, std::uint64_t seed) {
  check_size("training", train_size);
  check_size("test", test_size);
  Generator generator(seed);
  Distinct distinct;
  LabelledText train = reviews(train_size, distinct, generator);
  return {std::move(train), reviews(test_size, distinct, generator)};
}

ParallelData sentence_corpus(int64_t train_size, int64_t validation_size, int64_t test_size, std::uint64_t seed) {
  check_size("training", train_size);
  check_size("validation", validation_size);
  check_size("test", test_size);
  Generator generator(seed);
  Distinct distinct;
  ParallelText train = sentences(train_size, distinct, generator);
  ParallelText validation = sentences(validation_size, distinct, generator);
  return {std::move(train), std::move(validation), {{"test", sentences(test_size, distinct, generator)}}};
}

}  // namespace reel::data
