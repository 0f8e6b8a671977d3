#include "apps/report/heat_map.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "apps/common/numbers.h"
#include "apps/common/terminal.h"
#include "apps/report/html.h"
#include "autograd/error.h"
#include "autograd/utf8.h"
#include "data/printable.h"

namespace reel::apps {

namespace {

constexpr int shades = 32;
constexpr std::size_t longest_label = 12;
// in the units of the drawing
constexpr double letter = 6.7;  // width
constexpr double line_height = 11;
constexpr double gap = 4;  // around a label

/// How the tokens of one axis are written: every how many'th, and the room that takes.
struct Labels {
  std::vector<std::string> texts;
  std::size_t stride;
  double room;
};

Labels make_labels(std::span<const std::string> tokens, double cell) {
  Labels labels{{}, static_cast<std::size_t>(std::ceil(line_height / cell)), 0};
  for (const std::string& token : tokens) {
    labels.texts.push_back(token_label(token, longest_label));
    labels.room = std::max(labels.room, letter * display_width(labels.texts.back()) + 2 * gap);
  }
  return labels;
}

/// Writes every stride'th label; place(i) is the attribute that puts it in its place.
template <class Place>
std::string write_labels(const Labels& labels, std::span<const std::string> tokens, Place place) {
  std::string out;
  for (std::size_t i = 0; i < tokens.size(); i += labels.stride) {
    const std::string& shown = labels.texts[i];
    const std::string whole = shown == tokens[i] ? "" : "<title>" + escape_html(tokens[i]) + "</title>";
    out += text("<text ", place(static_cast<double>(i)), " dy='.35em'>", whole, escape_html(shown), "</text>");
  }
  return out + "\n";
}

/// The cells as horizontal strokes, neighbours of one shade together, one path a shade.
std::string cells(std::span<const double> weights, std::size_t columns, double largest) {
  std::vector<std::string> paths(shades + 1);
  auto shade = [&](std::size_t i) {
    const double share = std::isfinite(weights[i]) && weights[i] > 0 ? weights[i] / largest : 0;
    return static_cast<std::size_t>(std::lround(shades * std::sqrt(share)));
  };
  for (std::size_t begin = 0, end; begin < weights.size(); begin = end) {
    const std::size_t row = begin / columns;
    end = begin + 1;
    while (end < (row + 1) * columns && shade(end) == shade(begin)) ++end;
    paths[shade(begin)] += text("M", begin % columns, " ", row, "h", end - begin);
  }
  std::string out;
  for (std::size_t i = 1; i < paths.size(); ++i) {
    if (paths[i].empty()) continue;
    out += text("<path stroke-opacity='", short_number(static_cast<double>(i) / shades, 3), "' d='", paths[i], "'/>");
  }
  return out;
}

}  // namespace

std::string token_label(std::string_view token, std::size_t most) {
  std::u32string characters = decode_utf8(replace_invalid_utf8(token));
  for (char32_t& c : characters) {
    if (c == U' ') c = U'\u2423';   // open box
    if (c == U'\n') c = U'\u21B5';  // arrow of the return key
    if (c == U'\t') c = U'\u21E5';  // arrow of the tab key
    if (c == U'\r') c = U'\u240D';
  }
  return encode_utf8(data::shortened(std::move(characters), most));
}

std::string heat_map_html(std::string_view title, std::span<const std::string> rows,
                          std::span<const std::string> columns, std::span<const double> weights) {
  if (weights.size() != rows.size() * columns.size()) {
    fail("heat map: ", rows.size(), " rows and ", columns.size(), " columns need ", rows.size() * columns.size(),
         " weights; there are ", weights.size());
  }
  double largest = 0;
  for (double weight : weights) {
    if (std::isfinite(weight)) largest = std::max(largest, weight);
  }

  const auto longest = static_cast<double>(std::max<std::size_t>({rows.size(), columns.size(), 1}));
  // Large cells where there are few; otherwise as small as labels allow, so that two drawings fit side by side. Beyond
  // 64 tokens, no more than fits on a page.
  const double cell = longest <= 64 ? std::clamp(400 / longest, line_height, 16.0) : std::max(704 / longest, 1.0);
  const Labels row_labels = make_labels(rows, cell);
  const Labels column_labels = make_labels(columns, cell);
  const double left = row_labels.room, top = column_labels.room;
  const double width = left + cell * static_cast<double>(columns.size());
  const double height = top + cell * static_cast<double>(rows.size());
  const std::string size = text(svg_number(width), "' height='", svg_number(height));

  std::string out = "<figure class='heat-map'><figcaption>" + escape_html(title) + "</figcaption>\n";
  out += text("<svg width='", size, "' viewBox='0 0 ", svg_number(width), " ", svg_number(height),
              "' role='img' aria-label='", escape_html(title), "'>\n");
  out += write_labels(row_labels, rows, [&](double i) {
    return text("class='row' x='", svg_number(left - gap), "' y='", svg_number(top + cell * (i + 0.5)), "'");
  });
  const bool upright = top <= letter + 2 * gap;  // all are a single letter
  out += write_labels(column_labels, columns, [&](double j) {
    const std::string across = svg_number(left + cell * (j + 0.5));
    if (upright) return text("class='column' x='", across, "' y='", svg_number(top / 2), "'");
    return text("transform='translate(", across, " ", svg_number(top - gap), ")rotate(-90)'");
  });
  out += text("<rect class='ground' x='", svg_number(left), "' y='", svg_number(top), "' width='",
              svg_number(width - left), "' height='", svg_number(height - top), "'/>");
  // a cell is one unit wide; a stroke runs along its middle
  out += text("<g class='cells' transform='translate(", svg_number(left), " ", svg_number(top + cell / 2), ")scale(",
              short_number(cell, 6), ")'>");
  out += cells(weights, columns.size(), largest) + "</g></svg>\n";
  return out + text("<p class='heat-scale'>0 <i></i> ", short_number(largest / 4, 2), " <i></i> ",
                    short_number(largest, 2), "</p></figure>\n");
}

}  // namespace reel::apps
