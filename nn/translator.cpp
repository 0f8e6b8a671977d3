#include "nn/translator.h"

#include "autograd/error.h"
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

void check_texts(const Ids& source, const Ids& target) {
  if (source.rank() != 2 || target.rank() != 2 || source.size(0) != target.size(0)) {
    fail("Translator: source is ", source.shape(), ", target is ", target.shape(), "; need (B, S) and (B, T)");
  }
}

}  // namespace

Tensor Translator::operator()(const Ids& source, const Ids& target) const {
  check_texts(source, target);
  return decode(encode(source), source, target);
}

Tensor Translator::packed(const Ids& source, const Ids& target) const {
  check_texts(source, target);
  return decode(encode(source), source, target, Packing(target, padding_));
}

Tensor Translator::decode(const Tensor& memory, const Ids& source, const Ids& target) const {
  const Packing all = Packing::whole(target.shape());
  return all.unpack(decode(memory, source, target, all));
}

std::unique_ptr<Translation> Translator::start(const Ids& source) const {
  return std::make_unique<WholeTranslation>(*this, source);
}

}  // namespace reel::nn
