#include "autograd/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "autograd/error.h"
#include "autograd/json.h"

namespace reel {

namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian, and copied as they are");

constexpr std::size_t length_bytes = 8;
constexpr std::size_t longest_header = 100'000'000;  // where the published reader draws the line
constexpr std::string_view metadata_key = "__metadata__";

const char* dtype_name(DType dtype) { return dtype == DType::f32 ? "F32" : "F64"; }

std::string quoted(const std::string& name) { return Json(name).write(); }

// ---- writing

int64_t data_bytes(const Tensor& tensor) {
  return tensor.numel() * static_cast<int64_t>(size_in_bytes(tensor.dtype()));
}

/// Where each tensor's data begins: f64 first, then f32, so that either can be used in place by a reader that maps the
/// file. The total stands at the end.
std::vector<int64_t> lay_out(const NamedTensors& tensors) {
  std::vector<int64_t> starts(tensors.size() + 1);
  int64_t end = 0;
  for (DType dtype : {DType::f64, DType::f32}) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& tensor = tensors[i].second;
      if (tensor.dtype() != dtype) continue;
      starts[i] = end;
      end += data_bytes(tensor);
    }
  }
  starts.back() = end;
  return starts;
}

/// Throws if two of the things have one name; `things` says what they are.
template <class Named>
void check_names(const char* things, const std::vector<Named>& named) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : named) names.push_back(name);
  std::sort(names.begin(), names.end());
  auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) fail("safetensors: two ", things, " are named ", quoted(std::string(*twice)));
}

Json describe(const Tensor& tensor, int64_t start) {
  Json::Array shape;
  for (int64_t size : tensor.shape()) shape.emplace_back(size);
  return Json::Object{{"dtype", dtype_name(tensor.dtype())},
                      {"shape", std::move(shape)},
                      {"data_offsets", Json::Array{start, start + data_bytes(tensor)}}};
}

// ---- reading

/// What the header says of a tensor. Offsets are in bytes after the header.
struct Entry {
  std::string name;
  DType dtype;
  Shape shape;
  int64_t begin;
  int64_t end;
};

[[noreturn]] void refuse(const std::string& name, const auto&... why) {
  fail("safetensors: ", quoted(name), ": ", why...);
}

DType parse_dtype(const Json& json) {
  for (DType dtype : {DType::f32, DType::f64}) {
    if (json == Json(dtype_name(dtype))) return dtype;
  }
  fail("the dtype ", json.write(), " cannot be read; need \"F32\" or \"F64\"");
}

/// Throws also where the strides of the shape would overflow, though an axis of size 0 makes it empty.
Shape parse_shape(const Json& json) {
  const auto& sizes = json.get<Json::Array>();
  if (sizes.size() > max_rank) fail("it has ", sizes.size(), " axes; ", max_rank, " are the most here");
  Shape shape;
  for (const Json& size : sizes) shape.append(size.get<int64_t>());
  check_size("the header", shape);
  return shape;
}

Entry parse_entry(const std::string& name, const Json& json) {
  Entry entry{name, parse_dtype(json.at("dtype")), parse_shape(json.at("shape")), 0, 0};
  const auto& offsets = json.at("data_offsets").get<Json::Array>();
  if (offsets.size() != 2) fail("data_offsets must be a pair, not ", offsets.size(), " numbers");
  entry.begin = offsets[0].get<int64_t>();
  entry.end = offsets[1].get<int64_t>();
  return entry;
}

decltype(Safetensors::metadata) parse_metadata(const Json& json) {
  decltype(Safetensors::metadata) metadata;
  if (json == Json()) return metadata;
  for (const auto& [key, value] : json.get<Json::Object>()) metadata.emplace_back(key, value.get<std::string>());
  return metadata;
}

Json::Object parse_header(std::string_view header) {
  try {
    return Json::parse(header).get<Json::Object>();
  } catch (const Error& error) {
    fail("safetensors: the header is damaged: ", error.what());
  }
}

