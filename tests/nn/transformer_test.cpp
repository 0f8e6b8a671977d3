#include "nn/transformer.h"

#include "nn/positions.h"
#include "tests/nn/training.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

using Config = Transformer::Config;
using Positions = Transformer::Positions;

constexpr std::int32_t pad = 0;

Config small() {
  return {.source_vocabulary = 7,
          .target_vocabulary = 6,
          .length = 5,
          .width = 4,
          .heads = 2,
          .hidden = 3,
          .depth = 1,
          .dropout = 0,
          .dtype = DType::f64};
}

Config pre_norm() {
  Config config = small();
  config.positions = Positions::learned;
  config.norm = Norm::pre;
  config.tie_projection = true;
  return config;
}

}  // namespace

TEST_CASE("transformer: names") {
  const Transformer model(small());
  const std::vector<std::string> attention{"w_qs.weight", "w_ks.weight",       "w_vs.weight",
                                           "fc.weight",   "layer_norm.weight", "layer_norm.bias"};
  const std::vector<std::string> feed_forward{"w_1.weight", "w_1.bias",          "w_2.weight",
                                              "w_2.bias",   "layer_norm.weight", "layer_norm.bias"};
  std::vector<std::string> expected;
  auto add = [&](const std::string& prefix, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) expected.push_back(prefix + key);
  };
  add("encoder.", {"src_word_emb.weight", "position_enc.pos_table", "layer_norm.weight", "layer_norm.bias"});
  add("encoder.layer_stack.0.slf_attn.", attention);
  add("encoder.layer_stack.0.pos_ffn.", feed_forward);
  add("decoder.", {"trg_word_emb.weight", "position_enc.pos_table", "layer_norm.weight", "layer_norm.bias"});
  add("decoder.layer_stack.0.slf_attn.", attention);
  add("decoder.layer_stack.0.enc_attn.", attention);
  add("decoder.layer_stack.0.pos_ffn.", feed_forward);
  add("", {"trg_word_prj.weight"});
  CHECK(names(model) == expected);
  CHECK(names(Transformer(pre_norm())) == expected);
}

TEST_CASE("transformer: sines and cosines are not trained, learned positions are") {
  const Transformer fixed(small()), learned(pre_norm());
  CHECK_FALSE(fixed.encoder.frame.pos_table.requires_grad());
  CHECK(fixed.encoder.frame.pos_table.shape() == Shape{1, 5, 4});
  CHECK(same_bits(fixed.decoder.frame.pos_table.select(0, 0), sinusoidal_positions(5, 4, DType::f64)));
  CHECK(learned.encoder.frame.pos_table.requires_grad());
  CHECK(learned.decoder.frame.pos_table.shape() == Shape{1, 5, 4});
  CHECK_FALSE(learned.encoder.frame.pos_table.same(learned.decoder.frame.pos_table));
}

TEST_CASE("transformer: what stands around the layers") {
  manual_seed(120);
  const Ids tokens({1, 2}, {3, 5}), times({1, 2}, {1, 0});
  const Tensor table = rows(sinusoidal_positions(2, 4, DType::f64), 0, {1, 0});
  auto rows_of = [](const Embedding& embedding) { return embedding(Ids({1, 2}, {3, 5})); };

  const Transformer post(small());
  const Transformer::Frame& after = post.encoder.frame;
  CHECK(close(after.embed(tokens, times), (*after.layer_norm)(rows_of(after.word_emb) * 2.0 + table)));  // √4
  CHECK(after.final_norm(table).same(table));

  Config config = small();
  config.norm_embeddings = false;
  const Transformer bare(config);
  CHECK(close(bare.encoder.frame.embed(tokens, times), rows_of(bare.encoder.frame.word_emb) * 2.0 + table));
  CHECK(bare.decoder.frame.final_norm(table).same(table));
  CHECK(names(bare).size() + 4 == names(post).size());  // two scales and two shifts fewer

  config.norm = Norm::pre;  // which needs one at the end
  config.scale_embeddings = false;
  const Transformer pre(config);
  const Transformer::Frame& before = pre.decoder.frame;
  CHECK(close(before.embed(tokens, times), rows_of(before.word_emb) + table));
  CHECK(same_bits(before.final_norm(table), (*before.layer_norm)(table)));
}

TEST_CASE("transformer: words and positions start so that neither drowns the other") {
  manual_seed(131);
  Config config{.source_vocabulary = 300, .target_vocabulary = 200, .length = 50, .width = 64, .heads = 2, .depth = 1};
  auto deviation = [](const Tensor& table) { return std::sqrt(mean(table * table).item()); };
  for (bool scaled : {true, false}) {
    config.scale_embeddings = scaled;
    CHECK(deviation(Transformer(config).encoder.frame.word_emb.weight) == Approx(scaled ? 1.0 / 8 : 1).epsilon(0.03));
  }
  config.positions = Positions::learned;
  const Transformer learned(config);
  CHECK(deviation(learned.decoder.frame.word_emb.weight) == Approx(0.02).epsilon(0.03));
  CHECK(deviation(learned.decoder.frame.pos_table) == Approx(1.0 / 8).epsilon(0.05));
}

