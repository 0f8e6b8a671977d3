#pragma once
// Runs the program `generate` as a person would, in a folder of the test's own.

#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "autograd/random.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

#ifdef __has_feature
#define REEL_HAS_FEATURE(name) __has_feature(name)
#else
#define REEL_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || REEL_HAS_FEATURE(address_sanitizer) || \
    REEL_HAS_FEATURE(thread_sanitizer)
constexpr bool sanitized = true;  // memory is then not what it is otherwise
#else
constexpr bool sanitized = false;
#endif

struct Outcome {
  int status;
  std::string out;
  std::string err;

  std::string last_line_of_out() const { return last_line(out); }
  std::string last_line_of_err() const { return last_line(err); }

 private:
  static std::string last_line(const std::string& text) {
    const std::size_t end = text.find_last_not_of('\n') + 1;
    const std::size_t before = text.substr(0, end).rfind('\n');
    return text.substr(before + 1, end - before - 1);
  }
};

/// Lines of a tiny language, about `size` bytes.
inline std::string tiny_text(std::size_t size) {
  static const std::string words[] = {"the ", "cat ", "sat ", "on ", "a ", "mat. ", "so ", "did ", "dogs,\n", "too.\n"};
  reel::Generator generator(5);
  std::string text;
  while (text.size() < size) text += words[generator.below(std::size(words))];
  return text;
}

/// A folder with text.txt, and `generate` in it.
class Workplace : public TemporaryFolder {
 public:
  Workplace() { write_file(*this / "text.txt", tiny_text(3000)); }

  /// `command` is for the shell, where $generate is the program. Its stdout may be redirected in there.
  Outcome shell(const std::string& command) const {
    const std::string script =
        "cd '" + path().string() +
        "' && generate='" REEL_BIN_DIR
        "/generate' && "
        "export ASAN_OPTIONS=allocator_may_return_null=1 TSAN_OPTIONS=allocator_may_return_null=1 && " +
        "{ " + command + "\n} >out.log 2>err.log";
    const int status = std::system(script.c_str());
    REQUIRE(status != -1);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(*this / "out.log"), read_file(*this / "err.log")};
  }
  Outcome generate(const std::string& arguments) const { return shell("$generate " + arguments); }

  /// Trains a tiny model on text.txt; `arguments` add to its options, or replace them.
  Outcome train(const std::string& arguments) const {
    return generate(
        "train --data text.txt -N 20 -b 4 -C 16 -E 16 -H 2 -d 1 -l 1e-2 --lr-warmup 16 --sample-length 10 " +
        arguments);
  }
  /// The same where nothing but success will do.
  Outcome must_train(const std::string& arguments) const {
    Outcome outcome = train(arguments);
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    return outcome;
  }

  std::string checkpoint(const std::string& run) const { return read_file(*this / run / "checkpoint.safetensors"); }
  std::string metrics(const std::string& run) const { return read_file(*this / run / "metrics.csv"); }
};
