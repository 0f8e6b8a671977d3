// The program generate where something is wrong: one line that says what, a status that is not 0, and nothing lost.

#include <unistd.h>

#include <algorithm>

#include "apps/training/checkpoint.h"
#include "autograd/creation.h"
#include "autograd/safetensors.h"
#include "tests/apps/tiny_texts.h"

using namespace reel::apps;
namespace fs = std::filesystem;

namespace {

void check_refused(const Outcome& outcome, int status, const std::string& reason) {
  check_refused("generate", outcome, status, reason);
}

}  // namespace

TEST_CASE("texts that cannot be learnt from are refused", "[generate]") {
  TinyTexts here;
  write_file(here / "empty.txt", "");
  write_file(here / "short.txt", "to be");
  write_file(here / "broken.txt", "one\ntwo \xC3( three\n");
  fs::create_directory(here / "folder");
  check_refused(here.train("generate", "--out run --data missing.txt"), 1, "missing.txt: there is no such file");
  check_refused(here.train("generate", "--out run --data \"$(printf 'no\\nsuch')\""), 1,
                "no?such: there is no such file");
  check_refused(here.train("generate", "--out run --data empty.txt"), 1, "empty.txt: is empty");
  check_refused(here.train("generate", "--out run --data folder"), 1, "folder: is a folder");
  check_refused(here.train("generate", "--out run --data short.txt"), 1, "short.txt is too short");
  check_refused(here.train("generate", "--out run --data broken.txt"), 1, "line 2");
  check_refused(here.train("generate", "--out run -C 5000"), 1, "a context of 5000 needs one token more");
  if (geteuid() != 0) {
    write_file(here / "secret.txt", "text");
    fs::permissions(here / "secret.txt", fs::perms::none);
    check_refused(here.train("generate", "--out run --data secret.txt"), 1, "Permission denied");
  }
  CHECK_FALSE(fs::exists(here / "run"));
}

TEST_CASE("every part of the text is looked at before training begins", "[generate]") {
  TinyTexts here;
  const std::string text = read_file(here / "text.txt").substr(0, 1000);
  write_file(here / "text.txt", text);
  check_refused(here.train("generate", "--out run --split 0.999"), 1, "its validation part has 1 token;");
  check_refused(here.train("generate", "--out run --split 0.997 --final"), 1, "its validation part has 1 token;");
  check_refused(here.train("generate", "--out run --split 0.9999"), 1, "its validation part has 1 token;");
  check_refused(here.train("generate", "--out run --model ngram --split 0.0001"), 1, "its training part has 0 tokens;");
  CHECK_FALSE(fs::exists(here / "run"));
}

TEST_CASE("a number of threads that is none is refused before anything is done", "[generate]") {
  TinyTexts here;
  for (const std::string threads : {"two", "0", "-1", "2x", "1025"}) {
    const Outcome outcome =
        here.shell("REEL_THREADS=" + threads + " \"$bin/generate\" train --data text.txt --out run");
    check_refused(outcome, 1, "REEL_THREADS is '" + threads + "'; need a whole number from 1 to 1024");
  }
  CHECK_FALSE(fs::exists(here / "run"));
  CHECK(here.shell("REEL_THREADS= \"$bin/generate\" train -h").status == 0);
}

