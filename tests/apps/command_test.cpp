#include "apps/common/command.h"

#include <cerrno>
#include <fstream>
#include <new>
#include <sstream>

#include "tests/catch.h"

using namespace reel::apps;

namespace {

struct TrainConfig {
  std::int64_t steps = 100;
  std::string fault = "none";
};

std::ostream* train_out = nullptr;

void declare_train(Options& options, TrainConfig& config) {
  options.add(&config.steps, "n,steps", "N", "how many", at_least(1));
  options.add(&config.fault, "fault", "KIND", "what goes wrong");
}

void train(Options& options, TrainConfig& config) {
  if (config.fault == "error") throw reel::Error("data.txt: no such file");
  if (config.fault == "memory") throw std::bad_alloc();
  if (config.fault == "usage") throw UsageError("--fault: does not go with --steps");
  *train_out << "trained " << config.steps << (options.given("steps") ? "" : " by default") << "\n";
}

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

Program program() {
  return {"generate",
          "A model that learns to write.",
          {make_verb("train", "learn from a text", declare_train, train),
           make_verb("sample", "write", declare_train, train)}};
}

Outcome run(const std::vector<std::string>& arguments, const Program& what = program()) {
  std::ostringstream out, err;
  train_out = &out;
  int status = run_program(what, arguments, out, err);
  return {status, out.str(), err.str()};
}

/// Takes nothing, for the reason `code`.
class BrokenStream : public std::streambuf {
 public:
  explicit BrokenStream(int code) : code_(code) {}

 protected:
  int_type overflow(int_type) override {
    errno = code_;
    return traits_type::eof();
  }

 private:
  int code_;
};

}  // namespace

TEST_CASE("a verb runs with its options", "[command]") {
  Outcome outcome = run({"train", "-n", "7"});
  CHECK(outcome.status == 0);
  CHECK(outcome.out == "trained 7\n");
  CHECK(outcome.err.empty());
  CHECK(run({"train"}).out == "trained 100 by default\n");
}

TEST_CASE("help goes to stdout and is no error", "[command]") {
  for (const char* ask : {"-h", "--help"}) {
    Outcome verbs = run({ask});
    CHECK(verbs.status == 0);
    CHECK(verbs.err.empty());
    CHECK(verbs.out == R"(usage: generate VERB [options]

A model that learns to write.

  train   learn from a text
  sample  write

generate VERB -h lists the options of a verb.
)");
    Outcome options = run({"train", ask});
    CHECK(options.status == 0);
    CHECK(options.out.starts_with("usage: generate train [options]\n"));
    CHECK_THAT(options.out, ContainsSubstring("-n, --steps N") && !ContainsSubstring("trained"));
  }
}

TEST_CASE("a wrong command line is one line and status 2", "[command]") {
  auto check = [](const std::vector<std::string>& arguments, const std::string& line) {
    Outcome outcome = run(arguments);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err == line + "\n");
  };
  check({}, "generate: a verb is missing; -h lists the verbs");
  check({"tarin"}, "generate: there is no verb \"tarin\"; did you mean train?");
  check({"dance"}, "generate: there is no verb \"dance\"; -h lists the verbs");
  check({"d\x1B[31mance\n\xFF"}, "generate: there is no verb \"d?[31mance?\uFFFD\"; -h lists the verbs");
  check({"--steps", "3"}, "generate: there is no verb \"--steps\"; -h lists the verbs");
  check({"train", "--stps", "3"}, "generate train: unknown option \"--stps\"; did you mean --steps?");
  check({"train", "-n", "0"}, "generate train: --steps: 0 is out of range; need at least 1");
  check({"train", "--fault", "usage"}, "generate train: --fault: does not go with --steps");
}

TEST_CASE("what goes wrong later is one line and status 1", "[command]") {
  Outcome error = run({"train", "--fault", "error"});
  CHECK(error.status == 1);
  CHECK(error.err == "generate train: data.txt: no such file\n");
  Outcome memory = run({"train", "--fault", "memory"});
  CHECK(memory.status == 1);
  CHECK_THAT(memory.err, ContainsSubstring("generate train: out of memory"));
}

TEST_CASE("output that does not arrive is an error", "[command]") {
  std::vector<std::string> arguments{"train", "-n", "1"};
  std::ostringstream err;
  BrokenStream full(ENOSPC);
  std::ostream out(&full);
  err.tie(&out);  // as std::cerr is tied to std::cout
  train_out = &out;
  CHECK(run_program(program(), arguments, out, err) == 1);
  CHECK(err.str() == "generate train: cannot write to standard output: No space left on device\n");
}

TEST_CASE("a reader that went away is not spoken about", "[command]") {
  std::vector<std::string> arguments{"-h"};
  std::ostringstream err;
  BrokenStream closed(EPIPE);
  std::ostream out(&closed);
  CHECK(run_program(program(), arguments, out, err) == 1);
  CHECK(err.str().empty());
}

TEST_CASE("what the buffer holds back until the end must arrive too", "[command]") {
  std::ofstream full("/dev/full");
  if (!full) {
    WARN("not tested: a full disk, for there is no /dev/full here");
    return;
  }
  std::vector<std::string> arguments{"train"};
  std::ostringstream err;
  train_out = &full;
  CHECK(run_program(program(), arguments, full, err) == 1);
  CHECK_THAT(err.str(), ContainsSubstring("No space left on device"));
}

TEST_CASE("a program without verbs takes options at once", "[command]") {
  Program tour{"tour", "The tutorials' steps.", {make_verb("", "The tutorials' steps.", declare_train, train)}};
  CHECK(run({"-n", "3"}, tour).out == "trained 3\n");
  CHECK(run({}, tour).out == "trained 100 by default\n");
  CHECK(run({"-h"}, tour).out.starts_with("usage: tour [options]\n"));
  CHECK(run({"--nonsense"}, tour).err == "tour: unknown option \"--nonsense\"; -h lists the options\n");
}
