#include "apps/common/options.h"

#include <cmath>
#include <random>
#include <sstream>

#include "apps/common/terminal.h"
#include "tests/catch.h"

using namespace reel::apps;

namespace {

struct Config {
  std::int64_t batch_size = 32;
  double learning_rate = 1e-4;
  double dropout = 0;
  bool final_run = false;
  bool shuffle = true;
  std::string optimizer = "adam";
  std::string folder;
  std::vector<std::string> texts;
};

/// Every kind of option, bound to `config`.
struct Example {
  Config config;
  Options options;

  Example() {
    options.section("Training");
    options.add(&config.batch_size, "b,batch-size", "N", "examples in a step", at_least(1).and_at_most(4096));
    options.add(&config.learning_rate, "l,learn-rate", "RATE", "the highest rate of the schedule", more_than(0));
    options.add(&config.dropout, "dropout", "P", "share of values dropped", at_least(0).and_less_than(1));
    options.add_choice(&config.optimizer, "optimizer", {"adam", "adamw", "sgd"}, "how the gradient becomes a step");
    options.section("Files");
    options.add(&config.folder, "T,tb_dir", "DIR", "where TensorBoard's files go");
    options.add_flag(&config.final_run, "f,final", "score the test set once");
    options.add_flag(&config.shuffle, "s,shuffle", "draw examples in random order");
  }
  Example(const Example&) = delete;

