#include "nn/module.h"

#include "nn/layers.h"
#include "tests/nn/parameters.h"

using namespace reel;
using namespace reel::nn;
using namespace reel::tests;

namespace {

struct Part : Module {
  Part() : weight(parameter("weight", ones({2, 3}))), drop(child("drop", Dropout(0.5))) {}
  Tensor weight;
  Dropout drop;
};

struct Whole : Module {
  Whole()
      : scale(parameter("scale", ones({3}))),
        table(state("table", ones({4}))),
        first(child("first", Part())),
        others(children("others", 2, [] { return Part(); })) {}
  Tensor scale, table;
  Part first;
  std::vector<Part> others;
};

/// One parameter under two names.
struct Tied : Module {
  Tied() : in(child("in", Linear(3, 3, Bias::no))), out(child("out", in)) {}
  Linear in, out;
};

/// A part that does not show in the names.
struct Wrapping : Module {
  Wrapping() : own(parameter("own", ones({2}))), part(merged(Part())) {}
  Tensor own;
  Part part;
};

}  // namespace

TEST_CASE("module: names are dotted and in the order of declaration") {
  CHECK(names(Whole()) ==
        std::vector<std::string>{"scale", "table", "first.weight", "others.0.weight", "others.1.weight"});
}

TEST_CASE("module: parameters are what is trained, and are the parts' own tensors") {
  const Whole whole;
  const std::vector<Tensor> parameters = whole.parameters();
  REQUIRE(parameters.size() == 4);
  CHECK(parameters[0].same(whole.scale));
  CHECK(parameters[1].same(whole.first.weight));
  CHECK(parameters[3].same(whole.others[1].weight));
  CHECK(whole.parameter_count() == 3 + 3 * 6);
  CHECK_FALSE(whole.table.requires_grad());
}

TEST_CASE("module: a copy shares its parameters and its mode") {
  Whole whole;
  const Whole copy = whole;
  whole.first.weight.data<float>()[0] = 7;
  whole.eval();
  CHECK(copy.first.weight.to_vector()[0] == 7);
  CHECK(copy.state_dict()[2].second.to_vector()[0] == 7);
  CHECK_FALSE(copy.others[1].drop.training());
}

TEST_CASE("module: train and eval reach all parts") {
  Whole whole;
  CHECK(whole.others[1].drop.training());
  whole.eval();
  CHECK_FALSE(whole.training());
  CHECK_FALSE(whole.first.training());
  CHECK_FALSE(whole.first.drop.training());
  CHECK_FALSE(whole.others[1].drop.training());
  whole.train();
  CHECK(whole.training());
  CHECK(whole.first.drop.training());
  whole.first.eval();  // a part alone
  CHECK_FALSE(whole.first.drop.training());
  CHECK(whole.others[0].drop.training());
}

TEST_CASE("module: a tied parameter has two names and is trained once") {
  const Tied tied;
  CHECK(names(tied) == std::vector<std::string>{"in.weight", "out.weight"});
  CHECK(tied.parameters().size() == 1);
  CHECK(tied.parameter_count() == 9);
}

TEST_CASE("module: the parameters of a merged part keep their names, and its mode follows") {
  Wrapping whole;
  CHECK(names(whole) == std::vector<std::string>{"own", "weight"});
  CHECK(whole.state_dict()[1].second.same(whole.part.weight));
  CHECK(whole.parameters().size() == 2);
  whole.eval();
  CHECK_FALSE(whole.part.drop.training());
}

TEST_CASE("module: a state dict goes round, frozen tensors too") {
  Whole from, to;
  from.scale.data<float>()[1] = 2;
  from.table.data<float>()[2] = 3;
  from.others[1].weight.data<float>()[5] = 4;
  to.load_state_dict(from.state_dict());
  CHECK(same_bits(to.state_dict(), from.state_dict()));
  CHECK_FALSE(to.others[1].weight.shares_storage(from.others[1].weight));
  CHECK(to.others[1].weight.to_vector()[5] == 4);
}

TEST_CASE("module: the order of a state dict does not matter, and f64 becomes f32") {
  Whole whole;
  StateDict state;
  for (const auto& [name, value] : whole.state_dict()) {
    state.emplace(state.begin(), name, full(value.shape(), 0.1, DType::f64));
  }
  whole.load_state_dict(state);
  CHECK(whole.scale.dtype() == DType::f32);
  CHECK(whole.scale.data<float>()[0] == 0.1f);
}

