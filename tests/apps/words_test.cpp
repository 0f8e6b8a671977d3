#include "apps/common/words.h"

#include "tests/apps/program.h"

using namespace reel::apps;

TEST_CASE("a word in quotes stays on its line and moves no cursor", "[words]") {
  CHECK(in_quotes("") == "\"\"");
  CHECK(in_quotes("Käse \"x\"") == "\"Käse \"x\"\"");
  CHECK(in_quotes("a\x1B[1m\nb\x7F\u0085") == "\"a?[1m?b??\"");
  CHECK(in_quotes("a\xFF") == "\"a\uFFFD\"");
}

TEST_CASE("a shell reads what was meant as one word", "[words]") {
  CHECK(shell_word("runs/my-run_2.1") == "runs/my-run_2.1");
  CHECK(shell_word("my run") == "'my run'");
  Workplace here;
  for (const char* word :
       {"", "my run", "a&b c", "it's", "''", "$HOME", "~", "#1", "*", "a\\b", "\"", "Läufe", "a\nb"}) {
    CHECK(here.shell("printf %s " + shell_word(word)).out == word);
  }
}

TEST_CASE("an excerpt is the beginning, on one line", "[words]") {
  CHECK(excerpt("warm\n\ttea\x1b", 20) == "warm  tea ");
  CHECK(excerpt("a\x7f \xc2\x9b"
                "31m\xc2\xa0",
                20) == "a   31m\xc2\xa0");  // CSI is U+009B
  CHECK(excerpt("warm tea", 8) == "warm tea");
  CHECK(excerpt("warm tea.", 8) == "warm te…");
  CHECK(excerpt("äöüß", 3) == "äö…");
  CHECK(excerpt("", 3).empty());
  CHECK(excerpt("warm", 0).empty());
  CHECK(on_one_line("two\nlines\there") == "two lines here");
  CHECK(on_one_line("two\u2028lines \u202Edezrever") == "two lines  dezrever");
}
