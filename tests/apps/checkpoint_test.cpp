#include "apps/training/checkpoint.h"

#include <cmath>
#include <limits>

#include "autograd/creation.h"
#include "autograd/error.h"
#include "autograd/ops.h"
#include "autograd/safetensors.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace reel;
using namespace reel::apps;
namespace fs = std::filesystem;

namespace {

Checkpoint example() {
  const Tensor weight = zeros({2, 3});
  for (int i = 0; i < 6; ++i) weight.data<float>()[i] = static_cast<float>(i) / 7;
  const Generator::State random{~std::uint64_t{0}, std::uint64_t{1} << 63};
  return {{{"weight", weight}, {"bias", ones({3}, DType::f64)}},
          {{"0.step", ones({}, DType::f64)}},
          {{"app", "generate"},
           {"options", to_json(StringPairs{{"depth", "4"}, {"data", "é \"x\""}})},
           {"random", to_json(random)}}};
}

void check_equal(const NamedTensors& a, const NamedTensors& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].first == b[i].first);
    CHECK(a[i].second.dtype() == b[i].second.dtype());
    CHECK(a[i].second.shape() == b[i].second.shape());
    CHECK(a[i].second.to_vector() == b[i].second.to_vector());
  }
}

std::string refusal(const std::filesystem::path& path) {
  try {
    load_checkpoint(path, "generate");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a checkpoint comes back as it was saved", "[checkpoint]") {
  TemporaryFolder folder;
  const Checkpoint saved = example();
  save_checkpoint(folder / "file", saved);
  const Checkpoint loaded = load_checkpoint(folder / "file", "generate");
  check_equal(loaded.weights, saved.weights);
  check_equal(loaded.optimizer, saved.optimizer);
  CHECK(loaded.notes == saved.notes);
  CHECK(string_pairs_from(note(loaded, "options")) == StringPairs{{"depth", "4"}, {"data", "é \"x\""}});
  CHECK(generator_state_from(note(loaded, "random")) == Generator::State{~std::uint64_t{0}, std::uint64_t{1} << 63});

  const std::string bytes = read_file(folder / "file");
  save_checkpoint(folder / "file", loaded);
  CHECK(read_file(folder / "file") == bytes);
}

TEST_CASE("what could not be loaded again is not saved", "[checkpoint]") {
  TemporaryFolder folder;
  Checkpoint nobodys = example(), taken = example();
  nobodys.notes.erase(nobodys.notes.begin());
  CHECK_THROWS_WITH(save_checkpoint(folder / "file", nobodys), ContainsSubstring("has no entry \"app\""));
  taken.weights[0].first = "optimizer.weight";
  CHECK_THROWS_WITH(save_checkpoint(folder / "file", taken), ContainsSubstring("a weight is called optimizer.weight"));
  CHECK_FALSE(std::filesystem::exists(folder / "file"));
}

TEST_CASE("weights that are views are saved as what they show", "[checkpoint]") {
  TemporaryFolder folder;
  Checkpoint saved = example();
  saved.weights[0].second = saved.weights[0].second.transpose(0, 1);
  save_checkpoint(folder / "file", saved);
  check_equal(load_checkpoint(folder / "file", "generate").weights, saved.weights);
}

TEST_CASE("a changed bit anywhere in a checkpoint is noticed", "[checkpoint]") {
  TemporaryFolder folder;
  save_checkpoint(folder / "file", example());
  const std::string whole = read_file(folder / "file");
  for (std::size_t place = 0; place < whole.size(); ++place) {
    CAPTURE(place);
    std::string bytes = whole;
    bytes[place] = static_cast<char>(bytes[place] ^ (1 << (place % 8)));
    write_file(folder / "file", bytes);
    CHECK(refusal(folder / "file").starts_with((folder / "file").string() + " is no checkpoint that can be read: "));
  }
}

TEST_CASE("a checkpoint cut off anywhere is noticed", "[checkpoint]") {
  TemporaryFolder folder;
  save_checkpoint(folder / "file", example());
  const std::string whole = read_file(folder / "file");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_file(folder / "file", whole.substr(0, size));
    CHECK(refusal(folder / "file").starts_with((folder / "file").string()));
  }
}

