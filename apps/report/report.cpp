#include "apps/report/report.h"

#include <algorithm>
#include <charconv>

#include "apps/common/atomic_file.h"
#include "apps/report/heat_map.h"
#include "apps/report/html.h"
#include "apps/report/report_style.h"
#include "autograd/error.h"

namespace reel::apps {

namespace {

bool is_number(std::string_view cell) {
  double value = 0;
  auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return error == std::errc() && end == cell.data() + cell.size();
}

std::string pair_list(std::string_view kind, const StringPairs& pairs) {
  std::string out = text("<dl class='", kind, "'>\n");
  for (const auto& [name, value] : pairs) {
    out += text("<div><dt>", escape_html(name), "</dt><dd>", escape_html(value), "</dd></div>\n");
  }
  return out + "</dl>\n";
}

}  // namespace

Report::Report(std::string_view title, std::string_view subtitle) : title_(escape_html(title)) {
  body_ = "<header><h1>" + title_ + "</h1>";
  if (!subtitle.empty()) body_ += "<p>" + escape_html(subtitle) + "</p>";
  body_ += "</header>\n";
}

/// `html` behind the others of its kind, in a group of their own.
void Report::add(std::string_view kind, const std::string& html) {
  if (open_group_ != kind) {
    if (!open_group_.empty()) body_ += "</div>\n";
    if (!kind.empty()) body_ += text("<div class='", kind, "'>\n");
    open_group_ = kind;
  }
  body_ += html;
}

void Report::section(std::string_view title, std::string_view note) {
  std::string html = "<h2>" + escape_html(title) + "</h2>\n";
  if (!note.empty()) html += "<p class='note'>" + escape_html(note) + "</p>\n";
  add("", html);
}

void Report::highlights(const StringPairs& results) { add("", pair_list("highlights", results)); }

void Report::settings(const StringPairs& values) { add("", pair_list("settings", values)); }

void Report::table(std::string_view title, const std::vector<std::string>& header,
                   const std::vector<std::vector<std::string>>& rows) {
  for (const auto& row : rows) {
    if (row.size() != header.size()) {
      fail("report: a row of the table \"", title, "\" has ", row.size(), " cells; its header has ", header.size());
    }
  }
  std::vector<std::string> kinds;  // of the columns
  for (std::size_t i = 0; i < header.size(); ++i) {
    const bool numbers = std::all_of(rows.begin(), rows.end(), [i](const auto& row) { return is_number(row[i]); });
    kinds.push_back(numbers && !rows.empty() ? " class='number'" : " dir='auto'");
  }
  std::string html = "<figure class='table'><figcaption>" + escape_html(title) + "</figcaption>\n<div><table>\n<tr>";
  for (std::size_t i = 0; i < header.size(); ++i) html += "<th" + kinds[i] + ">" + escape_html(header[i]) + "</th>";
  html += "</tr>\n";
  for (const auto& row : rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) html += "<td" + kinds[i] + ">" + escape_html(row[i]) + "</td>";
    html += "</tr>\n";
  }
  add("", html + "</table></div></figure>\n");
}

void Report::curve(std::string_view title, const std::vector<Series>& series, const ChartOptions& options) {
  add("charts", chart_html(title, series, options));
}

void Report::sample(std::string_view title, std::string_view text) {
  // HTML drops a line break right after <pre>, so there always is one
  add("samples", "<figure class='sample'><figcaption>" + escape_html(title) + "</figcaption><pre dir='auto'>\n" +
                     escape_html(text) + "</pre></figure>\n");
}

void Report::attention(std::string_view title, std::span<const std::string> row_tokens,
                       std::span<const std::string> column_tokens, std::span<const double> weights) {
  add("heat-maps", heat_map_html(title, row_tokens, column_tokens, weights));
}

std::string Report::html() const {
  std::string page = "<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n<title>" + title_ +
                     "</title>\n<meta name='viewport' content='width=device-width, initial-scale=1'>\n";
  // whatever a text may hold, a browser loads and runs nothing
  page += "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n";
  page += "<style>\n" + std::string(report_style) + "</style>\n</head>\n<body>\n<main>\n" + body_;
  if (!open_group_.empty()) page += "</div>\n";
  return page + "</main>\n</body>\n</html>\n";
}

void Report::write(const std::filesystem::path& path) const { write_file_atomically(path, html()); }

}  // namespace reel::apps