TEST_CASE("transformer: begins by taking all words for about equally probable, whatever its options") {
  constexpr int64_t V = 200;
  const Ids source = random_ids({8, 12}, V, 1), target = random_ids({8, 12}, V, 2), next = random_ids({8, 12}, V, 3);
  for (unsigned combination = 0; combination < 32; ++combination) {
    CAPTURE(combination);
    auto chosen = [&](unsigned option) { return (combination >> option & 1) != 0; };
    manual_seed(132);
    const Transformer model({.source_vocabulary = V,
                             .target_vocabulary = V,
                             .length = 12,
                             .width = 64,
                             .heads = 2,
                             .hidden = 64,
                             .depth = 2,
                             .positions = chosen(0) ? Positions::learned : Positions::sinusoidal,
                             .norm = chosen(1) ? Norm::pre : Norm::post,
                             .scale_embeddings = chosen(2),
                             .norm_embeddings = chosen(3),
                             .tie_projection = chosen(4)});
    CHECK(cross_entropy(model(source, target), next).item() < 2 * std::log(V));
  }
}

TEST_CASE("transformer: drops of the embeddings with their positions") {
  Config config = small();
  config.norm = Norm::pre;
  config.dropout = 1;
  const Transformer model(config);
  CHECK(model.encoder.frame.embed(Ids({1, 2}, {3, 5}), Ids({1, 2}, {0, 1})).to_vector() == Values(8, 0));
}

TEST_CASE("transformer: encoder and decoder are their layers, one after another") {
  manual_seed(121);
  Config config = small();
  config.depth = 2;
  const Transformer model(config);
  const Ids source({2, 3}, {1, 2, 3, 4, pad, pad}), target({2, 2}, {1, 2, 3, pad});
  const Packing of_source(source, pad), of_target(target, pad);
  const Mask hide_source = Mask::padding(source, pad), hide_target = Mask::padding(target, pad) & Mask::causal();
  Tensor memory = model.encoder.frame.embed(source, Ids({2, 3}, {0, 1, 2, 0, 1, 2}));
  for (const auto& layer : model.encoder.layer_stack) {
    memory = layer.pos_ffn(layer.slf_attn(memory, hide_source).output);
  }
  // Here the maps are kept, and padding goes through all layers.
  CHECK(close(of_source.pack(model.encode(source)), of_source.pack(memory)));
  Tensor x = model.decoder.frame.embed(target, Ids({2, 2}, {0, 1, 0, 1}));
  for (const auto& layer : model.decoder.layer_stack) {
    x = layer.slf_attn(x, hide_target).output;
    x = layer.pos_ffn(layer.enc_attn(x, memory, hide_source).output);
  }
  CHECK(close(model.decode(memory, source, target), model.trg_word_prj(x)));
  CHECK(close(model.decode(memory, source, target, of_target), of_target.pack(model.trg_word_prj(x))));
}

TEST_CASE("transformer: a tied projection is the target's embedding under a second name") {
  const Transformer tied(pre_norm());
  CHECK(tied.trg_word_prj.weight.same(tied.decoder.frame.word_emb.weight));
  Config config = pre_norm();
  config.tie_projection = false;
  const Transformer free(config);
  CHECK(names(tied) == names(free));
  CHECK(tied.parameters().size() + 1 == free.parameters().size());
  CHECK(tied.parameter_count() + 6 * 4 == free.parameter_count());
}

TEST_CASE("transformer: a translation goes on from before what was in its way") {
  manual_seed(133);
  const Transformer model(small());
  const Ids source({2, 3}, {1, 2, 3, 4, 5, pad}), swapped({2}, {1, 0}), tokens({2}, {3, 4});
  const std::unique_ptr<Translation> translation = model.start(source), undisturbed = model.start(source);
  for (int t = 0; t < 5; ++t) {
    {
      Tape tape;
      CHECK_THROWS_WITH(translation->extend(swapped, tokens), ContainsSubstring("a tape is recording"));
      CHECK(tape.to_string() == "");
    }
    CHECK(same_bits(translation->extend(swapped, tokens), undisturbed->extend(swapped, tokens)));
  }
  CHECK_THROWS_WITH(translation->extend(swapped, tokens), ContainsSubstring("longer than the model's 5"));
}

TEST_CASE("transformer: gradients of every parameter") {
  manual_seed(122);
  const Ids source({2, 3}, {1, 2, 3, 4, 5, pad}), target({2, 3}, {1, 2, pad, 3, 4, 5});
  for (const Config& config : {small(), pre_norm()}) {
    const Transformer model(config);
    CHECK(check_parameters(model, [&] { return model(source, target); }).problem == "");
  }
}