TEST_CASE("wrong command lines are refused", "[generate]") {
  TinyTexts here;
  check_refused(here.run("generate", ""), 2, "a verb is missing");
  check_refused(here.run("generate", "tarin"), 2, "did you mean train?");
  check_refused(here.train("generate", "--bach-size 3"), 2, "did you mean --batch-size?");
  check_refused(here.train("generate", "--model gpt"), 2,
                "--model: \"gpt\" is none of gtransformer, naive, conv, ngram");
  check_refused(here.train("generate", "-b 0"), 2, "--batch-size: 0 is out of range; need from 1");
  check_refused(here.train("generate", "-b many"), 2, "--batch-size: \"many\" is not a whole number");
  check_refused(here.train("generate", "-l -1"), 2, "--learn-rate: -1 is out of range");
  check_refused(here.train("generate", "-l nan"), 2, "--learn-rate: \"nan\" is not a number");
  check_refused(here.train("generate", "--split 1"), 2, "--split: 1 is out of range");
  check_refused(here.train("generate", "--dropout 1"), 2, "--dropout: 1 is out of range");
  check_refused(here.train("generate", "--data \"$(printf '\\377\\376.txt')\""), 2,
                "--data: the value FILE is not UTF-8");
  check_refused(here.train("generate", "--out"), 2, "the value DIR is missing");
  check_refused(here.train("generate", "more"), 2, "unexpected argument \"more\"");
  check_refused(
      here.train("generate", "--schedule cosine --lr-warmup 1000"), 2,
      "--lr-warmup: 1000 examples are 250 steps, and the run has 20; --schedule cosine needs more after them");
  check_refused(here.train("generate", "--optimizer adamw"), 2, "without decay it is adam; say with --weight-decay");
  check_refused(here.train("generate", "--optimizer sgd --beta2 0.9"), 2,
                "--beta2: only for --optimizer adam or adamw, not sgd; leave it out");
  check_refused(here.train("generate", "--optimizer sgd --beta1 0.8"), 2,
                "--beta1: only for --optimizer adam or adamw, not sgd; leave it out");
  check_refused(here.train("generate", "--beta1 1"), 2, "--beta1: 1 is out of range");
  check_refused(here.train("generate", "--gradient-clipping -1"), 2, "--gradient-clipping: -1 is out of range");
  check_refused(here.train("generate", "--optimizer sgd --lazy-adam"), 2, "--lazy-adam: only for --optimizer adam");
  check_refused(here.train("generate", "--model conv -H 2"), 2,
                "--heads: only for --model gtransformer, not conv; leave it out");
  for (const std::string option : {"--norm pre", "--activation gelu"}) {
    check_refused(here.train("generate", "--model naive " + option), 2,
                  option.substr(0, option.find(' ')) + ": only for --model gtransformer, not naive; leave it out");
  }
  check_refused(here.train("generate", "--model ngram -l 1e-2"), 2,
                "--learn-rate: only for --model gtransformer, naive or conv, not ngram; leave it out");
  check_refused(here.train("generate", "--model ngram -T curves"), 2, "--tb-dir: a model that counts has no curves");
  check_refused(here.train("generate", "--order 4"), 2, "--order: only for --model ngram, not gtransformer");
  check_refused(here.run("generate", "train --data ''"), 2, "--data: the value FILE is empty");
  check_refused(here.train("generate", "--schedule wsd"), 2, "say with --lr-decay for how many examples");
  check_refused(here.train("generate", "--schedule wsd --lr-warmup 16 --lr-decay 65"), 2,
                "--lr-decay: 65 examples are 17 steps; after --lr-warmup, 16 are left");
  check_refused(here.train("generate", "--schedule wsd --lr-warmup 16 --lr-decay 4"), 2,
                "--lr-decay: 4 examples are one step, within which the rate cannot fall; need two");
  for (const char* schedule : {"constant", "invsqrt"}) {
    check_refused(here.train("generate", std::string("--min-lr 1e-4 --schedule ") + schedule), 2,
                  std::string("--min-lr: only for --schedule cosine or wsd, not ") + schedule + "; leave it out");
  }
  for (const char* schedule : {"constant", "invsqrt", "cosine"}) {
    check_refused(here.train("generate", std::string("--lr-decay 40 --schedule ") + schedule), 2,
                  std::string("--lr-decay: only for --schedule wsd, not ") + schedule + "; leave it out");
  }
  check_refused(here.train("generate", "--schedule cosine --min-lr 1"), 2,
                "--min-lr: 1 is more than the --learn-rate of 0.01");
  check_refused(here.train("generate", "--schedule cosine --min-lr 0.0100000001"), 2,
                "--min-lr: 0.0100000001 is more than the --learn-rate of 0.01");
  check_refused(here.run("generate", "sample --prompt ''"), 2, "--prompt: the value TEXT is empty");
  check_refused(here.run("generate", "sample --top-p 0"), 2, "--top-p: 0 is out of range");
  check_refused(here.run("generate", "sample -t -1"), 2, "--temperature: -1 is out of range");
  check_refused(here.run("generate", "eval --from missing"), 1,
                "missing/checkpoint.safetensors: there is no such file");
  check_refused(here.run("generate", "sample --from missing"), 1,
                "missing/checkpoint.safetensors: there is no such file");
  CHECK_FALSE(fs::exists(here / "runs"));
}

TEST_CASE("what the model does not know is refused", "[generate]") {
  TinyTexts here;
  here.must_train("generate", "--out run");
  check_refused(here.run("generate", "sample --from run --prompt 'the éXt'"), 1, "'X' (U+0058)");
  check_refused(here.run("generate", "sample --from run --prompt 'the éXt'"), 1, "'é' (U+00E9)");
  check_refused(here.run("generate", "sample --from run --prompt \"$(printf '\\377')\""), 2, "--prompt: ");
  write_file(here / "other.txt", std::string(100, 'Z'));
  check_refused(here.run("generate", "eval --from run --data other.txt"), 1, "other.txt: ");
  write_file(here / "other.txt", "a");
  check_refused(here.run("generate", "eval --from run --data other.txt"), 1, "other.txt has 1 token; need at least 2");
  check_refused(here.run("generate", "eval --from run --final"), 2, "--final: run was trained without it");
}

