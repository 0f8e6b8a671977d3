#include "apps/tour/steps.h"

#include <ostream>

#include "apps/common/nearest.h"
#include "apps/common/options.h"
#include "apps/common/terminal.h"
#include "apps/common/words.h"
#include "autograd/random.h"

namespace reel::apps {

const std::vector<Step>& steps() {
  static const std::vector<Step> all{
      {"basic", "Self-attention: two products and a softmax", show_basic},
      {"queries", "Queries, keys and values", show_queries},
      {"scaling", "Why scores are divided by √k", show_scaling},
      {"heads", "Several heads, folded into the batch", show_heads},
      {"masks", "Masks: who may look at whom", show_masks},
      {"positions", "Positions: where a word stands", show_positions},
      {"views", "Views: contiguous, view and reshape", show_views},
      {"block", "A transformer block, shape by shape", show_block},
      {"backward", "A backward pass: the tape, read from its end", show_backward},
  };
  return all;
}

std::size_t find_step(const std::string& word) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < steps().size(); ++i) {
    if (word == steps()[i].name || word == std::to_string(i + 1)) return i;
    names.push_back(steps()[i].name);
  }
  const std::string nearest = nearest_name(word, names);
  fail<UsageError>("there is no step ", in_quotes(word), "; ",
                   nearest.empty() ? "-h lists the steps" : text("did you mean ", nearest, "?"));
}

void print_step(std::ostream& out, std::size_t index) {
  const Step& step = steps()[index];
  const std::string heading = text(index + 1, ". ", step.title);
  out << heading << '\n' << std::string(static_cast<std::size_t>(display_width(heading)), '=') << "\n\n";
  manual_seed(1);
  step.show(out);
}

}  // namespace reel::apps