TEST_CASE("transformer: attention maps of all three kinds") {
  manual_seed(123);
  Config config = small();
  config.depth = 2;
  const Transformer model(config);
  const Ids source({2, 4}, {1, 2, 3, 4, 5, 6, pad, pad}), target({2, 3}, {1, 2, 3, 4, 5, pad});
  const Transformer::Maps maps = model.attention_maps(source, target);
  auto check = [&](const std::vector<Tensor>& all, const Ids& keys, bool causal) {
    REQUIRE(all.size() == 2);
    for (const Tensor& map : all) {
      const int64_t queries = map.size(2), S = keys.size(1);
      REQUIRE(map.shape() == Shape{2, 2, queries, S});
      for (double total : sum(map, {3}).to_vector()) CHECK(total == Approx(1));
      const Values weights = map.to_vector();
      for (std::size_t i = 0; i < weights.size(); ++i) {
        const auto at = static_cast<int64_t>(i), key = at % S, query = at / S % queries, b = at / (S * queries * 2);
        const bool hidden = keys.data()[b * S + key] == pad || (causal && key > query);
        CHECK((hidden ? weights[i] == 0 : weights[i] > 0));
      }
    }
  };
  check(maps.encoder, source, false);
  check(maps.decoder, target, true);
  check(maps.cross, source, false);
  CHECK(maps.encoder[0].size(2) == 4);
  CHECK(maps.cross[0].size(2) == 3);
}

TEST_CASE("transformer: without positions, shuffling the source shuffles the memory and changes no translation") {
  manual_seed(124);
  const std::vector<int64_t> order{2, 0, 3, 1};
  const Ids source({1, 4}, {1, 2, 3, 4}), shuffled({1, 4}, {3, 1, 4, 2}), target({1, 2}, {1, 2});
  for (const Config& config : {small(), pre_norm()}) {
    const Transformer model(config);
    CHECK_FALSE(close(model.encode(shuffled), rows(model.encode(source), 1, order), 1e-6));
    const Tensor& table = model.encoder.frame.pos_table;
    copy(zeros(table.shape(), DType::f64), table);
    CHECK(close(model.encode(shuffled), rows(model.encode(source), 1, order)));
    CHECK(close(model(shuffled, target), model(source, target)));
  }
}

TEST_CASE("transformer: all that is wrong with its weights is said at once, and nothing is changed") {
  manual_seed(125);
  Transformer model(small());
  const StateDict before = snapshot(model.state_dict());
  StateDict state = snapshot(model.state_dict());
  auto entry = [&](const std::string& name) {
    return std::find_if(state.begin(), state.end(), [&](const auto& named) { return named.first == name; });
  };
  state.erase(entry("encoder.layer_stack.0.pos_ffn.w_1.weight"));
  state.erase(entry("trg_word_prj.weight"));
  entry("decoder.trg_word_emb.weight")->second = zeros({8, 4});
  entry("encoder.position_enc.pos_table")->second = zeros({1, 9, 4});
  state.emplace_back("encoder.layer_stack.1.slf_attn.fc.weight", zeros({4, 4}));
  CHECK_THROWS_WITH(model.load_state_dict(state),
                    ContainsSubstring("encoder.layer_stack.0.pos_ffn.w_1.weight is missing") &&
                        ContainsSubstring("trg_word_prj.weight is missing") &&
                        ContainsSubstring("decoder.trg_word_emb.weight is (8, 4), the model's is (6, 4)") &&
                        ContainsSubstring("encoder.position_enc.pos_table is (1, 9, 4), the model's is (1, 5, 4)") &&
                        ContainsSubstring("encoder.layer_stack.1.slf_attn.fc.weight is not in the model"));
  CHECK(same_bits(model.state_dict(), before));
}

TEST_CASE("transformer: what does not fit is an error") {
  const Transformer model(small());
  const Ids good({1, 2}, {1, 2});
  CHECK_THROWS_WITH(model(Ids::zeros({1, 6}), good),
                    ContainsSubstring("a text of 6 tokens is longer than the model's 5"));
  CHECK_THROWS_WITH(model(good, Ids::zeros({1, 6})), ContainsSubstring("longer than the model's 5"));
  const std::unique_ptr<Translation> translation = model.start(good);
  const Ids row({1}, {0}), token({1}, {1});
  for (int t = 0; t < 5; ++t) translation->extend(row, token);
  CHECK_THROWS_WITH(translation->extend(row, token), ContainsSubstring("longer than the model's 5"));
  CHECK_THROWS_WITH(model(Ids({1, 2}), good), ContainsSubstring("source is (2,), target is"));
  Config config = small();
  config.heads = 3;
  CHECK_THROWS_WITH(Transformer(config), ContainsSubstring("3 heads do not divide the width of 4"));
  config = small();
  config.norm = Norm::none;
  CHECK_THROWS_WITH(Transformer(config), ContainsSubstring("without normalization"));
}
