#include "nn/multi_head_attention.h"

#include "tests/nn/training.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

MultiHeadAttention make(Norm norm, int64_t width = 4, int64_t heads = 2) {
  return MultiHeadAttention({.width = width, .heads = heads, .norm = norm, .dtype = DType::f64});
}

const std::vector<Norm> norms{Norm::post, Norm::pre, Norm::none};

}  // namespace

TEST_CASE("multi-head attention: names and shapes") {
  manual_seed(70);
  const MultiHeadAttention attention = make(Norm::post, 6, 3);
  CHECK(names(attention) == std::vector<std::string>{"w_qs.weight", "w_ks.weight", "w_vs.weight", "fc.weight",
                                                     "layer_norm.weight", "layer_norm.bias"});
  CHECK(names(make(Norm::none)).size() == 4);
  const Attended y = attention(normal({2, 3, 6}, 1), normal({2, 5, 6}, 2), Mask::none(), KeepMaps::yes);
  CHECK(y.output.shape() == Shape{2, 3, 6});
  CHECK(y.maps.shape() == Shape{2, 3, 3, 5});
}

TEST_CASE("multi-head attention: each head works on its own slice") {
  manual_seed(71);
  const int64_t width = 6, heads = 2, slice = width / heads;
  const MultiHeadAttention attention = make(Norm::none, width, heads);
  const Tensor x = normal({2, 3, width}, 3), memory = normal({2, 4, width}, 4);
  std::vector<Tensor> outputs;
  for (int64_t h = 0; h < heads; ++h) {
    auto part = [&](const Linear& all, const Tensor& in) { return all(in).slice(2, h * slice, (h + 1) * slice); };
    const Tensor queries = part(attention.w_qs, x), keys = part(attention.w_ks, memory);
    outputs.push_back(dot_product_attention(queries, keys, part(attention.w_vs, memory), Mask::none()));
    const Tensor maps = attention(x, memory, Mask::none(), KeepMaps::yes).maps;
    CHECK(close(maps.select(1, h), attention_weights(queries, keys, Mask::none())));
  }
  CHECK(close(attention(x, memory, Mask::none()).output, attention.fc(cat(outputs, 2))));
}

TEST_CASE("multi-head attention: residual and norm inside the layer") {
  manual_seed(72);
  const Tensor x = normal({2, 3, 4}, 5), memory = normal({2, 5, 4}, 6);
  MultiHeadAttention bare = make(Norm::none);
  for (Norm norm : {Norm::post, Norm::pre}) {
    const MultiHeadAttention attention = make(norm);
    StateDict weights = attention.state_dict();
    weights.resize(4);  // without layer_norm.weight and layer_norm.bias, which start as 1 and 0
    bare.load_state_dict(weights);
    auto normalize = [](const Tensor& y) { return layer_norm(y, {}, {}, 1e-6); };
    auto expected = [&](const Tensor& keys) {
      return norm == Norm::post ? normalize(bare(x, keys, Mask::none()).output + x)
                                : bare(normalize(x), keys, Mask::none()).output + x;
    };
    CHECK(close(attention(x, memory, Mask::none()).output, expected(memory)));
    CHECK(close(attention(x, x, Mask::none()).output, expected(x)));
    CHECK(close(attention(x, Mask::none()).output, expected(norm == Norm::post ? x : normalize(x))));
  }
}

TEST_CASE("multi-head attention: rows of the maps sum to 1, and hidden keys have none") {
  manual_seed(73);
  const MultiHeadAttention attention = make(Norm::post);
  const Tensor x = normal({2, 3, 4}, 7);
  const Ids hidden({2, 3}, {0, 0, 1, 1, 0, 0});
  const Tensor maps = attention(x, Mask::padding(hidden) & Mask::causal(), KeepMaps::yes).maps;
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t query = 0; query < 3; ++query) {
      for (int64_t h = 0; h < 2; ++h) {
        const Values row = maps.select(0, b).select(0, h).select(0, query).to_vector();
        double total = 0;
        for (int64_t key = 0; key < 3; ++key) {
          const bool visible = key <= query && hidden.data()[b * 3 + key] == 0;
          const double weight = row[static_cast<std::size_t>(key)];
          CHECK((visible ? weight > 0 : weight == 0));
          total += weight;
        }
        const bool sees_nothing = b == 1 && query == 0;
        CHECK(total == Approx(sees_nothing ? 0 : 1).epsilon(1e-14));
      }
    }
  }
}