TEST_CASE("module: all that is wrong with a state dict is said at once, and nothing is changed") {
  Whole whole;
  const StateDict before = snapshot(whole.state_dict());
  StateDict state = snapshot(whole.state_dict());
  copy(zeros({3}), state[0].second);
  state[1].second = zeros({5});
  state[2].first = "frist.weight";
  state.pop_back();
  CHECK_THROWS_WITH(whole.load_state_dict(state), ContainsSubstring("table is (5,), the model's is (4,)") &&
                                                      ContainsSubstring("first.weight is missing") &&
                                                      ContainsSubstring("others.1.weight is missing") &&
                                                      ContainsSubstring("frist.weight is not in the model"));
  state.clear();
  for (int i = 0; i < 9; ++i) state.emplace_back(text("other.", i), zeros({1}));
  CHECK_THROWS_WITH(whole.load_state_dict(state), ContainsSubstring("scale is missing; ") &&
                                                      ContainsSubstring("; other.5 is not in the model; and 3 more") &&
                                                      !ContainsSubstring("other.6"));
  state = before;
  state.push_back(state[0]);
  CHECK_THROWS_WITH(whole.load_state_dict(state), ContainsSubstring(state[0].first + " is there twice"));
  CHECK(same_bits(whole.state_dict(), before));
}

TEST_CASE("module: tied weights may be named once, but must not differ") {
  const Tensor weight = normal({3, 3}, 1, DType::f32);
  for (const char* name : {"in.weight", "out.weight"}) {
    Tied tied;
    tied.load_state_dict({{name, weight}});
    CHECK(same_bits(detach(tied.in.weight), weight));
  }
  Tied tied;
  tied.load_state_dict({{"out.weight", weight}, {"in.weight", copy_of(weight)}});
  CHECK(same_bits(detach(tied.in.weight), weight));
  CHECK_THROWS_WITH(tied.load_state_dict({{"in.weight", weight}, {"out.weight", weight * 2.0}}),
                    "load_state_dict: the weights are of another model: in.weight and out.weight differ, but are one "
                    "tensor in the model");
  CHECK(same_bits(detach(tied.in.weight), weight));
  CHECK_THROWS_WITH(tied.load_state_dict({}), ContainsSubstring("in.weight is missing; out.weight is missing"));
}

TEST_CASE("module: tied weights without elements, which may have no memory, are the same") {
  struct Empty : Module {
    Empty() : in(child("in", Linear(0, 3, Bias::no))), out(child("out", in)) {}
    Linear in, out;
  };
  const Tensor none = zeros({3, 0});
  CHECK_NOTHROW(Empty().load_state_dict({{"in.weight", none}, {"out.weight", copy_of(none)}}));
}

TEST_CASE("module: of three tied weights, the two that differ are named") {
  struct Thrice : Module {
    Thrice()
        : first(child("first", Linear(3, 3, Bias::no))), last(child("last", first)), middle(child("middle", first)) {}
    Linear first, last, middle;
  };
  const Tensor weight = normal({3, 3}, 1, DType::f32);
  CHECK_THROWS_WITH(Thrice().load_state_dict({{"last.weight", weight}, {"middle.weight", weight * 2.0}}),
                    "load_state_dict: the weights are of another model: last.weight and middle.weight differ, but are "
                    "one tensor in the model");
}

TEST_CASE("module: zero_grad drops the gradients of all parts") {
  const Whole whole;
  {
    Tape tape;
    tape.backward(sum(whole.scale) + sum(whole.others[0].weight));
  }
  CHECK(whole.scale.grad().defined());
  whole.zero_grad();
  for (const Tensor& parameter : whole.parameters()) CHECK_FALSE(parameter.grad().defined());
}

TEST_CASE("module: there cannot be fewer parts than none") {
  struct Few : Module {
    explicit Few(int64_t count) : parts(children("parts", count, [] { return Part(); })) {}
    std::vector<Part> parts;
  };
  CHECK(Few(0).parts.empty());
  CHECK_THROWS_WITH(Few(-1), ContainsSubstring("Module: -1 parts called parts; need at least 0"));
}

TEST_CASE("module: two of one name are refused, whatever they are") {
  struct TwoParts : Module {
    TwoParts() : a(child("norm", Linear(2, 2))), b(child("norm", Linear(2, 2))) {}
    Linear a, b;
  };
  struct TwoParameters : Module {
    TwoParameters() : a(parameter("scale", ones({1}))), b(state("scale", ones({1}))) {}
    Tensor a, b;
  };
  struct Merged : Module {
    Merged() : own(parameter("weight", ones({2}))), part(merged(Part())) {}
    Tensor own;
    Part part;
  };
  CHECK_THROWS_WITH(TwoParts(), ContainsSubstring("norm.weight"));
  CHECK_THROWS_WITH(TwoParameters(), ContainsSubstring("scale"));
  CHECK_THROWS_WITH(Merged(), ContainsSubstring("weight"));
}
