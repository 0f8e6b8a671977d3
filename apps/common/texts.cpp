#include "apps/common/texts.h"

#include <istream>

#include "apps/common/options.h"
#include "autograd/error.h"
#include "data/characters.h"
#include "data/utf8.h"

namespace reel::apps {
namespace {

void check_utf8(const std::string& text, const std::string& where) {
  if (data::replace_invalid_utf8(text) != text) fail(where, ": is not UTF-8");
}

}  // namespace

void answer_texts(const std::vector<std::string>& arguments, const std::string& unit, std::istream& in,
                  const std::function<void(const std::string& text)>& answer) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string where = text(unit, " ", i + 1);
    check_utf8(arguments[i], where);
    if (data::is_blank(arguments[i])) throw UsageError(where + " is empty");
  }
  for (const std::string& argument : arguments) answer(argument);
  if (!arguments.empty()) return;

  static const std::string byte_order_mark = "\xEF\xBB\xBF";
  std::string line;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    if (number == 1 && line.starts_with(byte_order_mark)) line.erase(0, byte_order_mark.size());
    if (line.ends_with('\r')) line.pop_back();
    check_utf8(line, text("standard input, line ", number));
    answer(data::is_blank(line) ? "" : line);
  }
}

}  // namespace reel::apps
