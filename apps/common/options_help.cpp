// The page that -h prints.

#include "apps/common/options.h"

#include <algorithm>
#include <sstream>

#include "apps/common/terminal.h"
#include "data/joined.h"

namespace reel::apps {

namespace {

/// Appends `words`, broken into lines of at most `width` columns, each but the first after `indent` spaces. `column`
/// is where the first line begins.
void append_wrapped(std::string& out, const std::string& words, int column, int indent, int width) {
  std::istringstream stream(words);
  bool line_is_empty = true;
  for (std::string word; stream >> word;) {
    int needed = display_width(word) + (line_is_empty ? 0 : 1);
    if (!line_is_empty && column + needed > width) {
      out.append("\n").append(static_cast<std::size_t>(indent), ' ');
      column = indent;
      line_is_empty = true;
    }
    if (!line_is_empty) out.push_back(' ');
    out.append(word);
    column += display_width(word) + (line_is_empty ? 0 : 1);
    line_is_empty = false;
  }
  out.push_back('\n');
}

}  // namespace

std::string Options::Option::usage() const {
  std::string out = letter ? text("  -", *letter, ", --") : "      --";
  return out + name + (unit.empty() ? "" : " " + unit);
}

std::string Options::Option::description() const {
  std::vector<std::string> notes;
  for (const Condition& condition : conditions) notes.push_back("for " + condition.words());
  if (is_flag()) {
    if (initial == "true") notes.push_back("on unless --no-" + name);
  } else if (!initial.empty()) {
    notes.push_back("default " + initial);
  }
  if (const std::string limits = range.words(); !limits.empty()) notes.push_back(limits);
  return notes.empty() ? help : text(help, " [", data::joined(notes, "; "), "]");
}

std::string Options::help(std::string_view command, std::string_view summary, int width) const {
  static constexpr int widest_usage = 28;
  static const std::string help_usage = "  -h, --help";
  int column = display_width(help_usage) + 2;  // where the descriptions begin
  for (const Option& option : options_) {
    int usage = display_width(option.usage());
    if (usage <= widest_usage) column = std::max(column, usage + 2);
  }

  std::string out;
  auto list = [&](const std::string& usage, const std::string& description) {
    out.append(usage);
    int at = display_width(usage);
    if (at + 2 > column) {
      out.push_back('\n');
      at = 0;
    }
    out.append(static_cast<std::size_t>(column - at), ' ');
    append_wrapped(out, description, column, column, width);
  };

  out.append(text("usage: ", command, " [options]"));
  if (arguments_.values) out.append(text(" [", arguments_.unit, " ...]"));
  out.append("\n\n");
  append_wrapped(out, std::string(summary), 0, 0, width);
  if (arguments_.values) {
    out.push_back('\n');
    list("  " + arguments_.unit, arguments_.help);
  }
  auto section = sections_.begin();
  for (std::size_t i = 0; i < options_.size(); ++i) {
    if (i == 0 && sections_.empty()) out.push_back('\n');
    for (; section != sections_.end() && section->first == i; ++section) {
      const std::string condition = section->condition ? " (for " + section->condition->words() + ")" : "";
      out.append(text("\n", section->title, condition, ":\n"));
    }
    list(options_[i].usage(), options_[i].description());
  }
  out.push_back('\n');
  list(help_usage, "show this page");
  return out;
}

}  // namespace reel::apps
