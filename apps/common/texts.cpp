#include "apps/common/texts.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "apps/common/options.h"
#include "autograd/error.h"
#include "autograd/utf8.h"
#include "data/characters.h"

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

  std::string line;
  errno = 0;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    if (number == 1 && line.starts_with(byte_order_mark)) line.erase(0, byte_order_mark.size());
    if (line.ends_with('\r')) line.pop_back();
    if (!is_utf8(line)) fail("standard input, line ", number, ": is not UTF-8");
    answer(data::is_blank(line) ? "" : line);
  }
  // std::cin does not tell an error from the end, but what it reads from does.
  if (in.bad() || (&in == &std::cin && std::ferror(stdin)))
    fail("standard input cannot be read to its end: ", std::strerror(errno));
}

}  // namespace reel::apps
