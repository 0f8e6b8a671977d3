#pragma once
// The texts that a program is to answer: its arguments or, where there are none, the lines of standard input; and what
// it says of those that it could not read whole.

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "data/sequences.h"

namespace reel::apps {

/// Calls answer(text) for each of `arguments` or, where there are none, for each line of `in` as soon as it is there.
/// Without its line end, and empty if it is of white space alone; a byte-order mark at the start of `in` is dropped.
/// Lines end with LF or CRLF or, if neither is in all of `in`, with CR.
///
/// Throws UsageError, before the first answer, if an argument is not UTF-8 or of white space alone, saying which by the
/// name that the help has for it, `unit`, and its number; Error where a line is not UTF-8.
void answer_texts(const std::vector<std::string>& arguments, const std::string& unit, std::istream& in,
                  const std::function<void(const std::string& text)>& answer);

/// Says on stderr, in the name of `command`, if a text that it answers was cut, "is longer than " + limit, and if the
/// model knows none of its words.
void warn_of_text(const std::string& command, const std::string& text, const data::CutTokens& tokens,
                  const std::string& limit);

}  // namespace reel::apps
