#pragma once
// report.html: what a training run leaves for a person to look at. One page that needs nothing else: no script, no
// font, no image, no network. It is light or dark as the reader's browser is.
//
//     Report report("generate", "gtransformer on the built-in corpus");
//     report.highlights({{"validation loss", "1.47 nats"}});
//     report.section("Training");
//     report.curve("Loss", {{"train", points}, {"validation", few_points}});
//     report.section("Samples");
//     report.sample("before training", "xq?e");
//     report.write("runs/mine/report.html");
//
// The sections come in the order in which they are added.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/common/string_pairs.h"
#include "apps/report/chart.h"

namespace reel::apps {

class Report {
 public:
  /// All texts are shown as they are; none is taken as HTML.
  explicit Report(std::string_view title, std::string_view subtitle = "");

  /// A heading. What is added next belongs to it; `note` says how to read it.
  void section(std::string_view title, std::string_view note = "");

  /// A few results, name and value, in large print.
  void highlights(const StringPairs& results);
  /// Many small things, name and value: a configuration.
  void settings(const StringPairs& values);
  /// Throws where a row has not as many cells as the header.
  void table(std::string_view title, const std::vector<std::string>& header,
             const std::vector<std::vector<std::string>>& rows);
  /// A million points take no longer to show than a thousand; see chart.h.
  void curve(std::string_view title, const std::vector<Series>& series, const ChartOptions& options = {});
  /// A text, its line breaks and spaces kept.
  void sample(std::string_view title, std::string_view text);
  /// weights[i * column_tokens.size() + j]: how much row token i looks at column token j; see heat_map.h.
  void attention(std::string_view title, std::span<const std::string> row_tokens,
                 std::span<const std::string> column_tokens, std::span<const double> weights);

  std::string html() const;
  /// Replaces the file in one go: it is the old page or the new one, never half of either.
  void write(const std::filesystem::path& path) const;

 private:
  void add(std::string_view kind, const std::string& html);

  std::string title_;
  std::string body_;
  std::string open_group_;  // charts, samples and heat maps that follow each other share a grid
};

}  // namespace reel::apps
