#pragma once
// Runs Reel's programs as a person would, in a folder of the test's own.

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <string>

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

inline int count_lines(const std::string& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

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

class Workplace : public TemporaryFolder {
 public:
  /// `command` is for the shell, where the programs are in $bin. Its stdout may be redirected in there.
  Outcome shell(const std::string& command) const {
    const std::string script = "cd '" + path().string() +
                               "' && bin='" REEL_BIN_DIR
                               "' && "
                               "export ASAN_OPTIONS=allocator_may_return_null=1 "
                               "TSAN_OPTIONS=allocator_may_return_null=1 && " +
                               "{ " + command + "\n} >out.log 2>err.log";
    const int status = std::system(script.c_str());
    REQUIRE(status != -1);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(*this / "out.log"), read_file(*this / "err.log")};
  }
  /// `arguments` are for the shell; stdin may be redirected in there, too.
  Outcome run(const std::string& program, const std::string& arguments) const {
    return shell("\"$bin/" + program + "\" " + arguments);
  }
};

/// Refused before anything is done: one line on stderr, nothing on stdout.
inline void check_refused(const std::string& program, const Outcome& outcome, int status, const std::string& reason) {
  CHECK(outcome.status == status);
  CHECK(outcome.out.empty());
  CHECK(count_lines(outcome.err) == 1);
  CHECK(outcome.err.starts_with(program));
  CHECK_THAT(outcome.err, ContainsSubstring(reason));
}
