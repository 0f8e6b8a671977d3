#include "nn/language_model.h"

#include "autograd/ops.h"

namespace reel::nn {
namespace {

class WholeWindow : public Reader {
 public:
  explicit WholeWindow(const LanguageModel& model) : Reader(model.context()), model_(model) {}

 private:
  Tensor next(std::span<const std::int32_t> window, std::size_t) override {
    return model_(Ids({1, std::ssize(window)}, {window.begin(), window.end()})).select(0, 0).select(0, -1);
  }

  const LanguageModel& model_;
};

}  // namespace

std::unique_ptr<Reader> LanguageModel::reader() const { return std::make_unique<WholeWindow>(*this); }

}  // namespace reel::nn
