#include "apps/common/texts.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <utility>

#include "apps/common/options.h"
#include "apps/common/words.h"
#include "autograd/error.h"
#include "autograd/utf8.h"
#include "data/characters.h"
#include "data/file.h"

namespace reel::apps {

void answer_texts(const std::vector<std::string>& arguments, const std::string& unit, std::istream& in,
                  const std::function<void(const std::string& text)>& answer) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string where = text(unit, " ", i + 1);
    if (!is_utf8(arguments[i])) throw UsageError(where + " is not UTF-8");
    if (data::is_blank(arguments[i])) throw UsageError(where + " is empty");
  }
  for (const std::string& argument : arguments) answer(argument);
  if (!arguments.empty()) return;

  std::string lines;  // one; or all, where CR alone ends them, as in old files
  std::int64_t number = 0;
  errno = 0;
  while (std::getline(in, lines)) {
    if (number == 0 && lines.starts_with(byte_order_mark)) lines.erase(0, byte_order_mark.size());
    if (number == 0 && in.eof()) {
      lines = data::with_line_feeds(std::move(lines));
    } else {
      while (lines.ends_with('\r')) lines.pop_back();
      std::ranges::replace(lines, '\r', ' ');
    }
    if (!lines.ends_with('\n')) lines += '\n';
    for (std::size_t begin = 0, end = 0; begin < lines.size(); begin = end + 1) {
      end = lines.find('\n', begin);
      const std::string line = lines.substr(begin, end - begin);
      ++number;
      if (!is_utf8(line)) fail("standard input, line ", number, ": is not UTF-8");
      answer(data::is_blank(line) ? "" : line);
    }
  }
  // std::cin does not tell an error from the end, but what it reads from does.
  if (in.bad() || (&in == &std::cin && std::ferror(stdin))) {
    fail("standard input cannot be read to its end: ", std::strerror(errno));
  }
}

void warn_of_text(const std::string& command, const std::string& text, const data::CutTokens& tokens,
                  const std::string& limit) {
  const std::string shown = in_quotes(excerpt(text, 60));
  if (tokens.is_cut) std::cerr << command << ": " << shown << " is longer than " << limit << std::endl;
  if (data::all_unknown(tokens.tokens)) {
    std::cerr << command << ": of " << shown << " the model knows no word that it reads" << std::endl;
  }
}

}  // namespace reel::apps