TEST_CASE("a damaged checkpoint is refused, wherever the damage is", "[generate]") {
  TinyTexts here;
  here.must_train("generate", "-N 2 --out run");
  const fs::path file = here / "run/checkpoint.safetensors";
  const std::string whole = read_file(file);
  auto check_damaged = [&](const std::string& bytes) {
    write_file(file, bytes);
    check_refused(here.run("generate", "sample --from run -n 1"), 1, bytes.empty() ? "is empty" : "is no checkpoint");
  };
  for (std::size_t size : {0u, 1u, 7u, 8u, 9u, 100u, 1000u, 5000u}) check_damaged(whole.substr(0, size));
  check_damaged(whole.substr(0, whole.size() - 1));
  check_damaged(whole + "x");
  check_damaged(std::string(5000, 'x'));
  reel::Generator generator(1);
  for (int i = 0; i < 30; ++i) {
    const auto place = static_cast<std::size_t>(generator.below(static_cast<std::int64_t>(whole.size())));
    CAPTURE(place);
    std::string bytes = whole;
    bytes[place] = static_cast<char>(bytes[place] ^ (1 << generator.below(8)));
    check_damaged(bytes);
  }
  check_refused(here.run("generate", "eval --from run"), 1, "is no checkpoint");
  check_refused(here.train("generate", "--resume --out run"), 1, "is no checkpoint");

  write_file(file, reel::write_safetensors({{{"weight", reel::ones({2, 3})}}, {{"format", "pt"}}}));
  check_refused(here.run("generate", "eval --from run"), 1, "not what Reel's apps keep beside them");
}

TEST_CASE("a checkpoint that does not fit itself is refused", "[generate]") {
  TinyTexts here;
  here.must_train("generate", "--out run");
  const fs::path file = here / "run/checkpoint.safetensors";
  const Checkpoint whole = load_checkpoint(file, "generate");
  auto check_misfit = [&](auto change, const std::string& reason) {
    Checkpoint checkpoint = whole;
    change(checkpoint);
    save_checkpoint(file, checkpoint);
    check_refused(here.run("generate", "eval --from run"), 1, reason);
  };
  check_misfit([](Checkpoint& c) { replace_option(c, "model", "conv"); }, "the weights are of another model");
  check_misfit([](Checkpoint& c) { replace_option(c, "model", "ngram"); }, "of another model");
  check_misfit([](Checkpoint& c) { replace_option(c, "model", "gpt"); }, "\"gpt\" is none of");
  check_misfit([](Checkpoint& c) { replace_option(c, "embedding", "17"); }, "the weights are of another model");
  check_misfit([](Checkpoint& c) { replace_option(c, "depth", "0"); }, "--depth: 0 is out of range");
  check_misfit([](Checkpoint& c) { replace_note(c, "vocabulary", "abc"); }, "the weights are of another model");
  check_misfit([](Checkpoint& c) { replace_note(c, "vocabulary", "ba"); }, "the vocabulary is damaged");
  check_misfit([](Checkpoint& c) { replace_note(c, "app", "classify"); }, "was written by classify, not by generate");
  check_misfit([](Checkpoint& c) { c.weights.pop_back(); }, "is missing");
  check_misfit([](Checkpoint& c) { std::erase_if(c.notes, [](const auto& n) { return n.first == "vocabulary"; }); },
               "no entry \"vocabulary\"");
}

TEST_CASE("what a run was begun with cannot change", "[generate]") {
  TinyTexts here;
  here.must_train("generate", "--out run");
  for (const std::string option :
       {"context 8", "dropout 0.5", "tokenizer byte", "split 0.5", "norm pre", "activation gelu"}) {
    const std::string name = option.substr(0, option.find(' '));
    check_refused(here.train("generate", "--resume --out run -N 40 --" + option), 2,
                  "--" + name + " cannot change within a run");
  }
}

TEST_CASE("what validated a run is scored without --data only while the text is the same", "[generate]") {
  const std::string model = GENERATE("gtransformer", "ngram");
  TinyTexts here;
  here.must_train("generate", "--model " + model + " --out run");
  const std::string scored = here.run("generate", "eval --from run").out, text = read_file(here / "text.txt");
  CHECK(scored.starts_with("validation loss "));
  here.write("text.txt", text.substr(0, text.size() / 3));
  check_refused(here.run("generate", "eval --from run"), 1, "text.txt has changed since run was trained");
  for (const char* path : {"text.txt", "./text.txt"}) {
    const Outcome whole = here.run("generate", std::string("eval --from run --data ") + path);
    CHECK(whole.out.starts_with(path + std::string(" loss ")));
    CHECK_THAT(whole.err, ContainsSubstring("has changed since run was trained, and is scored as a whole"));
  }
  here.write("text.txt", text);
  CHECK(here.run("generate", "eval --from run").out == scored);
}

