// tour: attention and transformers, one step after another, with numbers.

#include <iostream>

#include "apps/common/command.h"
#include "apps/tour/page.h"
#include "apps/tour/steps.h"

namespace reel::apps {
namespace {

void list_steps() {
  std::vector<Words> rows;
  for (std::size_t i = 0; i < steps().size(); ++i) rows.push_back({text(i + 1), steps()[i].name, steps()[i].title});
  std::cout << "\nSteps:\n";
  for (const std::string& line : align(rows, 3)) std::cout << "  " << line << '\n';
}

void tour(const Verb::Parse& parse) {
  std::vector<std::string> words;
  Options options;
  options.add_arguments(&words, "STEP", "steps to show, by number or name; without any, all of them");
  if (!parse(options)) {
    list_steps();
    return;
  }

  std::vector<std::size_t> chosen;
  for (const std::string& word : words) chosen.push_back(find_step(word));
  for (std::size_t i = 0; words.empty() && i < steps().size(); ++i) chosen.push_back(i);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (i > 0) std::cout << "\n\n";
    print_step(std::cout, chosen[i]);
  }
}

}  // namespace
}  // namespace reel::apps

int main(int argc, char** argv) {
  using namespace reel::apps;
  return run_program({"tour", "", {{"", "Attention and transformers, step by step, with numbers.", tour}}}, argc, argv);
}