  void parse(const std::vector<std::string>& arguments) { options.parse(arguments); }
};

std::string error_of(const std::vector<std::string>& arguments) {
  Example example;
  try {
    example.parse(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("options can be written in each of their ways", "[options]") {
  for (std::vector<std::string> arguments : std::vector<std::vector<std::string>>{{"--batch-size", "12"},
                                                                                  {"--batch-size=12"},
                                                                                  {"--batch_size", "12"},
                                                                                  {"--batch_size=12"},
                                                                                  {"-b", "12"},
                                                                                  {"-b12"},
                                                                                  {"-b=12"},
                                                                                  {"-fb12"},
                                                                                  {"-b", "7", "--batch-size", "12"}}) {
    Example example;
    example.parse(arguments);
    CHECK(example.config.batch_size == 12);
    CHECK(example.options.given("batch-size"));
    CHECK_FALSE(example.options.given("learn-rate"));
  }
  for (const char* name : {"--tb_dir", "--tb-dir", "-T"}) {
    Example example;
    example.parse({name, "runs/a_b"});
    CHECK(example.config.folder == "runs/a_b");
  }
}

TEST_CASE("options without arguments keep their defaults", "[options]") {
  Example example;
  example.parse({});
  CHECK(example.config.batch_size == 32);
  CHECK(example.config.learning_rate == 1e-4);
  CHECK(example.config.shuffle);
  CHECK_FALSE(example.options.help_wanted());
}

TEST_CASE("flags", "[options]") {
  Example example;
  example.parse({"-f", "--no-shuffle"});
  CHECK(example.config.final_run);
  CHECK_FALSE(example.config.shuffle);
  CHECK(example.options.given("shuffle"));
  CHECK(error_of({"--final=yes"}) == "--final takes no value");
  CHECK_THAT(error_of({"--no-batch-size"}), ContainsSubstring("unknown option"));
}

TEST_CASE("values that look like options", "[options]") {
  Example example;
  example.parse({"--tb_dir=--final", "-T", "-"});
  CHECK(example.config.folder == "-");
  CHECK_FALSE(example.config.final_run);
  example.parse({"--tb_dir", "-1 is no option"});
  CHECK(example.config.folder == "-1 is no option");
  example.parse({"--tb_dir=a=b"});
  CHECK(example.config.folder == "a=b");
  example.parse({"--tb_dir=--"});
  CHECK(example.config.folder == "--");
  example.parse({"--tb_dir=--bogus"});
  CHECK(example.config.folder == "--bogus");
}

TEST_CASE("arguments that are no options", "[options]") {
  CHECK(error_of({"text.txt"}) == "unexpected argument \"text.txt\"; options begin with -");
  CHECK_THAT(error_of({"--", "--final"}), ContainsSubstring("unexpected argument"));

  Example example;
  example.options.add_arguments(&example.config.texts, "TEXT", "what to label");
  example.parse({"one", "-f", "two", "-", "--", "--final", "-b"});
  CHECK(example.config.texts == std::vector<std::string>{"one", "two", "-", "--final", "-b"});
}

TEST_CASE("mistakes are named, on one line", "[options]") {
  CHECK(error_of({"--bach-size", "3"}) == "unknown option \"--bach-size\"; did you mean --batch-size?");
  CHECK(error_of({"--frobnicate"}) == "unknown option \"--frobnicate\"; -h lists the options");
  CHECK(error_of({"-x"}) == "unknown option \"-x\"; -h lists the options");
  CHECK(error_of({"--batch-size"}) == "--batch-size: the value N is missing");
  CHECK(error_of({"-b"}) == "--batch-size: the value N is missing");
  CHECK_THAT(error_of({"-T", "--final"}),
             ContainsSubstring("--tb-dir: the value DIR is missing; \"--final\" after it"));
  for (const char* option : {"--no-final", "--no_final", "--no-shuffle", "--tb_dir=x", "--help", "-h"}) {
    CAPTURE(option);
    CHECK_THAT(error_of({"-T", option}),
               ContainsSubstring(std::string("is missing; \"") + option + "\" after it is an option"));
  }
  CHECK_THAT(error_of({"-T", "--"}), ContainsSubstring("is missing; \"--\" after it ends the options"));
  for (const char* word : {"--bogus", "--no-batch-size", "--bogus=3", "---"}) {  // none of which there is
    CAPTURE(word);
    CHECK_THAT(error_of({"--tb_dir", word}), ContainsSubstring(std::string("--tb-dir: the value DIR is missing; \"") +
                                                               word + "\" after it begins like an option"));
  }
  CHECK(error_of({"-b", "12x"}) == "--batch-size: \"12x\" is not a whole number");
  CHECK(error_of({"-b", "1e3"}) == "--batch-size: \"1e3\" is not a whole number");
  CHECK(error_of({"--batch-size="}) == "--batch-size: \"\" is not a whole number");
  CHECK(error_of({"-b", "0"}) == "--batch-size: 0 is out of range; need from 1 to 4096");
  CHECK(error_of({"-b", "-3"}) == "--batch-size: -3 is out of range; need from 1 to 4096");
  CHECK(error_of({"-l", "0"}) == "--learn-rate: 0 is out of range; need more than 0");
  CHECK(error_of({"--dropout", "1"}) == "--dropout: 1 is out of range; need at least 0 and less than 1");
  CHECK(error_of({"--tb_dir="}) == "--tb-dir: the value DIR is empty");
  CHECK(error_of({"--tb-dir", ""}) == "--tb-dir: the value DIR is empty");
  CHECK(error_of({"--optimizer", "Adam"}) == "--optimizer: \"Adam\" is none of adam, adamw, sgd");
  CHECK(error_of({"--a\nb\x1b"}) == "unknown option \"--a?b?\"; -h lists the options");
}

TEST_CASE("a mistaken value leaves the variable as it was", "[options]") {
  Example example;
  CHECK_THROWS_AS(example.parse({"-b", "5000"}), UsageError);
  CHECK(example.config.batch_size == 32);
}

TEST_CASE("numbers are read strictly", "[options]") {
  for (const char* good : {"1e-3", "0.001", ".001", "1E-3", "0.1e-2"}) {
    Example example;
    example.parse({"-l", good});
    CHECK(example.config.learning_rate == 1e-3);
  }
  for (const char* bad :
       {"nan", "inf", "-inf", "NaN", "infinity", "1e", "1e-3 ", " 1", "+1", "0x1", "1,5", "1.5.2", "one"}) {
    CHECK_THAT(error_of({"-l", bad}), ContainsSubstring("is not a number"));
  }
  CHECK_THAT(error_of({"-l", "1e999"}), ContainsSubstring("too large or too small"));
  CHECK_THAT(error_of({"-b", "9223372036854775808"}), ContainsSubstring("too large or too small"));
  CHECK_THAT(error_of({"-b", "9223372036854775808x"}), ContainsSubstring("is not a whole number"));
}

TEST_CASE("ranges in words", "[options]") {
  CHECK(Range{}.words().empty());
  CHECK(at_least(1).words() == "at least 1");
  CHECK(more_than(0).words() == "more than 0");
  CHECK(at_least(0).and_at_most(1).words() == "from 0 to 1");
  CHECK(more_than(0).and_less_than(1).words() == "more than 0 and less than 1");
  CHECK(Range{}.and_at_most(3).words() == "at most 3");
  CHECK(at_least(1).contains(1));
  CHECK_FALSE(more_than(1).contains(1));
  CHECK_FALSE(at_least(0).and_less_than(1).contains(1));
}

TEST_CASE("a configuration goes into a checkpoint and comes back", "[options]") {
  Example saved;
  saved.parse({"-b", "7", "-l", "0.1", "--no-shuffle", "-f", "--optimizer", "sgd", "-T", "a dir"});
  auto values = saved.options.values();
  CHECK(values.front() == std::pair<std::string, std::string>("batch-size", "7"));
  CHECK(values.size() == 7);

  Example resumed;
  resumed.parse({"--no-final", "-b", "9"});
  resumed.options.restore(values);
  CHECK(resumed.config.batch_size == 9);  // the command line has the last word
  CHECK_FALSE(resumed.config.final_run);
  CHECK(resumed.config.learning_rate == 0.1);
  CHECK_FALSE(resumed.config.shuffle);
  CHECK(resumed.config.optimizer == "sgd");
  CHECK(resumed.config.folder == "a dir");
  CHECK_FALSE(resumed.options.given("optimizer"));
}

namespace {

/// Options of which some mean something only for a model, and all of a section only for one that learns.
struct ModelOptions {
  std::string model = "deep";
  std::int64_t depth = 2, order = 3, steps = 100;
  bool norm = true;
  Options options;

  ModelOptions() {
    options.add_choice(&model, "model", {"deep", "flat", "counting"}, "which");
    options.add(&depth, "d,depth", "N", "blocks", at_least(1)).only_for("model", {"deep"});
    options.add(&order, "order", "N", "tokens").only_for("model", {"counting"});
    options.section("Learning", Options::Condition{"model", {"deep", "flat"}});
    options.add(&steps, "N,steps", "N", "steps");
    options.add_flag(&norm, "norm", "norms").only_for("model", {"deep"});
  }
  ModelOptions(const ModelOptions&) = delete;

  std::string error() const {
    try {
      options.refuse_idle();
    } catch (const UsageError& error) {
      return error.what();
    }
    return "no error";
  }
  std::string error_of(const std::vector<std::string>& arguments) {
    options.parse(arguments);
    return error();
  }
};

}  // namespace

TEST_CASE("options that mean nothing beside the others are not in use", "[options]") {
  auto in_use = [](const std::vector<std::string>& arguments) {
    ModelOptions model;
    model.options.parse(arguments);
    return model.options.values_in_use();
  };
  CHECK(in_use({}) == StringPairs{{"model", "deep"}, {"depth", "2"}, {"steps", "100"}, {"norm", "true"}});
  CHECK(in_use({"--model", "flat"}) == StringPairs{{"model", "flat"}, {"steps", "100"}});
  CHECK(in_use({"--model", "counting"}) == StringPairs{{"model", "counting"}, {"order", "3"}});
}

TEST_CASE("an option that means nothing beside the others is refused", "[options]") {
  auto error_of = [](const std::vector<std::string>& arguments) { return ModelOptions().error_of(arguments); };
  CHECK(error_of({}) == "no error");
  CHECK(error_of({"-d", "3", "-N", "7", "--no-norm"}) == "no error");
  CHECK(error_of({"--model", "counting", "--order", "4"}) == "no error");
  CHECK(error_of({"--model", "flat", "-d", "2", "-N", "7"}) == "no error");  // the default is as good as none
  CHECK(error_of({"--model", "flat", "-d", "3"}) == "--depth: only for --model deep, not flat; leave it out");
  CHECK(error_of({"--model", "flat", "--no-norm"}) == "--norm: only for --model deep, not flat; leave it out");
  CHECK(error_of({"--order", "4"}) == "--order: only for --model counting, not deep; leave it out");
  CHECK(error_of({"-N", "7", "--model", "counting"}) ==
        "--steps: only for --model deep or flat, not counting; leave it out");
}

TEST_CASE("an option can only depend on a choice and its values", "[options]") {
  Options options;
  CHECK_THROWS_WITH(options.only_for("model", {"deep"}), ContainsSubstring("none yet that could depend on --model"));
  std::int64_t depth = 1;
  options.add(&depth, "d,depth", "N", "").only_for("model", {"deep"});
  CHECK_THROWS_WITH(options.refuse_idle(), ContainsSubstring("there is no --model for --depth to depend on"));
  std::string model = "deep";
  options.add_choice(&model, "model", {"deep", "flat"}, "");
  CHECK_NOTHROW(options.refuse_idle());
  options.add(&depth, "order", "N", "").only_for("model", {"deep", "sleep"});
  CHECK_THROWS_WITH(options.refuse_idle(), ContainsSubstring("--model is never sleep, on which --order depends"));
}

TEST_CASE("a kept option that means nothing any longer can be set back", "[options]") {
  ModelOptions saved;
  saved.options.parse(std::vector<std::string>{"-d", "3", "--no-norm"});
  ModelOptions changed;
  changed.options.parse(std::vector<std::string>{"--model", "flat"});
  changed.options.restore(saved.options.values());
  CHECK(changed.error() == "--depth: only for --model deep, not flat; set it back with --depth 2");
  changed.options.parse(std::vector<std::string>{"--depth", "2"});
  CHECK(changed.error() == "--norm: only for --model deep, not flat; set it back with --norm");
  changed.options.parse(std::vector<std::string>{"--norm"});
  CHECK(changed.error() == "no error");
}

TEST_CASE("other defaults are for options that mean something and were not given", "[options]") {
  const reel::apps::StringPairs defaults{{"depth", "5"}, {"steps", "9"}};
  ModelOptions deep;
  deep.options.parse(std::vector<std::string>{"-N", "7"});
  deep.options.set_defaults(defaults);
  CHECK(deep.depth == 5);
  CHECK(deep.steps == 7);
  ModelOptions flat;
  flat.options.parse(std::vector<std::string>{"--model", "flat"});
  flat.options.set_defaults(defaults);
  CHECK(flat.depth == 2);
  CHECK(flat.steps == 9);
  CHECK(flat.error() == "no error");
  CHECK_THROWS_AS(flat.options.set_defaults({{"colour", "red"}}), reel::Error);
  CHECK(Options::as_arguments(defaults) == "--depth 5 --steps 9");
}

TEST_CASE("the help page says what options depend on", "[options]") {
  CHECK(ModelOptions().options.help("learn", "Learn.", 80) == R"(usage: learn [options]

Learn.
      --model deep|flat|counting
                 which [default deep]
  -d, --depth N  blocks [for --model deep; default 2; at least 1]
      --order N  tokens [for --model counting; default 3]

Learning (for --model deep or flat):
  -N, --steps N  steps [default 100]
      --norm     norms [for --model deep; on unless --no-norm]

  -h, --help     show this page
)");
}

TEST_CASE("an option is fixed as its section is, or as it says itself", "[options]") {
  std::int64_t depth = 2, batch_size = 4, steps = 100, seed = 1;
  Options options;
  CHECK_THROWS_WITH(options.fixed(Fixed::in_run), ContainsSubstring("none yet that could be fixed"));
  options.add(&seed, "r,seed", "N", "");
  options.section("Model", Fixed::with_weights);
  options.add(&depth, "d,depth", "N", "");
  options.section("Training");
  options.add(&steps, "N,steps", "N", "");
  options.add(&batch_size, "b,batch_size", "N", "", at_least(1)).fixed(Fixed::in_run);
  auto is_fixed = [&](const char* name) {
    return std::pair(options.is_fixed(name, Fixed::in_run), options.is_fixed(name, Fixed::with_weights));
  };
  CHECK(is_fixed("seed") == std::pair(false, false));
  CHECK(is_fixed("depth") == std::pair(true, true));
  CHECK(is_fixed("steps") == std::pair(false, false));
  CHECK(is_fixed("batch-size") == std::pair(true, false));
  CHECK_THROWS_AS(options.is_fixed("colour", Fixed::in_run), reel::Error);

  options.restore({{"depth", "3"}, {"batch-size", "5"}, {"steps", "200"}}, Fixed::with_weights);
  CHECK(options.values() ==
        reel::apps::StringPairs{{"seed", "1"}, {"depth", "3"}, {"steps", "100"}, {"batch-size", "4"}});
}

TEST_CASE("doubles survive being kept bit for bit", "[options]") {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-300, 300);
  for (int i = 0; i < 1000; ++i) {
    Example saved;
    saved.config.learning_rate = std::pow(10.0, exponent(random));
    Example restored;
    restored.options.restore(saved.options.values());
    REQUIRE(restored.config.learning_rate == saved.config.learning_rate);
  }
}

TEST_CASE("a kept configuration that does not fit is no usage error", "[options]") {
  Example example;
  CHECK_THROWS_WITH(example.options.restore({{"colour", "red"}}), ContainsSubstring("an option --colour"));
  CHECK_THROWS_WITH(example.options.restore({{"batch-size", "0"}}), ContainsSubstring("does not fit: --batch-size: 0"));
  CHECK_THROWS_WITH(example.options.restore({{"final", "maybe"}}), ContainsSubstring("neither true nor false"));
  try {
    example.options.restore({{"optimizer", "lion"}});
    FAIL("accepted");
  } catch (const UsageError&) {
    FAIL("the user did not type this");
  } catch (const reel::Error&) {
    SUCCEED();
  }
}

TEST_CASE("a default that its own limits exclude is refused", "[options]") {
  Options options;
  std::int64_t zero = 0;
  std::string none;
  CHECK_THROWS_AS(options.add(&zero, "b,batch-size", "N", "", at_least(1)), reel::Error);
  CHECK_THROWS_AS(options.add_choice(&none, "m,model", {"naive", "conv"}, ""), reel::Error);
}

TEST_CASE("declaring a name twice is refused", "[options]") {
  Example example;
  bool flag = false;
  CHECK_THROWS_AS(example.options.add_flag(&flag, "z,final", ""), reel::Error);
  CHECK_THROWS_AS(example.options.add_flag(&flag, "f,other", ""), reel::Error);
  CHECK_THROWS_AS(example.options.add_flag(&flag, "z,help", ""), reel::Error);
  CHECK_THROWS_AS(example.options.add_flag(&flag, "h,other", ""), reel::Error);
  CHECK_THROWS_AS(example.options.add_flag(&flag, "xy,other", ""), reel::Error);  // a letter is one
  CHECK_THROWS_AS(example.options.given("colour"), reel::Error);
}

TEST_CASE("help is asked for with -h and --help", "[options]") {
  for (std::vector<std::string> arguments :
       std::vector<std::vector<std::string>>{{"-h"}, {"--help"}, {"-b", "3", "-h", "--nonsense"}, {"-fh"}}) {
    Example example;
    example.parse(arguments);
    CHECK(example.options.help_wanted());
  }
}

TEST_CASE("the help page", "[options]") {
  Example example;
  example.options.add_arguments(&example.config.texts, "TEXT", "what to label");
  CHECK(example.options.help("generate train", "Learn to write from a text.", 80) ==
        R"(usage: generate train [options] [TEXT ...]

Learn to write from a text.

  TEXT                   what to label

Training:
  -b, --batch-size N     examples in a step [default 32; from 1 to 4096]
  -l, --learn-rate RATE  the highest rate of the schedule [default 1e-4; more
                         than 0]
      --dropout P        share of values dropped [default 0; at least 0 and less
                         than 1]
      --optimizer adam|adamw|sgd
                         how the gradient becomes a step [default adam]

Files:
  -T, --tb-dir DIR       where TensorBoard's files go
  -f, --final            score the test set once
  -s, --shuffle          draw examples in random order [on unless --no-shuffle]

  -h, --help             show this page
)");
}

TEST_CASE("the help page of a program without options", "[options]") {
  Options options;
  CHECK(options.help("tour", "The tutorials' steps.", 80) == R"(usage: tour [options]

The tutorials' steps.

  -h, --help  show this page
)");
  std::vector<std::string> steps;
  options.add_arguments(&steps, "STEP", "which to show");
  CHECK(options.help("tour", "The tutorials' steps.", 80) == R"(usage: tour [options] [STEP ...]

The tutorials' steps.

  STEP        which to show

  -h, --help  show this page
)");
  bool all = false;
  options.add_flag(&all, "a,all", "show all");
  CHECK_THAT(options.help("tour", "The tutorials' steps.", 80), ContainsSubstring(R"(
  STEP        which to show

  -a, --all   show all

  -h, --help  show this page
)"));
}

TEST_CASE("the help page keeps to its width", "[options]") {
  Example example;
  for (int width : {60, 80, 100}) {
    std::istringstream page(
        example.options.help("generate train", std::string(40, 'w') + " " + std::string(50, 'v'), width));
    for (std::string line; std::getline(page, line);) {
      CHECK(display_width(line) <= width);
      CHECK((line.empty() || line.back() != ' '));
    }
  }
}