TEST_CASE("multi-head attention: what is hidden changes no bit") {
  manual_seed(74);
  const Mask mask = Mask::padding(Ids({1, 4}, {0, 1, 0, 1}));
  const Tensor x = normal({1, 3, 4}, 8), memory = normal({1, 4, 4}, 9), changed = clone(memory);
  overwrite_row(changed.select(0, 0), 1);
  overwrite_row(changed.select(0, 0), 3);
  for (Norm norm : norms) {
    const MultiHeadAttention attention = make(norm);
    for (KeepMaps keep : {KeepMaps::no, KeepMaps::yes}) {
      CHECK(same_bits(attention(x, memory, mask, keep).output, attention(x, changed, mask, keep).output));
    }
    CHECK(same_bits(attention(x, memory, mask, KeepMaps::yes).maps, attention(x, changed, mask, KeepMaps::yes).maps));
    CHECK_FALSE(same_bits(attention(x, memory, Mask::none()).output, attention(x, changed, Mask::none()).output));
  }
}

TEST_CASE("multi-head attention: who sees nothing gets zeros and zero gradients") {
  manual_seed(75);
  const MultiHeadAttention attention = make(Norm::none);
  const Mask mask = Mask::padding(Ids({1, 3}, {1, 1, 1}));
  const std::vector<Tensor> inputs{normal({1, 2, 4}, 10), normal({1, 3, 4}, 11)};
  auto attend = [&](const std::vector<Tensor>& x) { return attention(x[0], x[1], mask).output; };
  CHECK(attend(inputs).to_vector() == Values(8, 0));
  for (const Tensor& gradient : gradients_of(attend, inputs)) CHECK(sum(abs(gradient)).item() == 0);
  {
    Tape tape;
    tape.backward(sum(attend(inputs)));
  }
  for (const Tensor& parameter : attention.parameters()) CHECK(sum(abs(parameter.grad())).item() == 0);

  const MultiHeadAttention with_residual = make(Norm::pre);
  CHECK(same_bits(with_residual(inputs[0], inputs[1], mask).output, inputs[0]));
}

TEST_CASE("multi-head attention: shuffling queries shuffles outputs, shuffling keys changes nothing") {
  manual_seed(76);
  const MultiHeadAttention attention = make(Norm::post);
  const Tensor x = normal({2, 4, 4}, 12), memory = normal({2, 4, 4}, 13);
  const std::vector<int64_t> order{2, 0, 3, 1};
  auto output = [&](const auto&... texts) { return attention(texts..., Mask::none()).output; };
  CHECK(close(output(rows(x, 1, order), memory), rows(output(x, memory), 1, order)));
  CHECK(close(output(x, rows(memory, 1, order)), output(x, memory)));
  const Tensor shuffled = rows(x, 1, order);
  CHECK(close(output(shuffled), rows(output(x), 1, order)));
}

TEST_CASE("multi-head attention: gradients, to itself and to a memory, with each norm") {
  manual_seed(77);
  const Tensor x = normal({2, 2, 4}, 14), memory = normal({2, 3, 4}, 15);
  const Mask mask = Mask::padding(Ids({2, 3}, {0, 0, 1, 0, 0, 0}));
  for (Norm norm : norms) {
    const MultiHeadAttention attention = make(norm);
    for (KeepMaps keep : {KeepMaps::no, KeepMaps::yes}) {
      CHECK(check_parameters(attention, [&] { return attention(x, memory, mask, keep).output; }).problem == "");
      CHECK(check_parameters(attention, [&] { return attention(x, Mask::causal(), keep).output; }).problem == "");
      auto cross = [&](const auto& in) { return attention(in[0], in[1], mask, keep).output; };
      CHECK(gradcheck(cross, {x, memory}).problem == "");
      auto self = [&](const auto& in) { return attention(in[0], Mask::causal(), keep).output; };
      CHECK(gradcheck(self, {x}).problem == "");
    }
    auto maps = [&](const auto& in) { return attention(in[0], in[1], mask, KeepMaps::yes).maps; };
    CHECK(gradcheck(maps, {x, memory}).problem == "");
  }
}

