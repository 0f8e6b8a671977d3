#include "apps/common/terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "tests/catch.h"

namespace {

/// Sets an environment variable, or removes it, until the end of the scope.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Environment() { set(before_ ? before_->c_str() : nullptr); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  void set(const char* value) { value ? setenv(name_, value, 1) : unsetenv(name_); }

  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("a file is no terminal, and its width comes from COLUMNS", "[terminal]") {
  int file = open("/dev/null", O_RDWR);
  CHECK_FALSE(reel::apps::is_terminal(file));
  CHECK_FALSE(reel::apps::is_terminal(-1));
  for (auto [columns, width] : {std::pair{"132", 132}, {"", 80}, {"-5", 80}, {"wide", 80}, {"99999999999999", 80}}) {
    Environment environment("COLUMNS", columns);
    CHECK(reel::apps::terminal_width(file) == width);
  }
  close(file);
}

TEST_CASE("the locale's first variable that is set counts", "[terminal]") {
  Environment all("LC_ALL", nullptr), ctype("LC_CTYPE", nullptr), lang("LANG", nullptr);
  CHECK_FALSE(reel::apps::locale_is_utf8());
  Environment english("LANG", "en_GB.UTF-8");
  CHECK(reel::apps::locale_is_utf8());
  Environment plain("LC_CTYPE", "C");
  CHECK_FALSE(reel::apps::locale_is_utf8());
  Environment lower("LC_ALL", "C.utf8");
  CHECK(reel::apps::locale_is_utf8());
  Environment empty("LC_ALL", "");
  CHECK_FALSE(reel::apps::locale_is_utf8());
}

TEST_CASE("display width counts code points", "[terminal]") {
  CHECK(reel::apps::display_width("") == 0);
  CHECK(reel::apps::display_width("abc") == 3);
  CHECK(reel::apps::display_width("é€😀") == 3);
}