/// Each entry fills its place exactly, and together they fill `size` bytes, without holes and overlaps.
void check_places(const std::vector<Entry>& entries, int64_t size) {
  std::vector<const Entry*> in_order;
  for (const Entry& entry : entries) {
    if (entry.begin < 0 || entry.end < entry.begin || entry.end > size) {
      refuse(entry.name, "its data_offsets ", entry.begin, " to ", entry.end, " do not lie in the ", size,
             " bytes of data; the file may be cut off");
    }
    int64_t needed = numel(entry.shape) * static_cast<int64_t>(size_in_bytes(entry.dtype));
    if (entry.end - entry.begin != needed) {
      refuse(entry.name, "it has ", entry.end - entry.begin, " bytes; ", dtype_name(entry.dtype), " of shape ",
             entry.shape, " needs ", needed);
    }
    in_order.push_back(&entry);
  }
  std::sort(in_order.begin(), in_order.end(),
            [](const Entry* a, const Entry* b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
  int64_t filled = 0;
  for (const Entry* entry : in_order) {
    if (entry->begin != filled) {
      refuse(entry->name, "its data begin at byte ", entry->begin, ", but those before it end at ", filled);
    }
    filled = entry->end;
  }
  if (filled != size) fail("safetensors: ", size - filled, " bytes at the end belong to no tensor");
}

/// The header's text, checked to lie within the file.
std::string_view header_of(std::string_view bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < length_bytes) fail("safetensors: ", bytes.size(), " bytes are too few for a file");
  std::memcpy(&length, bytes.data(), length_bytes);
  if (length > longest_header) {
    fail("safetensors: this is not a safetensors file: its header would have ", length, " bytes");
  }
  if (length > bytes.size() - length_bytes) {
    fail("safetensors: the file is cut off within its header, or is not a safetensors file: it has ",
         bytes.size() - length_bytes, " bytes where the header should have ", length);
  }
  return bytes.substr(length_bytes, length);
}

}  // namespace

std::string write_safetensors(const Safetensors& content) {
  check_names("tensors", content.tensors);
  check_names("entries of the metadata", content.metadata);
  for (const auto& [name, tensor] : content.tensors) {
    if (name == metadata_key) fail("safetensors: no tensor may be named ", metadata_key);
    if (!tensor.defined()) fail("safetensors: ", quoted(name), " is an undefined tensor");
  }
  std::vector<int64_t> starts = lay_out(content.tensors);
  Json::Object header;
  if (!content.metadata.empty()) {
    Json::Object metadata;
    for (const auto& [key, value] : content.metadata) metadata.emplace_back(key, value);
    header.emplace_back(metadata_key, std::move(metadata));
  }
  for (std::size_t i = 0; i < content.tensors.size(); ++i) {
    const auto& [name, tensor] = content.tensors[i];
    header.emplace_back(name, describe(tensor, starts[i]));
  }

  std::string text = Json(std::move(header)).write();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begin at a multiple of eight
  if (text.size() > longest_header) fail("safetensors: names and metadata take more than ", longest_header, " bytes");
  std::uint64_t length = text.size();
  std::size_t data_start = length_bytes + text.size();
  std::string bytes(data_start + static_cast<std::size_t>(starts.back()), '\0');
  std::memcpy(bytes.data(), &length, length_bytes);
  std::copy(text.begin(), text.end(), bytes.begin() + length_bytes);
  for (std::size_t i = 0; i < content.tensors.size(); ++i) {
    Tensor tensor = contiguous_values(content.tensors[i].second);
    char* to = bytes.data() + data_start + starts[i];
    with_type(tensor.dtype(), [&]<class T>(T) {
      if (tensor.numel() > 0) std::memcpy(to, tensor.data<T>(), static_cast<std::size_t>(data_bytes(tensor)));
    });
  }
  return bytes;
}

Safetensors read_safetensors(std::string_view bytes) {
  std::string_view header = header_of(bytes);
  std::string_view data = bytes.substr(length_bytes + header.size());
  Safetensors content;
  std::vector<Entry> entries;
  for (const auto& [name, json] : parse_header(header)) {
    try {
      if (name == metadata_key) {
        content.metadata = parse_metadata(json);
      } else {
        entries.push_back(parse_entry(name, json));
      }
    } catch (const Error& error) {
      refuse(name, error.what());
    }
  }
  check_places(entries, static_cast<int64_t>(data.size()));
  for (const Entry& entry : entries) {
    Tensor tensor(entry.shape, entry.dtype);
    with_type(entry.dtype, [&]<class T>(T) {
      if (tensor.numel() > 0) {
        std::memcpy(tensor.data<T>(), data.data() + entry.begin, static_cast<std::size_t>(entry.end - entry.begin));
      }
    });
    content.tensors.emplace_back(entry.name, tensor);
  }
  return content;
}

}  // namespace reel
