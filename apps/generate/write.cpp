#include "apps/generate/write.h"

#include <memory>
#include <ostream>
#include <string>

#include "apps/common/interrupt.h"
#include "apps/training/eval_mode.h"
#include "autograd/error.h"
#include "autograd/utf8.h"

namespace reel::apps {
void write_tokens(nn::LanguageModel& model, const data::Tokens& prompt, std::int64_t length,
                  const nn::Sampling& sampling, Generator& generator, const std::function<bool(std::int32_t)>& each) {
  if (prompt.empty()) fail("write_tokens: the prompt is empty; need at least one token");
  const EvalMode mode(model);
  const std::unique_ptr<nn::Reader> reader = model.reader();
  data::Tokens fresh = prompt;
  for (std::int64_t i = 0; i < length; ++i) {
    fresh = {nn::sample(reader->read(fresh).to_vector(), sampling, generator)};
    if (!each(fresh[0])) break;
  }
}

void print_text(std::ostream& out, nn::LanguageModel& model, const data::Tokenizer& tokenizer,
                const data::Tokens& prompt, std::int64_t length, const nn::Sampling& sampling, Generator& generator) {
  // A token may be one byte of a character: a character is printed when the next one begins.
  std::string character;
  auto print = [&] { out << replace_invalid_utf8(character) << std::flush; };
  write_tokens(model, prompt, length, sampling, generator, [&](std::int32_t token) {
    const std::string piece = tokenizer.decode({&token, 1});
    if (begins_character(piece.front())) {
      print();
      character.clear();
    }
    character += piece;
    return !interrupted();
  });
  print();
}

data::Tokens default_prompt(const data::Tokenizer& tokenizer) {
  try {
    return tokenizer.encode("\n");
  } catch (const Error&) {
    return {0};
  }
}

}  // namespace reel::apps