TEST_CASE("new characters tell that the text has changed", "[generate]") {
  TinyTexts here;
  here.must_train("generate", "--out run");
  write_file(here / "text.txt", read_file(here / "text.txt") + "Zoë");
  const std::string reason =
      "text.txt is not, or no longer, the text that the run learnt from: not in the tokenizer's vocabulary";
  check_refused(here.run("generate", "eval --from run"), 1, reason);
  check_refused(here.run("generate", "train --resume --out run -N 40"), 1, reason);
  check_refused(here.run("generate", "eval --from run --data text.txt"), 1,
                "text.txt: not in the tokenizer's vocabulary");
}

TEST_CASE("a model whose loss is no number has no score", "[generate]") {
  TinyTexts here;
  // It diverges at once, and is saved at the first step, which is not scored.
  CHECK(here.train("generate", "-l 1e20 --optimizer sgd --lr-warmup 0 --test-every 3 --out run").status == 1);
  REQUIRE(fs::exists(here / "run/checkpoint.safetensors"));
  check_refused(here.run("generate", "eval --from run"), 1, "run: the model's loss is ");
}

TEST_CASE("a disk that is full loses nothing", "[generate]") {
  TinyTexts here;
  here.must_train("generate", "-N 20 --out run");
  const std::string kept = here.checkpoint("run"), metrics = here.metrics("run");
  // No file may be longer than this many blocks of 512 bytes: less than a checkpoint needs, more than all else.
  const Outcome full = here.shell(
      "trap '' XFSZ; ulimit -f 16; \"$bin/generate\" train --data text.txt -N 20 -b 4 -C 16 -E 32 "
      "-H 2 -d 1 --sample-length 0 --out run");
  CHECK(full.status == 1);
  CHECK(full.last_line_of_err() == "generate train: cannot write run/checkpoint.safetensors: File too large");
  CHECK(here.checkpoint("run") == kept);
  CHECK(here.metrics("run") == metrics);
  for (const auto& entry : fs::directory_iterator(here / "run")) {
    const std::string name = entry.path().filename().string();
    CHECK((name == "checkpoint.safetensors" || name == "best.safetensors" || name == "metrics.csv" ||
           name == "report.html" || name.starts_with("events.out.tfevents.")));
  }
  CHECK(here.run("generate", "eval --from run").status == 0);
}

TEST_CASE("training that diverges says so and keeps the last checkpoint", "[generate]") {
  TinyTexts here;
  const std::string model = GENERATE("gtransformer", "naive", "conv");
  here.must_train("generate", "--out run --model " + model);
  const Outcome diverged = here.train("generate", "--lr-warmup 0 -l 1e30 --out run --model " + model);
  CHECK(diverged.status == 1);
  CHECK_THAT(diverged.last_line_of_err(),
             ContainsSubstring("training diverged: after step ") && ContainsSubstring("Try a lower --learn-rate"));
  const Outcome scored = here.run("generate", "eval --from run");  // what the first step left
  if (scored.status == 0) {
    CHECK(scored.out.starts_with("validation loss "));
  } else {
    check_refused(scored, 1, "run: the model's loss is ");
  }

  // Also where the one step that spoils the weights is the last: they are not numbers, or such that the loss is none.
  const std::string kept = here.checkpoint("run");
  auto check_spoilt = [&](const std::string& rate) {
    const Outcome spoilt = here.train("generate", "-N 1 --lr-warmup 0 --out run -l " + rate + " --model " + model);
    CHECK(spoilt.status == 1);
    CHECK_THAT(spoilt.last_line_of_err(), ContainsSubstring("training diverged: after step 1 "));
  };
  check_spoilt("1e300");
  CHECK(here.checkpoint("run") == kept);
  check_spoilt("1e30");
  CHECK(read_file(here / "run/previous-2.safetensors") == kept);
}

TEST_CASE("a model too large for this machine is an error", "[generate]") {
  TinyTexts here;
  const std::string limit = sanitized ? "" : "ulimit -v 1000000; ";
  for (const char* options : {"-E 65536 -H 1024", "-E 1024 -H 64 -d 1024", "-b 1048576 -C 1000 -E 8 -d 1"}) {
    CAPTURE(options);
    const Outcome outcome = here.shell(
        limit + "\"$bin/generate\" train --data text.txt --sample-length 0 --threads 1 --out run " + options);
    CHECK(outcome.status == 1);
    CHECK(outcome.last_line_of_err().starts_with("generate train: out of memory"));
    if (sanitized) break;  // the others need the limit, which a sanitizer does not live with
  }
  CHECK_FALSE(fs::exists(here / "run/checkpoint.safetensors"));
}
