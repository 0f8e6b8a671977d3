// What every model that translates has to keep, tried with all of them.

#include "nn/translator.h"

#include "nn/recurrent_translator.h"
#include "nn/rows.h"
#include "nn/transformer.h"
#include "tests/nn/training.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

constexpr std::int32_t pad = 0;

struct Size {
  int64_t vocabulary, width;
  double dropout = 0;
  DType dtype = DType::f64;
};

struct Named {
  std::string name;
  std::unique_ptr<Translator> model;
};

std::vector<Named> all_models(const Size& s) {
  Transformer::Config published{.source_vocabulary = s.vocabulary,
                                .target_vocabulary = s.vocabulary,
                                .length = 32,
                                .width = s.width,
                                .heads = 2,
                                .hidden = 2 * s.width,
                                .depth = 2,
                                .dropout = s.dropout,
                                .dtype = s.dtype};
  Transformer::Config pre = published;
  pre.positions = Transformer::Positions::learned;
  pre.norm = Norm::pre;
  pre.tie_projection = true;
  std::vector<Named> models;
  models.push_back({"Transformer", std::make_unique<Transformer>(published)});
  models.push_back({"Transformer, pre-norm, learned positions, tied", std::make_unique<Transformer>(pre)});
  models.push_back({"RecurrentTranslator",
                    std::make_unique<RecurrentTranslator>(RecurrentTranslator::Config{.source_vocabulary = s.vocabulary,
                                                                                      .target_vocabulary = s.vocabulary,
                                                                                      .width = s.width,
                                                                                      .dropout = s.dropout,
                                                                                      .dtype = s.dtype})});
  return models;
}

/// Texts (B, T) of random words, no pad among them, cut to random lengths and padded.
Ids random_texts(int64_t B, int64_t T, int64_t vocabulary, std::uint64_t seed) {
  Ids tokens = random_ids({B, T}, vocabulary - 1, seed);
  const Ids lengths = random_ids({B}, T, seed + 1);
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t t = 0; t < T; ++t) {
      std::int32_t& token = tokens.data()[b * T + t];
      token = t <= lengths.data()[b] ? token + 1 : pad;
    }
  }
  return tokens;
}

struct Pairs {
  Ids source, target, next;
};

/// Random pairs. Each source and target starts with a word of its own, so that what comes next can be known.
Pairs random_pairs(int64_t B, int64_t S, int64_t T, int64_t vocabulary) {
  Pairs pairs{random_texts(B, S, vocabulary, 1), random_texts(B, T, vocabulary, 3), Ids::zeros({B, T})};
  for (int64_t b = 0; b < B; ++b) {
    pairs.source.data()[b * S] = static_cast<std::int32_t>(1 + b % (vocabulary - 1));
    pairs.target.data()[b * T] = pairs.source.data()[b * S];
    std::copy_n(pairs.target.data() + b * T + 1, T - 1, pairs.next.data() + b * T);
  }
  return pairs;
}

Tensor loss_of(const Translator& model, const Pairs& pairs) {
  return cross_entropy(model.packed(pairs.source, pairs.target), Packing(pairs.target, pad).pack(pairs.next));
}

/// tokens (B, T) with `more` pad tokens after each text.
Ids padded(const Ids& tokens, int64_t more) {
  const int64_t B = tokens.size(0), T = tokens.size(1);
  Ids result = Ids::zeros({B, T + more});
  for (int64_t b = 0; b < B; ++b) std::copy_n(tokens.data() + b * T, T, result.data() + b * (T + more));
  return result;
}

}  // namespace

TEST_CASE("translators: logits of every token at every position") {
  manual_seed(110);
  const Ids source = random_texts(3, 6, 9, 5), target = random_texts(3, 4, 9, 7);
  for (const auto& [name, model] : all_models({9, 8})) {
    INFO(name);
    CHECK((*model)(source, target).shape() == Shape{3, 4, 9});
    const Tensor memory = model->encode(source);
    CHECK(memory.size(0) == 3);
    CHECK(same_bits(model->decode(memory, source, target), (*model)(source, target)));
  }
}

TEST_CASE("translators: packed, they say the same after all tokens that are not padding") {
  manual_seed(131);
  const Ids source = random_texts(3, 6, 9, 5), target = random_texts(3, 4, 9, 7);
  const Packing tokens(target, pad);
  for (const auto& [name, model] : all_models({9, 8})) {
    INFO(name);
    CHECK(close(model->packed(source, target), tokens.pack((*model)(source, target))));
    CHECK(model->packed(source, target).size(0) < 12);
  }
}

