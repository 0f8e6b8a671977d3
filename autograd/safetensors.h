#pragma once
// safetensors: named tensors in one file, which PyTorch and many others read and write, and which cannot hold code.
// https://github.com/huggingface/safetensors
//
//     8 bytes     how long the header is, little-endian
//     header      JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}, where the offsets
//                 count from the end of the header; "__metadata__" may map texts to texts, or be null
//     data        the numbers, little-endian and row-major, without gaps
//
// F32 and F64 are read and written, which are the dtypes of Tensor. Weights into a file, and back:
//
//     std::ofstream file("weights.safetensors", std::ios::binary);
//     file.exceptions(std::ios::failbit | std::ios::badbit);  // throws where it could not be opened or written
//     file << write_safetensors({model.state_dict(), {}}) << std::flush;
//
//     model.load_state_dict(read_safetensors(data::read_file("weights.safetensors")).tensors);

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/tensor.h"

namespace reel {

struct Safetensors {
  NamedTensors tensors;
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// The file's bytes. Throws where two tensors have one name, or a name or text is not UTF-8.
std::string write_safetensors(const Safetensors& content);

/// What the file's bytes hold, in the order of its header. Throws where they are not a safetensors file, whole and
/// consistent to the last byte; the message names the tensor but cannot name the file.
Safetensors read_safetensors(std::string_view bytes);

}  // namespace reel
