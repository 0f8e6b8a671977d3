#pragma once
// Checkpoints: one safetensors file that holds a model and all that a run needs to go on bit for bit.
//
// The weights stand under their plain names, as in PyTorch; an optimizer's state under "optimizer." and its names; the
// rest (options, vocabulary, step, random states) is one JSON text in the file's metadata under "reel". Next to it,
// "crc32c" tells a damaged file from a whole one: a flipped bit in a weight shows nowhere else. Another program that
// changes weights says "unchecked" there (README.md).

#include <filesystem>
#include <string>

#include "apps/common/string_pairs.h"
#include "autograd/error.h"
#include "autograd/json.h"
#include "autograd/random.h"
#include "autograd/tensor.h"
#include "data/batch_sampler.h"

namespace reel::apps {

struct Checkpoint {
  NamedTensors weights;
  NamedTensors optimizer;
  Json::Object notes;
  std::filesystem::path path{};  // it was read from
};

/// Where a run's folder has its checkpoint.
std::filesystem::path checkpoint_path(const std::filesystem::path& folder);

/// Replaces the file, or leaves it as it was and throws. The notes must say of which "app" it is, and no weight may
/// have a name that begins with "optimizer.".
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);
/// Throws, naming the file, if there is none, if it is not whole, if a weight is not finite, or if it was not written
/// by `app`.
Checkpoint load_checkpoint(const std::filesystem::path& path, const std::string& app);

/// The checkpoint that `app` has left in a folder; or the file itself, if that is what is named.
Checkpoint load_run(const std::filesystem::path& run, const std::string& app);

/// An entry of the notes; throws if it is missing.
const Json& note(const Checkpoint& checkpoint, const std::string& key);

/// Returns what read() makes of the notes. Its errors then say whose notes they were.
template <class Read>
auto read_notes(const Checkpoint& checkpoint, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    fail(checkpoint.path.string(), " does not fit, perhaps because another version of Reel wrote it: ", error.what());
  }
}

/// Whether the run's data had this fingerprint.
bool learnt_from(const Checkpoint& checkpoint, std::uint32_t fingerprint);
/// Throws unless they had, calling the run `folder`: changed data are split in another way, and the model might be
/// scored on what it has learnt. `data` is where they lie, or empty for the built-in ones, which change with Reel.
void check_learnt_from(const Checkpoint& checkpoint, std::uint32_t fingerprint, const std::string& data,
                       const std::string& folder);

// Options and samples, generators and places in the data as notes.
Json to_json(const StringPairs& pairs);
StringPairs string_pairs_from(const Json& json);
Json to_json(const Generator::State& state);
Generator::State generator_state_from(const Json& json);
Json to_json(const data::BatchSampler::State& state);
data::BatchSampler::State sampler_state_from(const Json& json);

}  // namespace reel::apps
