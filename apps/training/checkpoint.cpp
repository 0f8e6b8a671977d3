#include "apps/training/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "apps/common/atomic_file.h"
#include "apps/training/crc32c.h"
#include "autograd/error.h"
#include "autograd/safetensors.h"
#include "data/file.h"

namespace reel::apps {
namespace {

constexpr std::string_view optimizer_prefix = "optimizer.";
constexpr const char* notes_key = "reel";
constexpr const char* checksum_key = "crc32c";
constexpr const char* unchecked = "unchecked";  // in the checksum's place

std::string_view bytes_of(const Tensor& tensor) {
  return with_type(tensor.dtype(), [&]<class T>(T) -> std::string_view {
    return {reinterpret_cast<const char*>(tensor.data<T>()), static_cast<std::size_t>(tensor.numel()) * sizeof(T)};
  });
}

/// Of the notes and of every tensor with its name and shape.
std::string checksum(const std::string& notes, const NamedTensors& tensors) {
  std::string parts = notes;
  for (const auto& [name, tensor] : tensors) {
    parts += text('\n', name, ' ', tensor.shape(), ' ', crc32c(bytes_of(contiguous_values(tensor))));
  }
  return std::to_string(crc32c(parts));
}

std::string metadata(const Safetensors& file, const std::string& key) {
  const std::string* value = find(file.metadata, key);
  return value ? *value : "";
}

/// A model of such weights would have an opinion on nothing, and say so nowhere.
void check_finite(const std::string& name, const Tensor& weight) {
  with_type(weight.dtype(), [&]<class T>(T) {
    const std::span<const T> numbers(weight.data<T>(), static_cast<std::size_t>(weight.numel()));
    const auto found = std::ranges::find_if_not(numbers, [](T number) { return std::isfinite(number); });
    if (found != numbers.end()) fail("the weight ", name, " holds ", *found, "; need finite numbers");
  });
}

}  // namespace

std::filesystem::path checkpoint_path(const std::filesystem::path& folder) { return folder / "checkpoint.safetensors"; }

void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  note(checkpoint, "app");  // without it, nobody could load what is saved
  Safetensors file;
  file.tensors = checkpoint.weights;
  for (const auto& [name, value] : checkpoint.weights) {
    if (name.starts_with(optimizer_prefix)) {
      fail("save_checkpoint: a weight is called ", name, ", as if it were of the optimizer; give it another name");
    }
  }
  for (const auto& [name, value] : checkpoint.optimizer) {
    file.tensors.emplace_back(std::string(optimizer_prefix) + name, value);
  }
  const std::string notes = Json(checkpoint.notes).write();
  file.metadata = {{notes_key, notes}, {checksum_key, checksum(notes, file.tensors)}};
  write_file_atomically(path, write_safetensors(file));
}

Checkpoint load_checkpoint(const std::filesystem::path& path, const std::string& app) {
  std::error_code ignored;
  if (std::filesystem::status(path, ignored).type() == std::filesystem::file_type::not_found) {
    fail(path.string(), ": there is no such file; ", app, " train writes one");
  }
  const std::string bytes = data::read_file(path);
  std::string writer;
  try {
    const Safetensors file = read_safetensors(bytes);
    const std::string notes = metadata(file, notes_key);
    if (notes.empty()) fail("it holds weights, but not what Reel's apps keep beside them");
    const std::string expected = metadata(file, checksum_key);
    if (expected != unchecked && expected != checksum(notes, file.tensors)) {
      fail("its checksum is wrong: the file was damaged, or changed by another program; one that means to writes \"",
           unchecked, "\" as the metadata's ", checksum_key);
    }
    Checkpoint checkpoint{{}, {}, Json::parse(notes).get<Json::Object>(), path};
    for (const auto& [name, value] : file.tensors) {
      if (name.starts_with(optimizer_prefix)) {
        checkpoint.optimizer.emplace_back(name.substr(optimizer_prefix.size()), value);
      } else {
        check_finite(name, value);
        checkpoint.weights.emplace_back(name, value);
      }
    }
    writer = note(checkpoint, "app").get<std::string>();
    if (writer == app) return checkpoint;
  } catch (const Error& error) {
    fail(path.string(), " is no checkpoint that can be read: ", error.what());
  }
  fail(path.string(), " was written by ", writer, ", not by ", app);
}

Checkpoint load_run(const std::filesystem::path& run, const std::string& app) {
  std::error_code ignored;
  return load_checkpoint(std::filesystem::is_regular_file(run, ignored) ? run : checkpoint_path(run), app);
}

const Json& note(const Checkpoint& checkpoint, const std::string& key) {
  for (const auto& [name, value] : checkpoint.notes) {
    if (name == key) return value;
  }
  fail("the checkpoint has no entry \"", key, "\"");
}

bool learnt_from(const Checkpoint& checkpoint, std::uint32_t fingerprint) {
  return note(checkpoint, "data").get<std::int64_t>() == fingerprint;
}

void check_learnt_from(const Checkpoint& checkpoint, std::uint32_t fingerprint, const std::string& data,
                       const std::string& folder) {
  if (learnt_from(checkpoint, fingerprint)) return;
  fail(data.empty() ? "the built-in corpus" : data, " has changed since ", folder,
       " was trained: what is set aside now, the model may have learnt; ",
       data.empty() ? "this program was built from other source, so start a new run" : "put the old data back",
       ", or name others to score with --data");
}

Json to_json(const StringPairs& pairs) {
  Json::Object object;
  for (const auto& [name, value] : pairs) object.emplace_back(name, value);
  return object;
}

StringPairs string_pairs_from(const Json& json) {
  StringPairs pairs;
  for (const auto& [name, value] : json.get<Json::Object>()) pairs.emplace_back(name, value.get<std::string>());
  return pairs;
}

// JSON's integers are signed; the bits are what counts.
Json to_json(const Generator::State& state) {
  return Json::Array{static_cast<std::int64_t>(state.seed), static_cast<std::int64_t>(state.position)};
}

Generator::State generator_state_from(const Json& json) {
  const auto& words = json.get<Json::Array>();
  if (words.size() != 2) fail("a random state has ", words.size(), " numbers; need seed and position");
  return {static_cast<std::uint64_t>(words[0].get<std::int64_t>()),
          static_cast<std::uint64_t>(words[1].get<std::int64_t>())};
}

Json to_json(const data::BatchSampler::State& state) {
  return Json::Array{to_json(state.generator), state.epoch, state.batch};
}

data::BatchSampler::State sampler_state_from(const Json& json) {
  const auto& parts = json.get<Json::Array>();
  if (parts.size() != 3) fail("a place in the data has ", parts.size(), " parts; need generator, epoch and batch");
  return {generator_state_from(parts[0]), parts[1].get<std::int64_t>(), parts[2].get<std::int64_t>()};
}

}  // namespace reel::apps