TEST_CASE("checkpoints from elsewhere are refused", "[checkpoint]") {
  TemporaryFolder folder;
  CHECK_THAT(refusal(folder / "missing"), ContainsSubstring("there is no such file"));
  save_checkpoint(checkpoint_path(folder.path()), example());
  CHECK(load_run(folder.path(), "generate").path == checkpoint_path(folder.path()));
  CHECK(load_run(checkpoint_path(folder.path()), "generate").path == checkpoint_path(folder.path()));
  write_file(folder / "file", write_safetensors({{{"weight", ones({2})}}, {}}));
  CHECK_THAT(refusal(folder / "file"),
             ContainsSubstring("it holds weights, but not what Reel's apps keep beside them"));
  write_file(folder / "file", write_safetensors({{{"weight", ones({2})}}, {{"reel", R"({"app":"generate"})"}}}));
  CHECK_THAT(refusal(folder / "file"), ContainsSubstring("its checksum is wrong"));
  Checkpoint other = example();
  other.notes[0].second = "translate";
  save_checkpoint(folder / "file", other);
  CHECK_THAT(refusal(folder / "file"), ContainsSubstring("was written by translate, not by generate"));
}

TEST_CASE("weights changed by another program are read where it says so", "[checkpoint]") {
  TemporaryFolder folder;
  const fs::path path = folder / "file";
  save_checkpoint(path, example());
  Safetensors file = read_safetensors(read_file(path));
  file.tensors[0].second = file.tensors[0].second * 2.0;
  write_file(path, write_safetensors(file));
  CHECK_THAT(refusal(path), ContainsSubstring("one that means to writes \"unchecked\" as the metadata's crc32c"));
  REQUIRE(file.metadata[1].first == "crc32c");
  file.metadata.erase(file.metadata.begin() + 1);
  write_file(path, write_safetensors(file));
  CHECK_THAT(refusal(path), ContainsSubstring("its checksum is wrong"));
  file.metadata.emplace_back("crc32c", "unchecked");
  write_file(path, write_safetensors(file));
  const Checkpoint loaded = load_checkpoint(path, "generate");
  CHECK(loaded.weights.size() == 2);
  CHECK(find(loaded.weights, file.tensors[0].first)->to_vector() == file.tensors[0].second.to_vector());
  CHECK(loaded.notes == example().notes);

  for (const double number : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    Tensor& weight = file.tensors[0].second;
    std::vector<double> numbers = weight.to_vector();
    numbers.back() = number;
    weight = tensor(weight.shape(), numbers, weight.dtype());
    write_file(path, write_safetensors(file));
    CHECK_THAT(refusal(path), ContainsSubstring(text("the weight ", file.tensors[0].first, " holds ", number)));
  }
}

TEST_CASE("notes of the wrong kind are refused", "[checkpoint]") {
  CHECK_THROWS_WITH(note(example(), "vocabulary"), "the checkpoint has no entry \"vocabulary\"");
  CHECK_THROWS_AS(string_pairs_from(Json::Array{}), Error);
  CHECK_THROWS_AS(string_pairs_from(Json::Object{{"depth", 4}}), Error);
  CHECK_THROWS_WITH(generator_state_from(Json::Array{1}), "a random state has 1 numbers; need seed and position");
  CHECK_THROWS_AS(generator_state_from(Json::Array{"1", "2"}), Error);
}

TEST_CASE("a checkpoint that cannot be written leaves the old one", "[checkpoint]") {
  TemporaryFolder folder;
  CHECK_THROWS_AS(save_checkpoint(folder / "no folder" / "file", example()), Error);
  save_checkpoint(folder / "file", example());
  const std::string before = read_file(folder / "file");
  Checkpoint broken = example();
  broken.weights.push_back(broken.weights[0]);  // two of one name
  CHECK_THROWS_AS(save_checkpoint(folder / "file", broken), Error);
  CHECK(read_file(folder / "file") == before);
}