TEST_CASE("multi-head attention: packed texts are the padded ones without the padding") {
  manual_seed(130);
  const Ids queries({2, 3}, {1, 2, 0, 3, 4, 5}), keys({2, 4}, {1, 2, 3, 0, 4, 0, 0, 0});
  const Packing of_queries(queries, 0), of_keys(keys, 0);
  const Mask mask = Mask::padding(keys, 0), causal = Mask::padding(queries, 0) & Mask::causal();
  const Tensor x = normal({2, 3, 4}, 23), memory = normal({2, 4, 4}, 24);
  const Texts packed_x(of_queries.pack(x), of_queries), packed_memory(of_keys.pack(memory), of_keys);
  for (Norm norm : norms) {
    const MultiHeadAttention attention = make(norm);
    const Attended cross = attention(packed_x, packed_memory, mask, KeepMaps::yes);
    const Attended self = attention(packed_x, causal, KeepMaps::yes);
    CHECK(close(cross.output, of_queries.pack(attention(x, memory, mask, KeepMaps::yes).output)));
    CHECK(close(self.output, of_queries.pack(attention(x, causal, KeepMaps::yes).output)));
    CHECK(close(attention(packed_x, memory, mask).output, cross.output));
    CHECK(close(attention(packed_x, packed_memory, mask).output, cross.output));
    CHECK(close(attention(packed_x, causal).output, self.output));
    // A mask that hides less than a packing leaves out, or more.
    for (const Ids& hidden : {Ids::zeros({2, 4}), Ids({2, 4}, {1, 0, 0, 1, 0, 1, 1, 1})}) {
      const Tensor unpacked = of_keys.unpack(packed_memory.vectors);
      const Attended seen = attention(packed_x, unpacked, Mask::padding(hidden), KeepMaps::yes);
      CHECK(close(attention(packed_x, packed_memory, Mask::padding(hidden)).output, seen.output));
    }
    // The numbers of the packing, in another shape.
    const Mask turned = Mask::padding(of_keys.padding().view({4, 2}));
    CHECK_THROWS_WITH(attention(packed_x, packed_memory, turned),
                      ContainsSubstring("the mask hides padding of (4, 2)"));
    auto gradients = [&](const auto& in) { return attention({in[0], of_queries}, {in[1], of_keys}, mask).output; };
    CHECK(gradcheck(gradients, {packed_x.vectors, packed_memory.vectors}).problem == "");
  }
}

TEST_CASE("multi-head attention: with all weights dropped, nothing is left") {
  manual_seed(131);
  const MultiHeadAttention attention({.width = 4, .heads = 2, .dropout = 1, .norm = Norm::none, .dtype = DType::f64});
  const Ids queries({2, 3}, {1, 2, 0, 3, 4, 5}), keys({2, 4}, {1, 2, 3, 0, 4, 0, 0, 0});
  const Packing of_queries(queries, 0), of_keys(keys, 0);
  const Mask mask = Mask::padding(keys, 0);
  const Tensor x = normal({2, 3, 4}, 25), memory = normal({2, 4, 4}, 26);
  auto padded = [&](const auto& in) { return attention(in[0], in[1], mask).output; };
  auto packed = [&](const auto& in) {
    return attention({of_queries.pack(in[0]), of_queries}, {of_keys.pack(in[1]), of_keys}, mask).output;
  };
  CHECK(padded(std::vector{x, memory}).to_vector() == Values(2 * 3 * 4, 0));
  CHECK(packed(std::vector{x, memory}).to_vector() == Values(5 * 4, 0));
  CHECK(attention(x, memory, mask, KeepMaps::yes).output.to_vector() == Values(2 * 3 * 4, 0));
  CHECK(gradient_of([&](const Tensor& v) { return packed(std::vector{v, memory}); }, x) == Values(2 * 3 * 4, 0));
  CHECK(gradient_of([&](const Tensor& v) { return padded(std::vector{x, v}); }, memory) == Values(2 * 4 * 4, 0));
}

TEST_CASE("multi-head attention: to a memory whose keys and values were computed before") {
  manual_seed(79);
  const Mask mask = Mask::padding(Ids({2, 4}, {0, 0, 1, 0, 0, 0, 0, 1}));
  const Tensor x = normal({2, 3, 4}, 20), memory = normal({2, 4, 4}, 21);
  for (Norm norm : norms) {
    const MultiHeadAttention attention = make(norm);
    const Attended direct = attention(x, memory, mask, KeepMaps::yes);
    const Attended kept = attention(x, attention.keys_and_values(memory), mask, KeepMaps::yes);
    CHECK(same_bits(kept.output, direct.output));
    CHECK(same_bits(kept.maps, direct.maps));
    // One memory for all.
    const Mask one = Mask::padding(Ids({1, 4}, {0, 0, 1, 0}));
    const Tensor first = memory.slice(0, 0, 1), shared = first.expand({2, 4, 4});
    const Tensor expected = attention(x, shared, one).output;
    for (const Mask& mask_of_one : {one, Mask::padding(Ids({2, 4}, {0, 0, 1, 0, 0, 0, 1, 0}))}) {
      for (KeepMaps keep : {KeepMaps::yes, KeepMaps::no}) {
        const KeysAndValues of_first = attention.keys_and_values(first);
        CHECK(close(attention(x, of_first, mask_of_one, keep).output, expected));
        CHECK(close(attention(x.slice(1, 0, 1), of_first, mask_of_one, keep).output, expected.slice(1, 0, 1)));
      }
    }
  }
}

