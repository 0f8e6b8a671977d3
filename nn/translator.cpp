#include "nn/translator.h"

#include "autograd/ops.h"
#include "nn/rows.h"

namespace reel::nn {
namespace {

class WholeTranslation : public Translation {
 public:
  WholeTranslation(const Translator& model, const Ids& source)
      : model_(model), source_(source), memory_(model.encode(source)), target_(Ids::zeros({source.size(0), 0})) {}

  Tensor extend(const Ids& rows, const Ids& tokens) override {
    const Ids source = pick_rows(source_, rows), target = append_column(pick_rows(target_, rows), tokens);
    const Tensor memory = pick_rows(memory_, rows);
    const Tensor logits = model_.decode(memory, source, target).select(1, -1);
    source_ = source;
    memory_ = memory;
    target_ = target;
    return logits;
  }

 private:
  const Translator& model_;
  Ids source_;
  Tensor memory_;
  Ids target_;
};

}  // namespace

Tensor Translator::decode(const Tensor& memory, const Ids& source, const Ids& target) const {
  const Packing all = Packing::whole(target.shape());
  return all.unpack(decode(memory, source, target, all));
}

std::unique_ptr<Translation> Translator::start(const Ids& source) const {
  return std::make_unique<WholeTranslation>(*this, source);
}

}  // namespace reel::nn
