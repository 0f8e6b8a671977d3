#include "nn/gtransformer.h"

#include <utility>

#include "nn/rows.h"
#include "tests/nn/parameters.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

TEST_CASE("gtransformer: names and shapes") {
  manual_seed(20);
  const GTransformer model({.vocabulary = 7, .context = 5, .embedding = 4, .heads = 2, .depth = 2});
  const std::vector<std::string> all = names(model);
  REQUIRE(all.size() == 2 + 2 + 2 * 13 + 2);
  CHECK(all[0] == "token_embedding.weight");
  CHECK(all[1] == "pos_embedding.weight");
  CHECK(all[3] == "unify_embeddings.bias");
  CHECK(all[4] == "tblocks.0.attention.tokeys.weight");
  CHECK(all[17] == "tblocks.1.attention.tokeys.weight");
  CHECK(all.back() == "toprobs.bias");
  CHECK(model.state_dict()[2].second.shape() == Shape{4, 8});
  CHECK(model.context() == 5);
  CHECK(model(random_ids({3, 4}, 7, 1)).shape() == Shape{3, 4, 7});
}

TEST_CASE("gtransformer: token and position embeddings lie next to each other") {
  manual_seed(21);
  const GTransformer model(
      {.vocabulary = 7, .context = 5, .embedding = 4, .heads = 2, .depth = 0, .dtype = DType::f64});
  const Tensor token = model.token_embedding.weight.select(0, 3), position = model.pos_embedding.weight.select(0, 1);
  const Tensor last = model.toprobs(model.unify_embeddings(cat({token, position}, 0)));
  const Values expected = log_softmax(last, 0).to_vector();
  const Values got = model(Ids({1, 2}, {6, 3})).select(0, 0).select(0, 1).to_vector();
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]).epsilon(1e-12));
}

TEST_CASE("gtransformer: goes on from what it has kept of earlier tokens") {
  manual_seed(46);
  const Ids tokens = random_ids({3, 12}, 7, 3);
  auto columns = [&](int64_t begin, int64_t end) {
    Ids part = Ids::zeros({3, 0});
    for (int64_t t = begin; t < end; ++t) {
      part = append_column(part, Ids({3}, {tokens.data()[t], tokens.data()[12 + t], tokens.data()[24 + t]}));
    }
    return part;
  };
  for (DType dtype : {DType::f32, DType::f64}) {
    for (Norm norm : {Norm::post, Norm::pre}) {
      for (int64_t depth : {0, 1, 3}) {
        CAPTURE(dtype, depth);
        const GTransformer model({.vocabulary = 7,
                                  .context = 12,
                                  .embedding = 8,
                                  .heads = 2,
                                  .depth = depth,
                                  .norm = norm,
                                  .activation = Activation::gelu,
                                  .dtype = dtype});
        const Tensor whole = model(tokens);
        for (int64_t piece : {1, 3, 4, 12}) {
          GTransformer::Past past;
          for (int64_t end = piece; end <= 12; end += piece) {
            const Tensor next = model.next(columns(end - piece, end), past);
            CHECK(past.length == end);
            CHECK(close(next, whole.select(1, end - 1), dtype == DType::f32 ? 1e-5 : 1e-12));
          }
        }
      }
    }
  }
}

TEST_CASE("gtransformer: keeps nothing beyond its context, or for a tape") {
  manual_seed(47);
  const GTransformer model({.vocabulary = 7, .context = 5, .embedding = 4, .heads = 2, .depth = 2});
  GTransformer::Past past;
  {
    Tape tape;
    CHECK_THROWS_WITH(model.next(random_ids({1, 3}, 7, 4), past),
                      ContainsSubstring("a tape is recording") && ContainsSubstring("under NoGrad"));
    CHECK(tape.to_string() == "");  // what is refused leaves nothing behind
    const NoGrad no_grad;
    GTransformer::Past other;
    CHECK(model.next(random_ids({1, 3}, 7, 4), other).shape() == Shape{1, 7});
  }
  model.next(random_ids({1, 3}, 7, 4), past);
  CHECK_THROWS_WITH(model.next(random_ids({1, 3}, 7, 5), past),
                    ContainsSubstring("a text of 6 tokens is longer than the model's 5"));
  CHECK(past.length == 3);
}