TEST_CASE("multi-head attention: one text has no two memories, whether maps are kept or not") {
  const MultiHeadAttention attention = make(Norm::post);
  const KeysAndValues of_two = attention.keys_and_values(normal({2, 4, 4}, 26));
  for (int64_t T : {1, 3}) {
    for (KeepMaps keep : {KeepMaps::yes, KeepMaps::no}) {
      CHECK_THROWS_WITH(attention(normal({1, T, 4}, 27), of_two, Mask::none(), keep),
                        ContainsSubstring("need the leading axes of q in k and v, or 1"));
      CHECK_THROWS_WITH(attention(normal({2, T, 4}, 27), of_two, Mask::padding(Ids::zeros({3, 4})), keep),
                        ContainsSubstring("the mask hides padding of (3, 4)"));
    }
  }
}

TEST_CASE("multi-head attention: to itself and what was kept of the past") {
  manual_seed(126);
  const Tensor x = normal({2, 5, 4}, 22);
  const Ids hidden({2, 5}, {0, 0, 1, 0, 0, 0, 0, 0, 0, 0});
  for (Norm norm : norms) {
    const MultiHeadAttention attention = make(norm);
    const Attended all = attention(x, Mask::padding(hidden) & Mask::causal(), KeepMaps::yes);
    KeyValueCache past;
    for (int64_t t = 0; t < 5; ++t) {
      const Mask seen = Mask::padding(Ids({2, t + 1},
                                          [&] {
                                            std::vector<std::int32_t> both(hidden.data(), hidden.data() + t + 1);
                                            both.resize(static_cast<std::size_t>(2 * (t + 1)), 0);
                                            return both;
                                          }())) &
                        Mask::causal();
      const Attended step = attention(x.slice(1, t, t + 1), past, seen, KeepMaps::yes);
      CHECK(close(step.output, all.output.slice(1, t, t + 1)));
      CHECK(close(step.maps, all.maps.slice(2, t, t + 1).slice(3, 0, t + 1)));
    }
  }
}

TEST_CASE("multi-head attention: drops in training only, and shows its maps whole") {
  manual_seed(78);
  MultiHeadAttention attention({.width = 8, .heads = 2, .dropout = 0.5});
  const Tensor x = normal({2, 3, 8}, 16, DType::f32);
  check_drops_in_training_only(attention, [&] { return attention(x, Mask::none()).output; });
  auto maps = [&] { return attention(x, Mask::none(), KeepMaps::yes).maps; };
  CHECK(same_bits(maps(), maps()));

  const Packing whole = Packing::whole({2, 3});
  const Texts packed(whole.pack(x), whole);
  MultiHeadAttention bare({.width = 8, .heads = 2, .dropout = 0.5, .norm = Norm::none});  // drops of the maps alone
  check_drops_in_training_only(bare, [&] { return bare(x, Mask::none(), KeepMaps::yes).output; });
  check_drops_in_training_only(bare, [&] { return bare(x, Mask::none()).output; });
  check_drops_in_training_only(bare, [&] { return bare(packed, Mask::none()).output; });
}

TEST_CASE("multi-head attention: what does not fit is an error") {
  CHECK_THROWS_WITH(make(Norm::post, 6, 4), ContainsSubstring("4 heads do not divide the width of 6"));
  CHECK_THROWS_AS(make(Norm::post, 6, 0), Error);
  CHECK_THROWS_AS(make(Norm::post, 6, -2), Error);
  const MultiHeadAttention attention = make(Norm::post);
  const Tensor x = normal({2, 3, 4}, 17);
  CHECK_THROWS_WITH(attention(x, normal({1, 3, 4}, 18), Mask::none()), ContainsSubstring("memory is (1, 3, 4)"));
  CHECK_THROWS_WITH(attention(x.select(0, 0), x, Mask::none()), ContainsSubstring("x is (3, 4)"));
  CHECK_THROWS_AS(attention(x, normal({2, 3, 5}, 19), Mask::none()), Error);
  const Packing three(Ids({3, 1}, {1, 1, 1}), 0);
  CHECK_THROWS_WITH(attention(x, {normal({3, 4}, 25), three}, Mask::none()), ContainsSubstring("of as many texts"));
  CHECK_THROWS_WITH(attention({x, three}, x, Mask::none()), ContainsSubstring("packed, (tokens, width)"));
}
