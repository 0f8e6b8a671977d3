#pragma once
// Whether a page is well formed: stricter than a browser, which forgives almost everything.

#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// What is wrong with `html` first, with some of what stands there; empty if nothing is. Every tag must be closed in
/// its order, every attribute quoted, every & an entity, and there must be no control characters.
inline std::string html_problem(std::string_view html) {
  static const std::set<std::string> never_closed{"meta", "!DOCTYPE"};
  static const std::set<std::string> entities{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  std::vector<std::string> open;
  std::size_t i = 0;
  auto problem = [&](const std::string& what) { return what + " at: " + std::string(html.substr(i, 60)); };

  /// Of the text from i up to one of `ends`.
  auto text_problem = [&](std::string_view ends) -> std::string {
    for (; i < html.size() && ends.find(html[i]) == std::string_view::npos; ++i) {
      const auto c = static_cast<unsigned char>(html[i]);
      if ((c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7F) return problem("a control character");
      if (c == '<' || c == '>') return problem("a bare angle bracket");
      if (c == '&' && !entities.contains(std::string(html.substr(i, html.find(';', i) + 1 - i)))) {
        return problem("a bare &");
      }
    }
    return {};
  };
  auto name = [&] {
    const std::size_t begin = i;
    while (i < html.size() && (std::isalnum(static_cast<unsigned char>(html[i])) || html[i] == '-' || html[i] == '!')) {
      ++i;
    }
    return std::string(html.substr(begin, i - begin));
  };
  auto skip_spaces = [&] {
    while (i < html.size() && html[i] == ' ') ++i;
  };

  while (i < html.size()) {
    if (!open.empty() && open.back() == "style") i = html.find("</style>", i);
    if (std::string what = text_problem("<"); !what.empty()) return what;
    if (i >= html.size()) break;
    ++i;
    if (html.substr(i, 1) == "/") {
      ++i;
      const std::string closed = name();
      if (open.empty() || open.back() != closed) return problem("</" + closed + "> closes no open tag");
      open.pop_back();
    } else {
      const std::string opened = name();
      if (opened.empty()) return problem("a bare <");
      bool closed = never_closed.contains(opened);
      std::set<std::string> attributes;
      for (skip_spaces(); i < html.size() && html[i] != '>'; skip_spaces()) {
        if (html[i] == '/') {
          closed = true;
          ++i;
          continue;
        }
        const std::string attribute = name();
        if (attribute.empty()) return problem("a stray character in <" + opened + ">");
        if (!attributes.insert(attribute).second) return problem("a second " + attribute);
        if (html.substr(i, 1) != "=") {
          if (opened == "!DOCTYPE") continue;
          return problem(attribute + " without a value");
        }
        const char quote = ++i < html.size() ? html[i] : ' ';
        if (quote != '"' && quote != '\'') return problem(attribute + " without quotes");
        ++i;
        if (std::string what = text_problem({&quote, 1}); !what.empty()) return what;
        ++i;
      }
      if (!closed) open.push_back(opened);
    }
    if (html.substr(i, 1) != ">") return problem("an open tag");
    ++i;
  }
  return open.empty() ? "" : "<" + open.back() + "> is never closed";
}

/// How often `part` occurs.
inline int count_of(std::string_view part, std::string_view text) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}