TEST_CASE("translators: neither the future nor another text changes a bit, the source does") {
  manual_seed(111);
  const Ids source({2, 3}, {1, 2, 3, 4, 5, 6}), target({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  for (const auto& [name, model] : all_models({9, 8})) {
    INFO(name);
    const Tensor before = (*model)(source, target);
    for (int64_t t = 0; t < 4; ++t) {
      Ids changed({2, 4}, to_vector(target));
      changed.data()[t] = 9 - changed.data()[t];
      const Tensor after = (*model)(source, changed);
      CHECK(same_bits(before.select(0, 0).slice(0, 0, t), after.select(0, 0).slice(0, 0, t)));
      CHECK_FALSE(same_bits(before.select(0, 0).select(0, t), after.select(0, 0).select(0, t)));
      CHECK(same_bits(before.select(0, 1), after.select(0, 1)));
    }
    const Tensor after = (*model)(Ids({2, 3}, {1, 2, 8, 4, 5, 6}), target);
    for (int64_t t = 0; t < 4; ++t)
      CHECK_FALSE(same_bits(before.select(0, 0).select(0, t), after.select(0, 0).select(0, t)));
    CHECK(same_bits(before.select(0, 1), after.select(0, 1)));
  }
}

TEST_CASE("translators: a text is translated the same, however much its batch is padded") {
  manual_seed(112);
  const Ids source({2, 3}, {1, 2, 3, 4, 5, pad}), target({2, 3}, {6, 7, pad, 8, 1, 2});
  for (const auto& [name, model] : all_models({9, 8})) {
    INFO(name);
    const Tensor y = (*model)(source, target);
    CHECK(close((*model)(padded(source, 2), target), y));
    CHECK(close((*model)(source, padded(target, 2)).slice(1, 0, 3), y));
    // alone, as in no batch
    CHECK(close((*model)(Ids({1, 2}, {4, 5}), Ids({1, 3}, {8, 1, 2})).select(0, 0), y.select(0, 1)));
    CHECK(close((*model)(Ids({1, 3}, {1, 2, 3}), Ids({1, 2}, {6, 7})).select(0, 0), y.select(0, 0).slice(0, 0, 2)));
  }
}

TEST_CASE("translators: token by token they say what they say of all, whichever rows go on") {
  manual_seed(128);
  Generator generator(1);
  for (DType dtype : {DType::f32, DType::f64}) {
    for (const auto& [name, model] : all_models({9, 8, 0, dtype})) {
      for (int64_t sources : {1, 3}) {
        CAPTURE(name, dtype, sources);
        const Ids source = random_texts(sources, 6, 9, 9);
        const Tensor memory = model->encode(source);
        const std::unique_ptr<Translation> kept = model->start(source);
        const std::unique_ptr<Translation> whole = model->Translator::start(source);
        Ids origin = Ids::arange(sources).view({sources, 1}), target = Ids::zeros({sources, 0});
        for (int64_t T = 1; T <= 10; ++T) {
          // Mostly all rows go on as they are; sometimes they are dropped, repeated and exchanged.
          const int64_t before = target.size(0), now = generator.below(2) == 0 ? before : 1 + generator.below(4);
          const Ids order = now == before && generator.below(2) == 0
                                ? Ids::arange(now)
                                : random_ids({now}, before, static_cast<std::uint64_t>(T));
          const Ids tokens = random_ids({now}, 9, 100 + static_cast<std::uint64_t>(T));  // pads, too
          origin = pick_rows(origin, order);
          target = append_column(pick_rows(target, order), tokens);
          const Ids places = origin.view({now});
          const Tensor expected =
              model->decode(pick_rows(memory, places), pick_rows(source, places), target).select(1, -1);
          const double margin = dtype == DType::f32 ? 1e-5 : 1e-12;
          CHECK(close(kept->extend(order, tokens), expected, margin));
          CHECK(close(whole->extend(order, tokens), expected, margin));
        }
      }
    }
  }
}

TEST_CASE("translators: a translation goes on from before what it has refused") {
  manual_seed(132);
  const Ids source({2, 3}, {1, 2, 3, 4, 5, pad}), swapped({2}, {1, 0});
  for (const auto& [name, model] : all_models({9, 8})) {
    for (bool whole : {false, true}) {
      CAPTURE(name, whole);
      auto start = [&, &f = *model] { return whole ? f.Translator::start(source) : f.start(source); };
      const std::unique_ptr<Translation> translation = start(), undisturbed = start();
      for (std::uint64_t t = 0; t < 4; ++t) {
        const Ids tokens = random_ids({2}, 9, 20 + t);
        CHECK_THROWS_AS(translation->extend(swapped, Ids({2}, {1, 9})), Error);  // no such word
        CHECK_THROWS_AS(translation->extend(Ids({2}, {0, 2}), tokens), Error);   // no such row
        CHECK_THROWS_AS(translation->extend(swapped, Ids({1}, {1})), Error);     // one word for two rows
        CHECK(same_bits(translation->extend(swapped, tokens), undisturbed->extend(swapped, tokens)));
      }
    }
  }
}

TEST_CASE("translators: what a pad token holds changes no bit at real positions") {
  manual_seed(113);
  const Ids source({2, 3}, {1, 2, pad, 4, 5, 6}), target({2, 3}, {6, 7, pad, 8, 1, 2});
  for (const auto& [name, model] : all_models({9, 8})) {
    INFO(name);
    // How probable a pad is may change, where the projection is tied: the logits of words are looked at.
    auto logits = [&, &f = *model] { return f(source, target).slice(2, 1, 9); };
    const Tensor before = logits();
    for (const auto& [key, weight] : model->state_dict()) {
      if (key.ends_with("word_emb.weight")) overwrite_row(weight, pad);
    }
    const Tensor after = logits();
    CHECK(same_bits(before.select(0, 0).slice(0, 0, 2), after.select(0, 0).slice(0, 0, 2)));
    CHECK(same_bits(before.select(0, 1), after.select(0, 1)));
  }
}

TEST_CASE("translators: a source of nothing but padding yields numbers, and finite gradients") {
  manual_seed(114);
  const Ids source({2, 2}, {pad, pad, 1, 2}), target({2, 2}, {1, 2, pad, pad});
  for (const auto& [name, model] : all_models({9, 8})) {
    INFO(name);
    Tape tape;
    const Tensor y = (*model)(source, target);
    CHECK(all_finite(y));
    tape.backward(sum(y * y));
    for (const Tensor& parameter : model->parameters()) {
      if (parameter.grad().defined()) CHECK(all_finite(parameter.grad()));
    }
  }
}

TEST_CASE("translators: no texts, or texts without tokens, are no reason to fail") {
  manual_seed(133);
  struct Sizes {
    int64_t B, S, T;
  };
  for (const auto& [B, S, T] : {Sizes{0, 3, 2}, Sizes{2, 0, 2}, Sizes{2, 3, 0}, Sizes{2, 0, 0}, Sizes{0, 0, 0}}) {
    const Ids source = random_ids({B, S}, 9, 10), target = random_ids({B, T}, 9, 11);
    for (const auto& [name, model] : all_models({9, 8})) {
      CAPTURE(name, B, S, T);
      model->zero_grad();
      Tape tape;
      const Tensor y = (*model)(source, target);
      REQUIRE(y.shape() == Shape{B, T, 9});
      CHECK(all_finite(y));
      CHECK(model->packed(source, target).size(1) == 9);
      tape.backward(sum(y * y));
      for (const Tensor& parameter : model->parameters()) {
        if (parameter.has_grad()) CHECK(all_finite(parameter.grad()));
      }
    }
  }
}

TEST_CASE("translators: every parameter gets a gradient") {
  manual_seed(115);
  const Pairs pairs = random_pairs(6, 5, 4, 9);
  for (const auto& [name, model] : all_models({9, 8})) {
    INFO(name);
    check_every_parameter_gets_a_gradient(*model, [&, &f = *model] { return loss_of(f, pairs); });
  }
}

TEST_CASE("translators: drop in training only") {
  manual_seed(116);
  const Pairs pairs = random_pairs(2, 5, 4, 9);
  for (const auto& [name, model] : all_models({9, 8, 0.3, DType::f32})) {
    INFO(name);
    check_drops_in_training_only(*model, [&, &f = *model] { return f(pairs.source, pairs.target); });
  }
}

TEST_CASE("translators: learn random pairs by heart") {
  manual_seed(117);
  const Pairs pairs = random_pairs(32, 6, 5, 40);
  for (const auto& [name, model] : all_models({40, 32, 0, DType::f32})) {
    INFO(name);
    CHECK(loss_of(*model, pairs).item() > 3);  // log 40 = 3.69
    CHECK(learn(
              *model, [&, &f = *model] { return loss_of(f, pairs); }, 200) <= 0.05);
  }
}

TEST_CASE("translators: train to the same bits on any number of threads") {
  const Pairs pairs = random_pairs(16, 20, 18, 600);
  for (std::size_t i = 0; i < 3; ++i) {
    auto make = [&] { return std::move(all_models({600, 64, 0.1, DType::f32})[i].model); };
    check_same_bits_on_any_number_of_threads(make, [&](const Translator& model) { return loss_of(model, pairs); });
  }
}

TEST_CASE("translators: memory does not grow over steps") {
  manual_seed(118);
  const Pairs pairs = random_pairs(4, 5, 4, 9);
  for (const auto& [name, model] : all_models({9, 8, 0.1, DType::f32})) {
    INFO(name);
    check_memory_does_not_grow(*model, [&, &f = *model] { return loss_of(f, pairs); });
  }
}

TEST_CASE("translators: refuse what they cannot read") {
  manual_seed(119);
  const Ids good({1, 2}, {1, 2});
  for (const auto& [name, model] : all_models({9, 8})) {
    INFO(name);
    CHECK_THROWS_AS((*model)(Ids({1, 2}, {1, 9}), good), Error);
    CHECK_THROWS_AS((*model)(good, Ids({1, 2}, {1, -1})), Error);
    const auto needs = ContainsSubstring("need (B, S) and (B, T)");
    CHECK_THROWS_WITH((*model)(Ids({1, 2}), good), needs);
    CHECK_THROWS_WITH((*model)(good, Ids({1, 2})), needs);
    const auto two_targets =
        ContainsSubstring("Translator: source is (1, 2), target is (2, 2); need (B, S) and (B, T)");
    CHECK_THROWS_WITH((*model)(good, Ids::zeros({2, 2})), two_targets);
    CHECK_THROWS_WITH(model->packed(good, Ids::zeros({2, 2})), two_targets);
  }
}
