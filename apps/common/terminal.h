#pragma once
// What is known of the terminal that a person reads: whether there is one, how wide it is, which characters it shows.

#include <string_view>

namespace reel::apps {

bool is_terminal(int file_descriptor);

/// In columns. Where there is no terminal to ask: $COLUMNS, or else 80.
int terminal_width(int file_descriptor);

/// Whether the locale ($LC_ALL, $LC_CTYPE, $LANG, the first that is set) is one of UTF-8.
bool locale_is_utf8();

/// How many code points: the columns that a text takes, where every character takes one.
int display_width(std::string_view utf8);

}  // namespace reel::apps