TEST_CASE("gtransformer: a reader goes on from before a tape that was in its way") {
  manual_seed(48);
  const GTransformer model({.vocabulary = 7, .context = 6, .embedding = 8, .heads = 2, .depth = 2});
  const Ids text = random_ids({15}, 7, 6);
  const std::unique_ptr<Reader> reader = model.reader(), undisturbed = model.reader();
  for (const std::int32_t& token : text.values()) {
    {
      Tape tape;
      CHECK_THROWS_WITH(reader->read({&token, 1}), ContainsSubstring("a tape is recording"));
    }
    CHECK(close(reader->read({&token, 1}), undisturbed->read({&token, 1}), 1e-5));
  }
}

TEST_CASE("gtransformer: a past that a tape kept empty knows nothing of the weights of then") {
  manual_seed(49);
  const GTransformer model({.vocabulary = 7, .context = 5, .embedding = 4, .heads = 2, .depth = 2});
  const Ids tokens = random_ids({1, 3}, 7, 7);
  GTransformer::Past refused, fresh;
  {
    Tape tape;
    CHECK_THROWS_WITH(model.next(tokens, refused), ContainsSubstring("a tape is recording"));
  }
  for (const Tensor& weight : model.parameters()) copy(normal(weight.shape(), 50, DType::f32), weight);
  CHECK(same_bits(model.next(tokens, refused), model.next(tokens, fresh)));
}

TEST_CASE("gtransformer: what a call that broke off halfway was given has not been read") {
  manual_seed(51);
  GTransformer model({.vocabulary = 7, .context = 6, .embedding = 8, .heads = 2, .depth = 2, .dtype = DType::f64});
  const Ids text = random_ids({15}, 7, 8), others = random_ids({2}, 7, 9);
  // The first block has kept all tokens when the second one finds weights of another shape; all have, at the end.
  for (Tensor* weight : {&model.tblocks[1].norm1.weight, &model.toprobs.weight}) {
    const std::unique_ptr<Reader> reader = model.reader(), undisturbed = model.reader();
    GTransformer::Past past, undisturbed_past;
    for (int64_t i = 0; i < text.numel(); ++i) {
      const std::int32_t token = text.data()[i];
      const Tensor right = std::exchange(*weight, zeros({2, 2}, DType::f64));
      CHECK_THROWS_AS(reader->read(others.values()), Error);
      if (i < 4) CHECK_THROWS_AS(model.next(others.view({1, 2}), past), Error);
      *weight = right;
      CHECK(close(reader->read({&token, 1}), undisturbed->read({&token, 1})));
      if (i < 4) {
        CHECK(same_bits(model.next(Ids({1, 1}, {token}), past), model.next(Ids({1, 1}, {token}), undisturbed_past)));
      }
    }
  }
}

TEST_CASE("gtransformer: nothing comes after nothing") {
  const GTransformer model({.vocabulary = 7, .context = 5, .embedding = 4, .heads = 2, .depth = 1});
  GTransformer::Past past;
  CHECK_THROWS_WITH(model.next(Ids::zeros({2, 0}), past), ContainsSubstring("need at least one token"));
  CHECK(model.next(Ids::zeros({2, 1}), past).shape() == Shape{2, 7});
  CHECK_THROWS_WITH(model.next(Ids::zeros({2, 0}), past), ContainsSubstring("need at least one token"));
  GTransformer::Past of_none;
  CHECK(model.next(Ids::zeros({0, 2}), of_none).shape() == Shape{0, 7});
}

TEST_CASE("gtransformer: gradients of every parameter") {
  manual_seed(22);
  const GTransformer model(
      {.vocabulary = 5, .context = 4, .embedding = 3, .heads = 2, .depth = 2, .dtype = DType::f64});
  const Ids tokens = random_ids({2, 4}, 5, 2);
  CHECK(check_parameters(model, [&] { return model(tokens); }).problem == "");
}
