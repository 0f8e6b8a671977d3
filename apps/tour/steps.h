#pragma once
// The steps of the tour, from the barest self-attention to a backward pass; each in a file of its own.
//
// They follow P. Bloem: "Transformers from scratch" (2019), and Vaswani et al.: "Attention is all you need" (2017).
// In all of them b is the batch, t time (the words of a sentence), h heads and k the width of a word's vector.
// Everything is computed in f64, and every step draws the same random numbers whichever steps came before it.

#include <iosfwd>
#include <string>
#include <vector>

namespace reel::apps {

struct Step {
  std::string name;
  std::string title;
  void (*show)(std::ostream& out);
};

/// In order; the first is number 1.
const std::vector<Step>& steps();

/// The index in steps() of a step by its number ("3") or its name. Throws UsageError where there is none.
std::size_t find_step(const std::string& word);

/// Heading, explanation, formulas, numbers.
void print_step(std::ostream& out, std::size_t index);

void show_basic(std::ostream& out);
void show_queries(std::ostream& out);
void show_scaling(std::ostream& out);
void show_heads(std::ostream& out);
void show_masks(std::ostream& out);
void show_positions(std::ostream& out);
void show_views(std::ostream& out);
void show_block(std::ostream& out);
void show_backward(std::ostream& out);

}  // namespace reel::apps
